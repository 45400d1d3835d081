// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A tree of shares, and an oracle that evaluates the sum of all shares at each bound, in exact fractions, and the
// definition of max-min fairness.

#include <tl_base.h>
#include <tl_share.h>

#define NODES 60

__extension__ typedef __int128 wide;

struct test {
	struct tl_share_node nodes[NODES];
	uint32_t n;
};

static inline uint32_t add(struct test *t, uint32_t parent, struct tl_share_node node)
{
	node.parent = parent;
	node.weight = node.weight != 0 ? node.weight : 1;
	t->nodes[t->n] = node;
	return t->n++;
}

static inline void begin(struct test *t)
{
	*t = (struct test){.n = 0};
	add(t, 0, (struct tl_share_node){0});
}

static inline void solve(struct test *t, uint64_t capacity)
{
	tl_share_solve(t->nodes, t->n, capacity);
}

static inline uint64_t share(const struct test *t, uint32_t i)
{
	return t->nodes[i].share;
}

// ---- oracle

// A child in a division.
struct bounds {
	uint32_t node;
	uint64_t from, to, weight;
};

struct division {
	struct bounds of[NODES];
	uint32_t n;
};

static inline uint64_t demand_of(const struct test *t, uint32_t node)
{
	uint64_t sum = t->nodes[node].demand, ceil = t->nodes[node].ceil;
	bool is_leaf = true;

	for (uint32_t i = node + 1; i < t->n; i++) {
		if (t->nodes[i].parent != node)
			continue;
		sum = (is_leaf ? 0 : sum) + demand_of(t, i);
		is_leaf = false;
	}
	return ceil != 0 && ceil < sum ? ceil : sum;
}

static inline uint64_t floor_of(const struct test *t, uint32_t node)
{
	uint64_t sum = 0, demand = demand_of(t, node), floor = t->nodes[node].floor;

	for (uint32_t i = node + 1; i < t->n; i++)
		if (t->nodes[i].parent == node)
			sum += floor_of(t, i);
	floor = floor > sum ? floor : sum;
	return floor < demand ? floor : demand;
}

static inline wide between(wide value, wide from, wide to)
{
	return value < from ? from : value > to ? to : value;
}

// Return the sum of the shares at the level num / den, times den.
static inline wide sum_at(const struct division *d, uint64_t num, uint64_t den)
{
	wide sum = 0;

	for (uint32_t i = 0; i < d->n; i++)
		sum += between((wide)d->of[i].weight * num, (wide)d->of[i].from * den, (wide)d->of[i].to * den);
	return sum;
}

// Find the highest bound at which the sum is not above the amount.
static inline void find_level(const struct division *d, uint64_t amount, uint64_t *num, uint64_t *den)
{
	*num = 0;
	*den = 1;
	for (uint32_t i = 0; i < 2 * d->n; i++) {
		const struct bounds *b = &d->of[i / 2];
		uint64_t value = i % 2 == 0 ? b->from : b->to;
		if (b->weight != 0 && sum_at(d, value, b->weight) <= (wide)amount * b->weight &&
			(wide)value * *den >= (wide)*num * b->weight) {
			*num = value;
			*den = b->weight;
		}
	}
}

// Return whether the shares are those of the level of this amount, within 1, and sum up to it.
static inline bool is_divided(const struct test *t, const struct division *d, uint64_t amount)
{
	uint64_t num, den, sum = 0;
	wide weights = 0, left = amount;
	bool ok = true;

	find_level(d, amount, &num, &den);
	for (uint32_t i = 0; i < d->n; i++) {
		const struct bounds *b = &d->of[i];
		wide part = (wide)b->weight * num;
		bool rises = part >= (wide)b->from * den && part < (wide)b->to * den;
		weights += rises ? b->weight : 0;
		left -= rises ? 0 : part < (wide)b->from * den ? b->from : b->to;
	}
	for (uint32_t i = 0; i < d->n; i++) {
		const struct bounds *b = &d->of[i];
		uint64_t found = t->nodes[b->node].share;
		wide part = (wide)b->weight * num;
		sum += found;
		if (part >= (wide)b->from * den && part < (wide)b->to * den)
			part = (wide)b->weight * left - (wide)found * weights;
		else
			part = found == (part < (wide)b->from * den ? b->from : b->to) ? 0 : weights + 1;
		ok = ok && (part == 0 || (part < weights && -part < weights));
	}
	return ok && sum == amount;
}

// Return whether no share could grow but at the expense of one that is not larger in proportion to its weight.
static inline bool is_max_min(const struct test *t, const struct division *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t k = 0; k < d->n; k++) {
			const struct bounds *grows = &d->of[i], *falls = &d->of[k];
			uint64_t low = t->nodes[grows->node].share, high = t->nodes[falls->node].share;
			if (i != k && low < grows->to && high > falls->from &&
				(wide)(high - 1) * grows->weight >= (wide)(low + 1) * falls->weight)
				return false;
		}
	return true;
}

static inline bool is_node_right(const struct test *t, uint32_t node)
{
	uint64_t left = share(t, node), floors[TL_SHARE_TIERS] = {0};
	bool ok = true;

	for (uint32_t tier = 0; tier < TL_SHARE_TIERS; tier++) {
		for (uint32_t i = node + 1; i < t->n; i++)
			if (t->nodes[i].parent == node && t->nodes[i].tier == tier)
				floors[tier] += floor_of(t, i);
		floors[tier] = floors[tier] < left ? floors[tier] : left;
		left -= floors[tier];
	}
	for (uint32_t tier = 0; tier < TL_SHARE_TIERS; tier++) {
		struct division d = {.n = 0};
		uint64_t most = 0, least = 0;
		for (uint32_t i = node + 1; i < t->n; i++) {
			if (t->nodes[i].parent != node || t->nodes[i].tier != tier)
				continue;
			d.of[d.n++] = (struct bounds){i, floor_of(t, i), demand_of(t, i), t->nodes[i].weight};
			least += floor_of(t, i);
			most += demand_of(t, i);
		}
		for (uint32_t i = 0; i < d.n && least > floors[tier]; i++)
			d.of[i] = (struct bounds){d.of[i].node, 0, d.of[i].from, d.of[i].from};
		uint64_t amount = floors[tier] + left < most ? floors[tier] + left : most;
		ok = ok && is_divided(t, &d, amount) && is_max_min(t, &d);
		left -= amount - floors[tier];
	}
	return ok;
}

static inline bool is_tree_right(const struct test *t, uint64_t capacity)
{
	uint64_t demand = demand_of(t, 0);
	bool ok = share(t, 0) == (capacity < demand ? capacity : demand);

	for (uint32_t i = 0; i < t->n; i++) {
		bool is_parent = false;
		for (uint32_t k = i + 1; k < t->n; k++)
			is_parent |= t->nodes[k].parent == i;
		ok = ok && (!is_parent || is_node_right(t, i));
	}
	return ok;
}
