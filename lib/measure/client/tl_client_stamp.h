// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client stamps: brings the stamp of a message's departure and that of its echo's arrival together, in whatever order
// they come. Pure: no socket, no clock.
//
// Departures are named by a number of 32 bits that wraps: of a datagram, how many were sent before it; of a stream, the
// distance of the last byte from the connection's begin. A message that left in several pieces left with its last byte.
//
// Every echo received intact for the first time ends in one count:
//   received = paired + reply_first + tx_missing + rx_missing + rx_shared
//
// Threads: one per object. Memory: init() allocates, fini() frees; a zeroed object may be finished.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_client_stamp_counts {
	uint64_t paired;      // both stamps are there
	uint64_t reply_first; // both, but the echo's is earlier: a fault of clocks
	uint64_t tx_missing;  // no stamp of the message
	uint64_t rx_missing;  // none of the echo
	uint64_t rx_shared;   // of the echo one that may be that of a later one
	uint64_t tx_repeated; // a message left again, as TCP does; its first stamp counts
	uint64_t tx_strays;   // stamps of nothing that is still known
};

// What was learnt of one message.
struct tl_client_stamp_slot {
	uint64_t seq;
	uint64_t tx_ns, rx_ns; // 0: not yet
	uint64_t rtt_ns;
	uint32_t cold;	 // as arrival() was given it
	bool used, done; // done: both came, or will not be waited for
};

struct tl_client_pair {
	uint64_t seq;
	uint64_t tx_ns, rx_ns;
	uint64_t rtt_ns;
	uint32_t cold;
};

struct tl_client_stamps {
	struct tl_client_stamp_slot *slots; // a ring, by sequence number
	uint64_t mask;
	uint64_t unit;		     // by how much a message advances the numbers: 1, or its bytes
	uint64_t base_seq;	     // the message whose numbers begin at 0
	uint64_t end;		     // the next number, unwrapped
	uint64_t expected, departed; // messages of this connection
	struct tl_client_stamp_counts counts;
};

// slots: a power of two; what so many messages later has no second stamp never gets it. Returns 0 or -ENOMEM.
int tl_client_stamps_init(struct tl_client_stamps *stamps, uint64_t unit, uint64_t slots);
void tl_client_stamps_fini(struct tl_client_stamps *stamps);

// Numbers begin at 0 again, with message seq: a new connection.
void tl_client_stamps_begin(struct tl_client_stamps *stamps, uint64_t seq);

// The socket took n more, bytes or a datagram, of message seq; whole: that was its last.
void tl_client_stamps_sent(struct tl_client_stamps *stamps, uint64_t seq, uint64_t n, bool whole);

// How many stamps of departures have yet to come.
static inline uint64_t tl_client_stamps_waiting(const struct tl_client_stamps *stamps)
{
	return stamps->expected - stamps->departed;
}

// A stamp has come; of an arrival 0: there was none. Each returns whether it made *pair complete.
bool tl_client_stamps_departure(
	struct tl_client_stamps *stamps, uint32_t id, uint64_t stamp_ns, struct tl_client_pair *pair);
bool tl_client_stamps_arrival(struct tl_client_stamps *stamps, uint64_t seq, uint64_t stamp_ns, bool shared,
	uint64_t rtt_ns, uint32_t cold, struct tl_client_pair *pair);

// Counts what is left alone. Nothing more comes.
void tl_client_stamps_finish(struct tl_client_stamps *stamps);
