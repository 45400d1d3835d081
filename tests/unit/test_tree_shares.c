// SPDX-License-Identifier: BSD-3-Clause
// Random class trees on a simulated clock: no class exceeds its limit in any window or falls behind its guarantee, and
// the shares match a reference, weighted max-min by water-filling. TL_SEEDS: number of trees.

#include <stdlib.h>

#include <tl_test_classes.h>

#define DEPTH 5
#define FRAMES 4000 // of mtu, sent in half a run; ten times as many where bursts are uneven

static uint64_t upto(uint64_t *state, uint64_t n)
{
	return tl_random_next(state) % n;
}

static uint64_t seeds(uint64_t usual)
{
	const char *text = getenv("TL_SEEDS");

	return text != NULL ? strtoull(text, NULL, 10) : usual;
}

// ---- random trees

// Sizes of bursts: at random; enough for the tokens that a class earns while its siblings, and those of its ancestors,
// send a frame each; or such, but those of rates up to four times as large, and those of ceils a third.
enum bursts { RANDOM, AMPLE, UNEVEN };

static uint64_t make_burst(uint64_t *state, uint64_t rate, uint64_t parent_rate, enum bursts bursts)
{
	uint64_t bytes = 2 * TEST_MTU + 18 * TEST_MTU * rate / (parent_rate + 1);

	if (bursts == RANDOM)
		return TEST_MTU + upto(state, 4000);
	return bursts == UNEVEN ? bytes * (1 + upto(state, 4)) : bytes;
}

static uint64_t make_cburst(uint64_t *state, uint64_t ceil, uint64_t parent_ceil, enum bursts bursts)
{
	if (bursts == UNEVEN)
		return 2 * TEST_MTU + 6 * TEST_MTU * ceil / (parent_ceil + 1);
	return make_burst(state, ceil, parent_ceil, bursts);
}

static struct tl_tree_class make_class(
	uint64_t *state, uint64_t rate, uint64_t parent_rate, uint64_t parent_ceil, enum bursts bursts)
{
	uint64_t ceil = parent_ceil;

	if (upto(state, 3) != 0)
		ceil = tl_max_u64(rate + upto(state, parent_ceil - rate + 1), tl_min_u64(100000, parent_ceil));
	return (struct tl_tree_class){.rate = rate,
		.ceil = ceil,
		.burst = make_burst(state, rate, parent_rate, bursts),
		.cburst = make_cburst(state, ceil, parent_ceil, bursts),
		.quantum = (uint32_t)(TEST_MTU * (1 + upto(state, 4))),
		.prio = (uint32_t)upto(state, 3)};
}

static void make_children(struct test_tree *t, uint32_t parent, uint32_t depth, enum bursts bursts, uint64_t *state)
{
	uint64_t ceil = t->classes[parent].ceil != 0 ? t->classes[parent].ceil : t->classes[parent].rate;
	uint64_t left = t->classes[parent].rate;
	uint32_t children = 1 + (uint32_t)upto(state, 4);

	for (uint32_t i = 0; i < children && t->n < TEST_CLASSES; i++) {
		uint64_t rate = upto(state, 5) == 0 ? 0 : upto(state, left + 1);
		uint32_t child = test_add(t, parent, make_class(state, rate, t->classes[parent].rate, ceil, bursts));
		left -= rate;
		if (depth < DEPTH && upto(state, 2) == 0)
			make_children(t, child, depth + 1, bursts, state);
	}
}

// Loads of leaves: always backlogged, or a rate up to twice that of the class.
static void make_loads(struct test_tree *t, uint64_t *state)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct test_load *l = &t->loads[i];
		uint64_t demand = 100000 + upto(state, 2 * t->classes[i].rate + t->classes[0].rate / 8);
		l->bytes = 60 + (uint32_t)upto(state, TEST_MTU - 59);
		if (t->is_parent[i])
			continue;
		if (upto(state, 2) == 0)
			l->depth = 3;
		else
			l->gap_ns = l->bytes * UINT64_C(8000000000) / demand;
		t->classes[i].limit_bytes = 60 * TEST_MTU;
		t->classes[i].flows = upto(state, 4) == 0 ? 4 : 1;
	}
}

static void make_tree(struct test_tree *t, uint64_t seed, enum bursts bursts)
{
	uint64_t state = seed;
	uint64_t rate = (1 + upto(&state, 100)) * MBIT + upto(&state, 1000);

	*t = (struct test_tree){.now_ns = upto(&state, 1000000000)};
	test_add(t, 0, (struct tl_tree_class){.rate = rate});
	make_children(t, 0, 2, bursts, &state);
	make_loads(t, &state);
	test_open_mtu(t, TEST_MTU, 1 << 16);
}

static uint64_t duration(const struct test_tree *t)
{
	return FRAMES * (uint64_t)TEST_MTU * 8 * TL_NS_PER_S / t->classes[0].rate / 2;
}

// ---- windows

struct windows {
	struct tl_envelope envelopes[TEST_CLASSES]; // of ceil
	unsigned __int128 behind[TEST_CLASSES];	    // of rate: tokens that a class should have used and has not
	uint64_t behind_bytes[TEST_CLASSES];	    // maximum of behind
	uint64_t from_ns[TEST_CLASSES];
};

static void watch_windows(struct test_tree *t, uint32_t leaf, uint32_t bytes)
{
	struct windows *w = t->ctx;

	for (uint32_t i = leaf;; i = t->classes[i].parent) {
		tl_envelope_add(&w->envelopes[i], t->now_ns, bytes);
		if (i == 0)
			break;
	}
	unsigned __int128 cost = bytes * (unsigned __int128)8000000000;
	w->behind[leaf] += (unsigned __int128)t->classes[leaf].rate * (t->now_ns - w->from_ns[leaf]);
	w->from_ns[leaf] = t->now_ns;
	w->behind_bytes[leaf] = tl_max_u64(w->behind_bytes[leaf], (uint64_t)(w->behind[leaf] / 8000000000));
	w->behind[leaf] -= w->behind[leaf] < cost ? w->behind[leaf] : cost;
}

static void begin_windows(struct test_tree *t, struct windows *w)
{
	*w = (struct windows){0};
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tl_tree_class *c = &t->classes[i];
		tl_envelope_init(&w->envelopes[i], c->ceil != 0 ? c->ceil : c->rate, 0);
		w->from_ns[i] = t->now_ns;
	}
	t->ctx = w;
	t->on_sent = watch_windows;
}

// Return the bytes that may precede: a burst and a frame of each sibling, on each level.
static uint64_t may_go_first(const struct test_tree *t, uint32_t leaf)
{
	uint64_t bytes = 0;

	for (uint32_t i = leaf; i != 0; i = t->classes[i].parent)
		for (uint32_t k = 1; k < t->n; k++)
			if (t->classes[k].parent == t->classes[i].parent)
				bytes += t->classes[k].burst + TEST_MTU;
	return bytes;
}

static void check_windows(const struct test_tree *t, const struct windows *w, uint64_t seed, bool ample)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint64_t root_burst = 2 * TEST_MTU + t->classes[0].rate / 8000;
		bool limited = tl_envelope_burst(&w->envelopes[i]) <= (i != 0 ? t->classes[i].cburst : root_burst);
		bool served = !ample || t->loads[i].depth == 0 || w->behind_bytes[i] <= may_go_first(t, i);
		CU_ASSERT(limited);
		CU_ASSERT(served);
		if (!limited || !served)
			printf("# seed %lu, class %u: burst %lu of %lu; behind %lu of %lu bytes\n", (unsigned long)seed,
				i, (unsigned long)tl_envelope_burst(&w->envelopes[i]),
				(unsigned long)t->classes[i].cburst, (unsigned long)w->behind_bytes[i],
				(unsigned long)may_go_first(t, i));
	}
}

TL_TEST("in any window a class sends at most its burst and ceil x time, and a leaf with frames no less than its rate")
{
	struct test_tree t;
	struct windows w;

	for (uint64_t seed = 1; seed <= seeds(200); seed++) {
		bool ample = seed % 2 == 0;
		make_tree(&t, seed, ample ? AMPLE : RANDOM);
		begin_windows(&t, &w);
		t.poll_ns = seed % 4 == 1 ? 50 * TL_NS_PER_US : 0; // late polls
		test_begin_loads(&t);
		test_run(&t, t.now_ns + duration(&t));
		for (uint32_t i = 0; i < t.n; i++) // frames never sent
			if (t.loads[i].depth != 0)
				watch_windows(&t, i, 0);
		check_windows(&t, &w, seed, ample);
		test_close(&t);
	}
}

// ---- shares

// Return the demand of a class, bit/s.
static double demand(const struct test_tree *t, uint32_t cls)
{
	const struct test_load *l = &t->loads[cls];
	double sum = 0, ceil = (double)(t->classes[cls].ceil != 0 ? t->classes[cls].ceil : t->classes[cls].rate);

	if (!t->is_parent[cls])
		sum = l->depth != 0 ? 1e18 : l->gap_ns != 0 ? (double)l->bytes * 8e9 / (double)l->gap_ns : 0;
	for (uint32_t i = cls + 1; i < t->n; i++)
		if (t->classes[i].parent == cls)
			sum += demand(t, i);
	return sum < ceil ? sum : ceil;
}

// Return true for a child of this prio that can take more.
static bool is_thirsty(const struct test_tree *t, uint32_t i, uint32_t parent, uint32_t prio, const double *share)
{
	return i != 0 && t->classes[i].parent == parent && t->classes[i].prio == prio && demand(t, i) - share[i] > 1e-3;
}

// Raise the level over the children of one prio until nothing is left or all are full. Return the rest.
static double fill(const struct test_tree *t, uint32_t parent, uint32_t prio, double left, double *share)
{
	while (left > 1) {
		double weights = 0;
		for (uint32_t i = 1; i < t->n; i++)
			if (is_thirsty(t, i, parent, prio, share))
				weights += t->classes[i].quantum;
		if (weights <= 0)
			break;
		double level = left / weights; // up to the first that is full
		for (uint32_t i = 1; i < t->n; i++)
			if (is_thirsty(t, i, parent, prio, share) &&
				(demand(t, i) - share[i]) / t->classes[i].quantum < level)
				level = (demand(t, i) - share[i]) / t->classes[i].quantum;
		for (uint32_t i = 1; i < t->n; i++) {
			if (is_thirsty(t, i, parent, prio, share)) {
				share[i] += level * t->classes[i].quantum;
				left -= level * t->classes[i].quantum;
			}
		}
	}
	return left;
}

// Distribute guarantees first, then by prio. Parents precede their children.
static void oracle(const struct test_tree *t, double *share)
{
	share[0] = demand(t, 0);
	for (uint32_t parent = 0; parent < t->n; parent++) {
		double left = share[parent];
		for (uint32_t i = 1; i < t->n; i++) {
			double most = demand(t, i), rate = (double)t->classes[i].rate;
			if (t->classes[i].parent != parent)
				continue;
			share[i] = rate < most ? rate : most;
			left -= share[i];
		}
		for (uint32_t prio = 0; prio < TL_TREE_PRIOS; prio++)
			left = fill(t, parent, prio, left, share);
	}
}

// 2 %, plus the rest of bursts and rounds.
static bool is_share(uint64_t bytes, double want)
{
	double off = (double)bytes - want;

	return (off < 0 ? -off : off) <= want * 0.02 + 24 * TEST_MTU;
}

static uint64_t count_wrong(const struct test_tree *t, const uint64_t *before, uint64_t seed)
{
	double share[TEST_CLASSES];
	uint64_t wrong = 0;

	oracle(t, share);
	for (uint32_t i = 0; i < t->n; i++) {
		double want = share[i] * (double)duration(t) / 8e9;
		uint64_t bytes = t->sent_bytes[i] - before[i];
		if (is_share(bytes, want))
			continue;
		wrong++;
		printf("# seed %lu, class %u of %u: %lu bytes, not %.0f\n", (unsigned long)seed, i, t->n,
			(unsigned long)bytes, want);
	}
	return wrong;
}

TL_TEST("shares of random trees are the guarantees, and weighted max-min of the rest by prio")
{
	struct test_tree t;
	uint64_t before[TEST_CLASSES], wrong = 0, trees = seeds(1000);

	for (uint64_t seed = 1; seed <= trees; seed++) {
		make_tree(&t, seed, AMPLE);
		test_begin_loads(&t);
		test_run(&t, t.now_ns + duration(&t)); // after the first bursts
		memcpy(before, t.sent_bytes, sizeof(before));
		test_run(&t, t.now_ns + duration(&t));
		wrong += count_wrong(&t, before, seed);
		test_close(&t);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

// Weights need bursts of ceils as large as those of rates; guarantees do not.
static uint64_t count_below_guarantee(const struct test_tree *t, const uint64_t *before, double part, uint64_t seed)
{
	double share[TEST_CLASSES];
	uint64_t below = 0;

	oracle(t, share);
	for (uint32_t i = 1; i < t->n; i++) {
		double rate = (double)t->classes[i].rate, least = (share[i] < rate ? share[i] : rate) * part;
		uint64_t bytes = t->sent_bytes[i] - before[i];
		if ((double)bytes >= least * 0.98 - 24 * TEST_MTU)
			continue;
		below++;
		printf("# seed %lu, class %u of %u: %lu bytes, not %.0f\n", (unsigned long)seed, i, t->n,
			(unsigned long)bytes, least);
	}
	return below;
}

TL_TEST("classes of random trees get their guarantees with large bursts of rates and small ones of ceils")
{
	struct test_tree t;
	uint64_t before[TEST_CLASSES], below = 0, trees = seeds(1000) / 20;

	for (uint64_t seed = 1; seed <= trees; seed++) {
		make_tree(&t, seed, UNEVEN);
		uint64_t half_ns = 10 * duration(&t);
		test_begin_loads(&t);
		test_run(&t, t.now_ns + half_ns);
		memcpy(before, t.sent_bytes, sizeof(before));
		test_run(&t, t.now_ns + half_ns);
		below += count_below_guarantee(&t, before, (double)half_ns / 8e9, seed);
		test_close(&t);
	}
	CU_ASSERT_EQUAL(below, 0);
}

int main(void)
{
	return tl_test_run("tree_shares");
}
