// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the reader of compressed slabs: a unit lies within the bytes, and its content within its buffer.

#include <stdlib.h>

#include <tl_zslab.h>

#define ROOM_BYTES (256u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void unpack(struct tl_zslab_unpacker *unpacker, const uint8_t *at, const struct tl_zslab_unit *unit)
{
	uint32_t room = unit->content_bytes < ROOM_BYTES ? unit->content_bytes : ROOM_BYTES;
	uint8_t *out = malloc(room != 0 ? room : 1);

	require(out != NULL);
	int64_t bytes = tl_zslab_unpack(unpacker, at, unit, out, room);
	require(bytes < 0 || bytes == unit->content_bytes);
	if (bytes > 0 && unit->slab)
		require(unit->head.used_bytes <= bytes);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_zslab_unpacker *unpacker = tl_zslab_unpacker_create();
	struct tl_zslab_unit unit;
	size_t at = 0;

	require(unpacker != NULL);
	(void)tl_zslab_get_head(data, size, &unit);
	while (at < size && tl_zslab_look(data + at, size - at, &unit) == 0) {
		bool nothing = unit.frame_bytes == 0;
		require(unit.unit_bytes > 0 && (unit.unit_bytes <= size - at || nothing));
		require(unit.frame_at <= unit.unit_bytes && unit.frame_bytes <= unit.unit_bytes - unit.frame_at);
		unpack(unpacker, data + at, &unit);
		at += unit.unit_bytes;
	}
	tl_zslab_unpacker_destroy(unpacker);
	return 0;
}
