// SPDX-License-Identifier: BSD-3-Clause
// Show the results of a replay.

#include "replay_show.h"

#include <inttypes.h>

#include <tl_json.h>
#include <tl_log.h>
#include <tl_units.h>

static const uint64_t thresholds_ns[] = {
	TL_NS_PER_US, 10 * TL_NS_PER_US, 100 * TL_NS_PER_US, TL_NS_PER_MS, 10 * TL_NS_PER_MS, 100 * TL_NS_PER_MS};

static uint64_t late_over_ns(const struct tl_replay_results *r)
{
	return r->args->max_late_ns != UINT64_MAX ? r->args->max_late_ns : TL_REPLAY_LATE_NS;
}

// Print the time left, as far as it is known.
static const char *left_text(const struct tl_replay_stats *stats, char *text, size_t size)
{
	char time[32];

	text[0] = '\0';
	if (stats->left_ns != UINT64_MAX)
		snprintf(text, size, ", %s%s left", stats->left_exact ? "" : "about ",
			tl_format_ns(stats->left_ns, time, sizeof(time)));
	return text;
}

void tl_replay_show_progress(const struct tl_replay_stats *stats, uint64_t pkts, const char *lateness)
{
	char text[32], left[64];

	tl_info("replay: %ssent %" PRIu64 " of %" PRIu64 " frames read (%" PRIu64 " pps), %s into the run%s%s; %" PRIu64
		" late, %" PRIu64 " read after they were due",
		stats->state == TL_REPLAY_PLAYING  ? ""
		: stats->state == TL_REPLAY_PAUSED ? "paused: "
						   : "seeks: ",
		stats->ledger.sent_pkts, stats->ledger.read_pkts, pkts,
		tl_format_ns(stats->elapsed_ns, text, sizeof(text)), left_text(stats, left, sizeof(left)), lateness,
		stats->late_pkts, stats->reader_late_pkts);
}

// ---- JSON

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *summary_json(const struct tl_hist *hist)
{
	struct tl_hist_summary s;

	if (hist == NULL)
		return json_null();
	tl_hist_summarize(hist, &s);
	bool some = s.count != 0;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "min", some ? number(s.min_ns) : json_null(),
		"p50", some ? number(s.p50_ns) : json_null(), "p90", some ? number(s.p90_ns) : json_null(), "p99",
		some ? number(s.p99_ns) : json_null(), "p999", some ? number(s.p999_ns) : json_null(), "max",
		some ? number(s.max_ns) : json_null(), "mean", some ? json_real(s.mean_ns) : json_null(), "count",
		number(s.count));
}

// Frames in a threshold's bucket count as late: 0.1 % of it at most.
static json_t *late_json(const struct tl_hist *hist)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TL_ARRAY_LEN(thresholds_ns) && hist != NULL; i++)
		json_array_append_new(list, json_pack("{s:o, s:o}", "from_ns", number(thresholds_ns[i]), "pkts",
						    number(tl_hist_count_from(hist, thresholds_ns[i]))));
	return list;
}

static json_t *damages_json(const struct tl_replay_results *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_damages; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o}", "path", tl_json_string(r->damages[i].path), "loop",
				      number(r->damages[i].loop), "offset", number(r->damages[i].offset), "error",
				      tl_json_string(r->damages[i].text)));
	return list;
}

static json_t *pacing_json(const struct tl_replay_results *r)
{
	static const char *const names[] = {[TL_REPLAY_RECORDED] = "recorded",
		[TL_REPLAY_PPS] = "pps",
		[TL_REPLAY_BPS] = "bps",
		[TL_REPLAY_BURSTS] = "bursts",
		[TL_REPLAY_LINE] = "line-rate"};
	const struct tl_replay_pacing *p = r->pacing;
	bool recorded = p->pace == TL_REPLAY_RECORDED, rated = p->pace == TL_REPLAY_PPS || p->pace == TL_REPLAY_BPS;

	bool bursts = p->pace == TL_REPLAY_BURSTS;

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "pace", names[p->pace], "speed",
		recorded ? json_real((double)p->speed / (double)TL_REPLAY_MILLION) : json_null(), "rate",
		rated ? json_real((double)p->rate / (double)TL_REPLAY_MILLION) : json_null(), "max_gap_ns",
		recorded && p->max_gap_ns != UINT64_MAX ? number(p->max_gap_ns) : json_null(), "loops",
		number(r->args->loops), "burst_pkts", bursts ? number(p->burst_pkts) : json_null(), "burst_gap_ns",
		bursts ? number(p->burst_gap_ns) : json_null(), "one_by_one", r->args->one_by_one);
}

// Return the sum of the devices' counts; null if one is unknown.
static json_t *hw_sent_json(const struct tl_replay_results *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->n_ports; i++) {
		if (!r->ports[i].hw_known)
			return json_null();
		sum += r->ports[i].hw_sent_pkts;
	}
	return number(sum);
}

static json_t *ports_json(const struct tl_replay_results *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->n_ports; i++) {
		const struct tl_replay_port_results *port = &r->ports[i];
		const struct tl_replay_out_stats *stats = &r->stats.outs[i];
		bool due = port->lateness != NULL;
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "port",
				      tl_json_string(port->device), "speed_bps",
				      port->speed_bps != 0 ? number(port->speed_bps) : json_null(), "sent_pkts",
				      number(stats->sent_pkts), "sent_bytes", number(stats->sent_bytes), "refused_pkts",
				      number(stats->refused_pkts), "hw_sent_pkts",
				      port->hw_known ? number(port->hw_sent_pkts) : json_null(), "late_pkts",
				      due ? number(stats->late_pkts) : json_null(), "lateness_ns",
				      summary_json(port->lateness), "timed_pkts", number(stats->timed_pkts),
				      "nic_faults", number(port->nic_faults), "nic_fault",
				      port->nic_fault != NULL ? json_string(port->nic_fault) : json_null()));
	}
	return list;
}

// Sum up what was read and not sent for its own sake.
static uint64_t skipped_pkts(const struct tl_replay_ledger *l)
{
	return l->skipped_linktype_pkts + l->skipped_truncated_pkts + l->skipped_short_pkts + l->skipped_long_pkts +
	       l->skipped_damaged_pkts + l->skipped_seek_pkts;
}

static void put_ledger(const struct tl_replay_results *r, json_t *json)
{
	struct tl_counter rows[TL_REPLAY_COUNTERS];

	tl_replay_ledger_rows(&r->stats.ledger, rows);
	for (size_t i = 0; i < TL_REPLAY_COUNTERS; i++)
		json_object_set_new(json, rows[i].name, number(rows[i].value));
	json_object_set_new(json, "skipped_pkts", number(skipped_pkts(&r->stats.ledger)));
	json_object_set_new(json, "ledger_ok", json_boolean(tl_replay_ledger_ok(&r->stats.ledger)));
	json_object_set_new(json, "hw_sent_pkts", hw_sent_json(r));
	json_object_set_new(json, "sent_bytes", number(r->stats.sent_bytes));
}

static void put_wire(const struct tl_replay_results *r, json_t *json)
{
	bool has = r->wire != NULL;

	json_object_set_new(json, "lateness_wire_ns", summary_json(r->wire));
	json_object_set_new(json, "lateness_wire_source", has ? json_string(r->wire_source) : json_null());
	json_object_set_new(json, "lateness_wire_bound_ns", has ? number(r->wire_bound_ns) : json_null());
	json_object_set_new(json, "wire_lost_pkts", has ? number(r->wire_lost_pkts) : json_null());
}

static void put_time(const struct tl_replay_results *r, json_t *json)
{
	const struct tl_replay_stats *s = &r->stats;
	bool limited = r->args->max_late_ns != UINT64_MAX, due = r->lateness != NULL;

	json_object_set_new(json, "timing", json_string(s->by_nic ? "nic" : "tsc"));
	json_object_set_new(json, "timing_reason",
		r->timing_reason.text[0] != '\0' ? tl_json_string(r->timing_reason.text) : json_null());
	json_object_set_new(json, "timed_pkts", number(s->timed_pkts));
	json_object_set_new(json, "max_late_ns", limited ? number(r->args->max_late_ns) : json_null());
	json_object_set_new(json, "late_over_ns", due ? number(late_over_ns(r)) : json_null());
	json_object_set_new(json, "late_pkts", due ? number(s->late_pkts) : json_null());
	json_object_set_new(json, "lateness_ns", summary_json(r->lateness));
	json_object_set_new(json, "late", late_json(r->lateness));
	json_object_set_new(json, "interrupted_ns", due ? number(s->interrupted_ns) : json_null());
	json_object_set_new(json, "lateness_undisturbed_ns", summary_json(r->undisturbed));
	put_wire(r, json);
	json_object_set_new(json, "reader_late_pkts", number(s->reader_late_pkts));
	json_object_set_new(json, "reader_late_times", number(s->reader_late_times));
	json_object_set_new(
		json, "on_underrun", due ? json_string(tl_replay_shifts(r->args) ? "shift" : "keep") : json_null());
	json_object_set_new(json, "shifted_ns", number(s->shifted_ns));
	json_object_set_new(json, "elapsed_ns", number(s->elapsed_ns));
	json_object_set_new(json, "paused_ns", number(s->paused_ns));
	json_object_set_new(json, "seeks", number(s->seeks));
	json_object_set_new(json, "drift_ns", json_integer(s->drift_ns));
	json_object_set_new(json, "drift_bound_ns", number(s->drift_bound_ns));
	json_object_set_new(json, "clock_steps", number(s->clock_steps));
}

static void put_reads(const struct tl_replay_stats *s, json_t *json)
{
	json_object_set_new(json, "read_io", json_string(s->by_uring ? "io_uring" : "pread"));
	json_object_set_new(json, "read_direct_bytes", number(s->read_direct_bytes));
	json_object_set_new(json, "read_cached_bytes", number(s->read_cached_bytes));
	json_object_set_new(json, "read_waits", number(s->read_waits));
}

json_t *tl_replay_json(const struct tl_replay_results *results)
{
	const struct tl_replay_stats *s = &results->stats;
	const struct tl_replay_args *args = results->args;
	json_t *json = json_object();

	json_object_set_new(json, "ports", ports_json(results));
	json_object_set_new(json, "split", args->split_text != NULL ? tl_json_string(args->split_text) : json_null());
	json_object_set_new(json, "undecided_pkts", number(s->undecided_pkts));
	json_object_set_new(json, "unknown_hosts", number(s->unknown_hosts));
	json_object_set_new(json, "filter", args->filter[0] != '\0' ? tl_json_string(args->filter) : json_null());
	json_object_set_new(json, "pacing", pacing_json(results));
	json_object_set_new(json, "stopped", json_boolean(results->stopped));
	put_ledger(results, json);
	put_time(results, json);
	json_object_set_new(json, "merged", json_boolean(args->merge));
	json_object_set_new(json, "waited_files", number(s->waited_files));
	put_reads(s, json);
	json_object_set_new(json, "cut_pkts", number(s->cut_pkts));
	json_object_set_new(json, "fragmented_pkts", number(s->fragmented_pkts));
	json_object_set_new(json, "edit_malformed_pkts", number(s->edit_malformed_pkts));
	json_object_set_new(json, "edit_unsummed_pkts", number(s->edit_unsummed_pkts));
	json_object_set_new(json, "backward_pkts", number(s->backward_pkts));
	json_object_set_new(json, "rebased_files", number(s->rebased_files));
	json_object_set_new(json, "shortened_gaps", number(s->shortened_gaps));
	json_object_set_new(json, "loops_read", number(s->loops_read));
	json_object_set_new(json, "files_read", number(s->files_read));
	json_object_set_new(json, "damages", number(s->damages));
	json_object_set_new(json, "damaged", damages_json(results));
	return json;
}

// A row of the ledger and the state, and a row per port.
json_t *tl_replay_status_json(const struct tl_replay_results *results)
{
	static const char *const states[] = {
		[TL_REPLAY_PLAYING] = "playing", [TL_REPLAY_PAUSED] = "paused", [TL_REPLAY_SEEKING] = "seeking"};
	const struct tl_replay_stats *s = &results->stats;
	bool recorded = results->args->pacing.pace == TL_REPLAY_RECORDED && results->args->rate == NULL;
	struct tl_counter rows[TL_REPLAY_COUNTERS];
	json_t *row = json_object();

	json_object_set_new(row, "state", json_string(states[s->state]));
	json_object_set_new(row, "position_ns", number(s->position_ns));
	json_object_set_new(row, "left_ns", s->left_ns != UINT64_MAX ? number(s->left_ns) : json_null());
	json_object_set_new(row, "left_exact", json_boolean(s->left_exact));
	json_object_set_new(
		row, "speed", recorded ? json_real((double)s->speed / (double)TL_REPLAY_MILLION) : json_null());
	json_object_set_new(row, "paused_ns", number(s->paused_ns));
	json_object_set_new(row, "seeks", number(s->seeks));
	tl_replay_ledger_rows(&s->ledger, rows);
	for (size_t i = 0; i < TL_REPLAY_COUNTERS; i++)
		json_object_set_new(row, rows[i].name, number(rows[i].value));
	json_object_set_new(row, "late_pkts", number(s->late_pkts));
	json_object_set_new(row, "reader_late_pkts", number(s->reader_late_pkts));
	json_t *ports = json_array();
	for (unsigned i = 0; i < results->n_ports; i++)
		json_array_append_new(ports,
			json_pack("{s:o, s:o, s:o}", "port", tl_json_string(results->ports[i].device), "sent_pkts",
				number(s->outs[i].sent_pkts), "sent_bytes", number(s->outs[i].sent_bytes)));
	return json_pack("{s:[o], s:o}", "replays", row, "ports", ports);
}

// ---- text

static void print_ledger(const struct tl_replay_results *r, FILE *out)
{
	struct tl_counter rows[TL_REPLAY_COUNTERS];

	tl_replay_ledger_rows(&r->stats.ledger, rows);
	for (size_t i = 0; i < TL_REPLAY_COUNTERS; i++)
		if (rows[i].value != 0 || i == 0 || i == TL_REPLAY_WHOLES)
			fprintf(out, "%s%-22s %12" PRIu64 "\n",
				i == 0			? ""
				: i == TL_REPLAY_WHOLES ? "= "
							: "+ ",
				rows[i].name, rows[i].value);
	fprintf(out, "the ledger %s\n", tl_replay_ledger_ok(&r->stats.ledger) ? "adds up" : "DOES NOT ADD UP");
	for (unsigned i = 0; i < r->n_ports; i++) {
		if (r->n_ports != 1)
			fprintf(out, "%-24s %12" PRIu64 " by %s\n", "sent_pkts", r->stats.outs[i].sent_pkts,
				r->ports[i].device);
		if (r->ports[i].hw_known)
			fprintf(out, "%-24s %12" PRIu64 " (by the own count of %s)\n", "hw_sent_pkts",
				r->ports[i].hw_sent_pkts, r->ports[i].device);
	}
}

static void print_lateness(const struct tl_replay_results *r, FILE *out)
{
	struct tl_hist_summary s;
	char texts[6][32];

	if (r->lateness == NULL || r->lateness->count == 0)
		return;
	tl_hist_summarize(r->lateness, &s);
	if (r->stats.timed_pkts != 0)
		fprintf(out, "sent by the NIC at their times: %" PRIu64 " frames; the others were handed over late\n",
			r->stats.timed_pkts);
	fprintf(out, "lateness: min %s, p50 %s, p99 %s, max %s\n", tl_format_ns(s.min_ns, texts[0], sizeof(texts[0])),
		tl_format_ns(s.p50_ns, texts[1], sizeof(texts[1])), tl_format_ns(s.p99_ns, texts[2], sizeof(texts[2])),
		tl_format_ns(s.max_ns, texts[3], sizeof(texts[3])));
	for (size_t i = 0; i < TL_ARRAY_LEN(thresholds_ns); i++)
		fprintf(out, "  from %-12s %12" PRIu64 "\n", tl_format_ns(thresholds_ns[i], texts[4], sizeof(texts[4])),
			tl_hist_count_from(r->lateness, thresholds_ns[i]));
	fprintf(out, "late by more than %s: %" PRIu64 "\n", tl_format_ns(late_over_ns(r), texts[5], sizeof(texts[5])),
		r->stats.late_pkts);
}

static void print_undisturbed(const struct tl_replay_results *r, FILE *out)
{
	struct tl_hist_summary s;
	char texts[4][32];

	if (r->undisturbed == NULL || r->stats.interrupted_ns == 0)
		return;
	tl_hist_summarize(r->undisturbed, &s);
	fprintf(out,
		"interrupted for %s in waits for due times; without the %" PRIu64
		" frames due then: lateness p50 %s, p99 %s, max %s\n",
		tl_format_ns(r->stats.interrupted_ns, texts[0], sizeof(texts[0])), r->lateness->count - s.count,
		tl_format_ns(s.p50_ns, texts[1], sizeof(texts[1])), tl_format_ns(s.p99_ns, texts[2], sizeof(texts[2])),
		tl_format_ns(s.max_ns, texts[3], sizeof(texts[3])));
}

static void print_wire(const struct tl_replay_results *r, FILE *out)
{
	struct tl_hist_summary s;
	char texts[4][32];

	if (r->wire == NULL)
		return;
	tl_hist_summarize(r->wire, &s);
	fprintf(out,
		"lateness up to the wire, of %" PRIu64
		" stamped frames (%s, within %s): p50 %s, p99 %s, max %s; %" PRIu64 " stamps are missing\n",
		s.count, r->wire_source, tl_format_ns(r->wire_bound_ns, texts[0], sizeof(texts[0])),
		tl_format_ns(s.p50_ns, texts[1], sizeof(texts[1])), tl_format_ns(s.p99_ns, texts[2], sizeof(texts[2])),
		tl_format_ns(s.max_ns, texts[3], sizeof(texts[3])), r->wire_lost_pkts);
}

static void print_notes(const struct tl_replay_results *r, FILE *out)
{
	const struct tl_replay_stats *s = &r->stats;
	const struct tl_counter notes[] = {{"files merged late, as 64 were open", s->waited_files},
		{"frames cut to the MTU", s->cut_pkts}, {"frames fragmented", s->fragmented_pkts},
		{"frames sent with unedited addresses: malformed headers", s->edit_malformed_pkts},
		{"frames sent by the first port, as --split decides nothing", s->undecided_pkts},
		{"addresses that found no room for --split clients", s->unknown_hosts},
		{"edited frames whose L4 checksum could not be updated", s->edit_unsummed_pkts},
		{"frames read after they were due", s->reader_late_pkts},
		{"frames with an earlier time than one before them", s->backward_pkts},
		{"files that begin before the end of their predecessor", s->rebased_files},
		{"gaps shortened", s->shortened_gaps}, {"steps of the clock", s->clock_steps}};

	for (size_t i = 0; i < TL_ARRAY_LEN(notes); i++)
		if (notes[i].value != 0)
			fprintf(out, "%s: %" PRIu64 "\n", notes[i].name, notes[i].value);
}

static void print_reads(const struct tl_replay_stats *s, FILE *out)
{
	char direct[32], cached[32];

	if (!s->by_uring)
		fprintf(out, "files read with pread\n");
	else
		fprintf(out, "files read with io_uring: %s past the page cache, %s through it; %" PRIu64 " waits\n",
			tl_format_bytes(s->read_direct_bytes, direct, sizeof(direct)),
			tl_format_bytes(s->read_cached_bytes, cached, sizeof(cached)), s->read_waits);
}

void tl_replay_print(const struct tl_replay_results *results, FILE *out)
{
	const struct tl_replay_stats *s = &results->stats;
	char time[32], bytes[32];

	print_ledger(results, out);
	fprintf(out, "%s in %s, drift %" PRId64 " ns (known to %" PRIu64 " ns)\n",
		tl_format_bytes(s->sent_bytes, bytes, sizeof(bytes)), tl_format_ns(s->elapsed_ns, time, sizeof(time)),
		s->drift_ns, s->drift_bound_ns);
	if (s->paused_ns != 0)
		fprintf(out, "paused for %s, with %" PRIu64 " seeks\n", tl_format_ns(s->paused_ns, time, sizeof(time)),
			s->seeks);
	if (s->shifted_ns != 0)
		fprintf(out, "shifted by %s, as frames were read after they were due\n",
			tl_format_ns(s->shifted_ns, time, sizeof(time)));
	print_reads(s, out);
	print_lateness(results, out);
	print_undisturbed(results, out);
	print_wire(results, out);
	print_notes(results, out);
}
