// SPDX-License-Identifier: BSD-3-Clause
// Reader of a pcapng file (draft-ietf-opsawg-pcapng): sections, interfaces, and the frames between them.

#include "reader_priv.h"

struct block {
	size_t at;
	uint32_t type;
	uint32_t total_bytes; // with both length fields; the block ends within the file
};

// Begin a section. Its byte order is parsed first: a section header gives it after its own length.
static int begin_section(struct tl_pcap_reader *reader)
{
	size_t at = reader->offset;

	if (reader->size - at < TL_PCAPNG_SHB_BYTES_MIN)
		return reader_short(reader, at, "the file ends inside a section header; bytes left", reader->size - at);
	if (tl_pcapng_byte_order(reader->data + at, &reader->swapped) != 0)
		return reader_broken(
			reader, at + 8, "a section without byte order magic, but", reader_u32(reader, at + 8));
	uint16_t major = reader_u16(reader, at + 12);
	if (major != 1)
		return reader_broken(reader, at + 12, "a section of another pcapng version than 1", major);
	reader->sections++;
	reader->interfaces = 0;
	return 0;
}

// Parse the block at reader->offset. Return 1 with *out filled, 0 at the end of the file, or -EINVAL.
static int peek_block(struct tl_pcap_reader *reader, struct block *out)
{
	size_t at = reader->offset;
	size_t left = reader->size - at;

	if (left == 0)
		return 0;
	if (left < TL_PCAPNG_PAD_MIN)
		return reader_short(reader, at, "the file ends inside a block; bytes left", left);
	uint32_t type = reader_u32(reader, at);
	if (TL_UNLIKELY(type == TL_PCAPNG_SHB)) {
		int rc = begin_section(reader);
		if (rc != 0)
			return rc;
	}
	uint32_t total = reader_u32(reader, at + 4);
	if (total < (type == TL_PCAPNG_SHB ? TL_PCAPNG_SHB_BYTES_MIN : TL_PCAPNG_PAD_MIN) || total % 4 != 0)
		return reader_broken(reader, at + 4, "no block has this length", total);
	if (total > left)
		return reader_short(reader, at, "the file ends inside a block of bytes", total);
	if (reader_u32(reader, at + total - 4) != total)
		return reader_broken(reader, at, "the lengths before and after a block differ; before it", total);
	*out = (struct block){.at = at, .type = type, .total_bytes = total};
	return 1;
}

static int add_interface(struct tl_pcap_reader *reader, const struct block *block)
{
	if (block->total_bytes < TL_PCAPNG_IDB_BYTES_MIN)
		return reader_broken(reader, block->at, "an interface description too short", block->total_bytes);
	if (reader->interfaces == READER_INTERFACES)
		return reader_broken(reader, block->at, "more interfaces in a section than", READER_INTERFACES);
	uint16_t linktype = reader_u16(reader, block->at + 8);
	if (linktype != TL_PCAPNG_LINKTYPE_ETHERNET && !reader->any_linktype)
		return reader_broken(reader, block->at + 8, "a link type other than Ethernet (1)", linktype);
	struct reader_interface *interface = &reader->interface[reader->interfaces];
	uint32_t bad =
		tl_pcapng_get_idb(reader->swapped, reader->data + block->at, block->total_bytes, &interface->unit);
	if (bad != 0)
		return reader_broken(reader, block->at + bad, "an option reaches past its block; its code",
			reader_u16(reader, block->at + bad));
	interface->at = block->at;
	reader->interfaces++;
	return 0;
}

// Find the next block with a frame. Return 1 with *out filled, 0 at the end of the file, or -EINVAL.
static int find_frame(struct tl_pcap_reader *reader, struct block *out)
{
	int rc;

	while ((rc = peek_block(reader, out)) == 1) {
		if (out->type == TL_PCAPNG_EPB || out->type == TL_PCAPNG_SIMPLE_PACKET || out->type == TL_PCAPNG_PACKET)
			return 1;
		if (out->type == TL_PCAPNG_IDB && (rc = add_interface(reader, out)) != 0)
			return rc;
		if (out->type == reader->watched_type && reader->watch != NULL)
			reader->watch(reader->watch_ctx, reader->data + out->at, out->total_bytes);
		reader->offset += out->total_bytes;
	}
	return rc;
}

static int read_enhanced(struct tl_pcap_reader *reader, const struct block *block, struct tl_pcap_frame *out)
{
	size_t at = block->at;

	if (block->total_bytes < TL_PCAPNG_EPB_BYTES_MIN)
		return reader_broken(reader, at, "a packet block too short", block->total_bytes);
	uint32_t id = block->type == TL_PCAPNG_PACKET ? reader_u16(reader, at + 8) : reader_u32(reader, at + 8);
	if (id >= reader->interfaces)
		return reader_broken(reader, at + 8, "a frame of an interface not described before it", id);
	uint64_t ticks = (uint64_t)reader_u32(reader, at + 12) << 32 | reader_u32(reader, at + 16);
	if (tl_pcapng_time_ns(&reader->interface[id].unit, ticks, &out->ts_ns) != 0)
		return reader_broken(reader, at + 12, "a timestamp before 1970 or after 2554", ticks);
	uint32_t wire_bytes = reader_u32(reader, at + 24);
	out->cap_bytes = reader_u32(reader, at + 20);
	if (out->cap_bytes > READER_FRAME_MAX || out->cap_bytes > block->total_bytes - TL_PCAPNG_EPB_BYTES_MIN)
		return reader_broken(reader, at + 20, "a frame longer than its block or 262144 bytes", out->cap_bytes);
	out->wire_bytes = TL_LIKELY(wire_bytes > out->cap_bytes) ? wire_bytes : out->cap_bytes;
	out->data = reader->data + at + 28;
	out->linktype = reader->interface[id].unit.linktype;
	return 1;
}

// Parse a simple packet block: no time; its captured length is limited by the snaplen of interface 0.
static int read_simple(struct tl_pcap_reader *reader, const struct block *block, struct tl_pcap_frame *out)
{
	if (block->total_bytes < TL_PCAPNG_SPB_BYTES_MIN)
		return reader_broken(reader, block->at, "a packet block too short", block->total_bytes);
	if (reader->interfaces == 0)
		return reader_broken(reader, block->at, "a frame of an interface not described before it", 0);
	uint32_t snaplen = reader->interface[0].unit.snaplen;
	uint32_t wire_bytes = reader_u32(reader, block->at + 8);
	uint32_t cap_bytes = snaplen != 0 && snaplen < wire_bytes ? snaplen : wire_bytes;
	if (cap_bytes > READER_FRAME_MAX || cap_bytes > block->total_bytes - TL_PCAPNG_SPB_BYTES_MIN)
		return reader_broken(reader, block->at + 8, "a frame longer than its block or 262144 bytes", cap_bytes);
	*out = (struct tl_pcap_frame){
		.data = reader->data + block->at + 12,
		.cap_bytes = cap_bytes,
		.wire_bytes = wire_bytes,
		.linktype = reader->interface[0].unit.linktype,
	};
	return 1;
}

int tl_pcapng_begin(struct tl_pcap_reader *reader)
{
	struct block block;
	int rc = find_frame(reader, &block);

	return rc < 0 ? rc : 0;
}

int tl_pcapng_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out)
{
	struct block block;
	int rc = find_frame(reader, &block);

	if (rc != 1)
		return rc;
	rc = block.type == TL_PCAPNG_SIMPLE_PACKET ? read_simple(reader, &block, out)
						   : read_enhanced(reader, &block, out);
	reader->offset += block.total_bytes;
	return rc;
}
