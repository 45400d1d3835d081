// SPDX-License-Identifier: BSD-3-Clause
// CLOCK block: log of the clocks behind a recording's stamps, and error bounds of the stamps.

#include <tl_pcapfile.h>

#include <errno.h>

// Layout as in docs/recording.md.
struct clock_block {
	uint32_t type;
	uint32_t total_bytes;
	char magic[8]; // no NUL
	uint64_t start_ns;
	uint64_t bound_max_ns[TL_PCAPNG_CLOCKS];
	uint32_t steps;
	uint32_t records;
	// Followed by the records, and total_bytes again.
};

static const char magic[] = "TAPCLOK1";

_Static_assert(sizeof(struct clock_block) + 4 == TL_PCAPNG_CLOCK_BYTES, "CLOCK has no holes");
_Static_assert(sizeof(struct tl_pcapng_clock_record) == TL_PCAPNG_CLOCK_RECORD_BYTES, "a record has no holes");

uint32_t tl_pcapng_put_clock(
	void *buf, uint32_t size, const struct tl_pcapng_clock *clock, const struct tl_pcapng_clock_record *records)
{
	uint32_t content = clock->records * TL_PCAPNG_CLOCK_RECORD_BYTES, total = TL_PCAPNG_CLOCK_BYTES + content;
	struct clock_block block = {.type = TL_PCAPNG_CLOCK,
		.total_bytes = total,
		.start_ns = clock->start_ns,
		.steps = clock->steps,
		.records = clock->records};
	uint8_t *to = buf;

	if (size < TL_PCAPNG_CLOCK_BYTES || clock->records > (size - TL_PCAPNG_CLOCK_BYTES) / sizeof(*records))
		return 0;
	memcpy(block.magic, magic, sizeof(block.magic));
	memcpy(block.bound_max_ns, clock->bound_max_ns, sizeof(block.bound_max_ns));
	memcpy(to, &block, sizeof(block));
	memcpy(to + sizeof(block), records, content);
	memcpy(to + total - 4, &total, 4);
	return total;
}

int tl_pcapng_get_clock(const void *buf, uint32_t size, struct tl_pcapng_clock *out)
{
	struct clock_block block;

	if (size < TL_PCAPNG_CLOCK_BYTES)
		return -EINVAL;
	memcpy(&block, buf, sizeof(block));
	uint32_t content = block.total_bytes - TL_PCAPNG_CLOCK_BYTES;
	if (block.type != TL_PCAPNG_CLOCK || memcmp(block.magic, magic, sizeof(block.magic)) != 0 ||
		block.total_bytes > size || block.total_bytes < TL_PCAPNG_CLOCK_BYTES ||
		content % TL_PCAPNG_CLOCK_RECORD_BYTES != 0 || content / TL_PCAPNG_CLOCK_RECORD_BYTES != block.records)
		return -EINVAL;
	*out = (struct tl_pcapng_clock){.start_ns = block.start_ns, .steps = block.steps, .records = block.records};
	memcpy(out->bound_max_ns, block.bound_max_ns, sizeof(out->bound_max_ns));
	return 0;
}

struct tl_pcapng_clock_record tl_pcapng_get_clock_record(const void *buf, uint32_t index)
{
	const uint8_t *records = (const uint8_t *)buf + sizeof(struct clock_block);
	struct tl_pcapng_clock_record out;

	memcpy(&out, records + (size_t)index * sizeof(out), sizeof(out));
	return out;
}
