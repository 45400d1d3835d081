// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// capture_options: the command line of `tapline capture`. One table of options, nearly all of them keys of the
// configuration, yields the parser, the help and the names in error messages.
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

// Return -1 to continue with *out, else an exit status; messages have been printed.
int tl_capture_options_parse(int argc, char **argv, struct tl_capture_options *out);

// cmd_capture.c: record, and free the configuration. Return the exit status.
int tl_capture_run(struct tl_capture_options *options);
