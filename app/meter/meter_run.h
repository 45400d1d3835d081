// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// meter_run: what the settings of `tapline meter` did to the frames of the files or of the port.
//
// Threads: main. Memory: the caller's; settings own more.

#include <stdio.h>

#include <jansson.h>

#include "meter_args.h"
#include "meter_live.h"
#include "meter_setting.h"

struct tl_meter_results {
	const struct tl_meter_args *args;
	struct tl_meter_setting setting[TL_METER_SETTINGS_MAX];
	size_t n_settings;
	uint64_t pkts, bytes;	    // bytes with overhead
	uint64_t first_ns, last_ns; // time of the first frame, latest time; since 1970
	uint64_t backward_pkts;	    // earlier than a frame before them
	uint64_t damages;	    // places of the files that could not be read; failures of the port
	struct tl_meter_live live;  // with a port
	uint64_t bin_ns;	    // width of the bins, which begin at first_ns
};

// ---- meter_show.c

// Build the report. NULL: out of memory.
json_t *tl_meter_json(const struct tl_meter_results *results);

void tl_meter_print(const struct tl_meter_results *results, FILE *out);

// Write the report as a page. Return 0, or -errno with a message.
int tl_meter_save_page(const json_t *json, const char *path, struct tl_err *err);

// meter.html, converted to an array by embed.py.
extern const unsigned char tl_meter_page[];
extern const size_t tl_meter_page_bytes;
