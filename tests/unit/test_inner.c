// SPDX-License-Identifier: BSD-3-Clause
// Hand-off of encapsulated frames by inner flow: both directions of 10^5 random inner flows are recorded by one lcore,
// for each encapsulation, with and without VLAN tags, for any outer headers and any arrival queue, and no frame is
// lost, changed or leaked.

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_thash.h>

#include <tl_err.h>
#include <tl_random.h>
#include <tl_test.h>

#include "inner_priv.h"
#include "tl_test_eal.h"

#define QUEUES 4
#define SKIPPED (1u << 2) // queue 2 is not recorded
#define FLOWS 100000
#define SEED 0x5eed
#define NOBODY 0xff

enum tunnel {
	VXLAN,
	GENEVE,
	GTP_U,
	GRE,
	NVGRE,
	ERSPAN_1,
	ERSPAN_2,
	ERSPAN_3,
	IP_IN_IP,
	MPLS,
	TUNNELS,
	PLAIN = TUNNELS
};

// Kind of a frame.
struct shape {
	enum tunnel tunnel;
	bool six, tcp;	// inner packet
	bool outer_six; // not of MPLS
	unsigned tags;	// 0: none, 1: 802.1Q, 2: QinQ
};

static struct rte_mempool *pool;
static struct tl_clock *test_clock;

// ---- frames

struct frame {
	uint32_t len;
	uint8_t bytes[256];
};

static void put16(struct frame *f, uint32_t value)
{
	f->bytes[f->len++] = (uint8_t)(value >> 8);
	f->bytes[f->len++] = (uint8_t)value;
}

static void put(struct frame *f, const void *bytes, uint32_t len)
{
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void put_ethernet(struct frame *f, uint16_t type)
{
	put(f, "\2\0\0\0\0\1\2\0\0\0\0\2", 12);
	put16(f, type);
}

// The 36 bytes of an end pair: addresses of 16 bytes each, ports; IPv4 uses the first four bytes of an address.
struct ends {
	uint8_t src[16], dst[16];
	uint16_t src_port, dst_port;
};

static struct ends turned(const struct ends *e)
{
	struct ends back = {.src_port = e->dst_port, .dst_port = e->src_port};

	memcpy(back.src, e->dst, sizeof(back.src));
	memcpy(back.dst, e->src, sizeof(back.dst));
	return back;
}

static void put_ip(struct frame *f, bool six, uint8_t proto, const struct ends *e, uint32_t payload)
{
	if (six) {
		put(f, "\x60\0\0", 4);
		put16(f, payload);
		put(f, (const uint8_t[]){proto, 64}, 2);
		put(f, e->src, 16);
		put(f, e->dst, 16);
		return;
	}
	put16(f, 0x4500);
	put16(f, 20 + payload);
	put(f, (const uint8_t[]){0, 0, 0, 0, 64, proto, 0, 0}, 8);
	put(f, e->src, 4);
	put(f, e->dst, 4);
}

static void put_udp(struct frame *f, uint32_t src_port, uint32_t dst_port, uint32_t payload)
{
	put16(f, src_port);
	put16(f, dst_port);
	put16(f, 8 + payload);
	put16(f, 0);
}

// Write a packet of 20 bytes of TCP, or of UDP with 12 bytes; add its length to *len.
static void put_packet(struct frame *f, bool six, bool tcp, const struct ends *e)
{
	put_ip(f, six, tcp ? 6 : 17, e, 20);
	if (!tcp) {
		put_udp(f, e->src_port, e->dst_port, 12);
		put(f, "twelve bytes", 12);
		return;
	}
	put16(f, e->src_port);
	put16(f, e->dst_port);
	put(f, "\0\0\0\1\0\0\0\1\x50\x10\1\0\0\0\0\0", 16);
}

// Insert tags behind the outer addresses.
static void put_tags(struct frame *f, unsigned tags)
{
	static const uint8_t both[] = {0x88, 0xa8, 0, 7, 0x81, 0, 0, 9};
	uint32_t len = 4 * tags;

	memmove(f->bytes + 12 + len, f->bytes + 12, f->len - 12);
	memcpy(f->bytes + 12, both + sizeof(both) - len, len);
	f->len += len;
}

// Write GRE with its fields, and the inner Ethernet header if it carries frames.
static void put_gre(struct frame *f, enum tunnel tunnel, uint16_t type)
{
	static const struct {
		const char *bytes;
		uint32_t len;
	} kinds[] = {[NVGRE] = {"\x20\0\x65\x58\0\0\x2a\1", 8},
		[ERSPAN_1] = {"\0\0\x88\xbe", 4},
		[ERSPAN_2] = {"\x10\0\x88\xbe\0\0\0\5\x10\7\0\1\0\0\0\2", 16},
		[ERSPAN_3] = {"\x10\0\x22\xeb\0\0\0\5\x20\7\0\1\0\0\0\2\0\0\x80\0", 20}};

	if (tunnel == GRE) {
		put16(f, 0);
		put16(f, type);
		return;
	}
	put(f, kinds[tunnel].bytes, kinds[tunnel].len);
	put_ethernet(f, type);
}

// Write a tunnel over UDP.
static void put_udp_tunnel(
	struct frame *f, enum tunnel tunnel, uint16_t type, const struct ends *outer, uint32_t payload)
{
	static const uint16_t ports[] = {[VXLAN] = 4789, [GENEVE] = 6081, [GTP_U] = 2152};

	put_udp(f, outer->src_port, ports[tunnel], payload);
	if (tunnel == GTP_U) {
		put16(f, 0x30ff);
		put16(f, payload - 8);
		put(f, "\0\0\0\7", 4);
		return;
	}
	put(f, tunnel == VXLAN ? "\x08\0\0\0\0\0\x2a\0" : "\0\0\x65\x58\0\0\x2a\0", 8);
	put_ethernet(f, type);
}

// Enumerate all combinations.
static struct shape shape_of(uint32_t number)
{
	uint32_t kind = number / TUNNELS;

	return (struct shape){.tunnel = (enum tunnel)(number % TUNNELS),
		.six = kind % 2,
		.tcp = kind / 2 % 2,
		.outer_six = kind / 4 % 2,
		.tags = kind / 8 % 3};
}

// Encapsulate a packet. The source port of outer is that of UDP tunnels, which differs between the directions.
static struct frame make(const struct shape *shape, const struct ends *inner, const struct ends *outer)
{
	static const uint8_t around[] = {[VXLAN] = 22,
		[GENEVE] = 22,
		[GTP_U] = 8,
		[GRE] = 4,
		[NVGRE] = 22,
		[ERSPAN_1] = 18,
		[ERSPAN_2] = 30,
		[ERSPAN_3] = 34,
		[IP_IN_IP] = 0};
	uint16_t type = shape->six ? 0x86dd : 0x0800;
	struct frame f = {0};

	if (shape->tunnel == PLAIN) {
		put_ethernet(&f, type);
	} else if (shape->tunnel == MPLS) {
		put_ethernet(&f, 0x8847);
		put(&f, (const uint8_t[]){0, 0, 0x11, 64}, 4);
	} else {
		uint32_t payload = around[shape->tunnel] + (shape->six ? 40u : 20u) + 20;
		put_ethernet(&f, shape->outer_six ? 0x86dd : 0x0800);
		if (shape->tunnel == IP_IN_IP) {
			put_ip(&f, shape->outer_six, shape->six ? 41 : 4, outer, payload);
		} else if (shape->tunnel <= GTP_U) {
			put_ip(&f, shape->outer_six, 17, outer, 8 + payload);
			put_udp_tunnel(&f, shape->tunnel, type, outer, payload);
		} else {
			put_ip(&f, shape->outer_six, 47, outer, payload);
			put_gre(&f, shape->tunnel, type);
		}
	}
	put_packet(&f, shape->six, shape->tcp, inner);
	put_tags(&f, shape->tags);
	return f;
}

static struct ends random_ends(uint64_t *seed)
{
	struct ends e;
	uint64_t words[5];

	for (size_t i = 0; i < TL_ARRAY_LEN(words); i++)
		words[i] = tl_random_next(seed);
	memcpy(&e, words, sizeof(e));
	return e;
}

// ---- lcores

// Stub of a recording: notes the recorder of each frame, which is numbered by its time, and the frame's fields.
struct recorder {
	uint8_t queue;
	uint32_t ticks, finished;
};

static struct recorder recorders[QUEUES];
static uint8_t *recorded_by; // by frame number
static uint32_t n_wrong;
static atomic_uint n_recorded;

static void record(void *ctx, struct tl_burst *b)
{
	const struct recorder *r = ctx;

	for (uint16_t i = 0; i < b->n; i++) {
		uint64_t number = b->ts_ns[i];
		n_wrong += recorded_by[number] != NOBODY || b->wire_bytes[i] != b->pkts[i]->data_len + number % 100 ||
			   (b->unstamped >> i & 1) != number % 3 / 2 || (b->sent >> i & 1) != number % 5 / 4;
		recorded_by[number] = r->queue;
		n_recorded++;
	}
}

static void note_tick(void *ctx, uint64_t mono_ns)
{
	((struct recorder *)ctx)->ticks++;
}

static void note_finish(void *ctx)
{
	((struct recorder *)ctx)->finished++;
}

struct bed {
	struct tl_inner *inner;
	struct tl_service service[QUEUES];
};

static struct bed start(uint32_t frames)
{
	struct tl_inner_cfg cfg = {.name = "lan",
		.queues = QUEUES,
		.skipped = SKIPPED,
		.clock = test_clock,
		.seed = SEED,
		.socket_id = SOCKET_ID_ANY};
	struct bed bed;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_inner_create(&cfg, &bed.inner, &err), 0);
	for (uint16_t q = 0; q < QUEUES; q++) {
		recorders[q] = (struct recorder){.queue = (uint8_t)q};
		struct tl_service one = {.ctx = &recorders[q], .rx = record, .tick = note_tick, .finish = note_finish};
		tl_inner_service(bed.inner, q, &one, 1, &bed.service[q]);
	}
	recorded_by = malloc(frames);
	memset(recorded_by, NOBODY, frames);
	n_wrong = 0;
	n_recorded = 0;
	return bed;
}

static void stop(const struct bed *bed)
{
	tl_inner_destroy(bed->inner);
	free(recorded_by);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static void append(struct tl_burst *b, const struct frame *f, uint32_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)f->len), f->bytes, f->len);
	b->unstamped |= (uint64_t)(number % 3 / 2) << b->n;
	b->sent |= (uint64_t)(number % 5 / 4) << b->n;
	b->ts_ns[b->n] = number;
	b->wire_bytes[b->n] = f->len + number % 100;
	b->pkts[b->n++] = m;
}

// Let an lcore receive a burst, as the loop does, and let the others take handed-off frames.
static void receive(const struct bed *bed, uint16_t queue, struct tl_burst *b)
{
	bed->service[queue].rx(bed->service[queue].ctx, b);
	rte_pktmbuf_free_bulk(b->pkts, b->n);
	b->n = 0;
	b->unstamped = b->sent = 0;
	for (uint16_t q = 0; q < QUEUES; q++)
		while (bed->service[q].poll(bed->service[q].ctx, 1) != 0)
			;
}

// ---- tests

// Frames 2 i and 2 i + 1 are the two directions of a flow, with different outer ports, on different queues.
TL_TEST("both directions of an inner flow are recorded by one lcore")
{
	static const uint16_t queues[] = {0, 1, 3};
	struct bed bed = start(2 * FLOWS);
	uint32_t torn = 0, per_queue[QUEUES] = {0};
	struct tl_ledger_inner stats;
	struct tl_burst burst[3] = {0};
	uint64_t seed = SEED;

	for (uint32_t i = 0; i < FLOWS; i++) {
		struct ends inner = random_ends(&seed), outer = random_ends(&seed);
		struct ends inner_back = turned(&inner), outer_back = turned(&outer);
		struct shape shape = shape_of(i);
		outer_back.src_port = (uint16_t)tl_random_next(&seed);
		struct frame there = make(&shape, &inner, &outer), back = make(&shape, &inner_back, &outer_back);
		append(&burst[i % 3], &there, 2 * i);
		append(&burst[(i + 1) % 3], &back, 2 * i + 1);
		for (unsigned b = 0; b < 3; b++)
			if (burst[b].n >= TL_BURST - 1 || i + 1 == FLOWS)
				receive(&bed, queues[b], &burst[b]);
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		torn += recorded_by[2 * i] != recorded_by[2 * i + 1];
		per_queue[recorded_by[2 * i] % QUEUES]++;
	}
	CU_ASSERT_EQUAL(n_recorded, 2 * FLOWS);
	CU_ASSERT_EQUAL(n_wrong, 0);
	CU_ASSERT_EQUAL(torn, 0);
	for (unsigned q = 0; q < QUEUES; q++)
		CU_ASSERT(q == 2 ? per_queue[q] == 0 : per_queue[q] > FLOWS / 3 - FLOWS / 50);
	tl_inner_sample(bed.inner, &stats);
	CU_ASSERT_EQUAL(stats.inner_handoff_pkts, stats.inner_taken_pkts);
	CU_ASSERT(stats.inner_handoff_pkts > FLOWS && stats.inner_kept_pkts == 0);
	stop(&bed);
}

TL_TEST("plain frames stay on the receiving lcore")
{
	struct bed bed = start(200);
	struct tl_burst burst = {0};
	uint64_t seed = 1;

	for (uint32_t i = 0; i < 200; i++) {
		struct ends e = random_ends(&seed);
		struct shape shape = {.tunnel = PLAIN, .six = i % 2, .tcp = i / 2 % 2, .tags = i / 4 % 3};
		struct frame f = make(&shape, &e, NULL);
		if (i % 8 == 6) // a tunnel's port, but no tunnel
			memcpy(f.bytes + f.len - 18, "\x12\xb5", 2);
		if (i % 8 == 7) // ARP, which has no flow
			f.bytes[12 + 4 * shape.tags] = 8, f.bytes[13 + 4 * shape.tags] = 6;
		append(&burst, &f, i);
		if (burst.n == 50)
			receive(&bed, (uint16_t)(i / 50 % 2), &burst);
	}
	for (uint32_t i = 0; i < 200; i++)
		CU_ASSERT_EQUAL(recorded_by[i], i / 50 % 2);
	stop(&bed);
}

// RSS of a NIC that hashes inner headers with the symmetric key, to all queues.
static struct tl_port_rss make_rss(void)
{
	struct tl_port_rss rss = {.inner = true, .reta_size = 128};

	for (unsigned i = 0; i < 40; i++)
		rss.key[i] = i % 2 == 0 ? 0x6d : 0x5a;
	for (uint16_t i = 0; i < rss.reta_size; i++)
		rss.reta[i] = i * 7 % QUEUES;
	return rss;
}

static uint32_t be32_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint16_t queue_of_nic(const struct tl_port_rss *rss, bool six, const struct ends *e)
{
	uint32_t tuple[9], n = six ? 4 : 1;

	for (uint32_t i = 0; i < n; i++) {
		tuple[i] = be32_at(e->src + 4 * i);
		tuple[n + i] = be32_at(e->dst + 4 * i);
	}
	tuple[2 * n] = (uint32_t)e->src_port << 16 | e->dst_port;
	return rss->reta[rte_softrss(tuple, 2 * n + 1, rss->key) % rss->reta_size];
}

// One direction arrives at the NIC's queue, the other one at any, as if the NIC did not know its encapsulation.
TL_TEST("the queue of a NIC that hashes inner headers owns the flow, wherever its frames arrive")
{
	const uint32_t flows = FLOWS / 5;
	struct bed bed = start(2 * flows);
	struct tl_port_rss rss = make_rss();
	uint32_t torn = 0, elsewhere = 0, away = 0;
	struct tl_ledger_inner first, all;
	uint64_t seed = SEED;

	tl_inner_follow(bed.inner, &rss);
	for (uint32_t number = 0; number < 2 * flows; number++) {
		uint32_t i = number % flows;
		if (i == 0)
			seed = SEED;
		if (number == flows)
			tl_inner_sample(bed.inner, &first);
		struct ends inner = random_ends(&seed), outer = random_ends(&seed), back = turned(&inner);
		struct shape shape = shape_of(i);
		bool second = number >= flows;
		uint16_t nic = queue_of_nic(&rss, shape.six, &inner);
		struct frame f = make(&shape, second ? &back : &inner, &outer);
		struct tl_burst burst = {0};
		append(&burst, &f, number);
		receive(&bed, second ? i % 2 : nic != 2 ? nic : 3, &burst);
		away += nic == 2; // queue 2 is not recorded
		torn += second && recorded_by[i] != recorded_by[number];
		elsewhere += nic != 2 && recorded_by[number] != nic;
	}
	CU_ASSERT(torn == 0 && elsewhere == 0 && n_wrong == 0 && n_recorded == 2 * flows);
	CU_ASSERT(first.inner_handoff_pkts <= away / 2);
	tl_inner_sample(bed.inner, &all);
	CU_ASSERT(all.inner_handoff_pkts > flows / 2 && all.inner_handoff_pkts == all.inner_taken_pkts);
	stop(&bed);
}

static struct frame vxlan_of_another_lcore(const struct bed *bed, uint16_t queue)
{
	struct ends e, outer;
	struct frame f;
	uint16_t words;
	uint64_t seed = 5;

	do {
		e = random_ends(&seed);
		outer = random_ends(&seed);
		f = make(&(struct shape){.tunnel = VXLAN, .tcp = true}, &e, &outer);
	} while (
		bed->inner->recorded[(tl_flow_inner_hash(&bed->inner->hash, f.bytes, f.len, &words) >> 32) * 3 >> 32] ==
		queue);
	return f;
}

TL_TEST("a frame that finds the ring full is recorded by the receiving lcore")
{
	uint32_t n = TL_INNER_RING + 100, here = 0;
	struct bed bed = start(n);
	struct frame f = vxlan_of_another_lcore(&bed, 0);
	struct tl_ledger_inner stats;
	struct tl_burst burst = {0};

	for (uint32_t i = 0; i < n; i++) {
		append(&burst, &f, i);
		if (burst.n < TL_BURST && i + 1 < n)
			continue;
		bed.service[0].rx(bed.service[0].ctx, &burst); // the other lcores take none of them
		rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		burst = (struct tl_burst){0};
	}
	receive(&bed, 0, &burst);
	for (uint32_t i = 0; i < n; i++)
		here += recorded_by[i] == 0;
	tl_inner_sample(bed.inner, &stats);
	CU_ASSERT(here >= 100 && here < 110); // a ring holds one less than its size
	CU_ASSERT_EQUAL(stats.inner_kept_pkts, here);
	CU_ASSERT_EQUAL(stats.inner_taken_pkts, n - here);
	CU_ASSERT_EQUAL(stats.inner_handoff_pkts, n);
	CU_ASSERT(n_recorded == n && n_wrong == 0);
	stop(&bed);
}

TL_TEST("the end waits for the other lcores and records their frames")
{
	struct bed bed = start(3);
	struct frame f = vxlan_of_another_lcore(&bed, 0);
	struct tl_burst burst = {0};

	for (uint32_t i = 0; i < 3; i++)
		append(&burst, &f, i);
	bed.service[0].rx(bed.service[0].ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	bed.service[1].tick(bed.service[1].ctx, 1);
	CU_ASSERT(recorders[1].ticks == 1 && recorders[0].ticks == 0 && n_recorded == 0);
	tl_inner_end(bed.inner, 0);
	tl_inner_end(bed.inner, 1);
	bed.service[3].finish(bed.service[3].ctx); // returns, though queue 2 has not ended: it is not recorded
	bed.service[1].finish(bed.service[1].ctx);
	CU_ASSERT(n_recorded == 3 && recorders[3].finished == 1 && recorders[1].finished == 1);
	stop(&bed);
}

static void *run_finish(void *service)
{
	const struct tl_service *s = service;

	s->finish(s->ctx);
	return NULL;
}

static void hand_over_one(const struct bed *bed, const struct frame *f, uint32_t number)
{
	struct tl_burst burst = {0};

	append(&burst, f, number);
	bed->service[0].rx(bed->service[0].ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
}

// The second frame arrives after the lcore has begun to end and has taken the first.
TL_TEST("frames that arrive during this wait are recorded")
{
	for (unsigned i = 0; i < 50; i++) {
		struct bed bed = start(2);
		struct frame f = vxlan_of_another_lcore(&bed, 0);
		pthread_t threads[2];
		hand_over_one(&bed, &f, 0);
		for (unsigned t = 0; t < 2; t++)
			CU_ASSERT_EQUAL_FATAL(
				pthread_create(&threads[t], NULL, run_finish, &bed.service[t == 0 ? 1 : 3]), 0);
		while (n_recorded == 0)
			sched_yield();
		for (unsigned y = 0; y < 10; y++) // a faulty finish() has mostly returned by then
			sched_yield();
		hand_over_one(&bed, &f, 1);
		tl_inner_end(bed.inner, 0);
		for (unsigned t = 0; t < 2; t++)
			pthread_join(threads[t], NULL);
		CU_ASSERT_EQUAL(n_recorded, 2);
		stop(&bed);
	}
}

TL_TEST("frames left in a ring are freed")
{
	struct bed bed = start(1);
	struct frame f = vxlan_of_another_lcore(&bed, 0);
	struct tl_burst burst = {0};

	append(&burst, &f, 0);
	bed.service[0].rx(bed.service[0].ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	stop(&bed);
}

TL_TEST("one recorded queue is refused")
{
	struct tl_inner_cfg cfg = {.name = "lan", .queues = 2, .skipped = 1, .clock = test_clock};
	struct tl_inner *inner;
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_inner_create(&cfg, &inner, &err), -EINVAL);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("inner", 4095, 0, 0, RTE_PKTMBUF_HEADROOM + 256, SOCKET_ID_ANY);
	if (pool == NULL || test_clock == NULL)
		return 1;
	return tl_test_run("inner");
}
