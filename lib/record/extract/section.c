// SPDX-License-Identifier: BSD-3-Clause
// Parser of section headers and interface descriptions (draft-ietf-opsawg-pcapng, sections 4.1 and 4.2).

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_array.h>

#define IDB_BYTES_MIN 20u
#define IDB_OPTIONS_AT 16u
#define IF_TSRESOL 9
#define IF_TSOFFSET 14
#define TSRESOL_DEFAULT 6
#define TSRESOL_BINARY 0x80u

uint32_t extract_u32(const struct extract_section *section, const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return section->swapped ? __builtin_bswap32(value) : value;
}

uint16_t extract_u16(const struct extract_section *section, const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return section->swapped ? __builtin_bswap16(value) : value;
}

void extract_section_free(struct extract_section *section)
{
	for (uint32_t i = 0; i < section->n; i++)
		free(section->interface[i].block);
	free(section->interface);
	*section = (struct extract_section){0};
}

int extract_section_begin(struct extract_section *section, const uint8_t *block, uint32_t size)
{
	if (size < TL_PCAPNG_SHB_BYTES_MIN)
		return -EINVAL;
	extract_section_free(section);
	if (extract_u32(section, block + 8) != TL_PCAPNG_BYTE_ORDER)
		section->swapped = true;
	if (extract_u32(section, block + 8) != TL_PCAPNG_BYTE_ORDER || extract_u16(section, block + 12) != 1)
		return -EINVAL;
	section->begun = true;
	return 0;
}

// Set a resolution up to 10^-38 or 2^-127 s; finer units than 64 bits can count become 0.
static void set_resolution(struct extract_interface *interface, uint8_t tsresol)
{
	uint8_t exponent = tsresol & (TSRESOL_BINARY - 1);

	interface->multiply = 1;
	interface->divide = 1;
	interface->shift = 0;
	if (tsresol & TSRESOL_BINARY) {
		interface->multiply = TL_NS_PER_S;
		interface->shift = exponent;
		return;
	}
	for (int i = exponent; i < 9; i++)
		interface->multiply *= 10;
	for (int i = 9; i < exponent && interface->divide < UINT64_MAX / 10; i++)
		interface->divide *= 10;
}

static int read_options(
	const struct extract_section *section, const uint8_t *block, uint32_t size, struct extract_interface *out)
{
	uint32_t at = IDB_OPTIONS_AT, end = size - 4;

	while (end - at >= 4) {
		uint16_t code = extract_u16(section, block + at);
		uint16_t len = extract_u16(section, block + at + 2);
		const uint8_t *value = block + at + 4;
		if (code == 0)
			break;
		if (tl_align_up(len, 4) > end - at - 4)
			return -EINVAL;
		if (code == IF_TSRESOL && len >= 1)
			set_resolution(out, value[0]);
		if (code == IF_TSOFFSET && len >= 8) {
			uint64_t offset;
			memcpy(&offset, value, sizeof(offset));
			out->offset_s = (int64_t)(section->swapped ? __builtin_bswap64(offset) : offset);
		}
		at += 4 + (uint32_t)tl_align_up(len, 4);
	}
	return 0;
}

int extract_section_add(struct extract_section *section, const uint8_t *block, uint32_t size)
{
	struct extract_interface interface = {.block_bytes = size};

	if (!section->begun || size < IDB_BYTES_MIN || section->n == EXTRACT_INTERFACES_MAX)
		return -EINVAL;
	interface.linktype = extract_u16(section, block + 8);
	interface.snaplen = extract_u32(section, block + 12);
	set_resolution(&interface, TSRESOL_DEFAULT);
	if (read_options(section, block, size, &interface) != 0)
		return -EINVAL;
	if (tl_array_reserve(&section->interface, section->n, &section->capacity, sizeof(interface)) != 0)
		return -ENOMEM;
	interface.block = malloc(size);
	if (interface.block == NULL)
		return -ENOMEM;
	memcpy(interface.block, block, size);
	section->interface[section->n++] = interface;
	return 0;
}
