// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency: the one report of latencies, whoever measured them: captures matched offline, the client, the live echo, the
// benchmarks. A producer creates one, fills in the fields and adds what it measured by the functions below; it is then
// written as text, JSON, CSV of the samples, a percentile file of HdrHistogram (.hgrm) or one HTML page, or compared
// with another.
//
// A sample is one trigger with its reply. Every pair that was matched ends in one place:
//   matched = latency.count + cold_count + reply_first
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

#define TL_LATENCY_NAME 64
#define TL_LATENCY_TEXT 256
#define TL_LATENCY_STAGES 16
#define TL_LATENCY_POINTS 64
#define TL_LATENCY_COSTS 16
#define TL_LATENCY_COLD 64
#define TL_LATENCY_OUTLIERS 64
#define TL_LATENCY_REASONS 16
#define TL_LATENCY_FACTS 48

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

// What a clock did while a capture was made.
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

// A difference to what it is compared with, and the interval that holds it with 95 % confidence. Negative: faster.
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

struct tl_latency_fact {
	char name[TL_LATENCY_NAME];
	char value[TL_LATENCY_TEXT];
};

struct tl_latency {
	char name[TL_LATENCY_NAME]; // of the experiment, for the reader
	char method[16];	    // "two-port", "rx-tx", "probe", "software"
	struct tl_latency_source trigger, reply;

	uint64_t matched;
	uint64_t unmatched_triggers, unmatched_replies;
	uint64_t ambiguous;   // of the matched, pairs whose reply could have answered another trigger as well
	uint64_t duplicates;  // replies to a trigger that had its first one
	uint64_t unstamped;   // packets that a stamp was wanted for and had none
	uint64_t reply_first; // pairs whose reply is stamped before its trigger: a fault of clocks, in no percentile

	uint64_t cold_wanted;	// the first samples that tl_latency_add() keeps apart, at most TL_LATENCY_COLD; 0: none
	uint64_t samples_max;	// tl_latency_add() keeps so many samples; what comes later is in the histogram only
	uint64_t subtracted_ns; // what was taken off every sample, such as the cable's share; 0: nothing

	struct tl_hist latency; // without the cold ones
	uint64_t cold_count;
	uint64_t cold_ns[TL_LATENCY_COLD];

	size_t n_samples, samples_room; // n_samples < latency.count: samples_max was reached, or only a histogram came
	struct tl_latency_sample *samples;

	size_t n_clocks;
	struct tl_latency_clock clocks[TL_LATENCY_CLOCKS];

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

// The median of n >= 1 values, which it sorts, and the interval that holds the median of what they were drawn from with
// 95 % confidence, whatever that is: order statistics and the binomial distribution. Fewer than 6 values bound nothing:
// the interval then is from the least to the greatest.
struct tl_latency_interval tl_latency_median(double *values, size_t n);

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

// The object of --json, which is also what the HTML page shows; a new one. Beside the summary it has the histogram, as
// [largest value of a bucket, samples in it], and a series over time of up to 2000 points: [ns since start_ns, least,
// most, samples, packet of the most]; the samples themselves are only in the CSV.
json_t *tl_latency_json(const struct tl_latency *report);
int tl_latency_json_print(const json_t *json, FILE *out); // 0 or -EIO

// A report out of such an object, or of a file that holds it, JSON or page: all but samples[]. Returns 0 and *out (the
// caller's), or -EINVAL, -ENOMEM and the sentence.
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
