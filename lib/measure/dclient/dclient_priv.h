// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Host on a port, and its link during a run.

#include <tl_dclient.h>
#include <tl_err.h>
#include <tl_tcp.h>

// Bound of the inbox: one burst, as the next one is received only when the inbox is empty; per frame its own data, and
// data that waited for it in the stack, at most a window.
#define TL_DCLIENT_CHUNKS (2 * TL_BURST)
#define TL_DCLIENT_MTU 1500
#define TL_DCLIENT_WINDOW_BYTES (64 << 10)
#define TL_DCLIENT_INBOX_BYTES (TL_BURST * TL_DCLIENT_MTU + TL_DCLIENT_WINDOW_BYTES)
#define TL_DCLIENT_FIRST_PORT 49152 // of the dynamic ports (RFC 6335)
#define TL_DCLIENT_DEPARTURES 256   // a power of two; the client reads them when 64 are waiting

struct tl_dclient_chunk {
	uint32_t len;
	struct tl_client_arrival arrival;
};

struct tl_dclient_inbox {
	uint32_t begin, end; // range in bytes
	uint32_t next, n;    // of chunks
	struct tl_dclient_chunk chunks[TL_DCLIENT_CHUNKS];
	uint8_t bytes[TL_DCLIENT_INBOX_BYTES];
};

struct tl_dclient_link {
	struct tl_client_link link; // first member: the base for all transports
	struct tl_dclient *host;
	uint32_t to_be; // destination of messages
	uint16_t to_port_be;
	struct tl_udp *udp;		      // NULL in TCP mode
	struct tl_tcp_listener *listener;     // NULL except in MULTICAST mode
	struct tl_tcp *conn;		      // NULL: none
	bool up;			      // conn is established; for UDP: the peer's MAC is resolved
	bool ended, broken;		      // by the peer, orderly or not
	uint64_t retry_at_ns;		      // time of the next connection attempt
	uint64_t faults[TL_PORT_SEND_FAULTS]; // send-time faults at the start of the run
	uint64_t taken;			      // datagrams, or bytes of this connection, passed to the stack
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
	uint16_t next_port; // for UDP, of the next run: late datagrams of the last run are not taken for its own
	uint64_t next_tick_ns, next_look_ns;
	uint64_t flushed_pkts, dropped_pkts; // of tx, at the last flush
	uint64_t arrival_ns;		     // of the frame that the stack is processing; 0: no stamp
	bool has_handed_over;		     // that frame has delivered data: further data had waited for it
	struct tl_burst burst, one;
};

// ---- poll_dp.c

// HOT. Run one turn: a burst if there is one, each frame with its own time, and timers if due. Return the number of
// frames.
uint16_t tl_dclient_turn(struct tl_dclient *host);

// HOT. Send frames that the stack has pushed, and stamp the sent part of the stream.
void tl_dclient_flush(struct tl_dclient *host);

// HOT. Deliver data to the client, with the time of the current frame. False: no room.
bool tl_dclient_deliver(struct tl_dclient *host, const uint8_t *data, uint32_t len);

// HOT. Record that identifier id left with the last flush. stamp_ns 0: time unknown.
void tl_dclient_depart(struct tl_dclient_link *link, uint64_t id, uint64_t stamp_ns);

// ---- schedule.c

// Choose whether datagrams of this run leave at a time, and the source of their stamps. Sets link->sources, and its
// lead.
void tl_dclient_schedule_begin(struct tl_dclient_link *link);

// Schedule the frame that the stack has just pushed for the due time of its message. Return that time, or waits for it
// and returns 0: it is too late to schedule it.
uint64_t tl_dclient_schedule(struct tl_dclient_link *link);

// Read the port's count of missed send times.
void tl_dclient_schedule_end(struct tl_client_link *link);

// ---- conn.c

extern const struct tl_tcp_ops tl_dclient_stream_ops; // context: the host

// Close the own side after the client has read the end of the connection.
void tl_dclient_lost(struct tl_dclient_link *link);

// Take a step towards a usable link: a connection, or the peer's MAC.
void tl_dclient_get_up(struct tl_dclient_link *link);

static inline void tl_dclient_empty(struct tl_dclient_inbox *inbox)
{
	inbox->begin = inbox->end = 0;
	inbox->next = inbox->n = 0;
}

// ---- dclient.c

// COLD. Compare the clocks, once a second.
void tl_dclient_look(struct tl_dclient *host, uint64_t mono_ns);
