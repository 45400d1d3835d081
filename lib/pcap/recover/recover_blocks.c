// SPDX-License-Identifier: BSD-3-Clause
// Validation of blocks, and of slabs with all their blocks.

#include "recover_priv.h"

#include <tl_digest.h>

#define ISB_BYTES_MIN 24u
#define NAME_RESOLUTION 4u
#define LOCAL_USE 0x80000000u

// ---- slabs

static bool is_whole_record(const void *ctx, const uint8_t *block, uint32_t total)
{
	const struct scan *scan = ctx;
	struct tl_pcapng_packet packet;

	return tl_pcapng_get_epb(false, block, total, &packet) && packet.interface_id < scan->limit &&
	       packet.cap_bytes <= FRAME_BYTES_MAX;
}

static void count_record(struct scan *scan, const uint8_t *block)
{
	struct tl_pcapng_packet packet = {0};

	(void)tl_pcapng_get_epb(false, block, tl_load_u32(block + 4), &packet);
	uint32_t number = packet.interface_id;
	struct interface *interface = &scan->interface[number];
	interface->first_ns = interface->records == 0 ? packet.ticks : tl_min_u64(interface->first_ns, packet.ticks);
	interface->last_ns = tl_max_u64(interface->last_ns, packet.ticks);
	interface->records++;
	scan->used = number >= scan->used ? number + 1 : scan->used;
	scan->report->records_kept++;
}

// Check the blocks of a slab, from its HEAD to the boundary at the end of its PAD.
static bool is_whole_slab(
	const struct scan *scan, const uint8_t *slab, const struct tl_pcapng_head *head, uint64_t offset)
{
	uint32_t at = head->used_bytes, pad = tl_pcapng_pad_bytes(at, TL_PCAPNG_ALIGN);

	return tl_pcapng_slab_is_whole(slab, head, is_whole_record, scan) && tl_digest_is_right(head, slab, offset) &&
	       (pad == 0 || (tl_load_u32(slab + at) == TL_PCAPNG_PAD && tl_pcapng_block_bytes(slab + at, pad) == pad));
}

bool recover_is_statistics(const struct scan *scan, const uint8_t *block, uint32_t total)
{
	return tl_load_u32(block) == TL_PCAPNG_ISB && total >= ISB_BYTES_MIN && tl_load_u32(block + 8) < scan->limit;
}

static void take_statistics(struct scan *scan, uint32_t number, uint64_t offset)
{
	scan->interface[number].statistics_at = offset;
	if (scan->trail_at == 0) {
		scan->trail_at = offset;
		scan->used_before_trail = scan->used;
	}
	scan->used = number >= scan->used ? number + 1 : scan->used;
}

static int count_slab(struct scan *scan, const uint8_t *slab, const struct tl_pcapng_head *head, uint64_t end)
{
	uint32_t total;

	for (uint32_t at = TL_PCAPNG_HEAD_BYTES; at < head->used_bytes; at += total) {
		total = tl_load_u32(slab + at + 4);
		if (tl_load_u32(slab + at) == TL_PCAPNG_EPB)
			count_record(scan, slab + at);
		else if (recover_is_statistics(scan, slab + at, total))
			take_statistics(scan, tl_load_u32(slab + at + 8), end - 1);
	}
	scan->trail_at = 0; // whole up to a boundary
	scan->file = head->file;
	scan->file_known = true;
	if (head->records == 0)
		return 0;
	scan->records_end = end;
	scan->report->slabs_kept++;
	scan->run_id = scan->run_known ? scan->run_id : head->run_id;
	scan->run_known = true;
	return recover_add_seen(scan->report, head);
}

// True if a slab inside damage may be payload: a recorded frame may contain a slab, of a recording sent over the
// network. Only a slab of this run that is not elsewhere in this file is accepted.
bool recover_is_doubtful(const struct scan *scan, const struct tl_pcapng_head *head)
{
	if (head->records == 0)
		return !scan->file_known;
	return (scan->run_known && head->run_id != scan->run_id) || recover_was_seen(scan->report, head);
}

// True for a repeated slab: after a failed write the writer writes the later slabs again, each one place earlier; until
// it is overwritten, the last is there twice.
bool recover_is_repeated(const struct scan *scan, const struct tl_pcapng_head *head)
{
	bool is_slab = scan->form->packed || scan->file != 0; // older versions: the blocks are checked one by one

	return is_slab && head->records != 0 && recover_was_seen(scan->report, head);
}

void recover_count_torn(struct scan *scan, uint64_t offset, uint64_t file_bytes, uint64_t searched_bytes)
{
	scan->report->slabs_torn++;
	scan->report->vain_bytes += searched_bytes;
	scan->vain_end = offset + file_bytes;
}

int recover_take_content(
	struct scan *scan, const uint8_t *slab, uint64_t len, const struct tl_pcapng_head *head, uint64_t end)
{
	if (len != (uint64_t)head->used_bytes + tl_pcapng_pad_bytes(head->used_bytes, TL_PCAPNG_ALIGN) ||
		!is_whole_slab(scan, slab, head, end - len))
		return 0;
	int rc = count_slab(scan, slab, head, end);
	return rc != 0 ? rc : 1;
}

static int64_t take_slab(struct scan *scan, uint64_t offset, bool in_doubt)
{
	struct tl_pcapng_head head;
	uint32_t len;
	int rc = 0;

	if (offset % TL_PCAPNG_ALIGN != 0)
		return 0;
	const uint8_t *p = recover_view(scan, offset, TL_PCAPNG_HEAD_BYTES, &len, &rc);
	if (p == NULL)
		return rc;
	if (tl_pcapng_get_head(p, len, &head) != 0 || (scan->file_known && head.file != scan->file) ||
		(in_doubt && recover_is_doubtful(scan, &head)) || recover_is_repeated(scan, &head))
		return 0;
	uint64_t sealed = (uint64_t)head.used_bytes + tl_pcapng_pad_bytes(head.used_bytes, TL_PCAPNG_ALIGN);
	bool possible = sealed <= SLAB_BYTES_MAX + TL_PCAPNG_ALIGN;
	if (possible) {
		p = recover_view(scan, offset, (uint32_t)sealed, &len, &rc);
		if (p == NULL)
			return rc;
		rc = recover_take_content(scan, p, len, &head, offset + sealed);
		if (rc != 0)
			return rc < 0 ? rc : (int64_t)sealed;
	}
	recover_count_torn(scan, offset, possible ? sealed : 0, possible ? sealed : 0);
	return 0;
}

// ---- other blocks

void recover_settle_lost(struct scan *scan)
{
	if (!scan->prologue_torn || scan->lost_known)
		return;
	scan->lost_known = true;
	scan->lost_from = scan->described;
	scan->lost_to = scan->used > scan->described ? scan->used : scan->described;
}

static bool take_section(struct scan *scan, const uint8_t *block, uint32_t total, uint64_t offset)
{
	bool swapped;

	if (total < TL_PCAPNG_SHB_BYTES_MIN || tl_pcapng_byte_order(block, &swapped) != 0 || swapped)
		return false;
	recover_settle_lost(scan);
	scan->sections++;
	scan->section_at = offset;
	scan->described = scan->limit = scan->used = 0;
	scan->file_known = false;
	scan->file = 0;
	memset(scan->interface, 0, INTERFACES_MAX * sizeof(*scan->interface));
	return true;
}

static bool take_interface(struct scan *scan, const uint8_t *block, uint32_t total)
{
	if (total < TL_PCAPNG_IDB_BYTES_MIN || scan->described == INTERFACES_MAX ||
		scan->records_end > scan->section_at ||
		(tl_load_u32(block + 8) & UINT16_MAX) != TL_PCAPNG_LINKTYPE_ETHERNET)
		return false;
	if (scan->described == 0)
		scan->snaplen = tl_load_u32(block + 12);
	scan->limit = ++scan->described;
	return true;
}

// Take the file number of the HEAD after the opening blocks.
static bool take_file(struct scan *scan, const uint8_t *block, uint32_t total)
{
	struct tl_pcapng_head head;

	if (scan->file_known || tl_pcapng_get_head(block, total, &head) != 0 || head.records != 0)
		return false;
	scan->file = head.file;
	scan->file_known = true;
	return true;
}

// True if another file's data may be here: at the start of a write, which begins with a HEAD.
static bool may_be_foreign(const struct scan *scan, uint64_t offset)
{
	return scan->file != 0 && offset % TL_PCAPNG_ALIGN == 0;
}

static bool is_by_us(const uint8_t *section, uint32_t total)
{
	const char *application;
	uint32_t len;

	return tl_pcapng_get_application(section, total, &application, &len) == 0 &&
	       recover_is_application(application, len);
}

// Take a block by its type. Records outside slabs occur in recordings from a pipe.
bool recover_take_by_type(struct scan *scan, const uint8_t *block, uint32_t total, uint64_t offset)
{
	uint32_t type = tl_load_u32(block);

	if (type == TL_PCAPNG_SHB)
		return (!may_be_foreign(scan, offset) || is_by_us(block, total)) &&
		       take_section(scan, block, total, offset);
	if ((scan->sections == 0 && !scan->header_lost) || may_be_foreign(scan, offset))
		return false;
	switch (type) {
	case TL_PCAPNG_IDB:
		return take_interface(scan, block, total);
	case TL_PCAPNG_ISB:
		if (!recover_is_statistics(scan, block, total))
			return false;
		take_statistics(scan, tl_load_u32(block + 8), offset);
		return true;
	case TL_PCAPNG_EPB:
		if (!is_whole_record(scan, block, total))
			return false;
		count_record(scan, block);
		scan->records_end = offset + total;
		return true;
	case TL_PCAPNG_HEAD:
		return take_file(scan, block, total);
	default:
		return type == NAME_RESOLUTION || type >= LOCAL_USE;
	}
}

// View the block at the offset, by its lengths. 0: not whole.
static int64_t view_block(struct scan *scan, uint64_t offset, const uint8_t **out)
{
	uint32_t len;
	int rc = 0;

	const uint8_t *block = recover_view(scan, offset, TL_PCAPNG_PAD_MIN, &len, &rc);
	if (block == NULL || len < TL_PCAPNG_PAD_MIN)
		return rc;
	uint32_t total = tl_load_u32(block + 4);
	if (total > PAD_BYTES_MAX) // bounds the cost: the window would be read again for each
		return 0;
	block = recover_view(scan, offset, total, &len, &rc);
	*out = block;
	return block == NULL ? rc : (int64_t)tl_pcapng_block_bytes(block, len);
}

static int64_t take_block(struct scan *scan, uint64_t offset)
{
	const uint8_t *block;
	int64_t total = view_block(scan, offset, &block);

	if (total <= 0 || !recover_take_by_type(scan, block, (uint32_t)total, offset))
		return total < 0 ? total : 0;
	bool whole = (offset + (uint64_t)total) % TL_PCAPNG_ALIGN == 0; // whole up to a boundary
	if (whole || (tl_load_u32(block) != TL_PCAPNG_ISB && tl_load_u32(block) != TL_PCAPNG_PAD))
		scan->trail_at = 0;
	return total;
}

static int64_t see_statistics(struct scan *scan, uint64_t offset)
{
	uint64_t at = offset;
	bool any = false;
	const uint8_t *block;
	int64_t total;

	while ((total = view_block(scan, at, &block)) > 0) {
		if (recover_is_statistics(scan, block, (uint32_t)total))
			any = true;
		else if (tl_load_u32(block) != TL_PCAPNG_PAD)
			return 0;
		at += (uint64_t)total;
		if (at % TL_PCAPNG_ALIGN == 0)
			return any ? (int64_t)(at - offset) : 0;
		if (at - offset > BLOCKS_BYTES_MAX)
			return 0;
	}
	return total;
}

const struct form recover_plain_form = {
	.take_slab = take_slab,
	.take_block = take_block,
	.see_statistics = see_statistics,
};
