// SPDX-License-Identifier: BSD-3-Clause
// Results of a sweep: as JSON, as a table, and in the latency report.

#include "sweep_priv.h"

#include <inttypes.h>
#include <string.h>

#include <tl_units.h>

struct tl_latency_fit tl_client_slope(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count)
{
	double x[TL_CLIENT_POINTS], y[TL_CLIENT_POINTS];
	size_t n = 0;

	for (size_t i = 0; i < count && sweep->axis == TL_CLIENT_AXIS_PAYLOAD; i++) {
		if (tl_client_best(&results[i])->count == 0)
			continue;
		x[n] = (double)results[i].payload_bytes;
		y[n++] = (double)tl_client_best(&results[i])->p50_ns;
	}
	return tl_latency_fit(x, y, n);
}

static json_t *slope_json(const struct tl_latency_fit *fit, const char *of)
{
	if (!fit->known)
		return json_null();
	return json_pack("{s:s, s:f, s:o, s:f, s:f}", "of", of, "ns_per_byte", fit->slope, "ns_per_byte_se",
		fit->slope_se < 0 ? json_null() : json_real(fit->slope_se), "at_0_bytes_ns", fit->base, "r2", fit->r2);
}

static const char *axis_name(const struct tl_client_sweep *sweep)
{
	return sweep->axis == TL_CLIENT_AXIS_PAYLOAD ? "payload_bytes" : "rate_pps";
}

static uint64_t value_at(const struct tl_client_sweep *sweep, const struct tl_client_result *result)
{
	return sweep->axis == TL_CLIENT_AXIS_PAYLOAD ? result->payload_bytes : result->asked_pps;
}

const char *tl_client_reason(const struct tl_client_sweep *sweep, const struct tl_client_result *result, uint32_t k,
	char text[TL_CLIENT_REASON])
{
	if (sweep->axis == TL_CLIENT_AXIS_NONE)
		snprintf(text, TL_CLIENT_REASON, "%s", result->invalid[k]);
	else
		snprintf(text, TL_CLIENT_REASON, "%s %" PRIu64 ": %s", axis_name(sweep), value_at(sweep, result),
			result->invalid[k]);
	return text;
}

json_t *tl_client_sweep_json(const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count)
{
	const struct tl_latency_fit fit = tl_client_slope(sweep, results, count);
	json_t *points = json_array(), *invalid = json_array();
	char text[TL_CLIENT_REASON];
	uint64_t sent = 0, received = 0, lost = 0;

	for (size_t i = 0; i < count; i++) {
		json_array_append_new(points, tl_client_result_json(&results[i]));
		for (uint32_t k = 0; k < results[i].n_invalid; k++)
			json_array_append_new(invalid, json_string(tl_client_reason(sweep, &results[i], k, text)));
		sent += results[i].sent;
		received += results[i].received;
		lost += results[i].lost;
	}
	bool valid = json_array_size(invalid) == 0;
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:b, s:o}", "sweep", axis_name(sweep), "points", points,
		"slope", slope_json(&fit, tl_client_best_name(results)), "sent", (json_int_t)sent, "received",
		(json_int_t)received, "lost", (json_int_t)lost, "valid", valid, "invalid", invalid);
}

static void print_point(const struct tl_client_sweep *sweep, const struct tl_client_result *result, FILE *out)
{
	const struct tl_hist_summary *s = tl_client_best(result);
	const uint64_t values_ns[] = {s->min_ns, s->p50_ns, s->p90_ns, s->p99_ns, s->p999_ns, s->max_ns};
	char text[32];

	fprintf(out, "%13" PRIu64 " %10" PRIu64 " %6" PRIu64, value_at(sweep, result), result->received, result->lost);
	for (size_t i = 0; i < TL_ARRAY_LEN(values_ns); i++)
		fprintf(out, " %11s", s->count == 0 ? "-" : tl_format_ns(values_ns[i], text, sizeof(text)));
	const char *few = tl_latency_few_from(s->count);
	fprintf(out, "%s%s", few != NULL ? "  few from " : "", few != NULL ? few : "");
	fprintf(out, "%s\n", result->n_invalid == 0 ? "" : "  INVALID");
}

void tl_client_sweep_print(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count, FILE *out)
{
	const struct tl_latency_fit fit = tl_client_slope(sweep, results, count);
	char text[TL_CLIENT_REASON];

	fprintf(out, "%13s %10s %6s %11s %11s %11s %11s %11s %11s\n", axis_name(sweep), "received", "lost", "min",
		"p50", "p90", "p99", "p99.9", "max");
	for (size_t i = 0; i < count; i++)
		print_point(sweep, &results[i], out);
	if (fit.known)
		fprintf(out, "\np50 = %.0f ns + %.3f ns per byte (r2 %.4f", fit.base, fit.slope, fit.r2);
	if (fit.known && fit.slope_se >= 0)
		fprintf(out, ", standard error of the slope %.3f", fit.slope_se);
	fprintf(out, "%s\n", fit.known ? ")" : "");
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < results[i].n_invalid; k++)
			fprintf(out, "INVALID: %s\n", tl_client_reason(sweep, &results[i], k, text));
	fprintf(out, "\nTimes are %s; stamps of departures: %s, of arrivals: %s.\n", tl_client_best_name(results),
		results->sources.departures, results->sources.arrivals);
}
