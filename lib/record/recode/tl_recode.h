// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recode: copies sealed slabs once more, between the lcores and the writer, for recordings in timestamp order, in
// classic pcap, or compressed. It drops nothing: while the writer is behind it waits, and the lcores find no free slab.
//
//   rings ──merge (if window_ns)──▶ ring ──convert (unless pcapng)──▶ ring ──▶ writer
//
// Threads: create, start, end, stop, destroy on main; the rest on any. One thread merges, `threads` convert.
// Memory:  create/destroy; own slabs, on the given NUMA node. Needs EAL.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_slab.h>

struct tl_err;
struct tl_recode; // opaque

enum tl_recode_form {
	TL_RECODE_PCAPNG, // unchanged
	TL_RECODE_PCAP,	  // records of classic pcap with nanoseconds; slabs without HEAD and PAD
	TL_RECODE_ZSTD,	  // one unit of zslab (tl_zslab.h) per slab
};

struct tl_recode_cfg {
	const char *name;		   // unique per process, at most 12 characters; for memory zones
	struct tl_slab_ring *const *rings; // borrowed for life; recode takes their slabs
	uint32_t n_rings;
	uint32_t slab_bytes; // slab size of the rings
	// Not 0: order the records of all rings by timestamp. A record waits until each ring has a later one, at most
	// window_ns after its slab was opened, and not while half of its ring's slabs are used. Later
	// records are written out of order, and counted.
	uint64_t window_ns;
	uint64_t (*now_ns)(void *ctx); // the clock of the slabs' opened_ns
	void *ctx;
	enum tl_recode_form form;
	int level;	  // zstd level, 1 .. 19
	uint32_t threads; // converting threads, 1 .. 16
	int socket_id;
	uint64_t run_id; // for the HEAD blocks of merged slabs
};

// Memory for the slabs of a recode, for sizing EAL.
uint64_t tl_recode_memory_bytes(const struct tl_recode_cfg *cfg);

// Create the stages. Return 0 and set *out (caller owns it), or -errno with a message.
int tl_recode_create(const struct tl_recode_cfg *cfg, struct tl_recode **out, struct tl_err *err);

// Last ring, for the writer. Origins of its slabs are the rings, by index.
struct tl_slab_ring *tl_recode_ring(const struct tl_recode *recode);

int tl_recode_start(struct tl_recode *recode, struct tl_err *err);

// Call end() after the lcores have sealed their last slab: the rest is processed as the writer returns slabs. ended()
// returns true when all of it is in the last ring; stop() waits for that.
void tl_recode_end(struct tl_recode *recode);
bool tl_recode_ended(const struct tl_recode *recode);
void tl_recode_stop(struct tl_recode *recode);
void tl_recode_destroy(struct tl_recode *recode);

uint64_t tl_recode_late_pkts(const struct tl_recode *recode);
