// SPDX-License-Identifier: BSD-3-Clause
// ICMP (RFC 792): echo replies, and errors for TCP.

#include <string.h>

#include <rte_mbuf.h>

#include "net_priv.h"

#define ICMP_ECHO_REPLY 0
#define ICMP_UNREACHABLE 3
#define ICMP_ECHO 8
#define ICMP_TIME_EXCEEDED 11
#define ICMP_PARAMETER 12

#define ICMP_TOO_BIG 4 // code of unreachable: fragmentation needed

#define QUOTED_L4_LEN 8 // ports and sequence number: all that RFC 792 guarantees

// Return the data unchanged (RFC 1122, section 3.2.2.6).
static void answer_echo(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	uint16_t len = TL_ICMP_LEN + pkt->payload_len;

	if (TL_IPV4_LEN + len > net->cfg.mtu)
		return;
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return;
	struct tl_icmp_hdr *icmp = (struct tl_icmp_hdr *)tl_ip_build(net, m, TL_IPPROTO_ICMP, pkt->src_be, len);

	memcpy(icmp, frame + pkt->l4_off, len);
	icmp->type = ICMP_ECHO_REPLY;
	icmp->cksum_be = 0;
	icmp->cksum_be = tl_cksum_finish(tl_cksum_add(0, icmp, len));
	if (tl_ip_output(net, m, pkt->src_be) == 0)
		tl_count(&net->stats.icmp_replies_tx, 1);
}

// Pass an error on to TCP. The start of our packet is quoted behind the ICMP header.
static void take_error(struct tl_net *net, const struct tl_icmp_hdr *icmp, const uint8_t *quote, uint16_t len)
{
	uint8_t code = icmp->type == ICMP_UNREACHABLE ? icmp->code : 0;
	struct tl_ipv4_hdr ip;
	struct tl_tcp_hdr tcp;

	if (len < sizeof(ip))
		return;
	memcpy(&ip, quote, sizeof(ip));
	uint16_t ip_len = (ip.version_ihl & 0x0f) * 4;

	if (ip.version_ihl >> 4 != 4 || ip_len < sizeof(ip) || len < ip_len + QUOTED_L4_LEN)
		return;
	if (ip.proto != TL_IPPROTO_TCP || ip.src_be != net->cfg.ip_be ||
		(ip.frag_be & tl_be16(TL_IPV4_FRAG_OFFSET)) != 0)
		return;
	if (tl_ip_is6(ip.dst_be)) // the number of an IPv6 address
		return;
	memcpy(&tcp, quote + ip_len, QUOTED_L4_LEN);
	if (code == ICMP_TOO_BIG)
		tl_tcp_too_big(net, ip.dst_be, tcp.src_port_be, tcp.dst_port_be, tl_be32(tcp.seq_be),
			(uint16_t)tl_be32(icmp->rest_be), tl_be16(ip.total_len_be));
	else
		tl_tcp_unreachable(net, code, ip.dst_be, tcp.src_port_be, tcp.dst_port_be, tl_be32(tcp.seq_be));
}

void tl_icmp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_icmp_hdr *icmp = (const struct tl_icmp_hdr *)(frame + pkt->l4_off);

	if (pkt->dst_be != net->cfg.ip_be)
		return; // errors and echo requests to groups are ignored (RFC 1122, section 3.2.2)
	if (icmp->type == ICMP_ECHO)
		answer_echo(net, frame, pkt);
	else if (icmp->type == ICMP_UNREACHABLE || icmp->type == ICMP_TIME_EXCEEDED || icmp->type == ICMP_PARAMETER)
		take_error(net, icmp, frame + pkt->payload_off, pkt->payload_len); // no source quench: RFC 6633
}
