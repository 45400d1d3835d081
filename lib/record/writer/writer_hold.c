// SPDX-License-Identifier: BSD-3-Clause
// Hold of slabs in memory until a trigger selects them for a file.
//
// Each ring has a queue of its sealed slabs, oldest first. A slab moves from it to the file if it was opened before the
// end of the episode that a trigger began; else it is returned to its lcore, unsaved, when its last record is older
// than the window, or when the lcore would run out of slabs. The time at which a slab was filled is not recorded; the
// time at which it was taken is, and is later: a window is therefore never shorter than configured.

#include "writer_priv.h"

#include <stdlib.h>

#define STOP_TRIES 100 // of 50 ms: longest wait of an episode for its file during stop

static uint32_t cells_for(uint32_t slabs)
{
	uint32_t cells = 1;

	while (cells < slabs)
		cells *= 2;
	return cells;
}

int tl_writer_hold_init(struct tl_writer *writer)
{
	struct tl_writer_hold *hold = &writer->hold;

	hold->queues = calloc(writer->cfg.n_rings, sizeof(*hold->queues));
	if (hold->queues == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < writer->cfg.n_rings; i++) {
		struct tl_writer_held *queue = &hold->queues[i];
		uint32_t slabs = tl_slab_count(writer->cfg.rings[i]);
		uint32_t cells = cells_for(slabs);
		queue->limit = slabs - tl_writer_hold_spare(slabs);
		queue->mask = cells - 1;
		queue->cells = calloc(cells, sizeof(*queue->cells));
		if (queue->cells == NULL)
			return -ENOMEM;
	}
	return 0;
}

void tl_writer_hold_fini(struct tl_writer *writer)
{
	struct tl_writer_hold *hold = &writer->hold;

	for (uint32_t i = 0; hold->queues != NULL && i < writer->cfg.n_rings; i++)
		free(hold->queues[i].cells);
	free(hold->queues);
}

uint64_t tl_writer_expired_pkts(const struct tl_writer *writer, uint32_t ring, enum tl_dir dir)
{
	return writer->hold.queues == NULL ? 0 : tl_count_read(&writer->hold.queues[ring].expired_pkts[dir]);
}

// ---- queue of one ring

static const struct tl_writer_held_slab *head(const struct tl_writer_held *queue)
{
	return queue->n == 0 ? NULL : &queue->cells[queue->first & queue->mask];
}

static void push(struct tl_writer_hold *hold, struct tl_writer_held *queue, struct tl_slab *slab, uint64_t now_ns)
{
	queue->cells[(queue->first + queue->n++) & queue->mask] =
		(struct tl_writer_held_slab){.slab = slab, .taken_ns = now_ns};
	hold->bytes += slab->used_bytes;
}

static struct tl_slab *pop(struct tl_writer_hold *hold, struct tl_writer_held *queue)
{
	struct tl_slab *slab = head(queue)->slab;

	queue->first++;
	queue->n--;
	hold->bytes -= slab->used_bytes;
	return slab;
}

// True if the oldest slab of this queue belongs to the episode.
static bool is_wanted(const struct tl_writer_hold *hold, const struct tl_writer_held *queue)
{
	return hold->saving && head(queue)->slab->opened_ns <= hold->until_ns;
}

// Find the queue whose first slab was opened earliest, among the wanted or the unwanted first slabs.
static struct tl_writer_held *oldest(const struct tl_writer *writer, bool wanted)
{
	const struct tl_writer_hold *hold = &writer->hold;
	struct tl_writer_held *found = NULL;

	for (uint32_t i = 0; i < writer->cfg.n_rings; i++) {
		struct tl_writer_held *queue = &hold->queues[i];
		if (queue->n == 0 || is_wanted(hold, queue) != wanted)
			continue;
		if (found == NULL || head(queue)->slab->opened_ns < head(found)->slab->opened_ns)
			found = queue;
	}
	return found;
}

// ---- expiry

static void expire_one(struct tl_writer *writer, struct tl_writer_held *queue)
{
	struct tl_slab *slab = pop(&writer->hold, queue);

	for (int dir = 0; dir < TL_DIRS; dir++)
		tl_count(&queue->expired_pkts[dir], slab->records[dir]);
	tl_slab_give_back(writer->cfg.rings[queue - writer->hold.queues], slab);
}

// Expire slabs that are outside the window at this time.
static void expire_old(struct tl_writer *writer, uint64_t at_ns)
{
	struct tl_writer_hold *hold = &writer->hold;

	for (uint32_t i = 0; i < writer->cfg.n_rings; i++) {
		struct tl_writer_held *queue = &hold->queues[i];
		while (queue->n != 0 && !is_wanted(hold, queue) &&
			head(queue)->taken_ns + writer->cfg.hold.pre_ns < at_ns)
			expire_one(writer, queue);
	}
}

// Expire slabs in excess of the memory limit; during stop, all.
static void expire_excess(struct tl_writer *writer, bool stopping)
{
	struct tl_writer_hold *hold = &writer->hold;
	uint64_t bytes = writer->cfg.hold.pre_bytes;
	struct tl_writer_held *queue;

	for (uint32_t i = 0; i < writer->cfg.n_rings; i++) {
		queue = &hold->queues[i];
		while (queue->n > (stopping ? 0 : queue->limit) && !is_wanted(hold, queue))
			expire_one(writer, queue);
	}
	while (bytes != 0 && hold->bytes > bytes && (queue = oldest(writer, false)) != NULL)
		expire_one(writer, queue);
}

// ---- episode: from a trigger until its file has all data of the episode

// Open a file for the episode. Return false while there is none yet.
static bool has_file(struct tl_writer *writer, bool stopping)
{
	struct tl_writer_hold *hold = &writer->hold;

	// The thread never waits except during stop, and then only once.
	for (uint32_t tries = 0; writer->file == NULL && !hold->gave_up && tries < (stopping ? STOP_TRIES : 1); tries++)
		if ((writer->file = tl_writer_helper_next(writer, stopping ? TL_WRITER_PATIENCE_NS : 0, 0)) != NULL)
			tl_count(&writer->stats.files, 1);
	hold->gave_up |= stopping && writer->file == NULL;
	return writer->file != NULL;
}

// True if every slab opened before the end of the episode has arrived.
static bool has_settled(const struct tl_writer *writer, uint64_t now_ns)
{
	const struct tl_writer_hold *hold = &writer->hold;
	bool followed = true; // by a slab opened later

	for (uint32_t i = 0; i < writer->cfg.n_rings; i++)
		followed = followed && hold->queues[i].n != 0;
	return followed || now_ns > hold->until_ns + writer->cfg.hold.settle_ns;
}

static void gather(struct tl_writer *writer, uint64_t now_ns)
{
	struct tl_slab *slab;

	for (uint32_t i = 0; i < writer->cfg.n_rings; i++)
		while ((slab = tl_slab_take(writer->cfg.rings[i])) != NULL)
			push(&writer->hold, &writer->hold.queues[i], slab, now_ns);
}

struct tl_slab *tl_writer_hold_take(struct tl_writer *writer, bool stopping, struct tl_slab_ring **out_ring)
{
	const struct tl_writer_hold_cfg *cfg = &writer->cfg.hold;
	struct tl_writer_hold *hold = &writer->hold;
	uint64_t now_ns = cfg->now_ns(writer->cfg.ctx);
	uint64_t trigger_ns = cfg->triggered(writer->cfg.ctx, hold->saving);

	gather(writer, now_ns);
	expire_old(writer, trigger_ns != 0 ? trigger_ns : now_ns);
	if (trigger_ns != 0) {
		hold->saving = true;
		hold->until_ns = tl_max_u64(hold->until_ns, trigger_ns + cfg->post_ns);
	}
	expire_excess(writer, stopping);

	struct tl_writer_held *queue = oldest(writer, true);
	if (queue == NULL) {
		if (hold->saving && has_settled(writer, now_ns)) {
			hold->saving = false;
			if (writer->file != NULL)
				tl_writer_leave_file(writer);
		}
		return NULL;
	}
	// Without a file the slab waits, but not at the expense of the lcore: it is then dropped and counted, as after
	// a disk error.
	if (!has_file(writer, stopping) && !stopping && queue->n <= queue->limit)
		return NULL;
	*out_ring = writer->cfg.rings[queue - hold->queues];
	return pop(hold, queue);
}
