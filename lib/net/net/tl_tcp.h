// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tcp: TCP for one to a million connections at low latency (RFC 9293 and those listed in docs/tcp.md). Nagle is off.
// In-order data is delivered at once, so the only receive buffer is a short queue of out-of-order segments.
//
// Threads: the lcore that owns the net; callbacks run there from within tl_net_input() or tl_net_tick().
// Memory:  connections and the send buffers that they borrow are preallocated in tl_net_create(); a struct tl_tcp * is
//          valid until its closed() callback returns. Segments are pushed to the net's tl_txq and leave with its flush.

#include <stdbool.h>
#include <stdint.h>

#include <tl_net.h>

struct tl_tcp;
struct tl_tcp_listener;

// Reason for the end of a connection.
enum tl_tcp_reason {
	TL_TCP_DONE,	    // both sides closed (TIME-WAIT, if any, goes on without the application)
	TL_TCP_REFUSED,	    // RST in answer to our SYN
	TL_TCP_RESET,	    // RST from the peer
	TL_TCP_TIMEOUT,	    // retransmissions, handshake or keepalive unanswered
	TL_TCP_UNREACHABLE, // ARP unanswered, or hard ICMP error during the handshake
	TL_TCP_ABORTED,	    // tl_tcp_abort() or tl_net_destroy()
};
const char *tl_tcp_reason_text(enum tl_tcp_reason reason); // "connection refused", ...

// Callbacks. Any may be NULL except closed.
struct tl_tcp_ops {
	void (*opened)(void *ctx, struct tl_tcp *c);
	// In-order bytes, each once. At most the advertised window is outstanding.
	void (*data)(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len);
	// The peer acknowledged data: there is more send room.
	void (*room)(void *ctx, struct tl_tcp *c);
	// A segment begins to wait for its departure time (opts.pace_bps). Calls of TCP are not allowed.
	void (*paced)(void *ctx, struct tl_tcp *c);
	// The peer sent FIN; we may still send. Without this callback the connection closes itself.
	void (*peer_closed)(void *ctx, struct tl_tcp *c);
	// Last call; once per connection that was reported opened or returned by connect().
	void (*closed)(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason);
};

struct tl_tcp_opts {
	uint32_t send_buffer_bytes; // send buffer, at most the net's; 0: the net's
	uint32_t recv_window_bytes; // largest window to advertise; 0: 64 KiB
	bool window_follows_room;   // advertise at most the room in the send buffer: for an echo that never drops
	bool own_buffer;	    // keep one of own_buffers for life; others borrow one of send_buffers while data is
				    // unacknowledged
	bool without_cwnd;	    // no congestion window: only the peer's window limits the flight, except for
				    // retransmissions; for a LAN
	uint64_t keepalive_idle_ns; // idle time before probes (RFC 1122 section 4.2.3.6); 0: never
	uint32_t rto_min_us;	    // floor of the RTO; 0: 200 000
	uint32_t connect_timeout_ms; // for the handshake; 0: 10 000
	uint32_t user_timeout_ms;    // RFC 5482: limit for unacknowledged data; 0: 60 000
	bool user_timeout_option;    // send the user timeout in the SYN, and adopt a longer one of the peer
	uint64_t pace_bps;	     // pacing rate, bit/s, TL_TCP_PACE_MIN_BPS .. 2^42; 0: not paced; see tl_tcp_pace()
};

// Active open. Return 0 and *out (state SYN-SENT), -ENOSPC (no connection free), -EADDRNOTAVAIL (no local port),
// -EHOSTUNREACH (off the prefix and no gateway), -EINVAL. ops are borrowed for the connection's life.
int tl_tcp_connect(struct tl_net *net, uint32_t dst_ip_be, uint16_t dst_port_be, const struct tl_tcp_ops *ops,
	void *ctx, const struct tl_tcp_opts *opts, struct tl_tcp **out);

// Passive open on our address. max_conns bounds its connections (excess SYNs are dropped and counted). Return 0,
// -EADDRINUSE, -ENOSPC (cfg.listeners).
int tl_tcp_listen(struct tl_net *net, uint16_t port_be, uint32_t max_conns, const struct tl_tcp_ops *ops, void *ctx,
	const struct tl_tcp_opts *opts, struct tl_tcp_listener **out);

// Refuse new connections; open ones continue.
void tl_tcp_unlisten(struct tl_tcp_listener *listener);

// HOT. Send len bytes: all or nothing. The part within the windows is in tx at return, the rest follows as ACKs arrive.
// Return 0, -ENOBUFS (less room than len, or all buffers are lent), -ENOTCONN (not established, or closed by us).
int tl_tcp_send(struct tl_tcp *c, const void *data, uint32_t len);

// HOT. Send data that stays in place until tl_net_sent(), and is not copied before. Return as tl_tcp_send(); 0 if all
// of it is in tx, TL_TCP_HELD_BACK if a part is beyond the windows, or waits for its departure time.
enum { TL_TCP_SENT, TL_TCP_HELD_BACK };
int tl_tcp_send_held(struct tl_tcp *c, const void *data, uint32_t len);

// HOT. Cache warm-up between bursts: run tl_tcp_send_held() by the ready header up to the call that sends, and undo it.
// Nothing is sent or changed. False: nothing was done, because such a send would take the slow path or frames wait in
// tx.
bool tl_tcp_warm(struct tl_tcp *c, const void *data, uint32_t len);

// ---- pacing
//
// A frame of a paced connection with data or FIN, retransmitted or not, leaves no earlier than the departure time of
// the one before it plus its bytes / rate: the model of earliest departure times of Linux's sch_fq and
// SO_MAX_PACING_RATE. Bytes are counted as there: from the Ethernet header, tag included, to the end of the frame,
// without FCS. SYN, RST and segments without sequence numbers, such as pure ACKs, neither wait nor count.
//
// In any interval t at most one frame and rate * (t + TL_TCP_PACE_LATE_NS) leave. A departure that is late, because the
// lcore was busy, delays those after it only by what exceeds TL_TCP_PACE_LATE_NS; an idle connection earns nothing. The
// user timeout is at least the time of four frames, so that waiting ends no connection.

#define TL_TCP_PACE_MIN_BPS 8000
#define TL_TCP_PACE_LATE_NS (200 * TL_NS_PER_US)

// HOT. Send the waiting segments that are due; they are pushed to tx, not flushed. Call tl_net_sent() after the flush.
// tl_net_tick() does the same at its own times. Return the number of connections that were due, at most 32: the others
// follow with the next call.
uint16_t tl_tcp_pace(struct tl_net *net, uint64_t mono_ns);

// HOT. A time before which tl_tcp_pace() has nothing to do; UINT64_MAX: no segment waits.
uint64_t tl_tcp_pace_next_ns(const struct tl_net *net);

// HOT. Reserve room of the send buffer for bytes that follow later; a window that follows the room shrinks. False:
// there is less room. The reservation ends with the connection, or before the bytes are sent by tl_tcp_unreserve().
bool tl_tcp_reserve(struct tl_tcp *c, uint32_t len);
void tl_tcp_unreserve(struct tl_tcp *c, uint32_t len);

// HOT. Bytes that tl_tcp_send() accepts now.
uint32_t tl_tcp_room(const struct tl_tcp *c);

// HOT. Bytes accepted by tl_tcp_send() and not sent yet.
uint32_t tl_tcp_unsent_bytes(const struct tl_tcp *c);

// Bytes, SYN and FIN acknowledged by the peer, modulo 2^32.
uint32_t tl_tcp_acked(const struct tl_tcp *c);

// True if data waits for the peer's window, which is shut and probed (RFC 9293, section 3.8.6.1).
bool tl_tcp_probes_window(const struct tl_tcp *c);

// Messages given to tl_tcp_send() and not acknowledged whole. Also in closed(), for those lost.
struct tl_tcp_unacked {
	uint32_t msgs, bytes;
};
struct tl_tcp_unacked tl_tcp_unacked(const struct tl_tcp *c);

// Close our side: queued data is sent, then FIN. data() continues until the peer closes; closed() follows at the end,
// at once if the peer has not answered our SYN.
void tl_tcp_close(struct tl_tcp *c);

// Close every connection; abort those in their handshake, or all if at_once.
void tl_tcp_close_all(struct tl_net *net, bool at_once);

// Send RST; closed(TL_TCP_ABORTED) is called before it returns.
void tl_tcp_abort(struct tl_tcp *c);

void tl_tcp_set_ctx(struct tl_tcp *c, void *ctx);
void tl_tcp_peer(const struct tl_tcp *c, uint32_t *ip_be, uint16_t *port_be);

// Connections in use, without TIME-WAIT: a leak check.
unsigned tl_tcp_in_use(const struct tl_net *net, unsigned *time_wait);
