// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// coarse: a log-linear histogram for many instances: exact below 16, then 8 buckets per power of two (an error of 1/8),
// for any 64-bit value. 4 KiB, of which values between 1 and 2 ms touch one cache line.
//
// Threads: one writer; tl_coarse_add() may read on another thread. Memory: the caller's; all zero is empty.

#include <stdint.h>

#include <tl_base.h>

#define TL_COARSE_SUB_BITS 3
#define TL_COARSE_BUCKETS ((64 - TL_COARSE_SUB_BITS + 1) << TL_COARSE_SUB_BITS)

struct tl_coarse {
	uint64_t bucket[TL_COARSE_BUCKETS];
};

// Bucket of a value: the value itself below 16.
static inline unsigned tl_coarse_index(uint64_t value)
{
	unsigned shift =
		63u - TL_COARSE_SUB_BITS - (unsigned)__builtin_clzll(value | UINT64_C(1) << TL_COARSE_SUB_BITS);

	return (shift << TL_COARSE_SUB_BITS) + (unsigned)(value >> shift);
}

// HOT. Record one value.
static inline void tl_coarse_record(struct tl_coarse *hist, uint64_t value)
{
	tl_count(&hist->bucket[tl_coarse_index(value)], 1);
}

// sum += from; sum is the caller's. Return the number of values added.
uint64_t tl_coarse_add(struct tl_coarse *sum, const struct tl_coarse *from);

// Value by nearest rank (permille 1 to 1000) of count recorded values: the upper edge of its bucket. 0 if count is 0.
uint64_t tl_coarse_permille(const struct tl_coarse *hist, uint64_t count, unsigned permille);
