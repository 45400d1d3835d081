// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// clock_track: turns readings of a device's counter (a NIC's PHC, or its free-running ticks) into wall time. The
// counter is compared with the TSC once in a while, a line is laid through the last comparisons, and tl_clock says what
// wall time that is. Stamps of two devices, or of one device and the TSC, can then be compared, each within its bound.
//
//   struct tl_clock_track *track;
//   tl_clock_track_create(&(struct tl_clock_track_cfg){.read = read_phc, .ctx = port, .bits = 64,
//           .hz = TL_NS_PER_S, .clock = clock}, &track);
//   about once a second:  tl_clock_discipline(clock); tl_clock_track_sample(track);
//   for each stamp:       ts_ns = tl_clock_track_ns(track, ticks);
//
// Threads: tl_clock_track_ns(), tl_clock_track_ticks(), tl_clock_track_load(), tl_clock_track_load_mono() and
//          tl_clock_stamps_ns() on any thread; the rest on the one that samples, which is the one that disciplines the
//          clock.
// Memory:  create/destroy allocate and free; the hot calls read the track only.

#include <stdbool.h>
#include <stdint.h>

#include <tl_clock.h>

struct tl_clock_track_cfg {
	// Reads the counter; 0 or -errno. Called many times per sample, between two readings of the TSC.
	int (*read)(void *ctx, uint64_t *ticks);
	void *ctx;
	const struct tl_clock *clock;	 // borrowed until destroy
	uint64_t (*read_tsc)(void *ctx); // NULL: the TSC; a test has a time of its own
	unsigned bits;	     // of the counter, 16 to 64: what is above them, in readings and in stamps, is ignored
	uint64_t hz;	     // the counter's nominal rate; 0: unknown, it is measured
	uint64_t outlier_ns; // a comparison that is off by more is set aside; 0: 20 us
};

// Which time a counter of nanoseconds shows by itself.
enum tl_clock_scale { TL_CLOCK_TICKS, TL_CLOCK_REALTIME, TL_CLOCK_TAI };
const char *tl_clock_scale_name(enum tl_clock_scale scale); // "ticks", "REALTIME", "TAI"

// TAI - UTC as the kernel knows it; 0 where nobody (a PTP or NTP daemon) has told it.
int tl_clock_tai_offset_s(void);

struct tl_clock_track_stats {
	uint64_t samples;      // comparisons that the line is laid through, or was
	uint64_t set_aside;    // comparisons that were off
	uint64_t failed_reads; // of the counter, by its own account
	uint64_t steps;	       // times the counter jumped, or changed its rate at once, and the line was begun anew
	uint64_t bound_ns;     // now
	double rate_hz;	       // against CLOCK_REALTIME
	enum tl_clock_scale scale;
	int64_t offset_ns; // counter minus the time of its scale
};

// What hot readers use; the rest is in state.
struct tl_clock_track {
	struct tl_clock_swap wall;
	struct tl_clock_swap mono; // to monotonic time: it moves only where the counter does, not with the wall clock
	uint64_t mask;		   // of the counter's width
	uint64_t past; // a stamp may be this many ticks before the line's base; the rest of the width is ahead of it
	struct tl_clock_track_state *state;
};

// Compares for some 120 ms, the first time: an unknown rate may not wrap in them. Returns 0, -EINVAL, -ENOMEM, -ENODEV
// (the counter does not advance, or not at its nominal rate), or what read() returned.
int tl_clock_track_create(const struct tl_clock_track_cfg *cfg, struct tl_clock_track **out);
void tl_clock_track_destroy(struct tl_clock_track *track);

// Compares once more (the narrowest of several readings counts) and lays the line anew: it goes on where it was and
// bends, by 500 ppm at most, so that its error is gone when the next comparison is due; an error over 1 ms is a step.
// About once a second, and always within three quarters of the time in which the counter wraps. Returns 0 or what
// read() returned; the line then goes on as it was and its bound grows.
int tl_clock_track_sample(struct tl_clock_track *track);

// How far tl_clock_track_ns() of a stamp taken now may be from CLOCK_REALTIME: half a bracket, what the comparisons
// deviate from the line, what is left to bend away, drift since the last one, and the clock's own bound. Drift grows
// with the square of the time: see tl_clock_bound_ns().
uint64_t tl_clock_track_bound_ns(const struct tl_clock_track *track);

// Result of the last tl_clock_track_sample(); number 0: there was none.
void tl_clock_track_reading(const struct tl_clock_track *track, struct tl_clock_reading *out);
void tl_clock_track_stats(const struct tl_clock_track *track, struct tl_clock_track_stats *out);

// A line with the width of its counter: taken once per burst.
struct tl_clock_stamps {
	struct tl_clock_line line;
	uint64_t mask, past;
};

// HOT.
static inline void tl_clock_track_load(const struct tl_clock_track *track, struct tl_clock_stamps *out)
{
	out->line = tl_clock_swap_load(&track->wall);
	out->mask = track->mask;
	out->past = track->past;
}

// HOT. The same for monotonic time: tl_clock_stamps_ns() then gives that.
static inline void tl_clock_track_load_mono(const struct tl_clock_track *track, struct tl_clock_stamps *out)
{
	out->line = tl_clock_swap_load(&track->mono);
	out->mask = track->mask;
	out->past = track->past;
}

// HOT. Nanoseconds since 1970. A stamp of a counter that wraps may be a quarter of its period older than the line, and
// three quarters younger.
static inline uint64_t tl_clock_stamps_ns(const struct tl_clock_stamps *stamps, uint64_t ticks)
{
	uint64_t since = ((ticks - stamps->line.base_ticks + stamps->past) & stamps->mask) - stamps->past;

	return tl_clock_apply(&stamps->line, stamps->line.base_ticks + since);
}

// HOT. The same for one stamp.
static inline uint64_t tl_clock_track_ns(const struct tl_clock_track *track, uint64_t ticks)
{
	struct tl_clock_stamps stamps;

	tl_clock_track_load(track, &stamps);
	return tl_clock_stamps_ns(&stamps, ticks);
}

// What the counter shows at a time, since 1970; *exact_ns is the time of that very tick. It divides: not for hot code.
uint64_t tl_clock_track_ticks(const struct tl_clock_track *track, uint64_t ns, uint64_t *exact_ns);
