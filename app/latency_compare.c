// SPDX-License-Identifier: BSD-3-Clause
// tapline latency --compare: whether one report is slower than another, as an exit status.

#include "latency_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_latency_compare.h>
#include <tl_log.h>
#include <tl_options.h>

#include "app.h"

#define SEED UINT64_C(20031973) // any: what counts is that the same reports give the same verdict

static const struct tl_option options[] = {
	TL_LATENCY_COMPARE_OPTION,
	TL_LATENCY_THRESHOLD_OPTION,
	{"json", 0, NULL, "the comparison as one JSON object", 'j'},
	TL_OPTION_HELP,
};

static const struct tl_command compare_command = {
	.name = "latency --compare",
	.usage = "latency --compare A B [--threshold T] [--json]",
	.about =
		"Says whether the latencies of B are larger than those of A, at p50, p90, p99 and p99.9. A and B are reports: what\n"
		"--json printed, or pages of --html. Exit status 0: B is not shown to be slower; 1: it is; 2: that cannot be said.",
	TL_OPTIONS(options),
};

struct call {
	const char *a, *b;
	struct tl_latency_threshold threshold;
	bool json;
};

bool tl_latency_is_compare(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--compare") == 0)
			return true;
	return false;
}

// Returns -1 to go on, else an exit status.
static int parse(int argc, char **argv, struct call *call)
{
	struct tl_options_reader reader;
	const struct tl_option *option;

	tl_options_begin(&reader, &compare_command, argc, argv);
	while ((option = tl_options_next(&reader)) != NULL) {
		if (option->id == TL_LATENCY_THRESHOLD_ID && tl_latency_parse_threshold(optarg, &call->threshold) != 0)
			return tl_misuse(&compare_command,
				"--threshold takes a number of ns, or one with ns, us, ms or %", NULL);
		call->json |= option->id == 'j';
	}
	if (reader.status >= 0)
		return reader.status;
	if (argc - optind != 2)
		return tl_misuse(&compare_command, "--compare takes two reports, JSON or HTML", NULL);
	call->a = argv[optind];
	call->b = argv[optind + 1];
	return -1;
}

static int show(const struct call *call, const struct tl_latency_comparison *comparison, struct tl_err *err)
{
	if (call->json) {
		json_t *json = tl_latency_comparison_json(comparison);
		int rc = tl_latency_json_print(json, stdout);
		json_decref(json);
		if (rc != 0)
			return tl_fail(err, -1, "cannot print the comparison");
	} else {
		tl_latency_comparison_text(comparison, stdout);
	}
	return fflush(stdout) == 0 ? 0 : tl_fail(err, -1, "cannot print the comparison");
}

// What was lost may have been what was slow.
static void warn_of_unmatched(const struct tl_latency *a, const struct tl_latency *b)
{
	if (b->unmatched_triggers > a->unmatched_triggers)
		tl_warn("%" PRIu64 " triggers of B have no reply, of A %" PRIu64 ": they are in no percentile",
			b->unmatched_triggers, a->unmatched_triggers);
}

// Returns the exit status, and the sentence for status 2.
static int compare(const struct call *call, const struct tl_latency *a, const struct tl_latency *b, struct tl_err *err)
{
	struct tl_latency_comparison comparison;

	if (tl_latency_comparable(a, b, err) != 0)
		return TL_EXIT_USAGE;
	if (tl_latency_compare(&a->latency, &b->latency, &call->threshold, SEED, &comparison) != 0) {
		tl_fail(err, -1, "not enough memory");
		return TL_EXIT_USAGE;
	}
	warn_of_unmatched(a, b);
	if (show(call, &comparison, err) != 0)
		return TL_EXIT_USAGE;
	if (comparison.verdict == TL_LATENCY_TOO_FEW) {
		tl_fail(err, -1, "too few samples to say anything");
		return TL_EXIT_USAGE;
	}
	return comparison.verdict == TL_LATENCY_SLOWER ? TL_EXIT_FAILED : TL_EXIT_OK;
}

int tl_latency_compare_command(int argc, char **argv)
{
	struct tl_latency *a = NULL, *b = NULL;
	struct call call = {0};
	struct tl_err err;
	int status = parse(argc, argv, &call);

	if (status >= 0)
		return status;
	status = TL_EXIT_USAGE;
	if (tl_latency_load(call.a, &a, &err) == 0 && tl_latency_load(call.b, &b, &err) == 0)
		status = compare(&call, a, b, &err);
	if (status == TL_EXIT_USAGE)
		tl_error("%s", err.text);
	tl_latency_destroy(a);
	tl_latency_destroy(b);
	return status;
}
