// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency: the one report of latencies, whoever measured them: captures matched offline, the client, the live echo, the
// benchmarks. A producer creates one, fills in the fields and adds what it measured by the functions below; it is then
// written as text, JSON, CSV of the samples, a percentile file of HdrHistogram (.hgrm) or one HTML page, or compared
// with another.
//
// A sample is one trigger with its reply. Every pair that was matched ends in one place:
//   matched = latency.count + cold_count + reply_first
// and every trigger is answered or not:
//   triggers = matched + unmatched_triggers
// A trigger without a reply is a latency of at least the window. So each quantile is there twice: of the samples, and
// of the samples together with these, which count as longer than any.
//
// Threads: one at a time; tl_latency_add() allocates now and then, so it is not for an lcore (which has its own struct
// tl_hist, merged in at the end). Memory: all of it is the report's, freed by destroy(); strings are copied.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_hist.h>

#define TL_LATENCY_SCHEMA "tapline:latency:1" // of the JSON, as docs/report.schema.json calls it
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
#define TL_LATENCY_FEW 10	    // samples beyond a quantile, below which little is known of it
#define TL_LATENCY_NEVER UINT64_MAX // of a quantile: a trigger without a reply
#define TL_LATENCY_MAX_LOSS 0.001   // of all triggers, those without a reply: as many as lie above p99.9
#define TL_LATENCY_MAX_LOSS_TEXT "0.1%"
#define TL_LATENCY_BLOCKS 240		       // of the series
#define TL_LATENCY_BINS 1024u		       // of time
#define TL_LATENCY_ORDER_MAX ((size_t)1 << 22) // samples kept in the order they came: 8 MiB

struct tl_latency_sample {
	uint64_t time_ns; // of the trigger, since 1970
	uint64_t latency_ns;
	uint64_t
		packet_id; // links trigger and reply in a recording (epb_packetid); without one, a number of the sample
	bool ambiguous;	   // another trigger could be meant
};

// Where a stamp comes from: "nic-rx", "nic-ptp", "nic-tx", "kernel", "file", "tsc"; "user": a client's own clock; or
// "mixed".
struct tl_latency_source {
	char name[16];
	uint64_t unit_ns;  // stamps are multiples of it; 0: unknown
	bool has_bound;	   // false: nobody knows how far a stamp may be off
	uint64_t bound_ns; // the stamp's error against that clock is at most this; 0 where unknown
	char clock[16];	   // "REALTIME", "TSC", "NIC": the clock of both stamps; "": not named
};

// A quantile by nearest rank, and what must be known with it.
struct tl_latency_level {
	uint64_t samples;      // all there are
	uint64_t ns;	       // of the samples; 0 without any
	uint64_t with_loss_ns; // of the samples and the triggers without a reply, or TL_LATENCY_NEVER
	uint64_t beyond;       // samples of a higher rank than ns
	bool few;	       // these are fewer than TL_LATENCY_FEW
	bool late;	       // what measured was late itself, enough to explain it
	// Of the samples: an interval that holds the quantile with 95 % confidence, each alone; TL_LATENCY_UNBOUNDED:
	// nothing bounds it, or the order of the samples is not known, or they are too few, or the run does not settle.
	uint64_t low_ns, high_ns;
	double effective; // independent samples that would tell as much of it; 0: unknown
};

#define TL_LATENCY_UNBOUNDED UINT64_MAX // a bound that is not known

// One comparison of a clock behind the stamps, or the worst of some that follow each other.
struct tl_latency_clock_point {
	uint64_t time_ns;  // since 1970
	int64_t offset_ns; // what stamps were off by, as it turned out
	uint64_t bound_ns; // what they were said to be off by at most
	uint64_t half_ns;  // half the bracket
	double rate_hz;	   // of the counter
	bool stepped;
};

// A clock during a capture.
struct tl_latency_clock {
	char file[TL_LATENCY_NAME]; // that tells
	char clock[16];		    // "REALTIME": the TSC against it; "NIC": the NIC's counter
	uint64_t comparisons, steps;
	uint64_t bound_max_ns; // of its stamps, or what they were found to be off by where that was more
	uint64_t offset_max_ns;
	size_t n_points; // at most TL_LATENCY_CLOCK_POINTS
	struct tl_latency_clock_point *points;
};

#define TL_LATENCY_CLOCKS 4
#define TL_LATENCY_CLOCK_POINTS 1000

// A part of the way, with a distribution of its own.
struct tl_latency_stage {
	char name[TL_LATENCY_NAME];
	struct tl_hist hist;
};

enum tl_latency_axis { TL_LATENCY_PAYLOAD_BYTES, TL_LATENCY_RATE_PPS };

// One run of a sweep.
struct tl_latency_point {
	enum tl_latency_axis axis;
	uint64_t at; // bytes or packets per second
	struct tl_hist_summary latency;
};

// A difference to what it is compared with, and the interval that holds it with the confidence that was asked for, 95 %
// where nothing else is said; from -INFINITY to INFINITY: nothing bounds it. Negative: faster.
struct tl_latency_interval {
	double diff_ns, low_ns, high_ns;
};

// One row of the table of what recording costs. The first row is the one that the others are compared with: its
// differences are 0.
struct tl_latency_cost {
	char name[TL_LATENCY_NAME];
	struct tl_hist_summary latency;
	struct tl_latency_interval p50, p99, p999;
};

// A sample above the threshold, and what happened around it. UINT64_MAX where it was not looked at.
struct tl_latency_outlier {
	struct tl_latency_sample sample;
	uint64_t poll_gap_ns; // the longest between two polls near it
	uint64_t interrupts;  // on that CPU
	uint64_t steal_ns;    // taken by the hypervisor
	char note[TL_LATENCY_TEXT];
};

// The samples in the order they came, each as its bucket of the histogram. When TL_LATENCY_ORDER_MAX are kept, every
// second one goes, and from there on twice as few are kept: never fewer than half as many, equally far apart.
struct tl_latency_order {
	uint16_t *bucket;
	size_t n, room;
	uint64_t stride;	    // one in so many is kept
	uint64_t seen;		    // all that came
	uint64_t first_ns, last_ns; // the least and the greatest time
};

// A stretch of them. How far the blocks of a run differ tells how far its samples depend on each other.
struct tl_latency_block {
	uint64_t n; // samples kept
	uint64_t sum_ns;
	uint64_t at_most[TL_LATENCY_LEVELS]; // of n: not above what is p50, p90, p99, p99.9 of all blocks together
	uint64_t lost;			     // triggers without a reply of that time
};

struct tl_latency_blocks {
	size_t n;
	bool dated;    // lost of all blocks together are the triggers without a reply; false: it is not known when
	double weight; // samples that each one kept stands for
	struct tl_latency_block at[TL_LATENCY_BLOCKS];
};

// Samples and lost triggers over time, in equal bins. When a time lies behind the last bin, each bin takes in its
// neighbour and covers twice the time.
struct tl_latency_bins {
	uint64_t begin_ns, width_ns; // width_ns 0: there are none yet
	uint64_t came[TL_LATENCY_BINS], lost[TL_LATENCY_BINS];
};

struct tl_latency_fact {
	char name[TL_LATENCY_NAME];
	char value[TL_LATENCY_TEXT];
};

struct tl_latency {
	char name[TL_LATENCY_NAME]; // of the experiment, for the reader
	json_t *manifest;	    // how it came about (app/manifest/manifest.h); borrowed, NULL: nobody said it
	char method[16];	    // "two-port", "rx-tx", "probe", "software", "unknown"
	char clocks_shown[TL_LATENCY_TEXT]; // that took part, and what shows that they agree; "": nobody said it
	struct tl_latency_source trigger, reply;

	uint64_t matched;
	uint64_t unmatched_triggers, unmatched_replies;
	uint64_t ambiguous;   // replies of pairs, and duplicates, that could have answered another trigger as well
	uint64_t duplicates;  // replies to a trigger that had its first one
	uint64_t unstamped;   // packets that a stamp was wanted for and had none
	uint64_t reply_first; // pairs whose reply is stamped before its trigger: a fault of clocks, in no percentile
	uint64_t window_ns;   // a trigger without a reply waited so long at least; 0: not known
	double max_loss;      // the share of them that makes the result invalid; below 0: none was set
	bool late[TL_LATENCY_LEVELS]; // quantiles that what measured may have made itself, being late

	uint64_t cold_wanted;	// the first samples that tl_latency_add() keeps apart, at most TL_LATENCY_COLD; 0: none
	uint64_t samples_max;	// tl_latency_add() keeps so many samples; what comes later is in the histogram only
	bool samples_are_last;	// where not all are kept, samples[] are the last and not the first
	uint64_t subtracted_ns; // what was taken off every sample, such as the cable's share; 0: nothing

	struct tl_hist latency; // without the cold ones
	uint64_t cold_count;
	uint64_t cold_ns[TL_LATENCY_COLD];

	size_t n_samples, samples_room; // n_samples < latency.count: samples_max was reached, or only a histogram came
	struct tl_latency_sample *samples;
	struct tl_latency_order order;
	struct tl_latency_bins bins;
	struct tl_latency_blocks blocks; // of a report that was read; of another tl_latency_get_blocks() makes them
	bool uncounted;			 // a report that was read says nothing of triggers without a reply

	size_t n_clocks;
	struct tl_latency_clock clocks[TL_LATENCY_CLOCKS];

	uint64_t
		costs_family; // so many intervals of costs[] hold all together with 95 % confidence; 0: each alone does
	const struct tl_latency *also; // its costs, and those of its own `also`, follow on the page; borrowed

	size_t n_stages, n_points, n_costs, n_outliers, n_invalid, n_facts;
	struct tl_latency_stage *stages[TL_LATENCY_STAGES];
	struct tl_latency_point points[TL_LATENCY_POINTS];
	struct tl_latency_cost costs[TL_LATENCY_COSTS];
	struct tl_latency_outlier outliers[TL_LATENCY_OUTLIERS];
	char invalid[TL_LATENCY_REASONS][TL_LATENCY_TEXT]; // why the result must not be used; none: it is valid
	struct tl_latency_fact facts[TL_LATENCY_FACTS];	   // of the host and the run
};

// An empty report that keeps every sample, or NULL without memory. The caller owns it.
struct tl_latency *tl_latency_create(void);
void tl_latency_destroy(struct tl_latency *report); // NULL is nothing

// The stamps' sources; names are those above. A bound may be TL_LATENCY_UNBOUNDED.
void tl_latency_set_sources(struct tl_latency *report, const char *trigger, uint64_t trigger_bound_ns,
	const char *reply, uint64_t reply_bound_ns);

// The units of stamps (0: unknown), and the clock that their bounds are against, as in struct tl_latency_source.
void tl_latency_set_clocks(struct tl_latency *report, uint64_t trigger_unit_ns, const char *trigger_clock,
	uint64_t reply_unit_ns, const char *reply_clock);

// Adds what a clock did: n comparisons in the order of time; the largest bound is what they show, or more. Returns 0,
// -ENOMEM, or -ENOSPC: there are TL_LATENCY_CLOCKS.
int tl_latency_add_clock(struct tl_latency *report, const char *file, const char *clock, uint64_t bound_max_ns,
	const struct tl_latency_clock_point *points, size_t n);

// One matched pair: counts it in matched and puts it where it belongs (cold_ns[], else latency and samples[]). Returns
// 0 or -ENOMEM (the sample is in the histogram, but not in samples[]).
int tl_latency_add(struct tl_latency *report, const struct tl_latency_sample *sample);

// A matched pair by its two stamps: like add(), or counted as reply_first.
int tl_latency_add_pair(
	struct tl_latency *report, uint64_t trigger_ns, uint64_t reply_ns, uint64_t packet_id, bool ambiguous);

// When a trigger was that has no reply; in any order. The producer counts it in unmatched_triggers. Where all of these
// are dated, comparisons see how far losses depend on each other.
void tl_latency_date_lost(struct tl_latency *report, uint64_t time_ns);

// The stage of that name, made at the first call, in the order of these calls: record into ->hist. NULL: no memory, or
// too many.
struct tl_latency_stage *tl_latency_stage(struct tl_latency *report, const char *name);

// Lists that the caller fills. What no longer fits is left out, and the report says so itself (invalid[]).
void tl_latency_add_point(struct tl_latency *report, const struct tl_latency_point *point);
void tl_latency_add_cost(struct tl_latency *report, const struct tl_latency_cost *cost);
void tl_latency_add_outlier(struct tl_latency *report, const struct tl_latency_outlier *outlier); // keeps the worst
void tl_latency_add_fact(struct tl_latency *report, const char *name, const char *fmt, ...) TL_PRINTF(3, 4);
void tl_latency_add_invalid(struct tl_latency *report, const char *fmt, ...) TL_PRINTF(2, 3);

// The summary that every form of the report shows. True: its percentiles are exact, by nearest rank, as all samples
// were kept; false: they are of the histogram.
bool tl_latency_summarize(const struct tl_latency *report, struct tl_hist_summary *out);

// The quantiles that stand beside the summary, with and without the triggers that have no reply.
void tl_latency_levels(const struct tl_latency *report, struct tl_latency_level out[TL_LATENCY_LEVELS]);

// The same of a histogram alone, without intervals; late may be NULL.
void tl_latency_levels_of(const struct tl_hist *hist, uint64_t unanswered, const bool late[TL_LATENCY_LEVELS],
	struct tl_latency_level out[TL_LATENCY_LEVELS]);

// By key: ns, with_loss_ns and above_window, beyond, few, late, low_ns, high_ns, effective; a new one.
json_t *tl_latency_levels_json(const struct tl_latency_level levels[TL_LATENCY_LEVELS]);

// "few, late", "few", "late", or "" of a level without marks; static.
const char *tl_latency_level_marks(const struct tl_latency_level *level);

// The first quantile, "p50" to "p99.9", that of so many samples is few, as those behind it are, too; NULL: none is.
const char *tl_latency_few_from(uint64_t samples);

// Sets the report's max_loss, and calls the result invalid where a greater share of the triggers has no reply.
void tl_latency_judge_loss(struct tl_latency *report, double max_loss);

// Tell whether the unanswered triggers exceed this share.
bool tl_latency_is_loss(uint64_t unanswered, uint64_t triggers, double max_loss);

// A share from 0 to 1: "0.001", "0.1%". Returns 0 or -EINVAL.
int tl_latency_parse_share(const char *text, double *out);

// The series in blocks that are equally long (but for one sample). None (n is 0) of a report that was read and has
// none, or without memory.
void tl_latency_get_blocks(const struct tl_latency *report, struct tl_latency_blocks *out);

// The quantile of Student's t distribution that misses on both sides together with this chance (above 0, below 1); df,
// the degrees of freedom, from 1 on.
double tl_latency_student(double miss, double df);

// The median of n values, 1 to 1000, which it sorts, and the interval that holds the median of what they were drawn
// from with that confidence (above 0, below 1) at least, whatever the distribution is: order statistics and the
// binomial distribution. It is unbounded with fewer values than the second function says: for 0.95 these are 6.
struct tl_latency_interval tl_latency_median(double *values, size_t n, double confidence);
size_t tl_latency_median_needs(double confidence);

// An interval as JSON: diff, low, high, null where there is no bound; and as text, with two spaces before it.
json_t *tl_latency_interval_json(const struct tl_latency_interval *interval);
void tl_latency_interval_text(const struct tl_latency_interval *interval, FILE *out);

// y = base + slope * x by least squares.
struct tl_latency_fit {
	bool known; // there were two points at least, at different x
	double slope, base;
	double slope_se; // standard error of the slope; negative with two points, which have none
	double r2;	 // the share of y's variance that the line explains; 1 where y has none
};
struct tl_latency_fit tl_latency_fit(const double *x, const double *y, size_t n);

// That through the p50 of a sweep over the payload.
struct tl_latency_fit tl_latency_payload_fit(const struct tl_latency *report);

// Which samples are kept: "all", "none", "first" or "last"; static.
const char *tl_latency_kept(const struct tl_latency *report);

// The object of --json, which is also what the HTML page shows; a new one. Beside the summary it has the histogram, as
// [largest value of a bucket, samples in it], and a series over time: up to 2000 points for a plot, [ns since start_ns,
// least, most, samples, packet of the most], and up to 240 blocks for intervals, [samples, sum, and so many at most
// p50, p90, p99, p99.9, lost]. The samples themselves are only in the CSV.
json_t *tl_latency_json(const struct tl_latency *report);
int tl_latency_json_print(const json_t *json, FILE *out); // 0, -ENOMEM (tl_json_check()) or -EIO

// A report out of such an object, or of a file that holds it, JSON or page: all but samples[] and order's. Returns 0
// and *out (the caller's), or -EINVAL, -ENOMEM and the sentence.
int tl_latency_from_json(const json_t *json, struct tl_latency **out, struct tl_err *err);
int tl_latency_load(const char *path, struct tl_latency **out, struct tl_err *err);

// What tl_report_hist_json() wrote; null and absent are 0. Returns 0, or -EINVAL and the sentence.
int tl_latency_summary_from_json(const json_t *json, struct tl_hist_summary *out, struct tl_err *err);

// The other forms. All return 0 or -EIO.
int tl_latency_text(const struct tl_latency *report, FILE *out);
int tl_latency_csv(
	const struct tl_latency *report, FILE *out); // packet_id,time_ns,latency_ns,ambiguous of every sample kept
int tl_latency_hgrm(const struct tl_hist *hist, FILE *out); // percentiles in HdrHistogram's format, in ns
int tl_latency_html(const json_t *json, FILE *out);	    // one page that needs nothing else

// Writes the files whose path is not NULL, mode 0640. Returns 0, or -errno and the sentence naming the file.
struct tl_latency_files {
	const char *json, *csv, *hgrm, *html;
};
int tl_latency_save(const struct tl_latency *report, const struct tl_latency_files *files, struct tl_err *err);
// Whether they can be written, as far as can be seen without making one: to ask before work that takes long.
int tl_latency_files_check(const struct tl_latency_files *files, struct tl_err *err);
