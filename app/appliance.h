// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// appliance: build, run and tear down the ports, echoes and recordings of a configuration.
//
// Threads: main only. Memory: create/destroy; the configuration is borrowed until destroy.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_capture.h>
#include <tl_config.h>
#include <tl_report.h>

struct tl_err;
struct tl_appliance;

struct tl_appliance_opts {
	uint64_t duration_ns;	 // run time; 0: until a signal
	bool expire;		 // drop frames received after the duration (counted as expired_pkts)
	bool end_with_input;	 // end when all file ports are at EOF, or every recording has its frames
	bool progress;		 // progress on stderr: filter backend, and a line per second
	bool reader_may_leave;	 // a closed pipe reader ends the recording without an error
	bool probe;		 // print the capabilities of each port
	const char *latency_dir; // directory for the latency report of each echo at the end; NULL: no reports
	json_t *manifest;	 // manifest of these reports; borrowed
};

// Build everything, start nothing: no frame is received, but the first files of the recordings exist. Return 0, or a
// negative errno with a message in *err.
int tl_appliance_create(const struct tl_config *config, const struct tl_appliance_opts *opts, struct tl_appliance **out,
	struct tl_err *err);

// Start, run until a signal (SIGINT, SIGTERM), the duration or the end of the input, drain, and store the final
// counters in *out. SIGHUP rotates every recording, SIGUSR1 is a trigger; the control socket does the same and more for
// each recording (docs/recording.md). Return 0, or a negative errno with a message after a run-time error (a disk, a
// broken file): the counters are valid in that case too.
int tl_appliance_run(struct tl_appliance *appliance, struct tl_snapshot *out, struct tl_err *err);

// Return the object of tl_report_json() with the replays: that of `run --json` and `status --json`.
json_t *tl_appliance_json(struct tl_appliance *appliance, const struct tl_snapshot *snapshot);

// Print the tables of a run.
void tl_appliance_print(struct tl_appliance *appliance, const struct tl_snapshot *snapshot, FILE *out);

// Check the identities of the snapshot, and of the replays that have ended.
bool tl_appliance_ledger_ok(const struct tl_appliance *appliance, const struct tl_snapshot *snapshot);

void tl_appliance_destroy(struct tl_appliance *appliance);

// Return the recording parameters of a configuration entry, without name, port and clock.
struct tl_capture_cfg tl_appliance_capture_cfg(const struct tl_config_capture *config);

// Block the signals handled by an appliance. Later threads inherit the mask, so that only main receives them.
void tl_appliance_block_signals(void);
