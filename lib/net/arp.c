// SPDX-License-Identifier: BSD-3-Clause
// ARP (RFC 826): asks, answers, remembers, and defends our address (RFC 5227). The memory is that of IPv6, too.

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <tl_port.h>

#include "arp_priv.h"
#include "net_priv.h"

#define ARP_REQUEST 1
#define ARP_REPLY 2
#define ARP_HW_ETHER 1

#define ARP_MAX_ASKED 3
#define ARP_ASK_INTERVAL_NS TL_NS_PER_S
#define ARP_FRESH_NS (57 * TL_NS_PER_S) // then three requests, one a second: expires after 60 s

#define ARP_ANNOUNCE_NUM 2 // RFC 5227, section 1.1, as are the next two
#define ARP_ANNOUNCE_INTERVAL_NS (2 * TL_NS_PER_S)
#define ARP_DEFEND_INTERVAL_NS (10 * TL_NS_PER_S)

static const uint8_t ETHER_BROADCAST[TL_ETHER_ADDR_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t ETHER_UNKNOWN[TL_ETHER_ADDR_LEN];

int tl_arp_init(struct tl_net *net)
{
	net->arp = rte_zmalloc_socket("tl_arp", sizeof(*net->arp), TL_CACHE_LINE, net->cfg.socket_id);
	if (net->arp == NULL)
		return -ENOMEM;
	net->arp->next_deadline_ns = UINT64_MAX;
	return 0;
}

void tl_arp_fini(struct tl_net *net)
{
	if (net->arp == NULL)
		return;
	for (unsigned i = 0; i < TL_ARP_ENTRIES; i++)
		rte_pktmbuf_free(net->arp->entry[i].held);
	rte_free(net->arp);
	net->arp = NULL;
}

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

// Broadcast, or to the one host (a unicast poll, RFC 1122 section 2.3.2.1).
static void send_request(struct tl_net *net, const uint8_t *ether_dst, uint32_t target_ip_be)
{
	if (send_arp(net, ARP_REQUEST, ether_dst, ETHER_UNKNOWN, target_ip_be))
		tl_count(&net->stats.arp_requests_tx, 1);
}

// RFC 5227, section 1.1: a request for our own address.
static void send_announcement(struct tl_net *net)
{
	send_request(net, ETHER_BROADCAST, net->cfg.ip_be);
}

// ---- the table

static void wake_at(struct tl_arp_table *table, uint64_t deadline_ns)
{
	table->next_deadline_ns = tl_min_u64(table->next_deadline_ns, deadline_ns);
}

static void set_deadline(struct tl_net *net, struct tl_arp_entry *e, uint64_t from_now_ns)
{
	e->deadline_ns = net->now_ns + from_now_ns;
	wake_at(net->arp, e->deadline_ns);
}

static void drop_held(struct tl_net *net, struct tl_arp_entry *e)
{
	if (e->held == NULL)
		return;
	rte_pktmbuf_free(e->held);
	e->held = NULL;
	tl_count(&net->stats.arp_unresolved_pkts, 1);
}

static void remove_entry(struct tl_net *net, struct tl_arp_entry *e)
{
	struct tl_arp_entry **link = tl_arp_bucket(net->arp, e->ip_be);

	while (*link != e)
		link = &(*link)->next;
	*link = e->next;
	if (e->state == TL_ARP_RESOLVED)
		net->arp_generation++;
	drop_held(net, e);
	if (tl_ip_is6(e->ip_be))
		tl_ip6_unref(&net->ip6->book, e->ip_be);
	*e = (struct tl_arp_entry){.state = TL_ARP_FREE};
}

static struct tl_arp_entry *free_entry(struct tl_arp_table *table)
{
	for (unsigned i = 0; i < TL_ARP_ENTRIES; i++) {
		if (table->entry[i].state == TL_ARP_FREE)
			return &table->entry[i];
	}
	return NULL;
}

static struct tl_arp_entry *evict_least_used(struct tl_net *net)
{
	struct tl_arp_entry *oldest = &net->arp->entry[0];

	for (unsigned i = 1; i < TL_ARP_ENTRIES; i++) {
		if (net->arp->entry[i].used_ns < oldest->used_ns)
			oldest = &net->arp->entry[i];
	}
	remove_entry(net, oldest);
	return oldest;
}

static void insert(struct tl_net *net, struct tl_arp_entry *e, uint32_t ip_be)
{
	struct tl_arp_entry **bucket = tl_arp_bucket(net->arp, ip_be);

	if (tl_ip_is6(ip_be))
		tl_ip6_ref(&net->ip6->book, ip_be);
	*e = (struct tl_arp_entry){.next = *bucket, .ip_be = ip_be, .state = TL_ARP_PENDING};
	*bucket = e;
}

void tl_arp_confirm(struct tl_net *net, struct tl_arp_entry *e, const uint8_t *mac, uint64_t fresh_ns)
{
	if (e->state == TL_ARP_RESOLVED && memcmp(e->mac, mac, sizeof(e->mac)) != 0)
		net->arp_generation++;
	memcpy(e->mac, mac, sizeof(e->mac));
	e->state = TL_ARP_RESOLVED;
	e->asked = 0;
	set_deadline(net, e, fresh_ns);
	if (e->held != NULL) {
		struct rte_mbuf *m = e->held;
		e->held = NULL;
		memcpy(rte_pktmbuf_mtod(m, struct tl_ether_hdr *)->dst, mac, TL_ETHER_ADDR_LEN);
		tl_net_push(net, m);
	}
}

struct tl_arp_entry *tl_arp_learn(struct tl_net *net, uint32_t ip_be)
{
	struct tl_arp_entry *e = tl_arp_find(net->arp, ip_be);

	if (e == NULL) {
		e = free_entry(net->arp);
		if (e != NULL)
			insert(net, e, ip_be);
	}
	return e;
}

static void ask(struct tl_net *net, struct tl_arp_entry *e)
{
	const uint8_t *mac = e->state == TL_ARP_RESOLVED ? e->mac : NULL;

	e->asked++;
	set_deadline(net, e, ARP_ASK_INTERVAL_NS);
	if (mac != NULL && !e->wanted)
		return;
	if (tl_ip_is6(e->ip_be))
		tl_nd_solicit(net, e->ip_be, mac);
	else
		send_request(net, mac != NULL ? mac : ETHER_BROADCAST, e->ip_be);
}

// The entry of next_hop_be; one that was not there is asked for.
static struct tl_arp_entry *want(struct tl_net *net, uint32_t next_hop_be)
{
	struct tl_arp_entry *e = tl_arp_find(net->arp, next_hop_be);

	if (e != NULL)
		return e;
	e = free_entry(net->arp);
	if (e == NULL)
		e = evict_least_used(net);
	insert(net, e, next_hop_be);
	e->wanted = true;
	ask(net, e);
	return e;
}

int tl_net_resolve(struct tl_net *net, uint32_t dst_ip_be)
{
	uint32_t next_hop_be = tl_ip_next_hop_be(net, dst_ip_be);

	if (next_hop_be == 0)
		return -EHOSTUNREACH;
	return want(net, next_hop_be)->state == TL_ARP_RESOLVED ? 0 : -EAGAIN;
}

void tl_arp_hold(struct tl_net *net, uint32_t next_hop_be, struct rte_mbuf *m)
{
	struct tl_arp_entry *e = want(net, next_hop_be);

	drop_held(net, e);
	e->held = m;
	e->used_ns = net->now_ns;
}

// ---- what others say

// RFC 5227, section 2.4 (c): keep the address, and say so at most every ten seconds.
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

// RFC 826: refresh who is known; remember who asks for us, but throw nobody out for a stranger.
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
		return;			  // nobody's, or our own coming back
	if (tl_ip_is6(arp->sender_ip_be)) // not an address, but what stands for one of IPv6
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

// ---- time

static void announce_once(struct tl_net *net)
{
	struct tl_arp_table *table = net->arp;

	table->announce_left--;
	send_announcement(net);
	if (table->announce_left > 0) {
		table->announce_ns = net->now_ns + ARP_ANNOUNCE_INTERVAL_NS;
		wake_at(table, table->announce_ns);
	}
}

void tl_arp_announce(struct tl_net *net)
{
	if (net->cfg.is_follower || net->cfg.ip_be == 0)
		return;
	net->arp->announce_left = ARP_ANNOUNCE_NUM;
	announce_once(net);
}

static void give_up(struct tl_net *net, struct tl_arp_entry *e)
{
	uint32_t ip_be = e->ip_be;
	bool never_answered = e->state == TL_ARP_PENDING;

	remove_entry(net, e); // first: TCP may ask for the same neighbour again
	if (never_answered)
		tl_tcp_arp_failed(net, ip_be);
}

static void entry_tick(struct tl_net *net, struct tl_arp_entry *e)
{
	if (net->now_ns < e->deadline_ns)
		wake_at(net->arp, e->deadline_ns);
	else if (e->asked < ARP_MAX_ASKED)
		ask(net, e);
	else
		give_up(net, e);
}

void tl_arp_tick(struct tl_net *net)
{
	struct tl_arp_table *table = net->arp;

	if (net->now_ns < table->next_deadline_ns)
		return;
	table->next_deadline_ns = UINT64_MAX;
	if (table->announce_left > 0 && net->now_ns >= table->announce_ns)
		announce_once(net);
	else if (table->announce_left > 0)
		wake_at(table, table->announce_ns);
	for (unsigned i = 0; i < TL_ARP_ENTRIES; i++) {
		if (table->entry[i].state != TL_ARP_FREE)
			entry_tick(net, &table->entry[i]);
	}
}
