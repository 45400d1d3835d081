// SPDX-License-Identifier: BSD-3-Clause
// Client results in the latency report.

#include "sweep_priv.h"

#include <inttypes.h>
#include <string.h>

static void add_counts(struct tl_latency *report, const struct tl_client_result *result)
{
	const struct tl_client_stamp_counts *stamps = &result->stamps;

	report->unmatched_triggers += result->lost;
	report->unmatched_replies += result->corrupt;
	report->duplicates += result->duplicates;
	report->unstamped += stamps->tx_missing + stamps->rx_missing + stamps->rx_shared;
	report->reply_first += stamps->reply_first;
	report->matched += stamps->reply_first;
}

// Add the cold echoes: the listed ones, and among them those with a time.
static void add_cold(struct tl_latency *report, const struct tl_client_result *result)
{
	bool wire = result->timestamps != TL_CLIENT_STAMPS_USER;

	for (uint64_t i = 0; i < tl_min_u64(result->cold_count, TL_CLIENT_COLD_LISTED); i++) {
		uint64_t cold_ns = wire ? result->cold[i].wire_rtt_ns : result->cold[i].rtt_ns;
		if (cold_ns == 0 || report->cold_count == TL_LATENCY_COLD)
			continue;
		report->cold_ns[report->cold_count++] = cold_ns;
		report->matched++;
	}
}

// Add the losses. A sweep has the marks of all its runs, and the shortest window.
static void add_loss(struct tl_latency *report, const struct tl_client_result *results, size_t n)
{
	report->max_loss = results->max_loss;
	report->window_ns = results->window_ns;
	for (size_t i = 0; i < n; i++) {
		report->window_ns = tl_min_u64(report->window_ns, results[i].window_ns);
		for (size_t k = 0; k < TL_LATENCY_LEVELS; k++)
			report->late[k] |= tl_client_best(&results[i])->levels[k].late;
	}
}

// Add the facts. The parameter of a sweep is in its points.
static void add_facts(struct tl_latency *report, enum tl_client_axis axis, const struct tl_client_result *result)
{
	tl_latency_add_fact(report, "transport", "%s", result->sources.transport);
	tl_latency_add_fact(report, "mode", "%s", tl_client_mode_name(result->mode));
	if (axis != TL_CLIENT_AXIS_PAYLOAD)
		tl_latency_add_fact(report, "payload_bytes", "%" PRIu64, result->payload_bytes);
	if (result->burst > 1)
		tl_latency_add_fact(report, "burst", "%" PRIu64, result->burst);
	if (axis != TL_CLIENT_AXIS_RATE)
		tl_latency_add_fact(report, "asked_pps", "%" PRIu64, result->asked_pps);
}

// Return the bound of the link's stamps, or of the client's own clock readings. Stamps of the kernel, and of a NIC
// through the kernel, have no known bound.
static uint64_t bound_of(const char *source, uint64_t bound_ns, const struct tl_client_result *result)
{
	if (bound_ns != 0)
		return bound_ns;
	return strcmp(source, "user") == 0 ? result->clock_bound_ns : TL_LATENCY_UNBOUNDED;
}

// Set the sources, with the largest bounds of all runs.
static void set_sources(struct tl_latency *report, const struct tl_client_result *results, size_t n)
{
	const struct tl_client_sources *sources = &results->sources;
	const char *clock = sources->realtime_bound_ns != 0 ? "NIC" : "REALTIME";
	uint64_t departure_ns = 1, arrival_ns = 1;

	for (size_t i = 0; i < n; i++) {
		const struct tl_client_sources *of = &results[i].sources;
		departure_ns =
			tl_max_u64(departure_ns, bound_of(sources->departures, of->departure_bound_ns, &results[i]));
		arrival_ns = tl_max_u64(arrival_ns, bound_of(sources->arrivals, of->arrival_bound_ns, &results[i]));
	}
	tl_latency_set_sources(report, sources->departures, departure_ns, sources->arrivals, arrival_ns);
	tl_latency_set_clocks(report, sources->departure_unit_ns, clock, sources->arrival_unit_ns, clock);
}

static void set_clocks(struct tl_latency *report, const struct tl_client_result *result)
{
	const struct tl_client_sources *sources = &result->sources;
	bool nic = strcmp(sources->departures, "nic-tx") == 0 && strcmp(sources->arrivals, "nic-rx") == 0;
	const char *clocks = result->timestamps == TL_CLIENT_STAMPS_USER ? "one, the host's CLOCK_MONOTONIC"
			     : nic					 ? "one, the NIC's"
			     : strcmp(sources->departures, sources->arrivals) == 0
				     ? "one, the host's"
				     : "two, of departures and of arrivals, compared once a second";

	snprintf(report->clocks_shown, sizeof(report->clocks_shown), "%s", clocks);
}

static const char *method_of(const struct tl_client_sources *sources)
{
	bool stamped = strcmp(sources->departures, "nic-tx") == 0 && strcmp(sources->arrivals, "nic-rx") == 0;

	return stamped ? "rx-tx" : "software";
}

void tl_client_report_fill(struct tl_latency *report, const struct tl_client_sweep *sweep,
	const struct tl_client_result *results, size_t n)
{
	char text[TL_CLIENT_REASON];

	snprintf(report->name, sizeof(report->name), "tapline client, %s%s", tl_client_best_name(results),
		n > 1 ? ", all points of the sweep together" : "");
	snprintf(report->method, sizeof(report->method), "%s", method_of(&results->sources));
	set_sources(report, results, n);
	set_clocks(report, results);
	add_loss(report, results, n);
	add_facts(report, sweep->axis, results);
	for (size_t i = 0; i < n; i++) {
		add_counts(report, &results[i]);
		add_cold(report, &results[i]);
		if (sweep->axis != TL_CLIENT_AXIS_NONE) {
			const struct tl_latency_point point = tl_client_sweep_point(sweep, &results[i]);
			tl_latency_add_point(report, &point);
		}
		for (uint32_t k = 0; k < results[i].invalid.n; k++)
			tl_latency_add_invalid(&report->invalid, "%s", tl_client_reason(sweep, &results[i], k, text));
	}
}
