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

static void gap_seen_once_is_polled_through(void)
{
	struct world w;

	begin(&w);
	send(&w, 3000, TL_NS_PER_MS);
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

static void sleep_begins_after_twice_the_longest_gap(void)
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

static void pause_of_the_traffic_is_no_gap(void)
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

static void gap_between_bursts_is_polled_through(void)
{
	struct world w;

	begin(&w);
	for (int burst = 0; burst < 200; burst++) {
		send(&w, 1000, TL_NS_PER_US);
		wait(&w, 10 * TL_NS_PER_MS);
	}
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

static void gap_is_forgotten_after_two_windows(void)
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

static void thread_that_wants_the_cpu_loses_little_and_takes_little(void)
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

static void rare_stall_costs_no_patience(void)
{
	struct world w;

	begin(&w);
	w.slice_ns = 3 * TL_NS_PER_MS;
	w.runs_ns = 500 * TL_NS_PER_MS;
	send(&w, 5000, TL_NS_PER_MS);
	CU_ASSERT(w.taken_ns >= 8 * w.slice_ns);
	CU_ASSERT_EQUAL(w.sleeps, 1);
}

static void long_stop_is_forgiven_after_a_second(void)
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

static void sleep_is_not_taken_by_another(void)
{
	struct world w;

	begin(&w);
	send(&w, 100, 2 * TL_PATIENCE_GAP_MAX_NS); // 99 ms of sleep each
	send(&w, 3, TL_NS_PER_MS);
	receive(&w);
	CU_ASSERT_EQUAL(patience_ns(&w), 2 * TL_NS_PER_MS);
}

static void frame_of_another_queue_keeps_it_awake_for_a_moment(void)
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
	static const struct tl_test tests[] = {
		{"an observed gap between frames is polled through", gap_seen_once_is_polled_through},
		{"a sleep begins after twice the longest gap, and not before 50 us",
			sleep_begins_after_twice_the_longest_gap},
		{"a gap of more than 50 ms counts as a pause: the lcore sleeps, and the gap is not learned",
			pause_of_the_traffic_is_no_gap},
		{"a gap between bursts of any size is polled through", gap_between_bursts_is_polled_through},
		{"a gap expires after two windows", gap_is_forgotten_after_two_windows},
		{"on a shared CPU empty polls take at most a sixteenth of the time",
			thread_that_wants_the_cpu_loses_little_and_takes_little},
		{"occasional stalls of 3 ms do not end the polling", rare_stall_costs_no_patience},
		{"polling resumes within about a second after a long preemption", long_stop_is_forgiven_after_a_second},
		{"a frame of another queue keeps the lcore awake for 50 us",
			frame_of_another_queue_keeps_it_awake_for_a_moment},
		{"sleep is not charged as time of another thread", sleep_is_not_taken_by_another},
	};
	return tl_test_main("patience", tests, TL_ARRAY_LEN(tests));
}
