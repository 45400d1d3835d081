// SPDX-License-Identifier: BSD-3-Clause
// recover: the remains of a recording after a crash become a valid file with every complete slab.

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_test.h>
#include <tl_test_recover_expect.h>

#define PAGE TL_PCAPNG_ALIGN
#define SLABS 8u
#define RINGS 2u
#define RUN_ID 77u
#define FILE_ID UINT64_C(0x0123456789abcdef)
#define FILE_BYTES_MAX (1u << 20)

// file number; 0 as in older versions
static uint64_t file_id;

// A file as a recording writes it: slabs of two rings in turn, each with a few numbered records.
struct file {
	uint8_t bytes[FILE_BYTES_MAX];
	uint32_t size;
	uint32_t slab_at[SLABS + 1]; // the last one: start of the statistics
	uint32_t slab_records[SLABS];
	uint32_t records;
};

static void put_padding(struct file *file)
{
	uint32_t pad = tl_pcapng_pad_bytes(file->size, PAGE);

	if (pad != 0)
		tl_pcapng_put_pad(file->bytes + file->size, pad);
	file->size += pad;
}

// Put the HEAD of the file's own blocks.
static void put_own_head(struct file *file, uint32_t at, uint32_t used_bytes)
{
	if (file_id == 0)
		return;
	tl_pcapng_put_head(file->bytes + at, &(struct tl_pcapng_head){.file = file_id, .used_bytes = used_bytes});
	file->size = at + used_bytes;
}

static void put_prologue(struct file *file, const char *application)
{
	file->size += tl_pcapng_put_shb(
		file->bytes, PAGE, &(struct tl_pcapng_shb){.os = "Linux", .application = application});
	for (uint32_t i = 0; i < RINGS; i++)
		file->size += tl_pcapng_put_idb(file->bytes + file->size, PAGE,
			&(struct tl_pcapng_idb){.name = "test0", .description = "queue", .snaplen = 2000});
	put_own_head(file, file->size, TL_PCAPNG_HEAD_BYTES);
	put_padding(file);
}

static void put_record(struct file *file, uint32_t ring)
{
	uint32_t number = file->records++;
	struct tl_pcapng_epb epb = {.interface_id = ring,
		.cap_bytes = 60 + number * 37 % 1400,
		.wire_bytes = 60 + number * 37 % 1400,
		.ts_ns = UINT64_C(1700000000000000000) + number};
	uint8_t *data = tl_pcapng_put_epb(file->bytes + file->size, &epb);

	memset(data, (int)number, epb.cap_bytes);
	memcpy(data, &number, sizeof(number));
	file->size += tl_pcapng_epb_bytes(epb.cap_bytes, 0, 0);
}

static void put_slab(struct file *file, uint32_t index, uint32_t records)
{
	uint32_t begin = file->size;

	file->slab_at[index] = begin;
	file->slab_records[index] = records;
	file->size += TL_PCAPNG_HEAD_BYTES;
	for (uint32_t i = 0; i < records; i++)
		put_record(file, index % RINGS);
	tl_pcapng_put_head(file->bytes + begin, &(struct tl_pcapng_head){.run_id = RUN_ID,
							.sequence = index / RINGS,
							.ring = index % RINGS,
							.file = file_id,
							.used_bytes = file->size - begin,
							.records = records});
	put_padding(file);
}

static void put_statistics(struct file *file)
{
	uint32_t begin = file->size;

	file->size += file_id != 0 ? TL_PCAPNG_HEAD_BYTES : 0;
	for (uint32_t i = 0; i < RINGS; i++)
		file->size += tl_pcapng_put_isb(file->bytes + file->size, PAGE,
			&(struct tl_pcapng_isb){.interface_id = i, .if_dropped_pkts = 0});
	put_own_head(file, begin, file->size - begin);
	put_padding(file);
}

// Make the file, always the same one; the caller frees.
static struct file *make_named(const char *application)
{
	struct file *file = calloc(1, sizeof(*file));

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	put_prologue(file, application);
	for (uint32_t i = 0; i < SLABS; i++)
		put_slab(file, i, 3 + i * 5 % 17);
	file->slab_at[SLABS] = file->size;
	put_statistics(file);
	return file;
}

static struct file *make(void)
{
	return make_named("tapline test");
}

static uint32_t slab_end(const struct file *file, uint32_t index)
{
	return file->slab_at[index + 1];
}

// ---- checks

// Return the number of records; check that the image consists of complete blocks and every record is unchanged.
static uint32_t judge(const struct image *image)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err;
	uint32_t records = 0, wrong = 0, number;

	CU_ASSERT_EQUAL_FATAL(tl_pcap_open_memory(image->bytes, image->size, "image", &reader, &err), 0);
	int rc;
	while ((rc = tl_pcap_next(reader, &frame, &err)) == 1) {
		memcpy(&number, frame.data, sizeof(number));
		wrong += frame.cap_bytes != 60 + number * 37 % 1400 ||
			 frame.data[frame.cap_bytes - 1] != (uint8_t)number ||
			 frame.ts_ns != UINT64_C(1700000000000000000) + number;
		records++;
	}
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_EQUAL(wrong, 0);
	tl_pcap_close(reader);
	return records;
}

// Recover the image, and check the invariants of every recovery. The caller frees the report.
static void recover(struct image *image, struct tl_recover_report *report, uint32_t records)
{
	struct tl_err err;

	int rc = image_recover(image, report, &err);
	CU_ASSERT_EQUAL(rc, 0);
	if (rc != 0) {
		fprintf(stderr, "# %s\n", err.text);
		return;
	}
	CU_ASSERT_EQUAL(image->syncs != 0, report->changed);
	CU_ASSERT_EQUAL(image->synced, image->steps); // no write after the sync
	CU_ASSERT_EQUAL(report->records_kept, records);
	CU_ASSERT_EQUAL(report->end_bytes, image->size);
	CU_ASSERT_EQUAL(judge(image), records);
	expect_whole(image, records);
}

// Recover the damaged file: all records remain except those of the slabs in the mask.
static void expect_without(const struct file *file, uint32_t size, uint32_t lost, struct tl_recover_report *report)
{
	struct image image;
	uint32_t records = file->records;

	for (uint32_t i = 0; i < SLABS; i++)
		records -= (lost >> i & 1) * file->slab_records[i];
	image_init(&image, file->bytes, size);
	recover(&image, report, records);
	CU_ASSERT_EQUAL(report->slabs_kept, SLABS - (uint32_t)__builtin_popcount(lost));
	CU_ASSERT_EQUAL(count_statistics(image.bytes, image.size), RINGS);
	free(image.bytes);
}

// ---- tests

static void leaves_a_healthy_file_alone(void)
{
	struct file *file = make();
	struct image image;
	struct tl_recover_report report;

	image_init(&image, file->bytes, file->size);
	recover(&image, &report, file->records);
	CU_ASSERT_FALSE(report.changed);
	CU_ASSERT_EQUAL(memcmp(image.bytes, file->bytes, file->size), 0);
	CU_ASSERT_EQUAL(report.slabs_kept, SLABS);
	CU_ASSERT_EQUAL(report.n_rings, RINGS);
	for (uint32_t i = 0; i < report.n_rings; i++)
		CU_ASSERT_EQUAL(report.rings[i].n, 1);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

static void appends_missing_statistics(void)
{
	struct file *file = make();
	struct tl_recover_report report;

	expect_without(file, file->slab_at[SLABS], 0, &report);
	CU_ASSERT_EQUAL(report.statistics, RINGS);
	CU_ASSERT_EQUAL(report.cut_bytes, 0);
	CU_ASSERT_EQUAL(report.padded_bytes, 0);
	tl_recover_report_fini(&report);
	free(file);
}

// Put an ISB option of 8 bytes; a time is two words, the high one first.
static uint64_t read_option(const uint8_t *isb, uint16_t code)
{
	struct tl_pcap_option option;
	uint32_t total, at = 0, words[2];
	uint64_t value = UINT64_MAX;

	memcpy(&total, isb + 4, sizeof(total));
	while (tl_pcap_next_option(isb + 20, total - 24, false, &at, &option) == 1)
		if (option.code == code)
			memcpy(&value, option.value, sizeof(value));
	memcpy(words, &value, sizeof(words));
	return code == 2 || code == 3 ? (uint64_t)words[0] << 32 | words[1] : value;
}

static void missing_statistics_tell_what_the_file_holds(void)
{
	struct file *file = make();
	struct tl_recover_report report;
	struct image image;
	uint64_t first_ns[RINGS], last_ns[RINGS], records[RINGS] = {0}, ns = UINT64_C(1700000000000000000);
	uint32_t block[3], found = 0;

	for (uint32_t i = 0; i < SLABS; i++) {
		uint32_t ring = i % RINGS;
		first_ns[ring] = records[ring] == 0 ? ns : first_ns[ring];
		records[ring] += file->slab_records[i];
		ns += file->slab_records[i];
		last_ns[ring] = ns - 1;
	}
	image_init(&image, file->bytes, file->slab_at[SLABS]);
	recover(&image, &report, file->records);
	for (uint64_t at = 0; at < image.size; at += block[1]) {
		memcpy(block, image.bytes + at, sizeof(block));
		if (block[0] != TL_PCAPNG_ISB)
			continue;
		found++;
		CU_ASSERT_TRUE_FATAL(block[2] < RINGS);
		CU_ASSERT_EQUAL(read_option(image.bytes + at, 2), first_ns[block[2]]);
		CU_ASSERT_EQUAL(read_option(image.bytes + at, 3), last_ns[block[2]]);
		CU_ASSERT_EQUAL(read_option(image.bytes + at, 8), records[block[2]]);
	}
	CU_ASSERT_EQUAL(found, RINGS);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

static void keeps_what_is_behind_a_torn_slab(void)
{
	for (uint32_t i = 0; i < SLABS; i++) {
		struct file *file = make();
		struct tl_recover_report report;
		uint32_t half = file->slab_at[i] + (slab_end(file, i) - file->slab_at[i]) / 2 / 512 * 512;
		memset(file->bytes + half, 0, slab_end(file, i) - half);
		expect_without(file, file->size, 1u << i, &report);
		CU_ASSERT_EQUAL(report.slabs_torn, 1);
		CU_ASSERT_EQUAL(report.padded_bytes, slab_end(file, i) - file->slab_at[i]);
		CU_ASSERT_EQUAL(report.statistics, 0);
		tl_recover_report_fini(&report);
		free(file);
	}
}

static void keeps_what_is_behind_a_hole_and_names_what_is_missing(void)
{
	struct file *file = make();
	struct tl_recover_report report;

	memset(file->bytes + file->slab_at[2], 0, file->slab_at[5] - file->slab_at[2]);
	expect_without(file, file->size, 7u << 2, &report);
	CU_ASSERT_EQUAL(report.slabs_torn, 0);
	// Slabs 2, 3 and 4 are the second slabs of both rings and the third of the first.
	CU_ASSERT_EQUAL_FATAL(report.n_rings, RINGS);
	CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[0]), 2);
	CU_ASSERT_EQUAL(report.rings[0].n, 2);
	CU_ASSERT_EQUAL(report.rings[0].kept[0].last, 0);
	CU_ASSERT_EQUAL(report.rings[0].kept[1].first, 3);
	CU_ASSERT_EQUAL(report.rings[0].run_id, RUN_ID);
	CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[1]), 1);
	tl_recover_report_fini(&report);
	free(file);
}

static void writes_holes_of_any_size_as_blocks_that_readers_take(void)
{
	enum { HOLE = 5u << 20 };
	struct file *file = make();
	struct image image;
	struct tl_recover_report report;

	image_init(&image, NULL, 0);
	free(image.bytes);
	image.bytes = calloc(1, file->size + HOLE + IMAGE_ROOM);
	CU_ASSERT_PTR_NOT_NULL_FATAL(image.bytes);
	image.size = file->size + HOLE;
	image.room = image.size + IMAGE_ROOM;
	memcpy(image.bytes, file->bytes, file->slab_at[3]);
	memcpy(image.bytes + file->slab_at[3] + HOLE, file->bytes + file->slab_at[3], file->size - file->slab_at[3]);
	recover(&image, &report, file->records);
	CU_ASSERT_EQUAL(report.padded_bytes, HOLE);
	CU_ASSERT_EQUAL(image.steps, 0); // in the second recovery, in judge()
	for (uint64_t at = 0, next; at < image.size; at = next) {
		uint32_t block[2];
		memcpy(block, image.bytes + at, sizeof(block));
		CU_ASSERT_TRUE_FATAL(block[1] != 0 && block[1] <= 1u << 20);
		next = at + block[1];
	}
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

static void cuts_zeros_and_garbage_off_the_end(void)
{
	struct file *file = make();
	struct tl_recover_report report;

	for (uint32_t i = 0; i < 3 * PAGE; i++) // preallocated, then with data of another file
		file->bytes[file->slab_at[SLABS] + i] = 0;
	expect_without(file, file->slab_at[SLABS] + 3 * PAGE, 0, &report);
	CU_ASSERT_EQUAL(report.cut_bytes, 3 * PAGE);
	tl_recover_report_fini(&report);
	for (uint32_t i = 0; i < 3 * PAGE; i++)
		file->bytes[file->slab_at[SLABS] + i] = (uint8_t)(i * 2654435761u >> 24);
	expect_without(file, file->slab_at[SLABS] + 3 * PAGE - 1000, 0, &report);
	CU_ASSERT_EQUAL(report.cut_bytes, 3 * PAGE - 1000);
	tl_recover_report_fini(&report);
	free(file);
}

// Slabs 1 and 3 of the first ring arrive before slab 2 between them, which then joins the ranges.
static void joins_ranges_of_one_ring_whatever_their_order(void)
{
	static const uint32_t orders[][4] = {{0, 2, 4, 6}, {6, 4, 2, 0}, {0, 4, 2, 6}, {4, 0, 6, 2}, {2, 6, 0, 4}};

	for (size_t i = 0; i < TL_ARRAY_LEN(orders); i++) {
		struct file *file = make(), *other = make();
		struct tl_recover_report report;
		struct image image;
		uint32_t records = 0, size = file->slab_at[0];
		for (uint32_t k = 0; k < 4; k++) { // the slabs of the first ring, and the second of them repeated
			uint32_t slab = orders[i][k], bytes = slab_end(file, slab) - file->slab_at[slab];
			memcpy(other->bytes + size, file->bytes + file->slab_at[slab], bytes);
			size += bytes;
			records += file->slab_records[slab];
		}
		memset(other->bytes + size, 0, PAGE); // after damage only new slabs are kept
		memcpy(other->bytes + size + PAGE, file->bytes + file->slab_at[orders[i][1]],
			slab_end(file, orders[i][1]) - file->slab_at[orders[i][1]]);
		image_init(&image, other->bytes, size + 4 * PAGE);
		recover(&image, &report, records);
		CU_ASSERT_EQUAL(report.slabs_kept, 4);
		CU_ASSERT_EQUAL_FATAL(report.n_rings, 1);
		CU_ASSERT_EQUAL(report.rings[0].n, 1);
		CU_ASSERT_EQUAL(report.rings[0].kept[0].first, 0);
		CU_ASSERT_EQUAL(report.rings[0].kept[0].last, 3);
		tl_recover_report_fini(&report);
		free(image.bytes);
		free(other);
		free(file);
	}
}

// Slabs 2 and 4, consecutive slabs of one ring, are exchanged around slab 3.
static void takes_slabs_in_any_order(void)
{
	static const uint32_t order[] = {4, 3, 2}; // 4 and 2 are consecutive slabs of one ring
	struct file *file = make(), *swapped = make();
	struct tl_recover_report report;
	uint32_t at = file->slab_at[2];

	for (size_t i = 0; i < TL_ARRAY_LEN(order); i++) {
		uint32_t bytes = slab_end(file, order[i]) - file->slab_at[order[i]];
		memcpy(swapped->bytes + at, file->bytes + file->slab_at[order[i]], bytes);
		at += bytes;
	}
	expect_without(swapped, file->size, 0, &report);
	CU_ASSERT_FALSE(report.changed);
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		CU_ASSERT_EQUAL(report.rings[ring].n, 1);
		CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[ring]), 0);
	}
	tl_recover_report_fini(&report);
	memset(swapped->bytes + file->slab_at[1], 0, PAGE); // after damage, too
	expect_without(swapped, file->size, 1u << 1, &report);
	tl_recover_report_fini(&report);
	free(swapped);
	free(file);
}

// The disk stored slabs in flight after one that failed; the writer writes it again at the failed slab's offset, and is
// killed.
static void keeps_a_slab_once_that_was_written_twice(void)
{
	uint32_t tried = 0;

	for (uint32_t i = 0; i + 1 < SLABS; i++) {
		struct file *file = make();
		struct tl_recover_report report;
		uint32_t bytes = slab_end(file, i + 1) - file->slab_at[i + 1];
		if (bytes <= slab_end(file, i) - file->slab_at[i]) {
			memcpy(file->bytes + file->slab_at[i], file->bytes + file->slab_at[i + 1], bytes);
			expect_without(file, file->slab_at[SLABS], 1u << i, &report);
			tl_recover_report_fini(&report);
			tried++;
		}
		free(file);
	}
	CU_ASSERT(tried >= 3);
}

static void recovers_a_file_cut_at_any_sector(void)
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
static void loses_only_the_slab_that_lost_a_page(void)
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

static void makes_up_a_lost_header(void)
{
	struct file *file = make();
	struct tl_recover_report report;

	memset(file->bytes, 0, PAGE);
	expect_without(file, file->size, 0, &report);
	CU_ASSERT_TRUE(report.rebuilt_section);
	CU_ASSERT_EQUAL(report.rebuilt_interfaces, RINGS);
	tl_recover_report_fini(&report);

	for (uint32_t i = 0; i < PAGE; i++)
		file->bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	expect_without(file, file->slab_at[SLABS], 0, &report);
	CU_ASSERT_EQUAL(report.statistics, RINGS);
	tl_recover_report_fini(&report);

	memset(file->bytes, 0, file->slab_at[2]); // and the first slabs
	expect_without(file, file->size, 3, &report);
	CU_ASSERT_TRUE(report.rebuilt_section);
	tl_recover_report_fini(&report);
	free(file);
}

static void makes_up_lost_interfaces_behind_those_that_are_left(void)
{
	struct file *file = make();
	struct tl_recover_report report;
	uint32_t total;

	memcpy(&total, file->bytes + 4, sizeof(total));
	uint32_t first = total;
	memcpy(&total, file->bytes + first + 4, sizeof(total));
	uint32_t second = first + total;
	memset(file->bytes + second, 0, PAGE - second);
	expect_without(file, file->size, 0, &report);
	CU_ASSERT_FALSE(report.rebuilt_section);
	CU_ASSERT_EQUAL(report.rebuilt_interfaces, 1);
	tl_recover_report_fini(&report);
	memset(file->bytes + second - 8, 0xff, 8); // within the first
	expect_without(file, file->size, 0, &report);
	CU_ASSERT_EQUAL(report.rebuilt_interfaces, 2);
	tl_recover_report_fini(&report);
	free(file);
}

static void refuses_what_is_not_ours(void)
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
static void refuses_an_image_that_holds_a_recording(void)
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
static void takes_no_slab_out_of_a_frame(void)
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
static void takes_no_slab_of_another_run_within_damage(void)
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

// Statistics between slabs do not end a file if slabs follow: new ones are appended.
static void statistics_between_slabs_do_not_close_a_file(void)
{
	struct file *file = calloc(1, sizeof(*file));
	struct image image;
	struct tl_recover_report report;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	put_prologue(file, "tapline test");
	put_slab(file, 0, 3);
	put_statistics(file);
	put_slab(file, 1, 3);
	image_init(&image, file->bytes, file->size);
	recover(&image, &report, 6);
	CU_ASSERT_EQUAL(report.statistics, RINGS);
	CU_ASSERT_EQUAL(count_statistics(image.bytes, image.size), 2 * RINGS);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

// In a file whose own blocks have a HEAD, statistics after damage belong to an earlier file.
static void keeps_no_statistics_of_an_earlier_file(void)
{
	struct file *file = calloc(1, sizeof(*file));
	struct image image;
	struct tl_recover_report report;
	uint64_t own_file_id = file_id;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	put_prologue(file, "tapline test");
	put_slab(file, 0, 3);
	file->size += PAGE; // zeros
	file_id = 0;
	put_statistics(file);
	file_id = own_file_id;
	put_slab(file, 1, 3);
	image_init(&image, file->bytes, file->size);
	recover(&image, &report, 6);
	CU_ASSERT_EQUAL(report.statistics, RINGS);
	CU_ASSERT_EQUAL(count_statistics(image.bytes, image.size), file_id != 0 ? RINGS : 2 * RINGS);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

// ---- files designed to be slow

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

#define HOSTILE_PAGES 8192u

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

static void costs_some_times_the_size_whatever_is_in_the_file(void)
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
static void lists_no_more_than_a_recording_can_have(void)
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

static void refuses_slabs_whose_blocks_do_not_add_up(void)
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

// Make a file with every kind of damage that has its own recovery step.
static struct file *make_damaged(uint32_t *out_size)
{
	struct file *file = make();

	memset(file->bytes, 0, PAGE);
	memset(file->bytes + file->slab_at[2], 0, file->slab_at[3] - file->slab_at[2]);
	memset(file->bytes + file->slab_at[5] + 100, 0xee, 1000);
	*out_size = file->slab_at[SLABS] - 700;
	return file;
}

static void gives_the_same_file_when_it_was_killed_after_any_step(void)
{
	uint32_t size;
	struct file *file = make_damaged(&size);

	CU_ASSERT_TRUE(expect_same_when_killed(file->bytes, size) > 6);
	free(file);
}

// The file system returns zeros for pages that were never written.
static void gives_the_same_file_when_it_was_killed_and_the_first_slabs_are_lost_as_well(void)
{
	for (uint32_t slabs = 1; slabs <= 3; slabs++) {
		struct file *file = make();
		memset(file->bytes, 0, file->slab_at[slabs]);
		CU_ASSERT_TRUE(expect_same_when_killed(file->bytes, file->size) > 6);
		free(file);
	}
}

// Statistics cut off by damage may be garbage: the interface number in them is invalid.
static void rebuilds_no_interface_of_statistics_that_it_cuts_off(void)
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

static void only_looks_when_dry(void)
{
	uint32_t size;
	struct file *file = make_damaged(&size);
	struct tl_recover_report report;
	struct image image;
	struct tl_err err;

	image_init(&image, file->bytes, size);
	CU_ASSERT_EQUAL(image_recover_with(&image, &(struct tl_recover_opts){.dry_run = true}, &report, &err), 0);
	CU_ASSERT_TRUE(report.changed);
	CU_ASSERT_EQUAL(report.slabs_kept, SLABS - 3);
	CU_ASSERT_EQUAL(image.steps, 0);
	CU_ASSERT_EQUAL(memcmp(image.bytes, file->bytes, size), 0);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

static int give_up(void *ctx, uint64_t done_bytes, uint64_t size_bytes)
{
	return 1;
}

static void gives_up_when_told_to(void)
{
	uint32_t size;
	struct file *file = make_damaged(&size);
	struct tl_recover_report report;
	struct image image;
	struct tl_err err;

	image_init(&image, file->bytes, size);
	CU_ASSERT_EQUAL(
		image_recover_with(&image, &(struct tl_recover_opts){.progress = give_up}, &report, &err), -ECANCELED);
	CU_ASSERT_EQUAL(image.steps, 0);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

// A file written by `-w -` has records outside slabs.
static void recovers_what_a_pipe_delivered(void)
{
	struct file *file = calloc(1, sizeof(*file));
	struct tl_recover_report report;
	struct image image;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	uint64_t before = file_id;
	file_id = 0;
	put_prologue(file, "tapline test");
	file_id = before;
	for (uint32_t i = 0; i < 50; i++)
		put_record(file, i % RINGS);
	image_init(&image, file->bytes, file->size - 30);
	recover(&image, &report, 49);
	CU_ASSERT_EQUAL(report.statistics, RINGS);
	CU_ASSERT_EQUAL(count_statistics(image.bytes, image.size), RINGS);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

// Two recordings concatenated, the second with one interface.
static void each_section_has_its_own_interfaces(void)
{
	struct file *file = calloc(1, sizeof(*file));
	struct tl_recover_report report;
	struct image image;
	uint64_t before = file_id;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	file_id = 0;
	put_prologue(file, "tapline test");
	put_record(file, 1);
	file->size += tl_pcapng_put_shb(
		file->bytes + file->size, PAGE, &(struct tl_pcapng_shb){.application = "tapline test"});
	file->size += tl_pcapng_put_idb(file->bytes + file->size, PAGE, &(struct tl_pcapng_idb){.name = "test0"});
	put_record(file, 0);
	put_record(file, 1);
	file_id = before;
	image_init(&image, file->bytes, file->size);
	recover(&image, &report, 2);
	CU_ASSERT(report.cut_bytes > 0);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

// ---- files

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *out = fopen(path, "wb");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, size, out), size);
	fclose(out);
}

static void recovers_a_file_on_the_disk(void)
{
	char path[] = "/tmp/tl-recover-XXXXXX", cwd[64];
	struct file *file = make();
	struct tl_recover_report report;
	struct tl_err err;
	struct stat status;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
	snprintf(cwd, sizeof(cwd), "%s/x.part", path);
	memset(file->bytes + file->slab_at[1], 0, PAGE);
	write_file(cwd, file->bytes, file->slab_at[SLABS] - 100);
	int fd = tl_recover_open(cwd, false, &err);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(tl_recover_open(cwd, false, &err), -EBUSY); // locked
	CU_ASSERT_EQUAL(futimens(fd, (struct timespec[]){{.tv_sec = 1000}, {.tv_sec = 2000}}), 0);
	CU_ASSERT_EQUAL(tl_recover_fd(fd, &(struct tl_recover_opts){0}, &report, &err), 0);
	CU_ASSERT_EQUAL(report.slabs_kept, SLABS - 2);
	CU_ASSERT_EQUAL(stat(cwd, &status), 0);
	CU_ASSERT_EQUAL((uint64_t)status.st_size, report.end_bytes);
	CU_ASSERT_EQUAL(status.st_mtim.tv_sec, 2000); // a ring uses it as the age of the data
	tl_recover_report_fini(&report);
	close(fd);
	CU_ASSERT_EQUAL(tl_recover_open(path, true, &err), -ENOMSG); // a directory
	unlink(cwd);
	rmdir(path);
	free(file);
}

static void gives_the_next_name_that_is_free(void)
{
	static const struct {
		const char *name, *got;
	} cases[] = {{"a.pcapng", "a.pcapng"}, {"a.pcapng", "a_00001.pcapng"}, {"a.pcapng", "a_00002.pcapng"},
		{"a_00001.pcapng", "a_00003.pcapng"}, {"b_00009.pcapng", "b_00009.pcapng"},
		{"b_00009.pcapng", "b_00010.pcapng"}, {"a_1234.pcapng", "a_1234.pcapng"},
		{"a_1234.pcapng", "a_1234_00001.pcapng"}};
	char dir[] = "/tmp/tl-recover-XXXXXX", from[64], to[64], *got;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(from, sizeof(from), "%s/from", dir);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		write_file(from, "x", 1);
		snprintf(to, sizeof(to), "%s/%s", dir, cases[i].name);
		CU_ASSERT_EQUAL_FATAL(tl_recover_publish(from, to, strlen(".pcapng"), &got), 0);
		CU_ASSERT_STRING_EQUAL(strrchr(got, '/') + 1, cases[i].got);
		free(got);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		snprintf(to, sizeof(to), "%s/%s", dir, cases[i].got);
		unlink(to);
	}
	rmdir(dir);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"leaves a healthy file alone", leaves_a_healthy_file_alone},
		{"appends statistics where they are missing", appends_missing_statistics},
		{"keeps slabs after a torn one", keeps_what_is_behind_a_torn_slab},
		{"keeps slabs after a hole, and lists the missing ones",
			keeps_what_is_behind_a_hole_and_names_what_is_missing},
		{"fills holes of any size with blocks that readers accept",
			writes_holes_of_any_size_as_blocks_that_readers_take},
		{"cuts zeros and garbage off the end", cuts_zeros_and_garbage_off_the_end},
		{"accepts slabs in any order", takes_slabs_in_any_order},
		{"merges the slabs of one ring in any order", joins_ranges_of_one_ring_whatever_their_order},
		{"accepts no slab of another run inside damage", takes_no_slab_of_another_run_within_damage},
		{"does not mistake statistics between slabs for the closing ones",
			statistics_between_slabs_do_not_close_a_file},
		{"keeps no statistics of an earlier file", keeps_no_statistics_of_an_earlier_file},
		{"reads at most a multiple of the file's size, for any content",
			costs_some_times_the_size_whatever_is_in_the_file},
		{"lists no more runs and ranges than a recording can have", lists_no_more_than_a_recording_can_have},
		{"recovers a file cut at any sector", recovers_a_file_cut_at_any_sector},
		{"loses only the slab that lost a page", loses_only_the_slab_that_lost_a_page},
		{"rebuilds a lost header", makes_up_a_lost_header},
		{"rebuilds lost interfaces after the remaining ones",
			makes_up_lost_interfaces_behind_those_that_are_left},
		{"refuses files that are not ours", refuses_what_is_not_ours},
		{"refuses a disk image that contains a recording", refuses_an_image_that_holds_a_recording},
		{"accepts no slab inside a frame", takes_no_slab_out_of_a_frame},
		{"refuses slabs with inconsistent block lengths", refuses_slabs_whose_blocks_do_not_add_up},
		{"yields the same file after being killed at any step",
			gives_the_same_file_when_it_was_killed_after_any_step},
		{"rebuilds no interface from statistics that it cuts off",
			rebuilds_no_interface_of_statistics_that_it_cuts_off},
		{"yields the same file after being killed with the first slabs lost",
			gives_the_same_file_when_it_was_killed_and_the_first_slabs_are_lost_as_well},
		{"changes nothing in a dry run", only_looks_when_dry},
		{"stops on request", gives_up_when_told_to},
		{"missing statistics are rebuilt from the file's content", missing_statistics_tell_what_the_file_holds},
		{"each section has its own interfaces", each_section_has_its_own_interfaces},
		{"recovers a recording from a pipe", recovers_what_a_pipe_delivered},
		{"recovers a file on disk", recovers_a_file_on_the_disk},
		{"chooses the next free name", gives_the_next_name_that_is_free},
		{"keeps one copy of a slab that was written twice because of a failing disk",
			keeps_a_slab_once_that_was_written_twice},
	};

	// They do not store the owner of a slab, which the last item needs.
	int status = tl_test_main("recover, as older versions wrote it", tests, TL_ARRAY_LEN(tests) - 1);
	file_id = FILE_ID;
	return tl_test_main("recover", tests, TL_ARRAY_LEN(tests)) | status;
}
