// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// appliance: everything that a configuration describes, built, run until it is over, and taken down in order.
//
// Threads: main only. Memory: create/destroy; the configuration is borrowed for life.

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <tl_capture.h>
#include <tl_config.h>
#include <tl_report.h>

struct tl_err;
struct tl_appliance;

struct tl_appliance_opts {
	uint64_t duration_ns;	 // 0: until a signal
	bool expire;		 // frames received after the duration are not recorded (counted expired_pkts)
	bool end_with_input;	 // end when every port is a file that has been read, or every recording has its frames
	bool progress;		 // what runs the filters, and a line per second, on stderr
	bool reader_may_leave;	 // that the reader of a pipe goes away ends the recording and is no error
	bool probe;		 // print what each port can do
	const char *latency_dir; // where a latency report of each echo is written at the end; NULL: none is
	json_t *manifest;	 // of these reports; borrowed
};

// Builds everything, starts nothing: no frame is received, but the first files of the recordings exist. Returns 0, or
// a negative errno with a sentence.
int tl_appliance_create(const struct tl_config *config, const struct tl_appliance_opts *opts, struct tl_appliance **out,
	struct tl_err *err);

// Starts, runs until a signal (SIGINT, SIGTERM), the duration or the end of the input, drains, and leaves the final
// counters in *out. SIGHUP makes every recording go on in a new file, SIGUSR1 is a trigger; the control socket
// can do that and more to each (docs/recording.md). Returns 0; or
// a negative errno with a sentence when something failed on the way (a disk, a broken file): the counters are valid
// then too.
int tl_appliance_run(struct tl_appliance *appliance, struct tl_snapshot *out, struct tl_err *err);

void tl_appliance_destroy(struct tl_appliance *appliance);

// What a recording of the configuration is, but for its name, port and clock.
struct tl_capture_cfg tl_appliance_capture_cfg(const struct tl_config_capture *config);

// Blocks the signals that are meant for an appliance, so that every thread made later inherits that and only main hears
// them.
void tl_appliance_block_signals(void);
