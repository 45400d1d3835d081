// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery (RFC 4861) and duplicate address detection (RFC 4862). The neighbour table and its timers are
// shared with ARP: three solicitations, one a second. Router Advertisements are ignored: routers are configured.

#include <string.h>

#include <rte_mbuf.h>

#include <tl_mcast.h>
#include <tl_port.h>

#include "arp_priv.h"
#include "net_priv.h"

#define NEIGHBOR_SOLICITATION 135
#define NEIGHBOR_ADVERTISEMENT 136

#define OPTION_SOURCE_MAC 1
#define OPTION_TARGET_MAC 2
#define OPTION_MAC_LEN 8

#define FLAG_SOLICITED 0x40
#define FLAG_OVERRIDE 0x20

#define HOP_LIMIT 255

// RFC 4861, section 10, and RFC 4862, section 5.1.
#define RETRANS_NS TL_NS_PER_S
#define REACHABLE_NS (30 * TL_NS_PER_S)
#define DELAY_FIRST_PROBE_NS (5 * TL_NS_PER_S)
#define ADVERTISEMENTS 3
#define DAD_SOLICITATIONS 1

// Solicitations and advertisements (sections 4.3 and 4.4).
struct nd_message {
	uint8_t type, code;
	uint16_t cksum_be;
	uint8_t flags, reserved[3];
	struct tl_ip6 target;
	uint8_t option, option_len; // length in units of 8 bytes
	uint8_t mac[TL_ETHER_ADDR_LEN];
} __attribute__((packed));

#define ND_BARE_LEN offsetof(struct nd_message, option)

static const struct tl_ip6 NONE;
static const struct tl_ip6 ALL_NODES = {{0xff, 0x02, [15] = 1}};

// ---- output

// Build a message, with our MAC as option unless src is unspecified. NULL: no mbuf.
static struct rte_mbuf *make(struct tl_net *net, uint8_t type, uint8_t flags, const struct tl_ip6 *src,
	const struct tl_ip6 *dst, const struct tl_ip6 *target)
{
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return NULL;
	uint16_t len = tl_ip6_is_set(src) ? sizeof(struct nd_message) : ND_BARE_LEN;
	const struct tl_ip6_packet packet = {src, dst, TL_IPPROTO_ICMP6, HOP_LIMIT, len};
	struct nd_message nd = {
		.type = type,
		.flags = flags,
		.target = *target,
		.option = type == NEIGHBOR_SOLICITATION ? OPTION_SOURCE_MAC : OPTION_TARGET_MAC,
		.option_len = 1,
	};
	uint8_t *at = tl_ip6_build(net, m, &packet);

	memcpy(nd.mac, net->cfg.mac, sizeof(nd.mac));
	memcpy(at, &nd, len);
	tl_icmp6_finish((const struct tl_ipv6_hdr *)(at - TL_IPV6_LEN), at, len);
	tl_count(type == NEIGHBOR_SOLICITATION ? &net->stats.nd_solicitations_tx : &net->stats.nd_advertisements_tx, 1);
	return m;
}

static void push_to(struct tl_net *net, struct rte_mbuf *m, const uint8_t *mac)
{
	memcpy(rte_pktmbuf_mtod(m, struct tl_ether_hdr *)->dst, mac, TL_ETHER_ADDR_LEN);
	tl_net_push(net, m);
}

static void advertise(struct tl_net *net, const struct tl_ip6_own *own)
{
	if (net->cfg.is_follower)
		return;
	struct rte_mbuf *m = make(net, NEIGHBOR_ADVERTISEMENT, FLAG_OVERRIDE, &own->ip, &ALL_NODES, &own->ip);
	if (m != NULL)
		tl_ip6_push_group(net, m, &ALL_NODES);
}

static void try_address(struct tl_net *net, const struct tl_ip6_own *own)
{
	if (net->cfg.is_follower)
		return;
	struct rte_mbuf *m = make(net, NEIGHBOR_SOLICITATION, 0, &NONE, &own->solicited, &own->ip);
	if (m != NULL)
		tl_ip6_push_group(net, m, &own->solicited);
}

void tl_nd_solicit(struct tl_net *net, uint32_t target_be, const uint8_t *mac)
{
	const struct tl_ip6 *target = tl_ip6_of(&net->ip6->book, target_be);
	struct tl_ip6 solicited = {{0xff, 0x02, [11] = 1, [12] = 0xff}};

	memcpy(solicited.byte + 13, target->byte + 13, 3);
	struct rte_mbuf *m = make(net, NEIGHBOR_SOLICITATION, 0, &tl_ip6_source(net, target_be)->ip,
		mac != NULL ? target : &solicited, target);
	if (m == NULL)
		return;
	if (mac != NULL)
		push_to(net, m, mac);
	else
		tl_ip6_push_group(net, m, &solicited);
}

// ---- own addresses

static void lose(struct tl_net *net, struct tl_ip6_own *own)
{
	own->state = TL_IP6_DUPLICATE;
	own->left = 0;
	if (!net->cfg.is_follower)
		tl_count(&net->stats.nd_duplicate_addresses, 1);
}

// Handle another host's claim to an address of ours. A tentative address is given up (RFC 4862, section 5.4.5); a valid
// one stays.
static void conflict(struct tl_net *net, struct tl_ip6_own *own)
{
	if (!net->cfg.is_follower)
		tl_count(&net->stats.nd_conflicts_pkts, 1);
	if (own->state == TL_IP6_TENTATIVE)
		lose(net, own);
}

void tl_nd_announce(struct tl_net *net)
{
	if (net->ip6 == NULL)
		return;
	for (unsigned i = 0; i < TL_ARRAY_LEN(net->ip6->own); i++) {
		struct tl_ip6_own *own = &net->ip6->own[i];
		if (own->state == TL_IP6_NONE)
			continue;
		uint32_t solicited_be = tl_net_ip6(net, &own->solicited);
		if (!net->cfg.is_follower) // followers receive through the first's group membership
			(void)tl_mcast_join(net->ip6->mld, solicited_be, 0, net->now_ns);
		own->left = DAD_SOLICITATIONS;
		own->due_ns = net->now_ns;
	}
	net->ip6->deadline_ns = net->now_ns;
}

void tl_nd_announce_again(struct tl_net *net)
{
	if (net->ip6 == NULL)
		return;
	for (unsigned i = 0; i < TL_ARRAY_LEN(net->ip6->own); i++) {
		struct tl_ip6_own *own = &net->ip6->own[i];
		if (own->state != TL_IP6_VALID)
			continue;
		own->left = ADVERTISEMENTS;
		own->due_ns = net->now_ns;
	}
	net->ip6->deadline_ns = net->now_ns;
}

static void own_tick(struct tl_net *net, struct tl_ip6_own *own)
{
	if (own->state == TL_IP6_TENTATIVE && own->left == 0) {
		own->state = TL_IP6_VALID;
		own->left = ADVERTISEMENTS;
		if (tl_ip6_is_link_local(&own->ip)) // routers need reports from it
			tl_mcast_report_again(net->ip6->mld, net->now_ns);
	}
	if (own->left == 0)
		return;
	own->left--;
	own->due_ns = net->now_ns + RETRANS_NS;
	if (own->state == TL_IP6_VALID)
		advertise(net, own);
	else
		try_address(net, own);
}

static bool is_waiting(const struct tl_ip6_own *own)
{
	return own->state == TL_IP6_TENTATIVE || (own->state == TL_IP6_VALID && own->left > 0);
}

void tl_nd_tick(struct tl_net *net)
{
	struct tl_ip6_host *ip6 = net->ip6;

	if (net->now_ns < ip6->deadline_ns)
		return;
	ip6->deadline_ns = UINT64_MAX;
	for (unsigned i = 0; i < TL_ARRAY_LEN(ip6->own); i++) {
		struct tl_ip6_own *own = &ip6->own[i];
		if (is_waiting(own) && net->now_ns >= own->due_ns)
			own_tick(net, own);
		if (is_waiting(own))
			ip6->deadline_ns = tl_min_u64(ip6->deadline_ns, own->due_ns);
	}
}

// ---- input

// A received message and its options.
struct heard {
	const struct tl_ipv6_hdr *ip;
	const uint8_t *from; // source MAC of the frame
	struct nd_message nd;
	const uint8_t *mac; // link-layer address option; NULL: none
};

// Parse the options. False: invalid (sections 7.1.1 and 7.1.2).
static bool read_options(const uint8_t *option, uint16_t left, uint8_t wanted, struct heard *heard)
{
	while (left > 0) {
		if (left < OPTION_MAC_LEN || option[1] == 0 || option[1] * 8 > left)
			return false;
		if (option[0] == wanted && option[1] == 1)
			heard->mac = option + 2;
		left -= option[1] * 8;
		option += option[1] * 8;
	}
	return heard->mac == NULL || (heard->mac[0] & 1) == 0;
}

static bool read_message(const uint8_t *frame, const struct tl_pkt *pkt, struct heard *heard)
{
	const uint8_t *message = frame + pkt->l4_off;
	uint16_t len = TL_ICMP_LEN + pkt->payload_len;

	*heard = (struct heard){.ip = tl_wire_ip6(frame, pkt), .from = frame + TL_ETHER_ADDR_LEN};
	if (len < ND_BARE_LEN || heard->ip->hop_limit != HOP_LIMIT || message[1] != 0)
		return false;
	memcpy(&heard->nd, message, ND_BARE_LEN);
	uint8_t wanted = heard->nd.type == NEIGHBOR_SOLICITATION ? OPTION_SOURCE_MAC : OPTION_TARGET_MAC;
	return !tl_ip6_is_mcast(&heard->nd.target) &&
	       read_options(message + ND_BARE_LEN, len - ND_BARE_LEN, wanted, heard);
}

// Store the MAC of a host that solicits us (section 7.2.3).
static void learn(struct tl_net *net, const struct heard *heard, uint32_t src_be)
{
	if (heard->mac == NULL || tl_ip_next_hop_be(net, src_be) != src_be)
		return;
	struct tl_arp_entry *e = tl_arp_learn(net, src_be);
	if (e != NULL && (e->state != TL_ARP_RESOLVED || memcmp(e->mac, heard->mac, sizeof(e->mac)) != 0))
		tl_arp_confirm(net, e, heard->mac, DELAY_FIRST_PROBE_NS);
}

static void solicited(struct tl_net *net, const struct heard *heard, uint32_t src_be)
{
	struct tl_ip6_own *own = tl_ip6_find_own(net, &heard->nd.target);
	bool tries = !tl_ip6_is_set(&heard->ip->src); // duplicate address detection

	if (own == NULL || (tries && heard->mac != NULL))
		return;
	if (own->state != TL_IP6_VALID) {
		if (tries && own->state == TL_IP6_TENTATIVE)
			conflict(net, own);
		return;
	}
	if (!tries)
		learn(net, heard, src_be);
	if (net->cfg.is_follower)
		return;
	if (tries) {
		tl_count(&net->stats.nd_conflicts_pkts, 1);
		advertise(net, own);
		return;
	}
	struct rte_mbuf *m =
		make(net, NEIGHBOR_ADVERTISEMENT, FLAG_SOLICITED | FLAG_OVERRIDE, &own->ip, &heard->ip->src, &own->ip);
	if (m != NULL)
		push_to(net, m, heard->mac != NULL ? heard->mac : heard->from);
}

// Update a resolved entry (section 7.2.5).
static void update(struct tl_net *net, struct tl_arp_entry *e, const struct heard *heard)
{
	uint8_t flags = heard->nd.flags;
	uint8_t known[TL_ETHER_ADDR_LEN];

	memcpy(known, e->mac, sizeof(known));
	bool other = heard->mac != NULL && memcmp(known, heard->mac, sizeof(known)) != 0;
	if (other && (flags & FLAG_OVERRIDE) == 0) // conflicting: ask
		tl_arp_confirm(net, e, known, DELAY_FIRST_PROBE_NS);
	else if ((flags & FLAG_SOLICITED) != 0)
		tl_arp_confirm(net, e, other ? heard->mac : known, REACHABLE_NS);
	else if (other)
		tl_arp_confirm(net, e, heard->mac, DELAY_FIRST_PROBE_NS);
}

static void advertised(struct tl_net *net, const struct heard *heard)
{
	bool is_answer = (heard->nd.flags & FLAG_SOLICITED) != 0;
	struct tl_ip6_own *own = tl_ip6_find_own(net, &heard->nd.target);
	uint32_t target_be = tl_ip6_find(&net->ip6->book, &heard->nd.target);

	if (is_answer && tl_ip6_is_mcast(&heard->ip->dst))
		return;
	if (own != NULL) {
		conflict(net, own);
		return;
	}
	struct tl_arp_entry *e = target_be != 0 ? tl_arp_find(net->arp, target_be) : NULL;
	if (e == NULL)
		return;
	if (e->state == TL_ARP_RESOLVED)
		update(net, e, heard);
	else if (heard->mac != NULL)
		tl_arp_confirm(net, e, heard->mac, is_answer ? REACHABLE_NS : DELAY_FIRST_PROBE_NS);
}

void tl_nd_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct heard heard;

	if (!read_message(frame, pkt, &heard))
		return;
	if (heard.nd.type == NEIGHBOR_SOLICITATION)
		solicited(net, &heard, pkt->src_be);
	else if (heard.nd.type == NEIGHBOR_ADVERTISEMENT)
		advertised(net, &heard);
}

void tl_nd_confirm(struct tl_net *net, uint32_t dst_be)
{
	struct tl_arp_entry *e = tl_arp_find(net->arp, tl_ip_next_hop_be(net, dst_be));

	if (e == NULL || e->state != TL_ARP_RESOLVED)
		return;
	e->asked = 0;
	e->deadline_ns = net->now_ns + REACHABLE_NS; // the wheel wakes earlier and checks again
}
