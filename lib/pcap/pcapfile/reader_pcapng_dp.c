// SPDX-License-Identifier: BSD-3-Clause
// Reader of a pcapng file (draft-ietf-opsawg-pcapng): sections, interfaces, and the frames between them.

#include "reader_priv.h"

// Set the fault of the block at reader->offset.
static int broken(struct tl_pcap_reader *reader, const struct tl_pcapng_fault *fault)
{
	return reader_broken(reader, reader->offset + fault->at, fault->text, fault->value);
}

// Parse the block at reader->offset. Return 1 with *out filled, 0 at the end of the file, or -EINVAL.
static int peek_block(struct tl_pcap_reader *reader, struct tl_pcapng_block *out)
{
	size_t at = reader->offset, left = reader->size - at;
	const uint8_t *block = reader->data + at;
	struct tl_pcapng_fault fault;

	if (left == 0)
		return 0;
	if (left < TL_PCAPNG_PAD_MIN)
		return reader_short(reader, at, "the file ends inside a block; bytes left", left);
	if (tl_pcapng_get_block(reader->section.swapped, block, out, &fault) != 0)
		return broken(reader, &fault);
	if (out->bytes > left)
		return reader_short(reader, at, "the file ends inside a block of bytes", out->bytes);
	if (!tl_pcapng_block_closes(block, out->bytes))
		return reader_broken(reader, at, "the lengths before and after a block differ; before it", out->bytes);
	return 1;
}

static int add_interface(struct tl_pcap_reader *reader, const uint8_t *block, uint32_t bytes)
{
	uint32_t id = reader->section.n;
	struct tl_pcapng_fault fault;

	if (tl_pcapng_add_interface(&reader->section, block, bytes, &fault) != 0)
		return broken(reader, &fault);
	reader->described_at[id] = reader->offset;
	uint16_t linktype = reader->interface[id].linktype;
	if (linktype != TL_PCAPNG_LINKTYPE_ETHERNET && !reader->any_linktype)
		return reader_broken(reader, reader->offset + 8, "a link type other than Ethernet (1)", linktype);
	return 0;
}

// Take a section header or interface description.
static int take_section(struct tl_pcap_reader *reader, const uint8_t *block, const struct tl_pcapng_block *head)
{
	struct tl_pcapng_fault fault;

	if (head->type == TL_PCAPNG_IDB)
		return add_interface(reader, block, head->bytes);
	if (head->type != TL_PCAPNG_SHB)
		return 0;
	reader->sections++;
	return tl_pcapng_begin_section(&reader->section, block, &fault) == 0 ? 0 : broken(reader, &fault);
}

// Find the next block with a frame. Return 1 with *out filled, 0 at the end of the file, or -EINVAL.
static int find_frame(struct tl_pcap_reader *reader, struct tl_pcapng_block *out)
{
	int rc;

	while ((rc = peek_block(reader, out)) == 1 && !tl_pcapng_is_packet(out->type)) {
		const uint8_t *block = reader->data + reader->offset;
		rc = take_section(reader, block, out);
		if (rc != 0)
			return rc;
		if (out->type == reader->watched_type && reader->watch != NULL)
			reader->watch(reader->watch_ctx, block, out->bytes);
		reader->offset += out->bytes;
	}
	return rc;
}

static int read_frame(struct tl_pcap_reader *reader, const struct tl_pcapng_block *block, struct tl_pcap_frame *out)
{
	struct tl_pcapng_packet packet;
	struct tl_pcapng_fault fault;

	if (tl_pcapng_get_packet(&reader->section, reader->data + reader->offset, block, &packet, &fault) != 0)
		return broken(reader, &fault);
	if (TL_UNLIKELY(packet.cap_bytes > READER_FRAME_MAX))
		return reader_broken(reader, reader->offset, "a frame longer than 262144 bytes", packet.cap_bytes);
	*out = (struct tl_pcap_frame){
		.data = packet.data,
		.cap_bytes = packet.cap_bytes,
		.wire_bytes = TL_LIKELY(packet.wire_bytes > packet.cap_bytes) ? packet.wire_bytes : packet.cap_bytes,
		.ts_ns = packet.ts_ns,
		.linktype = reader->interface[packet.interface_id].linktype,
		.fcs = reader->interface[packet.interface_id].fcs,
	};
	return 1;
}

int tl_pcapng_begin(struct tl_pcap_reader *reader)
{
	struct tl_pcapng_block block;
	int rc = find_frame(reader, &block);

	return rc < 0 ? rc : 0;
}

int tl_pcapng_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out)
{
	struct tl_pcapng_block block;
	int rc = find_frame(reader, &block);

	if (rc != 1)
		return rc;
	rc = read_frame(reader, &block, out);
	reader->offset += block.bytes;
	return rc;
}
