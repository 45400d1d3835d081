// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// writer: one thread that moves sealed slabs into a file and copies nothing: O_DIRECT with io_uring at queue depth 8,
// O_DIRECT pwrite, buffered pwrite where the file system refuses O_DIRECT (said once), or plain write() into a pipe.
// Goes on in a new file by size, time or packets, and keeps a ring of files within limits. A disk error does not stop
// it: what cannot be written is counted as dropped, and it tries again with the next slab. A writer that holds keeps
// slabs in memory and writes only what is around a trigger, each episode into a file of its own.
//
// The files of a recording are PATH, its strftime conversions expanded in UTC, with _00001, _00002 … before the suffix
// where that name is taken. One that rotates by itself never replaces a file, and writes NAME.part until it is
// complete; any other empties PATH and writes there. A second thread opens, names, completes, closes and drops files,
// so that none of this holds up the writing; in a full ring the next file is the oldest, written again. A third, where
// asked for, makes the index.
//
// Threads: create, start, stop, destroy, files on main; rotate and stats from any thread; the callbacks run on the
//          writer's and the helper's thread, perhaps at once.
// Memory: create/destroy.

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <tl_base.h>
#include <tl_pcapfile.h>
#include <tl_slab.h>

struct tl_err;
struct tl_writer;

// The path of a recording that is thrown away slab by slab, without a system call: to measure what comes before.
#define TL_WRITER_NULL "null:"

enum tl_writer_io { TL_WRITER_IO_URING, TL_WRITER_IO_PWRITE };

// What to do when the disk is full: wait for room and count what is lost, or drop the oldest file and go on.
enum tl_writer_full { TL_WRITER_FULL_PAUSE, TL_WRITER_FULL_RECYCLE };
// Auto: at close where files of the ring are written again, else never.
enum tl_writer_sync { TL_WRITER_SYNC_AUTO, TL_WRITER_SYNC_NEVER, TL_WRITER_SYNC_CLOSE };

// When a new file begins, and which of the old ones are dropped. 0: never. Limits need something to rotate by.
struct tl_writer_policy {
	uint64_t rotate_bytes;	 // before a file gets larger
	uint64_t rotate_seconds; // at multiples of this since 1970, also when nothing is recorded
	uint64_t rotate_packets; // before a file gets more, but it always takes a whole slab
	uint32_t keep_files;	 // the one being written included
	uint64_t keep_bytes;	 // all files, and what rotate_bytes lets the one being written still take
	uint64_t min_free_bytes; // on their file system; below, and with nothing left to drop, it is full
	enum tl_writer_full on_full;
	enum tl_writer_sync sync; // whether a file is on the disk before it is called complete
};

// What a writer that holds keeps and saves. Whole slabs: a file may have up to one more at either end. in_files:
// nothing is held in memory; the files of the ring are what is held, and those that have anything of what is to be
// saved are renamed, out of the ring's reach. What the ring drops then has expired.
struct tl_writer_hold_cfg {
	bool in_files;
	uint64_t pre_ns, post_ns; // before and after a trigger; one that comes during an episode makes it longer
	uint64_t pre_bytes;	  // of what is held at most; 0: what tl_writer_hold_spare() leaves
	uint64_t settle_ns;	  // how long after its first record a slab may be sealed
	// On the writer thread: the time, as in the slabs' opened_ns.
	uint64_t (*now_ns)(void *ctx);
	// On the writer thread: the time of a trigger that has come since the last call, or 0. saving: one is already
	// being served. NULL: the writer does not hold.
	uint64_t (*triggered)(void *ctx, bool saving);
};

struct tl_writer_cfg {
	const char *path; // borrowed for the writer's life; "-" is stdout, TL_WRITER_NULL nowhere
	enum tl_writer_io io;
	struct tl_writer_policy policy;
	struct tl_writer_hold_cfg hold;
	struct tl_slab_ring *const *rings; // borrowed for the writer's life
	uint32_t n_rings;
	uint32_t n_origins; // rings that the slabs' origins name; 0: slabs have none
	bool opaque;	    // what the slabs hold is no pcapng: a file gets no PAD
	bool unaligned;	    // nor is it of lengths that O_DIRECT could write, or in pieces that can be told apart
	// Asked on the writer thread once it is to stop: whether the rings get no more slabs. NULL: they get none then.
	bool (*drained)(void *ctx);
	enum tl_digest_kind digest; // of each unit and of each file; files that are not opaque
	bool index;		    // a sidecar beside each file that says what its slabs hold (tl_index.h)
	// The blocks that open and close each file. prologue: SHB and IDBs, padded by the writer to 4 KiB. epilogue:
	// ISBs; also between slabs every statistics_ns (0: never) while a file grows, so that what a crash leaves has
	// some; NULL: nothing closes a file. Each returns bytes written into buf, 0 on overflow (size is 64 KiB).
	uint32_t (*prologue)(void *ctx, void *buf, uint32_t size);
	uint32_t (*epilogue)(void *ctx, void *buf, uint32_t size);
	void *ctx;
	uint64_t statistics_ns;
	bool reader_may_leave; // that the reader of a pipe goes away is no error
};

// What became of the packets of one ring, or origin.
struct tl_writer_flow {
	uint64_t written_pkts[TL_DIRS];	  // the disk has them; with hold.in_files less what the ring has dropped
	uint64_t expired_pkts[TL_DIRS];	  // given up by a writer that holds
	uint64_t drop_disk_pkts[TL_DIRS]; // whose write failed, or may have
};

struct tl_writer_stats {
	// Of all rings, as in tl_writer_flow.
	uint64_t written_pkts[TL_DIRS], expired_pkts[TL_DIRS], drop_disk_pkts[TL_DIRS];
	uint64_t written_bytes;	  // of files, padding and file headers included
	uint64_t repeated_writes; // failed, or stood behind one that failed, and were written again
	uint64_t files;		  // begun so far
	uint64_t recycled_files;  // of this run or an earlier one, dropped by the ring
	uint64_t recycled_bytes;
	uint64_t free_bytes; // of the files' file system, at most some seconds old; UINT64_MAX: none, or not known
};

// Of so many slabs of a ring, those that a writer that holds always leaves to the lcore.
static inline uint32_t tl_writer_hold_spare(uint32_t slabs)
{
	return (uint32_t)tl_max_u64(2, slabs / 4);
}

// Whether path can name files: its conversions are known. Returns 0, or -EINVAL, -ENAMETOOLONG with a sentence.
int tl_writer_check_path(const char *path, struct tl_err *err);

// The first name that path gives a file which begins at this time. The caller frees; NULL: path cannot name files.
char *tl_writer_name_at(const char *path, time_t when);

// Opens the first file, so that a bad path is an error before anything starts (files are created 0640, never through a
// dangling symlink). Returns 0 or -errno with a sentence.
int tl_writer_create(const struct tl_writer_cfg *cfg, struct tl_writer **out, struct tl_err *err);

// Starts the thread.
int tl_writer_start(struct tl_writer *writer, struct tl_err *err);

// Writes every sealed slab, then epilogue, truncates, closes, joins. The RX lcores must have sealed their last slab;
// cfg.drained says so of threads in between.
// Returns 0, or -errno of the first error met in the writer's life with a sentence.
int tl_writer_stop(struct tl_writer *writer, struct tl_err *err);

void tl_writer_destroy(struct tl_writer *writer);

// A new file begins soon; what is recorded is not affected. Ignored where the output is no file.
void tl_writer_rotate(struct tl_writer *writer);

// Those that were held in memory for one ring, by its index in the configuration.
uint64_t tl_writer_expired_pkts(const struct tl_writer *writer, uint32_t ring, enum tl_dir dir);

void tl_writer_stats(const struct tl_writer *writer, struct tl_writer_stats *out);
void tl_writer_flow(const struct tl_writer *writer, uint32_t ring, struct tl_writer_flow *out);

// Paths of this run's files that are still there (of TL_WRITER_NULL: none); n of them; valid until the next call or
// destroy; a file that is being written is the last.
const char *const *tl_writer_files(struct tl_writer *writer, uint32_t *n);

// The first error met, or NULL.
const char *tl_writer_error(const struct tl_writer *writer);

// Whether the reader of a pipe went away (nothing more can be delivered).
bool tl_writer_pipe_closed(const struct tl_writer *writer);
