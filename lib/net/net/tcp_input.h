// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Steps of the reception of a segment that header prediction (tcp_predict_dp.c) and the state machine (tcp_input_dp.c)
// share.
//
// Threads: the lcore that owns the net.

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_seg.h"
#include "tcp_wheel.h"

// ---- tcp_predict_dp.c

// HOT. Process a segment of an established connection without losses that carries the next data, or acknowledges new
// data, and nothing unusual (RFC 7323, section 5.6). False: nothing was done.
bool tl_tcp_predicted(struct tl_tcp *c, struct tl_tcp_seg *seg);

// ---- tcp_input_dp.c

// HOT. Send what a segment made possible, or due: queued data, an ACK. made_room: its ACK freed bytes of the send ring.
void tl_tcp_answer(struct tl_tcp *c, bool made_room);

// ---- steps
//
// calm, a constant at each call: snd_nxt, snd_max and snd_end are equal, no field of c->trouble and c->unusual is set.
// Steps without effect are left out: the ACK of new data ends within snd_una..snd_nxt (so snd_nxt stays, and the
// bytes were in the ring), nothing is SACKed, and no FIN is unsent.

#define TL_TCP_STEP static inline __attribute__((always_inline)) // into the path of each kind of segment

TL_TCP_STEP void tl_tcp_seg_read(
	struct tl_tcp_seg *seg, struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_tcp_hdr *hdr = (const struct tl_tcp_hdr *)(frame + pkt->l4_off);

	*seg = (struct tl_tcp_seg){
		.m = m,
		.payload = frame + pkt->payload_off,
		.hdr = hdr,
		.src_be = pkt->src_be,
		.seq = tl_be32(hdr->seq_be),
		.ack = tl_be32(hdr->ack_be),
		.len = pkt->payload_len,
		.flags = hdr->flags,
		.more_options = hdr->data_off > TL_TCP_LEN << 2,
	};
}

// Store the timestamp of the earliest segment not yet acknowledged, so that the RTT includes delayed ACKs (RFC
// 7323, section 4.3). seq is the segment's first sequence number before trimming.
TL_TCP_STEP void tl_tcp_remember_stamp(struct tl_tcp *c, const struct tl_tcp_seg *seg, uint32_t seq)
{
	if (seg->stamped && tl_seq_le(seq, c->rcv_acked))
		tl_tcp_stamp_take(c, seg->stamp);
}

// The word of a header with data offset, flags and window.
TL_TCP_STEP uint32_t tl_tcp_head(const struct tl_tcp_hdr *hdr)
{
	uint32_t head;
	_Static_assert(offsetof(struct tl_tcp_hdr, flags) == offsetof(struct tl_tcp_hdr, data_off) + 1, "one word");
	_Static_assert(offsetof(struct tl_tcp_hdr, window_be) == offsetof(struct tl_tcp_hdr, data_off) + 2, "one word");

	memcpy(&head, &hdr->data_off, sizeof(head));
	return head;
}
#define TL_TCP_HEAD_PSH ((uint32_t)TL_TCP_PSH << 8)
#define TL_TCP_HEAD_WINDOW UINT32_C(0xffff0000)

// Set the send window, and the head of the segments that change nothing of it (RFC 9293, SND.WND and SND.WL1).
TL_TCP_STEP void tl_tcp_set_window(struct tl_tcp *c, uint32_t head, uint32_t window, uint32_t seq)
{
	c->peer_head = head;
	c->snd_wnd = window;
	c->snd_wl1 = seq;
	if (c->max_snd_wnd < c->snd_wnd)
		c->max_snd_wnd = c->snd_wnd;
}

// Take the window of a segment. That of a SYN is not scaled: its field, if repeated, means another window.
TL_TCP_STEP void tl_tcp_take_window(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	uint32_t usual = (uint32_t)TL_TCP_ACK << 8 | (TL_TCP_LEN + (c->stamped ? TL_TCP_STAMP_LEN : 0)) << 2;
	uint32_t head = (tl_tcp_head(seg->hdr) & TL_TCP_HEAD_WINDOW) | usual;

	tl_tcp_set_window(c, (seg->flags & TL_TCP_SYN) != 0 ? 0 : head, seg->window, seg->seq);
}

// Confirm the neighbour of a connection over IPv6, whose data was acknowledged: once per second is enough.
TL_TCP_STEP bool tl_tcp_is_hop_confirmed(const struct tl_net *net, const struct tl_tcp *c)
{
	return TL_LIKELY(net->now_ns < c->confirm_ns);
}

TL_TCP_STEP void tl_tcp_confirm_hop(struct tl_tcp *c)
{
	if (tl_tcp_is_hop_confirmed(c->net, c))
		return;
	c->confirm_ns = c->net->now_ns + TL_NS_PER_S;
	tl_nd_confirm(c->net, c->key.peer_be);
}

// Stop the retransmission timer when all is acknowledged, else restart it (RFC 6298, sections 5.2 and 5.3).
TL_TCP_STEP void tl_tcp_restart_timers(struct tl_tcp *c, bool retransmit_anew, bool calm)
{
	bool in_flight = c->snd_nxt != c->snd_una;

	if (!in_flight)
		tl_tcp_timer_stop(c, TL_TCP_RETRANSMIT);
	else if (retransmit_anew)
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, tl_tcp_loss_timeout_ns(c));
	if (in_flight || (!calm && tl_tcp_unsent(c))) {
		tl_tcp_timer_set(c, TL_TCP_GIVE_UP, c->user_timeout_ns);
	} else {
		if (!calm)
			c->persisting = false;
		tl_tcp_timer_stop(c, TL_TCP_GIVE_UP);
		if (!c->own_buffer)
			tl_tcp_flight_give(c);
	}
}

// Take an RTT sample. Retransmitted data gives one only by its timestamp (Karn).
TL_TCP_STEP void tl_tcp_sample_rtt(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	if (TL_UNLIKELY(c->n_sent == 0))
		return;
	const struct tl_tcp_sent *first = &c->flight->sent[c->sent_first];
	if (TL_LIKELY(!first->again))
		tl_tcp_rtt_sample(c, tl_tcp_since_ns(c, first->at_ns));
	else if (c->stamped)
		tl_tcp_stamp_sample(c, seg->echo);
}

// Remove acknowledged runs. Without a loss indication the last one updates RACK directly.
TL_TCP_STEP void tl_tcp_sent_acked(struct tl_tcp *c, const struct tl_tcp_seg *seg, bool calm)
{
	uint32_t begin = c->snd_una;

	while (c->n_sent > 0 && tl_seq_lt(begin, seg->ack)) {
		const struct tl_tcp_sent *run = &c->flight->sent[c->sent_first];
		uint32_t to = tl_seq_lt(seg->ack, run->to) ? seg->ack : run->to;
		if (TL_UNLIKELY(run->again || (!calm && c->trouble != 0))) {
			tl_tcp_rack_acked(c, run, (struct tl_tcp_range){begin, to}, seg->echo);
		} else {
			c->rack.at_ns = run->at_ns;
			c->rack.to = to;
			c->rack.highest = to;
			c->rack.rtt_ns = tl_tcp_since_ns(c, run->at_ns);
		}
		if (to != run->to)
			return;
		begin = to;
		c->sent_first = --c->n_sent == 0 ? 0 : (c->sent_first + 1) & (TL_TCP_SENT_MAX - 1);
	}
}

// Forget the claim of a smaller path MTU once a full segment has arrived.
TL_TCP_STEP void tl_tcp_mss_proven(struct tl_tcp *c, uint32_t acked)
{
	if (acked >= c->mss) {
		c->mss_proven = true;
		c->claimed_mss = 0;
	}
}

TL_TCP_STEP void tl_tcp_ack_advances(struct tl_tcp *c, struct tl_tcp_seg *seg, bool calm)
{
	uint32_t acked = seg->ack - c->snd_una;

	seg->made_room = calm || tl_tcp_queued(c) != 0;
	c->snd_una = seg->ack;
	if (!calm && tl_seq_lt(c->snd_nxt, c->snd_una))
		c->snd_nxt = c->snd_una;
	if (!calm && TL_UNLIKELY(c->n_sacked > 0))
		tl_tcp_sack_advance(c);
	tl_tcp_mss_proven(c, acked);
	bool anew = tl_tcp_cc_acked(c, acked);
	tl_tcp_restart_timers(c, anew, calm);
}
