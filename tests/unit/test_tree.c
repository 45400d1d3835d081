// SPDX-License-Identifier: BSD-3-Clause
// Class trees on a simulated clock: order, limits, queues by flow, borrowing, times.

#include <errno.h>
#include <stdlib.h>

#include <tl_test_classes.h>

#define NONE 0

// ---- one class

TL_TEST("over 10 s a nested rate is exact from 64 kbit/s to 10 Gbit/s")
{
	static const uint64_t rates[] = {64000, 999999, 7000001, 50000000, 1000000007, 10000000000};

	for (size_t i = 0; i < TL_ARRAY_LEN(rates); i++) {
		uint32_t bytes = rates[i] > 1000 * MBIT ? 9000 : 1514;
		struct test_tree t = {.n = 0};
		test_add(&t, NONE, (struct tl_tree_class){.rate = 4 * rates[i]});
		uint32_t middle = test_add(&t, 0, (struct tl_tree_class){.rate = rates[i], .ceil = 2 * rates[i]});
		uint32_t leaf = test_add(
			&t, middle, (struct tl_tree_class){.rate = rates[i], .burst = 2 * bytes, .cburst = 2 * bytes});
		t.loads[leaf] = (struct test_load){.bytes = bytes, .depth = 4};
		test_open_mtu(&t, bytes, 64);
		test_begin_loads(&t);
		test_run(&t, 10 * TL_NS_PER_S);
		uint64_t want = rates[i] * 10 / 8;
		CU_ASSERT(t.sent_bytes[0] <= want + 2 * bytes);
		CU_ASSERT(t.sent_bytes[0] + bytes >= want - want / 1000);
		test_close(&t);
	}
}

static void open_fifo(struct test_tree *t, struct tl_tree_class cls)
{
	*t = (struct test_tree){.n = 0};
	test_add(t, NONE, cls);
	test_open(t);
}

TL_TEST("the next time is that of the frame, to the ns, and no frame leaves before it")
{
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){.rate = 8000, .burst = TEST_MTU, .cburst = TEST_MTU}); // 1 byte per ms
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), TL_TREE_NEVER);
	t.now_ns = 7;
	test_put(&t, 0, 0, 100);
	test_put(&t, 0, 0, 60);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 7);
	CU_ASSERT_EQUAL(test_send(&t, 64), 1);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 100000007);
	t.now_ns = 100000006;
	CU_ASSERT_EQUAL(test_send(&t, 64), 0);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 100000007);
	t.now_ns = 100000007;
	CU_ASSERT_EQUAL(test_send(&t, 64), 1);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), TL_TREE_NEVER);
	test_close(&t);
}

TL_TEST("the next time is exact where an inner class waits for tokens, too")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 1000 * MBIT});
	uint32_t middle = test_add(&t, 0, (struct tl_tree_class){.rate = 8000, .burst = TEST_MTU, .cburst = TEST_MTU});
	uint32_t leaf = test_add(&t, middle, (struct tl_tree_class){.rate = 0, .ceil = 8000, .cburst = 2 * TEST_MTU});
	test_open(&t);
	t.now_ns = 12345;
	for (uint32_t i = 0; i < 3; i++)
		test_put(&t, leaf, 0, 1000);
	CU_ASSERT_EQUAL(test_send(&t, 64), 1);
	for (uint64_t n = 1; n <= 2; n++) {
		uint32_t polls = 0;
		while (test_send(&t, 64) == 0 && polls++ < 12) {
			t.now_ns = tl_tree_next_ns(t.tree);
			CU_ASSERT(t.now_ns <= n * 1000000000 + 12345);
		}
		CU_ASSERT_EQUAL(t.now_ns, n * 1000000000 + 12345); // 1000 bytes per second
	}
	test_close(&t);
}

TL_TEST("time that decreases adds no tokens, a jump adds at most a burst")
{
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){.rate = 8000, .burst = 2 * TEST_MTU, .cburst = 2 * TEST_MTU});
	t.now_ns = UINT64_C(5000000000);
	for (uint32_t i = 0; i < 20; i++)
		test_put(&t, 0, 0, TEST_MTU);
	CU_ASSERT_EQUAL(test_send(&t, 64), 2);
	t.now_ns = 1; // backward: no tokens for the difference
	CU_ASSERT_EQUAL(test_send(&t, 64), 0);
	t.now_ns = UINT64_C(5000000000) + 1513 * TL_NS_PER_MS;
	CU_ASSERT_EQUAL(test_send(&t, 64), 0);
	t.now_ns += TL_NS_PER_MS;
	CU_ASSERT_EQUAL(test_send(&t, 64), 1);
	t.now_ns = UINT64_C(1) << 62; // 146 years later: one burst at most
	CU_ASSERT_EQUAL(test_send(&t, 64), 2);
	test_close(&t);
}

TL_TEST("a full TX ring loses and reorders no frame")
{
	struct test_tree t;
	uint32_t sent = 0;

	open_fifo(&t, (struct tl_tree_class){.rate = 100 * MBIT, .burst = 30000, .cburst = 30000});
	for (uint32_t i = 0; i < 10; i++)
		test_put(&t, 0, 0, 100 + i);
	CU_ASSERT_EQUAL(test_send(&t, 0), 0);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 0);
	for (; sent < 10; sent++) {
		void *frame;
		CU_ASSERT_EQUAL_FATAL(tl_tree_dequeue(t.tree, 0, &frame, 1), 1);
		CU_ASSERT_EQUAL(test_frame_bytes(frame), 100 + sent); // in order
		test_count_sent(&t, frame);
	}
	CU_ASSERT_EQUAL(t.dropped_pkts, 0);
	test_close(&t);
}

TL_TEST("overhead is added to the length of each frame")
{
	struct test_tree t = {.n = 0};
	struct tl_tree_cfg cfg = {.classes = t.classes,
		.mtu = 124,
		.overhead_bytes = 24,
		.frames = 8,
		.drop = test_count_drop,
		.drop_ctx = &t};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 8000, .burst = 248, .cburst = 248});
	cfg.n_classes = t.n;
	CU_ASSERT_EQUAL_FATAL(tl_tree_create(&cfg, &t.tree, NULL), 0);
	test_put(&t, 0, 0, 101); // too long
	for (uint32_t i = 0; i < 4; i++)
		test_put(&t, 0, 0, 76);
	CU_ASSERT_EQUAL(test_send(&t, 64), 2); // 200 of 248; the rest, 48, is less than 124
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 76 * TL_NS_PER_MS);
	test_close(&t);
}

// ---- limits and drops

static struct tl_tree_stats sample(const struct test_tree *t, uint32_t cls)
{
	struct tl_tree_stats s;

	tl_tree_sample(t->tree, cls, &s);
	return s;
}

TL_TEST("each limit drops frames and counts them by reason")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 8 * MBIT});
	uint32_t pkts = test_add(&t, 0, (struct tl_tree_class){.ceil = 8 * MBIT, .limit_pkts = 3});
	uint32_t bytes = test_add(&t, 0, (struct tl_tree_class){.ceil = 8 * MBIT, .limit_bytes = 3000});
	uint32_t late = test_add(&t, 0, (struct tl_tree_class){.ceil = 8 * MBIT, .limit_ns = TL_NS_PER_MS});
	test_open_mtu(&t, TEST_MTU, 10);
	for (uint32_t i = 0; i < 4; i++) {
		test_put(&t, pkts, 0, 100);
		test_put(&t, bytes, 0, 1000);
		test_put(&t, late, 0, 200);
	}
	test_put(&t, pkts, 0, TEST_MTU + 1);
	test_put(&t, bytes, 0, 1); // no room for frames
	CU_ASSERT_EQUAL(sample(&t, pkts).drop_pkts[TL_TREE_DROP_LIMIT], 1);
	CU_ASSERT_EQUAL(sample(&t, bytes).drop_bytes[TL_TREE_DROP_LIMIT], 1000);
	CU_ASSERT_EQUAL(sample(&t, pkts).drop_pkts[TL_TREE_DROP_LONG], 1);
	CU_ASSERT_EQUAL(sample(&t, bytes).drop_pkts[TL_TREE_DROP_MEMORY], 1);
	CU_ASSERT_EQUAL(sample(&t, 0).backlog_bytes, 300 + 3000 + 800);
	t.now_ns = TL_NS_PER_MS + 1;
	while (test_send(&t, 1) != 0)
		;
	t.now_ns += TL_NS_PER_S;
	while (test_send(&t, 1) != 0)
		;
	CU_ASSERT_EQUAL(t.sent_pkts[late], 0);
	CU_ASSERT_EQUAL(sample(&t, late).drop_pkts[TL_TREE_DROP_LATE], 4);
	CU_ASSERT_EQUAL(t.sent_pkts[pkts], 3);
	CU_ASSERT_EQUAL(t.sent_pkts[bytes], 3);
	CU_ASSERT_EQUAL(sample(&t, 0).backlog_pkts, 0);
	test_put(&t, late, 0, 200); // and the class continues
	CU_ASSERT_EQUAL(test_send(&t, 1), 1);
	test_close(&t);
}

TL_TEST("frames above the delay limit are dropped when the next one is sent")
{
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){.rate = 8 * MBIT, .limit_ns = TL_NS_PER_MS});
	test_put(&t, 0, 0, 100);
	t.now_ns = TL_NS_PER_MS;
	test_put(&t, 0, 0, 101);
	t.now_ns = TL_NS_PER_MS + 1;
	CU_ASSERT_EQUAL(test_send(&t, 64), 1);
	CU_ASSERT_EQUAL(t.sent_bytes[0], 101);
	CU_ASSERT_EQUAL(sample(&t, 0).delay_mean_ns, 1);
	CU_ASSERT_EQUAL(sample(&t, 0).drop_bytes[TL_TREE_DROP_LATE], 100);
	test_close(&t);
}

// ---- delays

#define DELAYS 1500

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_p99(uint64_t found_ns, uint64_t *delays, size_t n)
{
	qsort(delays, n, sizeof(delays[0]), by_value);
	uint64_t exact_ns = delays[(n * 99 + 99) / 100 - 1];

	return found_ns >= exact_ns && found_ns <= exact_ns + exact_ns / 8 && found_ns <= delays[n - 1];
}

// Have one frame wait at a time, a few of them for long; the second leaf waits for 10 times as long.
TL_TEST("the p99 of the delays of sent frames is at most an eighth too high, for inner classes too")
{
	static uint64_t delays[3][DELAYS];
	struct test_tree t = {.n = 0};
	size_t n[3] = {0};
	uint64_t state = 7;

	test_add(&t, NONE, (struct tl_tree_class){.rate = 1000 * MBIT});
	test_add(&t, 0, (struct tl_tree_class){.ceil = 1000 * MBIT});
	test_add(&t, 0, (struct tl_tree_class){.ceil = 1000 * MBIT, .limit_ns = TL_NS_PER_S, .flows = 4});
	test_open(&t);
	CU_ASSERT_EQUAL(sample(&t, 0).delay_p99_ns, 0);
	for (uint32_t i = 0; i < DELAYS; i++) {
		uint32_t leaf = i % 10 == 0 ? 2 : 1;
		uint64_t wait_ns = 100 * TL_NS_PER_MS / (1 + tl_random_next(&state) % 1000) * (leaf == 2 ? 10 : 1);
		test_put(&t, leaf, i, 100);
		t.now_ns += wait_ns;
		CU_ASSERT_EQUAL(test_send(&t, 64), 1);
		delays[leaf][n[leaf]++] = delays[0][n[0]++] = wait_ns;
		t.now_ns += TL_NS_PER_MS;
	}
	test_put(&t, 2, 0, 100);
	t.now_ns += 2 * TL_NS_PER_S; // dropped: no delay
	CU_ASSERT_EQUAL(test_send(&t, 64), 0);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT(is_p99(sample(&t, i).delay_p99_ns, delays[i], n[i]));
	CU_ASSERT_EQUAL(sample(&t, 1).sent_pkts, n[1]);
	test_close(&t);
}

TL_TEST("a class with children has the counts of the leaves below it, not of later ones")
{
	struct test_tree t = {.n = 0};
	struct tl_tree_stats s;

	test_add(&t, NONE, (struct tl_tree_class){.rate = 100 * MBIT});
	uint32_t in = test_add(&t, 0, (struct tl_tree_class){.rate = MBIT});
	uint32_t leaf = test_add(&t, in, (struct tl_tree_class){.rate = MBIT});
	uint32_t later = test_add(&t, 0, (struct tl_tree_class){.rate = MBIT});
	test_open(&t);
	test_put(&t, leaf, 0, 1000);
	test_put(&t, later, 0, 1000);
	tl_tree_sample(t.tree, in, &s);
	CU_ASSERT(s.in_pkts == 1 && s.backlog_bytes == 1000);
	test_close(&t);
}

TL_TEST("a delay of 146 years is counted")
{
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){.rate = 8000});
	for (uint32_t bit = 0; bit < 63; bit++) {
		t.now_ns = 0;
		test_put(&t, 0, 0, 1);
	}
	t.now_ns = UINT64_C(1) << 62;
	CU_ASSERT_EQUAL(test_send(&t, 64), 63);
	CU_ASSERT_EQUAL(sample(&t, 0).delay_p99_ns, UINT64_C(1) << 62);
	test_close(&t);
}

// A class that always has 65,536 frames takes 78 hours for that.
TL_TEST("the mean delay is exact when the sum of the delays exceeds 2^64 ns")
{
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){.rate = 8000});
	for (uint64_t i = 0; i < 5; i++) {
		t.now_ns = i;
		test_put(&t, 0, 0, 1);
	}
	t.now_ns = UINT64_C(1) << 62;
	CU_ASSERT_EQUAL(test_send(&t, 64), 5);
	CU_ASSERT_EQUAL(sample(&t, 0).delay_mean_ns, (UINT64_C(1) << 62) - 2);
	test_close(&t);
}

// ---- flows

static uint32_t flow_of(uint32_t bytes)
{
	return bytes % 10; // by the length's last digit
}

static void count_flow(struct test_tree *t, uint32_t cls, uint32_t bytes)
{
	(void)cls;
	((uint64_t *)t->ctx)[flow_of(bytes)] += bytes;
}

TL_TEST("flows of a fair leaf get equal bytes")
{
	uint64_t of[10] = {0};
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){.rate = 8 * MBIT, .flows = 16});
	t.ctx = of;
	t.on_sent = count_flow;
	for (uint32_t i = 0; i < 1500; i++)
		test_put(&t, 0, 1, 101);
	for (uint32_t i = 0; i < 150; i++)
		test_put(&t, 0, 2, 1502);
	for (uint32_t i = 0; i < 300; i++)
		test_put(&t, 0, 3, 603);
	test_run(&t, 300 * TL_NS_PER_MS); // 300 kB of 1 MB
	for (uint32_t i = 1; i <= 3; i++)
		CU_ASSERT(of[i] >= 97000 && of[i] <= 104500);
	test_close(&t);
}

TL_TEST("a full fair leaf drops from its longest queue")
{
	struct test_tree t = {.n = 0};
	uint64_t of[10] = {0};

	test_add(&t, NONE,
		(struct tl_tree_class){
			.rate = 800 * MBIT, .flows = 8, .limit_pkts = 300, .burst = 1000000, .cburst = 1000000});
	test_open(&t);
	t.ctx = of;
	t.on_sent = count_flow;
	for (uint32_t i = 0; i < 20; i++) {
		test_put(&t, 0, 1, 101);
		test_put(&t, 0, 5, 65);
	}
	for (uint32_t i = 0; i < 1000; i++)
		test_put(&t, 0, 2, 1502);
	for (uint32_t i = 0; i < 20; i++)
		test_put(&t, 0, 3, 63);
	CU_ASSERT_EQUAL(sample(&t, 0).drop_pkts[TL_TREE_DROP_LIMIT], 760);
	while (test_send(&t, 64) != 0)
		;
	CU_ASSERT_EQUAL(of[1], 20 * 101);
	CU_ASSERT_EQUAL(of[5], 20 * 65);
	CU_ASSERT_EQUAL(of[3], 20 * 63);
	CU_ASSERT_EQUAL(of[2], 240 * 1502); // above 128 KiB, and below
	test_close(&t);
}

// ---- borrowing

TL_TEST("the class with the lowest prio value borrows first, and every class keeps its guaranteed rate")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 100 * MBIT});
	uint32_t low = test_add(&t, 0, (struct tl_tree_class){.rate = 20 * MBIT, .ceil = 100 * MBIT, .prio = 1});
	uint32_t high = test_add(&t, 0, (struct tl_tree_class){.rate = 10 * MBIT, .ceil = 50 * MBIT, .prio = 0});
	uint32_t none = test_add(&t, 0, (struct tl_tree_class){.ceil = 100 * MBIT, .prio = 2});
	for (uint32_t i = 1; i < t.n; i++)
		t.loads[i] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, TL_NS_PER_S);
	CU_ASSERT(t.sent_bytes[high] / 10000 >= 615 && t.sent_bytes[high] / 10000 <= 635); // 50 Mbit/s
	CU_ASSERT(t.sent_bytes[low] / 10000 >= 615 && t.sent_bytes[low] / 10000 <= 635);   // its 20, plus 30
	CU_ASSERT(t.sent_bytes[none] < 3 * TEST_MTU);
	CU_ASSERT(sample(&t, high).borrowed_bytes / 10000 >= 490 && sample(&t, high).borrowed_bytes / 10000 <= 505);
	CU_ASSERT_EQUAL(sample(&t, none).borrowed_bytes, t.sent_bytes[none]);
	CU_ASSERT_EQUAL(sample(&t, 0).sent_bytes, t.sent_bytes[0]);
	CU_ASSERT_EQUAL(sample(&t, 0).borrowed_bytes, 0);
	test_close(&t);
}

// Beside a class whose burst hardly drains: the parent has 1 % more than its rate. A class without a rate takes what is
// lost. Return the bytes of a leaf with this ceil and that 1 %, below another class or not.
static uint64_t bytes_of_the_last_percent(uint64_t ceil, bool nested)
{
	struct tl_tree_class last = {.rate = MBIT / 10, .ceil = 10 * MBIT, .burst = 2 * TEST_MTU, .prio = 2};
	struct test_tree t = {.n = 0};
	uint32_t parent = 0;

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT});
	uint32_t most =
		test_add(&t, 0, (struct tl_tree_class){.rate = 99 * MBIT / 10, .ceil = 10 * MBIT, .burst = 120000});
	if (nested)
		parent = test_add(&t, 0, last);
	last.ceil = ceil;
	uint32_t leaf = test_add(&t, parent, last);
	uint32_t none = test_add(&t, parent, (struct tl_tree_class){.ceil = 10 * MBIT, .prio = 1});
	t.loads[most] = t.loads[leaf] = t.loads[none] = (struct test_load){.bytes = 300, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, 40 * TL_NS_PER_S);
	test_close(&t);
	return t.sent_bytes[leaf];
}

TL_TEST("a class keeps its rate beside one of a lower prio that is guaranteed nearly all the rest")
{
	uint64_t least = 500000 - (120000 + 6 * TEST_MTU); // its rate for 40 s, less the bursts

	CU_ASSERT(bytes_of_the_last_percent(10 * MBIT, false) >= least);
	CU_ASSERT(bytes_of_the_last_percent(8 * MBIT, false) >= least); // it waits for its ceil, too
	CU_ASSERT(bytes_of_the_last_percent(10 * MBIT, true) >= least);
}

// Return the bytes of a class that has a tenth of the parent's rate, beside one that has the rest and a large burst.
static uint64_t bytes_of_a_tenth(uint64_t ceil, uint64_t cburst, uint32_t bytes)
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT});
	uint32_t most = test_add(&t, 0, (struct tl_tree_class){.rate = 9 * MBIT, .ceil = 10 * MBIT, .burst = 30000});
	uint32_t leaf = test_add(&t, 0,
		(struct tl_tree_class){.rate = MBIT, .ceil = ceil, .burst = 2 * TEST_MTU, .cburst = cburst, .prio = 1});
	t.loads[most] = (struct test_load){.bytes = TEST_MTU, .depth = 8};
	t.loads[leaf] = (struct test_load){.bytes = bytes, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, 40 * TL_NS_PER_S);
	test_close(&t);
	return t.sent_bytes[leaf];
}

TL_TEST("a class keeps its rate with a ceil hardly above it, and a cburst of two frames")
{
	uint64_t least = 5000000 - (30000 + 6 * TEST_MTU); // its rate for 40 s, less the bursts

	for (uint32_t bytes = 60; bytes <= TEST_MTU; bytes += TEST_MTU - 60) {
		CU_ASSERT(bytes_of_a_tenth(3 * MBIT, 2 * TEST_MTU, bytes) >= least);
		CU_ASSERT(bytes_of_a_tenth(105 * MBIT / 100, 2 * TEST_MTU, bytes) >= least);
		CU_ASSERT(bytes_of_a_tenth(MBIT, 0, bytes) >= least);
	}
}

// The burst of a is 0.7 s in which b gets nothing. Then b makes up for it, ahead of the rest that borrows, and waits
// for its ceil between two frames.
TL_TEST("a class keeps what its rate owes it while it waits for its ceil")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.rate = 5 * MBIT, .ceil = 10 * MBIT, .burst = 500000});
	uint32_t b = test_add(&t, 0,
		(struct tl_tree_class){
			.rate = 5 * MBIT, .ceil = 8 * MBIT, .burst = 4 * TEST_MTU, .cburst = 4 * TEST_MTU, .prio = 1});
	uint32_t rest = test_add(&t, 0, (struct tl_tree_class){.ceil = 10 * MBIT});
	t.loads[b] = t.loads[rest] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	for (uint32_t k = 0; k < 900; k++)
		test_put(&t, a, 0, 1000);
	test_begin_loads(&t);
	test_run(&t, 4 * TL_NS_PER_S);
	CU_ASSERT(t.sent_bytes[b] >= 2500000 - 10000);
	test_close(&t);
}

TL_TEST("an idle class accumulates no more than its burst")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT});
	uint32_t idle =
		test_add(&t, 0, (struct tl_tree_class){.rate = 5 * MBIT, .ceil = 10 * MBIT, .burst = 2 * TEST_MTU});
	uint32_t busy = test_add(
		&t, 0, (struct tl_tree_class){.rate = 5 * MBIT, .ceil = 10 * MBIT, .burst = 100000, .prio = 1});
	t.loads[busy] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, TL_NS_PER_S);
	t.loads[idle] = t.loads[busy];
	for (uint32_t i = 0; i < 8; i++)
		test_put(&t, idle, 0, 1000);
	test_run(&t, t.now_ns + 20 * TL_NS_PER_MS);
	CU_ASSERT(t.sent_bytes[idle] - sample(&t, idle).borrowed_bytes <= 12500 + 2 * TEST_MTU);
	test_close(&t);
}

// While the port takes nothing all classes wait: none keeps more than what the bursts of the others delay it by.
TL_TEST("after a stall of the port every class has its rate at once")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT});
	test_add(&t, 0, (struct tl_tree_class){.rate = 5 * MBIT, .ceil = 10 * MBIT});
	uint32_t last = test_add(&t, 0, (struct tl_tree_class){.rate = 4 * MBIT, .ceil = 10 * MBIT, .prio = 1});
	for (uint32_t i = 1; i < t.n; i++)
		t.loads[i] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	t.now_ns += 10 * TL_NS_PER_S;
	test_run(&t, t.now_ns + TL_NS_PER_S / 10);
	CU_ASSERT(t.sent_bytes[last] >= 50000 - 8 * TEST_MTU);
	test_close(&t);
}

TL_TEST("equal prios borrow in proportion to quantum")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 80 * MBIT});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.rate = 10 * MBIT, .ceil = 80 * MBIT, .quantum = 2000});
	uint32_t b = test_add(&t, 0, (struct tl_tree_class){.rate = 10 * MBIT, .ceil = 80 * MBIT, .quantum = 6000});
	for (uint32_t i = 1; i < t.n; i++)
		t.loads[i] = (struct test_load){.bytes = 700 + i * 300, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, TL_NS_PER_S);
	CU_ASSERT(t.sent_bytes[a] >= 3125000 * 0.98 && t.sent_bytes[a] <= 3125000 * 1.02); // 10 and 15
	CU_ASSERT(t.sent_bytes[b] >= 6875000 * 0.98 && t.sent_bytes[b] <= 6875000 * 1.02); // 10 and 45
	test_close(&t);
}

TL_TEST("a class that was limited by its ceil continues its DRR round")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 80 * MBIT});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.ceil = 56 * MBIT, .cburst = 3500, .quantum = 12000});
	uint32_t b = test_add(&t, 0, (struct tl_tree_class){.ceil = 80 * MBIT, .quantum = 12000});
	for (uint32_t i = 1; i < t.n; i++)
		t.loads[i] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, TL_NS_PER_S);
	CU_ASSERT(t.sent_pkts[a] >= 4900 && t.sent_pkts[a] <= 5100);
	CU_ASSERT(t.sent_pkts[b] >= 4900 && t.sent_pkts[b] <= 5100);
	test_close(&t);
}

// Rates are weights by default.
TL_TEST("on a port slower than the root's rate classes share in proportion to their rates")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 100 * MBIT});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.rate = 75 * MBIT});
	uint32_t b = test_add(&t, 0, (struct tl_tree_class){.rate = 25 * MBIT});
	for (uint32_t i = 1; i < t.n; i++)
		t.loads[i] = (struct test_load){.bytes = 1000, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	for (uint32_t i = 0; i < 4000; i++) { // a frame of 1000 bytes per ms, 8 Mbit/s
		t.now_ns += TL_NS_PER_MS;
		CU_ASSERT_EQUAL(test_send(&t, 1), 1);
	}
	CU_ASSERT(t.sent_pkts[a] >= 2950 && t.sent_pkts[a] <= 3050);
	CU_ASSERT(t.sent_pkts[b] >= 950 && t.sent_pkts[b] <= 1050);
	test_close(&t);
}

// ---- a leaf alone

TL_TEST("a leaf that sends alone pays for its rate and its ceil")
{
	struct test_tree t = {.n = 0};
	struct tl_tree_stats s;

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT, .burst = 100000, .cburst = 100000});
	uint32_t a = test_add(
		&t, 0, (struct tl_tree_class){.rate = 5 * MBIT, .ceil = 8 * MBIT, .burst = 10000, .cburst = 20000});
	test_open(&t);
	for (uint32_t k = 0; k < 30; k++)
		test_put(&t, a, 0, 1000);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 0);
	CU_ASSERT_EQUAL(test_send(&t, 10), 10);
	CU_ASSERT_EQUAL(test_send(&t, 64), 9); // 1000 bytes of cburst are left
	tl_tree_sample(t.tree, a, &s);
	CU_ASSERT_EQUAL(s.borrowed_bytes, 10000); // 9 frames within the burst of its rate
	test_run(&t, 513999);
	CU_ASSERT_EQUAL(t.sent_pkts[a], 19);
	test_run(&t, 514000); // 514 bytes more, at a byte per us
	CU_ASSERT_EQUAL(t.sent_pkts[a], 20);
	test_run(&t, TL_NS_PER_S);
	CU_ASSERT_EQUAL(t.sent_pkts[a], 30);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), TL_TREE_NEVER);
	test_close(&t);
}

TL_TEST("a leaf that sent alone shares with another one from its first frame on")
{
	struct test_tree t = {.n = 0};

	test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT, .burst = 3000, .cburst = 3000});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.ceil = 10 * MBIT});
	uint32_t b = test_add(&t, 0, (struct tl_tree_class){.ceil = 10 * MBIT});
	test_open(&t);
	for (uint32_t k = 0; k < 40; k++)
		test_put(&t, a, 0, 1000);
	CU_ASSERT_EQUAL(test_send(&t, 64), 2);
	for (uint32_t k = 0; k < 40; k++)
		test_put(&t, b, 0, 1000);
	test_run(&t, 16 * TL_NS_PER_MS); // 20 frames
	CU_ASSERT(t.sent_pkts[b] >= 9 && t.sent_pkts[a] >= 9 + 2);
	test_run(&t, TL_NS_PER_S);
	CU_ASSERT_EQUAL(t.sent_pkts[0], 80);
	test_close(&t);
}

// ---- descriptions

static void refused(const struct tl_tree_class *classes, uint32_t n, const char *message)
{
	struct tl_err err = {""};
	struct tl_tree *tree = NULL;
	struct tl_tree_cfg cfg = {
		.classes = classes, .n_classes = n, .mtu = TEST_MTU, .frames = 16, .drop = test_count_drop};

	CU_ASSERT_EQUAL(tl_tree_create(&cfg, &tree, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, message));
	if (strstr(err.text, message) == NULL)
		printf("# %s\n", err.text);
}

static void refused_child(struct tl_tree_class child, const char *message)
{
	struct tl_tree_class classes[] = {{.name = "root", .rate = 1000}, {.name = "a", .rate = 600}, child};

	refused(classes, 3, message);
}

TL_TEST("an inconsistent tree is refused with the class and the value")
{
	struct tl_tree_class deep[TL_TREE_DEPTH_MAX + 1];

	refused(&(struct tl_tree_class){.name = "root"}, 1, "class root: ceil 0: out of range");
	refused(&(struct tl_tree_class){.name = "root", .ceil = 5}, 1, "class root: rate 0: the root needs a rate");
	refused(&(struct tl_tree_class){.name = "root", .rate = 5, .ceil = 6}, 1, "the root has nobody to borrow from");
	refused_child((struct tl_tree_class){.name = "b", .rate = 401},
		"class b: rate 401: the children of root are guaranteed 1001");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .ceil = 1001},
		"class b: ceil 1001: above that of its parent root");
	refused_child((struct tl_tree_class){.name = "b", .rate = 2, .ceil = 1}, "class b: ceil 1: below rate 2");
	refused_child((struct tl_tree_class){.name = "b"}, "class b: ceil 0: out of range");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .burst = TEST_MTU - 1},
		"class b: burst 1513: out of range; give 1514");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .cburst = 9}, "class b: cburst 9");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .cburst = TL_TREE_BURST_MAX + 1},
		"class b: cburst 576460753");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .quantum = 9},
		"class b: quantum 9: out of range; give 1514");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .prio = 8},
		"class b: prio 8: out of range; give 0 to 7");
	refused_child(
		(struct tl_tree_class){.name = "b", .rate = 1, .flows = 3}, "class b: flows 3: give a power of two");
	refused_child((struct tl_tree_class){.name = "b", .rate = 1, .limit_bytes = 9},
		"class b: limit of 9 bytes: less than a frame");
	refused_child(
		(struct tl_tree_class){.name = "b", .rate = 1, .parent = 2}, "class b: parent 2: not an earlier class");
	for (uint32_t i = 0; i < TL_ARRAY_LEN(deep); i++)
		deep[i] = (struct tl_tree_class){.name = "d", .rate = 8, .parent = i - 1};
	refused(deep, TL_ARRAY_LEN(deep), "class d: nested 9 deep; nest at most 8");
	refused(deep, 0, "classes 0: out of range");
}

// Memory for more would end the program when it is first used, not when it is allocated.
TL_TEST("a tree with more than 16,777,216 queues is refused")
{
	static struct tl_tree_class wide[1 + TL_TREE_QUEUES_MAX / TL_TREE_FLOWS_MAX];

	wide[0] = (struct tl_tree_class){.name = "root", .rate = 1000};
	for (uint32_t i = 1; i < TL_ARRAY_LEN(wide); i++)
		wide[i] = (struct tl_tree_class){.name = "w", .ceil = 1000, .flows = TL_TREE_FLOWS_MAX};
	refused(wide, TL_ARRAY_LEN(wide), "class tree: queues 16777217: out of range; give 1 to 16777216");
}

TL_TEST("the largest and the smallest settings are exact")
{
	struct test_tree t;

	open_fifo(&t, (struct tl_tree_class){
			      .rate = TL_TREE_RATE_MAX, .burst = TL_TREE_BURST_MAX, .cburst = TL_TREE_BURST_MAX});
	t.now_ns = UINT64_C(1) << 62;
	for (uint32_t i = 0; i < 64; i++)
		test_put(&t, 0, 0, TEST_MTU);
	CU_ASSERT_EQUAL(test_send(&t, 64), 64);
	test_close(&t);
	open_fifo(&t, (struct tl_tree_class){.rate = 1});
	test_put(&t, 0, 0, TEST_MTU);
	test_put(&t, 0, 0, TEST_MTU);
	test_put(&t, 0, 0, TEST_MTU);
	CU_ASSERT_EQUAL(test_send(&t, 64), 2);
	CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), 1514 * UINT64_C(8000000000)); // 3 hours
	t.now_ns = 1514 * UINT64_C(8000000000);
	CU_ASSERT_EQUAL(test_send(&t, 64), 1);
	test_close(&t);
}

int main(void)
{
	return tl_test_run("tree");
}
