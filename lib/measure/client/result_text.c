// SPDX-License-Identifier: BSD-3-Clause
// Result of a run as text.

#include <tl_client.h>

#include <inttypes.h>

#include <tl_units.h>

static void print_counts(const struct tl_client_result *result, FILE *out)
{
	const struct tl_counter counts[] = {
		{"sent", result->sent},
		{"received", result->received},
		{"lost", result->lost},
		{"duplicates", result->duplicates},
		{"corrupt", result->corrupt},
		{"reordered", result->reordered},
		{"send errors", result->send_errors},
		{"reconnects", result->reconnects},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(counts); i++)
		fprintf(out, "%-12s %11" PRIu64 "\n", counts[i].name, counts[i].value);
	fprintf(out, "%-12s %11.1f messages of %" PRIu64 " bytes per second\n\n", "rate", result->rate_pps,
		result->payload_bytes);
}

static void print_cold(const struct tl_client_result *result, FILE *out)
{
	uint64_t listed = tl_min_u64(result->cold_count, TL_CLIENT_COLD_LISTED);
	char text[32];

	if (listed == 0)
		return;
	fprintf(out, "%-12s", "cold rtt");
	for (uint64_t i = 0; i < listed; i++)
		fprintf(out, " %11s%s", tl_format_ns(result->cold[i].rtt_ns, text, sizeof(text)),
			i % 7 == 6 && i + 1 < listed ? "\n            " : "");
	fprintf(out, " (not in rtt%s)\n", listed < result->cold_count ? "; the first of them" : "");
}

static void print_stamps(const struct tl_client_result *result, FILE *out)
{
	const struct tl_client_stamp_counts *stamps = &result->stamps;

	if (result->timestamps == TL_CLIENT_STAMPS_USER)
		return;
	fprintf(out,
		"wire rtt is from stamp to stamp: departures by %s, arrivals by %s; %" PRIu64 " pairs; missing %" PRIu64
		" of departures,\n%" PRIu64 " of arrivals, %" PRIu64 " shared with a later echo.\n",
		result->sources.departures, result->sources.arrivals, stamps->paired, stamps->tx_missing,
		stamps->rx_missing, stamps->rx_shared);
}

static void print_net(const struct tl_client_net *net, FILE *out)
{
	if (net->given)
		fprintf(out,
			"\nWithout the null echo: %.0f ns +- %.0f between the means (95 %%, if samples do not depend on each other). "
			"Quantiles are not subtracted.\n",
			net->mean_ns, net->mean_ci95_ns);
}

static void print_times(
	const char *name, const struct tl_client_times *times, const struct tl_client_result *result, FILE *out)
{
	char last[32];

	tl_latency_print_row(out, name, &times->all);
	tl_latency_print_levels(out, times->levels, result->lost, result->window_ns);
	if (result->burst < 2)
		return;
	snprintf(last, sizeof(last), "last %s", name);
	tl_latency_print_row(out, last, &times->last);
}

void tl_client_result_print(const struct tl_client_result *result, FILE *out)
{
	print_counts(result, out);
	tl_latency_print_columns(out, "");
	print_times("rtt", &result->rtt, result, out);
	if (result->timestamps != TL_CLIENT_STAMPS_USER)
		print_times("wire rtt", &result->wire_rtt, result, out);
	tl_latency_print_row(out, "sender late", &result->sender_late);
	tl_latency_print_row(out, "poll gap", &result->poll_gap);
	print_cold(result, out);
	fprintf(out,
		"\nrtt counts from when a message was due to when user space had read its echo, by CLOCK_MONOTONIC.\n");
	if (result->burst > 1)
		fprintf(out,
			"Messages leave in bursts of %" PRIu64 ", due together; last are the last of each burst.\n",
			result->burst);
	print_stamps(result, out);
	print_net(&result->net, out);
	tl_latency_print_invalid(out, &result->invalid);
}
