// SPDX-License-Identifier: BSD-3-Clause
// Files that are read ahead: their memory, and requests for bytes of them.

#include "ahead_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HUGE_BYTES (2u << 20)

// ---- memory

static size_t circle_bytes(const struct tl_ahead *ahead)
{
	return (size_t)ahead->cfg.slabs * ahead->cfg.slab_bytes;
}

static size_t memory_bytes(const struct tl_ahead *ahead)
{
	return tl_align_up(ahead->cfg.files * (circle_bytes(ahead) + circle_bytes(ahead) / 2), HUGE_BYTES);
}

static void lay_out(struct tl_ahead *ahead)
{
	for (uint32_t i = 0; i < ahead->cfg.files; i++) {
		struct tl_ahead_file *file = &ahead->file[i];
		file->ahead = ahead;
		file->fd = -1;
		file->data = ahead->memory + i * (circle_bytes(ahead) + circle_bytes(ahead) / 2);
		for (uint32_t k = 0; k < ahead->cfg.slabs; k++)
			file->slab[k].file = file;
	}
}

// Begin the ring, which may only read.
static int make_ring(struct tl_ahead *ahead)
{
	static const uint8_t reads[] = {IORING_OP_READ};

	int rc = tl_uring_init(&ahead->uring, ahead->cfg.files * ahead->cfg.slabs);
	if (rc != 0)
		return rc;
	rc = tl_uring_enable(&ahead->uring, reads, TL_ARRAY_LEN(reads));
	if (rc != 0)
		io_uring_queue_exit(&ahead->uring);
	return rc;
}

int tl_ahead_create(const struct tl_ahead_cfg *cfg, struct tl_ahead **out)
{
	struct tl_ahead *ahead = calloc(1, sizeof(*ahead));

	if (ahead == NULL)
		return -ENOMEM;
	ahead->cfg = *cfg;
	ahead->memory = aligned_alloc(HUGE_BYTES, memory_bytes(ahead));
	int rc = ahead->memory != NULL ? make_ring(ahead) : -ENOMEM;
	if (rc != 0) {
		free(ahead->memory);
		free(ahead);
		return rc;
	}
	(void)madvise(ahead->memory, memory_bytes(ahead), MADV_HUGEPAGE);
	lay_out(ahead);
	*out = ahead;
	return 0;
}

void tl_ahead_destroy(struct tl_ahead *ahead)
{
	if (ahead == NULL)
		return;
	io_uring_queue_exit(&ahead->uring);
	free(ahead->memory);
	free(ahead);
}

void tl_ahead_sample(const struct tl_ahead *ahead, struct tl_ahead_stats *out)
{
	*out = (struct tl_ahead_stats){.direct_bytes = tl_count_read(&ahead->stats.direct_bytes),
		.cached_bytes = tl_count_read(&ahead->stats.cached_bytes),
		.waits = tl_count_read(&ahead->stats.waits)};
}

// ---- files

static void look_at_length(struct tl_ahead_file *file)
{
	struct stat status;

	if (fstat(file->fd, &status) == 0)
		file->file_bytes = (uint64_t)status.st_size;
}

struct tl_ahead_file *tl_ahead_open(struct tl_ahead *ahead, int fd)
{
	struct tl_ahead_file *file = ahead->file;

	while (file < &ahead->file[ahead->cfg.files] && file->fd >= 0)
		file++;
	if (file == &ahead->file[ahead->cfg.files])
		return NULL;
	file->fd = fd;
	file->head = file->tail = file->file_bytes = 0;
	look_at_length(file);
	ahead_choose(file);
	return file;
}

size_t tl_ahead_longest(const struct tl_ahead_file *file)
{
	return circle_bytes(file->ahead) / 2;
}

size_t tl_ahead_slab_bytes(const struct tl_ahead *ahead)
{
	return ahead->cfg.slab_bytes;
}

bool tl_ahead_is_direct(const struct tl_ahead_file *file)
{
	return file->way == AHEAD_DIRECT;
}

static void await(struct ahead_slab *slab)
{
	if (slab->flying)
		ahead_reap(slab->file->ahead, false);
	tl_count(&slab->file->ahead->stats.waits, slab->flying);
	while (slab->flying)
		ahead_reap(slab->file->ahead, true);
}

// Give up the slabs before this one; the kernel may still write into one that was skipped.
static void give_up(struct tl_ahead_file *file, uint64_t until)
{
	for (; file->head < until; file->head++)
		await(ahead_slab_of(file, file->head));
}

void tl_ahead_close(struct tl_ahead_file *file)
{
	give_up(file, file->tail);
	file->fd = -1;
}

// ---- requests

// Start to read slabs up to the last one needed, or, past the page cache, as many as there is room for.
static void read_on(struct tl_ahead_file *file, uint64_t last)
{
	const struct tl_ahead_cfg *cfg = &file->ahead->cfg;
	uint64_t until = file->way == AHEAD_DIRECT ? file->head + cfg->slabs : last + 1;

	for (; file->tail < until && file->tail * cfg->slab_bytes < file->file_bytes; file->tail++) {
		struct ahead_slab *slab = ahead_slab_of(file, file->tail);
		*slab = (struct ahead_slab){.file = file, .number = file->tail};
		ahead_start(slab);
	}
	ahead_reap(file->ahead, false);
}

// Read on where the file has ended and grown since.
static void read_growth(struct tl_ahead_file *file)
{
	uint32_t slab_bytes = file->ahead->cfg.slab_bytes;

	look_at_length(file);
	for (uint64_t i = file->head; i < file->tail; i++) {
		struct ahead_slab *slab = ahead_slab_of(file, i);
		await(slab);
		if (!slab->ended || i * slab_bytes + slab->bytes >= file->file_bytes)
			continue;
		slab->ended = false;
		slab->bytes -= slab->bytes % TL_AHEAD_ALIGN;
		ahead_start(slab);
	}
}

// Return the bytes from this offset to end that have been read, and the error after them.
static int measure(struct tl_ahead_file *file, uint64_t offset, uint64_t end, size_t *got)
{
	uint32_t slab_bytes = file->ahead->cfg.slab_bytes;
	uint64_t number = offset / slab_bytes, until = offset;
	int rc = 0;

	for (; number < file->tail && until < end; number++) {
		struct ahead_slab *slab = ahead_slab_of(file, number);
		await(slab);
		until = tl_max_u64(until, tl_min_u64(number * slab_bytes + slab->bytes, end));
		rc = slab->error;
		if (slab->bytes < slab_bytes)
			break;
	}
	*got = until - offset;
	return until < end ? rc : 0;
}

// Continue a request that crosses the end of the circle behind it.
static const uint8_t *join(struct tl_ahead_file *file, uint64_t offset, size_t bytes)
{
	size_t circle = circle_bytes(file->ahead), at = offset % circle;

	if (at + bytes > circle)
		memcpy(file->data + circle, file->data, at + bytes - circle);
	return file->data + at;
}

int tl_ahead_get(struct tl_ahead_file *file, uint64_t offset, size_t len, const uint8_t **out, size_t *got)
{
	uint64_t end = offset + len, first = offset / file->ahead->cfg.slab_bytes;

	if (first < file->head || first > file->tail) { // backward, or over slabs that are not being read
		give_up(file, file->tail);
		file->head = file->tail = first;
	}
	give_up(file, first);
	if (end > file->file_bytes)
		read_growth(file);
	read_on(file, (end - 1) / file->ahead->cfg.slab_bytes);
	int rc = measure(file, offset, end, got);
	*out = join(file, offset, *got);
	return rc;
}
