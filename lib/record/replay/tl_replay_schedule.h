// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_schedule: when each frame of a replay is due, in nanoseconds after the first. Every due time is computed from
// the beginning of the run, never from the one before: nothing adds up over loops, files or hours.
//
// Threads: one. Memory: the caller's. Pure arithmetic.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;

enum tl_replay_pace {
	TL_REPLAY_RECORDED, // at the recorded times, faster or slower
	TL_REPLAY_PPS,	    // so many frames per second
	TL_REPLAY_BPS,	    // so many bits per second on the wire
	TL_REPLAY_LINE,	    // as fast as the port takes them: every frame is due at once
};

#define TL_REPLAY_MILLION UINT64_C(1000000)
#define TL_REPLAY_SPEED_MIN (TL_REPLAY_MILLION / 100)
#define TL_REPLAY_SPEED_MAX (TL_REPLAY_MILLION * 100)
#define TL_REPLAY_DUE_MAX ((uint64_t)INT64_MAX) // later than this is this
// A frame takes these on the wire beside its own: preamble and SFD 8, FCS 4, gap 12 (IEEE 802.3, 4.4.2); at least 60 of
// its own.
#define TL_REPLAY_WIRE_BYTES 24u

struct tl_replay_pacing {
	enum tl_replay_pace pace;
	uint64_t speed;	     // of RECORDED, in 10^-6: 1000000 is as recorded; TL_REPLAY_SPEED_MIN .. _MAX
	uint64_t rate;	     // of PPS and BPS, in 10^-6 frames or bits per second; not 0
	uint64_t max_gap_ns; // of RECORDED: longer gaps in the recorded times are shortened to this; UINT64_MAX: none
};

struct tl_replay_schedule {
	struct tl_replay_pacing pacing;
	bool begun;
	bool file_begins;	    // the next frame is the first of a file
	bool loop_begins;	    // and of a loop
	uint64_t base_ts_ns;	    // this recorded time
	uint64_t base_pos_ns;	    // is this far in the run, in recorded time
	uint64_t last_ts_ns;	    // of the frame before
	uint64_t last_pos_ns;	    // never goes back
	uint64_t frames, wire_bits; // so far
	// Part of what was scheduled; other threads may read them.
	uint64_t backward_pkts; // recorded before the frame before them: due with it
	uint64_t rebased_files; // begin before the end of the file before: their first frame is due with its last
	uint64_t shortened_gaps;
};

void tl_replay_schedule_init(struct tl_replay_schedule *schedule, const struct tl_replay_pacing *pacing);

// The next frame is the first of a file. With loop it is due together with the last frame of the loop before, whatever
// their recorded times.
void tl_replay_schedule_file(struct tl_replay_schedule *schedule, bool loop);

// The due time of the next frame: recorded at ts_ns (since 1970), of so many bytes without FCS. Never before that of
// the frame before.
uint64_t tl_replay_schedule_next(struct tl_replay_schedule *schedule, uint64_t ts_ns, uint32_t frame_bytes);

// Parses --speed: "0.5". Returns 0 or -EINVAL.
int tl_replay_parse_speed(const char *text, uint64_t *out_speed);

// Parses --rate: "1000pps", "2.5Mpps", "100Mbps", "40%" of line_bps (0: unknown). Returns 0, -EINVAL, or -ENODATA: a
// share of an unknown line rate.
int tl_replay_parse_rate(const char *text, uint64_t line_bps, struct tl_replay_pacing *out);
