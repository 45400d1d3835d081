// SPDX-License-Identifier: BSD-3-Clause
// tapline bench: measure this host.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_units.h>

#include "app.h"
#include "bench_show.h"
#include "manifest.h"

static const struct tl_option options[] = {
	{"rounds", 0, "N",
		"how often each is run, 6 to 840 (default: the least that is balanced and bounds every difference, 10 to 14)",
		'n'},
	{"seconds", 0, "S", "length of each run, and of each run of bursts, 0.1 to 3600 (default 1)", 's'},
	{"rate", 0, "N", "messages per second, 1 to 1000000 (default 10000)", 'r'},
	{"payload", 0, "N", "bytes of a message, 8 to 1472 (default 16)", 'p'},
	{"json", 0, NULL,
		"the results as one JSON object: order, residence, wire_round_trip, back_to_back, round_trip, outside, wire_to_poll and why that is missing",
		'j'},
	{"html", 0, "FILE", "the four tables as a page", 'f', .choices = TL_CHOICES_FILE},
	TL_OPTION_HELP,
};

const struct tl_command tl_bench_command = {
	.name = "bench",
	.summary = "measure what a recording costs on this host",
	.usage = "bench overhead [options]",
	.about =
		"What does a recording cost an echo? Runs the appliance between two network namespaces of its own, multicast in and\n"
		"TCP out, again and again: without a recording, with one, with an index, with the stamps of the stages, and with\n"
		"tcpdump or dumpcap on the same interface where they are installed, in an order in which each follows each other one\n"
		"equally often. Shows the time that a message stays in the appliance, its round trip on the wire, that of the second of\n"
		"two messages back to back, and the round trip that a client sees; and the differences to the echo alone, with intervals\n"
		"that hold all of a table together with 95 % confidence. A recording runs after the echo: the first table cannot show it.\n"
		"Needs root, iproute2 and ethtool. The host should do nothing else meanwhile.",
	.words = "overhead",
	TL_OPTIONS(options),
};

static atomic_bool stop;

static void ask_to_stop(int signal_number)
{
	atomic_store_explicit(&stop, true, memory_order_relaxed);
}

struct options {
	struct tl_bench_overhead_cfg cfg;
	const char *html;
	bool json;
};

static bool seconds(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= 0.1 && *out <= 3600;
}

// Return NULL, or an error text.
static const char *set(struct options *o, int option, const char *text)
{
	uint64_t rounds;

	switch (option) {
	case 'n':
		if (tl_parse_u64(text, TL_BENCH_ROUNDS_MIN, TL_BENCH_ROUNDS_MAX, &rounds) != 0)
			return "--rounds is a whole number from 6 to 840: fewer rounds bound no difference";
		o->cfg.rounds = (unsigned)rounds;
		return NULL;
	case 's':
		return seconds(text, &o->cfg.seconds) ? NULL : "--seconds is a number from 0.1 to 3600";
	case 'r':
		return tl_parse_u64(text, 1, 1000000, &o->cfg.rate_pps) == 0
			       ? NULL
			       : "--rate is a whole number from 1 to 1000000";
	case 'p':
		return tl_parse_u64(text, 8, 1472, &o->cfg.payload_bytes) == 0
			       ? NULL
			       : "--payload is a whole number from 8 to 1472";
	case 'f':
		o->html = text;
		return NULL;
	default:
		o->json = true;
		return NULL;
	}
}

// Return -1 to continue, else the exit status of the program.
static int parse(int argc, char **argv, struct options *o)
{
	struct tl_options_reader reader;
	const struct tl_option *option;
	const char *wrong = NULL;

	tl_options_begin(&reader, &tl_bench_command, argc, argv);
	while (wrong == NULL && (option = tl_options_next(&reader)) != NULL)
		wrong = set(o, option->id, optarg);
	if (reader.status >= 0)
		return reader.status;
	if (wrong == NULL && (argc - optind != 1 || strcmp(argv[optind], "overhead") != 0))
		wrong = "which benchmark? there is one: overhead";
	return wrong != NULL ? tl_misuse(&tl_bench_command, wrong, NULL) : -1;
}

static int print(const struct options *o, const struct tl_bench_result *result, const json_t *manifest)
{
	if (!o->json) {
		int rc = tl_bench_print(result, stdout);
		return rc == 0 ? tl_manifest_print(manifest, stdout) : rc;
	}
	json_t *json = tl_bench_json(result);
	tl_manifest_put(manifest, TL_SCHEMA_BENCH_OVERHEAD, json);
	int rc = tl_latency_json_print(json, stdout);
	json_decref(json);
	return rc;
}

static int bench(const struct options *o, struct tl_bench_result *result, json_t *manifest)
{
	const struct tl_latency_files files = {.html = o->html};
	struct tl_err err;

	if (tl_latency_files_check(&files, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	if (tl_bench_overhead(&o->cfg, result, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	tl_manifest_set_match(manifest, json_pack("{s:s, s:n}", "method", "number", "window_ns"));
	int rc = print(o, result, manifest);   // first: a file error must not lose the results of a long run
	result->views[0]->manifest = manifest; // on the page; in the JSON it is beside the views
	if (tl_latency_save(result->views[0], &files, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	return rc == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
}

static bool create_views(struct tl_bench_result *result)
{
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS; view++)
		if ((result->views[view] = tl_latency_create()) == NULL)
			return false;
	return true;
}

int tl_cmd_bench(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = ask_to_stop};
	struct options o = {.cfg = {.seconds = 1, .rate_pps = 10000, .payload_bytes = 16, .stop = &stop}};
	struct tl_bench_result result = {.variants = 0};
	int status = parse(argc, argv, &o);

	if (status >= 0)
		return status;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	json_t *manifest = tl_manifest_create("");
	if (manifest != NULL && create_views(&result)) {
		status = bench(&o, &result, manifest);
	} else {
		tl_error("not enough memory");
		status = TL_EXIT_FAILED;
	}
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS; view++)
		tl_latency_destroy(result.views[view]);
	json_decref(manifest);
	return status;
}
