// SPDX-License-Identifier: BSD-3-Clause
// An extraction: each file through its sidecar where that is valid, otherwise from end to end.

#include "extract_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tl_log.h>
#include <tl_remedy.h>

static int judge_output(struct extract *extract, int rc)
{
	if (rc == 0)
		return 0;
	extract->output_failed = true;
	return tl_fail(
		extract->err, rc, "%.300s: cannot write: %s%s", extract->output.path, strerror(-rc), tl_remedy(rc));
}

static int take_record(struct extract *extract, const struct tl_pcapng_block *head, const uint8_t *block)
{
	const struct tl_pcapng_section *section = &extract->section.parsed;
	struct extract_record record = {.block = block, .head = *head};
	struct tl_pcapng_fault fault;
	int rc = 0;

	if (tl_pcapng_get_packet(section, block, head, &record.packet, &fault) != 0)
		return -EBADMSG;
	uint16_t linktype = section->interface[record.packet.interface_id].linktype;
	extract->stats->records_read++;
	if (!extract_match_record(extract, &record.packet, linktype))
		return 0;
	extract->stats->records_matched++;
	if (extract->cfg->decap)
		rc = extract_decap(extract, linktype, &record);
	return judge_output(extract, rc != 0 ? rc : extract_output_put(extract, &record));
}

// Map the result for a section. Return -EBADMSG for a damaged file; without memory the whole extraction fails.
static int section_result(struct extract *extract, int rc)
{
	if (rc == 0 || rc == -EINVAL)
		return rc == 0 ? 0 : -EBADMSG;
	return tl_fail(extract->err, rc, "cannot keep the interfaces of a file: %s", strerror(-rc));
}

int extract_take_block(struct extract *extract, const struct tl_pcapng_block *head, const uint8_t *block)
{
	if (tl_pcapng_is_packet(head->type))
		return take_record(extract, head, block);
	if (head->type == TL_PCAPNG_CLOCK)
		return judge_output(extract, extract_output_put_clock(extract, block, head->bytes));
	return section_result(extract, extract_section_take(&extract->section, head, block));
}

int extract_take_scanned(struct extract *extract, const struct tl_pcapng_block *block, const uint8_t *p)
{
	struct tl_pcapng_head head;

	if (block->type == TL_PCAPNG_HEAD && tl_pcapng_get_head(p, block->bytes, &head) == 0 && head.records != 0) {
		extract->stats->slabs_total++;
		extract->stats->slabs_read++;
	}
	return extract_take_block(extract, block, p);
}

void extract_warn_truncated(struct extract *extract, const struct extract_input *input, uint64_t at)
{
	extract->stats->files_incomplete++;
	tl_info("%s: no whole block at byte %" PRIu64
		": it is being written, was cut off, or is damaged there; extracted up to "
		"there",
		input->path, at);
}

void extract_leave_out(struct extract *extract, const struct extract_input *input, uint64_t from, uint64_t to,
	const struct tl_pcapng_head *head)
{
	struct tl_extract_stats *stats = extract->stats;

	stats->bytes_damaged += to - from;
	if (head != NULL) {
		stats->slabs_damaged++;
		stats->records_damaged += head->records;
		tl_warn("%s: the slab from byte %" PRIu64 " to %" PRIu64
			" is damaged, or being written: left out, with %" PRIu32 " packets",
			input->path, from, to - 1, head->records);
	} else {
		stats->areas_damaged++;
		tl_warn("%s: bytes %" PRIu64 " to %" PRIu64
			" are damaged, or being written: left out, with an unknown number of packets",
			input->path, from, to - 1);
	}
	if (extract->lacking_rc == 0 && !extract_input_is_written(input))
		extract->lacking_rc = tl_fail(&extract->lacking, -EBADMSG,
			"%.300s: is damaged from byte %" PRIu64
			" on, and was extracted without its damaged slabs; `tapline recover` names what is missing",
			input->path, from);
}

// Tell whether the record at this offset is unwritten space: zeros, or nothing.
static bool is_blank(struct extract_input *input, uint64_t at)
{
	static const uint8_t zeros[TL_PCAPNG_PAD_MIN];
	const uint8_t *data;
	size_t got;

	return extract_input_get(input, at, sizeof(zeros), &data, &got) == 0 && memcmp(data, zeros, got) == 0;
}

// Tell whether the block that could not be taken is damaged. A block of another program's file may be cut off; what a
// crash leaves of our own is known. A compressed file that does not begin with a unit is not ours.
static bool is_damaged(struct extract *extract, struct extract_input *input, uint64_t at)
{
	const struct extract_section *section = &extract->section;
	struct tl_pcapng_block block;
	const uint8_t *data;
	size_t got;

	if (input->packed != NULL)
		return at == 0 && input->file_bytes >= TL_PCAPNG_ALIGN;
	if (section->own_end != 0 || extract_input_get(input, at, TL_PCAPNG_PAD_MIN, &data, &got) != 0 ||
		got < TL_PCAPNG_PAD_MIN)
		return false;
	return !extract_get_block(section, data, got, &block) ? !is_blank(input, at)
							      : block.bytes <= input->file_bytes - at;
}

// Remember that the packets of the file from here on are missing, unless it is being written.
static void note_damage(struct extract *extract, const struct extract_input *input, uint64_t at)
{
	if (!extract_input_is_written(input))
		extract->lacking_rc = tl_fail(&extract->lacking, -EBADMSG,
			input->packed != NULL ? "%.300s: no recording begins at byte %" PRIu64
						": it is damaged, or compressed by another program: unpack it first"
					      : "%.300s: is damaged from byte %" PRIu64
						" on, and was extracted up to there",
			input->path, at);
}

int extract_scan(struct extract *extract, struct extract_input *input, uint64_t at)
{
	uint64_t slabs = extract->stats->slabs_total, from = at;
	int rc = extract_walk_file(extract, input, &at, extract_input_end(input), extract_take_scanned);

	extract->stats->files_unindexed += from == 0 && extract->stats->slabs_total != slabs;
	if (rc == -EBADMSG || (rc == 0 && !extract_input_is_end(input, at))) {
		extract_warn_truncated(extract, input, at);
		if (is_damaged(extract, input, at))
			note_damage(extract, input, at);
		rc = 0;
	}
	return rc;
}

// ---- files

// Extract from classic pcap, with an interface made from its header.
static int take_classic(struct extract *extract, struct extract_input *input, struct tl_err *err)
{
	const char *path = input->path;
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	uint8_t block[64];
	int rc = tl_pcap_open_any(path, &reader, err), next;

	if (rc != 0)
		return rc;
	uint8_t *epb = malloc(tl_pcapng_epb_bytes(EXTRACT_BLOCK_MAX, 0, 0));
	if (epb == NULL) {
		tl_pcap_close(reader);
		return tl_fail(err, -ENOMEM, "%s: no memory to read it", path);
	}
	extract_section_free(&extract->section);
	extract->section.parsed.begun = true;
	uint32_t len = tl_pcapng_put_idb(block, sizeof(block), &(struct tl_pcapng_idb){0});
	tl_pcapng_set_linktype(block, (uint16_t)tl_pcap_linktype(reader));
	rc = extract_section_add(&extract->section, block, len);
	while (rc == 0 && (next = tl_pcap_next(reader, &frame, err)) == 1) {
		const struct tl_pcapng_block head = {TL_PCAPNG_EPB, tl_pcapng_epb_bytes(frame.cap_bytes, 0, 0)};
		const struct tl_pcapng_epb fields = {
			.cap_bytes = frame.cap_bytes, .wire_bytes = frame.wire_bytes, .ts_ns = frame.ts_ns};
		memcpy(tl_pcapng_put_epb(epb, &fields), frame.data, frame.cap_bytes);
		extract_pace(extract, TL_PCAP_RECORD_BYTES + frame.cap_bytes);
		rc = take_record(extract, &head, epb);
	}
	if (rc == 0 && next != 0) {
		extract->stats->files_incomplete++;
		tl_info("%s; extracted up to there", err->text);
		if (!tl_pcap_needs_more(reader) && !is_blank(input, tl_pcap_fault_offset(reader)))
			note_damage(extract, input, tl_pcap_fault_offset(reader));
	}
	tl_pcap_close(reader);
	free(epb);
	return rc;
}

static int take_pcapng(struct extract *extract, struct extract_input *input)
{
	bool done = false;
	int rc = extract->cfg->no_index ? 0 : extract_indexed(extract, input, &done);

	return rc != 0 || done ? rc : extract_scan(extract, input, 0);
}

// Choose the format by the first word of the file.
static int take_any(struct extract *extract, struct extract_input *input, uint32_t magic)
{
	int rc = magic == EXTRACT_PACKED_MAGIC ? extract_packed_open(input) : 0;

	if (rc != 0)
		return rc;
	if (magic == TL_PCAPNG_SHB || magic == EXTRACT_PACKED_MAGIC)
		return take_pcapng(extract, input);
	rc = take_classic(extract, input, extract->err);
	posix_fadvise(input->fd, 0, 0, POSIX_FADV_DONTNEED); // drop its mapped pages
	return rc;
}

// Extract one file. Return 0, an error of this file only, or one of the output.
static int take_file(struct extract *extract, const char *path)
{
	struct extract_input input;
	const uint8_t *data;
	uint32_t magic = 0;
	size_t got;

	int rc = extract_input_open(&input, extract, path);
	if (rc == -ENOENT) {
		extract->stats->files_gone++;
		tl_info("%s: removed", path);
		return 0;
	}
	if (rc != 0)
		return tl_fail(extract->err, rc, "%.300s: cannot read: %s%s", path,
			rc == -EINVAL ? "not a regular file" : strerror(-rc), tl_remedy(rc));
	extract->path = path;
	extract->lacking_rc = 0;
	extract->stats->files++;
	extract->stats->bytes_total += input.file_bytes;
	input.ahead = 0; // a sidecar may make the rest unnecessary
	rc = extract_input_get(&input, 0, sizeof(magic), &data, &got);
	if (rc == 0 && got == sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	input.ahead = EXTRACT_AHEAD;
	extract->err->text[0] = '\0';
	extract_section_free(&extract->section);
	if (rc == 0 && got != 0)
		rc = take_any(extract, &input, magic);
	extract_input_close(&input);
	if (rc != 0 && extract->err->text[0] == '\0')
		tl_fail(extract->err, rc, "%.300s: cannot read: %s%s", path, strerror(-rc), tl_remedy(rc));
	if (rc == 0 && extract->lacking_rc != 0)
		*extract->err = extract->lacking;
	return rc != 0 ? rc : extract->lacking_rc;
}

int extract_each_file(struct extract *extract, extract_file_fn *fn, struct tl_err *err)
{
	struct tl_err now;
	int first = 0;

	extract->err = &now;
	for (uint32_t i = 0; i < extract->files.n && !extract->output_failed; i++) {
		int rc = fn(extract, extract->files.file[i].path);
		if (rc == 0)
			continue;
		if (first == 0)
			*err = now;
		else
			tl_error("%s", now.text);
		first = first != 0 ? first : rc;
	}
	extract->err = NULL;
	return first;
}

// Close the output after the files, with this result. An error of either is reported.
static int close_output(struct extract *extract, int rc, struct tl_err *err)
{
	int later = extract_output_close(extract);

	if (later == 0 || extract->output_failed)
		return rc;
	if (rc != 0)
		tl_error("%s", err->text);
	return tl_fail(
		err, later, "%.300s: cannot write: %s%s", extract->output.path, strerror(-later), tl_remedy(later));
}

int tl_extract_run(const struct tl_extract_cfg *cfg, struct tl_extract_stats *stats, struct tl_err *err)
{
	struct extract extract = {.cfg = cfg, .stats = stats, .output = {.fd = -1}};
	int rc = 0;

	*stats = (struct tl_extract_stats){0};
	if (cfg->filter != NULL)
		rc = tl_filter_links_create(cfg->filter, &extract.filter, err);
	if (rc == 0)
		rc = extract_files_list(&extract.files, cfg, err);
	if (rc == 0)
		rc = extract_output_open(&extract, err);
	if (rc == 0) {
		rc = extract_each_file(&extract, take_file, err);
		rc = close_output(&extract, rc, err);
	}
	extract_output_free(&extract.output);
	extract_section_free(&extract.section);
	extract_files_free(&extract.files);
	tl_filter_links_destroy(extract.filter);
	free(extract.peeled);
	return rc;
}
