// SPDX-License-Identifier: BSD-3-Clause
// Conversion of a slab's records to classic pcap with nanoseconds.

#include "recode_priv.h"

#include <string.h>

#define EPB_DATA 28

uint32_t tl_recode_pcap(const struct tl_slab *slab, uint8_t *out)
{
	uint8_t *to = out;

	for (uint32_t at = TL_PCAPNG_HEAD_BYTES; at < slab->used_bytes;) {
		const uint8_t *epb = slab->data + at;
		uint32_t words[7]; // type, length, interface, time (high, low), captured length, original length
		memcpy(words, epb, sizeof(words));
		uint64_t ts_ns = (uint64_t)words[3] << 32 | words[4];
		uint32_t head[4] = {
			(uint32_t)(ts_ns / TL_NS_PER_S), (uint32_t)(ts_ns % TL_NS_PER_S), words[5], words[6]};
		memcpy(to, head, TL_PCAP_RECORD_BYTES);
		memcpy(to + TL_PCAP_RECORD_BYTES, epb + EPB_DATA, words[5]);
		to += TL_PCAP_RECORD_BYTES + words[5];
		at += words[1];
	}
	return (uint32_t)(to - out);
}
