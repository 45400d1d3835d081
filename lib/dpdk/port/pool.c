// SPDX-License-Identifier: BSD-3-Clause
// mbuf pool of a port, and the port's share of DPDK's memory.

#include "port_priv.h"

#include <stdio.h>

#include <rte_errno.h>

#define RING_DESCRIPTORS 1024
#define DEEP_DESCRIPTORS 4096 // of a NIC that only records
#define DEEP_MLX5_DESCRIPTORS 8192
#define DESCRIPTOR_BYTES 128 // upper limit, of the NIC's and the driver's together
#define POOL_CACHE 256
// Frames held by the services of an lcore: waiting for ARP, in TCP's out-of-order queues, sent frames to record, frames
// in hand-off to another lcore.
#define HELD_MBUFS 4096

static bool only_records(const struct tl_port_cfg *cfg)
{
	return tl_port_traits(&cfg->spec)->nic && cfg->tx_queues == 0;
}

uint16_t tl_port_rx_descriptors(const struct tl_port_cfg *cfg, bool mlx5)
{
	if (cfg->rx_descriptors != 0)
		return cfg->rx_descriptors;
	if (!only_records(cfg))
		return RING_DESCRIPTORS;
	return mlx5 ? DEEP_MLX5_DESCRIPTORS : DEEP_DESCRIPTORS;
}

uint16_t tl_port_tx_descriptors(const struct tl_port_cfg *cfg)
{
	return cfg->tx_descriptors != 0 ? cfg->tx_descriptors : RING_DESCRIPTORS;
}

// Some drivers, ixgbe's among them, give the NIC whole KiB, and split longer frames.
uint32_t tl_port_nic_room(uint32_t mtu)
{
	return RTE_ALIGN_CEIL(RTE_MAX(mtu + TL_PORT_FRAME_OVERHEAD, (uint32_t)TL_PORT_ROOM_MIN), 1024u);
}

// Count the mbufs. A NIC that only records sends nothing: no mbufs wait in its TX ring.
static uint32_t count_mbufs(const struct tl_port_cfg *cfg, uint32_t rx_descriptors, uint32_t tx_descriptors)
{
	uint32_t ring = only_records(cfg) ? rx_descriptors : 2 * RTE_MAX(rx_descriptors, tx_descriptors);

	return cfg->rx_queues * (ring + 4 * TL_BURST + 2 * POOL_CACHE) + cfg->tx_queues * HELD_MBUFS + cfg->tx_waiting;
}

uint64_t tl_port_memory_bytes(const struct tl_port_cfg *cfg, bool mlx5)
{
	uint32_t rx = tl_port_rx_descriptors(cfg, mlx5);
	uint32_t tx = tl_port_tx_descriptors(cfg);
	uint32_t room = tl_port_nic_room(cfg->mtu) + RTE_PKTMBUF_HEADROOM;

	if (!tl_port_traits(&cfg->spec)->dpdk) // has its own rings
		rx = tx = TL_BURST;
	uint64_t mbuf_bytes = rte_mempool_calc_obj_size((uint32_t)sizeof(struct rte_mbuf) + room, 0, NULL);
	return count_mbufs(cfg, rx, tx) * mbuf_bytes + (uint64_t)cfg->rx_queues * (rx + tx) * DESCRIPTOR_BYTES;
}

int tl_port_make_pool(
	struct tl_port *port, uint32_t room_bytes, uint32_t rx_descriptors, uint32_t tx_descriptors, struct tl_err *err)
{
	uint32_t n = count_mbufs(&port->cfg, rx_descriptors, tx_descriptors);
	uint32_t room = room_bytes + RTE_PKTMBUF_HEADROOM;
	char name[RTE_MEMPOOL_NAMESIZE];

	if (room > UINT16_MAX)
		return tl_fail(
			err, -EINVAL, "port %s: an mtu of %u does not fit one buffer", port->name, port->cfg.mtu);
	snprintf(name, sizeof(name), "pool_%.18s", port->name);
	port->pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, (uint16_t)room, port->cfg.socket_id);
	if (port->pool == NULL)
		return tl_fail(err, -ENOMEM,
			"port %s: no memory for %u buffers of %u bytes on NUMA node %d (%s): raise eal.memory_mb, or reserve "
			"more hugepages there",
			port->name, n, room, port->cfg.socket_id, rte_strerror(rte_errno));
	return 0;
}
