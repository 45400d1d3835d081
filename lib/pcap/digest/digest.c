// SPDX-License-Identifier: BSD-3-Clause
// Digests of units: ISA-L's CRC-32C and libgcrypt's SHA-256, both with the CPU's instructions.

#include <tl_digest.h>

#include <string.h>

#include <gcrypt.h>
#include <isa-l/crc.h>

#define CRC_BEGIN UINT32_MAX // CRC-32C as in iSCSI (RFC 3720, section 12.1)

// Covered bytes: the unit's offset, and the parts before and after its check.
struct part {
	const void *data;
	uint32_t bytes;
};
#define PARTS 3

void tl_digest_prepare(void)
{
	(void)gcry_check_version(NULL);
}

const char *tl_digest_name(enum tl_digest_kind kind)
{
	static const char *const names[] = {TL_DIGESTS(TL_CHOICE_WORD)};

	return names[kind];
}

static struct tl_digest crc32c(const struct part *parts)
{
	struct tl_digest digest = {0};
	uint32_t crc = CRC_BEGIN;

	for (int i = 0; i < PARTS; i++)
		if (parts[i].bytes != 0)
			crc = crc32_iscsi((unsigned char *)(uintptr_t)parts[i].data, (int)parts[i].bytes, crc);
	crc = ~crc;
	memcpy(digest.byte, &crc, sizeof(crc));
	return digest;
}

static struct tl_digest sha256(const struct part *parts)
{
	gcry_buffer_t buffers[PARTS] = {0};
	struct tl_digest digest;

	for (int i = 0; i < PARTS; i++) {
		buffers[i].data = (void *)(uintptr_t)parts[i].data;
		buffers[i].len = parts[i].bytes;
	}
	gcry_md_hash_buffers(GCRY_MD_SHA256, 0, digest.byte, buffers, PARTS);
	return digest;
}

struct tl_digest tl_digest_unit(
	enum tl_digest_kind kind, const void *unit, uint32_t bytes, uint32_t head_at, uint64_t offset)
{
	uint32_t check_at = head_at + TL_PCAPNG_CHECK_AT, behind = check_at + (uint32_t)sizeof(uint64_t);
	const struct part parts[PARTS] = {
		{&offset, sizeof(offset)}, {unit, check_at}, {(const uint8_t *)unit + behind, bytes - behind}};

	return kind == TL_DIGEST_CRC32C ? crc32c(parts) : sha256(parts);
}

uint64_t tl_digest_check(const struct tl_digest *digest)
{
	uint64_t check;

	memcpy(&check, digest->byte, sizeof(check));
	return check;
}

bool tl_digest_is_right(const struct tl_pcapng_head *head, const void *unit, uint64_t offset)
{
	if (head->digest == TL_DIGEST_NONE)
		return head->check == 0 || head->check == tl_pcapng_check(unit, head->used_bytes);
	if (head->used_bytes == TL_PCAPNG_HEAD_BYTES)
		return true;
	struct tl_digest digest = tl_digest_unit(head->digest, unit, head->used_bytes, 0, offset);
	return head->check == tl_digest_check(&digest);
}

static struct tl_digest of_two(enum tl_digest_kind kind, const struct tl_digest *a, const struct tl_digest *b)
{
	const struct part parts[PARTS] = {{a->byte, TL_DIGEST_BYTES}, {b->byte, TL_DIGEST_BYTES}};

	return kind == TL_DIGEST_CRC32C ? crc32c(parts) : sha256(parts);
}

void tl_digest_chain_add(struct tl_digest_chain *chain, const struct tl_digest *unit, uint64_t end_bytes)
{
	chain->digest = of_two(chain->kind, &chain->digest, unit);
	chain->end_bytes = end_bytes;
	chain->units++;
}
