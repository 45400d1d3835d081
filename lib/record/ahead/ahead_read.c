// SPDX-License-Identifier: BSD-3-Clause
// Reads of slabs: a short one is continued, one that was put off is repeated, and one that is not in the page cache, or
// whose O_DIRECT the file system refuses, is repeated in another way.

#include "ahead_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#define TRIES 1000u // of a read that the kernel puts off

// Return the offset in the file behind the bytes read.
static uint64_t end_of(const struct ahead_slab *slab)
{
	return slab->number * slab->file->ahead->cfg.slab_bytes + slab->bytes;
}

// The kernel reads ahead for AHEAD_CACHED only: otherwise a probe fills the page cache that the next one looks into,
// and a file of which nothing was there is read through it.
void ahead_begin(struct tl_ahead_file *file, enum ahead_way way)
{
	file->way = way;
	(void)posix_fadvise(file->fd, 0, 0, way == AHEAD_CACHED ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM);
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
	if (file->way == AHEAD_PROBE)
		sqe->rw_flags = RWF_NOWAIT;
	io_uring_sqe_set_data(sqe, slab);
	slab->way = file->way;
	slab->flying = true;
}

// Read past the page cache from now on, or only through it.
static void leave(struct tl_ahead_file *file, enum ahead_way way)
{
	int direct = way == AHEAD_PROBE ? O_DIRECT : 0;

	if (file->way != way) // another slab's result has changed it
		return;
	int flags = fcntl(file->fd, F_GETFL);
	bool done = flags >= 0 && fcntl(file->fd, F_SETFL, (flags & ~O_DIRECT) | direct) == 0;
	ahead_begin(file, direct != 0 && done ? AHEAD_DIRECT : AHEAD_CACHED);
}

// True if the read is to be repeated after this error.
static bool is_repeated(struct ahead_slab *slab, int error)
{
	if (slab->way == AHEAD_PROBE || (slab->way == AHEAD_DIRECT && error == -EINVAL)) {
		leave(slab->file, slab->way);
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
