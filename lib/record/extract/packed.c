// SPDX-License-Identifier: BSD-3-Clause
// Compressed recordings (tl_zslab.h), presented uncompressed: units are decompressed one by one, and freed once passed.
// A damaged unit is skipped: to its end by its HEAD if a unit begins there, else to the next slab of the recording.

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_zslab.h>

#define CONTENT_BYTES_MAX (64u << 20)
#define RINGS_MAX 256u // with checked sequence numbers

struct extract_packed {
	struct tl_zslab_unpacker *unpacker;
	uint64_t unit_at; // next unit in the file
	uint8_t *content;
	size_t capacity, len;
	uint64_t content_at; // offset of content[0] in the uncompressed file
	bool run_known;
	uint64_t run_id;
	uint64_t next_sequence[RINGS_MAX]; // after the last slab of each ring
};

bool extract_is_packed(const void *data, size_t size)
{
	struct tl_zslab_unit unit;

	return tl_zslab_look(data, size, &unit) == 0;
}

int extract_packed_open(struct extract_input *input)
{
	struct extract_packed *packed = calloc(1, sizeof(*packed));

	if (packed == NULL)
		return -ENOMEM;
	packed->unpacker = tl_zslab_unpacker_create();
	if (packed->unpacker == NULL) {
		free(packed);
		return -ENOMEM;
	}
	input->packed = packed;
	return 0;
}

void extract_packed_close(struct extract_packed *packed)
{
	if (packed == NULL)
		return;
	tl_zslab_unpacker_destroy(packed->unpacker);
	free(packed->content);
	free(packed);
}

// Read the next unit whole into *out. Return 0, -ENODATA: none, or another -errno.
static int get_unit(struct extract_input *input, const uint8_t **out, struct tl_zslab_unit *unit)
{
	uint64_t at = input->packed->unit_at;
	size_t got, len = EXTRACT_PACKED_FIRST;

	int rc = extract_input_raw(input, at, TL_ZSLAB_HEAD_BYTES, out, &got);
	if (rc != 0)
		return rc;
	if (tl_zslab_get_head(*out, got, unit) == 0)
		len = unit->unit_bytes;
	if (len > EXTRACT_SLAB_BYTES_MAX)
		return -ENODATA;
	rc = extract_input_raw(input, at, len, out, &got);
	if (rc != 0)
		return rc;
	return tl_zslab_look(*out, got, unit) == 0 && unit->unit_bytes != 0 ? 0 : -ENODATA;
}

static int make_room(struct extract_packed *packed, uint32_t bytes)
{
	size_t need = packed->len + bytes;

	if (need <= packed->capacity)
		return 0;
	if (need > CONTENT_BYTES_MAX)
		return -ENODATA;
	uint8_t *content = realloc(packed->content, need);
	if (content == NULL)
		return -ENOMEM;
	packed->content = content;
	packed->capacity = need;
	return 0;
}

// Remember the slab, to recognize later ones.
static void note_slab(struct extract_packed *packed, const struct tl_pcapng_head *head)
{
	packed->run_known = true;
	packed->run_id = head->run_id;
	if (head->ring < RINGS_MAX)
		packed->next_sequence[head->ring] = head->sequence + 1;
}

static int append_unit(struct extract_input *input)
{
	struct extract_packed *packed = input->packed;
	struct tl_zslab_unit unit;
	const uint8_t *data;

	int rc = get_unit(input, &data, &unit);
	if (rc == 0)
		rc = make_room(packed, unit.content_bytes);
	if (rc != 0)
		return rc;
	int64_t n = unit.content_bytes == 0 ? 0
					    : tl_zslab_unpack(packed->unpacker, data, &unit,
						      packed->content + packed->len, unit.content_bytes);
	if (n < 0)
		return -ENODATA;
	if (unit.slab)
		note_slab(packed, &unit.head);
	packed->len += (size_t)n;
	packed->unit_at += unit.unit_bytes;
	return 0;
}

void extract_packed_seek(struct extract_input *input, uint64_t unit_at)
{
	input->packed->unit_at = unit_at;
	input->packed->content_at = 0;
	input->packed->len = 0;
}

int extract_packed_unit(
	struct extract_input *input, uint64_t unit_at, const uint8_t **out, size_t *got, uint64_t *out_next)
{
	struct extract_packed *packed = input->packed;

	extract_packed_seek(input, unit_at);
	int rc = append_unit(input);
	*out = packed->content;
	*got = packed->len;
	*out_next = packed->unit_at;
	return rc;
}

static void drop_before(struct extract_packed *packed, uint64_t offset)
{
	size_t passed = tl_min_u64(offset - packed->content_at, packed->len);

	if (passed == 0)
		return;
	packed->len -= passed;
	memmove(packed->content, packed->content + passed, packed->len);
	packed->content_at += passed;
}

// ---- damage

// Read the HEAD of a later slab of the recording at this offset. A payload may contain slabs, too. Return 0, -ENODATA:
// none, or another -errno.
static int get_later(struct extract_input *input, uint64_t at, struct tl_zslab_unit *out)
{
	const struct extract_packed *packed = input->packed;
	const uint8_t *data;
	size_t got;

	int rc = extract_input_raw(input, at, TL_ZSLAB_HEAD_BYTES, &data, &got);
	if (rc != 0)
		return rc;
	if (tl_zslab_get_head(data, got, out) != 0 || (packed->run_known && out->head.run_id != packed->run_id))
		return -ENODATA;
	uint32_t ring = out->head.ring;
	return ring >= RINGS_MAX || out->head.sequence >= packed->next_sequence[ring] ? 0 : -ENODATA;
}

// Find the next slab at this offset or later. Return 0, -ENODATA: none, or another -errno.
static int find_later(struct extract_input *input, uint64_t at, uint64_t *out_at)
{
	struct tl_zslab_unit unit;
	int rc = -ENODATA;

	for (; rc == -ENODATA; at += TL_PCAPNG_ALIGN) {
		at = extract_input_data_from(input, at);
		if (at >= input->file_bytes)
			break;
		rc = get_later(input, at, &unit);
		*out_at = at;
	}
	return rc;
}

// True if a unit begins at this offset.
static bool begins_unit(struct extract_input *input, uint64_t at)
{
	struct tl_zslab_unit unit;
	const uint8_t *data;
	size_t got;

	if (at >= input->file_bytes || extract_input_raw(input, at, EXTRACT_PACKED_FIRST, &data, &got) != 0)
		return false;
	return tl_zslab_get_head(data, got, &unit) == 0 || tl_zslab_look(data, got, &unit) == 0;
}

// Skip the damaged unit. Return 0, -ENODATA: nothing of the recording follows, or another -errno.
static int skip_damage(struct extract_input *input)
{
	struct extract_packed *packed = input->packed;
	struct tl_zslab_unit unit;
	uint64_t from = packed->unit_at, to = 0;

	if (from == 0 || from >= input->file_bytes || !extract_input_may_skip(input, 0))
		return -ENODATA;
	int rc = get_later(input, from, &unit);
	if (rc == 0) {
		(void)extract_input_may_skip(input, unit.unit_bytes);
		to = from + unit.unit_bytes;
	}
	bool known = rc == 0 && begins_unit(input, to);
	if (!known && (rc == 0 || rc == -ENODATA))
		rc = find_later(input, tl_align_up(from + 1, TL_PCAPNG_ALIGN), &to);
	if (rc != 0)
		return rc;
	extract_leave_out(input->extract, input, from, to, known ? &unit.head : NULL);
	packed->unit_at = to;
	return 0;
}

// Offsets must not decrease beyond what is still in memory.
int extract_packed_get(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got)
{
	struct extract_packed *packed = input->packed;
	uint64_t end = packed->content_at + packed->len;

	if (offset < packed->content_at)
		return -EIO;
	while (end < offset + len) {
		drop_before(packed, offset);
		int rc = append_unit(input);
		if (rc == -ENODATA)
			rc = skip_damage(input);
		if (rc == -ENODATA)
			break;
		if (rc != 0)
			return rc;
		end = packed->content_at + packed->len;
	}
	*got = end > offset ? tl_min_u64(end - offset, len) : 0;
	*out = *got != 0 ? packed->content + (offset - packed->content_at) : NULL;
	return 0;
}

bool extract_packed_is_end(const struct extract_input *input, uint64_t offset)
{
	const struct extract_packed *packed = input->packed;

	return packed->unit_at >= input->file_bytes && offset == packed->content_at + packed->len;
}
