// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency dependence: statistical dependence of the samples of a run: whether neighbours are correlated, and whether
// they change in the course of the run.
//
// The autocorrelation is that of the sign of the distance to the median (-1, 0, 1), less its mean: a few large samples
// have little weight. Of independent samples 95 of 100 coefficients lie within 1.96 / sqrt(n) of 0 (Bartlett, 1946).
//
// Threads: any. Memory: the caller's; the function frees its own.

#include <tl_latency.h>

#define TL_LATENCY_LAGS 13
#define TL_LATENCY_STRETCHES 16
#define TL_LATENCY_STRETCH_SAMPLES 10 // minimum, in each

struct tl_latency_lag {
	uint64_t samples; // distance of the two samples compared
	double r;	  // from -1 to 1
};

struct tl_latency_dependence {
	size_t n_lags; // 0: unknown, or all samples are equal
	struct tl_latency_lag lags[TL_LATENCY_LAGS];
	double chance;			       // limit that independent samples keep, 95 times of 100
	size_t n_stretches;		       // 0: unknown, or too few samples
	uint64_t p50_ns[TL_LATENCY_STRETCHES]; // of equal stretches of the run
	bool settled; // false: the median still changes at the scale of the whole run, or this is unknown
};

// Compute the dependence. For a loaded report it is unknown.
void tl_latency_depend(const struct tl_latency *report, struct tl_latency_dependence *out);
