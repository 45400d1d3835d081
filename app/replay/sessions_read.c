// SPDX-License-Identifier: BSD-3-Clause
// Files to sessions.

#include "replay_args.h"

#include <errno.h>

#define MEMORY_BYTES (UINT64_C(1) << 30)
#define SESSION_BYTES (UINT64_C(64) << 20)
#define PAUSE_NS TL_NS_PER_MS	    // with --wait time
#define IDLE_NS (120 * TL_NS_PER_S) // with --follow

void tl_sessions_note_damage(struct tl_sessions_run *run, const struct tl_err *damage)
{
	run->frames.read_pkts++;
	run->frames.skipped_damaged_pkts++;
	if (run->n_damages < TL_SESSIONS_DAMAGES_MAX)
		run->damages[run->n_damages] = *damage;
	run->n_damages++;
}

int tl_sessions_take_frame(struct tl_sessions_run *run, const struct tl_pcap_frame *frame, struct tl_err *err)
{
	enum tl_link link = tl_link_of(frame->linktype);
	int matches = 1;

	run->frames.read_pkts++;
	if (link == TL_LINKS) {
		run->frames.skipped_linktype_pkts++;
		return 0;
	}
	if (run->filter != NULL)
		matches = tl_filter_links_match(
			run->filter, frame->linktype, frame->data, frame->cap_bytes, frame->wire_bytes, err);
	if (matches < 0)
		return matches;
	if (matches == 0) {
		run->frames.filtered_pkts++;
		return 0;
	}
	run->frames.taken_pkts++;
	int rc = tl_session_add(run->set, &(struct tl_session_frame){.data = frame->data,
						  .cap_bytes = frame->cap_bytes,
						  .wire_bytes = frame->wire_bytes,
						  .ts_ns = tl_replay_schedule_time(&run->schedule, frame->ts_ns),
						  .link = link});
	return rc == 0 ? 0 : tl_fail(err, rc, "not enough memory for the sessions of the recording");
}

static int read_file(struct tl_sessions_run *run, const char *path, struct tl_err *err)
{
	struct tl_extract_source source;
	struct tl_pcap_frame frame;
	struct tl_err damage;
	int rc = 0, found;

	if (tl_extract_source_open(&source, path, &damage) != 0) {
		tl_sessions_note_damage(run, &damage);
		return 0;
	}
	tl_replay_schedule_file(&run->schedule, false);
	do {
		while (rc == 0 && (found = tl_extract_source_next(&source, &frame, &damage)) == 1)
			rc = tl_sessions_take_frame(run, &frame, err);
		if (rc != 0 || found == 0)
			break;
		tl_sessions_note_damage(run, &damage);
	} while (tl_extract_source_skip(&source));
	tl_extract_source_close(&source);
	return rc;
}

int tl_sessions_read(struct tl_sessions_run *run, struct tl_err *err)
{
	const struct tl_replay_args *args = run->args;
	const struct tl_session_cfg cfg = {.memory_bytes = MEMORY_BYTES,
		.session_bytes = SESSION_BYTES,
		.any_vlan = args->sessions.any_vlan,
		.udp = args->sessions.udp,
		.pause_ns = args->sessions.waits_for == TL_PLAYER_TIME ? PAUSE_NS : UINT64_MAX,
		.idle_ns = args->sessions.follow ? IDLE_NS : 0,
		.offer = args->sessions.opaque ? TL_SESSION_AT_SYN : TL_SESSION_AT_DATA};
	const struct tl_replay_pacing times = {
		.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION, .max_gap_ns = args->pacing.max_gap_ns};
	int rc = args->sessions.follow ? tl_sessions_follow_open(run, err) : 0;

	tl_replay_schedule_init(&run->schedule, &times);
	for (size_t i = 0; i < args->n_words && rc == 0 && !args->sessions.follow; i++)
		rc = tl_replay_playlist_add(&run->files, args->words[i], err);
	if (rc == 0)
		rc = tl_replay_playlist_finish(&run->files, false, err);
	if (rc == 0 && args->filter[0] != '\0')
		rc = tl_replay_explain_filter(
			args->filter, tl_filter_links_create(args->filter, &run->filter, err), err);
	if (rc == 0 && tl_session_create(&cfg, &run->set) != 0)
		rc = tl_fail(err, -ENOMEM, "not enough memory");
	for (size_t i = 0; i < run->files.n && rc == 0; i++)
		rc = read_file(run, run->files.paths[i], err);
	if (rc == 0 && !args->sessions.follow)
		tl_session_finish(run->set);
	return rc;
}
