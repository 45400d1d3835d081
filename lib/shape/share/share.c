// SPDX-License-Identifier: BSD-3-Clause
// Weighted max-min fairness on a tree: bounds from the leaves up, shares from the root down.

#include <tl_share.h>

#include <tl_base.h>

__extension__ typedef __int128 share_wide;

// ---- one division: children of a tier, each between its bounds

struct share_sum {
	uint64_t parts, left; // of the children that are not set: sum of their weights; amount to divide
};

static struct share_sum share_open(const struct tl_share_node *nodes, uint32_t first, uint32_t tier, uint64_t amount)
{
	struct share_sum sum = {.left = amount};

	for (uint32_t i = first; i != 0; i = nodes[i].sibling) {
		if (nodes[i].tier != tier)
			continue;
		if (nodes[i].is_set)
			sum.left -= nodes[i].share;
		else
			sum.parts += nodes[i].part;
	}
	return sum;
}

// Return how far the part of a child is outside its bounds: below 0: above "to"; 0: within. Times sum->parts.
static share_wide share_outside(const struct tl_share_node *n, const struct share_sum *sum)
{
	share_wide part = (share_wide)n->part * sum->left;

	if (part > (share_wide)n->to * sum->parts)
		return (share_wide)n->to * sum->parts - part;
	if (part < (share_wide)n->from * sum->parts)
		return (share_wide)n->from * sum->parts - part;
	return 0;
}

// Set children outside their bounds to these: those above, those below, or both if they compensate each other, so that
// none of the others will be set to the wrong bound. Return whether there were any.
static bool share_set_bounds(struct tl_share_node *nodes, uint32_t first, uint32_t tier, const struct share_sum *sum)
{
	share_wide total = 0;
	bool any = false;

	for (uint32_t i = first; i != 0; i = nodes[i].sibling)
		if (nodes[i].tier == tier && !nodes[i].is_set)
			total += share_outside(&nodes[i], sum);
	for (uint32_t i = first; i != 0; i = nodes[i].sibling) {
		struct tl_share_node *n = &nodes[i];
		share_wide outside = n->tier == tier && !n->is_set ? share_outside(n, sum) : 0;
		if ((outside > 0 && total >= 0) || (outside < 0 && total <= 0)) {
			n->share = outside > 0 ? n->from : n->to;
			n->is_set = any = true;
		}
	}
	return any;
}

// Divide the rest in proportion to the weights. Rounding the sums keeps each share within 1 of its fraction.
static void share_set_parts(struct tl_share_node *nodes, uint32_t first, uint32_t tier, const struct share_sum *sum)
{
	uint64_t parts = 0, given = 0;

	for (uint32_t i = first; i != 0; i = nodes[i].sibling) {
		struct tl_share_node *n = &nodes[i];
		if (n->tier != tier || n->is_set || sum->parts == 0)
			continue;
		parts += n->part;
		n->share = (uint64_t)((share_wide)parts * sum->left / sum->parts) - given;
		given += n->share;
	}
}

// Divide an amount between the sums of "from" and "to" among the children of a tier.
static void share_divide(struct tl_share_node *nodes, uint32_t first, uint32_t tier, uint64_t amount)
{
	struct share_sum sum = share_open(nodes, first, tier, amount);

	while (sum.parts != 0 && share_set_bounds(nodes, first, tier, &sum))
		sum = share_open(nodes, first, tier, amount);
	share_set_parts(nodes, first, tier, &sum);
}

// ---- children of a node

struct share_tier {
	uint64_t least, most; // sums
};

static void share_sum_tiers(
	const struct tl_share_node *nodes, uint32_t first, struct share_tier tiers[static TL_SHARE_TIERS])
{
	for (uint32_t i = first; i != 0; i = nodes[i].sibling) {
		tiers[nodes[i].tier].least += nodes[i].least;
		tiers[nodes[i].tier].most += nodes[i].most;
	}
}

// Set the bounds and weights of a division: of floors that the capacity does not cover, else of shares.
static void share_begin(struct tl_share_node *nodes, uint32_t first, uint32_t tier, bool covered)
{
	for (uint32_t i = first; i != 0; i = nodes[i].sibling) {
		struct tl_share_node *n = &nodes[i];
		if (n->tier != tier)
			continue;
		n->from = covered ? n->least : 0;
		n->to = covered ? n->most : n->least;
		n->part = covered ? n->weight : n->least;
		n->is_set = false;
		n->share = 0;
	}
}

static void share_children(struct tl_share_node *nodes, uint32_t parent)
{
	uint32_t first = nodes[parent].child;
	struct share_tier tiers[TL_SHARE_TIERS] = {{0}};
	uint64_t floors[TL_SHARE_TIERS], left = nodes[parent].share;

	share_sum_tiers(nodes, first, tiers);
	for (uint32_t tier = 0; tier < TL_SHARE_TIERS; tier++) {
		floors[tier] = tl_min_u64(tiers[tier].least, left);
		left -= floors[tier];
	}
	for (uint32_t tier = 0; tier < TL_SHARE_TIERS; tier++) {
		uint64_t amount = tl_min_u64(floors[tier] + left, tiers[tier].most);
		share_begin(nodes, first, tier, floors[tier] == tiers[tier].least);
		share_divide(nodes, first, tier, amount);
		left -= amount - floors[tier];
	}
}

// ---- the tree

static void share_link(struct tl_share_node *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		nodes[i].child = nodes[i].sibling = 0;
	for (uint32_t i = n - 1; i > 0; i--) {
		nodes[i].sibling = nodes[nodes[i].parent].child;
		nodes[nodes[i].parent].child = i;
	}
}

static void share_bound(struct tl_share_node *nodes, struct tl_share_node *node)
{
	uint64_t least = 0, most = node->child != 0 ? 0 : node->demand;

	for (uint32_t i = node->child; i != 0; i = nodes[i].sibling) {
		least += nodes[i].least;
		most += nodes[i].most;
	}
	node->most = node->ceil != 0 ? tl_min_u64(most, node->ceil) : most;
	node->least = tl_min_u64(tl_max_u64(node->floor, least), node->most);
}

void tl_share_solve(struct tl_share_node *nodes, uint32_t n, uint64_t capacity)
{
	share_link(nodes, n);
	for (uint32_t i = n; i > 0; i--)
		share_bound(nodes, &nodes[i - 1]);
	nodes[0].share = tl_min_u64(capacity, nodes[0].most);
	for (uint32_t i = 0; i < n; i++)
		if (nodes[i].child != 0)
			share_children(nodes, i);
}

void tl_share_limits(struct tl_share_node *nodes, uint32_t n, uint64_t capacity)
{
	tl_share_solve(nodes, n, capacity);
	for (uint32_t i = 0; i < n; i++) {
		struct tl_share_node *node = &nodes[i];
		node->tier = 0;
		if (node->child != 0)
			continue;
		node->floor = node->share;
		node->demand = node->ceil != 0 ? node->ceil : TL_SHARE_MAX;
	}
	tl_share_solve(nodes, n, capacity);
}
