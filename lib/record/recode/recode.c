// SPDX-License-Identifier: BSD-3-Clause
// Set-up and tear-down of the stages of a recording.

#include "recode_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_err.h>

#define IDLE_MIN_NS (200 * TL_NS_PER_US)
#define IDLE_DOUBLINGS 3 // to 1.6 ms

void tl_recode_idle(unsigned times)
{
	uint64_t ns = IDLE_MIN_NS << (times < IDLE_DOUBLINGS ? times : IDLE_DOUBLINGS);

	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static bool converts(const struct tl_recode_cfg *cfg)
{
	return cfg->form != TL_RECODE_PCAPNG;
}

// Largest size of a converted slab.
static uint32_t converted_bytes(const struct tl_recode_cfg *cfg)
{
	uint32_t bytes = cfg->slab_bytes;

	while (cfg->form == TL_RECODE_ZSTD && bytes < tl_zslab_bound(cfg->slab_bytes))
		bytes *= 2;
	return bytes;
}

// Number of slabs: each thread holds one.
static uint32_t converted_slabs(const struct tl_recode_cfg *cfg)
{
	return TL_RECODE_SLABS + cfg->threads;
}

uint64_t tl_recode_memory_bytes(const struct tl_recode_cfg *cfg)
{
	uint64_t merged = cfg->window_ns != 0 ? (uint64_t)TL_RECODE_SLABS * cfg->slab_bytes : 0;

	return merged + (converts(cfg) ? (uint64_t)converted_slabs(cfg) * converted_bytes(cfg) : 0);
}

static int make_ring(const struct tl_recode_cfg *cfg, const char *stage, uint32_t slab_bytes, uint32_t slabs,
	struct tl_slab_ring **out, struct tl_err *err)
{
	char name[24];

	snprintf(name, sizeof(name), "%.12s_%s", cfg->name, stage);
	return tl_slab_create(&(struct tl_slab_cfg){.name = name,
				      .slab_bytes = slab_bytes,
				      .slabs = slabs,
				      .socket_id = cfg->socket_id,
				      .run_id = cfg->run_id},
		out, err);
}

static int make_merge(struct tl_recode *r, struct tl_err *err)
{
	const struct tl_recode_cfg *cfg = &r->cfg;
	struct tl_merge *m = &r->merge;

	m->cfg = cfg;
	m->stop = &r->stop;
	m->n_sources = cfg->n_rings;
	m->window_ns = cfg->window_ns;
	for (uint32_t i = 0; i < cfg->n_rings; i++)
		m->sources[i].ring = r->rings[i];
	m->origins = calloc((size_t)TL_RECODE_SLABS * cfg->n_rings, sizeof(*m->origins));
	if (m->origins == NULL)
		return tl_fail(err, -ENOMEM, "no memory to merge %u queues", cfg->n_rings);
	int rc = make_ring(cfg, "merge", cfg->slab_bytes, TL_RECODE_SLABS, &r->merged, err);
	m->out = r->merged;
	return rc;
}

static int make_convert(struct tl_recode *r, struct tl_err *err)
{
	const struct tl_recode_cfg *cfg = &r->cfg;
	struct tl_convert *c = &r->convert;

	c->stop = r->merged != NULL ? &r->merge.ended : &r->stop;
	c->rings = r->merged != NULL ? &r->merged : r->rings;
	c->n_rings = r->merged != NULL ? 1 : cfg->n_rings;
	c->n_origins = r->merged != NULL ? cfg->n_rings : 1;
	c->form = cfg->form;
	c->n_threads = cfg->threads;
	c->origins = calloc((size_t)converted_slabs(cfg) * c->n_origins, sizeof(*c->origins));
	bool whole = c->origins != NULL;
	for (uint32_t i = 0; i < cfg->threads && cfg->form == TL_RECODE_ZSTD && whole; i++)
		whole = (c->packers[i] = tl_zslab_packer_create(cfg->level)) != NULL;
	if (!whole)
		return tl_fail(err, -ENOMEM, "no memory to convert with %u threads", cfg->threads);
	return make_ring(cfg, "conv", converted_bytes(cfg), converted_slabs(cfg), &c->out, err);
}

int tl_recode_create(const struct tl_recode_cfg *cfg, struct tl_recode **out, struct tl_err *err)
{
	struct tl_recode *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (r == NULL)
		return tl_fail(err, -ENOMEM, "no memory to recode");
	r->cfg = *cfg;
	memcpy(r->rings, cfg->rings, cfg->n_rings * sizeof(r->rings[0]));
	pthread_mutex_init(&r->convert.lock, NULL);
	pthread_cond_init(&r->convert.handed_over, NULL);
	if (cfg->window_ns != 0)
		rc = make_merge(r, err);
	if (rc == 0 && converts(cfg))
		rc = make_convert(r, err);
	if (rc != 0) {
		tl_recode_destroy(r);
		return rc;
	}
	*out = r;
	return 0;
}

struct tl_slab_ring *tl_recode_ring(const struct tl_recode *r)
{
	return r->convert.out != NULL ? r->convert.out : r->merged;
}

int tl_recode_start(struct tl_recode *r, struct tl_err *err)
{
	int rc = r->merged != NULL ? tl_merge_start(&r->merge) : 0;

	if (rc == 0 && r->convert.out != NULL)
		rc = tl_convert_start(&r->convert);
	if (rc == 0)
		return 0;
	tl_recode_stop(r);
	return tl_fail(err, rc, "cannot start a thread to recode: %s", strerror(-rc));
}

void tl_recode_end(struct tl_recode *r)
{
	atomic_store_explicit(&r->stop, true, memory_order_release);
}

bool tl_recode_ended(const struct tl_recode *r)
{
	bool merged = !r->merge.started || atomic_load_explicit(&r->merge.ended, memory_order_acquire);

	return merged && atomic_load_explicit(&r->convert.n_ended, memory_order_acquire) == r->convert.n_started;
}

void tl_recode_stop(struct tl_recode *r)
{
	tl_recode_end(r);
	tl_merge_join(&r->merge);
	tl_convert_join(&r->convert);
}

void tl_recode_destroy(struct tl_recode *r)
{
	if (r == NULL)
		return;
	tl_recode_stop(r);
	for (uint32_t i = 0; i < TL_RECODE_THREADS_MAX; i++)
		tl_zslab_packer_destroy(r->convert.packers[i]);
	tl_slab_destroy(r->convert.out);
	tl_slab_destroy(r->merged);
	free(r->convert.origins);
	free(r->merge.origins);
	pthread_cond_destroy(&r->convert.handed_over);
	pthread_mutex_destroy(&r->convert.lock);
	free(r);
}

uint64_t tl_recode_late_pkts(const struct tl_recode *r)
{
	return tl_count_read(&r->merge.late_pkts);
}
