// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A host on a port, and its link while a run lasts.

#include <tl_dclient.h>
#include <tl_err.h>
#include <tl_tcp.h>

// One burst fills the inbox at most, and none is received before it is empty: of each frame what it brought, and what
// had waited for it in the stack, which a window bounds.
#define TL_DCLIENT_CHUNKS (2 * TL_BURST)
#define TL_DCLIENT_MTU 1500
#define TL_DCLIENT_WINDOW_BYTES (64 << 10)
#define TL_DCLIENT_INBOX_BYTES (TL_BURST * TL_DCLIENT_MTU + TL_DCLIENT_WINDOW_BYTES)
#define TL_DCLIENT_FIRST_PORT 49152 // of the dynamic ports (RFC 6335)
#define TL_DCLIENT_DEPARTURES 256   // a power of two; the client takes them when 64 are waiting

struct tl_dclient_chunk {
	uint32_t len;
	struct tl_client_arrival arrival;
};

struct tl_dclient_inbox {
	uint32_t begin, end; // of what is in bytes
	uint32_t next, n;    // of chunks
	struct tl_dclient_chunk chunks[TL_DCLIENT_CHUNKS];
	uint8_t bytes[TL_DCLIENT_INBOX_BYTES];
};

struct tl_dclient_link {
	struct tl_client_link link; // first: what the others see
	struct tl_dclient *host;
	uint32_t to_be; // where messages go
	uint16_t to_port_be;
	struct tl_udp *udp;		      // NULL in TCP mode
	struct tl_tcp_listener *listener;     // NULL but in MULTICAST mode
	struct tl_tcp *conn;		      // NULL: none
	bool up;			      // conn is established; of UDP: the way is known
	bool ended, broken;		      // by the peer in order, or not
	uint64_t retry_at_ns;		      // when to connect again
	uint64_t faults[TL_PORT_SEND_FAULTS]; // of sending at a time, when the run began
	uint64_t taken;			      // datagrams, or bytes of this connection, given to the stack
	uint64_t left;			      // bytes of those that have been sent
	uint32_t departure_first, departure_end;
	struct tl_client_departure departures[TL_DCLIENT_DEPARTURES];
	struct tl_dclient_inbox inbox;
};

struct tl_dclient {
	struct tl_dclient_cfg cfg;
	struct tl_net *net;
	struct tl_rxq *rxq;
	struct tl_txq *tx;
	struct tl_dclient_link *link; // NULL between runs
	uint16_t next_port; // of UDP, for the next run: what comes late for the last one is not taken for its own
	uint64_t next_tick_ns, next_look_ns;
	uint64_t flushed_pkts, dropped_pkts; // of tx, at the last flush
	uint64_t arrival_ns;		     // of the frame that the stack has at hand; 0: it has no stamp
	bool has_handed_over;		     // that frame has brought data: more has waited for it
	struct tl_burst burst, one;
};

// ---- poll_dp.c

// HOT. One turn: a burst if there is one, each frame with its own time, and timers if they are due. Returns how many
// frames there were.
uint16_t tl_dclient_turn(struct tl_dclient *host);

// HOT. Sends what the stack has pushed, and stamps what of the stream has left.
void tl_dclient_flush(struct tl_dclient *host);

// HOT. Data for the client, with the time of the frame at hand. False: no room.
bool tl_dclient_hand_over(struct tl_dclient *host, const uint8_t *data, uint32_t len);

// HOT. Number id has left with the last flush. stamp_ns 0: nobody knows when.
void tl_dclient_depart(struct tl_dclient_link *link, uint64_t id, uint64_t stamp_ns);

// ---- schedule.c

// Whether datagrams of this run leave at a time, and who stamps them then. Fills link->sources, and its lead.
void tl_dclient_schedule_begin(struct tl_dclient_link *link);

// The frame that the stack has just pushed leaves when its message is due. Returns that time, or waits for it and
// returns 0: it is too late to tell the port.
uint64_t tl_dclient_schedule(struct tl_dclient_link *link);

// What the port says of the times that it was given.
void tl_dclient_schedule_end(struct tl_client_link *link);

// ---- conn.c

extern const struct tl_tcp_ops tl_dclient_stream_ops; // their context is the host

// The client has read that the connection is over: closes our side.
void tl_dclient_lost(struct tl_dclient_link *link);

// A step towards what the link needs to be up: a connection, or the way to the peer.
void tl_dclient_get_up(struct tl_dclient_link *link);

static inline void tl_dclient_empty(struct tl_dclient_inbox *inbox)
{
	inbox->begin = inbox->end = 0;
	inbox->next = inbox->n = 0;
}

// ---- dclient.c

// COLD. Once a second: compares the clocks.
void tl_dclient_look(struct tl_dclient *host, uint64_t mono_ns);
