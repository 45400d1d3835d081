// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Stages of recode; each moves slabs from rings into its own ring.
//
//   merge.c    N rings to one, by timestamp
//   convert.c  slab for slab, on several threads, in order
//   pcap.c     conversion of one slab to classic pcap
//   recode.c   set-up and tear-down

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tl_recode.h>
#include <tl_zslab.h>

#define TL_RECODE_RINGS_MAX 16
#define TL_RECODE_THREADS_MAX 16
#define TL_RECODE_SLABS 16 // slabs per stage: 8 being written, 8 being filled

// Read position in a source ring.
struct tl_merge_source {
	struct tl_slab_ring *ring;
	struct tl_slab *slab; // NULL: none at hand
	uint32_t at;	      // offset of the next record
};

struct tl_merge {
	const struct tl_recode_cfg *cfg;
	struct tl_merge_source sources[TL_RECODE_RINGS_MAX];
	uint32_t n_sources;
	uint64_t window_ns;
	struct tl_slab_ring *out;
	struct tl_slab_origin *origins; // n_sources per slab of out
	struct tl_slab_origin *open;	// origins of the slab being filled
	uint64_t now_ns;		// time of the latest look at the rings
	uint64_t last_ns;		// latest timestamp written
	uint64_t late_pkts;
	const atomic_bool *stop; // the rings get no more slabs
	atomic_bool ended;	 // out gets no more slabs
	pthread_t thread;
	bool started;
};

struct tl_convert {
	struct tl_slab_ring *const *rings;
	uint32_t n_rings;
	enum tl_recode_form form;
	struct tl_slab_ring *out;
	struct tl_slab_origin *origins; // n_origins per slab of out
	uint32_t n_origins;
	struct tl_zslab_packer *packers[TL_RECODE_THREADS_MAX];
	uint32_t n_threads;

	pthread_mutex_t lock; // for take and submit: each side of a ring is one thread at a time
	pthread_cond_t handed_over;
	uint32_t next_ring;
	uint64_t taken, submitted; // slab counts
	const atomic_bool *stop;   // the rings get no more slabs
	pthread_t threads[TL_RECODE_THREADS_MAX];
	uint32_t n_started;
	_Atomic(uint32_t) n_ended; // equal to n_started: out gets no more slabs
};

struct tl_recode {
	struct tl_recode_cfg cfg;
	struct tl_slab_ring *rings[TL_RECODE_RINGS_MAX];
	struct tl_slab_ring *merged; // NULL: no merge
	atomic_bool stop;
	struct tl_merge merge;
	struct tl_convert convert; // its ring is NULL: no conversion
};

// Sleep, longer with the number of idle turns in a row.
void tl_recode_idle(unsigned times);

// Each thread ends when *stop is set and all slabs of its rings are in out.
int tl_merge_start(struct tl_merge *merge);
void tl_merge_join(struct tl_merge *merge);

int tl_convert_start(struct tl_convert *convert);
void tl_convert_join(struct tl_convert *convert);

// Convert the records of a sealed slab to pcap. Return their bytes: fewer than the slab has.
uint32_t tl_recode_pcap(const struct tl_slab *slab, uint8_t *out);
