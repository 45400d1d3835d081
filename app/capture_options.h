// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// capture_options: the command line of `tapline capture`: one table of options, nearly all of them keys of the
// configuration, from which the parser, the help and the names in error messages are made.
//
// Threads: main. Memory: the configuration is the caller's (tl_config_free).

#include <tl_config.h>

#include "appliance.h"
#include "finish.h"

struct tl_capture_options {
	struct tl_config *config;
	uint64_t count; // copied into the configuration, which has no key for it
	struct tl_appliance_opts run;
	struct tl_finish_opts finish;
};

// Returns -1 to go on with *out, else an exit status: what there is to say has been said.
int tl_capture_options_parse(int argc, char **argv, struct tl_capture_options *out);

// cmd_capture.c: records, and frees the configuration. Returns the exit status.
int tl_capture_run(struct tl_capture_options *options);
