// SPDX-License-Identifier: BSD-3-Clause
// Checks of slabs, and parser of interface descriptions.

#include <tl_pcapng_block.h>

#define IDB_OPTIONS_AT 16u
#define OPT_END 0u
#define IF_TSRESOL 9u
#define IF_TSOFFSET 14u
#define TSRESOL_DEFAULT 6u // 10^-6 s
#define TSRESOL_BINARY 0x80u

bool tl_pcapng_slab_is_whole(
	const uint8_t *slab, const struct tl_pcapng_head *head, tl_pcapng_record_fn *is_whole, const void *ctx)
{
	uint32_t records = 0;

	for (uint32_t at = TL_PCAPNG_HEAD_BYTES, total; at < head->used_bytes; at += total) {
		const uint8_t *block = slab + at;
		total = tl_pcapng_block_bytes(block, head->used_bytes - at);
		if (total == 0 || tl_load_u32(block) == TL_PCAPNG_SHB || tl_load_u32(block) == TL_PCAPNG_HEAD)
			return false;
		if (tl_load_u32(block) != TL_PCAPNG_EPB)
			continue;
		if (is_whole != NULL && !is_whole(ctx, block, total))
			return false;
		records++;
	}
	return records == head->records;
}

static void set_resolution(struct tl_pcapng_interface *interface, uint8_t tsresol)
{
	uint8_t exponent = tsresol & (TSRESOL_BINARY - 1);

	interface->tsresol = tsresol;
	interface->shift = 0;
	interface->drop_digits = 0;
	if (tsresol & TSRESOL_BINARY) {
		interface->multiply = TL_NS_PER_S;
		interface->shift = exponent;
		return;
	}
	interface->multiply = 1;
	for (; exponent < 9; exponent++)
		interface->multiply *= 10;
	interface->drop_digits = exponent - 9;
}

// Options are code, length, value padded to 4. A value never extends into the block's trailing length.
uint32_t tl_pcapng_get_idb(bool swapped, const uint8_t *block, uint32_t bytes, struct tl_pcapng_interface *out)
{
	uint32_t at = IDB_OPTIONS_AT, end = bytes - 4;

	*out = (struct tl_pcapng_interface){
		.linktype = tl_pcapng_u16(swapped, block + 8), .snaplen = tl_pcapng_u32(swapped, block + 12)};
	set_resolution(out, TSRESOL_DEFAULT);
	while (end - at >= 4) {
		uint16_t code = tl_pcapng_u16(swapped, block + at), len = tl_pcapng_u16(swapped, block + at + 2);
		if (code == OPT_END)
			break;
		if (tl_align_up(len, 4) > end - at - 4)
			return at;
		if (code == IF_TSRESOL && len >= 1)
			set_resolution(out, block[at + 4]);
		if (code == IF_TSOFFSET && len >= 8)
			out->offset_s = (int64_t)tl_pcapng_u64(swapped, block + at + 4);
		at += 4 + (uint32_t)tl_align_up(len, 4);
	}
	return 0;
}
