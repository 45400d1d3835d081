// SPDX-License-Identifier: BSD-3-Clause
// Stages of an echo's messages, and the context of those that took too long, as JSON and as tables.

#include "report_priv.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <tl_json.h>
#include <tl_report_stages.h>
#include <tl_units.h>

#define CELL 32

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

// Return a number, or null if unknown.
static json_t *known(uint64_t value)
{
	return value == TL_TAIL_UNKNOWN ? json_null() : tl_json_number(value);
}

static json_t *burst_json(const struct tl_tail_burst *burst)
{
	if (burst->frames == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:i, s:o, s:i}", "time_ns", known(burst->time_ns), "poll_gap_ns",
		known(burst->poll_gap_ns), "frames", burst->frames, "bytes", known(burst->bytes), "queue",
		burst->queue);
}

// Add the frames of the burst in order, and mark those for the echo.
static void put_frames(json_t *object, json_t *burst, const struct tl_tail_outlier *seen)
{
	json_t *bytes = json_array(), *own = json_array();

	for (unsigned i = 0; i < seen->burst.frames && i < TL_TAIL_FRAMES; i++) {
		json_array_append_new(bytes, json_integer(seen->frame_bytes[i]));
		if ((seen->own >> i & 1) != 0)
			json_array_append_new(own, json_integer(i));
	}
	put(burst, "frame_bytes", bytes);
	put(object, "own_frames", own);
}

static json_t *noise_json(const struct tl_report_outlier *outlier)
{
	const struct tl_noise *noise = &outlier->noise;

	if (outlier->noise_ns == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "over_ns", known(outlier->noise_ns), "interrupts",
		known(noise->interrupts), "steal_ns", known(noise->steal_ns), "involuntary_switches",
		known(noise->involuntary_switches), "wait_ns", known(noise->wait_ns));
}

static json_t *outlier_json(const struct tl_report_outlier *outlier)
{
	const struct tl_tail_outlier *seen = &outlier->seen;
	json_t *object = json_object(), *stages = json_object(), *burst = burst_json(&seen->burst);

	put(object, "number", known(seen->number));
	put(object, "time_ns", known(seen->burst.time_ns));
	put(object, "residence_ns", known(seen->residence_ns));
	put(object, "msgs", known(seen->msgs));
	put(object, "poll_gap_ns", known(seen->burst.poll_gap_ns));
	for (int i = 0; i < TL_STAGES; i++)
		if (seen->stage_ns[i] != TL_TAIL_UNKNOWN)
			put(stages, tl_stage_name(i), known(seen->stage_ns[i]));
	put(object, "stages_ns", stages);
	put_frames(object, burst, seen);
	put(object, "burst", burst);
	put(object, "before", burst_json(&seen->before));
	put(object, "after", burst_json(&seen->after));
	put(object, "noise", noise_json(outlier));
	return object;
}

static void put_outliers(json_t *echo, const struct tl_report_stages *stages)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < stages->n_list; i++)
		json_array_append_new(list, outlier_json(&stages->list[i]));
	put(echo, "outliers_above_ns", known(stages->outlier_ns));
	put(echo, "outlier_bursts", known(stages->outliers));
	put(echo, "outliers_overwritten", known(stages->outliers - stages->n_list));
	put(echo, "outliers", list);
}

void tl_report_put_stages(json_t *echo, const struct tl_report_stages *stages)
{
	json_t *all = json_object();

	if (stages == NULL) {
		json_decref(all);
		return;
	}
	for (int i = 0; i < TL_STAGES; i++)
		if (stages->has[i])
			put(all, tl_stage_name(i), tl_report_hist_json(&stages->stage[i]));
	put(echo, "stages_ns", all);
	if (stages->has[TL_STAGE_WIRE]) {
		put(echo, "unstamped_pkts", known(stages->unstamped_pkts));
		put(echo, "after_poll_pkts", known(stages->after_poll_pkts));
	}
	put(echo, "poll_gap_ns", tl_report_hist_json(&stages->poll_gap));
	put(echo, "poll_gap_above_p50_msgs", known(stages->gap_above_p50_msgs));
	put(echo, "rdtsc_ns", json_real(stages->rdtsc_ns));
	put(echo, "stamp_cost_ns", json_real(stages->stamp_ns));
	if (stages->outlier_ns != 0)
		put_outliers(echo, stages);
}

// ---- text

static const char *const labels[TL_STAGES] = {[TL_STAGE_WIRE] = "from wire",
	[TL_STAGE_PARSE] = "to parsed",
	[TL_STAGE_STACK] = "to ready",
	[TL_STAGE_QUEUE] = "to tx"};

static const char *time_cell(uint64_t ns, char cell[CELL])
{
	return ns == TL_TAIL_UNKNOWN ? "-" : tl_format_ns(ns, cell, CELL);
}

static const char *count_cell(uint64_t value, char cell[CELL])
{
	if (value == TL_TAIL_UNKNOWN)
		return "-";
	snprintf(cell, CELL, "%" PRIu64, value);
	return cell;
}

// Print "12:34:56.123456789", UTC: the date is in the JSON.
static void print_time(FILE *out, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / TL_NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	fprintf(out, "  %02d:%02d:%02d.%09" PRIu64, tm.tm_hour, tm.tm_min, tm.tm_sec, time_ns % TL_NS_PER_S);
}

static void print_outlier(FILE *out, const struct tl_report_outlier *outlier)
{
	const struct tl_tail_outlier *seen = &outlier->seen;
	bool looked = outlier->noise_ns != 0;
	char cell[CELL];

	print_time(out, seen->burst.time_ns);
	fprintf(out, " %10s", time_cell(seen->residence_ns, cell));
	for (int i = TL_STAGE_PARSE; i <= TL_STAGE_QUEUE; i++)
		fprintf(out, " %10s", time_cell(seen->stage_ns[i], cell));
	fprintf(out, " %10s", time_cell(seen->burst.poll_gap_ns, cell));
	fprintf(out, " %5" PRIu64 " %6u %6u %6u", seen->msgs, seen->before.frames, seen->burst.frames,
		seen->after.frames);
	fprintf(out, " %6s", count_cell(looked ? outlier->noise.interrupts : TL_TAIL_UNKNOWN, cell));
	fprintf(out, " %8s", count_cell(looked ? outlier->noise.involuntary_switches : TL_TAIL_UNKNOWN, cell));
	fprintf(out, " %10s", time_cell(looked ? outlier->noise.wait_ns : TL_TAIL_UNKNOWN, cell));
	fprintf(out, " %10s\n", time_cell(looked ? outlier->noise.steal_ns : TL_TAIL_UNKNOWN, cell));
}

static void print_outliers(FILE *out, const struct tl_report_stages *stages)
{
	char above[CELL];

	fprintf(out, "  outliers: %" PRIu64 " bursts above %s", stages->outliers,
		tl_format_ns(stages->outlier_ns, above, sizeof(above)));
	if (stages->outliers > stages->n_list)
		fprintf(out, ", the last %" PRIu32, stages->n_list);
	if (stages->n_list == 0) {
		fputc('\n', out);
		return;
	}
	fprintf(out, ":\n%-20s %10s %10s %10s %10s %10s %5s %6s %6s %6s %6s %8s %10s %10s\n", "  time (UTC)",
		"residence", "to parsed", "to ready", "to tx", "poll gap", "msgs", "before", "frames", "after", "irqs",
		"switches", "waited", "stolen");
	for (uint32_t i = 0; i < stages->n_list; i++)
		print_outlier(out, &stages->list[i]);
}

void tl_report_stages_text(FILE *out, const struct tl_report_stages *stages)
{
	if (stages == NULL)
		return;
	for (int i = 0; i < TL_STAGES; i++)
		if (stages->has[i] && i != TL_STAGE_TX_CALL) // which exists without stages, too
			tl_report_hist_text(out, labels[i], &stages->stage[i]);
	if (stages->unstamped_pkts + stages->after_poll_pkts != 0)
		fprintf(out,
			"  not in \"from wire\": %" PRIu64 " frames without a stamp, %" PRIu64
			" stamped later than the poll\n",
			stages->unstamped_pkts, stages->after_poll_pkts);
	tl_report_hist_text(out, "poll gap", &stages->poll_gap);
	fprintf(out, "  stamps: two per burst on the way, %.1f ns each; rdtsc alone takes %.1f ns here\n",
		stages->stamp_ns, stages->rdtsc_ns);
	if (stages->outlier_ns != 0)
		print_outliers(out, stages);
}
