// SPDX-License-Identifier: BSD-3-Clause
// Output file: open, write at offsets, cut to the last whole block, close.

#include "writer_priv.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_log.h>
#include <tl_secret.h>

#define LOCK_WAIT_MS 1000 // at the start: the kernel releases the lock of a killed process when its writes are complete
#define LOCK_RETRY_MS 10
#define LEFT_OVER_BYTES (4u << 20) // unused space of a full file: less than a slab, and the closing blocks

struct tl_writer_file *tl_writer_file_new(struct tl_writer *writer)
{
	struct tl_writer_file *file = calloc(1, sizeof(*file));

	if (file == NULL)
		return NULL;
	file->fd = -1;
	file->written_pkts = calloc(writer->n_flows, sizeof(*file->written_pkts));
	file->asked_pkts = calloc(writer->n_flows, sizeof(*file->asked_pkts));
	file->cached_pkts = calloc(writer->n_flows, sizeof(*file->cached_pkts));
	int rc = file->written_pkts != NULL && file->asked_pkts != NULL && file->cached_pkts != NULL ? 0 : -ENOMEM;
	while (rc == 0 && file->id == 0)
		rc = tl_secret_fill(&file->id, sizeof(file->id));
	if (rc != 0) {
		tl_writer_file_free(file);
		return NULL;
	}
	file->label = writer->cfg.path;
	file->stop = &writer->stop;
	return file;
}

void tl_writer_file_free(struct tl_writer_file *file)
{
	free(file->at);
	free(file->name);
	free(file->written_pkts);
	free(file->asked_pkts);
	free(file->cached_pkts);
	tl_index_rows_free(&file->rows.rows);
	free(file);
}

// Open an existing file, also through a symbolic link; create a new one only if the name is unused, so that a dangling
// link is never followed.
static int open_fd(const char *path, struct tl_err *err)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
	int fd = strcmp(path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, flags);

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, flags | O_CREAT | O_EXCL, 0640);
		if (fd < 0 && errno == EEXIST)
			return tl_fail(err, -EEXIST,
				"%.300s: is a dangling symbolic link; remove it, or create its target", path);
	}
	if (fd < 0) {
		int code = -errno;
		return tl_fail(err, code, "%.300s: cannot open: %s; %s", path, strerror(-code), tl_writer_advice(code));
	}
	return fd;
}

static int prepare_stream(struct tl_writer_file *file, mode_t mode)
{
	file->stream = true;
	file->stored = S_ISREG(mode);
	// poll() guarantees space for this much in a pipe (pipe(7)) and in a socket; the other streams never block.
	file->chunk_bytes = S_ISFIFO(mode) || S_ISSOCK(mode) ? PIPE_BUF : INT_MAX;
	return 0;
}

// Lock the file as in use by this recording, for other recordings and their rings; closing the descriptor releases the
// lock. File systems without locks are ignored.
static int lock(int fd, int wait_ms)
{
	while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		if (wait_ms <= 0)
			return -EBUSY;
		(void)poll(NULL, 0, LOCK_RETRY_MS);
		wait_ms -= LOCK_RETRY_MS;
	}
	return 0;
}

static int prepare_regular(struct tl_writer_file *file, bool direct, bool empty, int wait_ms)
{
	if (lock(file->fd, wait_ms) != 0)
		return -EBUSY;
	if (empty && ftruncate(file->fd, 0) != 0)
		return -errno;
	int flags = fcntl(file->fd, F_GETFL);
	file->direct =
		direct && tl_is_direct(file->fd) && flags >= 0 && fcntl(file->fd, F_SETFL, flags | O_DIRECT) == 0;
	return 0;
}

int tl_writer_file_open(struct tl_writer_file *file, const char *path, bool direct, struct tl_err *err)
{
	struct stat status;

	if (strcmp(path, TL_WRITER_NULL) == 0) {
		file->label = path;
		file->stream = true;
		return 0;
	}
	bool to_stdout = strcmp(path, "-") == 0;
	file->label = to_stdout ? "standard output" : path;
	file->fd = open_fd(path, err);
	if (file->fd < 0)
		return file->fd;

	int rc = fstat(file->fd, &status) != 0 ? -errno : 0;
	file->nameless = rc == 0 && status.st_nlink == 0;
	if (rc == 0 && S_ISBLK(status.st_mode))
		rc = -ENOTBLK;
	else if (rc == 0 && S_ISREG(status.st_mode) && !to_stdout)
		rc = prepare_regular(file, direct, true, LOCK_WAIT_MS);
	else if (rc == 0)
		rc = prepare_stream(file, status.st_mode);
	if (rc == 0)
		return 0;

	close(file->fd);
	file->fd = -1;
	if (rc == -ENOTBLK)
		return tl_fail(err, -EINVAL, "%.300s: is a block device; name a file on it", path);
	return tl_fail(err, rc, "%.300s: cannot open: %s; %s", path, strerror(-rc), tl_writer_advice(rc));
}

int tl_writer_file_create(struct tl_writer_file *file, bool direct)
{
	bool named;
	int fd = tl_create_nameless(file->at, &named);

	if (fd < 0)
		return fd;
	file->fd = fd;
	file->nameless = !named;
	return prepare_regular(file, direct, true, 0);
}

int tl_writer_file_name(struct tl_writer_file *file)
{
	int rc = file->nameless ? tl_give_name(file->fd, file->at) : 0;

	file->nameless = rc != 0;
	return rc;
}

int tl_writer_file_adopt(struct tl_writer_file *file, int fd, bool direct)
{
	file->fd = fd;
	file->reused = true;
	return prepare_regular(file, direct, false, 0);
}

bool tl_writer_file_is_removed(const struct tl_writer_file *file)
{
	struct stat status;

	return !file->stream && !file->nameless && fstat(file->fd, &status) == 0 && status.st_nlink == 0;
}

void tl_writer_file_allocate(struct tl_writer_file *file, uint64_t bytes)
{
	struct stat status;

	if (bytes <= file->end_bytes || file->stream)
		return;
	// Do not allocate and cut off the unused space each time: a reused file becomes about as full as before.
	if (file->reused && fstat(file->fd, &status) == 0 && (uint64_t)status.st_size + LEFT_OVER_BYTES >= bytes)
		return;
	if (fallocate(file->fd, 0, 0, (off_t)bytes) != 0 && !file->reused)
		(void)tl_writer_file_cut(file); // the part that fitted
}

static int go_buffered(struct tl_writer_file *file)
{
	int flags = fcntl(file->fd, F_GETFL);

	if (flags < 0 || fcntl(file->fd, F_SETFL, flags & ~O_DIRECT) != 0)
		return -errno;
	file->direct = false;
	return 0;
}

int tl_writer_file_write(struct tl_writer_file *file, const void *data, uint32_t len_bytes, uint64_t offset_bytes)
{
	uint32_t done = 0;

	if (file->stream)
		return tl_writer_stream_write(file, data, len_bytes);
	while (done < len_bytes) {
		ssize_t n =
			pwrite(file->fd, (const uint8_t *)data + done, len_bytes - done, (off_t)(offset_bytes + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && file->direct) {
			int rc = go_buffered(file);
			if (rc != 0)
				return rc;
			continue;
		}
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		// Resume at the end of the short write, aligned for O_DIRECT or not: the next call returns the error.
		done += (uint32_t)n;
	}
	return 0;
}

int tl_writer_file_cut(struct tl_writer_file *file)
{
	struct stat status;

	file->next_bytes = file->end_bytes;
	if (file->stream || (fstat(file->fd, &status) == 0 && (uint64_t)status.st_size <= file->end_bytes))
		return 0;
	return ftruncate(file->fd, (off_t)file->end_bytes) == 0 ? 0 : -errno;
}

// Where files are not written directly, data may go to a journal first: the first call returns with the journal's copy
// on the disk, the second one writes the data to its place, which can fail (ext4 with data=journal).
int tl_writer_file_force(int fd, int (*sync)(int fd))
{
	int rc = sync(fd);

	if (rc == 0 && !tl_is_direct(fd))
		rc = sync(fd);
	return rc == 0 ? 0 : -errno;
}

int tl_writer_file_close(struct tl_writer_file *file)
{
	int rc = file->fd >= 0 && close(file->fd) != 0 ? -errno : 0;

	file->fd = -1;
	return rc;
}

void tl_writer_file_discard(struct tl_writer *writer, struct tl_writer_file *file)
{
	atomic_fetch_sub_explicit(&writer->blocks_bytes, file->end_bytes, memory_order_relaxed);
	if (file->fd >= 0) {
		if (!file->nameless && !tl_writer_file_is_removed(file) && unlink(file->at) != 0)
			tl_warn("%.300s: nothing is recorded in it, and it cannot be removed: %s", file->at,
				strerror(errno));
		tl_writer_file_close(file);
	}
	tl_writer_file_free(file);
}
