// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// writer: one thread that moves sealed slabs into a file without copying: O_DIRECT with io_uring at queue depth 8,
// O_DIRECT pwrite, buffered pwrite where the file system refuses O_DIRECT (logged once), or plain write() into a pipe.
// Rotates files by size, time or packets, and keeps a ring of files within limits. A disk error does not stop the
// writer: data that cannot be written is counted as dropped, and the next slab is tried again. A writer that holds
// keeps slabs in memory and writes only those around a trigger, each episode into a separate file.
//
// The files of a recording are named PATH, with its strftime conversions expanded in UTC, and _00001, _00002 … before
// the suffix if that name is taken. A recording that rotates automatically never replaces a file, and writes NAME.part
// until the file is complete; any other truncates PATH and writes there. A helper thread opens, names, completes,
// closes and removes files, so that none of this delays the writes; in a full ring the next file reuses the oldest. A
// third thread, if configured, builds the index.
//
// Threads: create, start, stop, destroy, files on main; rotate, stats, limit and load from any thread; the callbacks
// run on the writer and the helper thread, possibly at the same time. Memory: create/destroy.

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <tl_base.h>
#include <tl_choices.h>
#include <tl_pcapfile.h>
#include <tl_slab.h>

struct tl_err;
struct tl_writer;

// Path of a recording that is discarded slab by slab, without a system call: for measuring the stages before it.
#define TL_WRITER_NULL "null:"

// Conditions for a new file, and limits for removing old ones. 0: never. Limits require a rotation condition.
struct tl_writer_policy {
	uint64_t rotate_bytes;	 // size limit of a file
	uint64_t rotate_seconds; // multiples of this since 1970, also when nothing is recorded
	uint64_t rotate_packets; // packet limit of a file; a file always takes at least one whole slab
	uint32_t keep_files;	 // includes the file being written
	uint64_t keep_bytes;	 // all files, plus the remaining growth of the current one up to rotate_bytes
	uint64_t min_free_bytes; // of their file system; below it, with no file left to remove, the disk is full
	enum tl_writer_full on_full;
	enum tl_writer_sync sync; // sync of a file before it is named complete
};

// Slabs that a writer that holds keeps and saves. Whole slabs: a file may have up to one more at either end. in_files:
// nothing is held in memory; the files of the ring are held, and those with data to save are renamed, so that the ring
// no longer manages them. Files that the ring removes count as expired.
struct tl_writer_hold_cfg {
	bool in_files;
	uint64_t pre_ns, post_ns; // before and after a trigger; a trigger during an episode extends it
	uint64_t pre_bytes;	  // limit of held data; 0: all but the slabs of tl_writer_hold_spare()
	uint64_t settle_ns;	  // largest time from the first record of a slab to its seal
	// Current time on the time base of the slabs' opened_ns. Called on the writer thread.
	uint64_t (*now_ns)(void *ctx);
	// Time of a trigger since the last call, or 0. saving: an episode is already open. Called on the writer thread.
	// NULL: the writer does not hold.
	uint64_t (*triggered)(void *ctx, bool saving);
};

struct tl_writer_cfg {
	const char *path; // borrowed for the writer's life; "-" is stdout, TL_WRITER_NULL discards
	enum tl_writer_io io;
	struct tl_writer_policy policy;
	struct tl_writer_hold_cfg hold;
	struct tl_slab_ring *const *rings; // borrowed for the writer's life
	uint32_t n_rings;
	// Rings of the slabs' origins, borrowed; 0: the slabs have none. A rotation waits for the next file while these
	// have room, without origins the rings above.
	struct tl_slab_ring *const *origins;
	uint32_t n_origins;
	bool opaque;	// content is not pcapng: files get no PAD
	bool unaligned; // lengths unsuitable for O_DIRECT, and no parseable block boundaries
	// True if the rings get no more slabs. Called on the writer thread during stop. NULL: they get none then.
	bool (*drained)(void *ctx);
	enum tl_digest_kind digest; // digest of each unit and of each file; for files that are not opaque
	bool index;		    // write a sidecar beside each file, with the content of its slabs (tl_index.h)
	bool index_inner;	    // of innermost packets, too
	// Opening and closing blocks of each file. prologue: SHB and IDBs, padded by the writer to 4 KiB. epilogue:
	// ISBs; also between slabs every statistics_ns (0: never) while a file grows, so that a file cut short by a
	// crash has some; NULL: no closing blocks. Each returns the bytes written into buf, 0 on overflow (size is 64
	// KiB).
	uint32_t (*prologue)(void *ctx, void *buf, uint32_t size);
	uint32_t (*epilogue)(void *ctx, void *buf, uint32_t size);
	void *ctx;
	uint64_t statistics_ns;
	bool reader_may_leave; // a closed pipe is not an error
};

// Packet outcomes of one ring, or origin.
struct tl_writer_flow {
	uint64_t written_pkts[TL_DIRS];	  // confirmed on disk; with hold.in_files without those removed by the ring
	uint64_t expired_pkts[TL_DIRS];	  // discarded by a writer that holds
	uint64_t drop_disk_pkts[TL_DIRS]; // in writes that failed, or may have failed
};

struct tl_writer_stats {
	// Sums over all rings, as in tl_writer_flow.
	uint64_t written_pkts[TL_DIRS], expired_pkts[TL_DIRS], drop_disk_pkts[TL_DIRS];
	uint64_t written_bytes;	  // in files, including padding and file headers
	uint64_t repeated_writes; // writes repeated because they, or an earlier one, failed
	uint64_t files;		  // files begun so far
	uint64_t recycled_files;  // files of this or an earlier run removed by the ring
	uint64_t recycled_bytes;
	uint64_t free_bytes; // of the file system, at most a few seconds old; UINT64_MAX: none, or unknown
};

// Work of a writer, for the division of a disk among several.
struct tl_writer_load {
	uint64_t in_bytes;	// of slabs taken so far, and backlog_bytes
	uint64_t backlog_bytes; // sealed slabs that are not taken yet, as if they were full
	uint64_t done_bytes;	// of slabs whose writes have ended
	uint64_t busy_ns;	// time with all writes of the backend in flight
};

#define TL_WRITER_NO_LIMIT UINT64_MAX

// Number of slabs of a ring that a writer that holds always leaves to the lcore.
static inline uint32_t tl_writer_hold_spare(uint32_t slabs)
{
	return (uint32_t)tl_max_u64(2, slabs / 4);
}

// Check that path can name files: its conversions are known. Return 0, or -EINVAL, -ENAMETOOLONG with a message.
int tl_writer_check_path(const char *path, struct tl_err *err);

// Expand path to the first name of a file that begins at this time. The caller frees; NULL: path cannot name files.
char *tl_writer_name_at(const char *path, time_t when);

// Open the first file, so that a bad path is reported before anything starts (files are created 0640, never through a
// dangling symlink). Return 0 or -errno with a message.
int tl_writer_create(const struct tl_writer_cfg *cfg, struct tl_writer **out, struct tl_err *err);

// Start the threads.
int tl_writer_start(struct tl_writer *writer, struct tl_err *err);

// Write every sealed slab, then the epilogue; truncate, close, join. The RX lcores must have sealed their last slab;
// cfg.drained reports this for intermediate threads.
// Return 0, or -errno of the writer's first error with a message.
int tl_writer_stop(struct tl_writer *writer, struct tl_err *err);

void tl_writer_destroy(struct tl_writer *writer);

// Request a new file; recorded data is not affected. No effect if the output is not a file.
void tl_writer_rotate(struct tl_writer *writer);

// Limit the bytes per second that the writer takes from its rings; more wait there. In any window it takes at most the
// limit, its 32nd part of a second, and two slabs. Lifted by tl_writer_stop(). Not for a writer that holds in memory.
void tl_writer_set_limit(struct tl_writer *writer, uint64_t bytes_per_s);
uint64_t tl_writer_limit(const struct tl_writer *writer);
void tl_writer_load(const struct tl_writer *writer, struct tl_writer_load *out);

// Packets held in memory and expired, for one ring, by its index in the configuration.
uint64_t tl_writer_expired_pkts(const struct tl_writer *writer, uint32_t ring, enum tl_dir dir);

void tl_writer_stats(const struct tl_writer *writer, struct tl_writer_stats *out);
void tl_writer_flow(const struct tl_writer *writer, uint32_t ring, struct tl_writer_flow *out);

// Paths of this run's files that still exist (TL_WRITER_NULL: none); sets *n; valid until the next call or destroy; a
// file being written is the last.
const char *const *tl_writer_files(struct tl_writer *writer, uint32_t *n);

// First error message, or NULL.
const char *tl_writer_error(const struct tl_writer *writer);

// True if the reader of a pipe has closed it (nothing more can be delivered).
bool tl_writer_pipe_closed(const struct tl_writer *writer);
