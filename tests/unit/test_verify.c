// SPDX-License-Identifier: BSD-3-Clause
// verify: every change in a recording with digests is reported with its slab.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_recover.h>
#include <tl_verify.h>

#define SLABS 6
#define UNITS (SLABS + 3) // plus the prologue, statistics and the epilogue
#define FILE_ID UINT64_C(0x123456789abcdef0)
#define FILE_BYTES_MAX (256u << 10)

struct file {
	enum tl_digest_kind kind;
	uint8_t *bytes;
	uint32_t size;
	uint32_t unit_at[UNITS + 1]; // the last one: end of the file
	uint32_t units;
	uint32_t records;
	struct tl_digest_chain chain;
};

// Sign the unit at the end of the file, pad it, and add it to the chain.
static void close_unit(struct file *file, uint32_t used, uint32_t head_at)
{
	uint8_t *unit = file->bytes + file->size;
	uint32_t pad = tl_pcapng_pad_bytes(used, TL_PCAPNG_ALIGN);
	struct tl_digest digest = {0};

	tl_pcapng_set_kind(unit + head_at, FILE_ID, file->kind);
	if (file->kind != TL_DIGEST_NONE) {
		digest = tl_digest_unit(file->kind, unit, used, head_at, file->size);
		tl_pcapng_set_check(unit + head_at, tl_digest_check(&digest));
	}
	if (pad != 0)
		tl_pcapng_put_pad(unit + used, pad);
	file->unit_at[file->units++] = file->size;
	file->size += used + pad;
	file->unit_at[file->units] = file->size;
	if (file->kind != TL_DIGEST_NONE)
		tl_digest_chain_add(&file->chain, &digest, file->size);
}

static void put_prologue(struct file *file)
{
	uint32_t used = tl_pcapng_put_shb(file->bytes, 4096, &(struct tl_pcapng_shb){.application = "tapline test"});

	used += tl_pcapng_put_idb(file->bytes + used, 4096, &(struct tl_pcapng_idb){.name = "test0"});
	tl_pcapng_put_head(
		file->bytes + used, &(struct tl_pcapng_head){.file = FILE_ID, .used_bytes = TL_PCAPNG_HEAD_BYTES});
	close_unit(file, used + TL_PCAPNG_HEAD_BYTES, used);
}

static void put_slab(struct file *file, uint32_t sequence)
{
	uint8_t *slab = file->bytes + file->size;
	struct tl_pcapng_head head = {.run_id = 7, .sequence = sequence, .used_bytes = TL_PCAPNG_HEAD_BYTES};

	for (; head.records < 24 + sequence * 5; head.records++) {
		struct tl_pcapng_epb epb = {.cap_bytes = 60 + head.records * 7 % 200, .ts_ns = file->records++};
		epb.wire_bytes = epb.cap_bytes;
		memset(tl_pcapng_put_epb(slab + head.used_bytes, &epb), (int)file->records, epb.cap_bytes);
		head.used_bytes += tl_pcapng_epb_bytes(epb.cap_bytes, 0, 0);
	}
	tl_pcapng_put_head(slab, &head);
	close_unit(file, head.used_bytes, 0);
}

static void put_statistics(struct file *file, bool closes)
{
	uint8_t *unit = file->bytes + file->size;
	uint32_t used = TL_PCAPNG_HEAD_BYTES;

	used += tl_pcapng_put_isb(unit + used, 4096, &(struct tl_pcapng_isb){.if_dropped_pkts = 0});
	if (closes && file->kind != TL_DIGEST_NONE) {
		tl_digest_chain_put(unit + used, &file->chain);
		used += TL_DIGEST_CHAIN_BYTES;
	}
	tl_pcapng_put_head(unit, &(struct tl_pcapng_head){.used_bytes = used});
	close_unit(file, used, 0);
}

static struct file make(enum tl_digest_kind kind)
{
	struct file file = {.kind = kind, .bytes = calloc(1, FILE_BYTES_MAX), .chain = {.kind = kind}};

	CU_ASSERT_PTR_NOT_NULL_FATAL(file.bytes);
	put_prologue(&file);
	for (uint32_t i = 0; i < SLABS; i++) {
		put_slab(&file, i);
		if (i == SLABS / 2)
			put_statistics(&file, false);
	}
	put_statistics(&file, true);
	CU_ASSERT_EQUAL(file.units, UNITS);
	return file;
}

struct memory {
	const uint8_t *bytes;
	uint64_t size;
};

static int read_memory(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes)
{
	const struct memory *memory = ctx;

	if (offset_bytes > memory->size || len_bytes > memory->size - offset_bytes)
		return -EIO;
	memcpy(buf, memory->bytes + offset_bytes, len_bytes);
	return 0;
}

static struct tl_verify_report verify(const uint8_t *bytes, uint64_t size)
{
	struct memory memory = {bytes, size};
	struct tl_verify_io io = {.ctx = &memory, .size_bytes = size, .read = read_memory};
	struct tl_verify_report report;
	struct tl_err err = {0};

	int rc = tl_verify(&io, &(struct tl_verify_opts){0}, &report, &err);
	CU_ASSERT_EQUAL(rc, 0);
	if (rc != 0)
		printf("# %s\n", err.text);
	return report;
}

// ---- tests

TL_TEST("an intact recording verifies as good")
{
	for (enum tl_digest_kind kind = TL_DIGEST_CRC32C; kind < TL_DIGEST_KINDS; kind++) {
		struct file file = make(kind);
		struct tl_verify_report report = verify(file.bytes, file.size);
		CU_ASSERT_EQUAL(report.outcome, TL_VERIFY_GOOD);
		CU_ASSERT_EQUAL(report.kind, kind);
		CU_ASSERT(report.closed && report.ranges == 0 && report.damaged_bytes == 0);
		CU_ASSERT(report.good_bytes == file.size && report.chain_end_bytes == file.size);
		CU_ASSERT(report.slabs == SLABS && report.records == file.records && report.units == UNITS);
		free(file.bytes);
	}
}

static bool names(const struct tl_verify_report *report, uint64_t from, uint64_t to)
{
	return report->outcome == TL_VERIFY_DAMAGED && report->ranges == 1 && report->range[0].from == from &&
	       report->range[0].to == to && report->damaged_bytes == to - from;
}

// Change bytes all over the file, PAD and HEAD included, in two ways.
TL_TEST("any changed byte is attributed to its slab")
{
	static const uint8_t flips[] = {1, 0xff};

	for (enum tl_digest_kind kind = TL_DIGEST_CRC32C; kind < TL_DIGEST_KINDS; kind++) {
		struct file file = make(kind);
		uint32_t unit = 0, wrong = 0, step = kind == TL_DIGEST_CRC32C ? 7 : 61;
		for (uint32_t at = 0; at < file.size; at += step) {
			while (at >= file.unit_at[unit + 1])
				unit++;
			file.bytes[at] ^= flips[at / step % 2];
			struct tl_verify_report report = verify(file.bytes, file.size);
			file.bytes[at] ^= flips[at / step % 2];
			if (!names(&report, file.unit_at[unit], file.unit_at[unit + 1]) && wrong++ == 0)
				printf("# byte %u of unit %u, [%u, %u): %u ranges, the first [%llu, %llu)\n", at, unit,
					file.unit_at[unit], file.unit_at[unit + 1], report.ranges,
					(unsigned long long)report.range[0].from,
					(unsigned long long)report.range[0].to);
		}
		CU_ASSERT_EQUAL(wrong, 0);
		free(file.bytes);
	}
}

// Flip each bit of each HEAD, including those that make it one of another kind, length or file.
TL_TEST("any change of a HEAD is attributed to its slab")
{
	static const uint8_t flips[] = {1, 2, 4, 8, 16, 32, 64, 128, 'C' ^ '1', 'C' ^ 'S', 0xff};
	struct file file = make(TL_DIGEST_CRC32C);
	uint32_t wrong = 0;

	for (uint32_t unit = 0; unit < UNITS; unit++) {
		uint32_t head_at = file.unit_at[unit];
		while (memcmp(file.bytes + head_at + 8, "TAPSLABC", 8) != 0)
			head_at += 4;
		for (uint32_t i = 0; i < TL_PCAPNG_HEAD_BYTES * sizeof(flips); i++) {
			uint8_t *byte = &file.bytes[head_at + i / sizeof(flips)], flip = flips[i % sizeof(flips)];
			*byte ^= flip;
			struct tl_verify_report report = verify(file.bytes, file.size);
			*byte ^= flip;
			if (!names(&report, file.unit_at[unit], file.unit_at[unit + 1]) && wrong++ == 0)
				printf("# unit %u: change %u of its HEAD, xor 0x%02x: %s\n", unit, i, flip,
					tl_verify_outcome_name(report.outcome));
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	free(file.bytes);
}

TL_TEST("each of several damaged ranges is reported")
{
	struct file file = make(TL_DIGEST_CRC32C);

	file.bytes[file.unit_at[1] + 100] ^= 1;
	file.bytes[file.unit_at[2] + 4] ^= 1; // in its HEAD
	file.bytes[file.unit_at[6] + 500] ^= 1;
	struct tl_verify_report report = verify(file.bytes, file.size);
	CU_ASSERT_EQUAL(report.outcome, TL_VERIFY_DAMAGED);
	CU_ASSERT_EQUAL_FATAL(report.ranges, 2); // the first two are merged: the start of the second is unknown
	CU_ASSERT(report.range[0].from == file.unit_at[1] && report.range[0].to == file.unit_at[3]);
	CU_ASSERT(report.range[1].from == file.unit_at[6] && report.range[1].to == file.unit_at[7]);
	CU_ASSERT(report.closed && report.chain_end_bytes == file.unit_at[1]);
	free(file.bytes);
}

TL_TEST("a removed or replaced slab is detected")
{
	struct file file = make(TL_DIGEST_SHA256), other = make(TL_DIGEST_SHA256);
	uint32_t from = file.unit_at[2], to = file.unit_at[3], size = file.size - (to - from);

	memmove(other.bytes + from, file.bytes + to, file.size - to);
	struct tl_verify_report report = verify(other.bytes, size);
	CU_ASSERT_EQUAL(report.outcome, TL_VERIFY_DAMAGED);
	CU_ASSERT_EQUAL(report.range[0].from, from);
	CU_ASSERT_FALSE(report.closed);

	// Replaced by a different slab with a valid digest.
	memcpy(other.bytes, file.bytes, file.size);
	struct tl_pcapng_head head;
	CU_ASSERT_EQUAL(tl_pcapng_get_head(other.bytes + from, 4096, &head), 0);
	other.bytes[from + 200] ^= 1;
	struct tl_digest digest = tl_digest_unit(TL_DIGEST_SHA256, other.bytes + from, head.used_bytes, 0, from);
	tl_pcapng_set_check(other.bytes + from, tl_digest_check(&digest));
	report = verify(other.bytes, file.size);
	CU_ASSERT(report.outcome == TL_VERIFY_DAMAGED && report.ranges == 0 && report.chain_broken);
	free(other.bytes);
	free(file.bytes);
}

// Sign the n-th unit, a slab, again.
static void sign_again(struct file *file, uint32_t n, enum tl_digest_kind kind, uint64_t file_id)
{
	uint8_t *slab = file->bytes + file->unit_at[n];
	struct tl_pcapng_head head;

	CU_ASSERT_EQUAL(tl_pcapng_get_head(slab, 4096, &head), 0);
	tl_pcapng_set_kind(slab, file_id, kind);
	struct tl_digest digest = tl_digest_unit(kind, slab, head.used_bytes, 0, file->unit_at[n]);
	tl_pcapng_set_check(slab, tl_digest_check(&digest));
}

// Each is right by its own digest, but not a unit of this file.
TL_TEST("a slab of another file, or with a digest of another kind, is reported as damage")
{
	for (uint64_t other = 0; other < 2; other++) {
		struct file file = make(TL_DIGEST_SHA256);
		sign_again(&file, 3, other != 0 ? TL_DIGEST_SHA256 : TL_DIGEST_CRC32C, FILE_ID + other);
		struct tl_verify_report report = verify(file.bytes, file.size);
		CU_ASSERT(names(&report, file.unit_at[3], file.unit_at[4]));
		free(file.bytes);
	}
}

TL_TEST("zeros behind a closed file are damage, not unwritten space")
{
	struct file file = make(TL_DIGEST_CRC32C);
	struct tl_verify_report report = verify(file.bytes, file.size + 8192);

	CU_ASSERT(names(&report, file.size, file.size + 8192) && report.closed);
	free(file.bytes);
}

TL_TEST("a file without an epilogue is reported as incomplete")
{
	struct file file = make(TL_DIGEST_CRC32C);

	for (uint32_t unit = 1; unit < UNITS; unit++) {
		struct tl_verify_report report = verify(file.bytes, file.unit_at[unit]);
		CU_ASSERT(report.outcome == TL_VERIFY_INCOMPLETE && !report.closed);
		CU_ASSERT_EQUAL(report.chain_end_bytes, file.unit_at[unit]);
	}
	// Zeros after the written data, as in preallocated space.
	uint32_t end = file.unit_at[4];
	memset(file.bytes + end, 0, file.size - end);
	struct tl_verify_report report = verify(file.bytes, file.size);
	CU_ASSERT(report.outcome == TL_VERIFY_INCOMPLETE && report.chain_end_bytes == end);
	// Truncate within a slab.
	report = verify(file.bytes, file.unit_at[2] + 4096);
	CU_ASSERT(names(&report, file.unit_at[2], file.unit_at[2] + 4096) && !report.closed);
	free(file.bytes);
}

TL_TEST("a recovered file is reported with the end of its chain")
{
	struct file file = make(TL_DIGEST_SHA256);
	struct tl_recover_report recovered;
	struct image image;
	struct tl_err err;

	image_init(&image, file.bytes, file.unit_at[6]); // without the final blocks, and with a torn slab
	memset(image.bytes + file.unit_at[2] + 4096, 0, 512);
	CU_ASSERT_EQUAL(image_recover(&image, &recovered, &err), 0);
	CU_ASSERT_EQUAL(recovered.slabs_torn, 1);
	struct tl_verify_report report = verify(image.bytes, image.size);
	CU_ASSERT_EQUAL(report.outcome, TL_VERIFY_RECOVERED);
	CU_ASSERT_EQUAL(report.chain_end_bytes, file.unit_at[2]);
	CU_ASSERT(report.covered_bytes >= file.unit_at[3] - file.unit_at[2] && !report.closed);
	tl_recover_report_fini(&recovered);
	free(image.bytes);
	free(file.bytes);
}

// Detectable by the digest only: all blocks of the slab are complete.
TL_TEST("recovery keeps no slab with a wrong digest")
{
	for (enum tl_digest_kind kind = TL_DIGEST_CRC32C; kind < TL_DIGEST_KINDS; kind++) {
		struct file file = make(kind);
		struct tl_recover_report recovered;
		struct image image;
		struct tl_err err;
		image_init(&image, file.bytes, file.size);
		CU_ASSERT_EQUAL(image_recover(&image, &recovered, &err), 0);
		CU_ASSERT(!recovered.changed && recovered.slabs_kept == SLABS && recovered.slabs_torn == 0);
		tl_recover_report_fini(&recovered);
		image.bytes[file.unit_at[2] + 64 + 28 + 10] ^= 1; // within the first frame
		CU_ASSERT_EQUAL(image_recover(&image, &recovered, &err), 0);
		CU_ASSERT(recovered.slabs_kept == SLABS - 1 && recovered.slabs_torn == 1);
		tl_recover_report_fini(&recovered);
		free(image.bytes);
		free(file.bytes);
	}
}

TL_TEST("a file without digests, a foreign and a blank one are reported as such")
{
	struct file file = make(TL_DIGEST_NONE);
	uint8_t foreign[8192] = "neither pcap nor pcapng";

	CU_ASSERT_EQUAL(verify(file.bytes, file.size).outcome, TL_VERIFY_NO_DIGESTS);
	CU_ASSERT_EQUAL(verify(foreign, sizeof(foreign)).outcome, TL_VERIFY_FOREIGN);
	CU_ASSERT_EQUAL(verify(foreign, 5).outcome, TL_VERIFY_FOREIGN);
	CU_ASSERT_EQUAL(verify(foreign, 0).outcome, TL_VERIFY_BLANK);
	memset(foreign, 0, 4096); // what follows may be of anybody
	CU_ASSERT_EQUAL(verify(foreign, sizeof(foreign)).outcome, TL_VERIFY_BLANK);
	CU_ASSERT_EQUAL(verify(foreign, 5).outcome, TL_VERIFY_BLANK);
	foreign[4095] = 1;
	CU_ASSERT_EQUAL(verify(foreign, sizeof(foreign)).outcome, TL_VERIFY_FOREIGN);
	free(file.bytes);
}

// CRC-32C bit by bit (RFC 3720, section 12.1).
static uint32_t crc32c(const uint8_t *bytes, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n * 8; i++) {
		uint32_t bit = (crc ^ bytes[i / 8] >> i % 8) & 1;
		crc = crc >> 1 ^ (bit ? 0x82f63b78 : 0);
	}
	return ~crc;
}

// The CRC covers the offset and all bytes but the 8 of the check; the SHA-256 is that of 64 zeros.
TL_TEST("digests agree with published test vectors")
{
	struct tl_digest_chain sha = {.kind = TL_DIGEST_SHA256};
	static const struct tl_digest zero;
	static const uint8_t of_64_zeros[8] = {0xf5, 0xa5, 0xfd, 0x42, 0xd1, 0x6a, 0x20, 0x30};
	uint8_t unit[1000], covered[1000];
	uint64_t offset = 0x123456789;

	CU_ASSERT_EQUAL(crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
	for (uint32_t i = 0; i < sizeof(unit); i++)
		unit[i] = (uint8_t)(i * 167 >> 3);
	memcpy(covered, &offset, 8);
	memcpy(covered + 8, unit, 400 + TL_PCAPNG_CHECK_AT);
	memcpy(covered + 8 + 400 + TL_PCAPNG_CHECK_AT, unit + 400 + TL_PCAPNG_CHECK_AT + 8,
		sizeof(unit) - 400 - TL_PCAPNG_CHECK_AT - 8);
	struct tl_digest digest = tl_digest_unit(TL_DIGEST_CRC32C, unit, sizeof(unit), 400, offset);
	CU_ASSERT_EQUAL(tl_digest_check(&digest), crc32c(covered, sizeof(covered)));
	tl_digest_chain_add(&sha, &zero, 0);
	CU_ASSERT_EQUAL(memcmp(sha.digest.byte, of_64_zeros, sizeof(of_64_zeros)), 0);
}

int main(void)
{
	tl_digest_prepare();
	return tl_test_run("verify");
}
