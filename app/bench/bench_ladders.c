// SPDX-License-Identifier: BSD-3-Clause
// Run a ladder, and show it as text or JSON and as a page.

#include "bench_ladders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_latency.h>
#include <tl_log.h>

#include "app.h"
#include "bench_echo.h"
#include "bench_qualify.h"
#include "bench_rx.h"
#include "echo_show.h"
#include "manifest.h"
#include "rx_show.h"

// Return -1 to continue, else the exit status.
static int check(const struct tl_bench_output *output)
{
	const struct tl_latency_files files = {.html = output->html};
	struct tl_err err;

	if (output->manifest == NULL) {
		tl_error("not enough memory");
		return TL_EXIT_FAILED;
	}
	if (tl_latency_files_check(&files, &err) == 0)
		return -1;
	tl_error("%s", err.text);
	return TL_EXIT_USAGE;
}

// Return the exit status of a run that returned rc.
static int failed(int rc, const struct tl_err *err)
{
	tl_error("%s", err->text);
	return rc == -ENODEV || rc == -EINVAL ? TL_EXIT_USAGE : TL_EXIT_FAILED;
}

// End the output of a report, which was printed with rc, and the page, which was written with page_rc. Return the
// exit status.
static int end(int rc, int page_rc, bool interrupted, const struct tl_bench_output *output)
{
	if (rc == 0 && !output->json)
		rc = tl_manifest_print(output->manifest, stdout);
	if (rc != 0)
		tl_error("cannot print the results: %s", strerror(-rc));
	return rc == 0 && page_rc == 0 && !interrupted ? TL_EXIT_OK : TL_EXIT_FAILED;
}

// ---- rx

static int show_rx(const struct tl_bench_rx_result *result, const struct tl_bench_output *output)
{
	json_t *report = tl_bench_rx_json(result);
	struct tl_err err;
	int page_rc = 0;

	tl_manifest_put(output->manifest, TL_SCHEMA_BENCH_RX, report);
	int rc = output->json ? tl_latency_json_print(report, stdout) : tl_bench_rx_print(result, stdout);
	if (output->html != NULL && (page_rc = tl_bench_rx_html(result, report, output->html, &err)) != 0)
		tl_error("%s", err.text);
	json_decref(report);
	return end(rc, page_rc, result->interrupted, output);
}

int tl_bench_rx_main(const struct tl_bench_rx_cfg *cfg, const struct tl_bench_output *output)
{
	struct tl_bench_rx_result result = {.n_rows = 0};
	struct tl_err err;
	int status = check(output);

	if (status >= 0)
		return status;
	int rc = tl_bench_rx(cfg, &result, &err);
	status = rc == 0 ? show_rx(&result, output) : failed(rc, &err);
	tl_bench_rx_free(&result);
	return status;
}

// ---- echo

static int show_echo(const struct tl_bench_echo_result *result, const struct tl_bench_output *output)
{
	json_t *report = tl_bench_echo_json(result);
	struct tl_err err;
	int page_rc = 0;

	tl_manifest_put(output->manifest, TL_SCHEMA_BENCH_ECHO, report);
	int rc = output->json ? tl_latency_json_print(report, stdout) : tl_bench_echo_print(result, stdout);
	if (output->html != NULL && (page_rc = tl_bench_echo_html(result, report, output->html, &err)) != 0)
		tl_error("%s", err.text);
	json_decref(report);
	return end(rc, page_rc, result->interrupted, output);
}

int tl_bench_echo_main(const struct tl_bench_echo_cfg *cfg, const struct tl_bench_output *output)
{
	struct tl_bench_echo_result result = {.n_rows = 0};
	struct tl_err err;
	int status = check(output);

	if (status >= 0)
		return status;
	int rc = tl_bench_echo(cfg, &result, &err);
	status = rc == 0 ? show_echo(&result, output) : failed(rc, &err);
	tl_bench_echo_free(&result);
	return status;
}

// ---- qualify

static int show_qualify(
	const struct tl_qualify_cfg *cfg, const struct tl_qualify_result *result, const struct tl_bench_output *output)
{
	json_t *report = output->json ? tl_qualify_json(cfg, result) : NULL;

	tl_manifest_put(output->manifest, TL_SCHEMA_BENCH_QUALIFY, report);
	int rc = output->json ? tl_latency_json_print(report, stdout) : tl_qualify_print(cfg, result, stdout);
	json_decref(report);
	return end(rc, 0, result->interrupted, output);
}

int tl_qualify_main(const struct tl_qualify_cfg *cfg, const struct tl_bench_output *output)
{
	struct tl_qualify_result result;
	struct tl_err err;
	int status = check(output);

	if (status >= 0)
		return status;
	int rc = tl_qualify(cfg, &result, &err);
	return rc == 0 ? show_qualify(cfg, &result, output) : failed(rc, &err);
}
