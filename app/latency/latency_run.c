// SPDX-License-Identifier: BSD-3-Clause
// Read triggers and replies side by side, the triggers a window ahead, and pair them. A file that holds both is read
// twice at once, so that nothing has to be buffered.

#include "latency_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_array.h>
#include <tl_files.h>
#include <tl_pcapfile.h>

#include "latency_side.h"
#include "latency_source.h"

#define SAMPLES_MAX (1u << 24) // samples kept for exact percentiles: 512 MiB; with more, the histogram is used
#define AMBIGUOUS_ONE_IN 1000  // largest share of pairs: the share above p99.9

static int match_all(
	struct tl_latency_side *trigger, struct tl_latency_side *reply, struct tl_match *match, uint64_t window_ns)
{
	int rc = 0;

	tl_latency_side_next(trigger);
	for (tl_latency_side_next(reply); reply->has && rc == 0; tl_latency_side_next(reply)) {
		while (rc == 0 && trigger->has &&
			trigger->frame.ts_ns <= tl_latency_later(reply->frame.ts_ns, window_ns)) {
			rc = tl_match_trigger(match, &trigger->frame);
			tl_latency_side_next(trigger);
		}
		if (rc == 0)
			rc = tl_match_reply(match, &reply->frame);
	}
	for (; trigger->has && rc == 0; tl_latency_side_next(trigger))
		rc = tl_match_trigger(match, &trigger->frame);
	return rc != 0 ? rc : tl_match_finish(match);
}

// Report a side that could not be read to its end because of its link type.
static int check_sides(const struct tl_latency_side sides[2], struct tl_err *err)
{
	for (unsigned i = 0; i < 2; i++)
		if (sides[i].rc < 0) {
			*err = sides[i].err;
			return sides[i].rc;
		}
	return 0;
}

// ---- links

static int add_note(struct tl_latency_notes *notes, const struct tl_latency_note *note)
{
	if (tl_array_reserve(&notes->note, notes->n, &notes->room, sizeof(*note)) != 0)
		return -ENOMEM;
	notes->note[notes->n++] = *note;
	return 0;
}

static int take_link(void *ctx, const struct tl_match_link *link)
{
	struct tl_latency_run *run = ctx;
	int64_t latency_ns = (int64_t)(link->reply_ns - link->trigger_ns);
	struct tl_latency_note note = {.frame = tl_latency_pairs_number(link->trigger_frame),
		.number = link->number,
		.latency_ns = latency_ns};

	if (latency_ns < run->earliest_ns)
		run->earliest_ns = latency_ns;
	if (run->pairs != NULL)
		tl_latency_pairs_add(run->pairs, link);
	run->first_ns = tl_min_u64(run->first_ns, tl_min_u64(link->trigger_ns, link->reply_ns));
	run->last_ns = tl_max_u64(run->last_ns, tl_max_u64(link->trigger_ns, link->reply_ns));
	int rc = tl_latency_add_pair(run->report, link->trigger_ns, link->reply_ns, link->number, link->ambiguous);
	if (rc != 0 || run->fd < 0)
		return rc;
	rc = add_note(&run->notes[0], &note);
	note.frame = tl_latency_pairs_number(link->reply_frame);
	note.is_reply = true;
	return rc != 0 ? rc : add_note(&run->notes[run->cfg->files - 1], &note);
}

static void take_unanswered(void *ctx, uint64_t trigger_ns)
{
	struct tl_latency_run *run = ctx;

	tl_latency_date_lost(run->report, trigger_ns);
}

// ---- the report

static void add_counters(struct tl_latency *report, const struct tl_match_stats *stats)
{
	const struct tl_counter rows[] = {{"frames_of_triggers", stats->trigger_frames},
		{"frames_of_replies", stats->reply_frames}, {"triggers", stats->triggers},
		{"trigger_copies", stats->trigger_copies}, {"triggers_repeated", stats->trigger_repeated},
		{"triggers_empty", stats->trigger_empty}, {"unmatched_reply_bytes", stats->unmatched_reply_bytes},
		{"lost_reply_bytes", stats->lost_bytes}, {"frames_ignored", stats->trigger_ignored + stats->ignored},
		{"frames_cut", stats->trigger_cut + stats->cut}, {"other_streams", stats->other_streams}};

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++)
		tl_latency_add_fact(report, rows[i].name, "%" PRIu64, rows[i].value);
}

static const char *hint_of(uint64_t triggers, uint64_t replies)
{
	if (triggers != 0 && replies != 0)
		return "see --match and --window";
	return "filters are tcpdump's, and frames with a VLAN tag need \"vlan and ...\"";
}

// Explain a result without pairs: the frame counts of the filters show the wrong one.
static void check_silence(
	struct tl_latency *report, const struct tl_match_stats *stats, const struct tl_latency_side sides[2])
{
	tl_latency_add_invalid(&report->invalid,
		"no reply was matched: --trigger selects %" PRIu64 " of %" PRIu64 " frames, --reply %" PRIu64
		" of %" PRIu64 "; %s",
		stats->trigger_frames, sides[0].read, stats->reply_frames, sides[1].read,
		hint_of(stats->trigger_frames, stats->reply_frames));
}

static void check_result(
	struct tl_latency_run *run, const struct tl_match_stats *stats, const struct tl_latency_side sides[2])
{
	struct tl_latency *report = run->report;

	if (stats->matched == 0)
		check_silence(report, stats, sides);
	if (stats->negative != 0)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " of %" PRIu64 " replies are stamped before their triggers, by up to %" PRIu64
			" ns: the clocks do not agree",
			stats->negative, stats->matched, (uint64_t)-run->earliest_ns);
	if (stats->ambiguous * AMBIGUOUS_ONE_IN > stats->matched)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " of %" PRIu64 " replies could answer several triggers: more than one in %d; "
			"send payloads that differ, or compare a number (--match sequence)",
			stats->ambiguous, stats->matched, AMBIGUOUS_ONE_IN);
	if (stats->trigger_cut + stats->cut != 0)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " frames are cut short in the capture: their payload cannot be compared",
			stats->trigger_cut + stats->cut);
	if (stats->other_streams != 0)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " streams of replies beside the first: by position there can be one; narrow --reply",
			stats->other_streams);
	if (stats->different != 0)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " replies are not the bytes of the triggers at their position: something is missing",
			stats->different);
	if (run->cfg->match.method == TL_MATCH_POSITION && stats->trigger_bytes != stats->reply_bytes)
		tl_latency_add_invalid(&report->invalid,
			"the triggers are %" PRIu64 " bytes, the replies %" PRIu64
			": by position all replies after the gap are matched wrongly",
			stats->trigger_bytes, stats->reply_bytes);
}

// Report the clocks behind the stamps, as the files describe them.
static void fill_clocks(struct tl_latency_run *run, const struct tl_latency_side sides[2])
{
	const struct tl_latency_clocks *clocks[] = {&run->clocks[0], &run->clocks[run->cfg->files - 1]};
	const struct tl_latency_origin origins[] = {sides[0].origin, sides[1].origin};

	tl_latency_origins(origins, clocks, run->first_ns, run->last_ns, run->report);
	for (unsigned i = 0; i < 2 && run->first_ns <= run->last_ns; i++)
		if (i == 0 || run->cfg->files == 2 || origins[0].sources != origins[1].sources)
			tl_latency_check_steps(
				&origins[i], clocks[i], sides[i].path, run->first_ns, run->last_ns, run->report);
}

static int report_clocks(struct tl_latency_run *run)
{
	int rc = 0;

	for (unsigned i = 0; i < run->cfg->files && rc == 0; i++) {
		rc = tl_latency_clocks_end(&run->clocks[i]);
		if (rc == 0)
			rc = tl_latency_clocks_report(&run->clocks[i], run->cfg->file[i], run->report);
	}
	return rc;
}

static void fill(struct tl_latency_run *run, const struct tl_match_stats *stats, const struct tl_latency_side sides[2])
{
	struct tl_latency *report = run->report;
	const struct tl_latency_cfg *cfg = run->cfg;

	report->unmatched_triggers = stats->unmatched_triggers;
	report->unmatched_replies = stats->unmatched_replies;
	report->duplicates = stats->duplicates;
	report->ambiguous = stats->ambiguous;
	report->unstamped = stats->trigger_unstamped + stats->unstamped;
	report->window_ns = cfg->match.window_ns;
	fill_clocks(run, sides);
	tl_latency_name_method(&sides[0].origin, &sides[1].origin, cfg->files, report);
	tl_latency_add_fact(report, "file", "%s", cfg->file[0]);
	if (cfg->files == 2)
		tl_latency_add_fact(report, "file_of_replies", "%s", cfg->file[1]);
	tl_latency_add_fact(report, "trigger", "%s", cfg->trigger);
	tl_latency_add_fact(report, "reply", "%s", cfg->reply);
	tl_latency_add_fact(report, "trigger_frame_bytes", "%.1f",
		sides[0].passed != 0 ? (double)sides[0].wire_bytes / (double)sides[0].passed : 0);
	tl_latency_add_fact(report, "earliest_ns", "%" PRId64, run->earliest_ns);
	tl_latency_add_fact(report, "incomplete_file", "%s", sides[0].broken || sides[1].broken ? "yes" : "no");
	add_counters(report, stats);
	check_result(run, stats, sides);
	tl_latency_check_loss(report, cfg->max_loss);
}

// ---- a run

static int spare_inputs(const struct tl_latency_cfg *cfg, const char *path, const struct stat *file,
	const struct stat *inputs, struct tl_err *err)
{
	for (unsigned i = 0; i < cfg->files; i++)
		if (tl_is_same_inode(file, &inputs[i]))
			return tl_fail(err, -EINVAL, "%.300s: is an input file; name another", path);
	return 0;
}

static int check_saved(const struct tl_latency_cfg *cfg, const struct stat *inputs, struct tl_err *err)
{
	const char *const paths[] = {cfg->saved.json, cfg->pairs, cfg->saved.hgrm, cfg->saved.html};
	struct stat file;
	int rc = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(paths) && rc == 0; i++)
		if (paths[i] != NULL && stat(paths[i], &file) == 0)
			rc = spare_inputs(cfg, paths[i], &file, inputs, err);
	return rc;
}

static int open_linked(struct tl_latency_run *run, const struct stat *inputs, struct tl_err *err)
{
	const char *path = run->cfg->linked;
	bool to_stdout = strcmp(path, "-") == 0;
	struct stat status;

	run->fd = to_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			    : open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
	if (run->fd < 0 || fstat(run->fd, &status) != 0)
		return tl_fail(err, -EINVAL, "%.300s: cannot write: %s", path, strerror(errno));
	int rc = spare_inputs(run->cfg, path, &status, inputs, err);
	if (rc != 0)
		return rc;
	if (!to_stdout && S_ISREG(status.st_mode) && ftruncate(run->fd, 0) != 0)
		return tl_fail(err, -EINVAL, "%.300s: cannot empty it: %s", path, strerror(errno));
	return 0;
}

int tl_latency_run_init(
	struct tl_latency_run *run, const struct tl_latency_cfg *cfg, struct tl_latency *report, struct tl_err *err)
{
	struct tl_latency_files files = cfg->saved;
	struct stat status[TL_LATENCY_INPUTS];
	uint32_t linktype[TL_LATENCY_INPUTS];
	int rc = 0;

	*run = (struct tl_latency_run){.cfg = cfg, .report = report, .fd = -1, .first_ns = UINT64_MAX};
	files.csv = cfg->pairs;
	report->samples_max = SAMPLES_MAX;
	for (unsigned i = 0; i < cfg->files && rc == 0; i++) {
		if (stat(cfg->file[i], &status[i]) != 0)
			return tl_fail(err, -EINVAL, "%.300s: %s", cfg->file[i], strerror(errno));
		rc = tl_latency_side_check_file(cfg->file[i], &linktype[i], err);
	}
	if (rc == 0)
		rc = tl_latency_side_check_filter("--trigger", cfg->trigger, linktype[0], err);
	if (rc == 0)
		rc = tl_latency_side_check_filter("--reply", cfg->reply, linktype[cfg->files - 1], err);
	if (rc != 0)
		return rc;
	if (cfg->files == 2 && tl_is_same_inode(&status[0], &status[1]))
		return tl_fail(err, -EINVAL, "%.200s and %.200s are the same file: name a file with both once",
			cfg->file[0], cfg->file[1]);
	rc = check_saved(cfg, status, err);
	if (rc == 0)
		rc = tl_latency_files_check(&files, err);
	if (rc == 0 && cfg->linked != NULL)
		rc = open_linked(run, status, err);
	return rc == 0 && cfg->pairs != NULL ? tl_latency_pairs_create(cfg->pairs, &run->pairs, err) : rc;
}

static int match_sides(
	struct tl_latency_run *run, const struct tl_match_cfg *cfg, struct tl_latency_side sides[2], struct tl_err *err)
{
	struct tl_match *match = NULL;

	for (unsigned i = 0; i < run->cfg->files; i++)
		tl_pcap_watch(sides[i].reader, TL_PCAPNG_CLOCK, tl_latency_clocks_take, &run->clocks[i]);
	int rc = tl_match_create(cfg, &match);
	if (rc == 0)
		rc = match_all(&sides[0], &sides[1], match, cfg->window_ns);
	if (rc == 0)
		rc = report_clocks(run);
	if (rc != 0)
		tl_fail(err, rc, "cannot match: %s", strerror(-rc));
	else
		rc = check_sides(sides, err);
	if (rc == 0)
		fill(run, tl_match_get_stats(match), sides);
	tl_match_destroy(match);
	return rc;
}

int tl_latency_run(struct tl_latency_run *run, struct tl_err *err)
{
	const struct tl_latency_cfg *cfg = run->cfg;
	struct tl_match_cfg match_cfg = cfg->match;
	struct tl_latency_side sides[2] = {
		{.pairs = run->pairs, .shows = cfg->files == 2}, {.pairs = run->pairs, .shows = true}};

	match_cfg.linked = take_link;
	match_cfg.unanswered = take_unanswered;
	match_cfg.ctx = run;
	int rc = tl_latency_side_open(&sides[0], cfg->file[0], cfg->trigger, err);
	if (rc == 0)
		rc = tl_latency_side_open(&sides[1], cfg->file[cfg->files - 1], cfg->reply, err);
	if (rc == 0)
		rc = match_sides(run, &match_cfg, sides, err);
	tl_latency_side_close(&sides[0]);
	tl_latency_side_close(&sides[1]);
	int closed = tl_latency_pairs_close(run->pairs, rc == 0 ? err : NULL);
	run->pairs = NULL;
	return rc != 0 ? rc : closed;
}

void tl_latency_run_fini(struct tl_latency_run *run)
{
	for (unsigned i = 0; i < TL_LATENCY_INPUTS; i++) {
		free(run->notes[i].note);
		tl_latency_clocks_free(&run->clocks[i]);
	}
	tl_latency_pairs_close(run->pairs, NULL);
	if (run->fd >= 0)
		close(run->fd);
}
