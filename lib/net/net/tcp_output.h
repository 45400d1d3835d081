// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Sending: segments (tcp_output_dp.c) and the fast path by a ready header (tcp_ready_dp.c).
//
// Threads: the lcore that owns the net.

#include "tcp_seg.h"

// A segment to be sent. data NULL: the payload is in the send ring at seq.
struct tl_tcp_out {
	const uint8_t *data, *options;
	uint32_t seq;
	uint16_t len; // payload bytes
	uint8_t flags;
	uint8_t options_len;
};

// Window field of a header, and the right edge it advertises.
struct tl_tcp_offer {
	uint32_t adv;
	uint16_t field;
};

// ---- tcp_ready_dp.c

// Store frame, complete up to the TCP header, as the template of the connection.
void tl_tcp_ready_learn(struct tl_tcp *c, const uint8_t *frame);
// HOT. Decide if the next segment may leave by the ready header; if the window follows the room, the next send decides.
// Call it after every change of c.
static inline void tl_tcp_ready_refresh(struct tl_tcp *c);
void tl_tcp_ready_refresh_now(struct tl_tcp *c);
// Set the options of the template, once the connection is established.
void tl_tcp_ready_options(struct tl_tcp *c);

// Complete the IPv4 header of the template for messages of len bytes. Off the path to the wire: the vectors that copy a
// header just written would wait for it.
void tl_tcp_ready_set_len(struct tl_tcp *c, uint32_t len);

// HOT. Disable the ready header until the next refresh.
static inline void tl_tcp_ready_stop(struct tl_tcp *c)
{
	c->ready.bytes = 0;
	c->ready.few = 0;
	c->ready.plain_ack = 0;
	c->ready.is_due = false;
}

static inline void tl_tcp_ready_refresh(struct tl_tcp *c)
{
	if (c->follows_room) {
		tl_tcp_ready_stop(c);
		c->ready.is_due = true;
	} else {
		tl_tcp_ready_refresh_now(c);
	}
}

// ---- tcp_output_dp.c

// HOT. Slow path of tl_tcp_send_held().
int tl_tcp_send_slow(struct tl_tcp *c, const uint8_t *data, uint32_t len);

// HOT. Account for the bytes from seq to snd_nxt, now sent: timers, flight.
void tl_tcp_account_sent(struct tl_tcp *c, uint32_t seq);

// HOT. Copy a message into the send ring.
void tl_tcp_ring_put(struct tl_tcp *c, uint32_t seq, const uint8_t *data, uint32_t len);

// HOT. Send one segment with the current ACK and window. False: no mbuf, or no room in the queue.
bool tl_tcp_transmit(struct tl_tcp *c, const struct tl_tcp_out *out);

// HOT. Send what is queued and the windows and pacing allow, FIN included.
void tl_tcp_output(struct tl_tcp *c);

// HOT. Send a bare ACK; pend it without an mbuf or room.
void tl_tcp_send_ack(struct tl_tcp *c);

// Send our SYN, a SYN-ACK in SYN-RECEIVED. False: no mbuf, or no room in the queue.
bool tl_tcp_transmit_syn(struct tl_tcp *c);
// The same with the retransmission timer; pend it without an mbuf or room: no timer runs then.
void tl_tcp_send_syn(struct tl_tcp *c);
void tl_tcp_send_rst(struct tl_tcp *c);
// Retransmit one segment from seq on, at most that many bytes; returns the sequence numbers used, 0 without an mbuf or
// before its departure time.
uint32_t tl_tcp_retransmit(struct tl_tcp *c, uint32_t seq, uint32_t most);
// Send a probe of a zero window: one byte, or what fits if it is slightly open. False, also of the next two: no mbuf,
// or no room in the queue.
bool tl_tcp_probe_window(struct tl_tcp *c);
// Send a tail loss probe: a new segment, or the last (RFC 8985, section 7.3).
bool tl_tcp_probe_tail(struct tl_tcp *c);
bool tl_tcp_send_keepalive(struct tl_tcp *c);
// Send RST for a segment without a connection (RFC 9293, section 3.10.7.1).
void tl_tcp_refuse(struct tl_net *net, const struct tl_tcp_seg *seg);

// ---- windows

// HOT. Bytes that both windows allow beyond snd_nxt.
static inline uint32_t tl_tcp_usable(const struct tl_tcp *c)
{
	uint32_t window = tl_min_u32(c->snd_wnd, c->cwnd + c->limited_bytes);
	uint32_t flight = c->snd_nxt - c->snd_una;

	return window > flight ? window - flight : 0;
}

static inline uint32_t tl_tcp_ring_room(const struct tl_tcp *c)
{
	return c->send_limit - tl_tcp_queued(c);
}

static inline uint32_t tl_tcp_window_wanted(const struct tl_tcp *c)
{
	return c->follows_room ? tl_min_u32(c->recv_window, tl_tcp_ring_room(c)) : c->recv_window;
}

// Smallest move of the right edge: silly window avoidance of the receiver (RFC 9293, section 3.8.6.2.2).
static inline uint32_t tl_tcp_window_step(const struct tl_tcp *c)
{
	return tl_min_u32(c->mss, c->window_half);
}

// HOT. The window to advertise in the next header.
//
// Round the window up to the scale where that promises no more than there is. Otherwise round down: the peer sees the
// edge retreat by less than one unit, as RFC 7323 section 2.4 allows; data up to the old edge is accepted, because
// rcv_adv stays.
static inline struct tl_tcp_offer tl_tcp_offer_of(const struct tl_tcp *c, uint8_t shift, uint32_t wanted)
{
	uint32_t held = c->rcv_adv - c->rcv_nxt;
	uint32_t window = wanted >= held + tl_tcp_window_step(c) ? wanted : held;
	uint32_t field = window >> shift;

	if (field << shift < held && (!c->follows_room || (field + 1) << shift <= wanted))
		field++;
	if (field > UINT16_MAX)
		field = UINT16_MAX;
	uint32_t adv = c->rcv_nxt + (field << shift);
	return (struct tl_tcp_offer){tl_seq_lt(c->rcv_adv, adv) ? adv : c->rcv_adv, (uint16_t)field};
}

static inline struct tl_tcp_offer tl_tcp_offer(const struct tl_tcp *c, uint8_t shift)
{
	return tl_tcp_offer_of(c, shift, tl_tcp_window_wanted(c));
}

// HOT. True if the window reopened far enough for an update (RFC 9293, section 3.8.6.2.2).
static inline bool tl_tcp_window_reopened(const struct tl_tcp *c)
{
	uint32_t held = c->rcv_adv - c->rcv_nxt;

	return held < c->window_half && tl_tcp_window_wanted(c) >= held + tl_tcp_window_step(c) &&
	       tl_tcp_may_receive(c);
}
