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

static void naps_begin_with_the_first_frames_and_grow(void)
{
	static const struct step steps[] = {{0, 0}, {0, 0}, {LITTLE, 4000}, {0, 8000}, {LITTLE, 8000}, {LITTLE, 8000}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

static void a_long_nap_without_a_frame_is_the_last(void)
{
	static const struct step steps[] = {{LITTLE, 4000}, {0, 8000}, {0, 0}, {0, 0}, {LITTLE, 4000}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

static void a_nap_gathers_a_quarter_of_the_buffer_at_most(void)
{
	static const struct step steps[] = {{LITTLE, 4000}, {QUARTER / 2 + 1, 4000}, {QUARTER, 4000},
		{QUARTER / 2, 8000}, {QUARTER + 1, 4000}, {QUARTER + 1, 2000}, {QUARTER + 1, 1000}, {QUARTER + 1, 500},
		{QUARTER + 1, 500}, {QUARTER / 2, 1000}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

static void a_flood_after_a_silence_begins_with_the_shortest_nap(void)
{
	static const struct step steps[] = {{0, 0}, {QUARTER + 1, 500}};

	walk(BUFFER_BYTES, steps, TL_ARRAY_LEN(steps));
}

static void a_buffer_that_a_nap_may_fill_has_none(void)
{
	static const struct step never[] = {{LITTLE, 0}, {QUARTER, 0}, {LITTLE, 0}};
	static const struct step first[] = {{LITTLE, 4000}};

	walk(0, never, TL_ARRAY_LEN(never));
	walk(15999999, never, TL_ARRAY_LEN(never));
	walk(16000000, first, TL_ARRAY_LEN(first));
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"naps begin with the first frames, and grow", naps_begin_with_the_first_frames_and_grow},
		{"a long nap without a frame is the last", a_long_nap_without_a_frame_is_the_last},
		{"a nap gathers a quarter of the buffer at most", a_nap_gathers_a_quarter_of_the_buffer_at_most},
		{"a flood after a silence begins with the shortest nap",
			a_flood_after_a_silence_begins_with_the_shortest_nap},
		{"a buffer that a nap may fill has none", a_buffer_that_a_nap_may_fill_has_none},
	};
	return tl_test_main("nap", tests, TL_ARRAY_LEN(tests));
}
