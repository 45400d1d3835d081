// SPDX-License-Identifier: BSD-3-Clause
// Compute medians of differences within rounds, and their intervals.

#include "bench_costs.h"

#include <math.h>
#include <stdio.h>

#define TOGETHER 0.05 // probability that any interval of a family misses

enum quantile { P50, P90, P99, P999 };
#define COMPARED 3 // p50, p99, p99.9

unsigned tl_bench_family(unsigned variants)
{
	return (variants - 1) * COMPARED;
}

double tl_bench_confidence(unsigned family)
{
	return 1 - TOGETHER / family;
}

unsigned tl_bench_rounds_needed(unsigned variants)
{
	return (unsigned)tl_latency_median_needs(tl_bench_confidence(tl_bench_family(variants)));
}

static double quantile_of(const struct tl_hist_summary *times, enum quantile quantile)
{
	const uint64_t values[] = {
		[P50] = times->p50_ns, [P90] = times->p90_ns, [P99] = times->p99_ns, [P999] = times->p999_ns};

	return (double)values[quantile];
}

// Compare two variants by round. Disturbances that last a whole round cancel: both sides contain them.
static struct tl_latency_interval compare(const struct tl_bench_runs *runs, const struct tl_bench_runs *base,
	unsigned rounds, enum quantile quantile, double confidence)
{
	double diff[TL_BENCH_ROUNDS_MAX];
	unsigned n = 0;

	if (runs == base) // the base differs from itself by 0 at any confidence
		return (struct tl_latency_interval){.diff_ns = 0};
	for (unsigned i = 0; i < rounds; i++)
		if (runs->of[i].count != 0 && base->of[i].count != 0)
			diff[n++] = quantile_of(&runs->of[i], quantile) - quantile_of(&base->of[i], quantile);
	if (n == 0)
		return (struct tl_latency_interval){.low_ns = -INFINITY, .high_ns = INFINITY};
	return tl_latency_median(diff, n, confidence);
}

static double middle_of(double *values, unsigned n)
{
	return tl_latency_median(values, n, 1 - TOGETHER).diff_ns;
}

static uint64_t middle(const struct tl_bench_runs *runs, unsigned rounds, enum quantile quantile)
{
	double values[TL_BENCH_ROUNDS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < rounds; i++)
		if (runs->of[i].count != 0)
			values[n++] = quantile_of(&runs->of[i], quantile);
	return n != 0 ? (uint64_t)middle_of(values, n) : 0;
}

// Summarize the rounds: median of their percentiles, overall minimum and maximum, mean of their means.
static struct tl_hist_summary summarize(const struct tl_bench_runs *runs, unsigned rounds)
{
	struct tl_hist_summary all = {.min_ns = UINT64_MAX,
		.p50_ns = middle(runs, rounds, P50),
		.p90_ns = middle(runs, rounds, P90),
		.p99_ns = middle(runs, rounds, P99),
		.p999_ns = middle(runs, rounds, P999)};

	unsigned measured = 0;

	for (unsigned i = 0; i < rounds; i++) {
		if (runs->of[i].count == 0)
			continue;
		measured++;
		all.count += runs->of[i].count;
		all.min_ns = tl_min_u64(all.min_ns, runs->of[i].min_ns);
		all.max_ns = tl_max_u64(all.max_ns, runs->of[i].max_ns);
		all.mean_ns += runs->of[i].mean_ns;
	}
	if (measured == 0)
		return (struct tl_hist_summary){.count = 0};
	all.mean_ns /= measured;
	return all;
}

void tl_bench_add_costs(struct tl_latency *report, const struct tl_bench_runs *runs, const char *const *names,
	unsigned variants, unsigned rounds)
{
	double confidence = tl_bench_confidence(tl_bench_family(variants));

	report->costs_family = tl_bench_family(variants);
	for (unsigned i = 0; i < variants; i++) {
		struct tl_latency_cost cost = {.latency = summarize(&runs[i], rounds),
			.p50 = compare(&runs[i], runs, rounds, P50, confidence),
			.p99 = compare(&runs[i], runs, rounds, P99, confidence),
			.p999 = compare(&runs[i], runs, rounds, P999, confidence)};
		snprintf(cost.name, sizeof(cost.name), "%s", names[i]);
		tl_latency_add_cost(report, &cost);
	}
}

// ---- means

struct means {
	double of[TL_BENCH_ROUNDS_MAX];
};

// Collect the mean of each round. Return false if a round has none.
static bool take_means(
	const struct tl_bench_runs *whole, const struct tl_bench_runs *inside, unsigned rounds, struct means *out)
{
	for (unsigned i = 0; i < rounds; i++) {
		if (whole->of[i].count == 0 || (inside != NULL && inside->of[i].count == 0))
			return false;
		out->of[i] = whole->of[i].mean_ns - (inside != NULL ? inside->of[i].mean_ns : 0);
	}
	return true;
}

static struct tl_latency_interval compare_means(
	const struct means *means, const struct means *base, unsigned rounds, double confidence)
{
	double diff[TL_BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		diff[i] = means->of[i] - base->of[i];
	return tl_latency_median(diff, rounds, confidence);
}

void tl_bench_compare_means(const struct tl_bench_runs *whole, const struct tl_bench_runs *inside, unsigned variants,
	unsigned rounds, struct tl_bench_means *out)
{
	struct means means[TL_BENCH_VARIANTS_MAX];
	unsigned known = 0;

	*out = (struct tl_bench_means){.family = 0};
	for (unsigned i = 0; i < variants; i++) {
		struct tl_bench_mean *row = &out->rows[i];
		row->known = take_means(&whole[i], inside != NULL ? &inside[i] : NULL, rounds, &means[i]);
		if (row->known && known++ == 0)
			out->base = i;
	}
	out->family = known > 1 ? known - 1 : 0;
	for (unsigned i = 0; i < variants; i++) {
		struct tl_bench_mean *row = &out->rows[i];
		if (!row->known)
			continue;
		if (i != out->base)
			row->diff =
				compare_means(&means[i], &means[out->base], rounds, tl_bench_confidence(out->family));
	}
	for (unsigned i = 0; i < variants; i++) // last: it sorts them
		if (out->rows[i].known)
			out->rows[i].mean_ns = middle_of(means[i].of, rounds);
}
