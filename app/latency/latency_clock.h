// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_clock: what a recording of ours says of the clocks behind its stamps (CLOCK blocks, docs/recording.md): how
// far stamps may be off, and when time was set.
//
// Threads: any, one at a time. Memory: tl_latency_clocks_free().

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_latency.h>
#include <tl_pcapfile.h>

// Clocks of one file. Zeroed at first.
struct tl_latency_clocks {
	bool known; // it has a CLOCK block
	bool no_memory;
	uint64_t bound_max_ns[TL_PCAPNG_CLOCKS]; // UINT64_MAX: unknown
	uint32_t steps;				 // of the recording, until the last block
	uint64_t start_ns, end_ns;		 // when the log begins, and its last comparison
	struct tl_pcapng_clock_record *record;	 // each once, by clock and time, after tl_latency_clocks_end()
	size_t n, room;
};

// The file has this block: to be given to tl_pcap_watch() with a struct tl_latency_clocks.
void tl_latency_clocks_take(void *clocks, const uint8_t *block, uint32_t bytes);

// All of the file has been read. Returns 0 or -ENOMEM.
int tl_latency_clocks_end(struct tl_latency_clocks *clocks);
void tl_latency_clocks_free(struct tl_latency_clocks *clocks);

// How far stamps of this source may be off that were taken from first_ns to last_ns; TL_LATENCY_UNBOUNDED where the
// file does not tell, or not of all that time.
uint64_t tl_latency_clocks_bound_ns(
	const struct tl_latency_clocks *clocks, const char *source, uint64_t first_ns, uint64_t last_ns);

// The times between which, for all that is known, a step of a clock came that moved these stamps.
struct tl_latency_clock_step {
	uint64_t from_ns, until_ns;
	int64_t offset_ns;
};

// Counts the steps in an interval, and gives the first of them. Stamps that a file had are moved by none.
uint32_t tl_latency_clocks_steps(const struct tl_latency_clocks *clocks, const char *source, uint64_t first_ns,
	uint64_t last_ns, struct tl_latency_clock_step *out);

// Adds what the clocks did to the report. Returns 0 or -errno.
int tl_latency_clocks_report(const struct tl_latency_clocks *clocks, const char *file, struct tl_latency *report);
