// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Loss detection and congestion control: congestion control (tcp_cc.c), path MTU (tcp_pmtu.c), RACK (tcp_rack.c), SACK
// (tcp_sack.c).
//
// Threads: the lcore that owns the net.

#include "tcp_lend.h"
#include "tcp_seg.h"

// Bytes that RACK considers lost and that were not retransmitted.
struct tl_tcp_lost {
	struct tl_tcp_range first;
	uint32_t bytes;
	uint64_t wait_ns; // time until more may be lost; 0: none
};

// ---- tcp_cc.c: RFC 5681, 6582, and 6675 for the losses that RACK finds

void tl_tcp_cc_start(struct tl_tcp *c);
// True if cwnd covers the send buffer.
static inline bool tl_tcp_cc_is_grown(const struct tl_tcp *c)
{
	return c->cwnd >= c->send_limit + c->mss;
}

// Adjust cwnd for acked bytes. Return true if the retransmission timer restarts.
bool tl_tcp_cc_grow(struct tl_tcp *c, uint32_t acked);
// HOT. The same, and forget duplicate ACKs.
static inline bool tl_tcp_cc_acked(struct tl_tcp *c, uint32_t acked)
{
	c->dup_acks = 0;
	c->limited_bytes = 0;
	return (TL_LIKELY(c->trouble == 0) && tl_tcp_cc_is_grown(c)) || tl_tcp_cc_grow(c, acked);
}
void tl_tcp_cc_dup_ack(struct tl_tcp *c); // without SACK
// Retransmit lost segments, with SACK.
void tl_tcp_cc_repair(struct tl_tcp *c);
// Retransmit a segment that cwnd allowed and pacing held.
void tl_tcp_cc_resume(struct tl_tcp *c);
// Reduce cwnd for a loss that only a tail probe repaired.
void tl_tcp_cc_probe_repaired(struct tl_tcp *c);
void tl_tcp_cc_timeout(struct tl_tcp *c);
// Send all from snd_una again, after a decrease of the path MTU, which is not a congestion signal.
void tl_tcp_cc_resend(struct tl_tcp *c);
// RFC 5681, section 4.1: restart window after idle.
uint32_t tl_tcp_cc_after_pause(const struct tl_tcp *c); // the value of cwnd
void tl_tcp_cc_idle(struct tl_tcp *c);

// ---- tcp_pmtu.c

// Reduce the MSS to the claimed value.
void tl_tcp_pmtu_believe(struct tl_tcp *c);

// ---- tcp_rack.c

// Age of a transmission time. now_ns moves once per burst; retransmissions get times of their own, a few ns ahead of
// it, to keep their order.
static inline uint64_t tl_tcp_since_ns(const struct tl_tcp *c, uint64_t at_ns)
{
	return c->net->now_ns > at_ns ? c->net->now_ns - at_ns : 0;
}

// Record the transmission of bytes from..to-1, some of them retransmitted.
void tl_tcp_sent_again(struct tl_tcp *c, uint32_t from, uint32_t to);

// Append a run to a full record, of which two are merged: each segment of a paced connection has its own time, and the
// latest run must not grow with each.
void tl_tcp_sent_thin(struct tl_tcp *c, struct tl_tcp_sent run);

// HOT. Record the transmission of bytes from..to-1, before snd_max moves.
static inline void tl_tcp_sent_note(struct tl_tcp *c, uint32_t from, uint32_t to)
{
	if (TL_UNLIKELY(c->flight == NULL)) // FIN without a buffer: only the RTO covers it
		return;
	struct tl_tcp_sent *last = &c->flight->sent[(c->sent_first + c->n_sent - 1u) & (TL_TCP_SENT_MAX - 1)];
	uint64_t now_ns = tl_max_u64(c->net->now_ns, c->again_ns);

	if (TL_UNLIKELY(from != c->snd_max)) {
		tl_tcp_sent_again(c, from, to);
	} else if (c->n_sent > 0 && last->at_ns == now_ns && !last->again) {
		last->to = to;
	} else if (TL_UNLIKELY(c->n_sent == TL_TCP_SENT_MAX && c->paced)) {
		tl_tcp_sent_thin(c, (struct tl_tcp_sent){.at_ns = now_ns, .to = to});
	} else if (TL_UNLIKELY(c->n_sent == TL_TCP_SENT_MAX)) {
		*last = (struct tl_tcp_sent){.at_ns = now_ns, .to = to, .again = true};
	} else {
		c->flight->sent[(c->sent_first + c->n_sent++) & (TL_TCP_SENT_MAX - 1)] =
			(struct tl_tcp_sent){.at_ns = now_ns, .to = to};
	}
}

// Account for the acknowledgment of a part of a run, by a segment that echoes that timestamp.
void tl_tcp_rack_acked(struct tl_tcp *c, const struct tl_tcp_sent *run, struct tl_tcp_range part, uint32_t echo);
// Account for a new SACK block of seg, after its cumulative ACK.
void tl_tcp_rack_sacked(struct tl_tcp *c, const struct tl_tcp_range *block, const struct tl_tcp_seg *seg);
// Widen the reordering window after a D-SACK.
void tl_tcp_rack_dsack(struct tl_tcp *c);
// Age the reordering window at the end of a recovery.
void tl_tcp_rack_recovered(struct tl_tcp *c);
void tl_tcp_rack_detect_loss(struct tl_tcp *c, struct tl_tcp_lost *out);

// ---- tcp_sack.c

// HOT when segments are held. Write a SACK option into buf: blocks for duplicates and for segments beyond rcv_nxt, as
// many as fit into room; returns its length, a multiple of 4, or 0.
#define TL_TCP_SACK_MAX (4 + 8 * TL_TCP_SACK_BLOCKS)
uint8_t tl_tcp_sack_write(const struct tl_tcp *c, uint32_t room, uint8_t buf[TL_TCP_SACK_MAX]);

// Take the blocks of an acceptable ACK. Return true if one is new.
bool tl_tcp_sack_input(struct tl_tcp *c, struct tl_tcp_seg *seg);
// Drop ranges that snd_una has passed.
void tl_tcp_sack_advance(struct tl_tcp *c);
// Move snd_nxt past ranges that the peer holds, after a timeout set it back.
void tl_tcp_sack_skip(struct tl_tcp *c);
// Bytes below snd_nxt that the peer holds.
uint32_t tl_tcp_sacked_bytes(const struct tl_tcp *c);
// Report bytes from..to-1, received twice, in the next ACK.
void tl_tcp_dsack(struct tl_tcp *c, uint32_t from, uint32_t to);
// Report the first contiguous part of from..to-1 that is already held (RFC 2883, section 4.2), unless another D-SACK is
// due.
void tl_tcp_dsack_held(struct tl_tcp *c, uint32_t from, uint32_t to);
