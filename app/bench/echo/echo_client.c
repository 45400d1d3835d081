// SPDX-License-Identifier: BSD-3-Clause
// Run `tapline client`, which checks the bytes and the order of every echo, and read its report.

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include <tl_latency.h>

#include "echo_priv.h"

#define CLIENT_EXTRA_MS 60000
#define LINGER_S 5.0	   // ends with the last echo: nothing should be lost
#define LINGER_LOSSY_S 0.2 // of bulk over UDP, where it ends late
#define RATE_MAX_PPS 10000000
#define BULK_MSGS_MIN 4
#define WORDS_MAX 32

// Options of a run: its messages are due at a rate, for some time.
struct plan {
	char rate[16], seconds[32], payload[16], linger[16];
};

// All messages of a bulk run are due almost at once.
static struct plan make_plan(const struct tl_bench_echo_cfg *cfg, const struct tl_bench_echo_row *row, bool bulk)
{
	struct plan plan;
	bool lossy = bulk && row->protocol == TL_BENCH_ECHO_UDP_TCP;
	double linger_s = lossy ? LINGER_LOSSY_S : LINGER_S;
	double per_s = tl_min_u64(TL_BENCH_ECHO_BULK_MSGS, (uint64_t)(TL_BENCH_ECHO_BULK_BYTES / row->message_bytes));
	uint64_t msgs = tl_max_u64((uint64_t)(per_s * cfg->seconds), BULK_MSGS_MIN);
	uint64_t rate = bulk ? tl_min_u64(msgs * 1000, RATE_MAX_PPS) : TL_BENCH_ECHO_RATE_PPS;

	snprintf(plan.rate, sizeof(plan.rate), "%" PRIu64, rate);
	snprintf(plan.seconds, sizeof(plan.seconds), "%.6f", bulk ? (double)msgs / (double)rate : cfg->seconds);
	snprintf(plan.payload, sizeof(plan.payload), "%" PRIu32, row->message_bytes);
	snprintf(plan.linger, sizeof(plan.linger), "%.3f", cfg->seconds > linger_s ? cfg->seconds : linger_s);
	return plan;
}

static void add_words(const char *words[WORDS_MAX], unsigned *n, const char *const more[])
{
	while (*more != NULL)
		words[(*n)++] = *more++;
}

// The client has the first CPU. A NIC's is in the caller's namespace, as its port is.
static int spawn_client(
	struct echo_rig *rig, bool nic, const char *const words[], struct tl_bench_process *out, struct tl_err *err)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(tl_bench_cpu(&rig->cpus, 0), &first);
	(void)sched_setaffinity(0, sizeof(first), &first);
	int rc = tl_bench_spawn(&rig->rig, nic ? NULL : rig->rig.peer_ns, "client", words, out, err);
	(void)sched_setaffinity(0, sizeof(rig->cpus), &rig->cpus);
	return rc;
}

static uint64_t number(const json_t *report, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(report, key));
}

static int take_report(const json_t *report, struct tl_bench_echo_run *out, struct tl_err *err)
{
	const char *doubt = json_string_value(json_array_get(json_object_get(report, "invalid"), 0));

	*out = (struct tl_bench_echo_run){.sent = number(report, "sent"),
		.received = number(report, "received"),
		.lost = number(report, "lost"),
		.corrupt = number(report, "corrupt"),
		.duplicated = number(report, "duplicates"),
		.reordered = number(report, "reordered"),
		.elapsed_ns = number(report, "elapsed_ns")};
	if (out->lost > 0)
		out->elapsed_ns -= tl_min_u64(out->elapsed_ns, number(report, "window_ns"));
	snprintf(out->invalid, sizeof(out->invalid), "%s", doubt != NULL ? doubt : "");
	return tl_latency_summary_from_json(json_object_get(report, "rtt_ns"), &out->rtt, err);
}

int echo_client(struct echo_rig *rig, const struct tl_bench_echo_row *row, bool bulk, struct tl_bench_echo_run *out,
	struct tl_err *err)
{
	const struct plan plan = make_plan(rig->cfg, row, bulk);
	struct tl_bench_process client;
	const char *words[WORDS_MAX] = {rig->rig.self, "client"};
	unsigned n = 2;

	if (row->rung->nic)
		add_words(words, &n,
			(const char *const[]){"--port", rig->cfg->peer, "--ip", TL_BENCH_PEER_IP "/24", NULL});
	else
		words[n++] = "--kernel";
	if (row->protocol == TL_BENCH_ECHO_UDP_TCP)
		add_words(words, &n,
			(const char *const[]){"--group", ECHO_GROUP, "--udp-port", "5001", "--tcp-listen",
				TL_BENCH_PEER_IP ":6000", NULL});
	else
		add_words(words, &n, (const char *const[]){"--tcp-connect", TL_BENCH_APP_IP ":7000", NULL});
	add_words(words, &n,
		(const char *const[]){"--rate", plan.rate, "--seconds", plan.seconds, "--payload", plan.payload,
			"--linger", plan.linger, "--timestamps", "user", "--connect-timeout", "30", "--json", NULL});
	int rc = spawn_client(rig, row->rung->nic, words, &client, err);
	if (rc != 0)
		return rc;
	rc = tl_bench_wait(&rig->rig, &client, (uint64_t)(rig->cfg->seconds * 1000) + CLIENT_EXTRA_MS, err);
	(void)tl_bench_stop(&rig->rig, &client, SIGKILL, NULL);
	if (rc != 0 && rc != -EIO) // status 1 also stands for losses, which its report has
		return rc;
	json_t *report = tl_bench_output(&rig->rig, "client", rc == 0 ? err : NULL);
	if (report == NULL)
		return -EIO;
	rc = take_report(report, out, err);
	json_decref(report);
	return rc;
}
