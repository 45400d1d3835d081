// SPDX-License-Identifier: BSD-3-Clause
// writer, ring of files: no fault makes it lose track of its own files or modify those of others.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_pcapfile.h>
#include <tl_recover.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_rig.h>

#include "writer_priv.h"

#define FILES 15
#define KEPT 3

// ---- faults, and warnings

static atomic_int unlink_code; // 0: unlink() works; read a code once, as a test clears it at any time
static atomic_uint unlinks;
static atomic_bool nfs; // flock() grants an exclusive lock only for a writable descriptor
static atomic_uint warnings;
static char said[4096]; // all warnings, concatenated; used by one thread at a time

static struct tl_writer_helper *_Atomic asking; // unlink() checks whether a reply is pending
static atomic_bool asked;

static atomic_int pwrite_code;

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	int code = atomic_load(&pwrite_code);

	if (code == 0)
		return syscall(SYS_pwrite64, fd, data, len, offset);
	errno = code;
	return -1;
}

int unlink(const char *path)
{
	struct tl_writer_helper *helper = atomic_load(&asking);
	int code = atomic_load(&unlink_code);

	atomic_fetch_add(&unlinks, 1);
	if (helper != NULL) {
		pthread_mutex_lock(&helper->lock);
		atomic_store(&asked, helper->room_asked);
		pthread_mutex_unlock(&helper->lock);
	}
	if (code == 0)
		return (int)syscall(SYS_unlink, path);
	errno = code;
	return -1;
}

static struct tl_writer_ring *_Atomic listed; // fstat() checks whether its list is locked
static atomic_uint fstats, fstats_locked;

int fstat(int fd, struct stat *status)
{
	struct tl_writer_ring *ring = atomic_load(&listed);

	if (ring != NULL) {
		bool locked = pthread_mutex_trylock(&ring->lock) != 0;
		if (!locked)
			pthread_mutex_unlock(&ring->lock);
		atomic_fetch_add(&fstats, 1);
		atomic_fetch_add(&fstats_locked, locked);
	}
	return (int)syscall(SYS_fstat, fd, status);
}

int flock(int fd, int operation)
{
	bool may_write = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;

	if (!atomic_load(&nfs) || may_write || (operation & LOCK_EX) == 0)
		return (int)syscall(SYS_flock, fd, operation);
	errno = EBADF;
	return -1;
}

void tl_info(const char *fmt, ...)
{
}

void tl_warn(const char *fmt, ...)
{
	size_t chars = strlen(said);
	va_list args;

	va_start(args, fmt);
	vsnprintf(said + chars, sizeof(said) - chars, fmt, args);
	va_end(args);
	atomic_fetch_add(&warnings, 1);
}

static atomic_uint errors;

void tl_error(const char *fmt, ...)
{
	atomic_fetch_add(&errors, 1);
}

// ---- a writer in a new directory

static uint64_t now_ns(void *ctx)
{
	return 1;
}

static uint64_t triggered(void *ctx, bool saving)
{
	return 0;
}

static void rig_new(struct rig *rig)
{
	rig_dir(rig);
	rig->n_rings = 1;
}

static atomic_int pread_code; // for read-only files

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
	int code = atomic_load(&pread_code);

	if (code == 0 || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		return syscall(SYS_pread64, fd, data, len, offset);
	errno = code;
	return -1;
}

// Make a file of this size with these first bytes, written this many seconds ago.
static void put_bytes(const struct rig *rig, const char *name, const void *data, size_t len, off_t size, int age_s)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0640);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, data, len), (ssize_t)len);
	CU_ASSERT_EQUAL(ftruncate(fd, size), 0);
	CU_ASSERT_EQUAL(futimens(fd, times), 0);
	close(fd);
}

// Put the section header of a run by this application.
static void put_recording(const struct rig *rig, const char *name, const char *application, off_t size, int age_s)
{
	uint8_t header[256];
	uint32_t len = tl_pcapng_put_shb(header, sizeof(header), &(struct tl_pcapng_shb){.application = application});

	len += tl_pcapng_put_idb(header + len, sizeof(header) - len, &(struct tl_pcapng_idb){.name = "test0"});
	put_bytes(rig, name, header, len, tl_max_u64((uint64_t)size, len), age_s);
}

// Make a file that was created and lost power before its recording began.
static void put_marked(const struct rig *rig, const char *name)
{
	uint8_t page[TL_PCAPNG_ALIGN];
	uint32_t len = tl_pcapng_put_shb(page, sizeof(page), &(struct tl_pcapng_shb){.application = "tapline 1"});

	tl_pcapng_put_pad(page + len, sizeof(page) - len);
	put_bytes(rig, name, page, sizeof(page), 1 << 20, 0);
}

// Make the complete files of an earlier run, the oldest first.
static void put_files(const struct rig *rig, off_t size)
{
	char name[64];

	for (int i = 1; i <= FILES; i++) {
		snprintf(name, sizeof(name), "x_%05d.pcapng", i);
		put_recording(rig, name, "tapline 1", size, 1000 - i);
	}
}

// The numbers of entries by state are those of the list.
static void check_tally(const struct tl_writer_ring *ring)
{
	uint32_t left = 0, open = 0, complete = 0, failed = 0;
	uint64_t bytes = 0;

	for (const struct tl_writer_entry *entry = ring->entries; entry < ring->entries + ring->n; entry++) {
		bool is_complete = !entry->left && !entry->saved && entry->file == NULL;
		failed += entry->pause_ns != 0;
		left += entry->left;
		open += !entry->left && entry->file != NULL;
		complete += is_complete;
		bytes += is_complete ? entry->bytes : 0;
	}
	CU_ASSERT(ring->n_left == left && ring->n_open == open && ring->n_complete == complete);
	CU_ASSERT(ring->n_failed == failed && ring->complete_bytes == bytes);
}

static bool tidy(const struct rig *rig)
{
	tl_writer_ring_tidy(rig->writer, false);
	check_tally(&rig->writer->ring);
	return true;
}

// Tidy until this number of files, the current one included, is left.
static bool tidy_until(const struct rig *rig, uint32_t files)
{
	return tl_test_until(tidy(rig) && rig->writer->ring.n == files);
}

// ---- a file whose removal fails for a while

static const struct tl_writer_policy keeping = {.rotate_bytes = 1 << 20, .keep_files = KEPT};

static void open_full_ring(struct rig *rig)
{
	rig_new(rig);
	put_files(rig, 4096);
	rig_make(rig, (struct tl_writer_cfg){.policy = keeping});
	CU_ASSERT_EQUAL_FATAL(rig->writer->ring.n, FILES + 1);
	atomic_store(&warnings, 0);
	atomic_store(&unlinks, 0);
}

// While removals fail the ring keeps its list and warns once; afterwards it keeps its limit.
static void check_fault(struct rig *rig, void (*begin)(void), void (*end)(void))
{
	struct tl_writer_ring *ring = &rig->writer->ring;

	begin();
	tidy(rig);
	CU_ASSERT(ring->entries[0].pause_ns >= 250 * TL_NS_PER_MS && ring->entries[0].retry.tv_sec != 0);
	for (uint32_t i = 0; i < ring->n; i++)
		ring->entries[i].retry = tl_writer_from_now(3600 * TL_NS_PER_S);
	unsigned before = atomic_load(&unlinks);
	for (int i = 0; i < 1000; i++)
		tidy(rig);
	CU_ASSERT_EQUAL(atomic_load(&unlinks), before); // not in every round
	for (uint32_t i = 0; i < ring->n; i++)
		ring->entries[i].retry = tl_writer_from_now(0);
	tidy(rig);
	end();
	CU_ASSERT_EQUAL(ring->n, FILES + 1);
	CU_ASSERT_EQUAL(atomic_load(&warnings), 1);
	CU_ASSERT(tidy_until(rig, KEPT));
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".pcapng"), KEPT - 1); // plus the .part file
	CU_ASSERT(tl_test_exists(rig->dir, "x_00015.pcapng"));
	CU_ASSERT_EQUAL(tl_count_read(&rig->writer->stats.recycled_files), FILES - (KEPT - 1));
}

static void forbid_unlink(void)
{
	atomic_store(&unlink_code, EACCES);
}

static void allow_unlink(void)
{
	atomic_store(&unlink_code, 0);
}

TL_TEST("a temporarily read-only directory does not drop files from the ring")
{
	struct rig rig;

	open_full_ring(&rig);
	check_fault(&rig, forbid_unlink, allow_unlink);
	rig_close(&rig);
}

TL_TEST("a ring through which many files pass keeps their order, and memory for a few times those in it")
{
	static struct tl_writer writer = {.ring.lock = PTHREAD_MUTEX_INITIALIZER};
	struct tl_writer_ring *ring = &writer.ring;
	char path[16];

	for (uint32_t i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "%05u", i);
		CU_ASSERT_EQUAL_FATAL(
			tl_writer_ring_add(ring, (struct tl_writer_entry){.path = strdup(path), .bytes = i}), 0);
		if (i >= 100)
			tl_writer_ring_gave_up(&writer, i);
		CU_ASSERT_EQUAL_FATAL(ring->n, i < 100 ? i + 1 : 100);
	}
	check_tally(ring);
	CU_ASSERT(ring->gone + ring->capacity <= 800);
	for (uint32_t i = 0; i < 100; i++)
		CU_ASSERT_EQUAL((uint32_t)atoi(ring->entries[i].path), 9900 + i);
	tl_writer_ring_fini(ring);
}

TL_TEST("the list of files is not locked during file system calls")
{
	struct rig rig;

	open_full_ring(&rig);
	atomic_store(&listed, &rig.writer->ring);
	tidy(&rig);
	atomic_store(&listed, NULL);
	CU_ASSERT(atomic_load(&fstats) > 0);
	CU_ASSERT_EQUAL(atomic_load(&fstats_locked), 0);
	rig_close(&rig);
}

static struct rlimit descriptors;

static void take_descriptors(void)
{
	struct rlimit none;

	getrlimit(RLIMIT_NOFILE, &descriptors);
	none = descriptors;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
}

static void give_descriptors(void)
{
	setrlimit(RLIMIT_NOFILE, &descriptors);
}

TL_TEST("an unreadable file prevents the start of a ring")
{
	struct tl_err err = {{0}};
	struct rig rig;

	rig_new(&rig);
	put_files(&rig, 4096);
	atomic_store(&pread_code, EIO);
	rig_rings(&rig);
	CU_ASSERT_EQUAL(rig_writer(&rig, (struct tl_writer_cfg){.policy = keeping}, &err), -EIO);
	atomic_store(&pread_code, 0);
	rig_end(&rig);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), FILES);
	tl_test_remove_dir(rig.dir);
}

// With any amount of free space: others have taken it, or the file itself has.
TL_TEST("the newest file of a ring is kept if it is the last")
{
	const struct tl_writer_policy policy = {.rotate_bytes = 1 << 20, .min_free_bytes = UINT64_MAX / 2};
	struct rig rig;

	rig_new(&rig);
	put_files(&rig, 4096);
	rig_make(&rig, (struct tl_writer_cfg){.policy = policy});
	CU_ASSERT_EQUAL(tl_writer_put_prologue(rig.writer, rig.writer->file, rig.writer->blocks), 0);
	CU_ASSERT_EQUAL(tl_writer_complete(rig.writer, rig.writer->file), 0);
	tidy(&rig);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 1);
	CU_ASSERT(tl_test_exists(rig.dir, "x_00016.pcapng"));
	rig_close(&rig);
}

// The removals failed at different times, therefore they would be retried at different times.
TL_TEST("when removal works again the oldest file is removed first")
{
	struct tl_writer_ring *ring;
	uint64_t bytes;
	struct rig rig;

	open_full_ring(&rig);
	ring = &rig.writer->ring;
	forbid_unlink();
	tidy(&rig);
	allow_unlink();
	for (uint32_t i = 0; i < FILES; i++)
		ring->entries[i].retry = tl_writer_from_now(3600 * TL_NS_PER_S);
	CU_ASSERT_FALSE(tl_writer_ring_recycle(rig.writer, &bytes));
	ring->entries[FILES - 1].retry = tl_writer_from_now(0);
	CU_ASSERT(tl_writer_ring_recycle(rig.writer, &bytes));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00001.pcapng"));
	CU_ASSERT(tl_test_exists(rig.dir, "x_00015.pcapng"));
	rig_close(&rig);
}

TL_TEST("a lack of descriptors does not drop files from the ring")
{
	struct rig rig;

	open_full_ring(&rig);
	check_fault(&rig, take_descriptors, give_descriptors);
	rig_close(&rig);
}

static atomic_bool no_memory;
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

// Fail in the product's functions: recovery allocates memory to read the beginning of a file.
void *__wrap_calloc(size_t n, size_t bytes)
{
	return atomic_load(&no_memory) ? NULL : __real_calloc(n, bytes);
}

static void take_memory(void)
{
	atomic_store(&no_memory, true);
}

static void give_memory(void)
{
	atomic_store(&no_memory, false);
}

TL_TEST("a lack of memory does not drop files from the ring")
{
	struct rig rig;

	open_full_ring(&rig);
	check_fault(&rig, take_memory, give_memory);
	rig_close(&rig);
}

TL_TEST("a locked file is kept and removed after it is unlocked")
{
	struct rig rig;
	char path[192];

	open_full_ring(&rig);
	snprintf(path, sizeof(path), "%s/x_00001.pcapng", rig.dir);
	int reader = open(path, O_RDONLY);
	CU_ASSERT_EQUAL(flock(reader, LOCK_SH), 0);
	CU_ASSERT(tidy_until(&rig, KEPT)); // others are removed instead
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng"));
	CU_ASSERT_EQUAL(atomic_load(&warnings), 1);
	close(reader);
	while (!tl_writer_has_passed(rig.writer->ring.entries[0].retry))
		usleep(10000);
	rig.writer->cfg.policy.keep_files = KEPT - 1;
	CU_ASSERT(tidy_until(&rig, KEPT - 1));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00001.pcapng"));
	CU_ASSERT(tl_test_exists(rig.dir, "x_00015.pcapng"));
	rig_close(&rig);
}

static int tend(void *ctx, uint64_t done_bytes, uint64_t size_bytes)
{
	return 0;
}

// Find a locked .part file; recover it after the lock is released, or not.
static void check_locked_left_file(bool released, const char *name)
{
	struct rig rig;
	char path[192];

	rig_new(&rig);
	put_recording(&rig, "x_00001.pcapng.part", "tapline 1", 4096, 10);
	snprintf(path, sizeof(path), "%s/x_00001.pcapng.part", rig.dir);
	int holder = open(path, O_RDONLY);
	CU_ASSERT_EQUAL(flock(holder, LOCK_SH), 0);
	rig_make(&rig, (struct tl_writer_cfg){.policy = keeping});
	if (released)
		CU_ASSERT_EQUAL(flock(holder, LOCK_UN), 0);
	atomic_store(&warnings, 0);
	CU_ASSERT(tl_writer_recover_left(rig.writer, tend));
	CU_ASSERT_EQUAL(atomic_load(&warnings), released ? 0 : 1);
	CU_ASSERT_EQUAL(rig.writer->ring.n, 2); // including the file being written
	CU_ASSERT(tl_test_exists(rig.dir, name));
	CU_ASSERT_FALSE(tl_writer_recover_left(rig.writer, tend));
	close(holder);
	rig_close(&rig);
}

TL_TEST("a file of an earlier run that is locked at the start is recovered later")
{
	check_locked_left_file(true, "x_00001.pcapng");
}

TL_TEST("a file of an earlier run that stays locked is reported and counts towards the limits")
{
	check_locked_left_file(false, "x_00001.pcapng.part");
}

// Another program's file has replaced one of the ring's.
TL_TEST("a file replaced by another program is dropped from the ring and kept")
{
	struct rig rig;
	char path[192];

	open_full_ring(&rig);
	snprintf(path, sizeof(path), "%s/x_00001.pcapng", rig.dir);
	CU_ASSERT_EQUAL(remove(path), 0);
	put_recording(&rig, "x_00001.pcapng", "Dumpcap", 0, 0);
	CU_ASSERT(tidy_until(&rig, KEPT));
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng"));
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 1 + KEPT - 1);
	rig_close(&rig);
}

// ---- room for frames on a full disk

static const struct tl_writer_policy recycling = {.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE};

static void rig_start(struct rig *rig, struct tl_writer_policy policy)
{
	rig_make(rig, (struct tl_writer_cfg){.policy = policy});
	rig_run(rig);
}

static off_t size_of(const struct rig *rig, const char *name)
{
	struct stat status;
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	return stat(path, &status) == 0 ? status.st_size : -1;
}

static bool wait_for_size(const struct rig *rig, const char *name, off_t bytes)
{
	return tl_test_until(size_of(rig, name) == bytes);
}

// The test requests room as the writer's thread would; no data is pending.
TL_TEST("on a full disk the preallocation of the next file is released")
{
	struct rig rig;

	rig_new(&rig);
	rig_start(&rig, recycling);
	CU_ASSERT(wait_for_size(&rig, ".x.pcapng.next", 1 << 20)); // allocated ahead
	CU_ASSERT(tl_writer_helper_make_room(rig.writer, -ENOSPC));
	CU_ASSERT_EQUAL(size_of(&rig, ".x.pcapng.next"), TL_PCAPNG_ALIGN);
	CU_ASSERT_FALSE(tl_writer_helper_make_room(rig.writer, -ENOSPC)); // no more room
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	rig_close(&rig);
}

// Room that was made for another reason counts.
TL_TEST("space freed in the meantime is used")
{
	struct rig rig;
	uint64_t bytes;

	rig_new(&rig);
	put_recording(&rig, "x_00001.pcapng", "tapline 1", 4096, 100);
	put_recording(&rig, "x_00002.pcapng", "tapline 1", 4096, 99);
	rig_make(&rig, (struct tl_writer_cfg){.policy = recycling});
	CU_ASSERT(tl_writer_ring_recycle(rig.writer, &bytes));
	rig_run(&rig);
	CU_ASSERT(tl_writer_helper_make_room(rig.writer, -ENOSPC));
	CU_ASSERT(tl_test_exists(rig.dir, "x_00002.pcapng")); // no more than necessary is removed
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	rig_close(&rig);
}

// If no file is complete, the one waiting for completion is completed and may then be removed.
TL_TEST("space is reported as freed after a waiting file was completed")
{
	struct rig rig;

	rig_new(&rig);
	rig_start(&rig, recycling);
	CU_ASSERT(wait_for_size(&rig, ".x.pcapng.next", 1 << 20));
	while (tl_writer_helper_make_room(rig.writer, -ENOSPC)) { // the next file has no more space to release
	}
	struct tl_writer_helper *helper = &rig.writer->helper;
	struct tl_writer_file *left = tl_writer_file_new(rig.writer);
	left->at = strdup("/nowhere");
	left->broken = -EIO; // no further writes to it
	pthread_mutex_lock(&helper->lock);
	STAILQ_INSERT_TAIL(&helper->left, left, left_link); // atomically with the request
	helper->room_asked = true;
	unsigned before = atomic_load(&helper->freed);
	atomic_store(&asked, false);
	atomic_store(&asking, helper);
	pthread_cond_signal(&helper->wake);
	while (helper->room_asked)
		pthread_cond_wait(&helper->answer, &helper->lock);
	CU_ASSERT_NOT_EQUAL(atomic_load(&helper->freed), before);
	pthread_mutex_unlock(&helper->lock);
	CU_ASSERT(atomic_load(&asked)); // no reply before it was completed
	atomic_store(&asking, NULL);
	rig_stop(&rig);
	rig_close(&rig);
}

// A file without room for its last blocks is removed as the oldest; the very last one stays.
TL_TEST("on a full disk the oldest file is removed if it cannot be completed")
{
	struct rig rig;
	struct tl_writer_file *younger;

	rig_new(&rig);
	rig_make(&rig, (struct tl_writer_cfg){.policy = recycling});
	CU_ASSERT_EQUAL(tl_writer_put_prologue(rig.writer, rig.writer->file, rig.writer->blocks), 0);
	younger = tl_writer_file_new(rig.writer);
	younger->began = rig.writer->file->began;
	CU_ASSERT_EQUAL_FATAL(tl_writer_open_ahead(rig.writer, younger), 0);
	CU_ASSERT_EQUAL_FATAL(tl_writer_begin(rig.writer, younger), 0);
	atomic_store(&pwrite_code, ENOSPC);
	CU_ASSERT_EQUAL(tl_writer_complete(rig.writer, rig.writer->file), 0);
	CU_ASSERT_EQUAL(tl_writer_complete(rig.writer, younger), -ENOSPC);
	atomic_store(&pwrite_code, 0);
	CU_ASSERT_EQUAL(size_of(&rig, "x.pcapng.part") + size_of(&rig, "x.pcapng"), -2);
	CU_ASSERT_EQUAL(tl_count_read(&rig.writer->stats.recycled_files), 1);
	CU_ASSERT_EQUAL(rig.writer->ring.n, 1);
	tl_writer_file_free(younger);
	rig_close(&rig);
}

// ---- ownership of files

struct foreign {
	const char *name;
	const char *application; // in its section header; NULL: none
	off_t bytes;
};

// Make files as other programs leave them, with names of incomplete files of the ring.
static const struct foreign foreign[] = {
	{"x.pcapng.part", NULL, 0},
	{"x_00001.pcapng.part", NULL, 1 << 20},
	{"x_00002.pcapng.part", "Dumpcap", 1 << 20},
	{".x.pcapng.next", NULL, 0},
	{".x.pcapng~1.next", "Dumpcap", 4096},
};

static void put_foreign(const struct rig *rig, const struct foreign *file)
{
	if (file->application != NULL)
		put_recording(rig, file->name, file->application, file->bytes, 0);
	else
		put_bytes(rig, file->name, "", 0, file->bytes, 0);
}

static bool is_untouched(const struct rig *rig, const struct foreign *file)
{
	uint8_t header[256] = "", now[256] = "";
	struct stat status;
	char path[192];
	uint32_t len = 0;

	snprintf(path, sizeof(path), "%s/%s", rig->dir, file->name);
	if (file->application != NULL)
		len = tl_pcapng_put_shb(
			header, sizeof(header), &(struct tl_pcapng_shb){.application = file->application});
	int fd = open(path, O_RDONLY);
	bool same = fd >= 0 && fstat(fd, &status) == 0 && status.st_size == file->bytes &&
		    pread(fd, now, len, 0) == (ssize_t)len && memcmp(now, header, len) == 0;
	if (fd >= 0)
		close(fd);
	return same;
}

TL_TEST("a foreign file is reported and not changed")
{
	struct rig rig;

	rig_new(&rig);
	for (size_t i = 0; i < TL_ARRAY_LEN(foreign); i++)
		put_foreign(&rig, &foreign[i]);
	for (int run = 0; run < 2; run++) {
		said[0] = '\0';
		rig_make(&rig, (struct tl_writer_cfg){.policy = keeping});
		CU_ASSERT_EQUAL(rig.writer->ring.n_left, 1); // the only one with content: its owner is not known yet
		rig_run(&rig);
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		CU_ASSERT_EQUAL(rig.writer->ring.n, (uint32_t)run + 1); // its own
		rig_end(&rig);
		for (size_t i = 0; i < TL_ARRAY_LEN(foreign); i++) {
			CU_ASSERT(is_untouched(&rig, &foreign[i]));
			CU_ASSERT_PTR_NOT_NULL(strstr(said, foreign[i].name));
		}
	}
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 2);
	tl_test_remove_dir(rig.dir);
}

static bool is_ours(const struct rig *rig, const char *name)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	int fd = open(path, O_RDONLY);
	bool ours = fd >= 0 && tl_recover_is_ours(fd);
	if (fd >= 0)
		close(fd);
	return ours;
}

TL_TEST("our files are identifiable from their creation on")
{
	struct rig rig;

	rig_new(&rig);
	rig_make(&rig, (struct tl_writer_cfg){.policy = keeping});
	CU_ASSERT(is_ours(&rig, "x.pcapng.part"));
	rig_close(&rig);

	rig_new(&rig);
	rig_make(&rig, (struct tl_writer_cfg){.policy = keeping, .hold = {.now_ns = now_ns, .triggered = triggered}});
	CU_ASSERT(is_ours(&rig, ".x.pcapng.next")); // until a trigger occurs
	rig_close(&rig);
}

// It is larger than the ring, and newer than all its files.
TL_TEST("a file that proves to be foreign does not remove files of the ring")
{
	struct rig rig;

	rig_new(&rig);
	put_files(&rig, 1 << 20);
	put_recording(&rig, "x_00099.pcapng.part", "Dumpcap", 64 << 20, 0);
	rig_make(&rig, (struct tl_writer_cfg){.policy = {.rotate_bytes = 1 << 20, .keep_bytes = 32 << 20}});
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	tl_writer_ring_tidy(rig.writer, false);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), FILES + 1);
	CU_ASSERT(tl_test_exists(rig.dir, "x_00099.pcapng.part"));
	rig_close(&rig);
}

// The current file and the next one will take a MiB each.
TL_TEST("space reserved for the current and next file counts towards the limit")
{
	struct rig rig;

	rig_new(&rig);
	put_files(&rig, 1 << 20);
	rig_make(&rig, (struct tl_writer_cfg){.policy = {.rotate_bytes = 1 << 20, .keep_bytes = (FILES + 1) << 20}});
	tidy(&rig);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), FILES - 1);
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00001.pcapng"));
	rig_close(&rig);
}

TL_TEST("an error is logged when it begins and when it recurs")
{
	struct rig rig;

	rig_new(&rig);
	rig_make(&rig, (struct tl_writer_cfg){.policy = keeping});
	struct tl_writer_trouble *trouble = &rig.writer->writing;
	atomic_store(&errors, 0);
	for (unsigned times = 1; times <= 2; times++) {
		for (int i = 0; i < 3; i++)
			tl_writer_trouble_begin(rig.writer, trouble, rig.path, -EIO);
		CU_ASSERT_EQUAL(atomic_load(&errors), times);
		tl_writer_trouble_end(rig.writer, trouble, rig.path);
	}
	rig_close(&rig);
}

TL_TEST("a file of an earlier run counts towards the limits when it is recovered")
{
	struct rig rig;

	rig_new(&rig);
	put_files(&rig, 4096);
	put_recording(&rig, "x_00099.pcapng.part", "tapline 1", 4096, 0);
	rig_make(&rig, (struct tl_writer_cfg){.policy = {.rotate_bytes = 1 << 20, .keep_files = FILES + 1}});
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), FILES + 1);
	CU_ASSERT(tl_test_exists(rig.dir, "x_00099.pcapng"));
	rig_close(&rig);
}

TL_TEST("a file of an earlier run without a prologue is removed")
{
	struct rig rig;

	rig_new(&rig);
	put_files(&rig, 4096);
	put_marked(&rig, "x_00099.pcapng.part");
	rig_make(&rig, (struct tl_writer_cfg){.policy = {.rotate_bytes = 1 << 20, .keep_files = FILES + 1}});
	rig_run(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(!tl_test_exists(rig.dir, "x_00099.pcapng") && !tl_test_exists(rig.dir, "x_00099.pcapng.part"));
	rig_close(&rig);
}

// ---- NFS

TL_TEST("on NFS a ring recognizes and removes its files")
{
	struct rig rig;

	atomic_store(&nfs, true);
	open_full_ring(&rig);
	CU_ASSERT(tidy_until(&rig, KEPT));
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), KEPT - 1);
	CU_ASSERT_EQUAL(atomic_load(&warnings), 0);
	atomic_store(&nfs, false);
	rig_close(&rig);
}

TL_TEST("on NFS a recording can be checked without changing it")
{
	struct rig rig;
	struct tl_err err = {{0}};
	char path[192];

	rig_new(&rig);
	put_recording(&rig, "x.pcapng.part", "tapline 1", 4096, 0);
	snprintf(path, sizeof(path), "%s/x.pcapng.part", rig.dir);
	atomic_store(&nfs, true);
	int fd = tl_recover_open(path, true, &err);
	CU_ASSERT(fd >= 0);
	int second = tl_recover_open(path, false, &err); // for repair, which needs an exclusive lock
	CU_ASSERT_EQUAL(second, -EBUSY);
	atomic_store(&nfs, false);
	close(fd);
	tl_test_remove_dir(rig.dir);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("writer_ring");
}
