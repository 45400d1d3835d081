// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// match: pairs each reply in captured frames with the trigger that caused it. Frames in, links out; independent of
// files.
//
// A trigger is a UDP datagram, or the new bytes of one TCP segment. Replies are read from UDP datagrams and TCP
// streams, which are reassembled by sequence number: several in a segment, or one over several segments. A reply is
// complete when the last of its bytes has arrived: its time is the latest of the segments that brought them, each byte
// the first time it was seen.
//
// Among triggers of the same bytes a reply answers the oldest waiting one, and is ambiguous if several wait; after a
// lost reply the sequence is resynchronized by replies that come in step (docs/latency.md). If 64 or more wait at a
// time, the youngest is searched among the 64 in front of the first that is stamped later than the reply.
// The caller passes the triggers ahead of the replies: before a reply of time T all triggers up to T + window, and
// none later, as long as there are replies. Clocks that differ by less than the window thus give negative latencies.
// Memory use is bounded by some windows of traffic.
//
// Threads: one per object. Memory: create/destroy; frames that are kept are copied.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_link.h>

enum tl_match_method {
	TL_MATCH_PAYLOAD,  // the reply contains the trigger's payload
	TL_MATCH_SEQUENCE, // both contain the same number
	TL_MATCH_POSITION, // the triggers' payloads, one after the other, are the stream of replies
};

struct tl_match_link {
	uint64_t number; // 1, 2, ... in order of their discovery
	uint64_t trigger_frame, reply_frame;
	uint64_t trigger_ns, reply_ns;
	bool ambiguous;	    // another trigger of the same bytes, or number, was waiting within the window
	uint32_t segments;  // with bytes of the reply, at least 1
	bool retransmitted; // a TCP segment of trigger or reply was partly repeated, or arrived after its successor
};

struct tl_match_cfg {
	enum tl_match_method method;
	uint32_t trigger_offset, reply_offset, number_bytes; // of TL_MATCH_SEQUENCE
	uint32_t reply_bytes; // of TL_MATCH_SEQUENCE, in TCP: length of each reply; 0: that of its trigger
	uint64_t window_ns;   // largest distance of trigger and reply
	bool unique;	      // a trigger whose payload was already seen within the window is a copy, not a trigger

	int (*linked)(void *ctx, const struct tl_match_link *link); // a return value other than 0 ends the work
	void (*unanswered)(
		void *ctx, uint64_t trigger_ns); // NULL: not called; some windows later, in the order of arrival
	void *ctx;
};

struct tl_match_frame {
	const uint8_t *data;
	uint32_t cap_bytes, wire_bytes;
	uint64_t ts_ns; // 0: no stamp
	uint64_t frame; // the caller's identifier: increases on either side
	enum tl_link link;
};

// At the end: triggers = matched + unmatched_triggers; and with datagrams, trigger_frames = triggers + trigger_copies +
// trigger_empty + trigger_ignored + trigger_cut + trigger_unstamped.
struct tl_match_stats {
	uint64_t trigger_frames, reply_frames;
	uint64_t triggers;
	uint64_t matched, negative; // among matched: those whose reply is stamped before its trigger
	uint64_t ambiguous;	    // among matched and duplicates: replies that fit several triggers
	uint64_t different;	    // TL_MATCH_POSITION: among matched, pairs whose bytes are all known, and differ
	uint64_t unmatched_triggers;
	uint64_t unmatched_replies; // pieces of one datagram or segment without a matching trigger
	uint64_t unmatched_reply_bytes;
	uint64_t duplicates; // replies to a trigger that had one, and segments of replies without new bytes

	uint64_t trigger_copies;   // excluded by cfg.unique
	uint64_t trigger_repeated; // TCP segments without new bytes
	uint64_t trigger_empty;	   // without payload
	// Frames of triggers and of replies that could not be used:
	uint64_t trigger_ignored, ignored;     // neither UDP nor TCP, fragments, malformed, too short for the number
	uint64_t trigger_cut, cut;	       // too few captured bytes for the method
	uint64_t trigger_unstamped, unstamped; // without a time

	uint64_t lost_bytes;		     // of the streams of replies: never seen
	uint64_t other_streams;		     // TL_MATCH_POSITION: beside the first one; their replies are unmatched
	uint64_t trigger_bytes, reply_bytes; // TL_MATCH_POSITION, at the end: if they differ some are missing, and
					     // all after them was linked wrongly
	uint64_t steps;			     // triggers, pieces and streams examined in searches: some per frame
};

struct tl_match; // opaque

// Return 0 or -ENOMEM. cfg is copied.
int tl_match_create(const struct tl_match_cfg *cfg, struct tl_match **out);
void tl_match_destroy(struct tl_match *match);

// Process a frame. Each returns 0, -ENOMEM, or the return value of cfg.linked.
int tl_match_trigger(struct tl_match *match, const struct tl_match_frame *frame);
int tl_match_reply(struct tl_match *match, const struct tl_match_frame *frame);

// Decide everything still open, after the last frame.
int tl_match_finish(struct tl_match *match);

const struct tl_match_stats *tl_match_get_stats(const struct tl_match *match);
