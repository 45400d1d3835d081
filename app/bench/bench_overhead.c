// SPDX-License-Identifier: BSD-3-Clause
// Run the echo once per recorder and round, and compare the runs within a round.

#include "bench_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <tl_err.h>
#include <tl_log.h>

#include "bench_order.h"

// Variants; the first is the base of comparison.
static const struct tl_bench_variant variants[] = {
	{"no recording", .records = false},
	{"no recording, stages", .stages = true},
	{"tapline", .records = true},
	{"tapline, stages", .records = true, .stages = true},
	{"tapline, index", .records = true, .indexes = true},
	{"tcpdump", .tool = "tcpdump", .is_ready = "listening on"},
	{"dumpcap", .tool = "dumpcap", .is_ready = "Capturing on"},
};

// ---- all runs

static bool can_run(const struct tl_bench_variant *variant)
{
	return variant->tool == NULL || tl_bench_has(variant->tool);
}

static void choose(struct tl_bench *bench)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(variants); i++)
		if (can_run(&variants[i]))
			bench->variants[bench->n++] = &variants[i];
	bench->rounds = bench->cfg->rounds;
	if (bench->rounds == 0)
		bench->rounds = tl_bench_order_balanced(bench->n, tl_bench_rounds_needed(bench->n));
}

static int run_rounds(struct tl_bench *bench, struct tl_err *err)
{
	int rc = 0;

	for (unsigned round = 0; round < bench->rounds && rc == 0; round++) {
		for (unsigned place = 0; place < bench->n && rc == 0; place++) {
			unsigned index = tl_bench_order_at(bench->n, round, place);
			tl_info("round %u of %u: %s", round + 1, bench->rounds, bench->variants[index]->name);
			rc = tl_bench_run(bench, index, round, err);
		}
	}
	return rc;
}

// ---- the result

static const struct {
	const char *name, *stamps, *clock;
	enum tl_bench_phase phase;
	bool clients; // times measured by the client, subject to its verdict
} views[TL_BENCH_VIEWS] = {
	[TL_BENCH_RESIDENCE] = {"residence time", "tsc", "TSC", TL_BENCH_ALONE, false},
	[TL_BENCH_WIRE_ROUND_TRIP] = {"round trip on the wire", "kernel", "REALTIME", TL_BENCH_ALONE, true},
	[TL_BENCH_BACK_TO_BACK] = {"round trip on the wire, back to back", "kernel", "REALTIME", TL_BENCH_BURSTS, true},
	[TL_BENCH_ROUND_TRIP] = {"round trip", "user", "", TL_BENCH_ALONE, true},
};

static void add_facts(const struct tl_bench *bench, struct tl_latency *report)
{
	const struct tl_bench_overhead_cfg *cfg = bench->cfg;
	unsigned family = tl_bench_family(bench->n), needed = tl_bench_rounds_needed(bench->n);
	unsigned balanced = tl_bench_order_balanced(bench->n, bench->rounds);

	tl_latency_add_fact(report, "load", "%llu messages per second of %llu bytes, multicast in, TCP out",
		(unsigned long long)cfg->rate_pps, (unsigned long long)cfg->payload_bytes);
	tl_latency_add_fact(report, "rounds", "%u, of each variant %.10g s alone and %.10g s in bursts of %d",
		bench->rounds, cfg->seconds, cfg->seconds, TL_BENCH_BURST);
	tl_latency_add_fact(report, "order", "Williams design of %u variants; %s: %u rounds %s", bench->n,
		balanced == bench->rounds ? "balanced" : "not balanced", balanced,
		balanced == bench->rounds ? "are whole squares" : "would be");
	tl_latency_add_fact(report, "rows", "medians of the rounds; differences within rounds");
	tl_latency_add_fact(report, "intervals",
		"%u differences, each with %.2f %% confidence, all together with 95 %%; %s with %u rounds", family,
		100 * tl_bench_confidence(family),
		bench->rounds < needed ? "unbounded, they would be bounded" : "bounded",
		bench->rounds < needed ? needed : bench->rounds);
}

static void fill_view(
	const struct tl_bench *bench, enum tl_bench_view view, const char *const *names, struct tl_latency *report)
{
	const struct tl_bench_verdict *verdict = &bench->verdicts[views[view].phase];
	uint64_t bound_ns = views[view].clients ? TL_LATENCY_UNBOUNDED : 1;

	snprintf(report->name, sizeof(report->name), "cost of recording: %s", views[view].name);
	snprintf(report->method, sizeof(report->method), "software");
	tl_latency_set_sources(report, views[view].stamps, bound_ns, views[view].stamps, bound_ns);
	tl_latency_set_clocks(report, 1, views[view].clock, 1, views[view].clock);
	add_facts(bench, report);
	tl_bench_add_costs(report, bench->runs[view], names, bench->n, bench->rounds);
	for (size_t i = 0; i < TL_ARRAY_LEN(variants); i++)
		if (!can_run(&variants[i]))
			tl_latency_add_fact(report, variants[i].name, "not measured: it is not installed");
	if (bench->lost != 0)
		tl_latency_add_invalid(&report->invalid, "%llu echoes were lost", (unsigned long long)bench->lost);
	if (views[view].clients && verdict->invalid != 0)
		tl_latency_add_invalid(&report->invalid,
			"the client declared its times invalid in %u of %u runs, first: %s", verdict->invalid,
			verdict->runs, verdict->reason);
}

static void fill(const struct tl_bench *bench, struct tl_bench_result *result)
{
	result->variants = bench->n;
	result->rounds = bench->rounds;
	for (unsigned i = 0; i < bench->n; i++)
		result->names[i] = bench->variants[i]->name;
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS; view++)
		fill_view(bench, view, result->names, result->views[view]);
	for (enum tl_bench_view view = 0; view + 1 < TL_BENCH_VIEWS; view++)
		result->views[view]->also = result->views[view + 1];
	tl_bench_compare_means(
		bench->wire_all, bench->runs[TL_BENCH_RESIDENCE], bench->n, bench->rounds, &result->outside);
	tl_bench_compare_means(bench->wire_to_poll, NULL, bench->n, bench->rounds, &result->wire_to_poll);
}

int tl_bench_overhead(const struct tl_bench_overhead_cfg *cfg, struct tl_bench_result *result, struct tl_err *err)
{
	struct tl_bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	bench->cfg = cfg;
	choose(bench);
	int rc = tl_bench_rig_begin(&bench->rig, cfg->stop, err);
	if (rc == 0)
		rc = run_rounds(bench, err);
	tl_bench_rig_end(&bench->rig);
	if (rc == 0)
		fill(bench, result);
	free(bench);
	return rc;
}
