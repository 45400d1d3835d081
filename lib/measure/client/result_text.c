// SPDX-License-Identifier: BSD-3-Clause
// Result of a run as text.

#include <tl_client.h>

#include <inttypes.h>

#include <tl_units.h>

static void print_summary(const char *name, const struct tl_hist_summary *s, FILE *out)
{
	const uint64_t values_ns[] = {
		s->min_ns, s->p50_ns, s->p90_ns, s->p99_ns, s->p999_ns, s->max_ns, (uint64_t)(s->mean_ns + 0.5)};
	char text[32];

	fprintf(out, "%-12s", name);
	for (size_t i = 0; i < TL_ARRAY_LEN(values_ns); i++)
		fprintf(out, " %11s", s->count == 0 ? "-" : tl_format_ns(values_ns[i], text, sizeof(text)));
	fputc('\n', out);
}

// Print below the summary the quantiles including lost messages, and their marks.
static void print_levels(
	const struct tl_client_result *result, const struct tl_latency_level levels[TL_LATENCY_LEVELS], FILE *out)
{
	bool marked = false;
	char text[32];

	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		marked |= levels[i].few || levels[i].late;
	if (result->lost != 0) {
		fprintf(out, "%-12s %11s", "  with lost", "");
		for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
			fprintf(out, " %11s",
				levels[i].with_loss_ns == TL_LATENCY_NEVER
					? "no echo"
					: tl_format_ns(levels[i].with_loss_ns, text, sizeof(text)));
		fputc('\n', out);
	}
	if (!marked)
		return;
	fprintf(out, "%-12s %11s", "  marks", "");
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		fprintf(out, " %11s", tl_latency_level_marks(&levels[i]));
	fputc('\n', out);
}

static void print_marks(const struct tl_client_result *result, FILE *out)
{
	bool few = false, late = false;

	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++) {
		few |= result->rtt_levels[i].few || result->wire_levels[i].few;
		late |= result->rtt_levels[i].late || result->wire_levels[i].late;
	}
	if (few)
		fprintf(out, "few: fewer than %d samples lie beyond that quantile.\n", TL_LATENCY_FEW);
	if (late)
		fputs("late: as many messages as half of those beyond that quantile were sent, or found, late by a quarter of "
		      "it:\nit may be the client's own.\n",
			out);
}

static void print_counts(const struct tl_client_result *result, FILE *out)
{
	const struct tl_counter counts[] = {
		{"sent", result->sent},
		{"received", result->received},
		{"lost", result->lost},
		{"duplicated", result->duplicated},
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

static void print_last(const struct tl_client_result *result, FILE *out)
{
	if (result->burst < 2)
		return;
	print_summary("last rtt", &result->last_rtt, out);
	if (result->timestamps != TL_CLIENT_STAMPS_USER)
		print_summary("last wire", &result->last_wire_rtt, out);
}

void tl_client_result_print(const struct tl_client_result *result, FILE *out)
{
	print_counts(result, out);
	fprintf(out, "%-12s %11s %11s %11s %11s %11s %11s %11s\n", "", "min", "p50", "p90", "p99", "p99.9", "max",
		"mean");
	print_summary("rtt", &result->rtt, out);
	print_levels(result, result->rtt_levels, out);
	if (result->timestamps != TL_CLIENT_STAMPS_USER) {
		print_summary("wire rtt", &result->wire_rtt, out);
		print_levels(result, result->wire_levels, out);
	}
	print_last(result, out);
	print_summary("sender late", &result->sender_late, out);
	print_summary("poll gap", &result->poll_gap, out);
	print_cold(result, out);
	fprintf(out,
		"\nrtt counts from when a message was due to when user space had read its echo, by CLOCK_MONOTONIC.\n");
	print_marks(result, out);
	if (result->burst > 1)
		fprintf(out,
			"Messages leave in bursts of %" PRIu64 ", due together; last are the last of each burst.\n",
			result->burst);
	print_stamps(result, out);
	print_net(&result->net, out);
	for (uint32_t i = 0; i < result->n_invalid; i++)
		fprintf(out, "%sINVALID: %s\n", i == 0 ? "\n" : "", result->invalid[i]);
}
