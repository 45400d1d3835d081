// SPDX-License-Identifier: BSD-3-Clause
// Life cycle of a writer, and its state as read by other threads.

#include "writer_priv.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_log.h>

#define STOP_PATIENCE_S 3

// Choose the backend. Blocks that only their order identifies after a crash are written in order.
static void choose_backend(struct tl_writer *writer)
{
	if (writer->cfg.io == TL_WRITER_IO_URING && !writer->cfg.unaligned &&
		(writer->file == NULL || !writer->file->stream)) {
		int rc = tl_writer_uring_init(writer);
		if (rc == 0)
			return;
		tl_info("io_uring is not available here (%s): writing with pwrite", strerror(-rc));
	}
	tl_writer_sync_init(writer);
}

static int allocate(struct tl_writer *writer)
{
	pthread_mutex_init(&writer->ring.lock, NULL);
	tl_writer_cached_init(&writer->cached);
	int rc = tl_writer_helper_init(&writer->helper);
	int later = tl_writer_index_init(writer);

	writer->blocks = tl_writer_blocks_buffer();
	writer->file = tl_writer_file_new(writer);
	if (writer->cfg.statistics_ns != 0)
		writer->statistics.buffer = tl_writer_blocks_buffer(); // NULL: no statistics
	writer->flows = calloc(writer->n_flows, sizeof(*writer->flows));
	writer->dropped_pkts = calloc(writer->n_flows, sizeof(*writer->dropped_pkts));
	writer->unknown_pkts = calloc(writer->n_flows, sizeof(*writer->unknown_pkts));
	if (rc == 0 && tl_writer_holds(writer))
		rc = tl_writer_hold_init(writer);
	if (rc == 0)
		rc = later;
	bool whole = writer->blocks != NULL && writer->file != NULL && writer->flows != NULL &&
		     writer->dropped_pkts != NULL && writer->unknown_pkts != NULL;
	return whole ? rc : -ENOMEM;
}

// Check that the path can be rotated: only a regular file, or a new one, can.
static int check_rotated(const struct tl_writer *writer, const char *path, struct tl_err *err)
{
	struct stat status;

	if (strcmp(path, TL_WRITER_NULL) == 0)
		return tl_fail(err, -EINVAL, "%s is not a file and cannot be rotated; remove the rotation", path);
	bool to_stdout = strcmp(writer->cfg.path, "-") == 0;
	if (!to_stdout && (stat(path, &status) != 0 || S_ISREG(status.st_mode)))
		return 0;
	if (!to_stdout && S_ISDIR(status.st_mode))
		return tl_fail(err, -EISDIR, "%.300s: is a directory; name a file in it", path);
	return tl_fail(err, -EINVAL, "%.300s: is not a regular file and cannot be %s",
		to_stdout ? "standard output" : path,
		tl_writer_holds(writer) ? "begun anew at each trigger; name one" : "rotated; remove the rotation");
}

// Open the first file as an additional file of a ring.
static int open_in_ring(struct tl_writer *writer, const char *path, struct tl_err *err)
{
	struct tl_writer_file *file = writer->file;

	int rc = check_rotated(writer, path, err);
	if (rc != 0)
		return rc;
	rc = tl_writer_open_hidden(writer, file);
	if (rc == 0)
		rc = tl_writer_ring_find(&writer->ring, &writer->pattern);
	tl_writer_resume_names(writer, file->began);
	if (rc == 0 && !tl_writer_holds(writer))
		rc = tl_writer_name_file(writer, file);
	if (rc == 0 && !tl_writer_holds(writer))
		rc = tl_writer_ring_begin(&writer->ring, file);
	return rc == 0 ? 0
		       : tl_fail(err, rc, "%.300s: cannot open: %s; %s", file->at != NULL ? file->at : path,
				 strerror(-rc), tl_writer_advice(rc));
}

// Open a single file, in place of an existing one.
static int open_single(struct tl_writer *writer, const char *path, struct tl_err *err)
{
	struct tl_writer_file *file = writer->file;

	file->at = strdup(path);
	if (file->at == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the writer of %.300s", path);
	int rc = tl_writer_file_open(file, file->at, !writer->cfg.unaligned, err);
	tl_writer_resume_names(writer, file->began);
	writer->names.last_number = 0;
	bool is_file = strcmp(path, TL_WRITER_NULL) != 0;
	if (rc == 0 && is_file && tl_writer_ring_begin(&writer->ring, file) != 0)
		rc = tl_fail(err, -ENOMEM, "no memory for the writer of %.300s", path);
	return rc;
}

static int open_first(struct tl_writer *writer, struct tl_err *err)
{
	writer->file->began = time(NULL);
	char *path = tl_writer_pattern_expand(&writer->pattern, writer->file->began, 0);
	if (path == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the writer of %.300s", writer->cfg.path);
	int rc = writer->parts ? open_in_ring(writer, path, err) : open_single(writer, path, err);
	free(path);
	if (rc != 0)
		return rc;
	writer->on_disk = !writer->file->stream;
	tl_writer_warn_buffered(writer, writer->file);
	if (tl_writer_holds(writer)) { // opened at the first trigger
		writer->helper.ahead = writer->file;
		writer->file = NULL;
	} else {
		tl_count(&writer->stats.files, 1);
	}
	return 0;
}

int tl_writer_create(const struct tl_writer_cfg *cfg, struct tl_writer **out, struct tl_err *err)
{
	struct tl_writer *writer = calloc(1, sizeof(*writer));
	if (writer == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the writer of %.300s", cfg->path);

	const struct tl_writer_policy *policy = &cfg->policy;
	writer->cfg = *cfg;
	writer->patience_ns = TL_WRITER_PATIENCE_NS;
	tl_digest_prepare();
	writer->n_flows = cfg->n_origins != 0 ? cfg->n_origins : cfg->n_rings;
	writer->direct_refused = cfg->unaligned;
	atomic_init(&writer->free_bytes, UINT64_MAX);
	atomic_init(&writer->share.limit_bytes, TL_WRITER_NO_LIMIT);
	writer->parts = policy->rotate_bytes != 0 || policy->rotate_seconds != 0 || policy->rotate_packets != 0 ||
			tl_writer_holds(writer);
	if (policy->sync == TL_WRITER_SYNC_AUTO)
		writer->cfg.policy.sync = tl_writer_may_reuse(writer) ? TL_WRITER_SYNC_CLOSE : TL_WRITER_SYNC_NEVER;
	writer->writing = (struct tl_writer_trouble){
		.what = "cannot write, and drops and counts packets until it can",
		.over = "writing again",
	};
	writer->rotating = (struct tl_writer_trouble){
		.what = "cannot begin the next file, and tries again",
		.over = "rotating again",
	};
	writer->finishing = (struct tl_writer_trouble){
		.what = "cannot complete the file",
		.over = "completing files again",
	};
	writer->saving = (struct tl_writer_trouble){
		.what = "a trigger needs it, and it cannot be moved out of the ring",
	};
	int rc = allocate(writer);
	if (rc != 0)
		tl_fail(err, rc, "no memory for the writer of %.300s", cfg->path);
	if (rc == 0)
		rc = tl_writer_pattern_init(&writer->pattern, cfg->path, err);
	if (rc == 0)
		rc = open_first(writer, err);
	if (rc != 0) {
		tl_writer_destroy(writer);
		return rc;
	}
	choose_backend(writer);
	*out = writer;
	return 0;
}

// Join the writer thread, however long it takes: received data is kept, and the log states the reason for the wait.
static void join_main(struct tl_writer *writer)
{
	struct timespec deadline;

	for (;;) {
		clock_gettime(CLOCK_REALTIME, &deadline);
		deadline.tv_sec += STOP_PATIENCE_S;
		if (pthread_timedjoin_np(writer->thread, NULL, &deadline) != ETIMEDOUT)
			return;
		tl_warn("%.300s: the %s is slow: still writing received packets before exit", writer->cfg.path,
			writer->on_disk ? "disk" : "reader");
	}
}

static int start_main(struct tl_writer *writer)
{
	return -pthread_create(&writer->thread, NULL, tl_writer_main, writer);
}

static const struct {
	int (*start)(struct tl_writer *writer);
	void (*stop)(struct tl_writer *writer);
} threads[] = {
	{tl_writer_index_start, tl_writer_index_stop},
	{tl_writer_helper_start, tl_writer_helper_stop},
	{tl_writer_cached_start, tl_writer_cached_stop},
	{start_main, join_main},
};

// Stop the first n threads, last one first.
static void stop_threads(struct tl_writer *writer, size_t n)
{
	while (n > 0)
		threads[--n].stop(writer);
}

// Start all threads, or none.
static int start_threads(struct tl_writer *writer)
{
	for (size_t n = 0; n < TL_ARRAY_LEN(threads); n++) {
		int rc = threads[n].start(writer);
		if (rc == 0)
			continue;
		stop_threads(writer, n);
		return rc;
	}
	return 0;
}

int tl_writer_start(struct tl_writer *writer, struct tl_err *err)
{
	sigset_t all, before;

	// Signals are handled on main; SIGPIPE and SIGXFSZ become errors of write().
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = start_threads(writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return tl_fail(err, rc, "%.300s: cannot start the writer thread: %s", writer->cfg.path, strerror(-rc));
	writer->started = true;
	return 0;
}

int tl_writer_stop(struct tl_writer *writer, struct tl_err *err)
{
	atomic_store_explicit(&writer->stop, true, memory_order_release);
	if (writer->started)
		stop_threads(writer, TL_ARRAY_LEN(threads));
	writer->started = false;

	int code = atomic_load_explicit(&writer->first_error, memory_order_acquire);
	return code == 0 ? 0 : tl_fail(err, code, "%s", writer->error.text);
}

// Close the first file of a writer that was never started; of a ring, remove it.
static void close_first(struct tl_writer *writer)
{
	struct tl_writer_file *file = writer->file;

	if (writer->parts) {
		tl_writer_file_discard(writer, file);
		return;
	}
	if (file->fd >= 0)
		tl_writer_file_close(file);
	tl_writer_file_free(file);
}

void tl_writer_destroy(struct tl_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->started)
		tl_writer_stop(writer, NULL);
	if (writer->backend != NULL)
		writer->backend->fini(writer);
	if (writer->file != NULL) // never started
		close_first(writer);
	if (writer->helper.ahead != NULL)
		tl_writer_file_discard(writer, writer->helper.ahead);
	tl_writer_hold_fini(writer);
	tl_writer_helper_fini(&writer->helper);
	tl_writer_index_fini(&writer->index);
	tl_writer_cached_fini(&writer->cached);
	free(writer->names.last_stem);
	tl_writer_ring_fini(&writer->ring);
	free(writer->statistics.buffer);
	free(writer->unknown_pkts);
	free(writer->dropped_pkts);
	free(writer->flows);
	free(writer->blocks);
	free(writer);
}

void tl_writer_flow(const struct tl_writer *writer, uint32_t ring, struct tl_writer_flow *out)
{
	const struct tl_writer_flow *flow = &writer->flows[ring];

	for (int dir = 0; dir < TL_DIRS; dir++) {
		// Read dropped_pkts first: it is a part of the written packets.
		uint64_t dropped = tl_count_read(&writer->dropped_pkts[ring][dir]);
		uint64_t unknown = tl_count_read(&writer->unknown_pkts[ring][dir]);
		out->written_pkts[dir] = tl_count_read(&flow->written_pkts[dir]) - dropped - unknown;
		out->expired_pkts[dir] = dropped + tl_writer_expired_pkts(writer, ring, (enum tl_dir)dir);
		out->drop_disk_pkts[dir] = tl_count_read(&flow->drop_disk_pkts[dir]) + unknown;
	}
}

void tl_writer_stats(const struct tl_writer *writer, struct tl_writer_stats *out)
{
	const struct tl_writer_stats *stats = &writer->stats;
	struct tl_writer_flow flow;

	*out = (struct tl_writer_stats){0};
	for (uint32_t ring = 0; ring < writer->n_flows; ring++) {
		tl_writer_flow(writer, ring, &flow);
		for (int dir = 0; dir < TL_DIRS; dir++) {
			out->written_pkts[dir] += flow.written_pkts[dir];
			out->expired_pkts[dir] += flow.expired_pkts[dir];
			out->drop_disk_pkts[dir] += flow.drop_disk_pkts[dir];
		}
	}
	out->written_bytes = tl_count_read(&stats->written_bytes) +
			     atomic_load_explicit(&writer->blocks_bytes, memory_order_relaxed);
	out->repeated_writes = tl_count_read(&stats->repeated_writes);
	out->files = tl_count_read(&stats->files);
	out->recycled_files = tl_count_read(&stats->recycled_files);
	out->recycled_bytes = tl_count_read(&stats->recycled_bytes);
	out->free_bytes = atomic_load_explicit(&writer->free_bytes, memory_order_relaxed);
}

void tl_writer_rotate(struct tl_writer *writer)
{
	atomic_store_explicit(&writer->rotate_asked, true, memory_order_relaxed);
}

const char *const *tl_writer_files(struct tl_writer *writer, uint32_t *n)
{
	return tl_writer_ring_list(&writer->ring, n);
}

const char *tl_writer_error(const struct tl_writer *writer)
{
	return atomic_load_explicit(&writer->first_error, memory_order_acquire) == 0 ? NULL : writer->error.text;
}

bool tl_writer_pipe_closed(const struct tl_writer *writer)
{
	return atomic_load_explicit(&writer->pipe_closed, memory_order_acquire);
}
