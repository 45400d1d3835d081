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

// What the frames of one side have in common. Zeroed at first.
struct tl_latency_origin {
	char source[16]; // "" before the first frame; "mixed": several
	uint64_t bound_ns;
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

// What the file says of the stamps of one interface.
struct tl_latency_stamps {
	const char *source; // static
	uint64_t bound_ns;  // 0: unknown
	uint64_t unit_ns;   // rounded up
};
void tl_latency_stamps_of(const struct tl_pcap_more *more, struct tl_latency_stamps *out);

// The frame that the reader gave last is one of this side. direction is what its link header says, as in epb_flags; 0:
// nothing. What the file says of the frame goes first.
void tl_latency_origin_see(struct tl_latency_origin *origin, const struct tl_pcap_reader *reader, uint32_t direction);

// The unit of its stamps, the coarsest, rounded up.
uint64_t tl_latency_origin_unit_ns(const struct tl_latency_origin *origin);

// Names sources and resolution in the report.
void tl_latency_origins(
	const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply, struct tl_latency *report);

// latency_method.c: names the method, and the clocks that took part; with the report's sources and samples. files: 1:
// both sides are in one.
void tl_latency_name_method(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply,
	unsigned files, struct tl_latency *report);
