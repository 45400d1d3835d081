// SPDX-License-Identifier: BSD-3-Clause
// The two local-use blocks around the records of a sealed slab: HEAD before them, PAD after them.

#include <tl_pcapfile.h>

#include <errno.h>
#include <stddef.h>

#define CHECK_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15) // odd: no bit is lost
#define HEAD_MAGIC "TAPSLAB1"			      // eight characters, no NUL

typedef uint64_t check_words __attribute__((vector_size(64)));

// Recovery looks for this on 4 KiB boundaries; docs/recording.md shows it to readers of files.
struct head_block {
	uint32_t type;
	uint32_t total_bytes;
	char magic[8];
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
		.magic = HEAD_MAGIC,
		.run_id = head->run_id,
		.sequence = head->sequence,
		.ring = head->ring,
		.used_bytes = head->used_bytes,
		.records = head->records,
		.of = {.file = head->file, .check = head->check},
		.total_bytes_again = sizeof(block),
	};

	memcpy(buf, &block, sizeof(block));
}

void tl_pcapng_sign_head(void *buf, uint64_t file, uint64_t check)
{
	struct head_block *block = buf;

	block->of.file = file;
	block->of.check = check;
}

// Two sums per lane, so that the place of a word counts, too; lanes that do not wait for each other.
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

int tl_pcapng_get_head(const void *buf, uint32_t size, struct tl_pcapng_head *out)
{
	struct head_block block;

	if (size < sizeof(block))
		return -EINVAL;
	memcpy(&block, buf, sizeof(block));
	if (block.type != TL_PCAPNG_HEAD || block.total_bytes != sizeof(block) ||
		block.total_bytes_again != sizeof(block) || memcmp(block.magic, HEAD_MAGIC, sizeof(block.magic)) != 0 ||
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
	};
	return 0;
}
