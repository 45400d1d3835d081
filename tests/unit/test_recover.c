// SPDX-License-Identifier: BSD-3-Clause
// recover: the remains of a recording after a crash become a valid file with every complete slab.

#include <tl_test_recover_file.h>

// ---- tests

TL_TEST("leaves a healthy file alone")
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

TL_TEST("appends statistics where they are missing")
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

TL_TEST("missing statistics are rebuilt from the file's content")
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

TL_TEST("keeps slabs after a torn one")
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

TL_TEST("keeps slabs after a hole, and lists the missing ones")
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

TL_TEST("fills holes of any size with blocks that readers accept")
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

TL_TEST("cuts zeros and garbage off the end")
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
TL_TEST("merges the slabs of one ring in any order")
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
TL_TEST("accepts slabs in any order")
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
TL_TEST("keeps one copy of a slab that was written twice because of a failing disk")
{
	uint32_t tried = 0;

	if (file_id == 0)
		return; // older versions do not store the owner of a slab

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

TL_TEST("rebuilds a lost header")
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

TL_TEST("rebuilds lost interfaces after the remaining ones")
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

// Statistics between slabs do not end a file if slabs follow: new ones are appended.
TL_TEST("does not mistake statistics between slabs for the closing ones")
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
TL_TEST("keeps no statistics of an earlier file")
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

TL_TEST("changes nothing in a dry run")
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
	CU_ASSERT(image.steps == 0 && image.syncs == 0);
	CU_ASSERT_EQUAL(memcmp(image.bytes, file->bytes, size), 0);
	tl_recover_report_fini(&report);
	free(image.bytes);
	free(file);
}

static int give_up(void *ctx, uint64_t done_bytes, uint64_t size_bytes)
{
	return 1;
}

TL_TEST("stops on request")
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
TL_TEST("recovers a recording from a pipe")
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
TL_TEST("each section has its own interfaces")
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

TL_TEST("recovers a file on disk")
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

TL_TEST("chooses the next free name")
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
	return test_recover_run("recover");
}
