// SPDX-License-Identifier: BSD-3-Clause
// Line from a device's counter to wall time, on simulated clocks.

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <tl_clock_track.h>
#include <tl_random.h>
#include <tl_test.h>

#include "clock_priv.h"

#define TSC_PER_NS 2.9
#define EPOCH_NS (UINT64_C(1700000000) * TL_NS_PER_S)
#define SECOND 1e9

// Simulated clocks with one true time. Each reading takes time.
struct world {
	double now_ns;	  // true time since start
	double device_ns; // time of the device's oscillator
	double ppm;	  // rate error
	double walk_ppm;  // largest change of ppm per second, random
	double limit_ppm; // largest |ppm|
	double turn_ppm;  // constant drift per second
	double wall_ppm;  // rate error of the kernel's time
	double wall_turn_ppm;
	double tick_ns;	  // nominal
	double slewed_ns; // offset of the kernel's time from true time
	double outliers;  // share of readings with an error of 100 us
	uint64_t first_ticks;
	uint64_t mask;	     // counter width
	int error;	     // returned by readings
	unsigned good_reads; // successful readings before the error
	bool stands;
	uint64_t rng;
	struct tl_clock clock;
	struct tl_clock_track *track;
};

static double draw(struct world *w) // uniform in 0 .. 1
{
	return (double)(tl_random_next(&w->rng) >> 11) / (double)(UINT64_C(1) << 53);
}

// Advance a clock whose rate changes meanwhile.
static double gain(double *ppm, double turn_ppm, double ns)
{
	double before_ppm = *ppm;

	*ppm += turn_ppm * ns / SECOND;
	return ns * (before_ppm + *ppm) / 2 / 1e6;
}

static void pass(struct world *w, double ns)
{
	double gain_ns = gain(&w->ppm, w->turn_ppm, ns);

	w->now_ns += ns;
	w->device_ns += w->stands ? 0 : ns + gain_ns;
	w->slewed_ns += gain(&w->wall_ppm, w->wall_turn_ppm, ns);
}

// Return CLOCK_REALTIME.
static uint64_t true_wall_ns(const struct world *w)
{
	return EPOCH_NS + (uint64_t)(w->now_ns + w->slewed_ns);
}

static uint64_t ticks_now(const struct world *w)
{
	return (w->first_ticks + (uint64_t)(int64_t)floor(w->device_ns / w->tick_ns)) & w->mask;
}

// Return the duration of a reading: up to a microsecond, sometimes that of an interrupt.
static void spend(struct world *w)
{
	pass(w, draw(w) < 0.02 ? 200000 * draw(w) : 100 + 900 * draw(w));
}

static uint64_t read_tsc(void *world)
{
	struct world *w = world;

	pass(w, 10);
	return (uint64_t)(w->now_ns * TSC_PER_NS);
}

static int read_counter(void *world, uint64_t *ticks)
{
	struct world *w = world;

	spend(w);
	*ticks = ticks_now(w);
	if (draw(w) < w->outliers)
		*ticks += (uint64_t)(int64_t)((draw(w) < 0.5 ? -1e5 : 1e5) / w->tick_ns);
	spend(w);
	if (w->good_reads == 0)
		return w->error;
	w->good_reads--;
	return 0;
}

static struct tl_clock_sample wall_sample(struct world *w)
{
	uint64_t tsc = read_tsc(w);

	return (struct tl_clock_sample){.ticks = tsc, .ns = true_wall_ns(w), .half_ns = 40};
}

static void discipline(struct world *w)
{
	struct tl_clock_sample sample = wall_sample(w);

	tl_clock_compare(&w->clock, &sample);
}

static void begin(struct world *w)
{
	// Calibration within 100 ms leaves an error of some ppm in monotonic time.
	uint64_t mult = (uint64_t)ldexp((1 + 20e-6) / TSC_PER_NS, TL_CLOCK_SHIFT);

	w->mask = UINT64_MAX;
	w->clock.mono = (struct tl_clock_line){.mult = mult};
	w->clock.fit = calloc(1, sizeof(*w->clock.fit));
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->clock.fit);
	struct tl_clock_sample sample = wall_sample(w);
	tl_clock_begin(&w->clock, &sample);
	for (int i = 0; i < 3; i++) {
		pass(w, SECOND);
		discipline(w);
	}
}

static struct tl_clock_track_cfg track_cfg(struct world *w, unsigned bits)
{
	return (struct tl_clock_track_cfg){.read = read_counter,
		.ctx = w,
		.clock = &w->clock,
		.read_tsc = read_tsc,
		.bits = bits,
		.hz = (uint64_t)(1e9 / w->tick_ns)};
}

static void begin_track(struct world *w, unsigned bits)
{
	struct tl_clock_track_cfg cfg = track_cfg(w, bits);

	begin(w);
	w->mask >>= 64 - bits;
	CU_ASSERT_EQUAL_FATAL(tl_clock_track_create(&cfg, &w->track), 0);
}

static void end(struct world *w)
{
	tl_clock_track_destroy(w->track);
	free(w->clock.fit);
}

static struct tl_clock_track_stats stats_of(const struct world *w)
{
	struct tl_clock_track_stats stats;

	tl_clock_track_stats(w->track, &stats);
	return stats;
}

// Return the error of a stamp taken now.
static double error_ns(const struct world *w)
{
	return fabs((double)(int64_t)(tl_clock_track_ns(w->track, ticks_now(w)) - true_wall_ns(w)));
}

// Return true if a stamp taken now is within the published bound.
static bool is_within(const struct world *w)
{
	double off_ns = error_ns(w);

	if (off_ns <= (double)tl_clock_track_bound_ns(w->track))
		return true;
	printf("# at %.3f s: off by %.0f ns, the bound is %llu ns\n", w->now_ns / 1e9, off_ns,
		(unsigned long long)tl_clock_track_bound_ns(w->track));
	return false;
}

static void wander(struct world *w)
{
	double ppm = w->ppm + (2 * draw(w) - 1) * w->walk_ppm;

	if (fabs(ppm) <= w->limit_ppm || w->walk_ppm == 0)
		w->ppm = ppm;
}

// Run the comparison that main makes once per second.
static void compare(struct world *w)
{
	discipline(w);
	CU_ASSERT_EQUAL(tl_clock_track_sample(w->track), 0);
}

// Take stamps for some seconds; return the number of those with an error above the bound.
static unsigned live(struct world *w, unsigned seconds, double period_ns)
{
	unsigned wrong = 0;

	for (double end_ns = w->now_ns + seconds * SECOND; w->now_ns < end_ns;) {
		for (int i = 0; i < 7; i++) {
			wrong += !is_within(w);
			pass(w, period_ns * (0.8 + 0.4 * draw(w)) / 7);
		}
		wrong += !is_within(w);
		wander(w);
		compare(w);
	}
	return wrong;
}

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

// ---- wall clock, against an exact kernel clock

static double wall_error_ns(struct world *w)
{
	uint64_t tsc = read_tsc(w);

	return fabs((double)(int64_t)(tl_clock_wall_ns(&w->clock, tsc) - true_wall_ns(w)));
}

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
