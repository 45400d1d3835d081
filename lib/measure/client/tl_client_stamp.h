// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client stamps: pairs the stamp of a message's departure with that of its echo's arrival, in any order. Pure: no
// socket, no clock.
//
// Departures are identified by a number of 32 bits that wraps: of a datagram, the number sent before it; of a stream,
// the distance of the last byte from the start of the connection. A message in several segments leaves with its last
// byte.
//
// Every echo received intact for the first time ends in one count:
//   received = paired + reply_first + tx_missing + rx_missing + rx_shared
//
// Threads: one per object. Memory: init() allocates, fini() frees; a zeroed object may be finished.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_client_stamp_counts {
	uint64_t paired;      // both stamps exist
	uint64_t reply_first; // both, but the echo's is earlier: a clock fault
	uint64_t tx_missing;  // message without a stamp
	uint64_t rx_missing;  // echo without a stamp
	uint64_t rx_shared;   // echo with a stamp that may belong to a later one
	uint64_t tx_repeated; // message sent again, as by TCP; its first stamp counts
	uint64_t tx_strays;   // stamps of messages no longer tracked
};

// State of one message.
struct tl_client_stamp_slot {
	uint64_t seq;
	uint64_t tx_ns, rx_ns; // 0: not yet
	uint64_t rtt_ns;
	uint32_t cold;	 // argument of arrival()
	bool used, done; // done: both stamps arrived, or are not awaited
};

struct tl_client_pair {
	uint64_t seq;
	uint64_t tx_ns, rx_ns;
	uint64_t rtt_ns;
	uint32_t cold;
};

struct tl_client_stamps {
	struct tl_client_stamp_slot *slots; // ring, by sequence number
	uint64_t mask;
	uint64_t unit;		     // step of the identifiers per message: 1, or its bytes
	uint64_t base_seq;	     // message whose identifiers start at 0
	uint64_t end;		     // next identifier, unwrapped
	uint64_t expected, departed; // messages of this connection
	struct tl_client_stamp_counts counts;
};

// Initialize; slots: a power of two. A message whose second stamp is missing this many messages later never gets it.
// Return 0 or -ENOMEM.
int tl_client_stamps_init(struct tl_client_stamps *stamps, uint64_t unit, uint64_t slots);
void tl_client_stamps_fini(struct tl_client_stamps *stamps);

// Restart identifiers at 0 with message seq: a new connection.
void tl_client_stamps_begin(struct tl_client_stamps *stamps, uint64_t seq);

// Count n more bytes, or a datagram, of message seq accepted by the socket; whole: message complete.
void tl_client_stamps_sent(struct tl_client_stamps *stamps, uint64_t seq, uint64_t n, bool whole);

// Return the number of departure stamps still missing.
static inline uint64_t tl_client_stamps_waiting(const struct tl_client_stamps *stamps)
{
	return stamps->expected - stamps->departed;
}

// Add a stamp; 0 for an arrival without one. Each returns whether *pair is complete.
bool tl_client_stamps_departure(
	struct tl_client_stamps *stamps, uint32_t id, uint64_t stamp_ns, struct tl_client_pair *pair);
bool tl_client_stamps_arrival(struct tl_client_stamps *stamps, uint64_t seq, uint64_t stamp_ns, bool shared,
	uint64_t rtt_ns, uint32_t cold, struct tl_client_pair *pair);

// Count unpaired stamps at the end.
void tl_client_stamps_finish(struct tl_client_stamps *stamps);
