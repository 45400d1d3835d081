// SPDX-License-Identifier: BSD-3-Clause
// Error of a figure of a run, estimated from its variation in the course of the run.
//
// The variance of the mean of a series is its spectral density at frequency 0. That is estimated by the equal-weighted
// cosine transform: the mean square of the series' products with the first cosines, which are nearly independent and
// have nearly that density, so Student's t with as many degrees of freedom as cosines holds (Mueller, "HAC Corrections
// for Strongly Autocorrelated Time Series", JBES 2014; Lazarus, Lewis, Stock, Watson, "HAR Inference: Recommendations
// for Practice", JBES 2018). Nothing is drawn at random, and blocks of the series are as good as the series.

#include "compare_priv.h"

#include <math.h>

#define ROUNDING 1e-20 // relative to the square of a figure: above that of doubles, far below any visible effect

// If the slower half of the cosines has the larger squares, the correlation is too long for the others: fewer, slower
// ones are used. limit: the ratio that one white noise in ten exceeds; of the last, one in a hundred.
static const struct window {
	size_t cosines;
	double limit;
} windows[] = {{16, 2.59}, {8, 4.11}, {4, 99}};

// A run is too short for its correlation if its SLOW slowest cosines have more than STEEP times the mean square of FAST
// faster ones. This holds for nearly all runs that last 12 correlation times, and for hardly any that last 130.
#define SLOW 12
#define FAST 48
#define STEEP 8

// Contribution of a block to a figure, which is the quotient of the sums of both.
struct part {
	double of, all;
};

static struct part part_of(const struct tl_latency_blocks *blocks, size_t i, size_t level)
{
	const struct tl_latency_block *block = &blocks->at[i];
	double lost = blocks->dated && level != TL_LATENCY_MEAN ? (double)block->lost / blocks->weight : 0;

	return (struct part){.all = (double)block->n + lost,
		.of = level == TL_LATENCY_MEAN	     ? (double)block->sum_ns
		      : level == TL_LATENCY_ANSWERED ? (double)block->n
						     : (double)block->at_most[level]};
}

// Return the product of the series with the cosine of j half periods; the next cosine follows from the last two.
static double transform(const double *series, size_t n, size_t j)
{
	double angle = M_PI * (double)j / (double)n, factor = 2 * cos(angle);
	double now = cos(angle / 2), before = now, sum = 0; // cos(-x) = cos(x)

	for (size_t i = 0; i < n; i++) {
		sum += series[i] * now;
		double next = factor * now - before;
		before = now;
		now = next;
	}
	return sqrt(2 / (double)n) * sum;
}

// Return the mean square of this many cosines after the first `begin`.
static double mean_square(const double *series, size_t n, size_t begin, size_t cosines)
{
	double sum = 0;

	for (size_t j = begin + 1; j <= begin + cosines; j++)
		sum += pow(transform(series, n, j), 2);
	return sum / (double)cosines;
}

// True if the run is long enough. Fewer blocks have fewer cosines.
static bool is_long_enough(const double *series, size_t n, double rounding)
{
	size_t slow = tl_min_u64(SLOW, n / 5), fast = tl_min_u64(FAST, n - 1 - slow);

	return mean_square(series, n, 0, slow) <= STEEP * mean_square(series, n, slow, fast) + rounding;
}

// Estimate the error of a series around 0, in which squares up to `rounding` are not significant.
static struct tl_latency_spread spread_of(const double *series, size_t n, double rounding)
{
	struct tl_latency_spread out = {.df = 1};

	for (size_t i = 0; i < TL_ARRAY_LEN(windows) && !out.settled; i++) {
		size_t half = windows[i].cosines / 2;
		if (n < 4 * half)
			continue;
		double slower = mean_square(series, n, 0, half), faster = mean_square(series, n, half, half);
		out.variance = (slower + faster) / 2 / (double)n;
		out.df = (double)windows[i].cosines;
		out.settled = slower <= windows[i].limit * faster + rounding;
	}
	out.settled = out.settled && is_long_enough(series, n, rounding);
	return out;
}

// The series is the linear part of the quotient, so a block of many lost triggers counts as such.
struct tl_latency_spread tl_latency_spread(const struct tl_latency_blocks *blocks, size_t level, double one)
{
	double series[TL_LATENCY_BLOCKS];
	struct part sum = {0};

	for (size_t i = 0; i < blocks->n; i++) {
		struct part part = part_of(blocks, i, level);
		sum.of += part.of;
		sum.all += part.all;
	}
	double figure = sum.of / sum.all;
	for (size_t i = 0; i < blocks->n; i++) {
		struct part part = part_of(blocks, i, level);
		series[i] = (part.of - figure * part.all) * (double)blocks->n / sum.all;
	}
	if (level != TL_LATENCY_MEAN)
		one = figure * (1 - figure);
	struct tl_latency_spread out = spread_of(series, blocks->n, ROUNDING * figure * figure);
	out.kept = sum.all;
	out.effective = one > 0 && out.variance > 0 ? one / out.variance : sum.all;
	return out;
}
