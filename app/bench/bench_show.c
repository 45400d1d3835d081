// SPDX-License-Identifier: BSD-3-Clause
// Show the order of the runs, the views, and the means.

#include "bench_show.h"

#include "bench_order.h"

static const char *const view_keys[TL_BENCH_VIEWS] = {
	[TL_BENCH_RESIDENCE] = "residence",
	[TL_BENCH_WIRE_ROUND_TRIP] = "wire_round_trip",
	[TL_BENCH_BACK_TO_BACK] = "back_to_back",
	[TL_BENCH_ROUND_TRIP] = "round_trip",
};

static const char outside_is[] = "outside the appliance: mean round trip on the wire minus mean residence";
static const char outside_has[] = "the wait for the poll, the send call, and the wire";
static const char no_wire_to_poll[] =
	"its port does not stamp arriving frames (a kernel interface does with DPDK 24.11 or newer); the times "
	"outside the appliance contain that wait";
static const char wire_to_poll_is[] = "wire to poll: from a frame's stamp to the poll, as the appliance measures it";

// ---- text

static void print_mean(const struct tl_bench_result *result, const struct tl_bench_means *means, unsigned i, FILE *out)
{
	const struct tl_bench_mean *row = &means->rows[i];

	fprintf(out, "%-32s %12.0f ns", result->names[i], row->mean_ns);
	if (i != means->base)
		tl_latency_interval_text(&row->diff, out);
	fputc('\n', out);
}

static void print_means(const struct tl_bench_result *result, const struct tl_bench_means *means, FILE *out)
{
	if (means->family != 0)
		fprintf(out,
			"%-32s %15s  difference to %s, ns, with intervals that hold all %u together with 95 %% confidence\n",
			"", "mean", result->names[means->base], means->family);
	for (unsigned i = 0; i < result->variants; i++)
		if (means->rows[i].known)
			print_mean(result, means, i, out);
}

static bool is_known(const struct tl_bench_result *result, const struct tl_bench_means *means)
{
	for (unsigned i = 0; i < result->variants; i++)
		if (means->rows[i].known)
			return true;
	return false;
}

// Print the facts once: those of all views are the same, except the host's.
static void print_facts(const struct tl_latency *report, FILE *out)
{
	for (size_t i = 0; i < report->n_facts; i++)
		fprintf(out, "%-32s %s\n", report->facts[i].name, report->facts[i].value);
}

int tl_bench_print(const struct tl_bench_result *result, FILE *out)
{
	int rc = 0;

	print_facts(result->views[0], out);
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS && rc == 0; view++) {
		fputc('\n', out);
		rc = tl_latency_text(result->views[view], out);
	}
	fprintf(out, "\n%s:\n%s%s\n", outside_is, outside_has,
		result->views[TL_BENCH_WIRE_ROUND_TRIP]->invalid.n != 0 ? "; invalid, as those round trips are" : "");
	print_means(result, &result->outside, out);
	if (is_known(result, &result->wire_to_poll)) {
		fprintf(out, "\n%s\n", wire_to_poll_is);
		print_means(result, &result->wire_to_poll, out);
	} else {
		fprintf(out, "\nwire to poll is not measured by the appliance itself: %s\n", no_wire_to_poll);
	}
	return rc;
}

// ---- JSON

static json_t *sequence_json(unsigned variants, unsigned round)
{
	json_t *sequence = json_array();

	for (unsigned place = 0; place < variants; place++)
		json_array_append_new(sequence, json_integer(tl_bench_order_at(variants, round, place)));
	return sequence;
}

static json_t *order_json(const struct tl_bench_result *result)
{
	unsigned balanced = tl_bench_order_balanced(result->variants, result->rounds);
	json_t *names = json_array(), *sequences = json_array();

	for (unsigned i = 0; i < result->variants; i++)
		json_array_append_new(names, json_string(result->names[i]));
	for (unsigned round = 0; round < result->rounds; round++)
		json_array_append_new(sequences, sequence_json(result->variants, round));
	return json_pack("{s:s, s:o, s:i, s:b, s:i, s:i, s:o}", "design", "Williams", "variants", names, "rounds",
		(int)result->rounds, "balanced", balanced == result->rounds, "balanced_rounds", (int)balanced,
		"bounded_rounds", (int)tl_bench_rounds_needed(result->variants), "sequences", sequences);
}

static json_t *mean_json(const struct tl_bench_result *result, const struct tl_bench_means *means, unsigned i)
{
	const struct tl_bench_mean *row = &means->rows[i];

	return json_pack("{s:s, s:f, s:o}", "name", result->names[i], "mean_ns", row->mean_ns, "diff_ns",
		tl_latency_interval_json(&row->diff));
}

// Return the means; null if no variant has them.
static json_t *means_json(
	const struct tl_bench_result *result, const struct tl_bench_means *means, const char *what, bool valid)
{
	json_t *rows = json_array();

	if (!is_known(result, means)) {
		json_decref(rows);
		return json_null();
	}
	for (unsigned i = 0; i < result->variants; i++)
		if (means->rows[i].known)
			json_array_append_new(rows, mean_json(result, means, i));
	return json_pack("{s:s, s:b, s:i, s:o}", "what", what, "valid", valid, "costs_family", (int)means->family,
		"means", rows);
}

json_t *tl_bench_json(const struct tl_bench_result *result)
{
	json_t *json = json_object();

	json_object_set_new(json, "order", order_json(result));
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS; view++)
		json_object_set_new(json, view_keys[view], tl_latency_json(result->views[view]));
	json_object_set_new(json, "outside",
		means_json(
			result, &result->outside, outside_is, result->views[TL_BENCH_WIRE_ROUND_TRIP]->invalid.n == 0));
	json_object_set_new(json, "wire_to_poll_missing",
		is_known(result, &result->wire_to_poll) ? json_null() : json_string(no_wire_to_poll));
	json_object_set_new(json, "wire_to_poll", means_json(result, &result->wire_to_poll, wire_to_poll_is, true));
	return json;
}
