// SPDX-License-Identifier: BSD-3-Clause
// tapline pps: packets and bits per second of interfaces and their queues, updated in place.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_units.h>

#include "app.h"
#include "manifest.h"
#include "pps.h"
#include "results.h"
#include "screen.h"

#define ANNOUNCED_NS (5 * TL_NS_PER_S) // shortest wait that --once announces

struct options {
	struct pps_want want;
	uint64_t interval_ns;
	uint64_t pages; // 0: unlimited
	bool json, once;
};

static const struct tl_option options[] = {
	{"interval", 0, "S", "seconds between two samples, 0.1 to 3600 (default 1)",
		TL_INTO(SECONDS, struct options, interval_ns, "--interval takes a number of seconds from 0.1 to 3600",
			TL_NS_PER_S / 10, 3600 * TL_NS_PER_S)},
	{"once", 0, NULL, "one page, over one interval; SIGINT ends the interval early",
		TL_INTO(FLAG, struct options, once)},
	{"count", 'n', "N", "end after N pages",
		TL_INTO(NUMBER, struct options, pages, "-n takes a whole number from 1", 1, UINT32_MAX)},
	{"json", 0, NULL, "print the page of --once as one JSON object", TL_INTO(FLAG, struct options, json)},
	{"socket", 0, "PATH",
		"also show the ports of the appliance at this control socket (default " TL_DEFAULT_SOCKET ")",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, want.socket)},
	TL_OPTION_HELP,
};

const struct tl_command tl_pps_command = {
	.name = "pps",
	.summary = "show packets and bits per second of interfaces and queues",
	.usage = "pps [IFACE...] [--interval S] [--once | -n N] [--json] [--socket PATH]",
	.about =
		"Shows the packets that each IFACE receives, sends and drops per second, per queue if its driver counts them, with\n"
		"its interrupts and their CPUs, and the CPUs' softirqs: on a terminal in place, otherwise page by page. Without IFACE\n"
		"it shows all interfaces that are up, except lo.\n\n"
		"Only the process that owns a NIC in DPDK has its counters: IFACE may be a port of the appliance with the control\n"
		"socket PATH, by its name or device.",
	.words = TL_CHOICES_INTERFACE,
	TL_OPTIONS(options),
};

static int parse(int argc, char **argv, struct options *o)
{
	int status = tl_set_options(&tl_pps_command, argc, argv, NULL, o);

	if (status >= 0)
		return status;
	if ((o->json || o->once) && o->pages > 1)
		return tl_misuse(&tl_pps_command, "--json and --once have one page: without -n", NULL);
	if (o->json || o->once)
		o->pages = 1;
	o->want.insist = o->want.socket != NULL;
	if (!o->want.insist)
		o->want.socket = TL_DEFAULT_SOCKET;
	o->want.names = (const char *const *)(argv + optind);
	o->want.n = (size_t)(argc - optind);
	return -1;
}

// Report each interface that is asked for and not there. Return the number.
static size_t complain(const struct pps_sample *sample, const char *why)
{
	size_t missing = 0;

	for (size_t i = 0; i < sample->n; i++)
		if (sample->ifaces[i].state == PPS_GONE) {
			tl_error(
				"no interface %s in this network namespace (see `ip link`), and no such port of an appliance%s%s",
				sample->ifaces[i].name, why[0] != '\0' ? ": " : "", why);
			missing++;
		}
	return missing;
}

static int show_json(const struct pps_sample *diff)
{
	json_t *json = pps_json(diff), *manifest = tl_manifest_create("");

	tl_manifest_put(manifest, TL_SCHEMA_PPS, json);
	json_decref(manifest);
	return tl_results_json(json, stdout);
}

static int show(const struct options *o, const struct pps_sample *diff)
{
	char *page = NULL;
	size_t size;

	if (o->json)
		return show_json(diff);
	FILE *out = open_memstream(&page, &size);
	if (out == NULL)
		return -1;
	pps_print(out, diff);
	fclose(out);
	bool shown = tl_screen_show(page);
	free(page);
	return shown ? 0 : -1;
}

// Wait for the interval. True: SIGINT or SIGTERM, which are blocked, arrived before its end.
static bool is_interrupted(const struct options *o, const sigset_t *signals)
{
	const struct timespec interval = {
		.tv_sec = (time_t)(o->interval_ns / TL_NS_PER_S), .tv_nsec = (long)(o->interval_ns % TL_NS_PER_S)};

	if (o->pages == 1 && o->interval_ns >= ANNOUNCED_NS)
		tl_info("counting for %.0f s; SIGINT ends it early", (double)o->interval_ns / (double)TL_NS_PER_S);
	return sigtimedwait(signals, NULL, &interval) >= 0;
}

// Look. SIGINT and SIGTERM end the program meanwhile: an appliance that is stopped lets it wait.
static int look(const struct options *o, const struct tl_tree *tree, const sigset_t *signals, struct pps_sample *out,
	struct tl_err *err)
{
	sigprocmask(SIG_UNBLOCK, signals, NULL);
	int rc = pps_look(tree, &o->want, out, err);
	sigprocmask(SIG_BLOCK, signals, NULL);
	return rc;
}

// Replace *before by a look, and show what was added. Return an exit status: failed too if an interface is gone.
static int turn_page(const struct options *o, const struct tl_tree *tree, const sigset_t *signals,
	struct pps_sample *before, bool *shown)
{
	struct pps_sample now, diff = {0};
	struct tl_err err = {{0}};
	int status = TL_EXIT_OK;

	*shown = false;
	if (look(o, tree, signals, &now, &err) != 0 || pps_since(before, &now, &diff) != 0)
		tl_error("%s", err.text[0] != '\0' ? err.text : "not enough memory");
	else
		*shown = show(o, &diff) == 0;
	for (size_t i = 0; i < diff.n; i++)
		if (diff.ifaces[i].state == PPS_GONE)
			status = TL_EXIT_FAILED;
	pps_sample_free(&diff);
	pps_sample_free(before);
	*before = now;
	return *shown ? status : TL_EXIT_FAILED;
}

// Take the first look. Return an exit status.
static int begin(
	const struct options *o, const struct tl_tree *tree, const sigset_t *signals, struct pps_sample *sample)
{
	struct tl_err err = {{0}};

	if (look(o, tree, signals, sample, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	if (complain(sample, err.text) != 0)
		return TL_EXIT_USAGE;
	if (!o->want.insist || err.text[0] == '\0')
		return TL_EXIT_OK;
	tl_error("%s", err.text);
	return TL_EXIT_FAILED;
}

static int watch(const struct options *o, const struct tl_tree *tree)
{
	struct pps_sample sample;
	sigset_t signals;
	bool shown;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	int status = begin(o, tree, &signals, &sample);
	shown = status == TL_EXIT_OK;
	for (uint64_t page = 0; shown && (o->pages == 0 || page < o->pages); page++) {
		if (is_interrupted(o, &signals) && o->pages != 1)
			break;
		status = turn_page(o, tree, &signals, &sample, &shown);
	}
	pps_sample_free(&sample);
	return status;
}

int tl_cmd_pps(int argc, char **argv)
{
	struct options o = {.interval_ns = TL_NS_PER_S};
	struct tl_tree tree;
	int status = parse(argc, argv, &o);

	if (status >= 0)
		return status;
	int rc = tl_tree_open("/", &tree);
	if (rc != 0) {
		tl_error("/: %s", strerror(-rc));
		return TL_EXIT_FAILED;
	}
	status = watch(&o, &tree);
	tl_tree_close(&tree);
	return status;
}
