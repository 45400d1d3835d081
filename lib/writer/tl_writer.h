// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// writer: one thread that moves sealed slabs into a file and copies nothing: O_DIRECT with io_uring at queue depth 8,
// O_DIRECT pwrite, buffered pwrite where the file system refuses O_DIRECT (said once), or plain write() into a pipe.
// Rotates by size; a rotated recording's files are PATH with _00001, _00002 … before the suffix. A disk error does not
// stop it: what cannot be written is counted as dropped, and it tries again with the next slab.
//
// Threads: create, start, stop, destroy on main; stats may be read from any thread; the callbacks run on the writer.
// Memory: create/destroy.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>
#include <tl_slab.h>

struct tl_err;
struct tl_writer;

enum tl_writer_io { TL_WRITER_IO_URING, TL_WRITER_IO_PWRITE };

struct tl_writer_cfg {
	const char *path; // borrowed for the writer's life; "-" is stdout
	enum tl_writer_io io;
	uint64_t rotate_bytes;		   // 0: one file
	struct tl_slab_ring *const *rings; // borrowed for the writer's life
	uint32_t n_rings;
	// The blocks that open and close each file. prologue: SHB and IDBs, padded by the writer to 4 KiB. epilogue:
	// ISBs. Each returns bytes written into buf, 0 on overflow (size is 64 KiB).
	uint32_t (*prologue)(void *ctx, void *buf, uint32_t size);
	uint32_t (*epilogue)(void *ctx, void *buf, uint32_t size);
	void *ctx;
};

struct tl_writer_stats {
	uint64_t written_pkts[TL_DIRS];	  // whose write completed
	uint64_t drop_disk_pkts[TL_DIRS]; // whose write failed
	uint64_t written_bytes;		  // of files, padding and file headers included
	uint64_t files;			  // opened so far
};

// Opens the first file, so that a bad path is an error before anything starts (files are created 0640, never through a
// dangling symlink). Returns 0 or -errno with a sentence.
int tl_writer_create(const struct tl_writer_cfg *cfg, struct tl_writer **out, struct tl_err *err);

// Starts the thread.
int tl_writer_start(struct tl_writer *writer, struct tl_err *err);

// Writes every sealed slab, then epilogue, truncates, closes, joins. The RX lcores must have sealed their last slab.
// Returns 0, or -errno of the first error met in the writer's life with a sentence.
int tl_writer_stop(struct tl_writer *writer, struct tl_err *err);

void tl_writer_destroy(struct tl_writer *writer);

void tl_writer_stats(const struct tl_writer *writer, struct tl_writer_stats *out);

// Paths of the files so far; n of them; valid until destroy; a file that is being written is the last.
const char *const *tl_writer_files(const struct tl_writer *writer, uint32_t *n);

// The first error met, or NULL.
const char *tl_writer_error(const struct tl_writer *writer);

// Whether the reader of a pipe went away (nothing more can be delivered).
bool tl_writer_pipe_closed(const struct tl_writer *writer);
