// SPDX-License-Identifier: BSD-3-Clause
// The mbuf pool of a port.

#include "port_priv.h"

#include <stdio.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#define POOL_CACHE 256
// What the services of an lcore keep: frames waiting for ARP, TCP's out-of-order queues, sent frames to record, frames
// on their way to another lcore.
#define HELD_MBUFS 4096

int tl_port_make_pool(struct tl_port *port, uint32_t room_bytes, uint32_t descriptors, struct tl_err *err)
{
	uint32_t queues = port->cfg.rx_queues;
	uint32_t held = port->cfg.tx_queues * HELD_MBUFS;
	uint32_t n = queues * (2 * descriptors + 4 * TL_BURST + 2 * POOL_CACHE) + held;
	uint32_t room = room_bytes + RTE_PKTMBUF_HEADROOM;
	char name[RTE_MEMPOOL_NAMESIZE];

	if (room > UINT16_MAX)
		return tl_fail(
			err, -EINVAL, "port %s: an mtu of %u does not fit one buffer", port->name, port->cfg.mtu);
	snprintf(name, sizeof(name), "pool_%.18s", port->name);
	port->pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, (uint16_t)room, port->cfg.socket_id);
	if (port->pool == NULL)
		return tl_fail(err, -ENOMEM,
			"port %s: no memory for %u buffers of %u bytes (%s): raise eal.memory_mb, or reserve more hugepages",
			port->name, n, room, rte_strerror(rte_errno));
	return 0;
}
