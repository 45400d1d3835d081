// SPDX-License-Identifier: BSD-3-Clause
// Port backed by a DPDK device: PCI NIC, AF_XDP socket or virtual device. Setup, groups, counters and teardown.

#include "port_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <tl_log.h>

static const char *device_text(const struct tl_port *port)
{
	return port->cfg.spec.text;
}

static int ask_device(struct tl_port *port, struct rte_eth_dev_info *info, struct tl_err *err)
{
	struct rte_ether_addr mac;
	int rc = rte_eth_dev_info_get(port->port_id, info);

	if (rc == 0)
		rc = rte_eth_macaddr_get(port->port_id, &mac);
	if (rc != 0)
		return tl_fail(err, rc, "port %s: cannot read the device information of %s (%s)", port->name,
			device_text(port), strerror(-rc));
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	return 0;
}

// Return the bytes of a frame that one mbuf must hold.
static uint32_t frame_room(const struct tl_port *port)
{
	if (tl_port_is_kernels(port))
		return RTE_MAX(tl_kernel_xdp_room(&port->cfg), (uint32_t)TL_PORT_ROOM_MIN);
	return tl_port_nic_room(port->cfg.mtu);
}

// Return the MTU to configure. A port that only records accepts what fits an mbuf anyway, such as frames with two VLAN
// tags, which exceed its MTU. mlx5 and mlx4 would set their kernel interface to it.
static uint16_t device_mtu(const struct tl_port *port, const struct rte_eth_dev_info *info)
{
	bool shared = strncmp(info->driver_name, "mlx", 3) == 0;

	if (!tl_port_is_nic(port) || port->cfg.tx_queues != 0 || shared)
		return port->cfg.mtu;
	uint32_t most = RTE_MIN(frame_room(port) - TL_PORT_FRAME_OVERHEAD, (uint32_t)info->max_mtu);
	return (uint16_t)RTE_MAX(most, (uint32_t)port->cfg.mtu);
}

static uint16_t fit_queues(const struct tl_port *port, const struct rte_eth_dev_info *info)
{
	uint16_t most = info->flow_type_rss_offloads != 0 ? info->max_rx_queues : 1;

	return port->cfg.fewer_queues ? RTE_MIN(port->cfg.rx_queues, most) : port->cfg.rx_queues;
}

// Drivers that require as many send queues as receive queues, DPDK v22.11.11.
static const char *const pairing[] = {
	"net_af_xdp", // drivers/net/af_xdp/rte_eth_af_xdp.c:744
	"net_mana",   // drivers/net/mana/mana.c:89
	"net_tap",    // drivers/net/tap/rte_eth_tap.c:1037
};

// Return the send queues to configure; drivers refuse 0.
static uint16_t send_queues(const struct tl_port *port, const char *driver)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(pairing); i++)
		if (strcmp(driver, pairing[i]) == 0)
			return RTE_MAX(port->cfg.tx_queues, port->cfg.rx_queues);
	return RTE_MAX(port->cfg.tx_queues, (uint16_t)1);
}

static int configure_device(struct tl_port *port, const struct rte_eth_dev_info *info, struct tl_err *err)
{
	uint16_t rx = port->cfg.rx_queues = fit_queues(port, info);
	uint16_t tx = send_queues(port, info->driver_name);
	struct rte_eth_conf conf = {.rxmode = {.mtu = device_mtu(port, info)}, .lpbk_mode = port->cfg.loopback};
	const uint64_t checksums =
		RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
	const uint64_t tx_checksums = RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;

	// mlx5 and mlx4 report the removal of their device by an event, if it is enabled.
	conf.intr_conf.rmv = info->dev_flags != NULL && (*info->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	if (rx > info->max_rx_queues || tx > info->max_tx_queues)
		return tl_fail(err, -EINVAL,
			"port %s: %s has %u receive and %u send queues, not %u and %u: lower rx_queues", port->name,
			device_text(port), info->max_rx_queues, info->max_tx_queues, rx, tx);
	// Offloads that the stack can use, and none that changes a frame (VLAN_STRIP, LRO): a recording shows the wire.
	conf.rxmode.offloads = info->rx_offload_capa & checksums;
	if (port->stamping.flag != 0 || port->cfg.ptp) // ice stamps PTP frames, too, only with this offload
		conf.rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	port->tx_checksums = port->cfg.tx_checksums && (info->tx_offload_capa & tx_checksums) == tx_checksums;
	conf.txmode.offloads = port->tx_checksums ? tx_checksums : 0;
	if (port->sending.flag != 0)
		conf.txmode.offloads |= info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
	if (port->cfg.ptp) // without an offload ixgbe and i40e use a fast path that ignores a frame's flags
		conf.txmode.offloads |= info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
	int rc = tl_port_configure_rss(port, info, &conf, err);
	if (rc != 0)
		return rc;
	if (tl_port_is_kernels(port))
		conf.rxmode.mtu = 0; // the interface's own MTU stays as it is
	tl_port_note_shared(port);
	rc = tl_port_configure_device(port, rx, tx, &conf);
	if (rc != 0)
		return tl_fail(err, rc, "port %s: %s refused %u receive and %u send queues (%s)", port->name,
			device_text(port), rx, tx, strerror(-rc));
	return 0;
}

// Device limits and alignment may change the size of a ring.
static void warn_of_ring(const struct tl_port *port, const char *key, uint16_t wanted, uint16_t given,
	const struct rte_eth_desc_lim *limits)
{
	if (wanted != 0 && wanted != given)
		tl_warn("port %s: %s is %u, not %u: %s takes %u to %u descriptors, in steps of %u", port->name, key,
			given, wanted, device_text(port), limits->nb_min, limits->nb_max,
			RTE_MAX(limits->nb_align, (uint16_t)1));
}

static int size_rings(const struct tl_port *port, const struct rte_eth_dev_info *info, uint16_t *rx_desc,
	uint16_t *tx_desc, struct tl_err *err)
{
	const struct tl_port_cfg *cfg = &port->cfg;

	*rx_desc = tl_port_rx_descriptors(cfg, strncmp(info->driver_name, "mlx5", 4) == 0);
	*tx_desc = tl_port_tx_descriptors(cfg);
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, rx_desc, tx_desc);
	if (rc != 0)
		return tl_fail(err, rc, "port %s: %s does not report the limits of its queues (%s)", port->name,
			device_text(port), strerror(-rc));
	warn_of_ring(port, "rx_descriptors", cfg->rx_descriptors, *rx_desc, &info->rx_desc_lim);
	warn_of_ring(port, "tx_descriptors", cfg->tx_descriptors, *tx_desc, &info->tx_desc_lim);
	return 0;
}

static int set_up_queues(struct tl_port *port, const struct rte_eth_dev_info *info, struct tl_err *err)
{
	uint16_t tx = send_queues(port, info->driver_name);
	struct rte_eth_rxconf rx_conf = info->default_rxconf;
	uint16_t rx_desc, tx_desc;
	int rc = size_rings(port, info, &rx_desc, &tx_desc, err);

	port->rx_descriptors = rc == 0 ? rx_desc : 0;

	if (rc == 0)
		rc = tl_port_make_pool(port, frame_room(port), rx_desc, tx_desc, err);
	if (rc != 0)
		return rc;
	rx_conf.offloads = 0; // the port's offloads are set by configure
	// Otherwise one full queue blocks the packet buffer, and so all others (DROP_EN: 82599 datasheet, 8.2.3.8.7).
	rx_conf.rx_drop_en = port->mac_counts.queue_drops && port->cfg.rx_queues > 1;
	for (uint16_t i = 0; i < port->cfg.rx_queues && rc == 0; i++)
		rc = rte_eth_rx_queue_setup(
			port->port_id, i, rx_desc, (unsigned)port->cfg.socket_id, &rx_conf, port->pool);
	for (uint16_t i = 0; i < tx && rc == 0; i++)
		rc = rte_eth_tx_queue_setup(port->port_id, i, tx_desc, (unsigned)port->cfg.socket_id, NULL);
	const char *hint =
		tl_port_is_kernels(port) && geteuid() != 0 ? ": are you root (CAP_NET_RAW, CAP_NET_ADMIN)?" : "";
	if (rc != 0)
		return tl_fail(err, rc, "port %s: %s refused its queues (%s)%s", port->name, device_text(port),
			strerror(-rc), hint);
	return 0;
}

static void fill_queues(struct tl_port *port)
{
	for (uint16_t i = 0; i < port->cfg.rx_queues; i++) {
		port->rxq[i] = (struct tl_rxq){.burst = tl_eth_burst,
			.port_id = port->port_id,
			.queue_id = i,
			.descriptors = port->rx_descriptors,
			.wait_fd = i < port->sockets.n ? port->sockets.fd[i] : -1,
			.clock = port->cfg.clock,
			.port = port};
		tl_port_stamp_queue(port, &port->rxq[i]);
	}
	for (uint16_t i = 0; i < port->cfg.tx_queues; i++)
		port->txq[i] = (struct tl_txq){.port_id = port->port_id,
			.queue_id = i,
			.early_pkts = TL_ETH_EARLY_PKTS,
			.checksums = port->tx_checksums,
			.flush_fn = tl_eth_flush,
			.send = tl_eth_send,
			.sent = &port->sent[i],
			.clock = port->cfg.clock};
}

static int eth_open(struct tl_port *port, struct tl_err *err)
{
	int domain = port->socket_domain = tl_kernel_socket_domain(&port->cfg.spec);
	struct tl_kernel_sockets before;
	struct rte_eth_dev_info info;

	port->port_id = RTE_MAX_ETHPORTS;
	tl_kernel_list_sockets(domain, &before);
	int rc = tl_port_attach(port, err);
	if (rc == 0)
		rc = ask_device(port, &info, err);
	if (rc == 0 && port->cfg.socket_id == SOCKET_ID_ANY)
		port->cfg.socket_id = rte_eth_dev_socket_id(port->port_id);
	if (rc == 0)
		rc = tl_port_choose_stamps(port, (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0, err);
	if (rc == 0)
		tl_port_choose_send_at(port, (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0);
	if (rc == 0)
		rc = configure_device(port, &info, err);
	if (rc != 0)
		return rc;
	tl_port_find_mac_counts(port, info.driver_name); // the number of queues changes the identifiers
	rc = set_up_queues(port, &info, err);
	if (rc == 0 && port->cfg.isolate)
		rc = tl_isolate_device(port, err);
	if (rc != 0)
		return rc;
	// ixgbe_start_timecounters(): drivers/net/ixgbe/ixgbe_ethdev.c:6969, DPDK v22.11.11.
	port->stamping.clock_by_speed = strcmp(info.driver_name, "net_ixgbe") == 0;
	if (domain != AF_UNSPEC) {
		tl_kernel_list_sockets(domain, &port->sockets);
		tl_kernel_new_sockets(&port->sockets, &before);
	}
	if (domain == AF_PACKET)
		tl_kernel_quiesce_packet(&port->sockets);
	if (domain != AF_UNSPEC)
		tl_kernel_open_spare(&port->sockets);
	port->drops_unknown = tl_port_drops_are_unknown(port, info.driver_name);
	snprintf(port->multicast, sizeof(port->multicast), "none");
	fill_queues(port);
	if (!tl_port_is_nic(port)) // starting a NIC restarts its link
		tl_port_look_at_link(port);
	return 0;
}

// Enable promiscuous mode; record whether this call changed it. Return 0 if the port is promiscuous.
static int set_promisc(struct tl_port *port)
{
	if (tl_port_is_kernels(port)) // at close the driver would need a privilege dropped by then
		return tl_kernel_set_promisc(&port->sockets, port->cfg.spec.arg);
	if (rte_eth_promiscuous_get(port->port_id) == 1) {
		port->promisc = true;
		return 0;
	}
	int rc = rte_eth_promiscuous_enable(port->port_id);
	port->promisc_set |= rc == 0;
	port->promisc |= rc == 0;
	return rc;
}

// Since its socket was created the kernel may have counted frames that arrived before the ring existed. Frames now in
// the ring and that count are not accounted; both start here.
static void begin_kernel_account(struct tl_port *port)
{
	struct rte_mbuf *pkts[TL_BURST];
	uint16_t n;

	for (uint16_t q = 0; q < port->cfg.rx_queues; q++)
		while ((n = rte_eth_rx_burst(port->port_id, q, pkts, TL_BURST)) != 0)
			rte_pktmbuf_free_bulk(pkts, n);
	tl_kernel_sample_packet(&port->sockets);
	port->sockets.seen = 0;
	memset(port->sockets.dropped, 0, sizeof(port->sockets.dropped));
	tl_kernel_admit_packet(&port->sockets);
}

// Install the rules of an isolated port: it receives no other frames.
static int start_isolated(struct tl_port *port, struct tl_err *err)
{
	tl_port_install_rules(port);
	if (!port->rules.installed)
		return tl_fail(err, -ENOTSUP,
			"port %s: no flow rule is installed: %s; without them an isolated port receives nothing",
			port->name, port->rules.refusal);
	return tl_copies_start(port, err);
}

static int eth_start(struct tl_port *port, struct tl_err *err)
{
	struct tl_port_mac_counts before;

	(void)tl_port_read_mac_counts(port, &before);
	port->mac_counts.seen_before = before.seen;
	port->stamping.timesync = false; // starting resets the device
	int rc = rte_eth_dev_start(port->port_id);

	if (rc != 0)
		return tl_fail(err, rc, "port %s: %s did not start (%s)", port->name, device_text(port), strerror(-rc));
	rc = tl_port_start_stamps(port, err);
	if (rc == 0)
		rc = tl_port_spread(port, err);
	if (rc == 0 && port->cfg.isolate)
		rc = start_isolated(port, err);
	if (rc != 0) {
		(void)rte_eth_dev_stop(port->port_id);
		return rc;
	}
	if (port->cfg.promisc && !port->cfg.isolate && set_promisc(port) != 0)
		tl_warn("port %s: %s has no promiscuous mode: only frames for its own address are seen", port->name,
			device_text(port));
	tl_port_find_queue_counters(port);
	tl_port_read_shares(port);
	if (!port->cfg.isolate)
		tl_port_install_rules(port);
	if (tl_port_has_marks(port) && !port->rules.installed) {
		(void)rte_eth_dev_stop(port->port_id);
		return tl_fail(err, -ENOTSUP,
			"port %s: no flow rule is installed: %s; without them no frame bears a mark: remove \"mark\"",
			port->name, port->rules.refusal);
	}
	if (port->socket_domain == AF_PACKET)
		begin_kernel_account(port);
	return 0;
}

static uint64_t sum_rx_pkts(const struct tl_port *port)
{
	uint64_t sum = 0;

	for (uint16_t i = 0; i < port->cfg.rx_queues; i++)
		sum += tl_count_read(&port->rxq[i].stats.rx_pkts);
	return sum;
}

// Read the driver's counters. Those of a removed device read as all ones: the last valid sample is kept, as for a
// device that does not respond. It may be removed during the reads. Parts are read before their sum.
static void read_driver(struct tl_port *port, struct tl_port_stats *out)
{
	struct rte_eth_stats stats;
	struct tl_port_mac_counts mac;

	bool known = !tl_port_removed(port, NULL) && rte_eth_stats_get(port->port_id, &stats) == 0;
	if (known) {
		out->drop_nic_pkts = stats.imissed;
		out->drop_error_pkts = stats.ierrors;
		out->drop_nombuf_pkts = stats.rx_nombuf;
		tl_port_rule_drops(port, out);
		tl_port_queue_drops(port, out);
		if (tl_port_read_mac_counts(port, &mac)) {
			out->drop_nic_pkts += mac.lost;
			out->drop_error_pkts = mac.errors + (port->mac_counts.adds ? stats.ierrors : 0);
			out->drop_nombuf_pkts = 0;
			out->has_mac = port->promisc;
			out->verified = port->promisc && port->mac_counts.verified && !out->rule_drops_unknown;
			out->hw_seen_pkts = mac.seen - port->mac_counts.seen_before;
		}
	}
	if (!known || tl_port_torn_out(port))
		*out = port->sampled;
	port->sampled = *out;
}

static void sample_driver(struct tl_port *port, struct tl_port_stats *out)
{
	read_driver(port, out);
	tl_port_subtract(out, &port->account.before);
	if (port->account.ended && out->has_mac)
		tl_port_close_account(&port->account.end, sum_rx_pkts(port), out);
	out->mac_seen_pkts = out->hw_seen_pkts;
}

// Drivers of kernel sockets count no drops, or (25.03 on) count them by reading the socket, which would clear the
// counts read here: so the socket is read, and never the driver.
static void eth_sample(struct tl_port *port, struct tl_port_stats *out)
{
	*out = (struct tl_port_stats){0};
	if (port->socket_domain == AF_PACKET) {
		tl_kernel_sample_packet(&port->sockets);
		tl_port_socket_drops(port, out);
		out->hw_seen_pkts = port->sockets.seen;
		out->verified = port->sockets.n != 0;
		return;
	}
	if (port->socket_domain == AF_XDP) {
		tl_kernel_sample_xdp(&port->sockets);
		tl_port_socket_drops(port, out);
	} else {
		sample_driver(port, out);
	}
	out->drops_unknown = port->drops_unknown;
	if (!out->verified)
		out->hw_seen_pkts = sum_rx_pkts(port) + tl_port_drops(out);
	tl_copies_sample(port, out);
}

// A NIC cannot be stopped without losing the frames in its rings. So its account is closed with its counters at this
// moment.
static bool eth_quiesce(struct tl_port *port)
{
	struct tl_port_stats end = {0};

	if (port->socket_domain == AF_PACKET)
		return tl_kernel_quiesce_packet(&port->sockets);
	if (port->socket_domain != AF_UNSPEC)
		return false;
	tl_copies_quiesce(port);
	read_driver(port, &end);
	tl_port_subtract(&end, &port->account.before);
	port->account.end = end;
	port->account.ended = true;
	return false;
}

static void eth_begin_account(struct tl_port *port)
{
	if (port->socket_domain != AF_UNSPEC)
		return;
	struct tl_port_stats before = {0};
	read_driver(port, &before);
	port->account.before = before;
}

static int eth_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n)
{
	struct rte_ether_addr list[TL_PORT_GROUPS_MAX];
	const char *how = "MAC filter";
	int rc = -ENOSPC;

	if (port->cfg.isolate)
		return tl_copies_set_groups(port, macs, n);
	for (uint32_t i = 0; i < n && i < TL_ARRAY_LEN(list); i++)
		memcpy(list[i].addr_bytes, macs[i], sizeof(list[i].addr_bytes));
	if (n <= TL_ARRAY_LEN(list))
		rc = rte_eth_dev_set_mc_addr_list(port->port_id, list, n);
	if (rc != 0) {
		how = "all multicast";
		rc = rte_eth_allmulticast_enable(port->port_id);
	}
	if (rc != 0) {
		how = "promiscuous";
		rc = set_promisc(port);
	}
	snprintf(port->multicast, sizeof(port->multicast), "%s", rc == 0 ? how : "none");
	return rc;
}

static void eth_close(struct tl_port *port)
{
	tl_kernel_close_spare(&port->sockets);
	tl_copies_close(port);
	if (tl_port_torn_out(port)) { // its driver would wait for responses, ixgbe's for 33 s
		port->pool = NULL;    // still used by the driver
		return;
	}
	tl_port_remove_rules(port);
	if (port->promisc_set)
		(void)rte_eth_promiscuous_disable(port->port_id);
	if (port->port_id != RTE_MAX_ETHPORTS) {
		if (port->started)
			(void)rte_eth_dev_stop(port->port_id);
		tl_port_restore_shared(port);
		(void)rte_eth_dev_close(port->port_id);
	}
	if (port->dev_name[0] != '\0')
		(void)rte_eal_hotplug_remove("vdev", port->dev_name);
	tl_isolate_clean(port);
}

const struct tl_port_ops tl_port_eth_ops = {
	.open = eth_open,
	.start = eth_start,
	.begin_account = eth_begin_account,
	.quiesce = eth_quiesce,
	.sample = eth_sample,
	.set_groups = eth_set_groups,
	.close = eth_close,
};
