// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recode: copies sealed slabs once more, between the lcores and the writer, for a recording that cannot be written as
// it is sealed: all queues in one order of time, classic pcap, or compressed. Loses nothing: while the writer is behind
// it waits, and the lcores find no slab.
//
//   rings ──merge (if window_ns)──▶ ring ──convert (unless pcapng)──▶ ring ──▶ writer
//
// Threads: create, start, end, stop, destroy on main; the rest on any. One thread merges, `threads` convert.
// Memory: create/destroy; slabs of their own, on the NUMA node named. Needs EAL.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_slab.h>

struct tl_err;
struct tl_recode; // opaque

enum tl_recode_form {
	TL_RECODE_PCAPNG, // as it is
	TL_RECODE_PCAP,	  // records of a classic pcap file with nanoseconds; their slabs have no HEAD and no PAD
	TL_RECODE_ZSTD,	  // units of zslab (tl_zslab.h), one for each slab
};

struct tl_recode_cfg {
	const char *name;		   // unique per process, at most 12 characters; for memory zones
	struct tl_slab_ring *const *rings; // borrowed for life; this takes their slabs
	uint32_t n_rings;
	uint32_t slab_bytes; // of theirs
	// Not 0: records of all rings in the order of their timestamps. A record waits until each ring has a later one,
	// but no longer than window_ns after its slab was opened, and not while half of its ring's slabs are used. What
	// comes too late for its place is written where it comes, and counted.
	uint64_t window_ns;
	uint64_t (*now_ns)(void *ctx); // the time, as in the slabs' opened_ns; for the window
	void *ctx;
	enum tl_recode_form form;
	int level;	  // of zstd, 1 .. 19
	uint32_t threads; // that convert, 1 .. 16
	int socket_id;
	uint64_t run_id; // for the HEAD blocks of merged slabs
};

// What the slabs of a recode take, for whoever has to set memory aside.
uint64_t tl_recode_memory_bytes(const struct tl_recode_cfg *cfg);

// Returns 0 and sets *out (caller owns it), or -errno with a sentence.
int tl_recode_create(const struct tl_recode_cfg *cfg, struct tl_recode **out, struct tl_err *err);

// What the writer takes slabs from. Their origins are the rings, by number.
struct tl_slab_ring *tl_recode_ring(const struct tl_recode *recode);

int tl_recode_start(struct tl_recode *recode, struct tl_err *err);

// After the lcores have sealed their last slab: what is left goes on, as the writer makes room. ended() is whether all
// of it is in the last ring, for the writer to ask once it has been told to stop; stop() waits until it is.
void tl_recode_end(struct tl_recode *recode);
bool tl_recode_ended(const struct tl_recode *recode);
void tl_recode_stop(struct tl_recode *recode);
void tl_recode_destroy(struct tl_recode *recode);

uint64_t tl_recode_late_pkts(const struct tl_recode *recode);
