// SPDX-License-Identifier: BSD-3-Clause
// Writes the result of the scan. After every step the next scan reaches the same result: only damaged bytes are
// overwritten, and become a block by the length written last; a file is truncated only after whole blocks; incomplete
// statistics are truncated again.

#include "recover_priv.h"

#include <stdlib.h>
#include <string.h>

#include <tl_remedy.h>
#include <tl_zslab.h>

#define MADE_BYTES_MAX 65536u
#define MADE_ROOM (2 * MADE_BYTES_MAX) // with padding, or packed without gain

static int write_at(struct scan *scan, const void *data, uint32_t len, uint64_t offset)
{
	int rc = scan->io->write(scan->io->ctx, data, len, offset);

	return rc == 0 ? 0
		       : tl_fail(scan->err, rc, "cannot write at byte %llu: %s%s", (unsigned long long)offset,
				 strerror(-rc), tl_remedy(rc));
}

static int write_word(struct scan *scan, uint32_t word, uint64_t offset)
{
	return write_at(scan, &word, sizeof(word), offset);
}

// Write blocks over damage: data has all but the first eight bytes, type and length of the first block. While these are
// 0 there is no block, whatever was there before.
static int write_over(
	struct scan *scan, uint64_t offset, const uint32_t head[2], const void *data, uint32_t len, uint64_t data_at)
{
	int rc = write_word(scan, 0, offset + 4);

	if (rc == 0)
		rc = write_at(scan, data, len, data_at);
	if (rc == 0)
		rc = write_word(scan, head[0], offset);
	return rc != 0 ? rc : write_word(scan, head[1], offset + 4);
}

// ---- opening blocks

// Rebuild the lost blocks from the records. Return their bytes, 0 if they do not fit.
static uint32_t rebuild_blocks(const struct scan *scan, uint8_t *buf, uint32_t size)
{
	uint32_t used = 0, len = 1;

	if (scan->header_lost) {
		len = tl_pcapng_put_shb(buf, size,
			&(struct tl_pcapng_shb){.application = "tapline " TL_VERSION " (header rebuilt by recover)"});
		used += len;
	}
	for (uint32_t i = scan->lost_from; i < scan->lost_to && len != 0; i++) {
		len = tl_pcapng_put_idb(buf + used, size - used,
			&(struct tl_pcapng_idb){.description = "rebuilt by recover: port, queue and clock unknown",
				.snaplen = scan->snaplen});
		used += len;
	}
	return len == 0 ? 0 : used;
}

// Pad the blocks for an offset up to a boundary, or pack them. Return their bytes, or -errno.
static int64_t finish_blocks(const struct scan *scan, uint8_t *buf, uint32_t len, uint64_t offset)
{
	if (!scan->form->packed) {
		uint32_t pad = tl_pcapng_pad_bytes(offset + len, TL_PCAPNG_ALIGN);
		if (pad != 0)
			tl_pcapng_put_pad(buf + len, pad);
		return len + pad;
	}
	uint8_t *blocks = malloc(len);
	if (blocks == NULL)
		return -ENOMEM;
	memcpy(blocks, buf, len);
	int64_t bytes = recover_pack(blocks, len, buf, MADE_ROOM);
	free(blocks);
	return bytes;
}

int recover_plan_prologue(struct scan *scan)
{
	struct gap *gap = &scan->gaps[0];

	if (!scan->header_lost && scan->lost_to == scan->lost_from)
		return 0;
	scan->made = malloc(MADE_ROOM);
	if (scan->made == NULL)
		return -ENOMEM;
	uint32_t len = rebuild_blocks(scan, scan->made, MADE_BYTES_MAX);
	int64_t bytes = len != 0 ? finish_blocks(scan, scan->made, len, gap->from) : 0;
	if (bytes < 0)
		return (int)bytes;
	// A lost header has one page only: a later scan finds it lost until it is written.
	if (bytes == 0 || gap->from + (uint64_t)bytes > (scan->header_lost ? TL_PCAPNG_ALIGN : gap->to))
		return tl_fail(scan->err, -ENOMSG,
			"the description of its interfaces is lost, and no space is left for another before the first "
			"slab: the file stays as it is");
	scan->made_at = gap->from;
	scan->made_bytes = (uint32_t)bytes;
	gap->from += scan->made_bytes;
	scan->report->rebuilt_section = scan->header_lost;
	scan->report->rebuilt_interfaces = scan->lost_to - scan->lost_from;
	return 0;
}

static int put_made(struct scan *scan)
{
	uint32_t head[2];

	if (scan->made == NULL)
		return 0;
	memcpy(head, scan->made, sizeof(head));
	return write_over(scan, scan->made_at, head, scan->made + sizeof(head), scan->made_bytes - sizeof(head),
		scan->made_at + sizeof(head));
}

// ---- gaps

static int cover_with_pad(struct scan *scan, uint64_t file, uint64_t at, uint32_t len)
{
	uint32_t head[2] = {TL_PCAPNG_PAD, len};

	if (scan->form->packed)
		tl_zslab_put_pad(head, len);
	// The trailing length is not needed in the packed form.
	return write_over(scan, at, head, &len, sizeof(len), at + len - sizeof(len));
}

// Cover with a HEAD before the PAD, to distinguish it from blocks of an earlier file in the same place.
static int cover_with_head(struct scan *scan, uint64_t file, uint64_t at, uint32_t len)
{
	uint32_t pad[2] = {TL_PCAPNG_PAD, len - TL_PCAPNG_HEAD_BYTES}, head[2];
	uint8_t blocks[TL_PCAPNG_HEAD_BYTES + sizeof(pad)];

	tl_pcapng_put_head(blocks, &(struct tl_pcapng_head){.used_bytes = len, .file = file});
	memcpy(blocks + TL_PCAPNG_HEAD_BYTES, pad, sizeof(pad));
	memcpy(head, blocks, sizeof(head));
	int rc = write_word(scan, 0, at + 4); // invalidate first
	if (rc == 0)
		rc = write_word(scan, pad[1], at + len - sizeof(pad[1]));
	return rc != 0 ? rc
		       : write_over(scan, at, head, blocks + sizeof(head), sizeof(blocks) - sizeof(head),
				 at + sizeof(head));
}

// Cover the gap from its last piece to its first: until the first is written, a later recovery finds the same gap.
// Every piece but the first begins on a boundary, so none is too small for a block.
static int cover(struct scan *scan, const struct gap *gap)
{
	bool first_is_own = gap->file != 0 && gap->from % TL_PCAPNG_ALIGN == 0;
	uint64_t most = gap->file != 0 && !first_is_own ? 2 * TL_PCAPNG_ALIGN : PAD_BYTES_MAX;
	uint64_t second = tl_min_u64(gap->to, gap->from / TL_PCAPNG_ALIGN * TL_PCAPNG_ALIGN + most), at = second;
	uint64_t end = gap->to;
	int rc = 0;

	if (end > second)
		at += (end - second - 1) / PAD_BYTES_MAX * PAD_BYTES_MAX;
	for (; end > second && rc == 0; end = at, at -= PAD_BYTES_MAX)
		rc = (gap->file != 0 ? cover_with_head : cover_with_pad)(scan, gap->file, at, (uint32_t)(end - at));
	if (rc != 0 || gap->from == gap->to)
		return rc;
	return (first_is_own ? cover_with_head : cover_with_pad)(
		scan, gap->file, gap->from, (uint32_t)(second - gap->from));
}

// ---- closing blocks

static bool lacks_statistics(const struct scan *scan, uint32_t number)
{
	uint64_t at = scan->interface[number].statistics_at;

	return at == 0 || at < scan->records_end || at >= scan->report->end_bytes;
}

uint32_t recover_lacking_statistics(const struct scan *scan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < scan->report->interfaces; i++)
		n += lacks_statistics(scan, i);
	return n;
}

// Write statistics, counted from the file's content.
static uint32_t put_statistics(const struct scan *scan, uint32_t number, uint8_t *buf, uint32_t size)
{
	const struct interface *interface = &scan->interface[number];
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < scan->report->interfaces; i++)
		last_ns = tl_max_u64(last_ns, scan->interface[i].last_ns);
	return tl_pcapng_put_isb(buf, size,
		&(struct tl_pcapng_isb){.interface_id = number,
			.ts_ns = last_ns,
			.start_ns = interface->records != 0 ? interface->first_ns : UINT64_MAX,
			.end_ns = interface->records != 0 ? interface->last_ns : UINT64_MAX,
			.received_pkts = UINT64_MAX,
			.if_dropped_pkts = UINT64_MAX,
			.accepted_pkts = UINT64_MAX,
			.os_dropped_pkts = UINT64_MAX,
			.delivered_pkts = interface->records});
}

static int append_statistics(struct scan *scan)
{
	struct tl_recover_report *report = scan->report;
	bool has_head = scan->file != 0;
	uint32_t begin = has_head ? tl_pcapng_pad_bytes(report->end_bytes, TL_PCAPNG_ALIGN) : 0;
	uint32_t used = begin + (has_head ? TL_PCAPNG_HEAD_BYTES : 0);

	if (report->statistics == 0)
		return 0;
	uint8_t *buf = malloc(MADE_ROOM);
	if (buf == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->interfaces; i++)
		if (lacks_statistics(scan, i))
			used += put_statistics(scan, i, buf + used, MADE_BYTES_MAX - used);
	if (begin != 0)
		tl_pcapng_put_pad(buf, begin);
	if (has_head)
		tl_pcapng_put_head(
			buf + begin, &(struct tl_pcapng_head){.used_bytes = used - begin, .file = scan->file});
	int64_t bytes = finish_blocks(scan, buf, used, report->end_bytes);
	int rc = bytes < 0 ? (int)bytes : write_at(scan, buf, (uint32_t)bytes, report->end_bytes);
	report->end_bytes += bytes < 0 ? 0 : (uint64_t)bytes;
	free(buf);
	return rc;
}

int recover_force(struct scan *scan)
{
	int rc = scan->io->sync(scan->io->ctx);

	return rc == 0 ? 0 : tl_fail(scan->err, rc, "cannot force it to the disk: %s%s", strerror(-rc), tl_remedy(rc));
}

int recover_repair(struct scan *scan)
{
	const struct tl_recover_io *io = scan->io;
	struct tl_recover_report *report = scan->report;

	// Write a lost section header first: once the gap behind it is covered, a later recovery cannot tell the file
	// from a disk image (check_torn_start).
	int rc = scan->header_lost ? put_made(scan) : 0;
	for (uint32_t i = scan->n_gaps; i > 0 && rc == 0; i--)
		rc = cover(scan, &scan->gaps[i - 1]);
	if (rc == 0 && report->cut_bytes != 0) {
		rc = io->cut(io->ctx, report->end_bytes);
		if (rc != 0)
			tl_fail(scan->err, rc, "cannot cut off its end: %s", strerror(-rc));
	}
	// Write other opening blocks after the gaps: behind whole opening blocks a later recovery would take the blocks
	// of a torn slab one by one. And before the statistics, whose interfaces they describe.
	if (rc == 0 && !scan->header_lost)
		rc = put_made(scan);
	if (rc == 0)
		rc = append_statistics(scan);
	return rc != 0 ? rc : recover_force(scan);
}
