// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// report, of an echo that takes stamps on the way: how long each stage took, and what was around the messages that
// stayed too long.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_hist.h>
#include <tl_noise.h>
#include <tl_tail.h>

// A message that stayed too long, and what the kernel counted from the look before it was noticed until then.
struct tl_report_outlier {
	struct tl_tail_outlier seen;
	uint64_t noise_ns; // how long that was; 0: not known
	struct tl_noise noise;
};

// Of an echo that takes stamps on the way.
struct tl_report_stages {
	bool has[TL_STAGES];
	struct tl_hist_summary stage[TL_STAGES];
	uint64_t unstamped_pkts;	      // not in TL_STAGE_WIRE, where the port stamps: without a stamp
	uint64_t after_poll_pkts;	      // nor these: their stamp is later than the poll
	struct tl_hist_summary poll_gap;      // before the poll that brought the message
	uint64_t gap_above_p50_msgs;	      // of those, longer than the median residence
	double rdtsc_ns, stamp_ns;	      // what a stamp costs on this host: alone, and as it is taken
	uint64_t outlier_ns;		      // 0: none are kept
	uint64_t outliers;		      // ever; the list has the last of them
	const struct tl_report_outlier *list; // borrowed, the oldest first
	uint32_t n_list;
};

// Put into the object of an echo: "stages_ns", "poll_gap_ns", "outliers" and what belongs to them. NULL: nothing.
void tl_report_put_stages(json_t *echo, const struct tl_report_stages *stages);
void tl_report_stages_text(FILE *out, const struct tl_report_stages *stages);
