// SPDX-License-Identifier: BSD-3-Clause
// Time left: exact once everything, or a loop, has been read; before by the share of the files' bytes.

#include "replay_priv.h"

static uint64_t load(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

// Extrapolate a time by the bytes read. Return UINT64_MAX if nothing is known.
static uint64_t extrapolate(const struct tl_replay *r, uint64_t ns)
{
	unsigned __int128 all_bytes = (unsigned __int128)r->cfg.bytes * r->cfg.loops;
	uint64_t read_bytes = load(&r->reader.read_bytes);

	if (read_bytes == 0 || all_bytes < read_bytes)
		return UINT64_MAX;
	unsigned __int128 all_ns = all_bytes * ns / read_bytes;
	return all_ns < TL_REPLAY_DUE_MAX ? (uint64_t)all_ns : UINT64_MAX;
}

// Return the due time of the last frame; UINT64_MAX: unknown.
static uint64_t end_ns(const struct tl_replay *r, bool *exact)
{
	uint64_t loop_ns = load(&r->reader.loop_due_ns);

	*exact = true;
	if (atomic_load_explicit(&r->reader.read_all, memory_order_acquire))
		return load(&r->reader.last_due_ns);
	*exact = r->cfg.pacing.pace == TL_REPLAY_RECORDED; // at a rate there is a gap between loops, too
	if (loop_ns != 0)
		return loop_ns < TL_REPLAY_DUE_MAX / r->cfg.loops ? loop_ns * r->cfg.loops : UINT64_MAX;
	*exact = false;
	return extrapolate(r, load(&r->reader.last_due_ns));
}

// Without due times frames are sent as they are read.
static uint64_t left_at_line_rate(const struct tl_replay *r)
{
	uint64_t sent_ns = load(&r->sender.last_ns), all_ns = extrapolate(r, sent_ns);

	return sent_ns != 0 && all_ns != UINT64_MAX && all_ns >= sent_ns ? all_ns - sent_ns : UINT64_MAX;
}

void replay_left_sample(const struct tl_replay *r, struct tl_replay_stats *out)
{
	int64_t pos_ns = replay_position(r, replay_sample_ns(r));
	bool exact = false;

	out->left_ns = UINT64_MAX;
	if (r->cfg.gated || r->seeking)
		return;
	if (r->cfg.pacing.pace == TL_REPLAY_LINE) {
		out->left_ns = left_at_line_rate(r);
		return;
	}
	uint64_t at_ns = end_ns(r, &exact);
	if (at_ns == UINT64_MAX)
		return;
	uint64_t left_ns = (int64_t)at_ns > pos_ns ? at_ns - (uint64_t)pos_ns : 0;
	unsigned __int128 real_ns = (unsigned __int128)left_ns * r->tempo.of / r->speed;
	out->left_ns = real_ns < TL_REPLAY_DUE_MAX ? (uint64_t)real_ns : UINT64_MAX;
	out->left_exact = exact;
}
