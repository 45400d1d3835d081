// SPDX-License-Identifier: BSD-3-Clause
// A tree takes the place of another: frames by queue, tokens and counters by class.

#include "tree_priv.h"

#include <stddef.h>
#include <string.h>

// Continue the buckets of a class. One that was not in use, or is not any more, holds a frame.
static void adopt_tokens(struct tl_tree *t, struct tree_node *n, struct tree_node *from)
{
	bool was_free = from->rate->ceil == 0;

	tree_earn_rate(from, t->now_ns, from->rate->owed);
	tree_earn_ceil(from, t->now_ns);
	n->tokens = tl_min_u64(from->rate->burst != 0 ? from->tokens : n->rate->burst, n->rate->owed);
	n->ctokens = tl_min_u64(was_free || n->rate->ceil == 0 ? t->mtu_cost : from->ctokens, n->rate->cburst);
	n->tokens_ns = n->ctokens_ns = t->now_ns;
	n->own_bytes = from->own_bytes;
}

static void adopt_add(struct tree_counters *sum, const struct tree_counters *from)
{
	sum->in_pkts += from->in_pkts;
	sum->in_bytes += from->in_bytes;
	sum->sent_bytes += from->sent_bytes;
	sum->delay_ns += from->delay_ns;
	sum->delay_max_ns = tl_max_u64(sum->delay_max_ns, from->delay_max_ns);
	for (uint32_t i = 0; i < TL_TREE_DROPS; i++) {
		sum->drop_pkts[i] += from->drop_pkts[i];
		sum->drop_bytes[i] += from->drop_bytes[i];
	}
	for (uint32_t i = 0; i < TL_COARSE_BUCKETS; i++)
		sum->sent_pkts.bucket[i] += from->sent_pkts.bucket[i];
	for (uint32_t i = 0; i < TL_TREE_COLOURS; i++) {
		sum->colour_pkts[i] += from->colour_pkts[i];
		sum->colour_bytes[i] += from->colour_bytes[i];
	}
}

// Continue the counters of a leaf, which stay where they are, since they are long: the trees exchange their leaves, and
// these all else.
static void adopt_counters(struct tree_node *n, struct tree_node *from)
{
	const size_t rest = offsetof(struct tree_leaf, count);
	struct tree_leaf *leaf = from->leaf;
	char set_up[offsetof(struct tree_leaf, count)];

	memcpy(set_up, n->leaf, rest);
	memcpy(n->leaf, leaf, rest);
	memcpy(leaf, set_up, rest);
	from->leaf = n->leaf;
	n->leaf = leaf;
}

// Keep the counters of a removed leaf, or of some, with the class in the new tree nearest above it.
static void adopt_gone(
	struct tl_tree *t, const struct tl_tree *from, uint32_t cls, struct tree_leaf **leaf, const uint32_t *to)
{
	const struct tree_node *n = &from->nodes[cls];

	while (to[n - from->nodes] == TL_TREE_REMOVED)
		n = n->parent;
	struct tree_leaf **gone = &t->gone[to[n - from->nodes]];
	if (*leaf != NULL && *gone != NULL) {
		adopt_add(&(*gone)->count, &(*leaf)->count);
	} else if (*leaf != NULL) {
		*gone = *leaf;
		*leaf = NULL;
	}
}

// Move the frames of a removed leaf. They arrive at the other leaf, and not at this one.
static void adopt_removed(struct tree_leaf *to, struct tree_leaf *from, struct tl_tree_moved *moved)
{
	uint64_t pkts = from->backlog_pkts, bytes = from->backlog_bytes;

	to->count.in_pkts += pkts;
	to->count.in_bytes += bytes;
	from->count.in_pkts -= pkts;
	from->count.in_bytes -= bytes;
	moved->pkts += pkts;
	moved->bytes += bytes;
	tree_move(to, from);
}

static void adopt_memory(struct tl_tree *t, struct tl_tree *from)
{
	t->frames = from->frames;
	t->free = from->free;
	from->frames = NULL;
	from->free = NULL;
}

static void adopt_class(struct tl_tree *t, struct tree_node *n, struct tree_node *from)
{
	adopt_tokens(t, n, from);
	if (n->leaf == NULL)
		return;
	adopt_counters(n, from);
	tree_move(n->leaf, from->leaf);
}

struct tl_tree_moved tl_tree_adopt(
	struct tl_tree *t, struct tl_tree *from, uint64_t now_ns, const uint32_t *to, uint32_t fallback)
{
	struct tl_tree_moved moved = {0};

	t->now_ns = tl_max_u64(tl_max_u64(t->now_ns, now_ns), from->now_ns);
	adopt_memory(t, from);
	for (uint32_t i = 0; i < from->n_nodes; i++) { // those that stay first, so that frames of others are behind
		if (to[i] == TL_TREE_REMOVED)
			continue;
		adopt_class(t, &t->nodes[to[i]], &from->nodes[i]);
		t->gone[to[i]] = from->gone[i];
		from->gone[i] = NULL;
	}
	for (uint32_t i = 0; i < from->n_nodes; i++) {
		struct tree_node *n = &from->nodes[i];
		if (to[i] != TL_TREE_REMOVED)
			continue;
		if (n->leaf != NULL)
			adopt_removed(t->nodes[fallback].leaf, n->leaf, &moved);
		adopt_gone(t, from, i, &n->leaf, to);
		adopt_gone(t, from, i, &from->gone[i], to);
	}
	for (uint32_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].leaf != NULL && t->nodes[i].leaf->backlog_pkts != 0)
			tree_wake(t, &t->nodes[i]);
	return moved;
}

void tl_tree_count_moved(struct tl_tree *t, uint32_t cls, const struct tl_tree_moved *moved)
{
	struct tree_counters *count = &t->nodes[cls].leaf->count;

	count->colour_pkts[0] += moved->pkts;
	count->colour_bytes[0] += moved->bytes;
}
