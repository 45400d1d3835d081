// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// writer_priv: what the files of this module share.
//
//   writer.c         create, start, stop, destroy, and what other threads may read
//   writer_thread.c  the writer thread: slabs in, writes out, recovery from a failed write
//   writer_next.c    when the recording goes on in the next file
//   writer_cached.c  what is in the page cache, until the kernel says that it is on the disk
//   writer_hold.c    slabs that wait in memory for a trigger
//   writer_save.c    files that a trigger saves from the ring
//   writer_helper.c  the helper thread: which of its work comes next
//   writer_life.c    its work on a file: opened ahead, named, completed
//   writer_index.c   the index thread: what the slabs of a file hold, and its sidecar
//   writer_names.c   which name a file gets, and when
//   writer_ring.c    the recording's files, and which of them have to go
//   writer_found.c   files of earlier runs
//   writer_remove.c  a file of the ring goes, a piece at a time
//   writer_reuse.c   or is written again
//   writer_left.c    recovers those that were not completed
//   writer_pattern.c what the names of files look like
//   writer_file.c    one output file: open, write, cut, close
//   writer_blocks.c  the blocks that open and close a file, and statistics in between
//   writer_digest.c  checks in HEADs, and the digest of a file
//   writer_stream.c  writing into a pipe or a device without ever hanging in it
//   writer_error.c   the first error, and one line of log per change of state
//   io_uring.c       eight writes in flight
//   io_sync.c        one write at a time
//
// Threads: the writer thread has the current file and the slabs; the helper has files before they begin and after the
// writer left them, and names them. Each is handed over under the helper's lock. On main before both start and after
// both are joined. Memory: in struct tl_writer; a file is one allocation, which the helper frees.

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

#define TL_WRITER_DEPTH 8u	      // writes in flight at most
#define TL_WRITER_BLOCKS_BYTES 65536u // what prologue() and epilogue() may fill
#define TL_WRITER_PENDING 1	      // tl_writer_write.result while in flight
#define TL_WRITER_PART ".part"	      // behind the name of a file that is not complete
#define TL_WRITER_JOBS 1024	      // slabs on their way to the index
#define TL_WRITER_NAME_CHARS 512      // of a pattern, its conversions spelt out

// The rows of a file's sidecar as they will be written.
struct tl_writer_rows {
	uint32_t pending; // slabs the index thread still has to look at; under the index's lock
	bool lost;	  // a slab has no row: there will be no sidecar
	bool outdated;	  // nor where slabs were cut off again; the writer's until it has left the file
	uint64_t run_id;
	struct tl_index_rows rows;
};

// Where the blocks go: a regular file written at offsets, or a stream (pipe, socket, device) written in order.
struct tl_writer_file {
	int fd;		   // -1 of a stream: TL_WRITER_NULL
	const char *label; // for the writer's messages
	bool stream;
	bool direct;		   // O_DIRECT is on
	bool nameless;		   // when it was opened, by way of /proc/self/fd
	bool reused;		   // it has slabs of an earlier file, where this one has not been written yet
	uint64_t id;		   // in all HEADs of this file, and in no other's
	const atomic_bool *stop;   // of the writer: a stream waits only so long once it is set
	uint32_t chunk_bytes;	   // stream: the most that one write() takes without blocking
	int broken;		   // stream: the -errno after which nothing more can follow
	uint64_t prologue_bytes;   // 0: not written yet, and nothing may be before it
	uint64_t end_bytes;	   // whole blocks reach to here
	uint64_t next_bytes;	   // where the next write goes; [end, next) is in flight
	uint64_t pkts;		   // taken for this file
	uint64_t statistics_bytes; // the last statistics reach to here; 0: there are none
	uint32_t in_flight;	   // writes
	bool left;		   // the writer has gone on to the next: it is handed over when nothing is in flight
	bool overdue;		   // the next was waited for once
	uint64_t (*written_pkts)[TL_DIRS]; // of each ring
	// fdatasync() has returned for [0, synced), or O_DIRECT has; it is asked for [synced, asked), and the rest up
	// to end is only in the page cache.
	uint64_t synced_bytes, asked_bytes;
	uint64_t (*asked_pkts)[TL_DIRS], (*cached_pkts)[TL_DIRS]; // of each ring
	// Where triggers save files of the ring: no record is older or younger, and whether it has any to be saved.
	uint64_t first_ns, last_ns;
	bool saved, unnamed;

	struct tl_writer_rows rows;
	struct tl_digest_chain chain;			  // of what is in the file
	struct tl_digest_chain synced_chain, asked_chain; // up to synced_bytes, asked_bytes

	// The helper's.
	char *at;     // where it is
	char *name;   // what it will be called; NULL: not decided yet
	time_t began; // set by the writer
	STAILQ_ENTRY(tl_writer_file) begun_link;
	STAILQ_ENTRY(tl_writer_file) left_link; // of unsynced files, then of the helper's
};
STAILQ_HEAD(tl_writer_files, tl_writer_file);

// One slab on its way to a file, or statistics.
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
	char dir[4096]; // with its slash, or empty
	char base[256]; // the name as the user gave it
	char stem[TL_WRITER_NAME_CHARS];
	char suffix[256];
	uint32_t stem_chars; // of an expanded stem
};

// A file of the recording.
struct tl_writer_entry {
	char *path;
	size_t path_room;		   // bytes, at least as many as the path takes
	const struct tl_writer_file *file; // while it is being written; NULL: complete
	uint64_t bytes;			   // complete
	bool this_run;
	bool left; // by an earlier run that did not complete it
	// Complete, and of this run.
	uint64_t (*pkts)[TL_DIRS]; // of each ring
	uint64_t first_ns, last_ns;
	bool saved;   // no longer the ring's
	bool unnamed; // saved, but it has not got the name of a saved one yet
	// Removal that failed: time of the next try, and pause before it; 0: none failed.
	struct timespec retry;
	uint64_t pause_ns;
};

struct tl_writer_ring {
	pthread_mutex_t lock;		 // the helper changes entries, others list them
	struct tl_writer_entry *entries; // oldest first
	uint32_t n, capacity;
	bool stuck;   // said that a file cannot be removed
	bool unsaved; // said that a file cannot be saved
	bool changed; // since listed
	const char **listed;
	uint32_t n_listed;
};

struct tl_writer_helper {
	pthread_t thread;
	pthread_mutex_t lock;	      // of these
	pthread_cond_t wake;	      // the helper: there is work
	pthread_cond_t answer;	      // the writer: what it waits for is there, or cannot be had
	struct tl_writer_file *ahead; // the next file, its prologue in it unless the writer holds
	bool wished;		      // the writer wants it now
	struct tl_writer_files begun; // that need a name
	struct tl_writer_files left;  // that are to be completed
	bool room_asked;	      // by the writer, for frames that found no room
	atomic_uint freed;	      // how often room was made
	unsigned freed_seen;	      // by the writer
	bool save_asked;	      // for the files of this time; which stays, for files that are completed later
	uint64_t save_from_ns, save_until_ns;
	struct timespec save; // when saved files get their names, or it is tried again
	bool stop;
	struct timespec retry; // when names and files are tried again
	struct timespec tidy;  // when the limits are looked at again

	uint8_t *blocks;
};

// A slab that waits for its row.
struct tl_writer_job {
	struct tl_writer_file *file;
	struct tl_slab_ring *ring;
	struct tl_slab *slab; // NULL: it has gone back already
	uint8_t head[TL_PCAPNG_HEAD_BYTES];
	uint32_t len_bytes;
	uint64_t offset_bytes;
};

struct tl_writer_index {
	pthread_t thread;
	pthread_mutex_t lock; // of these
	pthread_cond_t wake;  // the index thread: there is work
	pthread_cond_t done;  // others: a row is done
	// Oldest first: jobs[(first + i) % TL_WRITER_JOBS], i < n; the first so many have their rows.
	struct tl_writer_job jobs[TL_WRITER_JOBS];
	uint32_t first, built, n;
	uint32_t held, held_max; // jobs that keep their slab
	bool stop;
	struct tl_index_builder *builder;
};

// Forces files to the disk that are written through the page cache.
struct tl_writer_cached {
	pthread_t thread;
	pthread_mutex_t lock; // of these
	pthread_cond_t wake;  // the sync thread: it is asked for, or is to stop
	pthread_cond_t done;  // the writer: the result is there
	int fd;		      // -1: not asked for
	int result;	      // of the last
	bool stop;
	// The writer thread's.
	struct tl_writer_file *asked;	 // that fd is of, until its result is taken; NULL: none
	struct tl_writer_files unsynced; // left, with nothing in flight
	uint64_t due_ns; // of CLOCK_MONOTONIC: when the current file is forced to the disk at the latest
};

// The latest name given, without its number, and the number.
struct tl_writer_names {
	char *last_stem;
	uint32_t last_number;
	uint32_t unknown; // hidden paths, from 0, at which somebody else's file was met, and named
};

struct tl_writer_held_slab {
	struct tl_slab *slab;
	uint64_t taken_ns; // no record of it is younger
};

// What one ring sealed, oldest first: cells[(first + i) & mask], i < n.
struct tl_writer_held {
	struct tl_writer_held_slab *cells;
	uint32_t mask, first, n;
	uint32_t limit; // slabs; more would leave the lcore too few
	uint64_t expired_pkts[TL_DIRS];
};

struct tl_writer_hold {
	struct tl_writer_held *queues; // one per ring
	uint64_t bytes;		       // held in all
	bool saving;		       // an episode: slabs that were begun until until_ns go to a file
	uint64_t until_ns;
	bool gave_up; // no file could be had for the last episode
};

// How writes reach the file. They may finish in any order.
struct tl_writer_backend {
	uint32_t depth; // writes in flight at most
	void (*start)(struct tl_writer *writer, struct tl_writer_write *write);
	// Sets the result of every write that has finished. With wait, one must be pending, and at least one is
	// finished.
	void (*reap)(struct tl_writer *writer, bool wait);
	void (*fini)(struct tl_writer *writer);
};

// Statistics on their way into a file that grows.
struct tl_writer_statistics {
	uint8_t *buffer; // NULL: never
	bool in_flight;	 // the buffer is being written
	uint64_t due_ns; // of CLOCK_MONOTONIC
};

// A kind of trouble, logged when it begins and when it ends.
struct tl_writer_trouble {
	const char *what; // "cannot write"
	const char *over; // "writing again"
	bool on;
};

struct tl_writer {
	struct tl_writer_cfg cfg;
	struct tl_writer_pattern pattern;
	bool parts; // rotates by itself: the next file is kept open ahead, and a file is .part until it is complete
	struct tl_writer_file *file; // NULL: between the episodes of a writer that holds
	struct tl_writer_hold hold;
	struct tl_writer_helper helper;
	struct tl_writer_index index;
	struct tl_writer_cached cached;
	struct tl_writer_names names; // the helper's
	struct tl_writer_ring ring;
	bool on_disk;		     // the output is a file
	struct stat created;	     // a file as this recording makes them; the helper's
	_Atomic uint64_t free_bytes; // of its file system
	atomic_bool direct_refused;  // said, and not tried again
	atomic_bool no_room;	     // less than min_free_bytes, and no file left to drop
	atomic_bool rotate_asked;
	uint64_t rotate_at_s; // of the wall clock; 0: never
	uint64_t patience_ns; // how long a rotation by size waits for the next file, once
	const struct tl_writer_backend *backend;
	struct io_uring uring; // of the io_uring backend
	bool uring_registered; // its buffers are known to the kernel
	uint8_t *blocks;       // of the writer thread

	// Writes in flight, oldest first: flight[(flight_first + i) % TL_WRITER_DEPTH], i < flight_count.
	struct tl_writer_write flight[TL_WRITER_DEPTH];
	uint32_t flight_first;
	uint32_t flight_count;
	uint32_t next_ring; // whose turn it is
	struct tl_writer_statistics statistics;
	uint64_t idle_ns; // how long the next idle sleep is

	pthread_t thread;
	bool started;
	atomic_bool stop;
	atomic_bool pipe_closed;

	struct tl_writer_trouble writing;   // the writer's
	struct tl_writer_trouble rotating;  // the helper's
	struct tl_writer_trouble finishing; // the helper's
	struct tl_writer_trouble saving;    // main's, at the end
	atomic_flag error_claimed;
	atomic_int first_error; // -errno; error is final once it is set
	struct tl_err error;

	_Atomic uint64_t blocks_bytes; // prologues and epilogues written
	struct tl_writer_stats stats;  // what is not of one ring
	struct tl_writer_flow *flows;  // one for each ring, or origin
	uint32_t n_flows;
	uint64_t (*dropped_pkts)[TL_DIRS]; // of each ring: written, and dropped with their file; the helper's
	uint64_t (*unknown_pkts)[TL_DIRS]; // of each ring: in files that could not be forced to the disk; the helper's
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
// On the writer thread: a write failed, or what it has written is lost.
void tl_writer_fail(struct tl_writer *writer, const struct tl_writer_file *file, int code);

// writer_cached.c, on the writer thread
// Tell whether the file has slabs that the kernel may still fail to write.
static inline bool tl_writer_is_unsynced(const struct tl_writer_file *file)
{
	return !file->stream && !file->direct && file->end_bytes > tl_max_u64(file->synced_bytes, file->prologue_bytes);
}
// All that the file has taken is on the disk, or with the reader of a stream.
void tl_writer_cached_confirm(struct tl_writer *writer, struct tl_writer_file *file);
// Hands over a file that has been left, and that nothing is in flight for, as soon as all of it is on the disk.
void tl_writer_cached_release(struct tl_writer *writer, struct tl_writer_file *file);
// Takes the result for the file that is being forced to the disk, if there is one; with wait, waits for it. Counts what
// it confirms; or what is lost, cuts that off, and returns true: all that is in flight has to be written again.
bool tl_writer_cached_take(struct tl_writer *writer, bool wait);
// Begins with the next file, if one is due. Returns whether any is being forced to the disk.
bool tl_writer_cached_ask(struct tl_writer *writer);
// writer_cached.c, on main
void tl_writer_cached_init(struct tl_writer_cached *cached);
int tl_writer_cached_start(struct tl_writer *writer);
void tl_writer_cached_stop(struct tl_writer *writer);
void tl_writer_cached_fini(struct tl_writer_cached *cached);

// How long the writer waits for the next file: what the default buffer holds at 10 Gbit/s (patience_ns, but in tests);
// and where nothing is lost by waiting: the file that it has takes nothing more, or all rings are at least half free.
#define TL_WRITER_PATIENCE_NS (50 * TL_NS_PER_MS)
#define TL_WRITER_STUCK_PATIENCE_NS (10 * TL_NS_PER_S)

// writer_next.c, on the writer thread
// The file gets no more slabs: the helper completes it as soon as none is in flight.
void tl_writer_leave_file(struct tl_writer *writer);
// Goes on in the next file, for which it waits that long, for the shorter time only once. False: there is none yet, and
// the recording goes on in this one.
bool tl_writer_go_on(struct tl_writer *writer, uint64_t patience_ns);
// Goes on in the next file because somebody removed this one, which keeps nothing. False: there is none yet; it is
// tried until there is, also while nothing comes.
bool tl_writer_leave_removed(struct tl_writer *writer);
// At the next multiple of the period: days begin with the day, whenever the recording began.
void tl_writer_set_rotation_time(struct tl_writer *writer, uint64_t now_s);
// Goes on when it was asked to, or when its time has come; until then a look at two words.
void tl_writer_rotate_if_due(struct tl_writer *writer);

// writer_hold.c, on the writer thread
// The next slab to be written, and its ring; NULL: none now.
struct tl_slab *tl_writer_hold_take(struct tl_writer *writer, bool stopping, struct tl_slab_ring **out_ring);
// Whether a file with records from first to last has any from..until. last 0: it has none.
static inline bool tl_writer_is_in_time(uint64_t first_ns, uint64_t last_ns, uint64_t from_ns, uint64_t until_ns)
{
	return last_ns != 0 && last_ns >= from_ns && first_ns <= until_ns;
}

// writer_save.c, on the writer thread
// Serves a trigger.
void tl_writer_save_look(struct tl_writer *writer);
// The file at hand takes this slab.
void tl_writer_save_note(struct tl_writer *writer, const struct tl_slab *slab);
// writer_save.c, on the helper
// Moves a complete file to a saved one's name, made from its own.
int tl_writer_save_rename(const struct tl_writer *writer, const char *from, const char *name, char **out_path);
// Saves the complete files of this time: from now on the ring does not drop them.
void tl_writer_ring_save(struct tl_writer *writer, uint64_t from_ns, uint64_t until_ns);
// Gives saved files their names. Returns NULL, or one for which that failed with *out_code, to be tried again.
const char *tl_writer_ring_name_saved(struct tl_writer *writer, int *out_code);

// writer_hold.c, on main
int tl_writer_hold_init(struct tl_writer *writer);
void tl_writer_hold_fini(struct tl_writer *writer);

// writer_helper.c, on the writer thread
// The next file, which is the writer's from now on; NULL: it is not ready within that time, nor within the longest
// while all rings are at least half free, but has been ordered. Without patience it does not wait at all.
struct tl_writer_file *tl_writer_helper_next(struct tl_writer *writer, uint64_t patience_ns, uint64_t longest_ns);
// Hands over a file that nothing is in flight for.
void tl_writer_helper_finish(struct tl_writer *writer, struct tl_writer_file *file);
// On the helper: takes from the next file what it has been given, or has from before, beyond what is written of it.
// False: there is nothing to take.
bool tl_writer_helper_shrink_ahead(struct tl_writer *writer);
// Files of this time, complete now or soon, are to be saved.
void tl_writer_helper_save(struct tl_writer *writer, uint64_t from_ns, uint64_t until_ns);
// After a write that failed with code: true when room was made since the last time, and the write is worth repeating.
bool tl_writer_helper_make_room(struct tl_writer *writer, int code);
// writer_helper.c, on any thread
struct timespec tl_writer_from_now(uint64_t ns);
bool tl_writer_has_passed(struct timespec deadline);
// writer_helper.c, on main
int tl_writer_helper_init(struct tl_writer_helper *helper);
int tl_writer_helper_start(struct tl_writer *writer);
void tl_writer_helper_stop(struct tl_writer *writer); // completes what was handed over
void tl_writer_helper_fini(struct tl_writer_helper *helper);
// writer_index.c, on the writer thread
// The slab is in the file. True: the index keeps it, and gives it back itself.
bool tl_writer_index_add(struct tl_writer *writer, const struct tl_writer_write *write, uint64_t offset_bytes);
// Gives back the slabs whose rows are done; with all, waits for every one.
void tl_writer_index_release(struct tl_writer *writer, bool all);
// writer_index.c, on the helper
// Waits for the file's last row; with keep, writes the sidecar of the file, which is complete and has its name.
void tl_writer_index_finish(struct tl_writer *writer, struct tl_writer_file *file, bool keep);
// writer_index.c, on main
// Remove the index of a recording that is gone. What is none stays, with a line of log.
void tl_writer_index_remove(const char *recording);

int tl_writer_index_init(struct tl_writer *writer);
int tl_writer_index_start(struct tl_writer *writer);
void tl_writer_index_stop(struct tl_writer *writer);
void tl_writer_index_fini(struct tl_writer_index *index);
// writer_life.c, on the helper
int tl_writer_open_ahead(struct tl_writer *writer, struct tl_writer_file *file);
// Names it and lists it. One that was removed before has nothing to name: the writer finds out and leaves it.
int tl_writer_begin(struct tl_writer *writer, struct tl_writer_file *file);
// The last blocks, what makes the file durable, and then its name. After an error it keeps .part: returns the first.
int tl_writer_complete(struct tl_writer *writer, struct tl_writer_file *file);
// After a failure with code: whether it was for want of room, for which the ring may give up what it has; and has.
bool tl_writer_may_recycle_for(const struct tl_writer *writer, int code);
bool tl_writer_recycle_for(struct tl_writer *writer, int code);
int tl_writer_sync_directory(const struct tl_writer_pattern *pattern);
// writer_names.c: on the helper, or on main before it starts
// Goes on after the numbers that this time's name has in the ring.
void tl_writer_resume_names(struct tl_writer *writer, time_t now);
// Moves the file from where it is to a free name of its time: NAME.part in a ring, else NAME.
int tl_writer_give_name(struct tl_writer *writer, struct tl_writer_file *file);
// Opens the file under the hidden name: a new one, or the oldest of the ring where that has to go anyway.
int tl_writer_open_hidden(struct tl_writer *writer, struct tl_writer_file *file);

// writer_remove.c: removes the open file at path. The name goes at once. Who has the file open, or another name for it,
// keeps all of it.
int tl_writer_remove(int fd, const char *path, const struct stat *status);

// Whether nobody else has the file open, nor another name for it.
bool tl_writer_is_alone(int fd, const struct stat *status);

// writer_reuse.c
// Tell whether the ring's files are written again, where nothing speaks against the one at hand.
bool tl_writer_may_reuse(const struct tl_writer *writer);
// writer_reuse.c, on the helper
// Moves the oldest file of the ring to file->at and opens it, when one more file would be over the limits. False: there
// is none that may be written again.
bool tl_writer_reuse(struct tl_writer *writer, struct tl_writer_file *file);

// writer_ring.c
int tl_writer_ring_add(struct tl_writer_ring *ring, struct tl_writer_entry entry); // takes over its path
// The highest number of the files found whose name without it is stem. False: there is none.
bool tl_writer_ring_last_number(
	const struct tl_writer_ring *ring, const struct tl_writer_pattern *pattern, const char *stem, uint32_t *out);
int tl_writer_ring_begin(struct tl_writer_ring *ring, const struct tl_writer_file *file);
void tl_writer_ring_move(struct tl_writer_ring *ring, const struct tl_writer_file *file); // file->at has changed
void tl_writer_ring_end(struct tl_writer_ring *ring, struct tl_writer_file *file, bool keep);
// Drops the oldest complete file that can be removed. False: there is none. *out_bytes may be 0: it was gone, or not
// ours any more.
bool tl_writer_ring_recycle(struct tl_writer *writer, uint64_t *out_bytes);
// The oldest complete file, which stays listed; NULL: there is none. Valid until the list changes.
const struct tl_writer_entry *tl_writer_ring_oldest(const struct tl_writer_ring *ring);
// The oldest complete file had so many bytes and is gone: counts that, and takes it off the list.
void tl_writer_ring_gave_up(struct tl_writer *writer, uint64_t bytes);
// How much each file is given when it is opened. 0: nobody knows, or more than the ring can spare.
uint64_t tl_writer_ring_allocation(const struct tl_writer *writer);
// Whether the limits do not allow one more file.
bool tl_writer_ring_is_full(struct tl_writer *writer);
// Gives up a file that nothing could complete for want of room, where the ring has younger ones. False: it stays.
bool tl_writer_ring_give_up(struct tl_writer *writer, const struct tl_writer_file *file, int code);
// Looks how much is free for the files.
void tl_writer_ring_measure_free(struct tl_writer *writer);
// Gives a file that has just been opened all it may need, if ring and disk can spare it.
void tl_writer_ring_allocate(const struct tl_writer *writer, struct tl_writer_file *file);
// Drops files until the limits are kept. more: files are about to be completed, and can go then.
void tl_writer_ring_tidy(struct tl_writer *writer, bool more);
// Valid until the next call; one thread at a time.
const char *const *tl_writer_ring_list(struct tl_writer_ring *ring, uint32_t *n);
void tl_writer_ring_fini(struct tl_writer_ring *ring);

// writer_found.c
// Opens and locks a recording of this program, for reading and writing where it may be written. Returns the descriptor,
// -ENOENT, -ENOMSG: it is none, -EBUSY: somebody else has locked it, or another -errno: nobody can tell now.
int tl_writer_open_ours(const char *path, struct stat *status);
// Says that a file stays because nothing tells that it is ours.
void tl_writer_say_unknown(const char *path);
// Adds the files of earlier runs, oldest first.
int tl_writer_ring_find(struct tl_writer_ring *ring, const struct tl_writer_pattern *pattern);

// writer_left.c, on the helper
// Recovers one file that an earlier run left, and gives it its name; tend() is called now and then, and ends it with
// other than 0. False: there is none.
bool tl_writer_recover_left(struct tl_writer *writer, int (*tend)(void *ctx, uint64_t done_bytes, uint64_t size_bytes));

// writer_pattern.c
int tl_writer_pattern_init(struct tl_writer_pattern *pattern, const char *path, struct tl_err *err);
// The path of a file that begins at this time; number 0 is not shown. NULL without memory.
char *tl_writer_pattern_expand(const struct tl_writer_pattern *pattern, time_t when, uint32_t number);
// A path under which the next file may wait: .NAME.next, or, where that is taken, .NAME~1.next and so on.
char *tl_writer_pattern_hidden(const struct tl_writer_pattern *pattern, uint32_t number);
// Whether name, in the pattern's directory, is one that expand could give, or that with .part.
bool tl_writer_pattern_match(
	const struct tl_writer_pattern *pattern, const char *name, uint32_t *out_number, bool *out_part);

// writer_digest.c
// Tell whether the file has the blocks that serve alignment and recovery.
bool tl_writer_has_heads(const struct tl_writer *writer, const struct tl_writer_file *file);
// Writes into the HEAD of what is to be written at its offset which file it goes to, and its check.
void tl_writer_sign(const struct tl_writer *writer, struct tl_writer_write *write);
// The same of a unit of so many bytes whose HEAD is at head_at; returns its digest.
struct tl_digest tl_writer_sign_unit(const struct tl_writer *writer, const struct tl_writer_file *file, uint8_t *unit,
	uint32_t bytes, uint32_t head_at, uint64_t offset);
// Adds a unit that is in the file, up to this offset.
void tl_writer_chain_add(
	const struct tl_writer *writer, struct tl_writer_file *file, const struct tl_digest *unit, uint64_t end_bytes);
// Writes the CHAIN block, if the file has one. Returns its bytes.
uint32_t tl_writer_put_chain(const struct tl_writer *writer, const struct tl_writer_file *file, uint8_t *buffer);

// writer_blocks.c: buffer is the calling thread's, from the first of these.
uint8_t *tl_writer_blocks_buffer(void);
int tl_writer_put_prologue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer);
int tl_writer_put_epilogue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer);
// Whether statistics are to be written now: their data and length are in *write then.
bool tl_writer_statistics_due(struct tl_writer *writer, struct tl_writer_write *write);

// writer_file.c
struct tl_writer_file *tl_writer_file_new(struct tl_writer *writer);
void tl_writer_file_free(struct tl_writer_file *file);
// Removes a file that never began.
void tl_writer_file_discard(struct tl_writer *writer, struct tl_writer_file *file);
// Opens path and empties it; with direct, tries O_DIRECT. A block device or a directory is refused.
int tl_writer_file_open(struct tl_writer_file *file, const char *path, bool direct, struct tl_err *err);
// Creates a regular file where there is nothing.
int tl_writer_file_create(struct tl_writer_file *file, const char *path, bool direct);
// Makes fd, a regular file that stays as long as it is, the file's.
int tl_writer_file_adopt(struct tl_writer_file *file, int fd, bool direct);
// Whether somebody removed it, or its directory, since it was opened: what is written to it is lost at its close.
bool tl_writer_file_is_removed(const struct tl_writer_file *file);
// Takes so much of the disk now, as the file's size, which complete() cuts: a write within a file's size needs no lock
// against other writes, one that makes it longer does. What the file system refuses is done without.
void tl_writer_file_allocate(struct tl_writer_file *file, uint64_t bytes);
// Writes all of it at the offset (a stream: next), resuming short writes; turns O_DIRECT off where it proves unusable.
int tl_writer_file_write(struct tl_writer_file *file, const void *data, uint32_t len_bytes, uint64_t offset_bytes);
// Drops what is beyond the last whole block: the next write goes there. What cannot be cut off is written over.
int tl_writer_file_cut(struct tl_writer_file *file);
int tl_writer_file_close(struct tl_writer_file *file);

// writer_stream.c
int tl_writer_stream_write(struct tl_writer_file *file, const uint8_t *data, uint32_t len_bytes);
// Whether the reader went away, seen without writing.
bool tl_writer_stream_abandoned(const struct tl_writer_file *file);

// writer_error.c
void tl_writer_trouble_begins(struct tl_writer *writer, struct tl_writer_trouble *trouble, const char *path, int code);
void tl_writer_trouble_ends(struct tl_writer *writer, struct tl_writer_trouble *trouble, const char *path);
// Says, once, that the page cache is in between.
void tl_writer_say_buffered(struct tl_writer *writer, const struct tl_writer_file *file);
// What the user can do about an errno.
const char *tl_writer_advice(int code);

// io_sync.c, io_uring.c
void tl_writer_sync_init(struct tl_writer *writer);
int tl_writer_uring_init(struct tl_writer *writer); // -errno where the kernel or the container has no io_uring
