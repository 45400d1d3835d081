// SPDX-License-Identifier: BSD-3-Clause
// Times of the NICs' clocks for the frames of a replay.

#include "replay_priv.h"

uint64_t replay_tsc_of(const struct tl_replay *r, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << TL_CLOCK_SHIFT) / r->cfg.clock->mono.mult);
}

void replay_nic_begin(struct tl_replay *r)
{
	r->by_nic = r->cfg.pacing.pace != TL_REPLAY_LINE;
	for (unsigned i = 0; i < r->cfg.n_outs; i++) {
		const struct tl_replay_nic *nic = r->cfg.outs[i].nic;
		struct replay_out *out = &r->sender.outs[i];
		r->by_nic &= nic != NULL;
		out->at_offset = nic != NULL ? nic->offset : 0;
		out->at_flag = nic != NULL ? nic->flag : 0;
	}
	uint64_t ahead_tsc = r->by_nic ? replay_tsc_of(r, TL_REPLAY_AHEAD_NS) : 0;
	r->sender.wire_tsc = 2 * ahead_tsc; // the lines of the clocks bend
	atomic_store_explicit(&r->sender.ahead_tsc, ahead_tsc, memory_order_relaxed);
}

static void lose(struct tl_replay *r)
{
	r->by_nic = false;
	atomic_store_explicit(&r->sender.ahead_tsc, 0, memory_order_relaxed);
}

// The line begins at a position in whole nanoseconds, and at its exact time: at a hundredth of the speed a nanosecond
// of the run's time is 100 ns.
void replay_nic_publish(struct tl_replay *r)
{
	const struct replay_tempo *tempo = &r->tempo;

	if (!r->by_nic || tempo->speed == 0)
		return;
	int64_t pos_ns = replay_tempo_at(tempo, replay_clock_ns(r));
	uint64_t wall_ns = replay_tempo_clock(tempo, pos_ns) + (uint64_t)r->shift_ns;
	for (unsigned i = 0; i < r->cfg.n_outs; i++) {
		const struct tl_replay_nic *nic = r->cfg.outs[i].nic;
		struct tl_clock_line line;
		if (!nic->line(nic->ctx, wall_ns, &line)) {
			lose(r);
			return;
		}
		line.base_ns = tl_clock_apply(&line, wall_ns);
		line.base_ticks = (uint64_t)pos_ns;
		line.mult = (uint64_t)((unsigned __int128)line.mult * tempo->of / tempo->speed);
		tl_clock_swap_store(&r->sender.outs[i].ticks, line);
	}
}
