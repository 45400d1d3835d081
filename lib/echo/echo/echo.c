// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a host and its echoes, and their counters.

#include "delay.h"
#include "police.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#define SPARE_GROUPS 64
#define SPARE_CONNS 16 // for connections in TIME-WAIT

static uint32_t buffers_of(const struct tl_echo_cfg *echo)
{
	return echo->send_buffers != 0 ? (uint32_t)tl_min_u64(echo->send_buffers, echo->max_connections)
				       : echo->max_connections;
}

// Size the stack for all echoes: the sum of their connections, the largest of their send buffers.
static struct tl_net_cfg net_cfg_for(const struct tl_echo_host_cfg *cfg)
{
	struct tl_net_cfg net = cfg->net;

	if (cfg->steer != NULL) {
		net.may_connect = tl_steer_may_connect;
		net.may_connect_ctx = cfg->steer;
		net.pool_users = tl_steer_stacks(cfg->steer);
	}
	net.max_conns = SPARE_CONNS;
	net.send_buffers = 0;
	net.groups = SPARE_GROUPS;
	net.send_buffer_bytes = 4096;
	for (uint32_t i = 0; i < cfg->n_echoes; i++) {
		const struct tl_echo_cfg *echo = &cfg->echoes[i];
		uint32_t groups = (uint32_t)tl_max_u64(echo->n_groups, 1);
		if (echo->kind == TL_ECHO_KIND_TCP) {
			net.listeners++;
			net.max_conns += echo->max_connections;
			net.send_buffers += buffers_of(echo);
		}
		if (echo->kind != TL_ECHO_KIND_TCP) {
			net.udp_ports++;
			net.udp_binds += groups;
		}
		if (echo->kind == TL_ECHO_KIND_MCAST_TO_TCP) {
			net.groups += groups;
			net.max_conns++;
			net.own_buffers++;
		}
		if (echo->kind != TL_ECHO_KIND_UDP && echo->send_buffer_bytes > net.send_buffer_bytes)
			net.send_buffer_bytes = echo->send_buffer_bytes;
	}
	net.send_buffers = (uint32_t)tl_max_u64(net.send_buffers, 1); // 0 would mean one per connection
	net.groups = (uint32_t)tl_min_u64(net.groups, TL_NET_GROUPS_MAX);
	net.max_conns = (uint32_t)tl_min_u64(net.max_conns, TL_NET_CONNS_MAX);
	return net;
}

static void init_echo(struct tl_echo_host *host, struct tl_echo *echo, const struct tl_echo_cfg *cfg)
{
	echo->cfg = *cfg;
	echo->host = host;
	snprintf(echo->name, sizeof(echo->name), "%s", cfg->name);
	tl_hist_init(&echo->residence);
	tl_hist_init(&echo->tx_call);
}

static int own_groups(struct tl_steer_side *steer, const struct tl_echo_cfg *cfg)
{
	int rc = 0;

	for (uint32_t i = 0; i < tl_max_u64(cfg->n_groups, 1) && rc == 0; i++)
		rc = tl_steer_own_group(steer, tl_be32(tl_be32(cfg->group_be) + i));
	return rc;
}

// Make this lcore the owner of all ports and groups of its echoes.
static int own_all(struct tl_echo_host *host, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < host->n_echoes && host->steer != NULL && rc == 0; i++) {
		const struct tl_echo_cfg *cfg = &host->echoes[i].cfg;
		if (cfg->kind == TL_ECHO_KIND_TCP)
			tl_steer_own_tcp(host->steer, cfg->listen_port_be);
		else if (cfg->kind == TL_ECHO_KIND_UDP)
			tl_steer_own_udp(host->steer, cfg->listen_port_be);
		else if (tl_ip6_is_set(&cfg->group6))
			rc = tl_steer_own_group6(host->steer, &cfg->group6);
		else
			rc = own_groups(host->steer, cfg);
	}
	if (rc == -EEXIST)
		return tl_fail(err, rc,
			"an echo's groups overlap with those of echoes on different queues: give them one \"queue\"");
	return rc == 0 ? 0 : tl_fail(err, rc, "one port's echoes receive too many groups");
}

int tl_echo_host_create(const struct tl_echo_host_cfg *cfg, struct tl_echo_host **out, struct tl_err *err)
{
	if (cfg->n_echoes > TL_ECHOES_MAX)
		return tl_fail(err, -E2BIG, "at most %u echoes on one port", TL_ECHOES_MAX);
	size_t bytes = sizeof(struct tl_echo_host) + cfg->n_echoes * sizeof(struct tl_echo);
	struct tl_echo_host *host = rte_zmalloc_socket("tl_echo", bytes, TL_CACHE_LINE, cfg->net.socket_id);
	if (host == NULL)
		return tl_fail(err, -ENOMEM,
			"no memory for %u echoes, of %zu KiB each: give DPDK more (\"eal\": {\"memory_mb\": …})",
			cfg->n_echoes, sizeof(struct tl_echo) >> 10);
	host->tx = cfg->net.tx;
	host->port = cfg->port;
	host->clock = cfg->clock;
	host->steer = cfg->steer;
	host->copies = cfg->copies;
	host->n_echoes = cfg->n_echoes;
	host->pending = &host->echoes[host->n_echoes];
	host->stamped = cfg->stamped;
	host->tx_stamp = cfg->tx_stamp;
	host->alarm_ns = UINT64_MAX;
	for (uint32_t i = 0; i < cfg->n_echoes; i++)
		init_echo(host, &host->echoes[i], &cfg->echoes[i]);
	tl_echo_note_answering(host, cfg);
	struct tl_net_cfg net = net_cfg_for(cfg);
	int rc = own_all(host, err);
	if (rc == 0)
		rc = tl_echo_stages_init(host, cfg->net.socket_id, err);
	if (rc == 0)
		rc = tl_delays_init(host, cfg->net.socket_id, err);
	if (rc == 0)
		rc = tl_echo_police_init(host, cfg->echoes, cfg->net.socket_id, err);
	if (rc == 0)
		rc = tl_net_create(&net, &host->net, err);
	if (rc != 0) {
		tl_echo_police_fini(host);
		tl_delays_fini(host);
		tl_echo_stages_fini(host);
		rte_free(host);
		return rc;
	}
	*out = host;
	return 0;
}

static int open_echoes(struct tl_echo_host *host, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < host->n_echoes && rc == 0; i++)
		rc = tl_echo_open(&host->echoes[i], err);
	return rc;
}

static bool is_among(const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n, const uint8_t *mac)
{
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(macs[i], mac, TL_ETHER_ADDR_LEN) == 0)
			return true;
	return false;
}

// Add the groups of one host. Return TL_PORT_GROUPS_MAX + 1 if the filter cannot hold them.
static uint32_t add_groups(const struct tl_echo_host *host, uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n)
{
	uint8_t joined[TL_PORT_GROUPS_MAX][TL_ETHER_ADDR_LEN];
	uint32_t n_joined = tl_net_group_macs(host->net, joined, TL_PORT_GROUPS_MAX);

	if (n_joined > TL_PORT_GROUPS_MAX)
		return TL_PORT_GROUPS_MAX + 1;
	for (uint32_t g = 0; g < n_joined; g++) {
		if (is_among((const uint8_t(*)[TL_ETHER_ADDR_LEN])macs, n, joined[g]))
			continue;
		if (n == TL_PORT_GROUPS_MAX)
			return n + 1;
		memcpy(macs[n++], joined[g], TL_ETHER_ADDR_LEN);
	}
	return n;
}

// Set the port's multicast filter, common to all its hosts.
static int receive_groups(struct tl_echo_host *const *hosts, uint32_t n_hosts, struct tl_err *err)
{
	uint8_t macs[TL_PORT_GROUPS_MAX][TL_ETHER_ADDR_LEN];
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_hosts && n <= TL_PORT_GROUPS_MAX; i++)
		n = add_groups(hosts[i], macs, n);
	if (n != 0 && tl_port_set_groups(hosts[0]->port, (const uint8_t(*)[TL_ETHER_ADDR_LEN])macs, n) != 0)
		return tl_fail(
			err, -ENOTSUP, "the port cannot receive multicast, neither by filter nor in promiscuous mode");
	return 0;
}

int tl_echo_hosts_start(struct tl_echo_host *const *hosts, uint32_t n, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		tl_net_announce(hosts[i]->net, tl_clock_mono_ns(hosts[i]->clock, rte_rdtsc()));
		rc = open_echoes(hosts[i], err);
	}
	return rc == 0 ? receive_groups(hosts, n, err) : rc;
}

void tl_echo_host_announce_again(struct tl_echo_host *host)
{
	atomic_fetch_add_explicit(&host->link_ups, 1, memory_order_relaxed);
}

int tl_echo_host_alarm(struct tl_echo_host *host, uint64_t above_ns, _Atomic(uint64_t) *at_ns, struct tl_err *err)
{
	if (host->n_alarms == TL_ECHO_ALARMS_MAX)
		return tl_fail(
			err, -E2BIG, "at most %u latencies of one port's echoes are watched", TL_ECHO_ALARMS_MAX);
	host->alarms[host->n_alarms++] = (struct tl_echo_alarm){.above_ns = above_ns, .at_ns = at_ns};
	host->alarm_ns = tl_min_u64(host->alarm_ns, above_ns);
	return 0;
}

void tl_echo_host_destroy(struct tl_echo_host *host)
{
	if (host == NULL)
		return;
	tl_net_destroy(host->net);
	tl_echo_police_fini(host);
	tl_delays_fini(host);
	tl_echo_stages_fini(host);
	rte_free(host);
}

void tl_echo_host_service(struct tl_echo_host *host, struct tl_service *out)
{
	*out = (struct tl_service){.ctx = host,
		.rx = tl_echo_rx,
		.after_tx = tl_echo_after_tx,
		.tick = tl_echo_tick,
		.close = tl_echo_close,
		.closed = tl_echo_closed};
	if (host->steer != NULL) {
		out->rx = tl_echo_steered_rx;
		out->poll = host->is_staged ? tl_echo_staged_poll : tl_echo_poll;
		out->finish = tl_echo_finish;
	}
	if (host->is_staged) {
		out->rx = tl_echo_staged_rx;
		out->after_tx = tl_echo_staged_after_tx;
	}
}

bool tl_echo_pace_service(struct tl_echo_host *host, struct tl_service *out)
{
	bool some = false;

	for (uint32_t i = 0; i < host->n_echoes; i++)
		some |= host->echoes[i].cfg.pace_bps != 0;
	*out = (struct tl_service){.ctx = host, .poll = tl_echo_pace_poll, .next_ns = tl_echo_pace_next_ns};
	return some;
}

void tl_echo_sample(const struct tl_echo_host *host, uint32_t index, struct tl_echo_stats *out)
{
	const struct tl_echo_stats *s = &host->echoes[index].stats;

#define READ(name) out->name = tl_count_read(&s->name);
	// Outcomes before inputs: a sample at run time never shows more outcomes than messages.
	READ(lost_unacked_msgs) // first: subtracted from echoed
	TL_ECHO_PARTS(READ)
	READ(received_msgs)
	TL_ECHO_COUNTERS(READ)
}

const char *tl_echo_state(const struct tl_echo_host *host, uint32_t index)
{
	static const char *const names[] = {
		"idle", "connecting", "connected", "half-closed", "closing", "waiting", "listening", "closed"};

	return names[atomic_load_explicit(&host->echoes[index].state, memory_order_relaxed)];
}

void tl_echo_residence(const struct tl_echo_host *host, uint32_t index, struct tl_hist *out)
{
	tl_hist_copy(out, &host->echoes[index].residence);
}

void tl_echo_tx_call(const struct tl_echo_host *host, uint32_t index, struct tl_hist *out)
{
	tl_hist_copy(out, &host->echoes[index].tx_call);
}

const struct tl_net *tl_echo_net(const struct tl_echo_host *host)
{
	return host->net;
}
