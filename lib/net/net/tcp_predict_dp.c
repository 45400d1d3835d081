// SPDX-License-Identifier: BSD-3-Clause
// Header prediction (RFC 7323, section 5.6): a received segment that is the expected one takes the steps of the state
// machine that concern it, and no others. The outcome is that of tcp_input_dp.c.

#include <rte_mbuf.h>

#include "tcp_predict.h"

// True for the next data with an ACK in the window, or an ACK of new data while no data waits for ours. Both are within
// the window we advertised.
static inline bool is_next(const struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	uint32_t acked = seg->ack - c->snd_una;

	if (seg->seq != c->rcv_nxt || acked > c->snd_max - c->snd_una)
		return false;
	if (seg->len == 0)
		return acked != 0 && c->rcv_nxt == c->rcv_acked;
	return seg->len <= c->rcv_adv - c->rcv_nxt && has_room(c);
}

TL_TCP_STEP bool is_expected(const struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	return is_calm(c) && is_usual(c, seg->hdr) && is_next(c, seg);
}

// ---- steps

TL_TCP_STEP void take_ack(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	seg->window = (uint32_t)tl_be16(seg->hdr->window_be) << c->snd_scale;
	c->last_rx_ns = c->net->now_ns;
	c->keepalives = 0;
	if (c->stamped && tl_seq_le(seg->seq, c->rcv_acked))
		tl_tcp_stamp_take(c, tl_be32(stamp_of(seg->hdr)->stamp_be));
	seg->echo = c->stamped ? tl_be32(stamp_of(seg->hdr)->echo_be) : 0;
	bool advances = seg->ack != c->snd_una;
	if (advances) {
		tl_tcp_sample_rtt(c, seg);
		tl_tcp_sent_acked(c, seg, true);
		tl_tcp_ack_advances(c, seg, true);
	}
	if (advances || tl_seq_le(c->snd_wl1, seg->seq)) // a segment beyond a gap may have set SND.WL1
		tl_tcp_take_window(c, seg);
}

__attribute__((noinline)) void tl_tcp_predict_answer(struct tl_tcp *c, bool made_room)
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

TL_TCP_STEP void process(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	take_ack(c, seg);
	if (seg->len != 0) {
		take_data(c->net, c, seg->payload, seg->len, seg->made_room);
	} else if (TL_LIKELY(c->ops->room == NULL)) {
		update_window_of_peer(c, seg->made_room);
		tl_tcp_ready_refresh(c);
	} else {
		tl_tcp_predict_answer(c, seg->made_room);
	}
}

// ---- entry points

bool tl_tcp_predicted(struct tl_tcp *c, struct tl_tcp_seg *read)
{
	struct tl_tcp_seg seg = *read; // in registers

	if (!is_expected(c, &seg))
		return false;
	process(c, &seg);
	read->made_room = seg.made_room;
	return true;
}

// Each call of those below is the last in its function, so that no register need be saved. hdr is in the frame of m.

static __attribute__((noinline)) void take_any(
	struct tl_net *net, struct rte_mbuf *m, struct tl_pkt *pkt, struct tl_tcp *c)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tl_tcp_seg seg;

	tl_tcp_seg_read(&seg, m, frame, pkt);
	if (!is_expected(c, &seg) ||
		!tl_net_sum_ok(net, m, frame, pkt, TL_IPPROTO_TCP, pkt->payload_off - pkt->l4_off)) {
		tl_net_take_frame(net, m, frame, pkt);
		return;
	}
	tl_count(&net->stats.rx_tcp_pkts, 1);
	process(c, &seg);
}

#define IS_IP6 false
#include "tcp_predict_paths.h"

TL_TCP_STEP struct tl_tcp *find_connection(const struct tl_tcp_table *table, struct tl_tcp_key key)
{
	return tl_tcp_find_in(tl_tcp_bucket4(table, key), key);
}

static __attribute__((noinline)) void settle_and_take(
	struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	tl_tcp_settle(net);
	tl_tcp_take_expected(net, m, frame, pkt);
}

void tl_tcp_take_expected(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	if (TL_UNLIKELY(net->n_notes != 0)) {
		settle_and_take(net, m, frame, pkt);
		return;
	}
	struct tl_tcp *c = find_connection(net->tcp, tl_tcp_key_of(pkt));
	const struct tl_tcp_hdr *hdr = (const struct tl_tcp_hdr *)(frame + pkt->l4_off);
	if (TL_UNLIKELY(c == NULL))
		tl_net_take_frame(net, m, frame, pkt);
	else if (pkt->payload_len == 0)
		take_bare(net, m, hdr, pkt, c);
	else
		take_text(net, m, hdr, pkt, c);
}
