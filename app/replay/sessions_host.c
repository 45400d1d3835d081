// SPDX-License-Identifier: BSD-3-Clause
// DPDK, a port, and the stacks on it, polled by the main thread.

#include "replay_args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <tl_net.h>
#include <tl_wire.h>

#include "hugepages.h"
#include "plan.h"

#define BASE_MB 320
#define CONNS_PER_MB 64 // connections, and those in TIME-WAIT
#define MTU 1500
#define SEND_BUFFER_BYTES (64u << 10)
#define SEND_BUFFERS_MAX 256u
#define SHARE_RESERVE 4u // per address: plays take turns, but end at their own times
#define NET_MB 2	 // of the memory of a further address
#define TICK_NS (100 * TL_NS_PER_US)
#define BACKLOG_BYTES (UINT64_C(256) << 20)
#define HELD_BYTES (256u << 10) // a receive window
#define RESTING_FLOWS 65536u	// 500 a second: each is open for IDLE_NS after its last datagram

int tl_sessions_plan(struct tl_sessions_run *run, struct tl_err *err)
{
	struct tl_port_cfg *cfg = &run->port_cfg;
	const char *device = run->args->devices[0];

	*cfg = (struct tl_port_cfg){.name = "replay",
		.rx_queues = 1,
		.tx_queues = 1,
		.mtu = MTU,
		.take = run->args->take,
		.rx_only = true,
		.timestamps = TL_TS_AUTO,
		.tx_checksums = true,
		.socket_id = SOCKET_ID_ANY};
	int rc = tl_port_spec_parse(device, &cfg->spec, err);
	if (rc != 0)
		return rc;
	if (!tl_port_traits(&cfg->spec)->sends)
		return tl_fail(err, -EINVAL, "-i %s: cannot send to a file", device);
	return tl_port_check(cfg, err);
}

static int start_eal(struct tl_sessions_run *run, struct tl_err *err)
{
	const struct tl_port_spec *spec = &run->port_cfg.spec;
	const char *pci = spec->text;
	const struct tl_sessions_args *s = &run->args->sessions;
	uint32_t memory_mb = BASE_MB + (uint32_t)s->at_a_time / CONNS_PER_MB + s->addresses * NET_MB;
	const struct tl_eal_cfg cfg = {.huge = tl_hugepages_suffice(memory_mb),
		.memory_mb = memory_mb,
		.main_lcore = tl_plan_first_cpu(),
		.pci = &pci,
		.n_pci = tl_port_traits(spec)->nic};

	return tl_replay_start_dpdk(&cfg, &run->files, &run->eal, &run->clock, err);
}

static int start_port(struct tl_sessions_run *run, struct tl_err *err)
{
	run->port_cfg.clock = run->clock;
	int rc = tl_port_open(&run->port_cfg, &run->port, err);
	if (rc == 0)
		rc = tl_port_start(run->port, err);
	if (rc == 0 && !tl_replay_await_link(run->port))
		rc = tl_fail(err, -ENETDOWN, "-i %s has no link: is the cable in, and the other side up?",
			run->args->devices[0]);
	return rc;
}

// Set the MAC address of the solicited-node group of an address (RFC 4291, section 2.7.1, and RFC 2464, section 7).
static void group_mac(const uint8_t *last_bytes, uint8_t mac[TL_ETHER_ADDR_LEN])
{
	memcpy(mac, (const uint8_t[]){0x33, 0x33, 0xff, last_bytes[0], last_bytes[1], last_bytes[2]},
		TL_ETHER_ADDR_LEN);
}

// Receive neighbour solicitations for the own addresses, the link-local one included, and what all nodes receive.
static int receive_solicitations(struct tl_sessions_run *run, struct tl_err *err)
{
	const struct tl_sessions_args *s = &run->args->sessions;
	uint8_t macs[TL_SESSIONS_ADDRESSES_MAX + 2][TL_ETHER_ADDR_LEN] = {{0x33, 0x33, [5] = 1}};
	uint32_t n = 1;

	group_mac(tl_port_mac(run->port) + 3, macs[n++]);
	for (uint32_t i = 0; i < s->addresses; i++) {
		struct tl_ip6 own = tl_sessions_ip6(s, i);
		group_mac(own.byte + 13, macs[n++]);
	}
	int rc = tl_port_set_groups(run->port, (const uint8_t(*)[TL_ETHER_ADDR_LEN])macs, n);
	return rc == 0 ? 0
		       : tl_fail(err, rc, "-i %s: cannot receive neighbour solicitations (%s)", run->args->devices[0],
				 strerror(-rc));
}

// Share of an address in a sum, with some in reserve.
static uint32_t share_of(const struct tl_sessions_args *s, uint32_t sum)
{
	return sum / s->addresses + SHARE_RESERVE;
}

// Count the UDP ports of an address: of a followed recording as many flows as those in progress keep theirs at rest.
static uint32_t udp_ports(const struct tl_sessions_args *s)
{
	uint32_t ports = share_of(s, (uint32_t)s->at_a_time * (s->follow ? 2 : 1));

	return s->udp ? (uint32_t)tl_min_u64(ports, TL_NET_UDP_MAX) : 0;
}

static int start_net(struct tl_sessions_run *run, struct tl_err *err)
{
	const struct tl_sessions_args *s = &run->args->sessions;
	uint32_t at_a_time = (uint32_t)s->at_a_time;
	char name[32];
	struct tl_net_cfg cfg = {.name = name,
		.tx = tl_port_txq(run->port, 0),
		.pool = tl_port_pool(run->port),
		.pool_users = s->addresses,
		.mtu = tl_port_config(run->port)->mtu,
		.vlan = s->vlan,
		.max_conns = share_of(s, 2 * at_a_time),
		.udp_ports = udp_ports(s),
		.send_buffers = share_of(s, at_a_time < SEND_BUFFERS_MAX ? at_a_time : SEND_BUFFERS_MAX),
		.send_buffer_bytes = SEND_BUFFER_BYTES,
		.socket_id = tl_port_config(run->port)->socket_id};

	if (s->is_ip6) {
		cfg.ip6 = tl_sessions_ip6(s, run->n_nets);
		cfg.ip6_bits = s->bits6;
		cfg.gateway6 = s->gateway6;
	} else {
		cfg.ip_be = tl_be32(tl_be32(s->ip_be) + run->n_nets);
		cfg.mask_be = s->mask_be;
		cfg.gateway_be = s->gateway_be;
	}
	snprintf(name, sizeof(name), "%s-%u", run->name, run->n_nets);
	memcpy(cfg.mac, tl_port_mac(run->port), sizeof(cfg.mac));
	int rc = tl_net_create(&cfg, &run->nets[run->n_nets], err);
	if (rc == 0)
		tl_net_announce(run->nets[run->n_nets++], tl_clock_mono_ns(run->clock, rte_rdtsc()));
	return rc;
}

static void release(void *ctx, const struct tl_session *session, uint32_t plays)
{
	struct tl_sessions_run *run = ctx;

	tl_session_release(run->set, session, plays);
}

static int make_player(struct tl_sessions_run *run, struct tl_err *err)
{
	const struct tl_sessions_args *s = &run->args->sessions;
	const struct tl_replay_pacing *pacing = &run->args->pacing;
	const struct tl_player_cfg cfg = {.nets = run->nets,
		.n_nets = run->n_nets,
		.first_be = s->ip_be,
		.sessions = s->follow ? NULL : run->set,
		.backlog = (uint32_t)s->backlog,
		.backlog_bytes = BACKLOG_BYTES,
		.held_bytes = HELD_BYTES,
		.resting = s->follow && s->udp ? RESTING_FLOWS : 0,
		.played = s->follow ? release : NULL,
		.ctx = run,
		.first6 = s->ip6,
		.target_be = s->target_be,
		.target6 = s->target6,
		.target_port_be = s->target_port_be,
		.plays = (uint32_t)s->scale,
		.at_a_time = (uint32_t)s->at_a_time,
		.wait = s->waits_for,
		.speed = pacing->speed,
		.at_once = s->follow || pacing->pace == TL_REPLAY_LINE,
		.opaque = s->opaque,
		.lengths_only = s->lengths_only,
		.timeout_ns = s->timeout_ns};

	return tl_player_create(&cfg, &run->player, err);
}

int tl_sessions_join(struct tl_sessions_run *run, struct tl_err *err)
{
	int rc = run->args->sessions.is_ip6 ? receive_solicitations(run, err) : 0;

	while (rc == 0 && run->n_nets < run->args->sessions.addresses)
		rc = start_net(run, err);
	return rc == 0 ? make_player(run, err) : rc;
}

int tl_sessions_open(struct tl_sessions_run *run, struct tl_err *err)
{
	int rc = start_eal(run, err);

	if (rc == 0)
		rc = start_port(run, err);
	return rc == 0 ? tl_sessions_join(run, err) : rc;
}

void tl_sessions_leave(struct tl_sessions_run *run)
{
	for (uint32_t i = 0; i < run->n_nets; i++)
		tl_net_destroy(run->nets[i]);
	tl_player_destroy(run->player);
	tl_session_destroy(run->set);
	tl_filter_links_destroy(run->filter);
	tl_sessions_follow_close(run);
	tl_replay_playlist_free(&run->files);
}

void tl_sessions_close(struct tl_sessions_run *run)
{
	json_decref(run->manifest);
	tl_sessions_leave(run);
	if (run->port != NULL && tl_port_torn_out(run->port))
		tl_eal_abandon(run->eal);
	tl_port_close(run->port);
	tl_clock_destroy(run->clock);
	tl_eal_fini(run->eal);
}

void tl_sessions_flush(struct tl_sessions_run *run)
{
	tl_txq_flush(tl_port_txq(run->port, 0));
	tl_player_sent(run->player);
}

void tl_sessions_input(struct tl_sessions_run *run, struct tl_burst *burst)
{
	for (uint16_t i = 0; i < burst->n; i++)
		tl_wire_parse(rte_pktmbuf_mtod(burst->pkts[i], uint8_t *), burst->pkts[i]->data_len, &burst->pkt[i]);
	tl_player_input(run->player, burst);
	tl_sessions_flush(run);
}

uint64_t tl_sessions_turn(struct tl_sessions_run *run)
{
	struct tl_rxq *rxq = tl_port_rxq(run->port, 0);
	struct tl_burst *burst = &run->burst;
	uint16_t n = rxq->burst(rxq, burst);

	if (n != 0) {
		tl_sessions_input(run, burst);
		rte_pktmbuf_free_bulk(burst->pkts, n);
	}
	if (burst->mono_ns >= run->next_tick_ns) {
		run->next_tick_ns = burst->mono_ns + TICK_NS;
		tl_player_tick(run->player, burst->mono_ns);
		tl_sessions_flush(run);
	}
	return burst->mono_ns;
}
