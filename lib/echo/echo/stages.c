// SPDX-License-Identifier: BSD-3-Clause
// Stage measurements: memory, the cost of stamps, the records of outliers.

#include "echo_priv.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#define COST_ROUNDS 64
#define COST_STAMPS 256 // per round

static int make_stages(struct tl_echo *echo, int socket_id, struct tl_err *err)
{
	const struct tl_echo_cfg *cfg = &echo->cfg;
	struct tl_echo_stages *stages = rte_zmalloc_socket("tl_stages", sizeof(*stages), TL_CACHE_LINE, socket_id);

	echo->stages = stages;
	if (stages == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the stages of the echo %s", cfg->name);
	for (int i = 0; i < TL_STAGES; i++)
		tl_hist_init(&stages->hist[i]);
	tl_hist_init(&stages->poll_gap);
	stages->outlier_ns = cfg->outlier_ns != 0 ? cfg->outlier_ns : UINT64_MAX;
	stages->tail = cfg->outlier_ns != 0 ? tl_tail_create(cfg->outliers) : NULL;
	stages->samples = cfg->samples != 0 ? tl_tail_samples_create(cfg->samples) : NULL;
	echo->host->staged.has_tail |= cfg->outlier_ns != 0;
	if ((cfg->outlier_ns != 0 && stages->tail == NULL) || (cfg->samples != 0 && stages->samples == NULL))
		return tl_fail(err, -ENOMEM, "no memory for the outliers and samples of the echo %s", cfg->name);
	return 0;
}

// Minimum of all rounds, to exclude disturbances.
static double least_ns(const struct tl_clock *clock, void (*round)(void))
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < COST_ROUNDS; i++) {
		uint64_t begin_tsc = rte_rdtsc();
		round();
		least = tl_min_u64(least, rte_rdtsc() - begin_tsc);
	}
	return (double)tl_clock_span_ns(clock, least) / COST_STAMPS;
}

static void bare_round(void)
{
	for (int i = 0; i < COST_STAMPS; i++) {
		uint64_t tsc = rte_rdtsc();
		__asm__ volatile("" : : "r"(tsc));
	}
}

static void stamp_round(void)
{
	uint64_t at_tsc;

	for (int i = 0; i < COST_STAMPS; i++) {
		tl_echo_stamp(&at_tsc);
		__asm__ volatile("" : : "r"(&at_tsc) : "memory");
	}
}

static void measure_stamps(const struct tl_clock *clock, struct tl_stamp_cost *out)
{
	out->rdtsc_ns = least_ns(clock, bare_round);
	out->stamp_ns = least_ns(clock, stamp_round);
}

int tl_echo_stages_init(struct tl_echo_host *host, int socket_id, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < host->n_echoes && rc == 0; i++) {
		if (!host->echoes[i].cfg.stages)
			continue;
		rc = make_stages(&host->echoes[i], socket_id, err);
		host->is_staged = true;
	}
	if (host->is_staged)
		measure_stamps(host->clock, &host->stamp_cost);
	return rc;
}

void tl_echo_stages_fini(struct tl_echo_host *host)
{
	for (uint32_t i = 0; i < host->n_echoes; i++) {
		struct tl_echo_stages *stages = host->echoes[i].stages;
		if (stages == NULL)
			continue;
		tl_tail_destroy(stages->tail);
		tl_tail_samples_destroy(stages->samples);
		rte_free(stages);
	}
}

// ---- outliers, on the lcore

static struct tl_tail_burst describe(const struct tl_echo_host *host, const struct tl_burst *burst)
{
	struct tl_tail_burst facts = {.time_ns = tl_clock_wall_ns(host->clock, burst->tsc),
		.poll_gap_ns = tl_echo_poll_gap_ns(host, burst),
		.frames = burst->n,
		.queue = burst->queue};

	for (uint16_t i = 0; i < burst->n; i++)
		facts.bytes += burst->pkts[i]->pkt_len;
	return facts;
}

void tl_echo_keep_burst(struct tl_echo_host *host, const struct tl_burst *burst)
{
	host->staged.last = describe(host, burst);
}

void tl_echo_note_outlier(struct tl_echo *echo, const struct tl_burst *burst)
{
	struct tl_echo_host *host = echo->host;
	const struct tl_echo_sent *sent = &echo->stages->sent;
	struct tl_tail_outlier outlier = {.msgs = sent->msgs,
		.residence_ns = sent->stay_ns,
		.burst = describe(host, burst),
		.before = host->staged.last,
		.own = tl_echo_own_frames(echo, burst)};

	memcpy(outlier.stage_ns, sent->stage_ns, sizeof(outlier.stage_ns));
	for (uint16_t i = 0; i < burst->n; i++)
		outlier.frame_bytes[i] = (uint16_t)burst->pkts[i]->pkt_len;
	tl_tail_put(echo->stages->tail, &outlier);
	echo->stages->open = true;
	host->staged.open = true;
}

void tl_echo_complete_outliers(struct tl_echo_host *host, const struct tl_burst *burst)
{
	struct tl_tail_burst after = describe(host, burst);

	for (uint32_t i = 0; i < host->n_echoes; i++) {
		struct tl_echo_stages *stages = host->echoes[i].stages;
		if (stages == NULL || !stages->open)
			continue;
		tl_tail_set_after(stages->tail, &after);
		stages->open = false;
	}
	host->staged.open = false;
}

// ---- access from main

const struct tl_stamp_cost *tl_echo_stamp_cost(const struct tl_echo_host *host)
{
	return host->is_staged ? &host->stamp_cost : NULL;
}

bool tl_echo_has_stage(const struct tl_echo_host *host, uint32_t index, enum tl_stage stage)
{
	return host->echoes[index].stages != NULL && (stage != TL_STAGE_WIRE || host->stamped);
}

void tl_echo_stage(const struct tl_echo_host *host, uint32_t index, enum tl_stage stage, struct tl_hist *out)
{
	tl_hist_copy(out, &host->echoes[index].stages->hist[stage]);
}

void tl_echo_poll_gap(const struct tl_echo_host *host, uint32_t index, struct tl_hist *out)
{
	tl_hist_copy(out, &host->echoes[index].stages->poll_gap);
}

uint64_t tl_echo_unstamped_pkts(const struct tl_echo_host *host, uint32_t index)
{
	return tl_count_read(&host->echoes[index].stages->unstamped_pkts);
}

uint64_t tl_echo_after_poll_pkts(const struct tl_echo_host *host, uint32_t index)
{
	return tl_count_read(&host->echoes[index].stages->after_poll_pkts);
}

const struct tl_tail *tl_echo_tail(const struct tl_echo_host *host, uint32_t index)
{
	const struct tl_echo_stages *stages = host->echoes[index].stages;

	return stages != NULL ? stages->tail : NULL;
}

const struct tl_tail_samples *tl_echo_samples(const struct tl_echo_host *host, uint32_t index)
{
	const struct tl_echo_stages *stages = host->echoes[index].stages;

	return stages != NULL ? stages->samples : NULL;
}
