// SPDX-License-Identifier: BSD-3-Clause
// Query a network driver by ethtool ioctls: pause frames, error correction, firmware, rings, interrupt moderation.

#include "doctor_facts.h"

#include <linux/ethtool.h>

#include <tl_iface.h>

void tl_gather_ethtool(struct tl_fact_port *port)
{
	struct ethtool_pauseparam pause = {.cmd = ETHTOOL_GPAUSEPARAM};
	struct ethtool_fecparam fec = {.cmd = ETHTOOL_GFECPARAM};
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_ringparam ring = {.cmd = ETHTOOL_GRINGPARAM};
	struct ethtool_coalesce moderation = {.cmd = ETHTOOL_GCOALESCE};
	const char *interface = port->interface.text;

	if (tl_iface_ethtool(interface, &pause) == 0)
		port->pause = tl_fact_is((pause.rx_pause != 0) | (pause.tx_pause != 0) << 1);
	if (tl_iface_ethtool(interface, &fec) == 0)
		port->fec = tl_fact_is((fec.active_fec & ~(uint32_t)(ETHTOOL_FEC_NONE | ETHTOOL_FEC_OFF)) != 0);
	if (!port->firmware.known && tl_iface_ethtool(interface, &driver) == 0 && driver.fw_version[0] != '\0')
		port->firmware = tl_fact_says(driver.fw_version);
	if (tl_iface_ethtool(interface, &ring) == 0) {
		port->ring_rx = tl_fact_is(ring.rx_pending);
		port->ring_rx_max = tl_fact_is(ring.rx_max_pending);
	}
	if (tl_iface_ethtool(interface, &moderation) == 0) {
		port->adaptive = tl_fact_is(moderation.use_adaptive_rx_coalesce != 0);
		port->rx_usecs = tl_fact_is(moderation.rx_coalesce_usecs);
	}
}
