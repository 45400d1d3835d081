// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_pairs: the CSV of every pair found by `tapline latency`, written during the search. docs/latency.md describes
// its columns and version.
//
// Threads: main. Memory: create/destroy; it grows with the interfaces in the files, not with the pairs.

#include <stdint.h>

#include <tl_err.h>
#include <tl_match.h>
#include <tl_pcapfile.h>

#define TL_LATENCY_PAIRS_VERSION 1

struct tl_latency_pairs;

// Create the file, mode 0640. Return 0, or -errno with a message in *err.
int tl_latency_pairs_create(const char *path, struct tl_latency_pairs **out, struct tl_err *err);

// Return the name of a frame for the matcher: its number in the file, and its capture interface. The frame is the last
// one from the reader. pairs may be NULL: then the name has no interface. Names grow with numbers.
uint64_t tl_latency_pairs_name(struct tl_latency_pairs *pairs, const struct tl_pcap_reader *reader, uint64_t number);

// Return the number of the frame of this name.
uint64_t tl_latency_pairs_number(uint64_t name);

// Add a pair of frames with these names.
void tl_latency_pairs_add(struct tl_latency_pairs *pairs, const struct tl_match_link *link);

// Close the file. Return 0, or -errno with a message in *err after a write error. NULL: no operation.
int tl_latency_pairs_close(struct tl_latency_pairs *pairs, struct tl_err *err);
