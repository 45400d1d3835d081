// SPDX-License-Identifier: BSD-3-Clause
// Merges the records of several rings into one, in the order of their timestamps, within a window.
//
// Each lcore's records are in order already, so the next one to be written is the oldest of those at the rings' heads.
// A ring without a slab at hand may still hold something older: it is waited for, as long as the window allows.

#include "recode_priv.h"

#include <string.h>

#define SEAL_AGE_NS (TL_NS_PER_S / 2) // of the slab being filled while nothing comes

static uint32_t word_at(const uint8_t *block, uint32_t offset)
{
	uint32_t word;

	memcpy(&word, block + offset, sizeof(word));
	return word;
}

static const struct tl_merge_held *first_of(const struct tl_merge_source *source)
{
	return &source->held[source->first];
}

static const uint8_t *record_of(const struct tl_merge_source *source)
{
	return first_of(source)->slab->data + source->at;
}

static uint64_t time_of(const struct tl_merge_source *source)
{
	const uint8_t *epb = record_of(source);

	return (uint64_t)word_at(epb, 12) << 32 | word_at(epb, 16);
}

// A slab with both directions has epb_flags, as the first option of each record.
static enum tl_dir direction_of(const struct tl_merge_source *source)
{
	const struct tl_slab *slab = first_of(source)->slab;
	const uint8_t *epb = record_of(source);

	if (slab->records[TL_DIR_TX] == 0)
		return TL_DIR_RX;
	if (slab->records[TL_DIR_RX] == 0)
		return TL_DIR_TX;
	uint32_t padded = (word_at(epb, 20) + 3u) & ~3u;
	return word_at(epb, 28 + padded + 4) == TL_PCAPNG_OUTBOUND ? TL_DIR_TX : TL_DIR_RX;
}

static void take_all(struct tl_merge_source *source)
{
	struct tl_slab *slab;

	while ((slab = tl_slab_take(source->ring)) != NULL) {
		uint32_t last = (source->first + source->n++) % source->capacity;
		source->held[last] = (struct tl_merge_held){.slab = slab, .taken_ns = tl_recode_now_ns()};
	}
}

// Takes what there is. Returns whether every source has a slab now.
static bool gather(struct tl_merge *m)
{
	bool all = true;

	for (uint32_t i = 0; i < m->n_sources; i++) {
		take_all(&m->sources[i]);
		all = all && m->sources[i].n != 0;
	}
	return all;
}

static struct tl_merge_source *oldest(struct tl_merge *m)
{
	struct tl_merge_source *found = NULL;

	for (uint32_t i = 0; i < m->n_sources; i++)
		if (m->sources[i].n != 0 && (found == NULL || time_of(&m->sources[i]) < time_of(found)))
			found = &m->sources[i];
	return found;
}

// Whether any ring has waited long enough, or must not wait longer: order costs no frames, so half of its slabs stay
// with the lcore. What is older, in whichever ring, goes first.
static bool is_due(const struct tl_merge *m, uint64_t now_ns)
{
	for (uint32_t i = 0; i < m->n_sources; i++) {
		const struct tl_merge_source *source = &m->sources[i];
		if (source->n != 0 &&
			(now_ns - first_of(source)->taken_ns >= m->window_ns || source->n > source->capacity / 2))
			return true;
	}
	return false;
}

// Of a slab that was just opened, perhaps not for the first time.
static void clear_origins(struct tl_merge *m, struct tl_slab *slab)
{
	struct tl_slab_origin *origins = m->origins + (size_t)tl_slab_number(m->out, slab) * m->n_sources;

	for (uint32_t i = 0; i < m->n_sources; i++)
		origins[i] = (struct tl_slab_origin){.ring = i};
	slab->origins = origins;
	slab->n_origins = m->n_sources;
}

static void *reserve(struct tl_merge *m, uint32_t len_bytes)
{
	void *room;

	for (unsigned tries = 0; (room = tl_slab_reserve(m->out, len_bytes, tl_recode_now_ns())) == NULL; tries++)
		tl_recode_idle(tries);
	const struct tl_slab_cursor *cursor = (const struct tl_slab_cursor *)m->out;
	if (cursor->records[TL_DIR_RX] + cursor->records[TL_DIR_TX] == 0)
		clear_origins(m, tl_slab_opened(m->out));
	return room;
}

// Returns false when that was the last record of its slab.
static bool move(struct tl_merge *m, struct tl_merge_source *source)
{
	uint32_t index = (uint32_t)(source - m->sources), len = word_at(record_of(source), 4);
	enum tl_dir dir = direction_of(source);
	uint64_t ts_ns = time_of(source);

	memcpy(reserve(m, len), record_of(source), len);
	tl_slab_commit(m->out, len, dir);
	// Written by this thread only, until the slab is sealed.
	m->origins[(size_t)tl_slab_number(m->out, tl_slab_opened(m->out)) * m->n_sources + index].records[dir]++;
	if (ts_ns < m->last_ns)
		tl_count(&m->late_pkts, 1);
	m->last_ns = tl_max_u64(m->last_ns, ts_ns);
	source->at += len;
	if (source->at < first_of(source)->slab->used_bytes)
		return true;
	tl_slab_give_back(source->ring, first_of(source)->slab);
	source->first = (source->first + 1) % source->capacity;
	source->n--;
	source->at = TL_PCAPNG_HEAD_BYTES;
	return source->n != 0;
}

// Moves what may be moved: until a ring has run dry, or as long as one is due. Returns whether there was anything.
static bool turn(struct tl_merge *m, bool stopping)
{
	bool all = gather(m) || stopping; // when it is to stop, a ring that is empty stays so
	uint64_t now_ns = tl_recode_now_ns();
	struct tl_merge_source *source;
	bool moved = false, same = true;

	while (same && (all || is_due(m, now_ns)) && (source = oldest(m)) != NULL) {
		same = move(m, source);
		moved = true;
	}
	return moved;
}

static void *merge_main(void *arg)
{
	struct tl_merge *m = arg;
	unsigned idle = 0;

	for (;;) {
		// Read before the rings are looked at: what was sealed before stop() is found below.
		bool stopping = atomic_load_explicit(&m->stop, memory_order_acquire);
		if (turn(m, stopping)) {
			idle = 0;
			continue;
		}
		if (stopping)
			break;
		tl_slab_seal_if_older(m->out, tl_recode_now_ns(), SEAL_AGE_NS);
		tl_recode_idle(idle++);
	}
	tl_slab_seal(m->out);
	return NULL;
}

int tl_merge_start(struct tl_merge *m)
{
	int rc = -pthread_create(&m->thread, NULL, merge_main, m);

	m->started = rc == 0;
	if (rc == 0)
		pthread_setname_np(m->thread, "tl-merge");
	return rc;
}

void tl_merge_stop(struct tl_merge *m)
{
	atomic_store_explicit(&m->stop, true, memory_order_release);
	if (m->started)
		pthread_join(m->thread, NULL);
	m->started = false;
}
