// SPDX-License-Identifier: BSD-3-Clause
// Files written through the page cache. A write into it succeeds before the disk has accepted the data: only
// fdatasync() reports errors. The sync thread calls it, so that the writer thread never waits, and packets are counted
// as written once it has returned 0.
//
// It reports an error once, without the failed write. Therefore all data written since the last success is lost after
// an error: it is counted as dropped, the file is cut to the part confirmed on disk, and continues from there.

#include "writer_priv.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tl_guard.h>

#define SYNC_BYTES (UINT64_C(32) << 20) // limit of unconfirmed data, the most that one error can lose
#define SYNC_NS TL_NS_PER_S		// longest delay of a slab before the sync

static void *sync_main(void *arg)
{
	struct tl_writer_cached *cached = arg;

	tl_guard_thread(TL_GUARD_FILES, "tl-sync");
	pthread_mutex_lock(&cached->lock);
	for (;;) {
		while (cached->fd < 0 && !cached->stop)
			pthread_cond_wait(&cached->wake, &cached->lock);
		if (cached->fd < 0)
			break;
		pthread_mutex_unlock(&cached->lock);
		int rc = tl_writer_file_force(cached->fd, fdatasync);
		pthread_mutex_lock(&cached->lock);
		cached->fd = -1;
		cached->result = rc;
		pthread_cond_signal(&cached->done);
	}
	pthread_mutex_unlock(&cached->lock);
	return NULL;
}

// ---- accounting, on the writer thread

// Move the packet counts of one stage to another, for each ring.
static void move(const struct tl_writer *writer, uint64_t (*from)[TL_DIRS], uint64_t (*to)[TL_DIRS])
{
	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			to[ring][dir] += from[ring][dir];
			from[ring][dir] = 0;
		}
}

// Mark all data of the file as being confirmed.
static void mark(const struct tl_writer *writer, struct tl_writer_file *file)
{
	move(writer, file->cached_pkts, file->asked_pkts);
	file->asked_bytes = file->end_bytes;
	file->asked_chain = file->chain;
}

static void confirm_marked(struct tl_writer *writer, struct tl_writer_file *file)
{
	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			tl_count(&writer->flows[ring].written_pkts[dir], file->asked_pkts[ring][dir]);
	move(writer, file->asked_pkts, file->written_pkts);
	tl_count(
		&writer->stats.written_bytes, file->asked_bytes - tl_max_u64(file->synced_bytes, file->prologue_bytes));
	file->synced_bytes = file->asked_bytes;
	file->synced_chain = file->asked_chain;
	tl_writer_trouble_end(writer, &writer->writing, file->label);
}

void tl_writer_cached_confirm(struct tl_writer *writer, struct tl_writer_file *file)
{
	mark(writer, file);
	confirm_marked(writer, file);
}

static void lose(struct tl_writer *writer, struct tl_writer_file *file, int code)
{
	move(writer, file->asked_pkts, file->cached_pkts);
	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			tl_count(&writer->flows[ring].drop_disk_pkts[dir], file->cached_pkts[ring][dir]);
	memset(file->cached_pkts, 0, writer->n_flows * sizeof(*file->cached_pkts));
	if (file->synced_bytes == 0) { // the opening blocks are not on disk either
		atomic_fetch_sub_explicit(&writer->blocks_bytes, file->prologue_bytes, memory_order_relaxed);
		file->prologue_bytes = 0;
	}
	file->end_bytes = file->synced_bytes;
	file->chain = file->synced_chain;
	file->statistics_bytes = tl_min_u64(file->statistics_bytes, file->end_bytes);
	file->rows.outdated = true;
	tl_writer_fail(writer, file, code);
	(void)tl_writer_file_cut(file);			// data that cannot be cut off is overwritten
	(void)tl_writer_helper_make_room(writer, code); // for the repeated writes
}

// ---- choice of the file to sync, on the writer thread

void tl_writer_cached_release(struct tl_writer *writer, struct tl_writer_file *file)
{
	if (tl_writer_is_unsynced(file))
		STAILQ_INSERT_TAIL(&writer->cached.unsynced, file, left_link);
	else
		tl_writer_helper_finish(writer, file);
}

// Hand over the oldest of the left files once it is entirely on disk.
static void release_synced(struct tl_writer *writer)
{
	struct tl_writer_files *unsynced = &writer->cached.unsynced;
	struct tl_writer_file *file;

	while ((file = STAILQ_FIRST(unsynced)) != NULL && !tl_writer_is_unsynced(file)) {
		STAILQ_REMOVE_HEAD(unsynced, left_link);
		tl_writer_helper_finish(writer, file);
	}
}

static struct tl_writer_file *next_due(struct tl_writer *writer)
{
	struct tl_writer_cached *cached = &writer->cached;
	struct tl_writer_file *file = writer->file;
	struct timespec now;

	if (!STAILQ_EMPTY(&cached->unsynced))
		return STAILQ_FIRST(&cached->unsynced);
	if (file == NULL || !tl_writer_is_unsynced(file))
		return NULL;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
	if (now_ns < cached->due_ns && file->end_bytes - file->synced_bytes < SYNC_BYTES)
		return NULL;
	cached->due_ns = now_ns + SYNC_NS;
	return file;
}

bool tl_writer_cached_ask(struct tl_writer *writer)
{
	struct tl_writer_cached *cached = &writer->cached;
	struct tl_writer_file *file = cached->asked == NULL ? next_due(writer) : NULL;

	if (file == NULL)
		return cached->asked != NULL;
	mark(writer, file);
	cached->asked = file;
	pthread_mutex_lock(&cached->lock);
	cached->fd = file->fd;
	pthread_cond_signal(&cached->wake);
	pthread_mutex_unlock(&cached->lock);
	return true;
}

bool tl_writer_cached_take(struct tl_writer *writer, bool wait)
{
	struct tl_writer_cached *cached = &writer->cached;
	struct tl_writer_file *file = cached->asked;

	if (file == NULL)
		return false;
	pthread_mutex_lock(&cached->lock);
	while (wait && cached->fd >= 0)
		pthread_cond_wait(&cached->done, &cached->lock);
	bool done = cached->fd < 0;
	int rc = cached->result;
	pthread_mutex_unlock(&cached->lock);
	if (!done)
		return false;
	cached->asked = NULL;
	if (rc == 0)
		confirm_marked(writer, file);
	else
		lose(writer, file, rc);
	release_synced(writer);
	return rc != 0;
}

// ---- life cycle

void tl_writer_cached_init(struct tl_writer_cached *cached)
{
	pthread_mutex_init(&cached->lock, NULL);
	pthread_cond_init(&cached->wake, NULL);
	pthread_cond_init(&cached->done, NULL);
	STAILQ_INIT(&cached->unsynced);
	cached->fd = -1;
}

int tl_writer_cached_start(struct tl_writer *writer)
{
	return -pthread_create(&writer->cached.thread, NULL, sync_main, &writer->cached);
}

void tl_writer_cached_stop(struct tl_writer *writer)
{
	struct tl_writer_cached *cached = &writer->cached;

	pthread_mutex_lock(&cached->lock);
	cached->stop = true;
	pthread_cond_signal(&cached->wake);
	pthread_mutex_unlock(&cached->lock);
	pthread_join(cached->thread, NULL);
}

void tl_writer_cached_fini(struct tl_writer_cached *cached)
{
	pthread_cond_destroy(&cached->done);
	pthread_cond_destroy(&cached->wake);
	pthread_mutex_destroy(&cached->lock);
}
