// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// clock: turns TSC readings into nanoseconds. Wall time follows CLOCK_REALTIME by slewing, with a known error bound;
// monotonic time never jumps and drives every timer.
//
// Threads: tl_clock_wall_ns() and tl_clock_mono_ns() on any thread; tl_clock_discipline() on main only.
// Memory: create/destroy allocate and free.

#include <stdint.h>

#include <tl_base.h>

#include <rte_cycles.h>

// One straight line from TSC to ns: ns = base_ns + ((tsc - base_tsc) * mult >> TL_CLOCK_SHIFT), signed difference.
struct tl_clock_line {
	uint64_t base_tsc;
	uint64_t base_ns;
	uint64_t mult;
};

#define TL_CLOCK_SHIFT 32

struct tl_clock {
	struct tl_clock_line mono; // constant after create
	uint32_t sequence;	   // seqlock of wall: odd while main, its one writer, changes it
	struct tl_clock_line wall;
	uint64_t bound_ns; // of wall against CLOCK_REALTIME at the last discipline
	uint64_t steps;	   // times CLOCK_REALTIME jumped and wall was set anew instead of slewed
};

// Calibrates for about 100 ms. Returns NULL when the TSC is not usable (out of memory, no progress).
struct tl_clock *tl_clock_create(void);
void tl_clock_destroy(struct tl_clock *clock);

// Compare with CLOCK_REALTIME and steer; call about once a second from main.
void tl_clock_discipline(struct tl_clock *clock);

// The bound of a wall reading now, ns: bracket of the last comparison and drift since.
uint64_t tl_clock_bound_ns(const struct tl_clock *clock);

static inline uint64_t tl_clock_apply(const struct tl_clock_line *line, uint64_t tsc)
{
	return line->base_ns + (uint64_t)(((__int128)(int64_t)(tsc - line->base_tsc) * line->mult) >> TL_CLOCK_SHIFT);
}

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
	struct tl_clock_line line;
	uint32_t before, after;

	do {
		before = __atomic_load_n(&clock->sequence, __ATOMIC_ACQUIRE);
		line.base_tsc = __atomic_load_n(&clock->wall.base_tsc, __ATOMIC_ACQUIRE);
		line.base_ns = __atomic_load_n(&clock->wall.base_ns, __ATOMIC_ACQUIRE);
		line.mult = __atomic_load_n(&clock->wall.mult, __ATOMIC_ACQUIRE);
		after = __atomic_load_n(&clock->sequence, __ATOMIC_ACQUIRE);
	} while (TL_UNLIKELY(before != after || (before & 1) != 0));
	return tl_clock_apply(&line, tsc);
}
