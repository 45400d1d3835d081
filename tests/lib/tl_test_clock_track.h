// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_clock_track: a simulated counter and wall clock, whose rates and steps are set by the test.

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
static inline double gain(double *ppm, double turn_ppm, double ns)
{
	double before_ppm = *ppm;

	*ppm += turn_ppm * ns / SECOND;
	return ns * (before_ppm + *ppm) / 2 / 1e6;
}

static inline void pass(struct world *w, double ns)
{
	double gain_ns = gain(&w->ppm, w->turn_ppm, ns);

	w->now_ns += ns;
	w->device_ns += w->stands ? 0 : ns + gain_ns;
	w->slewed_ns += gain(&w->wall_ppm, w->wall_turn_ppm, ns);
}

// Return CLOCK_REALTIME.
static inline uint64_t true_wall_ns(const struct world *w)
{
	return EPOCH_NS + (uint64_t)(w->now_ns + w->slewed_ns);
}

static inline uint64_t ticks_now(const struct world *w)
{
	return (w->first_ticks + (uint64_t)(int64_t)floor(w->device_ns / w->tick_ns)) & w->mask;
}

// Return the duration of a reading: up to a microsecond, sometimes that of an interrupt.
static inline void spend(struct world *w)
{
	pass(w, draw(w) < 0.02 ? 200000 * draw(w) : 100 + 900 * draw(w));
}

static inline uint64_t read_tsc(void *world)
{
	struct world *w = world;

	pass(w, 10);
	return (uint64_t)(w->now_ns * TSC_PER_NS);
}

static inline int read_counter(void *world, uint64_t *ticks)
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

static inline struct tl_clock_sample wall_sample(struct world *w)
{
	uint64_t tsc = read_tsc(w);

	return (struct tl_clock_sample){.ticks = tsc, .ns = true_wall_ns(w), .half_ns = 40};
}

static inline void discipline(struct world *w)
{
	struct tl_clock_sample sample = wall_sample(w);

	tl_clock_compare(&w->clock, &sample);
}

static inline void begin(struct world *w)
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

static inline struct tl_clock_track_cfg track_cfg(struct world *w, unsigned bits)
{
	return (struct tl_clock_track_cfg){.read = read_counter,
		.ctx = w,
		.clock = &w->clock,
		.read_tsc = read_tsc,
		.bits = bits,
		.hz = (uint64_t)(1e9 / w->tick_ns)};
}

static inline void begin_track(struct world *w, unsigned bits)
{
	struct tl_clock_track_cfg cfg = track_cfg(w, bits);

	begin(w);
	w->mask >>= 64 - bits;
	CU_ASSERT_EQUAL_FATAL(tl_clock_track_create(&cfg, &w->track), 0);
}

static inline void end(struct world *w)
{
	tl_clock_track_destroy(w->track);
	free(w->clock.fit);
}

static inline struct tl_clock_track_stats stats_of(const struct world *w)
{
	struct tl_clock_track_stats stats;

	tl_clock_track_stats(w->track, &stats);
	return stats;
}

// Return the error of a stamp taken now.
static inline double error_ns(const struct world *w)
{
	return fabs((double)(int64_t)(tl_clock_track_ns(w->track, ticks_now(w)) - true_wall_ns(w)));
}

// Return true if a stamp taken now is within the published bound.
static inline bool is_within(const struct world *w)
{
	double off_ns = error_ns(w);

	if (off_ns <= (double)tl_clock_track_bound_ns(w->track))
		return true;
	printf("# at %.3f s: off by %.0f ns, the bound is %llu ns\n", w->now_ns / 1e9, off_ns,
		(unsigned long long)tl_clock_track_bound_ns(w->track));
	return false;
}

static inline void wander(struct world *w)
{
	double ppm = w->ppm + (2 * draw(w) - 1) * w->walk_ppm;

	if (fabs(ppm) <= w->limit_ppm || w->walk_ppm == 0)
		w->ppm = ppm;
}

// Run the comparison that main makes once per second.
static inline void compare(struct world *w)
{
	discipline(w);
	CU_ASSERT_EQUAL(tl_clock_track_sample(w->track), 0);
}

// Take stamps for some seconds; return the number of those with an error above the bound.
static inline unsigned live(struct world *w, unsigned seconds, double period_ns)
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

static inline double wall_error_ns(struct world *w)
{
	uint64_t tsc = read_tsc(w);

	return fabs((double)(int64_t)(tl_clock_wall_ns(&w->clock, tsc) - true_wall_ns(w)));
}
