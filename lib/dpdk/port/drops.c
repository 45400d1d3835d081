// SPDX-License-Identifier: BSD-3-Clause
// Drops of each queue of a port.

#include "port_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_ethdev.h>

// Drivers without imissed, DPDK v22.11: what finds no room is counted by the host or the physical function, if at all.
static const char *const silent[] = {
	"net_virtio",	    // drivers/net/virtio/virtio_ethdev.c:1076
	"net_virtio_user",  // likewise
	"net_ixgbe_vf",	    // drivers/net/ixgbe/ixgbe_ethdev.c:3815
	"net_e1000_igb_vf", // drivers/net/e1000/igb_ethdev.c:2069
	"net_tap",	    // drivers/net/tap/rte_eth_tap.c:1106
};

bool tl_port_drops_are_unknown(const struct tl_port *port, const char *driver)
{
	struct rte_eth_stats stats;

	if (port->socket_domain != AF_UNSPEC)
		return port->sockets.n == 0;
	for (size_t i = 0; i < TL_ARRAY_LEN(silent); i++)
		if (strcmp(driver, silent[i]) == 0)
			return true;
	return rte_eth_stats_get(port->port_id, &stats) == -ENOTSUP; // gve up to DPDK 22.11
}

bool tl_port_counts_by_sockets(const struct tl_port *port)
{
	return tl_port_is_kernels(port) || port->socket_domain != AF_UNSPEC;
}

// Assign drops by number: socket i belongs to queue i.
void tl_port_socket_drops(const struct tl_port *port, struct tl_port_stats *out)
{
	for (unsigned i = 0; i < port->sockets.n; i++) {
		out->queue_drop_nic_pkts[i] = port->sockets.dropped[i];
		out->drop_nic_pkts += port->sockets.dropped[i];
	}
	out->drops_by_queue = port->sockets.n == port->cfg.rx_queues;
}

void tl_port_find_queue_counters(struct tl_port *port)
{
	port->counts_queues = true;
	for (uint16_t i = 0; i < port->cfg.rx_queues; i++) {
		char name[RTE_ETH_XSTATS_NAME_SIZE];
		snprintf(name, sizeof(name), "rx_q%u_errors", i);
		// RQSMR: otherwise the drops of all queues are in the first one's counter (82599 datasheet).
		if (port->mac_counts.queue_drops)
			(void)rte_eth_dev_set_rx_queue_stats_mapping(port->port_id, i, (uint8_t)i);
		if (rte_eth_xstats_get_id_by_name(port->port_id, name, &port->queue_counters[i]) != 0)
			port->counts_queues = false;
	}
}

void tl_port_queue_drops(const struct tl_port *port, struct tl_port_stats *out)
{
	unsigned n = port->cfg.rx_queues;
	uint64_t sum = 0;

	if (n == 1) {
		out->queue_drop_nic_pkts[0] = out->drop_nic_pkts;
		out->drops_by_queue = true;
		return;
	}
	if (!port->counts_queues ||
		rte_eth_xstats_get_by_id(port->port_id, port->queue_counters, out->queue_drop_nic_pkts, n) != (int)n)
		return;
	for (unsigned i = 0; i < n; i++)
		sum += out->queue_drop_nic_pkts[i];
	out->drop_nic_pkts += port->mac_counts.queue_drops ? sum : 0;
	out->drops_by_queue = sum == out->drop_nic_pkts;
}
