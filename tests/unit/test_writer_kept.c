// SPDX-License-Identifier: BSD-3-Clause
// writer, kept: a ring keeps its limits across runs, and modifies only its own files.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

TL_TEST("a ring keeps the configured number of files")
{
	struct rig rig;
	struct tl_writer_stats stats;
	uint32_t n;

	rig_dir(&rig);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	tl_writer_stats(rig.writer, &stats);
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 3);
	CU_ASSERT_EQUAL(stats.recycled_files, stats.files - 3);
	check_ring(&rig);
	rig_close(&rig);
}

TL_TEST("a ring keeps the configured number of bytes")
{
	const uint64_t limit = 4 << 20, file = 1 << 20;
	struct rig rig;
	struct tl_writer_stats stats;

	rig_dir(&rig);
	rig_start_ring(&rig, PWRITE,
		(struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_bytes = limit, .sync = TL_WRITER_SYNC_CLOSE});
	commit(&rig, 20000);
	CU_ASSERT(wait_for(&rig, false, 19000));
	uint64_t files = count_begun(&rig);
	tl_writer_rotate(rig.writer);
	CU_ASSERT(wait_files(&rig, files + 1));
	CU_ASSERT(tl_test_until(bytes_of(&rig, ".pcapng") <= limit - file)); // the file being written has its room
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT(stats.written_bytes - stats.recycled_bytes <= limit);
	CU_ASSERT(stats.written_bytes - stats.recycled_bytes > limit / 2);
	check_ring(&rig);
	rig_close(&rig);
}

static void put_large_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(ftruncate(fd, 100 << 20), 0);
	CU_ASSERT_EQUAL(pwrite(fd, "end", 3, 99 << 20), 3);
	close(fd);
}

static bool has_its_end(int fd)
{
	char text[4] = "";

	return pread(fd, text, 3, 99 << 20) == 3 && strcmp(text, "end") == 0;
}

static int remove_at(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDWR);

	if (fd < 0 || fstat(fd, &status) != 0)
		return -errno;
	int rc = tl_writer_remove(fd, path, &status);
	close(fd);
	return rc;
}

TL_TEST("a removed file stays intact for open descriptors and other links")
{
	char dir[64], path[96], second[96];

	tl_test_make_dir(dir, path);
	snprintf(second, sizeof(second), "%s/second", dir);
	put_large_file(path);
	int reader = open(path, O_RDONLY);
	CU_ASSERT_EQUAL(remove_at(path), 0);
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT(has_its_end(reader));
	close(reader);

	put_large_file(path);
	CU_ASSERT_EQUAL(link(path, second), 0);
	CU_ASSERT_EQUAL(remove_at(path), 0);
	reader = open(second, O_RDONLY);
	CU_ASSERT(has_its_end(reader));
	close(reader);
	CU_ASSERT_EQUAL(remove_at(second), 0); // no file of this one is left
	CU_ASSERT_EQUAL(remove_at(second), -ENOENT);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

// Return a rig for another run in the directory of an earlier one.
static void rig_again(struct rig *rig, const struct rig *before)
{
	rig_init(rig);
	strcpy(rig->dir, before->dir);
	strcpy(rig->path, before->path);
}

TL_TEST("a ring recognizes its files after a restart")
{
	const struct tl_writer_policy policy = {.rotate_bytes = 1 << 20, .keep_files = 5};
	struct rig first, second;
	struct tl_writer_stats before, stats;
	char last[64];

	rig_dir(&first);
	rig_start_ring(&first, URING, policy);
	commit(&first, 10000);
	CU_ASSERT_EQUAL(rig_stop(&first), 0);
	tl_writer_stats(first.writer, &before);
	rig_end(&first);
	rig_again(&second, &first);
	rig_start_ring(&second, URING, policy);
	commit(&second, 3000);
	CU_ASSERT_EQUAL(rig_stop(&second), 0);
	tl_writer_stats(second.writer, &stats);
	CU_ASSERT(stats.files < 5);
	CU_ASSERT_EQUAL(stats.recycled_files, stats.files);
	CU_ASSERT_EQUAL(tl_test_count_files(second.dir, ".pcapng"), 5);
	snprintf(last, sizeof(last), "x_%05u.pcapng", (unsigned)(before.files + stats.files - 1));
	CU_ASSERT(tl_test_exists(second.dir, last)); // the numbering continues
	rig_close(&second);
}

// Files with names like those of the ring that do not belong to it.
TL_TEST("a ring removes only its own files")
{
	static const char *const names[] = {"x.pcapng", "x_00001.pcapng", "x_00002.pcapng", "x_00003.pcapng",
		"x_00004.pcapng.part", "x_5.pcapng", "x_00006.pcap"};
	struct rig rig;
	char path[192];

	rig_dir(&rig);
	put_file(&rig, names[0], NULL);
	put_file(&rig, names[1], "Dumpcap");
	snprintf(path, sizeof(path), "%s/%s", rig.dir, names[2]);
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
	put_file(&rig, "elsewhere", "tapline 1");
	snprintf(path, sizeof(path), "%s/%s", rig.dir, names[3]);
	CU_ASSERT_EQUAL(symlink("elsewhere", path), 0);
	put_file(&rig, names[4], "tapline 1");
	snprintf(path, sizeof(path), "%s/%s", rig.dir, names[4]);
	int in_use = open(path, O_RDONLY); // being written by another run
	CU_ASSERT_EQUAL(flock(in_use, LOCK_EX), 0);
	put_file(&rig, names[5], "tapline 1");
	put_file(&rig, names[6], "tapline 1");
	put_file(&rig, "x_00007.pcapng", "tapline 1");
	put_file(&rig, "x_00008.pcapng.part", "tapline 1"); // left by a killed run

	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 2});
	CU_ASSERT(tl_test_exists(rig.dir, "x_00009.pcapng.part"));
	commit(&rig, 10000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
		CU_ASSERT(tl_test_exists(rig.dir, names[i]));
	CU_ASSERT(tl_test_exists(rig.dir, "elsewhere"));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00007.pcapng"));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00008.pcapng.part"));
	close(in_use);
	rig_close(&rig);
}

// A file of the ring that was replaced during the run.
TL_TEST("a replaced file of the ring is kept")
{
	struct rig rig;
	char path[192];

	rig_dir(&rig);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 20});
	commit(&rig, 3000);
	CU_ASSERT(wait_for(&rig, false, 2000));
	CU_ASSERT(tl_test_until(tl_test_exists(rig.dir, "x.pcapng")));
	snprintf(path, sizeof(path), "%s/x.pcapng", rig.dir);
	CU_ASSERT_EQUAL(unlink(path), 0);
	put_file(&rig, "x.pcapng", NULL);
	commit(&rig, 40000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng"));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00001.pcapng"));
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 21);
	rig_close(&rig);
}

TL_TEST("two recordings do not write to one file")
{
	struct rig rig;
	struct tl_writer *other;
	struct tl_err err;

	rig_open(&rig, URING, 0);
	commit(&rig, 1000);
	struct tl_writer_cfg cfg = rig.writer->cfg;
	CU_ASSERT_EQUAL(tl_writer_create(&cfg, &other, &err), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rig.path));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

// The kernel holds the lock of a killed process until its writes are complete.
TL_TEST("a recording begins although the lock of a killed one outlives it for a moment")
{
	struct rig rig;
	int ready[2];

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	pid_t holder = fork();
	if (holder == 0) {
		int fd = open(rig.path, O_WRONLY | O_CREAT, 0600);
		bool held = flock(fd, LOCK_EX) == 0 && write(ready[1], "", 1) == 1;
		(void)poll(NULL, 0, 100);
		_exit(held ? 0 : 1);
	}
	CU_ASSERT_EQUAL(read(ready[0], &(char){0}, 1), 1);
	rig_start(&rig, URING, 0);
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	int status = 1;
	CU_ASSERT_EQUAL(waitpid(holder, &status, 0), holder);
	CU_ASSERT_EQUAL(status, 0);
	close(ready[0]);
	close(ready[1]);
	rig_close(&rig);
}

// A remnant of a killed run with the name of the next file: removed if blank, kept if it has records.
TL_TEST("files left by a killed run are kept if they have records")
{
	struct rig first, rig;
	char left[192];

	rig_open(&first, PWRITE, 0);
	commit(&first, 100);
	CU_ASSERT_EQUAL(rig_stop(&first), 0);
	snprintf(left, sizeof(left), "%s/.x.pcapng.next", first.dir);
	CU_ASSERT_EQUAL(rename(first.path, left), 0);
	rig_end(&first);
	rig_again(&rig, &first);
	rig_start(&rig, PWRITE, 1 << 20);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng")); // recovered, and therefore complete
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng"));
	rig_end(&rig);

	rig_again(&rig, &first);
	put_file(&rig, ".x.pcapng.next", "tapline 1");
	rig_start(&rig, PWRITE, 1 << 20);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, ".x.pcapng.next"));
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".part"), 0);
	rig_close(&rig);
}

// A file of a killed run: truncated within a slab, followed by preallocated blocks.
TL_TEST("the next run recovers the file of a killed run")
{
	struct rig first, rig;
	struct found found = {.gaps = true};
	char part[192];
	bool closed;

	rig_open(&first, PWRITE, 0);
	commit(&first, 1000);
	CU_ASSERT_EQUAL(rig_stop(&first), 0);
	snprintf(part, sizeof(part), "%s.part", first.path);
	CU_ASSERT_EQUAL(rename(first.path, part), 0);
	CU_ASSERT_EQUAL(truncate(part, 5 * SLAB_BYTES + 1000), 0);
	CU_ASSERT_EQUAL(truncate(part, 64 * SLAB_BYTES), 0);
	rig_end(&first);

	rig_again(&rig, &first);
	rig_start_ring(&rig, PWRITE, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng.part")); // its numbering continues
	commit(&rig, 100);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".part"), 0);
	CU_ASSERT(file_is_right(first.path, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT(found.records[TL_DIR_RX] + found.records[TL_DIR_TX] > 300);
	rig_end(&rig);

	rig_again(&rig, &first); // and the ring includes it
	rig_start_ring(&rig, PWRITE, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 2});
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x.pcapng"));
	rig_close(&rig);
}

// A killed run left opening blocks over an earlier file that has the name of the next file.
TL_TEST("files without a prologue left by a killed run are removed")
{
	struct rig first, rig;
	char left[192];
	size_t size = 0, at = 0;
	uint32_t block[2];

	rig_open(&first, PWRITE, 0);
	commit(&first, 1000);
	CU_ASSERT_EQUAL(rig_stop(&first), 0);
	snprintf(left, sizeof(left), "%s/.x.pcapng.next", first.dir);
	uint8_t *bytes = tl_test_read_file(first.path, &size);
	rig_end(&first);
	unlink(first.path);
	for (memcpy(block, bytes, sizeof(block)); block[0] != TL_PCAPNG_HEAD; memcpy(block, bytes + at, sizeof(block)))
		at += block[1];
	tl_pcapng_sign_head(bytes + at, 1, 0); // as if overwritten by the opening blocks of another file
	FILE *file = fopen(left, "wb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(bytes, size, 1, file), 1);
	fclose(file);
	rig_again(&rig, &first);
	rig_start(&rig, PWRITE, 1 << 20);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ""), 2 + 1); // with . and ..
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 1);
	rig_close(&rig);
	free(bytes);
}

// ---- reuse of the oldest file of a full ring

static const struct tl_writer_policy reusing = {.rotate_bytes = 1 << 20, .keep_files = 3};

static uint32_t count_checked(const struct rig *rig)
{
	struct found found = {.gaps = true};
	bool closed;

	CU_ASSERT(files_are_right(rig, &found, &closed));
	return found.checked;
}

static void reuse_with(enum io io, enum tl_writer_sync sync)
{
	struct tl_writer_policy policy = reusing;
	struct rig rig;

	policy.sync = sync;
	rig_dir(&rig);
	rig_start_ring(&rig, io, policy);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(count_checked(&rig) > 0);
	check_ring(&rig);
	rig_close(&rig);
}

TL_TEST("a full ring reuses its oldest file")
{
	reuse_with(URING, TL_WRITER_SYNC_NEVER);
	reuse_with(URING, TL_WRITER_SYNC_CLOSE);
	reuse_with(PWRITE, TL_WRITER_SYNC_NEVER);
	reuse_with(FAULTY, TL_WRITER_SYNC_NEVER);
}

// Make two runs; before the second, modify the oldest file of the first.
static void run_twice(struct rig *first, struct rig *rig, void (*between)(const char *oldest))
{
	const char *const *files;
	char oldest[192];
	uint32_t n;

	rig_dir(first);
	rig_start_ring(first, PWRITE, reusing);
	commit(first, 10000);
	CU_ASSERT_EQUAL(rig_stop(first), 0);
	files = tl_writer_files(first->writer, &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	snprintf(oldest, sizeof(oldest), "%s", files[0]);
	rig_end(first);
	between(oldest);
	rig_again(rig, first);
	rig_start_ring(rig, PWRITE, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	commit(rig, 1700); // continues in a second file
	CU_ASSERT_EQUAL(rig_stop(rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".pcapng"), 3);
	CU_ASSERT_NOT_EQUAL(access(oldest, F_OK), 0);
}

static void leave_it(const char *oldest)
{
}

TL_TEST("the next run reuses the files of the last")
{
	struct rig first, rig;

	run_twice(&first, &rig, leave_it);
	CU_ASSERT(count_checked(&rig) > 0);
	rig_close(&rig);
}

static struct {
	int fd;
	char link[200];
	uint8_t *bytes;
	size_t size;
} kept;

static void open_it(const char *oldest)
{
	kept.bytes = tl_test_read_file(oldest, &kept.size);
	kept.fd = open(oldest, O_RDONLY);
}

static void link_it(const char *oldest)
{
	kept.bytes = tl_test_read_file(oldest, &kept.size);
	snprintf(kept.link, sizeof(kept.link), "%s.keep", oldest);
	CU_ASSERT_EQUAL(link(oldest, kept.link), 0);
	kept.fd = open(kept.link, O_RDONLY);
	close(kept.fd); // no process has it open
}

static void publish_it(const char *oldest)
{
	CU_ASSERT_EQUAL(chmod(oldest, 0644), 0);
}

static void shrink_it(const char *oldest)
{
	struct stat status;

	CU_ASSERT_EQUAL(stat(oldest, &status), 0);
	CU_ASSERT_EQUAL(truncate(oldest, 100 << 10), 0);
	utimensat(AT_FDCWD, oldest, (struct timespec[]){status.st_atim, status.st_mtim}, 0); // still the oldest
}

static void give_it_away(const char *oldest)
{
	CU_ASSERT_EQUAL(chown(oldest, 1, 1), 0);
}

static bool is_kept(int fd)
{
	uint8_t *bytes = malloc(kept.size + 1);
	bool same =
		pread(fd, bytes, kept.size + 1, 0) == (ssize_t)kept.size && memcmp(bytes, kept.bytes, kept.size) == 0;

	free(bytes);
	free(kept.bytes);
	close(fd);
	return same;
}

TL_TEST("a file opened by another process is not reused")
{
	struct rig first, rig;

	run_twice(&first, &rig, open_it);
	CU_ASSERT_EQUAL(count_checked(&rig), 0);
	CU_ASSERT(is_kept(kept.fd));
	rig_close(&rig);
	run_twice(&first, &rig, link_it);
	CU_ASSERT_EQUAL(count_checked(&rig), 0);
	CU_ASSERT(is_kept(open(kept.link, O_RDONLY)));
	rig_close(&rig);
}

TL_TEST("a file with other attributes than a new one is not reused")
{
	void (*const between[])(const char *) = {publish_it, shrink_it, give_it_away};
	struct rig first, rig;

	for (size_t i = 0; i < TL_ARRAY_LEN(between) - (geteuid() != 0); i++) {
		run_twice(&first, &rig, between[i]);
		CU_ASSERT_EQUAL(count_checked(&rig), 0);
		rig_close(&rig);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_kept");
}
