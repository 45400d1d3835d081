// SPDX-License-Identifier: BSD-3-Clause
// recover: foreign, damaged and hostile content, and recoveries that are killed.

#include <tl_test_recover_file.h>

// ---- tests

TL_TEST("recovers a file cut at any sector")
{
	struct file *file = make();

	for (uint32_t size = 0; size <= file->size; size += 512) {
		struct image image;
		struct tl_recover_report report;
		uint32_t records = 0;
		if (size < 512) { // shorter than a section header
			expect_refused(file->bytes, size, -ENOMSG, "contains no recording");
			continue;
		}
		for (uint32_t i = 0; i < SLABS; i++)
			records += slab_end(file, i) <= size ? file->slab_records[i] : 0;
		image_init(&image, file->bytes, size);
		recover(&image, &report, records);
		CU_ASSERT_EQUAL(count_statistics(image.bytes, image.size), report.interfaces);
		CU_ASSERT_EQUAL(report.changed, size != file->size);
		CU_ASSERT_EQUAL(image.size % PAGE, 0);
		tl_recover_report_fini(&report);
		free(image.bytes);
	}
	free(file);
}

// Any page may be missing on the disk.
TL_TEST("loses only the slab that lost a page")
{
	struct file *file = make();

	for (uint32_t at = PAGE; at < file->slab_at[SLABS]; at += PAGE) {
		struct file *damaged = make();
		struct tl_recover_report report;
		uint32_t slab = 0;
		while (slab_end(file, slab) <= at)
			slab++;
		memset(damaged->bytes + at, 0, PAGE);
		expect_without(damaged, damaged->size, 1u << slab, &report);
		tl_recover_report_fini(&report);
		free(damaged);
	}
	free(file);
}

TL_TEST("refuses files that are not ours")
{
	static const uint8_t zeros[2 * PAGE];
	uint8_t classic[2 * PAGE] = {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0};
	struct file *file = make_named("Dumpcap");

	expect_refused(file->bytes, file->size, -EMEDIUMTYPE, "another program");
	expect_refused(file->bytes, file->slab_at[3] + 100, -EMEDIUMTYPE, "another program");
	memset(file->bytes + 8, 0x1a, 4); // no section header, and no slab after it
	expect_refused(file->bytes, PAGE, -ENOMSG, "contains no recording");
	expect_refused(zeros, sizeof(zeros), -ENOMSG, "contains no recording");
	expect_refused(classic, sizeof(classic), -EMEDIUMTYPE, "pcap file");
	memcpy(classic, (uint32_t[]){0x184D2A54u}, 4);
	expect_refused(classic, sizeof(classic), -EMEDIUMTYPE, "was compressed");
	expect_refused("hello, world\n", 13, -ENOMSG, "contains no recording");
	free(file);
}

// A recording embedded in a disk image, for example.
TL_TEST("refuses a disk image that contains a recording")
{
	struct file *file = make();
	uint8_t *disk = calloc(1, file->size + 4 * PAGE);

	CU_ASSERT_PTR_NOT_NULL_FATAL(disk);
	memcpy(disk + 1080, "superblock", 10);
	memcpy(disk + 4 * PAGE, file->bytes, file->size);
	expect_refused(disk, file->size + 4 * PAGE, -ENOMSG, "not one itself");
	free(disk);
	free(file);
}

// A recording of a recording that is sent over a network, in frames that hold whole pages of it.
TL_TEST("accepts no slab inside a frame")
{
	struct file *file = make(), *outer = calloc(1, sizeof(*outer));
	struct tl_recover_report report;
	struct image image;

	CU_ASSERT_PTR_NOT_NULL_FATAL(outer);
	put_prologue(outer, "tapline test");
	put_slab(outer, 0, 1);
	uint32_t begin = outer->size, inner = slab_end(file, 0) - file->slab_at[0];
	outer->size += PAGE + inner;
	put_slab(outer, 2, 2);
	uint32_t end = outer->size;
	// The torn slab contains the first slab of the file again.
	memcpy(outer->bytes + begin, file->bytes + file->slab_at[1], TL_PCAPNG_HEAD_BYTES);
	memcpy(outer->bytes + begin + PAGE, file->bytes + file->slab_at[0], inner);
	image_init(&image, outer->bytes, end);
	recover(&image, &report, 3);
	CU_ASSERT_EQUAL(report.slabs_kept, 2);
	CU_ASSERT_EQUAL(report.padded_bytes, PAGE + inner);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(outer);
	free(file);
}

// After a torn slab of this run follows a complete one of another run, left on the disk.
TL_TEST("accepts no slab of another run inside damage")
{
	struct file *file = make();
	struct tl_recover_report report;
	uint64_t run_id = RUN_ID + 1;

	memset(file->bytes + file->slab_at[3], 0, PAGE);
	memcpy(file->bytes + file->slab_at[4] + 16, &run_id, sizeof(run_id));
	expect_without(file, file->size, 3u << 3, &report);
	CU_ASSERT_EQUAL(report.padded_bytes, file->slab_at[5] - file->slab_at[3]);
	CU_ASSERT_EQUAL(report.n_rings, RINGS);
	tl_recover_report_fini(&report);
	free(file);
}

// ---- files designed to be slow

#define HOSTILE_PAGES 8192u

// Check that a recovery of these bytes reads and searches only a few times their size.
static void expect_linear(const uint8_t *bytes, uint64_t size, struct tl_recover_report *report)
{
	struct image image;
	struct tl_err err;

	image_init(&image, bytes, size);
	CU_ASSERT_EQUAL(image_recover_with(&image, &(struct tl_recover_opts){.dry_run = true}, report, &err), 0);
	CU_ASSERT(image.read_bytes < 5 * size);
	CU_ASSERT(report->vain_bytes < 6 * size + (48u << 20));
	if (image.read_bytes >= 5 * size || report->vain_bytes >= 6 * size + (48u << 20))
		printf("# %.1f times the size was read, %.1f searched\n", (double)image.read_bytes / (double)size,
			(double)report->vain_bytes / (double)size);
	free(image.bytes);
}

// Make a prologue, a complete slab, and then in each page the output of fill().
static void expect_linear_pages(void (*fill)(uint8_t *page, uint64_t left), struct tl_recover_report *report)
{
	struct file *file = make();
	uint64_t size = (uint64_t)HOSTILE_PAGES * PAGE;
	uint8_t *bytes = calloc(1, size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	memcpy(bytes, file->bytes, slab_end(file, 0));
	for (uint64_t at = slab_end(file, 0) + PAGE; at < size; at += PAGE)
		fill(bytes + at, size - at);
	expect_linear(bytes, size, report);
	free(bytes);
	free(file);
}

// Put a HEAD, and one complete block of nearly 4 MiB, with a wrong number of records.
static void fill_with_heads(uint8_t *page, uint64_t left)
{
	uint32_t used = (uint32_t)tl_min_u64(left, 1023 * PAGE) - TL_PCAPNG_HEAD_BYTES;
	uint32_t block[2] = {0x80000009, used - TL_PCAPNG_HEAD_BYTES};

	tl_pcapng_put_head(
		page, &(struct tl_pcapng_head){
			      .run_id = RUN_ID, .sequence = left, .file = file_id, .used_bytes = used, .records = 1});
	memcpy(page + TL_PCAPNG_HEAD_BYTES, block, sizeof(block));
	memcpy(page + used - sizeof(block[1]), &block[1], sizeof(block[1]));
}

// Statistics followed by blocks that never end on a boundary: the k-th block of each page begins at 128 KiB * k and 16
// * k behind the page.
static void fill_with_statistics(uint8_t *page, uint64_t left)
{
	const uint32_t step = (128u << 10) + 16;
	uint32_t len = tl_pcapng_put_isb(page, 256, &(struct tl_pcapng_isb){.if_dropped_pkts = 0});
	uint32_t block[3] = {step, TL_PCAPNG_PAD, step}; // end of one block, start of the next

	memcpy(page + len, (const uint32_t[]){TL_PCAPNG_PAD, step + 256 - len}, 8);
	for (uint32_t k = 1; k < 230; k++) {
		block[0] = k == 1 ? step + 256 - len : step;
		memcpy(page + 256 + 16 * k - 4, block, sizeof(block));
	}
}

// Put a complete slab of a separate run, and then a block that claims 8 MiB.
static void fill_with_claims(uint8_t *page, uint64_t left)
{
	uint32_t block[2] = {0x80000009, 8u << 20};

	if (left / PAGE % 2 == 0)
		memcpy(page, block, sizeof(block));
	else {
		tl_pcapng_put_head(page,
			&(struct tl_pcapng_head){.run_id = left, .file = file_id, .used_bytes = TL_PCAPNG_HEAD_BYTES});
		tl_pcapng_put_pad(page + TL_PCAPNG_HEAD_BYTES, PAGE - TL_PCAPNG_HEAD_BYTES);
	}
}

TL_TEST("reads at most a multiple of the file's size, for any content")
{
	void (*const fills[])(uint8_t * page, uint64_t left) = {
		fill_with_heads, fill_with_statistics, fill_with_claims};

	for (size_t i = 0; i < TL_ARRAY_LEN(fills); i++) {
		struct tl_recover_report report;
		expect_linear_pages(fills[i], &report);
		tl_recover_report_fini(&report);
	}
}

// Put slabs of one page each: each of a separate run, or all of one ring in descending order.
TL_TEST("lists no more runs and ranges than a recording can have")
{
	for (int descending = 0; descending < 2; descending++) {
		struct file *file = make();
		uint32_t n = FILE_BYTES_MAX / PAGE * 16, first = slab_end(file, 0);
		uint8_t *bytes = calloc(n + 2, PAGE);
		struct tl_recover_report report;
		CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
		memcpy(bytes, file->bytes, first);
		for (uint32_t i = 0; i < n; i++) {
			uint8_t *slab = bytes + first + i * PAGE;
			struct tl_pcapng_epb epb = {.cap_bytes = 60, .wire_bytes = 60};
			tl_pcapng_put_head(
				slab, &(struct tl_pcapng_head){.run_id = descending ? RUN_ID : RUN_ID + 1 + i,
					      .file = file_id,
					      .ring = descending,
					      .sequence = 2 * (n - i),
					      .used_bytes = TL_PCAPNG_HEAD_BYTES + tl_pcapng_epb_bytes(60, 0, 0),
					      .records = 1});
			memset(tl_pcapng_put_epb(slab + TL_PCAPNG_HEAD_BYTES, &epb), 0, 60);
			uint32_t used = TL_PCAPNG_HEAD_BYTES + tl_pcapng_epb_bytes(60, 0, 0);
			tl_pcapng_put_pad(slab + used, PAGE - used);
		}
		expect_linear(bytes, first + (uint64_t)n * PAGE, &report);
		CU_ASSERT_EQUAL(report.slabs_kept, n + 1);
		CU_ASSERT(report.n_rings <= 1024);
		for (uint32_t i = 0; i < report.n_rings; i++)
			CU_ASSERT(report.rings[i].n <= 1025);
		tl_recover_report_fini(&report);
		free(bytes);
		free(file);
	}
}

TL_TEST("refuses slabs with inconsistent block lengths")
{
	static const struct {
		uint32_t at, add;
	} spoils[] = {{36, 4}, {36, 4096}, {40, 1}, {64 + 4, 4}, {64 + 8, 2}, {64 + 20, 4}, {64 + 20, 4096}};

	for (size_t i = 0; i < TL_ARRAY_LEN(spoils); i++) {
		struct file *file = make();
		struct tl_recover_report report;
		uint32_t word;
		memcpy(&word, file->bytes + file->slab_at[4] + spoils[i].at, sizeof(word));
		word += spoils[i].add;
		memcpy(file->bytes + file->slab_at[4] + spoils[i].at, &word, sizeof(word));
		expect_without(file, file->size, 1u << 4, &report);
		CU_ASSERT_EQUAL(report.slabs_torn, 1);
		tl_recover_report_fini(&report);
		free(file);
	}
}

TL_TEST("yields the same file after being killed at any step")
{
	uint32_t size;
	struct file *file = make_damaged(&size);

	CU_ASSERT_TRUE(expect_same_when_killed(file->bytes, size) > 6);
	free(file);
}

// The file system returns zeros for pages that were never written.
TL_TEST("yields the same file after being killed with the first slabs lost")
{
	for (uint32_t slabs = 1; slabs <= 3; slabs++) {
		struct file *file = make();
		memset(file->bytes, 0, file->slab_at[slabs]);
		CU_ASSERT_TRUE(expect_same_when_killed(file->bytes, file->size) > 6);
		free(file);
	}
}

// Statistics cut off by damage may be garbage: the interface number in them is invalid.
TL_TEST("rebuilds no interface from statistics that it cuts off")
{
	struct file *file = make();
	struct image image;
	struct tl_recover_report report;
	struct tl_err err;
	uint32_t section_bytes, number = 65;

	memcpy(&section_bytes, file->bytes + 4, sizeof(section_bytes));
	memset(file->bytes + section_bytes, 0, 8); // the first interface description
	memcpy(file->bytes + file->slab_at[SLABS] + (file_id != 0 ? TL_PCAPNG_HEAD_BYTES : 0) + 8, &number,
		sizeof(number));
	file->size -= 700;
	CU_ASSERT_TRUE(expect_same_when_killed(file->bytes, file->size) > 3);
	image_init(&image, file->bytes, file->size);
	CU_ASSERT_EQUAL(image_recover(&image, &report, &err), 0);
	CU_ASSERT_EQUAL(report.interfaces, RINGS);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

int main(void)
{
	return test_recover_run("recover_damage");
}
