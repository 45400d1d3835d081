// SPDX-License-Identifier: BSD-3-Clause
// Parser of a report's JSON.

#include "latency_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

// Read a count: absent or null is 0, or `absent`; anything other than a count is rejected.
static int read_count(const json_t *object, const char *key, uint64_t absent, uint64_t *out, struct tl_err *err)
{
	const json_t *value = json_object_get(object, key);

	*out = absent;
	if (value == NULL || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return tl_fail(err, -EINVAL, "\"%s\" is not a whole number from 0", key);
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

static void read_text(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));
	snprintf(out, size, "%s", text != NULL ? text : "");
}

int tl_latency_summary_from_json(const json_t *object, struct tl_hist_summary *out, struct tl_err *err)
{
	const struct {
		const char *key;
		uint64_t *value;
	} fields[] = {{"count", &out->count}, {"min", &out->min_ns}, {"p50", &out->p50_ns}, {"p90", &out->p90_ns},
		{"p99", &out->p99_ns}, {"p999", &out->p999_ns}, {"max", &out->max_ns}};
	int rc = 0;

	*out = (struct tl_hist_summary){.mean_ns = json_number_value(json_object_get(object, "mean"))};
	if (out->mean_ns < 0 || out->mean_ns > (double)INT64_MAX)
		return tl_fail(err, -EINVAL, "\"mean\" is not a number from 0 to 2^63");
	for (size_t i = 0; i < TL_ARRAY_LEN(fields) && rc == 0; i++)
		rc = read_count(object, fields[i].key, 0, fields[i].value, err);
	return rc;
}

static int read_bucket(const json_t *pair, struct tl_hist *hist, struct tl_err *err)
{
	const json_t *value = json_array_get(pair, 0), *count = json_array_get(pair, 1);

	if (!json_is_integer(value) || !json_is_integer(count) || json_integer_value(value) < 0 ||
		json_integer_value(count) < 0)
		return tl_fail(err, -EINVAL, "an entry of \"histogram\" is not [value, count]");
	uint64_t n = (uint64_t)json_integer_value(count);
	if (n > INT64_MAX - hist->count)
		return tl_fail(err, -EINVAL, "the counts of \"histogram\" are too large");
	hist->bucket[tl_hist_index((uint64_t)json_integer_value(value))] += n;
	hist->count += n;
	return 0;
}

// Read a histogram. The summary beside the buckets has the exact values: min, max, sum. The count verifies that both
// belong together.
static int read_hist(const json_t *object, struct tl_hist *hist, struct tl_err *err)
{
	const json_t *summary = json_object_get(object, "latency_ns"), *pair;
	uint64_t count;
	size_t i;
	int rc = read_count(summary, "count", 0, &count, err);

	tl_hist_init(hist);
	json_array_foreach (json_object_get(object, "histogram"), i, pair) {
		if (rc == 0)
			rc = read_bucket(pair, hist, err);
	}
	if (rc == 0 && hist->count != count)
		rc = tl_fail(err, -EINVAL, "\"histogram\" holds %" PRIu64 " samples, \"latency_ns\" has %" PRIu64,
			hist->count, count);
	if (rc == 0)
		rc = read_count(summary, "min", UINT64_MAX, &hist->min_ns, err);
	if (rc == 0)
		rc = read_count(summary, "max", 0, &hist->max_ns, err);
	if (rc == 0)
		rc = read_count(summary, "sum", 0, &hist->sum_ns, err);
	if (rc == 0)
		rc = read_count(summary, "overflow", 0, &hist->overflow, err);
	if (rc == 0 && (hist->overflow > count || (count != 0 && hist->min_ns > hist->max_ns)))
		rc = tl_fail(err, -EINVAL, "\"latency_ns\" contradicts itself");
	return rc;
}

static int read_stage(struct tl_latency *report, const json_t *row, struct tl_err *err)
{
	char name[TL_LATENCY_NAME];

	read_text(row, "name", name, sizeof(name));
	struct tl_latency_stage *stage = tl_latency_stage(report, name);
	return stage != NULL ? read_hist(row, &stage->hist, err) : tl_fail(err, -ENOMEM, "too many stages");
}

static int read_point(struct tl_latency *report, const json_t *row, struct tl_err *err)
{
	struct tl_latency_point point = {.axis = TL_LATENCY_PAYLOAD_BYTES};

	if (json_object_get(row, tl_latency_axis_keys[TL_LATENCY_RATE_PPS]) != NULL)
		point.axis = TL_LATENCY_RATE_PPS;
	int rc = read_count(row, tl_latency_axis_keys[point.axis], 0, &point.at, err);
	if (rc == 0)
		rc = tl_latency_summary_from_json(json_object_get(row, "latency_ns"), &point.latency, err);
	if (rc == 0)
		tl_latency_add_point(report, &point);
	return rc;
}

static struct tl_latency_interval read_interval(const json_t *row, const char *key)
{
	const json_t *object = json_object_get(row, key);

	const json_t *low = json_object_get(object, "low"), *high = json_object_get(object, "high");

	return (struct tl_latency_interval){
		.diff_ns = json_number_value(json_object_get(object, "diff")),
		.low_ns = json_is_null(low) ? -INFINITY : json_number_value(low),
		.high_ns = json_is_null(high) ? INFINITY : json_number_value(high),
	};
}

static int read_cost(struct tl_latency *report, const json_t *row, struct tl_err *err)
{
	struct tl_latency_cost cost = {
		.p50 = read_interval(row, "p50_ns"),
		.p99 = read_interval(row, "p99_ns"),
		.p999 = read_interval(row, "p999_ns"),
	};

	read_text(row, "name", cost.name, sizeof(cost.name));
	int rc = tl_latency_summary_from_json(json_object_get(row, "latency_ns"), &cost.latency, err);
	if (rc == 0)
		tl_latency_add_cost(report, &cost);
	return rc;
}

static int read_outlier(struct tl_latency *report, const json_t *row, struct tl_err *err)
{
	struct tl_latency_outlier outlier;
	const struct {
		const char *key;
		uint64_t *value, absent;
	} fields[] = {{"time_ns", &outlier.sample.time_ns, 0}, {"latency_ns", &outlier.sample.latency_ns, 0},
		{"packet_id", &outlier.sample.packet_id, 0}, {"poll_gap_ns", &outlier.poll_gap_ns, UINT64_MAX},
		{"interrupts", &outlier.interrupts, UINT64_MAX}, {"steal_ns", &outlier.steal_ns, UINT64_MAX}};
	int rc = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(fields) && rc == 0; i++)
		rc = read_count(row, fields[i].key, fields[i].absent, fields[i].value, err);
	read_text(row, "note", outlier.note, sizeof(outlier.note));
	if (rc == 0)
		tl_latency_add_outlier(report, &outlier);
	return rc;
}

#define BLOCK_NUMBERS (2 + TL_LATENCY_LEVELS + 1)

static int read_block(struct tl_latency *report, const json_t *row, struct tl_err *err)
{
	struct tl_latency_block *block = &report->blocks.at[report->blocks.n];
	uint64_t values[BLOCK_NUMBERS] = {0};
	size_t n = json_array_size(row); // the last one is missing in older reports

	if (report->blocks.n == TL_LATENCY_BLOCKS || n > BLOCK_NUMBERS || n < BLOCK_NUMBERS - 1)
		return tl_fail(err, -EINVAL, "not %d numbers, or one row too many", BLOCK_NUMBERS);
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(row, i);
		uint64_t most = i == 0				   ? TL_LATENCY_ORDER_MAX
				: i == 1 || i == BLOCK_NUMBERS - 1 ? INT64_MAX
								   : values[0];
		values[i] = (uint64_t)json_integer_value(value); // a negative value becomes too large
		if (!json_is_integer(value) || values[i] > most || (i == 0 && values[i] == 0))
			return tl_fail(err, -EINVAL, "number %zu is out of range", i);
	}
	*block = (struct tl_latency_block){.n = values[0], .sum_ns = values[1], .lost = values[BLOCK_NUMBERS - 1]};
	memcpy(block->at_most, values + 2, sizeof(block->at_most));
	report->blocks.n++;
	return 0;
}

static int read_rows(struct tl_latency *report, const json_t *json, const char *key,
	int (*read_row)(struct tl_latency *, const json_t *, struct tl_err *), struct tl_err *err)
{
	const json_t *row;
	size_t i;
	int rc = 0;

	json_array_foreach (json_object_get(json, key), i, row) {
		if (rc == 0 && (rc = read_row(report, row, err)) != 0)
			tl_fail_at(err, rc, "%s[%zu]", key, i);
	}
	return rc;
}

static int read_cold(struct tl_latency *report, const json_t *value, struct tl_err *err)
{
	if (!json_is_integer(value) || report->cold_count == TL_LATENCY_COLD)
		return tl_fail(err, -EINVAL, "not a number, or one too many");
	report->cold_ns[report->cold_count++] = (uint64_t)json_integer_value(value);
	return 0;
}

static int read_invalid(struct tl_latency *report, const json_t *value, struct tl_err *err)
{
	if (!json_is_string(value))
		return tl_fail(err, -EINVAL, "not a sentence");
	tl_latency_add_invalid(&report->invalid, "%s", json_string_value(value));
	return 0;
}

static void read_texts(struct tl_latency *report, const json_t *json)
{
	const char *name;
	json_t *value;

	read_text(json, "name", report->name, sizeof(report->name));
	read_text(json, "method", report->method, sizeof(report->method));
	read_text(json, "clocks_shown", report->clocks_shown, sizeof(report->clocks_shown));
	json_object_foreach (json_object_get(json, "facts"), name, value) {
		if (json_is_string(value))
			tl_latency_add_fact(report, name, "%s", json_string_value(value));
	}
}

// Read the parts that do not follow from the histogram and the counts.
static int read_loss(struct tl_latency *report, const json_t *json, struct tl_err *err)
{
	const json_t *max_loss = json_object_get(json, "max_loss");
	const json_t *quantiles = json_object_get(json, "quantiles");
	uint64_t triggers = tl_min_u64(report->matched + report->unmatched_triggers, INT64_MAX), said;

	if (json_is_number(max_loss))
		report->max_loss = json_number_value(max_loss);
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		report->late[i] =
			json_is_true(json_object_get(json_object_get(quantiles, tl_latency_level_keys[i]), "late"));
	int rc = read_count(json, "window_ns", 0, &report->window_ns, err);
	if (rc == 0)
		rc = read_count(json, "triggers", triggers, &said, err);
	if (rc == 0 && said != triggers)
		rc = tl_fail(err, -EINVAL, "\"triggers\" are %" PRIu64 ", but %" PRIu64 " matched and unmatched ones",
			said, triggers);
	return rc;
}

// Read the parts that a comparison needs; skip those of the plot.
static int read_series(struct tl_latency *report, const json_t *series, struct tl_err *err)
{
	struct tl_latency_order *order = &report->order;
	uint64_t span_ns;
	int rc = read_count(series, "start_ns", 0, &order->first_ns, err);

	if (rc == 0)
		rc = read_count(series, "span_ns", 0, &span_ns, err);
	if (rc == 0)
		rc = read_count(series, "in_blocks", 0, &order->seen, err);
	if (rc == 0)
		order->last_ns = order->first_ns + span_ns;
	return rc != 0 ? rc : read_rows(report, series, "blocks", read_block, err);
}

static int read_source(const json_t *json, const char *side, struct tl_latency_source *out, struct tl_err *err)
{
	char key[4][32];

	snprintf(key[0], sizeof(key[0]), "%s_source", side);
	snprintf(key[1], sizeof(key[1]), "%s_unit_ns", side);
	snprintf(key[2], sizeof(key[2]), "%s_bound_ns", side);
	snprintf(key[3], sizeof(key[3]), "%s_bound_clock", side);
	read_text(json, key[0], out->name, sizeof(out->name));
	read_text(json, key[3], out->clock, sizeof(out->clock));
	out->has_bound = json_is_integer(json_object_get(json, key[2]));
	int rc = read_count(json, key[1], 0, &out->unit_ns, err);
	return rc == 0 ? read_count(json, key[2], 0, &out->bound_ns, err) : rc;
}

static int read_all(struct tl_latency *report, const json_t *json, struct tl_err *err)
{
	int rc = read_hist(json, &report->latency, err);

	read_texts(report, json);
	if (rc == 0)
		rc = read_source(json, "trigger", &report->trigger, err);
	if (rc == 0)
		rc = read_source(json, "reply", &report->reply, err);
	for (size_t i = 0; i < tl_latency_n_counters && rc == 0; i++)
		rc = read_count(json, tl_latency_counters[i].key, 0, tl_latency_counter_at(report, i), err);
	report->uncounted = json_object_get(json, "unmatched_triggers") == NULL;
	if (rc == 0)
		rc = read_series(report, json_object_get(json, "series"), err);
	if (rc == 0)
		rc = read_loss(report, json, err);
	if (rc == 0)
		rc = read_rows(report, json, "cold_ns", read_cold, err);
	if (rc == 0)
		rc = read_rows(report, json, "invalid", read_invalid, err);
	if (rc == 0)
		rc = read_rows(report, json, "clocks", tl_latency_clock_from_json, err);
	if (rc == 0)
		rc = read_rows(report, json, "stages", read_stage, err);
	if (rc == 0)
		rc = read_rows(report, json, "sweep", read_point, err);
	if (rc == 0)
		rc = read_count(json, "costs_family", 0, &report->costs_family, err);
	if (rc == 0)
		rc = read_rows(report, json, "costs", read_cost, err);
	if (rc == 0)
		rc = read_rows(report, json, "outliers", read_outlier, err);
	return rc;
}

int tl_latency_from_json(const json_t *json, struct tl_latency **out, struct tl_err *err)
{
	if (!json_is_array(json_object_get(json, "histogram")) || !json_is_object(json_object_get(json, "latency_ns")))
		return tl_fail(err, -EINVAL, "not a latency report: it lacks \"latency_ns\" or \"histogram\"");
	struct tl_latency *report = tl_latency_create();
	if (report == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = read_all(report, json, err);
	if (rc != 0) {
		tl_latency_destroy(report);
		return rc;
	}
	*out = report;
	return 0;
}
