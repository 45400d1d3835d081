// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench, inside: the runs of `bench overhead`, and what they have measured.

#include "bench_overhead.h"
#include "bench_rig.h"

// A recorder that runs beside the echo.
struct tl_bench_variant {
	const char *name;
	bool records, indexes, stages; // by the appliance
	const char *tool, *is_ready;   // or by another program, and what it says when it records
};

enum tl_bench_phase { TL_BENCH_ALONE, TL_BENCH_BURSTS, TL_BENCH_PHASES };

// By the client's own verdict.
struct tl_bench_verdict {
	unsigned runs, invalid;
	char reason[TL_LATENCY_TEXT];
};

struct tl_bench {
	const struct tl_bench_overhead_cfg *cfg;
	struct tl_bench_rig rig;
	unsigned rounds, n;						// of variants
	const struct tl_bench_variant *variants[TL_BENCH_VARIANTS_MAX]; // that can run here
	struct tl_bench_runs runs[TL_BENCH_VIEWS][TL_BENCH_VARIANTS_MAX];
	struct tl_bench_runs
		wire_all[TL_BENCH_VARIANTS_MAX]; // count and mean only: with the echoes that a residence has, too
	struct tl_bench_runs wire_to_poll[TL_BENCH_VARIANTS_MAX]; // count 0: the appliance has not measured it
	struct tl_bench_verdict verdicts[TL_BENCH_PHASES];
	uint64_t lost; // echoes, in all runs
};

// Runs variants[index] once, and keeps its times as those of the round. Returns 0, or -errno and a sentence.
int tl_bench_run(struct tl_bench *bench, unsigned index, unsigned round, struct tl_err *err);
