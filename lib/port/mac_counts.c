// SPDX-License-Identifier: BSD-3-Clause
// Counters of the MAC, where the driver has them: a source of hw_seen independent of what we polled.
//
// Drivers differ in what they call what, and in what their sums contain, so there is a row per driver that has been
// read. A counter of frames that a filter of addresses has refused counts as seen, so it holds for promiscuous ports
// only.

#include "port_priv.h"

#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#define ERRORS_MAX 8

// Names of xstats.
struct mac_row {
	const char *driver;
	const char *seen; // every frame on the wire, good or bad
	// Frames that are not delivered, in the place of ierrors.
	const char *errors[ERRORS_MAX];
};

static const struct mac_row rows[] = {
	// drivers/net/ixgbe/ixgbe_ethdev.c, DPDK 22.11.11, ixgbe_dev_stats_get: on the X540 and X550 ierrors contains
	// XEC, frames with bad checksums of IP or layer 4, which are delivered. rx_nombuf counts attempts to refill a
	// ring, not frames.
	{"net_ixgbe", "rx_total_packets",
		{"rx_crc_errors", "rx_illegal_byte_errors", "rx_error_bytes", "rx_length_errors", "rx_undersize_errors",
			"rx_oversize_errors", "rx_fragment_errors", "rx_mac_short_packet_dropped"}},
};

static bool find(uint16_t port_id, const char *name, uint64_t *id)
{
	return rte_eth_xstats_get_id_by_name(port_id, name, id) == 0;
}

void tl_port_find_mac_counts(struct tl_port *port, const char *driver)
{
	struct tl_port_mac *mac = &port->mac_counts;

	for (size_t r = 0; r < TL_ARRAY_LEN(rows); r++) {
		if (strcmp(driver, rows[r].driver) != 0 || !find(port->port_id, rows[r].seen, &mac->ids[0]))
			continue;
		mac->n = 1;
		for (unsigned i = 0; i < ERRORS_MAX && rows[r].errors[i] != NULL; i++)
			mac->n += find(port->port_id, rows[r].errors[i], &mac->ids[mac->n]);
	}
}

bool tl_port_read_mac_counts(const struct tl_port *port, uint64_t *seen, uint64_t *errors)
{
	const struct tl_port_mac *mac = &port->mac_counts;
	uint64_t values[TL_PORT_MAC_COUNTS];

	if (mac->n == 0 || rte_eth_xstats_get_by_id(port->port_id, mac->ids, values, mac->n) != (int)mac->n)
		return false;
	*seen = values[0];
	*errors = 0;
	for (unsigned i = 1; i < mac->n; i++)
		*errors += values[i];
	return true;
}

// ---- the account

static uint64_t lost(const struct tl_port_stats *stats)
{
	return stats->drop_nic_pkts + stats->drop_nombuf_pkts + stats->drop_error_pkts;
}

void tl_port_subtract(struct tl_port_stats *stats, const struct tl_port_stats *before)
{
	stats->hw_seen_pkts -= lost(before);
	stats->drop_nic_pkts -= before->drop_nic_pkts;
	stats->drop_nombuf_pkts -= before->drop_nombuf_pkts;
	stats->drop_error_pkts -= before->drop_error_pkts;
	for (unsigned i = 0; i < TL_PORT_QUEUES_MAX; i++)
		stats->queue_drop_nic_pkts[i] -= before->queue_drop_nic_pkts[i];
}

void tl_port_close_account(const struct tl_port_stats *end, uint64_t rx_pkts, struct tl_port_stats *now)
{
	uint64_t now_seen = now->hw_seen_pkts, dropped_since = now->drop_nic_pkts - end->drop_nic_pkts;
	uint64_t accounted = rx_pkts + lost(end);
	uint64_t lacking = end->hw_seen_pkts > accounted ? end->hw_seen_pkts - accounted : 0;
	uint64_t late = tl_min_u64(dropped_since, lacking);

	*now = *end;
	now->drop_nic_pkts += late;
	now->drops_by_queue &= late == 0;
	now->hw_seen_pkts = tl_min_u64(tl_max_u64(accounted + late, end->hw_seen_pkts), now_seen);
}
