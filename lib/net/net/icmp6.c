// SPDX-License-Identifier: BSD-3-Clause
// ICMPv6 (RFC 4443): echo replies, errors for TCP; dispatch of neighbour discovery and multicast listener discovery
// (RFC 3810). We send no errors.

#include <string.h>

#include <rte_mbuf.h>

#include <tl_mcast.h>
#include <tl_port.h>

#include "net_priv.h"

#define UNREACHABLE 1
#define TOO_BIG 2
#define PARAMETER 4
#define ECHO_REQUEST 128
#define ECHO_REPLY 129
#define MLD_QUERY 130 // to 132
#define MLD_DONE 132
#define ND_ROUTER_SOLICITATION 133 // to 137
#define ND_REDIRECT 137
#define MLD_V2_REPORT 143

#define QUOTED_L4_LEN 8 // ports and sequence number

// TCP uses ICMP's codes.
enum { NET_UNREACHABLE = 0, PROTOCOL_UNREACHABLE = 2, PORT_UNREACHABLE = 3 };

void tl_icmp6_finish(const struct tl_ipv6_hdr *ip, void *message, uint16_t len)
{
	struct tl_icmp_hdr *icmp = message;

	icmp->cksum_be = 0;
	uint32_t sum = tl_cksum_pseudo6(&ip->src, &ip->dst, TL_IPPROTO_ICMP6, len);
	icmp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, icmp, len));
}

void tl_ip6_push_group(struct tl_net *net, struct rte_mbuf *m, const struct tl_ip6 *group)
{
	tl_wire_mcast_mac6(group, rte_pktmbuf_mtod(m, struct tl_ether_hdr *)->dst);
	tl_net_push(net, m);
}

// Reply from the address asked; for a group from the one of the sender's scope (section 4.2).
static void answer_echo(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_ipv6_hdr *asked = tl_wire_ip6(frame, pkt);
	const struct tl_ip6_own *own = tl_ip6_find_own(net, &asked->dst);
	uint16_t len = TL_ICMP_LEN + pkt->payload_len;

	if (own == NULL && pkt->dst_be == net->ip6->all_nodes_be)
		own = tl_ip6_source(net, pkt->src_be);
	if (own == NULL || own->state != TL_IP6_VALID || TL_IPV6_LEN + len > net->cfg.mtu)
		return;
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return;
	const struct tl_ip6_packet packet = {&own->ip, &asked->src, TL_IPPROTO_ICMP6, net->cfg.ttl, len, net->cfg.dscp};
	uint8_t *icmp = tl_ip6_build(net, m, &packet);

	memcpy(icmp, frame + pkt->l4_off, len);
	icmp[0] = ECHO_REPLY;
	tl_icmp6_finish((const struct tl_ipv6_hdr *)(icmp - TL_IPV6_LEN), icmp, len);
	if (tl_ip_output(net, m, pkt->src_be) == 0)
		tl_count(&net->stats.icmp6_replies_tx, 1);
}

// Map to ICMP's codes, for hard errors (RFC 1122, section 4.2.3.9).
static uint8_t code_for_tcp(const struct tl_icmp_hdr *icmp)
{
	if (icmp->type == UNREACHABLE && icmp->code == 4)
		return PORT_UNREACHABLE;
	if (icmp->type == PARAMETER && icmp->code == 1)
		return PROTOCOL_UNREACHABLE;
	return NET_UNREACHABLE;
}

// Pass an error on to TCP. The start of our packet, which has no extension headers, is quoted behind the header.
static void take_error(struct tl_net *net, const struct tl_icmp_hdr *icmp, const uint8_t *quote, uint16_t len)
{
	struct tl_ipv6_hdr ip;
	struct tl_tcp_hdr tcp;

	if (len < sizeof(ip) + QUOTED_L4_LEN)
		return;
	memcpy(&ip, quote, sizeof(ip));
	memcpy(&tcp, quote + sizeof(ip), QUOTED_L4_LEN);
	uint32_t dst_be = tl_ip6_find(&net->ip6->book, &ip.dst);
	if (ip.next != TL_IPPROTO_TCP || dst_be == 0 || !tl_ip6_equal(&ip.src, &tl_ip6_source(net, dst_be)->ip))
		return;
	uint32_t mtu = tl_be32(icmp->rest_be);
	if (icmp->type != TOO_BIG)
		tl_tcp_unreachable(
			net, code_for_tcp(icmp), dst_be, tcp.src_port_be, tcp.dst_port_be, tl_be32(tcp.seq_be));
	else if (mtu != 0 && mtu < net->cfg.mtu)
		tl_tcp_too_big(net, dst_be, tcp.src_port_be, tcp.dst_port_be, tl_be32(tcp.seq_be), (uint16_t)mtu,
			sizeof(ip) + tl_be16(ip.payload_len_be));
}

static bool is_own_frame(const struct tl_net *net, const uint8_t *frame)
{
	return memcmp(((const struct tl_ether_hdr *)frame)->src, net->cfg.mac, TL_ETHER_ADDR_LEN) == 0;
}

static void mld_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_mcast_packet packet = {.message = frame + pkt->l4_off,
		.len = TL_ICMP_LEN + pkt->payload_len,
		.src_be = pkt->src_be,
		.dst_be = pkt->dst_be,
		.hop_limit = tl_wire_ip6(frame, pkt)->hop_limit,
		.alert = pkt->ip6_alert};

	tl_mcast_input(net->ip6->mld, &packet, net->now_ns);
}

void tl_icmp6_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_icmp_hdr *icmp = (const struct tl_icmp_hdr *)(frame + pkt->l4_off);
	bool own = is_own_frame(net, frame); // our own frame

	if (icmp->type >= ND_ROUTER_SOLICITATION && icmp->type <= ND_REDIRECT) {
		tl_count(&net->stats.rx_nd_pkts, 1);
		if (!own)
			tl_nd_input(net, frame, pkt);
		return;
	}
	if ((icmp->type >= MLD_QUERY && icmp->type <= MLD_DONE) || icmp->type == MLD_V2_REPORT) {
		tl_count(&net->stats.rx_mld_pkts, 1);
		if (!own)
			mld_input(net, frame, pkt);
		return;
	}
	tl_count(&net->stats.rx_icmp6_pkts, 1);
	if (own || tl_ip6_find_own(net, &tl_wire_ip6(frame, pkt)->src) != NULL ||
		!tl_ip6_is_set(&tl_wire_ip6(frame, pkt)->src))
		return;
	if (icmp->type == ECHO_REQUEST)
		answer_echo(net, frame, pkt);
	else if (icmp->type >= UNREACHABLE && icmp->type <= PARAMETER && !tl_ip_is_mcast(pkt->dst_be))
		take_error(net, icmp, frame + pkt->payload_off, pkt->payload_len);
}

// ---- send multicast listener discovery

void tl_mld_send(void *ctx, uint32_t dst_be, const uint8_t *mld, uint16_t len)
{
	// Hop-by-hop: next header, length, Router Alert for MLD (RFC 2711), PadN.
	static const uint8_t ALERT[] = {TL_IPPROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0};
	static const struct tl_ip6 none;
	struct tl_net *net = ctx;
	const struct tl_ip6 *dst = tl_ip6_of(&net->ip6->book, dst_be);
	const struct tl_ip6_own *own = &net->ip6->own[net->ip6->own[1].state != TL_IP6_NONE]; // link-local
	struct rte_mbuf *m = tl_net_alloc(net);

	if (m == NULL)
		return;
	const struct tl_ip6_packet packet = {
		.src = own->state == TL_IP6_VALID ? &own->ip : &none, // RFC 3810, section 5.2.13
		.dst = dst,
		.next = TL_IP6_HOP_BY_HOP,
		.hop_limit = 1,
		.len = sizeof(ALERT) + len,
	};
	uint8_t *alert = tl_ip6_build(net, m, &packet);

	memcpy(alert, ALERT, sizeof(ALERT));
	memcpy(alert + sizeof(ALERT), mld, len);
	tl_icmp6_finish((const struct tl_ipv6_hdr *)(alert - TL_IPV6_LEN), alert + sizeof(ALERT), len);
	tl_ip6_push_group(net, m, dst);
}
