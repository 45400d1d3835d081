// SPDX-License-Identifier: BSD-3-Clause
// Compression of slabs and blocks into units.

#include "zslab_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

struct tl_zslab_packer {
	ZSTD_CCtx *zstd;
};

struct tl_zslab_packer *tl_zslab_packer_create(int level)
{
	struct tl_zslab_packer *packer = calloc(1, sizeof(*packer));

	if (packer == NULL)
		return NULL;
	packer->zstd = ZSTD_createCCtx();
	if (packer->zstd == NULL ||
		ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, level)) ||
		ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1))) {
		tl_zslab_packer_destroy(packer);
		return NULL;
	}
	return packer;
}

void tl_zslab_packer_destroy(struct tl_zslab_packer *packer)
{
	if (packer == NULL)
		return;
	ZSTD_freeCCtx(packer->zstd);
	free(packer);
}

// Size of the padding frame: a gap too small for a frame grows by a page.
static uint32_t pad_bytes(uint32_t used_bytes)
{
	uint32_t gap = -used_bytes & (TL_PCAPNG_ALIGN - 1);

	return gap != 0 && gap < ZSLAB_SKIP_BYTES ? gap + TL_PCAPNG_ALIGN : gap;
}

uint32_t tl_zslab_bound(uint32_t content_bytes)
{
	size_t used = TL_ZSLAB_HEAD_BYTES + ZSTD_compressBound(content_bytes) + ZSLAB_SKIP_BYTES - 1;

	return (uint32_t)tl_align_up(used, TL_PCAPNG_ALIGN);
}

static uint32_t put_padding(uint8_t *out, uint32_t used_bytes)
{
	uint32_t len = pad_bytes(used_bytes);

	if (len == 0)
		return 0;
	memset(out + used_bytes, 0, len);
	tl_zslab_put_pad(out + used_bytes, len);
	return len;
}

void tl_zslab_put_pad(void *out, uint32_t unit_bytes)
{
	uint32_t head[2] = {ZSLAB_MAGIC_PAD, unit_bytes - ZSLAB_SKIP_BYTES};

	memcpy(out, head, sizeof(head));
}

// Write the zstd frame at out + at, then padding. Return the bytes of the unit and set *out_frame_bytes, or -ENOBUFS.
static int64_t compress(struct tl_zslab_packer *packer, const void *content, uint32_t bytes, uint8_t *out, uint32_t at,
	uint32_t size, uint32_t *out_frame_bytes)
{
	if (size < at)
		return -ENOBUFS;
	size_t frame = ZSTD_compress2(packer->zstd, out + at, size - at, content, bytes);
	if (ZSTD_isError(frame))
		return -ENOBUFS;
	uint32_t used = at + (uint32_t)frame;
	if ((uint64_t)used + pad_bytes(used) > size)
		return -ENOBUFS;
	*out_frame_bytes = (uint32_t)frame;
	return used + put_padding(out, used);
}

int64_t tl_zslab_pack_blocks(
	struct tl_zslab_packer *packer, const void *blocks, uint32_t bytes, void *out, uint32_t size)
{
	uint32_t frame_bytes;

	return compress(packer, blocks, bytes, out, 0, size, &frame_bytes);
}

int64_t tl_zslab_pack(struct tl_zslab_packer *packer, const void *slab, uint32_t sealed_bytes, void *out, uint32_t size)
{
	struct zslab_head head = {.magic = ZSLAB_MAGIC_HEAD, .content_bytes = sizeof(head) - ZSLAB_SKIP_BYTES};
	struct tl_pcapng_head known;

	if (tl_pcapng_get_head(slab, sealed_bytes, &known) != 0)
		return -EINVAL;
	int64_t bytes = compress(packer, slab, sealed_bytes, out, sizeof(head), size, &head.frame_bytes);
	if (bytes < 0)
		return bytes;
	head.unit_bytes = (uint32_t)bytes;
	memcpy(head.head, slab, sizeof(head.head));
	memcpy(out, &head, sizeof(head));
	return bytes;
}
