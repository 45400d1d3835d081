// SPDX-License-Identifier: BSD-3-Clause
// Table of a port's capabilities.

#include "port_priv.h"

#include <inttypes.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <tl_units.h>

static const char *tx_checksums(const struct tl_port *port, const struct rte_eth_dev_info *info)
{
	if ((info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM) == 0)
		return "no";
	return port->tx_checksums ? "yes" : "yes, not used";
}

static const char *yes_no(bool yes)
{
	return yes ? "yes" : "no";
}

// True if the device accepts flow rules: a driver without rte_flow rejects even the simplest one.
static bool has_flow(uint16_t port_id)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action_queue queue = {.index = 0};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error;
	int rc = rte_flow_validate(port_id, &attr, pattern, actions, &error);

	return rc != -ENOSYS && rc != -ENOTSUP;
}

static void print_eth(const struct tl_port *port)
{
	struct rte_eth_dev_info info;
	char mac[TL_ETHER_TEXT];
	uint64_t speed_bps = tl_port_speed_bps(port);

	if (rte_eth_dev_info_get(port->port_id, &info) != 0)
		return;
	fprintf(stderr, "    driver          %s\n", info.driver_name);
	fprintf(stderr, "    MAC             %s\n", tl_format_ether(port->mac, mac));
	if (speed_bps != 0)
		fprintf(stderr, "    link            %" PRIu64 " Mbit/s\n", speed_bps / 1000000);
	fprintf(stderr, "    queues          %u of %u receive, %u of %u send\n", port->cfg.rx_queues,
		info.max_rx_queues, port->cfg.tx_queues, info.max_tx_queues);
	fprintf(stderr, "    RSS             %s\n", yes_no(info.flow_type_rss_offloads != 0));
	fprintf(stderr, "    RX checksums    %s\n", yes_no(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_CKSUM));
	fprintf(stderr, "    TX checksums    %s\n", tx_checksums(port, &info));
	fprintf(stderr, "    RX timestamps   %s\n", yes_no(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP));
	fprintf(stderr, "    multicast       %s\n", port->multicast);
	fprintf(stderr, "    rte_flow        %s%s%s\n", yes_no(has_flow(port->port_id)),
		port->cfg.isolate ? ", isolated: other frames stay with " : "", port->copies.iface);
}

static void print_packet(const struct tl_port *port)
{
	char mac[TL_ETHER_TEXT];

	bool sends = port->cfg.tx_queues != 0;

	fprintf(stderr, "    driver          AF_PACKET, %s\n",
		sends ? "TPACKET_V2 and a send call per frame" : "TPACKET_V3");
	fprintf(stderr, "    MAC             %s\n", tl_format_ether(port->mac, mac));
	if (port->speed_bps != 0)
		fprintf(stderr, "    link            %" PRIu64 " Mbit/s\n", port->speed_bps / 1000000);
	fprintf(stderr, "    queues          %u receive", port->cfg.rx_queues);
	if (sends)
		fprintf(stderr, ", %u send\n    multicast       %s", port->cfg.tx_queues, port->multicast);
	fprintf(stderr, "\n");
}

static void print_stamps(const struct tl_port *port)
{
	struct tl_port_stamps stamps;

	tl_port_stamps(port, &stamps);
	fprintf(stderr, "    stamps from     %s, unit ", tl_ts_source_name(stamps.source));
	if (stamps.unit_ns != 0)
		fprintf(stderr, "%" PRIu32 " ns", stamps.unit_ns);
	else
		fprintf(stderr, "unknown");
	if (stamps.has_bound)
		fprintf(stderr, ", within %" PRIu64 " ns of CLOCK_REALTIME\n", stamps.bound_ns);
	else
		fprintf(stderr, ", bound unknown\n");
	if (!stamps.has_nic_clock)
		return;
	fprintf(stderr, "    NIC's clock     %.0f Hz", stamps.nic_clock.rate_hz);
	if (stamps.nic_clock.scale != TL_CLOCK_TICKS)
		fprintf(stderr, ", shows %s, %" PRId64 " ns off", tl_clock_scale_name(stamps.nic_clock.scale),
			stamps.nic_clock.offset_ns);
	fprintf(stderr, "\n");
}

void tl_port_print_probe(const struct tl_port *port)
{
	fprintf(stderr, "port %s (%s)\n", port->name, port->cfg.spec.text);
	if (port->ops == &tl_port_eth_ops)
		print_eth(port);
	if (port->ops == &tl_port_packet_ops)
		print_packet(port);
	print_stamps(port);
	fprintf(stderr, "    drop counters   %s\n", tl_port_traits(&port->cfg.spec)->drops);
}
