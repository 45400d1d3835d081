// SPDX-License-Identifier: BSD-3-Clause
// Changes of a tree's rates at run time.

#include <stdlib.h>

#include <tl_test_classes.h>

#define NONE 0

TL_TEST("new rates apply at once to waiting classes and lose no frame")
{
	struct test_tree t = {.n = 0};
	struct tl_tree_rates *rates;

	test_add(&t, NONE, (struct tl_tree_class){.rate = 100 * MBIT});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.rate = 1000, .burst = TEST_MTU, .cburst = TEST_MTU});
	uint32_t b = test_add(&t, 0, (struct tl_tree_class){.rate = 50 * MBIT, .ceil = 100 * MBIT, .prio = 1});
	for (uint32_t i = 1; i < t.n; i++)
		t.loads[i] = (struct test_load){.bytes = 1250, .depth = 8};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, TL_NS_PER_S);
	CU_ASSERT_EQUAL(t.sent_pkts[a], 1); // the next is due 10 s later
	t.classes[a] = (struct tl_tree_class){.name = "a", .rate = 40 * MBIT};
	t.classes[b] = (struct tl_tree_class){.name = "b", .rate = 10 * MBIT, .ceil = 20 * MBIT};
	CU_ASSERT_EQUAL_FATAL(tl_tree_rates_create(t.tree, t.classes, &rates, NULL), 0);
	CU_ASSERT_PTR_NOT_EQUAL(tl_tree_rates_in_use(t.tree), rates);
	tl_tree_offer_rates(t.tree, rates);
	uint64_t before = t.sent_bytes[b];
	test_run(&t, 2 * TL_NS_PER_S);
	CU_ASSERT_PTR_EQUAL(tl_tree_rates_in_use(t.tree), rates);
	CU_ASSERT(t.sent_pkts[a] >= 3990 && t.sent_pkts[a] <= 4010);
	CU_ASSERT(t.sent_bytes[b] - before >= 2490000 && t.sent_bytes[b] - before <= 2520000);
	CU_ASSERT_EQUAL(t.dropped_pkts, 0);
	test_close(&t);
	tl_tree_rates_destroy(rates);
}

static struct tl_tree_rates *change_rates(struct test_tree *t)
{
	struct tl_tree_rates *rates;

	CU_ASSERT_EQUAL_FATAL(tl_tree_rates_create(t->tree, t->classes, &rates, NULL), 0);
	tl_tree_offer_rates(t->tree, rates);
	return rates;
}

// A class with its parent's ceil has no bucket of its own; a lower ceil adds one that holds a frame.
TL_TEST("a lower ceil starts with an empty bucket, a higher one applies at once")
{
	struct test_tree t = {.n = 0};
	struct tl_tree_rates *low, *high;

	test_add(&t, NONE, (struct tl_tree_class){.rate = 100 * MBIT, .burst = 50000, .cburst = 50000});
	uint32_t a = test_add(&t, 0, (struct tl_tree_class){.ceil = 100 * MBIT, .cburst = 50000});
	t.loads[a] = (struct test_load){.bytes = 1000, .depth = 100};
	test_open(&t);
	test_begin_loads(&t);
	test_run(&t, 10 * TL_NS_PER_MS);
	t.classes[a].ceil = 8000; // 1 byte per ms
	low = change_rates(&t);
	uint64_t before = t.sent_pkts[a];
	test_run(&t, 100 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(t.sent_pkts[a] - before, 1);
	t.classes[a].ceil = 100 * MBIT;
	t.classes[a].rate = 10 * MBIT;
	high = change_rates(&t);
	before = t.sent_pkts[a];
	test_run(&t, 200 * TL_NS_PER_MS);
	CU_ASSERT(t.sent_pkts[a] - before >= 1250 && t.sent_pkts[a] - before <= 1301);
	test_close(&t);
	tl_tree_rates_destroy(low);
	tl_tree_rates_destroy(high);
}

// Rates, guarantees and prios change under load; the counters stay right and no bucket runs below 0.
TL_TEST("after random changes of rates, guarantees and prios all counters are consistent")
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct test_tree t = {.n = 0};
		struct tl_tree_rates *rates[20];
		uint64_t state = seed;
		test_add(&t, NONE, (struct tl_tree_class){.rate = 10 * MBIT});
		for (uint32_t i = 1; i < 50; i++)
			test_add(&t, i < 8 ? 0 : 1 + i % 7, (struct tl_tree_class){.ceil = 10 * MBIT, .limit_pkts = 8});
		for (uint32_t i = 8; i < 50; i++)
			t.loads[i] = (struct test_load){
				.bytes = 100 + i * 20, .depth = i % 4, .gap_ns = i % 4 == 0 ? 3000000 : 0};
		test_open(&t);
		test_begin_loads(&t);
		for (uint32_t k = 0; k < TL_ARRAY_LEN(rates); k++) {
			for (uint32_t i = 1; i < 50; i++) {
				bool none = tl_random_next(&state) % 3 != 0 ||
					    (i >= 8 && t.classes[t.classes[i].parent].rate == 0);
				t.classes[i].rate = none ? 0 : i < 8 ? MBIT : 50000;
				t.classes[i].ceil = t.classes[i].rate + 500000;
				t.classes[i].prio = (uint32_t)(tl_random_next(&state) % 8);
			}
			rates[k] = change_rates(&t);
			uint64_t before = t.sent_bytes[0];
			test_run(&t, t.now_ns + 50 * TL_NS_PER_MS);
			CU_ASSERT(t.sent_bytes[0] - before <= 62500 + 2 * TEST_MTU + 1250);
			CU_ASSERT(t.sent_bytes[0] - before >= 7 * 1250); // 7 ceils, at least
		}
		test_close(&t);
		for (uint32_t k = 0; k < TL_ARRAY_LEN(rates); k++)
			tl_tree_rates_destroy(rates[k]);
	}
}

// More classes than adopt new rates in one call: each leaf with a ceil of 8 kbit/s, 1 byte per ms, and an empty bucket.
#define MANY 300

static void open_full(struct test_tree *t)
{
	*t = (struct test_tree){.n = 0};
	test_add(t, NONE, (struct tl_tree_class){.rate = 10000 * MBIT});
	for (uint32_t i = 1; i < MANY; i++)
		test_add(t, 0, (struct tl_tree_class){.ceil = 8000, .cburst = 200000});
	test_open_mtu(t, TEST_MTU, 65536);
}

static void open_many(struct test_tree *t)
{
	open_full(t);
	for (uint32_t i = 1; i < MANY; i += MANY - 2) // the first and the last leaf
		for (uint32_t k = 0; k < 400; k++)
			test_put(t, i, 0, 1000);
	for (uint32_t k = 0; k < 199; k++) // has no frames afterwards
		test_put(t, MANY - 2, 0, 1000);
	test_run(t, TL_NS_PER_MS);
	CU_ASSERT_EQUAL(t->sent_pkts[1], 199); // until tokens for less than the mtu are left
	CU_ASSERT_EQUAL(t->sent_pkts[MANY - 1], 199);
}

static struct tl_tree_rates *change_all(struct test_tree *t, uint64_t ceil)
{
	for (uint32_t i = 1; i < MANY; i++)
		t->classes[i].ceil = ceil;
	return change_rates(t);
}

TL_TEST("no frame leaves while a part of the classes has the new rates")
{
	struct test_tree t;

	open_many(&t);
	struct tl_tree_rates *rates = change_all(&t, 1000 * MBIT);
	uint32_t before = (uint32_t)t.sent_pkts[0], calls = 0;
	for (;; calls++) {
		t.now_ns += TL_NS_PER_MS;
		uint32_t sent = test_send(&t, 64);
		if (tl_tree_rates_in_use(t.tree) == rates)
			break;
		CU_ASSERT_EQUAL(sent, 0);
		CU_ASSERT_EQUAL(tl_tree_next_ns(t.tree), t.now_ns); // goes on at once
	}
	CU_ASSERT(calls >= 2);
	CU_ASSERT(t.sent_pkts[0] > before);
	test_close(&t);
	tl_tree_rates_destroy(rates);
}

// At 80 Mbit/s, 10 bytes per us, the 5 ms of a call are 50,000 bytes.
TL_TEST("all classes change their rates at one time, in whichever call they adopt them")
{
	struct test_tree t;

	open_many(&t);
	struct tl_tree_rates *high = change_all(&t, 80 * MBIT), *low;
	for (uint32_t i = 0; i < 4; i++, t.now_ns += 5 * TL_NS_PER_MS)
		while (test_send(&t, 64) != 0)
			;
	CU_ASSERT_PTR_EQUAL(tl_tree_rates_in_use(t.tree), high);
	CU_ASSERT_EQUAL(t.sent_pkts[1], 199 + 150); // since the first call, 15 ms
	CU_ASSERT_EQUAL(t.sent_pkts[MANY - 1], 199 + 150);
	t.now_ns -= 5 * TL_NS_PER_MS;
	low = change_all(&t, 8000);
	for (uint32_t i = 0; i < 4; i++, t.now_ns += 5 * TL_NS_PER_MS)
		while (test_send(&t, 64) != 0)
			;
	CU_ASSERT_PTR_EQUAL(tl_tree_rates_in_use(t.tree), low);
	CU_ASSERT_EQUAL(t.sent_pkts[1], 199 + 150);
	CU_ASSERT_EQUAL(t.sent_pkts[MANY - 1], 199 + 150);
	test_close(&t);
	tl_tree_rates_destroy(high);
	tl_tree_rates_destroy(low);
}

TL_TEST("a class that gets frames during a change of rates has the new ones")
{
	struct test_tree t;

	open_many(&t);
	struct tl_tree_rates *rates = change_all(&t, 80 * MBIT);
	CU_ASSERT_EQUAL(test_send(&t, 64), 0);
	t.now_ns += 5 * TL_NS_PER_MS;
	for (uint32_t k = 0; k < 400; k++)
		test_put(&t, MANY - 2, 0, 1000);
	CU_ASSERT_PTR_NOT_EQUAL(tl_tree_rates_in_use(t.tree), rates);
	while (test_send(&t, 64) != 0 || tl_tree_rates_in_use(t.tree) != rates)
		;
	CU_ASSERT_EQUAL(t.sent_pkts[MANY - 2], 199 + 50);
	t.now_ns += TL_NS_PER_MS; // 10,000 bytes
	while (test_send(&t, 64) != 0)
		;
	CU_ASSERT_EQUAL(t.sent_pkts[MANY - 2], 199 + 50 + 10);
	CU_ASSERT_EQUAL(t.sent_pkts[1], 199 + 50 + 10);
	test_close(&t);
	tl_tree_rates_destroy(rates);
}

// The last class sends alone, and competes from the first frame of another one on: before its turn to adopt new rates.
TL_TEST("a change of rates adds no tokens to a class that ceases to send alone meanwhile")
{
	struct test_tree t;

	open_full(&t);
	for (uint32_t k = 0; k < 400; k++)
		test_put(&t, MANY - 1, 0, 1000);
	CU_ASSERT_EQUAL(test_send(&t, 64), 64);
	struct tl_tree_rates *rates = change_all(&t, 9000);
	CU_ASSERT_EQUAL(test_send(&t, 64), 0);
	t.now_ns += TL_NS_PER_US;
	test_put(&t, 1, 0, 1000);
	CU_ASSERT_PTR_NOT_EQUAL(tl_tree_rates_in_use(t.tree), rates);
	while (test_send(&t, 64) != 0 || tl_tree_rates_in_use(t.tree) != rates)
		;
	CU_ASSERT_EQUAL(t.sent_pkts[1], 1);
	CU_ASSERT_EQUAL(t.sent_pkts[MANY - 1], 199);
	test_close(&t);
	tl_tree_rates_destroy(rates);
}

int main(void)
{
	return tl_test_run("tree_rates");
}
