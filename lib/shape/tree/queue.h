// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// queue: the common case of a leaf, inline: one queue, nothing to drop. The rest: queue_dp.c.

#include "tree_priv.h"

// Take the oldest frame of a queue that has one. What is returned is valid until the next frame is put.
static inline const struct tree_frame *queue_unlink(struct tl_tree *t, struct tree_leaf *leaf, struct tree_flow *f)
{
	struct tree_frame *frame = f->head;

	f->head = frame->next;
	frame->next = t->free;
	t->free = frame;
	leaf->backlog_pkts--;
	leaf->backlog_bytes -= frame->bytes;
	return frame;
}

static inline void queue_link(
	struct tl_tree *t, struct tree_leaf *leaf, struct tree_flow *f, uint32_t bytes, void *frame)
{
	struct tree_frame *place = t->free;

	t->free = place->next;
	place->frame = frame;
	place->in_ns = t->now_ns;
	place->next = NULL;
	place->bytes = bytes;
	leaf->backlog_pkts++;
	leaf->backlog_bytes += bytes;
	if (f->head == NULL)
		f->head = place;
	else
		f->tail->next = place;
	f->tail = place;
}

static inline bool queue_is_full(const struct tree_leaf *leaf, uint32_t bytes)
{
	return leaf->backlog_pkts >= leaf->limit_pkts || leaf->backlog_bytes + bytes > leaf->limit_bytes;
}

static inline void queue_count_sent(struct tree_leaf *leaf, uint32_t bytes, uint64_t delay_ns)
{
	struct tree_counters *count = &leaf->count;

	tl_coarse_record(&count->sent_pkts, delay_ns);
	tl_count(&count->sent_bytes, bytes);
	tl_count(&count->delay_ns, delay_ns);
	if (TL_UNLIKELY(delay_ns > count->delay_max_ns))
		tl_count(&count->delay_max_ns, delay_ns - count->delay_max_ns);
}

static inline void queue_count_in(struct tree_leaf *leaf, uint32_t bytes)
{
	tl_count(&leaf->count.in_pkts, 1);
	tl_count(&leaf->count.in_bytes, bytes);
}

// True while a leaf holds more than its limits, with frames of classes that were removed: these are not dropped.
static inline bool queue_is_beyond(const struct tree_leaf *leaf)
{
	return leaf->backlog_pkts > leaf->limit_pkts || leaf->backlog_bytes > leaf->limit_bytes;
}

static inline bool queue_is_refused(const struct tl_tree *t, const struct tree_leaf *leaf, uint32_t bytes)
{
	return bytes > t->mtu || t->free == NULL ||
	       (leaf->sizes == NULL ? queue_is_full(leaf, bytes) : queue_is_beyond(leaf));
}

static inline void queue_push(struct tl_tree *t, struct tree_leaf *leaf, uint32_t hash, uint32_t bytes, void *frame)
{
	bytes += t->overhead_bytes;
	queue_count_in(leaf, bytes);
	if (TL_UNLIKELY(queue_is_refused(t, leaf, bytes)))
		tree_refuse(t, leaf, bytes, frame);
	else if (leaf->sizes != NULL)
		tree_push(t, leaf, hash, bytes, frame);
	else
		queue_link(t, leaf, leaf->flows, bytes, frame);
}

static inline const struct tree_frame *queue_pop(struct tl_tree *t, struct tree_leaf *leaf)
{
	if (!leaf->is_plain)
		return tree_pop(t, leaf);
	uint64_t delay_ns = t->now_ns - leaf->flows->head->in_ns;
	if (TL_UNLIKELY(delay_ns > leaf->limit_ns))
		return tree_pop(t, leaf);
	const struct tree_frame *frame = queue_unlink(t, leaf, leaf->flows);
	queue_count_sent(leaf, frame->bytes, delay_ns);
	return frame;
}
