// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_schedule: due time of each frame of a replay, in nanoseconds after the first. Every due time is computed from
// the beginning of the run, never from the previous one: errors do not accumulate over loops, files or hours.
//
// Threads: one. Memory: the caller's. Pure arithmetic.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;

enum tl_replay_pace {
	TL_REPLAY_RECORDED, // at the recorded times, faster or slower
	TL_REPLAY_PPS,	    // constant rate in frames per second
	TL_REPLAY_BPS,	    // constant rate in bits per second on the wire
	TL_REPLAY_BURSTS,   // bursts of a number of frames
	TL_REPLAY_LINE,	    // as fast as the port accepts: every frame is due at once
};

#define TL_REPLAY_MILLION UINT64_C(1000000)
#define TL_REPLAY_SPEED_MIN (TL_REPLAY_MILLION / 100)
#define TL_REPLAY_SPEED_MAX (TL_REPLAY_MILLION * 100)
// Later due times saturate here. As much again is left for the time by which underruns shift them.
#define TL_REPLAY_DUE_MAX ((uint64_t)INT64_MAX / 2)
// Longest time by which a frame may be out of order. If it is earlier by more, the clock was set back, and later frames
// keep their distances from it; or it is stray, if a later one jumps ahead by more than half of that time, and the old
// distances continue.
#define TL_REPLAY_DISORDER_NS TL_NS_PER_S
// Bytes on the wire in addition to the frame's: preamble and SFD 8, FCS 4, gap 12 (IEEE 802.3, 4.4.2); the frame has at
// least 60.
#define TL_REPLAY_WIRE_BYTES 24u

#define TL_REPLAY_GAP_NS TL_NS_PER_US // between two readings of the clock by a waiting lcore: longer, it did not run

struct tl_replay_pacing {
	enum tl_replay_pace pace;
	uint64_t speed;	       // for RECORDED, in 10^-6: 1000000 is as recorded; TL_REPLAY_SPEED_MIN .. _MAX
	uint64_t rate;	       // for PPS and BPS, in 10^-6 frames or bits per second; not 0
	uint64_t burst_pkts;   // for BURSTS; not 0
	uint64_t burst_gap_ns; // for BURSTS: from the first frame of a burst to that of the next
	uint64_t max_gap_ns;   // for RECORDED: limit for gaps in the recorded times; UINT64_MAX: none
};

struct tl_replay_schedule {
	struct tl_replay_pacing pacing;
	bool begun;
	bool file_begins;	    // the next frame is the first of a file
	bool loop_begins;	    // and the first of a loop
	uint64_t first_ts_ns;	    // recorded time of the first frame
	uint64_t base_ts_ns;	    // recorded time that corresponds to base_pos_ns
	uint64_t base_pos_ns;	    // position in the run, in recorded time
	uint64_t top_ts_ns;	    // latest recorded time since then
	uint64_t last_pos_ns;	    // of the previous frame; monotonic
	uint64_t left_ts_ns;	    // top_ts_ns of the line before a jump back; 0: none
	uint64_t left_pos_ns;	    // position of the jump
	uint64_t frames, wire_bits; // sums so far
	// Counters of special cases among the scheduled frames; readable by other threads.
	uint64_t backward_pkts; // recorded before an earlier frame: due with their predecessor
	uint64_t rebased_files; // recorded before the end of the previous file: first frame due with its last
	uint64_t shortened_gaps;
};

void tl_replay_schedule_init(struct tl_replay_schedule *schedule, const struct tl_replay_pacing *pacing);

// Mark the next frame as the first of a file. With loop it is due together with the last frame of the previous loop,
// regardless of their recorded times.
void tl_replay_schedule_file(struct tl_replay_schedule *schedule, bool loop);

// Compute the due time of the next frame, recorded at ts_ns (since 1970), of frame_bytes without FCS. Never before that
// of the previous frame.
uint64_t tl_replay_schedule_next(struct tl_replay_schedule *schedule, uint64_t ts_ns, uint32_t frame_bytes);

// Compute the recorded time of the next frame without jumps of the clock, and without gaps above pacing.max_gap_ns:
// since 1970 as that of the first frame, at the recorded distance from the frame before, also if it is out of order.
// With TL_REPLAY_RECORDED, in place of the due time.
uint64_t tl_replay_schedule_time(struct tl_replay_schedule *schedule, uint64_t ts_ns);

// Parse --speed: "0.5". Return 0 or -EINVAL.
int tl_replay_parse_speed(const char *text, uint64_t *out_speed);

// Parse --rate: "1000pps", "2.5Mpps", "100Mbps", "40%" of line_bps (0: unknown). Return 0, -EINVAL, or -ENODATA: a
// share of an unknown line rate.
int tl_replay_parse_rate(const char *text, uint64_t line_bps, struct tl_replay_pacing *out);
