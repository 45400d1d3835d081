// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ahead_priv: declarations shared by the files of this module.
//
//   ahead.c       memory, files, requests
//   ahead_read.c  ways to read; reads of slabs: start, result, repetition
//
// Threads: see tl_ahead.h.

#include <tl_ahead.h>
#include <tl_base.h>
#include <tl_uring.h>

#define AHEAD_FILES_MAX 64u
#define AHEAD_SLABS_MAX 64u

enum ahead_way {
	AHEAD_CACHED, // through the page cache
	AHEAD_DIRECT, // past it, by O_DIRECT
};

struct ahead_slab {
	struct tl_ahead_file *file;
	uint64_t number;    // offset in the file, in slabs
	uint32_t bytes;	    // read so far
	uint32_t tries;	    // reads in a row that the kernel put off
	int error;	    // -errno of the read after these bytes; 0: none
	bool flying;	    // a read is in flight
	bool ended;	    // the file ends after these bytes
	enum ahead_way way; // of the read in flight
};

struct tl_ahead_file {
	struct tl_ahead *ahead;
	int fd; // -1: free
	enum ahead_way way;
	uint8_t *data;	     // the slabs, and room for half of them: a request that crosses their end continues there
	uint64_t head, tail; // slabs from head to before tail are read, or in flight
	uint64_t file_bytes; // length of the file when it was last looked at
	struct ahead_slab slab[AHEAD_SLABS_MAX];
};

struct tl_ahead {
	struct tl_ahead_cfg cfg;
	struct io_uring uring;
	uint8_t *memory;
	struct tl_ahead_stats stats;
	struct tl_ahead_file file[AHEAD_FILES_MAX];
};

static inline struct ahead_slab *ahead_slab_of(struct tl_ahead_file *file, uint64_t number)
{
	return &file->slab[number % file->ahead->cfg.slabs];
}

// Choose the way to read a file that was opened: past the page cache, unless it is short, or there.
void ahead_choose(struct tl_ahead_file *file);

// Start to read the rest of a slab. tl_uring_reap() submits it.
void ahead_start(struct ahead_slab *slab);

// Process the completions; with wait, at least one.
void ahead_reap(struct tl_ahead *ahead, bool wait);
