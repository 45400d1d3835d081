// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_side: iterates over the frames of a capture file that pass a filter.
//
// Threads: main. Memory: the caller's, and open/close.

#include <stdbool.h>
#include <stdint.h>

#include <tl_err.h>
#include <tl_filter.h>
#include <tl_match.h>
#include <tl_pcapfile.h>
#include <tl_progress.h>

#include "latency_pairs.h"
#include "latency_source.h"

// Frames of one side. Zero-initialize all but pairs.
struct tl_latency_side {
	struct tl_pcap_reader *reader;
	struct tl_filter_links *filter;
	struct tl_latency_pairs *pairs; // NULL: none are written
	const char *path;
	uint64_t size_bytes; // of the file
	struct tl_progress progress;
	bool shows;			   // log the progress
	bool has;			   // frame holds the next one
	struct tl_match_frame frame;	   // named by tl_latency_pairs_name()
	uint64_t read, passed, wire_bytes; // frames of the file, frames passed by the filter, sum of their lengths
	struct tl_latency_origin origin;
	bool broken;
	int rc; // negative: reason for the end of the frames, with err
	struct tl_err err;
};

// Open a file. Return 0, or -errno with a message in *err; call close in both cases.
int tl_latency_side_open(struct tl_latency_side *side, const char *path, const char *filter, struct tl_err *err);
void tl_latency_side_close(struct tl_latency_side *side);

// Advance to the next frame; has is false at the end. A truncated file is used up to the truncation; rc reports a link
// type that ends the reading.
void tl_latency_side_next(struct tl_latency_side *side);

// Check that the file can be read, and a filter compiled. The first sets the link type at the beginning of the file.
int tl_latency_side_check_file(const char *path, uint32_t *out_linktype, struct tl_err *err);
int tl_latency_side_check_filter(const char *option, const char *filter, uint32_t linktype, struct tl_err *err);
