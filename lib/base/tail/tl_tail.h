// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tail: the latest outliers (messages with a long residence time), each with its context, and the latest residence
// times of all messages.
//
// Threads: put, set_after and add on the one writing lcore; count and read on any thread, at any time; samples are read
//          after the last add.
// Memory:  create/destroy, touched there; writes neither allocate nor wait.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_tail;
struct tl_tail_samples;

// Stages of a message, in order; TL_STAGE_TX_CALL is the last with a known end.
enum tl_stage {
	TL_STAGE_WIRE,	  // wire timestamp of the frame to return of the poll
	TL_STAGE_PARSE,	  // to parsed headers
	TL_STAGE_STACK,	  // to the frame of the reply
	TL_STAGE_QUEUE,	  // to the call of tx_burst
	TL_STAGE_TX_CALL, // to its return
	TL_STAGES,
};
const char *tl_stage_name(enum tl_stage stage); // "wire_to_poll", "poll_to_parsed", …

#define TL_TAIL_FRAMES 64
#define TL_TAIL_UNKNOWN UINT64_MAX

// A poll of the lcore.
struct tl_tail_burst {
	uint64_t time_ns;     // time of its return, since 1970
	uint64_t poll_gap_ns; // since the previous poll; TL_TAIL_UNKNOWN: handed over by another lcore
	uint32_t bytes;
	uint16_t frames; // 0: no such burst
	uint16_t queue;
};

struct tl_tail_outlier {
	uint64_t number;	      // consecutive, from 0
	uint64_t msgs;		      // messages of the burst and echo, with equal residence
	uint64_t residence_ns;	      // sum of the stages PARSE to QUEUE
	uint64_t stage_ns[TL_STAGES]; // TL_TAIL_UNKNOWN: not measured
	struct tl_tail_burst burst, before, after;
	uint64_t own; // bit i: frame i of the burst is for this echo
	uint16_t frame_bytes[TL_TAIL_FRAMES];
};

// Create a ring of `keep` outliers. NULL: out of memory.
struct tl_tail *tl_tail_create(uint32_t keep);
void tl_tail_destroy(struct tl_tail *tail);

// Store an outlier and set its number; overwrites the oldest.
void tl_tail_put(struct tl_tail *tail, struct tl_tail_outlier *outlier);

// Set the burst after that of the last outlier.
void tl_tail_set_after(struct tl_tail *tail, const struct tl_tail_burst *after);

uint32_t tl_tail_kept_frames(const struct tl_tail *tail);

// Number of outliers stored so far. All but the last tl_tail_kept_frames() are overwritten.
uint64_t tl_tail_count(const struct tl_tail *tail);

// Read an outlier. False: overwritten, not stored yet, or under construction.
bool tl_tail_read(const struct tl_tail *tail, uint64_t number, struct tl_tail_outlier *out);

// ---- samples

struct tl_tail_sample {
	uint64_t time_ns;      // time of the return of the poll, since 1970
	uint64_t residence_ns; // per message
	uint64_t poll_gap_ns;  // poll gap of the burst
	uint64_t msgs;
};

struct tl_tail_samples *tl_tail_samples_create(uint32_t keep);
void tl_tail_samples_destroy(struct tl_tail_samples *samples);

// HOT. Store a sample; overwrites the oldest.
void tl_tail_samples_add(struct tl_tail_samples *samples, const struct tl_tail_sample *sample);

// Number of samples kept, at most `keep`, and number stored so far.
uint32_t tl_tail_samples_kept(const struct tl_tail_samples *samples);
uint64_t tl_tail_samples_count(const struct tl_tail_samples *samples);

// Kept sample by index, the oldest first.
const struct tl_tail_sample *tl_tail_samples_at(const struct tl_tail_samples *samples, uint32_t index);
