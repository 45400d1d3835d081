// SPDX-License-Identifier: BSD-3-Clause
// Shaper of a send queue: a simulated port, on a simulated clock.

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_mbuf.h>
#include <tl_wire.h>

#include "shape_priv.h"

#define MTU 1518
#define MBUFS 4095
#define KBIT UINT64_C(1000)
#define MBIT (1000 * KBIT)
#define MS TL_NS_PER_MS
#define DROPS(s)                                                                                                       \
	((s).drop_pkts[TL_TREE_DROP_LONG] + (s).drop_pkts[TL_TREE_DROP_LIMIT] + (s).drop_pkts[TL_TREE_DROP_LATE] +     \
		(s).drop_pkts[TL_TREE_DROP_MEMORY] + (s).drop_pkts[TL_TREE_DROP_END])

static struct tl_clock *test_clock;
static struct rte_mempool *pool;

// A port and its accepted frames, by the UDP destination port.
static struct {
	struct tl_txq tx;
	struct tl_shape *shape;
	uint64_t now_ns;
	uint16_t room; // free descriptors
	uint64_t pkts[UINT16_MAX + 1], bytes[UINT16_MAX + 1];
	uint64_t by_host[256]; // bytes, by the last byte of the destination
	uint64_t others;       // frames that are not UDP
	uint32_t last_serial;  // of a frame: the first word of its payload
	bool reordered;
} rig;

static void accept_frame(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_pkt pkt;

	if (frame[12] == 8) // IPv4, of which some have a wrong checksum
		tl_wire_ipv4_finish((struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN));
	tl_wire_parse(frame, m->data_len, &pkt);
	bool udp = pkt.kind == TL_PKT_UDP || (pkt.kind == TL_PKT_IP6 && pkt.ip6_kind == TL_PKT_UDP);
	if (udp) {
		uint16_t port = tl_be16(pkt.dst_port_be);
		uint32_t serial;
		memcpy(&serial, frame + pkt.payload_off, sizeof(serial));
		rig.reordered |= serial < rig.last_serial;
		rig.last_serial = serial;
		rig.pkts[port]++;
		rig.bytes[port] += m->pkt_len;
		rig.by_host[pkt.dst_be >> 24] += m->pkt_len;
	}
	rig.others += !udp;
	rte_pktmbuf_free(m);
}

static void flush(struct tl_txq *q)
{
	uint16_t n = q->n < rig.room ? q->n : rig.room;

	q->begin_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < n; i++)
		accept_frame(q->pkts[i]);
	tl_count(&q->tx_pkts, n);
	q->n -= n;
	memmove(q->pkts, q->pkts + n, q->n * sizeof(q->pkts[0]));
}

static void begin(const struct tl_shape_class *classes, uint32_t n, uint32_t fallback, uint32_t frames)
{
	struct tl_err err = {""};
	struct tl_shape_cfg cfg = {.txq = &rig.tx,
		.clock = test_clock,
		.classes = classes,
		.n_classes = n,
		.fallback = fallback,
		.mtu = MTU,
		.frames = frames};

	memset(&rig, 0, sizeof(rig));
	rig.tx.flush_fn = flush;
	rig.room = UINT16_MAX;
	int rc = tl_shape_create(&cfg, &rig.shape, &err);
	if (rc != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
}

static void end(void)
{
	tl_shape_destroy(rig.shape);
	for (uint16_t i = 0; i < rig.tx.n; i++)
		rte_pktmbuf_free(rig.tx.pkts[i]);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static struct tl_tree_stats sample(uint32_t cls)
{
	struct tl_tree_stats stats;

	tl_shape_sample(rig.shape, cls, &stats);
	CU_ASSERT_EQUAL(stats.in_pkts, stats.sent_pkts + stats.backlog_pkts + DROPS(stats));
	return stats;
}

// ---- frames

static uint16_t write_ethernet(uint8_t *frame, uint16_t type, uint16_t vlan)
{
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;

	memset(frame, 0, MTU);
	ether->type_be = tl_be16(vlan != 0 ? TL_ETHERTYPE_VLAN : type);
	if (vlan == 0)
		return TL_ETHER_LEN;
	frame[TL_ETHER_LEN] = (uint8_t)(vlan >> 8);
	frame[TL_ETHER_LEN + 1] = (uint8_t)vlan;
	frame[TL_ETHER_LEN + 2] = (uint8_t)(type >> 8);
	frame[TL_ETHER_LEN + 3] = (uint8_t)type;
	return TL_ETHER_LEN + TL_VLAN_LEN;
}

// Push a frame as the stack does, but without a flush.
static void push(const uint8_t *frame, uint16_t len)
{
	struct rte_mbuf *m = tl_test_mbuf(pool, frame, len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	rig.tx.pkts[rig.tx.n++] = m;
}

static void push_ip4(uint8_t proto, uint16_t vlan)
{
	uint8_t frame[MTU];
	uint16_t off = write_ethernet(frame, TL_ETHERTYPE_IPV4, vlan);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + off);

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45, .total_len_be = tl_be16(46), .ttl = 64, .proto = proto};
	tl_wire_ipv4_finish(ip);
	push(frame, TL_ETHER_MIN_FRAME);
}

static void push_ip6(uint8_t next, uint8_t type, uint16_t vlan)
{
	uint8_t frame[MTU];
	uint16_t off = write_ethernet(frame, TL_ETHERTYPE_IPV6, vlan);
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + off);

	*ip = (struct tl_ipv6_hdr){
		.version_be = tl_be32(6u << 28), .payload_len_be = tl_be16(24), .next = next, .hop_limit = 255};
	frame[off + TL_IPV6_LEN] = type;
	push(frame, (uint16_t)(off + TL_IPV6_LEN + 24));
}

static uint32_t serial;

static void fill_udp(uint8_t *udp, uint16_t port, uint16_t len)
{
	*(struct tl_udp_hdr *)udp =
		(struct tl_udp_hdr){.src_port_be = tl_be16(7), .dst_port_be = tl_be16(port), .len_be = tl_be16(len)};
	serial++;
	memcpy(udp + TL_UDP_LEN, &serial, sizeof(serial));
}

// Push a datagram to host 10.0.0.host, in a frame of len bytes.
static void push_udp(uint8_t host, uint16_t port, uint16_t len)
{
	uint8_t frame[MTU];
	uint16_t off = write_ethernet(frame, TL_ETHERTYPE_IPV4, 0);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + off);

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(len - TL_ETHER_LEN),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.src_be = 0x0100000a,
		.dst_be = (uint32_t)host << 24 | 0x0a};
	tl_wire_ipv4_finish(ip);
	fill_udp((uint8_t *)(ip + 1), port, (uint16_t)(len - TL_ETHER_LEN - TL_IPV4_LEN));
	push(frame, len);
}

static void push_udp6(uint8_t host, uint16_t port)
{
	uint8_t frame[MTU];
	uint16_t off = write_ethernet(frame, TL_ETHERTYPE_IPV6, 0);
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + off);

	*ip = (struct tl_ipv6_hdr){.version_be = tl_be32(6u << 28),
		.payload_len_be = tl_be16(1000),
		.next = TL_IPPROTO_UDP,
		.hop_limit = 64,
		.dst = {{0x20, 1, [15] = host}}};
	fill_udp((uint8_t *)(ip + 1), port, 1000);
	push(frame, TL_ETHER_LEN + TL_IPV6_LEN + 1000);
}

// Keep the classes of these ports backlogged for a time, in turns of 100 us. Frames of 1000 bytes.
static void load(const uint16_t *ports, uint32_t n, uint64_t ns)
{
	for (uint64_t until_ns = rig.now_ns + ns; rig.now_ns < until_ns; rig.now_ns += 100 * TL_NS_PER_US) {
		for (uint32_t i = 0; i < n; i++) // 160 Mbit/s each
			for (unsigned k = 0; k < 2; k++)
				push_udp(1, ports[i], 1000);
		shape_turn(rig.shape, rig.now_ns);
	}
}

static bool is_near(uint64_t value, uint64_t wanted, uint64_t by)
{
	bool near = value + by >= wanted && value <= wanted + by;

	if (!near)
		printf("# %ju, not %ju within %ju\n", (uintmax_t)value, (uintmax_t)wanted, (uintmax_t)by);
	return near;
}

// ---- tests

static const struct tl_shape_class two[] = {
	{.tree = {.name = "wan", .rate = 10 * MBIT, .burst = 20000}},
	{.tree = {.name = "ssh", .rate = 8 * MBIT, .burst = 20000, .cburst = 20000, .limit_pkts = 40},
		.match = "udp dst port 22"},
	{.tree = {.name = "rest",
		 .rate = 2 * MBIT,
		 .ceil = 10 * MBIT,
		 .burst = 20000,
		 .cburst = 20000,
		 .limit_pkts = 40}},
};

TL_TEST("a class gets its guaranteed rate and borrows unused bandwidth")
{
	static const uint16_t both[] = {22, 80}, rest[] = {80};

	begin(two, 3, 2, 80);
	load(both, 2, 1000 * MS);
	CU_ASSERT(is_near(rig.bytes[22], 1000000, 25000));
	CU_ASSERT(is_near(rig.bytes[80], 250000, 25000));
	load(both, 0, 100 * MS); // drain the queues
	CU_ASSERT_EQUAL(sample(0).backlog_pkts, 0);
	uint64_t before = rig.bytes[80];
	load(rest, 1, 1000 * MS);
	CU_ASSERT(is_near(rig.bytes[80] - before, 1250000, 50000));
	CU_ASSERT(is_near(sample(2).borrowed_bytes, 1000000, 50000));
	CU_ASSERT_EQUAL(sample(1).borrowed_bytes, 0);
	CU_ASSERT_EQUAL(sample(0).sent_pkts, rig.tx.tx_pkts);
	end();
}

TL_TEST("the first matching filter expression classifies a frame")
{
	static const struct tl_shape_class classes[] = {
		{.tree = {.name = "wan", .rate = 1000 * MBIT}},
		{.tree = {.name = "rest", .rate = 1 * MBIT, .ceil = 1000 * MBIT}},
		{.tree = {.name = "inner", .rate = 9 * MBIT, .ceil = 1000 * MBIT}},
		{.tree = {.name = "low", .parent = 2, .rate = 1 * MBIT, .ceil = 1000 * MBIT},
			.match = "udp dst portrange 1-99"},
		{.tree = {.name = "all", .parent = 2, .rate = 1 * MBIT, .ceil = 1000 * MBIT}, .match = "udp"},
	};

	begin(classes, 5, 1, 64);
	push_udp(1, 5, 100);
	push_udp(1, 99, 100);
	push_udp(1, 100, 100);
	push_ip4(TL_IPPROTO_TCP, 0);
	shape_turn(rig.shape, 0);
	CU_ASSERT_EQUAL(sample(3).sent_pkts, 2);
	CU_ASSERT_EQUAL(sample(4).sent_pkts, 1);
	CU_ASSERT_EQUAL(sample(2).sent_pkts, 3);
	CU_ASSERT_EQUAL(sample(1).sent_pkts, 1);
	CU_ASSERT_EQUAL(sample(0).sent_pkts, 4);
	end();
}

static const struct tl_shape_class slow[] = {
	{.tree = {.name = "wan", .rate = 8 * KBIT, .burst = MTU}}, // 1 byte per ms
	{.tree = {.name = "rest", .rate = 8 * KBIT, .burst = MTU, .cburst = MTU, .limit_pkts = 10}},
};

TL_TEST("ARP, IGMP, MLD and neighbour discovery bypass the queues, other ICMP does not")
{
	static const uint8_t control[] = {130, 131, 132, 133, 135, 136, 143};

	begin(slow, 2, 1, 11);
	for (unsigned i = 0; i < 5; i++)
		push_udp(1, 80, 1000);
	for (uint16_t vlan = 0; vlan <= 5; vlan += 5) {
		uint8_t frame[MTU];
		write_ethernet(frame, TL_ETHERTYPE_ARP, vlan);
		push(frame, TL_ETHER_MIN_FRAME);
		push_ip4(TL_IPPROTO_IGMP, vlan);
		push_ip6(TL_IP6_HOP_BY_HOP, TL_IPPROTO_ICMP6, vlan); // MLD
		for (unsigned i = 0; i < TL_ARRAY_LEN(control); i++)
			push_ip6(TL_IPPROTO_ICMP6, control[i], vlan);
	}
	shape_turn(rig.shape, 0);
	CU_ASSERT_EQUAL(rig.others, 20);
	CU_ASSERT_EQUAL(tl_shape_bypassed(rig.shape), 20);
	CU_ASSERT_EQUAL(rig.pkts[80], 1);
	CU_ASSERT_EQUAL(sample(0).in_pkts, 5);
	push_ip4(TL_IPPROTO_ICMP, 0);
	push_ip6(TL_IPPROTO_ICMP6, 129, 0); // echo reply
	push_ip6(TL_IPPROTO_ICMP6, 3, 5);   // error
	shape_turn(rig.shape, 0);
	CU_ASSERT_EQUAL(rig.others, 20);
	CU_ASSERT_EQUAL(sample(0).backlog_pkts, 7);
	end();
}

TL_TEST("with a full TX ring frames stay in the tree, in order")
{
	static const struct tl_shape_class fast[] = {
		{.tree = {.name = "wan", .rate = 10000 * MBIT, .burst = 1000000}},
		{.tree = {.name = "rest", .rate = 10000 * MBIT, .burst = 1000000, .cburst = 1000000}},
	};
	struct tl_service service;

	begin(fast, 2, 1, 1000);
	tl_shape_service(rig.shape, &service);
	rig.room = 0;
	for (unsigned i = 0; i < 10; i++) {
		for (unsigned k = 0; k < 30; k++)
			push_udp(1, 80, 100);
		CU_ASSERT_EQUAL(shape_turn(rig.shape, i), 0);
		CU_ASSERT(tl_txq_has_room(&rig.tx));
	}
	CU_ASSERT_EQUAL(rig.pkts[80], 0);
	CU_ASSERT_EQUAL(sample(0).backlog_pkts + rig.tx.n, 300);
	CU_ASSERT_EQUAL(DROPS(sample(0)), 0);
	CU_ASSERT_EQUAL(shape_next_ns(rig.shape), 0); // try again
	for (unsigned i = 0; i < 100 && sample(0).backlog_pkts != 0; i++) {
		rig.room = rig.tx.tx_pkts < 270 ? 10 : 0;
		shape_poll(rig.shape, 10 + i);
	}
	CU_ASSERT_EQUAL(sample(0).backlog_pkts, 0);
	CU_ASSERT_FALSE(service.closed(service.ctx)); // the port has not accepted the last ones
	rig.room = 7;
	for (unsigned i = 0; i < 100 && rig.pkts[80] < 300; i++)
		shape_poll(rig.shape, 110 + i);
	CU_ASSERT_EQUAL(rig.pkts[80], 300);
	CU_ASSERT_FALSE(rig.reordered);
	CU_ASSERT_EQUAL(shape_next_ns(rig.shape), TL_TREE_NEVER);
	end();
}

TL_TEST("the time during which the TX ring is full is counted")
{
	static const struct tl_shape_class fast[] = {
		{.tree = {.name = "wan", .rate = 10000 * MBIT, .burst = 1000000}},
		{.tree = {.name = "rest", .rate = 10000 * MBIT, .burst = 1000000, .cburst = 1000000}},
	};

	begin(fast, 2, 1, 11);
	push_udp(1, 80, 100);
	shape_turn(rig.shape, 1000);
	rig.room = 0;
	push_udp(1, 80, 100);
	shape_turn(rig.shape, 2000);
	CU_ASSERT_EQUAL(tl_shape_busy_ns(rig.shape), 0);
	shape_poll(rig.shape, 2500);
	CU_ASSERT_EQUAL(tl_shape_busy_ns(rig.shape), 500);
	shape_poll(rig.shape, 2400); // of an earlier reading
	CU_ASSERT_EQUAL(tl_shape_busy_ns(rig.shape), 500);
	rig.room = 10;
	shape_poll(rig.shape, 2600);
	CU_ASSERT_EQUAL(tl_shape_busy_ns(rig.shape), 600);
	push_udp(1, 80, 100);
	shape_turn(rig.shape, 9000);
	CU_ASSERT_EQUAL(tl_shape_busy_ns(rig.shape), 600);
	end();
}

// All frames that a stack pushes between two flushes fit, however many are queued.
TL_TEST("a push of more than a burst is flushed into the tree")
{
	begin(slow, 2, 1, 11);
	rig.room = 0;
	for (unsigned i = 0; i < 3 * TL_BURST; i++) {
		CU_ASSERT(tl_txq_has_room(&rig.tx));
		push_udp(1, 80, 100);
		if (rig.tx.n == TL_BURST)
			tl_txq_flush(&rig.tx);
	}
	tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(sample(0).in_pkts, 3 * TL_BURST);
	CU_ASSERT_EQUAL(rig.tx.drop_shaped_pkts, DROPS(sample(0)));
	end();
}

TL_TEST("frames beyond the queue limit of a class are dropped and counted")
{
	struct tl_service service;

	begin(slow, 2, 1, 11);
	for (unsigned i = 0; i < 15; i++)
		push_udp(1, 80, 1000);
	shape_turn(rig.shape, 0);
	struct tl_tree_stats s = sample(1);
	CU_ASSERT_EQUAL(s.sent_pkts, 1);
	CU_ASSERT_EQUAL(s.backlog_pkts, 9);
	CU_ASSERT_EQUAL(s.drop_pkts[TL_TREE_DROP_LIMIT], 5);
	CU_ASSERT_EQUAL(rig.tx.drop_shaped_pkts, 5);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 9);
	for (unsigned i = 0; i < 9; i++)
		shape_turn(rig.shape, rig.now_ns += 2000 * MS);
	tl_shape_service(rig.shape, &service);
	CU_ASSERT_TRUE(service.closed(service.ctx));
	end();
}

TL_TEST("a frame is sent at its departure time, which the service reports to the lcore")
{
	struct tl_service service;

	begin(slow, 2, 1, 11);
	tl_shape_service(rig.shape, &service);
	CU_ASSERT_EQUAL(service.next_ns(service.ctx), TL_TREE_NEVER);
	CU_ASSERT_TRUE(service.closed(service.ctx));
	push_udp(1, 80, MTU);
	push_udp(1, 80, 60);
	shape_turn(rig.shape, 5);
	CU_ASSERT_EQUAL(rig.pkts[80], 1);
	CU_ASSERT_FALSE(service.closed(service.ctx));
	uint64_t next_ns = 5 + MTU * MS; // a class waits for tokens of the longest frame
	CU_ASSERT_EQUAL(service.poll(service.ctx, next_ns - 1), 0);
	CU_ASSERT_EQUAL(service.next_ns(service.ctx), next_ns);
	CU_ASSERT_EQUAL(service.poll(service.ctx, next_ns), 1);
	CU_ASSERT_EQUAL(rig.pkts[80], 2);
	CU_ASSERT_TRUE(service.closed(service.ctx));
	end();
}

TL_TEST("the time of the send call is unknown while frames are queued")
{
	begin(slow, 2, 1, 11);
	push_udp(1, 80, 100);
	tl_txq_flush(&rig.tx);
	CU_ASSERT_NOT_EQUAL(rig.tx.begin_tsc, 0);
	push_udp(1, 80, 100);
	tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(rig.tx.begin_tsc, 0);
	end();
}

TL_TEST("a fair class is shared by destination")
{
	static const struct tl_shape_class fair[] = {
		{.tree = {.name = "wan", .rate = 8 * MBIT, .burst = 5000}},
		{.tree = {.name = "rest",
			 .rate = 8 * MBIT,
			 .burst = 5000,
			 .cburst = 5000,
			 .flows = 1024,
			 .limit_pkts = 60},
			.fair = TL_FAIR_DESTINATION},
	};

	begin(fair, 2, 1, 100);
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < 8; k++) // one client sends four times as much, in many flows
			push_udp(1, (uint16_t)(1000 + i % 50), 1000);
		push_udp(2, 80, 1000);
		push_udp(2, 80, 1000);
		shape_turn(rig.shape, rig.now_ns += MS);
	}
	CU_ASSERT(is_near(rig.by_host[1] + rig.by_host[2], 1000000, 10000));
	CU_ASSERT(is_near(rig.by_host[2], 500000, 20000));
	end();
}

static const struct tl_shape_weight weights[] = {
	{.version = 4, .bits = 30, .ip = {10}, .weight = 2},
	{.version = 6, .bits = 128, .ip = {0x20, 1, [15] = 9}, .weight = 5},
	{.version = 4, .bits = 32, .ip = {10, 0, 0, 3}, .weight = 6},
	{.version = 6, .bits = 16, .ip = {0x20, 1}, .weight = 4},
};

static void begin_weighted(enum tl_fair fair, const struct tl_shape_weight *of, uint32_t n)
{
	struct tl_shape_class classes[] = {slow[0], slow[1]};

	classes[0].tree.rate = classes[1].tree.rate = 8 * MBIT;
	classes[0].tree.burst = classes[1].tree.burst = classes[1].tree.cburst = 5000;
	classes[1].tree.flows = 65536;
	classes[1].tree.limit_pkts = 400;
	classes[1].fair = fair;
	classes[1].weights = of;
	classes[1].n_weights = n;
	begin(classes, 2, 1, 401);
}

// Send frames to these hosts for a second, all backlogged. Port 80 + host counts the bytes.
static void send_weighted(const uint8_t *hosts, bool ip6)
{
	begin_weighted(TL_FAIR_DESTINATION, weights, TL_ARRAY_LEN(weights));
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < 12; k++) {
			uint8_t host = hosts[k % 3];
			if (ip6)
				push_udp6(host, 80 + host);
			else
				push_udp(host, 80 + host, 1000);
		}
		shape_turn(rig.shape, rig.now_ns += MS);
	}
}

TL_TEST("a fair class is shared by host weights, of which the longest prefix applies")
{
	send_weighted((const uint8_t[]){1, 2, 3}, false); // weights 2, 2 and 6
	CU_ASSERT(is_near(rig.bytes[81], 200000, 4000));
	CU_ASSERT(is_near(rig.bytes[82], 200000, 4000));
	CU_ASSERT(is_near(rig.bytes[83], 600000, 12000));
	end();
	send_weighted((const uint8_t[]){1, 2, 9}, true); // weights 4, 4 and 5
	CU_ASSERT(is_near(rig.bytes[81], 307692, 6154));
	CU_ASSERT(is_near(rig.bytes[82], 307692, 6154));
	CU_ASSERT(is_near(rig.bytes[89], 384615, 7692));
	end();
}

// Frame fields that a hash may contain.
enum field { SOURCE, DESTINATION, PORT_NUMBER, FIELDS };

static void push_with(enum field field, bool other, bool ip6)
{
	uint8_t host = field == DESTINATION && other ? 2 : 1;
	uint16_t port = field == PORT_NUMBER && other ? 81 : 80;

	if (ip6)
		push_udp6(host, port);
	else
		push_udp(host, port, 1000);
	if (field != SOURCE || !other)
		return;
	uint8_t *ip = rte_pktmbuf_mtod_offset(rig.tx.pkts[rig.tx.n - 1], uint8_t *, TL_ETHER_LEN);
	ip[ip6 ? 23 : 15] ^= 0x55; // last byte of the source
	if (!ip6)
		tl_wire_ipv4_finish((struct tl_ipv4_hdr *)ip);
}

// Return whether a frame that differs in a field overtakes ten others.
static bool overtakes(enum tl_fair fair, enum field field, bool ip6)
{
	struct tl_shape_class classes[] = {slow[0], slow[1]};

	classes[1].tree.flows = 65536;
	classes[1].tree.limit_pkts = 100;
	classes[1].fair = fair;
	begin(classes, 2, 1, 101);
	for (unsigned k = 0; k < 11; k++)
		push_with(field, k == 10, ip6);
	for (unsigned k = 0; k < 11; k++)
		shape_turn(rig.shape, rig.now_ns += 2000 * MS);
	CU_ASSERT_EQUAL(rig.tx.tx_pkts, 11);
	bool reordered = rig.reordered;
	end();
	return reordered;
}

// Push a frame of 1000 bytes from 10.0.0.1, or from 10.0.0.84, to 10.0.0.2.
static void push_from(bool other, uint16_t port, bool wrong_cksum)
{
	push_udp(2, port, 1000);
	uint8_t *ip = rte_pktmbuf_mtod_offset(rig.tx.pkts[rig.tx.n - 1], uint8_t *, TL_ETHER_LEN);
	ip[15] = other ? 0x54 : 1;
	tl_wire_ipv4_finish((struct tl_ipv4_hdr *)ip);
	ip[11] ^= wrong_cksum;
}

// Two sources send to a destination whose prefix has another weight.
static void share_by_source(bool wrong_cksum)
{
	static const struct tl_shape_weight by_source[] = {
		{.version = 4, .bits = 32, .ip = {10, 0, 0, 0x54}, .weight = 3},
		{.version = 4, .bits = 32, .ip = {10, 0, 0, 2}, .weight = 2}};

	begin_weighted(TL_FAIR_SOURCE, by_source, 2);
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < 8; k++)
			push_from(k % 2 != 0, (uint16_t)(80 + k % 2), wrong_cksum);
		shape_turn(rig.shape, rig.now_ns += MS);
	}
	CU_ASSERT(is_near(rig.bytes[80], 250000, 5000));
	CU_ASSERT(is_near(rig.bytes[81], 750000, 15000));
	end();
}

TL_TEST("weights apply to the address that the fair hash uses")
{
	share_by_source(false);
}

// As recorded on hosts whose NIC computes it.
TL_TEST("frames with a wrong IPv4 checksum are shared by their addresses, too")
{
	share_by_source(true);
}

TL_TEST("each kind of flow hash covers the header fields of its kind")
{
	static const struct {
		enum tl_fair fair;
		bool has[FIELDS];
	} kinds[] = {{TL_FAIR_SOURCE, {[SOURCE] = true}}, {TL_FAIR_DESTINATION, {[DESTINATION] = true}},
		{TL_FAIR_FLOW, {true, true, true}}};

	for (size_t i = 0; i < TL_ARRAY_LEN(kinds); i++)
		for (enum field field = 0; field < FIELDS; field++)
			for (unsigned ip6 = 0; ip6 < 2; ip6++)
				CU_ASSERT_EQUAL(overtakes(kinds[i].fair, field, ip6 != 0), kinds[i].has[field]);
}

TL_TEST("a change of rates loses no frame")
{
	struct tl_tree_class classes[] = {slow[0].tree, slow[1].tree};
	struct tl_err err = {""};

	begin(slow, 2, 1, 11);
	for (unsigned i = 0; i < 10; i++)
		push_udp(1, 80, 1000);
	shape_turn(rig.shape, 0);
	CU_ASSERT_EQUAL(rig.pkts[80], 1);
	classes[1].rate = 16 * KBIT;
	CU_ASSERT_EQUAL(tl_shape_set_rates(rig.shape, classes, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "class rest: ceil 16000: above that of its parent wan"));
	classes[0].rate = classes[1].rate = 80 * MBIT;
	for (unsigned i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(tl_shape_set_rates(rig.shape, classes, &err), 0);
		CU_ASSERT_EQUAL(tl_shape_set_rates(rig.shape, classes, &err), -EBUSY);
		CU_ASSERT(shape_next_ns(rig.shape) <= rig.now_ns); // work is due
		shape_poll(rig.shape, rig.now_ns += 10 * MS);
	}
	for (unsigned i = 0; i < 10; i++)
		shape_poll(rig.shape, rig.now_ns += 10 * MS);
	CU_ASSERT_EQUAL(rig.pkts[80], 10);
	CU_ASSERT_FALSE(rig.reordered);
	CU_ASSERT_EQUAL(DROPS(sample(0)), 0);
	end();
}

// Main's call, while the lcore's thread is the test.
static void *replace(void *to)
{
	static const struct tl_shape_class classes[] = {{.tree = {.name = "wan", .rate = 8 * MBIT, .burst = 5000}},
		{.tree = {.name = "new", .rate = 4 * MBIT, .ceil = 8 * MBIT}, .match = "udp dst port 82"},
		{.tree = {.name = "rest", .rate = 4 * MBIT, .ceil = 8 * MBIT}}};
	struct tl_shape_cfg cfg = {.classes = classes, .n_classes = 3, .fallback = 2, .mtu = MTU};
	struct tl_err err = {""};

	return (void *)(intptr_t)tl_shape_set_classes(rig.shape, &cfg, to, &err);
}

TL_TEST("a change of classes loses no frame, and fails if the lcore does not adopt it")
{
	static const uint32_t to[] = {0, TL_TREE_REMOVED, 2};
	pthread_t main_thread;
	void *rc = NULL;

	begin(two, 3, 2, 200);
	for (unsigned k = 0; k < 40; k++)
		push_udp(1, k % 2 == 0 ? 22 : 80, 1000);
	shape_turn(rig.shape, rig.now_ns);
	uint64_t waiting = sample(1).backlog_pkts;
	CU_ASSERT(waiting > 5);
	CU_ASSERT_EQUAL((intptr_t)replace((void *)(uintptr_t)to), -EAGAIN); // nobody takes them
	CU_ASSERT_EQUAL(sample(0).in_pkts, 40);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&main_thread, NULL, replace, (void *)(uintptr_t)to), 0);
	while (pthread_tryjoin_np(main_thread, &rc) != 0)
		shape_poll(rig.shape, rig.now_ns);
	CU_ASSERT_EQUAL((intptr_t)rc, 0);
	CU_ASSERT_EQUAL(sample(0).in_pkts, 40);
	CU_ASSERT_EQUAL(sample(0).backlog_pkts + rig.tx.tx_pkts, 40);
	CU_ASSERT_EQUAL(sample(1).in_pkts, 0);
	CU_ASSERT_EQUAL(sample(2).in_pkts, 20 + waiting);
	for (unsigned k = 0; k < 8; k++)
		push_udp(1, 82, 1000);
	for (unsigned i = 0; i < 100; i++)
		shape_turn(rig.shape, rig.now_ns += MS);
	CU_ASSERT_EQUAL(sample(1).sent_pkts, 8);
	CU_ASSERT_EQUAL(rig.tx.tx_pkts, 48);
	end();
}

TL_TEST("the end drops queued frames, and later frames bypass the tree")
{
	struct tl_service service;

	begin(slow, 2, 1, 11);
	tl_shape_service(rig.shape, &service);
	for (unsigned i = 0; i < 5; i++)
		push_udp(1, 80, 1000);
	shape_turn(rig.shape, 0);
	service.finish(service.ctx);
	CU_ASSERT_EQUAL(sample(1).drop_pkts[TL_TREE_DROP_END], 4);
	CU_ASSERT_EQUAL(sample(0).backlog_pkts, 0);
	CU_ASSERT_EQUAL(rig.tx.drop_shaped_pkts, 4);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	push_udp(1, 81, 1000);
	push_udp(1, 81, 1000);
	tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(rig.pkts[81], 2);
	end();
}

TL_TEST("an invalid configuration is refused and does not change the TX queue")
{
	static const struct {
		const char *match;
		uint64_t rate;
		const char *sentence;
	} wrong[] = {{"udp dst", MBIT, "class rest: match: "}, {NULL, 20 * KBIT, "class rest: ceil 20000"}};

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct tl_shape_class classes[] = {slow[0], slow[1]};
		struct tl_shape_cfg cfg = {.txq = &rig.tx,
			.clock = test_clock,
			.classes = classes,
			.n_classes = 2,
			.mtu = MTU,
			.frames = 1};
		struct tl_err err = {""};
		classes[0].tree.rate = wrong[i].match != NULL ? MBIT : 8 * KBIT;
		classes[1].tree.rate = wrong[i].rate;
		classes[1].match = wrong[i].match;
		rig.tx.flush_fn = flush;
		CU_ASSERT_EQUAL(tl_shape_create(&cfg, &rig.shape, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, wrong[i].sentence));
		CU_ASSERT_EQUAL(rig.tx.flush_fn, flush);
	}
	tl_shape_destroy(NULL);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_shape", MBUFS, 0, 0, 256, SOCKET_ID_ANY);
	if (test_clock == NULL || pool == NULL) {
		printf("not ok - set-up: no clock or no memory\n");
		return 1;
	}
	return tl_test_run("shape");
}
