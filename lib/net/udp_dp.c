// SPDX-License-Identifier: BSD-3-Clause
// UDP datagrams (RFC 768), in and out.

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "net_priv.h"

bool tl_udp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	uint32_t group_be = tl_ip_is_mcast(pkt->dst_be) ? pkt->dst_be : 0;
	bool known = false;

	if (pkt->dst_port_be == 0)
		return false; // marks a free slot
	for (unsigned i = 0; i < net->n_udp; i++) {
		if (!tl_udp_takes(&net->udp[i], group_be, pkt))
			continue;
		known = true;
		tl_udp_hand_over(&net->udp[i], frame, pkt);
	}
	return known;
}

int tl_udp_send(struct tl_udp *udp, uint32_t dst_ip_be, uint16_t dst_port_be, const void *payload, uint16_t len)
{
	struct tl_net *net = udp->net;
	uint16_t udp_len = TL_UDP_LEN + len;

	if (len > net->cfg.mtu - tl_ip_len(dst_ip_be) - TL_UDP_LEN)
		return -EMSGSIZE;
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return -ENOBUFS;
	struct tl_udp_hdr *hdr = (struct tl_udp_hdr *)tl_ip_build(net, m, TL_IPPROTO_UDP, dst_ip_be, udp_len);

	*hdr = (struct tl_udp_hdr){
		.src_port_be = udp->port_be,
		.dst_port_be = dst_port_be,
		.len_be = tl_be16(udp_len),
	};
	memcpy(hdr + 1, payload, len);
	uint16_t cksum = tl_ip_cksum(net, m, dst_ip_be, TL_IPPROTO_UDP, hdr, udp_len);
	hdr->cksum_be = cksum != 0 ? cksum : 0xffff; // 0 would mean none
	return tl_ip_output(net, m, dst_ip_be);
}
