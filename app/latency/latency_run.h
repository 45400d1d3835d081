// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_run: pairs the triggers and replies of capture files, fills a latency report, and writes a copy of the files
// with marked pairs.
//
// Threads: main. Memory: tl_latency_run_fini() frees the links; the report is the caller's.

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tl_err.h>
#include <tl_latency.h>
#include <tl_match.h>

#include "latency_pairs.h"
#include "latency_clock.h"

#define TL_LATENCY_INPUTS 2

struct tl_latency_cfg {
	const char *file[TL_LATENCY_INPUTS]; // file of the triggers, of the replies
	unsigned files;			     // 1: both in one file
	const char *trigger, *reply;	     // filters
	struct tl_match_cfg match;
	const char *linked;	       // path of the marked copy, "-": standard output; NULL: none
	double max_loss;	       // largest share of triggers without a reply
	uint64_t above_ns;	       // smallest latency of pairs with comments in the copy
	const char *pairs;	       // CSV of every pair; NULL: none
	struct tl_latency_files saved; // files that the caller writes afterwards
};

// Role of a frame in a pair.
struct tl_latency_note {
	uint64_t frame;	 // counted from 1 in its file
	uint64_t number; // number of the pair
	int64_t latency_ns;
	bool is_reply;
};

struct tl_latency_notes {
	struct tl_latency_note *note;
	size_t n, room;
};

struct tl_latency_run {
	const struct tl_latency_cfg *cfg;
	struct tl_latency *report;
	struct tl_latency_notes notes[TL_LATENCY_INPUTS];   // by file
	struct tl_latency_pairs *pairs;			    // for cfg->pairs, or NULL
	int fd;						    // for cfg->linked, or -1
	int64_t earliest_ns;				    // least latency, if negative
	uint64_t first_ns, last_ns;			    // range of all stamps of pairs; first > last: empty
	struct tl_latency_clocks clocks[TL_LATENCY_INPUTS]; // by file
};

// Check the call: the files exist and differ, the filters compile, and no output is an input. Open the copy. Return 0,
// or -EINVAL or another -errno with a message in *err.
int tl_latency_run_init(
	struct tl_latency_run *run, const struct tl_latency_cfg *cfg, struct tl_latency *report, struct tl_err *err);

// Read the files and fill the report. Return 0, or -errno with a message in *err.
int tl_latency_run(struct tl_latency_run *run, struct tl_err *err);

// latency_linked.c: write the copy. Return 0, or -errno with a message in *err.
int tl_latency_write_linked(struct tl_latency_run *run, struct tl_err *err);

void tl_latency_run_fini(struct tl_latency_run *run);
