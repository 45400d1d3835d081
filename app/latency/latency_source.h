// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_source: the source of the stamps of frames in a file, as described in the file.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_latency.h>
#include <tl_pcapfile.h>

#include "latency_clock.h"

// Common properties of the frames of one side. Zero-initialize.
struct tl_latency_origin {
	char source[16];		// "" before the first frame; "mixed": several
	unsigned sources;		// bit mask of the sources seen
	uint64_t start_bound_ns;	// bound at the start of the recording; 0: not given
	uint8_t tsresol;		// coarsest resolution
	bool seen, sent;		// sent: a frame was sent by the host that captured it
	bool undirected;		// a frame is not marked as received
	char device[96];		// first interface
	bool several;			// there are other interfaces
	uint32_t section, interface_id; // seen last
};

static inline uint64_t tl_latency_later(uint64_t ts_ns, uint64_t by_ns)
{
	return ts_ns + tl_min_u64(by_ns, UINT64_MAX - ts_ns);
}

// Stamps of one interface, as the file describes them.
struct tl_latency_stamps {
	const char *source;	 // static
	uint64_t start_bound_ns; // at the start of the recording; 0: unknown
	uint64_t unit_ns;	 // rounded up
};
void tl_latency_stamps_of(const struct tl_pcap_more *more, struct tl_latency_stamps *out);

// Add the last frame from the reader to this side. direction comes from its link header, in the encoding of epb_flags;
// 0: unknown. A direction in the file takes precedence.
void tl_latency_origin_see(struct tl_latency_origin *origin, const struct tl_pcap_reader *reader, uint32_t direction);

// Return the coarsest unit of the stamps, rounded up.
uint64_t tl_latency_origin_unit_ns(const struct tl_latency_origin *origin);

// Store method, sources, units and bounds in the report. Each side has the clock log of its file; the stamps in
// question are from first_ns to last_ns.
void tl_latency_origins(const struct tl_latency_origin origins[2], const struct tl_latency_clocks *clocks[2],
	uint64_t first_ns, uint64_t last_ns, struct tl_latency *report);

// Make the result invalid if a clock was set in an interval of stamps of this side.
void tl_latency_check_steps(const struct tl_latency_origin *origin, const struct tl_latency_clocks *clocks,
	const char *file, uint64_t first_ns, uint64_t last_ns, struct tl_latency *report);

// latency_method.c: store the method and its clocks; the report must have its sources and samples. files: 1: both sides
// are in one file.
void tl_latency_name_method(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply,
	unsigned files, struct tl_latency *report);
