// SPDX-License-Identifier: BSD-3-Clause
// The two local-use blocks around the records of a sealed slab: HEAD before them, PAD after them.

#include <tl_pcapfile.h>

#include <errno.h>
#include <stddef.h>

#define CHECK_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15) // odd: no bit is lost
#define MAGIC_BYTES 8u				      // no NUL

static const char magics[TL_DIGEST_KINDS][MAGIC_BYTES + 1] = {
	[TL_DIGEST_NONE] = "TAPSLAB1",
	[TL_DIGEST_CRC32C] = "TAPSLABC",
	[TL_DIGEST_SHA256] = "TAPSLABS",
};

typedef uint64_t check_words __attribute__((vector_size(64)));

// HEAD block, searched by recovery on 4 KiB boundaries; documented in docs/recording.md.
struct head_block {
	uint32_t type;
	uint32_t total_bytes;
	char magic[MAGIC_BYTES];
	uint64_t run_id;
	uint64_t sequence;
	uint32_t ring;
	uint32_t used_bytes;
	uint32_t records;
	struct {
		uint64_t file;
		uint64_t check;
	} __attribute__((packed)) of;
	uint32_t total_bytes_again;
};

_Static_assert(sizeof(struct head_block) == TL_PCAPNG_HEAD_BYTES, "HEAD has no holes");
_Static_assert(offsetof(struct head_block, of.check) == TL_PCAPNG_CHECK_AT, "docs/recording.md");

void tl_pcapng_put_pad(void *buf, uint32_t len)
{
	uint32_t head[2] = {TL_PCAPNG_PAD, len};

	memset(buf, 0, len);
	memcpy(buf, head, sizeof(head));
	memcpy((uint8_t *)buf + len - 4, &len, 4);
}

uint32_t tl_pcapng_pad_bytes(uint64_t used_bytes, uint32_t align)
{
	uint32_t gap = (uint32_t)(-used_bytes & (align - 1));

	return gap != 0 && gap < TL_PCAPNG_PAD_MIN ? gap + align : gap;
}

void tl_pcapng_put_head(void *buf, const struct tl_pcapng_head *head)
{
	struct head_block block = {
		.type = TL_PCAPNG_HEAD,
		.total_bytes = sizeof(block),
		.run_id = head->run_id,
		.sequence = head->sequence,
		.ring = head->ring,
		.used_bytes = head->used_bytes,
		.records = head->records,
		.of = {.file = head->file, .check = head->check},
		.total_bytes_again = sizeof(block),
	};

	memcpy(block.magic, magics[head->digest], MAGIC_BYTES);
	memcpy(buf, &block, sizeof(block));
}

// Copy bytes into a HEAD, which is aligned like any block: to 4 bytes.
static void put_at(void *head, size_t offset, const void *bytes, size_t n)
{
	memcpy((uint8_t *)head + offset, bytes, n);
}

void tl_pcapng_sign_head(void *buf, uint64_t file, uint64_t check)
{
	put_at(buf, offsetof(struct head_block, of.file), &file, sizeof(file));
	tl_pcapng_set_check(buf, check);
}

void tl_pcapng_set_kind(void *buf, uint64_t file, enum tl_digest_kind kind)
{
	put_at(buf, offsetof(struct head_block, of.file), &file, sizeof(file));
	put_at(buf, offsetof(struct head_block, magic), magics[kind], MAGIC_BYTES);
}

void tl_pcapng_set_check(void *buf, uint64_t check)
{
	put_at(buf, TL_PCAPNG_CHECK_AT, &check, sizeof(check));
}

// Two sums per lane make the position of a word count; the lanes are independent of each other.
uint64_t tl_pcapng_check(const void *slab, uint32_t used_bytes)
{
	const uint8_t *at = (const uint8_t *)slab + TL_PCAPNG_HEAD_BYTES, *end = (const uint8_t *)slab + used_bytes;
	check_words sum = {0}, sums = {0}, words;
	uint64_t check = 0;
	uint32_t word;

	for (; end - at >= (ptrdiff_t)sizeof(words); at += sizeof(words)) {
		memcpy(&words, at, sizeof(words));
		sum += words;
		sums += sum;
	}
	for (; end - at >= (ptrdiff_t)sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		check = (check + word) * CHECK_MULTIPLIER;
	}
	for (size_t lane = 0; lane < sizeof(words) / sizeof(words[0]); lane++)
		check = ((check + sum[lane]) * CHECK_MULTIPLIER + sums[lane]) * CHECK_MULTIPLIER;
	return check != 0 ? check : 1;
}

// Kind named by a magic; TL_DIGEST_KINDS: unknown.
static enum tl_digest_kind kind_of(const char *magic)
{
	uint32_t kind = 0;

	while (kind < TL_DIGEST_KINDS && memcmp(magic, magics[kind], MAGIC_BYTES) != 0)
		kind++;
	return (enum tl_digest_kind)kind;
}

int tl_pcapng_get_head(const void *buf, uint32_t size, struct tl_pcapng_head *out)
{
	struct head_block block;

	if (size < sizeof(block))
		return -EINVAL;
	memcpy(&block, buf, sizeof(block));
	if (block.type != TL_PCAPNG_HEAD || block.total_bytes != sizeof(block) ||
		block.total_bytes_again != sizeof(block) || kind_of(block.magic) == TL_DIGEST_KINDS ||
		block.used_bytes < sizeof(block) || block.used_bytes % 4 != 0)
		return -EINVAL;
	*out = (struct tl_pcapng_head){
		.run_id = block.run_id,
		.sequence = block.sequence,
		.ring = block.ring,
		.used_bytes = block.used_bytes,
		.records = block.records,
		.file = block.of.file,
		.check = block.of.check,
		.digest = kind_of(block.magic),
	};
	return 0;
}
