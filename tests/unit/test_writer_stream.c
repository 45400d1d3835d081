// SPDX-License-Identifier: BSD-3-Clause
// writer, stream: pipes and devices, and statistics in a growing file.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

// Reader of a pipe, and the data read.
struct reader {
	pthread_t thread;
	int fd;
	uint8_t *data;
	size_t bytes;
};

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	const size_t room = 64 << 20;
	ssize_t n;

	reader->data = malloc(room);
	while ((n = read(reader->fd, reader->data + reader->bytes, room - reader->bytes)) > 0)
		reader->bytes += (size_t)n;
	return NULL;
}

// Make standard output the pipe while the writer is created.
static void rig_open_stdout_for(struct rig *rig, int pipe_fds[2], bool reader_may_leave)
{
	CU_ASSERT_EQUAL_FATAL(pipe2(pipe_fds, O_CLOEXEC), 0);
	rig_dir(rig);
	strcpy(rig->path, "-");
	rig->reader_may_leave = reader_may_leave;
	rig->statistics_ns = TL_NS_PER_MS;
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	dup2(pipe_fds[1], STDOUT_FILENO);
	rig_start(rig, URING, 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(pipe_fds[1]);
}

static void rig_open_stdout(struct rig *rig, int pipe_fds[2])
{
	rig_open_stdout_for(rig, pipe_fds, false);
}

TL_TEST("a pipe receives no blocks specific to files")
{
	struct rig rig;
	struct reader reader = {0};
	struct found found = {.stream = true, .statistics = true};
	int fds[2];
	bool closed = false;

	rig_open_stdout(&rig, fds);
	reader.fd = fds[0];
	CU_ASSERT_EQUAL_FATAL(pthread_create(&reader.thread, NULL, read_all, &reader), 0);
	commit(&rig, 20000);
	for (int i = 0; i < 10000 && __atomic_load_n(&rig.epilogues, __ATOMIC_RELAXED) == 0; i++) {
		commit(&rig, 30);
		seal(&rig);
		usleep(1000);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	pthread_join(reader.thread, NULL);
	CU_ASSERT_FALSE(tl_writer_pipe_closed(rig.writer));
	CU_ASSERT(blocks_are_right(reader.data, reader.bytes, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT(found.isbs > RINGS);
	found.bytes = reader.bytes;
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig.committed[ring]);
	check_ledger(&rig, &found);
	free(reader.data);
	close(fds[0]);
	rig_close(&rig);
}

static bool wait_closed(const struct rig *rig)
{
	return tl_test_until(tl_writer_pipe_closed(rig->writer));
}

TL_TEST("an exited reader of a pipe is detected, and undelivered packets are counted")
{
	struct rig rig;
	char buf[100000];
	int fds[2];

	rig_open_stdout(&rig, fds);
	commit(&rig, 1000); // more than a pipe holds, less than the rings
	CU_ASSERT(read(fds[0], buf, sizeof(buf)) > 0);
	close(fds[0]);
	commit(&rig, 4000);
	CU_ASSERT(wait_closed(&rig));
	CU_ASSERT_EQUAL(rig_stop(&rig), -EPIPE);
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

TL_TEST("an exited reader of a pipe is detected without a write")
{
	struct rig rig;
	int fds[2];

	rig_open_stdout(&rig, fds);
	usleep(5000);
	CU_ASSERT_FALSE(tl_writer_pipe_closed(rig.writer));
	close(fds[0]);
	CU_ASSERT(wait_closed(&rig));
	CU_ASSERT_EQUAL(rig_stop(&rig), -EPIPE);
	rig_close(&rig);
}

TL_TEST("an exited reader is not an error if permitted")
{
	struct rig rig;
	int fds[2];

	rig_open_stdout_for(&rig, fds, true);
	commit(&rig, 100);
	seal(&rig);
	close(fds[0]);
	CU_ASSERT(wait_closed(&rig));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

// Only the last blocks meet the closed pipe, unless the writer polls earlier.
TL_TEST("a reader that exits at the end is not an error")
{
	for (int i = 0; i < 10; i++) {
		struct rig rig;
		int fds[2];
		rig_open_stdout_for(&rig, fds, true);
		usleep(3000);
		close(fds[0]);
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		rig_close(&rig);
	}
}

TL_TEST("a pipe without a reader does not block stop forever")
{
	struct rig rig;
	struct tl_writer_stats stats;
	struct timespec before, after;

	rig_dir(&rig);
	CU_ASSERT_EQUAL(mkfifo(rig.path, 0600), 0);
	int fd = open(rig.path, O_RDONLY | O_NONBLOCK);
	rig_start(&rig, URING, 0);
	commit(&rig, 500); // more than a pipe holds, less than the rings
	clock_gettime(CLOCK_MONOTONIC, &before);
	CU_ASSERT_EQUAL(rig_stop(&rig), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CU_ASSERT(after.tv_sec - before.tv_sec >= 4);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT(stats.drop_disk_pkts[TL_DIR_RX] > 0);
	check_ledger(&rig, NULL);
	close(fd);
	rig_close(&rig);
}

TL_TEST("a pipe receives nothing after a failed write")
{
	uint8_t byte = 1;
	atomic_bool stop = true; // otherwise it would wait for room indefinitely
	int left[2], fds[2];

	CU_ASSERT_EQUAL_FATAL(pipe(left), 0);
	CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_NONBLOCK), 0);
	close(left[0]);
	struct tl_writer_file file = {.fd = left[1], .stream = true, .chunk_bytes = 1, .stop = &stop};
	CU_ASSERT_EQUAL(tl_writer_stream_write(&file, &byte, 1), -EPIPE);
	file.fd = fds[1];
	CU_ASSERT_EQUAL(tl_writer_stream_write(&file, &byte, 1), -EPIPE);
	CU_ASSERT(read(fds[0], &byte, 1) < 0);
	close(left[1]);
	close(fds[0]);
	close(fds[1]);
}

TL_TEST("a device is written like a pipe")
{
	static const struct {
		const char *path;
		int code;
	} table[] = {{"/dev/null", 0}, {"/dev/full", -ENOSPC}};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct rig rig;
		struct tl_writer_stats stats;
		rig_dir(&rig);
		strcpy(rig.path, table[i].path);
		rig_start(&rig, URING, 0);
		commit(&rig, 5000);
		CU_ASSERT_EQUAL(rig_stop(&rig), table[i].code);
		check_ledger(&rig, NULL);
		tl_writer_stats(rig.writer, &stats);
		CU_ASSERT_EQUAL(stats.drop_disk_pkts[TL_DIR_RX] == 0, table[i].code == 0);
		rig_close(&rig);
	}
}

// Record until the current file has statistics, as a reader after a crash would find them.
static bool record_until_statistics(struct rig *rig, uint32_t isbs)
{
	for (int i = 0; i < 10000; i++) {
		struct found found = {.statistics = true};
		bool closed;
		commit(rig, 30);
		seal(rig);
		if (files_are_right(rig, &found, &closed) && found.isbs >= isbs)
			return true;
		usleep(1000);
	}
	return false;
}

static void check_statistics(enum io io)
{
	struct found found = {.statistics = true};
	struct rig rig;
	bool closed;

	rig_dir(&rig);
	rig.statistics_ns = 20 * TL_NS_PER_MS;
	rig_start(&rig, io, 0);
	CU_ASSERT(record_until_statistics(&rig, 3 * RINGS));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT(found.isbs >= 4 * RINGS);
	check_ledger(&rig, &found);
	rig_close(&rig);
}

TL_TEST("a growing file has statistics between its slabs")
{
	check_statistics(URING);
	check_statistics(PWRITE);
	check_statistics(FAULTY);
}

TL_TEST("a file that does not grow receives no further statistics")
{
	struct found found = {.statistics = true};
	struct rig rig;
	bool closed;

	rig_dir(&rig);
	rig.statistics_ns = 1;
	rig_start(&rig, URING, 0);
	commit(&rig, 30);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 30));
	usleep(50000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(found.isbs <= 3 * RINGS); // after each of two slabs, and at close
	rig_close(&rig);
}

TL_TEST("null: counts and discards")
{
	struct rig rig;
	struct tl_writer_stats stats;
	uint32_t n;

	rig_dir(&rig);
	strcpy(rig.path, TL_WRITER_NULL);
	rig_start(&rig, URING, 0);
	commit(&rig, 20000);
	tl_writer_rotate(rig.writer);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_RX], rig.committed_dir[TL_DIR_RX]);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_TX], rig.committed_dir[TL_DIR_TX]);
	CU_ASSERT(stats.written_bytes > 20000 * 100);
	CU_ASSERT_EQUAL(stats.files, 1);
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_NOT_EQUAL(access(TL_WRITER_NULL, F_OK), 0);
	rig_close(&rig);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_stream");
}
