// SPDX-License-Identifier: BSD-3-Clause
// Run the chosen rungs with each size, in the order of the ladder.

#include "bench_rx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <tl_log.h>

#include "bench_rig.h"
#include "rx_priv.h"

// Fill in all rungs, Tapline last. Return their number.
static unsigned all_rungs(const struct tl_ladder_rung *out[], unsigned max)
{
	unsigned n;
	const struct tl_ladder_rung *rungs = tl_ladder_rungs(&n);

	n = (unsigned)tl_min_u64(n, max - 2);
	for (unsigned i = 0; i < n; i++)
		out[i] = &rungs[i];
	out[n] = &rx_tapline;
	out[n + 1] = &rx_tapline_nic;
	return n + 2;
}

bool tl_bench_rx_known(const char *names)
{
	const struct tl_ladder_rung *rungs[TL_BENCH_RX_RUNGS_MAX];
	const char *known[TL_BENCH_RX_RUNGS_MAX];
	unsigned n = all_rungs(rungs, TL_BENCH_RX_RUNGS_MAX);

	for (unsigned i = 0; i < n; i++)
		known[i] = rungs[i]->name;
	return tl_bench_known(names, known, n);
}

static int run_rung(const struct tl_bench_rx_cfg *cfg, const struct rx_net *net, const cpu_set_t *cpus,
	const struct tl_ladder_rung *rung, struct tl_bench_rx_result *result)
{
	unsigned sizes = net->own ? cfg->n_sizes : 1;

	for (unsigned i = 0; i < sizes; i++) {
		struct tl_bench_rx_row row = {.rung = rung, .size_bytes = net->own ? cfg->sizes[i] : 0};
		tl_info("%s%s%.0u%s", rung->name, net->own ? ", " : "", row.size_bytes, net->own ? " bytes" : "");
		int rc = rx_measure(cfg, net, cpus, &row);
		if (rc != 0)
			return rc;
		result->rows[result->n_rows++] = row;
	}
	return 0;
}

static int run_rungs(const struct tl_bench_rx_cfg *cfg, const struct rx_net *net, const cpu_set_t *cpus,
	struct tl_bench_rx_result *result)
{
	const struct tl_ladder_rung *rungs[TL_BENCH_RX_RUNGS_MAX];
	unsigned n = all_rungs(rungs, TL_BENCH_RX_RUNGS_MAX);
	int rc = 0;

	for (unsigned i = 0; i < n && rc == 0; i++)
		if (tl_bench_lists(cfg->rungs, rungs[i]->name))
			rc = run_rung(cfg, net, cpus, rungs[i], result);
	return rc;
}

// The sender stays on the first CPU; the rungs' processes get all of them back.
static void pin_sender(const cpu_set_t *cpus)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(tl_bench_cpu(cpus, 0), &first);
	(void)sched_setaffinity(0, sizeof(first), &first);
}

// Half of the CPUs: the others receive.
static uint32_t default_senders(const cpu_set_t *cpus)
{
	return (uint32_t)tl_min_u64(tl_max_u64((uint64_t)CPU_COUNT(cpus) / 2, 1), TL_BENCH_RX_SENDERS_MAX);
}

// Find out whether the host counts instructions and cycles.
static void try_counters(struct tl_bench_rx_result *result)
{
	struct rx_events events;
	int rc = rx_events_open(&events, 0);

	rx_events_close(&events);
	if (rc != 0)
		snprintf(result->counters_refused, sizeof(result->counters_refused), "perf_event_open(2): %s%s",
			strerror(-rc), rc == -ENOENT ? ": this processor, or its hypervisor, offers no counters" : "");
}

int tl_bench_rx(const struct tl_bench_rx_cfg *cfg, struct tl_bench_rx_result *result, struct tl_err *err)
{
	struct tl_bench_rx_cfg with_senders = *cfg;
	struct rx_net net;
	cpu_set_t cpus;

	result->rows = calloc(TL_BENCH_RX_RUNGS_MAX * TL_BENCH_SIZES_MAX, sizeof(result->rows[0]));
	if (result->rows == NULL || sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return tl_fail(err, -ENOMEM, "not enough memory");
	if (cfg->senders == 0)
		with_senders.senders = default_senders(&cpus);
	int rc = rx_net_begin(&net, cfg, &cpus, err);
	if (rc == 0) {
		snprintf(result->ifname, sizeof(result->ifname), "%s", net.ifname);
		snprintf(result->sender, sizeof(result->sender), "%s", net.sender_name);
		snprintf(result->driver, sizeof(result->driver), "%s", net.driver);
		result->own_traffic = net.own;
		result->senders = net.sender.pid == 0 ? with_senders.senders : 1;
		result->pair = net.pair;
		result->cpus = (uint32_t)CPU_COUNT(&cpus);
		result->buffer_bytes = RX_BUFFER_BYTES;
		result->seconds = cfg->seconds;
		try_counters(result);
		if (net.own)
			pin_sender(&cpus);
		result->interrupted = run_rungs(&with_senders, &net, &cpus, result) == -EINTR;
		(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	rx_net_end(&net);
	return rc;
}

void tl_bench_rx_free(struct tl_bench_rx_result *result)
{
	free(result->rows);
	result->rows = NULL;
}
