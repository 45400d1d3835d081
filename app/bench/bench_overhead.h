// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_overhead: the cost of a recording to an echo: the same echo with and without, in balanced order, on one
// interface.
//
// A recording runs after the echo's send call, so the residence time of a message in the appliance does not include it.
// A recording delays the poll for the next message: the delay is part of the round trips on the wire, most of all for a
// message that arrived while the one before was being recorded.
// Threads: main. Memory: the reports are the caller's.

#include <stdatomic.h>
#include <stdint.h>

#include "bench_costs.h"

struct tl_err;

#define TL_BENCH_BURST 2 // messages back to back

enum tl_bench_view {
	TL_BENCH_RESIDENCE,	  // from the return of the poll to the send call, by the appliance
	TL_BENCH_WIRE_ROUND_TRIP, // from the departure stamp to the stamp of the echo's arrival, by the client's kernel
	TL_BENCH_BACK_TO_BACK,	  // the same for the last message of each burst, in runs of bursts
	TL_BENCH_ROUND_TRIP,	  // from the due time of a message to the client's read of its echo
	TL_BENCH_VIEWS,
};

struct tl_bench_overhead_cfg {
	unsigned rounds; // 0: fewest balanced rounds that bound every difference
	double seconds;	 // length of each run, and of each run of bursts
	uint64_t rate_pps, payload_bytes;
	const atomic_bool *stop;
};

struct tl_bench_result {
	unsigned variants, rounds;
	const char *names[TL_BENCH_VARIANTS_MAX]; // static; the first is the echo alone
	struct tl_latency *views[TL_BENCH_VIEWS]; // the caller's, initially empty; rows are in costs[]
	struct tl_bench_means outside;		  // outside the appliance: wire round trips less residence
	struct tl_bench_means wire_to_poll;	  // the part of it that the appliance measures itself, if available
};

// Run the benchmark. Return 0, or -errno with a message in *err.
int tl_bench_overhead(const struct tl_bench_overhead_cfg *cfg, struct tl_bench_result *result, struct tl_err *err);
