// SPDX-License-Identifier: BSD-3-Clause
// Show the results of `tapline replay --sessions`.

#include "replay_args.h"

#include <inttypes.h>
#include <string.h>

#include <tl_json.h>
#include <tl_log.h>
#include <tl_report.h>

#define FRAME_COUNTERS 9
#define PRINTED_MAX 8 // failures as text; all known ones are in the JSON

// Records of the files: the first counter is the sum of the others.
static void frame_rows(const struct tl_sessions_run *run, struct tl_counter rows[FRAME_COUNTERS])
{
	const struct tl_session_stats *s = tl_session_get_stats(run->set);
	const struct tl_counter all[FRAME_COUNTERS] = {{"read_pkts", run->frames.read_pkts},
		{"used_pkts", s->used_pkts}, {"filtered_pkts", run->frames.filtered_pkts},
		{"skipped_linktype_pkts", run->frames.skipped_linktype_pkts},
		{"skipped_damaged_pkts", run->frames.skipped_damaged_pkts}, {"ignored_pkts", s->ignored_pkts},
		{"skipped_truncated_pkts", s->truncated_pkts}, {"stray_pkts", s->stray_pkts},
		{"beyond_pkts", s->beyond_pkts}};

	for (int i = 0; i < FRAME_COUNTERS; i++)
		rows[i] = all[i];
}

bool tl_sessions_ledger_ok(const struct tl_sessions_run *run)
{
	struct tl_counter rows[FRAME_COUNTERS];
	uint64_t sum = 0;

	frame_rows(run, rows);
	for (int i = 1; i < FRAME_COUNTERS; i++)
		sum += rows[i].value;
	return sum == rows[0].value && tl_player_ledger_ok(&tl_player_get_stats(run->player)->ledger);
}

void tl_sessions_show_progress(const struct tl_sessions_run *run)
{
	const struct tl_player_stats *stats = tl_player_get_stats(run->player);
	const struct tl_player_ledger *ledger = &stats->ledger;
	uint64_t next_ns = tl_player_next_in_ns(run->player);
	char next[32];

	tl_info("replay: completed %" PRIu64 " of %" PRIu64 " sessions, %" PRIu64 " diverged, %" PRIu64
		" in progress%s%s",
		ledger->rows[TL_PLAYER_COMPLETED], ledger->found_sessions + ledger->copied_sessions,
		ledger->rows[TL_PLAYER_DIVERGED], stats->active, next_ns != 0 ? ", the next one in " : "",
		next_ns != 0 ? tl_format_ns(next_ns, next, sizeof(next)) : "");
}

// ---- JSON

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *address_json(const struct tl_sessions_args *args, uint32_t ip_be, const struct tl_ip6 *ip6)
{
	char text[TL_IPV4_TEXT], text6[TL_IPV6_TEXT];

	return json_string(args->is_ip6 ? tl_format_ipv6(ip6, text6) : tl_format_ipv4(ip_be, text));
}

static json_t *end_json(const struct tl_session *s, enum tl_session_side side)
{
	const struct tl_session_end *end = &s->end[side];
	char text[TL_ENDPOINT6_TEXT];
	uint32_t ip_be;

	memcpy(&ip_be, &end->ip, sizeof(ip_be));
	return json_string(s->is_ip6 ? tl_format_endpoint6(&end->ip, end->port_be, text)
				     : tl_format_endpoint(ip_be, end->port_be, text));
}

// List the VLAN IDs of a session, the outermost first.
static json_t *vlans_json(const struct tl_session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TL_ARRAY_LEN(s->vlan); i++)
		if (s->vlan[i] != 0)
			json_array_append_new(list, number(s->vlan[i]));
	return list;
}

static json_t *failures_json(const struct tl_player *player)
{
	const struct tl_player_failure *failures;
	size_t n = tl_player_failures(player, &failures);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct tl_player_failure *f = &failures[i];
		bool differs = f->row == TL_PLAYER_DIVERGED;
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:s}", "session",
				      number(f->session.number), "copy", number(f->copy), "client",
				      end_json(&f->session, TL_SESSION_CLIENT), "server",
				      end_json(&f->session, TL_SESSION_SERVER), "vlans", vlans_json(&f->session), "row",
				      tl_player_row_name(f->row), "sent_bytes", number(f->sent_bytes), "received_bytes",
				      number(f->received_bytes), "differs_at",
				      differs ? number(f->differs_at) : json_null(), "reason", f->reason));
	}
	return list;
}

static json_t *damages_json(const struct tl_sessions_run *run)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < run->n_damages && i < TL_SESSIONS_DAMAGES_MAX; i++)
		json_array_append_new(list, tl_json_string(run->damages[i].text));
	return list;
}

static json_t *times_json(const struct tl_hist *hist)
{
	struct tl_hist_summary summary;

	tl_hist_summarize(hist, &summary);
	return tl_report_hist_json(&summary);
}

static void put_rows(json_t *json, const struct tl_counter *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new(json, rows[i].name, number(rows[i].value));
}

static void put_call(const struct tl_sessions_run *run, json_t *json)
{
	const struct tl_replay_args *args = run->args;
	const struct tl_sessions_args *s = &args->sessions;
	bool at_once = args->pacing.pace == TL_REPLAY_LINE;

	json_object_set_new(json, "port", tl_json_string(args->devices[0]));
	json_object_set_new(json, "filter", args->filter[0] != '\0' ? tl_json_string(args->filter) : json_null());
	json_object_set_new(json, "target", address_json(s, s->target_be, &s->target6));
	json_object_set_new(
		json, "target_port", s->target_port_be != 0 ? number(tl_be16(s->target_port_be)) : json_null());
	json_object_set_new(json, "from", address_json(s, s->ip_be, &s->ip6));
	json_object_set_new(json, "addresses", number(s->addresses));
	json_object_set_new(json, "scale", number(s->scale));
	json_object_set_new(json, "at_a_time", number(s->at_a_time));
	json_object_set_new(json, "wait", json_string(s->waits_for == TL_PLAYER_TIME ? "time" : "bytes"));
	json_object_set_new(json, "compare", json_string(s->lengths_only ? "length" : "bytes"));
	json_object_set_new(json, "speed",
		at_once ? json_null() : json_real((double)args->pacing.speed / (double)TL_REPLAY_MILLION));
	json_object_set_new(json, "max_gap_ns",
		args->pacing.max_gap_ns != UINT64_MAX ? number(args->pacing.max_gap_ns) : json_null());
	json_object_set_new(json, "timeout_ns", number(s->timeout_ns));
	json_object_set_new(json, "opaque", json_boolean(s->opaque));
	json_object_set_new(json, "udp", json_boolean(s->udp));
	json_object_set_new(json, "vlan", s->vlan != 0 ? number(s->vlan) : json_null());
	json_object_set_new(json, "any_vlan", json_boolean(s->any_vlan));
	json_object_set_new(json, "follow", json_boolean(s->follow));
	json_object_set_new(json, "backlog", s->follow ? number(s->backlog) : json_null());
}

json_t *tl_sessions_json(const struct tl_sessions_run *run)
{
	const struct tl_player_stats *stats = tl_player_get_stats(run->player);
	const struct tl_session_stats *found = tl_session_get_stats(run->set);
	struct tl_counter frames[FRAME_COUNTERS], rows[TL_PLAYER_COUNTERS];
	json_t *json = json_object();

	put_call(run, json);
	json_object_set_new(json, "stopped", json_boolean(run->stopped));
	frame_rows(run, frames);
	put_rows(json, frames, FRAME_COUNTERS);
	tl_player_ledger_rows(&stats->ledger, rows);
	put_rows(json, rows, TL_PLAYER_COUNTERS);
	json_object_set_new(json, "ledger_ok", json_boolean(tl_sessions_ledger_ok(run)));
	json_object_set_new(json, "rebased_files", number(run->schedule.rebased_files));
	json_object_set_new(json, "shortened_gaps", number(run->schedule.shortened_gaps));
	json_object_set_new(json, "tagged_pkts", number(found->tagged_pkts));
	json_object_set_new(json, "beyond_sessions", number(found->beyond_sessions));
	json_object_set_new(json, "memory_max_bytes", number(found->memory_max_bytes));
	json_object_set_new(json, "followed_files", number(run->follow.files));
	json_object_set_new(json, "unread_files", number(run->follow.unread_files));
	json_object_set_new(json, "waited_sessions", number(stats->waited_sessions));
	json_object_set_new(json, "sent_bytes", number(stats->sent_bytes));
	json_object_set_new(json, "received_bytes", number(stats->received_bytes));
	json_object_set_new(json, "uncompared_bytes", number(stats->uncompared_bytes));
	json_object_set_new(json, "elapsed_ns", number(run->elapsed_ns));
	json_object_set_new(json, "target_response_ns", times_json(tl_player_target_times(run->player)));
	json_object_set_new(json, "recorded_response_ns", times_json(tl_player_recorded_times(run->player)));
	json_object_set_new(json, "failures", failures_json(run->player));
	json_object_set_new(json, "damages", number(run->n_damages));
	json_object_set_new(json, "damaged", damages_json(run));
	return json;
}

// ---- text

static void print_rows(FILE *out, const struct tl_counter *rows, size_t n, size_t wholes)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].value != 0 || i == 0 || i == wholes)
			fprintf(out, "%s%-28s %12" PRIu64 "\n",
				i == 0	      ? ""
				: i == wholes ? "= "
					      : "+ ",
				rows[i].name, rows[i].value);
}

static void print_failures(const struct tl_player *player, FILE *out)
{
	const struct tl_player_failure *failures;
	size_t n = tl_player_failures(player, &failures);

	for (size_t i = 0; i < n && i < PRINTED_MAX; i++) {
		const struct tl_player_failure *f = &failures[i];
		fprintf(out, "session %" PRIu64 ", copy %" PRIu32 ": %s", f->session.number, f->copy,
			tl_player_row_name(f->row));
		if (f->row == TL_PLAYER_DIVERGED)
			fprintf(out, " at byte %" PRIu64 " of the answers", f->differs_at);
		fprintf(out, ", %" PRIu64 " bytes sent, %" PRIu64 " received%s%s\n", f->sent_bytes, f->received_bytes,
			f->reason[0] != '\0' ? ": " : "", f->reason);
	}
	if (n > PRINTED_MAX)
		fprintf(out, "and others: the first %d are in the report of --json\n", TL_PLAYER_FAILURES_MAX);
}

static void print_times(FILE *out, const char *label, const struct tl_hist *hist)
{
	struct tl_hist_summary summary;

	tl_hist_summarize(hist, &summary);
	tl_report_hist_text(out, label, &summary);
}

void tl_sessions_print(const struct tl_sessions_run *run, FILE *out)
{
	const struct tl_player_stats *stats = tl_player_get_stats(run->player);
	struct tl_counter frames[FRAME_COUNTERS], rows[TL_PLAYER_COUNTERS];
	char time[32];

	frame_rows(run, frames);
	print_rows(out, frames, FRAME_COUNTERS, 1);
	fputc('\n', out);
	tl_player_ledger_rows(&stats->ledger, rows);
	print_rows(out, rows, TL_PLAYER_COUNTERS, TL_PLAYER_WHOLES);
	fprintf(out, "the ledger %s\n", tl_sessions_ledger_ok(run) ? "adds up" : "DOES NOT ADD UP");
	if (tl_session_get_stats(run->set)->tagged_pkts != 0)
		fprintf(out, "frames recorded with a VLAN ID: %" PRIu64 "\n",
			tl_session_get_stats(run->set)->tagged_pkts);
	if (run->schedule.shortened_gaps != 0)
		fprintf(out, "gaps shortened: %" PRIu64 "\n", run->schedule.shortened_gaps);
	if (run->args->sessions.follow)
		fprintf(out, "files read: %" PRIu64 "; completed and not read to the end: %" PRIu64 "\n",
			run->follow.files, run->follow.unread_files);
	fprintf(out, "%" PRIu64 " bytes sent, %" PRIu64 " received in %s\n", stats->sent_bytes, stats->received_bytes,
		tl_format_ns(run->elapsed_ns, time, sizeof(time)));
	if (stats->uncompared_bytes != 0)
		fprintf(out,
			"%" PRIu64
			" bytes were not compared: received long before they were recorded, or beyond a UDP flow's replies\n",
			stats->uncompared_bytes);
	print_times(out, "response time of the target", tl_player_target_times(run->player));
	print_times(out, "of the recorded server", tl_player_recorded_times(run->player));
	print_failures(run->player, out);
}
