// SPDX-License-Identifier: BSD-3-Clause
// Sending lcore: takes frames from the ring, waits until they are due, and hands them to the port.

#include "replay_priv.h"

_Static_assert(TL_BURST <= 64, "a bit per waiting frame");

static bool is_stopped(const struct replay_sender *s)
{
	return TL_UNLIKELY(atomic_load_explicit(s->stop, memory_order_relaxed));
}

// Time of the run after the anchor; negative before it.
static int64_t run_ns(const struct replay_sender *s, uint64_t tsc)
{
	struct tl_clock_line line = tl_clock_swap_load(s->time);

	return (int64_t)tl_clock_apply(&line, tsc);
}

// Due time of a frame in the ring: underruns before may have shifted it.
static int64_t due_of(const struct replay_sender *s, struct rte_mbuf *m)
{
	return (int64_t)(replay_due(m) + s->shifted_ns);
}

// Count the frames taken from the ring that are due by now.
static uint16_t count_due(const struct replay_sender *s, int64_t now_ns)
{
	uint16_t i = s->at;

	while (i < s->n && due_of(s, s->next[i]) <= now_ns)
		i++;
	return i - s->at;
}

// Reduce the due frames to those permitted.
static uint16_t permitted(const struct replay_sender *s, uint16_t due)
{
	uint64_t left = atomic_load_explicit(&s->allowed_pkts, memory_order_relaxed) - s->taken_pkts;

	return (uint16_t)(left < due ? left : due);
}

// Count the frames already due after a wait for the reader: they are late because of it, unless due times move by the
// time lost. In a pause or seek none is due.
static __attribute__((noinline)) void count_reader_late(struct replay_sender *s)
{
	bool held = atomic_load_explicit(&s->held, memory_order_acquire); // before the time is read
	int64_t now_ns = run_ns(s, rte_rdtsc());
	uint16_t due = held ? 0 : count_due(s, now_ns);

	if (s->gated)
		due = permitted(s, due);
	tl_count(&s->reader_late_pkts, due);
	tl_count(&s->reader_late_times, due != 0);
	if (s->shifts && due != 0)
		tl_count(&s->shifted_ns, (uint64_t)(now_ns - due_of(s, s->next[s->at])));
}

// Count those of the first n waiting frames, accepted by a port, that have a time. Return the later one of now and the
// time of the last one.
static int64_t count_timed(struct replay_out *out, uint16_t n, int64_t now_ns)
{
	uint64_t due_ns = out->due_ns[n - 1];
	bool last = (out->timed >> (n - 1) & 1) != 0 && due_ns != TL_REPLAY_DUE_MAX;

	tl_count(&out->timed_pkts, (uint64_t)__builtin_popcountll(out->timed << (64 - n)));
	out->timed = n < 64 ? out->timed >> n : 0;
	return last && (int64_t)due_ns > now_ns ? (int64_t)due_ns : now_ns;
}

static bool is_shaped(const struct replay_out *out)
{
	return out->shaper.ctx != NULL;
}

static uint64_t mono_ns(const struct replay_sender *s)
{
	return tl_clock_mono_ns(s->clock, rte_rdtsc());
}

// ---- a frame that the NIC stamps when it leaves

static __attribute__((noinline)) void mark(struct replay_out *out, struct rte_mbuf *m)
{
	if (out->marked == 0 && tl_tx_stamp_take(out->stamp, m))
		out->marked = out->txq->n + 1;
}

// Tell main about the marked frame, if it is among the first n waiting ones, which the port has accepted.
static __attribute__((noinline)) void publish_marked(struct replay_out *out, uint16_t n, int64_t now_ns, uint64_t scale)
{
	if (out->marked > n) {
		out->marked -= n;
		return;
	}
	int64_t due_ns = (int64_t)out->due_ns[out->marked - 1];
	__int128 late_ns = (__int128)(now_ns - due_ns) * (int64_t)scale;
	const struct tl_tx_stamp_facts facts = {.left = due_ns != (int64_t)TL_REPLAY_DUE_MAX,
		.is_due = true,
		.begin_tsc = out->offer_tsc,
		.late_ns = (int64_t)(late_ns >> TL_CLOCK_SHIFT)};
	out->marked = 0;
	tl_tx_stamp_publish(out->stamp, &facts);
}

// Count n frames that a port took, and their lateness. It has dropped some of them: those that the kernel never takes.
static void count_sent(struct replay_sender *s, struct replay_out *out, uint16_t n, uint64_t dropped)
{
	int64_t now_ns = run_ns(s, out->offer_tsc);
	uint64_t scale = atomic_load_explicit(&s->late_scale, memory_order_relaxed);
	int64_t last_ns = count_timed(out, n, now_ns) - (int64_t)s->shifted_ns;

	tl_count(&out->sent_pkts, n - dropped);
	tl_count(&out->refused_pkts, dropped);
	__atomic_store_n(&s->last_ns, last_ns > 0 ? (uint64_t)last_ns : 0, __ATOMIC_RELAXED);
	if (TL_UNLIKELY(out->marked != 0))
		publish_marked(out, n, now_ns, scale);
	if (out->lateness == NULL)
		return;
	for (uint16_t i = 0; i < n; i++) {
		uint64_t late_ns = now_ns > (int64_t)out->due_ns[i] ? (uint64_t)now_ns - out->due_ns[i] : 0;
		late_ns = (uint64_t)((unsigned __int128)late_ns * scale >> TL_CLOCK_SHIFT);
		tl_hist_record(out->lateness, late_ns);
		if ((int64_t)out->due_ns[i] >= s->gap_end_ns)
			tl_hist_record(s->undisturbed, late_ns);
		tl_count(&out->late_pkts, late_ns > s->late_ns);
	}
}

// A frame of a pass before a seek has no due time in the run's time.
void replay_leaving(void *ctx, const struct tl_txq *queue)
{
	struct replay_out *out = ctx;
	uint32_t pass = atomic_load_explicit(out->pass, memory_order_relaxed);

	for (uint16_t i = out->left; i < queue->n; i++)
		out->due_ns[i] =
			replay_pass_of(queue->pkts[i]) == pass ? replay_due(queue->pkts[i]) : TL_REPLAY_DUE_MAX;
	out->offered = queue->n;
	out->offer_tsc = rte_rdtsc();
}

// Put the frames of a queue into its class tree, and send those that may leave: replay_leaving().
static void offer_shaped(const struct replay_sender *s, struct replay_out *out)
{
	out->offered = 0;
	if (out->txq->n != 0)
		tl_txq_flush(out->txq);
	else
		(void)out->shaper.poll(out->shaper.ctx, mono_ns(s));
}

// Offer a port the frames that wait for it. Return the number that it accepts.
static uint16_t offer(struct replay_sender *s, struct replay_out *out)
{
	uint64_t dropped = out->txq->drop_tx_pkts;

	if (is_shaped(out)) {
		offer_shaped(s, out);
	} else {
		out->offered = out->txq->n;
		tl_txq_flush(out->txq);
		out->offer_tsc = out->txq->begin_tsc;
	}
	uint16_t left = out->left = out->txq->n, sent = out->offered - left;
	if (sent != 0)
		count_sent(s, out, sent, out->txq->drop_tx_pkts - dropped);
	for (uint16_t i = 0; i < left && sent != 0; i++)
		out->due_ns[i] = out->due_ns[sent + i];
	atomic_store_explicit(&out->refused, left != 0, memory_order_relaxed);
	return sent;
}

// The same for all ports, and of a class tree all frames that may leave now: before others go in, which would drop at
// its limits. Return whether frames still wait.
static bool offer_all(struct replay_sender *s)
{
	bool waiting = false;

	for (unsigned i = 0; i < s->n_outs; i++) {
		struct replay_out *out = &s->outs[i];
		if (out->txq->n != 0 || is_shaped(out))
			while (offer(s, out) != 0 && is_shaped(out))
				;
		waiting |= is_shaped(out) ? !out->shaper.closed(out->shaper.ctx) : out->txq->n != 0;
	}
	return waiting;
}

// Take frames from the ring. False: there are no more, or the run was stopped.
static bool refill(struct replay_sender *s)
{
	bool waited = false;

	s->at = 0;
	for (;;) {
		bool last = atomic_load_explicit(s->read_all, memory_order_acquire); // before the ring is read
		s->n = (uint16_t)rte_ring_sc_dequeue_burst(s->ring, (void **)s->next, TL_BURST, NULL);
		if (s->n != 0)
			break;
		if (last || is_stopped(s))
			return false;
		waited = true;
		(void)offer_all(s);
		rte_pause();
	}
	if (TL_UNLIKELY(waited))
		count_reader_late(s);
	return true;
}

// Refused frames that wait for a port have no due time in the run's time after a seek, nor in a pause that begins after
// the time of a NIC: they do not count as late.
static void forget_due(struct replay_sender *s)
{
	for (unsigned i = 0; i < s->n_outs; i++)
		for (uint16_t k = 0; k < s->outs[i].txq->n; k++)
			s->outs[i].due_ns[k] = TL_REPLAY_DUE_MAX;
}

// After a seek drop the frames read before it. Return whether there was one.
static __attribute__((noinline)) bool drop_passed(struct replay_sender *s)
{
	uint32_t pass = atomic_load_explicit(&s->pass, memory_order_acquire);

	if (pass == atomic_load_explicit(&s->pass_seen, memory_order_relaxed))
		return false;
	forget_due(s);
	s->gap_end_ns = INT64_MIN; // maybe later than the new position
	do {
		for (; s->at < s->n && replay_pass_of(s->next[s->at]) != pass; s->at++) {
			rte_pktmbuf_free(s->next[s->at]);
			tl_count(&s->passed_pkts, 1);
		}
		if (s->at < s->n)
			break;
		s->at = 0;
		s->n = (uint16_t)rte_ring_sc_dequeue_burst(s->ring, (void **)s->next, TL_BURST, NULL);
	} while (s->n != 0);
	atomic_store_explicit(&s->pass_seen, pass, memory_order_release);
	return true;
}

// Count the time in which the lcore did not run: the gap between two readings of the clock, with nothing to do in
// between. now_ns: the run's time at its end.
static void count_gap(struct replay_sender *s, uint64_t before_tsc, uint64_t tsc, int64_t now_ns)
{
	if (TL_LIKELY(tsc - before_tsc <= s->gap_tsc))
		return;
	tl_count(&s->interrupted_tsc, tsc - before_tsc);
	s->gap_end_ns = now_ns;
}

// Wait until the next frame is due, or due to be handed over to a NIC. Return the number of these frames, 0: there was
// a seek, or the run was stopped.
static uint16_t wait_until_due(struct replay_sender *s)
{
	uint64_t before_tsc = 0;
	uint16_t due;

	for (;;) {
		bool held = atomic_load_explicit(&s->held, memory_order_acquire); // before the time is read
		uint64_t ahead_tsc = atomic_load_explicit(&s->ahead_tsc, memory_order_relaxed);
		if (TL_UNLIKELY(held) && ahead_tsc != 0)
			forget_due(s);
		if (TL_UNLIKELY(held) && drop_passed(s))
			return 0;
		uint64_t tsc = rte_rdtsc();
		int64_t now_ns = run_ns(s, tsc + ahead_tsc);
		if (before_tsc != 0)
			count_gap(s, before_tsc, tsc, now_ns);
		due = TL_UNLIKELY(held) ? 0 : count_due(s, now_ns);
		if (TL_UNLIKELY(s->gated))
			due = permitted(s, due);
		if (due != 0)
			return due;
		if (is_stopped(s))
			return 0;
		before_tsc = offer_all(s) || held ? 0 : tsc; // a port takes its time, and in a pause none is due
		rte_pause();
	}
}

// Check whether a port takes a frame. A class tree drops frames at its limits, so none goes into it while the port
// refuses those that have left it.
static bool has_room(const struct replay_out *out)
{
	return tl_txq_has_room(out->txq) && !(is_shaped(out) && TL_UNLIKELY(out->left != 0));
}

// Wait until a port takes a frame. False: the run was stopped.
static __attribute__((noinline)) bool await_room(struct replay_sender *s, const struct replay_out *out)
{
	while (!has_room(out)) {
		if (is_stopped(s))
			return false;
		(void)offer_all(s);
	}
	return true;
}

// Give a frame that is still ahead its time: never before that of its predecessor, although the lines of both clocks
// bend. One that is late leaves at once.
static void set_time(const struct replay_sender *s, struct replay_out *out, struct rte_mbuf *m)
{
	struct tl_clock_line line = tl_clock_swap_load(&out->ticks);
	uint64_t ticks = tl_clock_apply(&line, replay_due(m));

	if ((int64_t)replay_due(m) <= run_ns(s, rte_rdtsc()))
		return;
	if ((int64_t)(ticks - out->last_ticks) < 0 && out->timed_pkts + out->timed != 0)
		ticks = out->last_ticks;
	out->last_ticks = ticks;
	out->timed |= UINT64_C(1) << out->txq->n;
	*RTE_MBUF_DYNFIELD(m, out->at_offset, rte_mbuf_timestamp_t *) = ticks;
	m->ol_flags |= out->at_flag;
}

// Hand the next n frames to their ports. False: the run was stopped before.
static bool hand_over(struct replay_sender *s, uint16_t n)
{
	uint64_t ahead_tsc = atomic_load_explicit(&s->ahead_tsc, memory_order_relaxed);

	s->until_tsc = rte_rdtsc() + s->wire_tsc;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = s->next[s->at];
		struct replay_out *out = &s->outs[replay_out_of(m)];
		if (TL_UNLIKELY(!has_room(out)) && !await_room(s, out))
			return false;
		replay_shift(m, s->shifted_ns);
		if (ahead_tsc != 0)
			set_time(s, out, m);
		if (out->stamp != NULL && TL_UNLIKELY(tl_tx_stamp_is_offered(out->stamp)))
			mark(out, m);
		out->due_ns[out->txq->n] = replay_due(m);
		out->txq->pkts[out->txq->n++] = m;
		s->at++;
		s->taken_pkts++;
	}
	(void)offer_all(s);
	return true;
}

// Send what waits, the frames in class trees for a limited time. Return true after another seek.
static bool drain(struct replay_sender *s, uint32_t pass)
{
	uint64_t until_ns = UINT64_MAX;

	for (unsigned i = 0; i < s->n_outs; i++)
		if (is_shaped(&s->outs[i]))
			until_ns = mono_ns(s) + s->drain_ns;
	while (offer_all(s) && !is_stopped(s) && (until_ns == UINT64_MAX || mono_ns(s) < until_ns)) {
		if (atomic_load_explicit(&s->pass, memory_order_acquire) != pass)
			return true;
		rte_pause();
	}
	return false;
}

static void send_all(struct replay_sender *s)
{
	uint32_t pass;
	uint16_t due;

	do {
		pass = atomic_load_explicit(&s->pass, memory_order_acquire);
		while (s->at < s->n || refill(s)) {
			due = wait_until_due(s);
			if (!hand_over(s, due) || is_stopped(s))
				return;
		}
	} while (drain(s, pass));
}

void replay_send(struct replay_sender *s)
{
	send_all(s);
	for (unsigned i = 0; i < s->n_outs; i++)
		if (is_shaped(&s->outs[i]))
			s->outs[i].shaper.finish(s->outs[i].shaper.ctx);
	while ((int64_t)(s->until_tsc - rte_rdtsc()) > 0)
		rte_pause();
}
