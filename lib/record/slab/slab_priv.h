// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// slab ring: a fixed set of slabs that circulate between two threads through two queues: sealed ones to the writer,
// free ones back to the RX lcore.
//
// Threads: one per side of a queue. Memory: all of it from create().

#include <tl_slab.h>

struct rte_memzone;

// A queue with a single producer and a single consumer. It has room for every slab of its ring, so a push cannot fail,
// and no cell is reused before its slab has passed the other queue: that hand-over orders the two threads.
struct slab_queue {
	struct tl_slab **cells;
	uint32_t mask; // cells - 1
	uint32_t pushed TL_CACHE_ALIGNED;
	uint32_t popped TL_CACHE_ALIGNED; // private to the popping thread
} TL_CACHE_ALIGNED;

struct tl_slab_ring {
	struct tl_slab_cursor cursor; // first member: see tl_slab.h
	struct tl_slab *open;
	// Free slabs at hand, the last returned on top: its memory is still in the cache, and while the writer keeps up
	// only a few slabs are used.
	struct tl_slab **spare;
	uint32_t spares;
	uint64_t opened_ns;
	uint64_t sequence; // sequence number of the next slab to seal

	uint32_t slab_bytes;
	uint32_t n_slabs;
	uint32_t ring_index;
	uint64_t run_id;
	const struct rte_memzone *memory; // data of all slabs, contiguous
	struct tl_slab *slabs;

	struct slab_queue sealed;
	struct slab_queue free;
};

static inline void slab_queue_push(struct slab_queue *queue, struct tl_slab *slab)
{
	uint32_t pushed = queue->pushed;

	queue->cells[pushed & queue->mask] = slab;
	__atomic_store_n(&queue->pushed, pushed + 1, __ATOMIC_RELEASE);
}

static inline struct tl_slab *slab_queue_pop(struct slab_queue *queue)
{
	uint32_t popped = queue->popped;

	if (__atomic_load_n(&queue->pushed, __ATOMIC_ACQUIRE) == popped)
		return NULL;
	queue->popped = popped + 1;
	return queue->cells[popped & queue->mask];
}
