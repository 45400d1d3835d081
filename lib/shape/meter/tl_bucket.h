// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bucket: arithmetic of a token bucket in 64-bit integers, shared by meters and class trees
// (docs/decisions/015-tokens-are-exact.md).
//
// Threads: any. Memory: none.

#include <stdint.h>

#include <tl_base.h>

#define TL_BUCKET_BYTE_COST UINT64_C(8000000000) // tokens per byte if 1 bit/s adds 1 per ns
#define TL_BUCKET_MAX (UINT64_C(1) << 62)	 // tokens; twice as many, and those of a rate per ns, stay below 2^64

// Return an interval, in ns, that fills an empty bucket of max tokens; rate in tokens per ns, not 0.
static inline uint64_t tl_bucket_full_ns(uint64_t max, uint64_t rate)
{
	return max / rate + 1;
}

// HOT. Return the tokens after an interval, possibly above the bucket's size. An interval longer than one that fills
// everything counts as that one, so that 64 bits are enough.
static inline uint64_t tl_bucket_earn(uint64_t tokens, uint64_t rate, uint64_t elapsed_ns, uint64_t full_ns)
{
	return tokens + rate * tl_min_u64(elapsed_ns, full_ns);
}

// Return the inverse for tl_bucket_wait(); rate not 0.
static inline uint64_t tl_bucket_inverse(uint64_t rate)
{
	return UINT64_MAX / rate;
}

// HOT. Return the first ns after which a rate has added this many tokens, exact, without a division. tokens at most
// TL_BUCKET_MAX.
static inline uint64_t tl_bucket_wait(uint64_t tokens, uint64_t rate, uint64_t inverse)
{
	uint64_t ns = (uint64_t)((unsigned __int128)tokens * inverse >> 64); // at most 2 too low

	while (ns * rate < tokens)
		ns++;
	return ns;
}
