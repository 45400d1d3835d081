// SPDX-License-Identifier: BSD-3-Clause
// IP output: headers, next hop, push to the queue. IPv6 headers are in ip6_dp.c.

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_port.h>

#include "net_priv.h"

#define TTL_GROUP 1 // RFC 1112, section 6.1

struct rte_mbuf *tl_net_alloc(struct tl_net *net)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(net->cfg.pool);

	if (TL_UNLIKELY(m == NULL))
		tl_count(&net->stats.nombuf, 1);
	return m;
}

// Insert the tag between addresses and type (IEEE 802.1Q); the addresses move into the headroom.
void tl_ip_set_len(struct rte_mbuf *m, uint16_t len)
{
	if (len < TL_ETHER_MIN_FRAME) {
		memset(rte_pktmbuf_mtod(m, uint8_t *) + len, 0, TL_ETHER_MIN_FRAME - len);
		len = TL_ETHER_MIN_FRAME;
	}
	m->data_len = len;
	m->pkt_len = len;
}

// Request checksum offload: the field holds the pseudo-header sum, not complemented (rte_mbuf_core.h,
// RTE_MBUF_F_TX_TCP_CKSUM). The IPv4 header checksum stays ours: it is short, and mostly known.
uint16_t tl_ip_ask_cksum(const struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be, uint8_t proto, uint16_t len)
{
	m->ol_flags |= tl_ip_is6(dst_be) ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
	m->ol_flags |= proto == TL_IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
	m->l2_len = TL_ETHER_LEN;
	m->l3_len = tl_ip_len(dst_be);
	return (uint16_t)~tl_cksum_finish(tl_ip_pseudo(net, dst_be, proto, len));
}

uint16_t tl_ip_cksum(
	const struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be, uint8_t proto, const void *l4, uint16_t len)
{
	if (tl_ip_asks_cksum(net, len))
		return tl_ip_ask_cksum(net, m, dst_be, proto, len);
	return tl_cksum_finish(tl_cksum_add(tl_ip_pseudo(net, dst_be, proto, len), l4, len));
}

static uint8_t ttl_to(const struct tl_net *net, uint32_t dst_be)
{
	return tl_ip_is_mcast(dst_be) ? TTL_GROUP : net->cfg.ttl;
}

static uint8_t *build_ip6(struct tl_net *net, struct rte_mbuf *m, uint8_t proto, uint32_t dst_be, uint16_t l4_len)
{
	const struct tl_ip6_packet packet = {
		.src = &tl_ip6_source(net, dst_be)->ip,
		.dst = tl_ip6_of(&net->ip6->book, dst_be),
		.next = proto,
		.hop_limit = ttl_to(net, dst_be),
		.dscp = net->cfg.dscp,
		.len = l4_len,
	};

	return tl_ip6_build(net, m, &packet);
}

uint8_t *tl_ip_build(struct tl_net *net, struct rte_mbuf *m, uint8_t proto, uint32_t dst_be, uint16_t l4_len)
{
	if (TL_UNLIKELY(tl_ip_is6(dst_be)))
		return build_ip6(net, m, proto, dst_be, l4_len);

	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	uint16_t len = TL_ETHER_LEN + TL_IPV4_LEN + l4_len;

	memcpy(ether->src, net->cfg.mac, sizeof(ether->src));
	ether->type_be = tl_be16(TL_ETHERTYPE_IPV4);
	*ip = (struct tl_ipv4_hdr){
		.version_ihl = 0x45,
		.tos = (uint8_t)(net->cfg.dscp << TL_DSCP_SHIFT),
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.frag_be = tl_be16(TL_IPV4_DONT_FRAGMENT), // allows an ID of 0 (RFC 6864, section 4.1)
		.ttl = ttl_to(net, dst_be),
		.proto = proto,
		.src_be = net->cfg.ip_be,
		.dst_be = dst_be,
	};
	tl_wire_ipv4_finish(ip);
	tl_ip_set_len(m, len);
	return (uint8_t *)(ip + 1);
}

uint32_t tl_ip_next_hop_be(const struct tl_net *net, uint32_t dst_be)
{
	if (TL_UNLIKELY(tl_ip_is6(dst_be)))
		return tl_ip6_next_hop_be(net, dst_be);
	if (TL_UNLIKELY(net->cfg.ip_be == 0))
		return 0;
	if (TL_UNLIKELY(dst_be == 0 || dst_be == net->cfg.ip_be || tl_ip_is_broadcast(net, dst_be)))
		return 0;
	return tl_ip_on_link(net, dst_be) ? dst_be : net->cfg.gateway_be;
}

bool tl_ip_reachable(const struct tl_net *net, uint32_t dst_be)
{
	return tl_ip_is_mcast(dst_be) || tl_ip_next_hop_be(net, dst_be) != 0;
}

bool tl_ip_next_hop_mac(struct tl_net *net, uint32_t dst_be, uint8_t mac[TL_ETHER_ADDR_LEN])
{
	if (tl_ip_is_mcast(dst_be)) {
		if (tl_ip_is6(dst_be))
			tl_wire_mcast_mac6(tl_ip6_of(&net->ip6->book, dst_be), mac);
		else
			tl_wire_mcast_mac(dst_be, mac);
		return true;
	}
	uint32_t hop_be = tl_ip_next_hop_be(net, dst_be);
	return hop_be != 0 && tl_arp_lookup(net, hop_be, mac);
}

int tl_ip_output(struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be)
{
	if (TL_LIKELY(tl_ip_next_hop_mac(net, dst_be, rte_pktmbuf_mtod(m, struct tl_ether_hdr *)->dst))) {
		tl_net_push(net, m);
		return 0;
	}
	uint32_t hop_be = tl_ip_next_hop_be(net, dst_be);
	if (hop_be == 0) {
		rte_pktmbuf_free(m);
		return -EHOSTUNREACH;
	}
	tl_arp_hold(net, hop_be, m);
	return 0;
}
