// SPDX-License-Identifier: BSD-3-Clause
// Header prediction over IPv6: as in tcp_predict_dp.c, for the connection of the number that the peer's address has.

#include <rte_mbuf.h>

#include "tcp_predict.h"

// ---- any segment

// True if the checksum is right, by the device's verdict or by the sum, and no tag was stripped. The sum of a right
// segment is 0: the payload's, which is noted, is the complement of that of the rest.
static bool is_right(struct tl_net *net, const struct rte_mbuf *m, const struct tl_tcp *c, const struct tl_tcp_hdr *hdr,
	uint32_t len)
{
	const uint8_t *payload = (const uint8_t *)(hdr + 1) + (c->stamped ? TL_TCP_STAMP_LEN : 0);
	uint64_t rest = sum_head(c, hdr, place_of(hdr), c->stamped, len);
	bool is_good = (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;

	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return false;
	net->summed = (struct tl_net_summed){.data = payload, .sum = tl_cksum_fold(rest), .len = len};
	return is_good || tl_cksum_is_right(tl_cksum_add64(rest, tl_cksum_add(0, payload, len)));
}

// A segment with other options than is_right() assumes is not predicted.
static __attribute__((noinline)) void take_any(
	struct tl_net *net, struct rte_mbuf *m, struct tl_pkt *pkt, struct tl_tcp *c)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tl_tcp_seg seg;

	tl_tcp_seg_read(&seg, m, frame, pkt);
	tl_tcp_enter(net->tcp);
	bool is_predicted = is_usual(c, seg.hdr) && is_right(net, m, c, seg.hdr, seg.len) && tl_tcp_predicted(c, &seg);
	if (is_predicted && seg.made_room)
		tl_tcp_confirm_hop(c);
	tl_tcp_leave(net->tcp);
	if (is_predicted) {
		tl_count(&net->stats.rx_tcp_pkts, 1);
		return;
	}
	net->summed.data = NULL;
	tl_net_take_frame(net, m, frame, pkt);
}

#define FAMILY TL_TCP_IS_IP6
#include "tcp_predict_paths.h"

// ---- entry point

// Find the connection between these addresses, the second of which is ours and in use. NULL: none.
TL_TCP_STEP struct tl_tcp *find_connection(const struct tl_net *net, const struct tl_ipv6_hdr *ip, struct tl_pkt *pkt)
{
	pkt->src_be = tl_ip6_find(&net->ip6->book, &ip->src);
	const struct tl_ip6_own *own = tl_ip6_source(net, pkt->src_be);

	if (own->state != TL_IP6_VALID || !tl_ip6_equal(&own->ip, &ip->dst))
		return NULL;
	return tl_tcp_find(net->tcp, tl_tcp_key_of(pkt)); // none has the number 0
}

static __attribute__((noinline)) void settle_and_take(
	struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	tl_tcp_settle(net);
	tl_tcp_take_expected6(net, m, frame, pkt);
}

void tl_tcp_take_expected6(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	if (TL_UNLIKELY(net->n_notes != 0)) {
		settle_and_take(net, m, frame, pkt);
		return;
	}
	const struct tl_tcp_hdr *hdr = (const struct tl_tcp_hdr *)(frame + pkt->l4_off);
	struct tl_tcp *c = net->ip6 != NULL ? find_connection(net, tl_wire_ip6(frame, pkt), pkt) : NULL;
	if (TL_UNLIKELY(c == NULL))
		tl_net_take_frame(net, m, frame, pkt);
	else if (pkt->payload_len == 0)
		take_bare(net, m, hdr, pkt, c);
	else
		take_text(net, m, hdr, pkt, c);
}
