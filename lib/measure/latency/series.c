// SPDX-License-Identifier: BSD-3-Clause
// Samples over time, as many points as a plot can show, and the blocks that intervals are computed from.

#include <tl_latency_dependence.h>

#include "latency_priv.h"

#define SERIES_POINTS 2000

const char *tl_latency_kept(const struct tl_latency *report)
{
	if (report->n_samples == report->latency.count)
		return "all";
	return report->n_samples == 0 ? "none" : report->samples_are_last ? "last" : "first";
}

static json_t *points_json(const struct tl_latency *report, uint64_t start_ns)
{
	size_t points = tl_min_u64(report->n_samples, SERIES_POINTS);
	json_t *rows = json_array();

	for (size_t p = 0; p < points; p++) {
		size_t first = report->n_samples * p / points, end = report->n_samples * (p + 1) / points;
		const struct tl_latency_sample *most = &report->samples[first];
		uint64_t least_ns = most->latency_ns;
		for (size_t i = first + 1; i < end; i++) {
			if (report->samples[i].latency_ns > most->latency_ns)
				most = &report->samples[i];
			least_ns = tl_min_u64(least_ns, report->samples[i].latency_ns);
		}
		json_array_append_new(rows,
			json_pack("[I,I,I,I,I]", (json_int_t)(most->time_ns - start_ns), (json_int_t)least_ns,
				(json_int_t)most->latency_ns, (json_int_t)(end - first), (json_int_t)most->packet_id));
	}
	return rows;
}

static json_t *blocks_json(const struct tl_latency *report)
{
	struct tl_latency_blocks blocks;
	json_t *rows = json_array();

	tl_latency_get_blocks(report, &blocks);
	for (size_t i = 0; i < blocks.n; i++) {
		json_t *row = json_pack("[I,I]", (json_int_t)blocks.at[i].n, (json_int_t)blocks.at[i].sum_ns);
		for (size_t level = 0; level < TL_LATENCY_LEVELS; level++)
			json_array_append_new(row, json_integer((json_int_t)blocks.at[i].at_most[level]));
		json_array_append_new(row, json_integer((json_int_t)blocks.at[i].lost));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *tl_latency_series_json(const struct tl_latency *report, uint64_t p50_ns)
{
	const struct tl_latency_order *order = &report->order;
	struct tl_latency_dependence dependence;
	json_t *series = json_object();

	json_object_set_new(series, "start_ns", json_integer((json_int_t)tl_min_u64(order->first_ns, INT64_MAX)));
	json_object_set_new(
		series, "span_ns", json_integer((json_int_t)tl_min_u64(order->last_ns - order->first_ns, INT64_MAX)));
	json_object_set_new(series, "samples", json_integer((json_int_t)report->n_samples));
	json_object_set_new(series, "kept", json_string(tl_latency_kept(report)));
	json_object_set_new(series, "points", points_json(report, order->first_ns));
	json_object_set_new(series, "in_blocks", json_integer((json_int_t)tl_min_u64(order->seen, INT64_MAX)));
	json_object_set_new(series, "blocks", blocks_json(report));
	tl_latency_depend(report, &dependence);
	json_object_set_new(series, "autocorrelation", tl_latency_autocorrelation_json(&dependence));
	json_object_set_new(series, "drift", tl_latency_drift_json(&dependence));
	json_object_set_new(series, "residuals", tl_latency_residuals_json(report, p50_ns));
	return series;
}
