// SPDX-License-Identifier: BSD-3-Clause
// Policers in the classes of a shape: a simulated port on a simulated clock, and an oracle that adds the tokens of the
// RFCs in fractions of a byte.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_random.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_mbuf.h>
#include <tl_wire.h>

#include "shape_priv.h"

#define MTU 1542 // with overhead
#define OVERHEAD 24
#define KEEP TL_EDIT_KEEP
#define PASS                                                                                                           \
	{                                                                                                              \
		.dscp = KEEP, .pcp = KEEP                                                                              \
	}
#define DROP                                                                                                           \
	{                                                                                                              \
		.drop = true, .dscp = KEEP, .pcp = KEEP                                                                \
	}

static struct tl_clock *test_clock;
static struct rte_mempool *pool;

static struct {
	struct tl_txq tx;
	struct tl_shape *shape;
	uint64_t now_ns;
	bool stuck;	      // the port accepts nothing
	unsigned n;	      // accepted frames
	uint8_t dscp[2], pcp; // of the last IPv4 and IPv6 frame
	uint64_t by_dscp[64];
	bool wrong; // a header checksum
} rig;

// ---- the port

static void accept_frame(struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tl_pkt pkt;

	tl_wire_parse(frame, m->data_len, &pkt);
	const uint8_t *ip = frame + pkt.l3_off;
	bool six = pkt.kind == TL_PKT_IP6;
	uint8_t dscp = six ? (uint8_t)((ip[0] & 0xf) << 2 | ip[1] >> 6) : ip[1] >> 2;
	rig.wrong |= pkt.kind == TL_PKT_BAD_CKSUM;
	rig.dscp[six] = dscp;
	rig.pcp = (uint8_t)(pkt.vlan_tci >> 13);
	rig.by_dscp[dscp]++;
	rig.n++;
	rte_pktmbuf_free(m);
}

static void flush(struct tl_txq *q)
{
	if (rig.stuck)
		return;
	q->begin_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < q->n; i++)
		accept_frame(q->pkts[i]);
	tl_count(&q->tx_pkts, q->n);
	q->n = 0;
}

static int make(const struct tl_shape_class *classes, uint32_t n, struct tl_err *err)
{
	struct tl_shape_cfg cfg = {.txq = &rig.tx,
		.clock = test_clock,
		.classes = classes,
		.n_classes = n,
		.fallback = n - 1,
		.mtu = MTU,
		.overhead_bytes = OVERHEAD,
		.frames = 256};

	memset(&rig, 0, sizeof(rig));
	rig.tx.flush_fn = flush;
	return tl_shape_create(&cfg, &rig.shape, err);
}

static void begin(const struct tl_shape_class *classes, uint32_t n)
{
	struct tl_err err = {""};

	if (make(classes, n, &err) != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rig.shape);
}

static void end(void)
{
	CU_ASSERT_FALSE(rig.wrong);
	tl_shape_destroy(rig.shape);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static struct tl_tree_stats sample(uint32_t cls)
{
	struct tl_tree_stats s;
	uint64_t outcomes;

	tl_shape_sample(rig.shape, cls, &s);
	outcomes = s.sent_pkts + s.backlog_pkts;
	for (int i = 0; i < TL_TREE_DROPS; i++)
		outcomes += s.drop_pkts[i];
	CU_ASSERT_EQUAL(s.in_pkts, outcomes);
	return s;
}

static uint64_t coloured(const struct tl_tree_stats *s)
{
	return s->colour_pkts[TL_METER_GREEN] + s->colour_pkts[TL_METER_YELLOW] + s->colour_pkts[TL_METER_RED];
}

// ---- frames

// Push a datagram with this DSCP to this port in a frame of len bytes, tagged if tci is not 0, and have the shape take
// it.
static void send_marked(uint16_t port, uint16_t len, uint16_t tci, uint8_t dscp)
{
	uint8_t frame[MTU] = {[12] = TL_ETHERTYPE_VLAN >> 8, [14] = (uint8_t)(tci >> 8), [15] = (uint8_t)tci};
	uint16_t off = tci != 0 ? TL_ETHER_LEN + TL_VLAN_LEN : TL_ETHER_LEN;
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + off);
	struct tl_udp_hdr *udp = (struct tl_udp_hdr *)(ip + 1);

	frame[off - 2] = TL_ETHERTYPE_IPV4 >> 8;
	frame[off - 1] = 0;
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.tos = (uint8_t)(dscp << 2 | 1),
		.total_len_be = tl_be16(len - off),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.src_be = 0x0100000a,
		.dst_be = 0x0200000a};
	tl_wire_ipv4_finish(ip);
	*udp = (struct tl_udp_hdr){.dst_port_be = tl_be16(port), .len_be = tl_be16(len - off - TL_IPV4_LEN)};
	struct rte_mbuf *m = tl_test_mbuf(pool, frame, len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	rig.tx.pkts[rig.tx.n++] = m;
	shape_turn(rig.shape, rig.now_ns);
}

static void send(uint16_t port, uint16_t len, uint16_t tci)
{
	send_marked(port, len, tci, 34);
}

static void send6(void)
{
	uint8_t frame[TL_ETHER_LEN + TL_IPV6_LEN + 20] = {
		[12] = TL_ETHERTYPE_IPV6 >> 8, [13] = TL_ETHERTYPE_IPV6 & 0xff};
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);

	*ip = (struct tl_ipv6_hdr){.version_be = tl_be32(6u << 28),
		.payload_len_be = tl_be16(20),
		.next = TL_IPPROTO_UDP,
		.hop_limit = 64};
	rig.tx.pkts[rig.tx.n++] = tl_test_mbuf(pool, frame, sizeof(frame));
	shape_turn(rig.shape, rig.now_ns);
}

#define ROOT                                                                                                           \
	{                                                                                                              \
		.tree = {.name = "wan", .rate = UINT64_C(100000000000), .burst = 10000000 }                            \
	}
#define LEAF .rate = 1000000000, .ceil = UINT64_C(100000000000), .burst = 1000000, .cburst = 10000000

// ---- tests

TL_TEST("the action of each colour is applied before the queue")
{
	static const struct tl_policer_cfg cfg = {
		.meter = {.cir = 8, .cbs = 200, .ebs = 300, .overhead_bytes = OVERHEAD},
		.actions = {{.dscp = 10, .pcp = KEEP}, {.dscp = 12, .pcp = 3}, DROP}};
	static const struct tl_shape_class classes[] = {ROOT,
		{.tree = {.name = "x", LEAF}, .match = "udp dst port 80", .police = &cfg},
		{.tree = {.name = "rest", LEAF}}};

	begin(classes, 3);
	send(80, 176, 0);
	CU_ASSERT_EQUAL(rig.dscp[0], 10);
	send(80, 276, 0);
	CU_ASSERT_EQUAL(rig.dscp[0], 12);
	send(80, 60, 0); // 84 with overhead
	CU_ASSERT_EQUAL(rig.n, 2);
	send(81, 1500, 0);
	CU_ASSERT_EQUAL(rig.n, 3);
	CU_ASSERT_EQUAL(rig.dscp[0], 34);
	struct tl_tree_stats x = sample(1), rest = sample(2), wan = sample(0);
	CU_ASSERT_EQUAL(x.in_pkts, 3);
	CU_ASSERT_EQUAL(x.drop_pkts[TL_TREE_DROP_POLICE], 1);
	CU_ASSERT_EQUAL(x.drop_bytes[TL_TREE_DROP_POLICE], 84);
	CU_ASSERT_EQUAL(x.colour_bytes[TL_METER_GREEN], 200);
	CU_ASSERT_EQUAL(x.colour_bytes[TL_METER_YELLOW], 300);
	CU_ASSERT_EQUAL(x.colour_bytes[TL_METER_RED], 84);
	CU_ASSERT_EQUAL(x.in_bytes, 584);
	CU_ASSERT_EQUAL(coloured(&rest), 0);
	CU_ASSERT_EQUAL(coloured(&wan), 3);
	CU_ASSERT_EQUAL(wan.drop_pkts[TL_TREE_DROP_POLICE], 1);
	CU_ASSERT_EQUAL(rig.tx.drop_shaped_pkts, 1);
	rig.now_ns += 84 * TL_NS_PER_S; // the committed bucket has 84 bytes
	send(80, 60, 0);
	CU_ASSERT_EQUAL(rig.dscp[0], 10);
	end();
}

TL_TEST("a colour-aware policer does not improve the colour of a DSCP")
{
	static const struct tl_policer_cfg cfg = {.meter = {.unit = TL_METER_PKTS, .cir = 1, .cbs = 2, .ebs = 3},
		.aware = true,
		.actions = {PASS, {.dscp = KEEP, .pcp = 2}, DROP}};
	static const struct tl_shape_class classes[] = {ROOT, {.tree = {.name = "x", LEAF}, .police = &cfg}};
	static const uint8_t green[] = {10, 46}, yellow[] = {12, 36}, red[] = {14, 38};

	begin(classes, 2);
	for (unsigned i = 0; i < 2; i++) {
		send_marked(80, 100, 0, red[i]);
		send_marked(80, 100, 0x2007, yellow[i]);
		CU_ASSERT_EQUAL(rig.pcp, 2);
		send_marked(80, 100, 0x2007, green[i]);
		CU_ASSERT_EQUAL(rig.pcp, 1);
	}
	send_marked(80, 100, 0, 0); // yellow: the committed bucket is empty
	struct tl_tree_stats x = sample(1);
	CU_ASSERT_EQUAL(x.colour_pkts[TL_METER_GREEN], 2);
	CU_ASSERT_EQUAL(x.colour_pkts[TL_METER_YELLOW], 3);
	CU_ASSERT_EQUAL(x.colour_pkts[TL_METER_RED], 2);
	end();
}

TL_TEST("the priority of VLAN tags and the DSCP of IPv6 are set")
{
	static const struct tl_policer_cfg cfg = {.meter = {.unit = TL_METER_PKTS, .cir = 1, .cbs = 2, .ebs = 1},
		.actions = {{.dscp = 46, .pcp = 5}, {.dscp = KEEP, .pcp = 2}, PASS}};
	static const struct tl_shape_class classes[] = {ROOT, {.tree = {.name = "x", LEAF}, .police = &cfg}};

	begin(classes, 2);
	send(80, 100, 0x2007);
	CU_ASSERT_EQUAL(rig.pcp, 5);
	CU_ASSERT_EQUAL(rig.dscp[0], 46);
	send6();
	CU_ASSERT_EQUAL(rig.dscp[1], 46);
	CU_ASSERT_EQUAL(sample(1).colour_pkts[TL_METER_GREEN], 2);
	send(80, 100, 0x2007);
	CU_ASSERT_EQUAL(rig.pcp, 2);
	CU_ASSERT_EQUAL(rig.dscp[0], 34);
	send(80, 100, 0x2007);
	CU_ASSERT_EQUAL(rig.pcp, 1);
	end();
}

TL_TEST("a frame dropped by a policer counts neither as demand nor as backlog")
{
	static const struct tl_policer_cfg cfg = {
		.meter = {.unit = TL_METER_PKTS, .cir = 1, .cbs = 2}, .actions = {PASS, PASS, DROP}};
	static const struct tl_shape_class classes[] = {ROOT, {.tree = {.name = "x", LEAF}, .police = &cfg}};
	struct tl_tree_load load;
	struct tl_service service;

	begin(classes, 2);
	tl_shape_service(rig.shape, &service);
	rig.stuck = true;
	for (int i = 0; i < 5; i++)
		send(80, 76, 0);
	tl_shape_load(rig.shape, &load);
	CU_ASSERT_EQUAL(load.in_bytes, 200);
	CU_ASSERT_EQUAL(load.backlog_bytes, 0); // of the tree: both wait for the port
	CU_ASSERT_EQUAL(rig.tx.drop_shaped_pkts, 3);
	rig.stuck = false;
	shape_turn(rig.shape, rig.now_ns);
	CU_ASSERT_EQUAL(rig.n, 2);
	CU_ASSERT_TRUE(service.closed(service.ctx));
	end();
}

TL_TEST("a queue limit also drops frames that the policer passed")
{
	static const struct tl_policer_cfg cfg = {
		.meter = {.unit = TL_METER_PKTS, .cir = 1, .cbs = 5}, .actions = {PASS, PASS, DROP}};
	static const struct tl_shape_class classes[] = {{.tree = {.name = "wan", .rate = 8000, .burst = MTU}},
		{.tree = {.name = "x", .rate = 8000, .burst = MTU, .cburst = MTU, .limit_pkts = 2, .flows = 4},
			.fair = TL_FAIR_FLOW,
			.police = &cfg}};

	begin(classes, 2);
	for (int i = 0; i < 7; i++)
		send(80, 1500, 0);
	struct tl_tree_stats s = sample(1);
	CU_ASSERT_EQUAL(s.sent_pkts, 1);
	CU_ASSERT_EQUAL(s.backlog_pkts, 2);
	CU_ASSERT_EQUAL(s.drop_pkts[TL_TREE_DROP_LIMIT], 2);
	CU_ASSERT_EQUAL(s.drop_pkts[TL_TREE_DROP_POLICE], 2);
	CU_ASSERT_EQUAL(coloured(&s), s.in_pkts);
	end();
}

// ---- the oracle

#define UNITS UINT64_C(8000000000) // of a byte: one is what 1 bit/s adds in 1 ns

struct oracle {
	struct tl_meter_cfg cfg;
	unsigned __int128 committed, excess;
	uint64_t last_ns;
};

static struct oracle oracle_begin(const struct tl_meter_cfg *cfg)
{
	bool two = cfg->kind == TL_METER_TRTCM;

	return (struct oracle){.cfg = *cfg,
		.committed = (unsigned __int128)cfg->cbs * UNITS,
		.excess = (unsigned __int128)(two ? cfg->pbs : cfg->ebs) * UNITS};
}

static void oracle_earn(struct oracle *o, uint64_t now_ns)
{
	const unsigned __int128 committed = (unsigned __int128)o->cfg.cbs * UNITS;
	bool two = o->cfg.kind == TL_METER_TRTCM;
	const unsigned __int128 excess = (unsigned __int128)(two ? o->cfg.pbs : o->cfg.ebs) * UNITS;

	o->committed += (unsigned __int128)o->cfg.cir * (now_ns - o->last_ns);
	o->excess += two ? (unsigned __int128)o->cfg.pir * (now_ns - o->last_ns) : 0;
	o->last_ns = now_ns;
	if (o->committed > committed) {
		o->excess += two ? 0 : o->committed - committed;
		o->committed = committed;
	}
	if (o->excess > excess)
		o->excess = excess;
}

static enum tl_meter_colour oracle_colour(struct oracle *o, uint64_t now_ns, uint32_t bytes)
{
	unsigned __int128 cost = (unsigned __int128)(bytes + o->cfg.overhead_bytes) * UNITS;
	bool two = o->cfg.kind == TL_METER_TRTCM;

	oracle_earn(o, now_ns);
	bool green = o->committed >= cost && (!two || o->excess >= cost);
	bool yellow = !green && o->excess >= cost;
	o->committed -= green ? cost : 0;
	o->excess -= yellow || (green && two) ? cost : 0;
	return green ? TL_METER_GREEN : yellow ? TL_METER_YELLOW : TL_METER_RED;
}

// Each class sends about twice its rate, with pauses that fill the buckets.
TL_TEST("each frame has the colour that RFC 2697 and RFC 2698 give it")
{
	static const struct tl_policer_cfg cfgs[] = {
		{.meter = {.cir = 80000003, .cbs = 9001, .ebs = 7000, .overhead_bytes = OVERHEAD},
			.actions = {{.dscp = 10, .pcp = KEEP}, {.dscp = 12, .pcp = KEEP}, {.dscp = 14, .pcp = KEEP}}},
		{.meter = {.kind = TL_METER_TRTCM,
			 .cir = 50000000,
			 .cbs = 5000,
			 .pir = 90000001,
			 .pbs = 6001,
			 .overhead_bytes = OVERHEAD},
			.actions = {{.dscp = 18, .pcp = KEEP}, {.dscp = 20, .pcp = KEEP}, DROP}}};
	static const struct tl_shape_class classes[] = {ROOT,
		{.tree = {.name = "x", LEAF}, .match = "udp dst port 80", .police = &cfgs[0]},
		{.tree = {.name = "y", LEAF}, .police = &cfgs[1]}};
	struct oracle oracles[] = {oracle_begin(&cfgs[0].meter), oracle_begin(&cfgs[1].meter)};
	uint64_t expected[2][TL_METER_COLOURS] = {{0}}, random = 1;

	begin(classes, 3);
	for (unsigned i = 0; i < 40000; i++) {
		rig.now_ns += tl_random_next(&random) % 40000 + (i % 128 == 0 ? 1500000 : 0);
		unsigned which = tl_random_next(&random) % 2;
		uint16_t len = (uint16_t)(60 + tl_random_next(&random) % 1455);
		expected[which][oracle_colour(&oracles[which], rig.now_ns, len)]++;
		send((uint16_t)(80 + which), len, 0);
	}
	for (unsigned which = 0; which < 2; which++) {
		struct tl_tree_stats s = sample(1 + which);
		for (int c = 0; c < TL_METER_COLOURS; c++) {
			const struct tl_policer_action *action = &cfgs[which].actions[c];
			CU_ASSERT_TRUE(expected[which][c] > 1000);
			CU_ASSERT_EQUAL(s.colour_pkts[c], expected[which][c]);
			CU_ASSERT_EQUAL(action->drop ? s.drop_pkts[TL_TREE_DROP_POLICE] : rig.by_dscp[action->dscp],
				expected[which][c]);
		}
		CU_ASSERT_EQUAL(s.in_bytes, s.colour_bytes[TL_METER_GREEN] + s.colour_bytes[TL_METER_YELLOW] +
						    s.colour_bytes[TL_METER_RED]);
	}
	end();
}

TL_TEST("invalid rates are refused")
{
	static const struct tl_policer_cfg cfg = {
		.meter = {.cir = 3, .cbs = TL_METER_BURST_MAX}, .actions = {PASS, PASS, DROP}};
	static const struct tl_shape_class classes[] = {ROOT, {.tree = {.name = "x", LEAF}, .police = &cfg}};
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(make(classes, 2, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "class x: police: cbs 1099511627776: too large to be exact"));
	CU_ASSERT_PTR_EQUAL((void *)rig.tx.flush_fn, (void *)flush);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_shape_police", 1023, 0, 0, 256, SOCKET_ID_ANY);
	if (test_clock == NULL || pool == NULL) {
		printf("not ok - set-up: no clock or no memory\n");
		return 1;
	}
	return tl_test_run("shape_police");
}
