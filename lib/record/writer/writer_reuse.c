// SPDX-License-Identifier: BSD-3-Clause
// Reuse of the oldest file of a full ring, in place. Its space is allocated and has been written before, so the file
// system has no work left that would delay writes.

#include "writer_priv.h"

#include <fcntl.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_index.h>

// True if only its content distinguishes the file from a new one: location, permissions, and approximate size are the
// same.
static bool is_alike(const struct tl_writer *writer, const struct stat *status)
{
	const struct stat *created = &writer->created;
	uint64_t bytes = (uint64_t)status->st_size, allocation = tl_writer_ring_allocation(writer);

	return status->st_dev == created->st_dev && status->st_uid == created->st_uid &&
	       status->st_gid == created->st_gid && status->st_mode == created->st_mode && bytes <= allocation &&
	       bytes > allocation / 2;
}

static bool may_write(int fd)
{
	return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

// Open the oldest file if it is ours and unused by others; else return -1, and it is removed like any other.
static int open_oldest(const struct tl_writer *writer, struct stat *status)
{
	const struct tl_writer_entry *oldest = tl_writer_ring_oldest(&writer->ring);
	int fd = oldest != NULL && !oldest->left ? tl_writer_open_ours(oldest->path, status) : -1;

	if (fd < 0 || (is_alike(writer, status) && tl_writer_is_unshared(fd, status) && may_write(fd)))
		return fd;
	close(fd);
	return -1;
}

static int move(const struct tl_writer *writer, const char *to)
{
	const char *from = tl_writer_ring_oldest(&writer->ring)->path;

	(void)tl_index_remove(from);
	return tl_rename_new(from, to);
}

// Unlink the old name before anything is written, also on disk if files are synced.
static bool has_lost_its_name(const struct tl_writer *writer)
{
	return writer->cfg.policy.sync != TL_WRITER_SYNC_CLOSE || tl_writer_sync_directory(&writer->pattern) == 0;
}

bool tl_writer_may_reuse(const struct tl_writer *writer)
{
	const struct tl_writer_policy *policy = &writer->cfg.policy;
	bool limited = policy->keep_files != 0 || policy->keep_bytes != 0 || policy->min_free_bytes != 0 ||
		       policy->on_full == TL_WRITER_FULL_RECYCLE;

	// Only a HEAD identifies blocks of the file, and before an episode the file has no opening blocks.
	return limited && !writer->cfg.opaque && !tl_writer_holds(writer) && tl_writer_ring_allocation(writer) != 0;
}

bool tl_writer_reuse(struct tl_writer *writer, struct tl_writer_file *file)
{
	bool direct = !atomic_load_explicit(&writer->direct_refused, memory_order_relaxed);
	struct stat status;

	if (!tl_writer_may_reuse(writer) || !tl_writer_ring_is_full(writer))
		return false;
	int fd = open_oldest(writer, &status);
	if (fd < 0)
		return false;
	if (move(writer, file->at) != 0) {
		close(fd);
		return false;
	}
	uint64_t bytes = (uint64_t)status.st_size;
	// Another process may have opened it, or linked another name, before the known name was unlinked.
	if (has_lost_its_name(writer) && fstat(fd, &status) == 0 && tl_writer_is_unshared(fd, &status) &&
		tl_writer_file_adopt(file, fd, direct) == 0) {
		tl_writer_ring_gave_up(writer, bytes);
		return true;
	}
	tl_rename_new(file->at, tl_writer_ring_oldest(&writer->ring)->path);
	close(fd);
	file->fd = -1;
	file->reused = false;
	return false;
}
