// SPDX-License-Identifier: BSD-3-Clause
// Tables of expressions: a frame gets the class that it gets when the expressions are tried one by one.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_random.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_mbuf.h>
#include <tl_wire.h>

#include "shape_priv.h"

#define CLASSES 66 // the root, 64 leaves with expressions, the fallback
#define TEXT 64
#define GBIT UINT64_C(1000000000)

static struct tl_clock *test_clock;
static struct rte_mempool *pool;

static uint64_t upto(uint64_t *state, uint64_t n)
{
	return tl_random_next(state) % n;
}

static void drop(struct tl_txq *q)
{
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

static void ignore(void *ctx, const struct tl_txq *queue)
{
	(void)ctx;
	(void)queue;
}

// ---- expressions

// Write an expression with one of a few values, in one of the forms that a table knows, or another one.
static void write_expression(char *text, uint32_t form, uint64_t *state)
{
	static const char *const tags[] = {
		"vlan %lu", "vlan %lu", "vlan %#lo", "vlan %#lx"}; // libpcap reads numbers as C does
	uint64_t value = upto(state, 40);

	switch (form) {
	case 0:
		snprintf(text, TEXT, "%sdst host 10.0.0.%lu", upto(state, 2) != 0 ? "ip " : "", value);
		break;
	case 1:
		snprintf(text, TEXT, "%ssrc host 2001:db8::%lx", upto(state, 2) != 0 ? "ip6 " : "", value);
		break;
	case 2:
		snprintf(text, TEXT, upto(state, 2) != 0 ? "dst host 2001:db8::%lx" : "dst  host 10.0.0.%lu", value);
		break;
	case 3:
		snprintf(text, TEXT, tags[upto(state, TL_ARRAY_LEN(tags))], value);
		break;
	case 4:
		snprintf(text, TEXT, "vlan %lu and ip", value);
		break;
	default:
		snprintf(text, TEXT, upto(state, 2) != 0 ? "host 10.0.0.%lu" : "src port %lu", value);
	}
}

// Make runs of expressions of one form, as long as tables need and shorter.
static void write_expressions(char texts[CLASSES][TEXT], uint64_t *state)
{
	uint32_t left = 0, form = 0;

	for (uint32_t i = 1; i < CLASSES - 1; i++) {
		if (left == 0) {
			left = 1 + (uint32_t)upto(state, 24);
			form = (uint32_t)upto(state, 6);
		}
		write_expression(texts[i], form, state);
		left--;
	}
}

// ---- frames

static uint32_t write_ip4(uint8_t *ip, uint64_t *state)
{
	struct tl_ipv4_hdr *hdr = (struct tl_ipv4_hdr *)ip;

	*hdr = (struct tl_ipv4_hdr){
		.version_ihl = 0x45, .total_len_be = tl_be16(40), .ttl = 64, .proto = TL_IPPROTO_UDP};
	hdr->src_be = tl_be32(0x0a000000 + (uint32_t)upto(state, 48));
	hdr->dst_be = tl_be32(0x0a000000 + (uint32_t)upto(state, 48));
	ip[TL_IPV4_LEN + 1] = (uint8_t)upto(state, 48); // source port
	return 40;
}

static uint32_t write_ip6(uint8_t *ip, uint64_t *state)
{
	struct tl_ipv6_hdr *hdr = (struct tl_ipv6_hdr *)ip;

	*hdr = (struct tl_ipv6_hdr){
		.version_be = tl_be32(6u << 28), .payload_len_be = tl_be16(8), .next = TL_IPPROTO_UDP};
	hdr->src = (struct tl_ip6){{0x20, 1, 0x0d, 0xb8, [15] = (uint8_t)upto(state, 48)}};
	hdr->dst = (struct tl_ip6){{0x20, 1, 0x0d, 0xb8, [15] = (uint8_t)upto(state, 48)}};
	return TL_IPV6_LEN + 8;
}

static uint32_t write_arp(uint8_t *arp, uint64_t *state)
{
	memset(arp, 0, TL_ARP_LEN);
	arp[14] = arp[24] = 10;
	arp[17] = (uint8_t)upto(state, 48);
	arp[27] = (uint8_t)upto(state, 48);
	return TL_ARP_LEN;
}

// Write a frame, with tags or not, sometimes cut. Return its length.
static uint32_t write_frame(uint8_t *frame, uint64_t *state)
{
	static const uint16_t tags[] = {TL_ETHERTYPE_VLAN, TL_ETHERTYPE_QINQ, 0x9100};
	static const uint16_t types[] = {TL_ETHERTYPE_IPV4, TL_ETHERTYPE_IPV6, TL_ETHERTYPE_ARP, 0x8035, 0x88b5};
	uint32_t type = (uint32_t)upto(state, TL_ARRAY_LEN(types)), at = 12, len = 0;

	memset(frame, 0, 128);
	for (uint64_t n = upto(state, 4) == 0 ? 1 + upto(state, 2) : 0; n != 0; n--, at += 4) {
		uint16_t tag = tags[upto(state, 3)];
		frame[at] = (uint8_t)(tag >> 8);
		frame[at + 1] = (uint8_t)tag;
		frame[at + 2] = (uint8_t)(upto(state, 8) << 5);
		frame[at + 3] = (uint8_t)upto(state, 48);
	}
	frame[at] = (uint8_t)(types[type] >> 8);
	frame[at + 1] = (uint8_t)types[type];
	if (type == 0)
		len = write_ip4(frame + at + 2, state);
	else if (type == 1)
		len = write_ip6(frame + at + 2, state);
	else if (type < 4)
		len = write_arp(frame + at + 2, state);
	len += at + 2;
	return upto(state, 16) == 0 ? TL_ETHER_LEN + (uint32_t)upto(state, len - TL_ETHER_LEN + 1) : len;
}

// ---- tests

struct rig {
	struct tl_txq tx;
	struct tl_shape *shape;
	char texts[CLASSES][TEXT];
	struct tl_filter *filters[CLASSES]; // the oracle
	uint64_t pkts[CLASSES];
};

static void open_rig(struct rig *r, uint64_t *state)
{
	struct tl_shape_class classes[CLASSES] = {{.tree = {.name = "wan", .rate = GBIT}}};
	struct tl_shape_cfg cfg = {.txq = &r->tx,
		.clock = test_clock,
		.classes = classes,
		.n_classes = CLASSES,
		.fallback = CLASSES - 1,
		.mtu = 1518,
		.frames = 64};
	struct tl_err err = {""};

	*r = (struct rig){.tx = {.flush_fn = drop}};
	write_expressions(r->texts, state);
	for (uint32_t i = 1; i < CLASSES; i++)
		classes[i] = (struct tl_shape_class){.tree = {.name = "leaf", .rate = 1000, .ceil = GBIT},
			.match = i != CLASSES - 1 ? r->texts[i] : NULL};
	CU_ASSERT_EQUAL_FATAL(tl_shape_create(&cfg, &r->shape, &err), 0);
	tl_shape_set_leaving(r->shape, ignore, NULL); // nothing bypasses the classes
	for (uint32_t i = 1; i < CLASSES - 1; i++)
		CU_ASSERT_EQUAL_FATAL(tl_filter_create(r->texts[i], &r->filters[i], &err), 0);
}

static void close_rig(struct rig *r)
{
	tl_shape_destroy(r->shape);
	for (uint32_t i = 1; i < CLASSES - 1; i++)
		tl_filter_destroy(r->filters[i]);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static uint32_t first_match(const struct rig *r, const struct rte_mbuf *m)
{
	for (uint32_t i = 1; i < CLASSES - 1; i++)
		if (tl_filter_match(r->filters[i], m, m->pkt_len))
			return i;
	return CLASSES - 1;
}

static uint32_t indexes(const struct rig *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->shape->set.n_rules; i++)
		n += r->shape->set.rules[i].index != NULL;
	return n;
}

TL_TEST("frames get the class of the first expression that matches, also where expressions are in tables")
{
	static struct rig r;
	uint64_t state = 7, tables = 0, in_leaves = 0;
	uint8_t frame[128];

	for (uint32_t round = 0; round < 40; round++) {
		open_rig(&r, &state);
		tables += indexes(&r);
		for (uint32_t i = 0; i < 2000; i++) {
			struct rte_mbuf *m = tl_test_mbuf(pool, frame, (uint16_t)write_frame(frame, &state));
			CU_ASSERT_PTR_NOT_NULL_FATAL(m);
			r.pkts[first_match(&r, m)]++;
			r.tx.pkts[r.tx.n++] = m;
			shape_turn(r.shape, i * 1000000);
		}
		for (uint32_t i = 1; i < CLASSES; i++) {
			struct tl_tree_stats stats;
			tl_shape_sample(r.shape, i, &stats);
			CU_ASSERT_EQUAL(stats.in_pkts, r.pkts[i]);
			if (stats.in_pkts != r.pkts[i])
				printf("# round %u: \"%s\" took %ju frames, not %ju\n", round, r.texts[i],
					(uintmax_t)stats.in_pkts, (uintmax_t)r.pkts[i]);
			in_leaves += i != CLASSES - 1 ? r.pkts[i] : 0;
		}
		close_rig(&r);
	}
	CU_ASSERT(tables >= 40 && in_leaves >= 10000);
}

TL_TEST("expressions of one field are one table, until a value repeats")
{
	static struct rig r;
	struct shape_set *set;

	uint64_t state = 1;
	open_rig(&r, &state);
	set = &r.shape->set;
	for (uint32_t i = 0; i < set->n_rules; i++) {
		free(set->rules[i].index);
		set->rules[i].index = NULL;
	}
	struct tl_shape_class classes[CLASSES] = {{.match = NULL}};
	for (uint32_t i = 1; i < CLASSES - 1; i++) {
		snprintf(r.texts[i], TEXT, i <= 30 ? "dst host 10.0.0.%u" : "vlan %u", i != 20 ? i : 3);
		classes[i].match = r.texts[i];
	}
	struct tl_shape_cfg cfg = {.classes = classes, .n_classes = CLASSES};
	CU_ASSERT_EQUAL(shape_add_indexes(set, &cfg, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(indexes(&r), 3);
	CU_ASSERT_EQUAL(set->rules[0].index->n, 19);
	CU_ASSERT_EQUAL(set->rules[19].index->n, 11); // the same host again
	CU_ASSERT_EQUAL(set->rules[30].index->n, 34);
	CU_ASSERT_EQUAL(set->rules[30].index->field, SHAPE_VLAN);
	close_rig(&r);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_shape_index", 255, 0, 0, 256, SOCKET_ID_ANY);
	if (test_clock == NULL || pool == NULL) {
		printf("not ok - set-up: no clock or no memory\n");
		return 1;
	}
	return tl_test_run("shape_index");
}
