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
	uint32_t section, interface_id; // seen last
};

static inline uint64_t tl_latency_later(uint64_t ts_ns, uint64_t by_ns)
{
	return ts_ns + tl_min_u64(by_ns, UINT64_MAX - ts_ns);
}

// The frame that the reader gave last is one of this side.
void tl_latency_origin_see(struct tl_latency_origin *origin, const struct tl_pcap_reader *reader);

// Names method, sources, units and bounds in the report. Each side has what its file says of its clocks; the stamps
// that count are from first_ns to last_ns.
void tl_latency_origins(const struct tl_latency_origin origins[2], const struct tl_latency_clocks *clocks[2],
	uint64_t first_ns, uint64_t last_ns, struct tl_latency *report);

// Makes the result invalid where time was set in an interval of stamps of this side.
void tl_latency_judge_steps(const struct tl_latency_origin *origin, const struct tl_latency_clocks *clocks,
	const char *file, uint64_t first_ns, uint64_t last_ns, struct tl_latency *report);
