// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency, inside: what writing and reading a report share.

#include <tl_latency.h>

// A counter of struct tl_latency, as it is called in the JSON and in the table of the text.
struct tl_latency_counter {
	const char *key, *label;
	size_t offset;
};

extern const struct tl_latency_counter tl_latency_counters[];
extern const size_t tl_latency_n_counters;

// Of reals, in the printed JSON as in the page.
#define TL_LATENCY_DIGITS JSON_REAL_PRECISION(12)

// "payload_bytes", "rate_pps"
extern const char *const tl_latency_axis_keys[];

// "p50" to "p999", as tl_latency_levels() has them.
extern const char *const tl_latency_level_keys[TL_LATENCY_LEVELS];

uint64_t *tl_latency_counter_at(struct tl_latency *report, size_t index);
uint64_t tl_latency_counter_read(const struct tl_latency *report, size_t index);

// What stands before the JSON in the page.
#define TL_LATENCY_TAG "<script id=\"report\" type=\"application/json\">"

// order.c: one more sample. Returns 0 or -ENOMEM.
int tl_latency_order_add(struct tl_latency_order *order, uint64_t time_ns, uint64_t latency_ns);

// bins.c: one more sample of this time; and what of the lost belongs to which block.
void tl_latency_bins_add(struct tl_latency_bins *bins, uint64_t time_ns);
void tl_latency_bins_put(const struct tl_latency_bins *bins, struct tl_latency_blocks *out);

// What a plot over time shows of up to 2000 runs of samples that follow each other: when the largest of them was, the
// smallest, the largest, how many they are, and the largest's packet; and the blocks.
json_t *tl_latency_series_json(const struct tl_latency *report, uint64_t p50_ns);

// dependence.c: null where nothing is known.
struct tl_latency_dependence;
json_t *tl_latency_autocorrelation_json(const struct tl_latency_dependence *dependence);
json_t *tl_latency_drift_json(const struct tl_latency_dependence *dependence);

// residuals.c: of up to 1000 runs of samples that follow each other, the packet of the first, the median residual, and
// packet and residual of the smallest and of the largest.
json_t *tl_latency_residuals_json(const struct tl_latency *report, uint64_t against_ns);

// clocks.c: the array of "clocks", and one of its rows read back.
json_t *tl_latency_clocks_json(const struct tl_latency *report);
int tl_latency_clock_from_json(struct tl_latency *report, const json_t *row, struct tl_err *err);
void tl_latency_clocks_text(const struct tl_latency *report, FILE *out);

// latency.html, made an array by embed.py.
extern const unsigned char tl_latency_page[];
extern const size_t tl_latency_page_bytes;
