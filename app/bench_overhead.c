// SPDX-License-Identifier: BSD-3-Clause
// Runs the echo once per recorder and round, and compares the runs of a round with each other.

#include "bench_overhead.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_json.h>
#include <tl_log.h>

#include "bench_rig.h"

#define CLIENT_EXTRA_MS 60000 // beside the seconds it sends for

// What goes along with the echo. The first is what the others are compared with.
static const struct variant {
	const char *name;
	bool records, indexes, stages; // by the appliance
	const char *tool, *is_ready;   // or by another program, and what it says when it records
} variants[] = {
	{"no recording", .records = false},
	{"no recording, stages", .stages = true},
	{"tapline", .records = true},
	{"tapline, stages", .records = true, .stages = true},
	{"tapline, index", .records = true, .indexes = true},
	{"tcpdump", .tool = "tcpdump", .is_ready = "listening on"},
	{"dumpcap", .tool = "dumpcap", .is_ready = "Capturing on"},
};

#define VARIANTS TL_ARRAY_LEN(variants)

enum view { RESIDENCE, ROUND_TRIP, VIEWS };
enum quantile { P50, P90, P99, P999 };

struct runs {
	struct tl_hist_summary of[TL_BENCH_ROUNDS_MAX];
};

struct bench {
	const struct tl_bench_overhead_cfg *cfg;
	struct tl_bench_rig rig;
	struct runs runs[VIEWS][VARIANTS];
	uint64_t lost; // echoes, in all runs
	unsigned runs_done;
	unsigned invalid_runs; // by the client's own verdict
	char reason[TL_LATENCY_TEXT];
};

// ---- one run

static json_t *configuration(const struct bench *bench, const struct variant *variant)
{
	const char *dir = bench->rig.dir;
	char path[PATH_MAX], socket[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tapline.pcapng", dir);
	snprintf(socket, sizeof(socket), "%s/control.sock", dir);
	json_t *config =
		json_pack("{s:{s:b, s:i}, s:[{s:s, s:s, s:s, s:s}], s:[{s:s, s:{s:s, s:i}, s:{s:s}, s:b}], s:{s:s}}",
			"eal", "huge", 0, "memory_mb", 256, "ports", "name", "lan", "device", TL_BENCH_APP_IF, "ip",
			TL_BENCH_APP_IP "/24", "idle", sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "poll" : "adaptive", "echo",
			"port", "lan", "receive", "group", "239.1.1.1", "udp_port", 5001, "send", "tcp_connect",
			TL_BENCH_PEER_IP ":6000", "stages", variant->stages, "control", "socket", socket);
	if (config != NULL && variant->records)
		json_object_set_new(config, "capture",
			json_pack("[{s:s, s:s, s:s, s:b}]", "port", "lan", "path", path, "buffer_bytes", "16M", "index",
				variant->indexes));
	return config;
}

static bool appliance_answers(void *ctx)
{
	char socket[PATH_MAX], *answer;

	snprintf(socket, sizeof(socket), "%s/control.sock", ((const struct bench *)ctx)->rig.dir);
	if (tl_ctl_ask(socket, "status", &answer, NULL) != 0)
		return false;
	bool got = strchr(answer, '{') != NULL;
	free(answer);
	return got;
}

static int start_appliance(
	struct bench *bench, const struct variant *variant, struct tl_bench_process *out, struct tl_err *err)
{
	char path[PATH_MAX];
	json_t *config = configuration(bench, variant);

	snprintf(path, sizeof(path), "%s/config.json", bench->rig.dir);
	int rc = tl_json_check(config);
	if (rc == 0 && json_dump_file(config, path, 0) != 0)
		rc = -EIO;
	json_decref(config);
	if (rc != 0)
		return tl_fail(err, rc, "cannot write %s", path);
	const char *const argv[] = {bench->rig.self, "run", path, "--json", NULL};
	rc = tl_bench_spawn(&bench->rig, bench->rig.app_ns, "appliance", argv, out, err);
	return rc != 0 ? rc : tl_bench_await(&bench->rig, out, appliance_answers, bench, err);
}

struct readiness {
	const struct bench *bench;
	const struct variant *variant;
};

static bool tool_is_ready(void *ctx)
{
	const struct readiness *ready = ctx;

	return tl_bench_said(&ready->bench->rig, ready->variant->tool, ready->variant->is_ready);
}

static int start_tool(
	struct bench *bench, const struct variant *variant, struct tl_bench_process *out, struct tl_err *err)
{
	struct readiness ready = {bench, variant};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.pcap", bench->rig.dir, variant->tool);
	const char *const tcpdump[] = {"tcpdump", "-n", "-Z", "root", "-i", TL_BENCH_APP_IF, "-w", path, NULL};
	const char *const dumpcap[] = {"dumpcap", "-i", TL_BENCH_APP_IF, "-w", path, NULL};
	bool is_tcpdump = strcmp(variant->tool, tcpdump[0]) == 0;

	int rc =
		tl_bench_spawn(&bench->rig, bench->rig.app_ns, variant->tool, is_tcpdump ? tcpdump : dumpcap, out, err);
	return rc != 0 ? rc : tl_bench_await(&bench->rig, out, tool_is_ready, &ready, err);
}

static int run_client(struct bench *bench, struct tl_err *err)
{
	const struct tl_bench_overhead_cfg *cfg = bench->cfg;
	struct tl_bench_process client;
	char rate[24], payload[24], seconds[32];

	snprintf(rate, sizeof(rate), "%llu", (unsigned long long)cfg->rate_pps);
	snprintf(payload, sizeof(payload), "%llu", (unsigned long long)cfg->payload_bytes);
	snprintf(seconds, sizeof(seconds), "%.3f", cfg->seconds);
	const char *const argv[] = {bench->rig.self, "client", "--kernel", "--group", "239.1.1.1", "--udp-port", "5001",
		"--tcp-listen", TL_BENCH_PEER_IP ":6000", "--rate", rate, "--payload", payload, "--seconds", seconds,
		"--connect-timeout", "30", "--json", NULL};
	int rc = tl_bench_spawn(&bench->rig, bench->rig.peer_ns, "client", argv, &client, err);
	if (rc != 0)
		return rc;
	rc = tl_bench_wait(&bench->rig, &client, (uint64_t)(cfg->seconds * 1000) + CLIENT_EXTRA_MS, err);
	(void)tl_bench_stop(&bench->rig, &client, SIGKILL, NULL);
	return rc;
}

static int take_times(const json_t *run, const char *key, struct tl_hist_summary *out, struct tl_err *err)
{
	int rc = tl_latency_summary_from_json(json_object_get(run, key), out, err);

	return rc != 0 || out->count != 0 ? rc : tl_fail(err, -EIO, "a run measured nothing");
}

// What the client itself says of its times. The appliance's are its own.
static void take_verdict(struct bench *bench, const json_t *client)
{
	const char *reason = json_string_value(json_array_get(json_object_get(client, "invalid"), 0));

	bench->runs_done++;
	if (reason == NULL)
		return;
	if (bench->invalid_runs++ == 0)
		snprintf(bench->reason, sizeof(bench->reason), "%s", reason);
}

static int take_results(struct bench *bench, unsigned variant, unsigned round, struct tl_err *err)
{
	json_t *run = tl_bench_output(&bench->rig, "appliance", err);
	json_t *client = run != NULL ? tl_bench_output(&bench->rig, "client", err) : NULL;
	int rc = client == NULL ? -EIO : 0;

	if (rc == 0)
		rc = take_times(
			json_object_get(run, "echo"), "residence_ns", &bench->runs[RESIDENCE][variant].of[round], err);
	if (rc == 0)
		rc = take_times(client, "rtt_ns", &bench->runs[ROUND_TRIP][variant].of[round], err);
	if (rc == 0) {
		bench->lost += (uint64_t)json_integer_value(json_object_get(client, "lost"));
		take_verdict(bench, client);
	}
	json_decref(client);
	json_decref(run);
	return rc;
}

static int run_once(struct bench *bench, unsigned index, unsigned round, struct tl_err *err)
{
	const struct variant *variant = &variants[index];
	struct tl_bench_process appliance = {.pid = 0}, tool = {.pid = 0};

	int rc = start_appliance(bench, variant, &appliance, err);
	if (rc == 0 && variant->tool != NULL)
		rc = start_tool(bench, variant, &tool, err);
	if (rc == 0)
		rc = run_client(bench, err);
	int tool_rc = tl_bench_stop(&bench->rig, &tool, SIGINT, rc == 0 ? err : NULL);
	rc = rc != 0 ? rc : tool_rc;
	int app_rc = tl_bench_stop(&bench->rig, &appliance, SIGTERM, rc == 0 ? err : NULL);
	rc = rc != 0 ? rc : app_rc;
	return rc != 0 ? tl_fail_at(err, rc, "%s", variant->name) : take_results(bench, index, round, err);
}

// ---- all runs

static bool can_run(const struct variant *variant)
{
	return variant->tool == NULL || tl_bench_has(variant->tool);
}

// Each round begins with the next variant, so that none has always the same one before it.
static int run_rounds(struct bench *bench, struct tl_err *err)
{
	int rc = 0;

	for (unsigned round = 0; round < bench->cfg->rounds && rc == 0; round++) {
		for (unsigned i = 0; i < VARIANTS && rc == 0; i++) {
			unsigned variant = (unsigned)((round + i) % VARIANTS);
			if (!can_run(&variants[variant]))
				continue;
			tl_info("round %u of %u: %s", round + 1, bench->cfg->rounds, variants[variant].name);
			rc = run_once(bench, variant, round, err);
		}
	}
	return rc;
}

static double quantile_of(const struct tl_hist_summary *times, enum quantile quantile)
{
	const uint64_t values[] = {
		[P50] = times->p50_ns, [P90] = times->p90_ns, [P99] = times->p99_ns, [P999] = times->p999_ns};

	return (double)values[quantile];
}

// The differences are within rounds: what the host did to a whole round is in both sides.
static struct tl_latency_interval compare(
	const struct runs *runs, const struct runs *base, unsigned rounds, enum quantile quantile)
{
	double diff[TL_BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		diff[i] = quantile_of(&runs->of[i], quantile) - quantile_of(&base->of[i], quantile);
	return tl_latency_median(diff, rounds);
}

static uint64_t middle(const struct runs *runs, unsigned rounds, enum quantile quantile)
{
	double values[TL_BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		values[i] = quantile_of(&runs->of[i], quantile);
	return (uint64_t)tl_latency_median(values, rounds).diff_ns;
}

// The medians of the rounds' percentiles; least, most and mean of all.
static struct tl_hist_summary summarize(const struct runs *runs, unsigned rounds)
{
	struct tl_hist_summary all = {.min_ns = UINT64_MAX,
		.p50_ns = middle(runs, rounds, P50),
		.p90_ns = middle(runs, rounds, P90),
		.p99_ns = middle(runs, rounds, P99),
		.p999_ns = middle(runs, rounds, P999)};

	for (unsigned i = 0; i < rounds; i++) {
		all.count += runs->of[i].count;
		all.min_ns = tl_min_u64(all.min_ns, runs->of[i].min_ns);
		all.max_ns = tl_max_u64(all.max_ns, runs->of[i].max_ns);
		all.mean_ns += runs->of[i].mean_ns / rounds;
	}
	return all;
}

static void fill(const struct bench *bench, enum view view, struct tl_latency *report)
{
	const struct tl_bench_overhead_cfg *cfg = bench->cfg;
	const struct runs *base = &bench->runs[view][0];

	snprintf(report->name, sizeof(report->name), "cost of recording: %s",
		view == RESIDENCE ? "residence time" : "round trip");
	snprintf(report->method, sizeof(report->method), "software");
	tl_latency_add_fact(report, "load", "%llu messages per second of %llu bytes, multicast in, TCP out",
		(unsigned long long)cfg->rate_pps, (unsigned long long)cfg->payload_bytes);
	tl_latency_add_fact(report, "rounds", "%u of %.10g s each, alternated", cfg->rounds, cfg->seconds);
	tl_latency_add_fact(report, "rows", "medians of the rounds; differences within rounds, with 95 %% confidence");
	for (unsigned i = 0; i < VARIANTS; i++) {
		const struct runs *runs = &bench->runs[view][i];
		struct tl_latency_cost cost = {.latency = summarize(runs, cfg->rounds),
			.p50 = compare(runs, base, cfg->rounds, P50),
			.p99 = compare(runs, base, cfg->rounds, P99),
			.p999 = compare(runs, base, cfg->rounds, P999)};
		snprintf(cost.name, sizeof(cost.name), "%s", variants[i].name);
		if (can_run(&variants[i]))
			tl_latency_add_cost(report, &cost);
		else
			tl_latency_add_fact(report, variants[i].name, "not measured: it is not installed");
	}
	if (bench->lost != 0)
		tl_latency_add_invalid(report, "%llu echoes were lost", (unsigned long long)bench->lost);
	if (view == ROUND_TRIP && bench->invalid_runs != 0)
		tl_latency_add_invalid(report, "in %u of %u runs the client calls its times invalid, first: %s",
			bench->invalid_runs, bench->runs_done, bench->reason);
}

int tl_bench_overhead(const struct tl_bench_overhead_cfg *cfg, struct tl_latency *residence,
	struct tl_latency *round_trip, struct tl_err *err)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	bench->cfg = cfg;
	int rc = tl_bench_rig_begin(&bench->rig, cfg->stop, err);
	if (rc == 0)
		rc = run_rounds(bench, err);
	tl_bench_rig_end(&bench->rig);
	if (rc == 0) {
		tl_latency_set_sources(residence, "tsc", 1, "tsc", 1);
		tl_latency_set_clocks(residence, 1, "TSC", 1, "TSC");
		tl_latency_set_sources(round_trip, "user", TL_LATENCY_UNBOUNDED, "user", TL_LATENCY_UNBOUNDED);
		tl_latency_set_clocks(round_trip, 1, "", 1, "");
		fill(bench, RESIDENCE, residence);
		fill(bench, ROUND_TRIP, round_trip);
	}
	free(bench);
	return rc;
}
