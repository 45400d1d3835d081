// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// match: pairs each reply with the trigger that caused it, out of captured frames. Frames in, links out; knows no file.
//
// A trigger is a UDP datagram, or what one TCP segment brings that was not seen before. Replies are read out of UDP
// datagrams and TCP streams, which are put together by sequence number: several in a segment, or one over several
// segments. A reply is complete when the last of its bytes has arrived: its time is the latest of the
// segments that brought them, each byte the first time it was seen.
//
// Of triggers of the same bytes a reply answers the oldest that waits, and is ambiguous where several do; after a lost
// reply the row is found again by those that come in step (docs/latency.md). Where 64 or more wait at a time, the
// youngest is looked for among the 64 in front of the first that is stamped later than the reply.
//
// The caller gives the triggers ahead of the replies: before a reply of time T every trigger up to T + window, and none
// later, as long as there are replies. So clocks that disagree by less than the window show as negative latencies. What
// is kept is bounded by some windows of traffic.
//
// Threads: one per object. Memory: create/destroy; frames are copied where they are kept.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_link.h>

enum tl_match_method {
	TL_MATCH_PAYLOAD,  // the trigger's payload stands in the reply
	TL_MATCH_SEQUENCE, // a number stands in both
	TL_MATCH_POSITION, // the triggers' payloads, one after the other, are the stream of replies
};

struct tl_match_link {
	uint64_t number; // 1, 2, ... in the order they are found
	uint64_t trigger_frame, reply_frame;
	uint64_t trigger_ns, reply_ns;
	bool ambiguous;	    // another trigger of the same bytes, or number, was waiting within the window
	uint32_t segments;  // that brought the reply, 1 at least
	bool retransmitted; // a TCP segment of trigger or reply came again in part, or behind what follows it
};

struct tl_match_cfg {
	enum tl_match_method method;
	uint32_t trigger_offset, reply_offset, number_bytes; // of TL_MATCH_SEQUENCE
	uint32_t reply_bytes; // of TL_MATCH_SEQUENCE, in TCP: how long each reply is; 0: as long as its trigger
	uint64_t window_ns;   // trigger and reply are at most so far apart
	bool unique;	      // a trigger whose payload was there within the window is a copy, not a trigger

	int (*linked)(void *ctx, const struct tl_match_link *link); // not 0 ends the work
	void (*unanswered)(
		void *ctx, uint64_t trigger_ns); // NULL: not asked; some windows later, in the order they came
	void *ctx;
};

struct tl_match_frame {
	const uint8_t *data;
	uint32_t cap_bytes, wire_bytes;
	uint64_t ts_ns; // 0: it has no stamp
	uint64_t frame; // the caller's name for it: of either side greater than those before
	enum tl_link link;
};

// At the end: triggers = matched + unmatched_triggers; and while they are datagrams, trigger_frames = triggers +
// trigger_copies + trigger_empty + trigger_ignored + trigger_cut + trigger_unstamped.
struct tl_match_stats {
	uint64_t trigger_frames, reply_frames;
	uint64_t triggers;
	uint64_t matched, negative; // of the matched, those whose reply is stamped before its trigger
	uint64_t ambiguous;	    // of the matched, and of the duplicates: replies that fit several triggers
	uint64_t different;	    // TL_MATCH_POSITION: of the matched, pairs whose bytes are all known, and differ
	uint64_t unmatched_triggers;
	uint64_t
		unmatched_replies; // stretches of bytes, each of one datagram or segment, in which no trigger was found
	uint64_t unmatched_reply_bytes;
	uint64_t duplicates; // replies to a trigger that had one, and segments of replies that brought nothing new

	uint64_t trigger_copies;   // left out as cfg.unique says
	uint64_t trigger_repeated; // TCP segments that brought nothing new
	uint64_t trigger_empty;	   // without payload
	// Frames of triggers and of replies that could not be used:
	uint64_t trigger_ignored, ignored;     // neither UDP nor TCP, fragments, malformed, too short for the number
	uint64_t trigger_cut, cut;	       // too few bytes in the capture to see what is asked for
	uint64_t trigger_unstamped, unstamped; // without a time

	uint64_t lost_bytes;		     // of the streams of replies: never seen
	uint64_t other_streams;		     // TL_MATCH_POSITION: beside the first one; their replies are unmatched
	uint64_t trigger_bytes, reply_bytes; // TL_MATCH_POSITION, at the end: where they differ some are missing, and
					     // all behind them was linked wrongly
	uint64_t steps; // triggers, pieces and streams that were looked at to find one: some per frame
};

struct tl_match; // opaque

// Returns 0 or -ENOMEM. cfg is copied.
int tl_match_create(const struct tl_match_cfg *cfg, struct tl_match **out);
void tl_match_destroy(struct tl_match *match);

// Each returns 0, -ENOMEM, or what cfg.linked returned.
int tl_match_trigger(struct tl_match *match, const struct tl_match_frame *frame);
int tl_match_reply(struct tl_match *match, const struct tl_match_frame *frame);

// After the last frame: what is still open is decided.
int tl_match_finish(struct tl_match *match);

const struct tl_match_stats *tl_match_get_stats(const struct tl_match *match);
