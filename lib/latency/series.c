// SPDX-License-Identifier: BSD-3-Clause
// The samples over time, as many points as a plot can show.

#include "latency_priv.h"

#define SERIES_POINTS 2000

const char *tl_latency_kept(const struct tl_latency *report)
{
	if (report->n_samples == report->latency.count)
		return "all";
	return report->n_samples == 0 ? "none" : report->samples_are_last ? "last" : "first";
}

json_t *tl_latency_series_json(const struct tl_latency *report)
{
	uint64_t start_ns = report->n_samples != 0 ? UINT64_MAX : 0;
	size_t points = tl_min_u64(report->n_samples, SERIES_POINTS);
	json_t *series = json_object(), *rows = json_array();

	for (size_t i = 0; i < report->n_samples; i++)
		start_ns = tl_min_u64(start_ns, report->samples[i].time_ns);
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
	json_object_set_new(series, "start_ns", json_integer((json_int_t)tl_min_u64(start_ns, INT64_MAX)));
	json_object_set_new(series, "samples", json_integer((json_int_t)report->n_samples));
	json_object_set_new(series, "kept", json_string(tl_latency_kept(report)));
	json_object_set_new(series, "points", rows);
	return series;
}
