// SPDX-License-Identifier: BSD-3-Clause
// Run an appliance and print its results.

#include "finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_report.h>

#include "app.h"
#include "results.h"

static int print_results(
	struct tl_appliance *appliance, const struct tl_snapshot *snapshot, const struct tl_finish_opts *finish)
{
	FILE *out = finish->to_stderr ? stderr : stdout;
	int rc = finish->json ? tl_results_json(tl_appliance_json(appliance, snapshot), out) : 0;

	if (!finish->json || out == stdout) { // print the tables too, for a user at the terminal
		tl_appliance_print(appliance, snapshot, finish->json ? stderr : out);
	}
	return rc != 0 ? rc : tl_results_flush(out);
}

static int judge(
	const struct tl_appliance *appliance, const struct tl_snapshot *snapshot, const struct tl_finish_opts *finish)
{
	if (!tl_appliance_ledger_ok(appliance, snapshot)) {
		tl_error("the loss ledger does not add up: see above; please report this");
		return TL_EXIT_FAILED;
	}
	if (finish->fail_on_loss && !tl_report_lossless(snapshot)) {
		tl_error("frames were lost (--fail-on-loss): see the ledger above");
		return TL_EXIT_FAILED;
	}
	if (finish->fail_on_loss && !tl_report_drops_known(snapshot))
		tl_warn("--fail-on-loss: no loss was counted, but not every port counts it: see the ledger above");
	return TL_EXIT_OK;
}

int tl_run_and_report(
	const struct tl_config *config, const struct tl_appliance_opts *opts, const struct tl_finish_opts *finish)
{
	struct tl_appliance *appliance;
	struct tl_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct tl_err err;

	int rc = snapshot != NULL ? tl_appliance_create(config, opts, &appliance, &err)
				  : tl_fail(&err, -ENOMEM, "out of memory");
	if (rc != 0) {
		tl_error("%s", err.text);
		free(snapshot);
		return rc == -EBUSY ? TL_EXIT_FAILED : TL_EXIT_USAGE; // busy now: systemd tries again
	}
	rc = tl_appliance_run(appliance, snapshot, &err);
	if (rc != 0)
		tl_error("%s", err.text);
	if (!finish->quiet && print_results(appliance, snapshot, finish) != 0)
		rc = -EIO;
	int status = judge(appliance, snapshot, finish);
	tl_appliance_destroy(appliance);
	free(snapshot);
	return rc != 0 ? TL_EXIT_FAILED : status;
}
