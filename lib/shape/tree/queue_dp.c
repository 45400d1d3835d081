// SPDX-License-Identifier: BSD-3-Clause
// Queues of a leaf: one, first in first out, or several that share by deficit round robin (Shreedhar and Varghese,
// 1995).

#include "queue.h"

static inline void queue_count_drop(struct tree_leaf *leaf, enum tl_tree_drop reason, uint32_t bytes)
{
	tl_count(&leaf->count.drop_pkts[reason], 1);
	tl_count(&leaf->count.drop_bytes[reason], bytes);
}

// ---- several queues

// Class of a length: four per power of two.
static inline uint32_t queue_size(uint32_t bytes)
{
	if (bytes < 4)
		return bytes;
	uint32_t log2 = 31 - (uint32_t)__builtin_clz(bytes);
	return (log2 - 1) * 4 + ((bytes >> (log2 - 2)) & 3);
}

static void queue_leave_size(struct tree_sizes *s, struct tree_flow *f)
{
	f->longer->shorter = f->shorter;
	f->shorter->longer = f->longer;
	if (f->longer == f) {
		s->heads[f->size] = NULL;
		s->used[f->size / 64] &= ~(UINT64_C(1) << f->size % 64);
	} else if (s->heads[f->size] == f) {
		s->heads[f->size] = f->longer;
	}
}

static void queue_join_size(struct tree_sizes *s, struct tree_flow *f)
{
	struct tree_flow *head = s->heads[f->size];

	if (head == NULL) {
		f->longer = f->shorter = s->heads[f->size] = f;
		s->used[f->size / 64] |= UINT64_C(1) << f->size % 64;
		return;
	}
	f->longer = head;
	f->shorter = head->shorter;
	f->shorter->longer = f;
	head->shorter = f;
}

// Set the bytes of a queue, which may be of another size then. Size 0 is that of an empty one.
static inline void queue_resize(struct tree_sizes *s, struct tree_flow *f, uint32_t bytes)
{
	uint32_t size = queue_size(bytes);

	f->bytes = bytes;
	if (size == f->size)
		return;
	if (f->size != 0)
		queue_leave_size(s, f);
	f->size = size;
	if (size != 0)
		queue_join_size(s, f);
}

static inline struct tree_flow *queue_longest(const struct tree_sizes *s)
{
	uint32_t word = s->used[1] != 0;

	return s->heads[word * 64 + 63 - (uint32_t)__builtin_clzll(s->used[word])];
}

// Let a queue that got its first frame take turns, last.
static inline void queue_begin_turns(struct tree_leaf *leaf, struct tree_flow *f, uint32_t quantum)
{
	struct tree_flow *first = leaf->turn;

	f->deficit = (int32_t)quantum;
	if (first == NULL) {
		f->next = f->prev = leaf->turn = f;
		return;
	}
	f->next = first;
	f->prev = first->prev;
	f->prev->next = f;
	first->prev = f;
}

static inline void queue_end_turns(struct tree_leaf *leaf, struct tree_flow *f)
{
	f->prev->next = f->next;
	f->next->prev = f->prev;
	if (leaf->turn == f)
		leaf->turn = f->next == f ? NULL : f->next;
}

static inline void queue_pay_turn(struct tree_leaf *leaf, struct tree_flow *f, uint32_t bytes, uint32_t quantum)
{
	f->deficit -= (int32_t)bytes;
	if (f->head == NULL || f->deficit > 0)
		return;
	f->deficit += (int32_t)quantum;
	leaf->turn = f->next;
}

// ---- frames

static const struct tree_frame *queue_take(struct tl_tree *t, struct tree_leaf *leaf, struct tree_flow *f)
{
	const struct tree_frame *frame = queue_unlink(t, leaf, f);

	if (leaf->sizes != NULL) {
		queue_resize(leaf->sizes, f, f->bytes - frame->bytes);
		if (f->head == NULL)
			queue_end_turns(leaf, f);
	}
	return frame;
}

// ---- in

void tree_refuse(struct tl_tree *t, struct tree_leaf *leaf, uint32_t bytes, void *frame)
{
	enum tl_tree_drop reason = bytes > t->mtu    ? TL_TREE_DROP_LONG
				   : t->free == NULL ? TL_TREE_DROP_MEMORY
						     : TL_TREE_DROP_LIMIT;

	queue_count_drop(leaf, reason, bytes);
	t->drop(t->drop_ctx, frame);
}

static void queue_drop_longest(struct tl_tree *t, struct tree_leaf *leaf)
{
	const struct tree_frame *oldest = queue_take(t, leaf, queue_longest(leaf->sizes));

	queue_count_drop(leaf, TL_TREE_DROP_LIMIT, oldest->bytes);
	t->drop(t->drop_ctx, oldest->frame);
}

void tree_push(struct tl_tree *t, struct tree_leaf *leaf, uint32_t hash, uint32_t bytes, void *frame)
{
	struct tree_flow *f = &leaf->flows[hash & leaf->mask];

	if (f->head == NULL)
		queue_begin_turns(leaf, f, t->mtu);
	queue_link(t, leaf, f, bytes, frame);
	queue_resize(leaf->sizes, f, f->bytes + bytes);
	while (leaf->backlog_pkts > leaf->limit_pkts || leaf->backlog_bytes > leaf->limit_bytes)
		queue_drop_longest(t, leaf);
}

// ---- out

const struct tree_frame *tree_pop(struct tl_tree *t, struct tree_leaf *leaf)
{
	while (leaf->backlog_pkts != 0) {
		struct tree_flow *f = leaf->sizes != NULL ? leaf->turn : leaf->flows;
		const struct tree_frame *frame = queue_take(t, leaf, f);
		uint64_t delay_ns = t->now_ns - frame->in_ns;
		if (TL_UNLIKELY(delay_ns > leaf->limit_ns)) {
			queue_count_drop(leaf, TL_TREE_DROP_LATE, frame->bytes);
			t->drop(t->drop_ctx, frame->frame);
			continue;
		}
		if (leaf->sizes != NULL)
			queue_pay_turn(leaf, f, frame->bytes, t->mtu);
		queue_count_sent(leaf, frame->bytes, delay_ns);
		return frame;
	}
	return NULL;
}

void tree_drop_all(struct tl_tree *t, struct tree_leaf *leaf)
{
	while (leaf->backlog_pkts != 0) {
		struct tree_flow *f = leaf->sizes != NULL ? leaf->turn : leaf->flows;
		const struct tree_frame *frame = queue_take(t, leaf, f);
		queue_count_drop(leaf, TL_TREE_DROP_END, frame->bytes);
		t->drop(t->drop_ctx, frame->frame);
	}
}
