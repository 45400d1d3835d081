// SPDX-License-Identifier: BSD-3-Clause
// writer, removed: a removed file or directory is replaced by a new one.

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_log.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

static char said[4096]; // the warnings of all threads, one after the other
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

void tl_info(const char *fmt, ...)
{
}

void tl_error(const char *fmt, ...)
{
}

void tl_warn(const char *fmt, ...)
{
	va_list args;

	pthread_mutex_lock(&said_lock);
	size_t used = strlen(said);
	va_start(args, fmt);
	vsnprintf(said + used, sizeof(said) - used, fmt, args);
	va_end(args);
	pthread_mutex_unlock(&said_lock);
}

static bool was_said(const char *text)
{
	pthread_mutex_lock(&said_lock);
	bool found = strstr(said, text) != NULL;
	pthread_mutex_unlock(&said_lock);
	return found;
}

// The helper may create a file during the removal.
static void remove_dir(const struct rig *rig)
{
	CU_ASSERT(tl_test_until(tl_test_remove_dir(rig->dir) == 0));
}

// 1000 records before the directory is removed, 1000 without it, 1000 after it is recreated.
static void lose_directory(enum io io, struct tl_writer_policy policy)
{
	struct rig rig;
	struct found found = {.gaps = true};
	struct tl_writer_stats stats;
	bool closed;
	uint32_t n;

	rig_dir(&rig);
	rig_start_ring(&rig, io, policy);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 1000));
	remove_dir(&rig);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, true, 1000));
	CU_ASSERT_EQUAL(mkdir(rig.dir, 0700), 0);
	CU_ASSERT(wait_files(&rig, 2)); // without pending data
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOENT);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(sum(stats.written_pkts), 2000);
	CU_ASSERT_EQUAL(sum(stats.drop_disk_pkts), 1000);
	check_ledger(&rig, NULL);
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 1); // those that still exist
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT_EQUAL(sum(found.records), 1000);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig.committed[ring]);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, "x.pcapng.next"), 0);
	rig_close(&rig);
}

// Remove the directory between creation of the next file and completion of its prologue.
TL_TEST("a next file removed while it is opened receives no packets")
{
	struct rig rig;
	struct tl_writer_stats stats;

	rig_dir(&rig);
	pthread_mutex_init(&rig.gate, NULL);
	rig.gated = true;
	pthread_mutex_lock(&rig.gate);
	rig_start(&rig, PWRITE, 64 << 20);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 1000));
	CU_ASSERT(tl_test_until(__atomic_load_n(&rig.prologues, __ATOMIC_ACQUIRE) == 1));
	remove_dir(&rig);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(tl_test_until(tl_test_wants_next(rig.writer)));
	pthread_mutex_unlock(&rig.gate);
	CU_ASSERT(wait_for(&rig, true, 1000));
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOENT);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(sum(stats.written_pkts), 1000);
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

TL_TEST("without its directory a recording counts losses and continues when it is restored")
{
	lose_directory(URING, (struct tl_writer_policy){0});
	lose_directory(PWRITE, (struct tl_writer_policy){0});
	lose_directory(URING, (struct tl_writer_policy){.rotate_bytes = 64 << 20, .sync = TL_WRITER_SYNC_CLOSE});
	lose_directory(PWRITE, (struct tl_writer_policy){.rotate_bytes = 64 << 20, .keep_files = 4});
}

static void stop_without_directory(uint64_t rotate_bytes)
{
	struct rig rig;

	rig_open(&rig, URING, rotate_bytes);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 1000));
	remove_dir(&rig);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOENT);
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

TL_TEST("a removed directory does not block stop")
{
	stop_without_directory(0);
	stop_without_directory(64 << 20);
}

// Remove only the file: the next can begin at once.
static void remove_file(uint64_t rotate_bytes)
{
	struct rig rig;
	struct found found = {.gaps = true};
	const char *const *files;
	bool closed;
	uint32_t n;

	rig_open(&rig, URING, rotate_bytes);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 1000));
	files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(unlink(files[0]), 0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT_EQUAL(sum(found.records), 1000);
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

TL_TEST("a removed file is replaced by a new one without losses")
{
	remove_file(0);
	remove_file(64 << 20);
}

// No slab follows that could find it missing.
TL_TEST("a file removed by another program before it is complete is reported with its packets")
{
	struct rig rig;

	said[0] = '\0';
	rig_dir(&rig);
	rig_make(&rig, (struct tl_writer_cfg){0});
	rig_run(&rig);
	commit(&rig, 10);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 10));
	CU_ASSERT_EQUAL(unlink(rig.path), 0);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_TRUE(was_said(": 10 packets that count as written are gone with it"));
	rig_close(&rig);
}

// Through /proc, as a caller that passes a descriptor.
TL_TEST("an unnamed file is recorded to")
{
	struct rig rig;
	struct found found = {0};
	struct tl_writer_stats stats;
	bool closed;

	rig_dir(&rig);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	snprintf(rig.path, sizeof(rig.path), "/proc/self/fd/%d", fd);
	rig_start(&rig, URING, 0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(file_is_right(rig.path, &found, &closed));
	CU_ASSERT(closed);
	check_ledger(&rig, &found);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.files, 1);
	close(fd);
	rig_close(&rig);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_removed");
}
