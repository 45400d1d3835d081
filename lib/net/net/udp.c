// SPDX-License-Identifier: BSD-3-Clause
// UDP ports: bind and unbind, with their group memberships.

#include <errno.h>

#include <tl_mcast.h>

#include "net_priv.h"

static struct tl_mcast *mcast_of(const struct tl_net *net, uint32_t group_be)
{
	return tl_ip_is6(group_be) ? net->ip6->mld : net->mcast;
}

static struct tl_udp *find_slot(struct tl_net *net, uint32_t group_be, uint32_t source_be, uint16_t port_be)
{
	for (unsigned i = 0; i < TL_UDP_MAX; i++) {
		struct tl_udp *udp = &net->udp[i];
		if (udp->port_be == port_be && udp->group_be == group_be && udp->source_be == source_be)
			return udp;
	}
	return NULL;
}

// True if both take datagrams to the same group and port.
static bool overlap(const struct tl_udp *a, const struct tl_udp *b)
{
	uint32_t distance = tl_be32(b->group_be) - tl_be32(a->group_be);

	return a->port_be == b->port_be && (distance < a->n_groups || -distance < b->n_groups);
}

static bool is_unique(const struct tl_net *net, const struct tl_udp *udp)
{
	for (unsigned i = 0; i < TL_UDP_MAX; i++) {
		if (&net->udp[i] != udp && overlap(&net->udp[i], udp))
			return false;
	}
	return udp->port_be != 0 && tl_ip_is_mcast(udp->group_be);
}

// A port was opened or closed.
static void update_lookup(struct tl_net *net)
{
	net->n_udp = 0;
	net->unique = NULL;
	net->unique6 = NULL;
	for (unsigned i = 0; i < TL_UDP_MAX; i++) {
		struct tl_udp *udp = &net->udp[i];
		if (is_unique(net, udp)) {
			struct tl_udp **list = tl_ip_is6(udp->group_be) ? &net->unique6 : &net->unique;
			udp->next_unique = *list;
			*list = udp;
		}
		if (udp->port_be != 0)
			net->n_udp = i + 1;
	}
}

static uint32_t group_at(uint32_t first_be, uint32_t i)
{
	return tl_be32(tl_be32(first_be) + i);
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
	if (find_slot(net, group_be, source_be, port_be) != NULL)
		return -EADDRINUSE;
	struct tl_udp *udp = find_slot(net, 0, 0, 0);
	if (udp == NULL)
		return -ENOSPC;
	if (tl_ip_is6(group_be) && net->ip6 == NULL)
		return -EINVAL;
	int rc = group_be != 0 ? join(net, group_be, n, source_be) : 0;
	if (rc != 0)
		return rc;
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
	*out = udp;
	update_lookup(net);
	return 0;
}

void tl_udp_watch_held(struct tl_udp *udp, void (*fn)(void *ctx, uint16_t len, bool left))
{
	udp->held_fn = fn;
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
	*udp = (struct tl_udp){.port_be = 0};
	update_lookup(net);
}
