// SPDX-License-Identifier: BSD-3-Clause
// tapline latency --compare: test whether the runs of one side are slower than those of the other; the verdict is the
// exit status.

#include "latency_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_latency_compare.h>
#include <tl_log.h>
#include <tl_options.h>

#include "app.h"
#include "manifest.h"

#define MISS 0.05 // probability that any of the intervals misses

static const struct tl_option options[] = {
	TL_LATENCY_COMPARE_OPTION,
	TL_LATENCY_THRESHOLD_OPTION,
	TL_LATENCY_FORCE_OPTION,
	{"json", 0, NULL, "print the comparison as one JSON object", 'j'},
	TL_OPTION_HELP,
};

static const struct tl_command compare_command = {
	.name = "latency --compare",
	.usage = "latency --compare A B [--threshold T] [--force] [--json]\n"
		 "latency --compare [--threshold T] [--force] [--json] A1 A2... -- B1 B2...",
	.about =
		"Tests whether the latencies of B are larger than those of A, at p50, p90, p99 and p99.9, and whether B answers fewer\n"
		"triggers. A and B are reports: output of --json, or pages of --html; one each, or several runs of each with --\n"
		"between them. Exit status 0: B is not shown to be slower; 1: B is slower; 2: no verdict.",
	TL_OPTIONS(options),
};

struct call {
	char **paths; // paths of A, then of B
	size_t n_a, n;
	struct tl_latency_threshold threshold;
	bool force, json;
};

bool tl_latency_is_compare(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--compare") == 0)
			return true;
	return false;
}

// Count the arguments behind "--", which getopt removes.
static int words_behind(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return argc - i - 1;
	return 0;
}

static const char *check_words(int words, int behind)
{
	if (behind == 0)
		return words == 2 ? NULL
				  : "--compare takes two reports, JSON or HTML, or several with -- between A and B";
	if (behind >= words)
		return "--compare: no report before --";
	if (words != 2 && (behind < 2 || words - behind < 2))
		return "--compare takes one report of each side, or at least two of each";
	return NULL;
}

// Return -1 to continue, else an exit status.
static int parse(int argc, char **argv, struct call *call)
{
	struct tl_options_reader reader;
	const struct tl_option *option;
	int behind = words_behind(argc, argv); // before getopt sorts argv

	tl_options_begin(&reader, &compare_command, argc, argv);
	while ((option = tl_options_next(&reader)) != NULL) {
		if (option->id == TL_LATENCY_THRESHOLD_ID && tl_latency_parse_threshold(optarg, &call->threshold) != 0)
			return tl_misuse(&compare_command,
				"--threshold takes a number of ns, or one with ns, us, ms or %", NULL);
		call->json |= option->id == 'j';
		call->force |= option->id == TL_LATENCY_FORCE_ID;
	}
	if (reader.status >= 0)
		return reader.status;
	const char *wrong = check_words(argc - optind, behind);
	if (wrong != NULL)
		return tl_misuse(&compare_command, wrong, NULL);
	call->paths = argv + optind;
	call->n = (size_t)(argc - optind);
	call->n_a = behind == 0 ? 1 : call->n - (size_t)behind;
	return -1;
}

static int show(const struct call *call, const struct tl_latency_comparison *comparison, const json_t *manifest,
	struct tl_err *err)
{
	if (call->json) {
		json_t *json = tl_latency_comparison_json(comparison);
		tl_manifest_put(manifest, TL_SCHEMA_COMPARISON, json);
		int rc = tl_latency_json_print(json, stdout);
		json_decref(json);
		if (rc != 0)
			return tl_fail(err, -1, "cannot print the comparison");
	} else {
		tl_latency_comparison_text(comparison, stdout);
		tl_manifest_print(manifest, stdout);
	}
	return fflush(stdout) == 0 ? 0 : tl_fail(err, -1, "cannot print the comparison");
}

static int load_all(const struct call *call, struct tl_latency **runs, struct tl_err *err)
{
	for (size_t i = 0; i < call->n; i++) {
		int rc = tl_latency_load(call->paths[i], &runs[i], err);
		if (rc != 0)
			return rc;
		rc = tl_latency_usable(runs[i], err);
		if (rc != 0)
			return tl_fail_at(err, rc, "%s", call->paths[i]);
	}
	return 0;
}

// Check that all runs are measured like the first; store the differences.
static int check_all(const struct call *call, struct tl_latency **runs, char *differs, size_t size, struct tl_err *err)
{
	for (size_t i = 1; i < call->n; i++) {
		int rc = tl_latency_alike(runs[0], call->paths[0], runs[i], call->paths[i], err);
		if (rc == 0)
			continue;
		if (!call->force) {
			snprintf(differs, size, "%s", err->text);
			return tl_fail(err, rc, "%.450s: measure both alike, or give --force", differs);
		}
		if (differs[0] == '\0')
			snprintf(differs, size, "%s", err->text);
		tl_warn("%s", err->text);
	}
	return 0;
}

// Show the comparison like show(), with a manifest that names the reports.
static int show_all(const struct call *call, const struct tl_latency_comparison *comparison, struct tl_err *err)
{
	json_t *manifest = tl_manifest_create("");

	for (size_t i = 0; i < call->n; i++)
		tl_manifest_add_input(manifest, call->paths[i]);
	int rc = manifest != NULL ? show(call, comparison, manifest, err) : tl_fail(err, -1, "not enough memory");
	json_decref(manifest);
	return rc;
}

// Compare the runs. Return the exit status, with a message in *err for status 2.
static int compare(const struct call *call, struct tl_latency **runs, struct tl_err *err)
{
	const struct tl_latency_side a = {runs, call->n_a}, b = {runs + call->n_a, call->n - call->n_a};
	struct tl_latency_comparison comparison;
	char differs[sizeof(comparison.differs)] = "";

	if (load_all(call, runs, err) != 0 || check_all(call, runs, differs, sizeof(differs), err) != 0)
		return TL_EXIT_USAGE;
	if (tl_latency_compare(&a, &b, &call->threshold, MISS, &comparison) != 0) {
		tl_fail(err, -1, "not enough memory");
		return TL_EXIT_USAGE;
	}
	memcpy(comparison.differs, differs, sizeof(differs));
	if (show_all(call, &comparison, err) != 0)
		return TL_EXIT_USAGE;
	const char *none = tl_latency_no_verdict(&comparison);
	if (none != NULL) {
		tl_fail(err, -1, "%s", none);
		return TL_EXIT_USAGE;
	}
	return comparison.verdict == TL_LATENCY_SLOWER ? TL_EXIT_FAILED : TL_EXIT_OK;
}

int tl_latency_compare_command(int argc, char **argv)
{
	struct call call = {0};
	struct tl_err err;
	int status = parse(argc, argv, &call);

	if (status >= 0)
		return status;
	struct tl_latency **runs = calloc(call.n, sizeof(struct tl_latency *));
	if (runs == NULL) {
		tl_error("not enough memory");
		return TL_EXIT_USAGE;
	}
	status = compare(&call, runs, &err);
	if (status == TL_EXIT_USAGE)
		tl_error("%s", err.text);
	for (size_t i = 0; i < call.n; i++)
		tl_latency_destroy(runs[i]);
	free(runs);
	return status;
}
