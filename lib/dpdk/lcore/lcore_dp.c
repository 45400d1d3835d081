// SPDX-License-Identifier: BSD-3-Clause
// Loop of an RX lcore.

#include "lcore_priv.h"

#include <rte_mbuf.h>

#define TICK_NS (100 * TL_NS_PER_US)
#define RING_TICKS 64	    // between two looks at a ring without a backlog
#define DRAIN_EMPTY_POLLS 3 // consecutive empty polls, after the port was quiesced
#define STOP_BURSTS 64	    // minimum bursts, on a port that cannot be quiesced

// Run the services in order; the frames of each are sent before the next one runs.
static void handle_burst(struct tl_lcore *l)
{
	struct tl_burst *b = &l->burst;
	struct tl_txq *txq = l->cfg.txq;

	for (uint32_t i = 0; i < l->cfg.n_services; i++) {
		const struct tl_service *s = &l->services[i];
		if (s->rx == NULL)
			continue;
		s->rx(s->ctx, b);
		if (txq != NULL)
			tl_txq_flush(txq);
		if (s->after_tx != NULL)
			s->after_tx(s->ctx, b);
	}
	tl_rxq_free(l->cfg.rxq, b);
}

// Sample the load: n frames in this turn. A large burst may have left more in the ring; some drivers give 32 at most.
static void sample_load(struct tl_lcore *l, uint64_t mono_ns, uint16_t n)
{
	unsigned size = n == 0 || l->slept ? 0 : 32 - (unsigned)__builtin_clz(n);

	size = size < TL_LCORE_SIZES ? size : TL_LCORE_SIZES - 1;
	if (l->next_tick_ns != 0)
		tl_count(&l->load.turn_ns[size], mono_ns - (l->next_tick_ns - TICK_NS));
	l->slept = false;
	if (n >= TL_BURST / 2 || l->beats % RING_TICKS == 0)
		tl_lcore_look_at_ring(l);
}

static __attribute__((noinline)) void tick(struct tl_lcore *l, uint64_t mono_ns, uint16_t n)
{
	sample_load(l, mono_ns, n);
	l->next_tick_ns = mono_ns + TICK_NS;
	tl_count(&l->beats, 1);
	for (uint32_t i = 0; i < l->cfg.n_services; i++)
		if (l->services[i].tick != NULL)
			l->services[i].tick(l->services[i].ctx, mono_ns);
	if (l->cfg.txq != NULL)
		tl_txq_flush(l->cfg.txq);
}

static uint16_t poll_services(struct tl_lcore *l)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < l->cfg.n_services; i++)
		if (l->services[i].poll != NULL)
			n += l->services[i].poll(l->services[i].ctx, l->burst.mono_ns);
	return n;
}

// Record a long gap, at the end of a turn, when no frame is waiting for it.
static void watch_gap(struct tl_lcore *l)
{
	uint64_t gap_tsc = l->burst.tsc - l->burst.last_tsc;

	if (TL_UNLIKELY(gap_tsc > l->gap_tsc))
		tl_lcore_note_gap(l, gap_tsc);
	l->burst.last_tsc = l->burst.tsc;
}

// Run one turn: a burst if there is one, timers if due, and sent frames to the recording last.
static uint16_t turn(struct tl_lcore *l)
{
	uint16_t n = l->cfg.rxq->burst(l->cfg.rxq, &l->burst);

	if (n != 0)
		handle_burst(l);
	if (l->polls)
		n += poll_services(l);
	if (l->burst.mono_ns >= l->next_tick_ns)
		tick(l, l->burst.mono_ns, n);
	if (l->cfg.txq != NULL)
		tl_txq_record_sent(l->cfg.txq);
	watch_gap(l);
	return n;
}

static void close_services(struct tl_lcore *l)
{
	bool all_closed = true;

	for (uint32_t i = 0; i < l->cfg.n_services; i++) {
		const struct tl_service *s = &l->services[i];
		if (!l->closing && s->close != NULL)
			s->close(s->ctx);
		all_closed &= s->closed == NULL || s->closed(s->ctx);
	}
	l->closing = true;
	if (all_closed)
		atomic_store_explicit(&l->closed, true, memory_order_release);
}

static void drain(struct tl_lcore *l, bool quiesced)
{
	unsigned empty = 0;
	unsigned ring =
		STOP_BURSTS + 2 * l->cfg.rxq->descriptors / TL_BURST; // more bursts than the ring holds: some are short

	for (unsigned turns = 0; empty < DRAIN_EMPTY_POLLS && (quiesced || turns < ring); turns++)
		empty = turn(l) == 0 ? empty + 1 : 0;
	for (uint32_t i = 0; i < l->cfg.n_services; i++)
		if (l->services[i].finish != NULL)
			l->services[i].finish(l->services[i].ctx);
	if (l->cfg.txq != NULL) {
		for (unsigned i = 0; i < TL_TXQ_MAX / TL_BURST; i++)
			tl_txq_flush(l->cfg.txq);
		tl_txq_drop_waiting(l->cfg.txq);
		tl_txq_record_sent(l->cfg.txq);
	}
}

// Sleep after an empty poll if the next poll is not expected to find a frame. Polling for frames that arrive in batches
// only costs CPU time.
static void rest(struct tl_lcore *l, uint16_t n)
{
	if (n != 0)
		tl_patience_note_frames(&l->patience, l->burst.mono_ns);
	else if (l->cfg.rxq->gathers || tl_patience_is_over(&l->patience, l->burst.mono_ns))
		tl_lcore_idle(l);
}

int tl_lcore_loop(void *lcore)
{
	struct tl_lcore *l = lcore;

	int phase;

	while ((phase = atomic_load_explicit(&l->phase, memory_order_relaxed)) < TL_LCORE_DRAIN) {
		if (TL_UNLIKELY(phase == TL_LCORE_CLOSE) && !atomic_load_explicit(&l->closed, memory_order_relaxed))
			close_services(l);
		uint16_t n = turn(l);
		if (l->cfg.adaptive)
			rest(l, n);
	}
	drain(l, phase == TL_LCORE_DRAIN);
	return 0;
}
