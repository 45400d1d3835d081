// SPDX-License-Identifier: BSD-3-Clause
// Reader of a classic pcap file (draft-ietf-opsawg-pcap): a file header, then one header per frame.

#include "reader_priv.h"

#define LINKTYPE_MASK 0x03FFFFFFu // bits above it: of an FCS in the frames
#define FCS_KNOWN 0x04000000u
#define FCS_LEN_SHIFT 28

int tl_pcap_classic_begin(struct tl_pcap_reader *reader)
{
	if (reader->size < TL_PCAP_HEADER_BYTES)
		return reader_broken(reader, 0, "the file ends inside its header; bytes", reader->size);
	uint16_t major = reader_u16(reader, 4);
	uint16_t minor = reader_u16(reader, 6);
	if (major != 2 || minor != 4)
		return reader_broken(reader, 4, "pcap of another version than 2.4; major * 1000 + minor",
			(uint64_t)major * 1000 + minor);
	uint32_t field = reader_u32(reader, 20), linktype = field & LINKTYPE_MASK;
	if (linktype != TL_PCAPNG_LINKTYPE_ETHERNET && (!reader->any_linktype || linktype > UINT16_MAX))
		return reader_broken(reader, 20, "a link type other than Ethernet (1)", linktype);
	reader->linktype = linktype;
	reader->fcs = (field & FCS_KNOWN) != 0 && field >> FCS_LEN_SHIFT != 0;
	reader->offset = TL_PCAP_HEADER_BYTES;
	return 0;
}

int tl_pcap_classic_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out)
{
	size_t at = reader->offset;
	size_t left = reader->size - at;

	if (left == 0)
		return 0;
	if (left < TL_PCAP_RECORD_BYTES)
		return reader_short(reader, at, "the file ends inside a frame's header; bytes left", left);
	uint32_t seconds = reader_u32(reader, at);
	uint32_t fraction = reader_u32(reader, at + 4);
	uint32_t cap_bytes = reader_u32(reader, at + 8);
	uint32_t wire_bytes = reader_u32(reader, at + 12);
	if (cap_bytes > READER_FRAME_MAX)
		return reader_broken(reader, at, "a frame longer than 262144 bytes", cap_bytes);
	if (cap_bytes > left - TL_PCAP_RECORD_BYTES)
		return reader_short(reader, at, "the file ends inside a frame of bytes", cap_bytes);
	if (TL_UNLIKELY((seconds | fraction | cap_bytes | wire_bytes) == 0))
		return reader_broken(reader, at, "a frame's header of zeros, as of lost bytes; bytes left", left);
	*out = (struct tl_pcap_frame){
		.data = reader->data + at + TL_PCAP_RECORD_BYTES,
		.cap_bytes = cap_bytes,
		.wire_bytes = TL_LIKELY(wire_bytes > cap_bytes) ? wire_bytes : cap_bytes,
		.ts_ns = seconds * TL_NS_PER_S + (uint64_t)fraction * reader->ns_per_unit,
		.linktype = reader->linktype,
		.fcs = reader->fcs,
	};
	reader->offset = at + TL_PCAP_RECORD_BYTES + cap_bytes;
	return 1;
}
