// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// clock_track: converts readings of a device's counter (a NIC's PHC, or its free-running ticks) to wall time. The
// counter is compared with the TSC periodically, a line is fitted to the last comparisons, and tl_clock converts that
// to wall time. Stamps of two devices, or of one device and the TSC, are then comparable, each within its bound.
//
//   struct tl_clock_track *track;
//   tl_clock_track_create(&(struct tl_clock_track_cfg){.read = read_phc, .ctx = port, .bits = 64,
//           .hz = TL_NS_PER_S, .clock = clock}, &track);
//   about once a second:  tl_clock_discipline(clock); tl_clock_track_sample(track);
//   for each stamp:       ts_ns = tl_clock_track_ns(track, ticks);
//
// Threads: tl_clock_track_ns(), tl_clock_track_ticks(), tl_clock_track_load(), tl_clock_track_load_mono() and
//          tl_clock_stamps_ns() on any thread; the rest on the sampling thread, which also disciplines the clock.
// Memory:  create/destroy allocate and free; the hot calls read the track only.

#include <stdbool.h>
#include <stdint.h>

#include <tl_clock.h>

struct tl_clock_track_cfg {
	// Read the counter; 0 or -errno. Called many times per sample, between two readings of the TSC.
	int (*read)(void *ctx, uint64_t *ticks);
	void *ctx;
	const struct tl_clock *clock;	 // borrowed until destroy
	uint64_t (*read_tsc)(void *ctx); // NULL: the TSC; a test supplies its own time
	unsigned bits;	     // width of the counter, 16 to 64: higher bits of readings and stamps are ignored
	uint64_t hz;	     // nominal rate of the counter; 0: unknown, measured
	uint64_t outlier_ns; // deviation above which a comparison is set aside; 0: 20 us
};

// Time that a counter of nanoseconds shows by itself.
enum tl_clock_scale { TL_CLOCK_TICKS, TL_CLOCK_REALTIME, TL_CLOCK_TAI };
const char *tl_clock_scale_name(enum tl_clock_scale scale); // "ticks", "REALTIME", "TAI"

// Return TAI - UTC as set in the kernel; 0 if no PTP or NTP daemon has set it.
int tl_clock_tai_offset_s(void);

struct tl_clock_track_stats {
	uint64_t samples;      // comparisons in the fit of the line, in total
	uint64_t set_aside;    // comparisons rejected as outliers
	uint64_t failed_reads; // of the counter, reported by read()
	uint64_t steps;	       // jumps of the counter, or of its rate, after which the line was restarted
	uint64_t bound_ns;     // now
	double rate_hz;	       // against CLOCK_REALTIME
	enum tl_clock_scale scale;
	int64_t offset_ns; // counter minus the time of its scale
};

// Part used by hot readers; the rest is in state.
struct tl_clock_track {
	struct tl_clock_swap wall;
	struct tl_clock_swap mono; // to monotonic time: moves only with the counter, not with the wall clock
	uint64_t mask;		   // of the counter's width
	uint64_t past; // a stamp may be this many ticks before the line's base; the remaining width lies ahead of it
	struct tl_clock_track_state *state;
};

// Create a track; the first comparison takes some 120 ms, in which a counter of unknown rate must not wrap. Return 0,
// -EINVAL, -ENOMEM, -ENODEV (the counter does not advance, or not at its nominal rate), or the error of read().
int tl_clock_track_create(const struct tl_clock_track_cfg *cfg, struct tl_clock_track **out);
void tl_clock_track_destroy(struct tl_clock_track *track);

// Compare once more (the narrowest of several readings counts) and update the line: it continues without a jump and
// bends, by 500 ppm at most, so that its error is zero when the next comparison is due; an error over 1 ms is a step.
// Call about once a second, and always within three quarters of the counter's wrap time. Return 0 or the error of
// read(); the line is then unchanged and its bound grows.
int tl_clock_track_sample(struct tl_clock_track *track);

// Return the largest distance of tl_clock_track_ns() of a stamp taken now from CLOCK_REALTIME: half a bracket, the
// deviation of the comparisons from the line, the error not yet corrected, drift since the last comparison, and the
// clock's own bound. Drift grows with the square of the time: see tl_clock_bound_ns().
uint64_t tl_clock_track_bound_ns(const struct tl_clock_track *track);

// Return the result of the last tl_clock_track_sample(); number 0: none yet.
void tl_clock_track_reading(const struct tl_clock_track *track, struct tl_clock_reading *out);
void tl_clock_track_stats(const struct tl_clock_track *track, struct tl_clock_track_stats *out);

// Line with the width of its counter: loaded once per burst.
struct tl_clock_stamps {
	struct tl_clock_line line;
	uint64_t mask, past;
};

// HOT. Load the line to wall time.
static inline void tl_clock_track_load(const struct tl_clock_track *track, struct tl_clock_stamps *out)
{
	out->line = tl_clock_swap_load(&track->wall);
	out->mask = track->mask;
	out->past = track->past;
}

// HOT. Load the line to monotonic time: tl_clock_stamps_ns() then returns that.
static inline void tl_clock_track_load_mono(const struct tl_clock_track *track, struct tl_clock_stamps *out)
{
	out->line = tl_clock_swap_load(&track->mono);
	out->mask = track->mask;
	out->past = track->past;
}

// HOT. Convert a stamp to nanoseconds since 1970. A stamp of a counter that wraps may be a quarter of its period older
// than the line, and three quarters younger.
static inline uint64_t tl_clock_stamps_ns(const struct tl_clock_stamps *stamps, uint64_t ticks)
{
	uint64_t since = ((ticks - stamps->line.base_ticks + stamps->past) & stamps->mask) - stamps->past;

	return tl_clock_apply(&stamps->line, stamps->line.base_ticks + since);
}

// HOT. Same as tl_clock_stamps_ns(), for one stamp.
static inline uint64_t tl_clock_track_ns(const struct tl_clock_track *track, uint64_t ticks)
{
	struct tl_clock_stamps stamps;

	tl_clock_track_load(track, &stamps);
	return tl_clock_stamps_ns(&stamps, ticks);
}

// Return the counter's value at a time since 1970; *exact_ns is the exact time of that tick. Divides: not for hot code.
uint64_t tl_clock_track_ticks(const struct tl_clock_track *track, uint64_t ns, uint64_t *exact_ns);
