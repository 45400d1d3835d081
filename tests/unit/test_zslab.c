// SPDX-License-Identifier: BSD-3-Clause
// Compressed slabs: round trips for any content, size bounds, and detection of damage.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_zslab.h>

#include "tl_test.h"

#define SLAB_BYTES (64u << 10)
#define LEVEL 1

static const uint32_t zstd_magic = 0xFD2FB528;

// Fill with incompressible content.
static void fill_at_random(uint8_t *at, uint32_t bytes, uint64_t seed)
{
	for (uint32_t i = 0; i < bytes; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		at[i] = (uint8_t)(seed >> 56);
	}
}

// Make a sealed slab of used_bytes; return its bytes with the PAD.
static uint32_t make_slab(uint8_t *slab, uint32_t used_bytes, uint64_t seed)
{
	uint32_t pad = tl_pcapng_pad_bytes(used_bytes, TL_PCAPNG_ALIGN);

	if (seed != 0)
		fill_at_random(slab, used_bytes, seed);
	else
		memset(slab, 'a', used_bytes);
	tl_pcapng_put_head(
		slab, &(struct tl_pcapng_head){
			      .run_id = 7, .sequence = 9, .ring = 2, .records = 3, .used_bytes = used_bytes});
	if (pad != 0)
		tl_pcapng_put_pad(slab + used_bytes, pad);
	return used_bytes + pad;
}

struct bench {
	struct tl_zslab_packer *packer;
	struct tl_zslab_unpacker *unpacker;
	uint32_t bound;
	uint8_t *slab, *unit, *back;
};

static struct bench set_up(void)
{
	struct bench b = {.packer = tl_zslab_packer_create(LEVEL),
		.unpacker = tl_zslab_unpacker_create(),
		.bound = tl_zslab_bound(SLAB_BYTES),
		.slab = malloc(SLAB_BYTES),
		.back = malloc(SLAB_BYTES)};

	b.unit = malloc(b.bound);
	CU_ASSERT_TRUE_FATAL(
		b.packer != NULL && b.unpacker != NULL && b.slab != NULL && b.unit != NULL && b.back != NULL);
	memset(b.unit, 0xee, b.bound);
	return b;
}

static void tear_down(struct bench *b)
{
	tl_zslab_packer_destroy(b->packer);
	tl_zslab_unpacker_destroy(b->unpacker);
	free(b->slab);
	free(b->unit);
	free(b->back);
}

static void check_round_trip(struct bench *b, uint32_t used_bytes, uint64_t seed)
{
	struct tl_zslab_unit unit, head;
	uint32_t sealed = make_slab(b->slab, used_bytes, seed);

	int64_t bytes = tl_zslab_pack(b->packer, b->slab, sealed, b->unit, b->bound);
	CU_ASSERT_TRUE_FATAL(bytes > 0);
	CU_ASSERT_EQUAL(bytes % TL_PCAPNG_ALIGN, 0);
	CU_ASSERT_TRUE(bytes <= tl_zslab_bound(sealed));
	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b->unit, (uint64_t)bytes, &unit), 0);
	CU_ASSERT_TRUE(unit.slab);
	CU_ASSERT_EQUAL(unit.unit_bytes, bytes);
	CU_ASSERT_EQUAL(unit.head.sequence, 9);
	CU_ASSERT_EQUAL(unit.head.used_bytes, used_bytes);
	CU_ASSERT_EQUAL_FATAL(tl_zslab_get_head(b->unit, TL_ZSLAB_HEAD_BYTES, &head), 0);
	CU_ASSERT_EQUAL(head.unit_bytes, bytes);
	CU_ASSERT_EQUAL(head.frame_bytes, unit.frame_bytes);
	CU_ASSERT_EQUAL(tl_zslab_unpack(b->unpacker, b->unit, &unit, b->back, SLAB_BYTES), sealed);
	CU_ASSERT_EQUAL(memcmp(b->back, b->slab, sealed), 0);
}

TL_TEST("slabs are restored unchanged")
{
	struct bench b = set_up();

	for (uint32_t used = TL_PCAPNG_HEAD_BYTES; used < 2 * TL_PCAPNG_ALIGN; used += 44)
		check_round_trip(&b, used, 0);
	check_round_trip(&b, SLAB_BYTES, 0);
	tear_down(&b);
}

TL_TEST("incompressible content fits its unit")
{
	struct bench b = set_up();

	for (uint64_t seed = 1; seed < 20; seed++)
		check_round_trip(&b, (uint32_t)(SLAB_BYTES - 4 * TL_PCAPNG_ALIGN + 852 * seed), seed);
	check_round_trip(&b, SLAB_BYTES, 99);
	tear_down(&b);
}

// The gap after a frame takes every value: a gap too small for a frame of padding is extended by a page.
TL_TEST("every unit ends on a boundary")
{
	struct bench b = set_up();
	uint32_t longer = 0;

	fill_at_random(b.slab, SLAB_BYTES, 1);
	for (uint32_t bytes = TL_PCAPNG_ALIGN - 100; bytes < TL_PCAPNG_ALIGN + 100; bytes++) {
		struct tl_zslab_unit unit;
		int64_t packed = tl_zslab_pack_blocks(b.packer, b.slab, bytes, b.unit, b.bound);
		CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b.unit, (uint64_t)packed, &unit), 0);
		CU_ASSERT_EQUAL(packed % TL_PCAPNG_ALIGN, 0);
		CU_ASSERT_EQUAL(unit.unit_bytes, packed);
		uint32_t padding = (uint32_t)packed - unit.frame_bytes;
		CU_ASSERT_TRUE(padding == 0 || padding >= 8);
		longer += padding > TL_PCAPNG_ALIGN;
	}
	CU_ASSERT_EQUAL(longer, 7);
	tear_down(&b);
}

TL_TEST("blocks begin with the magic of zstd")
{
	struct bench b = set_up();
	struct tl_zslab_unit unit;
	uint32_t bytes = tl_pcapng_put_shb(b.slab, SLAB_BYTES, &(struct tl_pcapng_shb){.application = "tapline"});

	int64_t packed = tl_zslab_pack_blocks(b.packer, b.slab, bytes, b.unit, b.bound);
	CU_ASSERT_EQUAL(packed, TL_PCAPNG_ALIGN);
	CU_ASSERT_EQUAL(memcmp(b.unit, &zstd_magic, sizeof(zstd_magic)), 0);
	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b.unit, (uint64_t)packed, &unit), 0);
	CU_ASSERT_FALSE(unit.slab);
	CU_ASSERT_EQUAL(unit.unit_bytes, packed);
	CU_ASSERT_EQUAL(tl_zslab_unpack(b.unpacker, b.unit, &unit, b.back, SLAB_BYTES), bytes);
	CU_ASSERT_EQUAL(memcmp(b.back, b.slab, bytes), 0);
	// At the end of a file the padding may be missing.
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, unit.frame_bytes, &unit), 0);
	CU_ASSERT_EQUAL(unit.unit_bytes, unit.frame_bytes);
	tear_down(&b);
}

TL_TEST("too small a buffer is refused")
{
	struct bench b = set_up();
	struct tl_zslab_unit unit;
	uint32_t sealed = make_slab(b.slab, SLAB_BYTES / 2, 3);

	int64_t bytes = tl_zslab_pack(b.packer, b.slab, sealed, b.unit, b.bound);
	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b.unit, (uint64_t)bytes, &unit), 0);
	CU_ASSERT_EQUAL(tl_zslab_unpack(b.unpacker, b.unit, &unit, b.back, sealed - 1), -ENOBUFS);
	for (uint32_t size = 0; size < bytes; size += 257)
		CU_ASSERT_EQUAL(tl_zslab_pack(b.packer, b.slab, sealed, b.unit, size), -ENOBUFS);
	CU_ASSERT_EQUAL(tl_zslab_pack(b.packer, b.slab + 4, sealed - 4, b.unit, b.bound), -EINVAL);
	tear_down(&b);
}

TL_TEST("a truncated unit is invalid")
{
	struct bench b = set_up();
	struct tl_zslab_unit unit;
	uint32_t sealed = make_slab(b.slab, SLAB_BYTES / 2, 3);

	int64_t bytes = tl_zslab_pack(b.packer, b.slab, sealed, b.unit, b.bound);
	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b.unit, (uint64_t)bytes, &unit), 0);
	uint32_t frame_end = unit.frame_at + unit.frame_bytes;
	for (uint32_t size = 0; size < frame_end; size += 509)
		CU_ASSERT_EQUAL(tl_zslab_look(b.unit, size, &unit), -EINVAL);
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, frame_end - 1, &unit), -EINVAL);
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, frame_end, &unit), 0);
	tear_down(&b);
}

TL_TEST("an empty unit is valid")
{
	struct bench b = set_up();
	struct tl_zslab_unit unit;

	memset(b.unit, 0xee, b.bound); // old content
	tl_zslab_put_pad(b.unit, 3 * TL_PCAPNG_ALIGN);
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, TL_ZSLAB_PAD_BYTES, &unit), 0);
	CU_ASSERT_FALSE(unit.slab);
	CU_ASSERT_EQUAL(unit.content_bytes, 0);
	CU_ASSERT_EQUAL(unit.unit_bytes, 3 * TL_PCAPNG_ALIGN);
	tl_zslab_put_pad(b.unit, 3 * TL_PCAPNG_ALIGN - 4); // ends off a boundary
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, b.bound, &unit), -EINVAL);
	tear_down(&b);
}

TL_TEST("damage is detected")
{
	struct bench b = set_up();
	struct tl_zslab_unit unit;
	uint32_t sealed = make_slab(b.slab, SLAB_BYTES / 2, 5);

	int64_t bytes = tl_zslab_pack(b.packer, b.slab, sealed, b.unit, b.bound);
	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b.unit, (uint64_t)bytes, &unit), 0);
	b.unit[unit.frame_at + unit.frame_bytes / 2] ^= 1;
	CU_ASSERT_EQUAL(tl_zslab_unpack(b.unpacker, b.unit, &unit, b.back, SLAB_BYTES), -EBADMSG);
	b.unit[unit.frame_at + unit.frame_bytes / 2] ^= 1;
	b.unit[8 + 24] ^= 1; // the sequence, which now differs from the slab's
	CU_ASSERT_EQUAL(tl_zslab_unpack(b.unpacker, b.unit, &unit, b.back, SLAB_BYTES), -EBADMSG);
	b.unit[8 + 24] ^= 1;
	CU_ASSERT_EQUAL(tl_zslab_unpack(b.unpacker, b.unit, &unit, b.back, SLAB_BYTES), sealed);
	tear_down(&b);
}

// Make a slab whose frame leaves a gap too small for padding, so that the padding is a page longer. Return the length
// of the unit.
static int64_t pack_with_long_padding(struct bench *b, struct tl_zslab_unit *out)
{
	for (uint32_t random = TL_PCAPNG_HEAD_BYTES; random < 3 * TL_PCAPNG_ALIGN; random++) {
		uint32_t sealed = make_slab(b->slab, 3 * TL_PCAPNG_ALIGN, 1);
		for (uint32_t i = random; i < sealed; i++)
			b->slab[i] &= 15; // compressible by half
		int64_t bytes = tl_zslab_pack(b->packer, b->slab, sealed, b->unit, b->bound);
		CU_ASSERT_EQUAL_FATAL(tl_zslab_look(b->unit, (uint64_t)bytes, out), 0);
		if (bytes - out->frame_at - out->frame_bytes > TL_PCAPNG_ALIGN)
			return bytes;
	}
	CU_FAIL_FATAL("no such slab");
	return 0;
}

TL_TEST("a header with inconsistent lengths is invalid")
{
	struct bench b = set_up();
	struct tl_zslab_unit unit, head;
	int64_t bytes = pack_with_long_padding(&b, &unit);
	uint32_t *frame_bytes = (void *)(b.unit + 72), *unit_bytes = (void *)(b.unit + 76);

	CU_ASSERT_EQUAL(*frame_bytes, unit.frame_bytes);
	CU_ASSERT_EQUAL(*unit_bytes, bytes);
	*frame_bytes = *unit_bytes - TL_ZSLAB_HEAD_BYTES;
	CU_ASSERT_EQUAL(tl_zslab_get_head(b.unit, TL_ZSLAB_HEAD_BYTES, &head), 0);
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, (uint64_t)bytes, &head), -EINVAL); // the frame is shorter
	*frame_bytes += 1;
	CU_ASSERT_EQUAL(tl_zslab_get_head(b.unit, TL_ZSLAB_HEAD_BYTES, &head), -EINVAL);
	*frame_bytes = unit.frame_bytes;
	*unit_bytes -= TL_PCAPNG_ALIGN;
	CU_ASSERT_EQUAL(tl_zslab_look(b.unit, (uint64_t)bytes, &head), -EINVAL); // the padding is longer
	tear_down(&b);
}

int main(void)
{
	return tl_test_run("zslab");
}
