// SPDX-License-Identifier: BSD-3-Clause
// nap: how long an lcore sleeps without being woken by frames.

#include <tl_test.h>

#include "nap.h"

#define BUFFER_BYTES (64u << 20)
#define QUARTER (BUFFER_BYTES / 4)
#define LITTLE 60u

struct step {
	uint64_t bytes; // received since the step before
	uint64_t us;
};

static void walk(uint64_t buffer_bytes, const struct step *steps, size_t n)
{
	struct tl_nap nap;
	uint64_t rx_bytes = 0;

	tl_nap_init(&nap, buffer_bytes);
	for (size_t i = 0; i < n; i++) {
		rx_bytes += steps[i].bytes;
		CU_ASSERT_EQUAL(tl_nap_next(&nap, rx_bytes), steps[i].us * TL_NS_PER_US);
	}
}

TL_TEST("naps begin with the first frames, and grow")
{
	static const struct step steps[] = {
		{0, 0}, {0, 0}, {LITTLE, 4000}, {0, 8000}, {LITTLE, 16000}, {LITTLE, 16000}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("a long nap without a frame is the last")
{
	static const struct step steps[] = {{LITTLE, 4000}, {0, 8000}, {0, 16000}, {0, 0}, {0, 0}, {LITTLE, 4000}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("a nap gathers a quarter of the buffer at most")
{
	static const struct step steps[] = {{LITTLE, 4000}, {QUARTER / 2 + 1, 4000}, {QUARTER, 4000},
		{QUARTER / 2, 8000}, {QUARTER + 1, 4000}, {QUARTER + 1, 2000}, {QUARTER + 1, 1000}, {QUARTER + 1, 500},
		{QUARTER + 1, 500}, {QUARTER / 2, 1000}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("a flood after a silence begins with the shortest nap")
{
	static const struct step steps[] = {{0, 0}, {QUARTER + 1, 500}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("a buffer that a nap may fill has none")
{
	static const struct step never[] = {{LITTLE, 0}, {QUARTER, 0}, {LITTLE, 0}};
	static const struct step first[] = {{LITTLE, 4000}};

	walk(0, never, TL_ARRAY_LEN(never));
	walk(15999999, never, TL_ARRAY_LEN(never));
	walk(16000000, first, TL_ARRAY_LEN(first));
}

TL_TEST("the longest nap does not fill a small buffer")
{
	static const struct step steps[] = {{LITTLE, 4000}, {LITTLE, 8000}, {LITTLE, 9000}, {LITTLE, 9000}, {0, 0}};

	walk(18000000, steps, TL_ARRAY_LEN(steps));
}

int main(void)
{
	return tl_test_run("nap");
}
