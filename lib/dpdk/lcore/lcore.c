// SPDX-License-Identifier: BSD-3-Clause
// Creation, start, end and idle sleep of an RX lcore.

#include "lcore_priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <tl_err.h>
#include <tl_guard.h>

#define IDLE_SLEEP_US 1000
#define IDLE_SLEEP_GATHERS_US 8000  // without traffic: a batch of frames wakes the lcore
#define IDLE_SLEEP_POLLING_US 100   // for handed-over frames: not every device wakes its lcores
#define WAKE_NS (60 * TL_NS_PER_US) // a sleep takes this much longer: the timer slack of the kernel is 50 us

static void handle_sent(void *lcore, struct tl_burst *sent)
{
	const struct tl_lcore *l = lcore;

	for (uint32_t i = 0; i < l->cfg.n_services; i++)
		if (l->services[i].sent != NULL)
			l->services[i].sent(l->services[i].ctx, sent);
}

int tl_lcore_create(const struct tl_lcore_cfg *cfg, struct tl_lcore **out, struct tl_err *err)
{
	if (cfg->n_services > TL_LCORE_SERVICES_MAX)
		return tl_fail(err, -E2BIG, "one receive queue carries at most %u echo hosts and recordings",
			TL_LCORE_SERVICES_MAX);
	struct tl_lcore *l = rte_zmalloc_socket("tl_lcore", sizeof(*l), TL_CACHE_LINE, cfg->socket_id);
	if (l == NULL)
		return tl_fail(err, -ENOMEM, "no memory for lcore %u", cfg->lcore_id);
	l->cfg = *cfg;
	l->cfg.services = l->services;
	bool records_sent = false;
	for (uint32_t i = 0; i < cfg->n_services; i++) {
		l->services[i] = cfg->services[i];
		l->polls |= cfg->services[i].poll != NULL;
		l->handover |= cfg->services[i].poll != NULL && cfg->services[i].next_ns == NULL;
		records_sent |= cfg->services[i].sent != NULL;
	}
	if (cfg->txq != NULL && records_sent) {
		cfg->txq->on_sent = handle_sent;
		cfg->txq->on_sent_ctx = l;
	}
	tl_nap_init(&l->nap, cfg->buffer_bytes);
	tl_hist_init(&l->gaps);
	l->gap_tsc = (TL_LCORE_GAP_NS << 32) / tl_clock_span_ns(cfg->clock, UINT64_C(1) << 32);
	*out = l;
	return 0;
}

static int run(void *lcore)
{
	struct tl_lcore *l = lcore;

	tl_guard_thread(l->cfg.reads_files ? TL_GUARD_PLAYER : TL_GUARD_LCORE, NULL);
	atomic_store_explicit(&l->tid, gettid(), memory_order_relaxed);
	return tl_lcore_loop(l);
}

int tl_lcore_start(struct tl_lcore *l, struct tl_err *err)
{
	int rc = rte_eal_remote_launch(run, l, l->cfg.lcore_id);

	return rc == 0 ? 0 : tl_fail(err, rc, "lcore %u did not start (%s)", l->cfg.lcore_id, strerror(-rc));
}

void tl_lcore_request(struct tl_lcore *l, enum tl_lcore_phase phase)
{
	atomic_store_explicit(&l->phase, phase, memory_order_release);
}

void tl_lcore_gaps(const struct tl_lcore *l, struct tl_hist *out)
{
	tl_hist_copy(out, &l->gaps);
}

void tl_lcore_load(const struct tl_lcore *l, struct tl_lcore_load *out)
{
	for (unsigned i = 0; i < TL_LCORE_SIZES; i++)
		out->turn_ns[i] = tl_count_read(&l->load.turn_ns[i]);
	out->ring_used = tl_count_read(&l->load.ring_used);
	out->ring_used_max = tl_count_read(&l->load.ring_used_max);
	out->ring_samples = tl_count_read(&l->load.ring_samples);
}

void tl_lcore_look_at_ring(struct tl_lcore *l)
{
	uint32_t used;

	if (!tl_rxq_ring_used(l->cfg.rxq, &used))
		return;
	__atomic_store_n(&l->load.ring_used, used, __ATOMIC_RELAXED);
	if (used > l->load.ring_used_max)
		__atomic_store_n(&l->load.ring_used_max, used, __ATOMIC_RELAXED);
	tl_count(&l->load.ring_samples, 1);
}

int tl_lcore_tid(const struct tl_lcore *l)
{
	return atomic_load_explicit(&l->tid, memory_order_relaxed);
}

void tl_lcore_note_gap(struct tl_lcore *l, uint64_t tsc)
{
	if (l->burst.last_tsc != 0) // otherwise this is the first poll
		tl_hist_record(&l->gaps, tl_clock_span_ns(l->cfg.clock, tsc));
}

uint64_t tl_lcore_beats(const struct tl_lcore *lcore)
{
	return tl_count_read(&lcore->beats);
}

bool tl_lcore_closed(const struct tl_lcore *l)
{
	return atomic_load_explicit(&l->closed, memory_order_acquire);
}

void tl_lcore_wait(struct tl_lcore *l)
{
	(void)rte_eal_wait_lcore(l->cfg.lcore_id);
}

void tl_lcore_destroy(struct tl_lcore *l)
{
	if (l != NULL && l->cfg.txq != NULL)
		l->cfg.txq->on_sent = NULL;
	rte_free(l);
}

static uint64_t longest_sleep_us(const struct tl_lcore *l)
{
	if (l->handover)
		return IDLE_SLEEP_POLLING_US;
	if (!l->cfg.rxq->gathers)
		return IDLE_SLEEP_US;
	return l->nap.ns != 0 ? l->nap.ns / TL_NS_PER_US : IDLE_SLEEP_GATHERS_US;
}

// Return the time to sleep; 0: a service has work before the shortest sleep ends.
static uint32_t sleep_us(const struct tl_lcore *l)
{
	uint64_t until_ns = l->burst.mono_ns + WAKE_NS + longest_sleep_us(l) * TL_NS_PER_US;

	for (uint32_t i = 0; i < l->cfg.n_services; i++)
		if (l->services[i].next_ns != NULL)
			until_ns = tl_min_u64(until_ns, l->services[i].next_ns(l->services[i].ctx));
	return until_ns > l->burst.mono_ns + WAKE_NS
		       ? (uint32_t)((until_ns - l->burst.mono_ns - WAKE_NS) / TL_NS_PER_US)
		       : 0;
}

void tl_lcore_idle(struct tl_lcore *l)
{
	const struct tl_rxq *q = l->cfg.rxq;
	bool naps = q->gathers && !l->handover && tl_nap_next(&l->nap, tl_count_read(&q->stats.rx_bytes)) != 0;
	uint32_t us = sleep_us(l);

	if (us == 0)
		return;
	l->slept = true;
	bool woken = tl_rxq_wait(naps ? NULL : q, l->handover, us);

	tl_patience_note_sleep(&l->patience, woken, tl_clock_now_ns(l->cfg.clock));
}
