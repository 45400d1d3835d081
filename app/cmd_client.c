// SPDX-License-Identifier: BSD-3-Clause
// tapline client: measure an echo from outside, over kernel sockets or over a DPDK port.

#include "app.h"
#include "client_port.h"
#include "manifest.h"
#include "stop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <tl_client.h>
#include <tl_json.h>
#include <tl_log.h>

static void describe(const struct tl_client_progress *progress, char *text, size_t size)
{
	double elapsed_s = (double)progress->elapsed_ns / (double)TL_NS_PER_S;
	double total_s = (double)progress->total_ns / (double)TL_NS_PER_S;

	if (progress->phase == TL_CLIENT_BEGINNING)
		snprintf(text, size, "%" PRIu64 " bytes, %" PRIu64 " messages per second", progress->payload_bytes,
			progress->rate_pps);
	else if (progress->phase == TL_CLIENT_CONNECTING)
		snprintf(text, size, "waiting for the connection, %.0f of %.10g s", elapsed_s, total_s);
	else if (progress->phase == TL_CLIENT_SENDING)
		snprintf(text, size, "%.0f of %.10g s, sent %" PRIu64 ", received %" PRIu64, elapsed_s, total_s,
			progress->sent, progress->received);
	else
		snprintf(text, size, "waiting for missing echoes, sent %" PRIu64 ", received %" PRIu64, progress->sent,
			progress->received);
}

static void show_progress(void *ctx, const struct tl_client_progress *progress)
{
	const bool *tty = ctx;
	char text[128], point[48] = "";

	describe(progress, text, sizeof(text));
	if (progress->points > 0)
		snprintf(point, sizeof(point), "point %u of %u: ", progress->point, progress->points);
	if (*tty)
		fprintf(stderr, "\r\033[K%s%s", point, text);
	else
		tl_info("%s%s", point, text);
}

// All runs of the call: a single run, or those of a sweep.
struct measured {
	struct tl_client_result results[TL_CLIENT_POINTS];
	size_t count;
	struct tl_latency *report; // NULL: no output file requires it
	json_t *manifest;
	json_t *null;			 // NULL: no --null
	struct tl_app_client_port *port; // NULL: --kernel
};

static json_t *to_json(const struct tl_client_args *args, const struct measured *m)
{
	if (args->sweep.axis == TL_CLIENT_AXIS_NONE)
		return tl_client_result_json(&m->results[0]);
	return tl_client_sweep_json(&args->sweep, m->results, m->count);
}

static int show_json(const struct tl_client_args *args, const struct measured *m)
{
	json_t *json = to_json(args, m);

	if (json != NULL && m->port != NULL)
		(void)tl_app_client_port_json(m->port, json);
	if (json != NULL)
		tl_manifest_put(m->manifest,
			args->sweep.axis == TL_CLIENT_AXIS_NONE ? TL_SCHEMA_CLIENT : TL_SCHEMA_CLIENT_SWEEP, json);
	int ret = tl_json_check(json);
	if (ret == 0 && json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) != 0)
		ret = -EIO;

	json_decref(json);
	fputc('\n', stdout);
	return ret;
}

static int show(const struct tl_client_args *args, const struct measured *m)
{
	int ret = 0;

	if (args->json)
		ret = show_json(args, m);
	else if (args->sweep.axis == TL_CLIENT_AXIS_NONE)
		tl_client_result_print(&m->results[0], stdout);
	else
		tl_client_sweep_print(&args->sweep, m->results, m->count, stdout);
	if (!args->json && m->port != NULL)
		tl_app_client_port_print(m->port, stdout);
	if (!args->json && ret == 0)
		ret = tl_manifest_print(m->manifest, stdout);
	return ret == 0 && fflush(stdout) != 0 ? -errno : ret;
}

// Judge each run and report each failure.
static int judge(const struct tl_client_args *args, const struct measured *m)
{
	int status = TL_EXIT_OK;
	struct tl_err err;

	for (size_t i = 0; i < m->count; i++) {
		if (tl_client_check_result(&m->results[i], &err) != 0) {
			tl_error("%s", err.text);
			status = TL_EXIT_FAILED;
		}
		if (!args->require_valid)
			continue;
		for (uint32_t k = 0; k < m->results[i].invalid.n; k++)
			tl_error("the result is invalid: %s", m->results[i].invalid.text[k]);
		if (m->results[i].invalid.n > 0)
			status = TL_EXIT_FAILED;
	}
	return status;
}

static int run_all(struct tl_client_args *args, struct measured *m, struct tl_err *err)
{
	bool tty = isatty(STDERR_FILENO) == 1;
	const struct tl_client_hooks hooks = {
		.stop = tl_stop_on_signals(), .progress = show_progress, .ctx = &tty, .report = m->report};

	if (getrandom(&args->cfg.seed, sizeof(args->cfg.seed), 0) < 0)
		args->cfg.seed = (uint64_t)getpid();
	int ret = tl_client_sweep_run(&args->cfg, &args->sweep, &hooks, m->results, &m->count, err);
	if (tty)
		fputs("\r\033[K", stderr);
	return ret;
}

static bool wants_report(const struct tl_client_args *args)
{
	return args->files.csv != NULL || args->files.hgrm != NULL || args->files.html != NULL ||
	       args->files.json != NULL;
}

// Fill the manifest. Without an output file that needs a report, build one for the stamp sources only.
static int fill_manifest(const struct tl_client_args *args, const struct measured *m)
{
	struct tl_latency *report = m->report != NULL ? m->report : tl_latency_create();
	uint64_t window_ns = m->results->window_ns;

	if (report == NULL)
		return -ENOMEM;
	tl_manifest_add_seed(m->manifest, "client", args->cfg.seed);
	if (args->null_path != NULL)
		tl_manifest_add_input(m->manifest, args->null_path);
	tl_manifest_set_match(m->manifest, json_pack("{s:s, s:o}", "method", "number", "window_ns",
						   window_ns != 0 ? json_integer((json_int_t)window_ns) : json_null()));
	tl_client_report_fill(report, &args->sweep, m->results, m->count);
	tl_manifest_set_clocks(m->manifest, report);
	report->manifest = m->manifest;
	if (report != m->report)
		tl_latency_destroy(report);
	return 0;
}

static int save_report(const struct tl_client_args *args, const struct measured *m, struct tl_err *err)
{
	if (m->report == NULL || m->count == 0)
		return 0;
	int rc = tl_latency_save(m->report, &args->files, err);
	return rc == 0 ? tl_manifest_save_beside(m->manifest, &args->files, err) : rc;
}

static int measure(struct tl_client_args *args, struct measured *m)
{
	struct tl_err err;
	int ret = run_all(args, m, &err);

	if (ret != 0) {
		tl_error("%s", err.text);
		return ret == -EOPNOTSUPP ? TL_EXIT_USAGE : TL_EXIT_FAILED;
	}
	bool ledger_ok = m->port == NULL || tl_app_client_port_end(m->port);
	for (size_t i = 0; i < m->count && m->null != NULL; i++)
		tl_client_null_subtract(m->null, &m->results[i]);
	ret = m->count != 0 ? fill_manifest(args, m) : 0;
	if (ret == 0)
		ret = show(args, m);
	if (ret != 0)
		tl_error("cannot write the results to stdout: %s", strerror(-ret));
	int status = judge(args, m);
	if (!ledger_ok) {
		tl_error("the port's ledger does not add up: this is a defect, report it");
		status = TL_EXIT_FAILED;
	}
	if (save_report(args, m, &err) != 0) {
		tl_error("%s", err.text);
		status = TL_EXIT_FAILED;
	}
	return ret == 0 ? status : TL_EXIT_FAILED;
}

// Prepare all resources before the first message is sent.
static int prepare(struct tl_client_args *args, struct measured *m, struct tl_err *err)
{
	m->manifest = tl_manifest_create("");
	if (m->manifest == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	m->report = wants_report(args) ? tl_latency_create() : NULL;
	if (m->report != NULL && args->files.csv == NULL && args->files.html == NULL)
		m->report->samples_max = 0; // the other outputs need no samples
	if (wants_report(args) && m->report == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int ret = tl_latency_files_check(&args->files, err);
	if (ret == 0 && args->null_path != NULL)
		ret = tl_client_null_load(args->null_path, &m->null, err);
	if (ret == 0 && args->port.device != NULL)
		ret = tl_app_client_port_open(&args->port, &args->cfg, &m->port, err);
	else if (ret == 0)
		args->cfg.timestamps = tl_client_resolve(args->cfg.timestamps);
	if (ret != 0 || m->null == NULL)
		return ret;
	return tl_client_null_check(m->null, &args->cfg, &args->sweep, err);
}

int tl_cmd_client(int argc, char **argv)
{
	struct tl_client_args args;
	struct tl_err err;

	if (tl_client_parse_args(argc, argv, &args, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	if (args.help) {
		return tl_options_print_help(&tl_client_command, stdout) == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
	}
	struct measured *m = calloc(1, sizeof(*m));
	if (m == NULL) {
		tl_error("not enough memory");
		return TL_EXIT_FAILED;
	}
	int ret = prepare(&args, m, &err);
	if (ret != 0)
		tl_error("%s", err.text);
	bool failed = ret == -ENOMEM || ret == -ENETDOWN; // all other errors are usage errors
	int status = ret == 0 ? measure(&args, m) : failed ? TL_EXIT_FAILED : TL_EXIT_USAGE;
	tl_app_client_port_close(m->port);
	tl_latency_destroy(m->report);
	json_decref(m->null);
	json_decref(m->manifest);
	free(m);
	return status;
}
