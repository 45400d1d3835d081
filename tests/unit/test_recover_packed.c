// SPDX-License-Identifier: BSD-3-Clause
// recover: compressed recordings, and those in classic pcap, become valid files of their complete parts.

#include <zstd.h>

#include <tl_test.h>
#include <tl_test_recover_expect.h>
#include <tl_zslab.h>

#define PAGE TL_PCAPNG_ALIGN
#define SLABS 8u
#define RINGS 2u
#define SLAB_BYTES 32768u
#define FILE_BYTES_MAX (1u << 20)
#define FIRST_NS UINT64_C(1700000000000000000)

struct file {
	uint8_t bytes[FILE_BYTES_MAX];
	uint32_t size;
	uint32_t slab_at[SLABS + 1]; // the last one: start of the statistics
	uint32_t slab_records[SLABS];
	uint32_t records;
};

static uint32_t frame_bytes(uint32_t number)
{
	return 60 + number * 37 % 1400;
}

// Fill a record with its number, then with incompressible bytes.
static void fill_frame(uint8_t *data, uint32_t number)
{
	uint32_t random = number * 2654435761u + 1;

	for (uint32_t i = 0; i < frame_bytes(number); i++) {
		random = random * 1664525u + 1013904223u;
		data[i] = (uint8_t)(random >> 24);
	}
	memcpy(data, &number, sizeof(number));
}

static void add_blocks(struct file *file, struct tl_zslab_packer *packer, const uint8_t *blocks, uint32_t len)
{
	int64_t n = tl_zslab_pack_blocks(packer, blocks, len, file->bytes + file->size, FILE_BYTES_MAX - file->size);

	CU_ASSERT_TRUE_FATAL(n > 0);
	file->size += (uint32_t)n;
}

static void add_prologue(struct file *file, struct tl_zslab_packer *packer, const char *application)
{
	uint8_t blocks[PAGE];
	uint32_t used =
		tl_pcapng_put_shb(blocks, PAGE, &(struct tl_pcapng_shb){.os = "Linux", .application = application});

	for (uint32_t i = 0; i < RINGS; i++)
		used += tl_pcapng_put_idb(
			blocks + used, PAGE - used, &(struct tl_pcapng_idb){.name = "test0", .snaplen = 2000});
	add_blocks(file, packer, blocks, used);
}

static void add_statistics(struct file *file, struct tl_zslab_packer *packer)
{
	uint8_t blocks[PAGE];
	uint32_t used = 0;

	for (uint32_t i = 0; i < RINGS; i++)
		used += tl_pcapng_put_isb(blocks + used, PAGE - used, &(struct tl_pcapng_isb){.interface_id = i});
	add_blocks(file, packer, blocks, used);
}

static void add_slab(struct file *file, struct tl_zslab_packer *packer, uint32_t index)
{
	static uint8_t slab[SLAB_BYTES];
	uint32_t used = TL_PCAPNG_HEAD_BYTES, records = 3 + index * 5 % 17;

	for (uint32_t i = 0; i < records; i++) {
		uint32_t number = file->records++;
		struct tl_pcapng_epb epb = {.interface_id = index % RINGS,
			.cap_bytes = frame_bytes(number),
			.wire_bytes = frame_bytes(number),
			.ts_ns = FIRST_NS + number};
		fill_frame(tl_pcapng_put_epb(slab + used, &epb), number);
		used += tl_pcapng_epb_bytes(epb.cap_bytes, 0, 0);
	}
	tl_pcapng_put_head(slab, &(struct tl_pcapng_head){.run_id = 77,
					 .sequence = index / RINGS,
					 .ring = index % RINGS,
					 .used_bytes = used,
					 .records = records});
	uint32_t pad = tl_pcapng_pad_bytes(used, PAGE);
	if (pad != 0)
		tl_pcapng_put_pad(slab + used, pad);
	file->slab_at[index] = file->size;
	file->slab_records[index] = records;
	int64_t n = tl_zslab_pack(packer, slab, used + pad, file->bytes + file->size, FILE_BYTES_MAX - file->size);
	CU_ASSERT_TRUE_FATAL(n > 0);
	file->size += (uint32_t)n;
}

static struct file *make_by(const char *application)
{
	struct file *file = calloc(1, sizeof(*file));
	struct tl_zslab_packer *packer = tl_zslab_packer_create(1);

	CU_ASSERT_TRUE_FATAL(file != NULL && packer != NULL);
	add_prologue(file, packer, application);
	for (uint32_t i = 0; i < SLABS; i++)
		add_slab(file, packer, i);
	file->slab_at[SLABS] = file->size;
	add_statistics(file, packer);
	tl_zslab_packer_destroy(packer);
	return file;
}

static struct file *make(void)
{
	return make_by("tapline test");
}

// ---- checks

// Return the number of unchanged records in a recording that is complete to its end.
static uint32_t judge_records(const void *bytes, size_t size)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err;
	uint32_t records = 0, wrong = 0, number;
	uint8_t expected[2000];
	int rc;

	CU_ASSERT_EQUAL_FATAL(tl_pcap_open_memory(bytes, size, "image", &reader, &err), 0);
	while ((rc = tl_pcap_next(reader, &frame, &err)) == 1) {
		memcpy(&number, frame.data, sizeof(number));
		fill_frame(expected, number);
		wrong += frame.cap_bytes != frame_bytes(number) || frame.ts_ns != FIRST_NS + number ||
			 memcmp(expected, frame.data, frame.cap_bytes) != 0;
		records++;
	}
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_EQUAL(wrong, 0);
	tl_pcap_close(reader);
	return records;
}

// Decompress with libzstd: every frame to the last byte.
static uint32_t judge_packed(const struct image *image, uint32_t *out_statistics)
{
	uint8_t *plain = malloc(FILE_BYTES_MAX);
	uint32_t records = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
	size_t size = ZSTD_decompress(plain, FILE_BYTES_MAX, image->bytes, image->size);
	CU_ASSERT_FALSE(ZSTD_isError(size));
	if (!ZSTD_isError(size)) {
		records = judge_records(plain, size);
		*out_statistics = count_statistics(plain, size);
	}
	free(plain);
	return records;
}

// Recover this many bytes of the damaged file: all records remain except those of the slabs in the mask.
static void expect_without(const struct file *file, uint32_t size, uint32_t lost, struct tl_recover_report *report)
{
	struct image image;
	struct tl_err err = {.text = ""};
	uint32_t records = file->records, statistics = 0;

	for (uint32_t i = 0; i < SLABS; i++)
		records -= (lost >> i & 1) * file->slab_records[i];
	image_init(&image, file->bytes, size);
	CU_ASSERT_EQUAL(image_recover(&image, report, &err), 0);
	if (err.text[0] != '\0' && strcmp(err.text, "given up") != 0)
		fprintf(stderr, "# %s\n", err.text);
	CU_ASSERT_EQUAL(report->records_kept, records);
	CU_ASSERT_EQUAL(report->slabs_kept, SLABS - (uint32_t)__builtin_popcount(lost));
	CU_ASSERT_EQUAL(report->end_bytes, image.size);
	CU_ASSERT_EQUAL(image.size % PAGE, 0);
	CU_ASSERT_EQUAL(judge_packed(&image, &statistics), records);
	CU_ASSERT(statistics >= report->interfaces);
	expect_whole(&image, records);
	free(image.bytes);
}

// ---- compressed

TL_TEST("leaves a healthy compressed file alone")
{
	struct file *file = make();
	struct tl_recover_report report;

	expect_without(file, file->size, 0, &report);
	CU_ASSERT_FALSE(report.changed);
	CU_ASSERT_EQUAL(report.n_rings, RINGS);
	tl_recover_report_fini(&report);
	free(file);
}

TL_TEST("appends compressed statistics where they are missing")
{
	struct file *file = make();
	struct tl_recover_report report;

	expect_without(file, file->slab_at[SLABS], 0, &report);
	CU_ASSERT_EQUAL(report.statistics, RINGS);
	CU_ASSERT_EQUAL(report.cut_bytes, 0);
	tl_recover_report_fini(&report);
	free(file);
}

TL_TEST("covers a hole in a compressed file, and lists the missing slabs")
{
	struct file *file = make();
	struct tl_recover_report report;

	memset(file->bytes + file->slab_at[2], 0, file->slab_at[5] - file->slab_at[2]);
	expect_without(file, file->size, 7u << 2, &report);
	CU_ASSERT_EQUAL(report.padded_bytes, file->slab_at[5] - file->slab_at[2]);
	CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[0]), 2);
	CU_ASSERT_EQUAL(tl_recover_missing(&report.rings[1]), 1);
	tl_recover_report_fini(&report);
	free(file);
}

TL_TEST("loses only the compressed slab that lost a page")
{
	struct file *file = make();

	for (uint32_t at = file->slab_at[0]; at < file->slab_at[SLABS]; at += PAGE) {
		struct file *damaged = make();
		struct tl_recover_report report;
		uint32_t slab = 0;
		while (file->slab_at[slab + 1] <= at)
			slab++;
		memset(damaged->bytes + at, 0, PAGE);
		expect_without(damaged, damaged->size, 1u << slab, &report);
		tl_recover_report_fini(&report);
		free(damaged);
	}
	free(file);
}

// The disk stored slabs in flight after one that failed; the writer writes it again at the failed slab's offset, and is
// killed.
TL_TEST("keeps one copy of a compressed slab that was written twice")
{
	uint32_t tried = 0;

	for (uint32_t i = 0; i + 1 < SLABS; i++) {
		struct file *file = make();
		struct tl_recover_report report;
		uint32_t bytes = file->slab_at[i + 2] - file->slab_at[i + 1];
		if (bytes <= file->slab_at[i + 1] - file->slab_at[i]) {
			memcpy(file->bytes + file->slab_at[i], file->bytes + file->slab_at[i + 1], bytes);
			expect_without(file, file->slab_at[SLABS], 1u << i, &report);
			tl_recover_report_fini(&report);
			tried++;
		}
		free(file);
	}
	CU_ASSERT(tried >= 3);
}

TL_TEST("recovers a compressed file cut at any sector")
{
	struct file *file = make();

	for (uint32_t size = file->slab_at[0]; size <= file->size; size += 512) {
		struct tl_recover_report report;
		uint32_t lost = 0;
		for (uint32_t i = 0; i < SLABS; i++)
			lost |= (uint32_t)(file->slab_at[i + 1] > size) << i;
		expect_without(file, size, lost, &report);
		CU_ASSERT_EQUAL(report.changed, size != file->size);
		tl_recover_report_fini(&report);
	}
	free(file);
}

TL_TEST("rebuilds the lost header of a compressed file")
{
	struct file *file = make();
	struct tl_recover_report report;

	memset(file->bytes, 0, PAGE);
	expect_without(file, file->size, 0, &report);
	CU_ASSERT_TRUE(report.rebuilt_section);
	CU_ASSERT_EQUAL(report.rebuilt_interfaces, RINGS);
	tl_recover_report_fini(&report);
	free(file);
}

TL_TEST("yields the same compressed file after being killed at any step")
{
	struct file *file = make();

	memset(file->bytes, 0, PAGE);
	memset(file->bytes + file->slab_at[2], 0, file->slab_at[3] - file->slab_at[2]);
	memset(file->bytes + file->slab_at[5] + 100, 0xee, 1000);
	CU_ASSERT_TRUE(expect_same_when_killed(file->bytes, file->slab_at[SLABS] - 700) > 6);
	free(file);
}

TL_TEST("refuses files compressed by another program")
{
	struct file *file = make_by("Dumpcap");
	uint8_t text[1000] = "hello, world", packed[2 * PAGE];

	expect_refused(file->bytes, file->size, -EMEDIUMTYPE, "another program");
	size_t n = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 1);
	expect_refused(packed, (uint32_t)n, -EMEDIUMTYPE, "another program");
	free(file);
}

// ---- classic pcap

#define FRAMES 40u
#define SECTOR 512u

// Return its bytes; ends[i] is the offset after record i.
static uint32_t make_pcap(uint8_t *bytes, uint32_t ends[FRAMES])
{
	uint32_t size = tl_pcap_put_header(bytes, FILE_BYTES_MAX, 2000);

	for (uint32_t i = 0; i < FRAMES; i++) {
		uint32_t head[4] = {(uint32_t)(FIRST_NS / TL_NS_PER_S), (uint32_t)(FIRST_NS % TL_NS_PER_S + i),
			frame_bytes(i), frame_bytes(i)};
		memcpy(bytes + size, head, sizeof(head));
		fill_frame(bytes + size + sizeof(head), i);
		size += TL_PCAP_RECORD_BYTES + frame_bytes(i);
		ends[i] = size;
	}
	return size;
}

static void expect_records(const uint8_t *bytes, uint32_t size, uint32_t records, uint32_t end)
{
	struct tl_recover_report report;
	struct image image;
	struct tl_err err;

	image_init(&image, bytes, size);
	CU_ASSERT_EQUAL(image_recover(&image, &report, &err), 0);
	CU_ASSERT_EQUAL(report.records_kept, records);
	CU_ASSERT_EQUAL(report.cut_bytes, size - end);
	CU_ASSERT_EQUAL(report.changed, size != end);
	CU_ASSERT_EQUAL(image.size, end);
	CU_ASSERT_EQUAL(judge_records(image.bytes, image.size), records);
	expect_whole(&image, records);
	tl_recover_report_fini(&report);
	free(image.bytes);
}

TL_TEST("cuts pcap after the last whole record")
{
	uint32_t ends[FRAMES];
	uint8_t *bytes = calloc(1, FILE_BYTES_MAX);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	uint32_t whole = make_pcap(bytes, ends);
	for (uint32_t size = TL_PCAP_HEADER_BYTES; size <= whole; size += 7) {
		uint32_t records = 0;
		while (records < FRAMES && ends[records] <= size)
			records++;
		expect_records(bytes, size, records, records == 0 ? TL_PCAP_HEADER_BYTES : ends[records - 1]);
	}
	expect_records(bytes, whole, FRAMES, whole);
	expect_records(bytes, whole + PAGE, FRAMES, whole); // zeros
	memset(bytes + ends[9], 0, PAGE);
	expect_records(bytes, whole, 10, ends[9]);
	free(bytes);
}

// Recover the first size bytes, and expect this many records up to end.
static void expect_kept(const uint8_t *bytes, uint32_t size, uint32_t records, uint32_t end, uint32_t doubtful)
{
	struct tl_recover_report report;
	struct image image;
	struct tl_err err;

	image_init(&image, bytes, size);
	CU_ASSERT_EQUAL(image_recover(&image, &report, &err), 0);
	CU_ASSERT_EQUAL(report.records_kept, records);
	CU_ASSERT_EQUAL(report.doubtful_records, doubtful);
	CU_ASSERT_EQUAL(report.doubtful_at, doubtful != 0 ? end : 0);
	CU_ASSERT_EQUAL(image.size, end);
	expect_whole(&image, records);
	tl_recover_report_fini(&report);
	free(image.bytes);
}

TL_TEST("keeps no pcap record that extends into lost bytes")
{
	uint32_t ends[FRAMES];
	uint8_t *bytes = calloc(1, FILE_BYTES_MAX), *torn = calloc(1, FILE_BYTES_MAX);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(torn);
	uint32_t whole = make_pcap(bytes, ends), doubtful = 0;
	for (uint32_t at = SECTOR; at < whole; at += SECTOR) {
		uint32_t records = 0;
		while (ends[records] <= at)
			records++;
		uint32_t end = records == 0 ? TL_PCAP_HEADER_BYTES : ends[records - 1];
		memset(torn, 0, FILE_BYTES_MAX);
		memcpy(torn, bytes, at);
		uint32_t head[4]; // the bytes of a torn one may be those of an empty record
		memcpy(head, torn + end, sizeof(head));
		bool seen = (head[0] | head[1]) != 0 && head[2] <= head[3];
		expect_kept(torn, whole + PAGE, records, end, seen);
		doubtful += seen;
	}
	CU_ASSERT_TRUE(doubtful > 10);
	free(torn);
	free(bytes);
}

// Append a record of zeros. Return the new size.
static uint32_t put_zeros(uint8_t *bytes, uint32_t size, uint32_t len)
{
	uint32_t head[4] = {1700000000, 1, len, len};

	memcpy(bytes + size, head, sizeof(head));
	memset(bytes + size + sizeof(head), 0, len);
	return size + TL_PCAP_RECORD_BYTES + len;
}

TL_TEST("keeps pcap records of zeros that were written")
{
	uint8_t *bytes = calloc(1, FILE_BYTES_MAX);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	uint32_t start = tl_pcap_put_header(bytes, FILE_BYTES_MAX, 2000);
	for (uint32_t len = 60; len < 1500; len += 7) {
		uint32_t one = put_zeros(bytes, start, len), two = put_zeros(bytes, one, len);
		uint32_t written = one + 12 + (len > UINT8_MAX); // its last byte that is not zero, in the header
		bool one_sector = written / SECTOR == (two - 1) / SECTOR;
		memset(bytes + two, 0, PAGE);
		expect_kept(bytes, two, 2, two, 0);			   // ends with the file
		expect_kept(bytes, two - 1, 1, one, 0);			   // before a record that was begun
		expect_kept(bytes, one + TL_PCAP_RECORD_BYTES, 1, one, 0); // the same
		expect_kept(bytes, two + PAGE, one_sector ? 2 : 1, one_sector ? two : one, !one_sector);
	}
	free(bytes);
}

TL_TEST("refuses a pcap file of another program")
{
	uint32_t ends[FRAMES], zero = 0;
	uint8_t *bytes = calloc(1, FILE_BYTES_MAX);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	uint32_t whole = make_pcap(bytes, ends);
	memcpy(bytes + 12, &zero, sizeof(zero));
	expect_refused(bytes, whole - 10, -EMEDIUMTYPE, "not a recording of tapline");
	free(bytes);
}

int main(void)
{
	return tl_test_run("recover_packed");
}
