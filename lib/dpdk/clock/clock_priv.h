// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the files of clock share: the line through the last comparisons of a counter with a clock, and how a line that
// is in use bends to where it ought to be.
//
// Threads: the one that compares. Memory: the caller's.

#include <stdbool.h>

#include <tl_clock.h>

#define TL_CLOCK_WINDOW 16
#define TL_CLOCK_STEP_NS TL_NS_PER_MS // a line that is further off than this jumps
#define TL_CLOCK_BEND_NS TL_NS_PER_S  // an error is to be gone after this

// A counter's reading, the clock's at the same time, and how far those two times may be apart.
struct tl_clock_sample {
	uint64_t ticks, ns, half_ns;
};

// How a sample is judged.
struct tl_clock_gate {
	uint64_t outlier_ns; // off by more, beside what its bracket and this drift explain: set aside
	double drift_ppb;
	uint32_t confirm; // so many in a row that agree with each other are a step
};

#define TL_CLOCK_UNKNOWN_PPB 500000.0 // of a rate of which nothing is known but its nominal value

enum tl_clock_verdict { TL_CLOCK_KEPT, TL_CLOCK_SET_ASIDE, TL_CLOCK_STEPPED };

// How far a line may be off: at once, and more with time, as the rate between line and counter may change by wander_ppb
// from one second to the next. 1 ppb is 1 ns per second.
struct tl_clock_reach {
	double spread_ns, rate_ppb, wander_ppb;
};

// After so much time: linear in it as the rate is not quite known, quadratic as it may change.
double tl_clock_reach_ns(const struct tl_clock_reach *reach, double age_ns);

struct tl_clock_fit {
	struct tl_clock_sample samples[TL_CLOCK_WINDOW]; // oldest first
	uint32_t n;
	double ns_per_tick;
	double offset_ns;	     // the line at the newest sample, minus that sample
	struct tl_clock_reach reach; // of the line, from the newest sample on
	// Samples that were set aside since the last that was kept.
	uint32_t aside, agreeing;
	struct tl_clock_sample last_aside;
	double aside_ns; // how far that one was off
};

// Begins anew with one sample and a rate that may be wrong by rate_ppb.
void tl_clock_fit_begin(
	struct tl_clock_fit *fit, const struct tl_clock_sample *sample, double ns_per_tick, double rate_ppb);
enum tl_clock_verdict tl_clock_fit_add(
	struct tl_clock_fit *fit, const struct tl_clock_sample *sample, const struct tl_clock_gate *gate);

// The line: the counter's reading at a time of the clock, the time of a reading, and its slope.
uint64_t tl_clock_fit_ticks(const struct tl_clock_fit *fit, uint64_t ns);
uint64_t tl_clock_fit_ns(const struct tl_clock_fit *fit, uint64_t ticks);
uint64_t tl_clock_fit_mult(const struct tl_clock_fit *fit);

// How far the line may be off at this time of the clock; samples that were set aside may have been right.
double tl_clock_fit_bound_ns(const struct tl_clock_fit *fit, uint64_t ns);

// How old the newest sample is then, at least 0.
double tl_clock_fit_age_ns(const struct tl_clock_fit *fit, uint64_t ns);

// The line from these ticks on: it goes on where the old one is, at the rate mult bent so that the error (what it ought
// to be minus what it is) is gone after over_ns. With an error that is a step it jumps.
struct tl_clock_line tl_clock_bend(
	const struct tl_clock_line *old, uint64_t ticks, uint64_t mult, int64_t error_ns, uint64_t over_ns);
bool tl_clock_is_step(int64_t error_ns);

// What is left of an error some time after its line began to bend.
uint64_t tl_clock_left_ns(int64_t error_ns, uint64_t age_ns, uint64_t over_ns);

// clock.c: what bounds the wall line of a certain moment, also for whoever goes on with it when the clock has a new
// one.
struct tl_clock_claim {
	struct tl_clock_reach reach;
	double sample_age_ns; // at that moment, as the next
	uint64_t line_age_ns;
	int64_t error_ns; // of the line, which bends away over over_ns
	uint64_t over_ns;
};
struct tl_clock_claim tl_clock_claim(const struct tl_clock *clock, uint64_t tsc);
uint64_t tl_clock_claim_ns(const struct tl_clock_claim *claim, uint64_t later_ns);

// clock.c: the wall line of a clock with a first comparison of the TSC with CLOCK_REALTIME, and with every other.
void tl_clock_begin(struct tl_clock *clock, const struct tl_clock_sample *sample);
void tl_clock_compare(struct tl_clock *clock, const struct tl_clock_sample *sample);
