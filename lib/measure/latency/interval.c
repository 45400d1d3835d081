// SPDX-License-Identifier: BSD-3-Clause
// Median, and its interval for an unknown distribution.

#include <tl_latency.h>

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

// Return the least count k for which at most k of n values are below the median with a probability of more than tail,
// each being below it with probability one half. The rank, from 0, of the value that bounds the median is k - 1; 0:
// unbounded.
static size_t below_median(size_t n, double tail)
{
	double chance = 1, sum = 0; // probability of exactly, and at most, `below`
	size_t below = 0;

	for (size_t i = 0; i < n; i++)
		chance /= 2;
	for (sum = chance; sum <= tail; sum += chance) {
		below++;
		chance = chance * (double)(n - below + 1) / (double)below;
	}
	return below;
}

struct tl_latency_interval tl_latency_median(double *values, size_t n, double confidence)
{
	qsort(values, n, sizeof(values[0]), by_size);
	size_t below = below_median(n, (1 - confidence) / 2);
	double middle = n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;

	if (below == 0)
		return (struct tl_latency_interval){.diff_ns = middle, .low_ns = -INFINITY, .high_ns = INFINITY};
	return (struct tl_latency_interval){
		.diff_ns = middle, .low_ns = values[below - 1], .high_ns = values[n - below]};
}

size_t tl_latency_median_needs(double confidence)
{
	size_t n = 1;

	while (below_median(n, (1 - confidence) / 2) == 0)
		n++;
	return n;
}
