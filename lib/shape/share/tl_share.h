// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// share: divides a capacity among the nodes of a tree by their demands: weighted max-min fairness (Bertsekas and
// Gallager, "Data Networks", section 6.5.2) with floors and tiers.
//
// - A leaf gets at most its demand, a node at most its ceil. No capacity stays unused while a leaf that could take it
//   has demand.
// - Floors come first: each node gets its floor, or its demand if that is less. If the capacity does not suffice,
// floors
//   of lower tiers come first, and within a tier the capacity is divided in proportion to the floors.
// - The rest goes to the lowest tier until its demand is satisfied, then to the next.
// - Within a tier shares are in proportion to the weights, between floor and demand: no share can grow without loss
//   for another one that is smaller in proportion to its weight.
// - Floor, tier and weight compare siblings.
//
// All amounts are integers of one unit, such as bit/s, and sum up exactly: a share differs from the exact fraction by
// less than 1.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#define TL_SHARE_TIERS 2
#define TL_SHARE_NODES_MAX (UINT32_C(1) << 16)
#define TL_SHARE_MAX (UINT64_C(1) << 44) // of an amount
#define TL_SHARE_WEIGHT_MAX (UINT32_C(1) << 20)

struct tl_share_node {
	uint32_t parent; // index of an earlier node; ignored for the first, which is the root
	uint32_t weight; // 1 to TL_SHARE_WEIGHT_MAX
	uint32_t tier;	 // 0 to TL_SHARE_TIERS - 1; 0 first
	uint64_t demand; // 0 to TL_SHARE_MAX; ignored for a node with children, which has the sum of theirs
	uint64_t floor;	 // 0 to TL_SHARE_MAX; at least the sum of those of the children counts
	uint64_t ceil;	 // up to TL_SHARE_MAX; 0: none
	uint64_t share;	 // set by tl_share_solve()
	// Of tl_share_solve():
	uint64_t least, most;	 // bounds of the share
	uint32_t child, sibling; // first and next; 0: none
	uint64_t from, to, part; // bounds and weight in a division
	bool is_set;		 // the division has set the share
};

// Set the share of each node. n from 1 to TL_SHARE_NODES_MAX.
void tl_share_solve(struct tl_share_node *nodes, uint32_t n, uint64_t capacity);

// Do the same, then add to the shares what they leave of the capacity: by weight, whatever the tier and demand, up to
// the ceils. The results are limits that let demands grow at once. Of the leaves demand, floor and tier are
// overwritten.
void tl_share_limits(struct tl_share_node *nodes, uint32_t n, uint64_t capacity);
