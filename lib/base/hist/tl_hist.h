// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// hist: a log-linear histogram of nanoseconds, in HdrHistogram's layout for 3 significant digits: exact below 2048,
// then 1024 buckets per power of two (an error of 1/1024, 0.1 %), up to 137 s. Larger values are counted in the last
// bucket and in overflow. min, max and sum are exact.
//
// Recording a value increments the counter of its bucket. The cache footprint grows with the spread of the values: 500
// to 600 ns take 13 lines of 64 bytes, 300 to 800 ns take 63, and 10 to 20 us take 128.
//
// Threads: one writer; tl_hist_copy() may run on another thread and gives a snapshot that may be a few values old but
//          is never torn within one counter.
// Memory:  the caller's, 224 KiB, touched whole by init(); no allocation.

#include <stdint.h>

#include <tl_base.h>

#define TL_HIST_SUB_BITS 10
#define TL_HIST_MAX_BITS 37
#define TL_HIST_MAX_NS ((UINT64_C(1) << TL_HIST_MAX_BITS) - 1) // largest value with its own bucket
#define TL_HIST_BUCKETS ((TL_HIST_MAX_BITS - TL_HIST_SUB_BITS + 1) << TL_HIST_SUB_BITS)

struct tl_hist {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns; // UINT64_MAX while empty
	uint64_t max_ns;
	uint64_t overflow; // part of count: values above TL_HIST_MAX_NS
	uint64_t bucket[TL_HIST_BUCKETS];
};

// Summary of a histogram; all zero when count is 0.
struct tl_hist_summary {
	uint64_t count, min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
	double mean_ns;
};

void tl_hist_init(struct tl_hist *hist);

// HOT. Record the same value n times.
static inline void tl_hist_record_n(struct tl_hist *hist, uint64_t value_ns, uint64_t n);

// HOT. Record one value.
static inline void tl_hist_record(struct tl_hist *hist, uint64_t value_ns);

// Take a snapshot on another thread than the writer's.
void tl_hist_copy(struct tl_hist *to, const struct tl_hist *from);

// to += from; both owned by the caller.
void tl_hist_merge(struct tl_hist *to, const struct tl_hist *from);

// Value at a rank in the sorted order, 1 to count: the upper edge of its bucket, clamped to [min, max]. Rank 0 is min;
// 0 if empty.
uint64_t tl_hist_at_rank(const struct tl_hist *hist, uint64_t rank);

// Number of values in the bucket of this one, or above it.
uint64_t tl_hist_count_from(const struct tl_hist *hist, uint64_t value_ns);

// Value by nearest rank (permille 0..1000; 0 is min).
uint64_t tl_hist_permille(const struct tl_hist *hist, unsigned permille);

void tl_hist_summarize(const struct tl_hist *hist, struct tl_hist_summary *out);

// Rank of a permille among count values, without overflow: ceil(count * permille / 1000).
static inline uint64_t tl_hist_rank(uint64_t count, unsigned permille)
{
	return count / 1000 * permille + (count % 1000 * permille + 999) / 1000;
}

// Smallest value of a bucket, with 2^sub_bits buckets per power of two; of the one after the last too.
static inline uint64_t tl_hist_edge(size_t index, unsigned sub_bits)
{
	if (index < (UINT64_C(2) << sub_bits))
		return index;
	unsigned shift = (unsigned)(index >> sub_bits) - 1;
	return (uint64_t)(index - ((size_t)shift << sub_bits)) << shift;
}

// Smallest and largest value of a bucket.
uint64_t tl_hist_lower_ns(size_t index);
uint64_t tl_hist_upper_ns(size_t index);

// Bucket of a value: the value itself below 2^(SUB_BITS+1), then 2^SUB_BITS buckets per octave.
static inline unsigned tl_hist_index(uint64_t value_ns)
{
	if (value_ns < (UINT64_C(2) << TL_HIST_SUB_BITS))
		return (unsigned)value_ns;
	if (TL_UNLIKELY(value_ns > TL_HIST_MAX_NS))
		return TL_HIST_BUCKETS - 1;
	unsigned shift = 63u - (unsigned)__builtin_clzll(value_ns) - TL_HIST_SUB_BITS;
	return (shift << TL_HIST_SUB_BITS) + (unsigned)(value_ns >> shift);
}

static inline void tl_hist_record_n(struct tl_hist *hist, uint64_t value_ns, uint64_t n)
{
	if (n == 0)
		return;
	tl_count(&hist->count, n);
	tl_count(&hist->sum_ns, value_ns * n);
	if (value_ns < hist->min_ns)
		__atomic_store_n(&hist->min_ns, value_ns, __ATOMIC_RELAXED);
	if (value_ns > hist->max_ns)
		__atomic_store_n(&hist->max_ns, value_ns, __ATOMIC_RELAXED);
	tl_count(&hist->bucket[tl_hist_index(value_ns)], n);
	if (TL_UNLIKELY(value_ns > TL_HIST_MAX_NS)) // last, because it is read first: never more than in the buckets
		tl_count(&hist->overflow, n);
}

static inline void tl_hist_record(struct tl_hist *hist, uint64_t value_ns)
{
	tl_hist_record_n(hist, value_ns, 1);
}
