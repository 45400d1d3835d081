// SPDX-License-Identifier: BSD-3-Clause
// writer: sealed slabs reach the file exactly once and in order, whatever the disk or the reader of a pipe does.

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_eal.h>

#include "writer_priv.h"

#define RINGS 2
#define SLAB_BYTES 65536
#define SLABS 16

enum io { URING, PWRITE, FAULTY };

// Two rings that this thread fills, and a writer that empties them into a directory of its own.
struct rig {
	char dir[64];
	char path[96];
	struct tl_slab_ring *rings[RINGS];
	uint32_t committed[RINGS];
	uint64_t committed_dir[TL_DIRS];
	struct tl_writer *writer;
};

// What was found in the files.
struct found {
	uint32_t next[RINGS]; // number of the next record of a ring
	uint64_t records[TL_DIRS];
	uint64_t sequence[RINGS];
	uint64_t bytes;
	bool gaps;   // records may be missing
	bool stream; // and no HEAD, no PAD
};

static uint32_t put_prologue(void *ctx, void *buf, uint32_t size)
{
	uint32_t used = tl_pcapng_put_shb(buf, size, &(struct tl_pcapng_shb){.application = "test"});
	for (int i = 0; i < RINGS; i++)
		used += tl_pcapng_put_idb((uint8_t *)buf + used, size - used, &(struct tl_pcapng_idb){.name = "test0"});
	return used;
}

static uint32_t put_epilogue(void *ctx, void *buf, uint32_t size)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < RINGS; i++)
		used += tl_pcapng_put_isb(
			(uint8_t *)buf + used, size - used, &(struct tl_pcapng_isb){.interface_id = i});
	return used;
}

// A backend that finishes the youngest write first and spoils every fifth: half of it is written, then it fails.
static struct {
	uint32_t started;
	uint32_t failed;
} faulty;

static void faulty_start(struct tl_writer *writer, struct tl_writer_write *write)
{
	faulty.started++;
}

static void faulty_reap(struct tl_writer *writer, bool wait)
{
	for (uint32_t i = writer->flight_count; i-- > 0;) {
		struct tl_writer_write *write = &writer->flight[(writer->flight_first + i) % TL_WRITER_DEPTH];
		if (write->result != TL_WRITER_PENDING)
			continue;
		bool spoil = (write->offset_bytes / SLAB_BYTES) % 5 == 3;
		uint32_t len = spoil ? TL_PCAPNG_ALIGN : write->len_bytes;
		write->result = tl_writer_file_write(&writer->file, write->data, len, write->offset_bytes);
		if (spoil)
			write->result = -EIO;
		faulty.failed += spoil;
		return;
	}
}

static void faulty_fini(struct tl_writer *writer)
{
}

static const struct tl_writer_backend faulty_backend = {
	.depth = TL_WRITER_DEPTH,
	.start = faulty_start,
	.reap = faulty_reap,
	.fini = faulty_fini,
};

static void rig_rings(struct rig *rig)
{
	struct tl_err err;

	for (uint32_t i = 0; i < RINGS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "writer%u", i);
		struct tl_slab_cfg cfg = {.name = name,
			.slab_bytes = SLAB_BYTES,
			.slabs = SLABS,
			.socket_id = -1,
			.run_id = 7,
			.ring_index = i};
		CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &rig->rings[i], &err), 0);
	}
}

static void rig_dir(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	strcpy(rig->dir, "/var/tmp/tl-writer-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(rig->dir));
	snprintf(rig->path, sizeof(rig->path), "%s/x.pcapng", rig->dir);
}

static int rig_create(struct rig *rig, enum io io, uint64_t rotate_bytes, struct tl_err *err)
{
	struct tl_writer_cfg cfg = {
		.path = rig->path,
		.io = io == URING ? TL_WRITER_IO_URING : TL_WRITER_IO_PWRITE,
		.rotate_bytes = rotate_bytes,
		.rings = rig->rings,
		.n_rings = RINGS,
		.prologue = put_prologue,
		.epilogue = put_epilogue,
	};

	rig_rings(rig);
	int rc = tl_writer_create(&cfg, &rig->writer, err);
	if (rc == 0 && io == FAULTY) {
		memset(&faulty, 0, sizeof(faulty));
		rig->writer->backend = &faulty_backend;
	}
	return rc;
}

static void rig_start(struct rig *rig, enum io io, uint64_t rotate_bytes)
{
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(rig_create(rig, io, rotate_bytes, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig->writer, &err), 0);
}

static void rig_open(struct rig *rig, enum io io, uint64_t rotate_bytes)
{
	rig_dir(rig);
	rig_start(rig, io, rotate_bytes);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static void rig_close(struct rig *rig)
{
	tl_writer_destroy(rig->writer);
	for (uint32_t i = 0; i < RINGS; i++)
		tl_slab_destroy(rig->rings[i]);
	nftw(rig->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static uint32_t frame_bytes(uint32_t number)
{
	return 60 + number * 37 % 1400;
}

// One record: its ring and number, then its number's low byte.
static void commit_one(struct rig *rig, uint32_t ring)
{
	uint32_t number = rig->committed[ring]++;
	enum tl_dir dir = number % 3 == 0 ? TL_DIR_TX : TL_DIR_RX;
	struct tl_pcapng_epb epb = {.interface_id = ring, .cap_bytes = frame_bytes(number), .dir = dir};
	uint32_t len = tl_pcapng_epb_bytes(epb.cap_bytes, 0);
	void *room;

	epb.wire_bytes = epb.cap_bytes;
	while ((room = tl_slab_reserve(rig->rings[ring], len, 0)) == NULL)
		usleep(50);
	uint8_t *data = tl_pcapng_put_epb(room, &epb);
	memset(data, (int)(number & 0xff), epb.cap_bytes);
	memcpy(data, &ring, 4);
	memcpy(data + 4, &number, 4);
	tl_slab_commit(rig->rings[ring], len, dir);
	rig->committed_dir[dir]++;
}

static void commit(struct rig *rig, uint32_t records)
{
	for (uint32_t i = 0; i < records; i++)
		commit_one(rig, i % 3 == 0 ? 1 : 0);
}

static void seal(struct rig *rig)
{
	for (uint32_t i = 0; i < RINGS; i++)
		tl_slab_seal(rig->rings[i]);
}

static int rig_stop(struct rig *rig)
{
	struct tl_err err;

	seal(rig);
	return tl_writer_stop(rig->writer, &err);
}

// Whether one of two counters' sums reached a value within 10 s.
static bool wait_for(const struct rig *rig, bool dropped, uint64_t least)
{
	struct tl_writer_stats stats;

	for (int i = 0; i < 10000; i++) {
		tl_writer_stats(rig->writer, &stats);
		const uint64_t *pkts = dropped ? stats.drop_disk_pkts : stats.written_pkts;
		if (pkts[TL_DIR_RX] + pkts[TL_DIR_TX] >= least)
			return true;
		usleep(1000);
	}
	return false;
}

static bool epb_is_right(const uint8_t *block, struct found *found)
{
	uint32_t ring, number, cap_bytes, flags;

	memcpy(&cap_bytes, block + 20, 4);
	memcpy(&ring, block + 28, 4);
	memcpy(&number, block + 32, 4);
	memcpy(&flags, block + 28 + tl_align_up(cap_bytes, 4) + 4, 4);
	if (ring >= RINGS || cap_bytes != frame_bytes(number) || block[28 + cap_bytes - 1] != (number & 0xff))
		return false;
	if (found->gaps ? number < found->next[ring] : number != found->next[ring])
		return false;
	found->next[ring] = number + 1;
	found->records[flags == 1 ? TL_DIR_RX : TL_DIR_TX]++;
	return true;
}

static bool head_is_right(const uint8_t *block, uint32_t size, struct found *found)
{
	struct tl_pcapng_head head;

	if (found->stream || tl_pcapng_get_head(block, size, &head) != 0 || head.ring >= RINGS || head.run_id != 7)
		return false;
	bool right =
		found->gaps ? head.sequence >= found->sequence[head.ring] : head.sequence == found->sequence[head.ring];
	found->sequence[head.ring] = head.sequence + 1;
	return right;
}

// Walks the blocks of a file. Returns whether they are all whole and in place; *closed tells of an epilogue.
static bool blocks_are_right(const uint8_t *data, size_t size, struct found *found, bool *closed)
{
	size_t at = 0;
	uint32_t isbs = 0;

	while (at < size) {
		uint32_t type, len, tail;
		if (size - at < 12)
			return false;
		memcpy(&type, data + at, 4);
		memcpy(&len, data + at + 4, 4);
		if (len < 12 || len % 4 != 0 || len > size - at)
			return false;
		memcpy(&tail, data + at + len - 4, 4);
		bool right = tail == len && (type == TL_PCAPNG_SHB) == (at == 0);
		if (type == TL_PCAPNG_EPB)
			right = right && isbs == 0 && epb_is_right(data + at, found);
		else if (type == TL_PCAPNG_HEAD)
			right = right && isbs == 0 && at % TL_PCAPNG_ALIGN == 0 &&
				head_is_right(data + at, (uint32_t)(size - at), found);
		else if (type == TL_PCAPNG_PAD)
			right = right && !found->stream;
		isbs += type == TL_PCAPNG_ISB;
		if (!right)
			return false;
		at += len;
	}
	*closed = isbs == RINGS;
	return size > 0;
}

static bool file_is_right(const char *path, struct found *found, bool *closed)
{
	struct stat status;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &status) != 0)
		return false;
	size_t size = (size_t)status.st_size;
	uint8_t *data = malloc(size + 1);
	bool whole = read(fd, data, size) == status.st_size;
	close(fd);
	found->bytes += size;
	bool right = whole && blocks_are_right(data, size, found, closed);
	free(data);
	return right;
}

static bool files_are_right(const struct rig *rig, struct found *found, bool *all_closed)
{
	uint32_t n;
	const char *const *files = tl_writer_files(rig->writer, &n);
	bool right = n > 0;

	*all_closed = true;
	for (uint32_t i = 0; i < n; i++) {
		bool closed = false;
		right = right && file_is_right(files[i], found, &closed);
		*all_closed = *all_closed && closed;
	}
	return right;
}

// Every committed record is written or dropped, each direction by itself, and the file holds those that are written.
static void check_ledger(const struct rig *rig, const struct found *found)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	for (int dir = 0; dir < TL_DIRS; dir++) {
		CU_ASSERT_EQUAL(rig->committed_dir[dir], stats.written_pkts[dir] + stats.drop_disk_pkts[dir]);
		if (found != NULL)
			CU_ASSERT_EQUAL(found->records[dir], stats.written_pkts[dir]);
	}
	if (found != NULL)
		CU_ASSERT_EQUAL(found->bytes, stats.written_bytes);
}

static void check_complete(const struct rig *rig)
{
	struct found found = {0};
	bool closed;

	CU_ASSERT(files_are_right(rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig->committed[ring]);
	check_ledger(rig, &found);
}

static void record_everything(enum io io, uint64_t rotate_bytes)
{
	struct rig rig;

	rig_open(&rig, io, rotate_bytes);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	check_complete(&rig);
	rig_close(&rig);
}

static void uring_writes_all(void)
{
	record_everything(URING, 0);
}

static void pwrite_writes_all(void)
{
	record_everything(PWRITE, 0);
}

static void failed_write_is_repeated(void)
{
	record_everything(FAULTY, 0);
	CU_ASSERT(faulty.failed > 10);
	record_everything(FAULTY, 1 << 20);
}

static void empty_recording_is_a_file(void)
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

static void rotate_with(enum io io)
{
	// Without room kept for the epilogue, 16 full slabs would fit.
	const uint64_t limit = 16 * SLAB_BYTES + TL_PCAPNG_ALIGN;
	struct rig rig;
	struct stat status;
	char second[128];
	uint32_t n;

	rig_open(&rig, io, limit);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_FATAL(n > 16); // more than the first array of names holds
	for (uint32_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(stat(files[i], &status), 0);
		CU_ASSERT((uint64_t)status.st_size <= limit);
		CU_ASSERT(i == n - 1 || (uint64_t)status.st_size > limit - 3 * SLAB_BYTES);
	}
	snprintf(second, sizeof(second), "%s/x_00001.pcapng", rig.dir);
	CU_ASSERT_STRING_EQUAL(files[0], rig.path);
	CU_ASSERT_STRING_EQUAL(files[1], second);
	struct tl_writer_stats stats;
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.files, n);
	rig_close(&rig);
}

static void rotated_files_are_whole(void)
{
	rotate_with(URING);
	rotate_with(PWRITE);
}

static void number_stands_before_the_suffix(void)
{
	static const struct {
		const char *path;
		const char *second;
	} table[] = {
		{"x.pcapng", "x_00001.pcapng"},
		{"a.b/x", "a.b/x_00001"},
		{"/a/.x", "/a/.x_00001"},
		{"/a/x.y.z", "/a/x.y_00001.z"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_names *names = tl_writer_names_create();
		CU_ASSERT_EQUAL(tl_writer_names_keep(names, tl_writer_names_next(names, table[i].path)), 0);
		char *second = tl_writer_names_next(names, table[i].path);
		CU_ASSERT_STRING_EQUAL(second, table[i].second);
		free(second);
		tl_writer_names_destroy(names);
	}
}

static void rotation_that_fails_loses_nothing(void)
{
	struct rig rig;
	char second[128];
	uint32_t n;

	rig_dir(&rig);
	snprintf(second, sizeof(second), "%s/x_00001.pcapng", rig.dir);
	CU_ASSERT_EQUAL(mkdir(second, 0700), 0);
	rig_start(&rig, URING, 1 << 20);
	commit(&rig, 5000);
	CU_ASSERT(wait_for(&rig, false, 3000));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(rmdir(second), 0);
	commit(&rig, 5000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EISDIR);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tl_writer_error(rig.writer));
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_writer_error(rig.writer), second));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 1);
	check_complete(&rig);
	rig_close(&rig);
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes == 0 ? limit.rlim_max : bytes;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
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

static void refused_packets_are_counted(void)
{
	refuse_after_a_mebibyte(URING);
	refuse_after_a_mebibyte(PWRITE);
	refuse_after_a_mebibyte(FAULTY);
}

static void resume_with(enum io io)
{
	struct rig rig;
	struct found found = {.gaps = true};
	struct tl_writer_stats stats;
	bool closed;

	rig_open(&rig, io, 0);
	limit_file_size(1 << 20);
	commit(&rig, 6000);
	CU_ASSERT(wait_for(&rig, true, 1000));
	seal(&rig);
	while (tl_writer_stats(rig.writer, &stats),
		stats.drop_disk_pkts[0] + stats.drop_disk_pkts[1] + stats.written_pkts[0] + stats.written_pkts[1] <
			6000)
		usleep(100);
	limit_file_size(0);
	commit(&rig, 2000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG); // the first error is not forgotten
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig.committed[ring]);
	check_ledger(&rig, &found);
	rig_close(&rig);
}

static void writing_goes_on(void)
{
	resume_with(URING);
	resume_with(PWRITE);
}

// From the first byte on, even the prologue is refused.
static void full_disk_holds_back_the_prologue(void)
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

static void failed_epilogue_leaves_no_trace(void)
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

static void bad_paths_are_refused(void)
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

static void old_file_is_replaced(void)
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

static void unusable_direct_io_is_given_up(void)
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, PWRITE, 0, &err), 0);
	struct tl_writer_file *file = &rig.writer->file;
	if (!file->direct)
		printf("# skipped: %s refuses O_DIRECT\n", rig.dir);
	// A negative offset stands for whatever a file system finds invalid.
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

// There is a descriptor left for the file, and none for io_uring.
static void pwrite_stands_in_for_io_uring(void)
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

static void record_buffered(const char *dir, bool refuses)
{
	struct rig rig;

	memset(&rig, 0, sizeof(rig));
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

static void tmpfs_is_served(void)
{
	record_buffered("/dev/shm", false); // tmpfs refuses O_DIRECT before Linux 6.6
}

static void no_direct_io_is_served(void)
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

// What a reader of a pipe got.
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

// Standard output is the pipe while the writer is created.
static void rig_open_stdout(struct rig *rig, int pipe_fds[2])
{
	CU_ASSERT_EQUAL_FATAL(pipe2(pipe_fds, O_CLOEXEC), 0);
	rig_dir(rig);
	strcpy(rig->path, "-");
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	dup2(pipe_fds[1], STDOUT_FILENO);
	rig_start(rig, URING, 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(pipe_fds[1]);
}

static void pipe_gets_plain_pcapng(void)
{
	struct rig rig;
	struct reader reader = {0};
	struct found found = {.stream = true};
	int fds[2];
	bool closed = false;

	rig_open_stdout(&rig, fds);
	reader.fd = fds[0];
	CU_ASSERT_EQUAL_FATAL(pthread_create(&reader.thread, NULL, read_all, &reader), 0);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	pthread_join(reader.thread, NULL);
	CU_ASSERT_FALSE(tl_writer_pipe_closed(rig.writer));
	CU_ASSERT(blocks_are_right(reader.data, reader.bytes, &found, &closed));
	CU_ASSERT(closed);
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
	for (int i = 0; i < 5000 && !tl_writer_pipe_closed(rig->writer); i++)
		usleep(1000);
	return tl_writer_pipe_closed(rig->writer);
}

static void reader_that_leaves_is_noticed(void)
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

static void idle_pipe_notices_too(void)
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

static void stalled_pipe_does_not_hold_stop(void)
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
	CU_ASSERT(after.tv_sec - before.tv_sec >= 4 && after.tv_sec - before.tv_sec <= 8);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT(stats.drop_disk_pkts[TL_DIR_RX] > 0);
	check_ledger(&rig, NULL);
	close(fd);
	rig_close(&rig);
}

static void devices_are_streams(void)
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

static void unstarted_writer_can_be_destroyed(void)
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL(rig_create(&rig, URING, 0, &err), 0);
	rig_close(&rig);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"with io_uring every record reaches the file once, in the order of its ring", uring_writes_all},
		{"with pwrite every record reaches the file once, in the order of its ring", pwrite_writes_all},
		{"a write that fails among others in flight is repeated and leaves no hole", failed_write_is_repeated},
		{"a recording without packets opens and closes like any other, mode 0640", empty_recording_is_a_file},
		{"a rotated file is whole and keeps within its size", rotated_files_are_whole},
		{"the number of a rotated file stands before its suffix", number_stands_before_the_suffix},
		{"when the next file cannot be opened the recording goes on in the last",
			rotation_that_fails_loses_nothing},
		{"what the disk refuses is counted exactly and leaves no trace in the file",
			refused_packets_are_counted},
		{"writing goes on when the disk takes data again", writing_goes_on},
		{"no slab is written before the prologue is", full_disk_holds_back_the_prologue},
		{"an epilogue that cannot be written leaves no trace", failed_epilogue_leaves_no_trace},
		{"a path that cannot be recorded to is refused with its name", bad_paths_are_refused},
		{"an old file is replaced", old_file_is_replaced},
		{"a recording into tmpfs is whole", tmpfs_is_served},
		{"where O_DIRECT is refused the page cache is used", no_direct_io_is_served},
		{"O_DIRECT is given up when a write proves it unusable", unusable_direct_io_is_given_up},
		{"without io_uring it writes with pwrite", pwrite_stands_in_for_io_uring},
		{"a pipe gets the blocks without what serves files only", pipe_gets_plain_pcapng},
		{"a reader of a pipe that leaves is noticed, and what it missed is counted",
			reader_that_leaves_is_noticed},
		{"it is noticed although nothing is written", idle_pipe_notices_too},
		{"a pipe that nobody reads does not hold stop for ever", stalled_pipe_does_not_hold_stop},
		{"a device is written like a pipe", devices_are_streams},
		{"a writer that was never started can be destroyed", unstarted_writer_can_be_destroyed},
	};

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_main("writer", tests, TL_ARRAY_LEN(tests));
}
