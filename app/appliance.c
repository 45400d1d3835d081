// SPDX-License-Identifier: BSD-3-Clause
// Build an appliance from its configuration and tear it down.

#include "appliance_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_eal.h>
#include <tl_log.h>
#include <tl_secret.h>

#include "latency_files.h"
#include "police.h"
#include "policer.h"
#include "start.h"

static int start_eal(struct tl_appliance *a, struct tl_err *err)
{
	const struct tl_config_eal *cfg = &a->config->eal;
	const struct tl_eal_cfg eal = {.huge = cfg->huge,
		.memory_mb = cfg->memory_mb,
		.node_mb = a->plan.node_mb,
		.main_lcore = cfg->main_lcore,
		.lcores = a->plan.place.cpus,
		.n_lcores = a->plan.place.n_lcores + a->config->n_replays,
		.pci = a->plan.pci,
		.n_pci = a->plan.n_pci};
	int rc = tl_start_dpdk(&eal, cfg->huge_optional, &a->eal, &a->clock, err);

	return rc == 0 ? 0 : tl_fail_at(err, rc, "%s: $.eal", a->config->file);
}

static bool wants_sent(const struct tl_config *config, uint32_t port)
{
	for (uint32_t i = 0; i < config->n_captures; i++)
		if (config->captures[i].port == port && config->captures[i].direction != TL_CONFIG_RX)
			return true;
	return false;
}

static struct tl_port_cfg port_cfg(const struct tl_appliance *a, uint32_t port)
{
	const struct tl_config_port *cfg = &a->config->ports[port];

	return (struct tl_port_cfg){.name = cfg->name,
		.spec = a->plan.specs[port],
		.rx_queues = (uint16_t)cfg->rx_queues,
		.tx_queues = tl_plan_tx_queues(a->config, &a->plan, port),
		.rx_descriptors = (uint16_t)cfg->rx_descriptors,
		.tx_descriptors = (uint16_t)cfg->tx_descriptors,
		.tx_waiting = a->plan.has_echo[port] ? tl_shaping_frames(a->config, port) : 0, // a replay has mbufs
		.mtu = (uint16_t)cfg->mtu,
		.promisc = cfg->promisc,
		.ptp = cfg->ptp || tl_replays_wire_stamps(a->config, port),
		.take = cfg->take,
		.rx_only = !wants_sent(a->config, port),
		.timestamps = cfg->timestamps,
		.send_at = tl_replays_send_at(a->config, port),
		.tx_checksums = cfg->tx_checksums == TL_CONFIG_CHECKSUMS_AUTO && !wants_sent(a->config, port),
		.clock = a->clock,
		.socket_id = a->plan.place.nodes[port],
		.rss_symmetric = cfg->rss != TL_CONFIG_RSS_DEFAULT && tl_port_is_drivers(&a->plan.specs[port]),
		.rss_inner = tl_plan_hands_over_inner(a->config, port),
		.rss_queues = cfg->rss_queues,
		.isolate = cfg->isolate,
		.ip_be = a->plan.has_echo[port] ? cfg->ip_be : 0,
		.ip6 = a->plan.has_echo[port] ? cfg->ip6 : (struct tl_ip6){{0}},
		.rules = a->plan.flow_rules[port],
		.rules_plan = &a->plan.rules[port]};
}

// Check the ports before EAL starts: its start is slow, and configuration errors should appear at once.
static int check_ports(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++) {
		struct tl_port_cfg cfg = port_cfg(a, i);
		rc = tl_port_check(&cfg, err);
	}
	return rc;
}

static int open_ports(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++) {
		struct tl_port_cfg cfg = port_cfg(a, i);
		rc = tl_port_open(&cfg, &a->ports[i], err);
	}
	return rc;
}

static int list_rules(struct tl_appliance *a, struct tl_err *err)
{
	for (uint32_t i = 0; i < a->config->n_ports; i++) {
		a->rules[i] = tl_flow_rules_create(
			&a->config->ports[i], a->plan.flow_rules[i], &a->plan.rules[i], a->plan.has_echo[i]);
		if (a->rules[i] == NULL)
			return tl_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int make_syncs(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++) {
		const struct tl_config_port *cfg = &a->config->ports[i];
		struct tl_timesync_cfg sync = {.name = cfg->name,
			.port = a->ports[i],
			.clock = a->clock,
			.probes_per_s = cfg->ptp_probes_per_s,
			.replies_per_s = cfg->reply_stamps_per_s};
		rc = cfg->ptp ? tl_timesync_create(&sync, &a->syncs[i], err) : 0;
	}
	return rc;
}

static struct tl_echo_cfg echo_cfg(const struct tl_config_echo *e)
{
	return (struct tl_echo_cfg){.name = e->name,
		.kind = e->mode,
		.group_be = e->group_be,
		.n_groups = e->n_groups,
		.source_be = e->source_be,
		.group6 = e->group6,
		.source6 = e->source6,
		.connect_ip6 = e->connect_ip6,
		.udp_port_be = e->udp_port_be,
		.connect_ip_be = e->connect_ip_be,
		.connect_port_be = e->connect_port_be,
		.listen_port_be = e->listen_port_be,
		.send_buffer_bytes = e->send_buffer_bytes,
		.on_full = e->on_full,
		.warm = e->warm,
		.without_cwnd = e->congestion == TL_CONFIG_CONGESTION_NONE,
		.user_timeout_ms = e->user_timeout_seconds * 1000,
		.user_timeout_option = e->user_timeout_option,
		.keepalive_ns = e->keepalive_seconds * TL_NS_PER_S,
		.rto_min_us = e->rto_min_us,
		.pace_bps = e->pace_bps,
		.reconnect_min_ns = e->reconnect_min_ms * TL_NS_PER_MS,
		.reconnect_max_ns = e->reconnect_max_ms * TL_NS_PER_MS,
		.max_connections = e->max_connections,
		.send_buffers = e->send_buffers,
		.stages = e->stages || e->outliers.above_us != 0 || e->samples != 0,
		.outlier_ns = e->outliers.above_us * TL_NS_PER_US,
		.outliers = e->outliers.keep,
		.samples = e->samples,
		.delay_ns = e->delay_ns,
		.jitter_ns = e->jitter_ns,
		.jitter = e->jitter,
		.delay_limit = e->delay_limit};
}

// Check whether the source stamps wire times. The stamps of a capture file belong to another time.
static bool stamps_the_wire(enum tl_ts_source source)
{
	return source == TL_TS_NIC_RX || source == TL_TS_KERNEL;
}

static uint32_t neighbours_of(const struct tl_config_port *cfg, struct tl_net_neighbour *out)
{
	for (uint32_t i = 0; i < cfg->n_neighbours; i++) {
		out[i] = (struct tl_net_neighbour){.ip_be = cfg->neighbours[i].ip_be, .ip6 = cfg->neighbours[i].ip6};
		memcpy(out[i].mac, cfg->neighbours[i].mac, sizeof(out[i].mac));
	}
	return cfg->n_neighbours;
}

static uint32_t udp_ports(const struct tl_config *config, uint16_t *out_be)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < config->n_echoes; i++)
		if (config->echoes[i].mode == TL_ECHO_KIND_UDP)
			out_be[n++] = config->echoes[i].listen_port_be;
	return n;
}

static uint32_t first_answering(const struct tl_config_port *port)
{
	uint32_t queue = 0;

	while (!tl_config_answers(port, queue))
		queue++;
	return queue;
}

// Echoes of a host, while it is created.
struct echo_list {
	struct tl_echo_cfg *echoes;
	struct tl_policer_cfg *policers;
};

// List the echoes of an lcore; return their number.
static uint32_t list_echoes(struct tl_appliance *a, uint32_t port, uint16_t queue, struct echo_list *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->config->n_echoes; i++) {
		if (a->config->echoes[i].port != port || a->plan.echo_queues[i] != queue)
			continue;
		a->echo_index[i] = n;
		out->echoes[n] = echo_cfg(&a->config->echoes[i]);
		if (tl_policer_describe(&a->config->echoes[i].police, 0, &out->policers[n]))
			out->echoes[n].police = &out->policers[n];
		n++;
	}
	return n;
}

// Create the host of one lcore with the echoes it owns. A host without echoes answers for unowned traffic on its queue.
static int make_host(struct tl_appliance *a, uint32_t port, uint16_t queue, struct echo_list *list, struct tl_err *err)
{
	const struct tl_config_port *cfg = &a->config->ports[port];
	struct tl_net_neighbour neighbours[TL_CONFIG_NEIGHBOURS_MAX];
	uint16_t udp_ports_be[TL_CONFIG_ECHOES_MAX];
	struct tl_echo_host_cfg host = {.net = {.name = cfg->name,
						.tx = tl_port_txq(a->ports[port], queue),
						.pool = tl_port_pool(a->ports[port]),
						.ip_be = cfg->ip_be,
						.mask_be = cfg->mask_be,
						.gateway_be = cfg->gateway_be,
						.ip6 = cfg->ip6,
						.ip6_bits = cfg->ip6_bits,
						.gateway6 = cfg->gateway6,
						.vlan = (uint16_t)cfg->vlan,
						.mtu = (uint16_t)cfg->mtu,
						.ttl = (uint8_t)cfg->ttl,
						.dscp = (uint8_t)cfg->dscp,
						.neighbour_entries = cfg->neighbour_entries,
						.neighbours = neighbours,
						.n_neighbours = neighbours_of(cfg, neighbours),
						.reassemble = cfg->ip_fragments == TL_CONFIG_FRAGMENTS_REASSEMBLE,
						.socket_id = tl_port_config(a->ports[port])->socket_id,
						.is_follower = queue != first_answering(cfg)},
		.echoes = list->echoes,
		.n_echoes = list_echoes(a, port, queue, list),
		.udp_ports_be = udp_ports_be,
		.n_udp_ports = udp_ports(a->config, udp_ports_be),
		.port = a->ports[port],
		.clock = a->clock,
		.copies = queue == first_answering(cfg) ? tl_port_copies(a->ports[port]) : NULL,
		.steer = a->steers[port] != NULL ? tl_steer_side(a->steers[port], queue) : NULL,
		.stamped = stamps_the_wire(tl_port_rxq(a->ports[port], queue)->source),
		.tx_stamp = a->syncs[port] != NULL ? tl_timesync_tx_stamp(a->syncs[port]) : NULL};
	memcpy(host.net.mac, tl_port_mac(a->ports[port]), sizeof(host.net.mac));
	return tl_echo_host_create(&host, &a->hosts[a->plan.place.first[port] + queue], err);
}

// Create a host for every lcore of a port with an echo, unless its queue only records.
static int make_port_hosts(struct tl_appliance *a, uint32_t port, struct tl_err *err)
{
	const struct tl_config_port *cfg = &a->config->ports[port];
	struct tl_steer_cfg steer = {.ip_be = cfg->ip_be,
		.queues = (uint16_t)cfg->rx_queues,
		.socket_id = tl_port_config(a->ports[port])->socket_id};

	memcpy(steer.mac, tl_port_mac(a->ports[port]), sizeof(steer.mac));
	for (uint16_t q = 0; q < cfg->rx_queues; q++)
		steer.without_stack |= tl_config_answers(cfg, q) ? 0 : 1u << q;
	int rc = cfg->rx_queues > 1 ? tl_steer_create(&steer, &a->steers[port], err) : 0;

	struct echo_list list = {.echoes = calloc(a->config->n_echoes, sizeof(*list.echoes)),
		.policers = calloc(a->config->n_echoes, sizeof(*list.policers))};

	if (list.echoes == NULL || list.policers == NULL)
		rc = tl_fail(err, -ENOMEM, "out of memory");
	for (uint16_t q = 0; q < cfg->rx_queues && rc == 0; q++)
		rc = tl_config_answers(cfg, q) ? make_host(a, port, q, &list, err) : 0;
	free(list.echoes);
	free(list.policers);
	return rc;
}

static int make_hosts(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++)
		if (a->plan.has_echo[i])
			rc = make_port_hosts(a, i, err);
	return rc;
}

static int make_shapes(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	tl_shaping_share_init(&a->shares);
	for (uint32_t i = 0; i < a->config->n_shapes && rc == 0; i++) {
		struct tl_port *port = a->ports[a->config->shapes[i].port];
		rc = tl_shaping_create(a->config, i, port, a->clock, &a->shapes[i], err);
	}
	return rc;
}

static int make_replays(struct tl_appliance *a, struct tl_err *err)
{
	const struct tl_replays_cfg cfg = {.config = a->config,
		.ports = a->ports,
		.shapes = a->shapes,
		.clock = a->clock,
		.first_lcore = a->plan.place.n_lcores + 1};

	return tl_replays_create(&cfg, &a->replays, err);
}

static struct tl_writer_policy file_policy(const struct tl_config_capture *c)
{
	return (struct tl_writer_policy){.rotate_bytes = c->rotate_bytes,
		.rotate_seconds = c->rotate_seconds,
		.rotate_packets = c->rotate_packets,
		.keep_files = c->keep_files,
		.keep_bytes = c->keep_bytes,
		.min_free_bytes = c->min_free_bytes,
		.on_full = c->on_full,
		.sync = c->fsync};
}

static struct tl_capture_trigger_cfg trigger_cfg(const struct tl_config_capture *c)
{
	return (struct tl_capture_trigger_cfg){.on = c->mode == TL_CONFIG_MODE_TRIGGER,
		.in_files = c->trigger.store == TL_CONFIG_STORE_FILES,
		.pre_ns = c->trigger.pre_seconds * TL_NS_PER_S,
		.post_ns = c->trigger.post_seconds * TL_NS_PER_S,
		.pre_bytes = c->trigger.pre_bytes,
		.filter = c->trigger.filter,
		.on_drop = c->trigger.on_drop};
}

// Make a late reply of an echo a trigger for recordings of its port.
static int join_alarm(struct tl_appliance *a, uint32_t capture, struct tl_err *err)
{
	const struct tl_config_capture *cfg = &a->config->captures[capture];

	_Atomic(uint64_t) *slot = tl_capture_trigger_slot(a->captures[capture], TL_TRIGGER_ECHO_LATENCY);
	uint64_t above_ns = cfg->trigger.echo_latency_us * TL_NS_PER_US;
	int rc = 0;

	for (uint32_t q = 0; q < a->config->ports[cfg->port].rx_queues && rc == 0 && above_ns != 0; q++) {
		struct tl_echo_host *host = a->hosts[a->plan.place.first[cfg->port] + q];
		rc = host != NULL ? tl_echo_host_alarm(host, above_ns, slot, err) : 0;
	}
	return rc;
}

static enum tl_recode_form form_of(const struct tl_config_capture *cfg)
{
	if (cfg->compress == TL_CONFIG_COMPRESS_ZSTD)
		return TL_RECODE_ZSTD;
	return cfg->format == TL_CONFIG_PCAP_NS ? TL_RECODE_PCAP : TL_RECODE_PCAPNG;
}

struct tl_capture_cfg tl_appliance_capture_cfg(const struct tl_config_capture *cfg)
{
	bool sorted = cfg->order == TL_CONFIG_ORDER_TIME;

	return (struct tl_capture_cfg){.path = cfg->path,
		.filter = cfg->filter,
		.marks = cfg->has_marks ? cfg->marks : NULL,
		.snaplen = cfg->snaplen,
		.dir = {[TL_DIR_RX] = cfg->direction != TL_CONFIG_TX, [TL_DIR_TX] = cfg->direction != TL_CONFIG_RX},
		.policy = file_policy(cfg),
		.trigger = trigger_cfg(cfg),
		.index = cfg->index,
		.digest = cfg->digest,
		.buffer_bytes = cfg->buffer_bytes,
		.io = cfg->io,
		.order_window_ns = sorted ? cfg->order_window_ms * TL_NS_PER_MS : 0,
		.form = form_of(cfg),
		.compress_level = (int)cfg->compress_level,
		.compress_threads = cfg->compress_threads,
		.count = cfg->count,
		.cutoff_bytes = cfg->cutoff_bytes,
		.cutoff_flows = cfg->cutoff_flows,
		.inner = cfg->inner};
}

// Create the hand-off by inner flows for a port whose recordings have several queues.
static int make_inner(struct tl_appliance *a, uint32_t port, struct tl_err *err)
{
	const struct tl_config_port *cfg = &a->config->ports[port];
	struct tl_inner_cfg inner = {.name = cfg->name,
		.queues = (uint16_t)cfg->rx_queues,
		.clock = a->clock,
		.socket_id = tl_port_config(a->ports[port])->socket_id};

	if (!tl_plan_hands_over_inner(a->config, port))
		return 0;
	for (uint32_t q = 0; q < cfg->rx_queues; q++)
		inner.skipped |= tl_config_records(cfg, q) ? 0 : 1u << q;
	int rc = tl_secret_fill(&inner.seed, sizeof(inner.seed));
	return rc == 0 ? tl_inner_create(&inner, &a->inners[port], err)
		       : tl_fail(err, rc, "the kernel gives no random words: %s", strerror(-rc));
}

static int make_inners(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++)
		rc = make_inner(a, i, err);
	return rc;
}

static int make_capture(struct tl_appliance *a, uint32_t index, struct tl_err *err)
{
	const struct tl_config_capture *cfg = &a->config->captures[index];
	struct tl_capture_cfg capture = tl_appliance_capture_cfg(cfg);
	struct tl_police_class classes[TL_POLICE_CLASSES_MAX];
	char name[20];

	snprintf(name, sizeof(name), "capture%u", index);
	capture.name = name;
	capture.reader_may_leave = a->opts.reader_may_leave;
	capture.classes = classes;
	capture.n_classes = tl_police_list(cfg, classes);
	capture.port = a->ports[cfg->port];
	for (uint32_t q = 0; q < a->config->ports[cfg->port].rx_queues; q++)
		capture.skipped |= tl_config_records(&a->config->ports[cfg->port], q) ? 0 : 1u << q;
	capture.clock = a->clock;
	int rc = tl_capture_create(&capture, &a->captures[index], err);
	if (rc == 0)
		rc = join_alarm(a, index, err);
	if (rc == 0 && a->opts.progress && tl_capture_filter_engine(a->captures[index]) != NULL)
		tl_info("%s: filter engine: %s", cfg->path, tl_capture_filter_engine(a->captures[index]));
	return rc;
}

static int make_captures(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_captures && rc == 0; i++)
		rc = make_capture(a, i, err);
	return rc;
}

// Create the services of the recordings of a queue. Return their number.
static uint32_t make_recordings(const struct tl_appliance *a, uint32_t port, uint16_t queue, struct tl_service *out)
{
	struct tl_service services[TL_CONFIG_CAPTURES_MAX];
	uint32_t n = 0;

	if (!tl_config_records(&a->config->ports[port], queue))
		return 0;
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		if (a->config->captures[i].port == port)
			tl_capture_service(a->captures[i], queue, &services[n++]);
	if (a->inners[port] != NULL) {
		tl_inner_service(a->inners[port], queue, services, n, out);
		return 1;
	}
	memcpy(out, services, n * sizeof(services[0]));
	return n;
}

// Return the smallest buffer of a port's recordings, bytes per queue; 0: it has none.
static uint64_t smallest_buffer(const struct tl_config *config, uint32_t port)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < config->n_captures; i++)
		if (config->captures[i].port == port && (bytes == 0 || config->captures[i].buffer_bytes < bytes))
			bytes = config->captures[i].buffer_bytes;
	return bytes;
}

// Create the roles of one RX queue in the order of their urgency: echo or sessions, what it sends, recordings, PTP.
static int make_lcore(struct tl_appliance *a, uint32_t port, uint16_t queue, struct tl_err *err)
{
	struct tl_service services[TL_LCORE_SERVICES_MAX];
	uint32_t entry = a->plan.place.first[port] + queue;
	bool plays = tl_replays_service(a->replays, port, &services[0]);
	uint32_t n = plays;

	if (a->hosts[entry] != NULL)
		tl_echo_host_service(a->hosts[entry], &services[n++]);
	else if (a->steers[port] != NULL)
		tl_steer_service(tl_steer_side(a->steers[port], queue), &services[n++]);
	if (a->hosts[entry] != NULL && tl_echo_delay_service(a->hosts[entry], &services[n]))
		n++;
	if (a->hosts[entry] != NULL && tl_echo_pace_service(a->hosts[entry], &services[n]))
		n++;
	for (uint32_t i = 0; i < a->config->n_shapes && a->hosts[entry] != NULL; i++) // else of a replay's lcore
		if (a->config->shapes[i].port == port && a->config->shapes[i].queue == queue)
			tl_shaping_service(a->shapes[i], &services[n++]);
	n += make_recordings(a, port, queue, &services[n]);
	if (a->syncs[port] != NULL && queue == 0)
		tl_timesync_service(a->syncs[port], &services[n++]);
	struct tl_lcore_cfg cfg = {.lcore_id = entry + 1,
		.socket_id = a->plan.place.cpu_nodes[entry],
		.rxq = tl_port_rxq(a->ports[port], queue),
		.txq = a->hosts[entry] != NULL || plays ? tl_port_txq(a->ports[port], queue) : NULL,
		.clock = a->clock,
		.services = services,
		.n_services = n,
		.buffer_bytes = smallest_buffer(a->config, port),
		.adaptive = a->plan.idle[port].adaptive,
		.reads_files = plays};
	return tl_lcore_create(&cfg, &a->lcores[entry], err);
}

static int make_lcores(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t p = 0; p < a->config->n_ports; p++)
		for (uint16_t q = 0; q < a->config->ports[p].rx_queues && rc == 0; q++)
			rc = make_lcore(a, p, q, err);
	return rc;
}

// Record outliers on both sides: the lcore stores them, main adds kernel data.
static int watch_outliers(struct tl_appliance *a, uint32_t index, struct tl_err *err)
{
	const struct tl_config_echo *e = &a->config->echoes[index];
	uint32_t entry = a->plan.place.first[e->port] + a->plan.echo_queues[index];
	struct tl_outliers_cfg cfg = {.tail = tl_echo_tail(a->hosts[entry], a->echo_index[index]),
		.lcore = a->lcores[entry],
		.clock = a->clock,
		.cpu = a->plan.place.cpus[entry]};

	if (cfg.tail == NULL)
		return 0;
	a->outliers[index] = tl_outliers_create(&cfg);
	return a->outliers[index] != NULL ? 0 : tl_fail(err, -ENOMEM, "no memory for the outliers of %s", e->name);
}

static int watch_all_outliers(struct tl_appliance *a, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->config->n_echoes && rc == 0; i++)
		rc = watch_outliers(a, i, err);
	return rc;
}

static int list_metrics(struct tl_appliance *a, struct tl_err *err)
{
	static const char *const modes[] = {TL_ECHO_KINDS(TL_CHOICE_WORD)};
	struct tl_metrics *m = &a->metrics;

	*m = (struct tl_metrics){.clock = a->clock,
		.n_ports = a->config->n_ports,
		.n_captures = a->config->n_captures,
		.n_echoes = a->config->n_echoes,
		.n_shapes = a->config->n_shapes,
		.start_ns = tl_clock_now_ns(a->clock)};
	if (tl_metrics_init(m) != 0)
		return tl_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < m->n_ports; i++) {
		m->ports[i] = a->ports[i];
		m->steers[i] = a->steers[i];
		m->inners[i] = a->inners[i];
		m->syncs[i] = a->syncs[i];
		m->rules[i] = a->rules[i]->row;
		m->n_rules[i] = a->rules[i]->n;
		for (uint32_t q = 0; q < a->config->ports[i].rx_queues; q++) {
			m->hosts[i][q] = a->hosts[a->plan.place.first[i] + q];
			m->lcores[i][q] = a->lcores[a->plan.place.first[i] + q];
			m->roles[i][q] = tl_plan_role(a->config, &a->plan, i, q);
		}
	}
	for (uint32_t i = 0; i < m->n_captures; i++)
		m->captures[i] = (struct tl_metrics_capture){a->captures[i], a->config->captures[i].port_name};
	for (uint32_t i = 0; i < m->n_shapes; i++)
		tl_shaping_list(a->shapes[i], &m->shapes[i]);
	for (uint32_t i = 0; i < m->n_echoes; i++) {
		const struct tl_config_echo *e = &a->config->echoes[i];
		m->echoes[i] = (struct tl_metrics_echo){.name = e->name,
			.mode = modes[e->mode],
			.queue = a->plan.echo_queues[i],
			.host = a->hosts[a->plan.place.first[e->port] + a->plan.echo_queues[i]],
			.index = a->echo_index[i],
			.port = a->ports[e->port],
			.outlier_ns = e->outliers.above_us * TL_NS_PER_US,
			.pace_bps = e->pace_bps,
			.is_policed = e->police.meter.cir != 0,
			.outliers = a->outliers[i]};
	}
	return 0;
}

// Check the control socket first: a second appliance with the same configuration must not touch the first one's files.
static int check_control(struct tl_appliance *a, struct tl_err *err)
{
	const struct tl_config_control *cfg = &a->config->control;
	int rc = cfg->socket != NULL ? tl_ctl_check(cfg->socket, err) : 0;

	a->operators = TL_CTL_NO_GROUP;
	if (rc == 0 && cfg->operators != NULL)
		rc = tl_ctl_find_group(cfg->operators, &a->operators, err);
	return rc;
}

int tl_appliance_create(const struct tl_config *config, const struct tl_appliance_opts *opts, struct tl_appliance **out,
	struct tl_err *err)
{
	struct tl_appliance *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	a->config = config;
	a->opts = *opts;
	tl_guard_prepare();
	int rc = tl_plan_make(config, &a->plan, err);
	if (rc == 0)
		rc = check_control(a, err);
	if (rc == 0)
		rc = check_ports(a, err);
	if (rc == 0)
		rc = list_rules(a, err);
	if (rc == 0)
		rc = start_eal(a, err);
	if (rc == 0)
		rc = open_ports(a, err);
	if (rc == 0)
		rc = make_syncs(a, err);
	if (rc == 0)
		rc = make_hosts(a, err);
	if (rc == 0)
		rc = make_shapes(a, err);
	if (rc == 0 && config->process.user != NULL) // the recordings belong to this user
		rc = tl_guard_set_user(config->process.user, err);
	if (rc == 0 && opts->latency_dir != NULL)
		rc = tl_latency_files_may_write(opts->latency_dir, config, err);
	if (rc == 0)
		rc = make_replays(a, err);
	if (rc == 0)
		rc = make_captures(a, err);
	if (rc == 0)
		rc = tl_disk_shares_create(config, a->captures, &a->disk_shares, err);
	if (rc == 0)
		rc = make_inners(a, err);
	if (rc == 0)
		rc = make_lcores(a, err);
	if (rc == 0)
		rc = watch_all_outliers(a, err);
	if (rc == 0)
		rc = list_metrics(a, err);
	if (rc != 0) {
		tl_appliance_destroy(a);
		return rc;
	}
	*out = a;
	return 0;
}

json_t *tl_appliance_json(struct tl_appliance *a, const struct tl_snapshot *snapshot)
{
	json_t *json = tl_report_json(snapshot);

	json_object_set_new(json, "replays", tl_replays_json(a->replays));
	if (!tl_replays_ledger_ok(a->replays))
		json_object_set_new(json, "ledger_ok", json_false());
	return json;
}

void tl_appliance_print(struct tl_appliance *a, const struct tl_snapshot *snapshot, FILE *out)
{
	tl_report_echo_text(out, snapshot);
	tl_report_ledger_text(out, snapshot);
	tl_replays_print(a->replays, out);
}

bool tl_appliance_ledger_ok(const struct tl_appliance *a, const struct tl_snapshot *snapshot)
{
	return tl_report_ledger_ok(snapshot) && tl_replays_ledger_ok(a->replays);
}

void tl_appliance_destroy(struct tl_appliance *a)
{
	if (a == NULL)
		return;
	tl_ctl_close(a->ctl);
	for (uint32_t i = 0; i < a->config->n_echoes; i++)
		tl_outliers_destroy(a->outliers[i]);
	for (uint32_t i = 0; i < a->plan.place.n_lcores; i++)
		tl_lcore_destroy(a->lcores[i]);
	for (uint32_t i = 0; i < a->plan.place.n_lcores; i++)
		tl_echo_host_destroy(a->hosts[i]);
	for (uint32_t i = 0; i < a->config->n_shapes; i++)
		tl_shaping_destroy(a->shapes[i]);
	tl_replays_leave(a->replays);
	tl_disk_shares_destroy(a->disk_shares);
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		tl_capture_destroy(a->captures[i]);
	for (uint32_t i = 0; i < a->config->n_ports; i++) {
		tl_steer_destroy(a->steers[i]);
		tl_inner_destroy(a->inners[i]);
		tl_timesync_destroy(a->syncs[i]);
		if (a->ports[i] != NULL && tl_port_torn_out(a->ports[i]))
			tl_eal_abandon(a->eal);
		tl_port_close(a->ports[i]);
		free(a->rules[i]);
	}
	tl_replays_destroy(a->replays); // after the ports have released its mbufs
	tl_metrics_fini(&a->metrics);
	tl_clock_destroy(a->clock);
	tl_eal_fini(a->eal);
	free(a);
}
