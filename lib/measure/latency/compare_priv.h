// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency compare, internal: intervals of the figures of one run, and of several runs.

#include <tl_latency_compare.h>

// Indices after the levels of struct tl_latency_block:
#define TL_LATENCY_MEAN TL_LATENCY_LEVELS
#define TL_LATENCY_ANSWERED (TL_LATENCY_LEVELS + 1)

// Error of a figure of one run.
struct tl_latency_spread {
	double variance;  // of the figure: a share of triggers, or the mean in ns
	double df;	  // degrees of freedom of that variance
	double kept;	  // samples in the blocks; plus lost triggers, if these are dated
	double effective; // number of independent samples of the same precision
	bool settled;	  // false: the run is too short for its correlation time, so variance is too small
};

// compare_spread.c: return the error of the share of samples at most a level, of the mean, or of the share of answered
// triggers. Triggers without a reply are above each level, if their times are known. one is the variance of a single
// sample's latency, for the mean.
struct tl_latency_spread tl_latency_spread(const struct tl_latency_blocks *blocks, size_t level, double one);

// compare_one.c: figures of a run. The value of a quantile, lost triggers above all samples: INFINITY if it is one of
// them; the mean; the share of answered triggers. share: only of the quantile.
typedef double tl_latency_figure(const struct tl_latency *run, double share);
tl_latency_figure tl_latency_value_at, tl_latency_mean, tl_latency_answered;

// With one run per side. Each of these functions sets diff and verdict SAME of a row whose a and b are set;
// INCONCLUSIVE if a run is not settled.
struct tl_latency_one {
	const struct tl_latency *run;
	struct tl_latency_blocks blocks;
};
void tl_latency_one_quantile(const struct tl_latency_one *a, const struct tl_latency_one *b, size_t level, double share,
	double miss, struct tl_latency_row *row);
void tl_latency_one_mean(
	const struct tl_latency_one *a, const struct tl_latency_one *b, double miss, struct tl_latency_row *row);
void tl_latency_one_answered(
	const struct tl_latency_one *a, const struct tl_latency_one *b, double miss, struct tl_latency_row *row);

// Return B - A of two figures, each with its own interval. If a figure or a limit is infinite, so is the difference;
// between two infinite ones it is undefined.
struct tl_latency_interval tl_latency_minus(const struct tl_latency_interval *b, const struct tl_latency_interval *a);

// Return Welch's degrees of freedom of a difference, from the variances of both.
double tl_latency_welch(double variance_a, double df_a, double variance_b, double df_b);

// compare_runs.c: return B - A of a figure with one value per run; at least two runs each.
struct tl_latency_interval tl_latency_between_runs(
	const double *a, size_t n_a, const double *b, size_t n_b, double miss);
