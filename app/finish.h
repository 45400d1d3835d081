// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// finish: builds an appliance, runs it to its end, and prints what came out: the common half of `run` and `capture`.

#include <stdbool.h>

#include <tl_config.h>

#include "appliance.h"

struct tl_finish_opts {
	bool json;	   // one JSON object instead of tables
	bool to_stderr;	   // results on stderr, because stdout carries a recording
	bool fail_on_loss; // exit 1 when a frame was lost, even though it was counted
	bool quiet;	   // no results
};

// Returns the exit status of the command.
int tl_run_and_report(
	const struct tl_config *config, const struct tl_appliance_opts *opts, const struct tl_finish_opts *finish);
