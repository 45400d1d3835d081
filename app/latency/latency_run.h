// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_run: pairs the triggers and replies of capture files, fills a latency report, and writes the files again with
// the pairs marked.
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
	const char *file[TL_LATENCY_INPUTS]; // of the triggers, of the replies
	unsigned files;			     // 1: both in one
	const char *trigger, *reply;	     // filters
	struct tl_match_cfg match;
	const char *linked;	       // the copy to write, "-" is standard output; NULL: none
	double max_loss;	       // of the triggers, those without a reply
	uint64_t above_ns;	       // in it only pairs this far apart have comments
	const char *pairs;	       // the CSV of every pair; NULL: none
	struct tl_latency_files saved; // what the caller writes afterwards
};

// One frame's part in a pair.
struct tl_latency_note {
	uint64_t frame;	 // counted from 1 in its file
	uint64_t number; // of the pair
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
	struct tl_latency_pairs *pairs;			    // of cfg->pairs, or NULL
	int fd;						    // of cfg->linked, or -1
	int64_t earliest_ns;				    // the least latency, where it is below 0
	uint64_t first_ns, last_ns;			    // of all stamps of pairs; first > last: there are none
	struct tl_latency_clocks clocks[TL_LATENCY_INPUTS]; // by file
};

// Whether the call can work at all: the files are there and differ, the filters are filters, and nothing that is to be
// written is an input.
// Opens the copy. Returns 0, -EINVAL or another -errno, with the sentence.
int tl_latency_run_init(
	struct tl_latency_run *run, const struct tl_latency_cfg *cfg, struct tl_latency *report, struct tl_err *err);

// Reads the files and fills the report. Returns 0 or -errno with the sentence.
int tl_latency_run(struct tl_latency_run *run, struct tl_err *err);

// latency_linked.c: writes the copy.
int tl_latency_write_linked(struct tl_latency_run *run, struct tl_err *err);

void tl_latency_run_fini(struct tl_latency_run *run);
