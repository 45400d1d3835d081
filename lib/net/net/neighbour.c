// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table: insertion, pinning, refresh and expiry of entries. Input comes from ARP and neighbour discovery.

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <tl_port.h>

#include "arp_priv.h"
#include "net_priv.h"

#define MAX_ASKED 3
#define ASK_INTERVAL_NS TL_NS_PER_S
#define PENDING_SHARE 4 // unanswered entries may evict answered ones up to 1/4 of the table

#define HELD_POOL_SHARE 4 // 1/4 of the mbufs, of all stacks that share the pool, may wait for MACs

// ---- memory

static void *zalloc(const struct tl_net *net, size_t bytes)
{
	return rte_zmalloc_socket("tl_arp", bytes, TL_CACHE_LINE, net->cfg.socket_id);
}

static int alloc_parts(const struct tl_net *net, struct tl_arp_table *table, uint32_t entries)
{
	uint8_t bits = 1;

	while (UINT32_C(1) << bits < entries)
		bits++;
	table->bucket_shift = 32 - bits;
	table->bucket = zalloc(net, sizeof(table->bucket[0]) << bits);
	table->due.node = zalloc(net, entries * sizeof(table->due.node[0]));
	table->due.place = zalloc(net, entries * sizeof(table->due.place[0]));
	return table->bucket != NULL && table->due.node != NULL && table->due.place != NULL ? 0 : -ENOMEM;
}

int tl_arp_init(struct tl_net *net)
{
	uint32_t entries = net->cfg.neighbour_entries;
	struct tl_arp_table *table = zalloc(net, sizeof(*table) + entries * sizeof(table->entry[0]));

	if (table == NULL)
		return -ENOMEM;
	net->arp = table;
	table->held_max = tl_net_pool_part(net, HELD_POOL_SHARE);
	TAILQ_INIT(&table->free);
	TAILQ_INIT(&table->pending);
	TAILQ_INIT(&table->resolved);
	TAILQ_INIT(&table->kept);
	for (uint32_t i = 0; i < entries; i++) {
		table->entry[i].queue = &table->free;
		TAILQ_INSERT_TAIL(&table->free, &table->entry[i], link);
	}
	return alloc_parts(net, table, entries);
}

void tl_arp_fini(struct tl_net *net)
{
	struct tl_arp_table *table = net->arp;

	if (table == NULL)
		return;
	for (uint32_t i = 0; i < net->cfg.neighbour_entries; i++)
		rte_pktmbuf_free(table->entry[i].held);
	rte_free(table->bucket);
	rte_free(table->due.node);
	rte_free(table->due.place);
	rte_free(table);
	net->arp = NULL;
}

// ---- queues

static struct tl_arp_queue *queue_for(struct tl_net *net, const struct tl_arp_entry *e)
{
	struct tl_arp_table *table = net->arp;

	if (e->state == TL_ARP_FREE)
		return &table->free;
	if (e->users > 0 || e->is_static || tl_ip_is_gateway(net, e->ip_be))
		return &table->kept;
	return e->state == TL_ARP_PENDING ? &table->pending : &table->resolved;
}

// Move to the end of its queue, after a change or use.
static void requeue(struct tl_net *net, struct tl_arp_entry *e)
{
	struct tl_arp_table *table = net->arp;

	TAILQ_REMOVE(e->queue, e, link);
	table->n_pending -= e->queue == &table->pending;
	e->queue = queue_for(net, e);
	table->n_pending += e->queue == &table->pending;
	TAILQ_INSERT_TAIL(e->queue, e, link);
}

static void set_deadline(struct tl_net *net, struct tl_arp_entry *e, uint64_t deadline_ns)
{
	e->deadline_ns = deadline_ns;
	tl_heap_set(&net->arp->due, (uint32_t)(e - net->arp->entry), deadline_ns);
}

static struct rte_mbuf *take_held(struct tl_net *net, struct tl_arp_entry *e)
{
	struct rte_mbuf *m = e->held;

	e->held = NULL;
	net->arp->n_held -= m != NULL;
	return m;
}

static void drop_held(struct tl_net *net, struct tl_arp_entry *e)
{
	struct rte_mbuf *m = take_held(net, e);

	if (m == NULL)
		return;
	tl_udp_held_ends(net, m, false);
	rte_pktmbuf_free(m);
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
	set_deadline(net, e, TL_ARP_NO_DEADLINE);
	if (tl_ip_is6(e->ip_be))
		tl_ip6_unref(&net->ip6->book, e->ip_be);
	e->state = TL_ARP_FREE;
	requeue(net, e);
}

// Insert an entry into a free slot, or evict the first of replaceable. NULL: neither.
static struct tl_arp_entry *insert(struct tl_net *net, uint32_t ip_be, struct tl_arp_queue *replaceable)
{
	struct tl_arp_table *table = net->arp;
	struct tl_arp_entry **bucket = tl_arp_bucket(table, ip_be);

	if (TAILQ_EMPTY(&table->free) && !TAILQ_EMPTY(replaceable))
		remove_entry(net, TAILQ_FIRST(replaceable));
	struct tl_arp_entry *e = TAILQ_FIRST(&table->free);
	if (e == NULL)
		return NULL;
	if (tl_ip_is6(ip_be))
		tl_ip6_ref(&net->ip6->book, ip_be);
	*e = (struct tl_arp_entry){.next = *bucket,
		.queue = e->queue,
		.link = e->link,
		.ip_be = ip_be,
		.state = TL_ARP_PENDING,
		.deadline_ns = TL_ARP_NO_DEADLINE};
	*bucket = e;
	requeue(net, e);
	return e;
}

// ---- answers

static void resolve(struct tl_net *net, struct tl_arp_entry *e, const uint8_t *mac)
{
	memcpy(e->mac, mac, sizeof(e->mac));
	e->state = TL_ARP_RESOLVED;
	requeue(net, e);
}

void tl_arp_confirm(struct tl_net *net, struct tl_arp_entry *e, const uint8_t *mac, uint64_t fresh_ns)
{
	if (e->is_static)
		return;
	if (e->state != TL_ARP_RESOLVED)
		resolve(net, e, mac);
	if (memcmp(e->mac, mac, sizeof(e->mac)) != 0)
		net->arp_generation++;
	memcpy(e->mac, mac, sizeof(e->mac));
	e->asked = 0;
	set_deadline(net, e, net->now_ns + fresh_ns);
	struct rte_mbuf *m = take_held(net, e);
	if (m != NULL) {
		memcpy(rte_pktmbuf_mtod(m, struct tl_ether_hdr *)->dst, mac, TL_ETHER_ADDR_LEN);
		tl_udp_held_ends(net, m, true);
		tl_net_push(net, m);
	}
}

struct tl_arp_entry *tl_arp_learn(struct tl_net *net, uint32_t ip_be)
{
	struct tl_arp_entry *e = tl_arp_find(net->arp, ip_be);

	return e != NULL ? e : insert(net, ip_be, &net->arp->pending);
}

static uint32_t number_of(struct tl_net *net, const struct tl_net_neighbour *n)
{
	return tl_ip6_is_set(&n->ip6) ? tl_net_ip6(net, &n->ip6) : n->ip_be;
}

int tl_arp_add_static(struct tl_net *net)
{
	for (uint32_t i = 0; i < net->cfg.n_neighbours; i++) {
		const struct tl_net_neighbour *n = &net->cfg.neighbours[i];
		uint32_t ip_be = number_of(net, n);
		struct tl_arp_entry *e = ip_be != 0 ? tl_arp_learn(net, ip_be) : NULL;
		if (e == NULL)
			return -ENOSPC;
		e->is_static = true;
		resolve(net, e, n->mac);
	}
	return 0;
}

// ---- requests

static void ask(struct tl_net *net, struct tl_arp_entry *e)
{
	const uint8_t *mac = e->state == TL_ARP_RESOLVED ? e->mac : NULL;

	e->asked++;
	set_deadline(net, e, net->now_ns + ASK_INTERVAL_NS);
	if (mac != NULL && !e->wanted && e->users == 0)
		return;
	if (tl_ip_is6(e->ip_be))
		tl_nd_solicit(net, e->ip_be, mac);
	else
		tl_arp_request(net, e->ip_be, mac);
}

// Return the entry of next_hop_be, inserted and asked for if needed. NULL: all entries are kept.
static struct tl_arp_entry *want(struct tl_net *net, uint32_t next_hop_be)
{
	struct tl_arp_table *table = net->arp;
	struct tl_arp_entry *e = tl_arp_find(table, next_hop_be);
	bool many_wait =
		table->n_pending >= net->cfg.neighbour_entries / PENDING_SHARE || TAILQ_EMPTY(&table->resolved);

	if (e == NULL)
		e = insert(net, next_hop_be, many_wait ? &table->pending : &table->resolved);
	if (e == NULL)
		return NULL;
	e->wanted = true;
	if (e->state == TL_ARP_PENDING && e->deadline_ns == TL_ARP_NO_DEADLINE)
		ask(net, e);
	return e;
}

int tl_net_resolve(struct tl_net *net, uint32_t dst_ip_be)
{
	uint32_t next_hop_be = tl_ip_next_hop_be(net, dst_ip_be);

	if (next_hop_be == 0)
		return -EHOSTUNREACH;
	const struct tl_arp_entry *e = want(net, next_hop_be);
	return e != NULL && e->state == TL_ARP_RESOLVED ? 0 : -EAGAIN;
}

void tl_arp_hold(struct tl_net *net, uint32_t next_hop_be, struct rte_mbuf *m)
{
	struct tl_arp_table *table = net->arp;
	struct tl_arp_entry *e = want(net, next_hop_be);

	if (e != NULL)
		drop_held(net, e);
	if (e == NULL || table->n_held == table->held_max) {
		tl_count(&net->stats.arp_table_full_pkts, 1);
		tl_udp_held_ends(net, m, false);
		rte_pktmbuf_free(m);
		return;
	}
	e->held = m;
	table->n_held++;
}

uint32_t tl_arp_use(struct tl_net *net, uint32_t dst_be)
{
	uint32_t next_hop_be = tl_ip_next_hop_be(net, dst_be);
	struct tl_arp_entry *e = next_hop_be != 0 ? want(net, next_hop_be) : NULL;

	if (e == NULL)
		return 0;
	e->users++;
	requeue(net, e);
	return next_hop_be;
}

void tl_arp_unuse(struct tl_net *net, uint32_t next_hop_be)
{
	struct tl_arp_entry *e = next_hop_be != 0 ? tl_arp_find(net->arp, next_hop_be) : NULL;

	if (e == NULL || --e->users > 0)
		return;
	if (e->state == TL_ARP_PENDING && e->deadline_ns == TL_ARP_NO_DEADLINE && !tl_ip_is_gateway(net, e->ip_be))
		remove_entry(net, e);
	else
		requeue(net, e);
}

// ---- timers

// Expire an entry after three unanswered requests. A kept entry stays without a MAC.
static void give_up(struct tl_net *net, struct tl_arp_entry *e)
{
	uint32_t ip_be = e->ip_be;
	bool never_answered = e->state == TL_ARP_PENDING;

	if (e->queue == &net->arp->kept) {
		net->arp_generation += !never_answered;
		e->state = TL_ARP_PENDING;
		e->asked = 0;
		drop_held(net, e);
		set_deadline(net, e, TL_ARP_NO_DEADLINE);
	} else {
		remove_entry(net, e); // first: TCP may ask for the same neighbour again
	}
	if (never_answered)
		tl_tcp_arp_failed(net, ip_be);
}

static void entry_tick(struct tl_net *net, struct tl_arp_entry *e)
{
	if (net->now_ns < e->deadline_ns) // postponed
		set_deadline(net, e, e->deadline_ns);
	else if (e->asked < MAX_ASKED)
		ask(net, e);
	else
		give_up(net, e);
}

static __attribute__((noinline)) void run_due(struct tl_net *net)
{
	struct tl_arp_table *table = net->arp;

	while (tl_heap_due(&table->due) <= net->now_ns)
		entry_tick(net, &table->entry[tl_heap_first(&table->due)]);
}

void tl_arp_tick(struct tl_net *net)
{
	tl_arp_announce_tick(net);
	if (tl_heap_due(&net->arp->due) <= net->now_ns)
		run_due(net);
}
