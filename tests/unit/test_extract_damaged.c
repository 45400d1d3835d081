// SPDX-License-Identifier: BSD-3-Clause
// extract: damaged units of a compressed recording are skipped, counted and reported; all others are extracted.

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <tl_test_extract.h>

// Offset of the n-th unit of a compressed recording; 0: opening blocks.
static size_t unit_at(const uint8_t *data, size_t size, uint32_t n, struct tl_zslab_unit *out)
{
	size_t at = 0;

	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(data, size, out), 0);
	for (uint32_t i = 0; i < n; i++) {
		at += out->unit_bytes;
		CU_ASSERT_EQUAL_FATAL(tl_zslab_look(data + at, size - at, out), 0);
	}
	return at;
}

// Damage the units 3 to 6 of a compressed recording: the first in its content, the others whole, with an earlier unit
// in their place, as if it were recorded payload.
static uint8_t *make_damaged(size_t *out_size, uint32_t *out_lost, size_t *out_bytes)
{
	uint32_t records;
	size_t last;
	struct tl_zslab_unit early, unit;
	uint8_t *data = make_recording(true, out_size, &records, &last);
	size_t from = unit_at(data, *out_size, 1, &early), to = unit_at(data, *out_size, 7, &unit), at = to;

	*out_lost = 0;
	for (uint32_t n = 6; n >= 3; n--) {
		at = unit_at(data, *out_size, n, &unit);
		*out_lost += unit.head.records;
	}
	*out_bytes = to - at;
	data[at + unit.frame_at + 500] ^= 1;
	at += unit.unit_bytes;
	CU_ASSERT_FATAL(at + 4096 + early.unit_bytes <= to);
	memset(data + at, 0xee, to - at);
	memcpy(data + at + 4096, data + from, early.unit_bytes);
	return data;
}

TL_TEST("damaged units cost only their own packets")
{
	for (int indexed = 0; indexed < 2; indexed++) {
		uint32_t records, lost;
		size_t size, last, bytes;
		uint8_t *whole = make_recording(true, &size, &records, &last);
		write_file(in_path, whole, size);
		if (indexed)
			reindex();
		uint8_t *data = make_damaged(&size, &lost, &bytes);
		write_file(in_path, data, size);
		struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, -EBADMSG);
		CU_ASSERT_EQUAL(stats.records_matched, records - lost);
		CU_ASSERT(stats.slabs_damaged == 0 && stats.areas_damaged == 1 && stats.bytes_damaged == bytes);
		CU_ASSERT(stats.slabs_read == SLABS - 4 && stats.files_incomplete == 0);
		unlink(index_path);
		free(whole);
		free(data);
	}
}

// Slabs in flight may be missing before others.
TL_TEST("what a recording is still writing is no error")
{
	uint32_t lost;
	size_t size, bytes;
	uint8_t *data = make_damaged(&size, &lost, &bytes);

	write_file(in_path, data, size);
	int fd = open(in_path, O_RDONLY);
	CU_ASSERT_FATAL(fd >= 0 && flock(fd, LOCK_EX) == 0);
	struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT(stats.areas_damaged == 1 && stats.slabs_read == SLABS - 4);
	close(fd);
	run((struct tl_extract_cfg){0}, -EBADMSG);
	free(data);
}

TL_TEST("lost packets are counted where a unit tells their number")
{
	for (uint32_t n = 1; n < SLABS; n++) {
		for (int head = 0; head < 2; head++) {
			struct tl_zslab_unit unit;
			uint32_t records;
			size_t size, last;
			uint8_t *data = make_recording(true, &size, &records, &last);
			size_t at = unit_at(data, size, n, &unit);
			data[at + (head ? 0 : unit.frame_at + 500)] ^= 1;
			write_file(in_path, data, size);
			struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, -EBADMSG);
			CU_ASSERT_EQUAL(stats.records_matched, records - unit.head.records);
			CU_ASSERT_EQUAL(stats.records_damaged, head ? 0 : unit.head.records);
			CU_ASSERT(stats.slabs_damaged == !head && stats.areas_damaged == (uint64_t)head);
			CU_ASSERT_EQUAL(stats.bytes_damaged, unit.unit_bytes);
			free(data);
		}
	}
}

// Interface descriptions are kept, and compress well: a small file must not take all memory.
TL_TEST("interface descriptions above 64 MiB end a file")
{
	enum { BLOCK = 15 << 20, BLOCKS = 5 };
	const uint32_t begin[] = {TL_PCAPNG_IDB, BLOCK, 1}, end = BLOCK;
	struct tl_zslab_packer *packer = tl_zslab_packer_create(1);
	uint8_t *block = calloc(1, BLOCK), *data = malloc((BLOCKS + 1) * tl_zslab_bound(4096));
	struct tl_extract_stats stats;

	memcpy(block, begin, sizeof(begin));
	memcpy(block + BLOCK - sizeof(end), &end, sizeof(end));
	uint8_t *packed = malloc(tl_zslab_bound(BLOCK)), *prologue = malloc(4096);
	for (uint32_t n = BLOCKS - 1; n <= BLOCKS; n++) { // 60 and 75 MiB
		int64_t size =
			tl_zslab_pack_blocks(packer, prologue, make_prologue(prologue), data, tl_zslab_bound(4096));
		int64_t bytes = tl_zslab_pack_blocks(packer, block, BLOCK, packed, tl_zslab_bound(BLOCK));
		CU_ASSERT_FATAL(size > 0 && bytes > 0 && bytes <= tl_zslab_bound(4096));
		for (uint32_t i = 0; i < n; i++, size += bytes)
			memcpy(data + size, packed, (size_t)bytes);
		write_file(in_path, data, (size_t)size);
		stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT_EQUAL(stats.files_incomplete, n == BLOCKS);
	}
	tl_zslab_packer_destroy(packer);
	free(prologue);
	free(packed);
	free(block);
	free(data);
}

int main(void)
{
	return run_tests("extract_damaged");
}
