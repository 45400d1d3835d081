// SPDX-License-Identifier: BSD-3-Clause
// UDP ports: bind and unbind, with the group that belongs to a port.

#include <errno.h>

#include <tl_mcast.h>

#include "net_priv.h"

static struct tl_udp *find_slot(struct tl_net *net, uint32_t group_be, uint32_t source_be, uint16_t port_be)
{
	for (unsigned i = 0; i < TL_UDP_MAX; i++) {
		struct tl_udp *udp = &net->udp[i];
		if (udp->port_be == port_be && udp->group_be == group_be && udp->source_be == source_be)
			return udp;
	}
	return NULL;
}

static bool is_alone(const struct tl_net *net, const struct tl_udp *udp)
{
	unsigned same = 0;

	for (unsigned i = 0; i < TL_UDP_MAX; i++)
		same += net->udp[i].port_be == udp->port_be && net->udp[i].group_be == udp->group_be;
	return same == 1 && udp->port_be != 0 && udp->group_be != 0 && net->cfg.vlan == 0;
}

// A port came or went.
static void look_anew(struct tl_net *net)
{
	net->n_udp = 0;
	for (unsigned i = 0; i < TL_UDP_MAX; i++) {
		net->udp[i].alone = is_alone(net, &net->udp[i]);
		if (net->udp[i].port_be != 0)
			net->n_udp = i + 1;
	}
}

int tl_udp_open(struct tl_net *net, uint32_t group_be, uint32_t source_be, uint16_t port_be,
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram), void *ctx, struct tl_udp **out)
{
	if (port_be == 0 || fn == NULL || (group_be == 0 && source_be != 0))
		return -EINVAL;
	if (find_slot(net, group_be, source_be, port_be) != NULL)
		return -EADDRINUSE;
	struct tl_udp *udp = find_slot(net, 0, 0, 0);
	if (udp == NULL)
		return -ENOSPC;
	if (group_be != 0) {
		int rc = tl_mcast_join(net->mcast, group_be, source_be, net->now_ns);
		if (rc != 0)
			return rc;
	}
	*udp = (struct tl_udp){
		.net = net,
		.group_be = group_be,
		.source_be = source_be,
		.port_be = port_be,
		.fn = fn,
		.ctx = ctx,
	};
	*out = udp;
	look_anew(net);
	return 0;
}

void tl_udp_close(struct tl_udp *udp)
{
	struct tl_net *net = udp->net;

	if (udp->group_be != 0)
		(void)tl_mcast_leave(net->mcast, udp->group_be, udp->source_be, net->now_ns);
	*udp = (struct tl_udp){.port_be = 0};
	look_anew(net);
}
