// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// writer_priv: what the files of this module share.
//
//   writer.c         create, start, stop, destroy, and what other threads may read
//   writer_thread.c  the thread: slabs in, writes out, rotation, recovery from a failed write
//   writer_file.c    one output file: open, write, cut, close
//   writer_stream.c  writing into a pipe or a device without ever hanging in it
//   writer_names.c   the paths of a rotated recording
//   writer_error.c   the first error, and one line of log per change of state
//   io_uring.c       eight writes in flight
//   io_sync.c        one write at a time
//
// Threads: all on the writer thread, or on main before it starts and after it is joined. Memory: in struct tl_writer.

#include <pthread.h>
#include <stdatomic.h>

#include <liburing.h>

#include <tl_err.h>
#include <tl_writer.h>

#define TL_WRITER_DEPTH 8u	      // writes in flight at most
#define TL_WRITER_BLOCKS_BYTES 65536u // what prologue() and epilogue() may fill
#define TL_WRITER_PENDING 1	      // tl_writer_write.result while in flight

// Where the blocks go: a regular file written at offsets, or a stream (pipe, socket, device) written in order.
struct tl_writer_file {
	int fd;
	const char *path;  // for messages
	bool regular_only; // set before it is opened: a stream is refused, not waited for
	bool stream;
	bool direct;		 // O_DIRECT is on
	const atomic_bool *stop; // of the writer: a stream waits only so long once it is set
	uint32_t chunk_bytes;	 // stream: the most that one write() takes without blocking
	int broken;		 // stream: the -errno after which nothing more can follow
	uint64_t prologue_bytes; // 0: not written yet, and nothing may be before it
	uint64_t end_bytes;	 // whole blocks reach to here
	uint64_t next_bytes;	 // where the next write goes; [end, next) is in flight
};

// One slab on its way to the file.
struct tl_writer_write {
	struct tl_slab_ring *ring;
	struct tl_slab *slab;
	const uint8_t *data;
	uint32_t len_bytes;
	uint64_t offset_bytes;
	int result; // TL_WRITER_PENDING, then 0 or -errno
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

// A kind of trouble, logged when it begins and when it ends.
struct tl_writer_trouble {
	const char *what; // "cannot write"
	const char *over; // "writing again"
	bool on;
};

struct tl_writer {
	struct tl_writer_cfg cfg;
	struct tl_writer_file file;
	bool direct_refused; // said, and not tried again
	const struct tl_writer_backend *backend;
	struct io_uring uring; // of the io_uring backend
	uint8_t *blocks;       // TL_WRITER_BLOCKS_BYTES and a PAD, aligned for O_DIRECT

	// Writes in flight, oldest first: flight[(flight_first + i) % TL_WRITER_DEPTH], i < flight_count.
	struct tl_writer_write flight[TL_WRITER_DEPTH];
	uint32_t flight_first;
	uint32_t flight_count;
	uint32_t next_ring; // whose turn it is
	uint64_t idle_ns;   // how long the next idle sleep is

	pthread_t thread;
	bool started;
	atomic_bool stop;
	atomic_bool pipe_closed;

	struct tl_writer_trouble writing;
	struct tl_writer_trouble rotating;
	atomic_int first_error; // -errno; error is final once it is set
	struct tl_err error;

	struct tl_writer_names *names;
	struct tl_writer_stats stats;
};

// writer_thread.c
void *tl_writer_main(void *writer);

// writer_file.c
// Opens path and empties it; with direct, tries O_DIRECT. A block device or a directory is refused.
int tl_writer_file_open(struct tl_writer_file *file, const char *path, bool direct, struct tl_err *err);
// Writes all of it at the offset (a stream: next), resuming short writes; turns O_DIRECT off where it proves unusable.
int tl_writer_file_write(struct tl_writer_file *file, const void *data, uint32_t len_bytes, uint64_t offset_bytes);
// Drops what is beyond the last whole block: the next write goes there. What cannot be cut off is written over.
void tl_writer_file_cut(struct tl_writer_file *file);
int tl_writer_file_close(struct tl_writer_file *file);

// writer_stream.c
int tl_writer_stream_write(struct tl_writer_file *file, const uint8_t *data, uint32_t len_bytes);
// Whether the reader went away, seen without writing.
bool tl_writer_stream_abandoned(const struct tl_writer_file *file);

// writer_names.c
// The path of the next file; NULL without memory. It becomes part of the list with tl_writer_names_keep().
char *tl_writer_names_next(const struct tl_writer_names *names, const char *path);
// Takes over name. 0, or -ENOMEM with name still the caller's.
int tl_writer_names_keep(struct tl_writer_names *names, char *name);
struct tl_writer_names *tl_writer_names_create(void);
void tl_writer_names_destroy(struct tl_writer_names *names);
const char *const *tl_writer_names_list(const struct tl_writer_names *names, uint32_t *n);

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
