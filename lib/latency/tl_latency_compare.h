// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency compare: whether one report is slower than another, so that a script can refuse a change.
//
// Of p50, p90, p99 and p99.9 each: the difference B - A, and the interval that holds it, by bootstrap: what the
// quantile would be in other samples of the same distribution. All intervals together hold with 95 % confidence. A
// quantile is slower when its whole interval lies above the threshold, faster when it lies below minus the threshold;
// else nothing is shown and it counts as the same. With fewer than 10 samples beyond a quantile it is not judged.
//
// Beside it the Mann-Whitney test, which looks at the whole distribution: how likely a sample of B is larger than one
// of A. It is told, and decides nothing.
//
// Samples are taken as independent of each other. What changes from run to run (where memory lies, other load) is in no
// interval: that is what the threshold is for.
//
// Threads: any. Memory: the caller's; compare() allocates and frees what it needs.

#include <tl_latency.h>

#define TL_LATENCY_QUANTILES 4

enum tl_latency_verdict { TL_LATENCY_SAME, TL_LATENCY_FASTER, TL_LATENCY_SLOWER, TL_LATENCY_TOO_FEW };

struct tl_latency_threshold {
	double value; // at least 0
	bool percent; // of A's quantile; else nanoseconds
};

struct tl_latency_quantile {
	const char *name; // "p50"
	double share;
	uint64_t needed; // samples on each side
	uint64_t a_ns, b_ns;
	struct tl_latency_interval diff; // all zero with too few
	double threshold_ns;
	enum tl_latency_verdict verdict;
};

struct tl_latency_comparison {
	uint64_t a_count, b_count;
	struct tl_latency_quantile quantiles[TL_LATENCY_QUANTILES];
	double b_larger; // how likely a sample of B is larger than one of A; equal ones count half
	double p_value;	 // how likely so much or more is when there is no difference
	enum tl_latency_verdict
		verdict; // slower when one quantile is; else faster when one is; TOO_FEW when none was judged
};

// "50", "50ns", "1.5us", "2ms", "5%". Returns 0 or -EINVAL.
int tl_latency_parse_threshold(const char *text, struct tl_latency_threshold *out);

// Whether two reports may be compared: both valid, of the same method and the same sources. Returns 0, or -EINVAL and
// the sentence.
int tl_latency_comparable(const struct tl_latency *a, const struct tl_latency *b, struct tl_err *err);

// The same seed gives the same intervals. Returns 0 or -ENOMEM.
int tl_latency_compare(const struct tl_hist *a, const struct tl_hist *b, const struct tl_latency_threshold *threshold,
	uint64_t seed, struct tl_latency_comparison *out);

const char *tl_latency_verdict_name(enum tl_latency_verdict verdict); // "same", "faster", "slower", "too few samples"

json_t *tl_latency_comparison_json(const struct tl_latency_comparison *comparison);
void tl_latency_comparison_text(const struct tl_latency_comparison *comparison, FILE *out);
