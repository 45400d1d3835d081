// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_wire: a wire between two ends in virtual time, which drops, duplicates, delays, reorders and corrupts TCP
// segments by a seed. Other frames are only delayed by their transit time.
//
// Threads: main. Memory: a struct wire is the caller's; wire_fini() frees the frames in flight. A sent frame is copied,
// each time into heap memory of exactly its size.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_base.h>
#include <tl_port.h>
#include <tl_wire.h>

#include "tl_test_mbuf.h"

#define WIRE_MAX 8192 // frames in flight

struct wire;

// Callback that gets received frames; the wire keeps burst's mbufs.
typedef void wire_input_fn(void *ctx, struct tl_burst *burst);

struct wire_end {
	struct tl_txq tx;
	wire_input_fn *input;
	void *ctx;
	// TCP segments sent by this end, by fate; arrivals are counted at the other end.
	uint64_t sent, lost, doubled, delayed, overtaken, damaged;
	uint64_t arrived;  // frames of any kind that arrived at this end
	uint64_t intact;   // undamaged TCP segments among them
	uint64_t idle_ns;  // departure time of the last frame so far
	uint64_t order_ns; // earliest time of the next arrival
};

// Faults in percent of the segments, and their size.
struct wire_faults {
	unsigned lost, doubled, delayed, overtaken, damaged;
	uint64_t delay_ns;    // largest delay of a segment and all behind it
	uint64_t overtake_ns; // largest delay of a segment that others pass
};

struct wire_flying {
	struct rte_mbuf *m;
	uint64_t at_ns;
	unsigned to;
	bool is_intact_tcp;
};

// A departing segment, and its fate.
struct wire_segment {
	unsigned from;
	const uint8_t *frame;
	const struct tl_pkt *pkt;
	bool lost, damaged;
	uint64_t at_ns; // time of arrival
};

struct wire {
	struct rte_mempool *pool;
	struct wire_end end[2];
	uint64_t now_ns, rng;
	uint64_t one_way_ns;
	uint64_t gap_ns; // interval between two frames of a direction
	struct wire_faults faults;
	// Hooks, or NULL. alter: a middlebox. loses: an additional reason to drop a segment. look: called for each
	// departed segment, last.
	void (*alter)(struct wire *wire, uint8_t *frame, const struct tl_pkt *pkt);
	bool (*loses)(struct wire *wire, unsigned from, const uint8_t *frame, const struct tl_pkt *pkt);
	void (*look)(struct wire *wire, const struct wire_segment *segment);
	void *user; // argument of the hooks
	unsigned first, end_of_flying;
	struct wire_flying flying[WIRE_MAX]; // first..end_of_flying-1, by time
	struct tl_burst burst;
};

static inline bool wire_is_tcp(const struct tl_pkt *pkt)
{
	return pkt->kind == TL_PKT_TCP || (pkt->kind == TL_PKT_IP6 && pkt->ip6_kind == TL_PKT_TCP);
}

// Return a random number of Marsaglia's xorshift64.
static inline uint64_t wire_draw(struct wire *wire)
{
	wire->rng ^= wire->rng << 13;
	wire->rng ^= wire->rng >> 7;
	wire->rng ^= wire->rng << 17;
	return wire->rng;
}

static inline bool wire_chance(struct wire *wire, unsigned percent)
{
	return percent > 0 && (wire_draw(wire) >> 32) % 100 < percent;
}

static inline uint64_t wire_up_to(struct wire *wire, uint64_t most)
{
	return most > 0 ? wire_draw(wire) % most + 1 : 0;
}

static inline unsigned wire_in_flight(const struct wire *wire)
{
	return wire->end_of_flying - wire->first;
}

static inline void wire_make_room(struct wire *wire)
{
	unsigned n = wire_in_flight(wire);

	if (n == WIRE_MAX) {
		fprintf(stderr, "the wire is full\n");
		exit(1);
	}
	memmove(wire->flying, wire->flying + wire->first, n * sizeof(wire->flying[0]));
	wire->first = 0;
	wire->end_of_flying = n;
}

static inline void wire_insert(struct wire *wire, struct wire_flying new)
{
	if (wire->end_of_flying == WIRE_MAX)
		wire_make_room(wire);
	unsigned i = wire->end_of_flying++;
	for (; i > wire->first && wire->flying[i - 1].at_ns > new.at_ns; i--)
		wire->flying[i] = wire->flying[i - 1];
	wire->flying[i] = new;
}

// Damage one 16-bit word. A ones' complement sum detects any change but from 0 to 0xffff, or back.
static inline void wire_damage(struct wire *wire, uint8_t *frame, const struct tl_pkt *pkt)
{
	unsigned from = pkt->kind == TL_PKT_IP6 ? pkt->l4_off : pkt->l3_off; // the IPv6 header has no checksum
	unsigned words = (pkt->payload_off + pkt->payload_len - from) / 2u;
	uint8_t *word = frame + from + 2 * (wire_draw(wire) % words);
	unsigned change = 1 + (unsigned)(wire_draw(wire) % 0xfffe);

	word[0] ^= (uint8_t)(change >> 8);
	word[1] ^= (uint8_t)change;
}

// Return the arrival time of a frame that departs now.
static inline uint64_t wire_travel(struct wire *wire, unsigned from, bool is_tcp)
{
	struct wire_end *end = &wire->end[from];
	const struct wire_faults *faults = &wire->faults;
	uint64_t leaves_ns = tl_max_u64(wire->now_ns, end->idle_ns);
	uint64_t at_ns = leaves_ns + wire->one_way_ns;

	end->idle_ns = leaves_ns + wire->gap_ns;
	if (is_tcp && wire_chance(wire, faults->delayed)) {
		end->order_ns = tl_max_u64(end->order_ns, at_ns + wire_up_to(wire, faults->delay_ns));
		end->delayed++;
	}
	at_ns = tl_max_u64(at_ns, end->order_ns);
	if (is_tcp && wire_chance(wire, faults->overtaken)) {
		at_ns += wire_up_to(wire, faults->overtake_ns);
		end->overtaken++;
	}
	return at_ns;
}

// Put one copy of a frame in flight.
static inline void wire_launch(struct wire *wire, unsigned from, const struct rte_mbuf *m, const struct tl_pkt *pkt)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	bool is_tcp = wire_is_tcp(pkt);
	struct wire_segment segment = {.from = from, .frame = frame, .pkt = pkt};
	struct wire_end *end = &wire->end[from];

	segment.at_ns = wire_travel(wire, from, is_tcp);
	segment.lost = is_tcp && wire_chance(wire, wire->faults.lost);
	segment.lost |= is_tcp && wire->loses != NULL && wire->loses(wire, from, frame, pkt);
	segment.damaged = is_tcp && !segment.lost && wire_chance(wire, wire->faults.damaged);
	end->lost += segment.lost;
	end->damaged += segment.damaged;
	if (is_tcp && wire->look != NULL)
		wire->look(wire, &segment);
	if (segment.lost)
		return;
	struct wire_flying new = {tl_test_mbuf(wire->pool, frame, m->data_len), segment.at_ns, !from, is_tcp};
	if (new.m == NULL) {
		fprintf(stderr, "no mbuf for the wire\n");
		exit(1);
	}
	if (segment.damaged) {
		wire_damage(wire, rte_pktmbuf_mtod(new.m, uint8_t *), pkt);
		new.is_intact_tcp = false;
	}
	wire_insert(wire, new);
}

// Send a frame from an end. m is taken over.
static inline void wire_send(struct wire *wire, unsigned from, struct rte_mbuf *m)
{
	struct tl_pkt pkt;

	tl_wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &pkt);
	if (wire_is_tcp(&pkt)) {
		wire->end[from].sent++;
		if (wire->alter != NULL)
			wire->alter(wire, rte_pktmbuf_mtod(m, uint8_t *), &pkt);
	}
	wire_launch(wire, from, m, &pkt);
	if (wire_is_tcp(&pkt) && wire_chance(wire, wire->faults.doubled)) {
		wire->end[from].doubled++;
		wire_launch(wire, from, m, &pkt);
	}
	rte_pktmbuf_free(m);
}

static inline void wire_flush(struct tl_txq *q)
{
	struct wire *wire = q->backend;

	for (uint16_t i = 0; i < q->n; i++)
		wire_send(wire, q == &wire->end[1].tx, q->pkts[i]);
	q->n = 0;
}

// Return the time of the next arrival; UINT64_MAX: no frame in flight.
static inline uint64_t wire_next_ns(const struct wire *wire)
{
	return wire_in_flight(wire) > 0 ? wire->flying[wire->first].at_ns : UINT64_MAX;
}

// Collect the frames that arrive at one end now, at most a burst.
static inline void wire_land(struct wire *wire, unsigned to)
{
	struct tl_burst *burst = &wire->burst;
	unsigned due = wire->first, kept;

	burst->n = 0;
	burst->mono_ns = wire->now_ns;
	while (due < wire->end_of_flying && wire->flying[due].at_ns <= wire->now_ns)
		due++;
	kept = due;
	for (unsigned i = wire->first; i < due && burst->n < TL_BURST; i++) {
		struct wire_flying *f = &wire->flying[i];
		if (f->to != to)
			continue;
		wire->end[to].arrived++;
		wire->end[to].intact += f->is_intact_tcp;
		burst->pkts[burst->n++] = f->m;
		f->m = NULL;
	}
	while (due > wire->first) { // close the gap
		due--;
		if (wire->flying[due].m != NULL)
			wire->flying[--kept] = wire->flying[due];
	}
	wire->first = kept;
}

// Deliver everything that arrives at one end now, in bursts as long as possible. Frames sent in response depart.
static inline void wire_deliver(struct wire *wire, unsigned to)
{
	struct tl_burst *burst = &wire->burst;

	for (;;) {
		wire_land(wire, to);
		if (burst->n == 0)
			return;
		for (uint16_t i = 0; i < burst->n; i++) {
			struct rte_mbuf *m = burst->pkts[i];
			tl_wire_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &burst->pkt[i]);
		}
		wire->end[to].input(wire->end[to].ctx, burst);
		for (uint16_t i = 0; i < burst->n; i++)
			rte_pktmbuf_free(burst->pkts[i]);
		tl_txq_flush(&wire->end[to].tx);
	}
}

static inline void wire_init(struct wire *wire, struct rte_mempool *pool, uint64_t seed, uint64_t now_ns)
{
	memset(wire, 0, offsetof(struct wire, flying));
	wire->pool = pool;
	wire->now_ns = now_ns;
	wire->rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (unsigned i = 0; i < 2; i++) {
		wire->end[i].tx.flush_fn = wire_flush;
		wire->end[i].tx.backend = wire;
	}
}

static inline void wire_fini(struct wire *wire)
{
	for (unsigned i = 0; i < 2; i++)
		tl_txq_flush(&wire->end[i].tx);
	for (; wire->first < wire->end_of_flying; wire->first++)
		rte_pktmbuf_free(wire->flying[wire->first].m);
}
