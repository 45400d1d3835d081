// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency, internal: shared by writers and readers of a report.

#include <tl_latency.h>

// Counter of struct tl_latency, by its name in the JSON and in the table of the text.
struct tl_latency_counter {
	const char *key, *label;
	size_t offset;
};

extern const struct tl_latency_counter tl_latency_counters[];
extern const size_t tl_latency_n_counters;

// Precision of reals, in the printed JSON as in the page.
#define TL_LATENCY_DIGITS JSON_REAL_PRECISION(12)

// "payload_bytes", "rate_pps"
extern const char *const tl_latency_axis_keys[];

// "p50" to "p999", in the order of tl_latency_levels().
extern const char *const tl_latency_level_keys[TL_LATENCY_LEVELS];

uint64_t *tl_latency_counter_at(struct tl_latency *report, size_t index);
uint64_t tl_latency_counter_read(const struct tl_latency *report, size_t index);

// Text before the JSON in the page.
#define TL_LATENCY_TAG "<script id=\"report\" type=\"application/json\">"

// table.c: print a row that names the first quantile that is few.
void tl_latency_print_summary(FILE *out, const char *name, const struct tl_hist_summary *summary);

// order.c: add one sample. Return 0 or -ENOMEM.
int tl_latency_order_add(struct tl_latency_order *order, uint64_t time_ns, uint64_t latency_ns);

// bins.c: add one sample of this time; assign the losses to blocks.
void tl_latency_bins_add(struct tl_latency_bins *bins, uint64_t time_ns);
void tl_latency_bins_put(const struct tl_latency_bins *bins, struct tl_latency_blocks *out);

// Return the data of a plot over time, of up to 2000 runs of consecutive samples: time of the largest, smallest,
// largest, their number, and the packet of the largest; and the blocks.
json_t *tl_latency_series_json(const struct tl_latency *report, uint64_t p50_ns);

// dependence.c: null if unknown.
struct tl_latency_dependence;
json_t *tl_latency_autocorrelation_json(const struct tl_latency_dependence *dependence);
json_t *tl_latency_drift_json(const struct tl_latency_dependence *dependence);

// residuals.c: of up to 1000 runs of consecutive samples, return the packet of the first, the median residual, and
// packet and residual of the smallest and of the largest.
json_t *tl_latency_residuals_json(const struct tl_latency *report, uint64_t against_ns);

// clocks.c: return the array of "clocks"; parse one of its rows.
json_t *tl_latency_clocks_json(const struct tl_latency *report);
int tl_latency_clock_from_json(struct tl_latency *report, const json_t *row, struct tl_err *err);
void tl_latency_clocks_text(const struct tl_latency *report, FILE *out);

// latency.html, converted to an array by embed.py.
extern const unsigned char tl_latency_page[];
extern const size_t tl_latency_page_bytes;
