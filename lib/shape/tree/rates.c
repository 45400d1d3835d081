// SPDX-License-Identifier: BSD-3-Clause
// Rates of classes: defaults, checks, and what the hot path needs instead of divisions.

#include "tree_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tl_err.h>

#define WAIT_MAX_S 1e9 // longer than any bucket takes to fill
#define ROUND_MAX 1024 // frames of mtu in a quantum by default: a round stays short where rates differ much

// Settings of a class with defaults in place of 0.
static struct tl_tree_class rates_complete(const struct tl_tree_class *cls, uint32_t mtu)
{
	struct tl_tree_class c = *cls;

	if (c.ceil == 0)
		c.ceil = c.rate;
	if (c.burst == 0)
		c.burst = tl_min_u64(2 * (uint64_t)mtu + c.rate / 8000, TL_TREE_BURST_MAX);
	if (c.cburst == 0)
		c.cburst = tl_min_u64(2 * (uint64_t)mtu + c.ceil / 8000, TL_TREE_BURST_MAX);
	return c;
}

int tree_check_ranges(const char *where, const struct tree_range *ranges, size_t n, struct tl_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct tree_range *r = &ranges[i];
		if (r->value < r->min || r->value > r->max)
			return tl_fail(err, -EINVAL, "%s: %s %" PRIu64 ": out of range; give %" PRIu64 " to %" PRIu64,
				where, r->name, r->value, r->min, r->max);
	}
	return 0;
}

static int rates_check_range(const struct tl_tree_class *c, uint32_t mtu, struct tl_err *err)
{
	const struct tree_range ranges[] = {{"rate", c->rate, 0, TL_TREE_RATE_MAX},
		{"ceil", c->ceil, 1, TL_TREE_RATE_MAX}, {"burst", c->burst, mtu, TL_TREE_BURST_MAX},
		{"cburst", c->cburst, mtu, TL_TREE_BURST_MAX},
		{"quantum", c->quantum != 0 ? c->quantum : mtu, mtu, (uint64_t)mtu * ROUND_MAX},
		{"prio", c->prio, 0, TL_TREE_PRIOS - 1}};
	char where[64];

	snprintf(where, sizeof(where), "class %s", c->name);
	if (tree_check_ranges(where, ranges, TL_ARRAY_LEN(ranges), err) != 0)
		return -EINVAL;
	if (c->ceil < c->rate)
		return tl_fail(err, -EINVAL, "class %s: ceil %" PRIu64 ": below rate %" PRIu64 "; give rate or more",
			c->name, c->ceil, c->rate);
	return 0;
}

static int rates_check_root(const struct tl_tree_class *c, struct tl_err *err)
{
	if (c->rate == 0)
		return tl_fail(err, -EINVAL, "class %s: rate 0: the root needs a rate; give that of the port", c->name);
	if (c->ceil != c->rate)
		return tl_fail(err, -EINVAL,
			"class %s: ceil %" PRIu64 ": the root has nobody to borrow from; give its rate %" PRIu64
			", or none",
			c->name, c->ceil, c->rate);
	return 0;
}

static int rates_check_parent(
	const struct tl_tree_class *c, const struct tl_tree_class *parent, uint64_t sum, struct tl_err *err)
{
	uint64_t parent_ceil = parent->ceil != 0 ? parent->ceil : parent->rate;

	if (c->ceil > parent_ceil)
		return tl_fail(err, -EINVAL,
			"class %s: ceil %" PRIu64 ": above that of its parent %s; give at most %" PRIu64, c->name,
			c->ceil, parent->name, parent_ceil);
	if (sum > parent->rate)
		return tl_fail(err, -EINVAL,
			"class %s: rate %" PRIu64 ": the children of %s are guaranteed %" PRIu64
			" bit/s with it, more than its rate %" PRIu64 "; lower their rates",
			c->name, c->rate, parent->name, sum, parent->rate);
	return 0;
}

// Return a weight in proportion to the rate, where the sibling with the least gets one frame per round.
static uint32_t rates_quantum(const struct tl_tree_class *c, uint64_t least, uint32_t mtu)
{
	if (c->quantum != 0)
		return c->quantum;
	if (c->rate == 0 || least == 0)
		return mtu;
	return (uint32_t)(tl_min_u64(mtu * c->rate / least, (uint64_t)mtu * ROUND_MAX));
}

// Return the tokens with which a class stops borrowing: those of a frame, and of an eighth of the rest of its burst, so
// that classes of high rates change seldom between their rate and borrowing; less if siblings limit the wait for them.
static uint64_t rates_green_tokens(const struct tl_tree_class *c, double wait_s, uint32_t mtu)
{
	uint64_t bytes = (c->burst - mtu) / 8;
	double earned = (double)c->rate * wait_s / 8;

	if (earned < (double)bytes)
		bytes = (uint64_t)earned;
	return c->rate != 0 ? (mtu + bytes) * TL_BUCKET_BYTE_COST : 0;
}

static struct tree_rate rates_of(
	const struct tl_tree_class *c, uint32_t quantum, uint64_t owed_bytes, uint64_t green_tokens, bool is_free)
{
	uint64_t burst = c->rate != 0 ? c->burst * TL_BUCKET_BYTE_COST : 0;
	uint64_t owed = c->rate != 0 ? tl_min_u64(owed_bytes, TL_TREE_BURST_MAX) * TL_BUCKET_BYTE_COST : 0;
	uint64_t cburst = c->cburst * TL_BUCKET_BYTE_COST;

	return (struct tree_rate){.rate = c->rate,
		.ceil = is_free ? 0 : c->ceil,
		.burst = burst,
		.cburst = cburst,
		.owed = owed,
		.rate_full_ns = c->rate != 0 ? tl_bucket_full_ns(owed, c->rate) : 0,
		.ceil_full_ns = tl_bucket_full_ns(cburst, c->ceil),
		.rate_inverse = c->rate != 0 ? tl_bucket_inverse(c->rate) : 0,
		.ceil_inverse = tl_bucket_inverse(c->ceil),
		.green_tokens = green_tokens,
		.quantum = quantum,
		.prio = c->prio};
}

// A class with the ceil of its parent needs no own bucket: the parent's limit keeps it within its burst.
static bool rates_is_free(const struct tl_tree_class *c, const struct tl_tree_class *parent)
{
	return c->ceil == parent->ceil && c->cburst >= parent->cburst;
}

// Sums over the children of each class.
struct rates_children {
	uint64_t sum, least;	      // of their rates, bit/s; least: of those that have one
	uint64_t bursts;	      // of those that have a rate, with a frame for each child, bytes
	uint64_t owed;		      // that and the same of the classes above, bytes
	double wait_s[TL_TREE_PRIOS]; // by prio: longest wait for tokens that leaves the others their rate
};

static int rates_check(const struct tl_tree_class *classes, uint32_t n, uint32_t mtu, struct rates_children *of,
	uint32_t *at, struct tl_err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		*at = i;
		struct tl_tree_class c = rates_complete(&classes[i], mtu);
		struct rates_children *siblings = &of[i != 0 ? c.parent : 0];
		int rc = rates_check_range(&c, mtu, err);
		if (rc == 0 && i == 0)
			rc = rates_check_root(&c, err);
		if (rc == 0 && i != 0) {
			siblings->sum += c.rate;
			siblings->bursts += mtu + (c.rate != 0 ? c.burst : 0);
			if (c.rate != 0 && (siblings->least == 0 || c.rate < siblings->least))
				siblings->least = c.rate;
			rc = rates_check_parent(&c, &classes[c.parent], siblings->sum, err);
		}
		if (rc != 0)
			return rc;
	}
	return 0;
}

// Limit the waits of the classes that compete with this one, or with one above it. A class that waits for tokens leaves
// it all that their parent may send, to make up for the time in which it got nothing. Beyond its ceil the others
// borrow, and it would fall behind its rate. Two frames of its bucket are lost to the frames that end no wait in time.
static void rates_limit_waits(
	const struct tl_tree_class *classes, uint32_t index, uint32_t mtu, struct rates_children *of)
{
	struct tl_tree_class c = rates_complete(&classes[index], mtu);
	double room = c.cburst > 2 * mtu ? (double)(c.cburst - 2 * mtu) * 8 : 0;
	uint32_t i, parent;

	for (i = index; c.rate != 0 && i != 0; i = parent) {
		parent = classes[i].parent;
		double most = (double)rates_complete(&classes[parent], mtu).ceil,
		       part = (double)c.rate / (double)classes[i].rate;
		double wait_s = most > (double)c.ceil ? room / (part * (most - (double)c.ceil)) : WAIT_MAX_S;
		for (uint32_t prio = 0; prio <= classes[i].prio; prio++)
			if (wait_s < of[parent].wait_s[prio])
				of[parent].wait_s[prio] = wait_s;
	}
}

static void rates_find_waits(const struct tl_tree_class *classes, uint32_t n, uint32_t mtu, struct rates_children *of)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t prio = 0; prio < TL_TREE_PRIOS; prio++)
			of[i].wait_s[prio] = WAIT_MAX_S;
	for (uint32_t i = 1; i < n; i++)
		rates_limit_waits(classes, i, mtu, of);
}

int tree_rates_create(const struct tl_tree_class *classes, uint32_t n, uint32_t mtu, struct tl_tree_rates **out,
	uint32_t *at, struct tl_err *err)
{
	struct tl_tree_rates *rates = calloc(1, sizeof(*rates) + n * sizeof(rates->of[0]));
	struct rates_children *children = calloc(n, sizeof(*children));
	int rc = rates == NULL || children == NULL ? tl_fail(err, -ENOMEM, "no memory for %" PRIu32 " classes", n)
						   : rates_check(classes, n, mtu, children, at, err);

	if (rc == 0)
		rates_find_waits(classes, n, mtu, children);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		struct tl_tree_class c = rates_complete(&classes[i], mtu);
		uint32_t parent = i != 0 ? c.parent : 0;
		struct tl_tree_class above = rates_complete(&classes[parent], mtu);
		uint32_t quantum = rates_quantum(&c, children[parent].least, mtu);
		children[i].owed = children[i].bursts + (i != 0 ? children[parent].owed : 0);
		rates->of[i] = rates_of(&c, quantum, children[parent].owed,
			rates_green_tokens(&c, children[parent].wait_s[c.prio], mtu),
			i != 0 && rates_is_free(&c, &above));
	}
	free(children);
	if (rc != 0) {
		free(rates);
		return rc;
	}
	rates->n = n;
	*out = rates;
	return 0;
}

void tl_tree_rates_destroy(struct tl_tree_rates *rates)
{
	free(rates);
}
