// SPDX-License-Identifier: BSD-3-Clause
// Search for units in arbitrary bytes, and decompression.

#include "zslab_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

// Limits far above any slab: larger values are not ours.
#define CONTENT_BYTES_MAX (64u << 20)
#define UNIT_BYTES_MAX (128u << 20)

struct tl_zslab_unpacker {
	ZSTD_DCtx *zstd;
};

struct tl_zslab_unpacker *tl_zslab_unpacker_create(void)
{
	struct tl_zslab_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (unpacker == NULL)
		return NULL;
	unpacker->zstd = ZSTD_createDCtx();
	if (unpacker->zstd == NULL) {
		free(unpacker);
		return NULL;
	}
	return unpacker;
}

void tl_zslab_unpacker_destroy(struct tl_zslab_unpacker *unpacker)
{
	if (unpacker == NULL)
		return;
	ZSTD_freeDCtx(unpacker->zstd);
	free(unpacker);
}

int tl_zslab_get_head(const void *buf, uint64_t size, struct tl_zslab_unit *out)
{
	struct zslab_head head;

	if (size < sizeof(head))
		return -EINVAL;
	memcpy(&head, buf, sizeof(head));
	if (head.magic != ZSLAB_MAGIC_HEAD || head.content_bytes != sizeof(head) - ZSLAB_SKIP_BYTES ||
		head.unit_bytes % TL_PCAPNG_ALIGN != 0 || head.unit_bytes < sizeof(head) ||
		head.unit_bytes > UNIT_BYTES_MAX || head.frame_bytes > head.unit_bytes - sizeof(head) ||
		tl_pcapng_get_head(head.head, sizeof(head.head), &out->head) != 0)
		return -EINVAL;
	out->slab = true;
	out->frame_at = sizeof(head);
	out->frame_bytes = head.frame_bytes;
	out->unit_bytes = head.unit_bytes;
	return 0;
}

// Bytes of our padding at the start of buf, as far as they are there; 0: none.
static uint32_t padding_at(const uint8_t *buf, uint64_t size)
{
	uint32_t head[2];

	if (size < sizeof(head))
		return 0;
	memcpy(head, buf, sizeof(head));
	if (head[0] != ZSLAB_MAGIC_PAD || head[1] >= 2 * TL_PCAPNG_ALIGN)
		return 0;
	return (uint32_t)tl_min_u64(ZSLAB_SKIP_BYTES + (uint64_t)head[1], size);
}

// True for an empty unit: padding of whole pages.
static bool is_empty_unit(const uint8_t *buf, uint64_t size, struct tl_zslab_unit *out)
{
	uint32_t head[2];

	if (size < sizeof(head))
		return false;
	memcpy(head, buf, sizeof(head));
	uint64_t bytes = ZSLAB_SKIP_BYTES + (uint64_t)head[1];
	if (head[0] != ZSLAB_MAGIC_PAD || bytes % TL_PCAPNG_ALIGN != 0 || bytes > UNIT_BYTES_MAX)
		return false;
	out->unit_bytes = (uint32_t)bytes;
	return true;
}

static int parse_frame(const uint8_t *frame, uint64_t size, struct tl_zslab_unit *out)
{
	uint32_t magic;

	if (size < sizeof(magic))
		return -EINVAL;
	memcpy(&magic, frame, sizeof(magic));
	unsigned long long content = ZSTD_getFrameContentSize(frame, size);
	if (magic != ZSTD_MAGICNUMBER || content > CONTENT_BYTES_MAX) // the values for unknown and error are larger
		return -EINVAL;
	size_t bytes = ZSTD_findFrameCompressedSize(frame, size);
	if (ZSTD_isError(bytes) || bytes > UNIT_BYTES_MAX)
		return -EINVAL;
	out->frame_bytes = (uint32_t)bytes;
	out->content_bytes = (uint32_t)content;
	return 0;
}

int tl_zslab_look(const void *buf, uint64_t size, struct tl_zslab_unit *out)
{
	const uint8_t *bytes = buf;
	struct tl_zslab_unit head;

	*out = (struct tl_zslab_unit){0};
	if (is_empty_unit(buf, size, out))
		return 0;
	if (tl_zslab_get_head(buf, size, &head) == 0)
		*out = head;
	int rc = parse_frame(bytes + out->frame_at, size - out->frame_at, out);
	if (rc != 0)
		return rc;
	uint32_t used = out->frame_at + out->frame_bytes;
	uint32_t unit_bytes = used + padding_at(bytes + used, size - used);
	if (out->slab && (out->frame_bytes != head.frame_bytes || unit_bytes > head.unit_bytes))
		return -EINVAL;
	out->unit_bytes = unit_bytes;
	return 0;
}

int64_t tl_zslab_unpack(
	struct tl_zslab_unpacker *unpacker, const void *buf, const struct tl_zslab_unit *unit, void *out, uint32_t size)
{
	if (unit->content_bytes > size)
		return -ENOBUFS;
	const uint8_t *bytes = buf;
	size_t content = ZSTD_decompressDCtx(unpacker->zstd, out, size, bytes + unit->frame_at, unit->frame_bytes);
	if (ZSTD_isError(content) || content != unit->content_bytes)
		return -EBADMSG;
	if (unit->slab &&
		(content < unit->head.used_bytes || memcmp(out, bytes + ZSLAB_SKIP_BYTES, TL_PCAPNG_HEAD_BYTES) != 0))
		return -EBADMSG;
	return (int64_t)content;
}
