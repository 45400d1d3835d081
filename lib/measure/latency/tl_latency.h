// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency: the common report of latencies of all producers: captures matched offline, the client, the live echo, the
// benchmarks. A producer creates a report, fills in the fields and adds measurements by the functions below; it is then
// written as text, JSON, CSV of the samples, a percentile file of HdrHistogram (.hgrm) or one HTML page, or compared
// with another.
//
// A sample is one trigger with its reply. Every matched pair ends in one count:
//   matched = latency.count + cold_count + reply_first
// and every trigger is answered or not:
//   triggers = matched + unmatched_triggers
// A trigger without a reply is a latency of at least the window. So each quantile has two values: of the samples, and
// of the samples together with these triggers, which count as longer than any sample.
//
// Threads: one at a time; tl_latency_add() may allocate, so it is not for an lcore (which has its own struct tl_hist,
// merged in at the end). Memory: owned by the report, freed by destroy(); strings are copied.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_hist.h>

#define TL_LATENCY_SCHEMA "tapline:latency:1" // of the JSON, as named in docs/report.schema.json
#define TL_LATENCY_NAME 64
#define TL_LATENCY_TEXT 256
#define TL_LATENCY_STAGES 16
#define TL_LATENCY_POINTS 64
#define TL_LATENCY_COSTS 16
#define TL_LATENCY_COLD 64
#define TL_LATENCY_OUTLIERS 64
#define TL_LATENCY_REASONS 16
#define TL_LATENCY_FACTS 48
#define TL_LATENCY_LEVELS 4	    // p50, p90, p99, p99.9
#define TL_LATENCY_FEW 10	    // samples beyond a quantile, below which it is unreliable
#define TL_LATENCY_NEVER UINT64_MAX // of a quantile: it falls on a trigger without a reply
#define TL_LATENCY_MAX_LOSS 0.001   // share of triggers without a reply: as many as lie above p99.9
#define TL_LATENCY_MAX_LOSS_TEXT "0.1%"
#define TL_LATENCY_BLOCKS 240		       // of the series
#define TL_LATENCY_BINS 1024u		       // of time
#define TL_LATENCY_ORDER_MAX ((size_t)1 << 22) // samples kept in their order: 8 MiB

struct tl_latency_sample {
	uint64_t time_ns; // of the trigger, since 1970
	uint64_t latency_ns;
	uint64_t
		packet_id; // links trigger and reply in a recording (epb_packetid); without one, a number of the sample
	bool ambiguous;	   // another trigger would fit as well
};

// Source of a stamp: "nic-rx", "nic-ptp", "nic-tx", "kernel", "file", "tsc"; "user": a client's own clock; or "mixed".
struct tl_latency_source {
	char name[16];
	uint64_t unit_ns;  // resolution of stamps; 0: unknown
	bool has_bound;	   // false: the error of stamps is unbounded
	uint64_t bound_ns; // largest error of a stamp against that clock; 0 if unknown
	char clock[16];	   // "REALTIME", "TSC", "NIC": the clock of both stamps; "": unnamed
};

// Quantile by nearest rank, with its qualifiers.
struct tl_latency_level {
	uint64_t samples;      // in total
	uint64_t ns;	       // of the samples; 0 without samples
	uint64_t with_loss_ns; // of the samples and the triggers without a reply, or TL_LATENCY_NEVER
	uint64_t beyond;       // samples of a higher rank than ns
	bool few;	       // beyond is less than TL_LATENCY_FEW
	bool late;	       // the measuring side was late enough to explain it
	// Interval of the samples that holds the quantile with 95 % confidence, each alone; TL_LATENCY_UNBOUNDED:
	// there is no bound, or the order of the samples is unknown, or they are too few, or the run is not settled.
	uint64_t low_ns, high_ns;
	double effective; // equivalent number of independent samples; 0: unknown
};

#define TL_LATENCY_UNBOUNDED UINT64_MAX // an unknown bound

// A comparison of a clock behind the stamps, or the worst of several consecutive ones.
struct tl_latency_clock_point {
	uint64_t time_ns;  // since 1970
	int64_t offset_ns; // measured error of stamps
	uint64_t bound_ns; // largest error claimed for stamps
	uint64_t half_ns;  // half the bracket
	double rate_hz;	   // of the counter
	bool stepped;
};

// Clock during a capture.
struct tl_latency_clock {
	char file[TL_LATENCY_NAME]; // source of the comparisons
	char clock[16];		    // "REALTIME": the TSC against it; "NIC": the NIC's counter
	uint64_t comparisons, steps;
	uint64_t bound_max_ns; // of its stamps, or their measured error if that was larger
	uint64_t offset_max_ns;
	size_t n_points; // at most TL_LATENCY_CLOCK_POINTS
	struct tl_latency_clock_point *points;
};

#define TL_LATENCY_CLOCKS 4
#define TL_LATENCY_CLOCK_POINTS 1000

// Part of the path, with its own distribution.
struct tl_latency_stage {
	char name[TL_LATENCY_NAME];
	struct tl_hist hist;
};

enum tl_latency_axis { TL_LATENCY_PAYLOAD_BYTES, TL_LATENCY_RATE_PPS };

// A run of a sweep.
struct tl_latency_point {
	enum tl_latency_axis axis;
	uint64_t at; // bytes or packets per second
	struct tl_hist_summary latency;
};

// Difference to a reference, and the interval that holds it with the requested confidence, by default 95 %; from
// -INFINITY to INFINITY: unbounded. Negative: faster.
struct tl_latency_interval {
	double diff_ns, low_ns, high_ns;
};

// A row of the table of recording costs. The first row is the reference of the others: its differences are 0.
struct tl_latency_cost {
	char name[TL_LATENCY_NAME];
	struct tl_hist_summary latency;
	struct tl_latency_interval p50, p99, p999;
};

// Sample above the threshold, and the events around it. UINT64_MAX if not observed.
struct tl_latency_outlier {
	struct tl_latency_sample sample;
	uint64_t poll_gap_ns; // longest gap between two polls near it
	uint64_t interrupts;  // on that CPU
	uint64_t steal_ns;    // taken by the hypervisor
	char note[TL_LATENCY_TEXT];
};

// Samples in their order, each as its bucket of the histogram. When TL_LATENCY_ORDER_MAX are kept, every second one is
// dropped, and from there on half as many are kept: never fewer than half of the limit, at equal distances.
struct tl_latency_order {
	uint16_t *bucket;
	size_t n, room;
	uint64_t stride;	    // one sample out of this many is kept
	uint64_t seen;		    // samples in total
	uint64_t first_ns, last_ns; // smallest and largest time
};

// Block of consecutive samples. The variation between the blocks of a run shows the dependence of its samples.
struct tl_latency_block {
	uint64_t n; // samples kept
	uint64_t sum_ns;
	uint64_t at_most[TL_LATENCY_LEVELS]; // number of n not above p50, p90, p99, p99.9 of all blocks together
	uint64_t lost;			     // triggers without a reply in that time
};

struct tl_latency_blocks {
	size_t n;
	bool dated;    // lost of all blocks together are the triggers without a reply; false: their times are unknown
	double weight; // samples that each kept one represents
	struct tl_latency_block at[TL_LATENCY_BLOCKS];
};

// Samples and lost triggers over time, in equal bins. When a time lies after the last bin, each bin is merged with its
// neighbour and covers twice the time.
struct tl_latency_bins {
	uint64_t begin_ns, width_ns; // width_ns 0: no bins yet
	uint64_t came[TL_LATENCY_BINS], lost[TL_LATENCY_BINS];
};

// Reasons for an invalid result; none: it is valid. Reasons beyond the last are dropped: one is enough.
struct tl_latency_reasons {
	size_t n;
	char text[TL_LATENCY_REASONS][TL_LATENCY_TEXT];
};

void tl_latency_add_invalid(struct tl_latency_reasons *invalid, const char *fmt, ...) TL_PRINTF(2, 3);
void tl_latency_put_invalid(json_t *json, const struct tl_latency_reasons *invalid); // set "valid" and "invalid"
void tl_latency_print_invalid(FILE *out, const struct tl_latency_reasons *invalid);

struct tl_latency_fact {
	char name[TL_LATENCY_NAME];
	char value[TL_LATENCY_TEXT];
};

struct tl_latency {
	char name[TL_LATENCY_NAME];	    // of the experiment, for the reader
	json_t *manifest;		    // provenance (app/manifest/manifest.h); borrowed, NULL: unknown
	char method[16];		    // "two-port", "rx-tx", "probe", "software", "unknown"
	char clocks_shown[TL_LATENCY_TEXT]; // clocks involved, and the evidence that they agree; "": unknown
	struct tl_latency_source trigger, reply;

	uint64_t matched;
	uint64_t unmatched_triggers, unmatched_replies;
	uint64_t ambiguous;   // replies of pairs, and duplicates, that could have answered another trigger as well
	uint64_t duplicates;  // replies to a trigger that already had one
	uint64_t unstamped;   // packets that lack a required stamp
	uint64_t reply_first; // pairs whose reply is stamped before its trigger: a clock fault, not in the percentiles
	uint64_t window_ns;   // minimum waiting time of a trigger without a reply; 0: unknown
	double max_loss;      // share of them that makes the result invalid; below 0: not set
	bool late[TL_LATENCY_LEVELS]; // quantiles that may be an artefact of a late measuring side

	uint64_t cold_wanted;	// first samples that tl_latency_add() keeps apart, at most TL_LATENCY_COLD; 0: none
	uint64_t samples_max;	// samples kept by tl_latency_add(); later ones are in the histogram only
	bool samples_are_last;	// if not all are kept, samples[] are the last ones instead of the first
	uint64_t subtracted_ns; // constant subtracted from every sample, such as the cable's share; 0: nothing

	struct tl_hist latency; // without the cold ones
	uint64_t cold_count;
	uint64_t cold_ns[TL_LATENCY_COLD];

	size_t n_samples, samples_room; // n_samples < latency.count: samples_max reached, or only a histogram exists
	struct tl_latency_sample *samples;
	struct tl_latency_order order;
	struct tl_latency_bins bins;
	struct tl_latency_blocks blocks; // of a loaded report; for another one use tl_latency_get_blocks()
	bool uncounted;			 // a loaded report has no count of triggers without a reply

	size_t n_clocks;
	struct tl_latency_clock clocks[TL_LATENCY_CLOCKS];

	uint64_t
		costs_family; // number of intervals of costs[] that hold together at 95 % confidence; 0: each one alone
	const struct tl_latency *also; // its costs, and those of its own `also`, follow on the page; borrowed

	size_t n_stages, n_points, n_costs, n_outliers, n_facts;
	struct tl_latency_stage *stages[TL_LATENCY_STAGES];
	struct tl_latency_point points[TL_LATENCY_POINTS];
	struct tl_latency_cost costs[TL_LATENCY_COSTS];
	struct tl_latency_outlier outliers[TL_LATENCY_OUTLIERS];
	struct tl_latency_reasons invalid;
	struct tl_latency_fact facts[TL_LATENCY_FACTS]; // of the host and the run
};

// Create an empty report that keeps every sample; NULL without memory. The caller owns it.
struct tl_latency *tl_latency_create(void);
void tl_latency_destroy(struct tl_latency *report); // Free the report; NULL is allowed.

// Set the sources of the stamps; names as above. A bound may be TL_LATENCY_UNBOUNDED.
void tl_latency_set_sources(struct tl_latency *report, const char *trigger, uint64_t trigger_bound_ns,
	const char *reply, uint64_t reply_bound_ns);

// Set the units of stamps (0: unknown), and the clock of their bounds, as in struct tl_latency_source.
void tl_latency_set_clocks(struct tl_latency *report, uint64_t trigger_unit_ns, const char *trigger_clock,
	uint64_t reply_unit_ns, const char *reply_clock);

// Add a clock's comparisons, n in order of time; the largest bound is at least the one that they show. Return 0,
// -ENOMEM, or -ENOSPC: there are TL_LATENCY_CLOCKS.
int tl_latency_add_clock(struct tl_latency *report, const char *file, const char *clock, uint64_t bound_max_ns,
	const struct tl_latency_clock_point *points, size_t n);

// Add one matched pair: count it in matched and store it (in cold_ns[], else latency and samples[]). Return 0 or
// -ENOMEM (the sample is in the histogram, but not in samples[]).
int tl_latency_add(struct tl_latency *report, const struct tl_latency_sample *sample);

// Add a matched pair by its two stamps: like add(), or counted as reply_first.
int tl_latency_add_pair(
	struct tl_latency *report, uint64_t trigger_ns, uint64_t reply_ns, uint64_t packet_id, bool ambiguous);

// Add the time of a trigger that has no reply; in any order. The producer counts it in unmatched_triggers. If all of
// these are dated, comparisons account for the dependence of losses.
void tl_latency_date_lost(struct tl_latency *report, uint64_t time_ns);

// Return the stage of that name, created at the first call, in the order of these calls: record into ->hist. NULL: no
// memory, or too many.
struct tl_latency_stage *tl_latency_stage(struct tl_latency *report, const char *name);

// Append to a list. Entries that do not fit are dropped, and reported in invalid[].
void tl_latency_add_point(struct tl_latency *report, const struct tl_latency_point *point);
void tl_latency_add_cost(struct tl_latency *report, const struct tl_latency_cost *cost);
void tl_latency_add_outlier(struct tl_latency *report, const struct tl_latency_outlier *outlier); // keeps the worst
void tl_latency_add_fact(struct tl_latency *report, const char *name, const char *fmt, ...) TL_PRINTF(3, 4);

// Compute the summary that every form of the report shows. True: its percentiles are exact, by nearest rank, as all
// samples were kept; false: they are from the histogram.
bool tl_latency_summarize(const struct tl_latency *report, struct tl_hist_summary *out);

// Compute the quantiles beside the summary, with and without the triggers that have no reply.
void tl_latency_levels(const struct tl_latency *report, struct tl_latency_level out[TL_LATENCY_LEVELS]);

// Compute the quantiles of a histogram alone, without intervals; late may be NULL.
void tl_latency_levels_of(const struct tl_hist *hist, uint64_t unanswered, const bool late[TL_LATENCY_LEVELS],
	struct tl_latency_level out[TL_LATENCY_LEVELS]);

// Return a new object by key: ns, with_loss_ns and above_window, beyond, few, late, low_ns, high_ns, effective.
json_t *tl_latency_levels_json(const struct tl_latency_level levels[TL_LATENCY_LEVELS]);

// Return the first quantile, "p50" to "p99.9", that is few with this many samples, as are those after it; NULL: none.
const char *tl_latency_few_from(uint64_t samples);

// Set the report's max_loss, and mark the result invalid if a greater share of the triggers has no reply.
void tl_latency_check_loss(struct tl_latency *report, double max_loss);

// Check whether the unanswered triggers exceed this share.
bool tl_latency_is_loss(uint64_t unanswered, uint64_t triggers, double max_loss);

// Parse a share from 0 to 1: "0.001", "0.1%". Return 0 or -EINVAL.
int tl_latency_parse_share(const char *text, double *out);

// Divide the series into blocks of equal length (within one sample). None (n is 0) for a loaded report without blocks,
// or without memory.
void tl_latency_get_blocks(const struct tl_latency *report, struct tl_latency_blocks *out);

// Return the quantile of Student's t distribution that is exceeded on either side with this total probability (above 0,
// below 1); df: the degrees of freedom, from 1.
double tl_latency_student(double miss, double df);

// Return the median of n values, 1 to 1000, which it sorts, and the interval that holds the median of their
// distribution with at least that confidence (above 0, below 1), for any distribution: order statistics and the
// binomial distribution. It is unbounded with fewer values than the second function returns: for 0.95 these are 6.
struct tl_latency_interval tl_latency_median(double *values, size_t n, double confidence);
size_t tl_latency_median_needs(double confidence);

// Format an interval as JSON: diff, low, high, null if unbounded; and as text, after two spaces.
json_t *tl_latency_interval_json(const struct tl_latency_interval *interval);
json_t *tl_latency_real_json(double value); // a limit of one; JSON has no infinity: null
void tl_latency_interval_text(const struct tl_latency_interval *interval, FILE *out);

// y = base + slope * x by least squares.
struct tl_latency_fit {
	bool known; // there were at least two points, at different x
	double slope, base;
	double slope_se; // standard error of the slope; negative with two points: undefined
	double r2;	 // share of y's variance explained by the line; 1 if y has none
};
struct tl_latency_fit tl_latency_fit(const double *x, const double *y, size_t n);

// Fit a line through the p50 of a sweep over the payload, as JSON (null: unknown) and as text (nothing).
struct tl_latency_fit tl_latency_payload_fit(const struct tl_latency_point *points, size_t n);
json_t *tl_latency_fit_json(const struct tl_latency_fit *fit);
void tl_latency_fit_print(FILE *out, const struct tl_latency_fit *fit);

// Write rows of a table of distributions: its head, one distribution, the quantiles below it that include unanswered
// triggers (window_ns: their minimum wait, 0: unknown), and their marks.
void tl_latency_print_columns(FILE *out, const char *title);
void tl_latency_print_row(FILE *out, const char *name, const struct tl_hist_summary *summary);
void tl_latency_print_levels(
	FILE *out, const struct tl_latency_level levels[TL_LATENCY_LEVELS], uint64_t unanswered, uint64_t window_ns);

// Return the kept part of the samples: "all", "none", "first" or "last"; static.
const char *tl_latency_kept(const struct tl_latency *report);

// Return a new object, that of --json, which is also embedded in the HTML page. Beside the summary it has the
// histogram, as [largest value of a bucket, samples in it], and a series over time: up to 2000 points for a plot, [ns
// since start_ns, least, most, samples, packet of the most], and up to 240 blocks for intervals, [samples, sum, and the
// number at most p50, p90, p99, p99.9, lost]. The samples themselves are only in the CSV.
json_t *tl_latency_json(const struct tl_latency *report);
int tl_latency_json_print(const json_t *json, FILE *out); // 0, -ENOMEM (tl_json_check()) or -EIO

// Read a report from such an object, or from a file that holds it, JSON or page: all but samples[] and order's. Returns
// 0 and *out (the caller's), or -EINVAL, -ENOMEM with a message.
int tl_latency_from_json(const json_t *json, struct tl_latency **out, struct tl_err *err);
int tl_latency_load(const char *path, struct tl_latency **out, struct tl_err *err);

// Read the output of tl_report_hist_json(); null and absent are 0. Return 0, or -EINVAL with a message.
int tl_latency_summary_from_json(const json_t *json, struct tl_hist_summary *out, struct tl_err *err);

// Write the other forms. All return 0 or -EIO.
int tl_latency_text(const struct tl_latency *report, FILE *out);
int tl_latency_csv(
	const struct tl_latency *report, FILE *out); // packet_id,time_ns,latency_ns,ambiguous of every sample kept
int tl_latency_hgrm(const struct tl_hist *hist, FILE *out); // percentiles in HdrHistogram's format, in ns
int tl_latency_html(const json_t *json, FILE *out);	    // one self-contained page

// Write the files whose path is not NULL, mode 0640. Return 0, or -errno with a message naming the file.
struct tl_latency_files {
	const char *json, *csv, *hgrm, *html;
};
int tl_latency_save(const struct tl_latency *report, const struct tl_latency_files *files, struct tl_err *err);
// Check that they can be written, as far as possible without creating one, and that no two are one file: for use before
// long work.
int tl_latency_files_check(const struct tl_latency_files *files, struct tl_err *err);
