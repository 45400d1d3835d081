// SPDX-License-Identifier: BSD-3-Clause
// TSC clock, compared with the kernel's clocks.

#include <time.h>

#include <tl_clock.h>
#include <tl_test.h>

static uint64_t kernel_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * TL_NS_PER_S + (uint64_t)ts.tv_nsec;
}

// A wall clock reading between two kernel readings must lie between them, within its bound.
static void check_wall(const struct tl_clock *clock)
{
	uint64_t before = kernel_ns(CLOCK_REALTIME);
	uint64_t wall = tl_clock_wall_ns(clock, rte_rdtsc());
	uint64_t after = kernel_ns(CLOCK_REALTIME);
	uint64_t slack = tl_clock_bound_ns(clock) + 1000;

	CU_ASSERT(wall + slack >= before);
	CU_ASSERT(wall <= after + slack);
}

TL_TEST("wall time agrees with the kernel's within its bound")
{
	struct tl_clock *clock = tl_clock_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
	check_wall(clock);
	for (int i = 0; i < 5; i++) {
		tl_clock_discipline(clock);
		check_wall(clock);
	}
	tl_clock_destroy(clock);
}

// A TSC value, and readings of the kernel's clock before and after it.
struct bracket {
	uint64_t tsc, before_ns, after_ns;
};

static struct bracket bracket(void)
{
	struct bracket b = {.before_ns = kernel_ns(CLOCK_MONOTONIC_RAW)};

	b.tsc = rte_rdtsc_precise();
	b.after_ns = kernel_ns(CLOCK_MONOTONIC_RAW);
	return b;
}

TL_TEST("a TSC interval agrees with the kernel's time")
{
	struct tl_clock *clock = tl_clock_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
	struct bracket from = bracket(), to;
	do
		to = bracket();
	while (to.after_ns - from.before_ns < 20 * TL_NS_PER_MS);
	uint64_t span_ns = tl_clock_span_ns(clock, to.tsc - from.tsc), slack_ns = span_ns / 1000; // of the calibration
	CU_ASSERT(span_ns + slack_ns >= to.before_ns - from.after_ns);
	CU_ASSERT(span_ns <= to.after_ns - from.before_ns + slack_ns);
	CU_ASSERT_EQUAL(tl_clock_mono_ns(clock, to.tsc) - tl_clock_mono_ns(clock, from.tsc) - span_ns + 1 <= 2, true);
	tl_clock_destroy(clock);
}

TL_TEST("a TSC value before the base yields an earlier time")
{
	struct tl_clock_line line = {.base_ticks = 1000, .base_ns = 5000, .mult = UINT64_C(1) << TL_CLOCK_SHIFT};

	CU_ASSERT_EQUAL(tl_clock_apply(&line, 900), 4900);
	CU_ASSERT_EQUAL(tl_clock_apply(&line, 1100), 5100);
}

TL_TEST("a small error is slewed, and time never decreases")
{
	struct tl_clock *clock = tl_clock_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
	clock->wall.line.base_ns += 300 * TL_NS_PER_US; // ahead of the kernel
	uint64_t before = tl_clock_wall_ns(clock, rte_rdtsc());
	tl_clock_discipline(clock);
	CU_ASSERT(tl_clock_wall_ns(clock, rte_rdtsc()) >= before);
	CU_ASSERT_EQUAL(clock->steps, 0);
	CU_ASSERT(clock->wall.line.mult < clock->mono.mult);
	CU_ASSERT(tl_clock_bound_ns(clock) >= 250 * TL_NS_PER_US);
	tl_clock_destroy(clock);
}

TL_TEST("a step of the kernel's clock is followed and counted")
{
	struct tl_clock *clock = tl_clock_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
	clock->wall.line.base_ns += TL_NS_PER_S;
	tl_clock_discipline(clock);
	CU_ASSERT_EQUAL(clock->steps, 1);
	check_wall(clock);
	tl_clock_destroy(clock);
}

int main(void)
{
	return tl_test_run("clock");
}
