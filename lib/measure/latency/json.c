// SPDX-License-Identifier: BSD-3-Clause
// Report as JSON.

#include "latency_priv.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <tl_json.h>
#include <tl_report.h>

const struct tl_latency_counter tl_latency_counters[] = {
	{"matched", "matched", offsetof(struct tl_latency, matched)},
	{"unmatched_triggers", "unmatched triggers", offsetof(struct tl_latency, unmatched_triggers)},
	{"unmatched_replies", "unmatched replies", offsetof(struct tl_latency, unmatched_replies)},
	{"ambiguous", "ambiguous", offsetof(struct tl_latency, ambiguous)},
	{"duplicates", "duplicates", offsetof(struct tl_latency, duplicates)},
	{"unstamped", "without a stamp", offsetof(struct tl_latency, unstamped)},
	{"reply_first", "reply before trigger", offsetof(struct tl_latency, reply_first)},
	{"subtracted_ns", "subtracted, ns", offsetof(struct tl_latency, subtracted_ns)},
};
const size_t tl_latency_n_counters = TL_ARRAY_LEN(tl_latency_counters);

const char *const tl_latency_axis_keys[] = {
	[TL_LATENCY_PAYLOAD_BYTES] = "payload_bytes",
	[TL_LATENCY_RATE_PPS] = "rate_pps",
};

uint64_t *tl_latency_counter_at(struct tl_latency *report, size_t index)
{
	return (uint64_t *)((char *)report + tl_latency_counters[index].offset);
}

uint64_t tl_latency_counter_read(const struct tl_latency *report, size_t index)
{
	return *(const uint64_t *)((const char *)report + tl_latency_counters[index].offset);
}

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *number_or_null(uint64_t value)
{
	return value == UINT64_MAX ? json_null() : tl_json_number(value);
}

static json_t *hist_summary_json(const struct tl_hist *hist)
{
	struct tl_hist_summary summary;

	tl_hist_summarize(hist, &summary);
	json_t *object = tl_report_hist_json(&summary);
	put(object, "sum", tl_json_number(hist->sum_ns));
	put(object, "overflow", tl_json_number(hist->overflow));
	return object;
}

static json_t *latency_json(const struct tl_latency *report, const struct tl_hist_summary *summary, bool exact)
{
	json_t *object = tl_report_hist_json(summary);

	put(object, "sum", tl_json_number(report->latency.sum_ns));
	put(object, "overflow", tl_json_number(report->latency.overflow));
	put(object, "exact", json_boolean(exact));
	return object;
}

// Format a quantile: null if it falls on a missing reply, above the window.
static json_t *level_json(const struct tl_latency_level *level)
{
	bool never = level->with_loss_ns == TL_LATENCY_NEVER, none = level->samples == 0;

	return json_pack("{s:o, s:o, s:b, s:I, s:b, s:b, s:o, s:o, s:o}", "ns", tl_json_number_if(!none, level->ns),
		"with_loss_ns", tl_json_number_if(!never && !none, level->with_loss_ns), "above_window", never,
		"beyond", (json_int_t)level->beyond, "few", level->few, "late", level->late, "low_ns",
		number_or_null(level->low_ns), "high_ns", number_or_null(level->high_ns), "effective",
		level->effective > 0 ? json_real(level->effective) : json_null());
}

json_t *tl_latency_levels_json(const struct tl_latency_level levels[TL_LATENCY_LEVELS])
{
	json_t *object = json_object();

	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		put(object, tl_latency_level_keys[i], level_json(&levels[i]));
	return object;
}

static json_t *quantiles_json(const struct tl_latency *report)
{
	struct tl_latency_level levels[TL_LATENCY_LEVELS];

	tl_latency_levels(report, levels);
	return tl_latency_levels_json(levels);
}

// Add the trigger side of the identity, with the names of losses.
static void put_loss(json_t *object, const struct tl_latency *report)
{
	put(object, "triggers", tl_json_number(report->matched + report->unmatched_triggers));
	put(object, "answered", tl_json_number(report->matched));
	put(object, "unanswered", tl_json_number(report->unmatched_triggers));
	put(object, "window_ns", tl_json_number_if(report->window_ns != 0, report->window_ns));
	put(object, "max_loss", report->max_loss < 0 ? json_null() : json_real(report->max_loss));
}

// Return the buckets that are not empty: [largest value in it, count].
static json_t *buckets_json(const struct tl_hist *hist)
{
	json_t *buckets = json_array();

	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		if (hist->bucket[i] == 0)
			continue;
		json_t *pair = json_array();
		json_array_append_new(pair, tl_json_number(tl_hist_upper_ns(i)));
		json_array_append_new(pair, tl_json_number(hist->bucket[i]));
		json_array_append_new(buckets, pair);
	}
	return buckets;
}

static json_t *stages_json(const struct tl_latency *report)
{
	json_t *stages = json_array();

	for (size_t i = 0; i < report->n_stages; i++) {
		json_t *stage = json_object();
		put(stage, "name", tl_json_string(report->stages[i]->name));
		put(stage, "latency_ns", hist_summary_json(&report->stages[i]->hist));
		put(stage, "histogram", buckets_json(&report->stages[i]->hist));
		json_array_append_new(stages, stage);
	}
	return stages;
}

static json_t *points_json(const struct tl_latency *report)
{
	json_t *points = json_array();

	for (size_t i = 0; i < report->n_points; i++) {
		json_t *point = json_object();
		put(point, tl_latency_axis_keys[report->points[i].axis], tl_json_number(report->points[i].at));
		put(point, "latency_ns", tl_report_hist_json(&report->points[i].latency));
		json_array_append_new(points, point);
	}
	return points;
}

json_t *tl_latency_fit_json(const struct tl_latency_fit *fit)
{
	if (!fit->known)
		return json_null();
	return json_pack("{s:f, s:f, s:o, s:f}", "p50_at_0_bytes_ns", fit->base, "ns_per_byte", fit->slope,
		"ns_per_byte_se", fit->slope_se < 0 ? json_null() : json_real(fit->slope_se), "r2", fit->r2);
}

// Return null for infinity, which JSON lacks: unbounded.
json_t *tl_latency_real_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *tl_latency_interval_json(const struct tl_latency_interval *interval)
{
	return json_pack("{s:f, s:o, s:o}", "diff", interval->diff_ns, "low", tl_latency_real_json(interval->low_ns),
		"high", tl_latency_real_json(interval->high_ns));
}

static json_t *costs_json(const struct tl_latency *report)
{
	json_t *costs = json_array();

	for (size_t i = 0; i < report->n_costs; i++) {
		const struct tl_latency_cost *cost = &report->costs[i];
		json_t *row = json_object();
		put(row, "name", tl_json_string(cost->name));
		put(row, "latency_ns", tl_report_hist_json(&cost->latency));
		put(row, "p50_ns", tl_latency_interval_json(&cost->p50));
		put(row, "p99_ns", tl_latency_interval_json(&cost->p99));
		put(row, "p999_ns", tl_latency_interval_json(&cost->p999));
		json_array_append_new(costs, row);
	}
	return costs;
}

static json_t *outliers_json(const struct tl_latency *report)
{
	json_t *outliers = json_array();

	for (size_t i = 0; i < report->n_outliers; i++) {
		const struct tl_latency_outlier *outlier = &report->outliers[i];
		json_t *row = json_object();
		put(row, "time_ns", tl_json_number(outlier->sample.time_ns));
		put(row, "latency_ns", tl_json_number(outlier->sample.latency_ns));
		put(row, "packet_id", tl_json_number(outlier->sample.packet_id));
		put(row, "poll_gap_ns", number_or_null(outlier->poll_gap_ns));
		put(row, "interrupts", number_or_null(outlier->interrupts));
		put(row, "steal_ns", number_or_null(outlier->steal_ns));
		put(row, "note", tl_json_string(outlier->note));
		json_array_append_new(outliers, row);
	}
	return outliers;
}

// Add SIDE_source, SIDE_unit_ns, SIDE_bound_ns and SIDE_bound_clock; unknown values are null.
static void put_source(json_t *object, const char *side, const struct tl_latency_source *source)
{
	bool has_clock = source->has_bound && source->clock[0] != '\0';
	const struct {
		const char *name;
		json_t *value;
	} keys[] = {{"source", tl_json_string(source->name)},
		{"unit_ns", tl_json_number_if(source->unit_ns != 0, source->unit_ns)},
		{"bound_ns", tl_json_number_if(source->has_bound, source->bound_ns)},
		{"bound_clock", has_clock ? tl_json_string(source->clock) : json_null()}};
	char key[32];

	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
		snprintf(key, sizeof(key), "%s_%s", side, keys[i].name);
		put(object, key, keys[i].value);
	}
}

static void put_sources(json_t *object, const struct tl_latency *report)
{
	bool one = strcmp(report->trigger.name, report->reply.name) == 0;

	put(object, "method", tl_json_string(report->method));
	put(object, "clocks_shown", tl_json_string(report->clocks_shown));
	put(object, "source",
		one ? tl_json_string(report->trigger.name)
		    : json_sprintf("%s to %s", report->trigger.name, report->reply.name));
	put_source(object, "trigger", &report->trigger);
	put_source(object, "reply", &report->reply);
}

void tl_latency_put_invalid(json_t *json, const struct tl_latency_reasons *invalid)
{
	json_t *list = json_array();

	for (size_t i = 0; i < invalid->n; i++)
		json_array_append_new(list, tl_json_string(invalid->text[i]));
	put(json, "valid", json_boolean(invalid->n == 0));
	put(json, "invalid", list);
}

static void put_texts(json_t *object, const struct tl_latency *report)
{
	json_t *facts = json_object();

	for (size_t i = 0; i < report->n_facts; i++)
		put(facts, report->facts[i].name, tl_json_string(report->facts[i].value));
	tl_latency_put_invalid(object, &report->invalid);
	put(object, "facts", facts);
}

// Return doubtful figures: one wrong pair can be the minimum or the maximum, and shift the mean by any amount.
static json_t *doubtful_json(const struct tl_latency *report)
{
	return report->ambiguous != 0 ? json_pack("[s,s,s]", "min", "max", "mean") : json_array();
}

json_t *tl_latency_json(const struct tl_latency *report)
{
	const struct tl_latency_fit fit = tl_latency_payload_fit(report->points, report->n_points);
	json_t *object = json_object(), *cold = json_array();
	struct tl_hist_summary summary;
	bool exact = tl_latency_summarize(report, &summary);

	put(object, "schema", json_string(TL_LATENCY_SCHEMA));
	put(object, "manifest", report->manifest != NULL ? json_incref(report->manifest) : json_null());
	put(object, "name", tl_json_string(report->name));
	put_sources(object, report);
	for (size_t i = 0; i < tl_latency_n_counters; i++)
		put(object, tl_latency_counters[i].key, tl_json_number(tl_latency_counter_read(report, i)));
	put_loss(object, report);
	put(object, "latency_ns", latency_json(report, &summary, exact));
	put(object, "quantiles", quantiles_json(report));
	put(object, "doubtful", doubtful_json(report));
	for (size_t i = 0; i < report->cold_count; i++)
		json_array_append_new(cold, tl_json_number(report->cold_ns[i]));
	put(object, "cold_ns", cold);
	put_texts(object, report);
	put(object, "clocks", tl_latency_clocks_json(report));
	put(object, "stages", stages_json(report));
	put(object, "sweep", points_json(report));
	put(object, "payload_fit", tl_latency_fit_json(&fit));
	put(object, "costs", costs_json(report));
	put(object, "costs_family", tl_json_number(report->costs_family));
	put(object, "outliers", outliers_json(report));
	put(object, "series", tl_latency_series_json(report, summary.p50_ns));
	put(object, "histogram", buckets_json(&report->latency));
	return object;
}

// Encode one line per member: long lists stay on one line. Return 0, or -1.
static int encode_lines(const json_t *json, FILE *out)
{
	const char *before = "{\n", *key;
	json_t *value;
	int rc = 0;

	json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
		fprintf(out, "%s  \"%s\": ", before, key);
		rc |= json_dumpf(value, out, JSON_ENCODE_ANY | TL_LATENCY_DIGITS);
		before = ",\n";
	}
	rc |= fputs("\n}\n", out) < 0;
	return rc != 0 || ferror(out) != 0 ? -1 : 0;
}

// Print all of it, or nothing if memory runs out.
int tl_latency_json_print(const json_t *json, FILE *out)
{
	char *text = NULL;
	size_t chars = 0;
	FILE *lines = tl_json_check(json) == 0 ? open_memstream(&text, &chars) : NULL;
	int rc = lines != NULL ? encode_lines(json, lines) : -1;

	if (lines != NULL && fclose(lines) != 0)
		rc = -1;
	if (rc == 0)
		rc = fwrite(text, 1, chars, out) == chars && fflush(out) == 0 ? 0 : -EIO;
	else
		rc = -ENOMEM;
	free(text);
	return rc;
}
