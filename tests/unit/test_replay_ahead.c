// SPDX-License-Identifier: BSD-3-Clause
// Whole replays of large files, read ahead past the page cache: frames, order, errors of the disk, ways to read.

#include <errno.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_replay_port.h>

#include "ahead_priv.h"
#include "clock_priv.h"

#define LARGE_FRAMES 120u
#define PAD 100000u // between two frames: the file is longer than those that are read through the page cache

static struct tl_clock *test_clock;
static struct tl_err err;
static struct tl_txq txq;
static struct tl_replay_stats stats;
static char damage[512];
static uint64_t damage_offset;
static int has_direct; // the file system has O_DIRECT

// ---- an error of the disk

static uint64_t fails_at; // offset in the file from which on it cannot be read; 0: none

static void (*note)(void *ctx, void *data, int32_t result);

static void note_fault(void *ctx, void *data, int32_t result)
{
	const struct ahead_slab *slab = data;

	if (fails_at != 0 && (slab->number + 1) * slab->file->ahead->cfg.slab_bytes > fails_at)
		result = -EIO;
	note(ctx, data, result);
}

void __real_tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *, void *, int32_t), void *ctx);
void __wrap_tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *, void *, int32_t), void *ctx);

void __wrap_tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *, void *, int32_t), void *ctx)
{
	note = done;
	__real_tl_uring_reap(uring, wait, note_fault, ctx);
}

// ---- files

// The page cache has nothing of a file for a read that must not wait: POSIX_FADV_DONTNEED may leave pages.
ssize_t preadv2(int fd, const struct iovec *to, int n, off_t offset, int flags)
{
	errno = EAGAIN;
	return -1;
}

// Write the image to the file, and empty it.
static void flush(int fd)
{
	CU_ASSERT_EQUAL_FATAL(write(fd, image, image_bytes), (ssize_t)image_bytes);
	image_bytes = 0;
}

// Write a file of frames with these numbers and times, from first on, that is not in the page cache; long_pad: length
// of the block in its middle, 0: as of the others.
static const char *save_large(const char *name, uint32_t first, uint32_t step, uint32_t long_pad)
{
	begin_pcapng(TL_PCAPNG_LINKTYPE_ETHERNET);
	const char *path = save_as(name);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	image_bytes = 0;
	for (uint32_t i = 0; i < LARGE_FRAMES; i++) {
		add_pcapng(first + i * step, TL_NS_PER_S + first + i * step, 0);
		add_padding(i == LARGE_FRAMES / 2 && long_pad != 0 ? long_pad : PAD);
		flush(fd);
	}
	close(fd);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	has_direct = fd >= 0;
	close(fd);
	return path;
}

static void play(const struct tl_replay_cfg *cfg)
{
	const struct tl_replay_damage *list;
	struct tl_replay *replay;

	CU_ASSERT_EQUAL_FATAL(tl_replay_create(cfg, &replay, &err), 0);
	play_to_end(replay, &stats);
	damage[0] = '\0';
	if (tl_replay_damages(replay, &list) != 0) {
		snprintf(damage, sizeof(damage), "%s", list[0].text);
		damage_offset = list[0].offset;
	}
	tl_replay_destroy(replay);
}

static struct tl_replay_cfg cfg_of(const char *const *paths, size_t n)
{
	txq = (struct tl_txq){.flush_fn = port_flush};
	port = (struct port){0};
	fails_at = 0;
	return recorded_cfg(paths, n, &txq, LIMIT, test_clock);
}

static void expect_numbers(unsigned n)
{
	CU_ASSERT_EQUAL(port.n, n);
	for (unsigned i = 0; i < port.n; i++)
		CU_ASSERT_EQUAL(port.numbers[i], i);
}

TL_TEST("a large file is read past the page cache, and every frame is sent once")
{
	const char *path = save_large("large.pcapng", 0, 1, 0);
	struct tl_replay_cfg cfg = cfg_of(&path, 1);

	play(&cfg);
	expect_numbers(LARGE_FRAMES);
	CU_ASSERT_TRUE(stats.by_uring);
	CU_ASSERT_EQUAL(stats.damages, 0);
	if (has_direct)
		CU_ASSERT(stats.read_direct_bytes > stats.read_cached_bytes);
	CU_ASSERT(stats.read_direct_bytes + stats.read_cached_bytes >= LARGE_FRAMES * PAD);
}

TL_TEST("a block longer than the memory that reads ahead is read, and the frames behind it")
{
	const char *path = save_large("long.pcapng", 0, 1, 3500000);
	struct tl_replay_cfg cfg = cfg_of(&path, 1);

	play(&cfg);
	expect_numbers(LARGE_FRAMES);
	CU_ASSERT_EQUAL(stats.damages, 0);
}

TL_TEST("files that are played again and fit in memory are left in the page cache")
{
	const char *path = save_large("again.pcapng", 0, 1, 0);
	struct tl_replay_cfg cfg = cfg_of(&path, 1);

	cfg.loops = 2;
	cfg.bytes = LARGE_FRAMES * PAD;
	play(&cfg);
	CU_ASSERT_EQUAL(port.n, 2 * LARGE_FRAMES);
	CU_ASSERT_EQUAL(stats.read_direct_bytes, 0);
	cfg = cfg_of(&path, 1);
	cfg.loops = 2;
	cfg.bytes = UINT64_MAX; // more than the memory of any host
	(void)save_large("again.pcapng", 0, 1, 0);
	play(&cfg);
	CU_ASSERT_EQUAL(port.n, 2 * LARGE_FRAMES);
	if (has_direct)
		CU_ASSERT(stats.read_direct_bytes != 0);
}

TL_TEST("large files merged by time are read side by side")
{
	const uint64_t first_ns[] = {TL_NS_PER_S, TL_NS_PER_S + 1, TL_NS_PER_S + 2};
	const char *paths[3];

	for (uint32_t i = 0; i < 3; i++) {
		const char *const names[] = {"a.pcapng", "b.pcapng", "c.pcapng"};
		paths[i] = save_large(names[i], i, 3, 0);
	}
	struct tl_replay_cfg cfg = cfg_of(paths, 3);
	cfg.first_ns = first_ns;
	play(&cfg);
	expect_numbers(3 * LARGE_FRAMES);
	if (has_direct)
		CU_ASSERT(stats.read_direct_bytes > stats.read_cached_bytes);
}

TL_TEST("an error of the disk is named with file and offset, and all frames before it are sent")
{
	const char *path = save_large("broken.pcapng", 0, 1, 0);
	struct tl_replay_cfg cfg = cfg_of(&path, 1);
	uint64_t slab_bytes = 256 << 10;

	fails_at = 6000000;
	play(&cfg);
	CU_ASSERT_EQUAL(stats.ledger.skipped_damaged_pkts, 1);
	CU_ASSERT_EQUAL(stats.damages, 1);
	expect_numbers((unsigned)(fails_at / slab_bytes * slab_bytes / (PAD + 92) + 1));
	CU_ASSERT(damage_offset <= fails_at / slab_bytes * slab_bytes);
	CU_ASSERT(damage_offset + PAD + 92 > fails_at / slab_bytes * slab_bytes);
	CU_ASSERT_PTR_NOT_NULL(strstr(damage, "broken.pcapng, byte "));
	CU_ASSERT_PTR_NOT_NULL(strstr(damage, "cannot be read from here on: Input/output error"));
}

TL_TEST("without io_uring files are read with pread, and every frame is sent once")
{
	const char *path = save_large("pread.pcapng", 0, 1, 0);
	struct tl_replay_cfg cfg = cfg_of(&path, 1);
	struct tl_replay *replay;
	struct rlimit before, limit;
	int next = dup(STDIN_FILENO);

	close(next);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &limit);
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
	setrlimit(RLIMIT_NOFILE, &before);
	play_to_end(replay, &stats);
	tl_replay_destroy(replay);
	CU_ASSERT_FALSE(stats.by_uring);
	expect_numbers(LARGE_FRAMES);
}

int main(void)
{
	struct tl_ahead_cfg any = {.files = 1, .slab_bytes = TL_AHEAD_ALIGN, .slabs = 2};
	struct tl_ahead *ahead;

	if (tl_ahead_create(&any, &ahead) != 0)
		return 77; // a container may have no io_uring
	tl_ahead_destroy(ahead);
	port_set_up();
	test_clock = tl_clock_create();
	if (test_clock == NULL || !make_dir())
		return 1;
	int status = tl_test_run("replay_ahead");
	remove_dir();
	tl_clock_destroy(test_clock);
	return status;
}
