// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// heap: priority queue of n items by due time. A change takes O(log n) steps, reading the first one load.
//
// Threads: one at a time. Memory: the caller's two arrays, zeroed, one element per item.

#include <stdint.h>

#define TL_HEAP_NEVER UINT64_MAX

struct tl_heap_node {
	uint64_t due;
	uint32_t item;
};

struct tl_heap {
	struct tl_heap_node *node; // binary heap; for equal due times the lowest item is first
	uint32_t *place;	   // position of an item in node[], plus one; 0: not in the heap
	uint32_t n;
};

// Insert an item, move it, or remove it (TL_HEAP_NEVER).
void tl_heap_set(struct tl_heap *heap, uint32_t item, uint64_t due);

// HOT. Earliest due time; TL_HEAP_NEVER if the heap is empty.
static inline uint64_t tl_heap_due(const struct tl_heap *heap)
{
	return heap->n != 0 ? heap->node[0].due : TL_HEAP_NEVER;
}

// Item with that time; the heap must not be empty.
static inline uint32_t tl_heap_first(const struct tl_heap *heap)
{
	return heap->node[0].item;
}
