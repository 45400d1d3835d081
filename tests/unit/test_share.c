// SPDX-License-Identifier: BSD-3-Clause
// Shares of known trees, and of random ones against the oracle of tl_test_share.h.

#include <string.h>

#include <tl_random.h>
#include <tl_test.h>
#include <tl_test_share.h>

#define TREES 10000

// ---- known trees

// Bertsekas and Gallager: the smallest demand is satisfied, the others share what it leaves.
TL_TEST("small demands are satisfied, the other nodes share the remainder")
{
	struct test t;

	begin(&t);
	uint32_t a = add(&t, 0, (struct tl_share_node){.demand = 2});
	uint32_t b = add(&t, 0, (struct tl_share_node){.demand = 4});
	uint32_t c = add(&t, 0, (struct tl_share_node){.demand = 5});
	uint32_t d = add(&t, 0, (struct tl_share_node){.demand = 4, .weight = 2});
	solve(&t, 13);
	CU_ASSERT(share(&t, a) == 2 && share(&t, b) == 3 && share(&t, c) == 4 && share(&t, d) == 4); // 3.5 each
	solve(&t, 100);
	CU_ASSERT(share(&t, a) == 2 && share(&t, b) == 4 && share(&t, c) == 5 && share(&t, d) == 4);
	CU_ASSERT_EQUAL(share(&t, 0), 15);
	solve(&t, 0);
	CU_ASSERT(share(&t, a) == 0 && share(&t, d) == 0);
}

TL_TEST("a scarce capacity is divided by weights, without idle nodes")
{
	struct test t;

	begin(&t);
	uint32_t a = add(&t, 0, (struct tl_share_node){.demand = 1000, .weight = 1});
	uint32_t b = add(&t, 0, (struct tl_share_node){.demand = 1000, .weight = 3});
	uint32_t idle = add(&t, 0, (struct tl_share_node){.weight = 4});
	solve(&t, 800);
	CU_ASSERT(share(&t, a) == 200 && share(&t, b) == 600 && share(&t, idle) == 0);
	t.nodes[idle].demand = 1000;
	solve(&t, 800);
	CU_ASSERT(share(&t, a) == 100 && share(&t, b) == 300 && share(&t, idle) == 400);
}

TL_TEST("demands of prod are satisfied before nonprod gets more than its floor")
{
	struct test t;

	begin(&t);
	uint32_t prod = add(&t, 0, (struct tl_share_node){.demand = 900});
	uint32_t batch = add(&t, 0, (struct tl_share_node){.demand = 900, .tier = 1, .weight = 9, .floor = 100});
	uint32_t rest = add(&t, 0, (struct tl_share_node){.demand = 900, .tier = 1, .weight = 1});
	solve(&t, 800);
	CU_ASSERT(share(&t, prod) == 700 && share(&t, batch) == 100 && share(&t, rest) == 0);
	t.nodes[prod].demand = 300;
	solve(&t, 800);
	CU_ASSERT(share(&t, prod) == 300 && share(&t, batch) == 450 && share(&t, rest) == 50);
	t.nodes[batch].demand = 60; // less than its floor
	solve(&t, 800);
	CU_ASSERT(share(&t, prod) == 300 && share(&t, batch) == 60 && share(&t, rest) == 440);
}

TL_TEST("a floor is part of the share; a capacity below the floors is divided by them, prod first")
{
	struct test t;

	begin(&t);
	uint32_t a = add(&t, 0, (struct tl_share_node){.demand = 1000, .floor = 500});
	uint32_t b = add(&t, 0, (struct tl_share_node){.demand = 1000, .floor = 100});
	uint32_t c = add(&t, 0, (struct tl_share_node){.demand = 1000});
	solve(&t, 900);
	CU_ASSERT(share(&t, a) == 500 && share(&t, b) == 200 && share(&t, c) == 200);
	solve(&t, 300); // less than the floors
	CU_ASSERT(share(&t, a) == 250 && share(&t, b) == 50 && share(&t, c) == 0);
	t.nodes[a].tier = 1;
	solve(&t, 300);
	CU_ASSERT(share(&t, a) == 200 && share(&t, b) == 100 && share(&t, c) == 0);
}

TL_TEST("a node with children gets their floors and demands up to its ceil, and divides its share")
{
	struct test t;

	begin(&t);
	uint32_t x = add(&t, 0, (struct tl_share_node){.ceil = 500});
	uint32_t y = add(&t, 0, (struct tl_share_node){.weight = 2});
	uint32_t x1 = add(&t, x, (struct tl_share_node){.demand = 1000, .tier = 1, .floor = 350});
	uint32_t x2 = add(&t, x, (struct tl_share_node){.demand = 1000});
	uint32_t y1 = add(&t, y, (struct tl_share_node){.demand = 100});
	uint32_t y2 = add(&t, y, (struct tl_share_node){.demand = 5000});
	solve(&t, 900);
	CU_ASSERT(share(&t, x) == 350 && share(&t, y) == 550); // the floor of x1 is one of x
	CU_ASSERT(share(&t, x1) == 350 && share(&t, x2) == 0);
	CU_ASSERT(share(&t, y1) == 100 && share(&t, y2) == 450);
	solve(&t, 3000);
	CU_ASSERT(share(&t, x) == 500 && share(&t, y) == 2500);
	CU_ASSERT(share(&t, x1) == 350 && share(&t, x2) == 150);
}

TL_TEST("limits are the shares, plus the remainder by weight")
{
	struct test t;

	begin(&t);
	uint32_t a = add(&t, 0, (struct tl_share_node){.demand = 100, .ceil = 1000, .weight = 3});
	uint32_t b = add(&t, 0, (struct tl_share_node){.demand = 500, .ceil = 600, .tier = 1});
	uint32_t idle = add(&t, 0, (struct tl_share_node){.ceil = 1000, .tier = 1});
	tl_share_limits(t.nodes, t.n, 1000);
	CU_ASSERT(share(&t, a) == 375 && share(&t, b) == 500 && share(&t, idle) == 125);
	begin(&t);
	a = add(&t, 0, (struct tl_share_node){.demand = 1000, .ceil = 1000});
	idle = add(&t, 0, (struct tl_share_node){.ceil = 1000, .floor = 200});
	tl_share_limits(t.nodes, t.n, 800);
	CU_ASSERT(share(&t, a) == 800 && share(&t, idle) == 0); // its floor is lent, too
	tl_share_limits(t.nodes, t.n, 5000);
	CU_ASSERT(share(&t, a) == 1000 && share(&t, idle) == 1000);
}

TL_TEST("the largest amounts and weights do not overflow")
{
	struct test t;
	uint64_t sum = 0;

	begin(&t);
	for (uint32_t i = 1; i < NODES; i++)
		add(&t, 0,
			(struct tl_share_node){.demand = TL_SHARE_MAX - i,
				.weight = i % 2 == 0 ? TL_SHARE_WEIGHT_MAX : 1,
				.floor = i % 3 == 0 ? TL_SHARE_MAX : 0,
				.tier = i % 5 == 0});
	for (uint64_t capacity = UINT64_MAX; capacity != 0; capacity /= 3) {
		solve(&t, capacity);
		sum = 0;
		for (uint32_t i = 1; i < NODES; i++) {
			CU_ASSERT(share(&t, i) <= TL_SHARE_MAX - i);
			sum += share(&t, i);
		}
		CU_ASSERT_EQUAL(sum, share(&t, 0));
	}
	CU_ASSERT_EQUAL(sum, 1);
}

// ---- random trees

static uint64_t random_amount(uint64_t *state, uint64_t zero_of)
{
	uint64_t kind = tl_random_next(state);

	return kind % zero_of == 0 ? 0 : tl_random_next(state) % (UINT64_C(1) << (kind >> 32) % 44);
}

static void make_random(struct test *t, uint64_t *state)
{
	uint32_t n = 1 + (uint32_t)(tl_random_next(state) % (tl_random_next(state) % 8 == 0 ? NODES - 1 : 12));
	uint32_t depth = 1 + (uint32_t)(tl_random_next(state) % 8);
	bool alike = tl_random_next(state) % 4 == 0;

	begin(t);
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t above = i < depth ? i : depth;
		add(t, (uint32_t)(tl_random_next(state) % above),
			(struct tl_share_node){.demand = alike ? 1000 : random_amount(state, 5),
				.floor = random_amount(state, 2),
				.ceil = random_amount(state, 2),
				.weight = 1 + (uint32_t)(tl_random_next(state) % (alike ? 2 : TL_SHARE_WEIGHT_MAX)),
				.tier = (uint32_t)(tl_random_next(state) % TL_SHARE_TIERS)});
	}
}

TL_TEST("the shares of 10,000 random trees are max-min fair and equal an oracle in exact fractions")
{
	uint64_t state = 20;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < TREES; i++) {
		struct test t;
		make_random(&t, &state);
		uint64_t capacity = random_amount(&state, 20);
		solve(&t, capacity);
		if (!is_tree_right(&t, capacity) && wrong++ == 0)
			printf("# tree %u, capacity %ju\n", i, (uintmax_t)capacity);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
	return tl_test_run("share");
}
