// SPDX-License-Identifier: BSD-3-Clause
// The connections of a net: memory, demultiplexing, start and end.

#include <errno.h>

#include <rte_malloc.h>
#include <rte_mempool.h>

#include "tcp_lend.h"
#include "tcp_ooo.h"
#include "tcp_output.h"
#include "tcp_pace.h"
#include "tcp_secret.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

#define EPHEMERAL_FIRST 49152 // RFC 6335, section 6
#define EPHEMERAL_COUNT 16384

#define DEFAULT_WINDOW 65535
#define DEFAULT_CONNECT_TIMEOUT_MS 10000
#define DEFAULT_USER_TIMEOUT_MS 60000
#define DEFAULT_RTO_MIN_US 200000

#define CHAIN_MAX 16

#define HALF_OPEN_MAX 1024 // handshakes at once; at most half of max_conns

#define OOO_POOL_SHARE 4 // 1/4 of the mbufs, of all stacks that share the pool, may wait for gaps

// ---- memory

static void *zalloc(const struct tl_net *net, size_t bytes)
{
	return rte_zmalloc_socket("tl_tcp", bytes, TL_CACHE_LINE, net->cfg.socket_id);
}

static uint32_t bucket_count(uint32_t entries)
{
	uint32_t n = 16;

	while (n < 2 * entries)
		n *= 2;
	return n;
}

static void free_table(struct tl_tcp_table *table)
{
	rte_free(table->bucket);
	rte_free(table->bucket6);
	rte_free(table->listener);
	rte_free(table->listening);
	rte_free(table->conns);
	tl_tcp_lend_fini(table);
	rte_free(table->cookie_conn);
	rte_free(table);
}

static void init_slots(struct tl_net *net, uint32_t slots)
{
	struct tl_tcp_table *table = net->tcp;

	for (uint32_t i = 0; i < slots; i++) {
		struct tl_tcp *c = &table->conns[i];
		c->net = net;
		TAILQ_INSERT_TAIL(&table->idle, c, link);
	}
}

int tl_tcp_init(struct tl_net *net)
{
	uint32_t slots = net->cfg.max_conns + TL_TCP_SPARE;
	uint32_t buckets = bucket_count(net->cfg.max_conns), listening = bucket_count(net->cfg.listeners);
	uint32_t buckets6 = net->ip6 != NULL ? buckets : 1;
	struct tl_tcp_table *table = zalloc(net, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;

	table->bucket = zalloc(net, buckets * sizeof(table->bucket[0]));
	table->bucket6 = zalloc(net, buckets6 * sizeof(table->bucket6[0]));
	table->conns = zalloc(net, slots * sizeof(table->conns[0]));
	table->listener = zalloc(net, net->cfg.listeners * sizeof(table->listener[0]));
	table->listening = zalloc(net, listening * sizeof(struct tl_tcp_listener *));
	table->listening_mask = listening - 1;
	table->cookie_conn = zalloc(net, sizeof(*table->cookie_conn));
	table->ooo_max = tl_net_pool_part(net, OOO_POOL_SHARE);
	net->tcp = table;
	if (table->bucket == NULL || table->bucket6 == NULL || table->conns == NULL || table->cookie_conn == NULL ||
		table->listener == NULL || table->listening == NULL || tl_tcp_lend_init(net, slots) != 0) {
		free_table(table);
		net->tcp = NULL;
		return -ENOMEM;
	}
	int rc = tl_net_secret(net, (uint64_t *)&table->secrets, sizeof(table->secrets) / sizeof(uint64_t));
	if (rc != 0) {
		free_table(table);
		net->tcp = NULL;
		return rc;
	}
	table->bucket_mask = buckets - 1;
	table->bucket6_mask = buckets6 - 1;
	tl_wheel_init(&table->paced, 0);
	TAILQ_INIT(&table->pending);
	table->half_open_max = tl_min_u32((net->cfg.max_conns + 1) / 2, HALF_OPEN_MAX);
	TAILQ_INIT(&table->idle);
	TAILQ_INIT(&table->half_open);
	TAILQ_INIT(&table->connecting);
	TAILQ_INIT(&table->dead);
	TAILQ_INIT(&table->time_wait);
	init_slots(net, slots);
	return 0;
}

void tl_tcp_fini(struct tl_net *net)
{
	struct tl_tcp_table *table = net->tcp;

	if (table == NULL)
		return;
	table->closing = true;
	net->n_notes = 0; // notes of connections about to end
	tl_tcp_enter(table);
	for (uint32_t i = 0; i < net->cfg.max_conns + TL_TCP_SPARE; i++) {
		if (table->conns[i].state != TL_TCPS_CLOSED)
			tl_tcp_end(&table->conns[i], TL_TCP_ABORTED);
	}
	free_table(table);
	net->tcp = NULL;
}

// ---- demultiplexing

// An address without an entry, as in a report by ICMP, is that of no connection.
struct tl_tcp **tl_tcp_bucket_of6(const struct tl_net *net, struct tl_tcp_key key)
{
	struct tl_ip6 peer = {0};

	(void)tl_net_ip6_of(net, key.peer_be, &peer);
	return tl_tcp_bucket6(net->tcp, &peer, tl_tcp_key_ports_be(&key));
}

static void unlink_key(struct tl_tcp *c)
{
	struct tl_tcp **link = tl_tcp_bucket(c->net, c->key);

	while (*link != c)
		link = &(*link)->hash_next;
	*link = c->hash_next;
}

// Bound the length of a hash chain, and so the cost per segment. With two chains per connection and a keyed hash the
// limit is not reached.
static bool chain_is_full(const struct tl_net *net, struct tl_tcp_key key)
{
	unsigned n = 0;

	for (const struct tl_tcp *c = *tl_tcp_bucket(net, key); c != NULL; c = c->hash_next)
		n++;
	return n >= CHAIN_MAX;
}

struct tl_tcp_listener *tl_tcp_find_listener(struct tl_tcp_table *table, uint16_t port_be)
{
	struct tl_tcp_listener *l = *tl_tcp_listening(table, port_be);

	while (l != NULL && l->port_be != port_be)
		l = l->next;
	return l;
}

static bool may_connect(const struct tl_net *net, uint32_t peer_be, uint16_t peer_port_be, uint16_t port_be)
{
	const struct tl_net_cfg *cfg = &net->cfg;

	return cfg->may_connect == NULL || cfg->may_connect(cfg->may_connect_ctx, peer_be, peer_port_be, port_be);
}

// RFC 6056, section 3.3.1: a random start, then the next that is free.
uint16_t tl_tcp_local_port(struct tl_net *net, uint32_t peer_be, uint16_t peer_port_be)
{
	uint32_t start = (uint32_t)tl_tcp_hash(net->tcp->secrets.port, net->tcp->ports_drawn++);

	for (uint32_t i = 0; i < EPHEMERAL_COUNT; i++) {
		uint16_t port_be = tl_be16((uint16_t)(EPHEMERAL_FIRST + (start + i) % EPHEMERAL_COUNT));
		if (tl_tcp_find(net, tl_tcp_key(peer_be, peer_port_be, port_be)) == NULL &&
			may_connect(net, peer_be, peer_port_be, port_be))
			return port_be;
	}
	return 0;
}

// ---- start

static uint8_t scale_for(uint32_t window)
{
	uint8_t scale = 0;

	while (window >> scale > UINT16_MAX)
		scale++;
	return scale;
}

static void take_opts(struct tl_tcp *c, const struct tl_tcp_opts *opts)
{
	const struct tl_net_cfg *cfg = &c->net->cfg;
	uint32_t window = opts->recv_window_bytes != 0 ? opts->recv_window_bytes : DEFAULT_WINDOW;
	uint32_t user_ms = opts->user_timeout_ms != 0 ? opts->user_timeout_ms : DEFAULT_USER_TIMEOUT_MS;
	uint32_t rto_us = opts->rto_min_us != 0 ? opts->rto_min_us : DEFAULT_RTO_MIN_US;

	c->send_limit = opts->send_buffer_bytes != 0 ? tl_min_u32(opts->send_buffer_bytes, cfg->send_buffer_bytes)
						     : cfg->send_buffer_bytes;
	c->follows_room = opts->window_follows_room;
	tl_tcp_set_recv_window(c, tl_min_u32(window, TL_TCP_MAX_WINDOW));
	c->own_buffer = opts->own_buffer;
	c->without_cwnd = opts->without_cwnd;
	c->rcv_scale = scale_for(c->recv_window);
	c->rto_min_ns = tl_min_u64(rto_us * TL_NS_PER_US, TL_TCP_RTO_MAX_NS);
	c->user_timeout_ns = user_ms * TL_NS_PER_MS;
	c->user_timeout_option = opts->user_timeout_option;
	c->keepalive_idle_ns = opts->keepalive_idle_ns;
	tl_tcp_pace_set(c, opts->pace_bps);
}

static struct tl_tcp *take_slot(struct tl_net *net)
{
	struct tl_tcp_table *table = net->tcp;

	if (table->closing)
		return NULL;
	if (table->live + table->waiting >= net->cfg.max_conns) {
		struct tl_tcp *oldest = TAILQ_FIRST(&table->time_wait);
		if (oldest == NULL)
			return NULL;
		tl_tcp_end(oldest, TL_TCP_DONE);
	}
	struct tl_tcp *c = TAILQ_FIRST(&table->idle);
	if (c != NULL)
		TAILQ_REMOVE(&table->idle, c, link);
	return c;
}

// Reset c; keep what belongs to the slot.
static void reset_slot(struct tl_tcp *c, struct tl_tcp_key key)
{
	*c = (struct tl_tcp){
		.key = key,
		.net = c->net,
		.is_ip6 = tl_ip_is6(key.peer_be),
		.ring_mask = c->net->cfg.send_buffer_bytes - 1,
		.arp_generation = c->net->arp_generation - 1,
		.mss = tl_tcp_link_mss(c->net, key),
		.rto_ns = TL_TCP_RTO_INITIAL_NS,
		.pto_ns = TL_TCP_RTO_INITIAL_NS,
		.rack.min_rtt_ns = UINT64_MAX,
		.due_ns = TL_TCP_TIMER_OFF,
		.wheel_ns = TL_TCP_TIMER_OFF,
		.pace.slot = TL_WHEEL_OUT,
		.armed_next = c->armed_next, // the slot stays in that list
		.armed = c->armed,
		.last_rx_ns = c->net->now_ns,
	};
	for (unsigned i = 0; i < TL_TCP_TIMERS; i++)
		c->deadline_ns[i] = TL_TCP_TIMER_OFF;
}

struct tl_tcp *tl_tcp_take(struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_ops *ops, void *ctx,
	const struct tl_tcp_opts *opts)
{
	bool full = chain_is_full(net, key) || (opts->own_buffer && net->tcp->owned.free == NULL);
	struct tl_tcp *c = full ? NULL : take_slot(net);
	if (c == NULL)
		return NULL;
	uint32_t timeout_ms = opts->connect_timeout_ms != 0 ? opts->connect_timeout_ms : DEFAULT_CONNECT_TIMEOUT_MS;

	reset_slot(c, key);
	take_opts(c, opts);
	c->ops = ops;
	c->ctx = ctx;
	if (c->own_buffer)
		(void)tl_tcp_flight_take(c);
	tl_tcp_timer_set(c, TL_TCP_GIVE_UP, timeout_ms * TL_NS_PER_MS);
	struct tl_tcp **bucket = tl_tcp_bucket(net, key);
	c->hash_next = *bucket;
	*bucket = c;
	if (c->is_ip6) {
		tl_ip6_ref(&net->ip6->book, key.peer_be);
		c->peer6 = *tl_ip6_of(&net->ip6->book, key.peer_be);
		c->own6 = tl_ip6_source(net, key.peer_be)->ip;
	}
	net->tcp->live++;
	return c;
}

struct tl_tcp *tl_tcp_cookie_conn(struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_opts *opts)
{
	struct tl_tcp *c = net->tcp->cookie_conn;

	c->net = net;
	reset_slot(c, key);
	take_opts(c, opts);
	return c;
}

void tl_tcp_keep_hop(struct tl_tcp *c)
{
	if (c->hop_be == 0)
		c->hop_be = tl_arp_use(c->net, c->key.peer_be);
}

void tl_tcp_half_open(struct tl_tcp *c)
{
	struct tl_tcp_table *table = c->net->tcp;

	c->opening = &table->half_open;
	TAILQ_INSERT_TAIL(c->opening, c, link);
	table->n_half_open++;
	c->listener->half_open++;
}

void tl_tcp_connecting(struct tl_tcp *c)
{
	c->opening = &c->net->tcp->connecting;
	TAILQ_INSERT_TAIL(c->opening, c, link);
	tl_tcp_keep_hop(c);
}

void tl_tcp_opening_end(struct tl_tcp *c)
{
	struct tl_tcp_table *table = c->net->tcp;

	if (c->opening == NULL)
		return;
	TAILQ_REMOVE(c->opening, c, link);
	if (c->opening == &table->half_open) {
		table->n_half_open--;
		if (c->listener != NULL)
			c->listener->half_open--;
	}
	c->opening = NULL;
}

bool tl_tcp_half_open_evict(struct tl_tcp_listener *listener)
{
	struct tl_tcp *c;

	TAILQ_FOREACH (c, &listener->net->tcp->half_open, link) {
		if (c->listener != listener)
			continue;
		tl_count(&listener->net->stats.tcp_half_open_drops, 1);
		tl_tcp_end(c, TL_TCP_TIMEOUT);
		return true;
	}
	return false;
}

void tl_tcp_start_sequence(struct tl_tcp *c, uint32_t iss)
{
	c->iss = iss;
	c->snd_una = iss;
	c->snd_nxt = iss + 1;
	c->snd_max = iss + 1;
	c->rack.highest = iss;
	c->snd_end = iss + 1;
}

// ---- end

static void release_resources(struct tl_tcp *c)
{
	tl_tcp_timers_stop(c);
	tl_tcp_pace_stop(c);
	tl_tcp_ooo_purge(c);
	tl_tcp_opening_end(c);
	tl_arp_unuse(c->net, c->hop_be);
	c->hop_be = 0;
	if (c->listener != NULL)
		c->listener->conns--;
	c->listener = NULL;
}

static void notify_closed(struct tl_tcp *c, enum tl_tcp_reason reason)
{
	tl_count(&c->net->stats.tcp_closed, 1);
	if (!c->reported)
		return;
	c->reported = false;
	c->ops->closed(c->ctx, c, reason);
}

void tl_tcp_end(struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct tl_tcp_table *table = c->net->tcp;
	bool waited = c->state == TL_TCPS_TIME_WAIT;

	release_resources(c);
	if (c->pending)
		TAILQ_REMOVE(&table->pending, c, pending_link);
	c->pending = false;
	unlink_key(c);
	if (tl_ip_is6(c->key.peer_be))
		tl_ip6_unref(&c->net->ip6->book, c->key.peer_be);
	c->state = TL_TCPS_CLOSED;
	tl_tcp_ready_stop(c);
	if (waited) {
		TAILQ_REMOVE(&table->time_wait, c, link);
		table->waiting--;
	} else {
		table->live--;
	}
	TAILQ_INSERT_TAIL(&table->dead, c, link);
	if (!waited)
		notify_closed(c, reason);
	tl_tcp_flight_give(c); // after closed(), which may call tl_tcp_unacked()
}

void tl_tcp_enter_time_wait(struct tl_tcp *c)
{
	struct tl_tcp_table *table = c->net->tcp;

	release_resources(c);
	c->state = TL_TCPS_TIME_WAIT;
	tl_tcp_ready_stop(c);
	tl_tcp_timer_set(c, TL_TCP_GIVE_UP, TL_TCP_TIME_WAIT_NS);
	TAILQ_INSERT_TAIL(&table->time_wait, c, link);
	table->live--;
	table->waiting++;
	tl_tcp_flight_give(c);
	notify_closed(c, TL_TCP_DONE);
}

void tl_tcp_reap(struct tl_tcp_table *table)
{
	TAILQ_CONCAT(&table->idle, &table->dead, link);
}

unsigned tl_tcp_in_use(const struct tl_net *net, unsigned *time_wait)
{
	if (time_wait != NULL)
		*time_wait = net->tcp->waiting;
	return net->tcp->live;
}
