// SPDX-License-Identifier: BSD-3-Clause
// Clocks behind the stamps of a capture, and their comparisons.

#include "latency_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tl_json.h>
#include <tl_text.h>
#include <tl_units.h>

// Merge points: the one with the largest offset represents all, with their largest bound.
static struct tl_latency_clock_point worst_of(const struct tl_latency_clock_point *points, size_t n)
{
	struct tl_latency_clock_point out = points[0];

	for (size_t i = 1; i < n; i++) {
		struct tl_latency_clock_point next = points[i];
		next.bound_ns = tl_max_u64(next.bound_ns, out.bound_ns);
		next.stepped |= out.stepped;
		out.bound_ns = next.bound_ns;
		out.stepped = next.stepped;
		if (tl_magnitude(next.offset_ns) > tl_magnitude(out.offset_ns))
			out = next;
	}
	return out;
}

static struct tl_latency_clock *new_clock(
	struct tl_latency *report, const char *file, const char *clock, size_t n_points)
{
	struct tl_latency_clock *out = &report->clocks[report->n_clocks];

	*out = (struct tl_latency_clock){.n_points = n_points};
	out->points = calloc(n_points + 1, sizeof(*out->points));
	if (out->points == NULL)
		return NULL;
	snprintf(out->file, sizeof(out->file), "%s", file);
	snprintf(out->clock, sizeof(out->clock), "%s", clock);
	report->n_clocks++;
	return out;
}

int tl_latency_add_clock(struct tl_latency *report, const char *file, const char *clock, uint64_t bound_max_ns,
	const struct tl_latency_clock_point *points, size_t n)
{
	size_t each = n / TL_LATENCY_CLOCK_POINTS + 1;

	if (report->n_clocks == TL_LATENCY_CLOCKS)
		return -ENOSPC;
	struct tl_latency_clock *out = new_clock(report, file, clock, (n + each - 1) / each);
	if (out == NULL)
		return -ENOMEM;
	out->comparisons = n;
	out->bound_max_ns = bound_max_ns;
	for (size_t i = 0; i < n; i++) {
		out->steps += points[i].stepped;
		out->bound_max_ns = tl_max_u64(out->bound_max_ns, points[i].bound_ns);
		out->offset_max_ns = tl_max_u64(out->offset_max_ns, tl_magnitude(points[i].offset_ns));
	}
	for (size_t i = 0; i < out->n_points; i++)
		out->points[i] = worst_of(&points[i * each], tl_min_u64(each, n - i * each));
	return 0;
}

// ---- JSON

// Return a JSON string: a truncated name may be invalid UTF-8.
static json_t *text(const char *name)
{
	json_t *exact = json_string(name);

	return exact != NULL ? exact : json_string("?");
}

static json_t *point_json(const struct tl_latency_clock_point *point, uint64_t start_ns)
{
	return json_pack("[o, I, o, o, f, b]", tl_json_number(point->time_ns - start_ns), (json_int_t)point->offset_ns,
		tl_json_number(point->bound_ns), tl_json_number(point->half_ns), point->rate_hz, point->stepped);
}

static json_t *clock_json(const struct tl_latency_clock *clock)
{
	uint64_t start_ns = UINT64_MAX;
	json_t *points = json_array();

	for (size_t i = 0; i < clock->n_points; i++)
		start_ns = tl_min_u64(start_ns, clock->points[i].time_ns);
	for (size_t i = 0; i < clock->n_points; i++)
		json_array_append_new(points, point_json(&clock->points[i], start_ns));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file", text(clock->file), "clock",
		text(clock->clock), "comparisons", tl_json_number(clock->comparisons), "steps",
		tl_json_number(clock->steps), "bound_max_ns", tl_json_number(clock->bound_max_ns), "offset_max_ns",
		tl_json_number(clock->offset_max_ns), "start_ns", tl_json_number(clock->n_points != 0 ? start_ns : 0),
		"points", points);
}

json_t *tl_latency_clocks_json(const struct tl_latency *report)
{
	json_t *clocks = json_array();

	for (size_t i = 0; i < report->n_clocks; i++)
		json_array_append_new(clocks, clock_json(&report->clocks[i]));
	return clocks;
}

// Read a count from a file, which may have any number. False: not a count.
static bool get_count(const json_t *value, uint64_t *out)
{
	*out = json_is_integer(value) && json_integer_value(value) >= 0 ? (uint64_t)json_integer_value(value) : 0;
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool read_point(const json_t *row, uint64_t start_ns, struct tl_latency_clock_point *out)
{
	const json_t *offset = json_array_get(row, 1);
	bool ok = get_count(json_array_get(row, 0), &out->time_ns) && json_is_integer(offset) &&
		  get_count(json_array_get(row, 2), &out->bound_ns) && get_count(json_array_get(row, 3), &out->half_ns);

	out->time_ns += start_ns;
	out->offset_ns = json_integer_value(offset);
	out->rate_hz = json_number_value(json_array_get(row, 4));
	out->stepped = json_is_true(json_array_get(row, 5));
	return ok;
}

int tl_latency_clock_from_json(struct tl_latency *report, const json_t *row, struct tl_err *err)
{
	const char *file = json_string_value(json_object_get(row, "file"));
	const char *name = json_string_value(json_object_get(row, "clock"));
	const json_t *points = json_object_get(row, "points"), *point;
	struct tl_latency_clock *clock;
	uint64_t start_ns;
	size_t i;

	if (report->n_clocks == TL_LATENCY_CLOCKS || json_array_size(points) > TL_LATENCY_CLOCK_POINTS)
		return tl_fail(err, -EINVAL, "too many clocks, or points of a clock");
	clock = new_clock(report, file != NULL ? file : "", name != NULL ? name : "", json_array_size(points));
	if (clock == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	bool ok = get_count(json_object_get(row, "comparisons"), &clock->comparisons) &&
		  get_count(json_object_get(row, "steps"), &clock->steps) &&
		  get_count(json_object_get(row, "bound_max_ns"), &clock->bound_max_ns) &&
		  get_count(json_object_get(row, "offset_max_ns"), &clock->offset_max_ns) &&
		  get_count(json_object_get(row, "start_ns"), &start_ns);
	json_array_foreach (points, i, point)
		ok = ok && read_point(point, start_ns, &clock->points[i]);
	return ok ? 0 : tl_fail(err, -EINVAL, "a number is missing, or none");
}

// ---- text

void tl_latency_clocks_text(const struct tl_latency *report, FILE *out)
{
	char bound[32], offset[32], label[TL_LATENCY_NAME + 24];

	for (size_t i = 0; i < report->n_clocks; i++) {
		const struct tl_latency_clock *clock = &report->clocks[i];
		snprintf(label, sizeof(label), "clock %s, %s", clock->clock, clock->file);
		fprintf(out,
			"%-32s %" PRIu64 " comparisons, bound at most %s, found off by at most %s, %" PRIu64
			" step%s\n",
			TL_PRINTABLE(label), clock->comparisons,
			tl_format_ns(clock->bound_max_ns, bound, sizeof(bound)),
			tl_format_ns(clock->offset_max_ns, offset, sizeof(offset)), clock->steps,
			clock->steps == 1 ? "" : "s");
	}
}
