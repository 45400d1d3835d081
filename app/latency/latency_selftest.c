// SPDX-License-Identifier: BSD-3-Clause
// tapline latency --self-test: check matcher, CSV and report against traffic with known latencies.

#include "latency_selftest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_traffic.h>
#include <tl_units.h>

#include "app.h"
#include "latency_run.h"
#include "latency_truth.h"

static const struct tl_option options[] = {
	TL_LATENCY_SELFTEST_OPTION,
	TL_LATENCY_SEEDS_OPTION,
	TL_LATENCY_SEED_OPTION,
	TL_LATENCY_KEEP_OPTION,
	TL_OPTION_HELP,
};

static const struct tl_command selftest_command = {
	.name = "latency --self-test",
	.usage = "latency --self-test [--seeds N] [--seed S] [--keep DIR]",
	.about =
		"Generates captures from seeds, with known latencies, jitter, losses, reordering, splits, merges, duplicates, resets,\n"
		"wraps and clock errors, reads them like any capture, and compares every pair and verdict with the truth.\n"
		"Exit status 0: no differences; 1: differences, or a file could not be written.",
	TL_OPTIONS(options),
};

struct test {
	uint64_t first, seeds;
	const char *keep;
	char dir[TL_LATENCY_PATH_BYTES / 2];
	struct tl_traffic *traffic;
	uint64_t pairs, wrong; // wrong: number of seeds
};

static const char *const names[TL_TRAFFIC_FILES] = {"triggers.cap", "replies.cap"};

// ---- files

static void name_files(struct tl_latency_subject *s, const char *dir)
{
	snprintf(s->dir, sizeof(s->dir), "%s/seed-%06" PRIu64, dir, s->traffic->seed);
	for (unsigned i = 0; i < TL_TRAFFIC_FILES; i++)
		snprintf(s->path[i], sizeof(s->path[i]), "%s/%s", s->dir, names[i]);
	snprintf(s->csv, sizeof(s->csv), "%s/pairs.csv", s->dir);
	snprintf(s->call, sizeof(s->call), "%s/call", s->dir);
}

static void remove_files(const struct tl_latency_subject *s)
{
	for (unsigned i = 0; i < TL_TRAFFIC_FILES; i++)
		unlink(s->path[i]);
	unlink(s->csv);
	unlink(s->call);
	rmdir(s->dir);
}

static void print_call(const struct tl_traffic *traffic, FILE *out)
{
	const struct tl_match_cfg *match = &traffic->match;

	for (unsigned i = 0; i < traffic->files; i++)
		fprintf(out, "%s\n", names[i]);
	fprintf(out, "--trigger\n%s\n--reply\n%s\n--window\n%" PRIu64 "ns\n", traffic->trigger, traffic->reply,
		match->window_ns);
	fprintf(out, "--max-loss\n%u.%u%%\n", traffic->max_loss_permille / 10, traffic->max_loss_permille % 10);
	if (match->method == TL_MATCH_POSITION)
		fprintf(out, "--match\nposition\n");
	if (match->method == TL_MATCH_SEQUENCE)
		fprintf(out, "--match\nsequence:%u,%u:%u\n", match->trigger_offset, match->reply_offset,
			match->number_bytes);
	if (match->reply_bytes != 0)
		fprintf(out, "--reply-bytes\n%u\n", match->reply_bytes);
	if (match->unique)
		fprintf(out, "--unique\n");
}

// Write the captures, and the arguments of the call for them, one per line.
static int write_files(const struct tl_latency_subject *s, struct tl_err *err)
{
	const char *paths[TL_TRAFFIC_FILES] = {s->path[0], s->path[1]};

	if (mkdir(s->dir, 0750) != 0 && errno != EEXIST)
		return tl_fail(err, -errno, "%.300s: cannot make it: %s", s->dir, strerror(errno));
	FILE *call = fopen(s->call, "we");
	if (call == NULL)
		return tl_fail(err, -errno, "%.300s: cannot write: %s", s->call, strerror(errno));
	print_call(s->traffic, call);
	if (fclose(call) != 0)
		return tl_fail(err, -EIO, "%.300s: cannot write all of it: %s", s->call, strerror(errno));
	return tl_traffic_write(s->traffic, paths, err);
}

// ---- seeds

// Read the captures as `tapline latency` does. Return 0, or -errno with a message in *err.
static int read_captures(struct tl_latency_subject *s, struct tl_latency *report, struct tl_err *err)
{
	const struct tl_traffic *t = s->traffic;
	const struct tl_latency_cfg cfg = {.file = {s->path[0], s->path[1]},
		.files = t->files,
		.trigger = t->trigger,
		.reply = t->reply,
		.match = t->match,
		.max_loss = t->max_loss_permille / 1000.0,
		.pairs = s->csv};
	struct tl_latency_run run;

	int rc = tl_latency_run_init(&run, &cfg, report, err);
	if (rc == 0)
		rc = tl_latency_run(&run, err);
	tl_latency_run_fini(&run);
	if (rc != 0)
		return rc;
	tl_latency_compare_truth(s, report);
	return 0;
}

static void print_tricks(const struct tl_latency_subject *s)
{
	const char *separator = "";

	printf("seed %" PRIu64 ": files in %s; ", s->traffic->seed, s->dir);
	for (unsigned i = 0; i < TL_TRAFFIC_TRICKS; i++)
		if ((s->traffic->tricks >> i & 1) != 0) {
			printf("%s%s", separator, tl_traffic_trick_name(i));
			separator = ", ";
		}
	putchar('\n');
}

static int run_seed(struct test *test, uint64_t seed, struct tl_err *err)
{
	struct tl_latency_subject s = {.traffic = test->traffic};
	struct tl_latency *report = tl_latency_create();

	tl_traffic_make(test->traffic, seed);
	name_files(&s, test->dir);
	int rc = report == NULL ? tl_fail(err, -ENOMEM, "no memory for the report") : write_files(&s, err);
	if (rc == 0 && read_captures(&s, report, err) != 0) {
		printf("seed %" PRIu64 ": %s\n", seed, err->text);
		s.differences++;
	}
	tl_latency_destroy(report);
	test->pairs += s.pairs;
	test->wrong += s.differences != 0;
	if (s.differences != 0)
		print_tricks(&s);
	else if (test->keep == NULL)
		remove_files(&s);
	return rc;
}

static int run_seeds(struct test *test, struct tl_err *err)
{
	bool shown = isatty(STDERR_FILENO) != 0;
	int rc = 0;

	for (uint64_t i = 0; i < test->seeds && rc == 0; i++) {
		rc = run_seed(test, test->first + i, err);
		if (shown && (i % 100 == 99 || i + 1 == test->seeds))
			fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds%s", i + 1, test->seeds,
				i + 1 == test->seeds ? "\n" : "");
	}
	return rc;
}

// Make the directory. Return 0, or -errno with a message in *err.
static int make_directory(struct test *test, struct tl_err *err)
{
	const char *tmp = getenv("TMPDIR");
	int chars = test->keep != NULL ? snprintf(test->dir, sizeof(test->dir), "%s", test->keep)
				       : snprintf(test->dir, sizeof(test->dir), "%s/tapline-self-test-XXXXXX",
						 tmp != NULL ? tmp : "/tmp");

	if (chars >= (int)sizeof(test->dir))
		return tl_fail(err, -ENAMETOOLONG, "%.200s...: too long a path; name another", test->dir);
	bool made = test->keep != NULL ? mkdir(test->dir, 0750) == 0 || errno == EEXIST : mkdtemp(test->dir) != NULL;
	return made ? 0 : tl_fail(err, -errno, "%.200s: cannot make it: %s", test->dir, strerror(errno));
}

static int run_test(struct test *test)
{
	struct tl_err err;
	int rc = make_directory(test, &err);

	test->traffic = tl_traffic_create();
	if (rc == 0 && test->traffic == NULL)
		rc = tl_fail(&err, -ENOMEM, "no memory for the traffic");
	if (rc == 0)
		rc = run_seeds(test, &err);
	tl_traffic_destroy(test->traffic);
	if (test->keep == NULL)
		rmdir(test->dir); // files of a failed seed stay in it
	if (rc != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	printf("self-test: seeds %" PRIu64 " to %" PRIu64 ", %" PRIu64 " pairs; %" PRIu64
	       " captures were read wrongly\n",
		test->first, test->first + test->seeds - 1, test->pairs, test->wrong);
	if (fflush(stdout) != 0) {
		tl_error("cannot print the result: %s", strerror(errno));
		return TL_EXIT_FAILED;
	}
	return test->wrong == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
}

// ---- the call

static const char *set(void *ctx, int id, const char *value)
{
	struct test *test = ctx;

	switch (id) {
	case TL_LATENCY_SEEDS_ID:
		return tl_parse_u64(value, 1, 1000000, &test->seeds) == 0 ? NULL
									  : "--seeds takes a number from 1 to 1000000";
	case TL_LATENCY_SEED_ID:
		return tl_parse_u64(value, 0, UINT32_MAX, &test->first) == 0
			       ? NULL
			       : "--seed takes a number from 0 to 4294967295";
	case TL_LATENCY_KEEP_ID:
		test->keep = value;
		return NULL;
	default:
		return NULL;
	}
}

bool tl_latency_is_selftest(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--self-test") == 0)
			return true;
	return false;
}

int tl_latency_selftest_command(int argc, char **argv)
{
	struct test test = {.first = 1, .seeds = TL_LATENCY_SEEDS_DEFAULT};
	int status = tl_set_options(&selftest_command, argc, argv, set, &test);

	if (status >= 0)
		return status;
	if (optind < argc)
		return tl_misuse(&selftest_command, "--self-test reads no file", argv[optind]);
	return run_test(&test);
}
