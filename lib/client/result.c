// SPDX-License-Identifier: BSD-3-Clause
// Judges the result of a run and shows it, as JSON or as a table.

#include <tl_client.h>

#include <errno.h>
#include <inttypes.h>

#include <tl_units.h>

int tl_client_judge(const struct tl_client_result *result, struct tl_err *err)
{
	if (!result->balanced)
		return tl_fail(
			err, -EIO, "the counts contradict each other: this is a defect of the client, report it");
	if (!result->interrupted && result->sent < result->planned)
		return tl_fail(err, -EIO,
			"only %" PRIu64 " of %" PRIu64 " messages could be sent (%" PRIu64
			" were refused); lower --rate, or check the connection",
			result->sent, result->planned, result->send_errors);
	if (result->lost > 0 || result->corrupt > 0)
		return tl_fail(err, -EIO,
			"of %" PRIu64 " messages sent %" PRIu64 " were lost, and %" PRIu64 " echoes were corrupt",
			result->sent, result->lost, result->corrupt);
	return 0;
}

// Null where there is no value: 0 would claim one.
static json_t *summary_json(const struct tl_hist_summary *s)
{
	if (s->count == 0)
		return json_pack(
			"{s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "min", "p50", "p90", "p99", "p999", "max", "mean");
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "min", (json_int_t)s->min_ns, "p50",
		(json_int_t)s->p50_ns, "p90", (json_int_t)s->p90_ns, "p99", (json_int_t)s->p99_ns, "p999",
		(json_int_t)s->p999_ns, "max", (json_int_t)s->max_ns, "mean", (json_int_t)(s->mean_ns + 0.5));
}

json_t *tl_client_result_json(const struct tl_client_result *result)
{
	json_t *first_rtt = result->received > 0 ? json_integer((json_int_t)result->first_rtt_ns) : json_null();

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:f, s:I, s:s, s:s}", //
		"sent", (json_int_t)result->sent,							//
		"received", (json_int_t)result->received,						//
		"lost", (json_int_t)result->lost,							//
		"duplicated", (json_int_t)result->duplicated,						//
		"corrupt", (json_int_t)result->corrupt,							//
		"reordered", (json_int_t)result->reordered,						//
		"send_errors", (json_int_t)result->send_errors,						//
		"reconnects", (json_int_t)result->reconnects,						//
		"first_rtt_ns", first_rtt,								//
		"rtt_ns", summary_json(&result->rtt),							//
		"sender_late_ns", summary_json(&result->sender_late),					//
		"rate_pps", result->rate_pps,								//
		"payload_bytes", (json_int_t)result->payload_bytes,					//
		"clock", "CLOCK_MONOTONIC",								//
		"timestamps", "software, user space");
}

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
}

void tl_client_result_print(const struct tl_client_result *result, FILE *out)
{
	char first[32] = "-";

	if (result->received > 0)
		tl_format_ns(result->first_rtt_ns, first, sizeof(first));
	print_counts(result, out);
	fprintf(out, "%-12s %11.1f messages of %" PRIu64 " bytes per second\n\n", "rate", result->rate_pps,
		result->payload_bytes);
	fprintf(out, "%-12s %11s %11s %11s %11s %11s %11s %11s\n", "", "min", "p50", "p90", "p99", "p99.9", "max",
		"mean");
	print_summary("rtt", &result->rtt, out);
	print_summary("sender late", &result->sender_late, out);
	fprintf(out, "%-12s %11s (not in rtt)\n\n", "first rtt", first);
	fprintf(out, "Times count from when a message was due; CLOCK_MONOTONIC, read in user space.\n");
}
