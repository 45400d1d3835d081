// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_source: where the stamps of the frames in a file come from, as far as the file says it.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_latency.h>
#include <tl_pcapfile.h>

#include "latency_clock.h"

// What the frames of one side have in common. Zeroed at first.
struct tl_latency_origin {
	char source[16];		// "" before the first frame; "mixed": several
	unsigned sources;		// bits: those that were seen
	uint64_t start_bound_ns;	// what its recording said when it began; 0: nothing
	uint8_t tsresol;		// the coarsest
	bool seen, sent;		// a frame was sent by the host that captured it
	bool undirected;		// of a frame nothing says that it was received
	char device[96];		// the first interface
	bool several;			// there are others
	uint32_t section, interface_id; // seen last
};

static inline uint64_t tl_latency_later(uint64_t ts_ns, uint64_t by_ns)
{
	return ts_ns + tl_min_u64(by_ns, UINT64_MAX - ts_ns);
}

// Stamps of one interface, as the file describes them.
struct tl_latency_stamps {
	const char *source;	 // static
	uint64_t start_bound_ns; // when the recording began; 0: unknown
	uint64_t unit_ns;	 // rounded up
};
void tl_latency_stamps_of(const struct tl_pcap_more *more, struct tl_latency_stamps *out);

// The frame that the reader gave last is one of this side. direction is what its link header says, as in epb_flags; 0:
// nothing. What the file says of the frame goes first.
void tl_latency_origin_see(struct tl_latency_origin *origin, const struct tl_pcap_reader *reader, uint32_t direction);

// The unit of its stamps, the coarsest, rounded up.
uint64_t tl_latency_origin_unit_ns(const struct tl_latency_origin *origin);

// Names method, sources, units and bounds in the report. Each side has what its file says of its clocks; the stamps
// that count are from first_ns to last_ns.
void tl_latency_origins(const struct tl_latency_origin origins[2], const struct tl_latency_clocks *clocks[2],
	uint64_t first_ns, uint64_t last_ns, struct tl_latency *report);

// Makes the result invalid where time was set in an interval of stamps of this side.
void tl_latency_judge_steps(const struct tl_latency_origin *origin, const struct tl_latency_clocks *clocks,
	const char *file, uint64_t first_ns, uint64_t last_ns, struct tl_latency *report);

// latency_method.c: names the method, and the clocks that took part; with the report's sources and samples. files: 1:
// both sides are in one.
void tl_latency_name_method(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply,
	unsigned files, struct tl_latency *report);
