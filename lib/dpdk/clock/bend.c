// SPDX-License-Identifier: BSD-3-Clause
// Replacement of a line in use: readers always see a consistent line, and time continues without a jump.

#include "clock_priv.h"

#define MAX_SLEW_PPM 500 // kernel's limit for adjtime

void tl_clock_swap_store(struct tl_clock_swap *swap, struct tl_clock_line line)
{
	uint32_t sequence = swap->sequence;

	// Each release store orders the odd sequence number before the field that it guards.
	__atomic_store_n(&swap->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&swap->line.base_ticks, line.base_ticks, __ATOMIC_RELEASE);
	__atomic_store_n(&swap->line.base_ns, line.base_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&swap->line.mult, line.mult, __ATOMIC_RELEASE);
	__atomic_store_n(&swap->sequence, sequence + 2, __ATOMIC_RELEASE);
}

bool tl_clock_is_step(int64_t error_ns)
{
	return tl_magnitude(error_ns) > TL_CLOCK_STEP_NS;
}

struct tl_clock_line tl_clock_bend(
	const struct tl_clock_line *old, uint64_t ticks, uint64_t mult, int64_t error_ns, uint64_t over_ns)
{
	struct tl_clock_line line = {.base_ticks = ticks, .base_ns = tl_clock_apply(old, ticks), .mult = mult};

	if (tl_clock_is_step(error_ns)) {
		line.base_ns += (uint64_t)error_ns;
		return line;
	}
	int64_t limit = (int64_t)((unsigned __int128)mult * MAX_SLEW_PPM / 1000000);
	__int128 bend = (__int128)mult * error_ns / (int64_t)over_ns;
	line.mult += (uint64_t)(bend > limit ? limit : bend < -limit ? -limit : (int64_t)bend);
	return line;
}

uint64_t tl_clock_left_ns(int64_t error_ns, uint64_t age_ns, uint64_t over_ns)
{
	uint64_t left_ns = tl_magnitude(error_ns);

	if (tl_clock_is_step(error_ns) || age_ns <= over_ns)
		return tl_clock_is_step(error_ns) ? 0 : left_ns;
	return (uint64_t)((unsigned __int128)left_ns * age_ns / over_ns);
}
