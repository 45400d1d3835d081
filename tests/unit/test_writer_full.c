// SPDX-License-Identifier: BSD-3-Clause
// writer, full: a disk that is full or rejects writes costs only data that is counted, and leaves no other effect.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

static atomic_bool gate_is_open;

// Run test in a separate small tmpfs. It disappears with the mount namespace, at the latest with the process.
static void on_small_disk(void (*test)(const char *dir))
{
	char dir[] = "/var/tmp/tl-small-XXXXXX";

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", dir, "tmpfs", 0, "mode=700,size=6m") != 0) {
		printf("# skipped: no tmpfs without CAP_SYS_ADMIN\n");
	} else {
		test(dir);
		umount(dir);
	}
	rmdir(dir);
}

static void rig_in(struct rig *rig, const char *dir)
{
	rig_init(rig);
	snprintf(rig->dir, sizeof(rig->dir), "%s/r", dir);
	CU_ASSERT_EQUAL(mkdir(rig->dir, 0700), 0);
	snprintf(rig->path, sizeof(rig->path), "%s/x.pcapng", rig->dir);
}

static uint64_t free_bytes(const char *dir)
{
	struct statvfs status;

	CU_ASSERT_EQUAL(statvfs(dir, &status), 0);
	return (uint64_t)status.f_bavail * status.f_frsize;
}

// Check whether the helper has since completed closed files, opened the next file and made room for it.
static bool has_tidied(const struct rig *rig)
{
	struct tl_writer_helper *helper = &rig->writer->helper;

	pthread_mutex_lock(&helper->lock);
	bool idle = helper->ahead != NULL && STAILQ_EMPTY(&helper->left) && STAILQ_EMPTY(&helper->begun) &&
		    !tl_writer_has_passed(helper->tidy);
	pthread_mutex_unlock(&helper->lock);
	return idle && tl_test_count_files(rig->dir, ".part") == 1 && tl_test_are_empty(rig->rings, RINGS);
}

// Stop a writer that has lost no data. Return the number of removed files.
static uint64_t stop_recycled(struct rig *rig)
{
	struct tl_writer_stats stats;

	CU_ASSERT_EQUAL(rig_stop(rig), 0);
	tl_writer_stats(rig->writer, &stats);
	CU_ASSERT_EQUAL(sum(stats.drop_disk_pkts), 0);
	check_ring(rig);
	rig_close(rig);
	return stats.recycled_files;
}

static void recycle_in(const char *dir)
{
	static const struct tl_writer_policy policies[] = {
		{.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE}, // makes room in advance
		{.rotate_packets = 1000, .on_full = TL_WRITER_FULL_RECYCLE},  // makes room when a write fails
		{.rotate_bytes = 1 << 20, .min_free_bytes = 3 << 20},	      // before the disk is full
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(policies); i++) {
		struct rig rig;
		rig_in(&rig, dir);
		rig_start_ring(&rig, URING, policies[i]);
		for (int part = 0; part < 20; part++) {
			commit(&rig, 1000);
			if (policies[i].min_free_bytes != 0) // this one does not wait for the helper
				CU_ASSERT(tl_test_until(has_tidied(&rig)));
		}
		uint64_t files = count_begun(&rig);
		tl_writer_rotate(rig.writer);
		CU_ASSERT(wait_files(&rig, files + 1));
		if (policies[i].rotate_bytes != 0) // the whole new file has room, or is allocated
			CU_ASSERT(tl_test_until(free_bytes(dir) + bytes_of(&rig, ".part") >=
						policies[i].rotate_bytes - TL_PCAPNG_ALIGN));
		CU_ASSERT(stop_recycled(&rig) > 5);
	}
}

TL_TEST("on a full disk the oldest file is removed and no packet is lost")
{
	on_small_disk(recycle_in);
}

static bool wants_room(struct tl_writer_helper *helper)
{
	pthread_mutex_lock(&helper->lock);
	bool asked = helper->room_asked;
	pthread_mutex_unlock(&helper->lock);
	return asked;
}

// The helper completes a file when the writer waits for room, or when the gate opens.
static uint32_t put_late_epilogue(void *ctx, void *buf, uint32_t size)
{
	const struct rig *rig = ctx;
	struct tl_writer *writer = rig->writer;

	while (pthread_equal(pthread_self(), writer->helper.thread) && !wants_room(&writer->helper) &&
		!atomic_load(&gate_is_open))
		usleep(1000);
	return put_epilogue(ctx, buf, size);
}

// Files are completed long after they are written, so that none can be removed at first.
static void recycle_late_in(const char *dir)
{
	static const struct tl_writer_policy policy = {.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE};
	static const enum io ios[] = {URING, PWRITE};

	for (size_t i = 0; i < TL_ARRAY_LEN(ios); i++) {
		struct rig rig;
		struct tl_err err;
		rig_in(&rig, dir);
		rig.index = true;
		atomic_store(&gate_is_open, false);
		CU_ASSERT_EQUAL_FATAL(rig_create_ring(&rig, ios[i], policy, &err), 0);
		rig.writer->cfg.epilogue = put_late_epilogue;
		rig.writer->patience_ns = TL_WRITER_PATIENCE_NS;
		CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
		commit(&rig, 30000);
		atomic_store(&gate_is_open, true);
		CU_ASSERT(stop_recycled(&rig) >= 3); // four times what the disk holds
	}
}

TL_TEST("on a full disk space is found although files are completed late")
{
	on_small_disk(recycle_late_in);
}

// The helper gets no prologue, and therefore no next file, until the gate opens; the prologue is longer than a page.
static uint32_t put_gated_prologue(void *ctx, void *buf, uint32_t size)
{
	const struct tl_pcapng_idb more = {.name = "more"};
	const struct rig *rig = ctx;
	uint32_t used = put_prologue(ctx, buf, size);

	while (pthread_equal(pthread_self(), rig->writer->helper.thread) && !atomic_load(&gate_is_open))
		usleep(1000);
	while (used <= TL_PCAPNG_ALIGN)
		used += tl_pcapng_put_idb((uint8_t *)buf + used, size - used, &more);
	return used;
}

// The only file takes all of the disk while it waits for the next.
static void recycle_overdue_in(const char *dir)
{
	struct rig rig;
	struct tl_err err;

	rig_in(&rig, dir);
	atomic_store(&gate_is_open, false);
	CU_ASSERT_EQUAL_FATAL(
		rig_create_ring(&rig, URING,
			(struct tl_writer_policy){.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE}, &err),
		0);
	rig.writer->cfg.prologue = put_gated_prologue;
	rig.writer->patience_ns = TL_WRITER_PATIENCE_NS;
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 8800); // the capacity of the disk and a part of the slabs
	CU_ASSERT(tl_test_until(wants_room(&rig.writer->helper)));
	atomic_store(&gate_is_open, true);
	CU_ASSERT_EQUAL(stop_recycled(&rig), 1);
}

TL_TEST("on a full disk a file above its size is closed for the next")
{
	on_small_disk(recycle_overdue_in);
}

static void pause_in(const char *dir)
{
	struct rig rig;
	struct tl_writer_stats stats;
	char file[192];

	rig_in(&rig, dir);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = 1 << 20});
	commit(&rig, 10000);
	CU_ASSERT(wait_for(&rig, true, 1));
	snprintf(file, sizeof(file), "%s/x.pcapng", rig.dir);
	CU_ASSERT(tl_test_until(unlink(file) == 0)); // room again
	snprintf(file, sizeof(file), "%s/x_00001.pcapng", rig.dir);
	CU_ASSERT(tl_test_until(unlink(file) == 0));
	tl_writer_stats(rig.writer, &stats);
	uint64_t written = stats.written_pkts[TL_DIR_RX] + stats.written_pkts[TL_DIR_TX];
	commit(&rig, 500);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, written + 500));
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOSPC);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.recycled_files, 0);
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

TL_TEST("on a full disk the recording pauses until space is available")
{
	on_small_disk(pause_in);
}

// No file of the ring is left to remove: space taken by others does not count against the limit.
static void stop_above_limit_in(const char *dir)
{
	struct rig rig;
	struct tl_writer_stats stats;
	char file[192];

	rig_in(&rig, dir);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_seconds = 3600, .min_free_bytes = 4 << 20});
	commit(&rig, 500);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 500));
	snprintf(file, sizeof(file), "%s/big", dir);
	int fd = open(file, O_WRONLY | O_CREAT, 0600);
	CU_ASSERT_EQUAL(posix_fallocate(fd, 0, 3 << 20), 0);
	CU_ASSERT(tl_test_until(atomic_load(&rig.writer->no_room)));
	commit(&rig, 500);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, true, 500));
	CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
	close(fd);
	CU_ASSERT(tl_test_until(!atomic_load(&rig.writer->no_room)));
	commit(&rig, 500);
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOSPC);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_RX] + stats.written_pkts[TL_DIR_TX], 1000);
	unlink(file);
	rig_close(&rig);
}

TL_TEST("without a removable file writing stops above the reserved free space")
{
	on_small_disk(stop_above_limit_in);
}

static void refuse_after_a_mebibyte(enum io io)
{
	struct rig rig;
	struct found found = {.gaps = true};
	struct tl_writer_stats stats;
	bool closed;

	rig_open(&rig, io, 0);
	limit_file_size((1 << 20) + 3 * TL_PCAPNG_ALIGN);
	commit(&rig, 6000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	limit_file_size(0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tl_writer_error(rig.writer));
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_writer_error(rig.writer), rig.path));
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	check_ledger(&rig, &found);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT(stats.drop_disk_pkts[TL_DIR_RX] > 1000);
	CU_ASSERT(stats.written_pkts[TL_DIR_RX] > 500);
	rig_close(&rig);
}

TL_TEST("data refused by the disk is counted exactly and absent from the file")
{
	refuse_after_a_mebibyte(URING);
	refuse_after_a_mebibyte(PWRITE);
	refuse_after_a_mebibyte(FAULTY);
}

static void resume_with(enum io io)
{
	struct rig rig;
	struct found found = {.gaps = true};
	bool closed;

	rig_open(&rig, io, 0);
	limit_file_size(1 << 20);
	commit(&rig, 6000);
	CU_ASSERT(wait_for(&rig, true, 1000));
	seal(&rig);
	CU_ASSERT(tl_test_until(count(&rig, true) + count(&rig, false) >= 6000));
	limit_file_size(0);
	commit(&rig, 2000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG); // the first error is kept
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig.committed[ring]);
	check_ledger(&rig, &found);
	rig_close(&rig);
}

TL_TEST("writing continues when the disk accepts data again")
{
	resume_with(URING);
	resume_with(PWRITE);
}

// Even the prologue is rejected.
TL_TEST("no slab is written before the prologue")
{
	struct rig rig;
	struct found found = {.gaps = true};
	bool closed;

	rig_dir(&rig);
	limit_file_size(1024);
	rig_start(&rig, URING, 0);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, true, 1000));
	limit_file_size(0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	check_ledger(&rig, &found);
	CU_ASSERT_EQUAL(found.records[0] + found.records[1], 1000);
	rig_close(&rig);
}

TL_TEST("an epilogue that cannot be written is removed")
{
	struct rig rig;
	struct stat status;

	rig_open(&rig, URING, 0);
	commit(&rig, 10);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 10));
	CU_ASSERT_EQUAL(stat(rig.path, &status), 0);
	limit_file_size((rlim_t)status.st_size + 64);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	limit_file_size(0);
	struct found found = {0};
	bool closed;
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT_FALSE(closed);
	check_ledger(&rig, &found);
	rig_close(&rig);
}

static struct {
	atomic_int code;	     // 0: none
	_Atomic uint64_t good_bytes; // accepted before that
} disk;

static void fail_disk(int code, uint64_t good_bytes)
{
	atomic_store(&disk.good_bytes, good_bytes);
	atomic_store(&disk.code, code);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	int code = atomic_load(&disk.code); // read it once: the test heals the disk at any time

	if (code != 0 && (uint64_t)offset + len > atomic_load(&disk.good_bytes)) {
		errno = code;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, len, offset);
}

// The disk fails after the first mebibyte of each file, then recovers.
static void fail_and_heal(int code)
{
	struct rig rig;
	struct found found = {.gaps = true};
	bool closed;

	rig_open(&rig, PWRITE, 0);
	fail_disk(code, 1 << 20);
	commit(&rig, 6000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, true, 1000));
	fail_disk(0, 0);
	commit(&rig, 2000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -code);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tl_writer_error(rig.writer));
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_writer_error(rig.writer), tl_writer_advice(-code)));
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig.committed[ring]);
	check_ledger(&rig, &found);
	rig_close(&rig);
}

TL_TEST("data refused by a disk error or a quota is counted and absent from the file")
{
	static const int codes[] = {EIO, EDQUOT, EROFS, ESTALE};

	for (size_t i = 0; i < TL_ARRAY_LEN(codes); i++)
		fail_and_heal(codes[i]);
}

// Until the end, so that neither the last file nor the epilogue can be written.
TL_TEST("a permanently failing disk does not block stop")
{
	static const int codes[] = {EIO, EDQUOT};

	for (size_t i = 0; i < TL_ARRAY_LEN(codes); i++) {
		struct rig rig;
		struct found found = {.gaps = true};
		bool closed;
		rig_open(&rig, PWRITE, i == 0 ? 0 : 1 << 20);
		commit(&rig, 500);
		seal(&rig);
		CU_ASSERT(wait_for(&rig, false, 500));
		fail_disk(codes[i], 0);
		commit(&rig, 5000);
		CU_ASSERT_EQUAL(rig_stop(&rig), -codes[i]);
		fail_disk(0, 0);
		CU_ASSERT(files_are_right(&rig, &found, &closed));
		CU_ASSERT_FALSE(closed);
		CU_ASSERT_EQUAL(found.records[TL_DIR_RX] + found.records[TL_DIR_TX], 500);
		check_ledger(&rig, &found);
		rig_close(&rig);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_full");
}
