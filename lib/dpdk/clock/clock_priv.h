// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the files of clock: a line fitted to the last comparisons of a counter with a clock, and the gradual
// correction of a line in use.
//
// Threads: the comparing thread. Memory: the caller's.

#include <stdbool.h>

#include <tl_clock.h>

#define TL_CLOCK_WINDOW 16
#define TL_CLOCK_STEP_NS TL_NS_PER_MS // error above which a line jumps
#define TL_CLOCK_BEND_NS TL_NS_PER_S  // time in which an error is corrected

// Reading of a counter, of the clock at the same time, and the largest distance between those two times.
struct tl_clock_sample {
	uint64_t ticks, ns, half_ns;
};

// Criteria by which a sample is judged.
struct tl_clock_gate {
	uint64_t outlier_ns; // a larger deviation, beyond that explained by bracket and drift, is set aside
	double drift_ppb;
	uint32_t confirm; // consecutive outliers in agreement that make a step
};

#define TL_CLOCK_UNKNOWN_PPB 500000.0 // rate error if only the nominal rate is known

enum tl_clock_verdict { TL_CLOCK_KEPT, TL_CLOCK_SET_ASIDE, TL_CLOCK_STEPPED };

// Largest error of a line: an initial part, and a part that grows with time, as the rate between line and counter may
// change by wander_ppb from one second to the next. 1 ppb is 1 ns per second.
struct tl_clock_reach {
	double spread_ns, rate_ppb, wander_ppb;
};

// Return the largest error after a time: linear for the uncertainty of the rate, quadratic for its change.
double tl_clock_reach_ns(const struct tl_clock_reach *reach, double age_ns);

struct tl_clock_fit {
	struct tl_clock_sample samples[TL_CLOCK_WINDOW]; // oldest first
	uint32_t n;
	double ns_per_tick;
	double offset_ns;	     // line at the newest sample, minus that sample
	struct tl_clock_reach reach; // of the line, after the newest sample
	// Samples set aside since the last one kept.
	uint32_t aside, agreeing;
	struct tl_clock_sample last_aside;
	double aside_ns; // deviation of the last such sample
};

// Restart from one sample and a rate with an error of at most rate_ppb.
void tl_clock_fit_begin(
	struct tl_clock_fit *fit, const struct tl_clock_sample *sample, double ns_per_tick, double rate_ppb);
enum tl_clock_verdict tl_clock_fit_add(
	struct tl_clock_fit *fit, const struct tl_clock_sample *sample, const struct tl_clock_gate *gate);

// Evaluate the line: the counter's reading at a time of the clock, the time of a reading, and the slope.
uint64_t tl_clock_fit_ticks(const struct tl_clock_fit *fit, uint64_t ns);
uint64_t tl_clock_fit_ns(const struct tl_clock_fit *fit, uint64_t ticks);
uint64_t tl_clock_fit_mult(const struct tl_clock_fit *fit);

// Return the largest error of the line at this time of the clock; samples set aside may have been right.
double tl_clock_fit_bound_ns(const struct tl_clock_fit *fit, uint64_t ns);

// Return the age of the newest sample at this time, at least 0.
double tl_clock_fit_age_ns(const struct tl_clock_fit *fit, uint64_t ns);

// Return the line from these ticks on: it continues from the old line, with the rate mult bent so that the error
// (target minus actual) is zero after over_ns. At a step it jumps.
struct tl_clock_line tl_clock_bend(
	const struct tl_clock_line *old, uint64_t ticks, uint64_t mult, int64_t error_ns, uint64_t over_ns);
bool tl_clock_is_step(int64_t error_ns);

// Return the remaining error at a given time after its line began to bend.
uint64_t tl_clock_left_ns(int64_t error_ns, uint64_t age_ns, uint64_t over_ns);

// clock.c: error bound of the wall line at one moment, also for a user who continues that line after the clock replaced
// it.
struct tl_clock_claim {
	struct tl_clock_reach reach;
	double sample_age_ns; // at that moment, as are the next
	uint64_t line_age_ns;
	int64_t error_ns; // of the line; corrected over over_ns
	uint64_t over_ns;
};
struct tl_clock_claim tl_clock_claim(const struct tl_clock *clock, uint64_t tsc);
uint64_t tl_clock_claim_ns(const struct tl_clock_claim *claim, uint64_t later_ns);

// clock.c: set the wall line of a clock from the first comparison of the TSC with CLOCK_REALTIME, and update it with
// every other.
void tl_clock_begin(struct tl_clock *clock, const struct tl_clock_sample *sample);
void tl_clock_compare(struct tl_clock *clock, const struct tl_clock_sample *sample);
