// SPDX-License-Identifier: BSD-3-Clause
// IPv6 (RFC 8200): address filter for input, headers for output.

#include <string.h>

#include <rte_mbuf.h>

#include <tl_mcast.h>
#include <tl_port.h>

#include "net_priv.h"

#define VERSION_6 UINT32_C(0x60000000)

// ---- input

static bool is_own(const struct tl_ip6_own *own, const struct tl_ip6 *ip)
{
	return own->state != TL_IP6_NONE && tl_ip6_equal(&own->ip, ip);
}

// True for an address of ours. TCP and UDP use the address with the scope of the peer; neighbour discovery uses any,
// tentative ones included.
static bool is_our_host(const struct tl_ip6_host *ip6, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt)
{
	bool local = tl_ip6_is_link_local(&ip->src);
	const struct tl_ip6_own *own = &ip6->own[local && ip6->own[1].state != TL_IP6_NONE];

	if (pkt->ip6_kind == TL_PKT_ICMP)
		return is_own(&ip6->own[0], &ip->dst) || is_own(&ip6->own[1], &ip->dst);
	return own->state == TL_IP6_VALID && tl_ip6_equal(&own->ip, &ip->dst) && !tl_ip6_equal(&own->ip, &ip->src);
}

static bool is_our_group6(const struct tl_ip6_host *ip6, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt)
{
	uint32_t group_be = tl_ip6_find(&ip6->book, &ip->dst);

	if (group_be == 0 || pkt->ip6_kind == TL_PKT_TCP)
		return false;
	if (pkt->ip6_kind == TL_PKT_ICMP) // the protocol checks the sender
		return true;
	return tl_mcast_accepts(ip6->mld, group_be, tl_ip6_find(&ip6->book, &ip->src));
}

static bool is_our_ip6(const struct tl_ip6_host *ip6, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_ipv6_hdr *ip = tl_wire_ip6(frame, pkt);

	if (tl_ip6_is_mcast(&ip->dst))
		return is_our_group6(ip6, ip, pkt);
	return (frame[0] & 1) == 0 && is_our_host(ip6, ip, pkt);
}

// True for a valid source (RFC 4291, sections 2.5.2, 2.5.3 and 2.7). A host without an address may look for one.
static bool is_host_source6(const struct tl_pkt *pkt, const struct tl_ip6 *src)
{
	return tl_ip6_is_host(src) || (pkt->ip6_kind == TL_PKT_ICMP && !tl_ip6_is_set(src));
}

uint64_t *tl_ip6_refuse(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct tl_net_stats *stats = &net->stats;

	if (net->ip6 == NULL)
		return &stats->drop_other_pkts;
	if (pkt->ip6_kind == TL_PKT_BAD)
		return &stats->drop_malformed_pkts;
	if (!is_our_ip6(net->ip6, frame, pkt))
		return &stats->drop_not_ours_pkts;
	if (pkt->ip6_kind == TL_PKT_FRAG)
		return &stats->drop_fragment_pkts;
	if (pkt->ip6_kind == TL_PKT_OTHER)
		return &stats->drop_other_pkts;
	if (!is_host_source6(pkt, &tl_wire_ip6(frame, pkt)->src))
		return &stats->drop_malformed_pkts;
	return tl_net_cksum_ok(m, frame, pkt, pkt->ip6_kind) ? NULL : &stats->drop_cksum_pkts;
}

void tl_ip6_input(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	struct tl_net_stats *stats = &net->stats;
	const struct tl_ipv6_hdr *ip = tl_wire_ip6(frame, pkt);

	pkt->src_be = tl_ip6_number(&net->ip6->book, &ip->src);
	pkt->dst_be = tl_ip6_find(&net->ip6->book, &ip->dst); // group number; 0 for our own addresses
	if (pkt->ip6_kind == TL_PKT_TCP) {
		tl_count(&stats->rx_tcp_pkts, 1);
		tl_tcp_input(net, m, frame, pkt);
	} else if (pkt->ip6_kind == TL_PKT_UDP) {
		tl_udp_note_sender6(net, ip, pkt);
		tl_count(tl_udp_input(net, frame, pkt) ? &stats->rx_udp_pkts : &stats->drop_udp_no_port_pkts, 1);
	} else {
		tl_icmp6_input(net, frame, pkt);
	}
}

uint32_t tl_net_ip6_passing(struct tl_net *net, const struct tl_ip6 *ip)
{
	return net->ip6 != NULL ? tl_ip6_number(&net->ip6->book, ip) : 0;
}

// ---- output

uint32_t tl_ip6_next_hop_be(const struct tl_net *net, uint32_t dst_be)
{
	struct tl_ip6 dst;

	if (!tl_net_ip6_of(net, dst_be, &dst) || tl_ip6_source(net, dst_be)->state != TL_IP6_VALID)
		return 0;
	if (tl_ip6_equal(&net->ip6->own[0].ip, &dst) || tl_ip6_equal(&net->ip6->own[1].ip, &dst))
		return 0;
	if (tl_ip6_is_link_local(&dst) || tl_ip6_same_prefix(&dst, &net->ip6->own[0].ip, net->ip6->prefix_bits))
		return dst_be;
	return net->ip6->gateway_be;
}

uint8_t *tl_ip6_build(struct tl_net *net, struct rte_mbuf *m, const struct tl_ip6_packet *packet)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);

	memcpy(ether->src, net->cfg.mac, sizeof(ether->src));
	ether->type_be = tl_be16(TL_ETHERTYPE_IPV6);
	*ip = (struct tl_ipv6_hdr){
		.version_be = tl_be32(VERSION_6 | (uint32_t)packet->dscp << (TL_IPV6_CLASS_SHIFT + TL_DSCP_SHIFT)),
		.payload_len_be = tl_be16(packet->len),
		.next = packet->next,
		.hop_limit = packet->hop_limit,
		.src = *packet->src,
		.dst = *packet->dst,
	};
	tl_ip_set_len(m, TL_ETHER_LEN + TL_IPV6_LEN + packet->len);
	return (uint8_t *)(ip + 1);
}

uint32_t tl_ip6_pseudo(const struct tl_net *net, uint32_t dst_be, uint8_t proto, uint16_t l4_len)
{
	return tl_cksum_pseudo6(&tl_ip6_source(net, dst_be)->ip, tl_ip6_of(&net->ip6->book, dst_be), proto, l4_len);
}
