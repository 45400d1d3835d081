// SPDX-License-Identifier: BSD-3-Clause
// Computation of due times.

#include <tl_replay_schedule.h>

#define FRAME_BYTES_MIN 60u

void tl_replay_schedule_init(struct tl_replay_schedule *schedule, const struct tl_replay_pacing *pacing)
{
	*schedule = (struct tl_replay_schedule){.pacing = *pacing};
}

void tl_replay_schedule_file(struct tl_replay_schedule *schedule, bool loop)
{
	schedule->file_begins = true;
	schedule->loop_begins |= loop;
}

// Begin a line of recorded time: ts_ns is at pos_ns.
static void rebase(struct tl_replay_schedule *s, uint64_t ts_ns, uint64_t pos_ns)
{
	s->base_ts_ns = s->top_ts_ns = ts_ns;
	s->base_pos_ns = pos_ns;
	s->left_ts_ns = 0;
}

// Begin a line at a frame recorded long before the others, and remember theirs: the clock was set back, or the frame
// is stray.
static void leave_line(struct tl_replay_schedule *s, uint64_t ts_ns)
{
	bool lone = s->top_ts_ns == s->base_ts_ns; // stray frames one after the other leave the same line
	uint64_t left_ns = lone ? tl_max_u64(s->left_ts_ns, s->top_ts_ns) : s->top_ts_ns;

	rebase(s, ts_ns, s->last_pos_ns);
	s->left_ts_ns = left_ns;
	s->left_pos_ns = s->last_pos_ns;
}

// True if a frame is of the line left: it jumps ahead by more than half of the jump back, which has not been caught up.
static bool is_of_left_line(const struct tl_replay_schedule *s, uint64_t ts_ns)
{
	return s->left_ts_ns > s->top_ts_ns && ts_ns > s->top_ts_ns &&
	       ts_ns - s->top_ts_ns > (s->left_ts_ns - s->base_ts_ns) / 2;
}

// Continue on the line left: the time spent on the other one has passed on it, too.
static void return_to_line(struct tl_replay_schedule *s)
{
	rebase(s, s->left_ts_ns + (s->last_pos_ns - s->left_pos_ns), s->last_pos_ns);
}

// Compute the position of a frame in the run, in recorded time.
static uint64_t position(struct tl_replay_schedule *s, uint64_t ts_ns)
{
	if (TL_UNLIKELY(is_of_left_line(s, ts_ns)))
		return_to_line(s);
	if (!s->begun)
		s->first_ts_ns = ts_ns;
	if (!s->begun || s->loop_begins) {
		rebase(s, ts_ns, s->last_pos_ns);
	} else if (ts_ns >= s->top_ts_ns) {
		if (ts_ns - s->top_ts_ns > s->pacing.max_gap_ns) {
			rebase(s, ts_ns, s->last_pos_ns + s->pacing.max_gap_ns);
			tl_count(&s->shortened_gaps, 1);
		}
		s->top_ts_ns = ts_ns;
	} else if (s->file_begins) {
		rebase(s, ts_ns, s->last_pos_ns);
		tl_count(&s->rebased_files, 1);
	} else {
		tl_count(&s->backward_pkts, 1);
		if (s->top_ts_ns - ts_ns > TL_REPLAY_DISORDER_NS)
			leave_line(s, ts_ns);
	}
	uint64_t pos_ns = ts_ns > s->base_ts_ns ? s->base_pos_ns + (ts_ns - s->base_ts_ns) : s->base_pos_ns;
	if (pos_ns < s->base_pos_ns) // beyond 584 years
		pos_ns = UINT64_MAX;
	s->last_pos_ns = tl_max_u64(pos_ns, s->last_pos_ns);
	return s->last_pos_ns;
}

// value * TL_NS_PER_S * 10^6 / rate: the time of this many frames or bits at a rate in 10^-6 per second.
static unsigned __int128 after(uint64_t value, uint64_t rate)
{
	return (unsigned __int128)value * (TL_NS_PER_S * TL_REPLAY_MILLION) / rate;
}

uint64_t tl_replay_schedule_next(struct tl_replay_schedule *schedule, uint64_t ts_ns, uint32_t frame_bytes)
{
	struct tl_replay_schedule *s = schedule;
	unsigned __int128 due_ns = 0;

	switch (s->pacing.pace) {
	case TL_REPLAY_RECORDED:
		due_ns = (unsigned __int128)position(s, ts_ns) * TL_REPLAY_MILLION / s->pacing.speed;
		break;
	case TL_REPLAY_PPS:
		due_ns = after(s->frames, s->pacing.rate);
		break;
	case TL_REPLAY_BPS:
		due_ns = after(s->wire_bits, s->pacing.rate);
		break;
	case TL_REPLAY_BURSTS:
		due_ns = (unsigned __int128)(s->frames / s->pacing.burst_pkts) * s->pacing.burst_gap_ns;
		break;
	case TL_REPLAY_LINE:
		break;
	}
	s->begun = true;
	s->file_begins = s->loop_begins = false;
	s->frames++;
	s->wire_bits += 8 * (tl_max_u64(frame_bytes, FRAME_BYTES_MIN) + TL_REPLAY_WIRE_BYTES);
	return due_ns < TL_REPLAY_DUE_MAX ? (uint64_t)due_ns : TL_REPLAY_DUE_MAX;
}

uint64_t tl_replay_schedule_time(struct tl_replay_schedule *schedule, uint64_t ts_ns)
{
	const struct tl_replay_schedule *s = schedule;

	(void)tl_replay_schedule_next(schedule, ts_ns, 0);
	uint64_t line_ns = s->first_ts_ns + s->base_pos_ns;
	uint64_t before_ns = s->base_ts_ns > ts_ns ? s->base_ts_ns - ts_ns : 0; // out of order, at the line's beginning
	return before_ns == 0 ? line_ns + (ts_ns - s->base_ts_ns) : line_ns - tl_min_u64(before_ns, line_ns);
}
