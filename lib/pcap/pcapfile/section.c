// SPDX-License-Identifier: BSD-3-Clause
// Parser for the origin of a file: the application named in its section header.

#include <tl_pcapng_block.h>

#define OPTIONS_AT 24 // type, length, byte order, version, section length
#define SHB_USERAPPL 4

int tl_pcapng_get_application(const void *buf, uint32_t size, const char **out_text, uint32_t *out_len)
{
	const uint8_t *block = buf;
	bool swapped;

	if (size < OPTIONS_AT || tl_load_u32(block) != TL_PCAPNG_SHB || tl_pcapng_byte_order(block, &swapped) != 0 ||
		swapped)
		return -EINVAL;
	uint32_t total = tl_load_u32(block + 4);
	if (total < OPTIONS_AT + 4 || total > size)
		return -EINVAL;
	for (uint32_t at = OPTIONS_AT; at + 4 <= total - 4;) {
		uint32_t option = tl_load_u32(block + at); // the code, and above it the length
		uint32_t len = option >> 16;
		if (option == 0 || len > total - 4 - at - 4)
			break;
		if ((option & UINT16_MAX) == SHB_USERAPPL) {
			*out_text = (const char *)block + at + 4;
			*out_len = len;
			return 0;
		}
		at += 4 + (uint32_t)tl_align_up(len, 4);
	}
	return -ENOENT;
}
