// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// finish: build an appliance, run it to its end, and print the results: the common half of `run` and `capture`.

#include <stdbool.h>

#include <tl_config.h>

#include "appliance.h"

struct tl_finish_opts {
	bool json;	   // one JSON object instead of tables
	bool to_stderr;	   // results on stderr, because stdout carries a recording
	bool fail_on_loss; // exit status 1 after a lost frame, even a counted one
	bool quiet;	   // no results
};

// Run the appliance and print its results. Return the exit status of the command.
int tl_run_and_report(
	const struct tl_config *config, const struct tl_appliance_opts *opts, const struct tl_finish_opts *finish);
