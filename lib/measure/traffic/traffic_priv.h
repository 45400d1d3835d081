// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Messages (traffic.c) become frames (send.c); frames get stamps and numbers, from which the truth follows (truth.c).

#include <tl_random.h>
#include <tl_traffic.h>

#define FRAMES_MAX 4096
#define FLOWS_MAX 16
#define BYTES_MAX (1u << 19)
#define TEXT_MAX (1u << 17) // of one flow
#define NONE UINT32_MAX
#define START_NS UINT64_C(1700000000000000000)
#define TRIGGER_PORT 5001
#define REPLY_PORT 5002

enum { TRIGGER, REPLY, SIDES };

// Trigger and its reply.
struct message {
	uint64_t ask_ns, answer_ns; // true times, since START_NS
	uint64_t delay_ns;	    // part of ask_ns by which others overtake the trigger
	uint32_t ask_at, ask_bytes; // in bytes[]
	uint32_t answer_at, answer_bytes;
	uint32_t core_from, core_bytes; // bytes of the reply that form the answer
	uint32_t stream;
	uint32_t flow, place; // of the reply in its flow
	uint32_t asked;	      // frame with the captured trigger, or NONE
	uint32_t copied;      // second such frame, if it counts as another trigger; or NONE
	bool unanswered, done;
};

// A direction of a TCP connection, or all datagrams of a side.
struct flow {
	uint32_t isn; // sequence number of the first byte
	uint16_t from_port, to_port;
	uint32_t text_at, text_bytes; // in bytes[]
	uint32_t first, messages;     // in order[]
};

struct frame {
	uint64_t ns; // true time of arrival, since START_NS
	uint64_t stamp_ns;
	uint32_t serial;
	uint32_t packet; // in its file, from 1
	uint32_t flow, place, bytes;
	uint32_t message;  // of a trigger; of a datagram of replies the index of the first in order[]
	uint32_t messages; // of a datagram of replies
	uint32_t counted;  // number of the last pair that this segment was counted for
	uint8_t protocol, tcp_flags;
	uint8_t side;
	bool noise;
	bool again; // it repeats bytes, or arrives after later bytes
};

struct world {
	struct tl_traffic is; // first member: the public part
	uint64_t random;
	uint64_t gap_ns, base_ns, jitter_ns;
	unsigned jitter_kind;
	struct message message[TL_TRAFFIC_PAIRS];
	uint32_t messages;
	uint32_t order[TL_TRAFFIC_PAIRS]; // messages in order of their replies, flow by flow
	uint32_t ordered;
	struct flow flow[FLOWS_MAX];
	uint32_t flows;
	struct frame frame[FRAMES_MAX];
	uint32_t frames;
	uint8_t bytes[BYTES_MAX];
	uint32_t used;
	uint32_t brought_by[TEXT_MAX]; // first frame with each byte of a flow
	uint32_t unit_ns[SIDES], link;
	uint32_t family; // address family, for the link types that include it
	int64_t offset_ns, drift_ppm, step_ns;
	uint64_t step_at_ns;
	uint64_t last_ns; // of all frames
};

static inline bool has(const struct world *w, enum tl_traffic_trick trick)
{
	return (w->is.tricks >> trick & 1) != 0;
}

static inline uint64_t below(struct world *w, uint64_t n)
{
	return tl_random_next(&w->random) % n;
}

// True in one of n draws, if the trick is played.
static inline bool happens(struct world *w, enum tl_traffic_trick trick, uint64_t n)
{
	return has(w, trick) && below(w, n) == 0;
}

void traffic_send(struct world *w);
void traffic_describe(struct world *w);
