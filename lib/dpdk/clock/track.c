// SPDX-License-Identifier: BSD-3-Clause
// Line from a device's counter to wall time.

#include <tl_clock_track.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "clock_priv.h"

#define BRACKETS 16
#define CALIBRATE_SAMPLES 3
#define CALIBRATE_GAP_NS (60 * TL_NS_PER_MS)
#define OUTLIER_NS (20 * TL_NS_PER_US)
#define GATE_PPB 20000.0 // rate change that a servo may apply to a PHC from one sample to the next
#define CONFIRM 3
#define NOMINAL_PPB 1000000.0 // largest deviation of a counter from its nominal rate
#define SCALE_NS TL_NS_PER_S  // largest distance of a counter that shows a time from that time
#define TAI_NOW_S 37	      // since 2017: used if the kernel's TAI offset is not set

struct tl_clock_track_state {
	struct tl_clock_track_cfg cfg;
	struct tl_clock_fit fit; // from ticks, unwrapped, to monotonic time
	struct tl_clock_sample last;
	uint64_t last_raw, raw_tsc; // last reading of the counter, and its time
	uint64_t last_tsc;	    // time of the last reading or attempt
	uint64_t samples, set_aside, failed_reads, steps;
	// Time at which the line in use was fitted.
	uint64_t laid_tsc;
	int64_t error_ns;
	uint64_t over_ns;
	struct tl_clock_claim wall; // of the clock, at that time
	struct tl_clock_reading reading;
};

static uint64_t read_tsc(const struct tl_clock_track_state *s)
{
	return s->cfg.read_tsc != NULL ? s->cfg.read_tsc(s->cfg.ctx) : rte_rdtsc_precise();
}

// Read the counter several times and keep the narrowest bracket: an interrupt between the readings only widens one.
static int read_bracket(struct tl_clock_track_state *s, struct tl_clock_sample *out)
{
	uint64_t best_ticks = UINT64_MAX, tsc = 0, raw = 0;

	for (int i = 0; i < BRACKETS; i++) {
		uint64_t ticks, before = read_tsc(s);
		int rc = s->cfg.read(s->cfg.ctx, &ticks);
		uint64_t half_ticks = (read_tsc(s) - before) / 2;
		if (rc != 0) {
			s->failed_reads++;
			return rc;
		}
		if (half_ticks >= best_ticks)
			continue;
		best_ticks = half_ticks;
		tsc = before + half_ticks;
		raw = ticks;
	}
	s->last_raw = raw;
	s->raw_tsc = tsc;
	s->last_tsc = tsc;
	*out = (struct tl_clock_sample){.ticks = s->last_raw,
		.ns = tl_clock_mono_ns(s->cfg.clock, tsc),
		.half_ns = tl_clock_span_ns(s->cfg.clock, best_ticks)};
	return 0;
}

// Extend a reading to 64 bits: the counter is where the line predicts it, within half its period. A reading, and later
// a stamp, is that of up to one tick ago: half a tick on average, which cancels out.
static void unwrap(const struct tl_clock_track *track, struct tl_clock_sample *sample)
{
	const struct tl_clock_fit *fit = &track->state->fit;
	uint64_t expected = tl_clock_fit_ticks(fit, sample->ns);
	uint64_t half = track->mask / 2;

	sample->ticks = expected + ((sample->ticks - expected + half) & track->mask) - half;
	sample->half_ns += (uint64_t)ceil(fit->ns_per_tick);
}

static enum tl_clock_verdict add(struct tl_clock_track *track, const struct tl_clock_sample *sample)
{
	struct tl_clock_track_state *s = track->state;
	const struct tl_clock_gate gate = {.outlier_ns = s->cfg.outlier_ns, .drift_ppb = GATE_PPB, .confirm = CONFIRM};
	enum tl_clock_verdict verdict = tl_clock_fit_add(&s->fit, sample, &gate);

	s->last = *sample;
	s->samples += verdict != TL_CLOCK_SET_ASIDE;
	s->set_aside += verdict == TL_CLOCK_SET_ASIDE;
	s->steps += verdict == TL_CLOCK_STEPPED;
	return verdict;
}

// Combine the rates: from ticks to monotonic time by the fit, from there to wall time by the clock.
static uint64_t mult_of(const struct tl_clock_track_state *s, uint64_t wall_mult)
{
	return (uint64_t)((unsigned __int128)tl_clock_fit_mult(&s->fit) * wall_mult / s->cfg.clock->mono.mult);
}

static double rate_hz(const struct tl_clock_track_state *s)
{
	return ldexp(1e9, TL_CLOCK_SHIFT) / (double)mult_of(s, tl_clock_fit_mult(s->cfg.clock->fit));
}

static void lay_line(struct tl_clock_track *track, bool first)
{
	struct tl_clock_track_state *s = track->state;
	const struct tl_clock *clock = s->cfg.clock;
	struct tl_clock_line wall = tl_clock_swap_load(&clock->wall);
	uint64_t mono_ns = tl_clock_mono_ns(clock, s->last_tsc);
	uint64_t ticks = tl_clock_fit_ticks(&s->fit, mono_ns);
	uint64_t rounded_ns = tl_clock_fit_ns(&s->fit, ticks) - mono_ns;
	uint64_t truth_ns = tl_clock_apply(&wall, s->last_tsc) + rounded_ns;
	uint64_t mult = mult_of(s, wall.mult);
	struct tl_clock_line mono = {
		.base_ticks = ticks, .base_ns = mono_ns + rounded_ns, .mult = tl_clock_fit_mult(&s->fit)};
	struct tl_clock_line line = {.base_ticks = ticks, .base_ns = truth_ns, .mult = mult};

	s->error_ns = 0;
	s->over_ns = TL_CLOCK_BEND_NS;
	if (!first) {
		s->error_ns = (int64_t)(truth_ns - tl_clock_apply(&track->wall.line, ticks));
		s->over_ns = tl_max_u64(tl_clock_span_ns(clock, s->last_tsc - s->laid_tsc), TL_CLOCK_BEND_NS);
		line = tl_clock_bend(&track->wall.line, ticks, mult, s->error_ns, s->over_ns);
	}
	tl_clock_swap_store(&track->wall, line);
	tl_clock_swap_store(&track->mono, mono);
	s->laid_tsc = s->last_tsc;
	s->wall = tl_clock_claim(clock, s->last_tsc);
}

// Take the first samples, some 60 ms apart.
static int read_first(struct tl_clock_track_state *s, struct tl_clock_sample *samples)
{
	int rc = read_bracket(s, &samples[0]);

	for (int i = 1; i < CALIBRATE_SAMPLES && rc == 0; i++)
		do
			rc = read_bracket(s, &samples[i]);
		while (rc == 0 && samples[i].ns - samples[i - 1].ns < CALIBRATE_GAP_NS);
	return rc;
}

static int calibrate(struct tl_clock_track *track)
{
	struct tl_clock_track_state *s = track->state;
	struct tl_clock_sample samples[CALIBRATE_SAMPLES], *last = &samples[CALIBRATE_SAMPLES - 1];
	int rc = read_first(s, samples);

	if (rc != 0)
		return rc;
	double span_ns = (double)(last->ns - samples[0].ns);
	uint64_t ticks = (last->ticks - samples[0].ticks) & track->mask;
	if (ticks == 0)
		return -ENODEV;
	double rate = s->cfg.hz != 0 ? 1e9 / (double)s->cfg.hz : span_ns / (double)ticks;
	samples[0].half_ns += (uint64_t)ceil(rate);
	tl_clock_fit_begin(&s->fit, &samples[0], rate, TL_CLOCK_UNKNOWN_PPB);
	for (int i = 1; i < CALIBRATE_SAMPLES; i++) {
		unwrap(track, &samples[i]);
		add(track, &samples[i]);
	}
	double slack_ns = (double)(samples[0].half_ns + last->half_ns) + span_ns * NOMINAL_PPB / 1e9;
	if (fabs(span_ns - (double)(int64_t)(last->ticks - samples[0].ticks) * rate) > slack_ns)
		return -ENODEV;
	s->samples = CALIBRATE_SAMPLES;
	lay_line(track, true);
	return 0;
}

int tl_clock_track_create(const struct tl_clock_track_cfg *cfg, struct tl_clock_track **out)
{
	if (cfg->bits < 16 || cfg->bits > 64)
		return -EINVAL;
	struct tl_clock_track *track = calloc(1, sizeof(*track));
	if (track != NULL)
		track->state = calloc(1, sizeof(*track->state));
	if (track == NULL || track->state == NULL) {
		tl_clock_track_destroy(track);
		return -ENOMEM;
	}
	track->mask = UINT64_MAX >> (64 - cfg->bits);
	track->past = track->mask / 4 + 1;
	track->state->cfg = *cfg;
	if (cfg->outlier_ns == 0)
		track->state->cfg.outlier_ns = OUTLIER_NS;
	int rc = calibrate(track);
	if (rc != 0) {
		tl_clock_track_destroy(track);
		return rc;
	}
	*out = track;
	return 0;
}

void tl_clock_track_destroy(struct tl_clock_track *track)
{
	if (track != NULL)
		free(track->state);
	free(track);
}

// An outlier is measured again at once: a transient disturbance is over by then, and a step is confirmed.
int tl_clock_track_sample(struct tl_clock_track *track)
{
	struct tl_clock_track_state *s = track->state;
	uint64_t bound_ns = tl_clock_track_bound_ns(track), before_tsc = s->laid_tsc;
	enum tl_clock_verdict verdict = TL_CLOCK_SET_ASIDE;
	struct tl_clock_sample sample = {0};
	int rc = 0;

	for (int i = 0; i < CONFIRM && verdict == TL_CLOCK_SET_ASIDE; i++) {
		rc = read_bracket(s, &sample);
		if (rc != 0)
			break;
		unwrap(track, &sample);
		verdict = add(track, &sample);
	}
	if (rc != 0)
		s->last_tsc = read_tsc(s);
	lay_line(track, false); // the clock's own line may have changed
	s->reading = (struct tl_clock_reading){.number = s->reading.number + 1,
		.time_ns = track->wall.line.base_ns,
		.age_ns = tl_clock_span_ns(s->cfg.clock, s->laid_tsc - before_tsc),
		.offset_ns = s->error_ns,
		.half_ns = rc == 0 ? sample.half_ns : 0,
		.bound_ns = bound_ns,
		.rate_hz = rate_hz(s),
		.stepped =
			verdict == TL_CLOCK_STEPPED || (tl_clock_is_step(s->error_ns) && !s->cfg.clock->last.stepped),
		.set_aside = rc == 0 && verdict == TL_CLOCK_SET_ASIDE};
	return rc;
}

void tl_clock_track_reading(const struct tl_clock_track *track, struct tl_clock_reading *out)
{
	*out = track->state->reading;
}

uint64_t tl_clock_track_ticks(const struct tl_clock_track *track, uint64_t ns, uint64_t *exact_ns)
{
	struct tl_clock_stamps stamps;

	tl_clock_track_load(track, &stamps);
	__int128 scaled = (__int128)(int64_t)(ns - stamps.line.base_ns) * (INT64_C(1) << TL_CLOCK_SHIFT);
	uint64_t ticks = stamps.line.base_ticks + (uint64_t)(scaled / (int64_t)stamps.line.mult);
	*exact_ns = tl_clock_apply(&stamps.line, ticks);
	return ticks & stamps.mask;
}

static uint64_t now_tsc(const struct tl_clock_track *track)
{
	return read_tsc(track->state);
}

uint64_t tl_clock_track_bound_ns(const struct tl_clock_track *track)
{
	const struct tl_clock_track_state *s = track->state;
	uint64_t tsc = now_tsc(track);
	uint64_t age_ns = tl_clock_span_ns(s->cfg.clock, tsc - s->laid_tsc);
	double fit_ns = tl_clock_fit_bound_ns(&s->fit, tl_clock_mono_ns(s->cfg.clock, tsc));

	return (uint64_t)ceil(fit_ns) + tl_clock_claim_ns(&s->wall, age_ns) +
	       tl_clock_left_ns(s->error_ns, age_ns, s->over_ns);
}

int tl_clock_tai_offset_s(void)
{
	struct timespec utc, tai;

	// adjtimex() reports it, too, but a unit with ProtectClock= or without @clock may not call it, even to read.
	if (clock_gettime(CLOCK_REALTIME, &utc) != 0 || clock_gettime(CLOCK_TAI, &tai) != 0)
		return 0;
	int64_t between_ns = (tai.tv_sec - utc.tv_sec) * (int64_t)TL_NS_PER_S + tai.tv_nsec - utc.tv_nsec;
	return (int)((between_ns + (int64_t)TL_NS_PER_S / 2) / (int64_t)TL_NS_PER_S);
}

const char *tl_clock_scale_name(enum tl_clock_scale scale)
{
	static const char *const names[] = {
		[TL_CLOCK_TICKS] = "ticks", [TL_CLOCK_REALTIME] = "REALTIME", [TL_CLOCK_TAI] = "TAI"};

	return names[scale];
}

// Detect the time scale: a counter of nanoseconds that shows a time is near that time.
static void tell_scale(const struct tl_clock_track *track, struct tl_clock_track_stats *out)
{
	const struct tl_clock_track_state *s = track->state;
	uint64_t wall_ns = tl_clock_wall_ns(s->cfg.clock, s->raw_tsc);
	int tai_s = tl_clock_tai_offset_s();
	int64_t tai_ns = (tai_s != 0 ? tai_s : TAI_NOW_S) * (int64_t)TL_NS_PER_S;
	int64_t ahead_ns = (int64_t)(s->last_raw - wall_ns);

	if (s->cfg.bits != 64 || fabs(out->rate_hz - 1e9) > NOMINAL_PPB)
		return;
	if (llabs(ahead_ns) < (int64_t)SCALE_NS) {
		out->scale = TL_CLOCK_REALTIME;
		out->offset_ns = ahead_ns;
	} else if (llabs(ahead_ns - tai_ns) < (int64_t)SCALE_NS) {
		out->scale = TL_CLOCK_TAI;
		out->offset_ns = ahead_ns - tai_ns;
	}
}

void tl_clock_track_stats(const struct tl_clock_track *track, struct tl_clock_track_stats *out)
{
	const struct tl_clock_track_state *s = track->state;

	*out = (struct tl_clock_track_stats){.samples = s->samples,
		.set_aside = s->set_aside,
		.failed_reads = s->failed_reads,
		.steps = s->steps,
		.bound_ns = tl_clock_track_bound_ns(track),
		.rate_hz = rate_hz(s)};
	tell_scale(track, out);
}
