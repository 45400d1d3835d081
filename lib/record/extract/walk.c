// SPDX-License-Identifier: BSD-3-Clause
// Walk over blocks, in memory or through a file. Every length is checked before a byte after it is read.

#include "extract_priv.h"

#include <errno.h>
#include <string.h>

#include <tl_digest.h>

bool extract_get_block(
	const struct extract_section *section, const uint8_t *p, size_t size, struct tl_pcapng_block *out)
{
	struct tl_pcapng_fault fault;

	if (size < TL_PCAPNG_PAD_MIN || tl_pcapng_get_block(section->parsed.swapped, p, out, &fault) != 0)
		return false;
	return (section->parsed.begun || out->type == TL_PCAPNG_SHB) && out->bytes <= EXTRACT_BLOCK_MAX;
}

bool extract_slab_is_whole(const uint8_t *p, size_t size, const struct tl_pcapng_head *head, uint64_t offset)
{
	return size >= head->used_bytes && tl_digest_is_right(head, p, offset) &&
	       tl_pcapng_slab_is_whole(p, head, NULL, NULL);
}

int extract_walk_memory(struct extract *extract, const uint8_t *data, size_t size, extract_block_fn *fn)
{
	struct tl_pcapng_block head;

	for (size_t at = 0; at < size; at += head.bytes) {
		if (!extract_get_block(&extract->section, data + at, size - at, &head) || head.bytes > size - at ||
			!tl_pcapng_block_closes(data + at, head.bytes))
			return -EINVAL;
		int rc = fn(extract, &head, data + at);
		if (rc != 0)
			return rc;
	}
	return 0;
}

// A block in the buffer of the input.
struct found {
	struct tl_pcapng_block head;
	const uint8_t *p;
};

// Read the whole block at this offset. Return 1, 0: there is none, or -errno.
static int get_block(struct extract *extract, struct extract_input *input, uint64_t at, uint64_t end, struct found *out)
{
	size_t got, len = tl_min_u64(TL_PCAPNG_PAD_MIN, end - at);

	int rc = extract_input_get(input, at, len, &out->p, &got);
	if (rc != 0)
		return rc;
	if (!extract_get_block(&extract->section, out->p, got, &out->head) || out->head.bytes > end - at)
		return 0;
	rc = extract_input_get(input, at, out->head.bytes, &out->p, &got);
	if (rc != 0)
		return rc;
	return got == out->head.bytes && tl_pcapng_block_closes(out->p, out->head.bytes);
}

// True for our HEAD block.
static bool is_head(const struct extract_section *section, const struct found *block, struct tl_pcapng_head *out)
{
	return block->head.type == TL_PCAPNG_HEAD && block->head.bytes == TL_PCAPNG_HEAD_BYTES &&
	       !section->parsed.swapped && tl_pcapng_get_head(block->p, TL_PCAPNG_HEAD_BYTES, out) == 0 &&
	       out->used_bytes <= EXTRACT_BLOCK_MAX;
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

// Read the block at this offset, if it is of the section's file, and of a whole slab. Return 1, 0: there is none, or
// -errno. out_head: HEAD of the slab that begins here, whole or not; used_bytes is 0 if there is none.
static int get_own_block(struct extract *extract, struct extract_input *input, uint64_t at, uint64_t end,
	struct found *out, struct tl_pcapng_head *out_head)
{
	const struct extract_section *section = &extract->section;
	struct tl_pcapng_head head;

	*out_head = (struct tl_pcapng_head){0};
	int rc = get_block(extract, input, at, end, out);
	if (rc != 1)
		return rc;
	bool begins = is_head(section, out, &head);
	if (section->file != 0 && at >= section->own_end && out->head.type != TL_PCAPNG_SHB &&
		!(begins && head.file == section->file))
		return 0; // an earlier file, partly overwritten by this one; or damage
	if (!begins)
		return 1;
	*out_head = head;
	rc = check_slab(extract, input, at, &head);
	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	return get_block(extract, input, at, end, out); // the buffer may have moved
}

int extract_walk_file(
	struct extract *extract, struct extract_input *input, uint64_t *at, uint64_t end, extract_block_fn *fn)
{
	struct tl_pcapng_head head;
	struct span pad = {UINT64_MAX, 0}; // of the current slab
	struct found block;
	int rc = 0;

	while (rc == 0 && *at < end) {
		if (*at == pad.from && pad.to <= end) { // not read with an index either
			*at = pad.to;
			continue;
		}
		int whole = get_own_block(extract, input, *at, end, &block, &head);
		if (whole < 0)
			return whole;
		if (whole == 0) {
			rc = skip_damage(extract, input, at, end, &head);
			continue;
		}
		if (head.used_bytes != 0)
			pad = padding_of(&head, *at);
		rc = fn(extract, &block.head, block.p);
		if (rc == 0)
			*at += block.head.bytes;
	}
	return rc == -ENODATA ? 0 : rc;
}
