// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// clock: converts TSC readings to nanoseconds. Wall time follows CLOCK_REALTIME by slewing, with a known error bound;
// monotonic time never jumps and drives every timer.
//
// Threads: tl_clock_wall_ns() and tl_clock_mono_ns() on any thread; tl_clock_discipline() on main only.
// Memory: create/destroy allocate and free.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#include <rte_cycles.h>

// Linear function from a counter, the TSC or a device's, to ns:
// ns = base_ns + ((ticks - base_ticks) * mult >> TL_CLOCK_SHIFT), signed difference.
struct tl_clock_line {
	uint64_t base_ticks;
	uint64_t base_ns;
	uint64_t mult;
};

#define TL_CLOCK_SHIFT 32

// Line that one thread replaces while others read it (a seqlock).
struct tl_clock_swap {
	uint32_t sequence; // odd while the line changes
	struct tl_clock_line line;
};

// A comparison of a counter with a clock, for a log.
struct tl_clock_reading {
	uint64_t number;   // of the comparison, from 1; 0: none yet
	uint64_t time_ns;  // since 1970, by the line from then on
	uint64_t age_ns;   // since the previous comparison
	int64_t offset_ns; // true time minus that of the line until then
	uint64_t half_ns;  // half width of the bracket; 0: the counter could not be read
	uint64_t bound_ns; // of the line just before: its maximum since the previous comparison
	double rate_hz;	   // of the counter, against CLOCK_REALTIME
	bool stepped;	   // the clock was set, or the counter jumped: the line was restarted
	bool set_aside;	   // outlier, without effect on the line
};

struct tl_clock {
	struct tl_clock_line mono; // constant after create
	struct tl_clock_swap wall; // replaced by main
	struct tl_clock_fit *fit;  // main's: fit to the last comparisons with CLOCK_REALTIME
	int64_t error_ns;	   // of wall, at the last comparison; corrected over over_ns
	uint64_t over_ns;
	uint64_t steps;		      // times that CLOCK_REALTIME jumped and wall was reset instead of slewed
	struct tl_clock_reading last; // main's
};

// Calibrate for about 120 ms. Return NULL if the TSC is not usable (out of memory, no progress).
struct tl_clock *tl_clock_create(void);
void tl_clock_destroy(struct tl_clock *clock);

// Compare with CLOCK_REALTIME and steer; call about once a second from main.
void tl_clock_discipline(struct tl_clock *clock);

// Return the error bound of a wall reading now, against CLOCK_REALTIME, in ns: brackets of the last comparisons, the
// error not yet corrected, and drift since, which grows with the square of the time. It holds if the rate of the TSC
// against CLOCK_REALTIME changes from one second to the next by less than 1 ppm, or by less than twice the change in
// the last comparisons.
uint64_t tl_clock_bound_ns(const struct tl_clock *clock);

// Same as tl_clock_bound_ns(), at a time of the TSC.
uint64_t tl_clock_bound_at_ns(const struct tl_clock *clock, uint64_t tsc);

static inline uint64_t tl_clock_apply(const struct tl_clock_line *line, uint64_t ticks)
{
	return line->base_ns +
	       (uint64_t)(((__int128)(int64_t)(ticks - line->base_ticks) * line->mult) >> TL_CLOCK_SHIFT);
}

// HOT. Read the current line.
static inline struct tl_clock_line tl_clock_swap_load(const struct tl_clock_swap *swap)
{
	struct tl_clock_line line;
	uint32_t before, after;

	do {
		before = __atomic_load_n(&swap->sequence, __ATOMIC_ACQUIRE);
		line.base_ticks = __atomic_load_n(&swap->line.base_ticks, __ATOMIC_ACQUIRE);
		line.base_ns = __atomic_load_n(&swap->line.base_ns, __ATOMIC_ACQUIRE);
		line.mult = __atomic_load_n(&swap->line.mult, __ATOMIC_ACQUIRE);
		after = __atomic_load_n(&swap->sequence, __ATOMIC_ACQUIRE);
	} while (TL_UNLIKELY(before != after || (before & 1) != 0));
	return line;
}

// Replace the line. One thread only.
void tl_clock_swap_store(struct tl_clock_swap *swap, struct tl_clock_line line);

// HOT. Return nanoseconds since an arbitrary start; never decreases.
static inline uint64_t tl_clock_mono_ns(const struct tl_clock *clock, uint64_t tsc)
{
	return tl_clock_apply(&clock->mono, tsc);
}

static inline uint64_t tl_clock_now_ns(const struct tl_clock *clock)
{
	return tl_clock_mono_ns(clock, rte_rdtsc());
}

// HOT. Convert a TSC difference to nanoseconds.
static inline uint64_t tl_clock_span_ns(const struct tl_clock *clock, uint64_t tsc)
{
	return (uint64_t)(((unsigned __int128)tsc * clock->mono.mult) >> TL_CLOCK_SHIFT);
}

// HOT. Return nanoseconds since 1970, source tsc.
static inline uint64_t tl_clock_wall_ns(const struct tl_clock *clock, uint64_t tsc)
{
	struct tl_clock_line line = tl_clock_swap_load(&clock->wall);

	return tl_clock_apply(&line, tsc);
}
