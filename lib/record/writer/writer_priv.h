// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// writer_priv: declarations shared by the files of this module.
//
//   writer.c         create, start, stop, destroy, and state read by other threads
//   writer_thread.c  writer thread: slabs in, writes out, recovery from a failed write
//   writer_limit.c   limit of the bytes taken from the rings, and the load of the writer
//   writer_next.c    transition to the next file
//   writer_cached.c  data in the page cache, until it is confirmed on disk
//   writer_hold.c    slabs held in memory until a trigger
//   writer_save.c    files that a trigger saves from the ring
//   writer_helper.c  helper thread: order of its work
//   writer_life.c    its work on a file: open ahead, name, complete
//   writer_index.c   index thread: rows of the slabs of a file, and its sidecar
//   writer_names.c   choice of file names
//   writer_ring.c    list of the recording's files, and removal of the oldest
//   writer_found.c   files of earlier runs
//   writer_remove.c  removal of a file of the ring, piece by piece
//   writer_reuse.c   reuse of a file of the ring
//   writer_left.c    recovery of incomplete files of earlier runs
//   writer_pattern.c syntax of file names
//   writer_file.c    one output file: open, write, cut, close
//   writer_blocks.c  opening and closing blocks of a file, and statistics in between
//   writer_digest.c  checks in HEADs, and the digest of a file
//   writer_stream.c  bounded writes into a pipe or a device
//   writer_error.c   first error, and one log line per change of state
//   io_uring.c       eight writes in flight
//   io_sync.c        one write at a time
//
// Threads: the writer thread owns the current file and the slabs; the helper owns files before they begin and after the
// writer has left them, and names them. Each is handed over under the helper's lock. Main owns all before both start
// and after both are joined. Memory: in struct tl_writer; a file is one allocation, freed by the helper.

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>

#include <liburing.h>

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_index.h>
#include <tl_writer.h>

#include "pace.h"

#define TL_WRITER_DEPTH 8u	      // limit of writes in flight
#define TL_WRITER_BLOCKS_BYTES 65536u // buffer size for prologue() and epilogue()
#define TL_WRITER_PENDING 1	      // tl_writer_write.result while in flight
#define TL_WRITER_PART ".part"	      // suffix of an incomplete file
#define TL_WRITER_JOBS 1024	      // limit of slabs in transit to the index
#define TL_WRITER_NAME_CHARS 512      // size of a pattern with its conversions expanded

// Rows of a file's sidecar as they will be written.
struct tl_writer_rows {
	uint32_t pending; // slabs not yet parsed by the index thread; under the index's lock
	bool lost;	  // a slab has no row: no sidecar is written
	bool outdated;	  // slabs were cut off again: no sidecar; owned by the writer until it has left the file
	uint64_t run_id;
	struct tl_index_rows rows;
};

// Destination of the blocks: a regular file written at offsets, or a stream (pipe, socket, device) written in order.
struct tl_writer_file {
	int fd;		   // -1: stream TL_WRITER_NULL
	const char *label; // name in the writer's messages
	bool stream;
	bool stored;		   // stream: standard output is a regular file, written through the page cache
	bool direct;		   // O_DIRECT is on
	bool nameless;		   // has no name: not yet, or not any more at open, through /proc/self/fd
	bool reused;		   // contains slabs of an earlier file where this one has not been written yet
	uint64_t id;		   // unique ID in all HEADs of this file
	const atomic_bool *stop;   // stop flag of the writer: once set, waits of a stream are bounded
	uint32_t chunk_bytes;	   // stream: largest write() that does not block
	int broken;		   // stream: -errno of a permanent error
	uint64_t prologue_bytes;   // 0: not written yet; the prologue is at offset 0
	uint64_t end_bytes;	   // end of the whole blocks
	uint64_t next_bytes;	   // offset of the next write; [end, next) is in flight
	uint64_t pkts;		   // packets accepted for this file
	uint64_t statistics_bytes; // end of the last statistics; 0: none
	uint32_t in_flight;	   // writes in flight
	bool left;		   // the writer has moved on to the next file; handed over once nothing is in flight
	bool overdue;		   // the single wait for the next file is used up
	uint64_t (*written_pkts)[TL_DIRS]; // per ring
	// [0, synced) is confirmed by fdatasync() or O_DIRECT; fdatasync() is running for [synced, asked); the rest up
	// to end is only in the page cache.
	uint64_t synced_bytes, asked_bytes;
	uint64_t (*asked_pkts)[TL_DIRS], (*cached_pkts)[TL_DIRS]; // per ring
	// For triggers that save files of the ring: time range of the records, and whether any is to be saved.
	uint64_t first_ns, last_ns;
	bool saved, unnamed;

	struct tl_writer_rows rows;
	struct tl_digest_chain chain;			  // content of the file
	struct tl_digest_chain synced_chain, asked_chain; // up to synced_bytes, asked_bytes

	// Owned by the helper.
	char *at;     // current path
	char *name;   // final name; NULL: not decided yet
	time_t began; // set by the writer
	STAILQ_ENTRY(tl_writer_file) begun_link;
	STAILQ_ENTRY(tl_writer_file) left_link; // list of unsynced files, then of the helper's
};
STAILQ_HEAD(tl_writer_files, tl_writer_file);

// A slab in transit to a file, or statistics.
struct tl_writer_write {
	struct tl_writer_file *file;
	struct tl_slab_ring *ring;
	struct tl_slab *slab; // NULL: statistics
	uint8_t *data;
	uint32_t len_bytes;
	uint64_t offset_bytes;
	int result; // TL_WRITER_PENDING, then 0 or -errno
	struct tl_digest digest;
};

// DIR/STEM[_NUMBER]SUFFIX[.part]
struct tl_writer_pattern {
	char dir[4096]; // with trailing slash, or empty
	char base[256]; // name as given by the user
	char stem[TL_WRITER_NAME_CHARS];
	char suffix[256];
	uint32_t stem_chars; // length of the expanded stem
};

// A file of the recording.
struct tl_writer_entry {
	char *path;
	size_t path_room;		   // bytes, at least the size of the path
	const struct tl_writer_file *file; // file being written; NULL: complete
	uint64_t bytes;			   // size of a complete file
	bool this_run;
	bool left; // left incomplete by an earlier run
	// For complete files of this run.
	uint64_t (*pkts)[TL_DIRS]; // per ring
	uint64_t first_ns, last_ns;
	bool saved;   // no longer managed by the ring
	bool unnamed; // saved, but not yet renamed
	// Failed removal: time of the next attempt, and interval before it; 0: no failure.
	struct timespec retry;
	uint64_t pause_ns;
};

struct tl_writer_ring {
	pthread_mutex_t lock;		 // the helper changes entries, other threads list them
	struct tl_writer_entry *entries; // oldest first
	uint32_t n;
	size_t capacity;
	uint32_t gone; // places before the entries, of files no longer listed
	// Entries by state, so that the work per file does not grow with their number: left by an earlier run; being
	// written; complete, with their bytes; with a failed removal.
	uint32_t n_left, n_open, n_complete, n_failed;
	uint64_t complete_bytes;
	bool stuck;   // logged that a file cannot be removed
	bool unsaved; // logged that a file cannot be saved
	bool changed; // list changed since the last call
	const char **listed;
	uint32_t n_listed;
};

struct tl_writer_helper {
	pthread_t thread;
	pthread_mutex_t lock;	      // protects the members below
	pthread_cond_t wake;	      // to the helper: work is available
	pthread_cond_t answer;	      // to the writer: the request is completed, or failed
	struct tl_writer_file *ahead; // the next file, with its prologue unless the writer holds
	bool wished;		      // the writer needs it now
	struct tl_writer_files begun; // files that need a name
	struct tl_writer_files left;  // files to be completed
	bool room_asked;	      // request of the writer, for frames without space
	atomic_uint freed;	      // number of times space was made
	unsigned freed_seen;	      // last value read by the writer
	bool save_asked;	      // files of this time range; kept for files that are completed later
	uint64_t save_from_ns, save_until_ns;
	struct timespec save; // time of the rename of saved files, or of the next attempt
	bool stop;
	struct timespec retry; // next attempt for names and files
	struct timespec tidy;  // next check of the limits

	uint8_t *blocks;
};

// A slab waiting for its row.
struct tl_writer_job {
	struct tl_writer_file *file;
	struct tl_slab_ring *ring;
	struct tl_slab *slab; // NULL: already returned
	uint8_t head[TL_PCAPNG_HEAD_BYTES];
	uint32_t len_bytes;
	uint64_t offset_bytes;
};

struct tl_writer_index {
	pthread_t thread;
	pthread_mutex_t lock; // protects the members below
	pthread_cond_t wake;  // to the index thread: work is available
	pthread_cond_t done;  // to other threads: a row is done
	// Oldest first: jobs[(first + i) % TL_WRITER_JOBS], i < n; those at the front have their rows.
	struct tl_writer_job jobs[TL_WRITER_JOBS];
	uint32_t first, built, n;
	uint32_t held, held_max; // jobs that hold their slab
	bool stop;
	struct tl_index_builder *builder;
};

// Sync of files written through the page cache.
struct tl_writer_cached {
	pthread_t thread;
	pthread_mutex_t lock; // protects the members below
	pthread_cond_t wake;  // to the sync thread: request or stop
	pthread_cond_t done;  // to the writer: the result is available
	int fd;		      // -1: no request
	int result;	      // result of the last request
	bool stop;
	// Owned by the writer thread.
	struct tl_writer_file *asked;	 // file of fd, until its result is taken; NULL: none
	struct tl_writer_files unsynced; // left files, with nothing in flight
	uint64_t due_ns;		 // CLOCK_MONOTONIC: latest time at which the current file is forced to the disk
};

// Latest name given, without its number, and the number.
struct tl_writer_names {
	char *last_stem;
	uint32_t last_number;
	uint32_t unknown; // hidden paths, from 0, at which a foreign file was found, and logged
};

struct tl_writer_held_slab {
	struct tl_slab *slab;
	uint64_t taken_ns; // upper limit of the times of its records
};

// Sealed slabs of one ring, oldest first: cells[(first + i) & mask], i < n.
struct tl_writer_held {
	struct tl_writer_held_slab *cells;
	uint32_t mask, first, n;
	uint32_t limit; // slabs; more would leave too few to the lcore
	uint64_t expired_pkts[TL_DIRS];
};

struct tl_writer_hold {
	struct tl_writer_held *queues; // one per ring
	uint64_t bytes;		       // held in total
	bool saving;		       // in an episode: slabs opened before until_ns go to a file
	uint64_t until_ns;
	bool gave_up; // no file could be opened for the last episode
};

// I/O backend of the writes. They may finish in any order.
struct tl_writer_backend {
	uint32_t depth; // limit of writes in flight
	void (*start)(struct tl_writer *writer, struct tl_writer_write *write);
	// Set the result of every finished write. With wait, at least one write must be pending, and the call blocks
	// until at least one has finished.
	void (*reap)(struct tl_writer *writer, bool wait);
	void (*fini)(struct tl_writer *writer);
};

// Statistics in transit to a growing file.
struct tl_writer_statistics {
	uint8_t *buffer; // NULL: never
	bool in_flight;	 // the buffer is being written
	uint64_t due_ns; // of CLOCK_MONOTONIC
};

// A class of fault, logged when it begins and when it ends.
struct tl_writer_trouble {
	const char *what; // "cannot write"
	const char *over; // "writing again"
	bool on;
};

// Limit of a writer, and what it has to do.
struct tl_writer_share {
	_Atomic uint64_t limit_bytes;	// per second; TL_WRITER_NO_LIMIT
	_Atomic uint64_t busy_since_ns; // 0: the disk accepts writes
	uint64_t taken_bytes, taken_slabs, done_bytes, busy_ns;
	// Owned by the writer thread.
	int64_t credit_bytes; // below 0: more was taken than was earned
	uint64_t earned_ns;   // time up to which the credit is earned
};

struct tl_writer {
	struct tl_writer_cfg cfg;
	struct tl_writer_pattern pattern;
	bool parts; // rotates automatically: the next file is opened ahead, and a file is .part until it is complete
	struct tl_writer_file *file; // NULL: between the episodes of a writer that holds
	struct tl_writer_hold hold;
	struct tl_writer_helper helper;
	struct tl_writer_index index;
	struct tl_writer_cached cached;
	struct tl_writer_names names; // owned by the helper
	struct tl_writer_ring ring;
	bool on_disk;		     // the output is a file
	struct stat created;	     // attributes of a file created by this recording; owned by the helper
	_Atomic uint64_t free_bytes; // on its file system
	atomic_bool direct_refused;  // logged, and not tried again
	atomic_bool no_room;	     // less than min_free_bytes free, and no file left to remove
	atomic_bool rotate_asked;
	uint64_t rotate_at_s; // wall clock; 0: never
	uint64_t patience_ns; // longest wait of a rotation by size for the next file, once
	const struct tl_writer_backend *backend;
	struct io_uring uring; // for the io_uring backend
	bool uring_registered; // its buffers are registered with the kernel
	uint8_t *blocks;       // owned by the writer thread

	// Writes in flight, oldest first: flight[(flight_first + i) % TL_WRITER_DEPTH], i < flight_count.
	struct tl_writer_write flight[TL_WRITER_DEPTH];
	uint32_t flight_first;
	uint32_t flight_count;
	uint32_t next_ring; // next ring in round robin
	struct tl_writer_statistics statistics;
	struct tl_writer_pace pace;
	struct tl_writer_share share;

	pthread_t thread;
	bool started;
	atomic_bool stop;
	atomic_bool pipe_closed;

	struct tl_writer_trouble writing;   // owned by the writer
	struct tl_writer_trouble rotating;  // owned by the helper
	struct tl_writer_trouble finishing; // owned by the helper
	struct tl_writer_trouble saving;    // owned by main, at the end
	atomic_flag error_claimed;
	atomic_int first_error; // -errno; error is final once it is set
	struct tl_err error;

	_Atomic uint64_t blocks_bytes; // bytes of prologues and epilogues written
	struct tl_writer_stats stats;  // all members that are not per ring
	struct tl_writer_flow *flows;  // per ring, or origin
	uint32_t n_flows;
	uint64_t (*dropped_pkts)[TL_DIRS]; // per ring: written, and removed with their file; owned by the helper
	uint64_t (*unknown_pkts)[TL_DIRS]; // per ring: in files that could not be synced; owned by the helper
};

static inline bool tl_writer_holds(const struct tl_writer *writer)
{
	return writer->cfg.hold.triggered != NULL && !writer->cfg.hold.in_files;
}

static inline bool tl_writer_saves_files(const struct tl_writer *writer)
{
	return writer->cfg.hold.triggered != NULL && writer->cfg.hold.in_files;
}

// writer_thread.c
void *tl_writer_main(void *writer);
// Handle a failed write, or the loss of written data. On the writer thread.
void tl_writer_fail(struct tl_writer *writer, const struct tl_writer_file *file, int code);

// writer_limit.c, on the writer thread
// Check whether the limit permits another slab now.
bool tl_writer_may_take(struct tl_writer *writer);
// Count a slab as taken from its ring; as done once its write has ended.
void tl_writer_count_taken(struct tl_writer *writer, const struct tl_slab *slab);
void tl_writer_count_done(struct tl_writer *writer, const struct tl_writer_write *write);
// Count the time between both calls as busy.
void tl_writer_busy_begin(struct tl_writer *writer);
void tl_writer_busy_end(struct tl_writer *writer);

// writer_cached.c, on the writer thread
// Check whether the file has slabs that the kernel may still fail to write.
static inline bool tl_writer_is_unsynced(const struct tl_writer_file *file)
{
	return !file->stream && !file->direct && file->end_bytes > tl_max_u64(file->synced_bytes, file->prologue_bytes);
}
// Confirm all data of the file as on disk, or read by the reader of a stream.
void tl_writer_cached_confirm(struct tl_writer *writer, struct tl_writer_file *file);
// Hand over a left file, with no writes in flight, once it is entirely on disk.
void tl_writer_cached_release(struct tl_writer *writer, struct tl_writer_file *file);
// Take the result of the running sync, if there is one; with wait, wait for it. On success count the confirmed data. On
// failure count the lost data, cut it off, and return true: all writes in flight must be repeated.
bool tl_writer_cached_take(struct tl_writer *writer, bool wait);
// Begin to sync the next file, if one is due. Return true if a sync is running.
bool tl_writer_cached_ask(struct tl_writer *writer);
// writer_cached.c, on main
void tl_writer_cached_init(struct tl_writer_cached *cached);
int tl_writer_cached_start(struct tl_writer *writer);
void tl_writer_cached_stop(struct tl_writer *writer);
void tl_writer_cached_fini(struct tl_writer_cached *cached);

// Longest wait of the writer for the next file: the time in which 10 Gbit/s fills the default buffer (patience_ns,
// except in tests); longer where waiting loses nothing: the current file accepts no more data, or all rings are at
// least half free.
#define TL_WRITER_PATIENCE_NS (50 * TL_NS_PER_MS)
#define TL_WRITER_STUCK_PATIENCE_NS (10 * TL_NS_PER_S)

// writer_next.c, on the writer thread
// Leave the file, which gets no more slabs: the helper completes it as soon as no write is in flight.
void tl_writer_leave_file(struct tl_writer *writer);
// Switch to the next file; wait for it at most patience_ns, for the shorter time only once. False: none is ready yet,
// and the recording continues in this file.
bool tl_writer_go_on(struct tl_writer *writer, uint64_t patience_ns);
// Switch to the next file after removal of this one, whose data is lost. False: none is ready yet; the attempt is
// repeated, also while idle.
bool tl_writer_leave_removed(struct tl_writer *writer);
// Set the rotation to the next multiple of the period: days begin at midnight, regardless of the start of the
// recording.
void tl_writer_set_rotation_time(struct tl_writer *writer, uint64_t now_s);
// Rotate on request, or when due; otherwise read only two words.
void tl_writer_rotate_if_due(struct tl_writer *writer);

// writer_hold.c, on the writer thread
// Take the next slab to be written, and its ring; NULL: none now.
struct tl_slab *tl_writer_hold_take(struct tl_writer *writer, bool stopping, struct tl_slab_ring **out_ring);
// True if a file with records from first to last has any within from..until. last 0: no records.
static inline bool tl_writer_is_in_time(uint64_t first_ns, uint64_t last_ns, uint64_t from_ns, uint64_t until_ns)
{
	return last_ns != 0 && last_ns >= from_ns && first_ns <= until_ns;
}

// writer_save.c, on the writer thread
// Poll for a trigger and serve it.
void tl_writer_save_look(struct tl_writer *writer);
// Note the times of a slab written to the current file.
void tl_writer_save_note(struct tl_writer *writer, const struct tl_slab *slab);
// writer_save.c, on the helper
// Rename a complete file to a saved one's name, derived from its own.
int tl_writer_save_rename(const struct tl_writer *writer, const char *from, const char *name, char **out_path);
// Save the complete files of this time range: from now on the ring does not remove them.
void tl_writer_ring_save(struct tl_writer *writer, uint64_t from_ns, uint64_t until_ns);
// Rename saved files. Return NULL, or the path of a failed one with *out_code, to be retried.
const char *tl_writer_ring_name_saved(struct tl_writer *writer, int *out_code);

// writer_hold.c, on main
int tl_writer_hold_init(struct tl_writer *writer);
void tl_writer_hold_fini(struct tl_writer *writer);

// writer_helper.c, on the writer thread
// Take ownership of the next file; NULL: it is not ready within patience_ns, nor within longest_ns while all rings are
// at least half free, but has been ordered. Without patience the call does not wait.
struct tl_writer_file *tl_writer_helper_next(struct tl_writer *writer, uint64_t patience_ns, uint64_t longest_ns);
// Hand over a file without writes in flight.
void tl_writer_helper_finish(struct tl_writer *writer, struct tl_writer_file *file);
// Release space of the next file, allocated or from its previous use, beyond its written part. On the helper. False:
// there is none.
bool tl_writer_helper_shrink_ahead(struct tl_writer *writer);
// Request that files of this time range, complete now or soon, are saved.
void tl_writer_helper_save(struct tl_writer *writer, uint64_t from_ns, uint64_t until_ns);
// Request space after a write that failed with code. True if space was made since the last call, and the write is worth
// repeating.
bool tl_writer_helper_make_room(struct tl_writer *writer, int code);
// writer_helper.c, on any thread
struct timespec tl_writer_from_now(uint64_t ns);
bool tl_writer_has_passed(struct timespec deadline);
// writer_helper.c, on main
int tl_writer_helper_init(struct tl_writer_helper *helper);
int tl_writer_helper_start(struct tl_writer *writer);
void tl_writer_helper_stop(struct tl_writer *writer); // completes the files handed over
void tl_writer_helper_fini(struct tl_writer_helper *helper);
// writer_index.c, on the writer thread
// Submit a written slab. True: the index holds it, and gives it back itself.
bool tl_writer_index_add(struct tl_writer *writer, const struct tl_writer_write *write, uint64_t offset_bytes);
// Give back the slabs whose rows are done; with all, wait for every one.
void tl_writer_index_release(struct tl_writer *writer, bool all);
// writer_index.c, on the helper
// Wait for the file's last row; with keep, write the sidecar of the file, which is complete and has its name.
void tl_writer_index_finish(struct tl_writer *writer, struct tl_writer_file *file, bool keep);
// writer_index.c, on main
// Remove the index of a removed recording. Keep a file that is not an index, and log it.
void tl_writer_index_remove(const char *recording);

int tl_writer_index_init(struct tl_writer *writer);
int tl_writer_index_start(struct tl_writer *writer);
void tl_writer_index_stop(struct tl_writer *writer);
void tl_writer_index_fini(struct tl_writer_index *index);
// writer_life.c, on the helper
int tl_writer_open_ahead(struct tl_writer *writer, struct tl_writer_file *file);
// Name the file and list it. A file already removed has no name: the writer detects that and leaves it.
int tl_writer_begin(struct tl_writer *writer, struct tl_writer_file *file);
// Write the last blocks, sync the file, and give it its final name. After an error it keeps .part: return the first.
int tl_writer_complete(struct tl_writer *writer, struct tl_writer_file *file);
// Check whether a failure with code was a lack of space for which the ring may release space; and has released some.
bool tl_writer_may_recycle_for(const struct tl_writer *writer, int code);
int tl_writer_sync_directory(const struct tl_writer_pattern *pattern);
// writer_names.c: on the helper, or on main before it starts
// Continue after the numbers of the current time's name in the ring.
void tl_writer_resume_names(struct tl_writer *writer, time_t now);
// Rename the file from its current path to a free name of its time: NAME.part in a ring, else NAME.
int tl_writer_name_file(struct tl_writer *writer, struct tl_writer_file *file);
// Open the file under the hidden name: a new one, or the oldest of the ring if that must be removed anyway.
int tl_writer_open_hidden(struct tl_writer *writer, struct tl_writer_file *file);

// writer_remove.c: remove the open file at path. The name is unlinked at once. A process that has the file open, or
// another hard link, keeps all of it.
int tl_writer_remove(int fd, const char *path, const struct stat *status);

// True if no other process has the file open, and it has no other hard link.
bool tl_writer_is_unshared(int fd, const struct stat *status);

// writer_reuse.c
// Check whether files of the ring are reused, unless the one at hand is unsuitable.
bool tl_writer_may_reuse(const struct tl_writer *writer);
// writer_reuse.c, on the helper
// Move the oldest file of the ring to file->at and open it, if one more file would exceed the limits. False: no file is
// reusable.
bool tl_writer_reuse(struct tl_writer *writer, struct tl_writer_file *file);

// writer_ring.c
int tl_writer_ring_add(struct tl_writer_ring *ring, struct tl_writer_entry entry); // takes ownership of its path
// Add an entry to the numbers by state, before a change with sign -1 and after it with 1.
void tl_writer_ring_tally(struct tl_writer_ring *ring, const struct tl_writer_entry *entry, int sign);
// Find the highest number of the files whose name without it is stem. False: there is none.
bool tl_writer_ring_last_number(
	const struct tl_writer_ring *ring, const struct tl_writer_pattern *pattern, const char *stem, uint32_t *out);
int tl_writer_ring_begin(struct tl_writer_ring *ring, const struct tl_writer_file *file);
void tl_writer_ring_move(struct tl_writer_ring *ring, const struct tl_writer_file *file); // file->at has changed
void tl_writer_ring_end(struct tl_writer_ring *ring, struct tl_writer_file *file, bool keep);
// Remove the oldest complete file that is removable. False: there is none. *out_bytes may be 0: it was gone, or no
// longer ours.
bool tl_writer_ring_recycle(struct tl_writer *writer, uint64_t *out_bytes);
// Return the oldest complete file, which stays listed; NULL: there is none. Valid until the list changes.
const struct tl_writer_entry *tl_writer_ring_oldest(const struct tl_writer_ring *ring);
// Count the removal of the oldest complete file, of this many bytes, and take it off the list.
void tl_writer_ring_gave_up(struct tl_writer *writer, uint64_t bytes);
// Space allocated to each file when it is opened. 0: unknown, or more than the ring can spare.
uint64_t tl_writer_ring_allocation(const struct tl_writer *writer);
// True if the limits do not allow one more file.
bool tl_writer_ring_is_full(struct tl_writer *writer);
// Give up a file that cannot be completed because of a full disk, if the ring has younger ones. False: it is kept.
bool tl_writer_ring_drop_file(struct tl_writer *writer, const struct tl_writer_file *file, int code);
// Measure the free space for the files.
void tl_writer_ring_measure_free(struct tl_writer *writer);
// Allocate the expected size to a newly opened file, if ring and disk can spare it.
void tl_writer_ring_allocate(const struct tl_writer *writer, struct tl_writer_file *file);
// Remove files until the limits are met. more: files are about to be completed, and become removable.
void tl_writer_ring_tidy(struct tl_writer *writer, bool more);
// List the paths. Valid until the next call; one thread at a time.
const char *const *tl_writer_ring_list(struct tl_writer_ring *ring, uint32_t *n);
void tl_writer_ring_fini(struct tl_writer_ring *ring);

// writer_found.c
// Open and lock a recording of this program, for reading, and for writing if permitted. Return the descriptor, -ENOENT,
// -ENOMSG: not a recording, -EBUSY: locked by another process, or another -errno: unknown at present.
int tl_writer_open_ours(const char *path, struct stat *status);
// Log that a file of unknown origin is kept.
void tl_writer_warn_unknown(const char *path);
// Add the files of earlier runs, oldest first.
int tl_writer_ring_find(struct tl_writer_ring *ring, const struct tl_writer_pattern *pattern);

// writer_left.c, on the helper
// Recover one file left by an earlier run, and name it; tend() is called periodically, and aborts by a result other
// than 0. False: there is none.
bool tl_writer_recover_left(struct tl_writer *writer, int (*tend)(void *ctx, uint64_t done_bytes, uint64_t size_bytes));

// writer_pattern.c
int tl_writer_pattern_init(struct tl_writer_pattern *pattern, const char *path, struct tl_err *err);
// Build the path of a file that begins at this time; number 0 is omitted. NULL without memory.
char *tl_writer_pattern_expand(const struct tl_writer_pattern *pattern, time_t when, uint32_t number);
// Build a path for the next file until it begins: .NAME.next, or, if taken, .NAME~1.next and so on.
char *tl_writer_pattern_hidden(const struct tl_writer_pattern *pattern, uint32_t number);
// True if name, in the pattern's directory, is a possible result of expand, with or without .part.
bool tl_writer_pattern_match(
	const struct tl_writer_pattern *pattern, const char *name, uint32_t *out_number, bool *out_part);

// writer_digest.c
// Check whether the file has the blocks used for alignment and recovery.
bool tl_writer_has_heads(const struct tl_writer *writer, const struct tl_writer_file *file);
// Write the file ID and the check into the HEAD of the data to be written.
void tl_writer_sign(const struct tl_writer *writer, struct tl_writer_write *write);
// Same for a unit of this many bytes whose HEAD is at head_at; return its digest.
struct tl_digest tl_writer_sign_unit(const struct tl_writer *writer, const struct tl_writer_file *file, uint8_t *unit,
	uint32_t bytes, uint32_t head_at, uint64_t offset);
// Add a written unit that ends at this offset.
void tl_writer_chain_add(
	const struct tl_writer *writer, struct tl_writer_file *file, const struct tl_digest *unit, uint64_t end_bytes);
// Write the CHAIN block, if the file has one. Return its size.
uint32_t tl_writer_put_chain(const struct tl_writer *writer, const struct tl_writer_file *file, uint8_t *buffer);

// writer_blocks.c: buffer belongs to the calling thread, and is allocated by the first of these functions.
uint8_t *tl_writer_blocks_buffer(void);
int tl_writer_put_prologue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer);
int tl_writer_put_epilogue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer);
// True if statistics are due; *write is then set to their data and length.
bool tl_writer_statistics_due(struct tl_writer *writer, struct tl_writer_write *write);

// writer_file.c
// Create a file with a random id. NULL: out of memory, or getrandom(2) fails.
struct tl_writer_file *tl_writer_file_new(struct tl_writer *writer);
void tl_writer_file_free(struct tl_writer_file *file);
// Remove a file that never began.
void tl_writer_file_discard(struct tl_writer *writer, struct tl_writer_file *file);
// Open path and truncate it; wait up to a second for its lock. With direct, try O_DIRECT. Block devices and directories
// are refused.
int tl_writer_file_open(struct tl_writer_file *file, const char *path, bool direct, struct tl_err *err);
// Create a regular file; tl_writer_file_name() gives it the name file->at, and fails if that exists.
int tl_writer_file_create(struct tl_writer_file *file, bool direct);
int tl_writer_file_name(struct tl_writer_file *file);
// Adopt fd, a regular file whose content is kept.
int tl_writer_file_adopt(struct tl_writer_file *file, int fd, bool direct);
// True if the file, or its directory, was removed since the open: written data is lost at its close.
bool tl_writer_file_is_removed(const struct tl_writer_file *file);
// Allocate disk space and set the file's size, which complete() cuts: a write within the size needs no lock against
// other writes, an extending one does. Refusal by the file system is ignored.
void tl_writer_file_allocate(struct tl_writer_file *file, uint64_t bytes);
// Write all data at the offset (stream: next), resuming short writes; turn O_DIRECT off if it proves unusable.
int tl_writer_file_write(struct tl_writer_file *file, const void *data, uint32_t len_bytes, uint64_t offset_bytes);
// Cut the file to the last whole block: the next write goes there. Data that cannot be cut off is overwritten.
int tl_writer_file_cut(struct tl_writer_file *file);
// Force the data to its place on the disk with sync: fsync or fdatasync.
int tl_writer_file_force(int fd, int (*sync)(int fd));
int tl_writer_file_close(struct tl_writer_file *file);

// writer_stream.c
int tl_writer_stream_write(struct tl_writer_file *file, const uint8_t *data, uint32_t len_bytes);
// True if the reader has closed the stream, detected without a write.
bool tl_writer_stream_abandoned(const struct tl_writer_file *file);

// writer_error.c
void tl_writer_trouble_begin(struct tl_writer *writer, struct tl_writer_trouble *trouble, const char *path, int code);
void tl_writer_trouble_end(struct tl_writer *writer, struct tl_writer_trouble *trouble, const char *path);
// Log once that writes go through the page cache.
void tl_writer_warn_buffered(struct tl_writer *writer, const struct tl_writer_file *file);
// Advice to the user for an errno.
const char *tl_writer_advice(int code);

// io_sync.c, io_uring.c
void tl_writer_sync_init(struct tl_writer *writer);
int tl_writer_uring_init(struct tl_writer *writer); // -errno if the kernel or the container does not provide io_uring
