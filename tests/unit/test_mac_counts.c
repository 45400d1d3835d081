// SPDX-License-Identifier: BSD-3-Clause
// Counters of MACs, from drivers' lists of extended statistics as recorded from their sources. This program replaces
// librte_ethdev's functions that return them.

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include <tl_test.h>

#include "port_priv.h"

#define NAMES_MAX 40

// Names in rows of each driver's table, DPDK 22.11.11: drivers/net/ixgbe/ixgbe_ethdev.c (rte_ixgbe_stats_strings),
// e1000/igb_ethdev.c (rte_igb_stats_strings), i40e/i40e_ethdev.c (rte_i40e_hw_port_strings), ice/ice_ethdev.c
// (ice_hw_port_strings), mlx5/linux/mlx5_ethdev_os.c (mlx5_counters_init). The value of a counter is 2 to the power of
// its index.
static const struct recorded {
	const char *driver;
	const char *names[NAMES_MAX];
} recorded[] = {
	{"net_ixgbe",
		{"rx_crc_errors", "rx_illegal_byte_errors", "rx_error_bytes", "mac_local_errors", "mac_remote_errors",
			"rx_length_errors", "rx_fragment_errors", "rx_undersize_errors", "rx_oversize_errors",
			"rx_jabber_errors", "rx_management_packets", "rx_total_packets", "rx_total_bytes",
			"rx_mac_short_packet_dropped", "rx_l3_l4_xsum_error", "rx_total_missed_packets"}},
	{"net_e1000_igb",
		{"rx_crc_errors", "rx_align_errors", "rx_symbol_errors", "rx_missed_packets", "rx_carrier_ext_errors",
			"rx_length_errors", "rx_undersize_errors", "rx_fragment_errors", "rx_oversize_errors",
			"rx_jabber_errors", "rx_total_packets", "rx_total_bytes"}},
	{"net_i40e", {"rx_unicast_packets", "rx_dropped_packets", "rx_size_error_packets", "rx_crc_errors",
			     "rx_illegal_byte_errors", "rx_error_bytes", "rx_length_errors", "rx_size_64_packets",
			     "rx_size_65_to_127_packets", "rx_size_128_to_255_packets", "rx_size_256_to_511_packets",
			     "rx_size_512_to_1023_packets", "rx_size_1024_to_1522_packets",
			     "rx_size_1523_to_max_packets", "rx_undersized_errors", "rx_oversize_errors",
			     "rx_mac_short_dropped", "rx_fragmented_errors", "rx_jabber_errors"}},
	{"net_ice",
		{"rx_unicast_packets", "rx_dropped_packets", "rx_crc_errors", "rx_illegal_byte_errors",
			"rx_error_bytes", "rx_len_errors", "rx_size_64_packets", "rx_size_65_to_127_packets",
			"rx_size_128_to_255_packets", "rx_size_256_to_511_packets", "rx_size_512_to_1023_packets",
			"rx_size_1024_to_1522_packets", "rx_size_1523_to_max_packets", "rx_undersized_errors",
			"rx_oversize_errors", "rx_mac_short_pkt_dropped", "rx_fragmented_errors", "rx_jabber_errors"}},
	{"mlx5_pci",
		{"rx_unicast_packets", "rx_wqe_errors", "rx_phy_crc_errors", "rx_phy_in_range_len_errors",
			"rx_phy_symbol_errors", "rx_out_of_buffer", "rx_phy_packets", "rx_phy_discard_packets",
			"rx_prio0_buf_discard_packets", "rx_prio1_buf_discard_packets", "rx_prio2_buf_discard_packets",
			"rx_prio3_buf_discard_packets", "rx_prio4_buf_discard_packets", "rx_prio5_buf_discard_packets",
			"rx_prio6_buf_discard_packets", "rx_prio7_buf_discard_packets", "rx_prio0_cong_discard_packets",
			"rx_phy_bytes"}},
};

static const struct recorded *device; // the device under test
static uint64_t without;	      // bit mask of its missing names

static int place_of(const char *name)
{
	for (int i = 0; i < NAMES_MAX && device->names[i] != NULL; i++)
		if (strcmp(device->names[i], name) == 0 && (without >> i & 1) == 0)
			return i;
	return -1;
}

int rte_eth_xstats_get_id_by_name(uint16_t port_id, const char *name, uint64_t *id)
{
	int place = place_of(name);

	*id = (uint64_t)place;
	return place >= 0 ? 0 : -EINVAL;
}

int rte_eth_xstats_get_by_id(uint16_t port_id, const uint64_t *ids, uint64_t *values, unsigned int n)
{
	for (unsigned i = 0; i < n; i++) {
		if (ids[i] >= NAMES_MAX) // DPDK rejects the whole call
			return -1;
		values[i] = UINT64_C(1) << ids[i];
	}
	return (int)n;
}

static bool ask(size_t i, uint64_t lacks, struct tl_port *port, struct tl_port_mac_counts *counts)
{
	*port = (struct tl_port){.port_id = 0};
	device = &recorded[i];
	without = lacks;
	tl_port_find_mac_counts(port, device->driver);
	return tl_port_read_mac_counts(port, counts);
}

// Return the sum of the counters with these names.
static uint64_t sum_of(const char *const *names)
{
	uint64_t sum = 0;

	for (; *names != NULL; names++) {
		CU_ASSERT_FATAL(place_of(*names) >= 0);
		sum += UINT64_C(1) << place_of(*names);
	}
	return sum;
}

TL_TEST("frames, losses and errors of each driver are the documented sums")
{
	static const struct {
		bool verified, queue_drops, adds;
		const char *seen[NAMES_MAX], *lost[NAMES_MAX], *errors[NAMES_MAX];
	} wanted[] = {
		{true, true, false, {"rx_total_packets"}, {0},
			{"rx_crc_errors", "rx_illegal_byte_errors", "rx_error_bytes", "rx_length_errors",
				"rx_fragment_errors", "rx_undersize_errors", "rx_oversize_errors",
				"rx_mac_short_packet_dropped"}},
		{false, false, true, {"rx_total_packets"}, {0}, {"rx_fragment_errors", "rx_oversize_errors"}},
		{false, false, true,
			{"rx_size_64_packets", "rx_size_65_to_127_packets", "rx_size_128_to_255_packets",
				"rx_size_256_to_511_packets", "rx_size_512_to_1023_packets",
				"rx_size_1024_to_1522_packets", "rx_size_1523_to_max_packets", "rx_crc_errors",
				"rx_length_errors", "rx_undersized_errors", "rx_oversize_errors",
				"rx_fragmented_errors", "rx_jabber_errors"},
			{0}, {0}},
		{false, false, true,
			{"rx_size_64_packets", "rx_size_65_to_127_packets", "rx_size_128_to_255_packets",
				"rx_size_256_to_511_packets", "rx_size_512_to_1023_packets",
				"rx_size_1024_to_1522_packets", "rx_size_1523_to_max_packets", "rx_crc_errors",
				"rx_undersized_errors", "rx_oversize_errors", "rx_fragmented_errors",
				"rx_jabber_errors"},
			{0}, {0}},
		{false, false, true, {"rx_phy_packets", "rx_phy_crc_errors", "rx_phy_in_range_len_errors"},
			{"rx_phy_discard_packets", "rx_prio0_buf_discard_packets", "rx_prio1_buf_discard_packets",
				"rx_prio2_buf_discard_packets", "rx_prio3_buf_discard_packets",
				"rx_prio4_buf_discard_packets", "rx_prio5_buf_discard_packets",
				"rx_prio6_buf_discard_packets", "rx_prio7_buf_discard_packets"},
			{"rx_phy_crc_errors", "rx_phy_in_range_len_errors"}},
	};
	struct tl_port_mac_counts counts;
	static struct tl_port port;

	for (size_t i = 0; i < TL_ARRAY_LEN(wanted); i++) {
		CU_ASSERT_TRUE(ask(i, 0, &port, &counts));
		CU_ASSERT_EQUAL(port.mac_counts.verified, wanted[i].verified);
		CU_ASSERT_EQUAL(port.mac_counts.queue_drops, wanted[i].queue_drops);
		CU_ASSERT_EQUAL(port.mac_counts.adds, wanted[i].adds);
		CU_ASSERT_EQUAL(counts.seen, sum_of(wanted[i].seen));
		CU_ASSERT_EQUAL(counts.lost, sum_of(wanted[i].lost));
		CU_ASSERT_EQUAL(counts.errors, sum_of(wanted[i].errors));
	}
}

// A virtual function of mlx5 lacks the counters of the physical port; older firmware lacks those of priorities.
TL_TEST("counters that a device lacks are left out")
{
	struct tl_port_mac_counts counts;
	static struct tl_port port;

	device = &recorded[4];
	without = 0;
	uint64_t prios = 0, phy = UINT64_C(1) << place_of("rx_phy_packets");
	for (int i = place_of("rx_prio0_buf_discard_packets"); i <= place_of("rx_prio7_buf_discard_packets"); i++)
		prios |= UINT64_C(1) << i;
	CU_ASSERT_TRUE(ask(4, prios, &port, &counts));
	CU_ASSERT_EQUAL(counts.lost, UINT64_C(1) << place_of("rx_phy_discard_packets"));
	CU_ASSERT_FALSE(ask(4, phy, &port, &counts));
	CU_ASSERT_EQUAL(counts.seen + counts.lost + counts.errors, 0);
}

TL_TEST("drivers without MAC counters, and unverified ones, have none")
{
	static const char *const drivers[] = {"net_unread", "net_virtio", "net_vmxnet3", "net_ena", "net_gve",
		"net_iavf", "net_ixgbe_vf", "net_e1000_igb_vf", "net_bnxt"};
	static struct tl_port port;
	struct tl_port_mac_counts counts;

	device = &recorded[0];
	without = 0;
	for (size_t i = 0; i < TL_ARRAY_LEN(drivers); i++) {
		tl_port_find_mac_counts(&port, drivers[i]);
		CU_ASSERT_FALSE(tl_port_read_mac_counts(&port, &counts));
		CU_ASSERT_FALSE(port.mac_counts.queue_drops || port.mac_counts.verified);
	}
}

int main(void)
{
	return tl_test_run("mac_counts");
}
