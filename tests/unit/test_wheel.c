// SPDX-License-Identifier: BSD-3-Clause
// Tests of the timing wheel, on a clock set by the test.

#include <stdlib.h>

#include <tl_random.h>
#include <tl_test.h>
#include <tl_wheel.h>

#define NODES 4096
#define START UINT64_C(123456789012345)

static struct tl_wheel wheel;
static struct tl_wheel_node nodes[NODES]; // the index is the order of insertion

static void begin(uint64_t now_ns)
{
	tl_wheel_init(&wheel, now_ns);
	for (uint32_t i = 0; i < NODES; i++)
		nodes[i].slot = TL_WHEEL_OUT;
}

// Pop all nodes that are due. Check that they are due, later than since_ns, and in order. Return their number.
static uint32_t pop_all(uint64_t since_ns, uint64_t now_ns)
{
	const struct tl_wheel_node *n, *last = NULL;
	uint32_t popped = 0;

	for (; (n = tl_wheel_pop(&wheel, now_ns)) != NULL; last = n, popped++) {
		CU_ASSERT(n->when_ns <= now_ns && n->when_ns > since_ns);
		CU_ASSERT(last == NULL || last->when_ns < n->when_ns || (last->when_ns == n->when_ns && last < n));
		CU_ASSERT_EQUAL(n->slot, TL_WHEEL_OUT);
	}
	return popped;
}

TL_TEST("each node leaves at the first call after its time, and in the order of times")
{
	uint64_t random = 1, now_ns = START;
	uint32_t in = 0, out = 0;

	begin(now_ns);
	while (out < NODES) {
		for (uint64_t n = tl_random_next(&random) % 8; n > 0 && in < NODES; n--) {
			uint64_t ahead_ns = tl_random_next(&random) >> (24 + tl_random_next(&random) % 40);
			tl_wheel_insert(&wheel, &nodes[in++], now_ns + ahead_ns + 1);
		}
		uint64_t since_ns = now_ns;
		now_ns += tl_random_next(&random) >> (25 + tl_random_next(&random) % 39);
		out += pop_all(since_ns, now_ns);
		CU_ASSERT(wheel.next_ns > now_ns);
	}
	CU_ASSERT_EQUAL(wheel.next_ns, TL_WHEEL_NEVER);
}

TL_TEST("calls at the next time find each node to the ns")
{
	uint64_t random = 2;
	uint32_t calls = 0;

	begin(START);
	for (uint32_t i = 0; i < NODES; i++)
		tl_wheel_insert(&wheel, &nodes[i], START + (tl_random_next(&random) >> 30));
	for (uint32_t out = 0; out < NODES; calls++) {
		uint64_t now_ns = wheel.next_ns;
		const struct tl_wheel_node *n = tl_wheel_pop(&wheel, now_ns);
		CU_ASSERT(n == NULL || n->when_ns == now_ns);
		out += n != NULL;
	}
	CU_ASSERT(calls <= NODES * TL_WHEEL_LEVELS);
}

TL_TEST("nodes of one time leave in the order of their insertion")
{
	uint64_t now_ns = START, when_ns = START + (UINT64_C(1) << 33);
	uint32_t in = 0;

	begin(now_ns);
	for (; now_ns < when_ns; now_ns += (when_ns - now_ns) / 2 + 1) { // each insertion from a lower level
		tl_wheel_insert(&wheel, &nodes[in++], when_ns);
		tl_wheel_insert(&wheel, &nodes[in++], when_ns);
		CU_ASSERT_PTR_NULL(tl_wheel_pop(&wheel, now_ns));
	}
	CU_ASSERT(in > 60);
	CU_ASSERT_EQUAL(pop_all(when_ns - 1, when_ns), in);
}

TL_TEST("a burst of one time leaves whole and in order")
{
	begin(START);
	for (uint32_t i = 0; i < NODES; i++)
		tl_wheel_insert(&wheel, &nodes[i], START + 5000);
	CU_ASSERT_PTR_NULL(tl_wheel_pop(&wheel, START + 4999));
	CU_ASSERT_EQUAL(pop_all(START + 4999, START + 5000), NODES);
}

// Each digit of the time overflows into the next.
TL_TEST("no node is lost where a digit of the time wraps")
{
	for (uint32_t digit = 1; digit < TL_WHEEL_LEVELS; digit++) {
		uint64_t edge_ns = UINT64_C(1) << (6 * digit);
		begin(edge_ns - 1);
		for (uint32_t i = 0; i < 64; i++)
			tl_wheel_insert(&wheel, &nodes[i], edge_ns - 1 + i);
		for (uint32_t i = 0; i < 64; i++)
			CU_ASSERT_EQUAL(pop_all(edge_ns - 2 + i, edge_ns - 1 + i), 1);
	}
}

TL_TEST("a clock that goes back returns none, one that jumps returns all that are due")
{
	begin(START);
	for (uint32_t i = 0; i < 100; i++)
		tl_wheel_insert(&wheel, &nodes[i], START + 1000 * (i + 1));
	CU_ASSERT_EQUAL(pop_all(0, START + 50000), 50);
	CU_ASSERT_EQUAL(pop_all(0, START - TL_NS_PER_S), 0);
	CU_ASSERT_EQUAL(wheel.now_ns, START + 50000);
	tl_wheel_insert(&wheel, &nodes[100], START + 50000); // the wheel's time is the earliest possible
	CU_ASSERT_EQUAL(pop_all(0, START - TL_NS_PER_S), 0);
	CU_ASSERT_PTR_EQUAL(tl_wheel_pop(&wheel, START + 50000), &nodes[100]);
	CU_ASSERT_EQUAL(pop_all(START + 50000, START + 3600 * TL_NS_PER_S), 50);
}

TL_TEST("the latest time is a time like others")
{
	begin(0);
	tl_wheel_insert(&wheel, &nodes[0], UINT64_MAX - 1);
	tl_wheel_insert(&wheel, &nodes[1], UINT64_C(1) << 63);
	CU_ASSERT_EQUAL(pop_all(0, UINT64_MAX - 2), 1);
	CU_ASSERT_EQUAL(pop_all(UINT64_MAX - 2, UINT64_MAX - 1), 1);
}

TL_TEST("a node that is removed leaves the others in their order")
{
	for (uint32_t gone = 0; gone < 3; gone++) {
		begin(START);
		for (uint32_t i = 0; i < 3; i++)
			tl_wheel_insert(&wheel, &nodes[i], START + 70000);
		tl_wheel_remove(&wheel, &nodes[gone]);
		CU_ASSERT_EQUAL(pop_all(START, START + 70000), 2);
	}
	begin(START);
	tl_wheel_schedule(&wheel, &nodes[0], START + 10);
	tl_wheel_schedule(&wheel, &nodes[0], START + 10);
	tl_wheel_schedule(&wheel, &nodes[0], START + 20);
	CU_ASSERT_EQUAL(pop_all(START, START + 19), 0);
	CU_ASSERT_EQUAL(pop_all(START + 19, START + 20), 1);
	CU_ASSERT_EQUAL(wheel.levels, 0);
}

int main(void)
{
	return tl_test_run("wheel");
}
