// SPDX-License-Identifier: BSD-3-Clause
// RSS: key and table set by a port, checked with a Toeplitz hash written from Microsoft's definition ("RSS Hashing
// Types", "Verifying the RSS Hash Calculation"): both directions of a flow arrive on one queue. This program replaces
// librte_ethdev's functions for the table.

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include <tl_err.h>
#include <tl_random.h>
#include <tl_test.h>

#include "port_priv.h"

#define FLOWS 100000 // per kind
#define INPUT_MAX 36 // two IPv6 addresses and two ports

// The NIC.
static struct {
	struct rte_eth_dev_info info;
	uint16_t reta[TL_PORT_RETA_MAX];
	bool refuses_level, forgets_level, forgets_key;
	int fails; // rte_eth_dev_configure()
	uint64_t rss_hf;
	uint8_t key[TL_PORT_RSS_KEY_MAX];
} nic;

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = nic.info;
	return 0;
}

int rte_eth_dev_rss_reta_update(uint16_t port_id, struct rte_eth_rss_reta_entry64 *groups, uint16_t size)
{
	CU_ASSERT_EQUAL(size, nic.info.reta_size);
	for (uint16_t i = 0; i < size; i++) {
		CU_ASSERT_NOT_EQUAL(groups[i / 64].mask >> (i % 64) & 1, 0);
		nic.reta[i] = groups[i / 64].reta[i % 64];
	}
	return 0;
}

int rte_eth_dev_rss_reta_query(uint16_t port_id, struct rte_eth_rss_reta_entry64 *groups, uint16_t size)
{
	for (uint16_t i = 0; i < size; i++)
		groups[i / 64].reta[i % 64] = nic.reta[i];
	return 0;
}

static const uint8_t microsofts_key[40];

int rte_eth_dev_configure(uint16_t port_id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf)
{
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;

	if (nic.fails != 0)
		return nic.fails;
	if (nic.refuses_level && (rss->rss_hf & RTE_ETH_RSS_LEVEL_MASK) != 0)
		return -EINVAL;
	nic.rss_hf = rss->rss_hf & ~(nic.forgets_level ? RTE_ETH_RSS_LEVEL_MASK : 0);
	memcpy(nic.key, nic.forgets_key ? microsofts_key : rss->rss_key, sizeof(microsofts_key));
	return 0;
}

int rte_eth_dev_rss_hash_conf_get(uint16_t port_id, struct rte_eth_rss_conf *conf)
{
	conf->rss_hf = nic.rss_hf;
	memcpy(conf->rss_key, nic.key, nic.info.hash_key_size);
	return 0;
}

// ---- reference

static const uint8_t microsofts_key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43,
	0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2,
	0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static unsigned bit_of(const uint8_t *bytes, size_t index)
{
	return bytes[index / 8] >> (7 - index % 8) & 1;
}

// Compute the hash: for each bit of the input, from the first, if it is 1, xor the result with the left-most 32 bits of
// the key; then shift the key left by one bit.
static uint32_t toeplitz(const uint8_t *key, const uint8_t *input, size_t len)
{
	uint32_t result = 0, leftmost = 0;

	for (size_t k = 0; k < 32; k++)
		leftmost = leftmost << 1 | bit_of(key, k);
	for (size_t i = 0; i < len * 8; i++) {
		if (bit_of(input, i) != 0)
			result ^= leftmost;
		leftmost = leftmost << 1 | (i + 1 < len * 8 ? bit_of(key, i + 32) : 0);
	}
	return result;
}

// A flow in one direction: source address, destination address, source port, destination port, in network byte order.
struct tuple {
	uint8_t bytes[INPUT_MAX];
	size_t ip_len; // 4 or 16
	size_t len;    // length of the hash input, with or without ports
};

static struct tuple turned(const struct tuple *t)
{
	struct tuple back = *t;
	size_t ports = 2 * t->ip_len;

	memcpy(back.bytes, t->bytes + t->ip_len, t->ip_len);
	memcpy(back.bytes + t->ip_len, t->bytes, t->ip_len);
	memcpy(back.bytes + ports, t->bytes + ports + 2, 2);
	memcpy(back.bytes + ports + 2, t->bytes + ports, 2);
	return back;
}

// ---- the port's NIC

static struct tl_port *make_port(uint8_t key_bytes, uint16_t entries, uint32_t rss_queues, uint8_t *key)
{
	struct tl_port *port = aligned_alloc(TL_CACHE_LINE, sizeof(*port));
	struct rte_eth_conf conf = {0};
	struct tl_err err = {""};

	memset(port, 0, sizeof(*port));
	port->cfg.rx_queues = 8;
	port->cfg.rss_symmetric = true;
	port->cfg.rss_queues = rss_queues;
	nic.info = (struct rte_eth_dev_info){.hash_key_size = key_bytes,
		.reta_size = entries,
		.flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP};
	for (uint16_t i = 0; i < entries; i++)
		nic.reta[i] = i % port->cfg.rx_queues; // a driver's default
	CU_ASSERT_EQUAL_FATAL(tl_port_configure_rss(port, &nic.info, &conf, &err), 0);
	CU_ASSERT_EQUAL_FATAL(conf.rx_adv_conf.rss_conf.rss_key_len, key_bytes);
	memcpy(key, conf.rx_adv_conf.rss_conf.rss_key, key_bytes);
	CU_ASSERT_EQUAL(tl_port_spread(port, &err), 0);
	return port;
}

static uint16_t queue_of(const uint8_t *key, const struct tuple *t)
{
	return nic.reta[toeplitz(key, t->bytes, t->len) % nic.info.reta_size];
}

// Count random flows of a kind whose directions arrive on two queues, and those per queue.
static uint64_t count_torn(const uint8_t *key, size_t ip_len, bool ports, uint64_t n, uint64_t *per_queue)
{
	uint64_t seed = 0x5eed + ip_len + ports, torn = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct tuple there = {.ip_len = ip_len, .len = 2 * ip_len + (ports ? 4 : 0)};
		for (size_t b = 0; b < sizeof(there.bytes); b++)
			there.bytes[b] = (uint8_t)(tl_random_next(&seed) >> 32);
		struct tuple back = turned(&there);
		uint16_t queue = queue_of(key, &there);
		per_queue[queue]++;
		torn += queue != queue_of(key, &back);
	}
	return torn;
}

// ---- tests

TL_TEST("the Toeplitz hash agrees with published vectors")
{
	static const struct {
		const char *src, *dst;
		uint16_t src_port, dst_port;
		uint32_t addresses, all;
	} known[] = {
		{"66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178},
		{"199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea},
		{"24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a},
		{"38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f},
		{"153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2},
		{"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d},
		{"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf},
		{"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985,
			0x02d1feef},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
		bool six = strchr(known[i].src, ':') != NULL;
		struct tuple t = {.ip_len = six ? 16 : 4};
		uint16_t ports[] = {htons(known[i].src_port), htons(known[i].dst_port)};
		CU_ASSERT_EQUAL(inet_pton(six ? AF_INET6 : AF_INET, known[i].src, t.bytes), 1);
		CU_ASSERT_EQUAL(inet_pton(six ? AF_INET6 : AF_INET, known[i].dst, t.bytes + t.ip_len), 1);
		memcpy(t.bytes + 2 * t.ip_len, ports, sizeof(ports));
		CU_ASSERT_EQUAL(toeplitz(microsofts_key, t.bytes, 2 * t.ip_len), known[i].addresses);
		CU_ASSERT_EQUAL(toeplitz(microsofts_key, t.bytes, 2 * t.ip_len + 4), known[i].all);
	}
}

// The stack chooses its local ports by this function.
TL_TEST("the queue of a segment is predicted correctly")
{
	struct tl_port_rss rss = {.reta_size = TL_PORT_RETA_MAX};
	uint64_t seed = 7, wrong = 0;

	memcpy(rss.key, microsofts_key, sizeof(microsofts_key));
	for (uint16_t i = 0; i < rss.reta_size; i++)
		rss.reta[i] = i;
	for (uint64_t i = 0; i < FLOWS; i++) {
		struct tuple t = {.ip_len = 4, .len = 12};
		for (size_t b = 0; b < t.len; b++)
			t.bytes[b] = (uint8_t)(tl_random_next(&seed) >> 32);
		uint32_t ip[2];
		uint16_t port[2];
		memcpy(ip, t.bytes, sizeof(ip));
		memcpy(port, t.bytes + 8, sizeof(port));
		wrong += tl_rss_queue(&rss, ip[0], ip[1], port[0], port[1]) !=
			 toeplitz(rss.key, t.bytes, t.len) % rss.reta_size;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

TL_TEST("both directions of a flow map to one queue")
{
	static const struct {
		uint8_t key_bytes;
		uint16_t entries;
	} nics[] = {{40, 128}, {40, 512}, {52, 64}, {52, 512}, {40, 1}};

	for (size_t i = 0; i < TL_ARRAY_LEN(nics); i++) {
		uint8_t key[TL_PORT_RSS_KEY_MAX];
		struct tl_port *port = make_port(nics[i].key_bytes, nics[i].entries, 0, key);
		uint64_t per_queue[8] = {0}, n = i == 0 ? FLOWS : 500;
		for (unsigned kind = 0; kind < 4; kind++)
			CU_ASSERT_EQUAL(count_torn(key, kind % 2 == 0 ? 4 : 16, kind / 2 != 0, n, per_queue), 0);
		free(port);
	}
}

TL_TEST("an asymmetric key is detected")
{
	uint64_t per_queue[8] = {0};
	uint8_t key[TL_PORT_RSS_KEY_MAX];

	free(make_port(40, 128, 0, key));
	CU_ASSERT(count_torn(microsofts_key, 4, true, 1000, per_queue) > 500);
	CU_ASSERT(count_torn(microsofts_key, 16, true, 1000, per_queue) > 500);
}

TL_TEST("queues of a table that the NIC lacks are refused")
{
	static const uint16_t sizes[] = {0, TL_PORT_RETA_MAX + RTE_ETH_RETA_GROUP_SIZE};

	for (size_t i = 0; i < TL_ARRAY_LEN(sizes); i++) {
		struct tl_port *port = aligned_alloc(TL_CACHE_LINE, sizeof(*port));
		struct rte_eth_dev_info info = {.reta_size = sizes[i], .flow_type_rss_offloads = RTE_ETH_RSS_IP};
		struct rte_eth_conf conf = {0};
		struct tl_err err = {""};
		memset(port, 0, sizeof(*port));
		port->cfg.rx_queues = 2;
		CU_ASSERT_EQUAL(tl_port_configure_rss(port, &info, &conf, &err), 0);
		port->cfg.rss_queues = 2;
		CU_ASSERT_EQUAL(tl_port_configure_rss(port, &info, &conf, &err), -ENOTSUP);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "omit \"rss_queues\""));
		free(port);
	}
}

// Eight queues, or the three of "rss_queues": each gets its share of n flows, within 6 standard deviations.
TL_TEST("flows are spread evenly over the redirection table")
{
	static const uint32_t sets[] = {0xff, 1u << 1 | 1u << 4 | 1u << 7};

	for (size_t i = 0; i < TL_ARRAY_LEN(sets); i++) {
		uint64_t per_queue[8] = {0}, n = 8000, entries[8] = {0};
		uint8_t key[TL_PORT_RSS_KEY_MAX];
		struct tl_port *port = make_port(40, 128, sets[i] == 0xff ? 0 : sets[i], key);
		(void)count_torn(key, 4, true, n, per_queue);
		for (uint16_t e = 0; e < nic.info.reta_size; e++)
			entries[nic.reta[e]]++;
		for (unsigned q = 0; q < 8; q++) {
			int64_t wanted = (int64_t)(n * entries[q] / nic.info.reta_size);
			int64_t off = (int64_t)per_queue[q] - wanted;
			CU_ASSERT_EQUAL(entries[q] != 0, (sets[i] >> q & 1) != 0);
			CU_ASSERT(off * off <= 36 * (wanted + 1));
		}
		free(port);
	}
}

// ---- inner headers

// Configure and start a port that is to hash inner headers, on a NIC that offers levels or does not. Return true if it
// reports inner hashing; *why: the reason against.
static bool asks_for_inner(uint64_t offered, bool wanted, const char **why)
{
	struct tl_port *port = aligned_alloc(TL_CACHE_LINE, sizeof(*port));
	struct rte_eth_conf conf = {0};
	struct tl_err err = {""};

	memset(port, 0, sizeof(*port));
	port->ops = &tl_port_eth_ops;
	port->cfg.rx_queues = 4;
	port->cfg.rss_symmetric = true;
	port->cfg.rss_inner = wanted;
	nic.info = (struct rte_eth_dev_info){.hash_key_size = 40,
		.reta_size = 128,
		.flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | offered};
	nic.rss_hf = 0;
	CU_ASSERT_EQUAL(tl_port_configure_rss(port, &nic.info, &conf, &err), 0);
	CU_ASSERT_EQUAL(tl_port_configure_device(port, 4, 1, &conf), nic.fails);
	tl_port_read_shares(port);
	bool hashes = tl_port_hashes_inner(port, why);
	free(port);
	return hashes;
}

static bool has(const char *text, const char *part)
{
	return text != NULL && strstr(text, part) != NULL;
}

TL_TEST("a NIC with RSS levels hashes inner headers, if asked")
{
	const char *why = "";

	CU_ASSERT(asks_for_inner(RTE_ETH_RSS_LEVEL_MASK, true, &why));
	CU_ASSERT_PTR_NULL(why);
	CU_ASSERT_EQUAL(nic.rss_hf & RTE_ETH_RSS_LEVEL_MASK, RTE_ETH_RSS_LEVEL_INNERMOST);
	CU_ASSERT_FALSE(asks_for_inner(RTE_ETH_RSS_LEVEL_MASK, false, &why));
	CU_ASSERT_PTR_NULL(why);
	CU_ASSERT_EQUAL(nic.rss_hf & RTE_ETH_RSS_LEVEL_MASK, 0);
}

TL_TEST("a driver without RSS levels is not asked")
{
	const char *why;

	CU_ASSERT_FALSE(asks_for_inner(0, true, &why));
	CU_ASSERT(has(why, "offers no RSS level"));
	CU_ASSERT(nic.rss_hf != 0 && (nic.rss_hf & RTE_ETH_RSS_LEVEL_MASK) == 0);
	CU_ASSERT_FALSE(asks_for_inner(RTE_ETH_RSS_LEVEL_OUTERMOST, true, &why));
	CU_ASSERT(has(why, "offers no RSS level"));
}

TL_TEST("a driver that refuses the level is configured without it")
{
	const char *why;

	nic.refuses_level = true;
	CU_ASSERT_FALSE(asks_for_inner(RTE_ETH_RSS_LEVEL_MASK, true, &why));
	CU_ASSERT(has(why, "refuses the RSS level"));
	CU_ASSERT(nic.rss_hf != 0 && (nic.rss_hf & RTE_ETH_RSS_LEVEL_MASK) == 0);
	nic.refuses_level = false;
	nic.fails = -ENOMEM;
	CU_ASSERT_FALSE(asks_for_inner(RTE_ETH_RSS_LEVEL_MASK, true, &why));
	nic.fails = 0;
}

TL_TEST("a level or key that the driver did not keep is not believed")
{
	const char *why;

	nic.forgets_level = true;
	CU_ASSERT_FALSE(asks_for_inner(RTE_ETH_RSS_LEVEL_MASK, true, &why));
	CU_ASSERT(has(why, "did not keep the RSS level"));
	nic.forgets_level = false;
	nic.forgets_key = true;
	CU_ASSERT_FALSE(asks_for_inner(RTE_ETH_RSS_LEVEL_MASK, true, &why));
	CU_ASSERT(has(why, "did not keep the symmetric RSS key"));
	nic.forgets_key = false;
}

int main(void)
{
	return tl_test_run("rss");
}
