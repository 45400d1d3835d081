// SPDX-License-Identifier: BSD-3-Clause
// A median, and what bounds it when nothing is known of the distribution.

#include <tl_latency.h>

#include <stdlib.h>

#define TAIL 0.025 // on each side of the interval

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

// Counted from 0, the value that lies above the median with a chance of TAIL at most: of n values, each below the
// median with a chance of one half, so few are.
static size_t lower_rank(size_t n)
{
	double chance = 1, sum = 0; // that exactly, and at most, `below` are
	size_t below = 0;

	for (size_t i = 0; i < n; i++)
		chance /= 2;
	for (sum = chance; sum <= TAIL; sum += chance) {
		below++;
		chance = chance * (double)(n - below + 1) / (double)below;
	}
	return below == 0 ? 0 : below - 1;
}

struct tl_latency_interval tl_latency_median(double *values, size_t n)
{
	qsort(values, n, sizeof(values[0]), by_size);
	size_t low = lower_rank(n);
	double middle = n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;

	return (struct tl_latency_interval){.diff_ns = middle, .low_ns = values[low], .high_ns = values[n - 1 - low]};
}
