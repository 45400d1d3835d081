// SPDX-License-Identifier: BSD-3-Clause
// Parse of a captured frame: it may be truncated by the capture, and a frame sent by the capturing host may lack a
// checksum that is left to the network card.

#include <tl_link.h>

#include <string.h>

const uint8_t *tl_wire_parse_captured(enum tl_link link, const uint8_t *frame, uint32_t cap_bytes, uint32_t wire_bytes,
	uint8_t scratch[TL_CAPTURED_MAX], struct tl_pkt *out)
{
	const uint8_t *data = frame;

	*out = (struct tl_pkt){.kind = TL_PKT_OTHER};
	if (cap_bytes > TL_CAPTURED_MAX || wire_bytes > TL_CAPTURED_MAX)
		return frame;
	uint32_t whole = cap_bytes > wire_bytes ? cap_bytes : wire_bytes;
	if (cap_bytes < whole) {
		memcpy(scratch, frame, cap_bytes);
		memset(scratch + cap_bytes, 0, whole - cap_bytes);
		data = scratch;
	}
	tl_wire_parse_link(link, data, whole, out);
	if (out->kind == TL_PKT_BAD_CKSUM) {
		if (data != scratch)
			memcpy(scratch, frame, whole);
		data = scratch;
		struct tl_ipv4_hdr *ip = (void *)(scratch + out->l3_off);
		ip->cksum_be = 0;
		ip->cksum_be = tl_cksum_finish(tl_cksum_add(0, ip, (size_t)(ip->version_ihl & 0x0f) * 4));
		tl_wire_parse_link(link, data, whole, out);
	}
	return data;
}
