// SPDX-License-Identifier: BSD-3-Clause
// The current section, with a copy of each interface description, for the output.

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_array.h>

void extract_section_free(struct extract_section *section)
{
	for (uint32_t i = 0; i < section->parsed.n; i++)
		free(section->interface[i].block);
	free(section->interface);
	free(section->parsed.interface);
	*section = (struct extract_section){0};
}

int extract_section_add(struct extract_section *section, const uint8_t *block, uint32_t size)
{
	struct tl_pcapng_section *parsed = &section->parsed;
	struct tl_pcapng_fault fault;
	uint32_t id = parsed->n;

	if (id == EXTRACT_INTERFACES_MAX || size > EXTRACT_INTERFACE_BYTES_MAX - section->interface_bytes)
		return -EINVAL;
	if (tl_array_reserve(&parsed->interface, id, &parsed->capacity, sizeof(*parsed->interface)) != 0 ||
		tl_array_reserve(&section->interface, id, &section->capacity, sizeof(*section->interface)) != 0)
		return -ENOMEM;
	uint8_t *copy = malloc(size);
	if (copy == NULL)
		return -ENOMEM;
	if (tl_pcapng_add_interface(parsed, block, size, &fault) != 0) {
		free(copy);
		return -EINVAL;
	}
	memcpy(copy, block, size);
	section->interface[id] = (struct extract_interface){.block = copy, .block_bytes = size};
	section->interface_bytes += size;
	return 0;
}

int extract_section_take(struct extract_section *section, const struct tl_pcapng_block *head, const uint8_t *block)
{
	struct tl_pcapng_fault fault;

	if (head->type == TL_PCAPNG_IDB)
		return extract_section_add(section, block, head->bytes);
	if (head->type != TL_PCAPNG_SHB)
		return 0;
	extract_section_free(section);
	return tl_pcapng_begin_section(&section->parsed, block, &fault);
}
