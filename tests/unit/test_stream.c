// SPDX-License-Identifier: BSD-3-Clause
// Capture files compressed by other programs: any frames of zstd, read ahead or not, whole, cut off and damaged.

#include <errno.h>
#include <sys/stat.h>

#include <zstd.h>

#include <tl_ahead.h>
#include <tl_err.h>
#include <tl_extract_source.h>
#include <tl_test_replay.h>

#define FRAMES 30000u // some windows

static uint8_t plain[sizeof(image)];
static size_t plain_bytes;
static struct tl_err err;

static void make_capture(void)
{
	begin_pcap();
	for (uint32_t i = 0; i < FRAMES; i++)
		add_pcap(i, TL_NS_PER_S + i, FRAME_BYTES, FRAME_BYTES);
	memcpy(plain, image, image_bytes);
	plain_bytes = image_bytes;
	image_bytes = 0;
}

// Append a frame of zstd with this part of the capture. known: its header has the length of the content.
static void add_packed(size_t from, size_t to, bool known)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_inBuffer in = {.src = plain + from, .size = to - from};
	ZSTD_outBuffer out = {.dst = image + image_bytes, .size = sizeof(image) - image_bytes};

	CU_ASSERT_PTR_NOT_NULL_FATAL(zstd);
	if (known)
		(void)ZSTD_CCtx_setPledgedSrcSize(zstd, in.size);
	(void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	CU_ASSERT_EQUAL_FATAL(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_continue), 0);
	CU_ASSERT_EQUAL_FATAL(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_end), 0);
	image_bytes += out.pos;
	ZSTD_freeCCtx(zstd);
}

static void add_skippable(uint32_t bytes)
{
	put32(0x184D2A50);
	put32(bytes);
	memset(image + image_bytes, 0x55, bytes);
	image_bytes += bytes;
}

static void pack_one(bool known)
{
	make_capture();
	add_packed(0, plain_bytes, known);
}

static void pack_many(void)
{
	const size_t step = 70001;

	make_capture();
	for (size_t at = 0; at < plain_bytes; at += step) {
		add_skippable(at % 3 == 0 ? 0 : 300);
		add_packed(at, tl_min_u64(at + step, plain_bytes), at % 2 == 0);
	}
	add_skippable(5000);
}

// Read the file; return the number of frames before its end, or before the error in *rc.
static uint32_t read_all(const char *path, struct tl_ahead *ahead, int *rc)
{
	struct tl_extract_source source;
	struct tl_pcap_frame frame;
	uint32_t n = 0;

	*rc = tl_extract_source_open_ahead(&source, path, ahead, &err);
	if (*rc != 0)
		return 0;
	while ((*rc = tl_extract_source_next(&source, &frame, &err)) == 1) {
		CU_ASSERT_EQUAL_FATAL(number_of(frame.data), n);
		n++;
	}
	tl_extract_source_close(&source);
	return n;
}

static void expect_whole(const char *path)
{
	static const struct tl_ahead_cfg cfg = {.files = 1, .slab_bytes = 32 << 10, .slabs = 16, .direct_bytes = 0};
	struct tl_ahead *ahead = NULL;
	int rc;

	CU_ASSERT_EQUAL(read_all(path, NULL, &rc), FRAMES);
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_EQUAL_FATAL(tl_ahead_create(&cfg, &ahead), 0);
	CU_ASSERT_EQUAL(read_all(path, ahead, &rc), FRAMES);
	CU_ASSERT_EQUAL(rc, 0);
	tl_ahead_destroy(ahead);
}

static void expect_error(const char *path, const char *reason)
{
	int rc;

	uint32_t n = read_all(path, NULL, &rc);
	CU_ASSERT(n < FRAMES);
	CU_ASSERT_EQUAL(rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, reason));
}

TL_TEST("a file of one zstd frame is read whole, with and without the length of its content")
{
	for (int known = 0; known < 2; known++) {
		pack_one(known);
		expect_whole(save_as("one.pcap.zst"));
	}
}

TL_TEST("a file of many frames of zstd, with skippable ones before and between them, is read whole")
{
	pack_many();
	expect_whole(save_as("many.pcap.zst"));
}

TL_TEST("a compressed file that is cut off anywhere gives the frames before, and an error")
{
	pack_many();
	size_t whole = image_bytes;
	for (size_t bytes = 1000; bytes < whole - 5008; bytes += 10007) {
		image_bytes = bytes;
		expect_error(save_as("cut.pcap.zst"), "");
	}
	image_bytes = whole - 1; // within the last skippable frame
	int rc;
	CU_ASSERT_EQUAL(read_all(save_as("cut.pcap.zst"), NULL, &rc), FRAMES);
	CU_ASSERT_EQUAL(rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "its compressed data is cut off"));
}

TL_TEST("damaged compressed data, and other bytes behind it, are an error with the reason")
{
	pack_one(true);
	image[image_bytes - 1] ^= 1; // the checksum
	int rc;
	read_all(save_as("sum.pcap.zst"), NULL, &rc);
	CU_ASSERT_EQUAL(rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "checksum"));
	pack_one(true);
	memset(image + image_bytes, 0, 5000);
	image_bytes += 5000;
	CU_ASSERT_EQUAL(read_all(save_as("zeros.pcap.zst"), NULL, &rc), FRAMES);
	CU_ASSERT_EQUAL(rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "frame descriptor"));
}

// A frame with a window of 256 MiB and one block of one byte (RFC 8878, section 3.1.1).
TL_TEST("a window that takes too much memory is refused with this reason")
{
	static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x09, 0, 0, 0xd4};

	memcpy(image, frame, sizeof(frame));
	image_bytes = sizeof(frame);
	expect_error(save_as("window.pcap.zst"), "memory");
}

TL_TEST("a directory gives the compressed captures in it, and no other compressed files")
{
	char **paths, in[64];
	size_t n;

	snprintf(in, sizeof(in), "%s/in", dir);
	CU_ASSERT_EQUAL_FATAL(mkdir(in, 0700), 0);
	pack_many();
	save_as("in/many.pcap.zst");
	make_capture();
	add_packed(1000, 200000, true);
	save_as("in/other.zst");
	CU_ASSERT_EQUAL_FATAL(tl_extract_directory(in, &paths, &n, &err), 0);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(paths[0], "in/many.pcap.zst"));
	free(paths[0]);
	free(paths);
}

int main(void)
{
	if (!make_dir())
		return 1;
	int status = tl_test_run("stream");
	remove_dir();
	return status;
}
