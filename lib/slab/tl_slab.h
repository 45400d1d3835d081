// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// slab: hands recorded bytes from one RX lcore to one writer thread. A slab is a fixed piece of memory that the lcore
// fills with whole pcapng blocks; sealed, it begins with a HEAD block and ends with a PAD block on a 4 KiB boundary,
// and is what the writer writes.
//
// Threads: reserve(), commit(), seal() and age only on the RX lcore; take() and give_back() only on the writer; used()
// and
//          count() on any; the rest on main while neither runs.
// Memory:  everything is allocated in create(), on the NUMA node named, hugepages where DPDK has them; the hot calls
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
	uint32_t ring_index; // for the HEAD blocks: which queue
};

// Records of a slab that came from elsewhere: of which ring of there.
struct tl_slab_origin {
	uint32_t ring;
	uint32_t records[TL_DIRS];
};

// A sealed slab as the writer sees it.
struct tl_slab {
	uint8_t *data;	       // 4 KiB aligned
	uint32_t used_bytes;   // HEAD and records, a multiple of 4
	uint32_t sealed_bytes; // with the trailing PAD, a multiple of 4096; 0: its records could not be converted
	uint32_t head_bytes;   // of the HEAD; 0: its content is of another kind (tl_slab_submit)
	uint32_t records[TL_DIRS];
	uint64_t sequence;		      // 0, 1, 2 … within the ring
	uint64_t opened_ns;		      // mono_ns of its first record
	const struct tl_slab_origin *origins; // n_origins; 0: all of it is this ring's own
	uint32_t n_origins;
};

// Returns 0 and sets *out (caller owns it), or -EINVAL, -EEXIST, -ENOMEM with a sentence.
int tl_slab_create(const struct tl_slab_cfg *cfg, struct tl_slab_ring **out, struct tl_err *err);
void tl_slab_destroy(struct tl_slab_ring *ring);

// How many slabs go round.
uint32_t tl_slab_count(const struct tl_slab_ring *ring);

// All slabs' data: one piece of memory, whose size is returned. For whoever wants to tell the kernel of it.
uint64_t tl_slab_memory(const struct tl_slab_ring *ring, uint8_t **out);

// Where the next record goes: the first member of every ring, in the open so that the two calls per record are inlined.
// The RX lcore's; room_bytes is 0 while no slab is open.
struct tl_slab_cursor {
	uint8_t *at;
	uint32_t room_bytes;
	uint32_t records[TL_DIRS]; // of the open slab
};

// HOT. tl_slab_reserve() where the open slab is full or there is none.
void *tl_slab_reserve_next(struct tl_slab_ring *ring, uint32_t len_bytes, uint64_t mono_ns);

// HOT. Room for len bytes (a multiple of 4, at most slab_bytes - 4096) in the open slab, sealing a full one and opening
// the next; NULL when the writer is behind (the caller counts drop_ring_pkts). mono_ns becomes the age of a slab that
// is opened by this call.
static inline void *tl_slab_reserve(struct tl_slab_ring *ring, uint32_t len_bytes, uint64_t mono_ns)
{
	const struct tl_slab_cursor *cursor = (const struct tl_slab_cursor *)ring;

	return TL_LIKELY(len_bytes <= cursor->room_bytes) ? cursor->at : tl_slab_reserve_next(ring, len_bytes, mono_ns);
}

// HOT. The last reserved len bytes hold one complete record.
static inline void tl_slab_commit(struct tl_slab_ring *ring, uint32_t len_bytes, enum tl_dir dir)
{
	struct tl_slab_cursor *cursor = (struct tl_slab_cursor *)ring;

	cursor->at += len_bytes;
	cursor->room_bytes -= len_bytes;
	cursor->records[dir]++;
}

// Seal the open slab if it holds a record, so that the writer gets it.
void tl_slab_seal(struct tl_slab_ring *ring);

// Seal it if its first record is older than max_age_ns.
void tl_slab_seal_if_older(struct tl_slab_ring *ring, uint64_t mono_ns, uint64_t max_age_ns);

// For whoever fills slabs of another ring from those of a first: the slab being filled (NULL: none), whether it has no
// record yet, and its number among all slabs of the ring, from 0. Its origins may be set until it is sealed.
struct tl_slab *tl_slab_opened(struct tl_slab_ring *ring);
static inline bool tl_slab_is_new(const struct tl_slab_ring *ring)
{
	const struct tl_slab_cursor *cursor = (const struct tl_slab_cursor *)ring;

	return cursor->records[TL_DIR_RX] + cursor->records[TL_DIR_TX] == 0;
}

uint32_t tl_slab_number(const struct tl_slab_ring *ring, const struct tl_slab *slab);

// In place of reserve(), commit() and seal(): a free slab (NULL: none), all of whose data and members the caller sets
// before it is the writer's.
struct tl_slab *tl_slab_alloc(struct tl_slab_ring *ring);
void tl_slab_submit(struct tl_slab_ring *ring, struct tl_slab *slab);

// The next sealed slab, or NULL. Several may be taken before any is given back.
struct tl_slab *tl_slab_take(struct tl_slab_ring *ring);
void tl_slab_give_back(struct tl_slab_ring *ring, struct tl_slab *slab);

// Any thread: how many slabs are with the writer or on their way to it.
uint32_t tl_slab_used(const struct tl_slab_ring *ring);
