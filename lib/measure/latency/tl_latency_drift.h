// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency drift: whether the clock that stamps replies runs like the one that stamps triggers, out of the latencies
// between them.
//
// No reply comes sooner than the system can answer, so the least latency of a stretch of time is nearly the same in
// each stretch. Where the clocks drift apart, or one of them is set, this lower envelope moves. The pairs are cut into
// 16 windows. The envelope moves by the greatest minus the least of the windows' minima. By chance it moves by some
// times what the minima of a window's two halves differ by, at the median, which neither a drift nor a step makes much
// larger.
//
// A constant difference between two clocks looks like latency: nothing here can see it.
//
// Threads: any. Memory: the caller's; no allocation.

#include <stddef.h>
#include <stdint.h>

struct tl_latency_sample;

enum tl_latency_drift_verdict {
	TL_LATENCY_DRIFT_FLAT,	  // one clock, or two that run alike
	TL_LATENCY_DRIFT_MOVES,	  // two clocks, or a floor of the latency that changed
	TL_LATENCY_DRIFT_UNKNOWN, // too few pairs, or too short a time, to see a drift of TL_LATENCY_DRIFT_PPM
};

#define TL_LATENCY_DRIFT_PPM 1.0 // two oscillators of network cards are further apart
#define TL_LATENCY_DRIFT_PAIRS 512

struct tl_latency_drift {
	enum tl_latency_drift_verdict verdict;
	uint64_t span_ns;    // from the first window to the last
	uint64_t moves_ns;   // the envelope, in all of that
	uint64_t allowed_ns; // the bounds of the stamps, and what it moves by chance
	double seen_ppm;     // a drift from which on the verdict is not FLAT
};

// The samples of a report, in the order of time as far as that is known; bounds_ns: of both stamps together.
void tl_latency_drift(
	const struct tl_latency_sample *samples, size_t n, uint64_t bounds_ns, struct tl_latency_drift *out);
