// SPDX-License-Identifier: BSD-3-Clause
// Index thread: parses each written slab and builds its row; the helper writes the rows into the sidecar when the file
// is complete.
//
// The slab is parsed in memory: nothing is read back. After its row is built it returns to the RX lcore through the
// writer, the only thread that may give slabs back. The index thread never holds more than a quarter of the slabs: when
// it is behind, the row of a slab contains only its position, and a search has to read the slab. This may slow down a
// search, never a recording.

#include "writer_priv.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tl_guard.h>
#include <tl_index.h>
#include <tl_log.h>

#define NICE 10				  // lower priority than writer and helper on a shared CPU
#define BLOOMS_BYTES (UINT64_C(64) << 20) // Bloom filters of a file's rows in memory; further rows have none

// ---- rows, on the index thread

static void add_row(struct tl_writer_rows *rows, const struct tl_writer_job *job, struct tl_index_builder *builder)
{
	const struct tl_slab *slab = job->slab;
	struct tl_index_row row;
	struct tl_pcapng_head head;

	if (rows->lost)
		return;
	int rc = slab == NULL ? tl_index_blank_row(job->head, job->len_bytes, job->offset_bytes, &row)
			      : tl_index_build(
					builder, slab->data, slab->used_bytes, job->len_bytes, job->offset_bytes, &row);
	if (rc == 0 && rows->rows.used_bytes > BLOOMS_BYTES)
		row.bloom_bytes = 0;
	if (rc == 0)
		rc = tl_index_rows_add(&rows->rows, &row);
	rows->lost = rc != 0;
	if (tl_pcapng_get_head(job->head, sizeof(job->head), &head) == 0)
		rows->run_id = head.run_id;
}

static struct tl_writer_job *job_at(struct tl_writer_index *index, uint32_t i)
{
	return &index->jobs[(index->first + i) % TL_WRITER_JOBS];
}

static void *index_main(void *arg)
{
	struct tl_writer *writer = arg;
	struct tl_writer_index *index = &writer->index;

	tl_guard_thread(TL_GUARD_FILES, "tl-index");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&index->lock);
	for (;;) {
		if (index->built == index->n) {
			if (index->stop)
				break;
			pthread_cond_wait(&index->wake, &index->lock);
			continue;
		}
		struct tl_writer_job *job = job_at(index, index->built);
		pthread_mutex_unlock(&index->lock);
		add_row(&job->file->rows, job, index->builder);
		pthread_mutex_lock(&index->lock);
		index->built++;
		job->file->rows.pending--;
		pthread_cond_broadcast(&index->done);
	}
	pthread_mutex_unlock(&index->lock);
	return NULL;
}

// ---- for the writer thread

bool tl_writer_index_add(struct tl_writer *writer, const struct tl_writer_write *write, uint64_t offset_bytes)
{
	struct tl_writer_index *index = &writer->index;
	bool held = false;

	if (!writer->cfg.index || write->file->stream)
		return false;
	pthread_mutex_lock(&index->lock);
	if (index->n == TL_WRITER_JOBS) {
		write->file->rows.lost = true;
	} else {
		struct tl_writer_job *job = job_at(index, index->n++);
		held = index->held < index->held_max;
		index->held += held;
		*job = (struct tl_writer_job){.file = write->file,
			.ring = write->ring,
			.slab = held ? write->slab : NULL,
			.len_bytes = write->len_bytes,
			.offset_bytes = offset_bytes};
		memcpy(job->head, write->data, sizeof(job->head));
		write->file->rows.pending++;
		pthread_cond_signal(&index->wake);
	}
	pthread_mutex_unlock(&index->lock);
	return held;
}

// Requires the lock.
static void release_built(struct tl_writer_index *index)
{
	for (; index->built > 0; index->built--, index->n--) {
		struct tl_writer_job *job = job_at(index, 0);
		if (job->slab != NULL) {
			tl_slab_give_back(job->ring, job->slab);
			index->held--;
		}
		index->first = (index->first + 1) % TL_WRITER_JOBS;
	}
}

void tl_writer_index_release(struct tl_writer *writer, bool all)
{
	struct tl_writer_index *index = &writer->index;

	if (!writer->cfg.index)
		return;
	pthread_mutex_lock(&index->lock);
	while (all && index->built < index->n)
		pthread_cond_wait(&index->done, &index->lock);
	release_built(index);
	pthread_mutex_unlock(&index->lock);
}

// ---- for the helper

void tl_writer_index_finish(struct tl_writer *writer, struct tl_writer_file *file, bool keep)
{
	struct tl_writer_index *index = &writer->index;
	struct tl_writer_rows *rows = &file->rows;

	if (!writer->cfg.index || file->stream)
		return;
	pthread_mutex_lock(&index->lock);
	while (rows->pending > 0)
		pthread_cond_wait(&index->done, &index->lock);
	pthread_mutex_unlock(&index->lock);
	if (!keep || file->at == NULL)
		return;
	(void)tl_index_remove(file->at);
	if (rows->lost || rows->outdated)
		tl_warn("%.300s: has no index: %s; `tapline extract --reindex` makes it", file->at,
			rows->lost ? "the indexer fell behind" : "data lost by the disk was cut off");
	if (rows->lost || rows->outdated || rows->rows.n == 0)
		return;
	int rc = tl_index_rows_write(&rows->rows, file->at, file->end_bytes, rows->run_id);
	if (rc != 0)
		tl_warn("%.300s" TL_INDEX_SUFFIX ": cannot write the index: %s; `tapline extract` does without it",
			file->at, strerror(-rc));
}

void tl_writer_index_remove(const char *recording)
{
	if (!tl_index_remove(recording))
		tl_warn("%.300s" TL_INDEX_SUFFIX ": has no mark of an index and is left alone", recording);
}

// ---- life cycle

int tl_writer_index_init(struct tl_writer *writer)
{
	struct tl_writer_index *index = &writer->index;
	uint32_t slabs = UINT32_MAX;

	pthread_mutex_init(&index->lock, NULL);
	pthread_cond_init(&index->wake, NULL);
	pthread_cond_init(&index->done, NULL);
	if (!writer->cfg.index)
		return 0;
	for (uint32_t i = 0; i < writer->cfg.n_rings; i++)
		slabs = (uint32_t)tl_min_u64(slabs, tl_slab_count(writer->cfg.rings[i]));
	// A writer that holds leaves only this many to the lcore.
	slabs = tl_writer_holds(writer) ? tl_writer_hold_spare(slabs) : slabs;
	index->held_max = (uint32_t)tl_min_u64(slabs / 4, TL_WRITER_JOBS);
	index->builder = tl_index_builder_create();
	if (index->builder == NULL)
		return -ENOMEM;
	tl_index_builder_set_inner(index->builder, writer->cfg.index_inner);
	return 0;
}

int tl_writer_index_start(struct tl_writer *writer)
{
	return writer->cfg.index ? -pthread_create(&writer->index.thread, NULL, index_main, writer) : 0;
}

void tl_writer_index_stop(struct tl_writer *writer)
{
	struct tl_writer_index *index = &writer->index;

	if (!writer->cfg.index)
		return;
	pthread_mutex_lock(&index->lock);
	index->stop = true;
	pthread_cond_signal(&index->wake);
	pthread_mutex_unlock(&index->lock);
	pthread_join(index->thread, NULL);
}

void tl_writer_index_fini(struct tl_writer_index *index)
{
	tl_index_builder_destroy(index->builder);
	pthread_cond_destroy(&index->done);
	pthread_cond_destroy(&index->wake);
	pthread_mutex_destroy(&index->lock);
}
