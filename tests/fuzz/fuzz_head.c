// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the readers of HEADs and CHAINs: a block read can be written back unchanged, ranges reported by verify are
// ascending and within the file, and changing any byte of a valid unit invalidates it.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_verify.h>
#include <tl_zslab.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const uint8_t *bytes;
	size_t size;
	uint64_t read_bytes;
};

static void require(int truth)
{
	if (!truth)
		abort();
}

static int read_memory(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes)
{
	struct memory *memory = ctx;

	require(offset_bytes <= memory->size && len_bytes <= memory->size - offset_bytes);
	if (len_bytes != 0)
		memcpy(buf, memory->bytes + offset_bytes, len_bytes);
	memory->read_bytes += len_bytes;
	return 0;
}

static struct tl_verify_report verify(const uint8_t *data, size_t size)
{
	struct memory memory = {data, size, 0};
	struct tl_verify_io io = {.ctx = &memory, .size_bytes = size, .read = read_memory};
	struct tl_verify_report report;
	struct tl_err err;

	require(tl_verify(&io, &(struct tl_verify_opts){0}, &report, &err) == 0);
	return report;
}

static void judge(const struct tl_verify_report *report, size_t size)
{
	uint64_t end = 0, bytes = 0;

	require(report->outcome < TL_VERIFY_OUTCOMES && report->size_bytes == size);
	for (uint32_t i = 0; i < report->ranges && i < TL_VERIFY_RANGES; i++) {
		require(report->range[i].from >= end && report->range[i].from < report->range[i].to);
		end = report->range[i].to;
		bytes += end - report->range[i].from;
	}
	require(end <= size && (report->ranges > TL_VERIFY_RANGES || bytes == report->damaged_bytes));
	require(report->good_bytes + report->damaged_bytes + report->covered_bytes <= size);
	require(report->outcome != TL_VERIFY_GOOD || report->good_bytes == size);
}

static void change_one(const uint8_t *data, size_t size)
{
	uint8_t *changed = malloc(size);
	size_t at = (size_t)tl_pcapng_check(data, (uint32_t)(size & ~(size_t)3)) % size;

	require(changed != NULL);
	memcpy(changed, data, size);
	changed[at] ^= 0x20;
	struct tl_verify_report report = verify(changed, size);
	judge(&report, size);
	require(report.outcome == TL_VERIFY_DAMAGED && report.range[0].from <= at && report.range[0].to > at);
	free(changed);
}

static void read_blocks(const uint8_t *data, uint32_t size)
{
	uint8_t block[TL_DIGEST_CHAIN_BYTES];
	struct tl_digest_chain chain;
	struct tl_zslab_unit unit;
	struct tl_pcapng_head head;

	_Static_assert(sizeof(block) >= TL_PCAPNG_HEAD_BYTES, "there is room for both");
	if (tl_pcapng_get_head(data, size, &head) == 0) {
		tl_pcapng_put_head(block, &head);
		require(memcmp(block, data, TL_PCAPNG_HEAD_BYTES) == 0);
		if (head.used_bytes <= size)
			(void)tl_digest_is_right(&head, data, 4096);
	}
	if (tl_digest_chain_get(data, size, &chain) == 0) {
		tl_digest_chain_put(block, &chain);
		require(memcmp(block, data, 12) == 0 && memcmp(block + 16, data + 16, sizeof(block) - 16) == 0);
	}
	(void)tl_zslab_get_head(data, size, &unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_blocks(data, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX);
	struct tl_verify_report report = verify(data, size);
	judge(&report, size);
	if (report.outcome == TL_VERIFY_GOOD)
		change_one(data, size);
	return 0;
}
