// SPDX-License-Identifier: BSD-3-Clause
// Counters of a NIC's MAC and of its buffers, if the driver provides them: frames seen by the MAC, independent of the
// frames polled, and losses that are not in imissed or ierrors.
//
// Drivers differ in the names of counters and in the terms of their sums, so there is one row per driver whose source
// was read. Frames rejected by an address filter count as seen, so the account holds for promiscuous ports only.

#include "port_priv.h"

#include <string.h>

#include <rte_ethdev.h>

#define NAMES_MAX 14

// Names of xstats. rx_nombuf is not a loss with any of these drivers: it counts attempts to refill a ring.
struct mac_row {
	const char *driver;
	bool verified;		     // the whole account was verified with the driver, on a model of the NIC
	bool queue_drops;	     // a queue may drop frames for lack of room, and counts them apart from imissed
	bool adds;		     // errors lists those missing from ierrors, else all
	const char *seen[NAMES_MAX]; // their sum is every frame on the wire, good or bad
	const char *lost[NAMES_MAX]; // frames missing from imissed
	const char *errors[NAMES_MAX];
};

// From the sources of DPDK 22.11.11; xstats have the same names in 24.11.3, 25.11 and 26.07. These have no row: virtio
// and vmxnet3, which count delivered frames (drivers/net/virtio/virtio_ethdev.c:106, vmxnet3/vmxnet3_ethdev.c:170), ena
// (ena/ena_ethdev.c:90), gve (no xstats), virtual functions (iavf/iavf_ethdev.c:158), and bnxt, whose discards of rings
// and of the port may overlap (bnxt/bnxt_stats.c:22 and :529).
static const struct mac_row rows[] = {
	// drivers/net/ixgbe/ixgbe_ethdev.c:3386, ixgbe_dev_stats_get: on the X540 and X550 ierrors contains XEC, frames
	// with bad checksums of IP or layer 4, which are delivered; imissed is the sum of MPC, without QPRDC.
	{.driver = "net_ixgbe",
		.verified = true,
		.queue_drops = true,
		.seen = {"rx_total_packets"},
		.errors = {"rx_crc_errors", "rx_illegal_byte_errors", "rx_error_bytes", "rx_length_errors",
			"rx_undersize_errors", "rx_oversize_errors", "rx_fragment_errors",
			"rx_mac_short_packet_dropped"}},
	// drivers/net/e1000/igb_ethdev.c:1832, eth_igb_stats_get: ierrors has CRCERRS, RLEC, RXERRC, ALGNERRC and
	// CEXTERR, and not what is too short or too long. RUC is left out: the igb that QEMU emulates counts delivered
	// frames of up to 60 bytes there.
	{.driver = "net_e1000_igb",
		.adds = true,
		.seen = {"rx_total_packets"},
		.errors = {"rx_oversize_errors", "rx_fragment_errors"}},
	// drivers/net/i40e/i40e_ethdev.c:3368, i40e_dev_stats_get: imissed has the discards of port and VSI, ierrors
	// the errors of the port and those of length (GL_RXERR1). No counter has all frames: those of sizes have the
	// good ones.
	{.driver = "net_i40e",
		.adds = true,
		.seen = {"rx_size_64_packets", "rx_size_65_to_127_packets", "rx_size_128_to_255_packets",
			"rx_size_256_to_511_packets", "rx_size_512_to_1023_packets", "rx_size_1024_to_1522_packets",
			"rx_size_1523_to_max_packets", "rx_crc_errors", "rx_length_errors", "rx_undersized_errors",
			"rx_oversize_errors", "rx_fragmented_errors", "rx_jabber_errors"}},
	// drivers/net/ice/ice_ethdev.c:5597, ice_stats_get: likewise, without errors of length.
	{.driver = "net_ice",
		.adds = true,
		.seen = {"rx_size_64_packets", "rx_size_65_to_127_packets", "rx_size_128_to_255_packets",
			"rx_size_256_to_511_packets", "rx_size_512_to_1023_packets", "rx_size_1024_to_1522_packets",
			"rx_size_1523_to_max_packets", "rx_crc_errors", "rx_undersized_errors", "rx_oversize_errors",
			"rx_fragmented_errors", "rx_jabber_errors"}},
	// drivers/net/mlx5/mlx5_stats.c:109, mlx5_stats_get: imissed is out_of_buffer alone, of the port's queues;
	// ierrors is counted by the driver. linux/mlx5_ethdev_os.c:1470 names the others, which are of the whole
	// physical port: its buffer, and the buffers of the host. rx_packets_phy lacks frames with errors.
	{.driver = "mlx5_pci",
		.adds = true,
		.seen = {"rx_phy_packets", "rx_phy_crc_errors", "rx_phy_in_range_len_errors"},
		.lost = {"rx_phy_discard_packets", "rx_prio0_buf_discard_packets", "rx_prio1_buf_discard_packets",
			"rx_prio2_buf_discard_packets", "rx_prio3_buf_discard_packets", "rx_prio4_buf_discard_packets",
			"rx_prio5_buf_discard_packets", "rx_prio6_buf_discard_packets", "rx_prio7_buf_discard_packets"},
		.errors = {"rx_phy_crc_errors", "rx_phy_in_range_len_errors"}},
};

// Append the names that the device has to the identifiers. Return their new number.
static unsigned find(uint16_t port_id, const char *const names[NAMES_MAX], uint64_t *ids, unsigned n)
{
	for (unsigned i = 0; i < NAMES_MAX && names[i] != NULL; i++)
		n += rte_eth_xstats_get_id_by_name(port_id, names[i], &ids[n]) == 0;
	return n;
}

void tl_port_find_mac_counts(struct tl_port *port, const char *driver)
{
	struct tl_port_mac *mac = &port->mac_counts;

	*mac = (struct tl_port_mac){0};
	for (size_t r = 0; r < TL_ARRAY_LEN(rows); r++) {
		const struct mac_row *row = &rows[r];
		uint64_t id;
		if (strcmp(driver, row->driver) != 0)
			continue;
		mac->verified = row->verified;
		mac->queue_drops = row->queue_drops;
		mac->adds = row->adds;
		if (rte_eth_xstats_get_id_by_name(port->port_id, row->seen[0], &id) != 0)
			continue;
		mac->seen_end = find(port->port_id, row->seen, mac->ids, 0);
		mac->lost_end = find(port->port_id, row->lost, mac->ids, mac->seen_end);
		mac->n = find(port->port_id, row->errors, mac->ids, mac->lost_end);
	}
}

static uint64_t sum(const uint64_t *values, unsigned from, unsigned to)
{
	uint64_t all = 0;

	for (unsigned i = from; i < to; i++)
		all += values[i];
	return all;
}

bool tl_port_read_mac_counts(const struct tl_port *port, struct tl_port_mac_counts *out)
{
	const struct tl_port_mac *mac = &port->mac_counts;
	uint64_t values[TL_PORT_MAC_COUNTS];

	*out = (struct tl_port_mac_counts){0};
	if (mac->n == 0 || rte_eth_xstats_get_by_id(port->port_id, mac->ids, values, mac->n) != (int)mac->n)
		return false;
	*out = (struct tl_port_mac_counts){.seen = sum(values, 0, mac->seen_end),
		.lost = sum(values, mac->seen_end, mac->lost_end),
		.errors = sum(values, mac->lost_end, mac->n)};
	return true;
}

// ---- account

void tl_port_subtract(struct tl_port_stats *stats, const struct tl_port_stats *before)
{
	stats->hw_seen_pkts -= tl_port_drops(before);
#define SUBTRACT(name) stats->name -= before->name;
	TL_PORT_PARTS(SUBTRACT)
	for (unsigned i = 0; i < TL_PORT_QUEUES_MAX; i++)
		stats->queue_drop_nic_pkts[i] -= before->queue_drop_nic_pkts[i];
}

void tl_port_close_account(const struct tl_port_stats *end, uint64_t rx_pkts, struct tl_port_stats *now)
{
	uint64_t now_seen = now->hw_seen_pkts, dropped_since = now->drop_nic_pkts - end->drop_nic_pkts;
	uint64_t accounted = rx_pkts + tl_port_drops(end);
	uint64_t lacking = end->hw_seen_pkts > accounted ? end->hw_seen_pkts - accounted : 0;
	uint64_t late = tl_min_u64(dropped_since, lacking);

	*now = *end;
	now->drop_nic_pkts += late;
	now->drops_by_queue &= late == 0;
	now->hw_seen_pkts = tl_min_u64(tl_max_u64(accounted + late, end->hw_seen_pkts), now_seen);
}
