// SPDX-License-Identifier: BSD-3-Clause
// IGMP on the way down: the IP header with Router Alert that mcast's messages need (RFC 3376, section 4).

#include <string.h>

#include <rte_mbuf.h>

#include "net_priv.h"

#define IGMP_TOS 0xc0						// Internetwork Control
static const uint8_t ROUTER_ALERT[] = {0x94, 0x04, 0x00, 0x00}; // RFC 2113

void tl_igmp_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
	struct tl_net *net = ctx;

	if (TL_IGMP_IP_LEN + len > net->cfg.mtu) {
		tl_count(&net->stats.nombuf, 1); // none is large enough
		return;
	}
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return;
	uint8_t *option = tl_ip_build(net, m, TL_IPPROTO_IGMP, dst_be, sizeof(ROUTER_ALERT) + len);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(option - TL_IPV4_LEN);

	ip->version_ihl = 0x40 | TL_IGMP_IP_LEN / 4;
	ip->tos = IGMP_TOS;
	memcpy(option, ROUTER_ALERT, sizeof(ROUTER_ALERT));
	memcpy(option + sizeof(ROUTER_ALERT), igmp, len);
	ip->cksum_be = 0;
	ip->cksum_be = tl_cksum_finish(tl_cksum_add(0, ip, TL_IGMP_IP_LEN));
	(void)tl_ip_output(net, m, dst_be); // a group always has a MAC
}
