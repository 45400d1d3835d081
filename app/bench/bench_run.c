// SPDX-License-Identifier: BSD-3-Clause
// Run a variant: the appliance, a recorder beside it, and the client, first with single messages, then with bursts.

#include "bench_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>

#define CLIENT_EXTRA_MS 60000 // added to the sending time

// ---- processes

static json_t *configuration(const struct tl_bench *bench, const struct tl_bench_variant *variant)
{
	const char *dir = bench->rig.dir;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tapline.pcapng", dir);
	json_t *config =
		json_pack("{s:{s:b, s:i}, s:[{s:s, s:s, s:s, s:s}], s:[{s:s, s:{s:s, s:i}, s:{s:s}, s:i, s:b}]}", "eal",
			"huge", 0, "memory_mb", 256, "ports", "name", "lan", "device", TL_BENCH_APP_IF, "ip",
			TL_BENCH_APP_IP "/24", "idle", sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "poll" : "adaptive", "echo",
			"port", "lan", "receive", "group", "239.1.1.1", "udp_port", 5001, "send", "tcp_connect",
			TL_BENCH_PEER_IP ":6000", "reconnect_max_ms", 100, "stages", variant->stages);
	if (config != NULL && variant->records)
		json_object_set_new(config, "capture",
			json_pack("[{s:s, s:s, s:s, s:b}]", "port", "lan", "path", path, "buffer_bytes", "16M", "index",
				variant->indexes));
	return config;
}

struct readiness {
	const struct tl_bench *bench;
	const struct tl_bench_variant *variant;
};

static bool tool_is_ready(void *ctx)
{
	const struct readiness *ready = ctx;

	return tl_bench_said(&ready->bench->rig, ready->variant->tool, ready->variant->is_ready);
}

static int start_tool(struct tl_bench *bench, const struct tl_bench_variant *variant, struct tl_bench_process *out,
	struct tl_err *err)
{
	struct readiness ready = {bench, variant};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.pcap", bench->rig.dir, variant->tool);
	const char *const tcpdump[] = {"tcpdump", "-n", "-Z", "root", "-i", TL_BENCH_APP_IF, "-w", path, NULL};
	const char *const dumpcap[] = {"dumpcap", "-i", TL_BENCH_APP_IF, "-w", path, NULL};
	bool is_tcpdump = strcmp(variant->tool, tcpdump[0]) == 0;

	int rc =
		tl_bench_spawn(&bench->rig, bench->rig.app_ns, variant->tool, is_tcpdump ? tcpdump : dumpcap, out, err);
	return rc != 0 ? rc : tl_bench_wait_for(&bench->rig, out, tool_is_ready, &ready, err);
}

static int run_client(struct tl_bench *bench, enum tl_bench_phase phase, struct tl_err *err)
{
	const struct tl_bench_overhead_cfg *cfg = bench->cfg;
	struct tl_bench_process client;
	char rate[24], payload[24], seconds[32], burst[8];

	snprintf(rate, sizeof(rate), "%llu", (unsigned long long)cfg->rate_pps);
	snprintf(payload, sizeof(payload), "%llu", (unsigned long long)cfg->payload_bytes);
	snprintf(seconds, sizeof(seconds), "%.3f", cfg->seconds);
	snprintf(burst, sizeof(burst), "%d", phase == TL_BENCH_BURSTS ? TL_BENCH_BURST : 1);
	const char *const argv[] = {bench->rig.self, "client", "--kernel", "--group", "239.1.1.1", "--udp-port", "5001",
		"--tcp-listen", TL_BENCH_PEER_IP ":6000", "--rate", rate, "--payload", payload, "--seconds", seconds,
		"--burst", burst, "--timestamps", "kernel", "--connect-timeout", "30", "--linger", "10", "--json",
		NULL};
	int rc = tl_bench_spawn(&bench->rig, bench->rig.peer_ns, "client", argv, &client, err);
	if (rc != 0)
		return rc;
	rc = tl_bench_wait(&bench->rig, &client, (uint64_t)(cfg->seconds * 1000) + CLIENT_EXTRA_MS, err);
	(void)tl_bench_stop(&bench->rig, &client, SIGKILL, NULL);
	return rc;
}

// ---- measurements

static int take_times(const json_t *run, const char *key, struct tl_hist_summary *out, struct tl_err *err)
{
	int rc = tl_latency_summary_from_json(json_object_get(run, key), out, err);

	return rc != 0 || out->count != 0 ? rc : tl_fail(err, -EIO, "a run measured no %s", key);
}

// Read stamped times; the count may be 0: of echoes received together only the last has a stamp. The client calls such
// a run invalid.
static int take_stamped(const json_t *client, const char *key, struct tl_hist_summary *out, struct tl_err *err)
{
	return tl_latency_summary_from_json(json_object_get(client, key), out, err);
}

// Take the client's verdict on its own times.
static void take_verdict(struct tl_bench *bench, enum tl_bench_phase phase, const json_t *client)
{
	struct tl_bench_verdict *verdict = &bench->verdicts[phase];
	const char *reason = json_string_value(json_array_get(json_object_get(client, "invalid"), 0));

	bench->lost += (uint64_t)json_integer_value(json_object_get(client, "lost"));
	verdict->runs++;
	if (reason != NULL && verdict->invalid++ == 0)
		snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason);
}

// Add the cold echoes. The residence includes them, so the times it is subtracted from must include them, too.
static void add_cold(const json_t *client, const struct tl_hist_summary *warm, struct tl_hist_summary *out)
{
	const json_t *cold;
	size_t i;
	double sum_ns = warm->mean_ns * (double)warm->count;

	*out = (struct tl_hist_summary){.count = warm->count};
	json_array_foreach (json_object_get(client, "cold"), i, cold) {
		const json_t *wire_rtt_ns = json_object_get(cold, "wire_rtt_ns");
		sum_ns += json_number_value(wire_rtt_ns);
		out->count += json_is_number(wire_rtt_ns);
	}
	out->mean_ns = out->count != 0 ? sum_ns / (double)out->count : 0;
}

struct settling {
	const struct tl_bench *bench;
	json_int_t received, seen; // number of echoes, of residence times
	json_t *status;
};

// Wait for final counters: those of the last message may be updated after the client has received its echo.
static bool has_settled(void *ctx)
{
	struct settling *settling = ctx;

	json_decref(settling->status);
	settling->status = tl_bench_status(&settling->bench->rig);
	const json_t *echo = json_object_get(settling->status, "echo");
	json_int_t before = settling->seen;
	settling->seen = json_integer_value(json_object_get(json_object_get(echo, "residence_ns"), "count"));
	return json_integer_value(json_object_get(echo, "echoed_msgs")) >= settling->received &&
	       settling->seen == before;
}

static int take_appliance(struct tl_bench *bench, struct tl_bench_process *appliance, const json_t *client,
	unsigned index, unsigned round, struct tl_err *err)
{
	struct settling settling = {
		.bench = bench, .received = json_integer_value(json_object_get(client, "received")), .seen = -1};
	int rc = tl_bench_wait_for(&bench->rig, appliance, has_settled, &settling, err);
	const json_t *echo = json_object_get(settling.status, "echo");

	if (rc == 0)
		rc = take_times(echo, "residence_ns", &bench->runs[TL_BENCH_RESIDENCE][index].of[round], err);
	if (rc == 0) // absent without stages, or on ports without stamps
		rc = tl_latency_summary_from_json(json_object_get(json_object_get(echo, "stages_ns"), "wire_to_poll"),
			&bench->wire_to_poll[index].of[round], err);
	json_decref(settling.status);
	return rc;
}

static int take_client(struct tl_bench *bench, enum tl_bench_phase phase, const json_t *client, unsigned index,
	unsigned round, struct tl_err *err)
{
	struct tl_hist_summary *wire = &bench->runs[TL_BENCH_WIRE_ROUND_TRIP][index].of[round];
	int rc;

	take_verdict(bench, phase, client);
	if (phase == TL_BENCH_BURSTS)
		return take_stamped(
			client, "burst_last_wire_rtt_ns", &bench->runs[TL_BENCH_BACK_TO_BACK][index].of[round], err);
	rc = take_times(client, "rtt_ns", &bench->runs[TL_BENCH_ROUND_TRIP][index].of[round], err);
	if (rc == 0)
		rc = take_stamped(client, "wire_rtt_ns", wire, err);
	if (rc == 0)
		add_cold(client, wire, &bench->wire_all[index].of[round]);
	return rc;
}

// ---- a complete run

static int run_phase(struct tl_bench *bench, enum tl_bench_phase phase, struct tl_bench_process *appliance,
	unsigned index, unsigned round, struct tl_err *err)
{
	int rc = run_client(bench, phase, err);
	if (rc != 0)
		return tl_fail_at(err, rc, phase == TL_BENCH_BURSTS ? "in bursts" : "alone");
	json_t *client = tl_bench_output(&bench->rig, "client", err);
	if (client == NULL)
		return -EIO;
	rc = take_client(bench, phase, client, index, round, err);
	if (rc == 0 && phase == TL_BENCH_ALONE)
		rc = take_appliance(bench, appliance, client, index, round, err);
	json_decref(client);
	return rc;
}

// Give each phase its own appliance: reconnecting after its client has left takes seconds.
static int run_apart(
	struct tl_bench *bench, enum tl_bench_phase phase, unsigned index, unsigned round, struct tl_err *err)
{
	const struct tl_bench_variant *variant = bench->variants[index];
	struct tl_bench_process appliance = {.pid = 0}, tool = {.pid = 0};

	int rc = tl_bench_appliance(&bench->rig, bench->rig.app_ns, configuration(bench, variant), &appliance, err);
	if (rc == 0 && variant->tool != NULL)
		rc = start_tool(bench, variant, &tool, err);
	if (rc == 0)
		rc = run_phase(bench, phase, &appliance, index, round, err);
	int tool_rc = tl_bench_stop(&bench->rig, &tool, SIGINT, rc == 0 ? err : NULL);
	rc = rc != 0 ? rc : tool_rc;
	int app_rc = tl_bench_stop(&bench->rig, &appliance, SIGTERM, rc == 0 ? err : NULL);
	rc = rc != 0 ? rc : app_rc;
	return rc != 0 ? tl_fail_at(err, rc, "%s", variant->name) : 0;
}

int tl_bench_run(struct tl_bench *bench, unsigned index, unsigned round, struct tl_err *err)
{
	int rc = 0;

	for (enum tl_bench_phase phase = TL_BENCH_ALONE; phase < TL_BENCH_PHASES && rc == 0; phase++)
		rc = run_apart(bench, phase, index, round, err);
	return rc;
}
