// SPDX-License-Identifier: BSD-3-Clause
// Autocorrelation and drift of the samples, in their order.

#include <tl_latency_dependence.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_priv.h"
#include "latency_priv.h"

#define LAG_SHARE 4 // a lag is at most this fraction (1 / n) of the samples

static const uint64_t lags[TL_LATENCY_LAGS] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};

// Return the median bucket. counts: TL_HIST_BUCKETS entries, overwritten.
static unsigned median_of(const uint16_t *bucket, size_t n, uint32_t *counts)
{
	size_t below = 0;
	unsigned at = 0;

	memset(counts, 0, TL_HIST_BUCKETS * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		counts[bucket[i]]++;
	while ((below += counts[at]) < (n + 1) / 2)
		at++;
	return at;
}

static double sign_of(unsigned bucket, unsigned median)
{
	return (double)(bucket > median) - (double)(bucket < median);
}

static double sum_of_products(const struct tl_latency_order *order, unsigned median, double mean, size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < order->n; i++)
		sum += (sign_of(order->bucket[i], median) - mean) * (sign_of(order->bucket[i + lag], median) - mean);
	return sum;
}

static void correlate(const struct tl_latency_order *order, unsigned median, struct tl_latency_dependence *out)
{
	double mean = 0;

	for (size_t i = 0; i < order->n; i++)
		mean += sign_of(order->bucket[i], median) / (double)order->n;
	double all = sum_of_products(order, median, mean, 0);
	out->chance = 1.96 / sqrt((double)order->n);
	for (size_t i = 0; i < TL_LATENCY_LAGS && lags[i] <= order->n / LAG_SHARE && all > 0; i++)
		out->lags[out->n_lags++] = (struct tl_latency_lag){
			.samples = lags[i] * order->stride, .r = sum_of_products(order, median, mean, lags[i]) / all};
}

static void find_drift(const struct tl_latency *report, uint32_t *counts, struct tl_latency_dependence *out)
{
	const struct tl_latency_order *order = &report->order;
	struct tl_latency_blocks blocks;

	if (order->n < TL_LATENCY_STRETCHES * TL_LATENCY_STRETCH_SAMPLES)
		return;
	out->n_stretches = TL_LATENCY_STRETCHES;
	for (size_t i = 0; i < TL_LATENCY_STRETCHES; i++) {
		size_t first = order->n * i / TL_LATENCY_STRETCHES, end = order->n * (i + 1) / TL_LATENCY_STRETCHES;
		out->p50_ns[i] = tl_hist_upper_ns(median_of(order->bucket + first, end - first, counts));
	}
	tl_latency_get_blocks(report, &blocks);
	out->settled = blocks.n != 0 && tl_latency_spread(&blocks, 0, 0).settled;
}

void tl_latency_depend(const struct tl_latency *report, struct tl_latency_dependence *out)
{
	const struct tl_latency_order *order = &report->order;
	uint32_t *counts = order->n != 0 ? malloc(TL_HIST_BUCKETS * sizeof(*counts)) : NULL;

	*out = (struct tl_latency_dependence){0};
	if (counts == NULL)
		return;
	correlate(order, median_of(order->bucket, order->n, counts), out);
	find_drift(report, counts, out);
	free(counts);
}

// ---- output

json_t *tl_latency_autocorrelation_json(const struct tl_latency_dependence *dependence)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < dependence->n_lags; i++)
		json_array_append_new(
			rows, json_pack("[I,f]", (json_int_t)dependence->lags[i].samples, dependence->lags[i].r));
	if (dependence->n_lags != 0)
		return json_pack("{s:f, s:o}", "chance", dependence->chance, "lags", rows);
	json_decref(rows);
	return json_null();
}

json_t *tl_latency_drift_json(const struct tl_latency_dependence *dependence)
{
	json_t *p50 = json_array();

	for (size_t i = 0; i < dependence->n_stretches; i++)
		json_array_append_new(p50, json_integer((json_int_t)tl_min_u64(dependence->p50_ns[i], INT64_MAX)));
	if (dependence->n_stretches != 0)
		return json_pack("{s:o, s:b}", "p50_ns", p50, "settled", dependence->settled);
	json_decref(p50);
	return json_null();
}
