// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// traffic: synthetic captures of triggers and replies with known latencies: generated from a seed and a table of events
// that can affect traffic on its way into a capture. `tapline latency --self-test` reads them.
//
// The truth follows from the message that each byte belongs to, never from a comparison of bytes: no code is shared
// with the matcher.
//
// Threads: one per object. Memory: create/destroy; tl_traffic_make() allocates nothing.

#include <stdbool.h>
#include <stdint.h>

#include <tl_err.h>
#include <tl_match.h>

#define TL_TRAFFIC_FILES 2
#define TL_TRAFFIC_PAIRS 160 // maximum

enum tl_traffic_trick {
	TL_TRAFFIC_TCP_REPLIES,
	TL_TRAFFIC_TCP_TRIGGERS,
	TL_TRAFFIC_POSITION,	   // --match position
	TL_TRAFFIC_SEQUENCE,	   // --match sequence
	TL_TRAFFIC_IDENTICAL,	   // all payloads are equal
	TL_TRAFFIC_SHORT,	   // payloads of one or two bytes that recur
	TL_TRAFFIC_PREFIX,	   // a payload begins with the previous one
	TL_TRAFFIC_HEADER,	   // further bytes of the reply around the payload
	TL_TRAFFIC_WRAP,	   // sequence numbers of TCP pass 2^32
	TL_TRAFFIC_SPLIT,	   // a reply in several segments
	TL_TRAFFIC_MERGE,	   // several replies in a segment or datagram
	TL_TRAFFIC_OVERTAKE,	   // frames are reordered
	TL_TRAFFIC_DUPLICATE,	   // a frame arrives twice
	TL_TRAFFIC_AGAIN,	   // TCP retransmits, in segments of other lengths
	TL_TRAFFIC_RESET,	   // the connection of the replies is reset and reestablished
	TL_TRAFFIC_MIDDLE,	   // the capture begins inside of the connections
	TL_TRAFFIC_STREAMS,	   // replies over several connections
	TL_TRAFFIC_NO_REPLY,	   // a trigger is not answered
	TL_TRAFFIC_UNSEEN_REPLY,   // a frame of replies is not captured
	TL_TRAFFIC_UNSEEN_TRIGGER, // a trigger is answered, and not captured
	TL_TRAFFIC_LATE,	   // a reply at the end of the window, or just after it
	TL_TRAFFIC_COPY,	   // a trigger is captured twice
	TL_TRAFFIC_UNIQUE,	   // ... and --unique declares it a copy
	TL_TRAFFIC_TWO_FILES,
	TL_TRAFFIC_OFFSET, // between the clocks of two files
	TL_TRAFFIC_DRIFT,
	TL_TRAFFIC_STEP,
	TL_TRAFFIC_MICROSECONDS, // of stamps, in one file or both
	TL_TRAFFIC_IP6,
	TL_TRAFFIC_VLAN,
	TL_TRAFFIC_LINK, // another link type than Ethernet
	TL_TRAFFIC_PCAPNG,
	TL_TRAFFIC_MARKED, // each frame is marked as received or sent
	TL_TRAFFIC_BIG_ENDIAN,
	TL_TRAFFIC_CUT,	  // no payload was captured
	TL_TRAFFIC_NOISE, // other traffic in between
	TL_TRAFFIC_TRICKS,
};

struct tl_traffic_pair {
	uint32_t trigger_packet, reply_packet; // from 1, in their files
	uint64_t trigger_ns, reply_ns;	       // as stamped
	uint32_t segments;
	bool ambiguous, retransmitted;
};

struct tl_traffic {
	uint64_t seed;
	uint64_t tricks; // bits
	unsigned files;
	char trigger[48], reply[48]; // filters
	struct tl_match_cfg match;
	unsigned max_loss_permille; // of triggers

	// False: payloads recur, so that the capture does not determine which trigger some reply answers. Then the
	// pairs are the true ones, and of the counts only triggers holds.
	bool exact;
	// Not exact, but replies come in order and once, and triggers were captured: a result that is valid must be
	// true.
	bool orderly;
	struct tl_traffic_pair pair[TL_TRAFFIC_PAIRS]; // sorted by the trigger's packet
	uint32_t pairs;
	uint64_t triggers, ambiguous, duplicates, unmatched_replies, reply_first;
	bool missing; // by position: a reply is missing, so that no result is valid
};

// Return NULL without memory.
struct tl_traffic *tl_traffic_create(void);
void tl_traffic_destroy(struct tl_traffic *traffic);

// Generate the traffic of this seed: the same on every machine.
void tl_traffic_make(struct tl_traffic *traffic, uint64_t seed);

// Write its captures: one, or of triggers and of replies. Return 0 or -errno with a message.
int tl_traffic_write(const struct tl_traffic *traffic, const char *const path[TL_TRAFFIC_FILES], struct tl_err *err);

// "no reply". Static.
const char *tl_traffic_trick_name(enum tl_traffic_trick trick);
