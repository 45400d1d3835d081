// SPDX-License-Identifier: BSD-3-Clause
// recover: in a reused file, no data of its earlier generation is attributed to the current one.

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_test.h>
#include <tl_test_recover_expect.h>

#define PAGE TL_PCAPNG_ALIGN
#define SLABS_MAX 24u
#define FILE_BYTES (1u << 20)
#define FRAME_BYTES 60u
#define RUN_ID 77u
#define RINGS 2u

// A complete recording in one file. All records have the same length, so that records of both generations have the same
// offsets.
struct life {
	uint32_t number; // in its records and statistics
	uint64_t file;	 // 0: as written by older versions
	uint64_t sequence[RINGS];
	uint8_t bytes[FILE_BYTES];
	uint32_t size;
	uint32_t n; // number of slabs
	uint32_t at[SLABS_MAX], used[SLABS_MAX], end[SLABS_MAX], records[SLABS_MAX];
	uint32_t prologue_bytes, statistics_at;
};

static void put_padding(struct life *life)
{
	uint32_t pad = tl_pcapng_pad_bytes(life->size, PAGE);

	if (pad != 0)
		tl_pcapng_put_pad(life->bytes + life->size, pad);
	life->size += pad;
}

static void put_prologue(struct life *life)
{
	life->size = tl_pcapng_put_shb(life->bytes, PAGE, &(struct tl_pcapng_shb){.application = "tapline test"});
	for (uint32_t i = 0; i < RINGS; i++)
		life->size +=
			tl_pcapng_put_idb(life->bytes + life->size, PAGE, &(struct tl_pcapng_idb){.name = "test0"});
	if (life->file != 0) {
		tl_pcapng_put_head(life->bytes + life->size,
			&(struct tl_pcapng_head){.file = life->file, .used_bytes = TL_PCAPNG_HEAD_BYTES});
		life->size += TL_PCAPNG_HEAD_BYTES;
	}
	put_padding(life);
	life->prologue_bytes = life->size;
}

// Sign the HEAD at this offset, as the writer does in a reused file.
static void sign(struct life *life, uint32_t at)
{
	if (life->file != 0)
		tl_pcapng_sign_head(life->bytes + at, life->file, tl_pcapng_check(life->bytes + at, life->size - at));
}

static void put_slab(struct life *life, uint32_t records)
{
	uint32_t begin = life->size, ring = life->n % RINGS, index = life->n++;

	life->at[index] = begin;
	life->records[index] = records;
	life->size += TL_PCAPNG_HEAD_BYTES;
	for (uint32_t i = 0; i < records; i++) {
		struct tl_pcapng_epb epb = {.interface_id = ring,
			.cap_bytes = FRAME_BYTES,
			.wire_bytes = FRAME_BYTES,
			.ts_ns = UINT64_C(1700000000000000000) + life->number * UINT64_C(1000000000) + i};
		uint8_t *data = tl_pcapng_put_epb(life->bytes + life->size, &epb);
		memset(data, 'x', FRAME_BYTES);
		memcpy(data, &life->number, sizeof(life->number));
		life->size += tl_pcapng_epb_bytes(FRAME_BYTES, 0, 0);
	}
	tl_pcapng_put_head(life->bytes + begin, &(struct tl_pcapng_head){.run_id = RUN_ID,
							.sequence = life->sequence[ring]++,
							.ring = ring,
							.used_bytes = life->size - begin,
							.records = records});
	sign(life, begin);
	life->used[index] = life->size;
	put_padding(life);
	life->end[index] = life->size;
}

static void put_statistics(struct life *life)
{
	uint32_t begin = life->size;

	life->statistics_at = begin;
	life->size += life->file != 0 ? TL_PCAPNG_HEAD_BYTES : 0;
	for (uint32_t i = 0; i < RINGS; i++)
		life->size += tl_pcapng_put_isb(life->bytes + life->size, PAGE,
			&(struct tl_pcapng_isb){.interface_id = i, .if_dropped_pkts = life->number});
	if (life->file != 0) {
		tl_pcapng_put_head(life->bytes + begin, &(struct tl_pcapng_head){.used_bytes = life->size - begin});
		sign(life, begin);
	}
	put_padding(life);
}

// records: per slab, terminated by 0.
static struct life *make_life(uint32_t number, const uint32_t *records, bool old)
{
	struct life *life = calloc(1, sizeof(*life));

	CU_ASSERT_PTR_NOT_NULL_FATAL(life);
	life->number = number;
	life->file = old ? 0 : number * UINT64_C(0x123456789abcdef);
	for (uint32_t ring = 0; ring < RINGS; ring++)
		life->sequence[ring] = number * 1000;
	put_prologue(life);
	for (; *records != 0; records++)
		put_slab(life, *records);
	put_statistics(life);
	return life;
}

static struct life *make(uint32_t number, const uint32_t *records)
{
	return make_life(number, records, false);
}

// ---- checks

static bool has_counter(const uint8_t *isb, uint32_t total, uint32_t number)
{
	uint16_t option[2];
	uint64_t value;

	for (uint32_t at = 20; at + 8 < total; at += 4 + tl_align_up(option[1], 4)) {
		memcpy(option, isb + at, sizeof(option));
		memcpy(&value, isb + at + 4, sizeof(value));
		if (option[0] == 0)
			break;
		if (option[0] == 5 && value == number) // isb_ifdrop
			return true;
	}
	return false;
}

// Return the records of the image, which must consist of complete blocks, none of them from this generation.
static uint32_t judge(const struct image *image, uint32_t stale)
{
	uint32_t records = 0, wrong = 0, block[2], number;

	for (uint64_t at = 0; at < image->size; at += block[1]) {
		memcpy(block, image->bytes + at, sizeof(block));
		CU_ASSERT_TRUE_FATAL(block[1] >= 12 && block[1] % 4 == 0 && block[1] <= image->size - at);
		CU_ASSERT_EQUAL_FATAL(memcmp(image->bytes + at + block[1] - 4, &block[1], 4), 0);
		memcpy(&number, image->bytes + at + 28, sizeof(number));
		if (block[0] == TL_PCAPNG_EPB)
			wrong += number == stale;
		if (block[0] == TL_PCAPNG_ISB)
			wrong += has_counter(image->bytes + at, block[1], stale);
		records += block[0] == TL_PCAPNG_EPB;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	return records;
}

// Recover the image, in which these slabs of a generation are complete and all other data is stale.
static void expect(struct image *image, const struct life *life, const bool *whole, uint32_t stale)
{
	struct tl_recover_report report, again;
	uint32_t records = 0, slabs = 0;
	struct tl_err err;

	for (uint32_t i = 0; i < life->n; i++) {
		slabs += whole[i];
		records += whole[i] ? life->records[i] : 0;
	}
	CU_ASSERT_EQUAL_FATAL(image_recover(image, &report, &err), 0);
	CU_ASSERT_EQUAL(report.slabs_kept, slabs);
	CU_ASSERT_EQUAL(report.records_kept, records);
	CU_ASSERT_EQUAL(judge(image, stale), records);
	for (uint32_t i = 0; i < report.n_rings; i++) {
		CU_ASSERT_EQUAL(report.rings[i].run_id, RUN_ID);
		CU_ASSERT_TRUE(report.rings[i].kept[0].first >= life->number * 1000);
	}
	CU_ASSERT_EQUAL(image_recover(image, &again, &err), 0);
	CU_ASSERT_FALSE(again.changed);
	CU_ASSERT_EQUAL(again.records_kept, records);
	tl_recover_report_fini(&again);
	tl_recover_report_fini(&report);
}

// Put this generation over the earlier one, of which this many bytes exist; the rest of the earlier one follows it.
static void image_over(struct image *image, const struct life *earlier, const struct life *life, uint32_t size)
{
	image_init(image, earlier->bytes, tl_max_u64(earlier->size, size));
	memcpy(image->bytes, life->bytes, size);
}

static void put_back(struct image *image, const struct life *earlier, uint32_t from, uint32_t to)
{
	memcpy(image->bytes + from, earlier->bytes + from, to - from);
}

static const uint32_t even[] = {200, 200, 200, 200, 200, 200, 200, 200, 0};
static const uint32_t other[] = {7, 300, 20, 130, 77, 250, 0};

static uint32_t written_to(const struct life *life, uint32_t slabs)
{
	return slabs == 0 ? life->prologue_bytes : life->end[slabs - 1];
}

// ---- tests

TL_TEST("cuts off data of the previous file")
{
	static const uint32_t *const shapes[] = {even, other};

	for (size_t shape = 0; shape < TL_ARRAY_LEN(shapes); shape++)
		for (uint32_t slabs = 0; slabs <= 6; slabs++) {
			struct life *earlier = make(1, even), *life = make(2, shapes[shape]);
			bool whole[SLABS_MAX];
			struct image image;
			for (uint32_t i = 0; i < SLABS_MAX; i++)
				whole[i] = i < slabs;
			image_over(&image, earlier, life, written_to(life, slabs));
			expect(&image, life, whole, 1);
			CU_ASSERT_EQUAL(image.size, written_to(life, slabs) + PAGE); // and statistics
			free(image.bytes);
			free(life);
			free(earlier);
		}
}

static void expect_end(const struct life *earlier, uint32_t end, const struct life *life, uint32_t slabs)
{
	bool whole[SLABS_MAX];
	struct image image;

	for (uint32_t i = 0; i < SLABS_MAX; i++)
		whole[i] = i < slabs;
	CU_ASSERT_EQUAL(end, life->end[slabs - 1]);
	image_over(&image, earlier, life, end);
	expect(&image, life, whole, 1);
	free(image.bytes);
}

// Put blocks outside slabs: statistics, with or without a HEAD, or a record.
TL_TEST("does not mistake the previous file's end for its own")
{
	struct life *life = make(2, even);

	for (uint32_t old = 0; old < 2; old++) {
		struct life *earlier = make_life(1, (uint32_t[]){200, 200, 0}, old != 0);
		expect_end(earlier, earlier->statistics_at, life, 2);
		free(earlier);
	}
	free(life);
}

TL_TEST("does not mistake the previous file's records for its own")
{
	struct life *earlier = make(1, (uint32_t[]){2000, 0});
	uint32_t record = tl_pcapng_epb_bytes(FRAME_BYTES, 0, 0), at = earlier->at[0] + TL_PCAPNG_HEAD_BYTES;

	while (at % PAGE != 0)
		at += record;
	CU_ASSERT_TRUE_FATAL(at < earlier->used[0]);
	struct life *life = make(2, (uint32_t[]){(at - earlier->at[0] - PAGE / 2) / record, 0});
	expect_end(earlier, at, life, 1);
	free(life);
	free(earlier);
}

// After a slab that was not written.
TL_TEST("takes no statistics of the previous file from a hole")
{
	struct life *earlier = make_life(1, (uint32_t[]){200, 200, 200, 0}, true), *life = make(2, even);
	bool whole[SLABS_MAX] = {true, true, false, false, true};
	struct image image;

	CU_ASSERT_EQUAL(earlier->statistics_at, life->at[3]);
	image_over(&image, earlier, life, life->end[4]);
	put_back(&image, earlier, life->at[2], earlier->size);
	expect(&image, life, whole, 1);
	free(image.bytes);
	free(life);
	free(earlier);
}

TL_TEST("reports slabs as missing where data of the previous file remains")
{
	struct life *earlier = make(1, even), *life = make(2, even);
	bool whole[SLABS_MAX] = {true, true, false, true, false, true, true, true};
	struct tl_recover_report report;
	struct image image;
	struct tl_err err;

	image_over(&image, earlier, life, life->size);
	put_back(&image, earlier, life->at[2], life->end[2]);
	put_back(&image, earlier, life->at[4], life->end[4]);
	CU_ASSERT_EQUAL(image_recover_with(&image, &(struct tl_recover_opts){.dry_run = true}, &report, &err), 0);
	CU_ASSERT_EQUAL_FATAL(report.n_rings, RINGS);
	CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[0]), 2);
	CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[1]), 0);
	CU_ASSERT_EQUAL(report.slabs_torn, 0);
	tl_recover_report_fini(&report);
	expect(&image, life, whole, 1);
	free(image.bytes);
	free(life);
	free(earlier);
}

static bool is_written(const struct life *life, const struct image *image, uint32_t index)
{
	uint32_t at = life->at[index], used = life->used[index], end = life->end[index];
	const uint8_t *has = image->bytes, *wants = life->bytes;

	return memcmp(has + at, wants + at, used - at) == 0 &&
	       (used == end ||
		       (memcmp(has + used, wants + used, 8) == 0 && memcmp(has + end - 4, wants + end - 4, 4) == 0));
}

// Records of both generations have the same offsets: only the checksum distinguishes them.
TL_TEST("keeps no slab that ends in data of the previous file")
{
	struct life *earlier = make(1, even), *life = make(2, even);

	for (uint32_t at = life->at[3] + 512; at < life->used[3]; at += 512) {
		bool whole[SLABS_MAX] = {true, true, true, false, true, true, true, true};
		struct image image;
		image_over(&image, earlier, life, life->size);
		put_back(&image, earlier, at, life->end[3]);
		whole[3] = is_written(life, &image, 3); // its last bytes may be equal
		expect(&image, life, whole, 1);
		put_back(&image, life, 0, life->size);
		image.size = life->size;
		put_back(&image, earlier, at, at + 512); // or only one sector
		whole[3] = is_written(life, &image, 3);
		expect(&image, life, whole, 1);
		free(image.bytes);
	}
	free(life);
	free(earlier);
}

static uint32_t some_records(uint32_t *records, uint32_t n, bool same)
{
	uint32_t size = 1 + (uint32_t)rand() % 400;

	for (uint32_t i = 0; i < n; i++)
		records[i] = same ? size : 1 + (uint32_t)rand() % 400;
	records[n] = 0;
	return n;
}

// Any set of pages on the disk, for generations of any shape.
TL_TEST("keeps only its own data, for any set of written pages")
{
	srand(20260501);
	for (uint32_t round = 0; round < 400; round++) {
		uint32_t records[2][SLABS_MAX + 1], odds = 1 + (uint32_t)rand() % 20;
		bool whole[SLABS_MAX];
		struct image image;
		some_records(records[0], 1 + (uint32_t)rand() % 20, round % 2 == 0);
		some_records(records[1], 1 + (uint32_t)rand() % 20, round % 4 == 0);
		struct life *earlier = make_life(1, records[0], round % 3 == 0), *life = make(2, records[1]);
		image_over(&image, earlier, life, life->size);
		for (uint32_t at = life->prologue_bytes; at < tl_min_u64(life->size, earlier->size); at += PAGE)
			if ((uint32_t)rand() % odds == 0)
				put_back(&image, earlier, at, at + PAGE);
		for (uint32_t i = 0; i < life->n; i++)
			whole[i] = is_written(life, &image, i);
		expect(&image, life, whole, 1);
		free(image.bytes);
		free(life);
		free(earlier);
	}
}

// Recover, then reuse in a ring: the padding of that recovery ends where a slab of this generation ends, and covers
// some of its slabs.
TL_TEST("does not mistake a recovery of the previous file for its own")
{
	struct life *first = make(1, even), *second = make(2, even), *third = make(3, (uint32_t[]){200, 5, 5, 5, 0});
	bool whole[SLABS_MAX] = {true, false, true, true};
	struct tl_recover_report report;
	struct image image;
	struct tl_err err;

	image_over(&image, first, second, second->size);
	put_back(&image, first, second->at[1], second->end[6]);
	CU_ASSERT_EQUAL(image_recover(&image, &report, &err), 0);
	CU_ASSERT_EQUAL(report.slabs_kept, 2);
	tl_recover_report_fini(&report);
	CU_ASSERT_EQUAL(third->end[0], second->at[1]);
	CU_ASSERT_TRUE(third->end[3] < second->end[6]);
	put_back(&image, third, 0, third->end[0]);
	put_back(&image, third, third->at[2], third->end[3]);
	expect(&image, third, whole, 2);
	CU_ASSERT_EQUAL(judge(&image, 1), 210);
	free(image.bytes);
	free(third);
	free(second);
	free(first);
}

TL_TEST("yields the same file after being killed at any step")
{
	struct life *earlier = make(1, even), *life = make(2, other);
	struct image damaged;

	image_over(&damaged, earlier, life, life->end[5]);
	put_back(&damaged, earlier, life->at[1], life->end[2]);
	put_back(&damaged, earlier, life->at[4] + 512, life->end[4]);
	(void)expect_same_when_killed(damaged.bytes, damaged.size);
	free(damaged.bytes);
	free(life);
	free(earlier);
}

static off_t unreadable_from; // 0: all can be read

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
	if (unreadable_from == 0 || offset < unreadable_from)
		return syscall(SYS_pread64, fd, data, len, offset);
	errno = EIO;
	return -1;
}

static bool is_blank(const struct image *image, bool *opened)
{
	FILE *file = tmpfile();

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(image->bytes, 1, image->size, file), image->size);
	fflush(file);
	bool blank = tl_recover_is_blank(fileno(file), opened);
	fclose(file);
	return blank;
}

TL_TEST("a reused file without new data is empty")
{
	struct life *earlier = make(1, even), *life = make(2, even);
	struct image image;
	bool opened;

	image_over(&image, earlier, life, life->prologue_bytes);
	CU_ASSERT_TRUE(is_blank(&image, &opened));
	CU_ASSERT_TRUE(opened);
	put_back(&image, life, life->at[5], life->end[5]); // out of order
	CU_ASSERT_FALSE(is_blank(&image, &opened));
	free(image.bytes);
	image_init(&image, earlier->bytes, earlier->size);
	CU_ASSERT_FALSE(is_blank(&image, &opened));
	free(image.bytes);
	image_init(&image, (uint8_t[3 * PAGE]){0}, 3 * PAGE);
	CU_ASSERT_TRUE(is_blank(&image, &opened));
	CU_ASSERT_FALSE(opened);
	free(image.bytes);
	free(life);
	free(earlier);
}

TL_TEST("a file that cannot be read is not empty")
{
	struct life *life = make(1, even);
	struct image image;
	bool opened;

	image_init(&image, life->bytes, life->prologue_bytes);
	CU_ASSERT_TRUE(is_blank(&image, &opened));
	for (off_t from = PAGE; from <= (off_t)life->prologue_bytes; from += PAGE) {
		unreadable_from = from;
		CU_ASSERT_FALSE(is_blank(&image, &opened));
	}
	unreadable_from = 0;
	free(image.bytes);
	free(life);
}

int main(void)
{
	return tl_test_run("recover, of a file written again");
}
