// SPDX-License-Identifier: BSD-3-Clause
// Validation of units of a compressed recording (tl_zslab.h), and of their content.

#include "recover_priv.h"

#include <stdlib.h>

#include <tl_zslab.h>

#define LEVEL 3 // zstd's default

static int open_packed(struct scan *scan)
{
	scan->form = &recover_packed_form;
	scan->unpacker = tl_zslab_unpacker_create();
	scan->content = malloc(CONTENT_BYTES_MAX);
	return scan->unpacker != NULL && scan->content != NULL ? 0 : -ENOMEM;
}

void recover_close_packed(struct scan *scan)
{
	tl_zslab_unpacker_destroy(scan->unpacker);
	free(scan->content);
}

// Decompress the unit at the offset into scan->content. Return its bytes; 0: no whole unit.
static int64_t unpack(struct scan *scan, uint64_t offset, uint32_t room, struct tl_zslab_unit *out)
{
	uint32_t len;
	int rc = 0;

	const uint8_t *p = recover_view(scan, offset, room, &len, &rc);
	if (p == NULL)
		return rc;
	if (tl_zslab_look(p, len, out) != 0 || out->unit_bytes % TL_PCAPNG_ALIGN != 0 ||
		out->unit_bytes > scan->io->size_bytes - offset ||
		(!out->slab && out->content_bytes > BLOCKS_BYTES_MAX))
		return 0;
	if (out->content_bytes != 0 && tl_zslab_unpack(scan->unpacker, p, out, scan->content, CONTENT_BYTES_MAX) < 0)
		return 0;
	return out->unit_bytes;
}

bool recover_has_packed_slab(const uint8_t *head, uint32_t len)
{
	struct tl_zslab_unit unit;

	return len > TL_PCAPNG_ALIGN && tl_zslab_get_head(head + TL_PCAPNG_ALIGN, len - TL_PCAPNG_ALIGN, &unit) == 0;
}

static int64_t take_slab(struct scan *scan, uint64_t offset, bool in_doubt)
{
	struct tl_zslab_unit unit;
	uint32_t len;
	int rc = 0;

	if (offset % TL_PCAPNG_ALIGN != 0)
		return 0;
	const uint8_t *p = recover_view(scan, offset, TL_ZSLAB_HEAD_BYTES, &len, &rc);
	if (p == NULL)
		return rc;
	if (tl_zslab_get_head(p, len, &unit) != 0 || (in_doubt && recover_is_doubtful(scan, &unit.head)) ||
		recover_is_repeated(scan, &unit.head))
		return 0;
	uint32_t claimed = unit.unit_bytes;
	bool possible = claimed <= tl_zslab_bound(CONTENT_BYTES_MAX);
	int64_t bytes = possible ? unpack(scan, offset, claimed, &unit) : 0;
	if (bytes > 0)
		rc = recover_take_content(
			scan, scan->content, unit.content_bytes, &unit.head, offset + unit.unit_bytes);
	if (bytes < 0 || rc != 0)
		return bytes < 0 ? bytes : rc < 0 ? rc : bytes;
	recover_count_torn(scan, offset, possible ? claimed : 0, possible ? CONTENT_BYTES_MAX : 0);
	return 0;
}

static int64_t take_block(struct scan *scan, uint64_t offset)
{
	struct tl_zslab_unit unit;
	uint32_t total;

	int64_t bytes = offset % TL_PCAPNG_ALIGN == 0 ? unpack(scan, offset, BLOCKS_BYTES_MAX, &unit) : 0;
	if (bytes <= 0 || unit.slab)
		return bytes < 0 ? bytes : 0;
	for (uint32_t at = 0; at < unit.content_bytes; at += total) {
		const uint8_t *block = scan->content + at;
		total = tl_pcapng_block_bytes(block, unit.content_bytes - at);
		if (total == 0 || !recover_take_by_type(scan, block, total, offset))
			return 0;
	}
	return bytes;
}

static int64_t see_statistics(struct scan *scan, uint64_t offset)
{
	struct tl_zslab_unit unit;
	uint32_t total;

	int64_t bytes = unpack(scan, offset, BLOCKS_BYTES_MAX, &unit);
	if (bytes <= 0 || unit.slab || unit.content_bytes == 0)
		return bytes < 0 ? bytes : 0;
	for (uint32_t at = 0; at < unit.content_bytes; at += total) {
		total = tl_pcapng_block_bytes(scan->content + at, unit.content_bytes - at);
		if (total == 0 || !recover_is_statistics(scan, scan->content + at, total))
			return 0;
	}
	return bytes;
}

const struct form recover_packed_form = {
	.take_slab = take_slab,
	.take_block = take_block,
	.see_statistics = see_statistics,
	.packed = true,
};

int recover_check_packed(struct scan *scan)
{
	const char *application;
	struct tl_zslab_unit unit;
	uint32_t len;

	int rc = open_packed(scan);
	int64_t bytes = rc == 0 ? unpack(scan, 0, BLOCKS_BYTES_MAX, &unit) : rc;
	if (bytes < 0)
		return (int)bytes;
	scan->owned = bytes > 0 && !unit.slab &&
		      tl_pcapng_get_application(scan->content, unit.content_bytes, &application, &len) == 0 &&
		      recover_is_application(application, len);
	if (scan->owned)
		return 0;
	const uint8_t *head = recover_view(scan, 0, 2 * TL_PCAPNG_ALIGN, &len, &rc);
	if (head == NULL || (bytes == 0 && recover_has_packed_slab(head, len)))
		return rc;
	return tl_fail(scan->err, -EMEDIUMTYPE, "was compressed by another program than tapline: " NOT_OURS);
}

int64_t recover_pack(const uint8_t *blocks, uint32_t len, uint8_t *out, uint32_t size)
{
	struct tl_zslab_packer *packer = tl_zslab_packer_create(LEVEL);

	if (packer == NULL)
		return -ENOMEM;
	int64_t bytes = tl_zslab_pack_blocks(packer, blocks, len, out, size);
	tl_zslab_packer_destroy(packer);
	return bytes;
}
