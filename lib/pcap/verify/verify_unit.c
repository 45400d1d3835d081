// SPDX-License-Identifier: BSD-3-Clause
// Check of a unit against what was written: its digest, and the PAD after it, which has only one form.

#include "verify_priv.h"

#include <string.h>

#include <tl_remedy.h>

int verify_read(struct check *check, uint64_t offset, uint32_t bytes)
{
	int rc = check->io->read(check->io->ctx, check->buffer, bytes, offset);

	return rc == 0 ? 0
		       : tl_fail(check->err, rc, "cannot be read at byte %llu: %s%s", (unsigned long long)offset,
				 strerror(-rc), tl_remedy(rc));
}

// Set the sizes of a unit. False: they exceed the file, or the limit of a unit.
static bool measure(const struct check *check, uint64_t offset, struct unit *unit)
{
	uint64_t total = (uint64_t)unit->used_bytes + tl_pcapng_pad_bytes(unit->used_bytes, TL_PCAPNG_ALIGN);

	unit->total_bytes = (uint32_t)total;
	return total <= UNIT_BYTES_MAX && total <= check->io->size_bytes - offset;
}

int verify_look(struct check *check, uint64_t offset, struct unit *out)
{
	*out = (struct unit){0};
	if (check->io->size_bytes - offset < TL_PCAPNG_HEAD_BYTES)
		return 0;
	int rc = verify_read(check, offset, TL_PCAPNG_HEAD_BYTES);
	if (rc != 0)
		return rc;
	if (tl_pcapng_get_head(check->buffer, TL_PCAPNG_HEAD_BYTES, &out->head) != 0 ||
		(check->file != 0 && out->head.file != check->file))
		return 0;
	out->used_bytes = out->head.used_bytes;
	return measure(check, offset, out);
}

static bool pad_is_right(const uint8_t *unit, const struct unit *what)
{
	uint8_t pad[TL_PCAPNG_ALIGN + TL_PCAPNG_PAD_MIN];
	uint32_t bytes = what->total_bytes - what->used_bytes;

	if (bytes != 0)
		tl_pcapng_put_pad(pad, bytes);
	return memcmp(unit + what->used_bytes, pad, bytes) == 0;
}

// Check the unit in the buffer.
static bool is_good(const struct check *check, uint64_t offset, struct unit *unit)
{
	enum tl_digest_kind kind = unit->head.digest;

	if (kind == TL_DIGEST_NONE || (check->chain.kind != TL_DIGEST_NONE && kind != check->chain.kind))
		return false;
	unit->digest = tl_digest_unit(kind, check->buffer, unit->used_bytes, unit->head_at, offset);
	return unit->head.check == tl_digest_check(&unit->digest) && pad_is_right(check->buffer, unit);
}

int verify_unit(struct check *check, uint64_t offset, struct unit *unit)
{
	int rc = verify_read(check, offset, unit->total_bytes);

	return rc != 0 ? rc : is_good(check, offset, unit);
}

int verify_opening(struct check *check, struct unit *out)
{
	uint32_t size = (uint32_t)tl_min_u64(check->io->size_bytes, OPENING_BYTES_MAX), at = 0, total;
	int rc = verify_read(check, 0, size);

	*out = (struct unit){0};
	if (rc != 0)
		return rc;
	for (; size - at >= TL_PCAPNG_HEAD_BYTES; at += total) {
		total = tl_load_u32(check->buffer + at + 4);
		if (tl_load_u32(check->buffer + at) == TL_PCAPNG_HEAD || total < TL_PCAPNG_PAD_MIN || total % 4 != 0 ||
			total > size - at)
			break;
	}
	if (at == 0 || tl_pcapng_get_head(check->buffer + at, size - at, &out->head) != 0 ||
		tl_load_u32(check->buffer) != TL_PCAPNG_SHB)
		return 0;
	out->head_at = at;
	out->used_bytes = at + TL_PCAPNG_HEAD_BYTES;
	return measure(check, 0, out) && out->total_bytes <= size && is_good(check, 0, out);
}

bool verify_find_chain(const struct check *check, const struct unit *unit, struct tl_digest_chain *out)
{
	if (unit->head.records != 0)
		return false;
	for (uint32_t at = TL_PCAPNG_HEAD_BYTES, total; unit->used_bytes - at >= TL_PCAPNG_PAD_MIN; at += total) {
		total = tl_load_u32(check->buffer + at + 4);
		if (total < TL_PCAPNG_PAD_MIN || total > unit->used_bytes - at)
			return false;
		if (tl_digest_chain_get(check->buffer + at, total, out) == 0)
			return true;
	}
	return false;
}
