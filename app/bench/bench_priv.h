// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench internals: the runs of `bench overhead`, and their measurements.

#include "bench_overhead.h"
#include "bench_rig.h"

// Recorder that runs beside the echo.
struct tl_bench_variant {
	const char *name;
	bool records, indexes, stages; // roles of the appliance
	const char *tool, *is_ready;   // external recorder, and its message when it records
};

enum tl_bench_phase { TL_BENCH_ALONE, TL_BENCH_BURSTS, TL_BENCH_PHASES };

// Verdict of the client on its own times.
struct tl_bench_verdict {
	unsigned runs, invalid;
	char reason[TL_LATENCY_TEXT];
};

struct tl_bench {
	const struct tl_bench_overhead_cfg *cfg;
	struct tl_bench_rig rig;
	unsigned rounds, n;						// number of rounds, of variants
	const struct tl_bench_variant *variants[TL_BENCH_VARIANTS_MAX]; // variants available on this host
	struct tl_bench_runs runs[TL_BENCH_VIEWS][TL_BENCH_VARIANTS_MAX];
	struct tl_bench_runs
		wire_all[TL_BENCH_VARIANTS_MAX]; // count and mean only: including the echoes that a residence has, too
	struct tl_bench_runs wire_to_poll[TL_BENCH_VARIANTS_MAX]; // count 0: not measured by the appliance
	struct tl_bench_verdict verdicts[TL_BENCH_PHASES];
	uint64_t lost; // lost echoes, in all runs
};

// Run variants[index] once, and store its times for the round. Return 0, or -errno with a message in *err.
int tl_bench_run(struct tl_bench *bench, unsigned index, unsigned round, struct tl_err *err);
