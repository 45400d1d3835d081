// SPDX-License-Identifier: BSD-3-Clause
// Merge of the records of several rings by timestamp, within a window.
//
// The records of each lcore are in order, so the next record is the oldest at the heads of the rings. A ring without a
// sealed slab may still hold an older one: the merge waits for it as long as the window allows, and as long as the
// lcores of the other rings have free slabs.

#include "recode_priv.h"

#include <string.h>

#include <tl_guard.h>

#define SEAL_AGE_NS (TL_NS_PER_S / 2) // age limit of the slab being filled

static const uint8_t *record_of(const struct tl_merge_source *source)
{
	return source->slab->data + source->at;
}

static uint64_t time_of(const struct tl_merge_source *source)
{
	const uint8_t *epb = record_of(source);

	return (uint64_t)tl_load_u32(epb + 12) << 32 | tl_load_u32(epb + 16);
}

// A slab with both directions has epb_flags as first option of each record.
static enum tl_dir direction_of(const struct tl_merge_source *source)
{
	const uint8_t *epb = record_of(source);

	if (source->slab->records[TL_DIR_TX] == 0)
		return TL_DIR_RX;
	if (source->slab->records[TL_DIR_RX] == 0)
		return TL_DIR_TX;
	uint32_t padded = (tl_load_u32(epb + 20) + 3u) & ~3u;
	return tl_load_u32(epb + 28 + padded + 4) == TL_PCAPNG_OUTBOUND ? TL_DIR_TX : TL_DIR_RX;
}

// Take a slab for each source without one. Return true if every source has one.
static bool gather(struct tl_merge *m)
{
	bool all = true;

	for (uint32_t i = 0; i < m->n_sources; i++) {
		struct tl_merge_source *source = &m->sources[i];
		if (source->slab == NULL && (source->slab = tl_slab_take(source->ring)) != NULL)
			source->at = TL_PCAPNG_HEAD_BYTES;
		all = all && source->slab != NULL;
	}
	return all;
}

static struct tl_merge_source *oldest(struct tl_merge *m)
{
	struct tl_merge_source *found = NULL;

	for (uint32_t i = 0; i < m->n_sources; i++)
		if (m->sources[i].slab != NULL && (found == NULL || time_of(&m->sources[i]) < time_of(found)))
			found = &m->sources[i];
	return found;
}

// True if a slab at hand has waited long enough for the others.
static bool is_due(const struct tl_merge *m)
{
	for (uint32_t i = 0; i < m->n_sources; i++) {
		const struct tl_merge_source *source = &m->sources[i];
		if (source->slab == NULL)
			continue;
		if (source->slab->opened_ns + m->window_ns <= m->now_ns ||
			tl_slab_used(source->ring) > tl_slab_count(source->ring) / 2)
			return true;
	}
	return false;
}

// Clear the origins of a slab of out that was just opened.
static void begin_origins(struct tl_merge *m)
{
	struct tl_slab *slab = tl_slab_opened(m->out);

	m->open = m->origins + (size_t)tl_slab_number(m->out, slab) * m->n_sources;
	for (uint32_t i = 0; i < m->n_sources; i++)
		m->open[i] = (struct tl_slab_origin){.ring = i};
	slab->origins = m->open;
	slab->n_origins = m->n_sources;
}

static void *reserve(struct tl_merge *m, uint32_t len_bytes)
{
	void *room;

	for (unsigned tries = 0; (room = tl_slab_reserve(m->out, len_bytes, m->now_ns)) == NULL; tries++) {
		tl_recode_idle(tries);
		m->now_ns = m->cfg->now_ns(m->cfg->ctx);
	}
	if (tl_slab_is_new(m->out))
		begin_origins(m);
	return room;
}

// Move one record. Return false after the last of its slab.
static bool move(struct tl_merge *m, struct tl_merge_source *source)
{
	uint32_t index = (uint32_t)(source - m->sources), len = tl_load_u32(record_of(source) + 4);
	enum tl_dir dir = direction_of(source);
	uint64_t ts_ns = time_of(source);

	memcpy(reserve(m, len), record_of(source), len);
	tl_slab_commit(m->out, len, dir);
	m->open[index].records[dir]++; // written by this thread only, until the slab is sealed
	if (ts_ns < m->last_ns)
		tl_count(&m->late_pkts, 1);
	m->last_ns = tl_max_u64(m->last_ns, ts_ns);
	source->at += len;
	if (source->at < source->slab->used_bytes)
		return true;
	tl_slab_give_back(source->ring, source->slab);
	source->slab = NULL;
	return false;
}

// Move what is due. Return true if anything was moved.
static bool turn(struct tl_merge *m, bool stopping)
{
	struct tl_merge_source *source;
	bool moved = false, same = true; // same: no slab was used up

	m->now_ns = m->cfg->now_ns(m->cfg->ctx); // before the rings are read: later seals are later
	bool all = gather(m) || stopping;	 // at the end empty rings stay empty
	if (!all && !is_due(m))
		return false;
	while (same && (source = oldest(m)) != NULL) {
		same = move(m, source);
		moved = true;
	}
	return moved;
}

static void *merge_main(void *arg)
{
	struct tl_merge *m = arg;
	unsigned idle = 0;

	tl_guard_thread(TL_GUARD_COMPUTE, "tl-merge");
	for (;;) {
		// before the rings are read: slabs sealed before stop() are found below
		bool stopping = atomic_load_explicit(m->stop, memory_order_acquire);
		bool moved = turn(m, stopping);
		tl_slab_seal_if_older(m->out, m->now_ns, SEAL_AGE_NS);
		if (stopping && !moved)
			break;
		if (moved)
			idle = 0;
		else
			tl_recode_idle(idle++);
	}
	tl_slab_seal(m->out);
	atomic_store_explicit(&m->ended, true, memory_order_release);
	return NULL;
}

int tl_merge_start(struct tl_merge *m)
{
	int rc = -pthread_create(&m->thread, NULL, merge_main, m);

	m->started = rc == 0;
	return rc;
}

void tl_merge_join(struct tl_merge *m)
{
	if (m->started)
		pthread_join(m->thread, NULL);
	m->started = false;
}
