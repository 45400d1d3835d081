// SPDX-License-Identifier: BSD-3-Clause
// Text and JSON of `bench rx`.

#include "rx_show.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sys/utsname.h>

#include <tl_json.h>

#include "rx_priv.h"

// Return the row of the rung that this one is compared with, for the same size, or NULL.
static const struct tl_bench_rx_row *compared(
	const struct tl_bench_rx_result *result, const struct tl_bench_rx_row *row)
{
	for (unsigned i = 0; i < result->n_rows && row->rung->than != NULL; i++) {
		const struct tl_bench_rx_row *other = &result->rows[i];
		if (other->size_bytes == row->size_bytes && other->refused[0] == '\0' &&
			strcmp(other->rung->name, row->rung->than) == 0)
			return other->cpu_ns > 0 ? other : NULL;
	}
	return NULL;
}

// Check for a rung whose memory the benchmark chose. A recording chooses its own.
static bool knows_memory(const struct tl_bench_rx_row *row)
{
	return row->rung->nic && row->refused[0] == '\0' && !rx_is_tapline(row->rung);
}

// ---- text

static void print_number(double value, int width, FILE *out)
{
	if (value < 0)
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.0f", width, value);
}

static void print_row(const struct tl_bench_rx_row *row, FILE *out)
{
	fprintf(out, "%-17s %3u %5u", row->rung->name, row->threads, row->size_bytes);
	if (row->refused[0] != '\0') {
		fprintf(out, "  refused: %s\n", row->refused);
		return;
	}
	print_number(row->loss_free_pps, 9, out);
	fputc(row->sender_bound ? '+' : ' ', out);
	print_number(row->received_pps, 9, out);
	print_number((double)row->lost_pkts, 8, out);
	print_number(row->cpu_ns, 7, out);
	print_number(row->user_ns, 6, out);
	print_number(row->system_ns, 6, out);
	print_number(row->softirq_ns, 7, out);
	print_number(row->wakeups_per_s, 7, out);
	print_number(row->latency_count == 0 ? -1 : (double)row->p50_ns / 1000, 7, out);
	print_number(row->latency_count == 0 ? -1 : (double)row->p99_ns / 1000, 7, out);
	fputs(row->noisy ? " noisy\n" : "\n", out);
}

// The figure of a size, and its ratio to that of the rung before.
static void print_figure(const struct tl_bench_rx_result *result, const struct tl_bench_rx_row *row, FILE *out)
{
	const struct tl_bench_rx_row *other = compared(result, row);

	fprintf(out, "  %.0f ns per frame", row->cpu_ns);
	if (row->size_bytes != 0)
		fprintf(out, " of %u bytes", row->size_bytes);
	if (other != NULL && row->cpu_ns >= 0)
		fprintf(out, ", %.2f times %s", row->cpu_ns / other->cpu_ns, other->rung->name);
	if (row->lost_pkts > 0)
		fprintf(out,
			"; lost: %" PRIu64 " by %s, %" PRIu64 " by the interface, %" PRIu64 " by the sender, %" PRIu64
			" uncounted",
			row->lost_rung_pkts, row->rung->drops, row->lost_interface_pkts, row->lost_sender_pkts,
			row->lost_elsewhere_pkts);
	if (row->instructions >= 0 && row->cycles >= 0)
		fprintf(out, "; %.0f instructions, %.0f cycles", row->instructions, row->cycles);
	if (knows_memory(row) && !row->hugepages)
		fputs("; without hugepages", out);
	fputc('\n', out);
}

// Why each rung differs from the one before, and by how much.
static void print_steps(const struct tl_bench_rx_result *result, FILE *out)
{
	const struct tl_ladder_rung *shown = NULL;

	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_bench_rx_row *row = &result->rows[i];
		if (row->refused[0] != '\0')
			continue;
		if (row->rung != shown)
			fprintf(out, "%s%s%s: %s\n", row->rung->name, row->rung->than != NULL ? ", beside " : "",
				row->rung->than != NULL ? row->rung->than : "", row->rung->why);
		shown = row->rung;
		print_figure(result, row, out);
	}
}

static void print_noise(const struct tl_bench_rx_result *result, FILE *out)
{
	unsigned noisy = 0;

	for (unsigned i = 0; i < result->n_rows; i++)
		noisy += result->rows[i].noisy;
	if (noisy > 0)
		fprintf(out, "\nnoisy: cost or rate of %u of %u rows differ by more than %.0f %% over three runs\n",
			noisy, result->n_rows, 100 * TL_BENCH_RX_SPREAD);
}

static void print_goals(const struct tl_bench_rx_result *result, FILE *out)
{
	struct tl_bench_rx_goal goals[TL_BENCH_RX_GOALS * TL_BENCH_SIZES_MAX];
	unsigned n = tl_bench_rx_goals(result, goals);

	if (n > 0)
		fputs("\ngoals:\n", out);
	for (unsigned i = 0; i < n; i++) {
		const struct tl_bench_rx_goal *g = &goals[i];
		fprintf(out, "  %s over %s, %s", g->rung, g->than, g->by_rate ? "frames per second" : "CPU per frame");
		if (g->size_bytes != 0)
			fprintf(out, " of %u bytes", g->size_bytes);
		fprintf(out, ": %.2f, at %s %.2f: %s%s%s\n", g->ratio, g->at_most < INFINITY ? "most" : "least",
			g->at_most < INFINITY ? g->at_most : g->at_least, g->met ? "met" : "missed",
			g->noisy ? " (noisy)" : "", g->sender_bound ? "; the sender limits the second" : "");
	}
}

int tl_bench_rx_print(const struct tl_bench_rx_result *result, FILE *out)
{
	fprintf(out, "%s (%s), ", result->ifname, result->driver);
	if (result->own_traffic)
		fprintf(out, "frames sent by %s with %u thread%s on the first CPU%s", result->sender, result->senders,
			result->senders == 1 ? "" : "s", result->senders == 1 ? "" : "s");
	else
		fputs("real traffic, nothing sent", out);
	fprintf(out, ", %u CPUs, %u MiB of buffer per rung, runs of %g s\n\n", result->cpus, result->buffer_bytes >> 20,
		result->seconds);
	fprintf(out, "%-17s %3s %5s %9s  %9s %8s %7s %6s %6s %7s %7s %7s %7s\n", "", "", "bytes", "loss-free",
		"received", "lost", "CPU", "user", "system", "softirq", "wake-", "p50", "p99");
	fprintf(out, "%-17s %3s %5s %9s  %9s %8s %7s %6s %6s %7s %7s %7s %7s\n", "rung", "thr", "", "frames/s",
		"frames/s", "frames", "ns/fr", "ns/fr", "ns/fr", "ns/fr", "ups/s", "us", "us");
	for (unsigned i = 0; i < result->n_rows; i++)
		print_row(&result->rows[i], out);
	fputs("\n+: the sender's highest rate, not the rung's. CPU: of the receiving threads; of rungs that poll the time of "
	      "polls\nthat returned frames. softirq: of the whole host, counted in ticks of 10 ms. -: not known.\n\n",
		out);
	print_steps(result, out);
	print_goals(result, out);
	print_noise(result, out);
	if (result->counters_refused[0] != '\0')
		fprintf(out, "\ninstructions and cycles are not known: %s\n", result->counters_refused);
	if (result->interrupted)
		fputs("interrupted: the rungs after these were not measured\n", out);
	return ferror(out) ? -EIO : 0;
}

// ---- JSON

static json_t *figure(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *latency_json(const struct tl_bench_rx_row *row)
{
	if (row->latency_count == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:I}", "count", (json_int_t)row->latency_count, "p50", (json_int_t)row->p50_ns,
		"p99", (json_int_t)row->p99_ns);
}

static json_t *check_json(const struct tl_bench_rx_row *row)
{
	const struct tl_bench_rx_check *check = &row->check;

	if (check->sent_pkts == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o}", "sent_pkts", (json_int_t)check->sent_pkts, "received_pkts",
		(json_int_t)check->received_pkts, "received_bytes", (json_int_t)check->received_bytes, "in_order",
		check->in_order < 0 ? json_null() : json_boolean(check->in_order));
}

static json_t *lost_json(const struct tl_bench_rx_row *row)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "counter", row->rung->drops, "counter_pkts",
		(json_int_t)row->lost_rung_pkts, "interface_pkts", (json_int_t)row->lost_interface_pkts, "sender_pkts",
		(json_int_t)row->lost_sender_pkts, "elsewhere_pkts", (json_int_t)row->lost_elsewhere_pkts);
}

static void put_figures(const struct tl_bench_rx_row *row, json_t *json)
{
	const struct {
		const char *key;
		double value;
	} figures[] = {{"loss_free_pps", row->loss_free_pps}, {"offered_pps", row->offered_pps},
		{"received_pps", row->received_pps}, {"cpu_ns_per_pkt", row->cpu_ns}, {"user_ns_per_pkt", row->user_ns},
		{"system_ns_per_pkt", row->system_ns}, {"softirq_ns_per_pkt", row->softirq_ns},
		{"softirq_resolution_ns_per_pkt", row->tick_ns}, {"sender_ns_per_pkt", row->sender_ns},
		{"instructions_per_pkt", row->instructions}, {"cycles_per_pkt", row->cycles},
		{"wakeups_per_s", row->wakeups_per_s}, {"spread", row->spread}};
	bool ran = row->refused[0] == '\0';

	for (size_t i = 0; i < TL_ARRAY_LEN(figures); i++)
		json_object_set_new(json, figures[i].key, ran ? figure(figures[i].value) : json_null());
	json_object_set_new(json, "lost_pkts", ran ? json_integer((json_int_t)row->lost_pkts) : json_null());
	json_object_set_new(json, "lost_by", ran ? lost_json(row) : json_null());
}

static json_t *row_json(const struct tl_bench_rx_row *row)
{
	json_t *json = json_pack("{s:s, s:s?, s:s, s:I, s:o, s:b, s:b, s:b, s:o, s:o, s:o, s:o}", "name",
		row->rung->name, "than", row->rung->than, "why", row->rung->why, "threads", (json_int_t)row->threads,
		"size_bytes", row->size_bytes == 0 ? json_null() : json_integer(row->size_bytes), "polls",
		row->rung->polls, "sender_bound", row->sender_bound, "noisy", row->noisy, "refused",
		row->refused[0] == '\0' ? json_null() : tl_json_string(row->refused), "latency_ns", latency_json(row),
		"check", check_json(row), "hugepages", knows_memory(row) ? json_boolean(row->hugepages) : json_null());

	if (json != NULL)
		put_figures(row, json);
	return json;
}

static json_t *host_json(const struct tl_bench_rx_result *result)
{
	struct utsname name;

	return json_pack("{s:o, s:o, s:s, s:o, s:o, s:b, s:I, s:I, s:f, s:o}", "kernel",
		uname(&name) == 0 ? json_string(name.release) : json_null(), "interface",
		tl_json_string(result->ifname), "driver", result->driver, "sender",
		result->own_traffic ? tl_json_string(result->sender) : json_null(), "senders",
		result->own_traffic ? json_integer(result->senders) : json_null(), "own_traffic", result->own_traffic,
		"cpus", (json_int_t)result->cpus, "buffer_bytes", (json_int_t)result->buffer_bytes, "seconds",
		result->seconds, "counters_refused",
		result->counters_refused[0] != '\0' ? json_string(result->counters_refused) : json_null());
}

static json_t *goals_json(const struct tl_bench_rx_result *result)
{
	struct tl_bench_rx_goal goals[TL_BENCH_RX_GOALS * TL_BENCH_SIZES_MAX];
	unsigned n = tl_bench_rx_goals(result, goals);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		const struct tl_bench_rx_goal *g = &goals[i];
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:o, s:s, s:f, s:o, s:o, s:b, s:b, s:b}", "rung", g->rung, "than",
				g->than, "size_bytes", g->size_bytes == 0 ? json_null() : json_integer(g->size_bytes),
				"figure", g->by_rate ? "received_pps" : "cpu_ns_per_pkt", "ratio", g->ratio, "at_least",
				g->at_least > 0 ? json_real(g->at_least) : json_null(), "at_most",
				g->at_most < INFINITY ? json_real(g->at_most) : json_null(), "met", g->met, "noisy",
				g->noisy, "sender_bound", g->sender_bound));
	}
	return list;
}

json_t *tl_bench_rx_json(const struct tl_bench_rx_result *result)
{
	json_t *rungs = json_array();
	bool noisy = false;

	for (unsigned i = 0; i < result->n_rows; i++) {
		json_array_append_new(rungs, row_json(&result->rows[i]));
		noisy |= result->rows[i].noisy;
	}
	return json_pack("{s:o, s:b, s:b, s:o, s:o}", "host", host_json(result), "noisy", noisy, "interrupted",
		result->interrupted, "goals", goals_json(result), "rungs", rungs);
}
