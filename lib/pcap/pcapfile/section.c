// SPDX-License-Identifier: BSD-3-Clause
// Parser for the origin of a file: the application named in its section header.

#include <tl_pcapng_block.h>

#define OPTIONS_AT 24 // type, length, byte order, version, section length
#define SHB_USERAPPL 4

int tl_pcapng_get_application(const void *buf, uint32_t size, const char **out_text, uint32_t *out_len)
{
	const uint8_t *block = buf;
	struct tl_pcap_option option;
	uint32_t at = 0;
	bool swapped;

	if (size < OPTIONS_AT || tl_load_u32(block) != TL_PCAPNG_SHB || tl_pcapng_byte_order(block, &swapped) != 0 ||
		swapped)
		return -EINVAL;
	uint32_t total = tl_load_u32(block + 4);
	if (total < OPTIONS_AT + 4 || total > size)
		return -EINVAL;
	while (tl_pcap_next_option(block + OPTIONS_AT, total - OPTIONS_AT - 4, false, &at, &option) == 1)
		if (option.code == SHB_USERAPPL) {
			*out_text = (const char *)option.value;
			*out_len = option.len;
			return 0;
		}
	return -ENOENT;
}
