// SPDX-License-Identifier: BSD-3-Clause
// ARP (RFC 826): requests, replies, announcements and defence of our address (RFC 5227).

#include <string.h>

#include <rte_mbuf.h>

#include <tl_port.h>

#include "arp_priv.h"
#include "net_priv.h"

#define ARP_REQUEST 1
#define ARP_REPLY 2
#define ARP_HW_ETHER 1

#define ARP_FRESH_NS (57 * TL_NS_PER_S) // then three requests, one a second: expires after 60 s

#define ARP_ANNOUNCE_NUM 2 // RFC 5227, section 1.1, as are the next two
#define ARP_ANNOUNCE_INTERVAL_NS (2 * TL_NS_PER_S)
#define ARP_DEFEND_INTERVAL_NS (10 * TL_NS_PER_S)

static const uint8_t ETHER_BROADCAST[TL_ETHER_ADDR_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t ETHER_UNKNOWN[TL_ETHER_ADDR_LEN];

// ---- frames

static bool send_arp(
	struct tl_net *net, uint16_t op, const uint8_t *ether_dst, const uint8_t *target_mac, uint32_t target_ip_be)
{
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return false;

	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;
	struct tl_arp_hdr *arp = (struct tl_arp_hdr *)(frame + TL_ETHER_LEN);

	memset(frame, 0, TL_ETHER_MIN_FRAME);
	memcpy(ether->dst, ether_dst, sizeof(ether->dst));
	memcpy(ether->src, net->cfg.mac, sizeof(ether->src));
	ether->type_be = tl_be16(TL_ETHERTYPE_ARP);
	arp->hw_type_be = tl_be16(ARP_HW_ETHER);
	arp->proto_be = tl_be16(TL_ETHERTYPE_IPV4);
	arp->hw_len = TL_ETHER_ADDR_LEN;
	arp->proto_len = sizeof(arp->sender_ip_be);
	arp->op_be = tl_be16(op);
	memcpy(arp->sender_mac, net->cfg.mac, sizeof(arp->sender_mac));
	arp->sender_ip_be = net->cfg.ip_be;
	memcpy(arp->target_mac, target_mac, sizeof(arp->target_mac));
	arp->target_ip_be = target_ip_be;
	m->data_len = TL_ETHER_MIN_FRAME;
	m->pkt_len = TL_ETHER_MIN_FRAME;
	tl_net_push(net, m);
	return true;
}

// Broadcast, or unicast to poll one host (RFC 1122 section 2.3.2.1).
void tl_arp_request(struct tl_net *net, uint32_t ip_be, const uint8_t *mac)
{
	if (send_arp(net, ARP_REQUEST, mac != NULL ? mac : ETHER_BROADCAST, ETHER_UNKNOWN, ip_be))
		tl_count(&net->stats.arp_requests_tx, 1);
}

// Announce: a request for our own address (RFC 5227, section 1.1).
static void send_announcement(struct tl_net *net)
{
	tl_arp_request(net, net->cfg.ip_be, NULL);
}

// ---- input

// Defend the address, at most every ten seconds (RFC 5227, section 2.4 (c)).
static void defend(struct tl_net *net)
{
	if (net->cfg.is_follower)
		return;
	tl_count(&net->stats.arp_conflicts_pkts, 1);
	if (net->now_ns < net->arp->defend_ns)
		return;
	net->arp->defend_ns = net->now_ns + ARP_DEFEND_INTERVAL_NS;
	send_announcement(net);
}

static bool is_neighbour(const struct tl_net *net, uint32_t ip_be)
{
	if (ip_be == net->cfg.gateway_be)
		return ip_be != 0;
	return tl_ip_on_link(net, ip_be) && tl_ip_reachable(net, ip_be);
}

// Refresh a known host; store one that asks for us, if that evicts no host that answered (RFC 826).
static void learn(struct tl_net *net, const struct tl_arp_hdr *arp, bool asks_for_us)
{
	struct tl_arp_entry *e = tl_arp_find(net->arp, arp->sender_ip_be);

	if (e == NULL && asks_for_us && is_neighbour(net, arp->sender_ip_be))
		e = tl_arp_learn(net, arp->sender_ip_be);
	if (e != NULL)
		tl_arp_confirm(net, e, arp->sender_mac, ARP_FRESH_NS);
}

void tl_arp_input(struct tl_net *net, const uint8_t *packet)
{
	const struct tl_arp_hdr *arp = (const struct tl_arp_hdr *)packet;

	if (net->cfg.ip_be == 0)
		return;
	if ((arp->sender_mac[0] & 1) != 0 || memcmp(arp->sender_mac, net->cfg.mac, sizeof(arp->sender_mac)) == 0)
		return;			  // invalid, or our own frame
	if (tl_ip_is6(arp->sender_ip_be)) // the number of an IPv6 address
		return;
	if (arp->sender_ip_be == net->cfg.ip_be) {
		defend(net);
		return;
	}
	bool asks_for_us = arp->op_be == tl_be16(ARP_REQUEST) && arp->target_ip_be == net->cfg.ip_be;
	learn(net, arp, asks_for_us);
	if (asks_for_us && !net->cfg.is_follower &&
		send_arp(net, ARP_REPLY, arp->sender_mac, arp->sender_mac, arp->sender_ip_be))
		tl_count(&net->stats.arp_replies_tx, 1);
}

// ---- timers

static void announce_once(struct tl_net *net)
{
	net->arp->announce_left--;
	net->arp->announce_ns = net->now_ns + ARP_ANNOUNCE_INTERVAL_NS;
	send_announcement(net);
}

void tl_arp_announce(struct tl_net *net)
{
	if (net->cfg.is_follower || net->cfg.ip_be == 0)
		return;
	net->arp->announce_left = ARP_ANNOUNCE_NUM;
	announce_once(net);
}

void tl_arp_announce_tick(struct tl_net *net)
{
	if (net->arp->announce_left > 0 && net->now_ns >= net->arp->announce_ns)
		announce_once(net);
}
