// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_costs: what the runs of some variants say of the cost of each against the first.
//
// A difference is that of the variants within a round, and what is told of it is the median of all rounds with an
// interval that depends on no distribution. The differences that are read together are a family: by Bonferroni each
// interval has a confidence of 1 - 0.05 / size, so that all of them hold with 95 %. A family of quantiles is all
// variants but the first times p50, p99, p99.9 of one view; a family of means all variants but the first.
//
// A round in which a variant has measured nothing (count 0) is in none of its rows and differences.
//
// Threads: any; nothing is kept. Memory: the caller's.

#include <stdbool.h>

#include <tl_latency.h>

#define TL_BENCH_ROUNDS_MIN 6	// fewer bound not even one difference alone
#define TL_BENCH_ROUNDS_MAX 840 // whole squares of 2 to 8 variants
#define TL_BENCH_VARIANTS_MAX 8

struct tl_bench_runs { // of one variant, by round
	struct tl_hist_summary of[TL_BENCH_ROUNDS_MAX];
};

struct tl_bench_means {
	unsigned family; // 0: fewer than two rows are known, and nothing is compared
	unsigned base;	 // the first row that is known
	struct tl_bench_mean {
		bool known;
		double mean_ns; // the median of the rounds' means
		struct tl_latency_interval diff;
	} rows[TL_BENCH_VARIANTS_MAX];
};

unsigned tl_bench_family(unsigned variants); // of quantiles
double tl_bench_confidence(unsigned family); // of each interval

// The rounds that bound every quantile's difference of so many variants.
unsigned tl_bench_rounds_needed(unsigned variants);

// Adds a row for each variant, and the size of the family.
void tl_bench_add_costs(struct tl_latency *report, const struct tl_bench_runs *runs, const char *const *names,
	unsigned variants, unsigned rounds);

// Compares the means of whole, less those of inside where it is not NULL: means of the same messages may be subtracted.
// A row of which a round has measured nothing is unknown.
void tl_bench_compare_means(const struct tl_bench_runs *whole, const struct tl_bench_runs *inside, unsigned variants,
	unsigned rounds, struct tl_bench_means *out);
