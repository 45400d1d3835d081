// SPDX-License-Identifier: BSD-3-Clause
// Helper thread: all work that may block and is not writing slabs. It opens the next file ahead of time, names a file
// once it has begun, completes and closes files that the writer has left, enforces the limits of the ring, and recovers
// files that an earlier run did not complete.
//
// The next file is opened under a hidden name, because its final name contains the time of its beginning. The lock is
// never held during a call that may block, so that the writer, which only takes and hands over files, never waits for
// the disk through it.

#include "writer_priv.h"

#include <stdlib.h>

#include <tl_guard.h>

#define TICK_NS (100 * TL_NS_PER_MS)	  // retry interval after a failure
#define LOOK_NS (5 * TL_NS_PER_MS)	  // polling interval of the rings by a waiting writer
#define TIDY_NS TL_NS_PER_S		  // check interval of the limits when idle
#define SAVE_NS TL_NS_PER_S		  // retry interval for a file that could not be saved
#define LEFT_PAUSE_NS (40 * TL_NS_PER_MS) // pause per 8 MiB read from a file of an earlier run
#define LEFT_AT_END_BYTES (256u << 20)

struct timespec tl_writer_from_now(uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns += (uint64_t)now.tv_nsec;
	now.tv_sec += (time_t)(ns / TL_NS_PER_S);
	now.tv_nsec = (long)(ns % TL_NS_PER_S);
	return now;
}

bool tl_writer_has_passed(struct timespec deadline)
{
	struct timespec now = tl_writer_from_now(0);

	return now.tv_sec != deadline.tv_sec ? now.tv_sec > deadline.tv_sec : now.tv_nsec >= deadline.tv_nsec;
}

// ---- steps: each is called with the lock held, releases it during the work, and returns true if it did any

static bool step_name(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;
	struct tl_writer_file *file = STAILQ_FIRST(&helper->begun);

	if (file == NULL || !tl_writer_has_passed(helper->retry))
		return false;
	pthread_mutex_unlock(&helper->lock);
	int rc = tl_writer_begin(writer, file);
	if (rc != 0)
		tl_writer_trouble_begin(writer, &writer->rotating, file->at, rc);
	pthread_mutex_lock(&helper->lock);
	if (rc == 0)
		STAILQ_REMOVE(&helper->begun, file, tl_writer_file, begun_link);
	else
		helper->retry = tl_writer_from_now(TICK_NS);
	helper->tidy = tl_writer_from_now(0);
	return true;
}

static bool step_save(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;
	uint64_t from_ns = helper->save_from_ns, until_ns = helper->save_until_ns;

	bool asked = helper->save_asked;
	int code;

	if (!tl_writer_saves_files(writer) || (!asked && !tl_writer_has_passed(helper->save)))
		return false;
	helper->save_asked = false;
	pthread_mutex_unlock(&helper->lock);
	if (asked)
		tl_writer_ring_save(writer, from_ns, until_ns);
	tl_writer_ring_name_saved(writer, &code);
	pthread_mutex_lock(&helper->lock);
	helper->save = tl_writer_from_now(SAVE_NS);
	return asked;
}

bool tl_writer_helper_shrink_ahead(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;
	struct stat status;

	pthread_mutex_lock(&helper->lock);
	struct tl_writer_file *ahead = helper->ahead;
	helper->ahead = NULL; // the writer waits for it, if it needs it now
	pthread_mutex_unlock(&helper->lock);
	if (ahead == NULL)
		return false;
	bool larger = fstat(ahead->fd, &status) == 0 && (uint64_t)status.st_size > ahead->end_bytes;
	if (larger) {
		tl_writer_file_cut(ahead);
		atomic_fetch_add(&helper->freed, 1);
	}
	pthread_mutex_lock(&helper->lock);
	helper->ahead = ahead;
	helper->wished = false;
	pthread_cond_signal(&helper->answer);
	pthread_mutex_unlock(&helper->lock);
	return larger;
}

// Make space for frames: remove the oldest file, after completing it if necessary; as a last resort, release the space
// allocated to the next file.
static bool step_room(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;

	if (!helper->room_asked)
		return false;
	pthread_mutex_unlock(&helper->lock);
	uint64_t bytes;
	bool made = atomic_load(&helper->freed) != helper->freed_seen || tl_writer_ring_recycle(writer, &bytes);
	pthread_mutex_lock(&helper->lock);
	if (!made && !STAILQ_EMPTY(&helper->left)) // the oldest can be removed once complete: next step
		return false;
	pthread_mutex_unlock(&helper->lock);
	if (!made)
		tl_writer_helper_shrink_ahead(writer);
	pthread_mutex_lock(&helper->lock);
	helper->room_asked = false;
	pthread_cond_signal(&helper->answer);
	return true;
}

// Open the next file ahead. When space is short, frames come first: report that only to a writer that waits for a file
// while none is left to be completed and removed.
static bool step_open(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;
	bool wished = helper->wished, wanted = wished || (writer->parts && !helper->stop);
	bool completes = !STAILQ_EMPTY(&helper->left); // a file that can be removed afterwards

	// A file without its final name still occupies the hidden name, under which the next one is to be opened.
	if (!wanted || helper->ahead != NULL || !STAILQ_EMPTY(&helper->begun) || !tl_writer_has_passed(helper->retry))
		return false;
	pthread_mutex_unlock(&helper->lock);
	struct tl_writer_file *file = tl_writer_file_new(writer);
	int rc = file == NULL ? -ENOMEM : tl_writer_open_ahead(writer, file);
	if (rc == 0)
		tl_writer_trouble_end(writer, &writer->rotating, writer->cfg.path);
	else if (!tl_writer_may_recycle_for(writer, rc) || (wished && !completes))
		tl_writer_trouble_begin(
			writer, &writer->rotating, file != NULL && file->at != NULL ? file->at : writer->cfg.path, rc);
	if (rc != 0 && file != NULL)
		tl_writer_file_discard(writer, file);
	pthread_mutex_lock(&helper->lock);
	helper->ahead = rc == 0 ? file : NULL;
	helper->wished = false;
	if (rc != 0)
		helper->retry = tl_writer_from_now(TICK_NS);
	pthread_cond_signal(&helper->answer);
	return true;
}

static bool step_finish(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;
	struct tl_writer_file *file = STAILQ_FIRST(&helper->left);

	if (file == NULL)
		return false;
	STAILQ_REMOVE_HEAD(&helper->left, left_link);
	bool nameless = STAILQ_FIRST(&helper->begun) == file;
	if (nameless) // last attempt
		STAILQ_REMOVE_HEAD(&helper->begun, begun_link);
	pthread_mutex_unlock(&helper->lock);
	int rc = nameless ? tl_writer_begin(writer, file) : 0;
	int later = tl_writer_complete(writer, file);
	rc = rc != 0 ? rc : later;
	const char *path = file->at != NULL ? file->at : file->label;
	if (rc != 0)
		tl_writer_trouble_begin(writer, &writer->finishing, path, rc);
	else
		tl_writer_trouble_end(writer, &writer->finishing, path);
	tl_writer_file_free(file);
	atomic_fetch_add(&helper->freed, 1); // cut to the size of its content
	pthread_mutex_lock(&helper->lock);
	helper->tidy = tl_writer_from_now(0);
	return true;
}

static bool step_tidy(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;

	if (!writer->on_disk || !tl_writer_has_passed(helper->tidy))
		return false;
	bool more = !STAILQ_EMPTY(&helper->left);
	pthread_mutex_unlock(&helper->lock);
	if (writer->parts)
		tl_writer_ring_tidy(writer, more);
	tl_writer_ring_measure_free(writer);
	pthread_mutex_lock(&helper->lock);
	helper->tidy = tl_writer_from_now(TIDY_NS);
	return true;
}

// Run one round of all steps, ordered by dependency: none may starve the last one.
static bool work(struct tl_writer *writer)
{
	static bool (*const steps[])(struct tl_writer *) = {
		step_save, step_name, step_room, step_open, step_finish, step_tidy};
	bool worked = false;

	for (size_t i = 0; i < TL_ARRAY_LEN(steps); i++)
		worked |= steps[i](writer);
	return worked;
}

// Callback during the read of a file of an earlier run: this run's work comes first, and the disk is left to it most of
// the time. At the end of the run only short work is completed.
static int tend(void *arg, uint64_t done_bytes, uint64_t size_bytes)
{
	struct tl_writer *writer = arg;
	struct tl_writer_helper *helper = &writer->helper;
	struct timespec deadline = tl_writer_from_now(LEFT_PAUSE_NS);
	int rc = 0;

	pthread_mutex_lock(&helper->lock);
	do {
		while (work(writer)) {
		}
		if (!helper->stop)
			rc = pthread_cond_timedwait(&helper->wake, &helper->lock, &deadline);
	} while (!helper->stop && rc == 0);
	bool stop = helper->stop;
	pthread_mutex_unlock(&helper->lock);
	return stop && size_bytes - done_bytes > LEFT_AT_END_BYTES;
}

static bool step_left(struct tl_writer *writer)
{
	pthread_mutex_unlock(&writer->helper.lock);
	bool worked = tl_writer_recover_left(writer, tend);
	pthread_mutex_lock(&writer->helper.lock);
	if (worked) // counts towards the limits from now on
		writer->helper.tidy = tl_writer_from_now(0);
	return worked;
}

static void *helper_main(void *arg)
{
	struct tl_writer *writer = arg;
	struct tl_writer_helper *helper = &writer->helper;

	tl_guard_thread(TL_GUARD_FILES, "tl-files");
	pthread_mutex_lock(&helper->lock);
	for (;;) {
		bool stop = helper->stop; // before the work: files handed over until then are completed below
		if (work(writer) || step_left(writer))
			continue;
		if (stop)
			break;
		if (helper->stop) // set while the lock was released
			continue;
		struct timespec deadline = tl_writer_from_now(TICK_NS);
		pthread_cond_timedwait(&helper->wake, &helper->lock, &deadline);
	}
	pthread_mutex_unlock(&helper->lock);
	return NULL;
}

// ---- for the writer thread

// Discard a file ahead that has been removed. Called with the lock held.
static bool has_ahead(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;

	if (helper->ahead != NULL && tl_writer_file_is_removed(helper->ahead)) {
		tl_writer_file_discard(writer, helper->ahead);
		helper->ahead = NULL;
	}
	return helper->ahead != NULL;
}

// Check whether at least half of the slabs are free in each ring that the lcores fill.
static bool have_room(const struct tl_writer *writer)
{
	const struct tl_writer_cfg *cfg = &writer->cfg;
	struct tl_slab_ring *const *rings = cfg->n_origins != 0 ? cfg->origins : cfg->rings;

	for (uint32_t i = 0; i < writer->n_flows; i++)
		if (2 * tl_slab_used(rings[i]) > tl_slab_count(rings[i]))
			return false;
	return true;
}

// Order the next file and wait for the answer, at least until the first time, and until the last while no data is lost
// by waiting. Return true if the file has been opened.
static bool await_answer(struct tl_writer *writer, struct timespec first, struct timespec last)
{
	struct tl_writer_helper *helper = &writer->helper;

	helper->wished = true;
	pthread_cond_signal(&helper->wake);
	while (helper->wished) {
		struct timespec look = tl_writer_from_now(LOOK_NS);
		if (tl_writer_has_passed(first) && (tl_writer_has_passed(last) || !have_room(writer)))
			return false;
		pthread_cond_timedwait(&helper->answer, &helper->lock, &look);
	}
	return helper->ahead != NULL;
}

struct tl_writer_file *tl_writer_helper_next(struct tl_writer *writer, uint64_t patience_ns, uint64_t longest_ns)
{
	struct tl_writer_helper *helper = &writer->helper;
	struct timespec first = tl_writer_from_now(patience_ns);
	struct timespec last = tl_writer_from_now(patience_ns != 0 ? longest_ns : 0);

	pthread_mutex_lock(&helper->lock);
	while (!has_ahead(writer) && await_answer(writer, first, last)) {
		// Reopen a file that was removed while it was opened.
	}
	struct tl_writer_file *file = helper->ahead;
	helper->ahead = NULL;
	if (file != NULL) {
		file->began = time(NULL);
		STAILQ_INSERT_TAIL(&helper->begun, file, begun_link);
		pthread_cond_signal(&helper->wake);
	}
	pthread_mutex_unlock(&helper->lock);
	return file;
}

void tl_writer_helper_finish(struct tl_writer *writer, struct tl_writer_file *file)
{
	struct tl_writer_helper *helper = &writer->helper;

	pthread_mutex_lock(&helper->lock);
	STAILQ_INSERT_TAIL(&helper->left, file, left_link);
	pthread_cond_signal(&helper->wake);
	pthread_mutex_unlock(&helper->lock);
}

void tl_writer_helper_save(struct tl_writer *writer, uint64_t from_ns, uint64_t until_ns)
{
	struct tl_writer_helper *helper = &writer->helper;

	pthread_mutex_lock(&helper->lock);
	bool joins =
		helper->save_asked || from_ns <= helper->save_until_ns; // files of that time may still be incomplete
	helper->save_from_ns = joins ? tl_min_u64(helper->save_from_ns, from_ns) : from_ns;
	helper->save_until_ns = until_ns;
	helper->save_asked = true;
	pthread_cond_signal(&helper->wake);
	pthread_mutex_unlock(&helper->lock);
}

bool tl_writer_helper_make_room(struct tl_writer *writer, int code)
{
	struct tl_writer_helper *helper = &writer->helper;

	if (!tl_writer_may_recycle_for(writer, code))
		return false;
	pthread_mutex_lock(&helper->lock);
	helper->room_asked = true;
	pthread_cond_signal(&helper->wake);
	while (helper->room_asked)
		pthread_cond_wait(&helper->answer, &helper->lock);
	unsigned freed = atomic_load(&helper->freed);
	bool made = freed != helper->freed_seen;
	helper->freed_seen = freed;
	pthread_mutex_unlock(&helper->lock);
	return made;
}

// ---- life cycle

int tl_writer_helper_init(struct tl_writer_helper *helper)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&helper->lock, NULL);
	pthread_cond_init(&helper->wake, &monotonic);
	pthread_cond_init(&helper->answer, &monotonic);
	pthread_condattr_destroy(&monotonic);
	STAILQ_INIT(&helper->begun);
	STAILQ_INIT(&helper->left);
	helper->blocks = tl_writer_blocks_buffer();
	return helper->blocks != NULL ? 0 : -ENOMEM;
}

int tl_writer_helper_start(struct tl_writer *writer)
{
	return -pthread_create(&writer->helper.thread, NULL, helper_main, writer);
}

void tl_writer_helper_stop(struct tl_writer *writer)
{
	struct tl_writer_helper *helper = &writer->helper;
	int code;

	pthread_mutex_lock(&helper->lock);
	helper->stop = true;
	helper->wished = false;
	pthread_cond_signal(&helper->wake);
	pthread_mutex_unlock(&helper->lock);
	pthread_join(helper->thread, NULL);
	const char *unsaved = tl_writer_ring_name_saved(writer, &code);
	if (unsaved != NULL)
		tl_writer_trouble_begin(writer, &writer->saving, unsaved, code);
	if (helper->ahead != NULL)
		tl_writer_file_discard(writer, helper->ahead);
	helper->ahead = NULL;
}

void tl_writer_helper_fini(struct tl_writer_helper *helper)
{
	free(helper->blocks);
	pthread_cond_destroy(&helper->answer);
	pthread_cond_destroy(&helper->wake);
	pthread_mutex_destroy(&helper->lock);
}
