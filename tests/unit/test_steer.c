// SPDX-License-Identifier: BSD-3-Clause
// Steering between the lcores of a port: owner lookup, and hand-off without loss or damage.

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <tl_lcore.h>
#include <tl_steer.h>
#include <tl_test_host.h>

#include "steer_priv.h"

#define QUEUES 3

struct bed {
	struct tl_steer *steer;
	unsigned in_use; // mbufs in use before the test
};

static struct bed start_steer_without(uint32_t without_stack)
{
	struct tl_steer_cfg cfg = {
		.ip_be = US, .queues = QUEUES, .without_stack = without_stack, .socket_id = SOCKET_ID_ANY};
	struct bed bed = {.in_use = rte_mempool_in_use_count(rte_mempool_lookup(POOL))};
	struct tl_err err;

	memcpy(cfg.mac, OUR_MAC, sizeof(cfg.mac));
	CU_ASSERT_EQUAL_FATAL(tl_steer_create(&cfg, &bed.steer, &err), 0);
	tl_steer_own_tcp(tl_steer_side(bed.steer, 1), PORT(7));
	tl_steer_own_udp(tl_steer_side(bed.steer, 2), PORT(7));
	CU_ASSERT_EQUAL(tl_steer_own_group(tl_steer_side(bed.steer, 1), GROUP), 0);
	return bed;
}

static struct bed start_steer(void)
{
	return start_steer_without(0);
}

static void stop_steer(const struct bed *bed)
{
	tl_steer_destroy(bed->steer);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rte_mempool_lookup(POOL)), bed->in_use);
}

static uint16_t take_all(struct tl_steer *steer, uint16_t queue)
{
	const struct tl_burst *b;
	uint16_t n = 0;

	while ((b = tl_steer_take(tl_steer_side(steer, queue), 1)) != NULL) {
		rte_pktmbuf_free_bulk((struct rte_mbuf **)b->pkts, b->n);
		n += b->n;
	}
	return n;
}

// Receivers of the frame received on queue: one digit per lcore, lcore 0 first.
static int has_it(struct tl_steer *steer, uint16_t queue, const struct frame *f)
{
	struct tl_burst burst = {.n = 1, .pkts = {wrap(f)}};
	int who = 0;

	tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[0], uint8_t *), f->len, &burst.pkt[0]);
	uint16_t here = tl_steer_split(tl_steer_side(steer, queue), &burst)->n;
	rte_pktmbuf_free(burst.pkts[0]);
	for (uint16_t q = 0; q < QUEUES; q++)
		who = who * 10 + take_all(steer, q) + (q == queue ? here : 0);
	return who;
}

TL_TEST("a port or group has one owner lcore, regardless of the receiving queue")
{
	struct bed bed = start_steer();
	struct frame tcp = tcp_frame(7, 0x02, ""), udp = udp_frame(PEER, US, 7, "u"),
		     mcast = udp_frame(PEER, GROUP, 5001, "m");

	for (uint16_t q = 0; q < QUEUES; q++) {
		CU_ASSERT_EQUAL(has_it(bed.steer, q, &tcp), 10);
		CU_ASSERT_EQUAL(has_it(bed.steer, q, &udp), 1);
		CU_ASSERT_EQUAL(has_it(bed.steer, q, &mcast), 10);
	}
	stop_steer(&bed);
}

TL_TEST("frames without an owner stay on the receiving lcore")
{
	struct bed bed = start_steer();
	struct frame foreign = tcp_frame(7, 0x02, "");
	const struct frame frames[] = {tcp_frame(8, 0x02, ""), udp_frame(PEER, US, 8, "u"),
		udp_frame(PEER, IP(239, 1, 2, 4), 7, "m"), udp_frame(PEER, FAR_AWAY, 7, "u"), ping(US, 10),
		{.len = 60, .bytes = {[12] = 0x88, [13] = 0xb5}}};

	memcpy(foreign.bytes + 30, &(uint32_t){FAR_AWAY}, 4);
	fix_cksums(&foreign);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &foreign), 100);
	for (size_t i = 0; i < TL_ARRAY_LEN(frames); i++) {
		CU_ASSERT_EQUAL(has_it(bed.steer, 0, &frames[i]), 100);
		CU_ASSERT_EQUAL(has_it(bed.steer, 2, &frames[i]), 1);
	}
	stop_steer(&bed);
}

TL_TEST("ARP and IGMP are handed to every lcore")
{
	struct bed bed = start_steer();
	struct frame arp = arp_reply(PEER_MAC, PEER), igmp = igmp_query(PEER, IP(224, 0, 0, 1), 0);

	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &arp), 111);
	CU_ASSERT_EQUAL(has_it(bed.steer, 2, &igmp), 111);
	stop_steer(&bed);
}

TL_TEST("fragments are handed to the group's owner or to every lcore")
{
	struct bed bed = start_steer();
	struct frame to_us = udp_frame(PEER, US, 7, "u"), to_group = udp_frame(PEER, GROUP, 7, "m"),
		     to_other = udp_frame(PEER, FAR_AWAY, 7, "o");
	struct frame *const frames[] = {&to_us, &to_group, &to_other};

	for (size_t i = 0; i < TL_ARRAY_LEN(frames); i++) {
		put16(frames[i]->bytes + 14 + 6, 0x2000); // more follow
		fix_cksums(frames[i]);
	}
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_us), 111);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_group), 10);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_other), 100);
	stop_steer(&bed);
}

// Make a Destination Unreachable that quotes a segment of ours from this port; quoted is the length of the quote.
static struct frame icmp_error(uint8_t type, uint16_t port, uint16_t quoted)
{
	uint8_t l4[8 + 28] = {type, 3, [8] = 0x45, [8 + 9] = 6};

	memcpy(l4 + 8 + 12, &(uint32_t){US}, 4);
	memcpy(l4 + 8 + 16, &(uint32_t){PEER}, 4);
	put16(l4 + 8 + 20, port);
	return ip_frame(1, PEER, US, l4, 8 + quoted);
}

TL_TEST("an ICMP error is handed to the owner of the quoted packet")
{
	struct bed bed = start_steer();
	struct frame error = icmp_error(3, 7, 28), expired = icmp_error(11, 7, 28), cut = icmp_error(3, 7, 21),
		     none = icmp_error(3, 7, 0), reply = icmp_error(0, 7, 28), options = icmp_error(3, 7, 28),
		     padded = icmp_error(3, 7, 28);

	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &error), 10);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &expired), 10);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &cut), 100);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &none), 100);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &reply), 100);
	put16(padded.bytes + 14 + 2, 20 + 8 + 20); // the port is in the padding of the frame
	fix_cksums(&padded);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &padded), 100);
	options.bytes[34 + 8] = 0x4f; // the ports would be beyond the frame's end
	fix_cksums(&options);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &options), 100);
	stop_steer(&bed);
}

static const struct tl_ip6 GROUP6 = {{0xff, 0x05, [14] = 0x12, [15] = 0x34}};
static const struct tl_ip6 OTHER6 = {{0xff, 0x05, [13] = 1, [14] = 0x12, [15] = 0x34}}; // has the same last bytes
static const struct tl_ip6 HOST6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};

static struct frame ip6_frame(const uint8_t *mac, const struct tl_ip6 *dst, uint8_t next, const void *l4, uint16_t len)
{
	struct frame f = {.len = 54 + len};

	memcpy(f.bytes, mac, 6);
	memcpy(f.bytes + 6, PEER_MAC, 6);
	memcpy(f.bytes + 12, "\x86\xdd\x60", 3);
	put16(f.bytes + 18, len);
	f.bytes[20] = next;
	f.bytes[21] = 255;
	f.bytes[22] = 0xfe;
	f.bytes[23] = 0x80;
	memcpy(f.bytes + 38, dst, sizeof(*dst));
	memcpy(f.bytes + 54, l4, len);
	return f;
}

static struct frame icmp6_frame(uint8_t type, uint16_t quoted_port)
{
	uint8_t l4[8 + 40 + 8] = {type, [8] = 0x60, [8 + 6] = 6};

	put16(l4 + 48, quoted_port);
	return ip6_frame(OUR_MAC, &HOST6, 58, l4, sizeof(l4));
}

TL_TEST("IPv6 is steered like IPv4")
{
	static const uint8_t group_mac[] = {0x33, 0x33, 0, 0, 0x12, 0x34};
	const uint8_t tcp[20] = {0x13, 0x88, 0, 7, [12] = 0x50, [13] = 2}, udp[8] = {0x13, 0x88, 0, 7, 0, 8};
	struct bed bed = start_steer();
	struct frame to_tcp = ip6_frame(OUR_MAC, &HOST6, 6, tcp, sizeof(tcp)),
		     to_udp = ip6_frame(OUR_MAC, &HOST6, 17, udp, sizeof(udp)),
		     to_other = ip6_frame(OTHER_MAC, &HOST6, 6, tcp, sizeof(tcp)),
		     to_group = ip6_frame(group_mac, &GROUP6, 17, udp, sizeof(udp)),
		     to_none = ip6_frame(group_mac, &OTHER6, 17, udp, sizeof(udp));
	struct frame solicitation = icmp6_frame(135, 0), query = icmp6_frame(130, 0), asked = icmp6_frame(128, 7),
		     unreached = icmp6_frame(1, 7), too_big = icmp6_frame(2, 7), nobodys = icmp6_frame(1, 8);

	CU_ASSERT_EQUAL(tl_steer_own_group6(tl_steer_side(bed.steer, 2), &GROUP6), 0);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_tcp), 10);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_udp), 1);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_other), 100);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_group), 1);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &to_none), 100);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &solicitation), 111);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &query), 111);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &asked), 100);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &unreached), 10);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &too_big), 10);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &nobodys), 100);
	stop_steer(&bed);
}

TL_TEST("the remaining frames of a burst stay in order")
{
	struct bed bed = start_steer();
	struct tl_burst burst = {.n = 9, .queue = 0, .tsc = 77, .mono_ns = 78};
	struct frame f[3] = {tcp_frame(7, 0x10, "1"), tcp_frame(8, 0x10, "0"), arp_reply(PEER_MAC, PEER)};

	for (uint16_t i = 0; i < burst.n; i++) {
		burst.pkts[i] = wrap(&f[i % 3]);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), f[i % 3].len, &burst.pkt[i]);
	}
	const struct tl_burst *own = tl_steer_split(tl_steer_side(bed.steer, 0), &burst);
	CU_ASSERT_EQUAL_FATAL(own->n, 6);
	CU_ASSERT(own->tsc == 77 && own->mono_ns == 78);
	for (uint16_t i = 0; i < 6; i++) {
		CU_ASSERT_PTR_EQUAL(own->pkts[i], burst.pkts[i / 2 * 3 + i % 2 + 1]);
		CU_ASSERT_EQUAL(own->pkt[i].kind, i % 2 == 0 ? TL_PKT_TCP : TL_PKT_ARP);
	}
	struct tl_burst *handed = tl_steer_take(tl_steer_side(bed.steer, 1), 99);
	CU_ASSERT_EQUAL_FATAL(handed->n, 6);
	CU_ASSERT(handed->tsc == 77 && handed->mono_ns == 99 && handed->queue == 1);
	for (uint16_t i = 0; i < 6; i++) {
		CU_ASSERT_PTR_EQUAL(handed->pkts[i], burst.pkts[i / 2 * 3 + i % 2 * 2]);
		CU_ASSERT_EQUAL(handed->pkt[i].kind, i % 2 == 0 ? TL_PKT_TCP : TL_PKT_ARP);
	}
	rte_pktmbuf_free_bulk(handed->pkts, handed->n);
	CU_ASSERT_EQUAL(take_all(bed.steer, 2), 3);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	stop_steer(&bed);
}

// The frames are zeroed in the ring: a second parse would fail.
TL_TEST("a handed-over frame is not parsed again")
{
	struct bed bed = start_steer();
	struct tl_burst burst = {.n = 3, .queue = 0};
	struct frame f[3] = {tcp_frame(7, 0x10, "1"), tcp_frame(7, 0x18, "1 more"), arp_reply(PEER_MAC, PEER)};

	for (uint16_t i = 0; i < burst.n; i++) {
		burst.pkts[i] = wrap(&f[i]);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), f[i].len, &burst.pkt[i]);
	}
	(void)tl_steer_split(tl_steer_side(bed.steer, 0), &burst);
	for (uint16_t i = 0; i < burst.n; i++)
		memset(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), 0, f[i].len);
	struct tl_burst *handed = tl_steer_take(tl_steer_side(bed.steer, 1), 99);
	CU_ASSERT_EQUAL_FATAL(handed->n, 3);
	for (uint16_t i = 0; i < handed->n; i++) {
		CU_ASSERT_PTR_EQUAL(handed->pkts[i], burst.pkts[i]);
		CU_ASSERT_EQUAL(memcmp(&handed->pkt[i], &burst.pkt[i], offsetof(struct tl_pkt, ip6_alert)), 0);
	}
	rte_pktmbuf_free_bulk(handed->pkts, handed->n);
	CU_ASSERT_EQUAL(take_all(bed.steer, 2), 1);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	stop_steer(&bed);
}

static void give_tcp(struct tl_steer *steer, uint16_t from, unsigned times)
{
	struct frame f = tcp_frame(7, 0x10, "x");
	struct tl_burst burst = {.n = 1, .pkts = {wrap(&f)}};

	tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[0], uint8_t *), f.len, &burst.pkt[0]);
	for (unsigned i = 0; i < times; i++)
		CU_ASSERT_EQUAL(tl_steer_split(tl_steer_side(steer, from), &burst)->n, 0);
	rte_pktmbuf_free(burst.pkts[0]);
}

// A burst is assembled from several rings: its age is that of its oldest frame, from whichever ring.
TL_TEST("the age of a burst from several lcores is that of its oldest frame")
{
	static const uint64_t tsc[][2] = {{70, 50}, {50, 70}};
	struct frame f = tcp_frame(7, 0x10, "x");

	for (size_t i = 0; i < TL_ARRAY_LEN(tsc); i++) {
		struct bed bed = start_steer();
		for (uint16_t from = 0; from < QUEUES; from += 2) {
			struct rte_mbuf *m = tl_test_mbuf(rte_mempool_lookup(POOL), f.bytes, f.len);
			struct tl_burst burst = {.n = 1, .queue = from, .tsc = tsc[i][from / 2], .pkts = {m}};
			tl_wire_parse(f.bytes, f.len, &burst.pkt[0]);
			(void)tl_steer_split(tl_steer_side(bed.steer, from), &burst);
			rte_pktmbuf_free(m);
		}
		struct tl_burst *handed = tl_steer_take(tl_steer_side(bed.steer, 1), 99);
		CU_ASSERT_PTR_NOT_NULL_FATAL(handed);
		CU_ASSERT_EQUAL(handed->n, 2);
		CU_ASSERT_EQUAL(handed->tsc, 50);
		rte_pktmbuf_free_bulk(handed->pkts, handed->n);
		stop_steer(&bed);
	}
}

TL_TEST("a full ring drops and counts frames without blocking other rings")
{
	struct bed bed = start_steer();
	struct tl_ledger_handoff from, to;

	give_tcp(bed.steer, 0, TL_STEER_RING + 10);
	give_tcp(bed.steer, 2, 5);
	tl_steer_sample(tl_steer_side(bed.steer, 0), &from);
	CU_ASSERT_EQUAL(from.handoff_pkts, TL_STEER_RING + 10);
	CU_ASSERT_EQUAL(from.drop_handoff_pkts, 10);
	CU_ASSERT_EQUAL(take_all(bed.steer, 1), TL_STEER_RING + 5);
	give_tcp(bed.steer, 0, 3);
	CU_ASSERT_EQUAL(take_all(bed.steer, 1), 3);
	tl_steer_sample(tl_steer_side(bed.steer, 0), &from);
	tl_steer_sample(tl_steer_side(bed.steer, 1), &to);
	CU_ASSERT_EQUAL(from.handoff_pkts, TL_STEER_RING + 13);
	CU_ASSERT_EQUAL(from.drop_handoff_pkts, 10);
	CU_ASSERT_EQUAL(to.handoff_taken_pkts, TL_STEER_RING + 8);
	stop_steer(&bed);
}

// More frames than fit one round have arrived from both others.
TL_TEST("hand-off rings of all lcores are served in turn")
{
	struct bed bed = start_steer();
	struct tl_steer_side *side = tl_steer_side(bed.steer, 1);

	give_tcp(bed.steer, 0, QUEUES * TL_BURST);
	give_tcp(bed.steer, 2, QUEUES * TL_BURST);
	for (unsigned i = 0; i < QUEUES; i++) {
		const struct tl_burst *b = tl_steer_take(side, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		rte_pktmbuf_free_bulk((struct rte_mbuf **)b->pkts, b->n);
	}
	CU_ASSERT_NOT_EQUAL(side->from[0]->taken, 0);
	CU_ASSERT_NOT_EQUAL(side->from[2]->taken, 0);
	stop_steer(&bed);
}

TL_TEST("a group stays with its first owner")
{
	struct bed bed = start_steer();
	struct frame mcast = udp_frame(PEER, GROUP, 5001, "m");

	CU_ASSERT_EQUAL(tl_steer_own_group(tl_steer_side(bed.steer, 2), GROUP), -EEXIST);
	CU_ASSERT_EQUAL(tl_steer_own_group(tl_steer_side(bed.steer, 1), GROUP), 0);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &mcast), 10);
	stop_steer(&bed);
}

TL_TEST("frames left in a ring are freed")
{
	struct bed bed = start_steer();

	give_tcp(bed.steer, 0, 100);
	stop_steer(&bed);
}

TL_TEST("the ports of active opens are divided among the lcores")
{
	struct bed bed = start_steer();
	unsigned owners, shares[QUEUES] = {0};

	for (uint32_t port = 49152; port <= 65535; port++) {
		owners = 0;
		for (uint16_t q = 0; q < QUEUES; q++) {
			bool may = tl_steer_may_connect(
				tl_steer_side(bed.steer, q), PEER, PORT(5000), tl_be16((uint16_t)port));
			owners += may;
			shares[q] += may;
		}
		CU_ASSERT_EQUAL(owners, 1);
	}
	for (uint16_t q = 0; q < QUEUES; q++)
		CU_ASSERT(shares[q] >= 16384 / QUEUES);
	stop_steer(&bed);
}

// Queue 2 is not in the table: hashed frames never arrive there, so it chooses local ports among those it owns.
TL_TEST("with known RSS the replies arrive on the owner's queue")
{
	struct bed bed = start_steer();
	struct tl_port_rss rss = {.reta_size = 128};
	unsigned mine[QUEUES] = {0}, all[QUEUES] = {0};

	for (size_t i = 0; i < sizeof(rss.key); i++)
		rss.key[i] = (uint8_t)(i * 37 + 11);
	for (uint16_t i = 0; i < rss.reta_size; i++)
		rss.reta[i] = i % 2;
	tl_steer_set_rss(bed.steer, &rss);
	for (uint32_t port = 49152; port <= 65535; port++) {
		uint16_t port_be = tl_be16((uint16_t)port);
		for (uint16_t q = 0; q < QUEUES; q++) {
			if (!tl_steer_may_connect(tl_steer_side(bed.steer, q), PEER, PORT(5000), port_be))
				continue;
			all[q]++;
			mine[q] += tl_rss_queue(&rss, PEER, US, PORT(5000), port_be) == q;
		}
	}
	CU_ASSERT(mine[0] == all[0] && mine[1] == all[1]);
	CU_ASSERT(all[0] > 1000 && all[1] > 1000 && all[2] >= 16384 / QUEUES);
	stop_steer(&bed);
}

// ---- an lcore without a stack

// Return the receivers of the frame that arrived at the lcore of queue 0, which has no stack: one digit each, lcore 1
// first.
static int others_have_it(struct tl_steer *steer, const struct frame *f)
{
	struct tl_burst burst = {.n = 1, .pkts = {wrap(f)}};
	struct tl_service service;

	tl_steer_service(tl_steer_side(steer, 0), &service);
	CU_ASSERT_PTR_NULL(service.poll);
	service.rx(service.ctx, &burst);
	CU_ASSERT_EQUAL(burst.n, 1); // for the recordings
	rte_pktmbuf_free(burst.pkts[0]);
	CU_ASSERT_EQUAL(take_all(steer, 0), 0);
	int first = take_all(steer, 1);
	return first * 10 + take_all(steer, 2);
}

TL_TEST("an lcore without a stack hands over all frames to the port's address")
{
	static const struct tl_ip6 all_nodes = {{0xff, 0x02, [15] = 1}};
	static const uint8_t all_nodes_mac[] = {0x33, 0x33, 0, 0, 0, 1}, ask[8] = {128};
	const uint8_t tcp[20] = {0x13, 0x88, 0, 7, [12] = 0x50, [13] = 2};
	struct bed bed = start_steer_without(1u << 0);
	const struct {
		struct frame frame;
		int others;
	} cases[] = {
		{tcp_frame(7, 0x02, ""), 10},
		{udp_frame(PEER, US, 7, "u"), 1},
		{udp_frame(PEER, GROUP, 5001, "m"), 10},
		{arp_reply(PEER_MAC, PEER), 11},
		{igmp_query(PEER, IP(224, 0, 0, 1), 0), 11},
		{tcp_frame(8, 0x02, ""), 10}, // without an owner: the first lcore with a stack replies
		{udp_frame(PEER, US, 8, "u"), 10},
		{ping(US, 10), 10},
		{ip6_frame(OUR_MAC, &HOST6, 6, tcp, sizeof(tcp)), 10},
		{ip6_frame(all_nodes_mac, &all_nodes, 58, ask, sizeof(ask)), 10},
		{ip6_frame(OTHER_MAC, &HOST6, 6, tcp, sizeof(tcp)), 0},
		{udp_frame(PEER, IP(239, 1, 2, 4), 7, "m"), 0},
		{udp_frame(PEER, FAR_AWAY, 7, "u"), 0},
		{{.len = 60, .bytes = {[12] = 0x88, [13] = 0xb5}}, 0},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		int others = others_have_it(bed.steer, &cases[i].frame);
		if (others != cases[i].others)
			printf("# case %zu: %02d, not %02d\n", i, others, cases[i].others);
		CU_ASSERT_EQUAL(others, cases[i].others);
	}
	stop_steer(&bed);
}

TL_TEST("an lcore without a stack is handed no frame, owns no port, and announces its end")
{
	struct bed bed = start_steer_without(1u << 0);
	struct frame arp = arp_reply(PEER_MAC, PEER), tcp = tcp_frame(7, 0x02, "");
	struct tl_service service;

	CU_ASSERT_EQUAL(tl_steer_stacks(tl_steer_side(bed.steer, 1)), 2);
	CU_ASSERT_EQUAL(has_it(bed.steer, 1, &arp), 11);
	CU_ASSERT_EQUAL(has_it(bed.steer, 2, &tcp), 10);
	for (uint32_t port = 49152; port <= 65535; port++) {
		uint16_t port_be = tl_be16((uint16_t)port);
		CU_ASSERT_FALSE(tl_steer_may_connect(tl_steer_side(bed.steer, 0), PEER, PORT(5000), port_be));
		CU_ASSERT_NOT_EQUAL(tl_steer_may_connect(tl_steer_side(bed.steer, 1), PEER, PORT(5000), port_be),
			tl_steer_may_connect(tl_steer_side(bed.steer, 2), PEER, PORT(5000), port_be));
	}
	tl_steer_end(tl_steer_side(bed.steer, 2));
	CU_ASSERT_FALSE(tl_steer_all_ended(tl_steer_side(bed.steer, 1)));
	tl_steer_service(tl_steer_side(bed.steer, 0), &service);
	service.finish(service.ctx);
	CU_ASSERT_TRUE(tl_steer_all_ended(tl_steer_side(bed.steer, 1)));
	stop_steer(&bed);
}

TL_TEST("a port on which no lcore has a stack is refused")
{
	struct tl_steer_cfg cfg = {.ip_be = US, .queues = QUEUES, .without_stack = 7, .socket_id = SOCKET_ID_ANY};
	struct tl_steer *steer;
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_steer_create(&cfg, &steer, &err), -EINVAL);
}

TL_TEST("the group table has a limit")
{
	struct bed bed = start_steer();
	struct tl_steer_side *side = tl_steer_side(bed.steer, 2);
	unsigned last = TL_STEER_GROUPS_MAX - 2; // one slot is used by the bed
	struct frame frame = udp_frame(PEER, IP(239, 9, last >> 8, last & 255), 5001, "m");

	for (unsigned i = 0; i <= last; i++)
		CU_ASSERT_EQUAL(tl_steer_own_group(side, IP(239, 9, i >> 8, i & 255)), 0);
	CU_ASSERT_EQUAL(tl_steer_own_group(side, IP(239, 200, 0, 0)), -ENOSPC);
	CU_ASSERT_EQUAL(tl_steer_own_group(side, IP(239, 9, 0, 0)), 0);
	CU_ASSERT_EQUAL(has_it(bed.steer, 0, &frame), 1);
	stop_steer(&bed);
}

// ---- all at once

#define ROUNDS 4000
#define ROUND_FRAMES 30 // ten to each lcore

struct racer {
	pthread_t thread;
	struct tl_steer *steer;
	uint16_t queue;
	struct tl_burst burst;
	uint64_t kept, taken, broken;
};

static void take_race(struct racer *r)
{
	struct tl_burst *b = tl_steer_take(tl_steer_side(r->steer, r->queue), 1);

	for (uint16_t i = 0; b != NULL && i < b->n; i++)
		r->broken += b->pkt[i].dst_port_be != PORT(100 + r->queue) || b->pkt[i].payload_len != 4;
	r->taken += b != NULL ? b->n : 0;
	if (b != NULL)
		rte_pktmbuf_free_bulk(b->pkts, b->n);
}

static void *run_race(void *arg)
{
	struct racer *r = arg;
	struct tl_steer_side *side = tl_steer_side(r->steer, r->queue);
	bool last;

	for (unsigned i = 0; i < ROUNDS; i++) {
		r->burst.tsc = i;
		r->kept += tl_steer_split(side, &r->burst)->n;
		take_race(r);
	}
	tl_steer_end(side);
	do {
		last = tl_steer_all_ended(side);
		for (uint64_t before = r->taken + 1; before != r->taken;) {
			before = r->taken;
			take_race(r);
		}
		sched_yield();
	} while (!last);
	return NULL;
}

TL_TEST("three lcores at full speed lose no frame uncounted")
{
	struct bed bed = start_steer();
	struct racer racers[QUEUES] = {{0}};
	uint64_t handed = 0, taken = 0, dropped = 0;

	for (uint16_t q = 0; q < QUEUES; q++)
		tl_steer_own_tcp(tl_steer_side(bed.steer, q), PORT(100 + q));
	for (uint16_t q = 0; q < QUEUES; q++) {
		struct racer *r = &racers[q];
		r->steer = bed.steer;
		r->queue = q;
		r->burst.n = ROUND_FRAMES;
		for (uint16_t i = 0; i < ROUND_FRAMES; i++) {
			struct frame f = tcp_frame(100 + i % QUEUES, 0x10, "race");
			r->burst.pkts[i] = wrap(&f);
			tl_wire_parse(rte_pktmbuf_mtod(r->burst.pkts[i], uint8_t *), f.len, &r->burst.pkt[i]);
		}
	}
	for (uint16_t q = 0; q < QUEUES; q++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&racers[q].thread, NULL, run_race, &racers[q]), 0);
	for (uint16_t q = 0; q < QUEUES; q++) {
		struct tl_ledger_handoff stats;
		pthread_join(racers[q].thread, NULL);
		tl_steer_sample(tl_steer_side(bed.steer, q), &stats);
		CU_ASSERT_EQUAL(racers[q].broken, 0);
		CU_ASSERT_EQUAL(racers[q].kept, ROUNDS * ROUND_FRAMES / QUEUES);
		CU_ASSERT_EQUAL(stats.handoff_pkts, ROUNDS * ROUND_FRAMES * (QUEUES - 1) / QUEUES);
		CU_ASSERT_EQUAL(stats.handoff_taken_pkts, racers[q].taken);
		handed += stats.handoff_pkts;
		taken += stats.handoff_taken_pkts;
		dropped += stats.drop_handoff_pkts;
		rte_pktmbuf_free_bulk(racers[q].burst.pkts, ROUND_FRAMES);
	}
	CU_ASSERT_EQUAL(handed, taken + dropped);
	CU_ASSERT(taken > 0);
	stop_steer(&bed);
}

int main(void)
{
	return test_host_run("steer");
}
