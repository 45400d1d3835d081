// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_overhead: what a recording costs an echo: the same echo with and without, in balanced order, on one interface.
//
// A recording runs after the echo's send call, so the time that a message stays in the appliance cannot show it. What
// it delays is the poll that brings the next message: that is in the round trips on the wire, most of all in those of a
// message that came while the one before was being recorded.
//
// Threads: main. Memory: the reports are the caller's.

#include <stdatomic.h>
#include <stdint.h>

#include "bench_costs.h"

struct tl_err;

#define TL_BENCH_BURST 2 // messages back to back

enum tl_bench_view {
	TL_BENCH_RESIDENCE,	  // from the return of the poll to the send call, by the appliance
	TL_BENCH_WIRE_ROUND_TRIP, // from the stamp of a departure to that of the echo's arrival, by the client's kernel
	TL_BENCH_BACK_TO_BACK,	  // the same of the last message of each burst, in runs of bursts
	TL_BENCH_ROUND_TRIP,	  // from when a message was due to when the client had read its echo
	TL_BENCH_VIEWS,
};

struct tl_bench_overhead_cfg {
	unsigned rounds; // 0: the least balanced number that bounds every difference
	double seconds;	 // of each run, and of each run of bursts
	uint64_t rate_pps, payload_bytes;
	const atomic_bool *stop;
};

struct tl_bench_result {
	unsigned variants, rounds;
	const char *names[TL_BENCH_VARIANTS_MAX]; // static; the first is the echo alone
	struct tl_latency *views[TL_BENCH_VIEWS]; // the caller's, empty before; rows are in costs[]
	struct tl_bench_means outside;		  // of the appliance: wire round trips less residence
	struct tl_bench_means wire_to_poll;	  // of that what the appliance measures itself, where it can
};

// Returns 0, or -errno and a sentence.
int tl_bench_overhead(const struct tl_bench_overhead_cfg *cfg, struct tl_bench_result *result, struct tl_err *err);
