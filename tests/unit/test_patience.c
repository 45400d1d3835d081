// SPDX-License-Identifier: BSD-3-Clause
// patience: when an adaptive lcore may sleep. Time is simulated.

#include <tl_test.h>

#include "patience.h"

#define STEP_NS TL_NS_PER_US // between polls

struct world {
	struct tl_patience patience;
	uint64_t now_ns, frame_ns;
	uint64_t sleeps;
	uint64_t slice_ns,
		runs_ns; // another thread takes the CPU for slice_ns after runs_ns of polling; 0: none
	uint64_t polled_ns, taken_ns;
};

static void begin(struct world *w)
{
	*w = (struct world){.now_ns = 7 * TL_NS_PER_S};
}

static void receive(struct world *w)
{
	tl_patience_note_frames(&w->patience, w->now_ns);
	w->frame_ns = w->now_ns;
}

static void let_others_run(struct world *w)
{
	if (w->slice_ns == 0 || w->polled_ns < w->runs_ns)
		return;
	w->now_ns += w->slice_ns;
	w->taken_ns += w->slice_ns;
	w->polled_ns = 0;
}

// Poll without frames, and sleep as soon as that is allowed, until end_ns.
static void wait(struct world *w, uint64_t ns)
{
	uint64_t end_ns = w->now_ns + ns;

	while (w->now_ns < end_ns) {
		w->now_ns += STEP_NS;
		w->polled_ns += STEP_NS;
		let_others_run(w);
		if (w->now_ns >= end_ns) // a frame arrived
			break;
		if (!tl_patience_is_over(&w->patience, w->now_ns))
			continue;
		w->sleeps++;
		w->polled_ns = 0;
		w->now_ns = tl_max_u64(w->now_ns, end_ns);
		tl_patience_note_sleep(&w->patience, false, w->now_ns);
	}
}

static void send(struct world *w, unsigned n, uint64_t gap_ns)
{
	for (unsigned i = 0; i < n; i++) {
		receive(w);
		wait(w, gap_ns);
	}
}

// Return the time from the last frame to the sleep.
static uint64_t patience_ns(struct world *w)
{
	while (!tl_patience_is_over(&w->patience, w->now_ns))
		w->now_ns += STEP_NS;
	tl_patience_note_sleep(&w->patience, false, w->now_ns);
	return w->now_ns - w->frame_ns;
}

TL_TEST("an observed gap between frames is polled through")
{
	struct world w;

	begin(&w);
	send(&w, 3000, TL_NS_PER_MS);
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

TL_TEST("a sleep begins after twice the longest gap, and not before 50 us")
{
	struct world w;

	begin(&w);
	CU_ASSERT(patience_ns(&w) >= TL_PATIENCE_MIN_NS); // before the first frame
	send(&w, 2, 3 * TL_NS_PER_MS);
	send(&w, 2, TL_NS_PER_MS);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), 6 * TL_NS_PER_MS);
	begin(&w);
	send(&w, 3, TL_NS_PER_US);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), TL_PATIENCE_MIN_NS);
}

TL_TEST("a gap of more than 50 ms counts as a pause: the lcore sleeps, and the gap is not learned")
{
	struct world w;

	begin(&w);
	send(&w, 10, TL_PATIENCE_GAP_MAX_NS + STEP_NS);
	CU_ASSERT_EQUAL(w.sleeps, 10);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), TL_PATIENCE_MIN_NS);
	begin(&w);
	send(&w, 10, TL_PATIENCE_GAP_MAX_NS);
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

TL_TEST("a gap between bursts of any size is polled through")
{
	struct world w;

	begin(&w);
	for (int burst = 0; burst < 200; burst++) {
		send(&w, 1000, TL_NS_PER_US);
		wait(&w, 10 * TL_NS_PER_MS);
	}
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

TL_TEST("a gap expires after two windows")
{
	struct world w;

	begin(&w);
	send(&w, 2, 40 * TL_NS_PER_MS);
	send(&w, 15000, 100 * TL_NS_PER_US);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), 80 * TL_NS_PER_MS); // the previous window counts
	send(&w, 10000, 100 * TL_NS_PER_US);
	receive(&w);
	CU_ASSERT(patience_ns(&w) <= 400 * TL_NS_PER_US);
	begin(&w);
	send(&w, 2, 40 * TL_NS_PER_MS);
	wait(&w, 2 * TL_PATIENCE_WINDOW_NS); // silence
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), TL_PATIENCE_MIN_NS);
}

TL_TEST("on a shared CPU empty polls take at most a sixteenth of the time")
{
	struct world w;

	begin(&w);
	w.slice_ns = 3 * TL_NS_PER_MS;
	w.runs_ns = 3 * TL_NS_PER_MS;
	send(&w, 2000, 5 * TL_NS_PER_MS);
	uint64_t whole_ns = w.now_ns - 7 * TL_NS_PER_S;
	CU_ASSERT(w.sleeps > 1500);
	CU_ASSERT(w.taken_ns > whole_ns / 32); // it keeps trying
	CU_ASSERT(w.taken_ns < whole_ns / 16 + 16 * TL_NS_PER_MS);
	w.slice_ns = 0; // the other thread has ended
	send(&w, 200, 5 * TL_NS_PER_MS);
	w.sleeps = 0;
	send(&w, 200, 5 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(w.sleeps, 0);
}

TL_TEST("occasional stalls of 3 ms do not end the polling")
{
	struct world w;

	begin(&w);
	w.slice_ns = 3 * TL_NS_PER_MS;
	w.runs_ns = 500 * TL_NS_PER_MS;
	send(&w, 5000, TL_NS_PER_MS);
	CU_ASSERT(w.taken_ns >= 8 * w.slice_ns);
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

TL_TEST("polling resumes within about a second after a long preemption")
{
	struct world w;

	begin(&w);
	send(&w, 3, TL_NS_PER_MS);
	wait(&w, STEP_NS);
	w.now_ns += 3600 * TL_NS_PER_S; // such as by SIGSTOP
	wait(&w, STEP_NS);
	send(&w, 3, TL_NS_PER_MS);
	CU_ASSERT(patience_ns(&w) <= TL_NS_PER_MS + TL_PATIENCE_MIN_NS);
	w.now_ns += TL_PATIENCE_DEBT_MAX_NS;
	send(&w, 3, TL_NS_PER_MS);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), 2 * TL_NS_PER_MS);
}

TL_TEST("sleep is not charged as time of another thread")
{
	struct world w;

	begin(&w);
	send(&w, 100, 2 * TL_PATIENCE_GAP_MAX_NS); // 99 ms of sleep each
	send(&w, 3, TL_NS_PER_MS);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), 2 * TL_NS_PER_MS);
}

TL_TEST("a frame of another queue keeps the lcore awake for 50 us")
{
	struct world w;

	begin(&w);
	send(&w, 3, TL_NS_PER_MS);
	wait(&w, TL_NS_PER_S);
	tl_patience_note_sleep(&w.patience, true, w.now_ns);
	w.frame_ns = w.now_ns;
	CU_ASSERT_EQUAL(patience_ns(&w), TL_PATIENCE_MIN_NS);
	send(&w, 3, TL_NS_PER_MS); // not a separate frame, and no gap
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), 2 * TL_NS_PER_MS);
}

int main(void)
{
	return tl_test_run("patience");
}
