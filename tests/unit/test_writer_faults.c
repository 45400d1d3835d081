// SPDX-License-Identifier: BSD-3-Clause
// writer: with any failing call, data not confirmed by the disk is not counted as written, and its file gets no
// complete name.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_pcapfile.h>
#include <tl_recover.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_rig.h>
#include <tl_verify.h>
#include <tl_writer.h>

#include "writer_priv.h"

#define MANY 64 // slabs
#define FRAME_BYTES 500
#define A_SLAB 100 // records per slab

// ---- calls of this program that fail on request

enum call { DATA_SYNC, FILE_SYNC, DIRECTORY_SYNC, FILE_CLOSE, CUT, TEXT, N_CALLS };

static struct fault {
	atomic_uint calls;
	atomic_uint from, to; // calls that fail, counted from 1; to 0: none
	atomic_int code;
} faults[N_CALLS];

static atomic_bool journals;  // the file system says that it does not write directly
static atomic_bool gate_shut; // fdatasync() waits while it is
static atomic_uint at_gate;

static void fail_calls(enum call call, unsigned from, unsigned to, int code)
{
	atomic_store(&faults[call].calls, 0);
	atomic_store(&faults[call].from, from);
	atomic_store(&faults[call].to, to);
	atomic_store(&faults[call].code, code);
}

static void heal(void)
{
	for (int call = 0; call < N_CALLS; call++)
		fail_calls((enum call)call, 0, 0, 0);
	atomic_store(&journals, false);
	atomic_store(&gate_shut, false);
	atomic_store(&at_gate, 0);
}

static bool fails(enum call call)
{
	struct fault *fault = &faults[call];
	unsigned n = atomic_fetch_add(&fault->calls, 1) + 1;
	int code = atomic_load(&fault->code); // read it once: the test heals at any time

	if (code == 0 || n < atomic_load(&fault->from) || n > atomic_load(&fault->to))
		return false;
	errno = code;
	return true;
}

int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict status)
{
	int rc = (int)syscall(SYS_statx, dir, path, flags, mask, status);

	if (rc == 0 && (mask & STATX_DIOALIGN)) {
		status->stx_mask |= STATX_DIOALIGN;
		status->stx_dio_offset_align = atomic_load(&journals) ? 0 : TL_PCAPNG_ALIGN;
	}
	return rc;
}

int fdatasync(int fd)
{
	atomic_fetch_add(&at_gate, 1);
	while (atomic_load(&gate_shut))
		usleep(100);
	return fails(DATA_SYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	struct stat status;
	bool directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);

	return fails(directory ? DIRECTORY_SYNC : FILE_SYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

// Fail for files that are written. The kernel closes them in any case.
int close(int fd)
{
	struct stat status;
	bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	bool is_written = is_file && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
	int rc = (int)syscall(SYS_close, fd);

	return is_written && fails(FILE_CLOSE) ? -1 : rc;
}

int ftruncate(int fd, off_t bytes)
{
	return fails(CUT) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

static atomic_uint named, unmarked; // new recordings that got a name, and those of them without a mark of ours
static atomic_bool name_taken;	    // by another program, just before the next one gets it

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	int fd = strstr(to, TL_INDEX_SUFFIX) == NULL ? open(from, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		atomic_fetch_add(&named, 1);
		atomic_fetch_add(&unmarked, !tl_recover_is_ours(fd));
		close(fd);
		if (atomic_exchange(&name_taken, false))
			close(open(to, O_WRONLY | O_CREAT | O_EXCL, 0600));
	}
	return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

// Distinguish the name of a recording from those of sidecars and hidden files, which the helper creates at any time.
static bool is_name(const char *format)
{
	return strncmp(format, "%s%s", strlen("%s%s")) == 0;
}

int plain_asprintf(char **text, const char *format, ...) __asm__("asprintf");

int plain_asprintf(char **text, const char *format, ...)
{
	va_list args;

	if (is_name(format) && fails(TEXT))
		return -1;
	va_start(args, format);
	int chars = vasprintf(text, format, args);
	va_end(args);
	return chars;
}

// The fortified variant of open().
int __asprintf_chk(char **text, int flag, const char *format, ...);

int __asprintf_chk(char **text, int flag, const char *format, ...)
{
	va_list args;

	if (is_name(format) && fails(TEXT))
		return -1;
	va_start(args, format);
	int chars = vasprintf(text, format, args);
	va_end(args);
	return chars;
}

// ---- a ring filled by this thread, and a writer that empties it into a new directory

struct how {
	bool cached; // through the page cache
	bool pwrite;
	bool index;
	bool unaligned; // classic pcap
	enum tl_digest_kind digest;
	uint64_t statistics_ns;
	struct tl_writer_policy policy;
	const struct tl_writer_backend *backend; // NULL: the writer's default
};

static void rig_open(struct rig *rig, struct how how)
{
	rig_dir(rig);
	rig->n_rings = 1;
	rig->slabs = MANY;
	heal();
	rig_make(rig, (struct tl_writer_cfg){.io = how.pwrite ? TL_WRITER_IO_PWRITE : TL_WRITER_IO_URING,
			      .policy = how.policy,
			      .index = how.index,
			      .unaligned = how.unaligned,
			      .digest = how.digest,
			      .statistics_ns = how.statistics_ns});
	if (how.cached) { // as if the file system rejected O_DIRECT
		struct tl_writer_file *file = rig->writer->file;
		atomic_store(&rig->writer->direct_refused, true);
		fcntl(file->fd, F_SETFL, fcntl(file->fd, F_GETFL) & ~O_DIRECT);
		file->direct = false;
	}
	if (how.backend != NULL)
		rig->writer->backend = how.backend;
	rig_run(rig);
}

static void rig_done(struct rig *rig)
{
	heal();
	rig_close(rig);
}

static void commit_slabs(struct rig *rig, uint32_t slabs)
{
	for (uint32_t i = 0; i < slabs; i++) {
		put_frames(rig, A_SLAB, FRAME_BYTES);
		tl_slab_seal(rig->rings[0]);
	}
}

// Check that the writer never counts more than was committed.
static struct tl_writer_flow look(const struct rig *rig)
{
	struct tl_writer_flow flow;

	tl_writer_flow(rig->writer, 0, &flow);
	CU_ASSERT(flow.written_pkts[TL_DIR_RX] + flow.drop_disk_pkts[TL_DIR_RX] <= rig->frames);
	return flow;
}

static uint64_t written(const struct rig *rig)
{
	return look(rig).written_pkts[TL_DIR_RX];
}

static uint64_t dropped(const struct rig *rig)
{
	return look(rig).drop_disk_pkts[TL_DIR_RX];
}

// Check whether a value is reached in time.
static bool reaches(uint64_t (*value)(const struct rig *rig), const struct rig *rig, uint64_t least)
{
	return tl_test_until(value(rig) >= least);
}

static uint64_t syncs(const struct rig *rig)
{
	return atomic_load(&at_gate);
}

// Return the number of slabs submitted to the file.
static uint64_t taken(const struct rig *rig)
{
	return MANY - tl_slab_used(rig->rings[0]);
}

// Check whether the next file is open.
static uint64_t waiting(const struct rig *rig)
{
	return tl_test_has_next(rig->writer);
}

// Count the records of a file of complete blocks, with numbers ascending from *next; -1: invalid.
static int64_t count_records(const char *path, uint32_t *next)
{
	int64_t records = 0;
	size_t size;
	uint8_t *data = tl_test_read_file(path, &size);

	if (data == NULL)
		return -1;
	for (size_t at = 0; at < size && records >= 0;) {
		uint32_t head[2], tail, number;
		memcpy(head, data + at, tl_min_u64(sizeof(head), size - at));
		bool whole = size - at >= 12 && head[1] >= 12 && head[1] <= size - at;
		if (whole)
			memcpy(&tail, data + at + head[1] - 4, 4);
		if (!whole || tail != head[1] || (head[0] == TL_PCAPNG_SHB) != (at == 0)) {
			records = -1;
			break;
		}
		if (head[0] == TL_PCAPNG_EPB) {
			memcpy(&number, data + at + 28, 4);
			records = number >= *next ? records + 1 : -1;
			*next = number + 1;
		}
		at += head[1];
	}
	free(data);
	return records;
}

// Count the records in all files with a complete name, or with parts in the others too; -1: a file is incomplete.
static int64_t records_in_files(const struct rig *rig, bool parts)
{
	const char *const *files;
	uint32_t n, next = 0;
	int64_t sum = 0;

	files = tl_writer_files(rig->writer, &n);
	for (uint32_t i = 0; i < n && sum >= 0; i++) {
		bool part = strcmp(files[i] + strlen(files[i]) - strlen(TL_WRITER_PART), TL_WRITER_PART) == 0;
		if (part && !parts)
			continue;
		int64_t records = count_records(files[i], &next);
		sum = records < 0 ? -1 : sum + records;
	}
	return sum;
}

static uint32_t count_parts(const struct rig *rig)
{
	const char *const *files;
	uint32_t n, parts = 0;

	files = tl_writer_files(rig->writer, &n);
	for (uint32_t i = 0; i < n; i++)
		parts += strcmp(files[i] + strlen(files[i]) - strlen(TL_WRITER_PART), TL_WRITER_PART) == 0;
	return parts;
}

// Check that each record has one outcome at the end, and that the files contain the written ones.
static void check_ledger(const struct rig *rig)
{
	struct tl_writer_stats stats;

	CU_ASSERT_EQUAL(written(rig) + dropped(rig), rig->frames);
	CU_ASSERT_EQUAL((uint64_t)records_in_files(rig, true), written(rig));
	tl_writer_stats(rig->writer, &stats);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_RX], written(rig));
}

// ---- through the page cache

TL_TEST("packets in the page cache count as written after the sync")
{
	for (int pwrite = 0; pwrite < 2; pwrite++) {
		struct rig rig;
		rig_open(&rig, (struct how){.cached = true, .pwrite = pwrite});
		atomic_store(&gate_shut, true);
		commit_slabs(&rig, 5);
		CU_ASSERT(reaches(syncs, &rig, 1));
		CU_ASSERT(reaches(taken, &rig, MANY)); // all of them, while the first is still in flight
		CU_ASSERT_EQUAL(written(&rig), 0);
		CU_ASSERT_EQUAL(dropped(&rig), 0);
		atomic_store(&gate_shut, false);
		CU_ASSERT(reaches(written, &rig, 5 * A_SLAB)); // without further writes
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		check_ledger(&rig);
		rig_done(&rig);
	}
}

static void check_digests(const struct rig *rig)
{
	uint32_t n;
	const char *const *files = tl_writer_files(rig->writer, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct tl_verify_report report;
		struct tl_err err;
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		CU_ASSERT_EQUAL(tl_verify_fd(fd, &(struct tl_verify_opts){0}, &report, &err), 0);
		CU_ASSERT_EQUAL(report.outcome, TL_VERIFY_GOOD);
		close(fd);
	}
}

// Consecutive syncs fail; confirmed data stays, and later data is rewritten.
static void lose_one(struct how how, unsigned failing)
{
	struct rig rig;

	rig_open(&rig, how);
	fail_calls(DATA_SYNC, failing, failing, EIO);
	for (unsigned sync = 1; sync <= failing + 1; sync++) {
		uint64_t before = written(&rig);
		commit_slabs(&rig, 3);
		CU_ASSERT(sync == failing ? reaches(dropped, &rig, A_SLAB) : reaches(written, &rig, before + A_SLAB));
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	CU_ASSERT_PTR_NOT_NULL(tl_writer_error(rig.writer));
	CU_ASSERT(dropped(&rig) >= A_SLAB);
	CU_ASSERT(written(&rig) >= A_SLAB);
	check_ledger(&rig);
	CU_ASSERT_EQUAL(records_in_files(&rig, false), records_in_files(&rig, true));
	if (how.digest != TL_DIGEST_NONE)
		check_digests(&rig);
	rig_done(&rig);
}

TL_TEST("page cache data lost by the disk is counted as dropped and truncated")
{
	lose_one((struct how){.cached = true}, 2);
	lose_one((struct how){.cached = true, .pwrite = true}, 2);
	lose_one((struct how){.cached = true, .policy.rotate_bytes = 16 << 20}, 2);
}

// ext4 with data=journal: the first call confirms the journal's copy.
TL_TEST("data that the disk lost after it was in the journal is counted as dropped")
{
	struct rig rig;

	rig_open(&rig, (struct how){.cached = true});
	atomic_store(&journals, true);
	fail_calls(DATA_SYNC, 2, 2, ENOSPC);
	commit_slabs(&rig, 3);
	CU_ASSERT(reaches(dropped, &rig, A_SLAB));
	CU_ASSERT_EQUAL(written(&rig), 0);
	commit_slabs(&rig, 3);
	CU_ASSERT(reaches(written, &rig, 3 * A_SLAB));
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOSPC);
	check_ledger(&rig);
	rig_done(&rig);
}

TL_TEST("the digests of a file do not cover page cache data lost by the disk")
{
	lose_one((struct how){.cached = true, .digest = TL_DIGEST_CRC32C}, 2);
	lose_one((struct how){.cached = true, .digest = TL_DIGEST_CRC32C}, 1);
}

TL_TEST("the prologue is rewritten if the disk lost it")
{
	lose_one((struct how){.cached = true}, 1);
	lose_one((struct how){.cached = true, .pwrite = true, .policy.rotate_bytes = 16 << 20}, 1);
}

// The writer is busy when the error occurs.
TL_TEST("a disk error during writes drops the data in the page cache")
{
	for (int round = 0; round < 5; round++) {
		struct rig rig;
		rig_open(&rig, (struct how){.cached = true});
		fail_calls(DATA_SYNC, 2, 2, ENOSPC);
		commit_slabs(&rig, 1);
		CU_ASSERT(reaches(written, &rig, A_SLAB));
		atomic_store(&gate_shut, true);
		commit_slabs(&rig, 100);
		CU_ASSERT(reaches(syncs, &rig, 2));
		atomic_store(&gate_shut, false);
		for (int i = 0; i < 30 || (i < 1000 && dropped(&rig) == 0); i++)
			commit_slabs(&rig, 10);
		CU_ASSERT_EQUAL(rig_stop(&rig), -ENOSPC);
		CU_ASSERT(dropped(&rig) > 0);
		check_ledger(&rig);
		rig_done(&rig);
	}
}

// The disk stores no more data of the first file, which the writer has left already.
TL_TEST("a disk error after a rotation affects the previous file")
{
	struct rig rig;

	rig_open(&rig, (struct how){.cached = true, .policy.rotate_packets = 10 * A_SLAB});
	commit_slabs(&rig, 2);
	CU_ASSERT(reaches(written, &rig, 2 * A_SLAB));
	atomic_store(&gate_shut, true);
	fail_calls(DATA_SYNC, 1, 1, EIO);
	commit_slabs(&rig, 12);
	CU_ASSERT(reaches(taken, &rig, MANY));
	CU_ASSERT(tl_test_until(count_parts(&rig) == 2)); // and it is not renamed
	atomic_store(&gate_shut, false);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	CU_ASSERT_EQUAL(count_parts(&rig), 0);
	CU_ASSERT(dropped(&rig) > 0 && dropped(&rig) <= 8 * A_SLAB);
	check_ledger(&rig);
	rig_done(&rig);
}

TL_TEST("a file with lost slabs has no sidecar")
{
	struct rig rig;
	char sidecar[128];

	rig_open(&rig, (struct how){.cached = true, .index = true});
	snprintf(sidecar, sizeof(sidecar), "%s" TL_INDEX_SUFFIX, rig.path);
	fail_calls(DATA_SYNC, 2, 2, EIO);
	commit_slabs(&rig, 1);
	CU_ASSERT(reaches(written, &rig, A_SLAB));
	commit_slabs(&rig, 1);
	CU_ASSERT(reaches(dropped, &rig, A_SLAB));
	commit_slabs(&rig, 1);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	CU_ASSERT_NOT_EQUAL(access(sidecar, F_OK), 0);
	check_ledger(&rig);
	rig_done(&rig);
}

TL_TEST("a disk that loses all data does not block stop")
{
	struct rig rig;

	rig_open(&rig, (struct how){.cached = true, .policy.rotate_packets = 5 * A_SLAB});
	fail_calls(DATA_SYNC, 1, UINT32_MAX, EIO);
	fail_calls(FILE_SYNC, 1, UINT32_MAX, EIO);
	commit_slabs(&rig, 30);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	CU_ASSERT_EQUAL(written(&rig), 0);
	check_ledger(&rig);
	rig_done(&rig);
}

// ---- pending writes, and writes moved to another file

static atomic_uint most_in_flight;
static atomic_uint full_when_due; // rounds of the writer that begin with a full queue and due statistics

static void note_start(struct tl_writer *writer, struct tl_writer_write *write)
{
	if (writer->flight_count > TL_WRITER_DEPTH)
		abort(); // it has overwritten one in flight, for which the writer would wait for ever
	if (writer->flight_count > atomic_load(&most_in_flight))
		atomic_store(&most_in_flight, writer->flight_count);
}

// Finish the youngest write, after the next statistics are due.
static void finish_youngest_late(struct tl_writer *writer, bool wait)
{
	if (!wait && !atomic_load(&writer->stop))
		return;
	usleep(10000); // longer than a tick of the coarse clock
	for (uint32_t i = writer->flight_count; i-- > 0;) {
		struct tl_writer_write *write = &writer->flight[(writer->flight_first + i) % TL_WRITER_DEPTH];
		if (write->result != TL_WRITER_PENDING)
			continue;
		write->result = tl_writer_file_write(write->file, write->data, write->len_bytes, write->offset_bytes);
		bool full = i != 0 && writer->flight_count == TL_WRITER_DEPTH;
		atomic_fetch_add(&full_when_due, full && !writer->statistics.in_flight);
		return;
	}
}

static void no_fini(struct tl_writer *writer)
{
}

TL_TEST("statistics wait for a free write slot")
{
	static const struct tl_writer_backend late = {
		.depth = TL_WRITER_DEPTH, .start = note_start, .reap = finish_youngest_late, .fini = no_fini};
	struct rig rig;

	atomic_store(&most_in_flight, 0);
	rig_open(&rig, (struct how){.statistics_ns = 1, .pwrite = true, .backend = &late});
	tl_writer_set_limit(rig.writer, 0); // then it takes all at once, with no time for statistics in between
	commit_slabs(&rig, 2 * TL_WRITER_DEPTH);
	tl_writer_set_limit(rig.writer, TL_WRITER_NO_LIMIT);
	CU_ASSERT(tl_test_until(atomic_load(&full_when_due) != 0));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(atomic_load(&most_in_flight), TL_WRITER_DEPTH);
	check_ledger(&rig);
	rig_done(&rig);
}

// Small slabs fill the first file to its maximum size; a large one goes to the next file and counts there.
TL_TEST("packets moved to the next file are counted there")
{
	const struct tl_writer_policy policy = {.rotate_packets = 250};
	struct rlimit before, limit;
	const char *const *files;
	struct rig rig;
	uint32_t n, next = 0;

	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 61 * TL_PCAPNG_ALIGN;
	setrlimit(RLIMIT_FSIZE, &limit);
	rig_open(&rig, (struct how){.pwrite = true, .policy = policy});
	for (int i = 0; i < 50; i++) {
		put_frames(&rig, 1, FRAME_BYTES);
		tl_slab_seal(rig.rings[0]);
	}
	commit_slabs(&rig, 10);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	setrlimit(RLIMIT_FSIZE, &before);
	files = tl_writer_files(rig.writer, &n);
	CU_ASSERT(n >= 6);
	for (uint32_t i = 0; i < n; i++)
		CU_ASSERT(count_records(files[i], &next) <= 250);
	check_ledger(&rig);
	rig_done(&rig);
}

// ---- data that never reached a disk

TL_TEST("a slab that could not be converted is dropped and counted")
{
	struct rig rig;

	rig_open(&rig, (struct how){0});
	commit_slabs(&rig, 2);
	CU_ASSERT(reaches(written, &rig, 2 * A_SLAB));
	struct tl_slab *slab = tl_slab_alloc(rig.rings[0]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slab);
	slab->used_bytes = slab->sealed_bytes = slab->head_bytes = 0;
	slab->records[TL_DIR_RX] = A_SLAB;
	slab->records[TL_DIR_TX] = 0;
	slab->n_origins = 0;
	rig.frames += A_SLAB;
	tl_slab_submit(rig.rings[0], slab);
	commit_slabs(&rig, 2);
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOMEM);
	CU_ASSERT_EQUAL(dropped(&rig), A_SLAB);
	check_ledger(&rig);
	rig_done(&rig);
}

// ---- guarantees of a complete name

static const struct tl_writer_policy closing = {.rotate_packets = 10 * A_SLAB, .sync = TL_WRITER_SYNC_CLOSE};

// Three files, one of which cannot be completed.
static void complete_three(struct how how, enum call call, unsigned failing, bool known)
{
	struct rig rig;

	rig_open(&rig, how);
	fail_calls(call, failing, failing, EIO);
	for (int file = 0; file < 3; file++) {
		commit_slabs(&rig, 10);
		tl_test_settle(rig.writer, rig.rings, 1);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	CU_ASSERT_EQUAL(count_parts(&rig), 1);
	CU_ASSERT_EQUAL(records_in_files(&rig, false), 20 * A_SLAB);
	CU_ASSERT_EQUAL(dropped(&rig), known ? 0 : 10 * A_SLAB);
	CU_ASSERT_EQUAL(written(&rig) + dropped(&rig), rig.frames);
	rig_done(&rig);
}

TL_TEST("a file with a failed fsync stays .part, and its packets count as dropped")
{
	for (unsigned failing = 1; failing <= 3; failing++)
		complete_three((struct how){.policy = closing}, FILE_SYNC, failing, false);
}

// Its last fsync confirms its closing blocks.
TL_TEST("a page cache file with a failed last fsync stays .part with its packets")
{
	const struct tl_writer_policy policy = {.rotate_packets = 10 * A_SLAB};

	for (unsigned failing = 1; failing <= 3; failing++)
		complete_three((struct how){.cached = true, .policy = policy}, FILE_SYNC, failing, true);
}

TL_TEST("a file with a failed directory fsync stays .part, and its packets count as dropped")
{
	for (unsigned failing = 1; failing <= 3; failing++)
		complete_three((struct how){.policy = closing}, DIRECTORY_SYNC, failing, false);
}

// NFS reports writes that failed.
TL_TEST("a file with a failed close stays .part, and its packets count as dropped")
{
	const struct tl_writer_policy policy = {.rotate_packets = 10 * A_SLAB};

	for (unsigned failing = 1; failing <= 3; failing++)
		complete_three((struct how){.policy = policy}, FILE_CLOSE, failing, false);
}

TL_TEST("packets of a single file with a failed fsync count as dropped")
{
	for (int call = FILE_SYNC; call <= DIRECTORY_SYNC; call++) {
		struct rig rig;
		rig_open(&rig, (struct how){.policy.sync = TL_WRITER_SYNC_CLOSE});
		fail_calls((enum call)call, 1, 1, EIO);
		commit_slabs(&rig, 3);
		CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
		CU_ASSERT_EQUAL(dropped(&rig), 3 * A_SLAB);
		CU_ASSERT_EQUAL(written(&rig), 0);
		rig_done(&rig);
	}
}

// A killed program leaves a file at any moment: one without a mark could be anybody's, and nothing may remove it.
TL_TEST("a new file has its mark before it has a name, in each form")
{
	for (int unaligned = 0; unaligned < 2; unaligned++) {
		struct rig rig;
		atomic_store(&named, 0);
		atomic_store(&unmarked, 0);
		rig_open(&rig, (struct how){.unaligned = unaligned, .policy = {.rotate_bytes = 1 << 20}});
		commit_slabs(&rig, MANY);
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		CU_ASSERT(atomic_load(&named) > 1);
		CU_ASSERT_EQUAL(atomic_load(&unmarked), 0);
		rig_done(&rig);
	}
}

TL_TEST("a file of another program that takes the name of a new file stays, and another name is used")
{
	struct rig rig;

	rig_open(&rig, (struct how){.policy = {.rotate_bytes = 1 << 20}});
	atomic_store(&name_taken, true);
	commit_slabs(&rig, MANY);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EEXIST);
	CU_ASSERT(tl_test_exists(rig.dir, ".x.pcapng.next"));
	rig_done(&rig);
}

TL_TEST("a file of another program that takes the name of the first file stays, and the recording does not begin")
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	rig_rings(&rig);
	atomic_store(&name_taken, true);
	CU_ASSERT_EQUAL(rig_writer(&rig, (struct tl_writer_cfg){.policy = {.rotate_bytes = 1 << 20}}, &err), -EEXIST);
	CU_ASSERT(tl_test_exists(rig.dir, ".x.pcapng.next"));
	rig_done(&rig);
}

// Its tail is zeros: readers stop there.
TL_TEST("a file that cannot be truncated stays .part")
{
	struct rig rig;

	rig_open(&rig, (struct how){.policy.rotate_bytes = 1 << 20});
	commit_slabs(&rig, 3);
	CU_ASSERT(reaches(written, &rig, 3 * A_SLAB));
	CU_ASSERT(reaches(waiting, &rig, 1)); // the next file needs no more calls
	fail_calls(CUT, 1, UINT32_MAX, EIO);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	CU_ASSERT_EQUAL(count_parts(&rig), 1);
	CU_ASSERT_EQUAL(written(&rig), 3 * A_SLAB);
	CU_ASSERT_EQUAL(dropped(&rig), 0);
	rig_done(&rig);
}

TL_TEST("a file without its epilogue stays .part")
{
	struct rig rig;
	struct rlimit before, limit;
	struct stat status;
	uint32_t n;

	rig_open(&rig, (struct how){.policy.rotate_packets = 100 * A_SLAB});
	commit_slabs(&rig, 3);
	CU_ASSERT(reaches(written, &rig, 3 * A_SLAB));
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(stat(files[0], &status), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)status.st_size + 64;
	setrlimit(RLIMIT_FSIZE, &limit);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	CU_ASSERT_EQUAL(count_parts(&rig), 1);
	check_ledger(&rig);
	CU_ASSERT_EQUAL(written(&rig), 3 * A_SLAB);
	rig_done(&rig);
}

static bool is_there(const struct rig *rig, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	return access(path, F_OK) == 0;
}

TL_TEST("a rename that fails for lack of memory does not reuse the number of a removed file")
{
	struct rig rig;

	rig_open(&rig, (struct how){.policy = {.rotate_packets = A_SLAB, .keep_files = 2}});
	for (int file = 0; file < 4; file++) {
		commit_slabs(&rig, 1);
		tl_test_settle(rig.writer, rig.rings, 1);
	}
	fail_calls(TEXT, 1, 1, ENOMEM);
	commit_slabs(&rig, 1);
	CU_ASSERT(reaches(written, &rig, 5 * A_SLAB));
	tl_test_settle(rig.writer, rig.rings, 1);
	(void)rig_stop(&rig);
	CU_ASSERT(atomic_load(&faults[TEXT].calls) > 1);
	CU_ASSERT_FALSE(is_there(&rig, "x.pcapng"));
	CU_ASSERT(is_there(&rig, "x_00003.pcapng"));
	CU_ASSERT(is_there(&rig, "x_00004.pcapng"));
	rig_done(&rig);
}

// ---- reused files of a ring

static const struct tl_writer_policy reusing = {.rotate_bytes = 1 << 20, .keep_files = 3};

TL_TEST("a reused file that cannot be truncated shows no old packets")
{
	struct rig rig;
	struct tl_recover_report report;
	struct tl_err err;
	const char *const *files;
	uint32_t n;

	rig_open(&rig, (struct how){.policy = reusing});
	commit_slabs(&rig, 100);
	CU_ASSERT(reaches(taken, &rig, MANY));
	tl_writer_rotate(rig.writer);
	commit_slabs(&rig, 2); // in a file that had more
	CU_ASSERT(reaches(written, &rig, 102 * A_SLAB));
	CU_ASSERT(reaches(waiting, &rig, 1));
	fail_calls(CUT, 1, UINT32_MAX, EIO);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EIO);
	heal();
	CU_ASSERT(count_parts(&rig) >= 1);
	CU_ASSERT(records_in_files(&rig, false) >= 0);
	files = tl_writer_files(rig.writer, &n);
	int fd = tl_recover_open(files[n - 1], false, &err);
	CU_ASSERT(fd >= 0);
	CU_ASSERT_EQUAL(tl_recover_fd(fd, &(struct tl_recover_opts){0}, &report, &err), 0);
	CU_ASSERT(report.records_kept <= 2 * A_SLAB);
	tl_recover_report_fini(&report);
	close(fd);
	rig_done(&rig);
}

// Record some files while all calls of this kind fail; N_CALLS: none. Return how often the current file was a reused
// one.
static unsigned count_reused(enum call call)
{
	struct rig rig;
	unsigned reused = 0;

	rig_open(&rig, (struct how){.policy = reusing});
	if (call != N_CALLS)
		fail_calls(call, 1, UINT32_MAX, EIO);
	for (int round = 0; round < 12; round++) {
		commit_slabs(&rig, 20);
		tl_test_settle(rig.writer, rig.rings, 1);
		reused += rig.writer->file != NULL && rig.writer->file->reused;
	}
	(void)rig_stop(&rig);
	rig_done(&rig);
	return reused;
}

// After a loss of power its old name, or the beginning of its old contents, would refer to slabs of two files.
TL_TEST("a file whose new name or beginning is not on the disk is not reused")
{
	CU_ASSERT(count_reused(N_CALLS) > 0);
	CU_ASSERT_EQUAL(count_reused(DATA_SYNC), 0);
	CU_ASSERT_EQUAL(count_reused(DIRECTORY_SYNC), 0);
}

TL_TEST("a ring that reuses files syncs them by default")
{
	static const struct {
		struct tl_writer_policy policy;
		bool syncs;
	} table[] = {
		{{.rotate_bytes = 1 << 20, .keep_files = 3}, true},
		{{.rotate_bytes = 1 << 20, .keep_files = 3, .sync = TL_WRITER_SYNC_NEVER}, false},
		{{.rotate_bytes = 1 << 20}, false},
		{{.rotate_packets = 10 * A_SLAB, .keep_files = 3}, false},
		{{.sync = TL_WRITER_SYNC_CLOSE}, true},
		{{0}, false},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct rig rig;
		rig_open(&rig, (struct how){.policy = table[i].policy});
		commit_slabs(&rig, 100);
		CU_ASSERT_EQUAL(rig_stop(&rig), 0);
		CU_ASSERT_EQUAL(atomic_load(&faults[FILE_SYNC].calls) > 0, table[i].syncs);
		CU_ASSERT_EQUAL(atomic_load(&faults[DIRECTORY_SYNC].calls) > 0, table[i].syncs);
		rig_done(&rig);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_faults");
}
