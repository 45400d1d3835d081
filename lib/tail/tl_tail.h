// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tail: the messages that stayed too long, each with what was around it, the last so many of them; and the last so many
// messages at all, without.
//
// Threads: put, set_after and add on the one lcore that writes; count and read on any thread, at any time; the samples
// are read after the last of them.
// Memory:  create/destroy, touched there: what writes allocates nothing and waits for nobody.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_tail;
struct tl_tail_samples;

// The stages of a message's way, in their order; TL_STAGE_TX_CALL is the last that has an end that is known.
enum tl_stage {
	TL_STAGE_WIRE,	  // the frame's stamp to the return of the poll
	TL_STAGE_PARSE,	  // to its headers read
	TL_STAGE_STACK,	  // to the answer's frame ready
	TL_STAGE_QUEUE,	  // to the call of tx_burst
	TL_STAGE_TX_CALL, // to its return
	TL_STAGES,
};
const char *tl_stage_name(enum tl_stage stage); // "wire_to_poll", "poll_to_parsed", …

#define TL_TAIL_FRAMES 64
#define TL_TAIL_UNKNOWN UINT64_MAX

// What one poll of the lcore brought.
struct tl_tail_burst {
	uint64_t time_ns;     // when it returned, since 1970
	uint64_t poll_gap_ns; // since the poll before it; TL_TAIL_UNKNOWN: it came from another lcore
	uint32_t bytes;
	uint16_t frames; // 0: there was no such burst
	uint16_t queue;
};

struct tl_tail_outlier {
	uint64_t number;	      // from 0
	uint64_t msgs;		      // of that burst and echo: they stayed equally long
	uint64_t residence_ns;	      // the stages from PARSE to QUEUE
	uint64_t stage_ns[TL_STAGES]; // TL_TAIL_UNKNOWN: not taken
	struct tl_tail_burst burst, before, after;
	uint64_t own; // bit i: frame i of the burst was for this echo
	uint16_t frame_bytes[TL_TAIL_FRAMES];
};

// Keeps the last `keep`. NULL: no memory.
struct tl_tail *tl_tail_create(uint32_t keep);
void tl_tail_destroy(struct tl_tail *tail);

// Gives it its number; the oldest is overwritten.
void tl_tail_put(struct tl_tail *tail, struct tl_tail_outlier *outlier);

// The burst that followed the one of the last outlier.
void tl_tail_set_after(struct tl_tail *tail, const struct tl_tail_burst *after);

uint32_t tl_tail_keep(const struct tl_tail *tail);

// How many were ever put. All but the last tl_tail_keep() are overwritten.
uint64_t tl_tail_count(const struct tl_tail *tail);

// False: that number is overwritten, or not there yet, or just being written.
bool tl_tail_read(const struct tl_tail *tail, uint64_t number, struct tl_tail_outlier *out);

// ---- samples

struct tl_tail_sample {
	uint64_t time_ns;      // when the poll returned that brought them, since 1970
	uint64_t residence_ns; // of each
	uint64_t poll_gap_ns;  // of the burst
	uint64_t msgs;
};

struct tl_tail_samples *tl_tail_samples_create(uint32_t keep);
void tl_tail_samples_destroy(struct tl_tail_samples *samples);

// HOT. The oldest is overwritten.
void tl_tail_samples_add(struct tl_tail_samples *samples, const struct tl_tail_sample *sample);

// How many are kept, at most `keep`, and how many ever were added.
uint32_t tl_tail_samples_kept(const struct tl_tail_samples *samples);
uint64_t tl_tail_samples_count(const struct tl_tail_samples *samples);

// The index-th of those kept, the oldest first.
const struct tl_tail_sample *tl_tail_samples_at(const struct tl_tail_samples *samples, uint32_t index);
