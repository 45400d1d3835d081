// SPDX-License-Identifier: BSD-3-Clause
// UDP ports: bind and unbind, with their group memberships.

#include <errno.h>

#include <rte_malloc.h>

#include <tl_mcast.h>

#include "net_priv.h"

static void *zalloc(const struct tl_net *net, size_t bytes)
{
	return rte_zmalloc_socket("tl_udp", bytes, TL_CACHE_LINE, net->cfg.socket_id);
}

static struct tl_mcast *mcast_of(const struct tl_net *net, uint32_t group_be)
{
	return tl_ip_is6(group_be) ? net->ip6->mld : net->mcast;
}

// Return a slot to the free ones.
static void put_slot(struct tl_net *net, struct tl_udp *udp)
{
	*udp = (struct tl_udp){.next_free = net->udp.free_slot, .ctx = udp->ctx, .dropped_fn = udp->dropped_fn};
	net->udp.free_slot = udp;
}

int tl_udp_init(struct tl_net *net)
{
	struct tl_udp_table *t = &net->udp;
	uint32_t binds = net->cfg.udp_binds, buckets = 16;

	for (t->shift = 60; buckets < 2 * binds; t->shift--)
		buckets *= 2;
	t->slot = zalloc(net, net->cfg.udp_ports * sizeof(*t->slot));
	t->bind = zalloc(net, binds * sizeof(*t->bind));
	t->bucket = zalloc(net, buckets * sizeof(struct tl_udp_bind *));
	t->bucket6 = zalloc(net, buckets * sizeof(struct tl_udp *));
	if (t->slot == NULL || t->bind == NULL || t->bucket == NULL || t->bucket6 == NULL)
		return -ENOMEM;
	t->n_slots = net->cfg.udp_ports;
	for (uint32_t i = t->n_slots; i-- > 0;)
		put_slot(net, &t->slot[i]);
	for (uint32_t i = 0; i < binds; i++)
		t->bind[i].next = i + 1 < binds ? &t->bind[i + 1] : NULL;
	t->free = t->bind;
	net->cfg.tx->on_dropped = tl_udp_dropped;
	net->cfg.tx->on_dropped_ctx = net;
	return 0;
}

void tl_udp_fini(struct tl_net *net)
{
	net->cfg.tx->on_dropped = NULL;
	rte_free(net->udp.slot);
	rte_free(net->udp.bind);
	rte_free(net->udp.bucket);
	rte_free(net->udp.bucket6);
}

// True if such a port is open. A port of several groups is in the bucket of its first one, too.
static bool is_open(const struct tl_net *net, uint32_t group_be, uint32_t source_be, uint16_t port_be)
{
	uint64_t key = tl_udp_key(group_be, port_be);

	for (const struct tl_udp_bind *b = *tl_udp_bucket(net, key); b != NULL; b = b->next)
		if (b->key == key && b->udp->group_be == group_be && b->udp->source_be == source_be)
			return true;
	return false;
}

static uint32_t group_at(uint32_t first_be, uint32_t i)
{
	return tl_be32(tl_be32(first_be) + i);
}

// Count the binds of a group and port, and return the last other one than that of the port.
static uint32_t sharers(const struct tl_net *net, const struct tl_udp *udp, uint64_t key, struct tl_udp **other)
{
	uint32_t n = 0;

	for (struct tl_udp_bind *b = *tl_udp_bucket(net, key); b != NULL; b = b->next) {
		if (b->key != key)
			continue;
		n++;
		if (b->udp != udp)
			*other = b->udp;
	}
	return n;
}

// Add a group of the port. A second port makes it a shared group of the first, too. False: no room.
static bool add_bind(struct tl_net *net, struct tl_udp *udp, uint32_t group_be)
{
	uint64_t key = tl_udp_key(group_be, udp->port_be);
	struct tl_udp_bind *bind = net->udp.free, **link = tl_udp_bucket(net, key);
	struct tl_udp *other = NULL;
	uint32_t others = sharers(net, udp, key, &other);

	if (bind == NULL)
		return false;
	net->udp.free = bind->next;
	while (*link != NULL)
		link = &(*link)->next;
	*bind = (struct tl_udp_bind){.key = key, .udp = udp};
	*link = bind;
	udp->n_shared += others != 0;
	if (others == 1)
		other->n_shared++;
	return true;
}

static void remove_bind(struct tl_net *net, struct tl_udp *udp, uint32_t group_be)
{
	uint64_t key = tl_udp_key(group_be, udp->port_be);
	struct tl_udp_bind **link = tl_udp_bucket(net, key);
	struct tl_udp *other = NULL;

	while ((*link)->udp != udp || (*link)->key != key)
		link = &(*link)->next;
	if (sharers(net, udp, key, &other) == 2)
		other->n_shared--;
	struct tl_udp_bind *bind = *link;
	*link = bind->next;
	*bind = (struct tl_udp_bind){.next = net->udp.free};
	net->udp.free = bind;
}

static void remove_binds(struct tl_net *net, struct tl_udp *udp, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		remove_bind(net, udp, group_at(udp->group_be, i));
}

static int add_binds(struct tl_net *net, struct tl_udp *udp)
{
	for (uint32_t i = 0; i < udp->n_groups; i++) {
		if (!add_bind(net, udp, group_at(udp->group_be, i))) {
			remove_binds(net, udp, i);
			return -ENOSPC;
		}
	}
	return 0;
}

static struct tl_udp **bucket6_of(const struct tl_udp *udp)
{
	return tl_udp_bucket6(udp->net, tl_ip6_of(&udp->net->ip6->book, udp->group_be), udp->port_be);
}

static void link_v6(struct tl_udp *udp)
{
	struct tl_udp **bucket = bucket6_of(udp);

	udp->next_v6 = *bucket;
	*bucket = udp;
}

static void unlink_v6(struct tl_udp *udp)
{
	struct tl_udp **link = bucket6_of(udp);

	while (*link != udp)
		link = &(*link)->next_v6;
	*link = udp->next_v6;
}

// A port was opened or closed: the one looked up last may be another's, too, or closed.
static void forget_latest(struct tl_net *net)
{
	net->latest = NULL;
	net->latest6 = NULL;
}

static void leave(struct tl_net *net, uint32_t first_be, uint32_t n, uint32_t source_be)
{
	for (uint32_t i = 0; i < n; i++)
		(void)tl_mcast_leave(mcast_of(net, first_be), group_at(first_be, i), source_be, net->now_ns);
}

static int join(struct tl_net *net, uint32_t first_be, uint32_t n, uint32_t source_be)
{
	for (uint32_t i = 0; i < n; i++) {
		int rc = tl_mcast_join(mcast_of(net, first_be), group_at(first_be, i), source_be, net->now_ns);
		if (rc != 0) {
			leave(net, first_be, i, source_be);
			return rc;
		}
	}
	return 0;
}

int tl_udp_open(struct tl_net *net, uint32_t group_be, uint32_t source_be, uint16_t port_be,
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram), void *ctx, struct tl_udp **out)
{
	return tl_udp_open_groups(net, group_be, 1, source_be, port_be, fn, ctx, out);
}

int tl_udp_open_groups(struct tl_net *net, uint32_t group_be, uint32_t n, uint32_t source_be, uint16_t port_be,
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram), void *ctx, struct tl_udp **out)
{
	if (port_be == 0 || fn == NULL || (group_be == 0 && source_be != 0))
		return -EINVAL;
	if (n == 0 || (n > 1 && !tl_ipv4_is_mcast(group_be)))
		return -EINVAL;
	if (is_open(net, group_be, source_be, port_be))
		return -EADDRINUSE;
	struct tl_udp *udp = net->udp.free_slot;
	if (udp == NULL)
		return -ENOSPC;
	if (tl_ip_is6(group_be) && net->ip6 == NULL)
		return -EINVAL;
	int rc = group_be != 0 ? join(net, group_be, n, source_be) : 0;
	if (rc != 0)
		return rc;
	net->udp.free_slot = udp->next_free;
	*udp = (struct tl_udp){
		.net = net,
		.group_be = group_be,
		.first_group = tl_be32(group_be),
		.n_groups = n,
		.source_be = source_be,
		.port_be = port_be,
		.fn = fn,
		.ctx = ctx,
		.known_src_be = UINT64_MAX,
		.sender6.port_be = UINT32_MAX,
	};
	rc = add_binds(net, udp);
	if (rc != 0) {
		put_slot(net, udp);
		if (group_be != 0)
			leave(net, group_be, n, source_be);
		return rc;
	}
	if (tl_ip_is6(group_be))
		link_v6(udp);
	forget_latest(net);
	*out = udp;
	return 0;
}

void tl_udp_watch(
	struct tl_udp *udp, void (*held)(void *ctx, uint16_t len, bool left), void (*dropped)(void *ctx, uint16_t len))
{
	udp->held_fn = held;
	udp->dropped_fn = dropped;
}

void tl_udp_close(struct tl_udp *udp)
{
	struct tl_net *net = udp->net;

	for (; udp->n_held > 0; udp->n_held--)
		udp->held_fn(udp->ctx, 0, false);
	if (udp->group_be != 0)
		leave(net, udp->group_be, udp->n_groups, udp->source_be);
	if (udp->sender6.src_be != 0)
		tl_ip6_unref(&net->ip6->book, udp->sender6.src_be);
	remove_binds(net, udp, udp->n_groups);
	if (tl_ip_is6(udp->group_be))
		unlink_v6(udp);
	put_slot(net, udp);
	forget_latest(net);
}
