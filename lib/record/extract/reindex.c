// SPDX-License-Identifier: BSD-3-Clause
// Rebuilds the sidecars of recordings.

#include "extract_priv.h"

#include <errno.h>
#include <string.h>

#include <tl_log.h>
#include <tl_remedy.h>

struct reindex {
	struct extract extract;
	struct tl_index_builder *builder;
	struct tl_index_rows rows;
	uint64_t run_id;
};

// Check a block between slabs. A packet there is left of a damaged slab and would have no row.
static int note_block(struct extract *extract, const struct tl_pcapng_block *head, const uint8_t *block)
{
	return tl_pcapng_is_packet(head->type) ? -ENODATA : extract_section_take(&extract->section, head, block);
}

// Check a block in a slab. A block that stops an extraction must not be hidden by a row.
static int check_block(struct extract *extract, const struct tl_pcapng_block *head, const uint8_t *block)
{
	struct tl_pcapng_packet packet;
	struct tl_pcapng_fault fault;

	if (head->type == TL_PCAPNG_SHB || head->type == TL_PCAPNG_IDB)
		return -ENODATA;
	if (!tl_pcapng_is_packet(head->type))
		return 0;
	return tl_pcapng_get_packet(&extract->section.parsed, block, head, &packet, &fault) == 0 ? 0 : -ENODATA;
}

// True if timestamps are in nanoseconds, like rows and our recordings.
static bool counts_ns(const struct tl_pcapng_section *section)
{
	for (uint32_t i = 0; i < section->n; i++) {
		const struct tl_pcapng_interface *unit = &section->interface[i];
		if (unit->multiply != 1 || unit->drop_digits != 0 || unit->shift != 0 || unit->offset_s != 0)
			return false;
	}
	return section->begun && !section->swapped;
}

// Find the next slab from *at on, and check the blocks before it. Return 1, 0: none, or -errno.
static int find_slab(struct reindex *reindex, struct extract_input *input, uint64_t *at, struct tl_pcapng_head *out)
{
	struct extract *extract = &reindex->extract;
	struct tl_pcapng_block block;
	const uint8_t *p;
	size_t got;

	while (*at < input->file_bytes) {
		int rc = extract_input_get(input, *at, TL_PCAPNG_HEAD_BYTES, &p, &got);
		if (rc != 0)
			return rc;
		if (!extract_get_block(&extract->section, p, got, &block) || block.bytes > input->file_bytes - *at)
			return 0;
		bool is_head = block.type == TL_PCAPNG_HEAD && tl_pcapng_get_head(p, (uint32_t)got, out) == 0;
		if (is_head && extract->section.file != 0 && out->file != extract->section.file)
			return 0; // an earlier file, partly overwritten by this one
		if (is_head && out->records != 0)
			return 1;
		if (is_head)
			extract->section.file = out->file;
		rc = extract_input_get(input, *at, block.bytes, &p, &got);
		if (rc != 0)
			return rc;
		if (got < block.bytes || !tl_pcapng_block_closes(p, block.bytes))
			return 0;
		rc = note_block(extract, &block, p);
		if (rc != 0)
			return rc;
		*at += block.bytes;
	}
	return 0;
}

// Add the row of a slab of size bytes in memory that occupies len bytes of the file at this offset.
static int add_row(struct reindex *reindex, const uint8_t *slab, size_t size, const struct tl_pcapng_head *head,
	uint64_t offset, uint32_t len)
{
	struct tl_extract_stats *stats = reindex->extract.stats;
	struct tl_index_row row;

	if (!extract_slab_is_whole(slab, size, head, offset))
		return -EINVAL;
	int rc = extract_walk_memory(&reindex->extract, slab, head->used_bytes, check_block);
	if (rc != 0)
		return rc;
	rc = tl_index_build(reindex->builder, slab, head->used_bytes, (uint32_t)size, offset, &row);
	if (rc != 0)
		return rc;
	row.len_bytes = len;
	reindex->run_id = head->run_id;
	stats->slabs_total++;
	stats->slabs_read++;
	stats->records_read += row.records;
	stats->records_matched += row.records;
	return tl_index_rows_add(&reindex->rows, &row);
}

static int add_slab(
	struct reindex *reindex, struct extract_input *input, uint64_t *at, const struct tl_pcapng_head *head)
{
	uint32_t len = head->used_bytes + tl_pcapng_pad_bytes(head->used_bytes, TL_PCAPNG_ALIGN);
	const uint8_t *slab;
	size_t got;

	if (head->used_bytes > EXTRACT_BLOCK_MAX)
		return -EINVAL;
	int rc = extract_input_get(input, *at, len, &slab, &got);
	if (rc != 0)
		return rc;
	rc = got == len ? add_row(reindex, slab, got, head, *at, len) : -EINVAL;
	*at += len;
	return rc;
}

// Make the rows of a compressed recording: slabs occupy units of the file.
static int make_packed_rows(struct reindex *reindex, struct extract_input *input)
{
	struct extract *extract = &reindex->extract;
	struct tl_pcapng_head head;
	const uint8_t *data;
	uint64_t at = 0, next;
	size_t got;
	int rc = extract_packed_open(input);

	while (rc == 0 && at < input->file_bytes) {
		rc = extract_packed_unit(input, at, &data, &got, &next);
		if (rc != 0)
			break;
		if (tl_pcapng_get_head(data, (uint32_t)got, &head) != 0)
			rc = extract_walk_memory(extract, data, got, note_block);
		else if (counts_ns(&extract->section.parsed))
			rc = add_row(reindex, data, got, &head, at, (uint32_t)(next - at));
		else
			return 0;
		at = next;
	}
	return rc == -EINVAL ? -ENODATA : rc;
}

// Make the rows of all slabs. Return 0 or -errno; no rows: not our recording.
static int make_rows(struct reindex *reindex, struct extract_input *input)
{
	struct tl_pcapng_head head;
	const uint8_t *first;
	uint64_t at = 0;
	size_t got;

	reindex->rows.n = 0;
	reindex->rows.used_bytes = 0;
	extract_section_free(&reindex->extract.section);
	int rc = extract_input_get(input, 0, EXTRACT_PACKED_FIRST, &first, &got);
	if (rc != 0)
		return rc;
	if (extract_is_packed(first, got))
		return make_packed_rows(reindex, input);
	while ((rc = find_slab(reindex, input, &at, &head)) == 1) {
		if (!counts_ns(&reindex->extract.section.parsed))
			return 0;
		rc = add_slab(reindex, input, &at, &head);
		if (rc != 0)
			break;
	}
	bool broken = rc == -EINVAL || rc == -ENODATA || (rc == 0 && at < input->file_bytes);
	if (broken)
		return reindex->rows.n != 0 ? -ENODATA : 0;
	return rc;
}

static int reindex_file(struct extract *extract, const char *path)
{
	struct reindex *reindex = (struct reindex *)extract; // its first member
	struct tl_extract_stats *stats = extract->stats;
	struct tl_err *err = extract->err;
	struct extract_input input;

	int rc = extract_input_open(&input, extract, path);
	if (rc == -ENOENT) {
		stats->files_gone++;
		return 0;
	}
	if (rc != 0)
		return tl_fail(err, rc, "%.300s: cannot read: %s%s", path, strerror(-rc), tl_remedy(rc));
	stats->files++;
	stats->bytes_total += input.file_bytes;
	rc = make_rows(reindex, &input);
	uint64_t file_bytes = input.file_bytes;
	extract_input_close(&input);
	if (rc == -ENODATA) {
		stats->files_incomplete++;
		tl_info("%s: is being written, was cut off, or is damaged: it gets no index", path);
		return 0;
	}
	if (rc != 0)
		return tl_fail(err, rc, "%.300s: cannot read: %s%s", path, strerror(-rc), tl_remedy(rc));
	if (reindex->rows.n == 0) {
		tl_info("%s: has no slabs: it gets no index", path);
		return 0;
	}
	if (!tl_index_remove(path))
		return tl_fail(err, -EEXIST,
			"%.300s" TL_INDEX_SUFFIX ": has no mark of an index: remove it, and reindex again", path);
	rc = tl_index_rows_write(&reindex->rows, path, file_bytes, reindex->run_id);
	if (rc != 0)
		return tl_fail(
			err, rc, "%.300s" TL_INDEX_SUFFIX ": cannot write: %s%s", path, strerror(-rc), tl_remedy(rc));
	stats->files_indexed++;
	stats->written_bytes += TL_INDEX_HEADER_BYTES + reindex->rows.used_bytes;
	return 0;
}

int tl_extract_reindex(const struct tl_extract_cfg *cfg, struct tl_extract_stats *stats, struct tl_err *err)
{
	struct reindex reindex = {.extract = {.cfg = cfg, .stats = stats}};

	*stats = (struct tl_extract_stats){0};
	reindex.builder = tl_index_builder_create();
	if (reindex.builder == NULL)
		return tl_fail(err, -ENOMEM, "no memory to make an index");
	tl_index_builder_set_inner(reindex.builder, cfg->inner);
	int rc = extract_files_list(&reindex.extract.files, cfg, err);
	if (rc == 0)
		rc = extract_each_file(&reindex.extract, reindex_file, err);
	extract_files_free(&reindex.extract.files);
	extract_section_free(&reindex.extract.section);
	tl_index_rows_free(&reindex.rows);
	tl_index_builder_destroy(reindex.builder);
	return rc;
}
