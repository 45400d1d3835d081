// SPDX-License-Identifier: BSD-3-Clause
// Lcore of an encapsulated frame, and the hand-off.

#include "inner_priv.h"

#include <rte_mbuf.h>

static void record(const struct tl_inner_side *side, struct tl_burst *b)
{
	for (uint32_t i = 0; i < side->n_services; i++)
		if (side->services[i].rx != NULL)
			side->services[i].rx(side->services[i].ctx, b);
}

static uint16_t owner_of(const struct tl_inner_side *side, const struct rte_mbuf *m)
{
	const struct tl_inner *inner = side->inner;
	uint16_t words;
	uint64_t hash = tl_flow_inner_hash(&inner->hash, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &words);

	if (hash == 0)
		return side->queue;
	if (inner->follows)
		return inner->owners[inner->buckets[0][words >> 8] ^ inner->buckets[1][words & 0xff]];
	return inner->recorded[(hash >> 32) * inner->n_recorded >> 32];
}

static bool hand_over(struct tl_inner_side *side, uint16_t owner, const struct tl_burst *b, uint16_t i)
{
	struct tl_inner_frame frame = {.m = b->pkts[i],
		.ts_ns = b->ts_ns[i],
		.wire_bytes = b->wire_bytes[i],
		.flags = ((b->unstamped >> i & 1) != 0 ? TL_INNER_UNSTAMPED : 0) |
			 ((b->sent >> i & 1) != 0 ? TL_INNER_SENT : 0)};

	tl_count(&side->stats.inner_handoff_pkts, 1);
	rte_pktmbuf_refcnt_update(frame.m, 1);
	if (TL_LIKELY(rte_ring_sp_enqueue_elem(side->to[owner], &frame, sizeof(frame)) == 0))
		return true;
	rte_pktmbuf_refcnt_update(frame.m, -1);
	tl_count(&side->stats.inner_kept_pkts, 1);
	return false;
}

static void append(struct tl_burst *b, const struct tl_inner_frame *frame)
{
	b->unstamped |= (uint64_t)((frame->flags & TL_INNER_UNSTAMPED) != 0) << b->n;
	b->sent |= (uint64_t)((frame->flags & TL_INNER_SENT) != 0) << b->n;
	b->pkts[b->n] = frame->m;
	b->ts_ns[b->n] = frame->ts_ns;
	b->wire_bytes[b->n++] = frame->wire_bytes;
}

static struct tl_burst *begin(struct tl_burst *to, uint16_t queue, const struct tl_burst *times)
{
	to->n = 0;
	to->queue = queue;
	to->unstamped = to->sent = 0;
	to->tsc = times->tsc;
	to->last_tsc = times->last_tsc;
	to->mono_ns = times->mono_ns;
	return to;
}

// Collect the frames of b that stay on this lcore.
static struct tl_burst *rest_of(struct tl_inner_side *side, const struct tl_burst *b, uint64_t away)
{
	struct tl_burst *own = begin(&side->own, b->queue, b);

	for (uint16_t i = 0; i < b->n; i++) {
		if ((away >> i & 1) != 0)
			continue;
		append(own, &(struct tl_inner_frame){.m = b->pkts[i],
				    .ts_ns = b->ts_ns[i],
				    .wire_bytes = b->wire_bytes[i],
				    .flags = (uint32_t)(b->unstamped >> i & 1) * TL_INNER_UNSTAMPED |
					     (uint32_t)(b->sent >> i & 1) * TL_INNER_SENT});
	}
	return own;
}

void tl_inner_rx(void *ctx, struct tl_burst *b)
{
	struct tl_inner_side *side = ctx;
	uint64_t away = 0; // one bit per frame

	_Static_assert(TL_BURST <= 64, "one bit per frame");
	for (uint16_t i = 0; i < b->n; i++) {
		uint16_t owner = owner_of(side, b->pkts[i]);
		if (TL_UNLIKELY(owner != side->queue) && hand_over(side, owner, b, i))
			away |= UINT64_C(1) << i;
	}
	record(side, away == 0 ? b : rest_of(side, b, away));
}

// Record the frames of one ring, at most a burst.
static uint16_t take_from(struct tl_inner_side *side, struct rte_ring *ring, uint64_t mono_ns)
{
	struct tl_inner_frame frames[TL_BURST];
	uint16_t n = (uint16_t)rte_ring_sc_dequeue_burst_elem(ring, frames, sizeof(frames[0]), TL_BURST, NULL);

	if (n == 0)
		return 0;
	struct tl_burst *b = begin(&side->handed, side->queue, &(struct tl_burst){.mono_ns = mono_ns});
	for (uint16_t i = 0; i < n; i++)
		append(b, &frames[i]);
	record(side, b);
	rte_pktmbuf_free_bulk(b->pkts, n);
	tl_count(&side->stats.inner_taken_pkts, n);
	return n;
}

uint16_t tl_inner_poll(void *ctx, uint64_t mono_ns)
{
	struct tl_inner_side *side = ctx;
	uint16_t n = 0;

	for (uint16_t q = 0; q < side->inner->queues; q++)
		if (side->from[q] != NULL)
			n += take_from(side, side->from[q], mono_ns);
	return n;
}

void tl_inner_sent(void *ctx, struct tl_burst *b)
{
	const struct tl_inner_side *side = ctx;

	for (uint32_t i = 0; i < side->n_services; i++)
		if (side->services[i].sent != NULL)
			side->services[i].sent(side->services[i].ctx, b);
}

void tl_inner_tick(void *ctx, uint64_t mono_ns)
{
	const struct tl_inner_side *side = ctx;

	for (uint32_t i = 0; i < side->n_services; i++)
		if (side->services[i].tick != NULL)
			side->services[i].tick(side->services[i].ctx, mono_ns);
}
