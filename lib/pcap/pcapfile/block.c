// SPDX-License-Identifier: BSD-3-Clause
// Checks of slabs, and parser of section headers, interface descriptions and simple packets.

#include <tl_pcapng_block.h>

#define IDB_OPTIONS_AT 16u
#define SIMPLE_BYTES_MIN 16u
#define SIMPLE_DATA_AT 12u
#define OPT_END 0u
#define IF_TSRESOL 9u
#define IF_FCSLEN 13u
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

int tl_pcapng_begin_section(struct tl_pcapng_section *section, const uint8_t *block, struct tl_pcapng_fault *fault)
{
	if (tl_pcapng_byte_order(block, &section->swapped) != 0)
		return tl_pcapng_broken(fault, 8, "a section without byte order magic, but", tl_load_u32(block + 8));
	uint16_t major = tl_pcapng_u16(section->swapped, block + 12);
	if (major != 1)
		return tl_pcapng_broken(fault, 12, "a section of another pcapng version than 1", major);
	section->begun = true;
	section->n = 0;
	return 0;
}

// Parse an interface description. An option's value never extends into the block's trailing length.
static int get_description(bool swapped, const uint8_t *block, uint32_t bytes, struct tl_pcapng_interface *out,
	struct tl_pcapng_fault *fault)
{
	const uint8_t *options = block + IDB_OPTIONS_AT;
	uint32_t at = 0, options_bytes = bytes - IDB_OPTIONS_AT - 4;
	struct tl_pcap_option option;

	*out = (struct tl_pcapng_interface){
		.linktype = tl_pcapng_u16(swapped, block + 8), .snaplen = tl_pcapng_u32(swapped, block + 12)};
	set_resolution(out, TSRESOL_DEFAULT);
	while (tl_pcap_next_option(options, options_bytes, swapped, &at, &option) == 1) {
		if (option.code == IF_TSRESOL && option.len >= 1)
			set_resolution(out, option.value[0]);
		if (option.code == IF_FCSLEN && option.len >= 1)
			out->fcs = option.value[0] != 0;
		if (option.code == IF_TSOFFSET && option.len >= 8)
			out->offset_s = (int64_t)tl_pcapng_u64(swapped, option.value);
	}
	if (options_bytes - at < 4 || tl_pcapng_u16(swapped, options + at) == OPT_END)
		return 0;
	return tl_pcapng_broken(fault, IDB_OPTIONS_AT + at, "an option reaches past its block; its code",
		tl_pcapng_u16(swapped, options + at));
}

int tl_pcapng_add_interface(
	struct tl_pcapng_section *section, const uint8_t *block, uint32_t bytes, struct tl_pcapng_fault *fault)
{
	if (bytes < TL_PCAPNG_IDB_BYTES_MIN)
		return tl_pcapng_broken(fault, 0, "an interface description too short", bytes);
	if (section->n == section->capacity)
		return tl_pcapng_broken(fault, 0, "more interfaces in a section than", section->capacity);
	int rc = get_description(section->swapped, block, bytes, &section->interface[section->n], fault);
	section->n += rc == 0;
	return rc;
}

// No time; the captured length is limited by the snaplen of interface 0.
int tl_pcapng_get_simple(const struct tl_pcapng_section *section, const uint8_t *block, uint32_t bytes,
	struct tl_pcapng_packet *out, struct tl_pcapng_fault *fault)
{
	if (bytes < SIMPLE_BYTES_MIN)
		return tl_pcapng_broken(fault, 0, "a packet block too short", bytes);
	if (section->n == 0)
		return tl_pcapng_broken(fault, 0, "a frame of an interface not described before it", 0);
	uint32_t snaplen = section->interface[0].snaplen, wire_bytes = tl_pcapng_u32(section->swapped, block + 8);
	uint32_t cap_bytes = snaplen != 0 && snaplen < wire_bytes ? snaplen : wire_bytes;
	if (cap_bytes > bytes - SIMPLE_BYTES_MIN)
		return tl_pcapng_broken(fault, 8, "a frame longer than its block", cap_bytes);
	*out = (struct tl_pcapng_packet){
		.cap_bytes = cap_bytes, .wire_bytes = wire_bytes, .data = block + SIMPLE_DATA_AT};
	return 0;
}
