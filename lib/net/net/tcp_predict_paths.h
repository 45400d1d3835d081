// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Paths of an expected segment, the same code for each family. Include once in the file of a family, behind its
// take_any() and IS_IP6, a constant. No function is inline: those of the common case then save no register.

static __attribute__((noinline)) void take_known_ack(
	struct tl_net *net, uint64_t at_ns, const struct tl_tcp_hdr *hdr, struct tl_tcp *c)
{
	take_plain_ack(net, c, hdr, at_ns, false, true);
}

static __attribute__((noinline)) void take_known_stamped_ack(
	struct tl_net *net, uint64_t at_ns, const struct tl_tcp_hdr *hdr, struct tl_tcp *c)
{
	take_plain_ack(net, c, hdr, at_ns, true, true);
}

static __attribute__((noinline)) void take_any_ack(
	struct tl_net *net, struct rte_mbuf *m, const struct tl_tcp_hdr *hdr, struct tl_pkt *pkt, struct tl_tcp *c)
{
	if (!is_plain_ack(net, c, hdr) || !is_usual(c, hdr) || !tl_net_sum_is_ours(m) ||
		!tl_cksum_is_right(sum_head(c, hdr, end_place(c), c->stamped, 0))) {
		take_any(net, m, pkt, c);
		return;
	}
	if (IS_IP6)
		tl_tcp_confirm_hop(c);
	take_plain_ack(net, c, hdr, c->flight->sent[0].at_ns, c->stamped, false);
}

// Take a segment without data. One comparison of its head finds the ACK that settle_few() made known, while the
// neighbour of an IPv6 peer is confirmed; PSH is not in it.
static __attribute__((noinline)) void take_bare(
	struct tl_net *net, struct rte_mbuf *m, const struct tl_tcp_hdr *hdr, struct tl_pkt *pkt, struct tl_tcp *c)
{
	if (tl_tcp_head(hdr) == c->ready.plain_ack && place_of(hdr) == end_place(c) && tl_net_sum_is_ours(m) &&
		(!IS_IP6 || tl_tcp_is_hop_confirmed(net, c))) {
		uint64_t at_ns = c->flight->sent[0].at_ns;
		if (!c->stamped && tl_cksum_is_right(sum_head(c, hdr, end_place(c), false, 0)) && at_ns < net->now_ns) {
			take_known_ack(net, at_ns, hdr, c);
			return;
		}
		if (c->stamped && has_new_stamp(c, hdr) && at_ns < net->now_ns &&
			tl_cksum_is_right(sum_head(c, hdr, end_place(c), true, 0))) {
			take_known_stamped_ack(net, at_ns, hdr, c);
			return;
		}
	}
	take_any_ack(net, m, hdr, pkt, c);
}

// Take a segment with data.
static __attribute__((noinline)) void take_text(
	struct tl_net *net, struct rte_mbuf *m, const struct tl_tcp_hdr *hdr, struct tl_pkt *pkt, struct tl_tcp *c)
{
	uint32_t len = pkt->payload_len, news = news_in(hdr, c->peer_head);

	if (len > TL_NET_SUM_BYTES || !tl_net_sum_is_ours(m) || !is_plain_data(c, hdr, news, len))
		take_any(net, m, pkt, c);
	else if (!c->stamped && is_text_right(net, c, hdr, false, len))
		take_plain_data(net, c, hdr, news, len, false);
	else if (c->stamped && has_new_stamp(c, hdr) && is_text_right(net, c, hdr, true, len))
		take_plain_data(net, c, hdr, news, len, true);
	else
		take_any(net, m, pkt, c);
}
