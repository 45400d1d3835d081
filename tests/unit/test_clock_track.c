// SPDX-License-Identifier: BSD-3-Clause
// Line from a device's counter to wall time, on simulated clocks.

#include <tl_test_clock_track.h>

// ---- tests

TL_TEST("a steady counter is followed")
{
	static const double rates_ppm[] = {-100, -3, 0, 0.5, 100};

	for (size_t i = 0; i < TL_ARRAY_LEN(rates_ppm); i++) {
		struct world w = {.tick_ns = 1, .ppm = rates_ppm[i], .rng = i, .first_ticks = 12345};
		begin_track(&w, 64);
		CU_ASSERT_EQUAL(live(&w, 100, SECOND), 0);
		struct tl_clock_track_stats stats = stats_of(&w);
		CU_ASSERT(error_ns(&w) < 500);
		CU_ASSERT(stats.bound_ns < 6000);
		CU_ASSERT(fabs(stats.rate_hz - 1e9 - 1000 * rates_ppm[i]) < 500);
		CU_ASSERT_EQUAL(stats.steps + stats.set_aside + stats.failed_reads, 0);
		CU_ASSERT_EQUAL(stats.scale, TL_CLOCK_TICKS);
		end(&w);
	}
}

TL_TEST("outliers are rejected and do not affect the line")
{
	struct world w = {.tick_ns = 1, .ppm = 20, .rng = 3, .outliers = 0.1};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	for (int i = 0; i < 2000; i++) {
		pass(&w, SECOND);
		compare(&w);
		CU_ASSERT(error_ns(&w) < 5000);
	}
	CU_ASSERT(stats_of(&w).set_aside > 100);
	CU_ASSERT_EQUAL(stats_of(&w).steps, 0);
	end(&w);
}

TL_TEST("a step is applied at the next comparison, and counted")
{
	static const double steps_ns[] = {37e9, -37e9, 2e6, -2e6, 2e5, -2e5, 1e15};
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 4, .first_ticks = EPOCH_NS};

	begin_track(&w, 64);
	for (size_t i = 0; i < TL_ARRAY_LEN(steps_ns); i++) {
		CU_ASSERT_EQUAL(live(&w, 30, SECOND), 0);
		w.device_ns += steps_ns[i];
		compare(&w);
		CU_ASSERT_EQUAL(stats_of(&w).steps, i + 1);
		CU_ASSERT_EQUAL(live(&w, 5, SECOND), 0);
		CU_ASSERT(error_ns(&w) < 2000);
	}
	end(&w);
}

TL_TEST("a small step soon after another does not change the rate")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 17};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	w.device_ns += 37e9;
	compare(&w);
	pass(&w, SECOND);
	w.device_ns += 900000;
	compare(&w);
	CU_ASSERT_EQUAL(live(&w, 1, SECOND), 0); // the second sample of a new line is accepted, within limits
	CU_ASSERT_EQUAL(live(&w, 5, SECOND), 0);
	CU_ASSERT(error_ns(&w) < 5000);
	CU_ASSERT(fabs(stats_of(&w).rate_hz - 1e9 - 10000) < 5000);
	end(&w);
}

TL_TEST("an abrupt change of the rate is learned within seconds")
{
	struct world w = {.tick_ns = 1, .ppm = 50, .rng = 5};

	begin_track(&w, 64);
	CU_ASSERT_EQUAL(live(&w, 30, SECOND), 0);
	w.ppm = -50;
	pass(&w, SECOND);
	compare(&w);
	CU_ASSERT_EQUAL(live(&w, 5, SECOND), 0);
	CU_ASSERT(error_ns(&w) < 2000);
	CU_ASSERT(fabs(stats_of(&w).rate_hz - 1e9 + 50000) < 5000);
	end(&w);
}

TL_TEST("a 32-bit counter wraps without an error")
{
	static const double periods_ns[] = {SECOND, 3 * SECOND, 0.1 * SECOND};

	for (size_t i = 0; i < TL_ARRAY_LEN(periods_ns); i++) {
		struct world w = {.tick_ns = 1, .ppm = 70, .rng = 6 + i, .first_ticks = UINT32_MAX - 12345};
		begin_track(&w, 32);
		// At 3 s live() waits up to 3.6 s, too long for stamps a quarter of the period ahead of the line.
		CU_ASSERT_EQUAL(live(&w, 300, i == 1 ? 0.85 * periods_ns[i] : periods_ns[i]), 0);
		CU_ASSERT_EQUAL(stats_of(&w).steps, 0);
		end(&w);
	}
}

TL_TEST("bits above the counter's width are ignored")
{
	struct world w = {.tick_ns = 1, .ppm = 70, .rng = 7};

	begin_track(&w, 32);
	live(&w, 20, SECOND);
	uint64_t ns = tl_clock_track_ns(w.track, ticks_now(&w));
	CU_ASSERT_EQUAL(tl_clock_track_ns(w.track, (uint32_t)ticks_now(&w)), ns);
	CU_ASSERT_EQUAL(tl_clock_track_ns(w.track, ticks_now(&w) | UINT64_C(0xabcd) << 40), ns);
	// A stamp from half a second ago converts to half a second ago.
	uint64_t earlier = tl_clock_track_ns(w.track, (uint32_t)(ticks_now(&w) - 500000000));
	CU_ASSERT(fabs((double)(int64_t)(ns - earlier) - 5e8) < 1e5);
	end(&w);
}

TL_TEST("time is continuous when the line changes")
{
	struct world w = {.tick_ns = 1, .ppm = -40, .walk_ppm = 0.5, .limit_ppm = 60, .rng = 8};
	uint64_t last_ns = 0;

	begin_track(&w, 64);
	for (int i = 0; i < 3000; i++) {
		struct tl_clock_line old = w.track->wall.line;
		wander(&w);
		w.device_ns += i % 100 == 50 ? 800000 : i % 100 == 99 ? -800000 : 0;
		compare(&w);
		double rate = (double)w.track->wall.line.mult / ldexp(1, TL_CLOCK_SHIFT);
		CU_ASSERT(fabs(rate - 1) < 600e-6); // slew limit plus the counter's own rate error
		uint64_t ticks = ticks_now(&w), ns = tl_clock_track_ns(w.track, ticks);
		double age_ns = (double)(ticks - w.track->wall.line.base_ticks);
		double jump_ns = (double)(int64_t)(ns - tl_clock_apply(&old, ticks));
		// Twice the slew: consecutive lines may slew in opposite directions.
		CU_ASSERT(fabs(jump_ns) <= age_ns * 1100e-6 + 2);
		for (int k = 0; k < 50; k++) {
			ns = tl_clock_track_ns(w.track, ticks_now(&w));
			CU_ASSERT(ns >= last_ns);
			last_ns = ns;
			pass(&w, SECOND / 50);
		}
	}
	CU_ASSERT(w.clock.steps == 0);
	end(&w);
}

TL_TEST("a step of the wall clock steps the stamps")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 9};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	for (int i = 0; i < 2; i++) {
		struct tl_clock_sample sample = wall_sample(&w);
		sample.ns += TL_NS_PER_S / 2;
		tl_clock_compare(&w.clock, &sample);
		CU_ASSERT_EQUAL(tl_clock_track_sample(w.track), 0);
		double off_ns = error_ns(&w);
		CU_ASSERT(fabs(off_ns - 5e8) < 1e5);
		pass(&w, SECOND);
	}
	CU_ASSERT_EQUAL(w.clock.steps, 1);
	CU_ASSERT_EQUAL(stats_of(&w).steps, 0);
	end(&w);
}

TL_TEST("an unknown rate is measured")
{
	struct world w = {.tick_ns = 6.4, .ppm = 30, .rng = 11, .first_ticks = 1};
	struct tl_clock_track_cfg cfg = track_cfg(&w, 64);

	begin(&w);
	cfg.hz = 0;
	CU_ASSERT_EQUAL_FATAL(tl_clock_track_create(&cfg, &w.track), 0);
	CU_ASSERT_EQUAL(live(&w, 50, SECOND), 0);
	CU_ASSERT(fabs(stats_of(&w).rate_hz - 156.25e6 * 1.00003) < 100);
	end(&w);
}

TL_TEST("converting a time yields the counter value that had it")
{
	static const struct {
		double tick_ns;
		unsigned bits;
	} counters[] = {{1, 64}, {6.4, 64}, {1000, 64}, {1, 32}};

	for (size_t i = 0; i < TL_ARRAY_LEN(counters); i++) {
		struct world w = {
			.tick_ns = counters[i].tick_ns, .ppm = 70, .rng = 30 + i, .first_ticks = UINT32_MAX - 12345};
		begin_track(&w, counters[i].bits);
		CU_ASSERT_EQUAL(live(&w, 20, SECOND), 0);
		for (int64_t ahead_ns = -200000000; ahead_ns < 500000000; ahead_ns += 999983) {
			uint64_t ns = true_wall_ns(&w) + (uint64_t)ahead_ns, exact_ns;
			uint64_t ticks = tl_clock_track_ticks(w.track, ns, &exact_ns);
			CU_ASSERT_EQUAL(ticks & ~w.mask, 0);
			CU_ASSERT_EQUAL(tl_clock_track_ns(w.track, ticks), exact_ns);
			CU_ASSERT(fabs((double)(int64_t)(exact_ns - ns)) <= w.tick_ns + 1);
		}
		end(&w);
	}
}

TL_TEST("an invalid, unreadable, stopped or deviating counter is refused")
{
	struct world w = {.tick_ns = 1, .rng = 12};
	struct tl_clock_track_cfg cfg = track_cfg(&w, 64);

	begin(&w);
	cfg.bits = 65;
	CU_ASSERT_EQUAL(tl_clock_track_create(&cfg, &w.track), -EINVAL);
	cfg = track_cfg(&w, 64);
	w.error = -ENOTSUP;
	CU_ASSERT_EQUAL(tl_clock_track_create(&cfg, &w.track), -ENOTSUP);
	w.error = 0;
	w.stands = true;
	CU_ASSERT_EQUAL(tl_clock_track_create(&cfg, &w.track), -ENODEV);
	w.stands = false;
	cfg.hz = 990000000; // 1 % off
	CU_ASSERT_EQUAL(tl_clock_track_create(&cfg, &w.track), -ENODEV);
	CU_ASSERT_PTR_NULL(w.track);
	free(w.clock.fit);
}

TL_TEST("a counter that holds a time is recognised")
{
	static const struct {
		double ahead_ns;
		enum tl_clock_scale scale;
		double offset_ns;
	} cases[] = {{0, TL_CLOCK_REALTIME, 0}, {2e6, TL_CLOCK_REALTIME, 2e6}, {37e9, TL_CLOCK_TAI, 0},
		{37e9 - 5e5, TL_CLOCK_TAI, -5e5}, {1e12, TL_CLOCK_TICKS, 0}, {-37e9, TL_CLOCK_TICKS, 0}};
	double tai_ns = tl_clock_tai_offset_s() != 0 ? tl_clock_tai_offset_s() * 1e9 : 37e9;

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		bool tai = cases[i].scale == TL_CLOCK_TAI;
		struct world w = {.tick_ns = 1,
			.rng = 13 + i,
			.first_ticks = EPOCH_NS + (uint64_t)(int64_t)(cases[i].ahead_ns + (tai ? tai_ns - 37e9 : 0))};
		begin_track(&w, 64);
		CU_ASSERT_EQUAL(live(&w, 20, SECOND), 0);
		CU_ASSERT_EQUAL(stats_of(&w).scale, cases[i].scale);
		CU_ASSERT(fabs((double)stats_of(&w).offset_ns - cases[i].offset_ns) < 5000);
		end(&w);
	}
}

TL_TEST("a counter that became unreadable keeps its time scale")
{
	struct world w = {.tick_ns = 1, .rng = 20, .first_ticks = EPOCH_NS};

	begin_track(&w, 64);
	CU_ASSERT_EQUAL(live(&w, 20, SECOND), 0);
	w.error = -EIO;
	pass(&w, 3 * SECOND);
	discipline(&w);
	CU_ASSERT_EQUAL(tl_clock_track_sample(w.track), -EIO);
	CU_ASSERT_EQUAL(stats_of(&w).scale, TL_CLOCK_REALTIME);
	CU_ASSERT(fabs((double)stats_of(&w).offset_ns) < 50000);
	end(&w);
}

TL_TEST("noise of the readings is averaged out")
{
	struct world w = {.tick_ns = 1000, .ppm = 10.3, .rng = 15};
	double sum = 0;

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	for (int i = 0; i < 1000; i++) {
		pass(&w, SECOND * (0.9 + 0.2 * draw(&w)));
		discipline(&w);
		tl_clock_track_sample(w.track);
		double off_ns = (double)(int64_t)(tl_clock_track_ns(w.track, ticks_now(&w)) - true_wall_ns(&w));
		double late_ns = w.device_ns - floor(w.device_ns / w.tick_ns) * w.tick_ns; // since the tick
		sum += pow(off_ns + late_ns - 500, 2); // a reading is half a tick old on average
	}
	// The error of a reading is uniform over 1 us: 289 ns. The end of a line through sixteen samples has half of
	// that.
	CU_ASSERT(sqrt(sum / 1000) < 220);
	end(&w);
}

// ---- line through the samples

static const struct tl_clock_gate fit_gate = {.outlier_ns = 20000, .drift_ppb = 1000, .confirm = 3};

// Fit a line through samples a second apart, from an exact nanosecond counter.
static struct tl_clock_fit exact_fit(void)
{
	struct tl_clock_sample sample = {.ticks = 0, .ns = EPOCH_NS, .half_ns = 50};
	struct tl_clock_fit fit;

	tl_clock_fit_begin(&fit, &sample, 1, 1000);
	for (int i = 0; i < 20; i++) {
		sample.ticks += TL_NS_PER_S;
		sample.ns += TL_NS_PER_S;
		CU_ASSERT_EQUAL(tl_clock_fit_add(&fit, &sample, &fit_gate), TL_CLOCK_KEPT);
	}
	return fit;
}

// An interrupt makes a bracket wide and its middle inaccurate.
TL_TEST("a narrow bracket has more weight than a wide one")
{
	struct tl_clock_fit fit = exact_fit();
	uint64_t ticks = 20 * TL_NS_PER_S;

	for (int i = 0; i < TL_CLOCK_WINDOW; i++) {
		bool wide = i % 2 == 0;
		ticks += TL_NS_PER_S;
		struct tl_clock_sample sample = {
			.ticks = ticks, .ns = EPOCH_NS + ticks + (wide ? 15000 : 0), .half_ns = wide ? 16000 : 50};
		CU_ASSERT_EQUAL(tl_clock_fit_add(&fit, &sample, &fit_gate), TL_CLOCK_KEPT);
	}
	CU_ASSERT(fabs((double)(int64_t)(tl_clock_fit_ns(&fit, ticks) - EPOCH_NS - ticks)) < 100);
}

TL_TEST("the eighth consecutive outlier is accepted")
{
	struct tl_clock_fit fit = exact_fit();
	uint64_t ticks = 20 * TL_NS_PER_S;

	for (int i = 1; i <= 8; i++) {
		ticks += TL_NS_PER_S;
		struct tl_clock_sample sample = {
			.ticks = ticks, .ns = EPOCH_NS + ticks + (uint64_t)(i * i) * 10 * TL_NS_PER_MS, .half_ns = 50};
		CU_ASSERT_EQUAL(
			tl_clock_fit_add(&fit, &sample, &fit_gate), i < 8 ? TL_CLOCK_SET_ASIDE : TL_CLOCK_STEPPED);
	}
	CU_ASSERT_EQUAL(tl_clock_fit_ns(&fit, ticks), EPOCH_NS + ticks + 640 * TL_NS_PER_MS);
}

TL_TEST("closely spaced comparisons do not change the rate")
{
	struct world w = {.tick_ns = 1, .ppm = 20, .rng = 21};

	begin_track(&w, 64);
	live(&w, 20, SECOND);
	for (int i = 0; i < 200; i++) {
		pass(&w, SECOND / 1000);
		CU_ASSERT_EQUAL(tl_clock_track_sample(w.track), 0);
	}
	CU_ASSERT(fabs(stats_of(&w).rate_hz - 1e9 - 20000) < 500);
	pass(&w, 10 * SECOND);
	CU_ASSERT(is_within(&w));
	CU_ASSERT(error_ns(&w) < 10000);
	end(&w);
}

// ---- wall clock, against an exact kernel clock

static unsigned live_by_wall(struct world *w, unsigned seconds, double slew_ppm)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < seconds; i++) {
		for (int k = 0; k < 10; k++) {
			pass(w, SECOND / 10);
			w->slewed_ns += slew_ppm * 100;
			double off_ns = wall_error_ns(w);
			wrong += off_ns > (double)tl_clock_bound_at_ns(&w->clock, read_tsc(w)) + 1;
		}
		discipline(w);
	}
	return wrong;
}

TL_TEST("wall time follows the rate of the kernel's clock")
{
	struct world w = {.tick_ns = 1, .rng = 19};

	begin(&w);
	CU_ASSERT_EQUAL(live_by_wall(&w, 30, 0), 0);
	CU_ASSERT(wall_error_ns(&w) < 20);
	live_by_wall(&w, 2, 300); // a slew, unnoticed until the next comparison
	CU_ASSERT_EQUAL(live_by_wall(&w, 10, 300), 0);
	CU_ASSERT(wall_error_ns(&w) < 20);
	CU_ASSERT_EQUAL(w.clock.steps, 0);
	w.slewed_ns -= 3e9; // a step
	discipline(&w);
	CU_ASSERT_EQUAL(w.clock.steps, 1);
	CU_ASSERT_EQUAL(live_by_wall(&w, 10, 300), 0);
	CU_ASSERT(wall_error_ns(&w) < 20);
	free(w.clock.fit);
}

// ---- log entry of each comparison

TL_TEST("each comparison is logged with its result")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 24};
	struct tl_clock_reading reading, before;

	begin_track(&w, 64);
	CU_ASSERT_EQUAL(live(&w, 20, SECOND), 0);
	tl_clock_track_reading(w.track, &before);
	pass(&w, SECOND);
	uint64_t bound_ns = tl_clock_track_bound_ns(w.track),
		 wall_bound_ns = tl_clock_bound_at_ns(&w.clock, read_tsc(&w));
	double off_ns = error_ns(&w);
	compare(&w);
	tl_clock_track_reading(w.track, &reading);
	CU_ASSERT_EQUAL(reading.number, before.number + 1);
	CU_ASSERT(fabs((double)(int64_t)(reading.time_ns - true_wall_ns(&w))) < 1e6);
	CU_ASSERT(fabs((double)reading.age_ns - SECOND) < 1e6);
	CU_ASSERT(fabs((double)reading.offset_ns) < off_ns + 1500);
	CU_ASSERT(reading.half_ns > 0 && reading.half_ns < 2000);
	CU_ASSERT(reading.bound_ns >= bound_ns && reading.bound_ns < bound_ns + 1000); // bound before the comparison
	CU_ASSERT(fabs(reading.rate_hz - 1e9 - 10000) < 500);
	CU_ASSERT(!reading.stepped && !reading.set_aside);
	CU_ASSERT(w.clock.last.bound_ns >= wall_bound_ns && w.clock.last.bound_ns < wall_bound_ns + 1000);
	CU_ASSERT(fabs(w.clock.last.rate_hz / (TSC_PER_NS * 1e9) - 1) < 1e-6);
	w.error = -EIO;
	discipline(&w);
	tl_clock_track_sample(w.track);
	tl_clock_track_reading(w.track, &reading);
	CU_ASSERT_EQUAL(reading.half_ns, 0);
	end(&w);
}

TL_TEST("a step is logged once, by the clock that stepped")
{
	struct world w = {.tick_ns = 1, .ppm = 10, .rng = 25};
	struct tl_clock_reading nic;

	begin_track(&w, 64);
	CU_ASSERT_EQUAL(live(&w, 20, SECOND), 0);
	w.slewed_ns += 3e6; // step of CLOCK_REALTIME
	compare(&w);
	tl_clock_track_reading(w.track, &nic);
	CU_ASSERT(w.clock.last.stepped && !nic.stepped);
	CU_ASSERT(fabs((double)w.clock.last.offset_ns - 3e6) < 1000);
	CU_ASSERT(fabs((double)nic.offset_ns - 3e6) < 5000);
	CU_ASSERT_EQUAL(live(&w, 10, SECOND), 0);
	w.device_ns -= 300000; // step of the NIC's clock
	compare(&w);
	tl_clock_track_reading(w.track, &nic);
	CU_ASSERT(!w.clock.last.stepped && nic.stepped);
	CU_ASSERT(fabs((double)nic.offset_ns - 300000) < 5000);
	end(&w);
}

// ---- readers on another thread

struct readers {
	struct tl_clock_swap swap;
	atomic_bool done;
	uint64_t torn;
};

// Check that each line read is one that the writer stored, with base_ns = 3 * base_ticks and mult = 5 * base_ticks.
// Yield at times: with a single CPU, the writer must be preempted within a store.
static void *look(void *arg)
{
	struct readers *r = arg;

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 5000; i++) {
			struct tl_clock_line line = tl_clock_swap_load(&r->swap);
			r->torn += line.base_ns != 3 * line.base_ticks || line.mult != 5 * line.base_ticks;
		}
		sched_yield();
	}
	atomic_store(&r->done, true);
	return NULL;
}

TL_TEST("a reader never observes a partly written line")
{
	static struct readers r;
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look, &r), 0);
	for (uint64_t i = 1; !atomic_load_explicit(&r.done, memory_order_relaxed); i++)
		tl_clock_swap_store(&r.swap, (struct tl_clock_line){.base_ticks = i, .base_ns = 3 * i, .mult = 5 * i});
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(r.torn, 0);
}

int main(void)
{
	return tl_test_run("clock_track");
}
