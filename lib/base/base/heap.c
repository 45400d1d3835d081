// SPDX-License-Identifier: BSD-3-Clause
// A binary heap with a position index per item.

#include <stdbool.h>

#include <tl_heap.h>

static bool is_before(struct tl_heap_node a, struct tl_heap_node b)
{
	return a.due < b.due || (a.due == b.due && a.item < b.item);
}

static void put(struct tl_heap *heap, uint32_t at, struct tl_heap_node node)
{
	heap->node[at] = node;
	heap->place[node.item] = at + 1;
}

static void sift_up(struct tl_heap *heap, uint32_t at, struct tl_heap_node node)
{
	for (uint32_t parent; at > 0 && is_before(node, heap->node[parent = (at - 1) / 2]); at = parent)
		put(heap, at, heap->node[parent]);
	put(heap, at, node);
}

static void sift_down(struct tl_heap *heap, uint32_t at, struct tl_heap_node node)
{
	for (uint32_t child = 2 * at + 1; child < heap->n; child = 2 * at + 1) {
		if (child + 1 < heap->n && is_before(heap->node[child + 1], heap->node[child]))
			child++;
		if (!is_before(heap->node[child], node))
			break;
		put(heap, at, heap->node[child]);
		at = child;
	}
	put(heap, at, node);
}

static void settle(struct tl_heap *heap, uint32_t at, struct tl_heap_node node)
{
	if (at > 0 && is_before(node, heap->node[(at - 1) / 2]))
		sift_up(heap, at, node);
	else
		sift_down(heap, at, node);
}

static void take(struct tl_heap *heap, uint32_t item)
{
	uint32_t place = heap->place[item];

	if (place == 0)
		return;
	heap->place[item] = 0;
	heap->n--;
	if (place - 1 != heap->n)
		settle(heap, place - 1, heap->node[heap->n]);
}

void tl_heap_set(struct tl_heap *heap, uint32_t item, uint64_t due)
{
	uint32_t place = heap->place[item];

	if (due == TL_HEAP_NEVER)
		take(heap, item);
	else
		settle(heap, place != 0 ? place - 1 : heap->n++, (struct tl_heap_node){.due = due, .item = item});
}
