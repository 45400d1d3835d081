// SPDX-License-Identifier: BSD-3-Clause
// Calibrates the TSC against the kernel's clocks and keeps wall time on CLOCK_REALTIME.

#include <tl_clock.h>

#include <stdlib.h>
#include <time.h>

#define CALIBRATE_NS (100 * TL_NS_PER_MS)
#define BRACKETS 16
#define STEP_NS TL_NS_PER_MS	 // a larger error is a step of CLOCK_REALTIME, not drift
#define MAX_SLEW_PPM 500	 // of the correction of an error; the kernel's own limit for adjtime
#define SLEW_OVER_NS TL_NS_PER_S // an error is to be gone after this
#define DRIFT_PPB 1000		 // added to the bound for the time since the last comparison: 1 us per second

// A clock reading between two TSC readings.
struct bracket {
	uint64_t tsc; // middle
	uint64_t half_tsc;
	uint64_t ns;
};

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * TL_NS_PER_S + (uint64_t)ts.tv_nsec;
}

// The narrowest of several brackets: an interrupt between the readings only widens one.
static struct bracket read_bracket(clockid_t id)
{
	struct bracket best = {.half_tsc = UINT64_MAX};

	for (int i = 0; i < BRACKETS; i++) {
		uint64_t before = rte_rdtsc_precise();
		uint64_t ns = read_clock(id);
		uint64_t half = (rte_rdtsc_precise() - before) / 2;
		if (half < best.half_tsc)
			best = (struct bracket){.tsc = before + half, .half_tsc = half, .ns = ns};
	}
	return best;
}

static uint64_t mult_of(uint64_t ns, uint64_t tsc)
{
	return (uint64_t)(((unsigned __int128)ns << TL_CLOCK_SHIFT) / tsc);
}

static void calibrate(struct tl_clock *clock)
{
	struct bracket first = read_bracket(CLOCK_MONOTONIC_RAW);
	struct bracket last;

	do
		last = read_bracket(CLOCK_MONOTONIC_RAW);
	while (last.ns - first.ns < CALIBRATE_NS);
	clock->mono = (struct tl_clock_line){
		.base_tsc = first.tsc, .base_ns = first.ns, .mult = mult_of(last.ns - first.ns, last.tsc - first.tsc)};
}

struct tl_clock *tl_clock_create(void)
{
	struct tl_clock *clock = calloc(1, sizeof(*clock));

	if (clock == NULL)
		return NULL;
	calibrate(clock);
	if (clock->mono.mult == 0) {
		free(clock);
		return NULL;
	}
	struct bracket wall = read_bracket(CLOCK_REALTIME);
	clock->wall = (struct tl_clock_line){.base_tsc = wall.tsc, .base_ns = wall.ns, .mult = clock->mono.mult};
	clock->bound_ns = tl_clock_span_ns(clock, wall.half_tsc);
	return clock;
}

void tl_clock_destroy(struct tl_clock *clock)
{
	free(clock);
}

static void set_wall(struct tl_clock *clock, struct tl_clock_line line)
{
	uint32_t sequence = clock->sequence;

	// Each release keeps the odd number in front of the field that it announces.
	__atomic_store_n(&clock->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&clock->wall.base_tsc, line.base_tsc, __ATOMIC_RELEASE);
	__atomic_store_n(&clock->wall.base_ns, line.base_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&clock->wall.mult, line.mult, __ATOMIC_RELEASE);
	__atomic_store_n(&clock->sequence, sequence + 2, __ATOMIC_RELEASE);
}

// The rate for the next period: the TSC's own, bent so that the error is gone after SLEW_OVER_NS.
static uint64_t steered_mult(uint64_t rate, int64_t error_ns)
{
	int64_t limit = (int64_t)(rate / 1000000 * MAX_SLEW_PPM);
	int64_t bend = (int64_t)((__int128)rate * error_ns / (int64_t)SLEW_OVER_NS);

	if (bend > limit)
		bend = limit;
	if (bend < -limit)
		bend = -limit;
	return (uint64_t)((int64_t)rate + bend);
}

void tl_clock_discipline(struct tl_clock *clock)
{
	struct bracket now = read_bracket(CLOCK_REALTIME);
	uint64_t believed = tl_clock_apply(&clock->wall, now.tsc);
	int64_t error_ns = (int64_t)(now.ns - believed);
	uint64_t span_tsc = now.tsc - clock->wall.base_tsc;
	struct tl_clock_line line = {.base_tsc = now.tsc, .base_ns = believed, .mult = clock->wall.mult};

	if (error_ns > (int64_t)STEP_NS || error_ns < -(int64_t)STEP_NS) {
		line.base_ns = now.ns;
		line.mult = clock->mono.mult;
		clock->steps++;
		error_ns = 0;
	} else if (span_tsc > 0 && clock->mono.mult != 0) {
		line.mult = steered_mult(clock->mono.mult, error_ns);
	}
	set_wall(clock, line);
	uint64_t magnitude = (uint64_t)(error_ns < 0 ? -error_ns : error_ns);
	clock->bound_ns = magnitude + tl_clock_span_ns(clock, now.half_tsc);
}

uint64_t tl_clock_bound_ns(const struct tl_clock *clock)
{
	uint64_t age_ns = tl_clock_span_ns(clock, rte_rdtsc() - clock->wall.base_tsc);

	return clock->bound_ns + age_ns / (TL_NS_PER_S / DRIFT_PPB);
}
