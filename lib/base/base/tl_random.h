// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// random: pseudo-random words, the same for a seed on every machine: SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014). Not for secrets.
//
// Threads: any, each with its own state. Memory: none.

#include <stdint.h>

#define TL_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15) // the golden ratio: decorrelates neighbouring seeds

// Mix: every bit of the result depends on every bit of x.
static inline uint64_t tl_random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

// Return the next word and advance *state, which may start at any seed.
static inline uint64_t tl_random_next(uint64_t *state)
{
	return tl_random_mix(*state += TL_RANDOM_STEP);
}
