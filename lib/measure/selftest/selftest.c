// SPDX-License-Identifier: BSD-3-Clause
// Checks in order, once for each way.

#include "selftest_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#define POOL_MBUFS 8191
#define POOL_CACHE 256

static const struct {
	const char *id;
	void (*run)(struct tl_selftest *t, struct tl_selftest_check *check);
	bool needs_frames; // frames that arrive
} checks[] = {
	{"link", tl_selftest_check_link, false},
	{"cable", tl_selftest_check_cable, true},
	{"counters", tl_selftest_check_counters, true},
	{"rss", tl_selftest_check_rss, true},
	{"stamps", tl_selftest_check_stamps, true},
	{"ptp_rx", tl_selftest_check_ptp_rx, true},
	{"ptp_tx", tl_selftest_check_ptp_tx, true},
	{"drops", tl_selftest_check_drops, true},
	{"rate_large", tl_selftest_check_rate_large, true},
	{"rate_small", tl_selftest_check_rate_small, true},
	{"link_stays", tl_selftest_check_link_stays, false},
};

_Static_assert(TL_SELFTEST_PORTS *TL_ARRAY_LEN(checks) <= TL_SELFTEST_CHECKS, "room for each check of both ways");

const char *tl_selftest_verdict_name(enum tl_selftest_verdict verdict)
{
	static const char *const names[] = {[TL_SELFTEST_PASS] = "pass",
		[TL_SELFTEST_FAIL] = "fail",
		[TL_SELFTEST_NOT_AVAILABLE] = "not available"};

	return names[verdict];
}

void tl_selftest_verdict(
	struct tl_selftest_check *check, json_t *figures, enum tl_selftest_verdict verdict, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(check->text, sizeof(check->text), fmt, args);
	va_end(args);
	check->verdict = verdict;
	check->figures = figures != NULL ? figures : json_object();
}

static void run_check(struct tl_selftest *t, size_t i)
{
	struct tl_selftest_result *out = t->out;
	struct tl_selftest_check *check = &out->checks[out->n];

	*check = (struct tl_selftest_check){.id = checks[i].id, .from = t->way.from, .to = t->way.to};
	if (t->cfg->progress != NULL)
		t->cfg->progress(t->cfg->ctx, check);
	if (t->cannot != NULL && checks[i].needs_frames)
		tl_selftest_verdict(check, NULL, TL_SELFTEST_NOT_AVAILABLE, "%s", t->cannot);
	else
		checks[i].run(t, check);
	out->n++;
	out->counts[check->verdict]++;
}

static void run_way(struct tl_selftest *t, unsigned from, unsigned to)
{
	t->way = (struct tl_selftest_way){.from = from,
		.to = to,
		.tx_port = t->cfg->ports[from],
		.rx_port = t->cfg->ports[to],
		.tx = tl_port_txq(t->cfg->ports[from], 0)};
	t->cannot = NULL;
	for (size_t i = 0; i < TL_ARRAY_LEN(checks) && !tl_selftest_stopped(t); i++)
		run_check(t, i);
}

int tl_selftest_run(const struct tl_selftest_cfg *cfg, struct tl_selftest_result *out, struct tl_err *err)
{
	struct tl_selftest t = {.cfg = cfg, .out = out};

	*out = (struct tl_selftest_result){0};
	t.pool = rte_pktmbuf_pool_create("selftest", POOL_MBUFS, POOL_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
		tl_port_config(cfg->ports[0])->socket_id);
	if (t.pool == NULL)
		return tl_fail(err, -ENOMEM, "no memory for %u buffers (%s): reserve more hugepages", POOL_MBUFS,
			rte_strerror(rte_errno));
	for (unsigned from = 0; from < cfg->n_ports && !tl_selftest_stopped(&t); from++)
		run_way(&t, from, (from + 1) % cfg->n_ports);
	rte_mempool_free(t.pool);
	return tl_selftest_stopped(&t) ? tl_fail(err, -EINTR, "stopped before its end") : 0;
}

void tl_selftest_fini(struct tl_selftest_result *result)
{
	for (unsigned i = 0; i < result->n; i++)
		json_decref(result->checks[i].figures);
	result->n = 0;
}
