// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_costs: the cost of each variant compared with the first, from the runs of all variants.
//
// A difference is taken between the variants of one round; the result is the median of all rounds with an interval that
// depends on no distribution. Differences that are read together form a family: by Bonferroni each interval has a
// confidence of 1 - 0.05 / size, so that all of them hold with 95 %. A family of quantiles has all variants but the
// first times p50, p99, p99.9 of one view; a family of means has all variants but the first.
//
// A round in which a variant measured nothing (count 0) is excluded from its rows and differences.
//
// Threads: any; no state. Memory: the caller's.

#include <stdbool.h>

#include <tl_latency.h>

#define TL_BENCH_ROUNDS_MIN 6	// fewer rounds cannot bound even a single difference
#define TL_BENCH_ROUNDS_MAX 840 // whole squares of 2 to 8 variants
#define TL_BENCH_VARIANTS_MAX 8

struct tl_bench_runs { // runs of one variant, by round
	struct tl_hist_summary of[TL_BENCH_ROUNDS_MAX];
};

struct tl_bench_means {
	unsigned family; // 0: fewer than two rows are known, no comparison
	unsigned base;	 // first known row
	struct tl_bench_mean {
		bool known;
		double mean_ns; // median of the rounds' means
		struct tl_latency_interval diff;
	} rows[TL_BENCH_VARIANTS_MAX];
};

unsigned tl_bench_family(unsigned variants); // family size of quantiles
double tl_bench_confidence(unsigned family); // confidence of each interval

// Return the number of rounds that bounds every quantile difference for this number of variants.
unsigned tl_bench_rounds_needed(unsigned variants);

// Add a row for each variant, and the size of the family.
void tl_bench_add_costs(struct tl_latency *report, const struct tl_bench_runs *runs, const char *const *names,
	unsigned variants, unsigned rounds);

// Compare the means of whole, less those of inside if it is not NULL: means of the same messages may be subtracted. A
// row with a round without measurement is unknown.
void tl_bench_compare_means(const struct tl_bench_runs *whole, const struct tl_bench_runs *inside, unsigned variants,
	unsigned rounds, struct tl_bench_means *out);
