// SPDX-License-Identifier: BSD-3-Clause
// Run a rung: a relay in a separate process, which ends with its connection, or the appliance, which can
// serve several.

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include "echo_priv.h"
#include "hugepages.h"

#define MEMORY_MB 256
#define RELAY_READY "relay: ready"

// ---- relay

struct relay_job {
	const struct tl_relay *relay;
	struct tl_relay_cfg cfg;
	cpu_set_t cpu;
};

static uint32_t ip_of(const char *text)
{
	struct in_addr ip = {0};

	(void)inet_pton(AF_INET, text, &ip);
	return ntohl(ip.s_addr);
}

static void tell_ready(void)
{
	fputs(RELAY_READY "\n", stderr);
}

static int relay_main(void *ctx, struct tl_err *err)
{
	const struct relay_job *job = ctx;

	(void)sched_setaffinity(0, sizeof(job->cpu), &job->cpu);
	return tl_relay_run(job->relay, &job->cfg, tell_ready, err);
}

static bool relay_is_ready(void *ctx)
{
	const struct echo_rig *rig = ctx;

	return tl_bench_said(&rig->rig, rig->process.name, RELAY_READY);
}

// Give the interface the address that the appliance has otherwise, or take it away.
static int change_address(struct echo_rig *rig, const char *verb, struct tl_err *err)
{
	return tl_bench_ip(&rig->rig,
		(const char *const[]){"ip", "-netns", rig->rig.app_ns, "address", verb, TL_BENCH_APP_IP "/24", "dev",
			TL_BENCH_APP_IF, NULL},
		err);
}

// The relay has the last CPU: the client has the first.
static int start_relay(struct echo_rig *rig, const struct tl_bench_echo_row *row, struct tl_err *err)
{
	bool udp = row->protocol == TL_BENCH_ECHO_UDP_TCP;
	struct relay_job job = {.relay = row->rung->relay,
		.cfg = {.ifname = TL_BENCH_APP_IF,
			.group = udp ? ip_of(ECHO_GROUP) : 0,
			.udp_port = ECHO_UDP_PORT,
			.peer = ip_of(TL_BENCH_PEER_IP),
			.tcp_port = udp ? ECHO_TCP_PORT : ECHO_LISTEN_PORT}};

	CPU_ZERO(&job.cpu);
	CPU_SET(tl_bench_cpu(&rig->cpus, (unsigned)CPU_COUNT(&rig->cpus) - 1), &job.cpu);
	int rc = change_address(rig, "add", err);
	if (rc == 0)
		rc = tl_bench_fork(&rig->rig, rig->rig.app_ns, row->rung->name, relay_main, &job, &rig->process, err);
	return rc != 0 ? rc : tl_bench_wait_for(&rig->rig, &rig->process, relay_is_ready, rig, err);
}

// ---- appliance

static json_t *configuration(const struct echo_rig *rig, const struct tl_bench_echo_row *row)
{
	const char *device = row->rung->nic ? rig->cfg->port : row->rung->device;
	json_t *echo = row->protocol == TL_BENCH_ECHO_UDP_TCP
			       ? json_pack("{s:s, s:{s:s, s:i}, s:{s:s}, s:i}", "port", "lan", "receive", "group",
					 ECHO_GROUP, "udp_port", ECHO_UDP_PORT, "send", "tcp_connect",
					 TL_BENCH_PEER_IP ":6000", "reconnect_max_ms", 100)
			       : json_pack("{s:s, s:i}", "port", "lan", "tcp_listen", ECHO_LISTEN_PORT);

	return json_pack("{s:{s:b, s:i}, s:[{s:s, s:s, s:s, s:s}], s:[o]}", "eal", "huge", rig->hugepages, "memory_mb",
		MEMORY_MB, "ports", "name", "lan", "device", device, "ip", TL_BENCH_APP_IP "/24", "idle",
		row->rung->idle, "echo", echo);
}

// Its port is in the caller's namespace. Start without hugepages if another process took them meanwhile.
static int start_on_nic(struct echo_rig *rig, const struct tl_bench_echo_row *row, struct tl_err *err)
{
	rig->hugepages = tl_hugepages_suffice(MEMORY_MB);
	int rc = tl_bench_appliance(&rig->rig, NULL, configuration(rig, row), &rig->process, err);
	if (rc == 0 || rc == -EINTR || !rig->hugepages)
		return rc;
	(void)tl_bench_stop(&rig->rig, &rig->process, SIGTERM, NULL);
	rig->hugepages = false;
	return tl_bench_appliance(&rig->rig, NULL, configuration(rig, row), &rig->process, err);
}

// ---- either

int echo_rung_start(struct echo_rig *rig, const struct tl_bench_echo_row *row, struct tl_err *err)
{
	if (rig->process.pid != 0)
		return 0;
	if (row->rung->relay != NULL)
		return start_relay(rig, row, err);
	if (row->rung->nic)
		return start_on_nic(rig, row, err);
	return tl_bench_appliance(&rig->rig, rig->rig.app_ns, configuration(rig, row), &rig->process, err);
}

void echo_rung_stop(struct echo_rig *rig, const struct tl_bench_echo_rung *rung)
{
	(void)tl_bench_stop(&rig->rig, &rig->process, SIGTERM, NULL);
	if (rung->relay != NULL)
		(void)change_address(rig, "delete", NULL);
}
