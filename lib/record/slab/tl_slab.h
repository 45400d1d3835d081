// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// slab: hands recorded bytes from one RX lcore to one writer thread. A slab is a block of memory that the lcore fills
// with whole pcapng blocks; a sealed slab begins with a HEAD block and ends with a PAD block on a 4 KiB boundary, as it
// is written to the file.
//
// Threads: reserve(), commit(), seal() and age only on the RX lcore; take() and give_back() only on the writer; used(),
//          sealed() and count() on any; the rest on main while neither runs.
// Memory:  everything is allocated in create(), on the given NUMA node, in hugepages where DPDK has them; the hot calls
//          never allocate, block, log or make a system call. Needs EAL.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

struct tl_err;
struct tl_slab_ring; // opaque

struct tl_slab_cfg {
	const char *name;    // borrowed for the call; unique per process, at most 20 characters
	uint32_t slab_bytes; // a power of two, 64 KiB .. 4 MiB
	uint32_t slabs;	     // 2 .. 65536
	int socket_id;
	uint64_t run_id;     // for the HEAD blocks
	uint32_t ring_index; // queue number for the HEAD blocks
};

// Record counts per source ring, for a slab filled from others.
struct tl_slab_origin {
	uint32_t ring;
	uint32_t records[TL_DIRS];
};

// A sealed slab.
struct tl_slab {
	uint8_t *data;	       // 4 KiB aligned
	uint32_t used_bytes;   // HEAD and records, a multiple of 4
	uint32_t sealed_bytes; // with the trailing PAD, a multiple of 4096; 0: conversion failed
	uint32_t head_bytes;   // HEAD block; 0: content without one (tl_slab_submit)
	uint32_t records[TL_DIRS];
	uint64_t sequence;		      // consecutive within the ring, from 0
	uint64_t opened_ns;		      // mono_ns of the first record
	const struct tl_slab_origin *origins; // n_origins; 0: records of this ring only
	uint32_t n_origins;
};

// Create a slab ring. Return 0 and set *out (caller owns it), or -EINVAL, -EEXIST, -ENOMEM with a message.
int tl_slab_create(const struct tl_slab_cfg *cfg, struct tl_slab_ring **out, struct tl_err *err);
void tl_slab_destroy(struct tl_slab_ring *ring);

// Number of slabs.
uint32_t tl_slab_count(const struct tl_slab_ring *ring);

// Data of all slabs: one contiguous block; return its size. For registration with the kernel.
uint64_t tl_slab_memory(const struct tl_slab_ring *ring, uint8_t **out);

// Position of the next record: first member of every ring, public so that the two calls per record are inlined. Owned
// by the RX lcore; room_bytes is 0 while no slab is open.
struct tl_slab_cursor {
	uint8_t *at;
	uint32_t room_bytes;
	uint32_t records[TL_DIRS]; // in the open slab
};

// HOT. Slow path of tl_slab_reserve(): the open slab is full, or there is none.
void *tl_slab_reserve_next(struct tl_slab_ring *ring, uint32_t len_bytes, uint64_t mono_ns);

// HOT. Reserve len bytes (a multiple of 4, at most slab_bytes - 4096) in the open slab; seal a full one and open the
// next. NULL if the writer is behind (the caller counts drop_ring_pkts). mono_ns becomes the age of a slab opened by
// this call.
static inline void *tl_slab_reserve(struct tl_slab_ring *ring, uint32_t len_bytes, uint64_t mono_ns)
{
	const struct tl_slab_cursor *cursor = (const struct tl_slab_cursor *)ring;

	return TL_LIKELY(len_bytes <= cursor->room_bytes) ? cursor->at : tl_slab_reserve_next(ring, len_bytes, mono_ns);
}

// HOT. Commit the last reserved len bytes as so many complete records of one direction.
static inline void tl_slab_commit_records(
	struct tl_slab_ring *ring, uint32_t len_bytes, enum tl_dir dir, uint32_t records)
{
	struct tl_slab_cursor *cursor = (struct tl_slab_cursor *)ring;

	cursor->at += len_bytes;
	cursor->room_bytes -= len_bytes;
	cursor->records[dir] += records;
}

// HOT. Commit them as one.
static inline void tl_slab_commit(struct tl_slab_ring *ring, uint32_t len_bytes, enum tl_dir dir)
{
	tl_slab_commit_records(ring, len_bytes, dir, 1);
}

// HOT. In place of tl_slab_reserve(), for several records at once: return the room of the open slab, 0 if there is
// none.
static inline uint32_t tl_slab_room(const struct tl_slab_ring *ring, uint8_t **at)
{
	const struct tl_slab_cursor *cursor = (const struct tl_slab_cursor *)ring;

	*at = cursor->at;
	return cursor->room_bytes;
}

// Seal the open slab if it holds a record.
void tl_slab_seal(struct tl_slab_ring *ring);

// Seal it if its first record is older than max_age_ns.
void tl_slab_seal_if_older(struct tl_slab_ring *ring, uint64_t mono_ns, uint64_t max_age_ns);

// For a thread that fills this ring from slabs of another: the slab being filled (NULL: none), true if it has no record
// yet, and its index in the ring. Its origins may be set until it is sealed.
struct tl_slab *tl_slab_opened(struct tl_slab_ring *ring);
static inline bool tl_slab_is_new(const struct tl_slab_ring *ring)
{
	const struct tl_slab_cursor *cursor = (const struct tl_slab_cursor *)ring;

	return cursor->records[TL_DIR_RX] + cursor->records[TL_DIR_TX] == 0;
}

uint32_t tl_slab_number(const struct tl_slab_ring *ring, const struct tl_slab *slab);

// In place of reserve(), commit() and seal(): allocate a free slab (NULL: none), set all its data and members, submit
// it.
struct tl_slab *tl_slab_alloc(struct tl_slab_ring *ring);
void tl_slab_submit(struct tl_slab_ring *ring, struct tl_slab *slab);

// Take the next sealed slab, or NULL. Several may be held at once.
struct tl_slab *tl_slab_take(struct tl_slab_ring *ring);
void tl_slab_give_back(struct tl_slab_ring *ring, struct tl_slab *slab);

// Slabs at the writer or in the sealed queue. Any thread.
uint32_t tl_slab_used(const struct tl_slab_ring *ring);

// Slabs sealed so far, modulo 2^32. Any thread.
uint32_t tl_slab_sealed(const struct tl_slab_ring *ring);
