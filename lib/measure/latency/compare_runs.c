// SPDX-License-Identifier: BSD-3-Clause
// Differences: of two figures with an interval each, and of figures of several runs.

#include "compare_priv.h"

#include <math.h>

static double subtract(double b, double a)
{
	return isinf(a) && isinf(b) ? 0 : b - a;
}

// Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 2008: the distance
// of each limit from the difference is the sum, as of independent errors, of the distances of the two limits that it is
// computed from. The intervals need not be symmetric.
struct tl_latency_interval tl_latency_minus(const struct tl_latency_interval *b, const struct tl_latency_interval *a)
{
	double diff = subtract(b->diff_ns, a->diff_ns);

	if (isinf(a->diff_ns) || isinf(b->diff_ns))
		return (struct tl_latency_interval){
			diff, subtract(b->low_ns, a->high_ns), subtract(b->high_ns, a->low_ns)};
	return (struct tl_latency_interval){.diff_ns = diff,
		.low_ns = diff - hypot(b->diff_ns - b->low_ns, a->high_ns - a->diff_ns),
		.high_ns = diff + hypot(b->high_ns - b->diff_ns, a->diff_ns - a->low_ns)};
}

// Welch, "The generalization of 'Student's' problem when several different population variances are involved", 1947.
double tl_latency_welch(double variance_a, double df_a, double variance_b, double df_b)
{
	double sum = variance_a + variance_b;

	if (!isfinite(sum))
		return fmin(df_a, df_b);
	return sum > 0 ? sum * sum / (variance_a * variance_a / df_a + variance_b * variance_b / df_b) : df_a + df_b;
}

static double mean_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i] / (double)n;
	return sum;
}

// Return the variance of the mean of this many values.
static double variance_of(const double *values, size_t n)
{
	double mean = mean_of(values, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pow(values[i] - mean, 2);
	return sum / (double)(n - 1) / (double)n;
}

static size_t infinite_of(const double *values, size_t n)
{
	size_t infinite = 0;

	for (size_t i = 0; i < n; i++)
		infinite += isinf(values[i]) != 0;
	return infinite;
}

// Return the probability that chance alone puts all runs of one side before all of the other.
static double chance_apart(size_t n_a, size_t n_b)
{
	double chance = 1;

	for (size_t i = 1; i <= n_a; i++)
		chance *= (double)i / (double)(n_b + i);
	return chance;
}

// Return the interval if all runs of one side, and none of the other, are infinite; else it is unbounded.
static struct tl_latency_interval between_infinite(
	size_t infinite_a, size_t n_a, size_t infinite_b, size_t n_b, double miss)
{
	bool apart = chance_apart(n_a, n_b) <= miss / 2;

	if (apart && infinite_b == n_b && infinite_a == 0)
		return (struct tl_latency_interval){INFINITY, INFINITY, INFINITY};
	if (apart && infinite_a == n_a && infinite_b == 0)
		return (struct tl_latency_interval){-INFINITY, -INFINITY, -INFINITY};
	double diff = infinite_b == infinite_a ? 0 : infinite_b > infinite_a ? INFINITY : -INFINITY;
	return (struct tl_latency_interval){diff, -INFINITY, INFINITY};
}

struct tl_latency_interval tl_latency_between_runs(
	const double *a, size_t n_a, const double *b, size_t n_b, double miss)
{
	size_t infinite_a = infinite_of(a, n_a), infinite_b = infinite_of(b, n_b);

	if (infinite_a != 0 || infinite_b != 0)
		return between_infinite(infinite_a, n_a, infinite_b, n_b, miss);
	double diff = mean_of(b, n_b) - mean_of(a, n_a);
	double variance_a = variance_of(a, n_a), variance_b = variance_of(b, n_b);
	double df = tl_latency_welch(variance_a, (double)(n_a - 1), variance_b, (double)(n_b - 1));
	double off = tl_latency_student(miss, df) * sqrt(variance_a + variance_b);
	return (struct tl_latency_interval){diff, diff - off, diff + off};
}
