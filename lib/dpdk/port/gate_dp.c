// SPDX-License-Identifier: BSD-3-Clause
// Gate for the stamps of a NIC: compares them with the polls that received their frames. A driver may write stamps of
// one clock and read another: docs/time.md, "The gate".

#include "port_priv.h"

#define QUEUE_NS (20 * TL_NS_PER_MS) // between a frame's stamp and its entry in the ring: the NIC's buffer, PCIe
#define AHEAD_NS TL_NS_PER_MS	     // largest lead of a stamp over its poll: beyond it the clock's line steps
#define EMPTIED 32 // frames: a smaller burst emptied the queue, as some drivers return at most 32 at a time
#define REOPEN_STAMPS 1024

// Range of possible stamps, in monotonic time: CLOCK_REALTIME may be set between stamp and poll.
struct window {
	struct tl_clock_stamps mono;
	uint64_t from_ns, span_ns;
};

static struct window window_of(const struct tl_rxq *q, const struct tl_burst *b)
{
	struct window w = {.from_ns = tl_clock_mono_ns(q->clock, q->gate.since_tsc) - QUEUE_NS};

	tl_clock_track_load_mono(q->track, &w.mono);
	w.span_ns = b->mono_ns + AHEAD_NS - w.from_ns;
	return w;
}

static bool fits(const struct window *w, uint64_t ticks)
{
	return tl_clock_stamps_ns(&w->mono, ticks) - w->from_ns <= w->span_ns;
}

static bool frame_fits(const struct tl_rxq *q, const struct window *w, const struct rte_mbuf *m)
{
	uint64_t ticks;

	return !tl_rxq_ticks(q, m, &ticks) || fits(w, ticks);
}

static void close_gate(struct tl_rxq *q, const struct tl_burst *b, const struct window *w, uint64_t ticks)
{
	struct tl_port_gate *g = &q->gate;

	g->left = REOPEN_STAMPS;
	int state = atomic_load_explicit(&g->state, memory_order_relaxed);
	if (state == TL_GATE_SHUT)
		return;
	g->offence = (struct tl_port_offence){.was_open = state == TL_GATE_OPEN,
		.ticks = ticks,
		.tsc = b->tsc,
		.late_ns = (int64_t)(tl_clock_stamps_ns(&w->mono, ticks) - b->mono_ns)};
	atomic_store_explicit(&g->state, TL_GATE_SHUT, memory_order_relaxed);
	atomic_store_explicit(&g->closures, g->closures + 1, memory_order_release);
}

// Discard the stamp of the frame, which then has the time of the poll.
static void refuse(struct tl_rxq *q, struct tl_burst *b, uint16_t i)
{
	b->pkts[i]->ol_flags &= ~q->stamp_flag;
	b->ts_ns[i] = tl_clock_wall_ns(q->clock, b->tsc);
	b->unstamped |= UINT64_C(1) << i;
	tl_count(&q->stats.unstamped_pkts, 1);
	tl_count(&q->gate.refused_pkts, 1);
}

static __attribute__((noinline)) void judge_each(struct tl_rxq *q, struct tl_burst *b, const struct window *w)
{
	struct tl_port_gate *g = &q->gate;
	uint64_t ticks;

	for (uint16_t i = 0; i < b->n; i++) {
		if (!tl_rxq_ticks(q, b->pkts[i], &ticks))
			continue;
		if (!fits(w, ticks))
			close_gate(q, b, w, ticks);
		else if (g->left != 0 && --g->left == 0)
			atomic_store_explicit(&g->state, TL_GATE_OPEN, memory_order_relaxed);
		if (atomic_load_explicit(&g->state, memory_order_relaxed) == TL_GATE_SHUT)
			refuse(q, b, i);
	}
}

// Check the stamps of a burst: of an open gate the first frame and the last.
static void judge(struct tl_rxq *q, struct tl_burst *b)
{
	struct window w = window_of(q, b);

	if (TL_LIKELY(atomic_load_explicit(&q->gate.state, memory_order_relaxed) == TL_GATE_OPEN) &&
		TL_LIKELY(frame_fits(q, &w, b->pkts[0]) && frame_fits(q, &w, b->pkts[b->n - 1])))
		return;
	judge_each(q, b, &w);
}

// Frames of a poll arrived after the start of the last one that emptied the queue, so after the return of the one
// before that.
uint16_t tl_eth_gated_burst(struct tl_rxq *q, struct tl_burst *b)
{
	uint16_t n = tl_eth_stamped_burst(q, b);

	if (n != 0)
		judge(q, b);
	if (n < EMPTIED)
		q->gate.since_tsc = q->gate.poll_tsc;
	q->gate.poll_tsc = b->tsc;
	return n;
}
