// SPDX-License-Identifier: BSD-3-Clause
// Extraction through a sidecar: only slabs that their rows do not exclude.

#include "extract_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_log.h>

#define SIDECAR_BYTES_MAX (UINT64_C(1) << 30)
#define SLAB_BYTES_MAX (64u << 20)

// Upper limit for the sidecar's size. Filters grow with the packets of a slab, many per page in compressed recordings.
static uint64_t sidecar_bytes_max(const struct extract_input *input)
{
	uint64_t of_size =
		input->packed == NULL ? input->file_bytes / 4 : input->file_bytes / TL_PCAPNG_ALIGN * TL_INDEX_ROW_MAX;

	return tl_min_u64(TL_INDEX_HEADER_BYTES + of_size, SIDECAR_BYTES_MAX);
}

// Open the sidecar. False: there is none.
static bool open_sidecar(struct extract *extract, const struct extract_input *input, struct extract_input *out)
{
	char *name;

	if (asprintf(&name, "%s" TL_INDEX_SUFFIX, input->path) < 0)
		return false;
	int rc = extract_input_open(out, extract, name);
	free(name);
	out->path = input->path;
	out->ahead = 0;
	return rc == 0;
}

// Load the sidecar into its input: first the header, then the rest if the header matches the recording. False: it does
// not cover the recording as written.
static bool load_sidecar(const struct extract_input *input, struct extract_input *sidecar, struct tl_index_reader *out)
{
	const uint8_t *data;
	size_t got;

	if (sidecar->file_bytes > sidecar_bytes_max(input) ||
		extract_input_get(sidecar, 0, TL_INDEX_HEADER_BYTES, &data, &got) != 0 ||
		tl_index_open(out, data, got) != 0 || out->header.file_bytes != input->file_bytes)
		return false;
	return extract_input_get(sidecar, 0, sidecar->file_bytes, &data, &got) == 0 &&
	       tl_index_open(out, data, got) == 0 && tl_index_is_complete(out);
}

// Read at this offset of the file, decompressed if packed.
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

// Take the slab of a row. Return 0, -ESTALE: not as the row describes it, or another error.
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
		head.used_bytes + tl_pcapng_pad_bytes(head.used_bytes, TL_PCAPNG_ALIGN) != got ||
		!extract_slab_is_whole(slab, got, &head, row->offset_bytes))
		return -ESTALE;
	extract->stats->slabs_read++;
	return extract_walk_memory(extract, slab, head.used_bytes, extract_take_block);
}

// Take what no row covers, from *at to an offset: the blocks between slabs, and slabs without a row. Return 0 with *at
// at the end, -ESTALE: no block at *at, or another error.
static int take_between(struct extract *extract, struct extract_input *input, uint64_t *at, uint64_t to)
{
	uint64_t slabs = extract->stats->slabs_total, next;
	const uint8_t *blocks;
	size_t got;
	int rc = 0;

	if (input->packed == NULL)
		rc = extract_walk_file(extract, input, at, to, extract_take_scanned);
	while (rc == 0 && input->packed != NULL && *at < to) {
		rc = extract_packed_unit(input, *at, &blocks, &got, &next);
		if (rc == 0)
			rc = extract_walk_memory(extract, blocks, got, extract_take_scanned);
		if (rc == 0)
			*at = next;
	}
	if (slabs != extract->stats->slabs_total)
		tl_warn("%s" TL_INDEX_SUFFIX ": lacks rows before byte %" PRIu64
			": these slabs were read without it; `tapline extract --reindex` makes it anew",
			input->path, to);
	return rc == -ENODATA || (rc == 0 && *at < to) ? -ESTALE : rc;
}

// Take slabs that may match, and everything between slabs. *at becomes the offset from which to scan.
static int take_rows(struct extract *extract, struct extract_input *input, struct tl_index_reader *reader, uint64_t *at)
{
	struct tl_index_row row;
	int rc;

	while ((rc = tl_index_next(reader, &row)) == 1) {
		int result = take_between(extract, input, at, row.offset_bytes);
		if (result == 0 && extract_match_row(extract->cfg, &row))
			result = take_slab(extract, input, reader, &row);
		if (result != 0)
			return result;
		extract->stats->slabs_total++;
		*at = row.offset_bytes + row.len_bytes;
	}
	return rc == 0 ? take_between(extract, input, at, input->file_bytes) : -ESTALE;
}

// True if the first row's slab is of the sidecar's run.
static bool is_same_run(struct extract_input *input, const struct tl_index_reader *reader)
{
	struct tl_index_reader peek = *reader;
	struct tl_index_row first;
	struct tl_pcapng_head head;
	const uint8_t *data;
	size_t got;

	return tl_index_next(&peek, &first) == 1 &&
	       get_slab(input, first.offset_bytes, input->packed != NULL ? first.len_bytes : TL_PCAPNG_HEAD_BYTES,
		       &data, &got) == 0 &&
	       tl_pcapng_get_head(data, (uint32_t)got, &head) == 0 && head.run_id == reader->header.run_id;
}

// Take the whole file, without slabs that the rows exclude.
static int take_by_rows(struct extract *extract, struct extract_input *input, struct tl_index_reader *reader)
{
	uint64_t at = 0;

	extract->stats->files_indexed++;
	int rc = take_rows(extract, input, reader, &at);
	if (rc == -EBADMSG) {
		extract_warn_truncated(extract, input, at);
		return 0;
	}
	if (rc != -ESTALE)
		return rc;
	tl_warn("%s" TL_INDEX_SUFFIX ": is damaged, or the recording is: reading the rest of it, from byte %" PRIu64
		", without an index; `tapline extract --reindex` makes it anew",
		input->path, at);
	input->ahead = EXTRACT_AHEAD;
	if (input->packed == NULL)
		return extract_scan(extract, input, at);
	extract_packed_seek(input, at);
	return extract_scan(extract, input, 0);
}

int extract_indexed(struct extract *extract, struct extract_input *input, bool *out_done)
{
	struct tl_index_reader reader;
	struct extract_input sidecar;
	int rc = 0;

	if (!open_sidecar(extract, input, &sidecar))
		return 0;
	input->ahead = 0;
	*out_done = load_sidecar(input, &sidecar, &reader) && is_same_run(input, &reader);
	if (*out_done)
		rc = take_by_rows(extract, input, &reader);
	else
		tl_warn("%s" TL_INDEX_SUFFIX
			": is damaged, lacks rows, or is of another recording: reading all of this one "
			"without it; `tapline extract --reindex` makes it anew",
			input->path);
	input->ahead = EXTRACT_AHEAD;
	if (input->packed != NULL && !*out_done)
		extract_packed_seek(input, 0);
	extract_input_close(&sidecar);
	return rc;
}
