// SPDX-License-Identifier: BSD-3-Clause
// A class tree that takes the place of another, on a simulated clock.

#include <tl_test_classes.h>

#define GONE TL_TREE_REMOVED

static struct tl_tree_stats sample(const struct test_tree *t, uint32_t cls)
{
	struct tl_tree_stats s;

	tl_tree_sample(t->tree, cls, &s);
	return s;
}

static bool has_same_counts(const struct tl_tree_stats *a, const struct tl_tree_stats *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

// Replace the classes of a tree by those of another description.
static struct tl_tree_moved adopt(
	struct test_tree *t, const struct test_tree *next, const uint32_t *to, uint32_t fallback)
{
	struct tl_tree *from = t->tree;

	memcpy(t->classes, next->classes, sizeof(t->classes));
	t->n = next->n;
	bool created = test_create(t, TEST_MTU, 0);
	CU_ASSERT_TRUE_FATAL(created);
	struct tl_tree_moved moved = tl_tree_adopt(t->tree, from, t->now_ns, to, fallback);
	tl_tree_destroy(from);
	return moved;
}

// Root, a FIFO class, one with 4 queues, a class with one below it.
static void describe(struct test_tree *t)
{
	*t = (struct test_tree){.n = 0};
	test_add(t, 0, (struct tl_tree_class){.rate = 8 * MBIT});
	test_add(t, 0, (struct tl_tree_class){.rate = MBIT, .ceil = 8 * MBIT});
	test_add(t, 0, (struct tl_tree_class){.rate = MBIT, .ceil = 8 * MBIT, .flows = 4});
	uint32_t in = test_add(t, 0, (struct tl_tree_class){.rate = 2 * MBIT, .ceil = 8 * MBIT});
	test_add(t, in, (struct tl_tree_class){.rate = MBIT, .ceil = 8 * MBIT});
}

static void put_all(struct test_tree *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		test_put(t, 1, 0, 1000);
		test_put(t, 2, i, 1000);
		test_put(t, 4, 0, 1000);
	}
}

TL_TEST("queued frames of a removed class move to the fallback class, all others stay in place")
{
	struct test_tree t, next = {.n = 0};

	for (uint32_t flows = 1; flows <= 8; flows *= 8) {
		describe(&t);
		test_open(&t);
		put_all(&t, 6);
		test_send(&t, 64);
		struct tl_tree_stats stays = sample(&t, 2), root = sample(&t, 0);
		uint64_t waits = sample(&t, 1).backlog_pkts + sample(&t, 4).backlog_pkts;
		next.n = 0;
		test_add(&next, 0, t.classes[0]);
		test_add(&next, 0, (struct tl_tree_class){.rate = MBIT, .ceil = 8 * MBIT, .flows = flows});
		test_add(&next, 0, t.classes[2]);
		struct tl_tree_moved moved = adopt(&t, &next, (const uint32_t[]){0, GONE, 2, GONE, GONE}, 1);
		CU_ASSERT(waits > 8 && moved.pkts == waits && moved.bytes == waits * 1000);
		struct tl_tree_stats now = sample(&t, 2), sum = sample(&t, 0), got = sample(&t, 1);
		CU_ASSERT_TRUE(has_same_counts(&now, &stays));
		CU_ASSERT_TRUE(has_same_counts(&sum, &root));
		CU_ASSERT(got.in_pkts == waits && got.backlog_pkts == waits && got.sent_pkts == 0);
		test_run(&t, TL_NS_PER_S);
		CU_ASSERT_EQUAL(t.sent_pkts[0], 18);
		CU_ASSERT_EQUAL(sample(&t, 1).sent_pkts, waits);
		test_close(&t);
	}
}

// The sums of the classes above keep the counts of a removed class, also when those are removed later.
TL_TEST("the totals include the counters of removed classes")
{
	struct test_tree t, next;

	describe(&t);
	test_add(&t, 3, (struct tl_tree_class){.rate = MBIT, .ceil = 8 * MBIT});
	test_open(&t);
	put_all(&t, 6);
	test_put(&t, 5, 0, 1000);
	test_run(&t, TL_NS_PER_S);
	struct tl_tree_stats in = sample(&t, 3), root = sample(&t, 0);
	describe(&next);
	adopt(&t, &next, (const uint32_t[]){0, 1, 2, 3, GONE, 4}, 1);
	struct tl_tree_stats now = sample(&t, 3);
	CU_ASSERT(in.sent_pkts == 7 && has_same_counts(&now, &in));
	CU_ASSERT_EQUAL(sample(&t, 4).in_pkts, 1);
	adopt(&t, &next, (const uint32_t[]){0, 1, 2, 3, 4}, 1); // removes nothing
	now = sample(&t, 3);
	CU_ASSERT_TRUE(has_same_counts(&now, &in));
	next.n = 3;
	adopt(&t, &next, (const uint32_t[]){0, 1, 2, GONE, GONE}, 1);
	now = sample(&t, 0);
	CU_ASSERT_TRUE(has_same_counts(&now, &root));
	test_close(&t);
}

TL_TEST("a fallback class above its limits drops only new frames")
{
	struct test_tree t, next;

	for (uint32_t flows = 1; flows <= 4; flows *= 4) {
		describe(&t);
		test_open(&t);
		put_all(&t, 6);
		describe(&next);
		next.classes[1].flows = flows;
		next.classes[1].limit_pkts = 3;
		adopt(&t, &next, (const uint32_t[]){0, GONE, GONE, 3, 4}, 1);
		CU_ASSERT_EQUAL(t.dropped_pkts, 0);
		test_put(&t, 1, 1, 1000);
		CU_ASSERT_EQUAL(sample(&t, 1).drop_pkts[TL_TREE_DROP_LIMIT], 1);
		CU_ASSERT_EQUAL(sample(&t, 1).backlog_pkts, 12);
		test_run(&t, TL_NS_PER_S);
		CU_ASSERT_EQUAL(t.sent_pkts[0], 18);
		test_close(&t);
	}
}

// A backlogged class with less than its parent's ceil, and changes every ms.
TL_TEST("a configuration change adds no tokens")
{
	struct test_tree t, next;

	describe(&t);
	t.classes[1].ceil = 2 * MBIT;
	t.loads[1] = t.loads[2] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	next = t;
	test_begin_loads(&t);
	for (unsigned i = 0; i < 1000; i++) {
		test_run(&t, t.now_ns + TL_NS_PER_S / 1000);
		adopt(&t, &next, (const uint32_t[]){0, 1, 2, 3, 4}, 1);
	}
	CU_ASSERT(t.sent_bytes[0] <= 1000000 + 4 * TEST_MTU && t.sent_bytes[0] >= 990000);
	CU_ASSERT(t.sent_bytes[1] <= 250000 + 3 * TEST_MTU && t.sent_bytes[1] >= 240000);
	test_close(&t);
}

int main(void)
{
	return tl_test_run("tree_adopt");
}
