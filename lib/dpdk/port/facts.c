// SPDX-License-Identifier: BSD-3-Clause
// Facts that a device reports about itself, for comparison with its family's documents.

#include "port_priv.h"

#include <stdio.h>

#include <rte_ethdev.h>

#include <tl_family.h>

bool tl_port_family_facts(const struct tl_port *port, struct tl_family_facts *out)
{
	struct rte_eth_dev_info info;

	if (!tl_port_is_nic(port) || rte_eth_dev_info_get(port->port_id, &info) != 0)
		return false;
	*out = (struct tl_family_facts){.rx_queues_max = info.max_rx_queues,
		.ring_min = info.rx_desc_lim.nb_min,
		.ring_max = info.rx_desc_lim.nb_max,
		.reta_size = info.reta_size,
		.rx_timestamps = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0};
	snprintf(out->pmd, sizeof(out->pmd), "%s", info.driver_name);
	return true;
}
