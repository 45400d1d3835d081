// SPDX-License-Identifier: BSD-3-Clause
// tapline latency --compare: whether one report is slower than another, as an exit status.

#include "latency_compare.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_latency_compare.h>
#include <tl_log.h>

#include "app.h"

#define SEED UINT64_C(20031973) // any: what counts is that the same reports give the same verdict

static const char help[] =
	"usage: tapline latency --compare A B [--threshold T] [--json]\n"
	"\n"
	"Says whether the latencies of B are larger than those of A, at p50, p90, p99 and p99.9. A and B are\n"
	"reports: what --json printed, or pages of --html. Exit status 0: B is not shown to be slower; 1: it is; 2: that cannot be said.\n"
	"\n"
	"      --threshold T  what is no matter: 50, 50ns, 1.5us, 2ms, or 5% of A (default 0)\n"
	"      --json         the comparison as one JSON object\n"
	"  -h, --help         this text\n";

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

static int usage(const char *what)
{
	tl_error("%s (see `tapline latency --compare --help`)", what);
	return TL_EXIT_USAGE;
}

// Returns -1 to go on, else an exit status.
static int parse(int argc, char **argv, struct call *call)
{
	static const struct option table[] = {{"compare", no_argument, NULL, 'c'},
		{"threshold", required_argument, NULL, 't'}, {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (c == 'h')
			return fputs(help, stdout) < 0 ? TL_EXIT_FAILED : TL_EXIT_OK;
		if (c == '?') // getopt has said what is wrong
			return TL_EXIT_USAGE;
		if (c == 't' && tl_latency_parse_threshold(optarg, &call->threshold) != 0)
			return usage("--threshold takes a number of ns, or one with ns, us, ms or %");
		call->json |= c == 'j';
	}
	if (argc - optind != 2)
		return usage("--compare takes two reports, JSON or HTML");
	call->a = argv[optind];
	call->b = argv[optind + 1];
	return -1;
}

static int show(const struct call *call, const struct tl_latency_comparison *comparison, struct tl_err *err)
{
	if (call->json) {
		json_t *json = tl_latency_comparison_json(comparison);
		int rc = json != NULL ? tl_latency_json_print(json, stdout) : -1;
		json_decref(json);
		if (rc != 0)
			return tl_fail(err, -1, "cannot print the comparison");
	} else {
		tl_latency_comparison_text(comparison, stdout);
	}
	return fflush(stdout) == 0 ? 0 : tl_fail(err, -1, "cannot print the comparison");
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
