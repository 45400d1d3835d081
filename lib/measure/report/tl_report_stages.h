// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// report of an echo with stage stamps: the duration of each stage, and the context of outliers.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_hist.h>
#include <tl_noise.h>
#include <tl_tail.h>

// Outlier, and the kernel's counts between the checks before and after it.
struct tl_report_outlier {
	struct tl_tail_outlier seen;
	uint64_t noise_ns; // length of that period; 0: unknown
	struct tl_noise noise;
};

// Stages of an echo with stage stamps.
struct tl_report_stages {
	bool has[TL_STAGES];
	struct tl_hist_summary stage[TL_STAGES];
	uint64_t unstamped_pkts;	      // not in TL_STAGE_WIRE, if the port stamps: without a stamp
	uint64_t after_poll_pkts;	      // not in it either: their stamp is later than the poll
	struct tl_hist_summary poll_gap;      // before the poll that received the message
	uint64_t gap_above_p50_msgs;	      // number of gaps longer than the median residence
	double rdtsc_ns, stamp_ns;	      // cost of a stamp on this host: alone, and as taken
	uint64_t outlier_ns;		      // 0: none are kept
	uint64_t outliers;		      // in total; the list has the last of them
	const struct tl_report_outlier *list; // borrowed, oldest first
	uint32_t n_list;
};

// Add to the object of an echo: "stages_ns", "poll_gap_ns", "outliers" and related keys. NULL: nothing.
void tl_report_put_stages(json_t *echo, const struct tl_report_stages *stages);
void tl_report_stages_text(FILE *out, const struct tl_report_stages *stages);
