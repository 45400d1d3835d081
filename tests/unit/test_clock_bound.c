// SPDX-License-Identifier: BSD-3-Clause
// Bound of a stamp's error, on simulated clocks.

#include <tl_test_clock_track.h>

// ---- tests

TL_TEST("the error of a stamp never exceeds its bound")
{
	static const double ticks_ns[] = {1, 6.4, 15000};

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world w = {.tick_ns = ticks_ns[seed % 3],
			.ppm = 100 * (double)(seed % 5) / 2 - 100,
			.walk_ppm = 0.5,
			.limit_ppm = 100,
			.outliers = 0.03,
			.rng = seed};
		begin_track(&w, 64);
		CU_ASSERT_EQUAL(live(&w, 10000, SECOND), 0);
		struct tl_clock_track_stats stats = stats_of(&w);
		CU_ASSERT(stats.set_aside > 50);
		CU_ASSERT(stats.bound_ns < 200000);
		end(&w);
	}
}

TL_TEST("the bound grows when a slope correction is overdue")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 18};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	w.track->wall.line.base_ns += 400000;
	compare(&w);
	pass(&w, 20 * SECOND);
	CU_ASSERT(error_ns(&w) > 1000000);
	CU_ASSERT(is_within(&w));
	end(&w);
}

TL_TEST("the bound grows while the counter cannot be read")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 10};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	uint64_t before_ns = tl_clock_track_bound_ns(w.track);
	w.error = -EIO;
	for (int i = 0; i < 100; i++) {
		pass(&w, SECOND);
		w.slewed_ns += 10000; // the line follows the kernel's time nevertheless
		discipline(&w);
		CU_ASSERT_EQUAL(tl_clock_track_sample(w.track), -EIO);
		CU_ASSERT(is_within(&w));
	}
	CU_ASSERT(error_ns(&w) < 50000);
	CU_ASSERT(tl_clock_track_bound_ns(w.track) > before_ns + 50000);
	CU_ASSERT_EQUAL(stats_of(&w).failed_reads, 100);
	w.error = 0;
	CU_ASSERT_EQUAL(live(&w, 20, SECOND), 0);
	CU_ASSERT_EQUAL(stats_of(&w).steps, 0);
	end(&w);
}

TL_TEST("the error of wall time is part of the bound")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 14};

	struct tl_clock_track_cfg cfg = track_cfg(&w, 64);
	begin(&w);
	w.clock.wall.line.base_ns += 800000;
	discipline(&w);
	CU_ASSERT_EQUAL_FATAL(tl_clock_track_create(&cfg, &w.track), 0);
	CU_ASSERT(error_ns(&w) > 500000);
	CU_ASSERT_EQUAL(live(&w, 6, SECOND), 0);
	CU_ASSERT(error_ns(&w) < 2000);
	end(&w);
}

TL_TEST("an unconfirmed step widens the bound")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 16};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	w.device_ns += 1e6;
	w.good_reads = 16; // the first comparison succeeds, the second fails
	w.error = -EIO;
	CU_ASSERT_EQUAL(tl_clock_track_sample(w.track), -EIO);
	CU_ASSERT_EQUAL(stats_of(&w).steps, 0);
	CU_ASSERT(is_within(&w));
	end(&w);
}

// ---- line through the samples

// A nanosecond counter with a drift of 4 ppm per second: four times the assumed limit.
static uint64_t turning_ns(uint64_t ticks)
{
	double s = (double)ticks / 1e9;

	return EPOCH_NS + ticks + (uint64_t)llrint(4000 * s * s / 2);
}

TL_TEST("an observed change of the rate widens the bound")
{
	static const struct tl_clock_gate lax = {.outlier_ns = TL_NS_PER_S, .drift_ppb = 1000, .confirm = 3};
	struct tl_clock_sample sample = {.ticks = 0, .ns = EPOCH_NS, .half_ns = 50};
	struct tl_clock_fit fit;

	tl_clock_fit_begin(&fit, &sample, 1, 1000);
	for (uint64_t s = 1; s < 30; s++) {
		sample = (struct tl_clock_sample){
			.ticks = s * TL_NS_PER_S, .ns = turning_ns(s * TL_NS_PER_S), .half_ns = 50};
		CU_ASSERT_EQUAL(tl_clock_fit_add(&fit, &sample, &lax), TL_CLOCK_KEPT);
		for (uint64_t ticks = sample.ticks; ticks < sample.ticks + 30 * TL_NS_PER_S; ticks += TL_NS_PER_S / 7) {
			double off_ns = fabs((double)(int64_t)(tl_clock_fit_ns(&fit, ticks) - turning_ns(ticks)));
			CU_ASSERT(s < 3 || off_ns <= tl_clock_fit_bound_ns(&fit, turning_ns(ticks)) + 1);
		}
	}
}

// The counter is fast and the kernel's time slow, both within the assumed limits.
TL_TEST("the bound grows with the drift of both clocks")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 22};

	begin_track(&w, 64);
	CU_ASSERT_EQUAL(live(&w, 30, SECOND), 0);
	w.ppm += 0.9;
	pass(&w, 1000 * SECOND);
	w.slewed_ns -= 900e3;
	CU_ASSERT(error_ns(&w) > 1500e3);
	CU_ASSERT(is_within(&w));
	end(&w);
}

// A drift of 0.9 ppm per second causes an error of 45 us after 10 s without a comparison, and the error grows
// quadratically.
TL_TEST("without samples the bound grows with the square of the time")
{
	for (int sign = -1; sign <= 1; sign += 2) {
		struct world w = {.tick_ns = 1, .ppm = 10, .rng = 23};
		begin_track(&w, 64);
		CU_ASSERT_EQUAL(live(&w, 30, SECOND), 0);
		w.turn_ppm = 0.9 * sign;
		w.wall_turn_ppm = -0.9 * sign;
		for (int i = 0; i < 300; i++) {
			pass(&w, SECOND / 10);
			CU_ASSERT(is_within(&w));
			if (i == 99)
				CU_ASSERT(error_ns(&w) > 85e3);
		}
		CU_ASSERT(error_ns(&w) > 800e3);
		end(&w);
	}
}

// ---- both

// Rates drift in either direction within the limits, and comparisons take place at random times.
static double turn(struct world *w, double ppm)
{
	if (fabs(ppm) > 80)
		return ppm > 0 ? -0.9 : 0.9;
	return 1.8 * draw(w) - 0.9;
}

static unsigned is_wrong(struct world *w)
{
	double wall_ns = wall_error_ns(w);

	return !is_within(w) + (wall_ns > (double)tl_clock_bound_at_ns(&w->clock, read_tsc(w)) + 1);
}

static unsigned live_and_turn(struct world *w, bool compares_counter)
{
	double left_s = exp(log(0.06) + draw(w) * log(10 / 0.06)); // 60 ms to 10 s
	unsigned wrong = 0;

	for (; left_s > 0; left_s -= 0.25) {
		w->turn_ppm = turn(w, w->ppm);
		w->wall_turn_ppm = turn(w, w->wall_ppm);
		pass(w, fmin(left_s, 0.25) * SECOND);
		wrong += is_wrong(w);
	}
	discipline(w);
	wrong += is_wrong(w); // with the previous line
	if (compares_counter)
		CU_ASSERT_EQUAL(tl_clock_track_sample(w->track), 0);
	wrong += is_wrong(w);
	return wrong;
}

TL_TEST("constantly varying rates stay within the bound for 300 seeds")
{
	static const double ticks_ns[] = {1, 6.4, 1000};
	unsigned wrong = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct world w = {
			.tick_ns = ticks_ns[seed % 3], .ppm = (double)(seed % 7) * 20 - 60, .rng = 1000 + seed};
		begin_track(&w, 64);
		for (int i = 0; i < 200; i++)
			wrong += live_and_turn(&w, seed % 5 != 0 || i % 3 != 0);
		end(&w);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
	return tl_test_run("clock_bound");
}
