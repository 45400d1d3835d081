// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_clock: the clock log of a Tapline recording (CLOCK blocks, docs/recording.md): error bounds of stamps, and
// times of clock steps.
//
// Threads: any, one at a time. Memory: tl_latency_clocks_free().

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_latency.h>
#include <tl_pcapfile.h>

// Clocks of one file. Zero-initialize.
struct tl_latency_clocks {
	bool known; // the file has a CLOCK block
	bool no_memory;
	uint64_t bound_max_ns[TL_PCAPNG_CLOCKS]; // UINT64_MAX: unknown
	uint32_t steps;				 // steps of the recording, until the last block
	uint64_t start_ns, end_ns;		 // begin of the log, and its last comparison
	struct tl_pcapng_clock_record *record;	 // unique, by clock and time, after tl_latency_clocks_end()
	size_t n, room;
};

// Take a block of the file: a callback for tl_pcap_watch() with a struct tl_latency_clocks.
void tl_latency_clocks_take(void *clocks, const uint8_t *block, uint32_t bytes);

// Finish after all of the file has been read. Return 0 or -ENOMEM.
int tl_latency_clocks_end(struct tl_latency_clocks *clocks);
void tl_latency_clocks_free(struct tl_latency_clocks *clocks);

// Return the error bound of stamps of this source taken from first_ns to last_ns; TL_LATENCY_UNBOUNDED if the file does
// not have it for all of that time.
uint64_t tl_latency_clocks_bound_ns(
	const struct tl_latency_clocks *clocks, const char *source, uint64_t first_ns, uint64_t last_ns);

// Times that enclose a clock step which moved these stamps.
struct tl_latency_clock_step {
	uint64_t from_ns, until_ns;
	int64_t offset_ns;
};

// Count the steps in an interval, and return the first of them. Stamps read from a file are moved by none.
uint32_t tl_latency_clocks_steps(const struct tl_latency_clocks *clocks, const char *source, uint64_t first_ns,
	uint64_t last_ns, struct tl_latency_clock_step *out);

// Add the clock log to the report. Return 0 or -errno.
int tl_latency_clocks_report(const struct tl_latency_clocks *clocks, const char *file, struct tl_latency *report);
