// SPDX-License-Identifier: BSD-3-Clause
// The statistics of comparing two histograms.

#include <tl_latency_compare.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tl_random.h>

#define RESAMPLES 2000
#define TOGETHER 0.05 // how likely it is that any of the intervals misses
#define BEYOND 10     // samples that a quantile needs beyond it

// The samples of a histogram in order: value[i] is that of the ranks up to up_to[i].
struct sorted {
	size_t n;
	uint64_t count;
	uint64_t *value_ns, *up_to;
};

static int sort_hist(const struct tl_hist *hist, struct sorted *out)
{
	size_t n = 0;

	for (size_t i = 0; i < TL_HIST_BUCKETS; i++)
		n += hist->bucket[i] != 0;
	*out = (struct sorted){.value_ns = calloc(n + 1, sizeof(uint64_t)), .up_to = calloc(n + 1, sizeof(uint64_t))};
	if (out->value_ns == NULL || out->up_to == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		if (hist->bucket[i] == 0)
			continue;
		out->count += hist->bucket[i];
		out->value_ns[out->n] = tl_min_u64(tl_max_u64(tl_hist_upper_ns(i), hist->min_ns), hist->max_ns);
		out->up_to[out->n++] = out->count;
	}
	return 0;
}

static void free_sorted(struct sorted *sorted)
{
	free(sorted->value_ns);
	free(sorted->up_to);
}

static uint64_t at_rank(const struct sorted *sorted, uint64_t rank)
{
	size_t low = 0, high = sorted->n - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (sorted->up_to[middle] >= rank)
			high = middle;
		else
			low = middle + 1;
	}
	return sorted->value_ns[low];
}

// ---- random numbers, the same on every machine

static double uniform(uint64_t *state) // in (0, 1)
{
	return ((double)(tl_random_next(state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));
	return radius * cos(2 * M_PI * uniform(state));
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shape at least 1.
static double gamma_variate(uint64_t *state, double shape)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = normal(state), v = 1 + c * x;
		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(uniform(state)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v;
	}
}

// ---- bootstrap

// The rank of a quantile, as nearest rank has it.
static uint64_t rank_of(double share, uint64_t count)
{
	return tl_max_u64((uint64_t)ceil(share * (double)count - 1e-9), 1);
}

// The quantile of one resample. Drawing count samples with replacement and taking the k-th is looking up the k-th of
// count uniform numbers in the inverse of the distribution, and that number is Beta(k, count - k + 1) distributed: two
// gamma variates instead of count draws.
static uint64_t resampled(const struct sorted *sorted, uint64_t k, uint64_t *state)
{
	double below = gamma_variate(state, (double)k);
	double above = gamma_variate(state, (double)(sorted->count - k + 1));
	uint64_t rank = (uint64_t)(below / (below + above) * (double)sorted->count) + 1;

	return at_rank(sorted, tl_min_u64(rank, sorted->count));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static struct tl_latency_interval bootstrap(
	const struct sorted *a, const struct sorted *b, double share, double miss, double *diffs, uint64_t *state)
{
	uint64_t rank_a = rank_of(share, a->count), rank_b = rank_of(share, b->count);
	size_t tail = (size_t)(miss / 2 * RESAMPLES);

	for (size_t i = 0; i < RESAMPLES; i++)
		diffs[i] = (double)resampled(b, rank_b, state) - (double)resampled(a, rank_a, state);
	qsort(diffs, RESAMPLES, sizeof(*diffs), by_value);
	return (struct tl_latency_interval){
		.diff_ns = (double)at_rank(b, rank_b) - (double)at_rank(a, rank_a),
		.low_ns = diffs[tail],
		.high_ns = diffs[RESAMPLES - 1 - tail],
	};
}

static void judge(struct tl_latency_quantile *quantile)
{
	if (quantile->diff.low_ns > quantile->threshold_ns)
		quantile->verdict = TL_LATENCY_SLOWER;
	else if (quantile->diff.high_ns < -quantile->threshold_ns)
		quantile->verdict = TL_LATENCY_FASTER;
	else
		quantile->verdict = TL_LATENCY_SAME;
}

// ---- Mann and Whitney

// Both lists are walked together, value by value; each may stand in several buckets of equal value, clamped to min or
// max.
static void mann_whitney(const struct sorted *a, const struct sorted *b, struct tl_latency_comparison *out)
{
	double larger = 0, ties = 0, n_a = (double)a->count, n_b = (double)b->count, n = n_a + n_b;
	size_t i = 0, j = 0;

	while (i < a->n || j < b->n) {
		uint64_t value = i == a->n   ? b->value_ns[j]
				 : j == b->n ? a->value_ns[i]
					     : tl_min_u64(a->value_ns[i], b->value_ns[j]);
		double below = i == 0 ? 0 : (double)a->up_to[i - 1], before = j == 0 ? 0 : (double)b->up_to[j - 1];
		for (; i < a->n && a->value_ns[i] == value;)
			i++;
		for (; j < b->n && b->value_ns[j] == value;)
			j++;
		double in_a = (i == 0 ? 0 : (double)a->up_to[i - 1]) - below;
		double in_b = (j == 0 ? 0 : (double)b->up_to[j - 1]) - before;
		larger += in_b * (below + in_a / 2);
		ties += pow(in_a + in_b, 3) - (in_a + in_b);
	}
	out->b_larger = larger / (n_a * n_b);
	double spread = sqrt((n + 1 - ties / (n * (n - 1))) / (12 * n_a * n_b));
	out->p_value = spread > 0 ? erfc(fabs(out->b_larger - 0.5) / spread / M_SQRT2) : 1;
}

// ---- all of it

static const struct {
	const char *name;
	double share;
} wanted[TL_LATENCY_QUANTILES] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

static enum tl_latency_verdict verdict_of(const struct tl_latency_quantile *quantiles)
{
	size_t of[TL_LATENCY_TOO_FEW + 1] = {0};

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		of[quantiles[i].verdict]++;
	if (of[TL_LATENCY_TOO_FEW] == TL_LATENCY_QUANTILES)
		return TL_LATENCY_TOO_FEW;
	return of[TL_LATENCY_SLOWER] != 0   ? TL_LATENCY_SLOWER
	       : of[TL_LATENCY_FASTER] != 0 ? TL_LATENCY_FASTER
					    : TL_LATENCY_SAME;
}

static void compare_sorted(const struct sorted *a, const struct sorted *b, const struct tl_latency_threshold *threshold,
	uint64_t *state, double *diffs, struct tl_latency_comparison *out)
{
	uint64_t fewest = tl_min_u64(a->count, b->count);
	size_t judged = 0;

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
		struct tl_latency_quantile *quantile = &out->quantiles[i];
		quantile->name = wanted[i].name;
		quantile->share = wanted[i].share;
		quantile->needed = (uint64_t)(BEYOND / (1 - quantile->share) + 0.5);
		quantile->verdict = TL_LATENCY_TOO_FEW;
		quantile->a_ns = a->count != 0 ? at_rank(a, rank_of(quantile->share, a->count)) : 0;
		quantile->b_ns = b->count != 0 ? at_rank(b, rank_of(quantile->share, b->count)) : 0;
		quantile->threshold_ns =
			threshold->percent ? threshold->value / 100 * (double)quantile->a_ns : threshold->value;
		judged += fewest >= quantile->needed;
	}
	for (size_t i = 0; i < judged; i++) { // the quantiles stand in the order of their need
		struct tl_latency_quantile *quantile = &out->quantiles[i];
		quantile->diff = bootstrap(a, b, quantile->share, TOGETHER / (double)judged, diffs, state);
		judge(quantile);
	}
}

int tl_latency_compare(const struct tl_hist *a, const struct tl_hist *b, const struct tl_latency_threshold *threshold,
	uint64_t seed, struct tl_latency_comparison *out)
{
	double *diffs = calloc(RESAMPLES, sizeof(*diffs));
	struct sorted in_a = {0}, in_b = {0};
	int rc = diffs == NULL ? -ENOMEM : sort_hist(a, &in_a);

	if (rc == 0)
		rc = sort_hist(b, &in_b);
	if (rc == 0) {
		*out = (struct tl_latency_comparison){
			.a_count = in_a.count, .b_count = in_b.count, .b_larger = 0.5, .p_value = 1};
		compare_sorted(&in_a, &in_b, threshold, &seed, diffs, out);
		if (in_a.count != 0 && in_b.count != 0)
			mann_whitney(&in_a, &in_b, out);
		out->verdict = verdict_of(out->quantiles);
	}
	free(diffs);
	free_sorted(&in_a);
	free_sorted(&in_b);
	return rc;
}
