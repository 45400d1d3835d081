// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_host: a host for the tests of net: sent frames are collected, and input frames are built byte by byte, with
// checksums computed by the test.

#include <errno.h>

#include "tl_test_net.h"

#define POOL_SIZE 2047
#define MTU 1500

#define US IP(192, 0, 2, 1)
#define PEER IP(192, 0, 2, 2)
#define GATEWAY IP(192, 0, 2, 254)
#define FAR_AWAY IP(198, 51, 100, 7)
#define GROUP IP(239, 1, 2, 3)

static const uint8_t OUR_MAC[6] = {0x02, 0, 0, 0, 0, 1};
static const uint8_t PEER_MAC[6] = {0x02, 0, 0, 0, 0, 2};
static const uint8_t OTHER_MAC[6] = {0x02, 0, 0, 0, 0, 3};
static const uint8_t BROADCAST[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t NO_MAC[6];

struct heard {
	unsigned count;
	struct tl_udp_datagram last;
	uint8_t payload[FRAME_MAX];
	struct tl_udp *close;
};

// ---- the host

static inline void collect(struct tl_txq *q)
{
	struct host *h = q->backend;

	for (uint16_t i = 0; i < q->n; i++) {
		struct rte_mbuf *m = q->pkts[i];
		CU_ASSERT_EQUAL(m->data_len, m->pkt_len);
		if (h->n_sent < SENT_MAX) {
			struct frame *f = &h->sent[h->n_sent++];
			f->len = m->data_len;
			memcpy(f->bytes, rte_pktmbuf_mtod(m, uint8_t *), f->len);
		}
		rte_pktmbuf_free(m);
	}
	q->n = 0;
}

static inline struct tl_net_cfg usual_cfg(struct host *h)
{
	struct tl_net_cfg cfg = {
		.name = "t0",
		.tx = &h->tx,
		.pool = rte_mempool_lookup(POOL),
		.ip_be = US,
		.mask_be = IP(255, 255, 255, 0),
		.mtu = MTU,
		.max_conns = 16,
		.neighbour_entries = 256,
		.send_buffer_bytes = 16384,
		.socket_id = SOCKET_ID_ANY,
		.seed = 42,
	};

	memcpy(cfg.mac, OUR_MAC, sizeof(cfg.mac));
	return cfg;
}

// Start a zeroed host; cfg is its usual_cfg(), modified at will.
static inline struct host *start_cfg(struct host *h, const struct tl_net_cfg *cfg)
{
	host_start(h, cfg, 1000 * SECOND, collect);
	tl_net_tick(h->net, h->now_ns);
	return h;
}

static inline struct host *start_with(uint16_t mtu, uint32_t gateway_be)
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);

	cfg.mtu = mtu;
	cfg.gateway_be = gateway_be;
	return start_cfg(h, &cfg);
}

static inline struct host *start(void)
{
	return start_with(MTU, 0);
}

static inline void pass(struct host *h, uint64_t ns)
{
	h->now_ns += ns;
	tl_net_tick(h->net, h->now_ns);
	tl_txq_flush(&h->tx);
}

// Discard the frames sent so far.
static inline void clear(struct host *h)
{
	tl_txq_flush(&h->tx);
	h->n_sent = 0;
}

static inline uint64_t counter(const struct host *h, const char *name)
{
	struct tl_counter all[128];
	unsigned n = tl_net_counters(h->net, all, TL_ARRAY_LEN(all));

	for (unsigned i = 0; i < n; i++) {
		if (strcmp(all[i].name, name) == 0)
			return all[i].value;
	}
	CU_FAIL("no such counter");
	return UINT64_MAX;
}

// Check whether in_pkts is the sum of the rx_ and drop_ counters.
static inline bool partition_holds(const struct host *h)
{
	struct tl_counter all[128];
	unsigned n = tl_net_counters(h->net, all, TL_ARRAY_LEN(all));
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (strncmp(all[i].name, "rx_", 3) == 0 || strncmp(all[i].name, "drop_", 5) == 0)
			sum += all[i].value;
	}
	return sum == counter(h, "in_pkts");
}

static inline void give_mbuf(struct host *h, struct rte_mbuf *m)
{
	test_input(h->net, m, h->now_ns);
	rte_pktmbuf_free(m);
	tl_txq_flush(&h->tx);
}

static inline struct rte_mbuf *wrap(const struct frame *f)
{
	return tl_test_mbuf(rte_mempool_lookup(POOL), f->bytes, f->len);
}

static inline void give(struct host *h, const struct frame *f)
{
	give_mbuf(h, wrap(f));
}

// Input a frame. Return true if exactly this counter of the partition was incremented.
static inline bool counts_as(struct host *h, const char *name, const struct frame *f)
{
	uint64_t before = counter(h, name);

	give(h, f);
	return counter(h, name) == before + 1 && partition_holds(h);
}

// ---- frames, built byte by byte

static inline uint16_t ref_cksum(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static inline void put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t ref_pseudo(const uint8_t *ip, uint16_t l4_len)
{
	return get16(ip + 12) + get16(ip + 14) + get16(ip + 16) + get16(ip + 18) + ip[9] + l4_len;
}

static inline struct frame arp_frame(const uint8_t *to, unsigned op, const uint8_t *sender_mac, uint32_t sender_ip,
	const uint8_t *target_mac, uint32_t target_ip)
{
	struct frame f = {.len = 60};

	memcpy(f.bytes, to, 6);
	memcpy(f.bytes + 6, sender_mac, 6);
	memcpy(f.bytes + 12, "\x08\x06\x00\x01\x08\x00\x06\x04\x00", 9);
	f.bytes[21] = (uint8_t)op;
	memcpy(f.bytes + 22, sender_mac, 6);
	memcpy(f.bytes + 28, &sender_ip, 4);
	memcpy(f.bytes + 32, target_mac, 6);
	memcpy(f.bytes + 38, &target_ip, 4);
	return f;
}

static inline struct frame arp_reply(const uint8_t *mac, uint32_t ip)
{
	return arp_frame(OUR_MAC, 2, mac, ip, OUR_MAC, US);
}

// Set every checksum of an untagged IPv4 frame.
static inline void fix_cksums(struct frame *f)
{
	uint8_t *ip = f->bytes + 14;
	uint16_t ip_len = (ip[0] & 15) * 4;
	uint16_t total = get16(ip + 2);

	if (f->len < 34 || ip_len < 20 || total < ip_len || 14 + total > f->len)
		return;
	put16(ip + 10, 0);
	put16(ip + 10, ref_cksum(0, ip, ip_len));
	uint8_t *l4 = ip + ip_len;
	uint16_t l4_len = total - ip_len;
	unsigned at = ip[9] == 1 || ip[9] == 2 ? 2 : ip[9] == 6 ? 16 : 6;
	if (l4_len < at + 2)
		return;
	put16(l4 + at, 0);
	put16(l4 + at, ref_cksum(ip[9] == 6 || ip[9] == 17 ? ref_pseudo(ip, l4_len) : 0, l4, l4_len));
}

static inline struct frame ip_frame(uint8_t proto, uint32_t src, uint32_t dst, const void *l4, uint16_t l4_len)
{
	struct frame f = {.len = 34 + l4_len};
	uint8_t *ip = f.bytes + 14;

	if (tl_ipv4_is_mcast(dst))
		memcpy(f.bytes, (uint8_t[]){1, 0, 0x5e, dst >> 8 & 0x7f, dst >> 16 & 0xff, dst >> 24}, 6);
	else
		memcpy(f.bytes, OUR_MAC, 6);
	memcpy(f.bytes + 6, PEER_MAC, 6);
	memcpy(f.bytes + 12, "\x08\x00", 2);
	memcpy(ip, "\x45\x00\x00\x00\x12\x34\x00\x00\x40", 9);
	ip[9] = proto;
	put16(ip + 2, 20 + l4_len);
	memcpy(ip + 12, &src, 4);
	memcpy(ip + 16, &dst, 4);
	memcpy(ip + 20, l4, l4_len);
	fix_cksums(&f);
	if (f.len < 60)
		f.len = 60;
	return f;
}

static inline struct frame udp_frame(uint32_t src, uint32_t dst, uint16_t dst_port, const char *text)
{
	uint8_t l4[FRAME_MAX] = {0x13, 0x88};
	uint16_t len = (uint16_t)strlen(text);

	put16(l4 + 2, dst_port);
	put16(l4 + 4, 8 + len);
	memcpy(l4 + 8, text, len);
	return ip_frame(17, src, dst, l4, 8 + len);
}

static inline struct frame ping(uint32_t dst, uint16_t payload_len)
{
	uint8_t l4[FRAME_MAX] = {8, 0, 0, 0, 0xab, 0xcd, 0x00, 0x07};

	for (uint16_t i = 0; i < payload_len; i++)
		l4[8 + i] = (uint8_t)(i * 7 + 3);
	return ip_frame(1, PEER, dst, l4, 8 + payload_len);
}

static inline struct frame tcp_frame(uint16_t dst_port, uint8_t flags, const char *text)
{
	uint8_t l4[FRAME_MAX] = {0x9c, 0x40, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x20, 0, 0x50, flags, 0x10};
	uint16_t len = (uint16_t)strlen(text);

	put16(l4 + 2, dst_port);
	memcpy(l4 + 20, text, len);
	return ip_frame(6, PEER, US, l4, 20 + len);
}

static inline struct frame igmp_query(uint32_t src, uint32_t dst, uint32_t group)
{
	uint8_t alert_and_query[16] = {0x94, 4, 0, 0, 0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125};

	memcpy(alert_and_query + 8, &group, 4);
	struct frame f = ip_frame(2, src, dst, alert_and_query, sizeof(alert_and_query));
	f.bytes[14] = 0x46;
	f.bytes[22] = 1; // TTL
	fix_cksums(&f);
	return f;
}

static inline struct frame tagged(struct frame f)
{
	memmove(f.bytes + 16, f.bytes + 12, f.len - 12);
	memcpy(f.bytes + 12, "\x81\x00\x00\x05", 4);
	f.len += 4;
	return f;
}

// ---- checks of sent frames

static inline bool is_arp(const struct frame *f, const struct frame *want)
{
	return f->len == want->len && memcmp(f->bytes, want->bytes, f->len) == 0;
}

static inline bool is_request(const struct frame *f, const uint8_t *to, uint32_t target_ip)
{
	struct frame want = arp_frame(to, 1, OUR_MAC, US, NO_MAC, target_ip);

	return is_arp(f, &want);
}

// Check whether this is an IPv4 packet from the host with correct checksums, to this MAC and address.
static inline bool is_ip(const struct frame *f, const uint8_t *mac, uint32_t dst, uint8_t proto)
{
	const uint8_t *ip = f->bytes + 14;
	uint16_t ip_len = (ip[0] & 15) * 4;
	uint16_t l4_len = get16(ip + 2) - ip_len;
	uint32_t sum = proto == 17 || proto == 6 ? ref_pseudo(ip, l4_len) : 0;

	return f->len >= 60 && 14 + get16(ip + 2) <= f->len && memcmp(f->bytes, mac, 6) == 0 &&
	       memcmp(f->bytes + 6, OUR_MAC, 6) == 0 && get16(f->bytes + 12) == 0x0800 && ip[9] == proto &&
	       ref_cksum(0, ip, ip_len) == 0 && memcmp(ip + 12, &(uint32_t){US}, 4) == 0 &&
	       memcmp(ip + 16, &dst, 4) == 0 && ref_cksum(sum, ip + ip_len, l4_len) == 0;
}

static inline bool is_udp(const struct frame *f, const uint8_t *mac, uint32_t dst, const char *text)
{
	uint16_t len = (uint16_t)strlen(text);

	return is_ip(f, mac, dst, 17) && get16(f->bytes + 38) == 8 + len && memcmp(f->bytes + 42, text, len) == 0;
}

static inline void hear(void *ctx, const struct tl_udp_datagram *datagram)
{
	struct heard *heard = ctx;

	heard->count++;
	heard->last = *datagram;
	memcpy(heard->payload, datagram->payload, datagram->len);
	if (heard->close != NULL)
		tl_udp_close(heard->close);
}

static inline struct tl_udp *open_udp(
	struct host *h, uint32_t group, uint32_t source, unsigned port, struct heard *heard)
{
	struct tl_udp *udp = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_udp_open(h->net, group, source, PORT(port), hear, heard, &udp), 0);
	return udp;
}

static inline int say(struct tl_udp *udp, uint32_t to, const char *text)
{
	return tl_udp_send(udp, to, PORT(5001), text, (uint16_t)strlen(text));
}

static inline void introduce(struct host *h, const uint8_t *mac, uint32_t ip)
{
	struct frame request = arp_frame(BROADCAST, 1, mac, ip, NO_MAC, US);

	give(h, &request);
	clear(h);
}

static inline void note_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	*(int *)ctx = (int)reason;
}

static const struct tl_tcp_ops NOTE_CLOSED = {.closed = note_closed};

// Fill every mbuf of the pool with a pattern: bytes that a frame does not set become visible.
static inline void dirty_pool(struct rte_mempool *pool)
{
	struct rte_mbuf *all[POOL_SIZE];

	if (rte_pktmbuf_alloc_bulk(pool, all, POOL_SIZE) != 0)
		exit(1);
	for (unsigned i = 0; i < POOL_SIZE; i++)
		memset(rte_pktmbuf_mtod(all[i], void *), 0xa5, FRAME_MAX);
	rte_pktmbuf_free_bulk(all, POOL_SIZE);
}

static inline int test_host_run(const char *suite)
{
	tl_test_eal_start();
	dirty_pool(test_pool_of(POOL_SIZE));
	return tl_test_run(suite);
}
