// SPDX-License-Identifier: BSD-3-Clause
// writer: data written with digests is verified against the committed data, also after repeated writes, in rings, in
// reused files, and with statistics between slabs.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_rig.h>
#include <tl_verify.h>

#include "writer_priv.h"

#define FRAME_BYTES 1000

static void rig_start(struct rig *rig, struct tl_writer_cfg cfg, bool spoils)
{
	rig_make(rig, cfg);
	if (spoils)
		rig->writer->backend = &tl_test_faulty_backend;
	rig_run(rig);
}

static void rig_open(struct rig *rig, struct tl_writer_cfg cfg, bool spoils)
{
	rig_dir(rig);
	rig->n_rings = 1;
	rig_start(rig, cfg, spoils);
}

static void commit(struct rig *rig, uint32_t records)
{
	put_frames(rig, records, FRAME_BYTES);
}

// End the run. Return the number of records in its files, all of them valid.
static uint64_t rig_verify(struct rig *rig)
{
	uint64_t records = 0;
	struct tl_err err;
	uint32_t n;

	CU_ASSERT_EQUAL(rig_stop(rig), 0);
	const char *const *files = tl_writer_files(rig->writer, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct tl_verify_report report;
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		CU_ASSERT_FATAL(fd >= 0);
		CU_ASSERT_EQUAL(tl_verify_fd(fd, &(struct tl_verify_opts){0}, &report, &err), 0);
		CU_ASSERT_EQUAL(report.outcome, TL_VERIFY_GOOD);
		if (report.outcome != TL_VERIFY_GOOD)
			printf("# %s: %s at byte %llu\n", files[i], tl_verify_outcome_name(report.outcome),
				(unsigned long long)report.chain_end_bytes);
		records += report.records;
		close(fd);
	}
	rig_end(rig);
	return records;
}

TL_TEST("a file written with digests verifies as good")
{
	for (enum tl_digest_kind kind = TL_DIGEST_CRC32C; kind < TL_DIGEST_KINDS; kind++)
		for (enum tl_writer_io io = TL_WRITER_IO_URING; io <= TL_WRITER_IO_PWRITE; io++) {
			struct rig rig;
			rig_open(&rig, (struct tl_writer_cfg){.io = io, .digest = kind, .index = true}, false);
			commit(&rig, 3000);
			CU_ASSERT_EQUAL(rig_verify(&rig), 3000);
			rig_close(&rig);
		}
}

// Slabs after a failed one are written again, some of them at other offsets.
TL_TEST("slabs written twice are verified")
{
	struct rig rig;

	tl_test_faulty.failed = 0;
	rig_open(&rig, (struct tl_writer_cfg){.digest = TL_DIGEST_CRC32C}, true);
	commit(&rig, 5000);
	CU_ASSERT_EQUAL(rig_verify(&rig), 5000);
	CU_ASSERT(tl_test_faulty.failed > 5);
	rig_close(&rig);
}

// A file at its size limit passes slabs in flight to the next file.
TL_TEST("slabs moved to the next file are verified")
{
	struct tl_writer_cfg cfg = {.digest = TL_DIGEST_CRC32C, .policy = {.rotate_seconds = 31536000}};
	struct rlimit old, limit;
	struct rig rig;
	uint32_t n;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 1 << 20;
	rig_open(&rig, cfg, false);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
	commit(&rig, 3000);
	for (n = 1; tl_slab_used(rig.rings[0]) != 0 && n < 100000; n++)
		usleep(50);
	setrlimit(RLIMIT_FSIZE, &old); // room for the closing blocks
	CU_ASSERT_EQUAL(rig_verify(&rig), 3000);
	rig_close(&rig);
}

TL_TEST("statistics between slabs are verified")
{
	struct rig rig;

	rig_open(&rig, (struct tl_writer_cfg){.digest = TL_DIGEST_SHA256, .statistics_ns = TL_NS_PER_MS}, false);
	commit(&rig, 3000);
	CU_ASSERT_EQUAL(rig_verify(&rig), 3000);
	rig_close(&rig);
}

// The oldest files of a ring are reused, in this run and the next.
TL_TEST("reused files are verified")
{
	struct tl_writer_cfg cfg = {.digest = TL_DIGEST_CRC32C,
		.policy = {.rotate_bytes = 1 << 20, .keep_files = 3, .sync = TL_WRITER_SYNC_CLOSE}};
	struct rig rig;

	rig_open(&rig, cfg, false);
	commit(&rig, 8000);
	CU_ASSERT(rig_verify(&rig) > 1000);
	rig_start(&rig, cfg, false);
	commit(&rig, 3000);
	CU_ASSERT(rig_verify(&rig) > 1000);
	rig_close(&rig);
}

// A slab incomplete on disk when its digest was computed would go undetected: change one byte after the computation.
TL_TEST("a byte changed on the disk is detected")
{
	struct tl_verify_report report;
	struct rig rig;
	struct tl_err err;
	uint8_t byte;

	rig_open(&rig, (struct tl_writer_cfg){.digest = TL_DIGEST_CRC32C}, false);
	commit(&rig, 3000);
	rig_verify(&rig);
	int fd = open(rig.path, O_RDWR | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(pread(fd, &byte, 1, 100000), 1);
	byte ^= 4;
	CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, 100000), 1);
	CU_ASSERT_EQUAL(tl_verify_fd(fd, &(struct tl_verify_opts){0}, &report, &err), 0);
	CU_ASSERT(report.outcome == TL_VERIFY_DAMAGED && report.ranges == 1);
	CU_ASSERT(report.range[0].from <= 100000 && report.range[0].to > 100000);
	CU_ASSERT(report.range[0].to - report.range[0].from <= SLAB_BYTES);
	close(fd);
	rig_close(&rig);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer with digests");
}
