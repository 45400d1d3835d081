// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency compare: whether runs of B are slower than runs of A, so that a script can refuse a change.
//
// Of p50, p90, p99 and p99.9 each: the difference B - A, and an interval that holds it. A quantile is slower when its
// whole interval lies above the threshold, faster when it lies below minus the threshold; else nothing is shown and it
// counts as the same. A trigger without a reply is a latency above all others: where more are lost than lie beyond a
// quantile, it is infinite. The share of triggers that were answered is compared, too. All these intervals together
// hold with 95 % confidence (Bonferroni). Why so: docs/decisions/011.
//
// Several runs a side: a run is one observation of each quantile, and Welch's t holds between them. That includes what
// changes from run to run. One run a side: how much its quantiles can be off is seen in how the run changes from block
// to block (compare_spread.c), lost triggers among the samples of their time: losses come in bursts. What changes from
// run to run is in no interval then. A report without blocks, or without the times of its losses, cannot be judged so;
// nor can a run that is too short for how slowly it changes.
//
// Each interval is wider on both sides by what the stamps of both sides can be off, so that no difference is called one
// that the stamps do not resolve.
//
// Threads: any. Memory: the caller's; compare() allocates and frees what it needs.

#include <tl_latency.h>

#define TL_LATENCY_QUANTILES TL_LATENCY_LEVELS

enum tl_latency_verdict {
	TL_LATENCY_SAME,
	TL_LATENCY_FASTER,
	TL_LATENCY_SLOWER,
	TL_LATENCY_TOO_FEW,
	TL_LATENCY_INCONCLUSIVE, // one run a side, too short for how slowly it changes
	TL_LATENCY_VERDICTS
};

struct tl_latency_threshold {
	double value; // at least 0
	bool percent; // of A's quantile; else nanoseconds
};

// The runs of one side, at least one.
struct tl_latency_side {
	struct tl_latency *const *run;
	size_t n;
};

// A figure of both sides. Of several runs: the mean of theirs.
struct tl_latency_row {
	double a, b;			 // ns; INFINITY: it is among the lost. Of answered: a share
	double a_effective, b_effective; // independent samples that say as much; of several runs: runs. 0: unknown
	struct tl_latency_interval diff; // all zero if not judged
	enum tl_latency_verdict verdict;
};

struct tl_latency_quantile {
	const char *name; // "p50"
	double share;
	uint64_t needed; // samples in each run
	struct tl_latency_row row;
	double threshold_ns;
};

struct tl_latency_comparison {
	size_t a_runs, b_runs;
	uint64_t a_count, b_count; // samples of all runs
	uint64_t a_lost, b_lost;   // triggers without a reply
	double confidence;	   // of all intervals together
	double stamps_ns;	   // by so much each interval of a quantile is wider, on both sides
	bool ordered;		   // false: one run a side, and one of them does not know how its samples followed, or
				   // when its triggers were lost
	bool counted;		   // false: a report does not say how many triggers have no reply
	struct tl_latency_quantile quantiles[TL_LATENCY_QUANTILES];
	struct tl_latency_row mean;	// of the answered; decides nothing (verdict is SAME, TOO_FEW or INCONCLUSIVE)
	struct tl_latency_row answered; // share of triggers; SLOWER: B answers fewer
	double b_larger; // how likely a sample of B is larger than one of A, lost ones included; equal ones count half
	enum tl_latency_verdict verdict; // slower when one row is; else faster when one is and what is lost is counted;
					 // TOO_FEW when all quantiles are; INCONCLUSIVE when one is
	char differs[512];		 // what was measured otherwise, when that was overruled; the caller's to fill
};

// "50", "50ns", "1.5us", "2ms", "5%". Returns 0 or -EINVAL.
int tl_latency_parse_threshold(const char *text, struct tl_latency_threshold *out);

// Check that a report can be compared: it must be valid. Returns 0, or -EINVAL and the sentence.
int tl_latency_usable(const struct tl_latency *report, struct tl_err *err);

// Whether two reports were measured alike: the same method, sources, transport, payload, rate and so on, as far as both
// say. Names are of the reports, for the sentence. Returns 0, or -EINVAL and the sentence, which names the field and
// both values.
int tl_latency_alike(const struct tl_latency *a, const char *name_a, const struct tl_latency *b, const char *name_b,
	struct tl_err *err);

// miss: how likely it is that any of the intervals misses, such as 0.05. One run on each side, or at least two on each.
// Returns 0, -EINVAL or -ENOMEM.
int tl_latency_compare(const struct tl_latency_side *a, const struct tl_latency_side *b,
	const struct tl_latency_threshold *threshold, double miss, struct tl_latency_comparison *out);

const char *tl_latency_verdict_name(enum tl_latency_verdict verdict); // "same", "too few samples"

// Tell whether a row has an interval.
bool tl_latency_is_judged(const struct tl_latency_row *row);

// Why there is no verdict, and what to do; NULL: there is one.
const char *tl_latency_no_verdict(const struct tl_latency_comparison *comparison);

json_t *tl_latency_comparison_json(const struct tl_latency_comparison *comparison);
void tl_latency_comparison_text(const struct tl_latency_comparison *comparison, FILE *out);
