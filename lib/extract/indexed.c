// SPDX-License-Identifier: BSD-3-Clause
// Reads a recording through its sidecar: only the slabs whose rows do not rule them out.

#include "extract_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_log.h>

#define SIDECAR_BYTES_MAX (UINT64_C(4) << 30)
#define SLAB_BYTES_MAX (64u << 20)

// The whole sidecar in memory, the caller's to free, or NULL with the reason said if there is one.
static uint8_t *load_sidecar(struct extract *extract, const char *path, size_t *out_size)
{
	struct extract_input input;
	const uint8_t *data;
	uint8_t *copy = NULL;
	char *name;

	if (asprintf(&name, "%s" TL_INDEX_SUFFIX, path) < 0)
		return NULL;
	int rc = extract_input_open(&input, extract, name);
	free(name);
	if (rc != 0)
		return NULL;
	if (input.file_bytes <= SIDECAR_BYTES_MAX &&
		extract_input_get(&input, 0, input.file_bytes, &data, out_size) == 0)
		copy = malloc(*out_size + 1);
	if (copy != NULL && *out_size != 0)
		memcpy(copy, data, *out_size);
	extract_input_close(&input);
	return copy;
}

// What lies at this place of the file, unpacked where it is packed.
static int get_slab(struct extract_input *input, uint64_t at, uint32_t len, const uint8_t **out, size_t *got)
{
	uint64_t next;

	if (len > SLAB_BYTES_MAX)
		return -ESTALE;
	if (input->packed == NULL)
		return extract_input_get(input, at, len, out, got);
	int rc = extract_packed_unit(input, at, out, got, &next);
	return rc == -ENODATA || (rc == 0 && next != at + len) ? -ESTALE : rc;
}

// The slab of a row. Returns 0, -ESTALE: it is not what the row says, or another error.
static int take_slab(struct extract *extract, struct extract_input *input, const struct tl_index_reader *reader,
	const struct tl_index_row *row)
{
	struct tl_pcapng_head head;
	const uint8_t *slab;
	size_t got;

	int rc = get_slab(input, row->offset_bytes, row->len_bytes, &slab, &got);
	if (rc != 0)
		return rc;
	if (got < TL_PCAPNG_HEAD_BYTES || tl_pcapng_get_head(slab, (uint32_t)got, &head) != 0 ||
		head.run_id != reader->header.run_id || head.sequence != row->sequence || head.ring != row->ring ||
		head.used_bytes > got || !extract_slab_is_whole(slab, got, &head))
		return -ESTALE;
	extract->stats->slabs_read++;
	return extract_walk_memory(extract, slab, head.used_bytes, extract_take_block);
}

// Every row that may matter. *at is then where scanning has to go on.
static int take_rows(struct extract *extract, struct extract_input *input, struct tl_index_reader *reader, uint64_t *at)
{
	struct tl_index_row row;
	int rc;

	while ((rc = tl_index_next(reader, &row)) == 1) {
		int result = 0;
		if (extract_match_row(extract->cfg, &row))
			result = take_slab(extract, input, reader, &row);
		if (result != 0) {
			*at = row.offset_bytes;
			return result;
		}
		extract->stats->slabs_total++;
		*at = row.offset_bytes + row.len_bytes;
	}
	return rc == 0 ? 0 : -ESTALE;
}

// Whether the sidecar speaks of this file: its size and the run of its first slab are the same.
static bool is_about(
	struct extract_input *input, const struct tl_index_reader *reader, const struct tl_index_row *first)
{
	struct tl_pcapng_head head;
	const uint8_t *data;
	size_t got;

	return reader->header.file_bytes == input->file_bytes &&
	       get_slab(input, first->offset_bytes, input->packed != NULL ? first->len_bytes : TL_PCAPNG_HEAD_BYTES,
		       &data, &got) == 0 &&
	       tl_pcapng_get_head(data, (uint32_t)got, &head) == 0 && head.run_id == reader->header.run_id;
}

// What the sidecar says of; at is behind the blocks that open the file.
static int take_by_rows(
	struct extract *extract, struct extract_input *input, struct tl_index_reader *reader, uint64_t at)
{
	extract->stats->files_indexed++;
	int rc = take_rows(extract, input, reader, &at);
	if (rc == -EBADMSG) {
		extract_say_incomplete(extract, input, at);
		return 0;
	}
	if (rc != -ESTALE)
		return rc;
	tl_warn("%s" TL_INDEX_SUFFIX ": is damaged: reading the rest of the recording, from byte %" PRIu64
		", without it; `tapline extract --reindex` makes it anew",
		input->path, at);
	input->ahead = EXTRACT_AHEAD;
	if (input->packed == NULL)
		return extract_scan(extract, input, at);
	extract_packed_seek(input, at);
	return extract_scan(extract, input, 0);
}

// The blocks before the first slab.
static int take_prologue(struct extract *extract, struct extract_input *input, uint64_t first)
{
	const uint8_t *blocks;
	uint64_t at = 0;
	size_t got;
	int rc = 0;

	if (input->packed == NULL)
		return extract_walk_file(extract, input, &at, first, extract_take_block);
	while (rc == 0 && at < first) {
		rc = extract_packed_unit(input, at, &blocks, &got, &at);
		if (rc == 0)
			rc = extract_walk_memory(extract, blocks, got, extract_take_block);
	}
	return rc;
}

int extract_indexed(struct extract *extract, struct extract_input *input, bool *out_done)
{
	struct tl_index_reader reader = {0}, peek;
	struct tl_index_row first;
	size_t size;
	int rc = 0;

	uint8_t *sidecar = load_sidecar(extract, input->path, &size);
	if (sidecar == NULL)
		return 0;
	bool good = tl_index_open(&reader, sidecar, size) == 0;
	peek = reader;
	input->ahead = 0;
	if (good && tl_index_next(&peek, &first) == 1 && is_about(input, &reader, &first)) {
		*out_done = true;
		rc = take_prologue(extract, input, first.offset_bytes);
		if (rc == 0)
			rc = take_by_rows(extract, input, &reader, first.offset_bytes);
	} else {
		tl_warn("%s" TL_INDEX_SUFFIX
			": is damaged or of another recording: reading all of this one without it; "
			"`tapline extract --reindex` makes it anew",
			input->path);
	}
	input->ahead = EXTRACT_AHEAD;
	if (input->packed != NULL && !*out_done)
		extract_packed_seek(input, 0);
	free(sidecar);
	return rc;
}
