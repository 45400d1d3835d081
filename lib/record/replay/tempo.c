// SPDX-License-Identifier: BSD-3-Clause
// The run's time: pauses, speeds, positions.

#include "replay_priv.h"

int64_t replay_tempo_at(const struct replay_tempo *tempo, uint64_t clock_ns)
{
	__int128 passed_ns = (int64_t)(clock_ns - tempo->clock_ns);

	return tempo->pos_ns + (int64_t)(passed_ns * tempo->speed / tempo->of);
}

uint64_t replay_tempo_clock(const struct replay_tempo *tempo, int64_t pos_ns)
{
	__int128 passed_ns = pos_ns - tempo->pos_ns;

	return tempo->clock_ns + (uint64_t)(passed_ns * (__int128)tempo->of / (__int128)tempo->speed);
}

void replay_tempo_change(struct replay_tempo *tempo, uint64_t clock_ns, uint64_t speed)
{
	if (clock_ns > tempo->clock_ns) {
		tempo->pos_ns = replay_tempo_at(tempo, clock_ns);
		tempo->clock_ns = clock_ns;
	}
	tempo->speed = speed;
}

// While the time stands it is 1 ns back, so that no frame becomes due: an lcore that has not noticed the pause would
// send the first one if the pause begins before the start.
struct tl_clock_line replay_tempo_line(const struct replay_tempo *tempo, const struct tl_clock_line *clock)
{
	return (struct tl_clock_line){.base_ticks = clock->base_ticks,
		.base_ns = (uint64_t)replay_tempo_at(tempo, clock->base_ns) - (tempo->speed == 0),
		.mult = (uint64_t)((unsigned __int128)clock->mult * tempo->speed / tempo->of)};
}
