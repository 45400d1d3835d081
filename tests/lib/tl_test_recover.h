// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A recording in memory, and a recovery of it that can be killed after any number of steps.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_recover.h>

#define IMAGE_ROOM (1u << 17) // room for data appended by a recovery

struct image {
	uint8_t *bytes;
	uint64_t size, room;
	uint32_t steps;	 // writes and truncations so far
	uint32_t synced; // number of steps at the last sync
	uint32_t syncs;
	uint64_t read_bytes;
	uint32_t killed; // step of the kill, from 1; 0: none
	bool tears;	 // the step of the kill is done by half
};

static inline void image_init(struct image *image, const void *bytes, uint64_t size)
{
	*image = (struct image){.size = size, .room = size + IMAGE_ROOM};
	image->bytes = calloc(1, image->room);
	if (image->bytes == NULL)
		abort();
	if (size != 0)
		memcpy(image->bytes, bytes, size);
}

static inline int image_read(void *ctx, void *buf, uint32_t len, uint64_t offset)
{
	struct image *image = ctx;

	if (offset > image->size || len > image->size - offset)
		abort();
	image->read_bytes += len;
	memcpy(buf, image->bytes + offset, len);
	return 0;
}

static inline int image_write(void *ctx, const void *buf, uint32_t len, uint64_t offset)
{
	struct image *image = ctx;
	bool dies = image->killed != 0 && image->steps == image->killed - 1;

	if (offset + len > image->room)
		abort();
	uint32_t done = !dies ? len : image->tears ? len / 2 : 0;
	memcpy(image->bytes + offset, buf, done);
	if (done != 0 && offset + done > image->size)
		image->size = offset + done;
	image->steps++;
	return dies ? -EIO : 0;
}

static inline int image_cut(void *ctx, uint64_t size)
{
	struct image *image = ctx;

	if (image->killed != 0 && image->steps == image->killed - 1)
		return -EIO;
	if (size < image->size)
		memset(image->bytes + size, 0, image->size - size);
	image->size = size;
	image->steps++;
	return 0;
}

static inline int image_sync(void *ctx)
{
	struct image *image = ctx;

	image->synced = image->steps;
	image->syncs++;
	return 0;
}

static inline int image_recover_with(
	struct image *image, const struct tl_recover_opts *opts, struct tl_recover_report *report, struct tl_err *err)
{
	struct tl_recover_io io = {.ctx = image,
		.size_bytes = image->size,
		.read = image_read,
		.write = image_write,
		.cut = image_cut,
		.sync = image_sync};

	image->steps = image->synced = image->syncs = 0;
	image->read_bytes = 0;
	return tl_recover(&io, opts, report, err);
}

static inline int image_recover(struct image *image, struct tl_recover_report *report, struct tl_err *err)
{
	return image_recover_with(image, &(struct tl_recover_opts){0}, report, err);
}

static inline bool image_same(const struct image *a, const struct image *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}
