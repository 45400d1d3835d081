// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// random: words that look random, and are the same for the same seed on every machine: SplitMix64 (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", 2014). Nothing that must be kept secret may come from it.
//
// Threads: any, each with a state of its own. Memory: none.

#include <stdint.h>

#define TL_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15) // the golden ratio: neighbouring seeds have nothing in common

// Every bit of the result depends on every bit of x.
static inline uint64_t tl_random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

// The next word after *state, which begins with any seed.
static inline uint64_t tl_random_next(uint64_t *state)
{
	return tl_random_mix(*state += TL_RANDOM_STEP);
}
