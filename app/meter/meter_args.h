// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// meter_args: arguments of `tapline meter`.
//
// Threads: main. Memory: strings are borrowed from the process's arguments.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_err.h>

#define TL_METER_SETTINGS_MAX 16

// Values of an option that may be given several times.
struct tl_meter_values {
	uint64_t value[TL_METER_SETTINGS_MAX];
	size_t n;
};

struct tl_meter_args {
	const char *const *paths;
	size_t n_paths;
	const char *device;		      // port, in place of files; NULL: none
	uint64_t duration_ns, count;	      // of it; 0: no limit
	bool take;			      // its interface may be that of the default route or the login
	struct tl_meter_values cir, eir, pir; // bit/s
	struct tl_meter_values cbs, ebs, pbs; // bytes
	struct tl_meter_values limit;	      // bytes
	uint64_t overhead_bytes;
	bool aware; // frames arrive with the colour of their DSCP
	bool shape, json;
	const char *html, *csv; // NULL: none
	struct tl_err err;	// of the value that was parsed last
};

// Meter the files or the port, and show the results. Return the exit status.
int tl_meter_run(const struct tl_meter_args *args);
