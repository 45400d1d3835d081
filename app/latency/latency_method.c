// SPDX-License-Identifier: BSD-3-Clause
// Name the method by which a pair of stamps was measured, and the clocks involved. Claim nothing that the files do not
// show.

#include "latency_source.h"

#include <stdio.h>
#include <string.h>

#include <tl_latency_drift.h>
#include <tl_text.h>
#include <tl_units.h>

static bool is(const struct tl_latency_origin *origin, const char *source)
{
	return strcmp(origin->source, source) == 0;
}

// Check whether all frames were received, by their directions or by a source that stamps received frames only.
static bool is_received(const struct tl_latency_origin *origin)
{
	return origin->seen && (!origin->undirected || is(origin, "nic-rx"));
}

static bool is_one_device(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply)
{
	return trigger->seen && reply->seen && !trigger->several && !reply->several &&
	       strcmp(trigger->device, reply->device) == 0;
}

static const char *directions(bool received)
{
	return received ? "each frame was received" : "no evidence that each frame was received";
}

// Return the error of one stamp: at least a unit, and the bound of its clock if known.
static uint64_t stamp_bound_ns(const struct tl_latency_origin *origin, const struct tl_latency_source *source)
{
	uint64_t unit_ns = tl_latency_origin_unit_ns(origin);

	return source->has_bound ? tl_max_u64(unit_ns, source->bound_ns) : unit_ns;
}

// Check whether the clocks run alike. Replies before their triggers are not latencies, and prove two different clocks.
static bool runs_alike(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply,
	const struct tl_latency *report, struct tl_latency_drift *drift)
{
	uint64_t bounds_ns = stamp_bound_ns(trigger, &report->trigger) + stamp_bound_ns(reply, &report->reply);

	tl_latency_drift(report->samples, report->n_samples, bounds_ns, drift);
	if (drift->verdict == TL_LATENCY_DRIFT_FLAT && report->n_samples != report->latency.count)
		drift->verdict = TL_LATENCY_DRIFT_UNKNOWN; // the samples do not reach to the end
	if (report->reply_first != 0)
		drift->verdict = TL_LATENCY_DRIFT_MOVES;
	return drift->verdict == TL_LATENCY_DRIFT_FLAT;
}

static void print_drift(
	struct tl_latency *report, const char *of, const struct tl_latency_drift *drift, const char *directed)
{
	char moves[32], span[32];

	tl_format_ns(drift->moves_ns, moves, sizeof(moves));
	tl_format_ns(drift->span_ns, span, sizeof(span));
	if (drift->verdict == TL_LATENCY_DRIFT_FLAT)
		snprintf(report->clocks_shown, sizeof(report->clocks_shown),
			"of %s, which run alike: the least latency moves by %s in %s, and a drift from %.3g ppm on would "
			"show; a constant difference would not; %s",
			of, moves, span, drift->seen_ppm, directed);
	else if (report->reply_first != 0)
		snprintf(report->clocks_shown, sizeof(report->clocks_shown),
			"of %s, which differ: replies are stamped before their triggers; %s", of, directed);
	else if (drift->verdict == TL_LATENCY_DRIFT_MOVES)
		snprintf(report->clocks_shown, sizeof(report->clocks_shown),
			"of %s, not shown to be one: the least latency moves by %s in %s; %s", of, moves, span,
			directed);
	else
		snprintf(report->clocks_shown, sizeof(report->clocks_shown),
			"of %s, not shown to be one: %zu pairs in %s are too few, or too short, to see a drift of %g ppm; %s",
			of, report->n_samples, span, TL_LATENCY_DRIFT_PPM, directed);
}

// Fill clocks_shown. Return true if two receive stamps of one clock are shown. The files may come from the measured
// host, which stamps its sent frames, too.
static bool is_two_port(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply, unsigned files,
	struct tl_latency *report)
{
	bool received = is_received(trigger) && is_received(reply);
	struct tl_latency_drift drift;

	if (files == 1 && is_one_device(trigger, reply)) {
		snprintf(report->clocks_shown, sizeof(report->clocks_shown), "one, of %s; %s",
			TL_PRINTABLE(trigger->device), directions(received));
		return received;
	}
	bool alike = runs_alike(trigger, reply, report, &drift);
	print_drift(report, files == 1 ? "several interfaces" : "two files", &drift, directions(received));
	return alike && received;
}

void tl_latency_name_method(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply,
	unsigned files, struct tl_latency *report)
{
	const struct tl_latency_origin *both[] = {trigger, reply};
	bool software = false, probe = false, sent = false, two_port = is_two_port(trigger, reply, files, report);

	for (size_t i = 0; i < TL_ARRAY_LEN(both); i++) {
		software |= is(both[i], "tsc") || is(both[i], "kernel") || is(both[i], "mixed");
		probe |= is(both[i], "nic-ptp");
		sent |= both[i]->sent || is(both[i], "nic-tx");
	}
	snprintf(report->method, sizeof(report->method), "%s",
		software   ? "software"
		: probe	   ? "probe"
		: sent	   ? "rx-tx"
		: two_port ? "two-port"
			   : "unknown");
}
