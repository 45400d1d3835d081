// SPDX-License-Identifier: BSD-3-Clause
// Header prediction (RFC 7323, section 5.6): a received segment that is the expected one takes the steps of the state
// machine that concern it, and no others. The outcome is that of tcp_input_dp.c.

#include "tcp_input.h"
#include "tcp_lend.h"
#include "tcp_output.h"
#include "tcp_seg.h"
#include "tcp_table.h"

// True if no check of the connection's state depends on the segment: nothing is lost, held, queued or due.
static inline bool is_calm(const struct tl_tcp *c)
{
	return c->state == TL_TCPS_ESTABLISHED && c->snd_nxt == c->snd_end && c->snd_nxt == c->snd_max &&
	       c->trouble == 0 && c->unusual == 0;
}

// True for the next data with an ACK in the window, or an ACK of new data. Both are within the window we advertised.
static inline bool is_next(const struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	uint32_t acked = seg->ack - c->snd_una;

	return (seg->flags & ~TL_TCP_PSH) == TL_TCP_ACK && seg->seq == c->rcv_nxt &&
	       seg->len <= c->rcv_adv - c->rcv_nxt && acked <= c->snd_max - c->snd_una && (acked | seg->len) != 0;
}

// True if the options are those of the connection, and no older than the last (PAWS).
static inline bool is_usual(const struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	if (!c->stamped)
		return !seg->more_options;
	return tl_tcp_read_usual_stamp(seg) && tl_seq_le(c->stamp_recent, seg->stamp);
}

// True if data can be answered.
static inline bool has_room(const struct tl_tcp *c)
{
	return !c->follows_room || tl_tcp_has_flight(c);
}

TL_TCP_STEP bool is_expected(const struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	return is_calm(c) && is_next(c, seg) && is_usual(c, seg) && (seg->len == 0 || has_room(c));
}

// ---- steps

TL_TCP_STEP void take_ack(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	seg->window = (uint32_t)tl_be16(seg->hdr->window_be) << c->snd_scale;
	c->last_rx_ns = c->net->now_ns;
	c->keepalives = 0;
	if (c->stamped)
		tl_tcp_remember_stamp(c, seg, seg->seq);
	bool advances = seg->ack != c->snd_una;
	if (advances) {
		tl_tcp_sample_rtt(c, seg);
		tl_tcp_sent_acked(c, seg);
		tl_tcp_ack_advances(c, seg);
	}
	if (advances || tl_seq_le(c->snd_wl1, seg->seq)) // a segment beyond a gap may have set SND.WL1
		tl_tcp_take_window(c, seg);
}

static inline void update_window_of_peer(struct tl_tcp *c, bool made_room)
{
	if (made_room && tl_tcp_window_reopened(c))
		tl_tcp_pend(c);
}

static __attribute__((noinline)) void answer(struct tl_tcp *c, bool made_room)
{
	struct tl_tcp_table *table = c->net->tcp;

	tl_tcp_enter(table);
	tl_tcp_settle(c->net);
	tl_tcp_ready_stop(c);
	if (tl_tcp_alive(c))
		tl_tcp_answer(c, made_room);
	tl_tcp_ready_refresh(c);
	tl_tcp_leave(table);
}

// True if the reply left by the ready header: it carries the ACK, and its bookkeeping waits until the frame has left.
static inline bool is_replied(const struct tl_tcp *c)
{
	return c->net->n_notes != 0 && c->net->tcp->note[0].c == c;
}

TL_TCP_STEP void take_data(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	struct tl_tcp_table *table = c->net->tcp;

	c->rcv_nxt += seg->len;
	tl_tcp_enter(table);
	tl_tcp_ready_refresh(c); // for a reply
	if (TL_LIKELY(c->ops->data != NULL))
		c->ops->data(c->ctx, c, seg->payload, seg->len);
	if (TL_LIKELY(is_replied(c)) && !(seg->made_room && c->ops->room != NULL))
		update_window_of_peer(c, seg->made_room);
	else
		answer(c, seg->made_room);
	tl_tcp_leave(table);
}

TL_TCP_STEP void process(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	take_ack(c, seg);
	if (seg->len != 0) {
		take_data(c, seg);
	} else if (TL_LIKELY(!c->ack_now && c->rcv_nxt == c->rcv_acked && c->ops->room == NULL)) {
		update_window_of_peer(c, seg->made_room);
		tl_tcp_ready_refresh(c);
	} else {
		answer(c, seg->made_room);
	}
}

// ---- entry points

bool tl_tcp_predicted(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	if (!is_expected(c, seg))
		return false;
	process(c, seg);
	return true;
}

bool tl_tcp_take_expected(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct tl_tcp *c = tl_tcp_find(net->tcp, tl_tcp_key(pkt->src_be, pkt->src_port_be, pkt->dst_port_be));
	struct tl_tcp_seg seg;

	if (TL_UNLIKELY(c == NULL || tl_ip_is6(pkt->src_be))) // a forged source may equal the number of an IPv6 peer
		return false;
	tl_tcp_settle(net);
	tl_tcp_seg_read(&seg, m, frame, pkt);
	if (!is_expected(c, &seg) || !tl_net_sum_ok(net, m, frame, pkt, TL_IPPROTO_TCP, pkt->payload_off - pkt->l4_off))
		return false;
	tl_count(&net->stats.rx_tcp_pkts, 1);
	process(c, &seg);
	return true;
}
