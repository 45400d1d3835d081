// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_truth: compares the pairs and the report of one capture with the truth, for `tapline latency --self-test`.
//
// Threads: main. Memory: the caller's.

#include <tl_latency.h>
#include <tl_traffic.h>

#define TL_LATENCY_PATH_BYTES 512

// A seed: its files, and the differences found.
struct tl_latency_subject {
	const struct tl_traffic *traffic;
	char dir[TL_LATENCY_PATH_BYTES - 32];
	char path[TL_TRAFFIC_FILES][TL_LATENCY_PATH_BYTES];
	char csv[TL_LATENCY_PATH_BYTES], call[TL_LATENCY_PATH_BYTES];
	struct tl_traffic_pair pair[2 * TL_TRAFFIC_PAIRS]; // pairs read from the CSV
	uint32_t pairs;
	unsigned differences;
};

// Read the CSV of the pairs, and print the first differences; count all of them in differences.
void tl_latency_compare_truth(struct tl_latency_subject *s, const struct tl_latency *report);
