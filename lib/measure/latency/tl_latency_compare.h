// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency compare: tests whether runs of B are slower than runs of A, so that a script can reject a change.
//
// For each of p50, p90, p99 and p99.9: the difference B - A, and an interval that holds it. A quantile is slower when
// its whole interval lies above the threshold, faster when it lies below minus the threshold; otherwise there is no
// evidence and it counts as the same. A trigger without a reply is a latency above all others: if more are lost than
// lie beyond a quantile, it is infinite. The share of answered triggers is compared, too. All these intervals together
// hold with 95 % confidence (Bonferroni). Rationale: docs/decisions/011.
//
// Several runs per side: a run is one observation of each quantile, and Welch's t holds between them. That includes the
// variation from run to run. One run per side: the error of its quantiles is estimated from the variation of the run
// from block to block (compare_spread.c), lost triggers among the samples of their time: losses come in bursts. The
// variation from run to run is then in no interval. A report without blocks, or without the times of its losses, cannot
// be judged this way; nor can a run that is too short for its correlation time.
//
// Each interval is extended on both sides by the stamp errors of both sides, so that no difference is reported that the
// stamps do not resolve.
//
// Threads: any. Memory: the caller's; compare() allocates and frees what it needs.

#include <tl_latency.h>

#define TL_LATENCY_QUANTILES TL_LATENCY_LEVELS

enum tl_latency_verdict {
	TL_LATENCY_SAME,
	TL_LATENCY_FASTER,
	TL_LATENCY_SLOWER,
	TL_LATENCY_TOO_FEW,
	TL_LATENCY_INCONCLUSIVE, // one run per side, too short for its correlation time
	TL_LATENCY_VERDICTS
};

struct tl_latency_threshold {
	double value; // at least 0
	bool percent; // of A's quantile; else nanoseconds
};

// Runs of one side, at least one.
struct tl_latency_side {
	struct tl_latency *const *run;
	size_t n;
};

// Figure of both sides. With several runs: the mean of theirs.
struct tl_latency_row {
	double a, b;			 // ns; INFINITY: it is among the lost. Of answered: a share
	double a_effective, b_effective; // equivalent independent samples; with several runs: runs. 0: unknown
	struct tl_latency_interval diff; // all zero if not judged
	enum tl_latency_verdict verdict;
};

struct tl_latency_quantile {
	const char *name; // "p50"
	double share;
	uint64_t needed; // samples needed in each run
	struct tl_latency_row row;
	double threshold_ns;
};

struct tl_latency_comparison {
	size_t a_runs, b_runs;
	uint64_t a_count, b_count; // samples of all runs
	uint64_t a_lost, b_lost;   // triggers without a reply
	double confidence;	   // of all intervals together
	double stamps_ns;	   // extension of each interval of a quantile, on both sides
	bool ordered;		   // false: one run per side, and one lacks the order of its samples, or
				   // the times of its losses
	bool counted;		   // false: a report lacks the number of triggers without a reply
	struct tl_latency_quantile quantiles[TL_LATENCY_QUANTILES];
	struct tl_latency_row mean;	// of the answered; without effect (verdict is SAME, TOO_FEW or INCONCLUSIVE)
	struct tl_latency_row answered; // share of triggers; SLOWER: B answers fewer
	double b_larger; // probability that a sample of B exceeds one of A, lost ones included; equal ones count half
	enum tl_latency_verdict verdict; // slower when one row is; else faster when one is and losses are counted;
					 // TOO_FEW when all quantiles are; INCONCLUSIVE when one is
	char differs[512];		 // differences in measurement that were overruled; set by the caller
};

// Parse "50", "50ns", "1.5us", "2ms", "5%". Return 0 or -EINVAL.
int tl_latency_parse_threshold(const char *text, struct tl_latency_threshold *out);

// Check that a report can be compared: it must be valid. Return 0, or -EINVAL and the sentence.
int tl_latency_usable(const struct tl_latency *report, struct tl_err *err);

// Check that two reports were measured alike: same method, sources, transport, payload, rate and so on, as far as both
// have them. Names are those of the reports, for the message. Return 0, or -EINVAL with a message that names the field
// and both values.
int tl_latency_alike(const struct tl_latency *a, const char *name_a, const struct tl_latency *b, const char *name_b,
	struct tl_err *err);

// Compare. miss: probability that any of the intervals misses, such as 0.05. One run per side, or at least two per
// side. Return 0, -EINVAL or -ENOMEM.
int tl_latency_compare(const struct tl_latency_side *a, const struct tl_latency_side *b,
	const struct tl_latency_threshold *threshold, double miss, struct tl_latency_comparison *out);

// Check whether a row has an interval.
bool tl_latency_has_interval(const struct tl_latency_row *row);

// Return why there is no verdict, with a remedy; NULL: there is one.
const char *tl_latency_no_verdict(const struct tl_latency_comparison *comparison);

json_t *tl_latency_comparison_json(const struct tl_latency_comparison *comparison);
void tl_latency_comparison_text(const struct tl_latency_comparison *comparison, FILE *out);
