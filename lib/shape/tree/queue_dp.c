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
static inline void queue_begin_turns(struct tree_leaf *leaf, struct tree_flow *f)
{
	struct tree_flow *first = leaf->turn;

	f->deficit = (int32_t)f->quantum;
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

static inline void queue_pay_turn(struct tree_leaf *leaf, struct tree_flow *f, uint32_t bytes)
{
	f->deficit -= (int32_t)bytes;
	if (f->head == NULL || f->deficit > 0)
		return;
	f->deficit += (int32_t)f->quantum;
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

static void queue_drop(
	struct tl_tree *t, struct tree_leaf *leaf, enum tl_tree_drop reason, const struct tree_frame *frame)
{
	queue_count_drop(leaf, reason, frame->bytes);
	t->drop(t->drop_ctx, frame->frame);
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

void tl_tree_count_colour(struct tl_tree *t, uint32_t cls, uint32_t colour, uint32_t bytes)
{
	struct tree_counters *count = &t->nodes[cls].leaf->count;

	tl_count(&count->colour_pkts[colour], 1);
	tl_count(&count->colour_bytes[colour], bytes + t->overhead_bytes);
}

void tl_tree_drop_policed(struct tl_tree *t, uint32_t cls, uint32_t bytes, void *frame)
{
	struct tree_leaf *leaf = t->nodes[cls].leaf;

	bytes += t->overhead_bytes;
	queue_count_in(leaf, bytes);
	queue_count_drop(leaf, TL_TREE_DROP_POLICE, bytes);
	t->drop(t->drop_ctx, frame);
}

static void queue_drop_longest(struct tl_tree *t, struct tree_leaf *leaf)
{
	queue_drop(t, leaf, TL_TREE_DROP_LIMIT, queue_take(t, leaf, queue_longest(leaf->sizes)));
}

void tl_tree_set_weight(struct tl_tree *t, uint32_t cls, uint32_t hash, uint32_t weight)
{
	struct tree_leaf *leaf = t->nodes[cls].leaf;

	leaf->flows[hash & leaf->mask].quantum = t->mtu * weight;
}

void tree_push(struct tl_tree *t, struct tree_leaf *leaf, uint32_t hash, uint32_t bytes, void *frame)
{
	struct tree_flow *f = &leaf->flows[hash & leaf->mask];

	if (f->head == NULL)
		queue_begin_turns(leaf, f);
	queue_link(t, leaf, f, bytes, frame);
	queue_resize(leaf->sizes, f, f->bytes + bytes);
	while (leaf->backlog_pkts > leaf->limit_pkts || leaf->backlog_bytes > leaf->limit_bytes)
		queue_drop_longest(t, leaf);
}

// Append the frames of a queue. bytes: of all of them.
static void queue_append(struct tree_leaf *leaf, struct tree_flow *f, struct tree_flow *from, uint64_t bytes)
{
	bool empty = f->head == NULL;

	if (empty)
		f->head = from->head;
	else
		f->tail->next = from->head;
	f->tail = from->tail;
	from->head = NULL;
	if (leaf->sizes == NULL)
		return;
	if (empty)
		queue_begin_turns(leaf, f);
	queue_resize(leaf->sizes, f, (uint32_t)tl_min_u64(f->bytes + bytes, UINT32_MAX));
}

void tree_move(struct tree_leaf *leaf, struct tree_leaf *from)
{
	while (from->turn != NULL) {
		struct tree_flow *f = from->turn;
		queue_end_turns(from, f);
		queue_append(leaf, &leaf->flows[(f - from->flows) & leaf->mask], f, f->bytes);
	}
	if (from->sizes == NULL && from->backlog_pkts != 0)
		queue_append(leaf, leaf->flows, from->flows, from->backlog_bytes);
	leaf->backlog_pkts += from->backlog_pkts;
	leaf->backlog_bytes += from->backlog_bytes;
	from->backlog_pkts = 0;
	from->backlog_bytes = 0;
}

// ---- out

// Take the oldest frame of a queue that has not waited for too long. NULL: none is left.
static const struct tree_frame *queue_next(struct tl_tree *t, struct tree_leaf *leaf, struct tree_flow *f)
{
	while (f->head != NULL) {
		const struct tree_frame *frame = queue_take(t, leaf, f);
		if (TL_LIKELY(t->now_ns - frame->in_ns <= leaf->limit_ns))
			return frame;
		queue_drop(t, leaf, TL_TREE_DROP_LATE, frame);
	}
	return NULL;
}

// Return the time from one drop to the next, interval / sqrt(count) rounded down: bit by bit, without a division, as
// drops are few (RFC 8289, section 4.3).
static uint64_t queue_codel_gap(uint64_t interval_ns, uint32_t count)
{
	unsigned __int128 square = (unsigned __int128)interval_ns * interval_ns;
	uint64_t gap_ns = 0;

	for (uint64_t bit = UINT64_C(1) << (63 - __builtin_clzll(interval_ns)); bit != 0; bit >>= 1) {
		uint64_t longer_ns = gap_ns | bit;
		if ((unsigned __int128)longer_ns * longer_ns * count <= square)
			gap_ns = longer_ns;
	}
	return gap_ns;
}

// Take the next frame, and judge whether it may be dropped (dodequeue() of RFC 8289, section 5.6).
static const struct tree_frame *queue_codel_next(
	struct tl_tree *t, struct tree_leaf *leaf, struct tree_flow *f, struct tree_codel *c, bool *may_drop)
{
	const struct tree_frame *frame = queue_next(t, leaf, f);
	uint64_t bytes = leaf->sizes != NULL ? f->bytes : leaf->backlog_bytes;

	*may_drop = false;
	if (frame == NULL || t->now_ns - frame->in_ns < leaf->target_ns || bytes <= t->mtu)
		c->above_ns = 0;
	else if (c->above_ns == 0)
		c->above_ns = t->now_ns + leaf->interval_ns;
	else
		*may_drop = t->now_ns >= c->above_ns;
	return frame;
}

// Begin to drop: at the rate of last time if that was not long ago.
static void queue_codel_begin(struct tree_codel *c, uint64_t now_ns, uint64_t interval_ns)
{
	uint32_t dropped = c->count - c->last_count;

	c->dropping = true;
	c->count = dropped > 1 && now_ns < c->drop_ns + 16 * interval_ns ? dropped : 1;
	c->last_count = c->count;
	c->drop_ns = now_ns + queue_codel_gap(interval_ns, c->count);
}

// Take the next frame of a queue, and drop those before it that CoDel selects (deque() of RFC 8289, section 5.5).
static const struct tree_frame *queue_codel(struct tl_tree *t, struct tree_leaf *leaf, struct tree_flow *f)
{
	struct tree_codel *c = &leaf->codel[f - leaf->flows];
	bool may_drop;
	const struct tree_frame *frame = queue_codel_next(t, leaf, f, c, &may_drop);

	if (!c->dropping && may_drop) {
		queue_drop(t, leaf, TL_TREE_DROP_CODEL, frame);
		frame = queue_codel_next(t, leaf, f, c, &may_drop);
		queue_codel_begin(c, t->now_ns, leaf->interval_ns);
		return frame;
	}
	c->dropping = c->dropping && may_drop;
	while (c->dropping && t->now_ns >= c->drop_ns) {
		queue_drop(t, leaf, TL_TREE_DROP_CODEL, frame);
		c->count++;
		frame = queue_codel_next(t, leaf, f, c, &may_drop);
		c->dropping = may_drop;
		if (may_drop)
			c->drop_ns += queue_codel_gap(leaf->interval_ns, c->count);
	}
	return frame;
}

const struct tree_frame *tree_pop(struct tl_tree *t, struct tree_leaf *leaf)
{
	while (leaf->backlog_pkts != 0) {
		struct tree_flow *f = leaf->sizes != NULL ? leaf->turn : leaf->flows;
		const struct tree_frame *frame = leaf->codel != NULL ? queue_codel(t, leaf, f) : queue_next(t, leaf, f);
		if (frame == NULL)
			continue;
		if (leaf->sizes != NULL)
			queue_pay_turn(leaf, f, frame->bytes);
		queue_count_sent(leaf, frame->bytes, t->now_ns - frame->in_ns);
		return frame;
	}
	return NULL;
}

void tree_drop_all(struct tl_tree *t, struct tree_leaf *leaf)
{
	while (leaf->backlog_pkts != 0) {
		struct tree_flow *f = leaf->sizes != NULL ? leaf->turn : leaf->flows;
		queue_drop(t, leaf, TL_TREE_DROP_END, queue_take(t, leaf, f));
	}
}
