// SPDX-License-Identifier: BSD-3-Clause
// Residual of each sample kept against the median, by its number: as many points as a plot can show, without omitting
// an extreme.

#include "latency_priv.h"

#include <stdlib.h>

#define POINTS 1000
#define SORTED_MAX 1001 // samples for the median of a point, at equal distances

static int by_size(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static int64_t residual(const struct tl_latency_sample *sample, uint64_t against_ns)
{
	return (int64_t)tl_min_u64(sample->latency_ns, INT64_MAX) - (int64_t)against_ns;
}

static int64_t median(const struct tl_latency_sample *samples, size_t n, uint64_t against_ns)
{
	int64_t sorted[SORTED_MAX];
	size_t taken = tl_min_u64(n, SORTED_MAX);

	for (size_t i = 0; i < taken; i++)
		sorted[i] = residual(&samples[n * i / taken], against_ns);
	qsort(sorted, taken, sizeof(sorted[0]), by_size);
	return sorted[(taken - 1) / 2];
}

static json_t *point_json(const struct tl_latency_sample *samples, size_t n, uint64_t against_ns)
{
	const struct tl_latency_sample *least = samples, *most = samples;

	for (size_t i = 1; i < n; i++) {
		if (samples[i].latency_ns < least->latency_ns)
			least = &samples[i];
		if (samples[i].latency_ns > most->latency_ns)
			most = &samples[i];
	}
	return json_pack("[I,I,I,I,I,I]", (json_int_t)samples->packet_id, (json_int_t)median(samples, n, against_ns),
		(json_int_t)least->packet_id, (json_int_t)residual(least, against_ns), (json_int_t)most->packet_id,
		(json_int_t)residual(most, against_ns));
}

json_t *tl_latency_residuals_json(const struct tl_latency *report, uint64_t against_ns)
{
	size_t points = tl_min_u64(report->n_samples, POINTS);
	json_t *rows = json_array();

	for (size_t p = 0; p < points; p++) {
		size_t first = report->n_samples * p / points, end = report->n_samples * (p + 1) / points;
		json_array_append_new(rows, point_json(&report->samples[first], end - first, against_ns));
	}
	return json_pack("{s:I, s:o}", "against_ns", (json_int_t)against_ns, "points", rows);
}
