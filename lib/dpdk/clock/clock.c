// SPDX-License-Identifier: BSD-3-Clause
// Calibration of the TSC against the kernel's clocks; wall time that follows CLOCK_REALTIME.

#include "clock_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#define CALIBRATE_NS (120 * TL_NS_PER_MS)
#define BRACKETS 16

// CLOCK_REALTIME is read exactly, so an outlier means that its rate was changed or that it was set.
static const struct tl_clock_gate WALL_GATE = {.outlier_ns = TL_NS_PER_US, .drift_ppb = 1000, .confirm = 1};

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * TL_NS_PER_S + (uint64_t)ts.tv_nsec;
}

// Read the clock several times and keep the narrowest bracket: an interrupt between the readings only widens one. The
// half width is still in ticks.
static struct tl_clock_sample read_bracket(clockid_t id)
{
	struct tl_clock_sample best = {.half_ns = UINT64_MAX};

	for (int i = 0; i < BRACKETS; i++) {
		uint64_t before = rte_rdtsc_precise();
		uint64_t ns = read_clock(id);
		uint64_t half_ticks = (rte_rdtsc_precise() - before) / 2;
		if (half_ticks < best.half_ns)
			best = (struct tl_clock_sample){.ticks = before + half_ticks, .ns = ns, .half_ns = half_ticks};
	}
	return best;
}

static struct tl_clock_sample read_wall(const struct tl_clock *clock)
{
	struct tl_clock_sample sample = read_bracket(CLOCK_REALTIME);

	sample.half_ns = tl_clock_span_ns(clock, sample.half_ns);
	return sample;
}

// Sleep: a start takes 120 ms, not 120 ms of a CPU.
static void wait_until(uint64_t raw_ns)
{
	uint64_t now_ns;

	while ((now_ns = read_clock(CLOCK_MONOTONIC_RAW)) < raw_ns)
		nanosleep(&(struct timespec){.tv_nsec = (long)(raw_ns - now_ns)}, NULL);
}

static double ns_per_tick(const struct tl_clock_line *line)
{
	return ldexp((double)line->mult, -TL_CLOCK_SHIFT);
}

// Measure the rate of monotonic time, and take the first samples of wall time. -ENODEV: the TSC does not advance.
static int calibrate(struct tl_clock *clock)
{
	struct tl_clock_sample wall[3];
	struct tl_clock_sample first = read_bracket(CLOCK_MONOTONIC_RAW);

	// Each is due after the last one, however late that was: closer samples do not determine the rate.
	for (uint64_t i = 0, due_ns = first.ns; i < TL_ARRAY_LEN(wall); i++) {
		wait_until(due_ns);
		wall[i] = read_bracket(CLOCK_REALTIME);
		due_ns = read_clock(CLOCK_MONOTONIC_RAW) + CALIBRATE_NS / (TL_ARRAY_LEN(wall) - 1);
	}
	struct tl_clock_sample last = read_bracket(CLOCK_MONOTONIC_RAW);
	uint64_t span_ns = last.ns - first.ns;
	if (last.ticks <= first.ticks)
		return -ENODEV;
	clock->mono = (struct tl_clock_line){.base_ticks = first.ticks,
		.base_ns = first.ns,
		.mult = (uint64_t)(((unsigned __int128)span_ns << TL_CLOCK_SHIFT) / (last.ticks - first.ticks))};
	for (size_t i = 0; i < TL_ARRAY_LEN(wall); i++)
		wall[i].half_ns = tl_clock_span_ns(clock, wall[i].half_ns);
	tl_clock_begin(clock, &wall[0]);
	for (size_t i = 1; i < TL_ARRAY_LEN(wall); i++)
		tl_clock_compare(clock, &wall[i]);
	return 0;
}

void tl_clock_begin(struct tl_clock *clock, const struct tl_clock_sample *sample)
{
	tl_clock_fit_begin(clock->fit, sample, ns_per_tick(&clock->mono), TL_CLOCK_UNKNOWN_PPB);
	clock->over_ns = TL_CLOCK_BEND_NS;
	tl_clock_swap_store(&clock->wall,
		(struct tl_clock_line){.base_ticks = sample->ticks, .base_ns = sample->ns, .mult = clock->mono.mult});
}

void tl_clock_compare(struct tl_clock *clock, const struct tl_clock_sample *sample)
{
	struct tl_clock_fit *fit = clock->fit;
	const struct tl_clock_line *old = &clock->wall.line;
	uint64_t passed_ns = tl_clock_span_ns(clock, sample->ticks - old->base_ticks);
	uint64_t bound_ns = tl_clock_bound_at_ns(clock, sample->ticks);

	tl_clock_fit_add(fit, sample, &WALL_GATE);
	uint64_t truth_ns = tl_clock_fit_ns(fit, sample->ticks);
	clock->error_ns = (int64_t)(truth_ns - tl_clock_apply(old, sample->ticks));
	clock->over_ns = tl_max_u64(passed_ns, TL_CLOCK_BEND_NS);
	clock->steps += tl_clock_is_step(clock->error_ns);
	tl_clock_swap_store(&clock->wall,
		tl_clock_bend(old, sample->ticks, tl_clock_fit_mult(fit), clock->error_ns, clock->over_ns));
	clock->last = (struct tl_clock_reading){.number = clock->last.number + 1,
		.time_ns = clock->wall.line.base_ns,
		.age_ns = passed_ns,
		.offset_ns = clock->error_ns,
		.half_ns = sample->half_ns,
		.bound_ns = bound_ns,
		.rate_hz = 1e9 / fit->ns_per_tick,
		.stepped = tl_clock_is_step(clock->error_ns)};
}

struct tl_clock *tl_clock_create(void)
{
	struct tl_clock *clock = calloc(1, sizeof(*clock));

	if (clock != NULL)
		clock->fit = calloc(1, sizeof(*clock->fit));
	if (clock != NULL && clock->fit != NULL && calibrate(clock) == 0)
		return clock;
	tl_clock_destroy(clock);
	return NULL;
}

void tl_clock_destroy(struct tl_clock *clock)
{
	if (clock != NULL)
		free(clock->fit);
	free(clock);
}

void tl_clock_discipline(struct tl_clock *clock)
{
	struct tl_clock_sample sample = read_wall(clock);

	tl_clock_compare(clock, &sample);
}

struct tl_clock_claim tl_clock_claim(const struct tl_clock *clock, uint64_t tsc)
{
	const struct tl_clock_line *line = &clock->wall.line;

	return (struct tl_clock_claim){.reach = clock->fit->reach,
		.sample_age_ns = tl_clock_fit_age_ns(clock->fit, tl_clock_apply(line, tsc)),
		.line_age_ns = tl_clock_span_ns(clock, tsc - line->base_ticks),
		.error_ns = clock->error_ns,
		.over_ns = clock->over_ns};
}

uint64_t tl_clock_claim_ns(const struct tl_clock_claim *claim, uint64_t later_ns)
{
	double fit_ns = tl_clock_reach_ns(&claim->reach, claim->sample_age_ns + (double)later_ns);

	return (uint64_t)ceil(fit_ns) +
	       tl_clock_left_ns(claim->error_ns, claim->line_age_ns + later_ns, claim->over_ns);
}

uint64_t tl_clock_bound_at_ns(const struct tl_clock *clock, uint64_t tsc)
{
	struct tl_clock_claim claim = tl_clock_claim(clock, tsc);

	return tl_clock_claim_ns(&claim, 0);
}

uint64_t tl_clock_bound_ns(const struct tl_clock *clock)
{
	return tl_clock_bound_at_ns(clock, rte_rdtsc());
}
