// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency drift: tests whether the clocks that stamp replies and triggers drift apart, from the latencies between them.
//
// No reply is faster than the system's minimum latency, so the minimum of a period is nearly the same in each period.
// If the clocks drift apart, or one of them is set, this lower envelope moves. The pairs are divided into 16 windows.
// The movement of the envelope is the largest minus the smallest of the windows' minima. Its movement by chance is a
// multiple of the median difference between the minima of a window's two halves, which neither a drift nor a step
// increases much.
//
// A constant difference between two clocks is indistinguishable from latency: this test cannot detect it.
//
// Threads: any. Memory: the caller's; no allocation.

#include <stddef.h>
#include <stdint.h>

struct tl_latency_sample;

enum tl_latency_drift_verdict {
	TL_LATENCY_DRIFT_FLAT,	  // one clock, or two without drift
	TL_LATENCY_DRIFT_MOVES,	  // two clocks, or a change of the latency's minimum
	TL_LATENCY_DRIFT_UNKNOWN, // too few pairs, or too short a time, to detect a drift of TL_LATENCY_DRIFT_PPM
};

#define TL_LATENCY_DRIFT_PPM 1.0 // below the drift between two oscillators of network cards
#define TL_LATENCY_DRIFT_PAIRS 512

struct tl_latency_drift {
	enum tl_latency_drift_verdict verdict;
	uint64_t span_ns;    // from the first window to the last
	uint64_t moves_ns;   // movement of the envelope, in total
	uint64_t allowed_ns; // bounds of the stamps, plus the movement by chance
	double seen_ppm;     // smallest drift for which the verdict is not FLAT
};

// Test the samples of a report, in order of time as far as known; bounds_ns: of both stamps together.
void tl_latency_drift(
	const struct tl_latency_sample *samples, size_t n, uint64_t bounds_ns, struct tl_latency_drift *out);
