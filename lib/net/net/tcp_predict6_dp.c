// SPDX-License-Identifier: BSD-3-Clause
// Header prediction over IPv6: as in tcp_predict_dp.c, for the connection between the addresses of the frame.

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

#define IS_IP6 true
#include "tcp_predict_paths.h"

// ---- entry point

typedef uint64_t address __attribute__((vector_size(sizeof(struct tl_ip6)), aligned(1), may_alias));
typedef uint64_t aligned_address __attribute__((vector_size(sizeof(struct tl_ip6)), may_alias));

// True for a segment of c. A valid address of ours stays valid, and so does a connection's.
TL_TCP_STEP bool is_of(const struct tl_tcp *c, const struct tl_ipv6_hdr *ip, uint32_t ports_be)
{
	address bits = (*(const aligned_address *)&c->peer6 ^ *(const address *)&ip->src) |
		       (*(const aligned_address *)&c->own6 ^ *(const address *)&ip->dst);

	return tl_tcp_key_ports_be(&c->key) == ports_be && (bits[0] | bits[1]) == 0;
}

TL_TCP_STEP void take_segment_of(
	struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt, struct tl_tcp *c)
{
	const struct tl_tcp_hdr *hdr = (const struct tl_tcp_hdr *)(frame + pkt->l4_off);

	if (pkt->payload_len == 0)
		take_bare(net, m, hdr, pkt, c);
	else
		take_text(net, m, hdr, pkt, c);
}

// Take a segment of a connection from c on in its bucket, or of none.
static __attribute__((noinline)) void search_and_take(
	struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt, struct tl_tcp *c)
{
	const struct tl_ipv6_hdr *ip = tl_wire_ip6(frame, pkt);
	const struct tl_tcp_key key = tl_tcp_key_of(pkt);

	tl_tcp_settle(net);
	while (c != NULL && !is_of(c, ip, tl_tcp_key_ports_be(&key)))
		c = c->hash_next;
	if (c != NULL)
		take_segment_of(net, m, frame, pkt, c);
	else
		tl_net_take_frame(net, m, frame, pkt);
}

// Take a segment of the first connection of its bucket: without a loop no register need be saved.
TL_TCP_STEP void take_expected(
	struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt, uint8_t l3_off)
{
	const struct tl_ipv6_hdr *ip = (const struct tl_ipv6_hdr *)(frame + l3_off);
	const struct tl_tcp_key key = tl_tcp_key_of(pkt);
	uint32_t ports_be = tl_tcp_key_ports_be(&key);
	struct tl_tcp *c = *tl_tcp_bucket6(net->tcp, &ip->src, ports_be);

	if (TL_LIKELY(net->n_notes == 0 && c != NULL && is_of(c, ip, ports_be)))
		take_segment_of(net, m, frame, pkt, c);
	else
		search_and_take(net, m, frame, pkt, c);
}

void tl_tcp_take_expected6(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	take_expected(net, m, frame, pkt, TL_ETHER_LEN);
}

void tl_tcp_take_tagged6(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	take_expected(net, m, frame, pkt, TL_ETHER_LEN + TL_VLAN_LEN);
}
