// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// clock: turns TSC readings into nanoseconds. Wall time follows CLOCK_REALTIME by slewing, with a known error bound;
// monotonic time never jumps and drives every timer.
//
// Threads: tl_clock_wall_ns() and tl_clock_mono_ns() on any thread; tl_clock_discipline() on main only.
// Memory: create/destroy allocate and free.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#include <rte_cycles.h>

// One straight line from a counter, the TSC or a device's, to ns:
// ns = base_ns + ((ticks - base_ticks) * mult >> TL_CLOCK_SHIFT), signed difference.
struct tl_clock_line {
	uint64_t base_ticks;
	uint64_t base_ns;
	uint64_t mult;
};

#define TL_CLOCK_SHIFT 32

// A line that one thread replaces while others read it (a seqlock).
struct tl_clock_swap {
	uint32_t sequence; // odd while the line changes
	struct tl_clock_line line;
};

// One comparison of a counter with a clock, for a log.
struct tl_clock_reading {
	uint64_t number;   // of the comparison, from 1; 0: there was none
	uint64_t time_ns;  // since 1970, by the line as it is from then on
	uint64_t age_ns;   // since the comparison before
	int64_t offset_ns; // what the time was, minus what the line said until then
	uint64_t half_ns;  // half the bracket; 0: the counter could not be read
	uint64_t bound_ns; // of the line right before: the largest since the comparison before
	double rate_hz;	   // of the counter, against CLOCK_REALTIME
	bool stepped;	   // the clock was set, or the counter jumped: the line begins anew
	bool set_aside;	   // it was off, and moved nothing
};

struct tl_clock {
	struct tl_clock_line mono; // constant after create
	struct tl_clock_swap wall; // replaced by main
	struct tl_clock_fit *fit;  // main's: the last comparisons with CLOCK_REALTIME
	int64_t error_ns;	   // of wall, at the last one: it bends away over over_ns
	uint64_t over_ns;
	uint64_t steps;		      // times CLOCK_REALTIME jumped and wall was set anew instead of slewed
	struct tl_clock_reading last; // main's
};

// Calibrates for about 120 ms. Returns NULL when the TSC is not usable (out of memory, no progress).
struct tl_clock *tl_clock_create(void);
void tl_clock_destroy(struct tl_clock *clock);

// Compare with CLOCK_REALTIME and steer; call about once a second from main.
void tl_clock_discipline(struct tl_clock *clock);

// The bound of a wall reading now, against CLOCK_REALTIME, ns: brackets of the last comparisons, what is left to bend
// away, and drift since, which grows with the square of the time. It holds where the rate of the TSC against
// CLOCK_REALTIME changes by less than 1 ppm from one second to the next, or than twice what the last comparisons show.
uint64_t tl_clock_bound_ns(const struct tl_clock *clock);

// The same at a time of the TSC.
uint64_t tl_clock_bound_at_ns(const struct tl_clock *clock, uint64_t tsc);

static inline uint64_t tl_clock_apply(const struct tl_clock_line *line, uint64_t ticks)
{
	return line->base_ns +
	       (uint64_t)(((__int128)(int64_t)(ticks - line->base_ticks) * line->mult) >> TL_CLOCK_SHIFT);
}

// HOT. The line as it stands.
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

// Replaces the line. One thread only.
void tl_clock_swap_store(struct tl_clock_swap *swap, struct tl_clock_line line);

// HOT. Nanoseconds since an arbitrary start, never going back.
static inline uint64_t tl_clock_mono_ns(const struct tl_clock *clock, uint64_t tsc)
{
	return tl_clock_apply(&clock->mono, tsc);
}

// HOT. A TSC difference in nanoseconds.
static inline uint64_t tl_clock_span_ns(const struct tl_clock *clock, uint64_t tsc)
{
	return (uint64_t)(((unsigned __int128)tsc * clock->mono.mult) >> TL_CLOCK_SHIFT);
}

// HOT. Nanoseconds since 1970, source tsc.
static inline uint64_t tl_clock_wall_ns(const struct tl_clock *clock, uint64_t tsc)
{
	struct tl_clock_line line = tl_clock_swap_load(&clock->wall);

	return tl_clock_apply(&line, tsc);
}
