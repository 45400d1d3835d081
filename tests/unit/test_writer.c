// SPDX-License-Identifier: BSD-3-Clause
// writer: sealed slabs reach the file exactly once and in order, for any behaviour of the disk.

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

// Return the number of repeated writes.
static uint64_t record_everything(enum io io, uint64_t rotate_bytes)
{
	struct rig rig;
	struct tl_writer_stats stats;

	rig_open(&rig, io, rotate_bytes);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	check_complete(&rig);
	tl_writer_stats(rig.writer, &stats);
	rig_close(&rig);
	return stats.repeated_writes;
}

// No write may use a buffer that the kernel has registered under another number, either.
TL_TEST("with io_uring every record is written once, in ring order")
{
	CU_ASSERT_EQUAL(record_everything(URING, 0), 0);
}

TL_TEST("with pwrite every record is written once, in ring order")
{
	CU_ASSERT_EQUAL(record_everything(PWRITE, 0), 0);
}

TL_TEST("a failed write among others in flight is repeated without leaving a hole")
{
	CU_ASSERT(record_everything(FAULTY, 0) > 10);
	CU_ASSERT(tl_test_faulty.failed > 10);
	record_everything(FAULTY, 1 << 20);
}

TL_TEST("a recording without packets has prologue, epilogue and mode 0640")
{
	struct rig rig;
	struct stat status;

	rig_open(&rig, URING, 0);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	CU_ASSERT_EQUAL(stat(rig.path, &status), 0);
	CU_ASSERT_EQUAL(status.st_size, 2 * TL_PCAPNG_ALIGN);
	CU_ASSERT_EQUAL(status.st_mode & 07137, 0); // 0640 at most
	rig_close(&rig);
}

TL_TEST("an unusable path is refused by name")
{
	struct rig rig;
	struct tl_err err;
	char link[128];

	rig_dir(&rig);
	snprintf(link, sizeof(link), "%s/link", rig.dir);
	CU_ASSERT_EQUAL(symlink("nowhere", link), 0);
	struct {
		const char *path;
		uint64_t rotate_bytes;
		int code;
	} table[] = {
		{rig.dir, 0, -EISDIR},
		{"/nonexistent/x.pcapng", 0, -ENOENT},
		{link, 0, -EEXIST},
		{"/dev/null", 1 << 20, -EINVAL},
		{TL_WRITER_NULL, 1 << 20, -EINVAL},
	};
	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		snprintf(rig.path, sizeof(rig.path), "%s", table[i].path);
		err.text[0] = '\0';
		CU_ASSERT_EQUAL(rig_create(&rig, URING, table[i].rotate_bytes, &err), table[i].code);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, table[i].path));
		for (uint32_t ring = 0; ring < RINGS; ring++)
			tl_slab_destroy(rig.rings[ring]);
		memset(rig.rings, 0, sizeof(rig.rings));
	}
	rig_close(&rig);
}

TL_TEST("an existing file is replaced")
{
	struct rig rig;
	static const char old[3 * SLAB_BYTES] = {1};

	rig_dir(&rig);
	int fd = open(rig.path, O_WRONLY | O_CREAT, 0600);
	CU_ASSERT_EQUAL(write(fd, old, sizeof(old)), sizeof(old));
	close(fd);
	rig_start(&rig, PWRITE, 0);
	commit(&rig, 10);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

TL_TEST("O_DIRECT is disabled after a write with EINVAL")
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, PWRITE, 0, &err), 0);
	struct tl_writer_file *file = rig.writer->file;
	if (!file->direct)
		printf("# skipped: %s refuses O_DIRECT\n", rig.dir);
	// A negative offset is an example of an offset that a file system rejects.
	CU_ASSERT_EQUAL(tl_writer_file_write(file, rig.writer->blocks, TL_PCAPNG_ALIGN, UINT64_MAX / 2 + 1), -EINVAL);
	CU_ASSERT_FALSE(file->direct);
	CU_ASSERT_EQUAL(fcntl(file->fd, F_GETFL) & O_DIRECT, 0);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(rig.writer->direct_refused);
	check_complete(&rig);
	rig_close(&rig);
}

// One descriptor is left for the file, and none for io_uring.
TL_TEST("without io_uring pwrite is used")
{
	struct rig rig;
	struct tl_err err;
	struct rlimit before, limit;

	rig_dir(&rig);
	int next = dup(STDIN_FILENO);
	close(next);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)next + 1;
	setrlimit(RLIMIT_NOFILE, &limit);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 0, &err), 0);
	setrlimit(RLIMIT_NOFILE, &before);
	CU_ASSERT_EQUAL(rig.writer->backend->depth, 1);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

// Submit the entry that has been prepared. Return its result.
static int result_of_entry(struct io_uring *uring)
{
	struct io_uring_cqe *cqe;

	CU_ASSERT(io_uring_submit(uring) >= 0);
	CU_ASSERT_EQUAL_FATAL(io_uring_wait_cqe(uring, &cqe), 0);
	int result = cqe->res;
	io_uring_cqe_seen(uring, cqe);
	return result;
}

// seccomp does not see what io_uring does.
TL_TEST("io_uring of a recording writes, and opens neither files nor sockets")
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 0, &err), 0);
	struct io_uring *uring = &rig.writer->uring;
	if (rig.writer->backend->depth > 1) { // a container may have no io_uring
		io_uring_prep_openat(io_uring_get_sqe(uring), AT_FDCWD, "/", O_RDONLY | O_CLOEXEC, 0);
		CU_ASSERT_EQUAL(result_of_entry(uring), -EACCES);
		io_uring_prep_socket(io_uring_get_sqe(uring), AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0);
		CU_ASSERT_EQUAL(result_of_entry(uring), -EACCES);
		CU_ASSERT_EQUAL(io_uring_register_eventfd(uring, STDIN_FILENO), -EACCES);
	}
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

static void record_buffered(const char *dir, bool refuses)
{
	struct rig rig;

	rig_init(&rig);
	snprintf(rig.dir, sizeof(rig.dir), "%s/tl-writer-XXXXXX", dir);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(rig.dir));
	snprintf(rig.path, sizeof(rig.path), "%s/x.pcapng", rig.dir);
	rig_start(&rig, URING, 1 << 20);
	commit(&rig, 5000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	if (refuses)
		CU_ASSERT(rig.writer->direct_refused);
	check_complete(&rig);
	rig_close(&rig);
}

TL_TEST("a recording on tmpfs is complete")
{
	record_buffered("/dev/shm", false); // tmpfs rejects O_DIRECT before Linux 6.6
}

TL_TEST("without O_DIRECT support the page cache is used")
{
	char dir[] = "/var/tmp/tl-ramfs-XXXXXX";

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("ramfs", dir, "ramfs", 0, "mode=700") != 0) {
		printf("# skipped: no ramfs without CAP_SYS_ADMIN\n");
	} else {
		record_buffered(dir, true);
		umount(dir);
	}
	rmdir(dir);
}

TL_TEST("a writer that was never started can be destroyed")
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL(rig_create(&rig, URING, 0, &err), 0);
	rig_close(&rig);
}

TL_TEST("the sleep of the writer grows until each gathers one slab")
{
	static const struct {
		uint32_t found;
		uint64_t us;
	} steps[] = {{0, 400}, {0, 800}, {1, 800}, {1, 800}, {0, 1600}, {0, 2000}, {0, 2000}, {1, 2000}, {2, 200},
		{9, 200}, {1, 200}, {0, 400}};
	struct tl_writer_pace pace;

	tl_writer_pace_init(&pace, 4, 4u << 20);
	for (size_t i = 0; i < TL_ARRAY_LEN(steps); i++) {
		pace.found = steps[i].found;
		CU_ASSERT_EQUAL(tl_writer_pace_next(&pace), steps[i].us * TL_NS_PER_US);
		CU_ASSERT_EQUAL(pace.found, 0);
	}
}

TL_TEST("a sleep of the writer may gather a quarter of the slabs")
{
	static const struct {
		uint32_t found;
		uint64_t us;
	} steps[] = {{0, 400}, {4, 400}, {0, 800}, {4, 800}, {5, 200}};
	struct tl_writer_pace pace;

	tl_writer_pace_init(&pace, 16, 16u << 20);
	for (size_t i = 0; i < TL_ARRAY_LEN(steps); i++) {
		pace.found = steps[i].found;
		CU_ASSERT_EQUAL(tl_writer_pace_next(&pace), steps[i].us * TL_NS_PER_US);
	}
}

TL_TEST("the longest sleep does not fill the buffer")
{
	static const struct {
		uint64_t buffer_bytes, longest_us;
	} cases[] = {{4 << 20, 2000}, {12000000, 3000}, {64 << 20, 16000}, {1ull << 34, 16000}};
	struct tl_writer_pace pace;

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		tl_writer_pace_init(&pace, 4, cases[i].buffer_bytes);
		for (unsigned empty = 0; empty < 8; empty++)
			(void)tl_writer_pace_next(&pace);
		CU_ASSERT_EQUAL(tl_writer_pace_next(&pace), cases[i].longest_us * TL_NS_PER_US);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer");
}
