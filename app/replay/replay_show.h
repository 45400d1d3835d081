// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_show: the results of a replay, as text and JSON.
//
// Threads: main. Memory: the caller's.

#include <stdio.h>

#include <jansson.h>

#include <tl_hist.h>

#include "replay_args.h"

struct tl_replay_port_results {
	const char *device;
	const struct tl_hist *lateness; // NULL with --line-rate
	uint64_t speed_bps;		// line rate; 0: unknown
	bool hw_known;
	uint64_t hw_sent_pkts; // the device's own count; a kernel interface includes frames sent by others
	uint64_t nic_faults;   // of its scheduled sending
	const char *nic_fault; // first of their kinds; NULL: none
};

struct tl_replay_results {
	const struct tl_replay_args *args;
	const struct tl_replay_pacing *pacing; // with the absolute rate of a share
	struct tl_replay_stats stats;
	const struct tl_hist *lateness; // NULL with --line-rate
	const struct tl_replay_damage *damages;
	size_t n_damages;
	struct tl_replay_port_results ports[TL_REPLAY_PORTS];
	unsigned n_ports;
	const struct tl_hist *undisturbed; // lateness of frames that no gap made late; NULL with --line-rate
	struct tl_hist *wire;		   // lateness up to the wire, of stamped frames; NULL: no port has stamps
	const char *wire_source;	   // of its stamps
	uint64_t wire_lost_pkts, wire_bound_ns;
	struct tl_err timing_reason; // for the lcore instead of the NIC; "": none
	bool stopped;		     // stopped before everything was sent
};

// Print a progress line; pkts: frames sent in the last second; lateness: as text, or "".
void tl_replay_show_progress(const struct tl_replay_stats *stats, uint64_t pkts, const char *lateness);

// Return the report without manifest; NULL: out of memory.
json_t *tl_replay_json(const struct tl_replay_results *results);

// Return the answer to `tapline status`; NULL: out of memory.
json_t *tl_replay_status_json(const struct tl_replay_results *results);

void tl_replay_print(const struct tl_replay_results *results, FILE *out);
