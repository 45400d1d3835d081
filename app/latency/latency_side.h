// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_side: the frames of a capture file that a filter lets through, one after the other.
//
// Threads: main. Memory: the caller's, and open/close.

#include <stdbool.h>
#include <stdint.h>

#include <tl_err.h>
#include <tl_filter.h>
#include <tl_match.h>
#include <tl_pcapfile.h>

#include "latency_pairs.h"
#include "latency_source.h"

// Zeroed at first, but for pairs.
struct tl_latency_side {
	struct tl_pcap_reader *reader;
	struct tl_filter_links *filter;
	struct tl_latency_pairs *pairs; // NULL: none are written
	const char *path;
	bool has;			   // frame is the next one
	struct tl_match_frame frame;	   // named by tl_latency_pairs_name()
	uint64_t read, passed, wire_bytes; // frames of the file, those let through, and the sum of their lengths
	struct tl_latency_origin origin;
	bool broken;
	int rc; // below 0: why no frame comes after the last, with err
	struct tl_err err;
};

// Returns 0, or -errno with the sentence; close in any case.
int tl_latency_side_open(struct tl_latency_side *side, const char *path, const char *filter, struct tl_err *err);
void tl_latency_side_close(struct tl_latency_side *side);

// The next frame, or none: has is false then. A file that ends in the middle is used up to there; rc says where a link
// type ends the reading.
void tl_latency_side_next(struct tl_latency_side *side);

// Check that the file can be read, and a filter compiled. The first sets the link type that the file begins with.
int tl_latency_side_check_file(const char *path, uint32_t *out_linktype, struct tl_err *err);
int tl_latency_side_check_filter(const char *option, const char *filter, uint32_t linktype, struct tl_err *err);
