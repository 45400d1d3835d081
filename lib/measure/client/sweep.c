// SPDX-License-Identifier: BSD-3-Clause
// Sweep: parser for its values, a run per value, and the results as JSON, as a table, and in the latency report.

#include "sweep_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tl_client.h>
#include <tl_units.h>

// ---- values

static int append(struct tl_client_sweep *sweep, uint64_t value)
{
	if (sweep->n == TL_CLIENT_POINTS)
		return -ERANGE;
	if (sweep->n > 0 && value <= sweep->at[sweep->n - 1])
		return -EINVAL;
	sweep->at[sweep->n++] = value;
	return 0;
}

// first:last:count
static int parse_range(char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep)
{
	char *rest = text;
	const char *first_text = strsep(&rest, ":"), *last_text = strsep(&rest, ":");
	uint64_t first, last, count;

	if (last_text == NULL || rest == NULL || tl_parse_u64(first_text, min, max, &first) != 0 ||
		tl_parse_u64(last_text, min, max, &last) != 0 || tl_parse_u64(rest, 2, TL_CLIENT_POINTS, &count) != 0 ||
		last <= first)
		return -EINVAL;
	for (uint64_t i = 0; i < count; i++) {
		int ret = append(sweep, first + (last - first) * i / (count - 1));
		if (ret != 0)
			return ret;
	}
	return 0;
}

int tl_client_sweep_parse(const char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep)
{
	char copy[1024], *rest = copy;

	sweep->n = 0;
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return -ERANGE;
	if (strchr(copy, ':') != NULL)
		return parse_range(copy, min, max, sweep);
	for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
		uint64_t value;
		int ret = tl_parse_u64(word, min, max, &value);
		if (ret == 0)
			ret = append(sweep, value);
		if (ret != 0)
			return ret;
	}
	return 0;
}

// ---- runs

struct tl_client_cfg tl_client_point(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, size_t i)
{
	struct tl_client_cfg one = *cfg;

	if (sweep->axis == TL_CLIENT_AXIS_PAYLOAD)
		one.payload_bytes = sweep->at[i];
	if (sweep->axis == TL_CLIENT_AXIS_RATE)
		one.rate_pps = sweep->at[i];
	one.seed = cfg->seed + i; // a late echo of one run is corrupt in the next
	return one;
}

static void report_point(const struct tl_client_hooks *hooks, const struct tl_client_cfg *cfg)
{
	if (hooks->progress != NULL && hooks->points > 0)
		hooks->progress(hooks->ctx, &(struct tl_client_progress){
						    .phase = TL_CLIENT_BEGINNING,
						    .point = hooks->point,
						    .points = hooks->points,
						    .payload_bytes = cfg->payload_bytes,
						    .rate_pps = cfg->rate_pps,
					    });
}

int tl_client_sweep_run(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep,
	const struct tl_client_hooks *hooks, struct tl_client_result *results, size_t *done, struct tl_err *err)
{
	struct tl_client_hooks its_hooks = *hooks;
	bool sweeps = sweep->axis != TL_CLIENT_AXIS_NONE;

	its_hooks.points = sweeps ? (uint32_t)sweep->n : 0;
	for (*done = 0; *done < sweep->n; ++*done) {
		const struct tl_client_cfg one = tl_client_point(cfg, sweep, *done);
		its_hooks.point = sweeps ? (uint32_t)*done + 1 : 0;
		report_point(&its_hooks, &one);
		int ret = tl_client_run(&one, &its_hooks, &results[*done], err);
		if (ret != 0)
			return sweeps ? tl_fail_at(err, ret, "point %zu of %zu", *done + 1, sweep->n) : ret;
		if (results[*done].interrupted) {
			++*done;
			break;
		}
	}
	return 0;
}

// ---- results

static const char *axis_name(const struct tl_client_sweep *sweep)
{
	return sweep->axis == TL_CLIENT_AXIS_PAYLOAD ? "payload_bytes" : "rate_pps";
}

static uint64_t value_at(const struct tl_client_sweep *sweep, const struct tl_client_result *result)
{
	return sweep->axis == TL_CLIENT_AXIS_PAYLOAD ? result->payload_bytes : result->asked_pps;
}

struct tl_latency_point tl_client_sweep_point(
	const struct tl_client_sweep *sweep, const struct tl_client_result *result)
{
	return (struct tl_latency_point){
		.axis = sweep->axis == TL_CLIENT_AXIS_PAYLOAD ? TL_LATENCY_PAYLOAD_BYTES : TL_LATENCY_RATE_PPS,
		.at = value_at(sweep, result),
		.latency = tl_client_best(result)->all,
	};
}

static struct tl_latency_fit fit_payloads(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count)
{
	struct tl_latency_point points[TL_CLIENT_POINTS];

	for (size_t i = 0; i < count; i++)
		points[i] = tl_client_sweep_point(sweep, &results[i]);
	return tl_latency_payload_fit(points, count);
}

const char *tl_client_reason(const struct tl_client_sweep *sweep, const struct tl_client_result *result, uint32_t k,
	char text[TL_CLIENT_REASON])
{
	if (sweep->axis == TL_CLIENT_AXIS_NONE)
		snprintf(text, TL_CLIENT_REASON, "%s", result->invalid.text[k]);
	else
		snprintf(text, TL_CLIENT_REASON, "%s %" PRIu64 ": %s", axis_name(sweep), value_at(sweep, result),
			result->invalid.text[k]);
	return text;
}

json_t *tl_client_sweep_json(const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count)
{
	const struct tl_latency_fit fit = fit_payloads(sweep, results, count);
	json_t *points = json_array(), *invalid = json_array();
	char text[TL_CLIENT_REASON];
	uint64_t sent = 0, received = 0, lost = 0;

	for (size_t i = 0; i < count; i++) {
		json_array_append_new(points, tl_client_result_json(&results[i]));
		for (uint32_t k = 0; k < results[i].invalid.n; k++)
			json_array_append_new(invalid, json_string(tl_client_reason(sweep, &results[i], k, text)));
		sent += results[i].sent;
		received += results[i].received;
		lost += results[i].lost;
	}
	bool valid = json_array_size(invalid) == 0;
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:b, s:o}", "sweep", axis_name(sweep), "best",
		tl_client_best_name(results), "points", points, "payload_fit", tl_latency_fit_json(&fit), "sent",
		(json_int_t)sent, "received", (json_int_t)received, "lost", (json_int_t)lost, "valid", valid, "invalid",
		invalid);
}

static void print_point(const struct tl_client_sweep *sweep, const struct tl_client_result *result, FILE *out)
{
	const struct tl_hist_summary *s = &tl_client_best(result)->all;
	const uint64_t values_ns[] = {s->min_ns, s->p50_ns, s->p90_ns, s->p99_ns, s->p999_ns, s->max_ns};
	char text[32];

	fprintf(out, "%13" PRIu64 " %10" PRIu64 " %6" PRIu64, value_at(sweep, result), result->received, result->lost);
	for (size_t i = 0; i < TL_ARRAY_LEN(values_ns); i++)
		fprintf(out, " %11s", s->count == 0 ? "-" : tl_format_ns(values_ns[i], text, sizeof(text)));
	const char *few = tl_latency_few_from(s->count);
	fprintf(out, "%s%s", few != NULL ? "  few from " : "", few != NULL ? few : "");
	fprintf(out, "%s\n", result->invalid.n == 0 ? "" : "  INVALID");
}

void tl_client_sweep_print(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count, FILE *out)
{
	const struct tl_latency_fit fit = fit_payloads(sweep, results, count);
	char text[TL_CLIENT_REASON];

	fprintf(out, "%13s %10s %6s %11s %11s %11s %11s %11s %11s\n", axis_name(sweep), "received", "lost", "min",
		"p50", "p90", "p99", "p99.9", "max");
	for (size_t i = 0; i < count; i++)
		print_point(sweep, &results[i], out);
	tl_latency_fit_print(out, &fit);
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < results[i].invalid.n; k++)
			fprintf(out, "INVALID: %s\n", tl_client_reason(sweep, &results[i], k, text));
	fprintf(out, "\nTimes are %s; stamps of departures: %s, of arrivals: %s.\n", tl_client_best_name(results),
		results->sources.departures, results->sources.arrivals);
}
