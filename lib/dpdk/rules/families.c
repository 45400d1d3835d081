// SPDX-License-Identifier: BSD-3-Clause
// Flow rules that the drivers of DPDK v22.11.11 keep, by their sources below drivers/net.

#include <tl_rules.h>

#include <string.h>

#include <tl_base.h>

// ixgbe/ixgbe_ethdev.c:6524, ixgbe_add_5tuple_filter: 128 filters. ixgbe/ixgbe_flow.c:172, cons_parse_ntuple_filter:
// IPv4, whole addresses, a queue; the protocol is the IP header's, so {TCP} alone would match every protocol. No marks:
// ixgbe_flow.c:1468 accepts one for the flow director, but nothing sets fdir_conf.status, so the card never reports it
// (ixgbe_fdir.c:190), up to DPDK 26.07; tests/ixgbe/driver.c.
#define IXGBE_TO_QUEUE                                                                                                 \
	{                                                                                                              \
		.name = "5-tuple filter", .max = 128, .items = TL_RULES_ITEMS, .proto_in_ip = true                     \
	}

// igb/igb_flow.c:91, cons_parse_ntuple_filter: as ixgbe's, with a protocol always.
#define IGB_TO_QUEUE(kind, can_match)                                                                                  \
	{                                                                                                              \
		.name = (kind), .max = 8, .items = (can_match), .required = TL_RULES_PROTO, .proto_in_ip = true        \
	}

// i40e/i40e_flow.c:1882: a mask of an address that is not whole is ignored, silently. i40e_fdir.c:1308: one set of
// fields per protocol. A rule without a protocol matches neither TCP nor UDP. i40e_ethdev.h:716: 8192 filters.
// i40e_flow.c:2495: a mark behind the queue; i40e_rxtx.c:235, i40e_rxd_build_fdir: in descriptors of 32 bytes.
#define I40E_FDIR                                                                                                      \
	{                                                                                                              \
		.name = "flow director", .max = 8192, .items = TL_RULES_ITEMS, .required = TL_RULES_PROTO,             \
		.ip6 = true, .marks = true, .shape = TL_RULES_SHAPE_PER_PROTO                                          \
	}

// ice/ice_fdir_filter.c:2051: whole addresses; :2492: no rule of a protocol alone; :846, ice_fdir_hw_tbl_conf: one set
// of fields per protocol; :1570: counters, ice_ethdev.h:372: 32 x 256 of them; :1732: marks, ice_rxtx.c:107: of frames
// with a flow_id.
#define ICE_FDIR                                                                                                       \
	{                                                                                                              \
		.name = "flow director", .max = 8192, .items = TL_RULES_ITEMS, .required = TL_RULES_PROTO,             \
		.ip6 = true, .proto_by_any = true, .counts = true, .marks = true, .shape = TL_RULES_SHAPE_PER_PROTO    \
	}

// mlx5/mlx5_flow_dv.c: any bits of addresses and ports; :16885, flow_dv_query_count: counters; :3242: marks, with the
// default of dv_xmeta_en up to 0xffffef (mlx5_flow.c:1896); mlx5_rx.c:908. It needs no
// rte_eth_rx_metadata_negotiate(): mlx5.c:2630 of v25.11 has it, for tunnels.
#define MLX5_FLOW                                                                                                      \
	{                                                                                                              \
		.name = "steering table", .max = 65536, .items = TL_RULES_ITEMS, .ip6 = true, .prefixes = true,        \
		.counts = true, .marks = true                                                                          \
	}

// tap/tap_flow.c:252, tap_flow_items: a flower filter of the kernel, with any bits of addresses, and whole ports;
// :1125: no action COUNT. tests/vm/scenario_steer.sh installs such filters.
#define TAP_FLOW                                                                                                       \
	{                                                                                                              \
		.name = "flower filter", .max = 65536, .items = TL_RULES_ITEMS, .ip6 = true, .prefixes = true          \
	}

// ixgbe/ixgbe_fdir.c:278: without ports in the mask the protocol is not compared. ixgbe_flow.c:3145: one mask per port,
// for the life of the device. :1464: soft_id, which is the mark's, else 0; ixgbe_fdir.c:1169: the index of the filter.
#define IXGBE_FDIR(can_match)                                                                                          \
	{                                                                                                              \
		.name = "flow director", .max = 2046, .items = (can_match), .prefixes = true, .proto_by_ports = true,  \
		.index_by_mark = true, .shape = TL_RULES_SHAPE_PER_PORT                                                \
	}

#define ADDRESSES (TL_RULES_SRC_IP | TL_RULES_DST_IP)

// Where dropping rules alone are in the flow director, FDIRMATCH counts what they drop.
#define IXGBE(from, to, way, drop_way)                                                                                 \
	{                                                                                                              \
		.driver = "net_ixgbe", .first = (from), .last = (to), .to_queue = way, .drops = drop_way,              \
		.drop_counter = "flow_director_matched_filters"                                                        \
	}
#define X540(device) IXGBE(device, device, IXGBE_TO_QUEUE, IXGBE_FDIR(TL_RULES_ITEMS))
// ixgbe/ixgbe_ethdev.h:139, MAC_TYPE_FILTER_SUP_EXT: 5-tuple filters for the 82599 and the X540 alone, up to
// DPDK 26.07.
#define X550(from, to) IXGBE(from, to, IXGBE_FDIR(TL_RULES_ITEMS), IXGBE_FDIR(TL_RULES_ITEMS))
#define NONE(name, from, to)                                                                                           \
	{                                                                                                              \
		.driver = (name), .first = (from), .last = (to)                                                        \
	}

#define IGB(from, to, way)                                                                                             \
	{                                                                                                              \
		.driver = "net_e1000", .first = (from), .last = (to), .to_queue = way                                  \
	}
// igb/igb_flow.c:438: the 82576 alone has 5-tuple filters; :454: others compare protocol and destination port.
// Devices: e1000/base/e1000_api.c:304, e1000_set_mac_type.
#define IGB5 IGB_TO_QUEUE("5-tuple filter", TL_RULES_ITEMS)
#define IGB2 IGB_TO_QUEUE("2-tuple filter", TL_RULES_PROTO | TL_RULES_DST_PORT)

static const struct tl_rules_family families[] = {
	// ixgbe/ixgbe_flow.c:625, MAC_TYPE_FILTER_SUP_EXT: the 82598 has none.
	NONE("net_ixgbe", 0x10b6, 0x10ec),
	NONE("net_ixgbe", 0x10f1, 0x10f4),
	NONE("net_ixgbe", 0x1508, 0x150b),
	// ixgbe/ixgbe_ethdev.c:459, pci_id_ixgbevf_map; flow_ops_get of the physical functions alone (:541).
	NONE("net_ixgbe", 0x10ed, 0x10ed),
	NONE("net_ixgbe", 0x1515, 0x1515),
	NONE("net_ixgbe", 0x152e, 0x1530),
	NONE("net_ixgbe", 0x1564, 0x1565),
	NONE("net_ixgbe", 0x15a8, 0x15a9),
	NONE("net_ixgbe", 0x15b4, 0x15b4),
	NONE("net_ixgbe", 0x15c5, 0x15c5),
	X540(0x1528),
	X540(0x1560),
	X550(0x1563, 0x1563),
	X550(0x15aa, 0x15e5),
	// ixgbe/ixgbe_flow.c:2787: the 82599 drops by addresses, not by ports.
	IXGBE(0, UINT16_MAX, IXGBE_TO_QUEUE, IXGBE_FDIR(ADDRESSES)),
	IGB(0x10c9, 0x10c9, IGB5),
	IGB(0x10e6, 0x10e8, IGB5),
	IGB(0x150a, 0x150a, IGB5),
	IGB(0x150d, 0x150d, IGB5),
	IGB(0x1518, 0x1518, IGB5),
	IGB(0x1526, 0x1526, IGB5),
	IGB(0x0438, 0x0440, IGB2), // DH89xxCC, an 82580
	IGB(0x150e, 0x1511, IGB2),
	IGB(0x1516, 0x1516, IGB2),
	IGB(0x1521, 0x1524, IGB2),
	IGB(0x1527, 0x1527, IGB2),
	IGB(0x1533, 0x1539, IGB2),
	IGB(0x1546, 0x1546, IGB2),
	IGB(0x157b, 0x157c, IGB2),
	{.driver = "net_i40e", .last = UINT16_MAX, .to_queue = I40E_FDIR, .drops = I40E_FDIR},
	{.driver = "net_ice", .last = UINT16_MAX, .to_queue = ICE_FDIR, .drops = ICE_FDIR},
	// mlx5/mlx5_flow.c:7957, mlx5_flow_isolate; tap/tap_flow.c:1575, tap_flow_isolate (DPDK v22.11.9).
	{.driver = "net_mlx5", .last = UINT16_MAX, .to_queue = MLX5_FLOW, .drops = MLX5_FLOW, .isolates = true},
	{.driver = "net_tap", .last = UINT16_MAX, .to_queue = TAP_FLOW, .drops = TAP_FLOW, .isolates = true},
};

const struct tl_rules_family *tl_rules_family(const char *driver, uint16_t device)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(families) && driver != NULL; i++)
		if (strcmp(families[i].driver, driver) == 0 && device >= families[i].first &&
			device <= families[i].last)
			return &families[i];
	return NULL;
}
