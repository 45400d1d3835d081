// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency dependence: how the samples of a run follow each other: whether one tells of the next, and whether they
// change in the course of the run.
//
// The autocorrelation is that of being above, at or below the median (-1, 0, 1), less the mean of that: a few large
// samples do not decide it. Of independent samples 95 of 100 coefficients lie within 1.96 / sqrt(n) of 0 (Bartlett,
// 1946).
//
// Threads: any. Memory: the caller's; it allocates and frees what it needs.

#include <tl_latency.h>

#define TL_LATENCY_LAGS 13
#define TL_LATENCY_STRETCHES 16
#define TL_LATENCY_STRETCH_SAMPLES 10 // at least, in each

struct tl_latency_lag {
	uint64_t samples; // between the two that are compared
	double r;	  // from -1 to 1
};

struct tl_latency_dependence {
	size_t n_lags; // 0: unknown, or all samples are equal
	struct tl_latency_lag lags[TL_LATENCY_LAGS];
	double chance;			       // independent samples stay within this, 95 times of 100
	size_t n_stretches;		       // 0: unknown, or too few samples
	uint64_t p50_ns[TL_LATENCY_STRETCHES]; // of equally long stretches of the run
	bool settled; // false: the median still changes at the scale of the whole run, or that is not known
};

// Of a report that was read, nothing is known.
void tl_latency_depend(const struct tl_latency *report, struct tl_latency_dependence *out);
