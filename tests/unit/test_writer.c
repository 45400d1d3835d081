// SPDX-License-Identifier: BSD-3-Clause
// writer: sealed slabs reach the file exactly once and in order, whatever the disk or the reader of a pipe does.

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer.h>

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
	uint64_t committed_flow[RINGS][TL_DIRS];
	uint64_t statistics_ns;
	uint32_t epilogues; // how often blocks of statistics were asked for; the writer's threads count
	uint32_t prologues; // counted before the gate
	uint32_t gated;	    // the number of the prologue that waits for the gate; 0: none
	pthread_mutex_t gate;
	bool reader_may_leave;
	struct tl_writer *writer;
	bool index;
};

// What was found in the files.
struct found {
	uint32_t next[RINGS]; // number of the next record of a ring
	uint64_t records[TL_DIRS];
	uint64_t sequence[RINGS];
	uint64_t bytes;
	bool gaps;	 // records may be missing
	bool stream;	 // and no HEAD, no PAD
	bool statistics; // ISBs before the last
	uint32_t isbs;
	uint64_t file;	  // in the HEADs of the last file
	uint32_t checked; // slabs with a sum, which is right
};

static uint32_t put_prologue(void *ctx, void *buf, uint32_t size)
{
	struct rig *rig = ctx;

	if (__atomic_add_fetch(&rig->prologues, 1, __ATOMIC_ACQ_REL) == rig->gated) {
		pthread_mutex_lock(&rig->gate);
		pthread_mutex_unlock(&rig->gate);
	}
	uint32_t used = tl_pcapng_put_shb(buf, size, &(struct tl_pcapng_shb){.application = "tapline test"});
	for (int i = 0; i < RINGS; i++)
		used += tl_pcapng_put_idb((uint8_t *)buf + used, size - used, &(struct tl_pcapng_idb){.name = "test0"});
	return used;
}

static uint32_t put_epilogue(void *ctx, void *buf, uint32_t size)
{
	struct rig *rig = ctx;
	uint32_t used = 0;

	__atomic_fetch_add(&rig->epilogues, 1, __ATOMIC_RELAXED);
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
		write->result = tl_writer_file_write(write->file, write->data, len, write->offset_bytes);
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

static int rig_create_ring(struct rig *rig, enum io io, struct tl_writer_policy policy, struct tl_err *err)
{
	struct tl_writer_cfg cfg = {
		.path = rig->path,
		.io = io == URING ? TL_WRITER_IO_URING : TL_WRITER_IO_PWRITE,
		.policy = policy,
		.rings = rig->rings,
		.n_rings = RINGS,
		.index = rig->index,
		.prologue = put_prologue,
		.epilogue = put_epilogue,
		.ctx = rig,
		.statistics_ns = rig->statistics_ns,
		.reader_may_leave = rig->reader_may_leave,
	};

	rig_rings(rig);
	int rc = tl_writer_create(&cfg, &rig->writer, err);
	if (rc == 0)
		tl_test_wait_for_files(rig->writer);
	if (rc == 0 && io == FAULTY) {
		memset(&faulty, 0, sizeof(faulty));
		rig->writer->backend = &faulty_backend;
	}
	return rc;
}

static int rig_create(struct rig *rig, enum io io, uint64_t rotate_bytes, struct tl_err *err)
{
	return rig_create_ring(rig, io, (struct tl_writer_policy){.rotate_bytes = rotate_bytes}, err);
}

static void rig_start_ring(struct rig *rig, enum io io, struct tl_writer_policy policy)
{
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(rig_create_ring(rig, io, policy, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig->writer, &err), 0);
}

static void rig_start(struct rig *rig, enum io io, uint64_t rotate_bytes)
{
	rig_start_ring(rig, io, (struct tl_writer_policy){.rotate_bytes = rotate_bytes});
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
	struct tl_pcapng_epb epb = {
		.interface_id = ring, .cap_bytes = frame_bytes(number), .flags = TL_PCAPNG_INBOUND + dir};
	uint32_t len = tl_pcapng_epb_bytes(epb.cap_bytes, epb.flags, 0);
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
	rig->committed_flow[ring][dir]++;
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

static uint64_t count(const struct rig *rig, bool dropped)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	const uint64_t *pkts = dropped ? stats.drop_disk_pkts : stats.written_pkts;
	return pkts[TL_DIR_RX] + pkts[TL_DIR_TX];
}

// Wait until one of two counters' sums has reached a value.
static bool wait_for(const struct rig *rig, bool dropped, uint64_t least)
{
	return tl_test_until(count(rig, dropped) >= least);
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

// The file's own, which is that of all others: the first is behind what opens it.
static bool own_head_is_right(const struct tl_pcapng_head *head, size_t at, struct found *found)
{
	if (at % TL_PCAPNG_ALIGN == 0)
		return head->file == found->file;
	found->file = head->file;
	return head->file != 0 && at < 2 * TL_PCAPNG_ALIGN;
}

static bool head_is_right(const uint8_t *block, uint32_t size, size_t at, struct found *found)
{
	struct tl_pcapng_head head;

	if (found->stream || tl_pcapng_get_head(block, size, &head) != 0)
		return false;
	if (head.records == 0)
		return own_head_is_right(&head, at, found);
	if (head.ring >= RINGS || head.run_id != 7 || head.file != found->file || at % TL_PCAPNG_ALIGN != 0 ||
		(head.check != 0 && head.check != tl_pcapng_check(block, head.used_bytes)))
		return false;
	found->checked += head.check != 0;
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
		if (found->statistics && type == TL_PCAPNG_EPB)
			isbs = 0;
		if (type == TL_PCAPNG_EPB)
			right = right && isbs == 0 && epb_is_right(data + at, found);
		else if (type == TL_PCAPNG_HEAD)
			right = right && head_is_right(data + at, (uint32_t)(size - at), at, found);
		else if (type == TL_PCAPNG_PAD)
			right = right && !found->stream;
		isbs += type == TL_PCAPNG_ISB;
		found->isbs += type == TL_PCAPNG_ISB;
		if (!right)
			return false;
		at += len;
	}
	// The last statistics may stand right before the epilogue.
	*closed = isbs == RINGS || (found->statistics && isbs == 2 * RINGS);
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

// Every committed record is written or dropped, each ring and direction by itself, and the file holds those that are
// written.
static void check_ledger(const struct rig *rig, const struct found *found)
{
	struct tl_writer_stats stats;

	for (uint32_t ring = 0; ring < RINGS; ring++) {
		struct tl_writer_flow flow;
		tl_writer_flow(rig->writer, ring, &flow);
		for (int dir = 0; dir < TL_DIRS; dir++)
			CU_ASSERT_EQUAL(
				rig->committed_flow[ring][dir], flow.written_pkts[dir] + flow.drop_disk_pkts[dir]);
	}
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

// Returns how many writes were repeated.
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

// No write out of a buffer that the kernel knows of under another number, either.
static void uring_writes_all(void)
{
	CU_ASSERT_EQUAL(record_everything(URING, 0), 0);
}

static void pwrite_writes_all(void)
{
	CU_ASSERT_EQUAL(record_everything(PWRITE, 0), 0);
}

static void failed_write_is_repeated(void)
{
	CU_ASSERT(record_everything(FAULTY, 0) > 10);
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
		{"x.%S", "x.36_00001"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_pattern pattern;
		CU_ASSERT_EQUAL(tl_writer_pattern_init(&pattern, table[i].path, NULL), 0);
		char *second = tl_writer_pattern_expand(&pattern, 1234567896, 1);
		CU_ASSERT_STRING_EQUAL(second, table[i].second);
		free(second);
	}
}

// 1234567890 is 2009-02-13 23:31:30 UTC; the host's time zone has no say.
static void names_tell_the_time(void)
{
	static const struct {
		const char *path;
		const char *name;
	} table[] = {
		{"x_%Y%m%d-%H%M%S.pcapng", "x_20090213-233130.pcapng"},
		{"%F_%T.pcapng", "2009-02-13_23:31:30.pcapng"},
		{"%y.%j.pcapng", "09.044.pcapng"},
		{"a/%s.pcapng", "a/1234567890.pcapng"},
		{"50%%_%H", "50%_23"},
	};

	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_pattern pattern;
		uint32_t number;
		bool part;
		CU_ASSERT_EQUAL(tl_writer_pattern_init(&pattern, table[i].path, NULL), 0);
		char *path = tl_writer_pattern_expand(&pattern, 1234567890, 0);
		CU_ASSERT_STRING_EQUAL(path, table[i].name);
		CU_ASSERT(tl_writer_pattern_match(&pattern, path + strlen(pattern.dir), &number, &part));
		CU_ASSERT_EQUAL(number, 0);
		free(path);
	}
	unsetenv("TZ");
	tzset();
}

static void unknown_conversions_are_refused(void)
{
	static const char *const table[] = {"%q.pcapng", "x%", "%Y/x.pcapng", "dir/", "%c", "%-H.pcapng"};
	struct tl_err err;
	char longest[300];

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		err.text[0] = '\0';
		CU_ASSERT_EQUAL(tl_writer_check_path(table[i], &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, table[i]));
	}
	memset(longest, 'x', sizeof(longest));
	longest[240] = '\0';
	CU_ASSERT_EQUAL(tl_writer_check_path(longest, &err), -ENAMETOOLONG);
	longest[239] = '\0';
	CU_ASSERT_EQUAL(tl_writer_check_path(longest, &err), 0);
}

static void only_names_that_it_could_give_match(void)
{
	static const struct {
		const char *path, *name;
		int number; // -1: no match
		bool part;
	} table[] = {
		{"x.pcapng", "x.pcapng", 0, false},
		{"x.pcapng", "x.pcapng.part", 0, true},
		{"x.pcapng", "x_00001.pcapng", 1, false},
		{"x.pcapng", "x_99999.pcapng.part", 99999, true},
		{"x.pcapng", "x_100000.pcapng", 100000, false},
		{"x.pcapng", "x_00000.pcapng", -1, false},
		{"x.pcapng", "x_000001.pcapng", -1, false},
		{"x.pcapng", "x_0001.pcapng", -1, false},
		{"x.pcapng", "x_00001", -1, false},
		{"x.pcapng", "x_.pcapng", -1, false},
		{"x.pcapng", "x_00001a.pcapng", -1, false},
		{"x.pcapng", "x_00001.pcapng.part2", -1, false},
		{"x.pcapng", "xx.pcapng", -1, false},
		{"x.pcapng", "ax.pcapng", -1, false},
		{"x.pcapng", "x.pcapng.gz", -1, false},
		{"x.pcapng", "x", -1, false},
		{"x.pcapng", "", -1, false},
		{"x.pcapng", ".x.pcapng.next", -1, false},
		{"x_%H%M.p", "x_2359.p", 0, false},
		{"x_%H%M.p", "x_2359_00012.p", 12, false},
		{"x_%H%M.p", "x_235.p", -1, false},
		{"x_%H%M.p", "x_23590.p", -1, false},
		{"x_%H%M.p", "x_%H%M.p", -1, false},
		{"x_%H%M.p", "x_00001.p", -1, false},
		{"%%.p", "%.p", 0, false},
		{"%%.p", "%%.p", -1, false},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_pattern pattern;
		uint32_t number;
		bool part = false;
		CU_ASSERT_EQUAL(tl_writer_pattern_init(&pattern, table[i].path, NULL), 0);
		bool match = tl_writer_pattern_match(&pattern, table[i].name, &number, &part);
		if (match != (table[i].number >= 0))
			printf("# %s, %s\n", table[i].path, table[i].name);
		CU_ASSERT_EQUAL(match, table[i].number >= 0);
		if (match) {
			CU_ASSERT_EQUAL(number, (uint32_t)table[i].number);
			CU_ASSERT_EQUAL(part, table[i].part);
		}
	}
}

static void rotation_that_fails_loses_nothing(void)
{
	struct rig rig;
	struct tl_err err;
	char name[128];
	uint32_t n;

	rig_dir(&rig);
	snprintf(name, sizeof(name), "%s/.x.pcapng.next", rig.dir);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 1 << 20, &err), 0);
	int in_use = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600); // where the next file waits
	CU_ASSERT_EQUAL(flock(in_use, LOCK_EX), 0);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 5000);
	CU_ASSERT(wait_for(&rig, false, 3000));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(unlink(name), 0);
	close(in_use);
	CU_ASSERT(tl_test_until(tl_test_has_next(rig.writer))); // it is tried again
	commit(&rig, 5000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tl_writer_error(rig.writer));
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_writer_error(rig.writer), name));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 1);
	check_complete(&rig);
	rig_close(&rig);
}

// A file of a few bytes, or of any recording's first bytes.
static void put_file(const struct rig *rig, const char *name, const char *application)
{
	char path[192];
	uint8_t text[256] = "not a recording";
	uint32_t len = 15;

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	if (application != NULL)
		len = tl_pcapng_put_shb(text, sizeof(text), &(struct tl_pcapng_shb){.application = application});
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CU_ASSERT(write(fd, text, len) == (ssize_t)len);
	close(fd);
}

// What is still there is whole, in order, and ends with the last record; the rest is counted.
static void check_ring(const struct rig *rig)
{
	struct found found = {.gaps = true};
	struct tl_writer_stats stats;
	bool closed;

	tl_writer_stats(rig->writer, &stats);
	CU_ASSERT(files_are_right(rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig->committed[ring]);
	CU_ASSERT_EQUAL(found.bytes, stats.written_bytes - stats.recycled_bytes);
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".part"), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".next"), 0);
	check_ledger(rig, NULL);
}

// Tell whether the helper has caught up.
static bool all_but_one_are_complete(const struct rig *rig)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	return tl_test_count_files(rig->dir, ".pcapng") == stats.files - 1 &&
	       tl_test_count_files(rig->dir, ".part") == 1;
}

static void file_is_part_until_complete(void)
{
	struct rig rig;
	struct tl_writer_stats stats;
	uint32_t n;

	rig_open(&rig, URING, 1 << 20);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng.part"));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x.pcapng"));
	commit(&rig, 3000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 3000));
	CU_ASSERT(tl_test_until(all_but_one_are_complete(&rig)));
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 1);
	CU_ASSERT_STRING_EQUAL(files[0], rig.path);
	CU_ASSERT_PTR_NOT_NULL(strstr(files[n - 1], ".pcapng.part"));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.files, n);
	check_complete(&rig);
	check_ring(&rig);
	rig_close(&rig);
}

static uint64_t count_begun(const struct rig *rig)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	return stats.files;
}

static bool wait_files(const struct rig *rig, uint64_t files)
{
	return tl_test_until(count_begun(rig) >= files);
}

// At full seconds, and although nothing is recorded.
static void time_rotates_idle_recordings(void)
{
	struct rig rig;
	struct found found = {0};
	uint32_t n;
	bool closed;

	rig_dir(&rig);
	strcpy(strrchr(rig.path, '/'), "/x_%s.pcapng");
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_seconds = 1});
	CU_ASSERT(wait_files(&rig, 3));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_FATAL(n >= 3);
	for (uint32_t i = 1; i < n; i++) { // no two begin in one second, and so none needs a number
		long before = strtol(strrchr(files[i - 1], '_') + 1, NULL, 10);
		CU_ASSERT(strtol(strrchr(files[i], '_') + 1, NULL, 10) > before);
	}
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	rig_close(&rig);
}

// The clock was an hour ahead when the time of the next rotation was set.
static void clock_that_steps_back_does_not_put_off_the_rotation(void)
{
	struct rig rig;
	struct tl_err err;
	uint64_t now_s = (uint64_t)time(NULL);

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create_ring(&rig, PWRITE, (struct tl_writer_policy){.rotate_seconds = 10}, &err), 0);
	tl_writer_set_rotation_time(rig.writer, now_s + 3600);
	CU_ASSERT(rig.writer->rotate_at_s > now_s + 3600);
	tl_writer_rotate_if_due(rig.writer);
	CU_ASSERT(rig.writer->rotate_at_s > now_s);
	CU_ASSERT(rig.writer->rotate_at_s <= (uint64_t)time(NULL) + 10);
	CU_ASSERT_EQUAL(rig.writer->rotate_at_s % 10, 0);
	rig_close(&rig);
}

static void packets_rotate(void)
{
	struct rig rig;
	uint32_t n;

	rig_dir(&rig);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_packets = 500});
	for (int i = 0; i < 50; i++) {
		commit(&rig, 100);
		seal(&rig);
		tl_test_settle(rig.writer, rig.rings, RINGS);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT(n >= 10 && n <= 15);
	for (uint32_t i = 0; i < n; i++) {
		struct found found = {.gaps = true};
		bool closed;
		CU_ASSERT(file_is_right(files[i], &found, &closed));
		CU_ASSERT(found.records[TL_DIR_RX] + found.records[TL_DIR_TX] <= 500);
	}
	rig_close(&rig);
}

static void asking_rotates_any_file(void)
{
	struct rig rig;

	rig_open(&rig, URING, 0);
	commit(&rig, 1000);
	tl_writer_rotate(rig.writer);
	CU_ASSERT(wait_files(&rig, 2));
	commit(&rig, 1000);
	tl_writer_rotate(rig.writer);
	CU_ASSERT(wait_files(&rig, 3));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng") && tl_test_exists(rig.dir, "x_00001.pcapng") &&
		  tl_test_exists(rig.dir, "x_00002.pcapng"));
	check_complete(&rig);
	check_ring(&rig);
	rig_close(&rig);
}

// The whole file at path, the caller's to free, or NULL.
static uint8_t *read_file(const char *path, size_t *out_size)
{
	struct stat status;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &status) != 0)
		return NULL;
	*out_size = (size_t)status.st_size;
	uint8_t *data = malloc(*out_size + 1);
	CU_ASSERT_EQUAL(read(fd, data, *out_size), status.st_size);
	close(fd);
	return data;
}

// What the sidecars of all files say together.
struct indexed {
	uint64_t rows, records, blank;
};

// Each row names a slab that is there, and holds nothing else than a look at the file gives.
static void check_sidecar(const char *path, struct indexed *sum)
{
	char name[192];
	size_t size, file_size;
	struct tl_index_reader reader;
	struct tl_index_row row, again;
	struct tl_index_builder *builder = tl_index_builder_create();

	snprintf(name, sizeof(name), "%s" TL_INDEX_SUFFIX, path);
	uint8_t *sidecar = read_file(name, &size), *file = read_file(path, &file_size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sidecar);
	CU_ASSERT_EQUAL_FATAL(tl_index_open(&reader, sidecar, size), 0);
	CU_ASSERT(reader.header.file_bytes == file_size && reader.header.run_id == 7);
	int rc;
	while ((rc = tl_index_next(&reader, &row)) == 1) {
		struct tl_pcapng_head head;
		CU_ASSERT_EQUAL_FATAL(tl_pcapng_get_head(file + row.offset_bytes, row.len_bytes, &head), 0);
		CU_ASSERT_EQUAL(tl_index_build(builder, file + row.offset_bytes, head.used_bytes, row.len_bytes,
					row.offset_bytes, &again),
			0);
		bool blank = row.bloom_bytes == 0;
		CU_ASSERT(row.records == again.records && row.sequence == again.sequence && row.ring == again.ring);
		CU_ASSERT(blank || (row.first_ns == again.first_ns && row.last_ns == again.last_ns));
		CU_ASSERT(blank || (row.bloom_bytes == again.bloom_bytes &&
					   memcmp(row.bloom, again.bloom, row.bloom_bytes) == 0));
		sum->rows++;
		sum->records += row.records;
		sum->blank += blank;
	}
	CU_ASSERT_EQUAL(rc, 0);
	tl_index_builder_destroy(builder);
	free(sidecar);
	free(file);
}

// Records, rotating, with an index; everything that is written must be in it.
static void record_indexed(enum io io, void (*prepare)(struct rig *), struct indexed *sum)
{
	struct rig rig;
	struct tl_err err;
	struct tl_writer_stats stats;
	uint32_t n;

	rig_dir(&rig);
	rig.index = true;
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, io, 1 << 20, &err), 0);
	if (prepare != NULL)
		prepare(&rig);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	tl_writer_stats(rig.writer, &stats);
	const char *const *files = tl_writer_files(rig.writer, &n);
	for (uint32_t i = 0; i < n; i++)
		check_sidecar(files[i], sum);
	CU_ASSERT_EQUAL(sum->records, stats.written_pkts[TL_DIR_RX] + stats.written_pkts[TL_DIR_TX]);
	rig_close(&rig);
}

static void sidecar_has_every_slab(void)
{
	struct indexed sum = {0};

	record_indexed(URING, NULL, &sum);
	CU_ASSERT(sum.rows > 16);
	CU_ASSERT(sum.blank < sum.rows);
}

// One slab after another, each when the last has come back: the index is never behind.
static void every_row_is_filled_when_slabs_come_slowly(void)
{
	struct indexed sum = {0};
	struct rig rig;

	rig_dir(&rig);
	rig.index = true;
	rig_start(&rig, PWRITE, 0);
	for (int slab = 0; slab < 3 * SLABS; slab++) {
		commit_one(&rig, 0);
		seal(&rig);
		CU_ASSERT(tl_test_until(tl_slab_used(rig.rings[0]) == 0));
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_sidecar(rig.path, &sum);
	CU_ASSERT_EQUAL(sum.rows, 3 * SLABS);
	CU_ASSERT_EQUAL(sum.blank, 0);
	rig_close(&rig);
}

static void sidecar_survives_failed_writes(void)
{
	struct indexed sum = {0};

	record_indexed(FAULTY, NULL, &sum);
	CU_ASSERT(faulty.failed > 10);
}

static void hold_nothing(struct rig *rig)
{
	rig->writer->index.held_max = 0;
}

static void slow_index_leaves_blank_rows(void)
{
	struct indexed sum = {0};

	record_indexed(URING, hold_nothing, &sum);
	CU_ASSERT(sum.rows > 16);
	CU_ASSERT_EQUAL(sum.blank, sum.rows);
}

static void ring_drops_sidecars(void)
{
	struct rig rig;

	rig_dir(&rig);
	rig.index = true;
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	put_file(&rig, "x.pcapng.tlx", NULL); // of somebody else
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 3);
	CU_ASSERT(tl_test_count_files(rig.dir, ".tlx") <= 3 + 1); // fewer, where the index thread was too far behind
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng.tlx"));
	check_ring(&rig);
	rig_close(&rig);
}

static void ring_keeps_files(void)
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

static uint64_t bytes_of(const struct rig *rig, const char *end)
{
	const char *const *files;
	struct stat status;
	uint64_t bytes = 0;
	uint32_t n;

	files = tl_writer_files(rig->writer, &n);
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(strrchr(files[i], '.'), end) == 0 && stat(files[i], &status) == 0)
			bytes += (uint64_t)status.st_size;
	return bytes;
}

static void ring_keeps_bytes(void)
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
	CU_ASSERT(tl_test_until(bytes_of(&rig, ".pcapng") <= limit - file)); // the one being written has its room
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

static void removed_file_is_whole_for_who_has_it(void)
{
	static const char path[] = "/var/tmp/tl-writer-remove", second[] = "/var/tmp/tl-writer-remove-2";

	put_large_file(path);
	int reader = open(path, O_RDONLY);
	CU_ASSERT_EQUAL(remove_at(path), 0);
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT(has_its_end(reader));
	close(reader);

	put_large_file(path);
	unlink(second);
	CU_ASSERT_EQUAL(link(path, second), 0);
	CU_ASSERT_EQUAL(remove_at(path), 0);
	reader = open(second, O_RDONLY);
	CU_ASSERT(has_its_end(reader));
	close(reader);
	CU_ASSERT_EQUAL(remove_at(second), 0); // of this one nothing is left
	CU_ASSERT_EQUAL(remove_at(second), -ENOENT);
}

static void file_is_allocated_whole_and_cut_at_its_end(void)
{
	const uint64_t limit = 8 << 20;
	struct rig rig;
	struct stat status;

	rig_dir(&rig);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = limit});
	commit(&rig, 2000);
	CU_ASSERT(wait_for(&rig, false, 1000));
	uint32_t n;
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(stat(files[0], &status), 0);
	CU_ASSERT_EQUAL((uint64_t)status.st_size, limit);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(stat(rig.path, &status), 0);
	CU_ASSERT((uint64_t)status.st_size < limit / 2);
	check_complete(&rig);
	rig_close(&rig);
}

static void taken_name_is_passed_over(void)
{
	struct rig rig;

	rig_dir(&rig);
	put_file(&rig, "x.pcapng", NULL);
	put_file(&rig, "x_00002.pcapng", NULL);
	rig_start(&rig, URING, 1 << 20);
	commit(&rig, 4000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng") && tl_test_exists(rig.dir, "x_00003.pcapng"));
	check_complete(&rig);
	rig_close(&rig);
}

// A rig for another run in the directory of an earlier one.
static void rig_again(struct rig *rig, const struct rig *before)
{
	memset(rig, 0, sizeof(*rig));
	strcpy(rig->dir, before->dir);
	strcpy(rig->path, before->path);
}

static void end_run(struct rig *rig)
{
	tl_writer_destroy(rig->writer);
	for (uint32_t i = 0; i < RINGS; i++)
		tl_slab_destroy(rig->rings[i]);
}

static void ring_knows_its_files_again(void)
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
	end_run(&first);
	rig_again(&second, &first);
	rig_start_ring(&second, URING, policy);
	commit(&second, 3000);
	CU_ASSERT_EQUAL(rig_stop(&second), 0);
	tl_writer_stats(second.writer, &stats);
	CU_ASSERT(stats.files < 5);
	CU_ASSERT_EQUAL(stats.recycled_files, stats.files);
	CU_ASSERT_EQUAL(tl_test_count_files(second.dir, ".pcapng"), 5);
	snprintf(last, sizeof(last), "x_%05u.pcapng", (unsigned)(before.files + stats.files - 1));
	CU_ASSERT(tl_test_exists(second.dir, last)); // the numbers go on
	rig_close(&second);
}

// Whatever is called like one of its files, and is not.
static void ring_drops_nothing_but_its_own(void)
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
	int in_use = open(path, O_RDONLY); // another run is writing it
	CU_ASSERT_EQUAL(flock(in_use, LOCK_EX), 0);
	put_file(&rig, names[5], "tapline 1");
	put_file(&rig, names[6], "tapline 1");
	put_file(&rig, "x_00007.pcapng", "tapline 1");
	put_file(&rig, "x_00008.pcapng.part", "tapline 1"); // of a run that was killed

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

// A file of the ring that somebody replaced while it ran.
static void replaced_file_stays(void)
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

static void two_recordings_need_two_files(void)
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

// What a killed run left where the next file waits: blank it goes, with records it stays.
static void leftover_is_kept_if_it_holds_records(void)
{
	struct rig first, rig;
	char left[192];

	rig_open(&first, PWRITE, 0);
	commit(&first, 100);
	CU_ASSERT_EQUAL(rig_stop(&first), 0);
	snprintf(left, sizeof(left), "%s/.x.pcapng.next", first.dir);
	CU_ASSERT_EQUAL(rename(first.path, left), 0);
	end_run(&first);
	rig_again(&rig, &first);
	rig_start(&rig, PWRITE, 1 << 20);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng")); // recovered, and therefore complete
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng"));
	end_run(&rig);

	rig_again(&rig, &first);
	put_file(&rig, ".x.pcapng.next", "tapline 1");
	rig_start(&rig, PWRITE, 1 << 20);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, ".x.pcapng.next"));
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".part"), 0);
	rig_close(&rig);
}

// What a run was killed in: cut within a slab, and followed by what was preallocated.
static void next_run_recovers_the_last(void)
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
	end_run(&first);

	rig_again(&rig, &first);
	rig_start_ring(&rig, PWRITE, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng.part")); // its numbers go on
	commit(&rig, 100);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".part"), 0);
	CU_ASSERT(file_is_right(first.path, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT(found.records[TL_DIR_RX] + found.records[TL_DIR_TX] > 300);
	end_run(&rig);

	rig_again(&rig, &first); // and the ring knows it
	rig_start_ring(&rig, PWRITE, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 2});
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x.pcapng"));
	rig_close(&rig);
}

// A killed run left opening blocks over an earlier file, in the place of the next file.
static void leftover_without_records_leaves_no_trace(void)
{
	struct rig first, rig;
	char left[192];
	size_t size, at = 0;
	uint32_t block[2];

	rig_open(&first, PWRITE, 0);
	commit(&first, 1000);
	CU_ASSERT_EQUAL(rig_stop(&first), 0);
	snprintf(left, sizeof(left), "%s/.x.pcapng.next", first.dir);
	uint8_t *bytes = read_file(first.path, &size);
	end_run(&first);
	unlink(first.path);
	for (memcpy(block, bytes, sizeof(block)); block[0] != TL_PCAPNG_HEAD; memcpy(block, bytes + at, sizeof(block)))
		at += block[1];
	tl_pcapng_sign_head(bytes + at, 1, 0); // as if what opens another file had been written over it
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

// ---- the oldest file of a full ring is written again

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

static void full_ring_writes_its_oldest_file_again(void)
{
	reuse_with(URING, TL_WRITER_SYNC_NEVER);
	reuse_with(URING, TL_WRITER_SYNC_CLOSE);
	reuse_with(PWRITE, TL_WRITER_SYNC_NEVER);
	reuse_with(FAULTY, TL_WRITER_SYNC_NEVER);
}

// Two runs; before the second, something is done to the oldest file of the first.
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
	end_run(first);
	between(oldest);
	rig_again(rig, first);
	rig_start_ring(rig, PWRITE, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	commit(rig, 1700); // goes on in a second file
	CU_ASSERT_EQUAL(rig_stop(rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".pcapng"), 3);
	CU_ASSERT_NOT_EQUAL(access(oldest, F_OK), 0);
}

static void leave_it(const char *oldest)
{
}

static void next_run_writes_the_files_of_the_last_again(void)
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
	kept.bytes = read_file(oldest, &kept.size);
	kept.fd = open(oldest, O_RDONLY);
}

static void link_it(const char *oldest)
{
	kept.bytes = read_file(oldest, &kept.size);
	snprintf(kept.link, sizeof(kept.link), "%s.keep", oldest);
	CU_ASSERT_EQUAL(link(oldest, kept.link), 0);
	kept.fd = open(kept.link, O_RDONLY);
	close(kept.fd); // nobody has it open
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

static void file_that_somebody_has_is_not_written_again(void)
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

static void file_that_is_not_like_a_new_one_is_not_written_again(void)
{
	void (*const between[])(const char *) = {publish_it, shrink_it, give_it_away};
	struct rig first, rig;

	for (size_t i = 0; i < TL_ARRAY_LEN(between) - (geteuid() != 0); i++) {
		run_twice(&first, &rig, between[i]);
		CU_ASSERT_EQUAL(count_checked(&rig), 0);
		rig_close(&rig);
	}
}

static atomic_bool gate_is_open;

static uint32_t put_gated_epilogue(void *ctx, void *buf, uint32_t size)
{
	CU_ASSERT(tl_test_until(atomic_load(&gate_is_open)));
	return put_epilogue(ctx, buf, size);
}

// No file is completed before all is taken, and so no next file is opened; the writer goes on in the one it has.
static void slow_close_does_not_stall(void)
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 1 << 20, &err), 0);
	rig.writer->patience_ns = TL_WRITER_PATIENCE_NS;
	rig.writer->cfg.epilogue = put_gated_epilogue;
	atomic_store(&gate_is_open, false);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 10000); // 8 files, far more than the rings hold
	atomic_store(&gate_is_open, true);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

// Runs test in a small tmpfs of its own. It is gone with the mount namespace, or at the latest with the process.
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
	memset(rig, 0, sizeof(*rig));
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

// Tell whether the helper has completed what was left, opened the next file and made room for it since.
static bool has_tidied(const struct rig *rig)
{
	struct tl_writer_helper *helper = &rig->writer->helper;

	pthread_mutex_lock(&helper->lock);
	bool idle = helper->ahead != NULL && STAILQ_EMPTY(&helper->left) && STAILQ_EMPTY(&helper->begun) &&
		    !tl_writer_has_passed(helper->tidy);
	pthread_mutex_unlock(&helper->lock);
	return idle && tl_test_count_files(rig->dir, ".part") == 1 && tl_test_are_empty(rig->rings, RINGS);
}

static void recycle_in(const char *dir)
{
	static const struct tl_writer_policy policies[] = {
		{.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE}, // makes room in good time
		{.rotate_packets = 1000, .on_full = TL_WRITER_FULL_RECYCLE},  // when a write fails
		{.rotate_bytes = 1 << 20, .min_free_bytes = 3 << 20},	      // before the disk is full
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(policies); i++) {
		struct rig rig;
		struct tl_writer_stats stats;
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
		if (policies[i].rotate_bytes != 0) // room for the whole file that has just begun, or it has it
			CU_ASSERT(tl_test_until(free_bytes(dir) + bytes_of(&rig, ".part") >=
						policies[i].rotate_bytes - TL_PCAPNG_ALIGN));
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		tl_writer_stats(rig.writer, &stats);
		CU_ASSERT_EQUAL(stats.drop_disk_pkts[TL_DIR_RX] + stats.drop_disk_pkts[TL_DIR_TX], 0);
		CU_ASSERT(stats.recycled_files > 5);
		check_ring(&rig);
		rig_close(&rig);
	}
}

static void full_disk_recycles(void)
{
	on_small_disk(recycle_in);
}

static uint32_t put_late_epilogue(void *ctx, void *buf, uint32_t size)
{
	usleep(100000);
	return put_epilogue(ctx, buf, size);
}

// Files are completed far slower than they are written, so that there is none yet that could go.
static void recycle_late_in(const char *dir)
{
	static const enum io ios[] = {URING, PWRITE};

	for (size_t i = 0; i < TL_ARRAY_LEN(ios); i++) {
		struct rig rig;
		struct tl_err err;
		struct tl_writer_stats stats;
		rig_in(&rig, dir);
		rig.index = true;
		CU_ASSERT_EQUAL_FATAL(
			rig_create_ring(&rig, ios[i],
				(struct tl_writer_policy){.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE},
				&err),
			0);
		rig.writer->cfg.epilogue = put_late_epilogue;
		CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
		commit(&rig, 30000);
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		tl_writer_stats(rig.writer, &stats);
		CU_ASSERT_EQUAL(stats.drop_disk_pkts[TL_DIR_RX] + stats.drop_disk_pkts[TL_DIR_TX], 0);
		CU_ASSERT(stats.recycled_files > 5);
		check_ring(&rig);
		rig_close(&rig);
	}
}

static void late_completion_costs_no_frame(void)
{
	on_small_disk(recycle_late_in);
}

// The helper gets no prologue, and so no next file, until the gate opens; and one of more than a page.
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

static bool wants_room(struct tl_writer_helper *helper)
{
	pthread_mutex_lock(&helper->lock);
	bool asked = helper->room_asked;
	pthread_mutex_unlock(&helper->lock);
	return asked;
}

// The one file that there is takes all of the disk, while it waits for the next.
static void recycle_overdue_in(const char *dir)
{
	struct rig rig;
	struct tl_err err;
	struct tl_writer_stats stats;

	rig_in(&rig, dir);
	atomic_store(&gate_is_open, false);
	CU_ASSERT_EQUAL_FATAL(
		rig_create_ring(&rig, URING,
			(struct tl_writer_policy){.rotate_bytes = 1 << 20, .on_full = TL_WRITER_FULL_RECYCLE}, &err),
		0);
	rig.writer->cfg.prologue = put_gated_prologue;
	rig.writer->patience_ns = TL_WRITER_PATIENCE_NS;
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 8800); // as much as the disk and a part of the slabs hold
	CU_ASSERT(tl_test_until(wants_room(&rig.writer->helper)));
	atomic_store(&gate_is_open, true);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.drop_disk_pkts[TL_DIR_RX] + stats.drop_disk_pkts[TL_DIR_TX], 0);
	CU_ASSERT_EQUAL(stats.recycled_files, 1);
	check_ring(&rig);
	rig_close(&rig);
}

static void overdue_file_gives_way_to_the_next(void)
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

static void full_disk_pauses(void)
{
	on_small_disk(pause_in);
}

// Nothing of ours is left to drop: what somebody else takes does not end below the limit.
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

static void limit_of_free_space_holds(void)
{
	on_small_disk(stop_above_limit_in);
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes == 0 ? limit.rlim_max : bytes;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// A large slab is refused, and a small one behind it is not: it lies where the large one was to be.
static void sidecar_knows_what_was_refused(void)
{
	struct rig rig;
	struct tl_err err;
	struct tl_writer_stats stats;
	struct indexed sum = {0};

	rig_dir(&rig);
	rig.index = true;
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 0, &err), 0);
	for (int slab = 0; slab < 2; slab++) {
		for (int i = 0; i < 100; i++)
			commit_one(&rig, 0);
		commit_one(&rig, 1);
		seal(&rig);
	}
	limit_file_size(TL_PCAPNG_ALIGN + SLAB_BYTES + 10 * TL_PCAPNG_ALIGN);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	limit_file_size(0);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT(stats.drop_disk_pkts[TL_DIR_RX] > 0);
	check_sidecar(rig.path, &sum);
	CU_ASSERT(sum.rows >= 3);
	CU_ASSERT_EQUAL(sum.records, stats.written_pkts[TL_DIR_RX] + stats.written_pkts[TL_DIR_TX]);
	rig_close(&rig);
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
	bool closed;

	rig_open(&rig, io, 0);
	limit_file_size(1 << 20);
	commit(&rig, 6000);
	CU_ASSERT(wait_for(&rig, true, 1000));
	seal(&rig);
	CU_ASSERT(tl_test_until(count(&rig, true) + count(&rig, false) >= 6000));
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

// ---- a disk that fails as told: pwrite() of this program

static struct {
	atomic_int code;	     // 0: none
	_Atomic uint64_t good_bytes; // what it takes before that
} disk;

static void fail_disk(int code, uint64_t good_bytes)
{
	atomic_store(&disk.good_bytes, good_bytes);
	atomic_store(&disk.code, code);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	if (atomic_load(&disk.code) != 0 && (uint64_t)offset + len > atomic_load(&disk.good_bytes)) {
		errno = atomic_load(&disk.code);
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, len, offset);
}

// The disk fails behind the first mebibyte of each file, then it is well again.
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

static void failing_disk_is_counted(void)
{
	static const int codes[] = {EIO, EDQUOT, EROFS, ESTALE};

	for (size_t i = 0; i < TL_ARRAY_LEN(codes); i++)
		fail_and_heal(codes[i]);
}

// To the end, so that neither the last file nor the epilogue can be had.
static void failing_disk_does_not_hold_stop(void)
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

// ---- a target that goes away

// The helper may create a file while it goes.
static void remove_dir(const struct rig *rig)
{
	CU_ASSERT(tl_test_until(nftw(rig->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0));
}

static uint64_t sum(const uint64_t pkts[TL_DIRS])
{
	return pkts[TL_DIR_RX] + pkts[TL_DIR_TX];
}

// 1000 records before the directory goes, 1000 without it, 1000 when it is there again.
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
	CU_ASSERT(wait_files(&rig, 2)); // by itself, with nothing to write
	commit(&rig, 1000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOENT);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(sum(stats.written_pkts), 2000);
	CU_ASSERT_EQUAL(sum(stats.drop_disk_pkts), 1000);
	check_ledger(&rig, NULL);
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 1); // those that are still there
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	CU_ASSERT_EQUAL(sum(found.records), 1000);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig.committed[ring]);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, "x.pcapng.next"), 0);
	rig_close(&rig);
}

static bool next_is_wished(struct tl_writer *writer)
{
	pthread_mutex_lock(&writer->helper.lock);
	bool wished = writer->helper.wished;
	pthread_mutex_unlock(&writer->helper.lock);
	return wished;
}

// Remove the directory between the creation of the next file and the end of its prologue.
static void next_file_removed_while_it_is_opened(void)
{
	struct rig rig;
	struct tl_writer_stats stats;

	rig_dir(&rig);
	pthread_mutex_init(&rig.gate, NULL);
	rig.gated = 2;
	pthread_mutex_lock(&rig.gate);
	rig_start(&rig, PWRITE, 64 << 20);
	commit(&rig, 1000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 1000));
	while (__atomic_load_n(&rig.prologues, __ATOMIC_ACQUIRE) < rig.gated)
		usleep(1000);
	remove_dir(&rig);
	commit(&rig, 1000);
	seal(&rig);
	while (!next_is_wished(rig.writer))
		usleep(1000);
	pthread_mutex_unlock(&rig.gate);
	CU_ASSERT(wait_for(&rig, true, 1000));
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOENT);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(sum(stats.written_pkts), 1000);
	check_ledger(&rig, NULL);
	rig_close(&rig);
}

static void removed_directory_is_waited_for(void)
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

static void removed_directory_does_not_hold_stop(void)
{
	stop_without_directory(0);
	stop_without_directory(64 << 20);
}

// The file alone: the next can begin at once.
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

static void removed_file_is_left(void)
{
	remove_file(0);
	remove_file(64 << 20);
}

// By way of /proc, as a caller does that passes a descriptor on.
static void nameless_file_is_no_removed_file(void)
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

// ---- a limit of the file size

static void grow_beyond_the_limit(enum io io, struct tl_writer_policy policy)
{
	struct rig rig;
	uint32_t n;

	rig_dir(&rig);
	limit_file_size((1 << 20) + 3 * TL_PCAPNG_ALIGN);
	rig_start_ring(&rig, io, policy);
	commit(&rig, 10000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	limit_file_size(0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 5);
	check_complete(&rig);
	rig_close(&rig);
}

static void largest_file_gives_way_to_the_next(void)
{
	grow_beyond_the_limit(URING, (struct tl_writer_policy){.rotate_bytes = 64 << 20});
	grow_beyond_the_limit(PWRITE, (struct tl_writer_policy){.rotate_seconds = 3600});
	grow_beyond_the_limit(FAULTY, (struct tl_writer_policy){.rotate_packets = 100000});
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
	struct tl_writer_file *file = rig.writer->file;
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

static void pipe_gets_plain_pcapng(void)
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

static void a_reader_that_may_leave_is_no_error(void)
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

// Only the last blocks meet the closed pipe, unless the writer looks in between.
static void nor_is_one_that_leaves_at_the_end(void)
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
	CU_ASSERT(after.tv_sec - before.tv_sec >= 4);
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

// Records until the file that is being written has statistics, as whoever reads it after a crash would see it.
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

static void statistics_stand_between_slabs(void)
{
	check_statistics(URING);
	check_statistics(PWRITE);
	check_statistics(FAULTY);
}

static void an_idle_file_gets_no_statistics(void)
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

static void null_discards_what_it_counts(void)
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

static void unstarted_writer_can_be_destroyed(void)
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL(rig_create(&rig, URING, 0, &err), 0);
	rig_close(&rig);
}

static const struct tl_test tests[] = {
	{"with io_uring every record reaches the file once, in the order of its ring", uring_writes_all},
	{"with pwrite every record reaches the file once, in the order of its ring", pwrite_writes_all},
	{"a write that fails among others in flight is repeated and leaves no hole", failed_write_is_repeated},
	{"a recording without packets opens and closes like any other, mode 0640", empty_recording_is_a_file},
	{"a rotated file is whole and keeps within its size", rotated_files_are_whole},
	{"the number of a rotated file stands before its suffix", number_stands_before_the_suffix},
	{"names tell the time in UTC", names_tell_the_time},
	{"a path with unknown conversions is refused", unknown_conversions_are_refused},
	{"only names that a recording could give are taken for its own", only_names_that_it_could_give_match},
	{"when the next file cannot be opened the recording goes on in the last", rotation_that_fails_loses_nothing},
	{"a file of a ring is called .part until it is complete", file_is_part_until_complete},
	{"time rotates at full periods, also a recording without packets", time_rotates_idle_recordings},
	{"a clock that steps back does not put off the next rotation",
		clock_that_steps_back_does_not_put_off_the_rotation},
	{"packets rotate", packets_rotate},
	{"any file is rotated on demand", asking_rotates_any_file},
	{"a ring keeps so many files", ring_keeps_files},
	{"a ring keeps so many bytes", ring_keeps_bytes},
	{"a sidecar has a row for each slab of its file", sidecar_has_every_slab},
	{"every row is filled when slabs come slowly", every_row_is_filled_when_slabs_come_slowly},
	{"a sidecar is right after failed writes", sidecar_survives_failed_writes},
	{"a sidecar knows nothing of slabs that were refused", sidecar_knows_what_was_refused},
	{"when the index is behind, rows say only where slabs are", slow_index_leaves_blank_rows},
	{"a ring drops a sidecar with its file", ring_drops_sidecars},
	{"a removed file is whole for who has it open, or by another name", removed_file_is_whole_for_who_has_it},
	{"a file that rotates by size is allocated whole, and cut at its end",
		file_is_allocated_whole_and_cut_at_its_end},
	{"a name that is taken is passed over", taken_name_is_passed_over},
	{"a ring knows its files again after a restart", ring_knows_its_files_again},
	{"a ring drops nothing but its own files", ring_drops_nothing_but_its_own},
	{"a file of the ring that was replaced stays", replaced_file_stays},
	{"two recordings do not write one file", two_recordings_need_two_files},
	{"what a killed run left is kept if it holds records", leftover_is_kept_if_it_holds_records},
	{"nothing is kept of what a killed run had not begun", leftover_without_records_leaves_no_trace},
	{"a full ring writes its oldest file again", full_ring_writes_its_oldest_file_again},
	{"the next run writes the files of the last again", next_run_writes_the_files_of_the_last_again},
	{"a file that somebody has is not written again", file_that_somebody_has_is_not_written_again},
	{"a file that is not like a new one is not written again",
		file_that_is_not_like_a_new_one_is_not_written_again},
	{"the next run recovers what the last was killed in", next_run_recovers_the_last},
	{"a slow close does not stall the writing", slow_close_does_not_stall},
	{"on a full disk the oldest file is dropped and nothing is lost", full_disk_recycles},
	{"on a full disk frames find room although files are completed late", late_completion_costs_no_frame},
	{"on a full disk a file that has more than its size gives way to the next", overdue_file_gives_way_to_the_next},
	{"or the recording pauses until there is room", full_disk_pauses},
	{"without anything to drop it stops above the free space to leave", limit_of_free_space_holds},
	{"what the disk refuses is counted exactly and leaves no trace in the file", refused_packets_are_counted},
	{"writing goes on when the disk takes data again", writing_goes_on},
	{"no slab is written before the prologue is", full_disk_holds_back_the_prologue},
	{"an epilogue that cannot be written leaves no trace", failed_epilogue_leaves_no_trace},
	{"a disk error or a quota costs what it refuses, counted, and leaves no trace in the file",
		failing_disk_is_counted},
	{"a disk that fails to the end does not hold stop", failing_disk_does_not_hold_stop},
	{"without its directory a recording counts what is lost, and goes on when it is there again",
		removed_directory_is_waited_for},
	{"a next file that is removed while it is opened takes no packets", next_file_removed_while_it_is_opened},
	{"a removed directory does not hold stop", removed_directory_does_not_hold_stop},
	{"a file that is removed is left for a new one, and nothing is lost", removed_file_is_left},
	{"a file that never had a name is recorded to", nameless_file_is_no_removed_file},
	{"a file that may not grow gives way to the next, and nothing is lost", largest_file_gives_way_to_the_next},
	{"a path that cannot be recorded to is refused with its name", bad_paths_are_refused},
	{"an old file is replaced", old_file_is_replaced},
	{"a recording into tmpfs is whole", tmpfs_is_served},
	{"where O_DIRECT is refused the page cache is used", no_direct_io_is_served},
	{"O_DIRECT is given up when a write proves it unusable", unusable_direct_io_is_given_up},
	{"without io_uring it writes with pwrite", pwrite_stands_in_for_io_uring},
	{"a pipe gets the blocks without what serves files only", pipe_gets_plain_pcapng},
	{"a reader of a pipe that leaves is noticed, and what it missed is counted", reader_that_leaves_is_noticed},
	{"it is noticed although nothing is written", idle_pipe_notices_too},
	{"a reader that may leave is no error", a_reader_that_may_leave_is_no_error},
	{"nor is one that leaves at the end", nor_is_one_that_leaves_at_the_end},
	{"a pipe that nobody reads does not hold stop for ever", stalled_pipe_does_not_hold_stop},
	{"a device is written like a pipe", devices_are_streams},
	{"a file that grows has statistics between its slabs", statistics_stand_between_slabs},
	{"a file that does not grow gets no more of them", an_idle_file_gets_no_statistics},
	{"null: discards what it counts", null_discards_what_it_counts},
	{"a writer that was never started can be destroyed", unstarted_writer_can_be_destroyed},
};

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_main("writer", tests, TL_ARRAY_LEN(tests));
}
