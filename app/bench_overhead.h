// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_overhead: what a recording costs an echo: the same echo with and without, alternated, on one interface.
//
// Threads: main. Memory: the reports are the caller's.

#include <stdatomic.h>
#include <stdint.h>

#include <tl_latency.h>

struct tl_err;

#define TL_BENCH_ROUNDS_MIN 6 // fewer differences than this bound no median with 95 % confidence
#define TL_BENCH_ROUNDS_MAX 100

struct tl_bench_overhead_cfg {
	unsigned rounds;
	double seconds; // of each run
	uint64_t rate_pps, payload_bytes;
	const atomic_bool *stop;
};

// Fills both: the time a message stays in the appliance, and the round trip that a client sees. Rows are in costs[],
// the first is the echo alone. Returns 0, or -errno and a sentence.
int tl_bench_overhead(const struct tl_bench_overhead_cfg *cfg, struct tl_latency *residence,
	struct tl_latency *round_trip, struct tl_err *err);
