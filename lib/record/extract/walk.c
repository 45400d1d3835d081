// SPDX-License-Identifier: BSD-3-Clause
// Block parser, in memory or through a file. Every length is checked before a byte after it is read.

#include "extract_priv.h"

#include <errno.h>
#include <string.h>

#include <tl_digest.h>

int64_t extract_block(const struct extract_section *section, const uint8_t *p, size_t size, uint32_t *out_type)
{
	bool swapped = section->swapped;

	if (size < TL_PCAPNG_PAD_MIN)
		return 0;
	*out_type = tl_pcapng_u32(swapped, p);
	if (*out_type == TL_PCAPNG_SHB) // a palindrome; the next section may have a different byte order
		swapped = tl_pcapng_byte_order(p, &swapped) != 0 || swapped;
	else if (!section->begun)
		return -EINVAL;
	uint32_t total = tl_pcapng_u32(swapped, p + 4);
	if (total < TL_PCAPNG_PAD_MIN || total % 4 != 0 || total > EXTRACT_BLOCK_MAX)
		return -EINVAL;
	return total;
}

bool extract_block_closes(const uint8_t *p, uint32_t total)
{
	return memcmp(p + 4, p + total - 4, 4) == 0;
}

static bool read_enhanced(const struct extract_section *section, struct extract_record *out)
{
	const uint8_t *p = out->block;

	if (out->block_bytes < TL_PCAPNG_EPB_BYTES_MIN)
		return false;
	out->interface_id = out->type == TL_PCAPNG_PACKET ? tl_pcapng_u16(section->swapped, p + 8)
							  : tl_pcapng_u32(section->swapped, p + 8);
	if (out->interface_id >= section->n)
		return false;
	uint64_t ticks =
		(uint64_t)tl_pcapng_u32(section->swapped, p + 12) << 32 | tl_pcapng_u32(section->swapped, p + 16);
	out->cap_bytes = tl_pcapng_u32(section->swapped, p + 20);
	out->wire_bytes = tl_pcapng_u32(section->swapped, p + 24);
	out->data = p + 28;
	out->options_at = 28 + (uint32_t)tl_align_up(out->cap_bytes, 4);
	return out->cap_bytes <= out->block_bytes - TL_PCAPNG_EPB_BYTES_MIN &&
	       tl_pcapng_time_ns(&section->interface[out->interface_id].unit, ticks, &out->ts_ns) == 0;
}

// Parse a simple packet block: no time; its captured length is limited by the snaplen of interface 0.
static bool read_simple(const struct extract_section *section, struct extract_record *out)
{
	if (out->block_bytes < TL_PCAPNG_SPB_BYTES_MIN || section->n == 0)
		return false;
	uint32_t snaplen = section->interface[0].unit.snaplen;
	out->wire_bytes = tl_pcapng_u32(section->swapped, out->block + 8);
	out->cap_bytes = snaplen != 0 && snaplen < out->wire_bytes ? snaplen : out->wire_bytes;
	out->data = out->block + 12;
	out->interface_id = 0;
	out->ts_ns = 0;
	return out->cap_bytes <= out->block_bytes - TL_PCAPNG_SPB_BYTES_MIN;
}

bool extract_read_record(
	const struct extract_section *section, const uint8_t *block, uint32_t size, struct extract_record *out)
{
	*out = (struct extract_record){
		.block = block, .block_bytes = size, .type = tl_pcapng_u32(section->swapped, block)};
	return out->type == TL_PCAPNG_SIMPLE_PACKET ? read_simple(section, out) : read_enhanced(section, out);
}

bool extract_slab_is_whole(const uint8_t *p, size_t size, const struct tl_pcapng_head *head, uint64_t offset)
{
	return size >= head->used_bytes && tl_digest_is_right(head, p, offset) &&
	       tl_pcapng_slab_is_whole(p, head, NULL, NULL);
}

int extract_walk_memory(struct extract *extract, const uint8_t *data, size_t size, extract_block_fn *fn)
{
	uint32_t type;

	for (size_t at = 0; at < size;) {
		int64_t bytes = extract_block(&extract->section, data + at, size - at, &type);
		if (bytes <= 0 || (size_t)bytes > size - at || !extract_block_closes(data + at, (uint32_t)bytes))
			return -EINVAL;
		int rc = fn(extract, type, data + at, (uint32_t)bytes);
		if (rc != 0)
			return rc;
		at += (size_t)bytes;
	}
	return 0;
}

// Read the whole block at this offset. Return its length, or 0: no whole block.
static int64_t get_block(struct extract *extract, struct extract_input *input, uint64_t at, uint64_t end,
	const uint8_t **out, uint32_t *out_type)
{
	size_t got, len = tl_min_u64(TL_PCAPNG_PAD_MIN, end - at);

	int rc = extract_input_get(input, at, len, out, &got);
	if (rc != 0)
		return rc;
	int64_t bytes = extract_block(&extract->section, *out, got, out_type);
	if (bytes <= 0 || (uint64_t)bytes > end - at)
		return 0;
	rc = extract_input_get(input, at, (size_t)bytes, out, &got);
	if (rc != 0)
		return rc;
	return got == (size_t)bytes && extract_block_closes(*out, (uint32_t)bytes) ? bytes : 0;
}

// True for our HEAD block.
static bool is_head(const struct extract_section *section, uint32_t type, const uint8_t *block, int64_t bytes,
	struct tl_pcapng_head *out)
{
	return type == TL_PCAPNG_HEAD && bytes == TL_PCAPNG_HEAD_BYTES && !section->swapped &&
	       tl_pcapng_get_head(block, TL_PCAPNG_HEAD_BYTES, out) == 0 && out->used_bytes <= EXTRACT_BLOCK_MAX;
}

// Check that the slab of the HEAD at this offset is whole; a slab being written is not.
static int check_slab(
	struct extract *extract, struct extract_input *input, uint64_t at, const struct tl_pcapng_head *head)
{
	struct extract_section *section = &extract->section;
	uint64_t end = at + head->used_bytes;
	const uint8_t *slab;
	size_t got;

	if (section->file == 0 && head->records == 0)
		section->file = head->file;
	section->own_end = end + tl_pcapng_pad_bytes(end, TL_PCAPNG_ALIGN);
	int rc = extract_input_get(input, at, head->used_bytes, &slab, &got);
	if (rc != 0)
		return rc;
	return extract_slab_is_whole(slab, got, head, at) ? 0 : -ENODATA;
}

// Return 0 if a unit of the section's file begins at this offset, -ENODATA, or another -errno.
static int find_own_at(struct extract_input *input, const struct extract_section *section, uint64_t at)
{
	struct tl_pcapng_head head;
	const uint8_t *block;
	size_t got;

	int rc = extract_input_get(input, at, TL_PCAPNG_HEAD_BYTES, &block, &got);
	if (rc != 0)
		return rc;
	return tl_pcapng_get_head(block, (uint32_t)got, &head) == 0 && head.file == section->file ? 0 : -ENODATA;
}

// Find the first unit of the section's file behind this offset. Return 0, -ENODATA: none, or another -errno.
static int find_own(struct extract_input *input, const struct extract_section *section, uint64_t at, uint64_t *out_at)
{
	int rc = -ENODATA;

	for (at = tl_align_up(at + 1, TL_PCAPNG_ALIGN); rc == -ENODATA; at += TL_PCAPNG_ALIGN) {
		at = extract_input_data_from(input, at);
		if (at >= input->file_bytes)
			break;
		rc = find_own_at(input, section, at);
		*out_at = at;
	}
	return rc;
}

// Skip damage at *at: a slab, if its HEAD is whole, else all bytes before the next unit of the file. Return 0,
// -ENODATA: none before end, so that the file ends here, or another -errno.
static int skip_damage(struct extract *extract, struct extract_input *input, uint64_t *at, uint64_t end,
	const struct tl_pcapng_head *head)
{
	const struct extract_section *section = &extract->section;
	bool known = head->used_bytes != 0;
	uint64_t to = section->own_end;

	if (section->file == 0 || !extract_input_may_skip(input, head->used_bytes))
		return -ENODATA;
	int rc = known ? find_own_at(input, section, to) : -ENODATA;
	if (rc == -ENODATA && !extract_input_is_written(input)) {
		known = false;
		rc = find_own(input, section, *at, &to);
	}
	if (rc != 0 || to > end)
		return rc != 0 ? rc : -ENODATA;
	extract_leave_out(extract, input, *at, to, known ? head : NULL);
	*at = to;
	return 0;
}

struct span {
	uint64_t from, to;
};

// Padding of the slab at this offset, if any.
static struct span padding_of(const struct tl_pcapng_head *head, uint64_t at)
{
	uint32_t bytes = head->records != 0 ? tl_pcapng_pad_bytes(head->used_bytes, TL_PCAPNG_ALIGN) : 0;
	uint64_t from = bytes != 0 ? at + head->used_bytes : UINT64_MAX;

	return (struct span){from, from + bytes};
}

// Read the block at this offset, if it is of the section's file, and of a whole slab. Return its length, 0: there is
// none, or -errno. out_head: HEAD of the slab that begins here, whole or not; used_bytes is 0 if there is none.
static int64_t get_own_block(struct extract *extract, struct extract_input *input, uint64_t at, uint64_t end,
	const uint8_t **out, uint32_t *out_type, struct tl_pcapng_head *out_head)
{
	const struct extract_section *section = &extract->section;
	struct tl_pcapng_head head;

	*out_head = (struct tl_pcapng_head){0};
	int64_t bytes = get_block(extract, input, at, end, out, out_type);
	if (bytes <= 0)
		return bytes;
	bool begins = is_head(section, *out_type, *out, bytes, &head);
	if (section->file != 0 && at >= section->own_end && *out_type != TL_PCAPNG_SHB &&
		!(begins && head.file == section->file))
		return 0; // an earlier file, partly overwritten by this one; or damage
	if (!begins)
		return bytes;
	*out_head = head;
	int rc = check_slab(extract, input, at, &head);
	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	return get_block(extract, input, at, end, out, out_type); // the buffer may have moved
}

int extract_walk_file(
	struct extract *extract, struct extract_input *input, uint64_t *at, uint64_t end, extract_block_fn *fn)
{
	struct tl_pcapng_head head;
	struct span pad = {UINT64_MAX, 0}; // of the current slab
	const uint8_t *block;
	uint32_t type;
	int rc = 0;

	while (rc == 0 && *at < end) {
		if (*at == pad.from && pad.to <= end) { // not read with an index either
			*at = pad.to;
			continue;
		}
		int64_t bytes = get_own_block(extract, input, *at, end, &block, &type, &head);
		if (bytes < 0)
			return (int)bytes;
		if (bytes == 0) {
			rc = skip_damage(extract, input, at, end, &head);
			continue;
		}
		if (head.used_bytes != 0)
			pad = padding_of(&head, *at);
		rc = fn(extract, type, block, (uint32_t)bytes);
		if (rc == 0)
			*at += (uint64_t)bytes;
	}
	return rc == -ENODATA ? 0 : rc;
}
