// SPDX-License-Identifier: BSD-3-Clause
// tapline latency: measure latencies in capture files.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_json.h>
#include <tl_latency.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_rates.h>
#include <tl_units.h>

#include "app.h"
#include "latency_compare.h"
#include "latency_run.h"
#include "latency_selftest.h"
#include "manifest.h"

#define NUMBER_BYTES_MAX 64
#define OFFSET_MAX 65535
#define REPLY_BYTES_MAX (1u << 20)

struct options {
	struct tl_latency_cfg cfg;
	const char *name;
	bool json;
};

static const struct tl_option options[] = {
	{"trigger", 0, "FILTER", "trigger frames: UDP datagrams or TCP segments",
		TL_INTO(TEXT, struct options, cfg.trigger)},
	{"reply", 0, "FILTER", "reply frames: UDP datagrams or TCP streams", TL_INTO(TEXT, struct options, cfg.reply)},
	{"match", 0, "HOW",
		"how replies are matched: payload (default): the reply contains the trigger's payload; sequence:OFFSET[,OFFSET]:LEN: both have the same number of LEN bytes at OFFSET (the second OFFSET is the reply's); position: the stream of replies is the sequence of the triggers' payloads",
		'm', .choices = "payload position sequence:"},
	{"reply-bytes", 0, "N", "with sequence, in TCP: length of each reply (default: that of its trigger)", 'b'},
	{"window", 0, "TIME", "longest time from a trigger to its reply (default 1s); also 500ms, 20us, 900ns", 'W'},
	{"max-loss", 0, "SHARE",
		"the result is invalid if a larger share of triggers has no reply: 0.01 or 1% (default " TL_LATENCY_MAX_LOSS_TEXT
		")",
		'l'},
	{"unique", 0, NULL, "a repeated payload within the window is a copy, not another trigger",
		TL_INTO(FLAG, struct options, cfg.match.unique)},
	{"name", 0, "TEXT", "name of the experiment, for the report", TL_INTO(TEXT, struct options, name)},
	{"json", 0, NULL, "print the results as one JSON object", TL_INTO(FLAG, struct options, json)},
	{"csv", 0, "FILE", "write every pair with its packets, stamps, interfaces and flags",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, cfg.pairs)},
	{"html", 0, "FILE", "write the report as a self-contained page", .choices = TL_CHOICES_FILE,
		TL_INTO(TEXT, struct options, cfg.saved.html)},
	{"hgrm", 0, "FILE", "write the percentiles in HdrHistogram's format", .choices = TL_CHOICES_FILE,
		TL_INTO(TEXT, struct options, cfg.saved.hgrm)},
	{"write", 'w', "LINKED",
		"write a pcapng copy: the frames of a pair have the same packet id, and a comment; -: stdout, with the results on stderr",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, cfg.linked)},
	{"above", 0, "TIME", "with -w: comment pairs with a longer latency only", 'a'},
	TL_OPTION_HELP,
	{.help = "Compare two reports, output of --json or pages of --html: are the latencies of B larger than those of A?"},
	TL_LATENCY_COMPARE_OPTION,
	TL_LATENCY_THRESHOLD_OPTION,
	TL_LATENCY_FORCE_OPTION,
	{.help = "Check the measurement on this machine:"},
	TL_LATENCY_SELFTEST_OPTION,
	TL_LATENCY_SEEDS_OPTION,
	TL_LATENCY_SEED_OPTION,
	TL_LATENCY_KEEP_OPTION,
};

const struct tl_command tl_latency_command = {
	.name = "latency",
	.summary = "measure latencies in captures",
	.usage = "latency FILE [FILE2] --trigger FILTER --reply FILTER [options]\n"
		 "latency --compare A B [--threshold T] [--force] [--json]\n"
		 "latency --compare [--threshold T] [--force] [--json] A1 A2... -- B1 B2...\n"
		 "latency --self-test [--seeds N] [--seed S] [--keep DIR]",
	.about =
		"Finds the reply to each trigger in pcap and pcapng files, and prints its latency. FILE has both; with\n"
		"FILE2 it has the triggers, and FILE2 the replies. Filters are in tcpdump's syntax.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

// ---- options

// Parse "1s", "500ms", "20us", "900ns"; without a unit, seconds. Return 0 or -EINVAL.
static int parse_time(const char *text, uint64_t *out_ns)
{
	struct tl_err unused;

	return tl_parse_seconds(text, out_ns) == 0 || tl_parse_span(text, out_ns, &unused) == 0 ? 0 : -EINVAL;
}

// Parse "OFFSET[,OFFSET]:LEN".
static bool parse_sequence(const char *text, struct tl_match_cfg *cfg)
{
	char part[3][16] = {0};
	uint64_t trigger, reply, bytes;
	int n = sscanf(text, "%15[0-9],%15[0-9]", part[0], part[1]);
	const char *colon = strchr(text, ':');

	if (n < 1 || colon == NULL || (size_t)(colon - text) != strlen(part[0]) + (n == 2 ? 1 + strlen(part[1]) : 0))
		return false;
	if (tl_parse_u64(part[0], 0, OFFSET_MAX, &trigger) != 0 ||
		tl_parse_u64(part[n - 1], 0, OFFSET_MAX, &reply) != 0 ||
		tl_parse_u64(colon + 1, 1, NUMBER_BYTES_MAX, &bytes) != 0)
		return false;
	cfg->method = TL_MATCH_SEQUENCE;
	cfg->trigger_offset = (uint32_t)trigger;
	cfg->reply_offset = (uint32_t)reply;
	cfg->number_bytes = (uint32_t)bytes;
	return true;
}

static const char *set_match(struct tl_match_cfg *cfg, const char *value)
{
	static const char sequence[] = "sequence:";

	if (strcmp(value, "payload") == 0)
		cfg->method = TL_MATCH_PAYLOAD;
	else if (strcmp(value, "position") == 0)
		cfg->method = TL_MATCH_POSITION;
	else if (strncmp(value, sequence, strlen(sequence)) != 0 || !parse_sequence(value + strlen(sequence), cfg))
		return "--match takes payload, position, sequence:OFFSET:LEN or sequence:OFFSET,OFFSET:LEN";
	return NULL;
}

static const char *set_reply_bytes(struct tl_match_cfg *cfg, const char *value)
{
	uint64_t bytes;

	if (tl_parse_u64(value, 1, REPLY_BYTES_MAX, &bytes) != 0)
		return "--reply-bytes takes a number from 1 to 1048576";
	cfg->reply_bytes = (uint32_t)bytes;
	return NULL;
}

// Set what a row does not store. Return NULL, or an error text.
static const char *set(void *ctx, int id, const char *value)
{
	static const char no_time[] = "no time such as 1s, 500ms, 20us or 900ns";
	struct options *o = ctx;

	switch (id) {
	case 'm':
		return set_match(&o->cfg.match, value);
	case 'b':
		return set_reply_bytes(&o->cfg.match, value);
	case 'W':
		return parse_time(value, &o->cfg.match.window_ns) == 0 && o->cfg.match.window_ns != 0 ? NULL : no_time;
	case 'l':
		return tl_latency_parse_share(value, &o->cfg.max_loss) == 0
			       ? NULL
			       : "--max-loss takes a share, from 0 to 1 or from 0% to 100%";
	case 'a':
		return parse_time(value, &o->cfg.above_ns) == 0 ? NULL : no_time;
	case TL_LATENCY_COMPARE_ID: // abbreviated, and not seen by tl_latency_is_compare()
	case TL_LATENCY_THRESHOLD_ID:
	case TL_LATENCY_FORCE_ID:
		return "write --compare, in full, to compare two reports";
	default:
		return "write --self-test, in full, to test what this command measures";
	}
}

// Check combinations of options. Return NULL, or an error text.
static const char *check(const struct options *o)
{
	const struct tl_match_cfg *match = &o->cfg.match;

	if (o->cfg.trigger == NULL || o->cfg.reply == NULL)
		return "which frames? give --trigger FILTER and --reply FILTER";
	if (match->reply_bytes != 0 && match->method != TL_MATCH_SEQUENCE)
		return "--reply-bytes is for --match sequence";
	if (match->reply_bytes != 0 && match->reply_bytes < match->reply_offset + match->number_bytes)
		return "--reply-bytes is less than where the number ends";
	if (match->unique && match->method == TL_MATCH_POSITION)
		return "--unique is for --match payload and sequence";
	if (o->cfg.above_ns != 0 && o->cfg.linked == NULL)
		return "--above is for -w";
	return NULL;
}

// Return -1 to continue, else an exit status.
static int parse(int argc, char **argv, struct options *o)
{
	const struct tl_command *command = &tl_latency_command;
	int status = tl_set_options(command, argc, argv, set, o);

	if (status >= 0)
		return status;
	if (optind == argc)
		return tl_misuse(
			command, "which file? name one that holds both, or one of triggers and one of replies", NULL);
	if (argc - optind > TL_LATENCY_INPUTS)
		return tl_misuse(command, "two files at most", argv[optind + TL_LATENCY_INPUTS]);
	while (optind < argc)
		o->cfg.file[o->cfg.files++] = argv[optind++];
	const char *wrong = check(o);
	return wrong != NULL ? tl_misuse(command, wrong, NULL) : -1;
}

// ---- results

static int print(const struct options *o, const struct tl_latency *report, struct tl_err *err)
{
	bool to_stderr = o->cfg.linked != NULL && strcmp(o->cfg.linked, "-") == 0;
	FILE *out = to_stderr ? stderr : stdout;
	int rc = 0;

	if (o->json) {
		json_t *json = tl_latency_json(report);
		rc = tl_latency_json_print(json, out);
		json_decref(json);
	} else {
		rc = tl_latency_text(report, out);
		rc = rc == 0 ? tl_manifest_print(report->manifest, out) : rc;
	}
	return rc != 0 ? tl_fail(err, rc, "cannot print the results: %s", strerror(-rc)) : 0;
}

static json_t *offset_or_null(const struct tl_match_cfg *match, uint32_t value)
{
	return match->method == TL_MATCH_SEQUENCE ? json_integer(value) : json_null();
}

static json_t *match_json(const struct tl_latency_cfg *cfg)
{
	static const char *const names[] = {
		[TL_MATCH_PAYLOAD] = "payload", [TL_MATCH_SEQUENCE] = "sequence", [TL_MATCH_POSITION] = "position"};
	const struct tl_match_cfg *match = &cfg->match;

	return json_pack("{s:s, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o}", "method", names[match->method], "trigger",
		tl_json_string(cfg->trigger), "reply", tl_json_string(cfg->reply), "window_ns",
		(json_int_t)tl_min_u64(match->window_ns, INT64_MAX), "unique", match->unique, "trigger_offset",
		offset_or_null(match, match->trigger_offset), "reply_offset",
		offset_or_null(match, match->reply_offset), "number_bytes", offset_or_null(match, match->number_bytes),
		"reply_bytes", match->reply_bytes != 0 ? json_integer(match->reply_bytes) : json_null());
}

// Fill the manifest. The files are read once more for their digests.
static void fill_manifest(const struct tl_latency_cfg *cfg, const struct tl_latency *report)
{
	for (unsigned i = 0; i < cfg->files; i++)
		tl_manifest_add_input(report->manifest, cfg->file[i]);
	tl_manifest_set_match(report->manifest, match_json(cfg));
	tl_manifest_set_clocks(report->manifest, report);
}

static int save(const struct options *o, const struct tl_latency *report, struct tl_err *err)
{
	const struct tl_latency_files beside = {.csv = o->cfg.pairs, .hgrm = o->cfg.saved.hgrm};
	int rc = tl_latency_save(report, &o->cfg.saved, err);

	return rc == 0 ? tl_manifest_save_beside(report->manifest, &beside, err) : rc;
}

// Run the measurement. Return 0, or -errno with a message in *err.
static int work(const struct options *o, struct tl_latency_run *run, struct tl_err *err)
{
	int rc = tl_latency_run(run, err);

	if (rc == 0)
		fill_manifest(&o->cfg, run->report);
	if (rc == 0 && o->cfg.linked != NULL)
		rc = tl_latency_write_linked(run, err);
	if (rc == 0)
		rc = print(o, run->report, err); // first: a file error must not lose the results
	if (rc == 0)
		rc = save(o, run->report, err);
	return rc;
}

static int run_and_report(const struct options *o, struct tl_latency *report)
{
	struct tl_latency_run run;
	struct tl_err err;
	int status = TL_EXIT_OK;

	snprintf(report->name, sizeof(report->name), "%s", o->name != NULL ? o->name : o->cfg.file[0]);
	if (tl_latency_run_init(&run, &o->cfg, report, &err) != 0) {
		tl_error("%s", err.text);
		status = TL_EXIT_USAGE;
	} else if (work(o, &run, &err) != 0) {
		tl_error("%s", err.text);
		status = TL_EXIT_FAILED;
	} else if (report->matched == 0) {
		tl_error("%s", report->invalid.text[0]);
		status = TL_EXIT_FAILED;
	}
	tl_latency_run_fini(&run);
	return status;
}

int tl_cmd_latency(int argc, char **argv)
{
	struct options o = {.cfg = {.match = {.window_ns = TL_NS_PER_S}, .max_loss = TL_LATENCY_MAX_LOSS}};

	if (tl_latency_is_compare(argc, argv))
		return tl_latency_compare_command(argc, argv);
	if (tl_latency_is_selftest(argc, argv))
		return tl_latency_selftest_command(argc, argv);
	int status = parse(argc, argv, &o);
	if (status >= 0)
		return status;
	struct tl_latency *report = tl_latency_create();
	json_t *manifest = tl_manifest_create("");
	if (report != NULL && manifest != NULL) {
		report->manifest = manifest;
		status = run_and_report(&o, report);
	} else {
		tl_error("no memory for the report");
		status = TL_EXIT_FAILED;
	}
	tl_latency_destroy(report);
	json_decref(manifest);
	return status;
}
