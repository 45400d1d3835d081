// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_recover_file: a recording as the writer leaves it, slab by slab, and checks of its recovery.

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

static inline void put_padding(struct file *file)
{
	uint32_t pad = tl_pcapng_pad_bytes(file->size, PAGE);

	if (pad != 0)
		tl_pcapng_put_pad(file->bytes + file->size, pad);
	file->size += pad;
}

// Put the HEAD of the file's own blocks.
static inline void put_own_head(struct file *file, uint32_t at, uint32_t used_bytes)
{
	if (file_id == 0)
		return;
	tl_pcapng_put_head(file->bytes + at, &(struct tl_pcapng_head){.file = file_id, .used_bytes = used_bytes});
	file->size = at + used_bytes;
}

static inline void put_prologue(struct file *file, const char *application)
{
	file->size += tl_pcapng_put_shb(
		file->bytes, PAGE, &(struct tl_pcapng_shb){.os = "Linux", .application = application});
	for (uint32_t i = 0; i < RINGS; i++)
		file->size += tl_pcapng_put_idb(file->bytes + file->size, PAGE,
			&(struct tl_pcapng_idb){.name = "test0", .description = "queue", .snaplen = 2000});
	put_own_head(file, file->size, TL_PCAPNG_HEAD_BYTES);
	put_padding(file);
}

static inline void put_record(struct file *file, uint32_t ring)
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

static inline void put_slab(struct file *file, uint32_t index, uint32_t records)
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

static inline void put_statistics(struct file *file)
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
static inline struct file *make_named(const char *application)
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

static inline struct file *make(void)
{
	return make_named("tapline test");
}

static inline uint32_t slab_end(const struct file *file, uint32_t index)
{
	return file->slab_at[index + 1];
}

// ---- checks

// Return the number of records; check that the image consists of complete blocks and every record is unchanged.
static inline uint32_t judge(const struct image *image)
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
static inline void recover(struct image *image, struct tl_recover_report *report, uint32_t records)
{
	struct tl_err err;

	int rc = image_recover(image, report, &err);
	CU_ASSERT_EQUAL(rc, 0);
	if (rc != 0) {
		fprintf(stderr, "# %s\n", err.text);
		return;
	}
	CU_ASSERT_EQUAL(image->syncs, 1);	      // whole files, too: a complete name follows
	CU_ASSERT_EQUAL(image->synced, image->steps); // no write after the sync
	CU_ASSERT_EQUAL(report->records_kept, records);
	CU_ASSERT_EQUAL(report->end_bytes, image->size);
	CU_ASSERT_EQUAL(judge(image), records);
	expect_whole(image, records);
}

// Recover the damaged file: all records remain except those of the slabs in the mask.
static inline void expect_without(
	const struct file *file, uint32_t size, uint32_t lost, struct tl_recover_report *report)
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

// Make a file with every kind of damage that has its own recovery step.
static inline struct file *make_damaged(uint32_t *out_size)
{
	struct file *file = make();

	memset(file->bytes, 0, PAGE);
	memset(file->bytes + file->slab_at[2], 0, file->slab_at[3] - file->slab_at[2]);
	memset(file->bytes + file->slab_at[5] + 100, 0xee, 1000);
	*out_size = file->slab_at[SLABS] - 700;
	return file;
}

static inline int test_recover_run(const char *suite)
{
	int status = tl_test_run(suite); // of files that older versions wrote
	file_id = FILE_ID;
	return tl_test_run(suite) | status;
}
