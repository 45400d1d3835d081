// SPDX-License-Identifier: BSD-3-Clause
// Text, JSON and page of `bench echo`.

#include "echo_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tl_json.h>
#include <tl_report.h>

#include "bench_page.h"

// Return the row of the rung that this one is compared with, for the same protocol and size, or NULL.
static const struct tl_bench_echo_row *compared(
	const struct tl_bench_echo_result *result, const struct tl_bench_echo_row *row)
{
	for (unsigned i = 0; i < result->n_rows && row->rung->than != NULL; i++) {
		const struct tl_bench_echo_row *other = &result->rows[i];
		if (other->protocol == row->protocol && other->size_bytes == row->size_bytes &&
			other->refused[0] == '\0' && strcmp(other->rung->name, row->rung->than) == 0)
			return other;
	}
	return NULL;
}

static double bulk_bps(const struct tl_bench_echo_row *row)
{
	return tl_bench_echo_bulk_pps(row) * row->message_bytes;
}

// Messages that did not come back once, whole and in their place.
static uint64_t wrong(const struct tl_bench_echo_run *run)
{
	return run->corrupt + run->duplicated + run->reordered;
}

// ---- text

static void print_times(const struct tl_hist_summary *rtt, FILE *out)
{
	const uint64_t times[] = {rtt->min_ns, rtt->p50_ns, rtt->p99_ns, rtt->p999_ns, rtt->max_ns};

	for (unsigned i = 0; i < TL_ARRAY_LEN(times); i++)
		if (rtt->count == 0)
			fprintf(out, " %8s", "-");
		else
			fprintf(out, " %8.1f", (double)times[i] / 1000);
}

static void print_row(const struct tl_bench_echo_row *row, FILE *out)
{
	fprintf(out, "%-17s %-7s %8" PRIu32, row->rung->name, tl_bench_echo_protocol_name(row->protocol),
		row->size_bytes);
	if (row->refused[0] != '\0') {
		fprintf(out, "  refused: %s\n", row->refused);
		return;
	}
	print_times(&row->paced.rtt, out);
	fprintf(out, " %9.0f %8.1f %7" PRIu64 " %6" PRIu64 "%s\n", tl_bench_echo_bulk_pps(row), bulk_bps(row) / 1e6,
		row->paced.lost + row->bulk.lost, wrong(&row->paced) + wrong(&row->bulk),
		row->paced.invalid[0] != '\0' ? " doubtful" : "");
}

static void print_figures(const struct tl_bench_echo_row *row, const struct tl_bench_echo_row *other, FILE *out)
{
	fprintf(out, "  %s, %" PRIu32 " bytes:", tl_bench_echo_protocol_name(row->protocol), row->size_bytes);
	if (row->paced.rtt.count > 0)
		fprintf(out, " %.1f us", (double)row->paced.rtt.p50_ns / 1000);
	if (row->paced.rtt.count > 0 && other != NULL && other->paced.rtt.p50_ns > 0)
		fprintf(out, ", %.2f times %s;", (double)row->paced.rtt.p50_ns / (double)other->paced.rtt.p50_ns,
			other->rung->name);
	fprintf(out, " %.1f MB/s", bulk_bps(row) / 1e6);
	if (other != NULL && bulk_bps(other) > 0)
		fprintf(out, ", %.2f times", bulk_bps(row) / bulk_bps(other));
	if (row->bulk.lost > 0)
		fprintf(out, "; %.0f %% lost at this rate", 100 * (double)row->bulk.lost / (double)row->bulk.sent);
	if (row->paced.invalid[0] != '\0')
		fprintf(out, "; doubtful: %s", row->paced.invalid);
	if (row->rung->nic && !row->hugepages)
		fputs("; without hugepages", out);
	fputc('\n', out);
}

static void print_step(const struct tl_bench_echo_result *result, const struct tl_bench_echo_rung *rung, FILE *out)
{
	bool begun = false;

	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_bench_echo_row *row = &result->rows[i];
		if (row->rung != rung || row->refused[0] != '\0')
			continue;
		if (!begun)
			fprintf(out, "%s%s%s: %s\n", rung->name, rung->than != NULL ? ", beside " : "",
				rung->than != NULL ? rung->than : "", rung->why);
		begun = true;
		print_figures(row, compared(result, row), out);
	}
}

int tl_bench_echo_print(const struct tl_bench_echo_result *result, FILE *out)
{
	fprintf(out, "veth between two namespaces, %u CPUs, client on the first, relays on the last, runs of %g s\n",
		result->cpus, result->seconds);
	if (result->port != NULL)
		fprintf(out, "tapline-nic: on %s, with a client of its own on %s\n", result->port, result->peer);
	fputc('\n', out);
	fprintf(out, "%-17s %-7s %8s %8s %8s %8s %8s %8s %9s %8s %7s %6s\n", "", "", "", "min", "p50", "p99", "p99.9",
		"max", "bulk", "bulk", "lost", "wrong");
	fprintf(out, "%-17s %-7s %8s %8s %8s %8s %8s %8s %9s %8s %7s %6s\n", "rung", "", "bytes", "us", "us", "us",
		"us", "us", "msgs/s", "MB/s", "msgs", "msgs");
	for (unsigned i = 0; i < result->n_rows; i++)
		print_row(&result->rows[i], out);
	fprintf(out,
		"\nTimes: round trips of %d messages per second, of sizes that fit into a datagram. bulk: as fast as the "
		"client can\nsend; over udp-tcp in datagrams of at most %d bytes, without flow control. wrong: altered, duplicated or out of order.\n\n",
		TL_BENCH_ECHO_RATE_PPS, TL_BENCH_ECHO_DATAGRAM);
	for (unsigned i = 0; i < TL_BENCH_ECHO_RUNGS_MAX && result->rungs[i].name != NULL; i++)
		print_step(result, &result->rungs[i], out);
	if (result->interrupted)
		fputs("interrupted: the rows after these were not measured\n", out);
	return ferror(out) ? -EIO : 0;
}

// ---- JSON

static json_t *run_json(const struct tl_bench_echo_row *row, const struct tl_bench_echo_run *run, bool bulk)
{
	if (run->sent == 0)
		return json_null();
	json_t *json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "sent", (json_int_t)run->sent, "received",
		(json_int_t)run->received, "lost", (json_int_t)run->lost, "corrupt", (json_int_t)run->corrupt,
		"duplicated", (json_int_t)run->duplicated, "reordered", (json_int_t)run->reordered);
	if (json == NULL)
		return NULL;
	if (bulk) {
		json_object_set_new(json, "msgs_per_s", json_real(tl_bench_echo_bulk_pps(row)));
		json_object_set_new(json, "bytes_per_s", json_real(bulk_bps(row)));
	} else {
		json_object_set_new(json, "rtt_ns", tl_report_hist_json(&run->rtt));
		json_object_set_new(
			json, "doubt", run->invalid[0] == '\0' ? json_null() : tl_json_string(run->invalid));
	}
	return json;
}

static json_t *row_json(const struct tl_bench_echo_row *row)
{
	bool on_nic = row->rung->nic && row->refused[0] == '\0';

	return json_pack("{s:s, s:s?, s:s, s:s, s:I, s:I, s:o, s:s, s:o, s:o, s:o}", "name", row->rung->name, "than",
		row->rung->than, "why", row->rung->why, "protocol", tl_bench_echo_protocol_name(row->protocol),
		"size_bytes", (json_int_t)row->size_bytes, "message_bytes", (json_int_t)row->message_bytes, "refused",
		row->refused[0] == '\0' ? json_null() : tl_json_string(row->refused), "client",
		row->rung->nic ? "port" : "kernel", "hugepages", on_nic ? json_boolean(row->hugepages) : json_null(),
		"paced", run_json(row, &row->paced, false), "bulk", run_json(row, &row->bulk, true));
}

static json_t *port_json(const char *port)
{
	return port != NULL ? tl_json_string(port) : json_null();
}

json_t *tl_bench_echo_json(const struct tl_bench_echo_result *result)
{
	json_t *rungs = json_array();

	for (unsigned i = 0; i < result->n_rows; i++)
		json_array_append_new(rungs, row_json(&result->rows[i]));
	return json_pack("{s:{s:I, s:f, s:o, s:o}, s:b, s:o}", "host", "cpus", (json_int_t)result->cpus, "seconds",
		result->seconds, "interface", port_json(result->port), "peer", port_json(result->peer), "interrupted",
		result->interrupted, "rungs", rungs);
}

// ---- page

static void add_bar(const struct tl_bench_echo_row *row, double value, const char *unit, struct tl_bench_chart *chart)
{
	struct tl_bench_bar *bar = &chart->bars[chart->n++];

	*bar = (struct tl_bench_bar){.name = row->rung->name,
		.value = value,
		.refused = row->refused[0] != '\0' ? row->refused : NULL,
		.noisy = row->paced.invalid[0] != '\0'};
	snprintf(bar->what, sizeof(bar->what), "%s, %u B", tl_bench_echo_protocol_name(row->protocol), row->size_bytes);
	snprintf(bar->text, sizeof(bar->text), "%.1f %s", value, unit);
	if (row->bulk.lost > 0 && row->refused[0] == '\0')
		snprintf(bar->beside, sizeof(bar->beside), "%.0f %% lost in bulk",
			100 * (double)row->bulk.lost / (double)row->bulk.sent);
}

static void fill_charts(const struct tl_bench_echo_result *result, struct tl_bench_chart charts[2])
{
	snprintf(charts[0].caption, sizeof(charts[0].caption),
		"Bars: median round trip, %d messages per second; orange if the client declares it invalid. %u CPUs, runs of %g "
		"s%s.",
		TL_BENCH_ECHO_RATE_PPS, result->cpus, result->seconds, result->interrupted ? "; interrupted" : "");
	snprintf(charts[1].caption, sizeof(charts[1].caption),
		"Bars: bytes echoed per second, as fast as the client can send.");
	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_bench_echo_row *row = &result->rows[i];
		if (row->paced.rtt.count > 0)
			add_bar(row, (double)row->paced.rtt.p50_ns / 1000, "us", &charts[0]);
		add_bar(row, bulk_bps(row) / 1e6, "MB/s", &charts[1]);
	}
}

int tl_bench_echo_html(
	const struct tl_bench_echo_result *result, const json_t *report, const char *path, struct tl_err *err)
{
	struct tl_bench_chart charts[2] = {0};
	const struct tl_bench_page page = {"tapline bench echo", "Cost of each echo method on this host", charts, 2};
	struct tl_bench_bar *bars = calloc(2 * (size_t)result->n_rows + 1, sizeof(bars[0]));

	if (bars == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	charts[0].bars = bars;
	charts[1].bars = bars + result->n_rows;
	fill_charts(result, charts);
	int rc = tl_bench_page_save(&page, report, path, err);
	free(bars);
	return rc;
}
