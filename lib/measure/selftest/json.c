// SPDX-License-Identifier: BSD-3-Clause
// Results, and facts reported by a port, as JSON.

#include "selftest_priv.h"

#include <stdlib.h>

#include <rte_ethdev.h>

static json_t *check_json(const struct tl_selftest_check *check)
{
	return json_pack("{s:s, s:i, s:i, s:s, s:s, s:O}", "id", check->id, "from", (int)check->from, "to",
		(int)check->to, "verdict", tl_selftest_verdict_name(check->verdict), "text", check->text, "figures",
		check->figures);
}

json_t *tl_selftest_checks_json(const struct tl_selftest_result *result)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < result->n; i++)
		json_array_append_new(list, check_json(&result->checks[i]));
	return list;
}

// ---- a port

static json_t *offloads_json(uint64_t capabilities, const char *(*name_of)(uint64_t offload))
{
	json_t *list = json_array();

	for (uint64_t rest = capabilities; rest != 0; rest &= rest - 1)
		json_array_append_new(list, json_string(name_of(rest & -rest)));
	return list;
}

static json_t *limits_json(const struct rte_eth_dev_info *info)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "rx_queues_max",
		(int)info->max_rx_queues, "tx_queues_max", (int)info->max_tx_queues, "rx_ring_min",
		(int)info->rx_desc_lim.nb_min, "rx_ring_max", (int)info->rx_desc_lim.nb_max, "tx_ring_min",
		(int)info->tx_desc_lim.nb_min, "tx_ring_max", (int)info->tx_desc_lim.nb_max, "reta_size",
		(int)info->reta_size, "rss_key_bytes", (int)info->hash_key_size, "mtu_max", (int)info->max_mtu,
		"mac_addresses_max", (int)info->max_mac_addrs);
}

// Return the driver's statistics that are not 0. A kernel's are left out: reading them may clear them.
static json_t *xstats_json(const struct tl_port *port, uint16_t port_id)
{
	int n = tl_port_counts_by_sockets(port) ? 0 : rte_eth_xstats_get_names(port_id, NULL, 0);
	struct rte_eth_xstat_name *names = n > 0 ? calloc((size_t)n, sizeof(*names)) : NULL;
	struct rte_eth_xstat *values = n > 0 ? calloc((size_t)n, sizeof(*values)) : NULL;
	json_t *list = json_object();

	if (names != NULL && values != NULL && rte_eth_xstats_get_names(port_id, names, (unsigned)n) == n &&
		rte_eth_xstats_get(port_id, values, (unsigned)n) == n)
		for (int i = 0; i < n; i++)
			if (values[i].value != 0 && values[i].id < (uint64_t)n)
				json_object_set_new(
					list, names[values[i].id].name, json_integer((json_int_t)values[i].value));
	free(names);
	free(values);
	return list;
}

static json_t *stamps_json(const struct tl_port *port)
{
	struct tl_port_stamps stamps;

	tl_port_stamps(port, &stamps);
	json_t *json = json_pack("{s:s, s:i, s:n, s:n}", "source", tl_ts_source_name(stamps.source), "unit_ns",
		(int)stamps.unit_ns, "bound_ns", "clock_hz");
	if (stamps.has_bound)
		json_object_set_new(json, "bound_ns", json_integer((json_int_t)stamps.bound_ns));
	if (stamps.has_nic_clock)
		json_object_set_new(json, "clock_hz", json_real(stamps.nic_clock.rate_hz));
	return json;
}

static json_t *firmware_json(uint16_t port_id)
{
	char text[128];

	bool known = rte_eth_dev_is_valid_port(port_id) && rte_eth_dev_fw_version_get(port_id, text, sizeof(text)) == 0;

	return known ? json_string(text) : json_null();
}

json_t *tl_selftest_port_json(struct tl_port *port)
{
	uint16_t port_id = tl_port_rxq(port, 0)->port_id;
	const struct tl_port_cfg *cfg = tl_port_config(port);
	struct rte_eth_dev_info info = {.driver_name = "AF_PACKET"}; // of a port without a driver of DPDK

	if (rte_eth_dev_is_valid_port(port_id) && rte_eth_dev_info_get(port_id, &info) != 0)
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "device", cfg->spec.text, "driver",
		info.driver_name, "firmware", firmware_json(port_id), "link_mbps",
		(json_int_t)(tl_port_speed_bps(port) / 1000000), "rx_queues", (int)cfg->rx_queues, "limits",
		limits_json(&info), "rx_offloads", offloads_json(info.rx_offload_capa, rte_eth_dev_rx_offload_name),
		"tx_offloads", offloads_json(info.tx_offload_capa, rte_eth_dev_tx_offload_name), "stamps",
		stamps_json(port), "xstats", xstats_json(port, port_id));
}
