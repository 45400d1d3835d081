// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pay: tokens and rounds that a frame costs the classes that send it, inline.

#include "tree_priv.h"

static inline void tree_end_round(struct tree_node *n, uint32_t band)
{
	struct tree_turn *turn = &n->turns[band];

	turn->deficit += (int32_t)n->rate->quantum;
	n->parent->heads[turn->list] = turn->next;
}

// Take a frame's tokens of the ceil. Return whether another frame may follow.
static inline bool tree_pay_ceil(struct tl_tree *t, struct tree_node *n, uint64_t cost)
{
	if (!(n->work & TREE_PAYS_CEIL))
		return true;
	tree_earn_ceil(n, t->now_ns);
	n->ctokens -= cost;
	return n->ctokens >= t->mtu_cost;
}

static inline bool tree_pay_rate(struct tl_tree *t, struct tree_node *n, uint64_t cost)
{
	tree_earn_rate(n, t->now_ns, n->rate->owed);
	n->tokens -= tl_min_u64(cost, n->tokens); // fewer: other rates
	return n->tokens >= t->mtu_cost;
}

// The common case: a class that borrows, without a bucket of its own, and has more to send.
static inline void tree_pay_turn(struct tree_node *n, uint32_t bytes)
{
	n->turns[TREE_EXCESS].deficit -= (int32_t)bytes;
	if (TL_UNLIKELY(n->turns[TREE_EXCESS].deficit <= 0))
		tree_end_round(n, TREE_EXCESS);
}

// ---- a leaf that competes with no other

static inline bool tree_has_ceils(struct tl_tree *t, struct tree_node *leaf)
{
	for (struct tree_node *n = leaf; n->parent != NULL; n = n->parent) {
		if (n->rate->ceil == 0)
			continue;
		tree_earn_ceil(n, t->now_ns);
		if (n->ctokens < t->mtu_cost)
			return false;
	}
	return true;
}

// Pay for a frame: of its rate if that has tokens for one. Rounds are for those that compete.
static inline void tree_pay_lone(struct tl_tree *t, struct tree_node *leaf, uint32_t bytes)
{
	uint64_t cost = bytes * TL_BUCKET_BYTE_COST;

	for (struct tree_node *n = leaf; n->parent != NULL; n = n->parent) {
		if (n->rate->ceil != 0)
			n->ctokens -= cost;
		if (n->rate->burst == 0)
			continue;
		tree_earn_rate(n, t->now_ns, n->rate->burst);
		if (n->tokens < t->mtu_cost)
			continue;
		n->tokens -= cost;
		tl_count(&n->own_bytes, bytes);
	}
	t->nodes->ctokens -= cost;
}
