// SPDX-License-Identifier: BSD-3-Clause
// Parser of section headers and interface descriptions (draft-ietf-opsawg-pcapng, sections 4.1 and 4.2).

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_array.h>

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
	if (tl_pcapng_byte_order(block, &section->swapped) != 0 || tl_pcapng_u16(section->swapped, block + 12) != 1)
		return -EINVAL;
	section->begun = true;
	return 0;
}

int extract_section_add(struct extract_section *section, const uint8_t *block, uint32_t size)
{
	struct extract_interface interface = {.block_bytes = size};

	if (!section->begun || size < TL_PCAPNG_IDB_BYTES_MIN || section->n == EXTRACT_INTERFACES_MAX ||
		size > EXTRACT_INTERFACE_BYTES_MAX - section->interface_bytes)
		return -EINVAL;
	if (tl_pcapng_get_idb(section->swapped, block, size, &interface.unit) != 0)
		return -EINVAL;
	if (tl_array_reserve(&section->interface, section->n, &section->capacity, sizeof(interface)) != 0)
		return -ENOMEM;
	interface.block = malloc(size);
	if (interface.block == NULL)
		return -ENOMEM;
	memcpy(interface.block, block, size);
	section->interface[section->n++] = interface;
	section->interface_bytes += size;
	return 0;
}
