// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recode, inside: two stages, each of which moves slabs from rings into a ring of its own.
//
//   merge.c    N rings to one, in the order of time
//   convert.c  slab for slab, on several threads, in the order in which they were taken
//   pcap.c     what the conversion to classic pcap does with a slab
//   recode.c   which stages there are, and their lives

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tl_recode.h>
#include <tl_zslab.h>

#define TL_RECODE_RINGS_MAX 16
#define TL_RECODE_THREADS_MAX 16
#define TL_RECODE_SLABS 16 // of a stage's ring: 8 that are being written, and as many that are filled

// A ring to take from: how far its slab at hand has been read.
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
	struct tl_slab_origin *origins; // n_sources for each slab of out
	struct tl_slab_origin *open;	// those of the slab being filled
	uint64_t now_ns;		// when the rings were last looked at
	uint64_t last_ns;		// the latest timestamp written
	uint64_t late_pkts;
	const atomic_bool *stop; // the rings get no more
	atomic_bool ended;	 // nor does out
	pthread_t thread;
	bool started;
};

struct tl_convert {
	struct tl_slab_ring *const *rings;
	uint32_t n_rings;
	enum tl_recode_form form;
	struct tl_slab_ring *out;
	struct tl_slab_origin *origins; // n_origins for each slab of out
	uint32_t n_origins;
	struct tl_zslab_packer *packers[TL_RECODE_THREADS_MAX];
	uint32_t n_threads;

	pthread_mutex_t lock; // of taking and of handing over: a ring knows one thread on each side
	pthread_cond_t handed_over;
	uint32_t next_ring;
	uint64_t taken, submitted; // slabs
	const atomic_bool *stop;   // the rings get no more
	pthread_t threads[TL_RECODE_THREADS_MAX];
	uint32_t n_started;
	_Atomic(uint32_t) n_ended; // as many: nor does out
};

struct tl_recode {
	struct tl_recode_cfg cfg;
	struct tl_slab_ring *rings[TL_RECODE_RINGS_MAX];
	struct tl_slab_ring *merged; // NULL: nothing is merged
	atomic_bool stop;
	struct tl_merge merge;
	struct tl_convert convert; // its ring is NULL: nothing is converted
};

// How long a thread sleeps that has found nothing to do so often in a row.
void tl_recode_idle(unsigned times);

// Each ends when *stop says that the rings get no more, and all of what they have is in out.
int tl_merge_start(struct tl_merge *merge);
void tl_merge_join(struct tl_merge *merge);

int tl_convert_start(struct tl_convert *convert);
void tl_convert_join(struct tl_convert *convert);

// The records of a sealed slab as those of a pcap file. Returns their bytes: less than the slab has.
uint32_t tl_recode_pcap(const struct tl_slab *slab, uint8_t *out);
