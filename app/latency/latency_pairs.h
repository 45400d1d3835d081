// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_pairs: the CSV of every pair that `tapline latency` finds, written while it finds them. Its columns and its
// version are described in docs/latency.md.
//
// Threads: main. Memory: create/destroy; it grows with the interfaces that the files describe, not with the pairs.

#include <stdint.h>

#include <tl_err.h>
#include <tl_match.h>
#include <tl_pcapfile.h>

#define TL_LATENCY_PAIRS_VERSION 1

struct tl_latency_pairs;

// Creates the file, mode 0640. Returns 0, or -errno with the sentence.
int tl_latency_pairs_create(const char *path, struct tl_latency_pairs **out, struct tl_err *err);

// The name by which the matcher is given a frame: its number in the file, and the interface that it was captured on.
// It is the one that the reader gave last. pairs may be NULL: then the name has no interface. Names grow with numbers.
uint64_t tl_latency_pairs_name(struct tl_latency_pairs *pairs, const struct tl_pcap_reader *reader, uint64_t number);

// The number of the frame of this name.
uint64_t tl_latency_pairs_number(uint64_t name);

// A pair of frames with these names.
void tl_latency_pairs_add(struct tl_latency_pairs *pairs, const struct tl_match_link *link);

// Closes the file. Returns 0, or -errno with the sentence where not all could be written. NULL is nothing.
int tl_latency_pairs_close(struct tl_latency_pairs *pairs, struct tl_err *err);
