// SPDX-License-Identifier: BSD-3-Clause
// A writer's life, and what other threads may read of it.

#include "writer_priv.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_log.h>

static void choose_backend(struct tl_writer *writer)
{
	if (writer->cfg.io == TL_WRITER_IO_URING && !writer->file.stream) {
		int rc = tl_writer_uring_init(writer);
		if (rc == 0)
			return;
		tl_info("io_uring is not available here (%s): writing with pwrite", strerror(-rc));
	}
	tl_writer_sync_init(writer);
}

static int allocate(struct tl_writer *writer)
{
	writer->names = tl_writer_names_create();
	writer->blocks = aligned_alloc(TL_PCAPNG_ALIGN, TL_WRITER_BLOCKS_BYTES + 2 * TL_PCAPNG_ALIGN);
	return writer->names == NULL || writer->blocks == NULL ? -ENOMEM : 0;
}

static int open_first(struct tl_writer *writer, struct tl_err *err)
{
	struct tl_writer_file *file = &writer->file;

	file->stop = &writer->stop;
	int rc = tl_writer_file_open(file, writer->cfg.path, true, err);
	if (rc != 0)
		return rc;
	if (file->stream && writer->cfg.rotate_bytes != 0)
		return tl_fail(err, -EINVAL, "%.300s: is not a regular file and cannot be rotated; leave the size out",
			file->path);

	char *name = tl_writer_names_next(writer->names, writer->cfg.path);
	rc = name == NULL ? -ENOMEM : tl_writer_names_keep(writer->names, name);
	if (rc != 0) {
		free(name);
		return tl_fail(err, rc, "no memory for the writer of %.300s", file->path);
	}
	tl_count(&writer->stats.files, 1);
	tl_writer_say_buffered(writer, file);
	return 0;
}

int tl_writer_create(const struct tl_writer_cfg *cfg, struct tl_writer **out, struct tl_err *err)
{
	struct tl_writer *writer = calloc(1, sizeof(*writer));
	if (writer == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the writer of %.300s", cfg->path);

	writer->cfg = *cfg;
	writer->file.fd = -1;
	writer->writing = (struct tl_writer_trouble){
		.what = "cannot write, and drops and counts packets until it can",
		.over = "writing again",
	};
	writer->rotating = (struct tl_writer_trouble){
		.what = "cannot begin the next file, and goes on in the last",
		.over = "rotating again",
	};
	int rc = allocate(writer);
	if (rc != 0)
		tl_fail(err, rc, "no memory for the writer of %.300s", cfg->path);
	else
		rc = open_first(writer, err);
	if (rc != 0) {
		tl_writer_destroy(writer);
		return rc;
	}
	choose_backend(writer);
	*out = writer;
	return 0;
}

int tl_writer_start(struct tl_writer *writer, struct tl_err *err)
{
	sigset_t all, before;

	// Signals are main's; and SIGPIPE and SIGXFSZ come back as errors of write().
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = -pthread_create(&writer->thread, NULL, tl_writer_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return tl_fail(err, rc, "%.300s: cannot start the writer thread: %s", writer->file.path, strerror(-rc));
	pthread_setname_np(writer->thread, "tl-writer");
	writer->started = true;
	return 0;
}

int tl_writer_stop(struct tl_writer *writer, struct tl_err *err)
{
	atomic_store_explicit(&writer->stop, true, memory_order_release);
	if (writer->started)
		pthread_join(writer->thread, NULL);
	writer->started = false;

	int code = atomic_load_explicit(&writer->first_error, memory_order_acquire);
	return code == 0 ? 0 : tl_fail(err, code, "%s", writer->error.text);
}

void tl_writer_destroy(struct tl_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->started)
		tl_writer_stop(writer, NULL);
	if (writer->backend != NULL)
		writer->backend->fini(writer);
	if (writer->file.fd >= 0) // never started
		tl_writer_file_close(&writer->file);
	tl_writer_names_destroy(writer->names);
	free(writer->blocks);
	free(writer);
}

void tl_writer_stats(const struct tl_writer *writer, struct tl_writer_stats *out)
{
	const struct tl_writer_stats *stats = &writer->stats;

	for (int dir = 0; dir < TL_DIRS; dir++) {
		out->written_pkts[dir] = tl_count_read(&stats->written_pkts[dir]);
		out->drop_disk_pkts[dir] = tl_count_read(&stats->drop_disk_pkts[dir]);
	}
	out->written_bytes = tl_count_read(&stats->written_bytes);
	out->files = tl_count_read(&stats->files);
}

const char *const *tl_writer_files(const struct tl_writer *writer, uint32_t *n)
{
	return tl_writer_names_list(writer->names, n);
}

const char *tl_writer_error(const struct tl_writer *writer)
{
	return atomic_load_explicit(&writer->first_error, memory_order_acquire) == 0 ? NULL : writer->error.text;
}

bool tl_writer_pipe_closed(const struct tl_writer *writer)
{
	return atomic_load_explicit(&writer->pipe_closed, memory_order_acquire);
}
