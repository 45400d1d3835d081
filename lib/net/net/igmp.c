// SPDX-License-Identifier: BSD-3-Clause
// IGMP over IP: adds the header with Router Alert (RFC 3376, section 4), and passes header fields of received messages
// to mcast.

#include <string.h>

#include <rte_mbuf.h>

#include <tl_mcast.h>

#include "net_priv.h"

#define IGMP_TOS 0xc0 // Internetwork Control
#define OPTION_END 0
#define OPTION_NOP 1

static const uint8_t ROUTER_ALERT[] = {0x94, 0x04, 0x00, 0x00}; // RFC 2113

// True if the IPv4 options (RFC 791, section 3.1) contain Router Alert.
static bool has_alert(const uint8_t *option, const uint8_t *end)
{
	while (option < end && *option != OPTION_END) {
		if (*option == OPTION_NOP) {
			option++;
			continue;
		}
		if (end - option < 2 || option[1] < 2 || option[1] > end - option)
			return false;
		if (option[0] == ROUTER_ALERT[0] && option[1] == sizeof(ROUTER_ALERT))
			return true;
		option += option[1];
	}
	return false;
}

void tl_igmp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_ipv4_hdr *ip = (const struct tl_ipv4_hdr *)(frame + pkt->l3_off);
	const struct tl_mcast_packet packet = {.message = frame + pkt->payload_off,
		.len = pkt->payload_len,
		.src_be = pkt->src_be,
		.dst_be = pkt->dst_be,
		.hop_limit = ip->ttl,
		.alert = has_alert((const uint8_t *)(ip + 1), (const uint8_t *)ip + (ip->version_ihl & 0x0f) * 4)};

	tl_mcast_input(net->mcast, &packet, net->now_ns);
}

void tl_igmp_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
	struct tl_net *net = ctx;

	if (TL_IGMP_IP_LEN + len > net->cfg.mtu) {
		tl_count(&net->stats.nombuf, 1); // larger than the MTU
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
	(void)tl_ip_output(net, m, dst_be); // cannot fail: a group has a MAC
}
