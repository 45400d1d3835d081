// SPDX-License-Identifier: BSD-3-Clause
// Scan of a recording from its first byte. Blocks are contiguous up to a damaged place; after it the next slab is
// searched on 4 KiB boundaries: writes complete in any order, so slabs after a torn one may be whole.

#include "recover_priv.h"

#include <stdlib.h>
#include <string.h>

#include <tl_array.h>
#include <tl_remedy.h>

#define APPLICATION "tapline"
#define SECTION_BYTES_MAX 65536u

const uint8_t *recover_view(struct scan *scan, uint64_t offset, uint32_t len, uint32_t *out_len, int *out_rc)
{
	uint64_t size = scan->io->size_bytes;
	uint32_t wanted = (uint32_t)tl_min_u64(len, size - offset);

	*out_len = wanted;
	if (offset >= scan->window_at && offset + wanted <= scan->window_at + scan->window_bytes)
		return scan->window + (offset - scan->window_at);
	const struct tl_recover_opts *opts = scan->opts;
	*out_rc = opts->progress != NULL && opts->progress(opts->ctx, offset, size) != 0 ? -ECANCELED : 0;
	if (*out_rc != 0)
		return NULL;
	scan->window_at = offset;
	scan->window_bytes = (uint32_t)tl_min_u64(WINDOW_BYTES, size - offset);
	*out_rc = scan->io->read(scan->io->ctx, scan->window, scan->window_bytes, offset);
	if (*out_rc == 0)
		return scan->window;
	scan->window_bytes = 0;
	tl_fail(scan->err, *out_rc, "cannot read at byte %llu: %s%s", (unsigned long long)offset, strerror(-*out_rc),
		tl_remedy(*out_rc));
	return NULL;
}

// ---- owner of the file

// True for a zstd frame or a skippable one (RFC 8878, section 3.1).
static bool is_zstd(uint32_t magic)
{
	return magic == 0xFD2FB528u || (magic & ~0xFu) == 0x184D2A50u;
}

bool recover_is_application(const char *text, uint32_t len)
{
	return len >= strlen(APPLICATION) && memcmp(text, APPLICATION, strlen(APPLICATION)) == 0;
}

// Check the owner by the start of the file; undecided if the start is lost: then slabs decide.
static int check_owner(struct scan *scan)
{
	const char *application;
	uint32_t len, text_len;
	int rc = 0;

	const uint8_t *head = recover_view(scan, 0, SECTION_BYTES_MAX, &len, &rc);
	if (head == NULL)
		return rc;
	scan->pcap = tl_pcap_is_ours(head, len);
	if (scan->pcap)
		return 0;
	if (len >= 4 && tl_pcap_is_magic(tl_load_u32(head)))
		return tl_fail(scan->err, -EMEDIUMTYPE, "is a pcap file, not a recording of tapline: " NOT_OURS);
	if (len >= 4 && (is_zstd(tl_load_u32(head)) || recover_has_packed_slab(head, len)))
		return recover_check_packed(scan);
	rc = tl_pcapng_get_application(head, len, &application, &text_len);
	scan->owned = rc == 0 && recover_is_application(application, text_len);
	bool swapped = false;
	if (len >= 12 && tl_load_u32(head) == TL_PCAPNG_SHB)
		(void)tl_pcapng_byte_order(head, &swapped);
	if (!scan->owned && (rc != -EINVAL || swapped))
		return tl_fail(scan->err, -EMEDIUMTYPE, "was written by another program than tapline: " NOT_OURS);
	return 0;
}

// ---- scan

static int add_gap(struct scan *scan, uint64_t from, uint64_t to)
{
	if (tl_array_reserve(&scan->gaps, scan->n_gaps, &scan->gaps_capacity, sizeof(*scan->gaps)) != 0)
		return -ENOMEM;
	scan->gaps[scan->n_gaps++] = (struct gap){.from = from, .to = to, .file = scan->file};
	scan->report->padded_bytes += to - from;
	return 0;
}

// Next boundary for the search. Heads of a hostile file may claim overlapping slabs: beyond a limit slabs inside
// incomplete ones are skipped.
static uint64_t next_boundary(const struct scan *scan, uint64_t at)
{
	uint64_t limit = VAIN_TIMES * (scan->io->size_bytes + WINDOW_BYTES);
	uint64_t from = scan->report->vain_bytes > limit ? tl_max_u64(at + 1, scan->vain_end) : at + 1;

	return tl_align_up(from, TL_PCAPNG_ALIGN);
}

// Find the next boundary with something whole; a gap must have room for a PAD. A slab found is counted: *out_bytes.
static int find_next(struct scan *scan, uint64_t from, uint64_t *out_at, uint64_t *out_bytes)
{
	uint64_t at = tl_align_up(from + TL_PCAPNG_PAD_MIN, TL_PCAPNG_ALIGN);
	int64_t n = 0;

	*out_bytes = 0;
	for (; at < scan->io->size_bytes; at = next_boundary(scan, at)) {
		if (scan->io->next_data != NULL)
			at = scan->io->next_data(scan->io->ctx, at) / TL_PCAPNG_ALIGN * TL_PCAPNG_ALIGN;
		n = scan->form->take_slab(scan, at, true);
		if (n > 0)
			*out_bytes = (uint64_t)n;
		else if (n == 0 && scan->records_end != 0 && scan->file == 0)
			n = scan->form->see_statistics(scan, at);
		if (n != 0)
			break;
	}
	*out_at = at;
	return n < 0 ? (int)n : 0;
}

// Skip the damage at *at. At the end of the file *at stays at its start, and *out_last is set.
static int skip_damage(struct scan *scan, uint64_t *at, bool *out_last)
{
	uint64_t from = *at, to, bytes;

	bool opening = scan->records_end == 0 && !scan->file_known; // its interfaces may be in the damaged part
	scan->header_lost |= from == 0;
	scan->prologue_torn |= opening;
	if (opening)
		scan->limit = INTERFACES_MAX;
	int rc = find_next(scan, from, &to, &bytes);
	if (rc != 0)
		return rc;
	if (opening && scan->records_end == 0)
		scan->limit = scan->described;
	*out_last = to >= scan->io->size_bytes;
	if (*out_last)
		return 0;
	*at = to + bytes;
	scan->trail_at = 0;
	return add_gap(scan, from, to);
}

// Scan all blocks. Return 0 with *out_end after the last whole block.
static int scan_blocks(struct scan *scan, uint64_t *out_end)
{
	uint64_t at = 0, size = scan->io->size_bytes;
	bool last = false;

	while (at < size) {
		int64_t n = at == 0 ? 0 : scan->form->take_slab(scan, at, false);
		if (n == 0 && (at != 0 || scan->owned))
			n = scan->form->take_block(scan, at);
		int rc = n < 0 ? (int)n : n == 0 ? skip_damage(scan, &at, &last) : 0;
		if (rc != 0)
			return rc;
		if (last)
			break;
		at += (uint64_t)n;
	}
	// Closing statistics that are not whole up to a boundary are written again.
	bool unfinished = last && scan->trail_at != 0 && at % TL_PCAPNG_ALIGN != 0;
	scan->used = unfinished ? scan->used_before_trail : scan->used;
	*out_end = unfinished ? scan->trail_at : at;
	return 0;
}

// ---- conclusions

// Check a file without a section header. It is ours only if slabs begin right after the place of the opening blocks,
// or where zeros end: file systems return zeros for pages never written. A disk image contains slabs, too.
static int check_torn_start(struct scan *scan)
{
	static const uint8_t zeros[TL_PCAPNG_ALIGN];
	uint64_t to = scan->n_gaps != 0 ? scan->gaps[0].to : 0;
	uint32_t len;
	int rc = 0;

	if (scan->report->slabs_kept == 0)
		return tl_fail(scan->err, -ENOMSG, "contains no recording, or no whole block of one: " NOT_OURS);
	for (uint64_t at = TL_PCAPNG_ALIGN; at < to; at += TL_PCAPNG_ALIGN) {
		const uint8_t *page = recover_view(scan, at, TL_PCAPNG_ALIGN, &len, &rc);
		if (page == NULL)
			return rc;
		if (memcmp(page, zeros, len) != 0)
			return tl_fail(scan->err, -ENOMSG,
				"holds slabs of a recording from byte %llu on, but is not one itself: " NOT_OURS,
				(unsigned long long)to);
	}
	return 0;
}

static int conclude(struct scan *scan, uint64_t end)
{
	struct tl_recover_report *report = scan->report;
	int rc = 0;

	bool first_section = scan->sections <= 1 && !scan->lost_known;
	recover_settle_lost(scan);
	if (scan->header_lost || scan->sections == 0)
		rc = check_torn_start(scan);
	if (rc == 0 && scan->prologue_torn && scan->n_gaps != 0)
		rc = recover_plan_prologue(scan);
	if (rc != 0)
		return rc;
	report->cut_bytes = report->size_bytes - end;
	report->interfaces = scan->described + (first_section ? report->rebuilt_interfaces : 0);
	report->end_bytes = end;
	report->statistics = recover_lacking_statistics(scan);
	report->changed = scan->n_gaps != 0 || report->cut_bytes != 0 || report->statistics != 0;
	return 0;
}

static int conclude_pcap(struct scan *scan, uint64_t end)
{
	scan->report->cut_bytes = scan->report->size_bytes - end;
	scan->report->end_bytes = end;
	scan->report->changed = scan->report->cut_bytes != 0;
	return 0;
}

static int begin(struct scan *scan)
{
	scan->window = malloc(tl_max_u64(tl_min_u64(WINDOW_BYTES, scan->io->size_bytes), 1));
	scan->interface = calloc(INTERFACES_MAX, sizeof(*scan->interface));
	if (scan->window == NULL || scan->interface == NULL)
		return tl_fail(scan->err, -ENOMEM, "no memory");
	return check_owner(scan);
}

static void end_scan(struct scan *scan)
{
	recover_close_packed(scan);
	free(scan->window);
	free(scan->interface);
	free(scan->gaps);
	free(scan->made);
}

static int run(struct scan *scan)
{
	uint64_t end;

	int rc = begin(scan);
	if (rc == 0)
		rc = scan->pcap ? recover_scan_pcap(scan, &end) : scan_blocks(scan, &end);
	if (rc == 0)
		rc = scan->pcap ? conclude_pcap(scan, end) : conclude(scan, end);
	if (rc != 0 || scan->opts->dry_run)
		return rc;
	return scan->report->changed ? recover_repair(scan) : recover_force(scan);
}

int tl_recover(const struct tl_recover_io *io, const struct tl_recover_opts *opts, struct tl_recover_report *report,
	struct tl_err *err)
{
	struct scan scan = {.io = io, .opts = opts, .report = report, .err = err, .form = &recover_plain_form};

	*report = (struct tl_recover_report){.size_bytes = io->size_bytes};
	tl_fail(err, 0, "given up");
	int rc = run(&scan);
	if (rc == -ENOMEM)
		tl_fail(err, rc, "no memory");
	end_scan(&scan);
	return rc;
}

int recover_check_owned(const struct tl_recover_io *io)
{
	struct tl_recover_report report = {.size_bytes = io->size_bytes};
	struct tl_err err;
	struct scan scan = {.io = io,
		.opts = &(struct tl_recover_opts){0},
		.report = &report,
		.err = &err,
		.form = &recover_plain_form};

	int rc = begin(&scan);
	if (rc == -EMEDIUMTYPE || (rc == 0 && !scan.owned && !scan.pcap))
		rc = -ENOMSG;
	end_scan(&scan);
	return rc;
}
