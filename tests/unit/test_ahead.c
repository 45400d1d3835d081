// SPDX-License-Identifier: BSD-3-Clause
// Files read ahead: their bytes, the ways they are read, and reads that the kernel refuses, shortens or puts off.

#include "ahead_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <tl_test.h>

#define SLAB 4096u
#define SLABS 4u
#define LONG (40 * SLAB + 123)

static uint8_t content[64 * SLAB];
static char path[] = "/tmp/tapline-test-ahead-XXXXXX";
static const struct tl_ahead_cfg cfg = {.files = 2, .slab_bytes = SLAB, .slabs = SLABS, .direct_bytes = 0};
static struct tl_ahead *ahead;
static int fd;

// ---- results of reads, as the kernel could give them

static struct {
	uint64_t number;     // of the slab
	int32_t result;	     // instead of the kernel's; 0: none
	unsigned times;	     // so often
	enum ahead_way ways; // reads of this way, and the later ones
} fault;

static void (*note)(void *ctx, void *data, int32_t result);

static void note_fault(void *ctx, void *data, int32_t result)
{
	const struct ahead_slab *slab = data;

	if (fault.times != 0 && slab->number == fault.number && slab->way >= fault.ways && fault.result != 0) {
		fault.times--;
		result = fault.result;
	}
	note(ctx, data, result);
}

void __real_tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *, void *, int32_t), void *ctx);
void __wrap_tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *, void *, int32_t), void *ctx);

void __wrap_tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *, void *, int32_t), void *ctx)
{
	note = done;
	__real_tl_uring_reap(uring, wait, note_fault, ctx);
}

static void set_fault(uint64_t number, int32_t result, unsigned times, enum ahead_way ways)
{
	fault.number = number;
	fault.result = result;
	fault.times = times;
	fault.ways = ways;
}

// ---- a file

static void put(uint64_t from, uint64_t to)
{
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, content + from, to - from, (off_t)from), (ssize_t)(to - from));
}

static int advice; // the last one

int posix_fadvise(int file, off_t offset, off_t len, int advised)
{
	advice = advised;
	return syscall(SYS_fadvise64, file, offset, len, advised) == 0 ? 0 : errno;
}

// A read that must not wait finds the page cache empty from this offset on.
static uint64_t uncached_from;

ssize_t preadv2(int file, const struct iovec *to, int n, off_t offset, int flags)
{
	CU_ASSERT_EQUAL(advice, POSIX_FADV_RANDOM); // otherwise the kernel would fill the page cache
	if ((uint64_t)offset < uncached_from)
		return syscall(SYS_preadv2, file, to, n, offset, 0, flags);
	errno = EAGAIN;
	return -1;
}

static struct tl_ahead_file *begin_with(const struct tl_ahead_cfg *with, uint64_t bytes, uint64_t cached)
{
	set_fault(0, 0, 0, AHEAD_CACHED);
	uncached_from = cached;
	CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
	CU_ASSERT(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT) >= 0);
	put(0, bytes);
	CU_ASSERT_EQUAL_FATAL(tl_ahead_create(with, &ahead), 0);
	return tl_ahead_open(ahead, fd);
}

// Begin with a file that is in the page cache.
static struct tl_ahead_file *begin(uint64_t bytes)
{
	return begin_with(&cfg, bytes, UINT64_MAX);
}

// Begin with one that is not. It is read directly, unless its file system has no O_DIRECT.
static struct tl_ahead_file *begin_uncached(uint64_t bytes)
{
	return begin_with(&cfg, bytes, 0);
}

static void end(struct tl_ahead_file *file)
{
	tl_ahead_close(file);
	tl_ahead_destroy(ahead);
}

// Request bytes, and compare those that come.
static int get(struct tl_ahead_file *file, uint64_t offset, size_t len, size_t *got)
{
	const uint8_t *data;

	int rc = tl_ahead_get(file, offset, len, &data, got);
	CU_ASSERT_FATAL(*got <= len);
	CU_ASSERT_EQUAL(memcmp(data, content + offset, *got), 0);
	return rc;
}

static void expect(struct tl_ahead_file *file, uint64_t offset, size_t len, size_t bytes)
{
	size_t got;

	CU_ASSERT_EQUAL(get(file, offset, len, &got), 0);
	CU_ASSERT_EQUAL(got, bytes);
}

// Read from an offset to the end, in windows that overlap.
static void read_to_end(struct tl_ahead_file *file, uint64_t offset, uint64_t bytes)
{
	size_t len = 1, longest = tl_ahead_longest(file);

	for (; offset < bytes; offset += (len + 1) / 2, len = len * 7 % longest + 1)
		expect(file, offset, len, tl_min_u64(len, bytes - offset));
	expect(file, bytes, len, 0);
}

static struct tl_ahead_stats sample(void)
{
	struct tl_ahead_stats stats;

	tl_ahead_sample(ahead, &stats);
	return stats;
}

TL_TEST("a file in the page cache is read from there")
{
	struct tl_ahead_file *file = begin(LONG);

	read_to_end(file, 0, LONG);
	CU_ASSERT_EQUAL(sample().direct_bytes, 0);
	CU_ASSERT_EQUAL(sample().cached_bytes, LONG);
	end(file);
}

static bool has_direct(void)
{
	int direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	close(direct);
	return direct >= 0;
}

TL_TEST("a file of which a part is not in the page cache is read past it, each byte once")
{
	for (uint64_t cached = 0; cached < LONG; cached += LONG / 64) {
		struct tl_ahead_file *file = begin_with(&cfg, LONG, cached);
		read_to_end(file, 0, LONG);
		CU_ASSERT_EQUAL(sample().direct_bytes, has_direct() ? LONG : 0);
		CU_ASSERT_EQUAL(sample().cached_bytes, has_direct() ? 0 : LONG);
		CU_ASSERT_EQUAL(tl_ahead_is_direct(file), has_direct());
		end(file);
	}
}

TL_TEST("the kernel reads ahead what is read through the page cache")
{
	struct tl_ahead_file *file = begin(LONG);

	CU_ASSERT_EQUAL(advice, POSIX_FADV_SEQUENTIAL);
	end(file);
}

TL_TEST("a file of direct_bytes is read through the page cache, a longer one past it")
{
	struct tl_ahead_cfg with = cfg;

	with.direct_bytes = LONG;
	struct tl_ahead_file *file = begin_with(&with, LONG, 0);
	read_to_end(file, 0, LONG);
	CU_ASSERT_EQUAL(sample().direct_bytes, 0);
	end(file);
	with.direct_bytes--;
	file = begin_with(&with, LONG, 0);
	CU_ASSERT_EQUAL(tl_ahead_is_direct(file), has_direct());
	end(file);
}

TL_TEST("past the page cache all slabs are in flight that the reader has left")
{
	struct tl_ahead_file *file = begin_uncached(LONG);

	if (tl_ahead_is_direct(file)) {
		expect(file, 0, 1, 1);
		expect(file, 0, 1, 1);
		CU_ASSERT_EQUAL(file->tail, SLABS);
		expect(file, 3 * SLAB - 1, 1, 1);
		CU_ASSERT_EQUAL(file->tail, 2 + SLABS);
		expect(file, 3 * SLAB, 1, 1);
		CU_ASSERT_EQUAL(file->tail, 3 + SLABS);
	}
	end(file);
}

TL_TEST("files whose lengths are multiples of slabs and blocks end there")
{
	for (uint64_t bytes = SLAB; bytes <= 6 * SLAB; bytes += SLAB / 2) {
		struct tl_ahead_file *file = begin_uncached(bytes);
		read_to_end(file, 0, bytes);
		end(file);
	}
}

TL_TEST("an empty file has no bytes")
{
	struct tl_ahead_file *file = begin(0);

	expect(file, 0, 100, 0);
	end(file);
}

TL_TEST("jumps in both directions read the right bytes")
{
	struct tl_ahead_file *file = begin_uncached(LONG);

	expect(file, 30 * SLAB + 5, 2 * SLAB, 2 * SLAB);
	expect(file, 7, SLAB, SLAB);
	expect(file, 2 * SLAB + 7, SLAB, SLAB);
	expect(file, LONG - 1, SLAB, 1);
	expect(file, LONG + 5 * SLAB, SLAB, 0);
	read_to_end(file, 3, LONG);
	end(file);
}

// ---- refused, short and late reads

TL_TEST("a short read is continued behind its bytes")
{
	const struct tl_ahead_cfg larger = {.files = 1, .slab_bytes = 4 * SLAB, .slabs = 2, .direct_bytes = 0};
	struct tl_ahead_file *file = begin_with(&larger, LONG, UINT64_MAX);

	set_fault(1, SLAB, 3, AHEAD_CACHED);
	read_to_end(file, 0, LONG);
	CU_ASSERT_EQUAL(fault.times, 0);
	end(file);
}

// As of network file systems. O_DIRECT refuses to continue there.
TL_TEST("a short read within a block is continued, too: only the file's length ends it")
{
	for (enum ahead_way way = AHEAD_CACHED; way <= AHEAD_DIRECT; way++) {
		struct tl_ahead_file *file = way == AHEAD_CACHED ? begin(LONG) : begin_uncached(LONG);
		set_fault(3, 1000, 2, way);
		read_to_end(file, 0, LONG);
		end(file);
	}
}

TL_TEST("an error ends the bytes before it, and is returned with them")
{
	struct tl_ahead_file *file = begin(LONG);
	size_t got;

	set_fault(3, -EIO, UINT32_MAX, AHEAD_CACHED);
	expect(file, SLAB + 1, 2 * SLAB - 1, 2 * SLAB - 1);
	CU_ASSERT_EQUAL(get(file, 2 * SLAB + 1, 2 * SLAB, &got), -EIO);
	CU_ASSERT_EQUAL(got, SLAB - 1);
	CU_ASSERT_EQUAL(get(file, 3 * SLAB + 9, 100, &got), -EIO);
	CU_ASSERT_EQUAL(got, 0);
	end(file);
}

TL_TEST("a file system that refuses O_DIRECT is read through the page cache")
{
	struct tl_ahead_file *file = begin_uncached(LONG);

	if (tl_ahead_is_direct(file)) {
		set_fault(SLABS, -EINVAL, 1, AHEAD_DIRECT);
		read_to_end(file, 0, LONG);
		CU_ASSERT_EQUAL(fault.times, 0);
		CU_ASSERT_EQUAL(file->way, AHEAD_CACHED);
		CU_ASSERT_EQUAL(fcntl(fd, F_GETFL) & O_DIRECT, 0);
	}
	end(file);
}

TL_TEST("a read that is put off is repeated, and one that is put off for ever is an error")
{
	struct tl_ahead_file *file = begin(LONG);
	size_t got;

	set_fault(2, -EAGAIN, 100, AHEAD_CACHED);
	expect(file, 2 * SLAB, SLAB, SLAB);
	CU_ASSERT_EQUAL(fault.times, 0);
	set_fault(3, -EINTR, UINT32_MAX, AHEAD_CACHED);
	CU_ASSERT_EQUAL(get(file, 3 * SLAB, SLAB, &got), -EINTR);
	CU_ASSERT_EQUAL(got, 0);
	end(file);
}

// ---- files that change

TL_TEST("a file that becomes shorter ends there")
{
	struct tl_ahead_file *file = begin_uncached(LONG);

	expect(file, 0, SLAB, SLAB);
	CU_ASSERT_EQUAL(ftruncate(fd, 20 * SLAB + 77), 0);
	read_to_end(file, 9 * SLAB, 20 * SLAB + 77);
	end(file);
}

TL_TEST("a file that grows is read to its new end")
{
	struct tl_ahead_file *file = begin(2 * SLAB + 50);

	expect(file, 10, 2 * SLAB, 2 * SLAB);
	expect(file, SLAB, 2 * SLAB, SLAB + 50);
	put(2 * SLAB + 50, 2 * SLAB + 60);
	expect(file, SLAB, 2 * SLAB, SLAB + 60);
	put(2 * SLAB + 60, 5 * SLAB);
	expect(file, 2 * SLAB + 1, 2 * SLAB, 2 * SLAB);
	read_to_end(file, 2 * SLAB + 60, 5 * SLAB);
	end(file);
}

// ---- several files, the ring

TL_TEST("two files are read side by side, and a third one takes the place of a closed one")
{
	struct tl_ahead_file *a = begin_uncached(LONG), *b = tl_ahead_open(ahead, fd);

	CU_ASSERT_PTR_NULL(tl_ahead_open(ahead, fd));
	for (uint64_t at = 0; at + 20 * SLAB < LONG; at += SLAB + 1) {
		expect(a, at, SLAB, SLAB);
		expect(b, LONG - 123 - at, 123, 123);
	}
	tl_ahead_close(a);
	a = tl_ahead_open(ahead, fd);
	read_to_end(a, 0, LONG);
	tl_ahead_close(b);
	end(a);
}

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
TL_TEST("the ring reads, and neither writes nor opens files")
{
	struct tl_ahead_file *file = begin(LONG);

	io_uring_prep_write(io_uring_get_sqe(&ahead->uring), fd, content, 1, 0);
	CU_ASSERT_EQUAL(result_of_entry(&ahead->uring), -EACCES);
	io_uring_prep_openat(io_uring_get_sqe(&ahead->uring), AT_FDCWD, "/", O_RDONLY | O_CLOEXEC, 0);
	CU_ASSERT_EQUAL(result_of_entry(&ahead->uring), -EACCES);
	end(file);
}

TL_TEST("without a descriptor for io_uring there is none")
{
	struct rlimit before, limit;
	int next = dup(STDIN_FILENO);

	close(next);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &limit);
	CU_ASSERT_EQUAL(tl_ahead_create(&cfg, &ahead), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 31 + i / 251 + i / SLAB);
	fd = mkstemp(path);
	if (fd < 0 || tl_ahead_create(&cfg, &ahead) != 0) {
		unlink(path);
		return 77; // a container may have no io_uring
	}
	tl_ahead_destroy(ahead);
	int status = tl_test_run("ahead");
	close(fd);
	unlink(path);
	return status;
}
