// SPDX-License-Identifier: BSD-3-Clause
// Walk through a recording from unit to unit. A bad unit is followed by the unit at its claimed end, if there is one,
// or by the next HEAD of the file: the range before that is reported.

#include "verify_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tl_files.h>

#define SEARCH_BYTES (UINT64_C(64) << 20) // limit of the search for a unit, if the file does not begin like a recording

const char *tl_verify_outcome_name(enum tl_verify_outcome outcome)
{
	static const char *const names[TL_VERIFY_OUTCOMES] = {[TL_VERIFY_GOOD] = "good",
		[TL_VERIFY_DAMAGED] = "damaged",
		[TL_VERIFY_INCOMPLETE] = "incomplete",
		[TL_VERIFY_RECOVERED] = "recovered",
		[TL_VERIFY_NO_DIGESTS] = "no-digests",
		[TL_VERIFY_BLANK] = "blank",
		[TL_VERIFY_FOREIGN] = "foreign"};

	return names[outcome];
}

static void add_damage(struct check *check, uint64_t from, uint64_t to)
{
	struct tl_verify_report *report = check->report;

	if (report->ranges < TL_VERIFY_RANGES)
		report->range[report->ranges] = (struct tl_verify_range){.from = from, .to = to};
	report->ranges++;
	report->damaged_bytes += to - from;
}

// Check whether all units so far are good.
static bool is_unbroken(const struct check *check)
{
	return check->report->ranges == 0 && check->report->covered_bytes == 0;
}

// Take the good unit in the buffer, which begins at the offset.
static void take_good(struct check *check, const struct unit *unit, uint64_t offset)
{
	struct tl_verify_report *report = check->report;
	struct tl_digest_chain closed;
	uint64_t end = offset + unit->total_bytes;

	check->file = unit->head.file;
	check->chain.kind = report->kind = unit->head.digest;
	if (offset != 0 && verify_find_chain(check, unit, &closed)) {
		report->closed = true;
		report->chain_broken = is_unbroken(check) && !tl_digest_same_chain(&closed, &check->chain);
	}
	tl_digest_chain_add(&check->chain, &unit->digest, end);
	report->chain_end_bytes = is_unbroken(check) ? end : report->chain_end_bytes;
	report->good_bytes += unit->total_bytes;
	report->units++;
	report->slabs += unit->head.records != 0;
	report->records += unit->head.records;
}

// Find the next boundary, from this one on, with a HEAD of the file; the end of the file if there is none.
static int find_head(struct check *check, uint64_t at, uint64_t *out_at)
{
	struct unit unit;
	int rc = 0;

	for (; at < check->io->size_bytes; at += TL_PCAPNG_ALIGN) {
		rc = verify_look(check, at, &unit);
		if (rc != 0)
			break;
	}
	*out_at = tl_min_u64(at, check->io->size_bytes);
	return rc < 0 ? rc : 0;
}

static bool are_zeros(const uint8_t *bytes, uint32_t n)
{
	return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

// Check whether nothing was written from the offset to the end. Return 1, 0 or -errno.
static int is_unwritten(struct check *check, uint64_t offset)
{
	uint32_t bytes = (uint32_t)tl_min_u64(check->io->size_bytes - offset, UNIT_BYTES_MAX);
	int rc = verify_read(check, offset, bytes);

	while (rc == 0 && are_zeros(check->buffer, bytes)) {
		offset += bytes;
		bytes = (uint32_t)tl_min_u64(check->io->size_bytes - offset, UNIT_BYTES_MAX);
		if (bytes == 0)
			return 1;
		rc = verify_read(check, offset, bytes);
	}
	return rc;
}

// Skip the bad data at *at.
static int pass(struct check *check, uint64_t *at)
{
	uint64_t size = check->io->size_bytes, to;
	int rc = find_head(check, *at + TL_PCAPNG_ALIGN, &to);

	if (rc != 0)
		return rc;
	rc = to == size && !check->report->closed ? is_unwritten(check, *at) : 0;
	if (rc < 0)
		return rc;
	if (rc == 0)
		add_damage(check, *at, to);
	*at = to;
	return 0;
}

// Check whether a recovery wrote the HEAD: those of the writer have a digest.
static bool is_by_recovery(const struct tl_pcapng_head *head)
{
	return head->digest == TL_DIGEST_NONE && head->check == 0 && head->records == 0;
}

static int check_units(struct check *check, uint64_t at)
{
	const struct tl_verify_opts *opts = check->opts;
	struct unit unit;

	while (at < check->io->size_bytes) {
		if (opts->progress != NULL)
			opts->progress(opts->ctx, at, check->io->size_bytes);
		int rc = verify_look(check, at, &unit);
		bool covered = rc == 1 && is_by_recovery(&unit.head);
		if (rc == 1 && !covered)
			rc = verify_unit(check, at, &unit);
		if (rc < 0)
			return rc;
		if (covered)
			check->report->covered_bytes += unit.total_bytes;
		else if (rc == 1)
			take_good(check, &unit, at);
		if (rc == 0)
			rc = pass(check, &at);
		else
			at += unit.total_bytes;
		if (rc < 0)
			return rc;
	}
	return 0;
}

// Find the first good unit if the opening blocks are missing: *out_at; the size of the file if there is none within the
// search limit.
static int find_unit(struct check *check, uint64_t *out_at)
{
	uint64_t end = tl_min_u64(check->io->size_bytes, SEARCH_BYTES);
	struct unit unit;
	int rc = 0;

	for (*out_at = TL_PCAPNG_ALIGN; *out_at < end && rc == 0; *out_at += rc == 0 ? TL_PCAPNG_ALIGN : 0) {
		rc = verify_look(check, *out_at, &unit);
		if (rc == 1)
			rc = unit.head.digest == TL_DIGEST_NONE ? 0 : verify_unit(check, *out_at, &unit);
	}
	if (rc == 0)
		*out_at = check->io->size_bytes;
	return rc < 0 ? rc : 0;
}

// Judge a file without a good unit by its beginning. Return 0 or -errno.
static int judge_beginning(struct check *check)
{
	uint32_t size = (uint32_t)tl_min_u64(check->io->size_bytes, OPENING_BYTES_MAX), len;
	const char *text;
	int rc = verify_read(check, 0, size);

	if (rc != 0)
		return rc;
	if (are_zeros(check->buffer, (uint32_t)tl_min_u64(size, TL_PCAPNG_ALIGN)))
		check->report->outcome = TL_VERIFY_BLANK;
	else if (tl_pcapng_get_application(check->buffer, size, &text, &len) == 0 && len >= strlen("tapline") &&
		 memcmp(text, "tapline", strlen("tapline")) == 0)
		check->report->outcome = TL_VERIFY_NO_DIGESTS;
	else
		check->report->outcome = TL_VERIFY_FOREIGN;
	return 0;
}

static enum tl_verify_outcome outcome_of(const struct tl_verify_report *report)
{
	if (report->ranges != 0 || report->chain_broken)
		return TL_VERIFY_DAMAGED;
	if (report->covered_bytes != 0)
		return TL_VERIFY_RECOVERED;
	return report->closed ? TL_VERIFY_GOOD : TL_VERIFY_INCOMPLETE;
}

static int run(struct check *check)
{
	uint64_t at, size = check->io->size_bytes;
	struct unit unit;
	int rc = verify_opening(check, &unit);

	if (rc < 0)
		return rc;
	if (rc == 1) {
		take_good(check, &unit, 0);
		at = unit.total_bytes;
	} else {
		rc = find_unit(check, &at);
		if (rc != 0)
			return rc;
		if (at == size)
			return judge_beginning(check);
		add_damage(check, 0, at);
	}
	rc = check_units(check, at);
	check->report->outcome = outcome_of(check->report);
	return rc;
}

int tl_verify(const struct tl_verify_io *io, const struct tl_verify_opts *opts, struct tl_verify_report *report,
	struct tl_err *err)
{
	struct check check = {.io = io, .opts = opts, .report = report, .err = err, .buffer = malloc(UNIT_BYTES_MAX)};

	*report = (struct tl_verify_report){.size_bytes = io->size_bytes};
	if (check.buffer == NULL)
		return tl_fail(err, -ENOMEM, "no memory to verify it");
	int rc = run(&check);
	free(check.buffer);
	return rc;
}

// ---- files

static int read_all(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes)
{
	return tl_read_once(*(const int *)ctx, buf, len_bytes, offset_bytes);
}

int tl_verify_fd(int fd, const struct tl_verify_opts *opts, struct tl_verify_report *report, struct tl_err *err)
{
	struct tl_verify_io io = {.ctx = &fd, .read = read_all};
	struct stat status;

	*report = (struct tl_verify_report){0};
	if (fstat(fd, &status) != 0)
		return tl_fail(err, -errno, "its status cannot be read: %s", strerror(errno));
	io.size_bytes = (uint64_t)status.st_size;
	return tl_verify(&io, opts, report, err);
}
