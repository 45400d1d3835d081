// SPDX-License-Identifier: BSD-3-Clause
// Ways to read a file, and reads of slabs: a short one is continued, one that was put off is repeated, and one whose
// O_DIRECT the file system refuses is repeated through the page cache.

#include "ahead_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#define TRIES 1000u // of a read that the kernel puts off
#define LOOKS 64u   // into the page cache

// Check whether the page cache has pages from all parts of a file, the first and the last one included. Read one byte
// of each: a read that must not wait starts reading what is missing. The advice keeps the kernel from reading more.
static bool is_cached(const struct tl_ahead_file *file)
{
	char byte;
	const struct iovec to = {.iov_base = &byte, .iov_len = 1};

	(void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < LOOKS; i++)
		if (preadv2(file->fd, &to, 1, (off_t)(i * (file->file_bytes - 1) / (LOOKS - 1)), RWF_NOWAIT) != 1)
			return false;
	return true;
}

static bool set_direct(const struct tl_ahead_file *file, int direct)
{
	int flags = fcntl(file->fd, F_GETFL);

	return flags >= 0 && fcntl(file->fd, F_SETFL, (flags & ~O_DIRECT) | direct) == 0;
}

static void read_cached(struct tl_ahead_file *file)
{
	file->way = AHEAD_CACHED;
	(void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void ahead_choose(struct tl_ahead_file *file)
{
	if (file->file_bytes > file->ahead->cfg.direct_bytes && !is_cached(file) && set_direct(file, O_DIRECT))
		file->way = AHEAD_DIRECT;
	else
		read_cached(file);
}

// Return the offset in the file behind the bytes read.
static uint64_t end_of(const struct ahead_slab *slab)
{
	return slab->number * slab->file->ahead->cfg.slab_bytes + slab->bytes;
}

void ahead_start(struct ahead_slab *slab)
{
	struct tl_ahead_file *file = slab->file;
	const struct tl_ahead_cfg *cfg = &file->ahead->cfg;
	// Never NULL: the submission queue has an entry for every slab.
	struct io_uring_sqe *sqe = io_uring_get_sqe(&file->ahead->uring);
	uint64_t place = slab->number % cfg->slabs * cfg->slab_bytes;

	io_uring_prep_read(
		sqe, file->fd, file->data + place + slab->bytes, cfg->slab_bytes - slab->bytes, end_of(slab));
	io_uring_sqe_set_data(sqe, slab);
	slab->way = file->way;
	slab->flying = true;
}

// True if the read is to be repeated after this error.
static bool is_repeated(struct ahead_slab *slab, int error)
{
	if (slab->way == AHEAD_DIRECT && error == -EINVAL) {
		(void)set_direct(slab->file, 0);
		read_cached(slab->file);
		return true;
	}
	return (error == -EAGAIN || error == -EINTR) && ++slab->tries < TRIES;
}

static void count(struct ahead_slab *slab, uint32_t bytes)
{
	struct tl_ahead_stats *stats = &slab->file->ahead->stats;

	tl_count(slab->way == AHEAD_DIRECT ? &stats->direct_bytes : &stats->cached_bytes, bytes);
}

static void note_result(void *ctx, void *data, int32_t result)
{
	struct ahead_slab *slab = data;

	slab->flying = false;
	if (result < 0) {
		if (is_repeated(slab, result))
			ahead_start(slab);
		else
			slab->error = result;
		return;
	}
	count(slab, (uint32_t)result);
	slab->tries = 0;
	slab->bytes += (uint32_t)result;
	if (slab->bytes == slab->file->ahead->cfg.slab_bytes)
		return;
	slab->ended = result == 0 || end_of(slab) >= slab->file->file_bytes;
	if (!slab->ended)
		ahead_start(slab);
}

void ahead_reap(struct tl_ahead *ahead, bool wait)
{
	tl_uring_reap(&ahead->uring, wait, note_result, NULL);
}
