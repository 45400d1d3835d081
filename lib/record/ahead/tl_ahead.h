// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ahead: reads files ahead of a reader that moves forward in them, through one io_uring for all of them.
//
// A file is read in slabs into a circle of memory. One that is larger than cfg.direct_bytes, and of which samples are
// not in the page cache, is read past it, by O_DIRECT, with all slabs in flight that the reader has left behind.
// Others, and those of a file system that refuses O_DIRECT, are read through the page cache when they are needed, and
// the kernel reads ahead.
//
// Threads: one at a time; create and destroy may be called on another one. Memory: create allocates all of it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_ahead;      // opaque
struct tl_ahead_file; // opaque

#define TL_AHEAD_ALIGN 4096u // of O_DIRECT: offsets, lengths and memory

struct tl_ahead_cfg {
	uint32_t files;	       // open at a time: 1 .. 64
	uint32_t slab_bytes;   // of a read: a multiple of TL_AHEAD_ALIGN
	uint32_t slabs;	       // of a file: a power of two, 2 .. 64
	uint64_t direct_bytes; // length of the largest file that is read through the page cache alone
};

struct tl_ahead_stats {
	uint64_t direct_bytes, cached_bytes; // read past and through the page cache
	uint64_t waits;			     // number of times the reader waited for the disk
};

// Return 0, or -errno: the kernel or a sandbox does not provide io_uring, or -ENOMEM.
int tl_ahead_create(const struct tl_ahead_cfg *cfg, struct tl_ahead **out);
void tl_ahead_destroy(struct tl_ahead *ahead);

// Read the counters. Any thread.
void tl_ahead_sample(const struct tl_ahead *ahead, struct tl_ahead_stats *out);

// Begin with a regular file, opened without O_DIRECT; fd is borrowed until tl_ahead_close(). NULL: cfg.files are open.
struct tl_ahead_file *tl_ahead_open(struct tl_ahead *ahead, int fd);

// Return the largest length that can be requested: half of the slabs; and that of a slab.
size_t tl_ahead_longest(const struct tl_ahead_file *file);
size_t tl_ahead_slab_bytes(const struct tl_ahead *ahead);

// Return len bytes at this offset: *got of them, fewer only before the end of the file or an error; valid until the
// next call. Bytes before the offset are given up: earlier ones are read again. Return 0, or the -errno of the read
// after these bytes.
int tl_ahead_get(struct tl_ahead_file *file, uint64_t offset, size_t len, const uint8_t **out, size_t *got);

// True once the file is read by O_DIRECT: its descriptor has that flag.
bool tl_ahead_is_direct(const struct tl_ahead_file *file);

// Wait for the reads in flight.
void tl_ahead_close(struct tl_ahead_file *file);
