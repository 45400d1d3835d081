// SPDX-License-Identifier: BSD-3-Clause
// Line through the last comparisons of a counter with a clock, and its error bound.

#include "clock_priv.h"

#include <math.h>
#include <string.h>

#define GAP_NS 50e6	  // the distance of closer samples does not determine a rate
#define READING_NS 50.0	  // lower limit of a bracket
#define STEADY_PPB 1000.0 // assumed rate change of an oscillator from one second to the next
#define MARGIN 2	  // ratio of the assumed rate change to the average one observed
#define GIVE_UP 8	  // consecutive samples set aside before a restart, even if no two agree
#define TRUSTED 3	  // samples from which the rate is trusted

static const struct tl_clock_sample *newest(const struct tl_clock_fit *fit)
{
	return &fit->samples[fit->n - 1];
}

static double between(uint64_t from, uint64_t to)
{
	return (double)(int64_t)(to - from);
}

void tl_clock_fit_begin(
	struct tl_clock_fit *fit, const struct tl_clock_sample *sample, double ns_per_tick, double rate_ppb)
{
	*fit = (struct tl_clock_fit){.samples = {*sample},
		.n = 1,
		.ns_per_tick = ns_per_tick,
		.reach = {.spread_ns = (double)sample->half_ns, .rate_ppb = rate_ppb, .wander_ppb = STEADY_PPB}};
}

// The rate may change by wander_ppb at once, and by the same again in each second after that.
double tl_clock_reach_ns(const struct tl_clock_reach *reach, double age_ns)
{
	double s = age_ns / 1e9;

	return reach->spread_ns + (reach->rate_ppb + reach->wander_ppb) * s + reach->wander_ppb * s * s / 2;
}

// Evaluate the line at these ticks, after the newest sample.
static double since_ns(const struct tl_clock_fit *fit, uint64_t ticks)
{
	return between(newest(fit)->ticks, ticks) * fit->ns_per_tick + fit->offset_ns;
}

uint64_t tl_clock_fit_ns(const struct tl_clock_fit *fit, uint64_t ticks)
{
	return newest(fit)->ns + (uint64_t)llrint(since_ns(fit, ticks));
}

uint64_t tl_clock_fit_mult(const struct tl_clock_fit *fit)
{
	return (uint64_t)llrint(ldexp(fit->ns_per_tick, TL_CLOCK_SHIFT));
}

uint64_t tl_clock_fit_ticks(const struct tl_clock_fit *fit, uint64_t ns)
{
	double ahead_ns = between(newest(fit)->ns, ns) - fit->offset_ns;

	return newest(fit)->ticks + (uint64_t)llrint(ahead_ns / fit->ns_per_tick);
}

double tl_clock_fit_age_ns(const struct tl_clock_fit *fit, uint64_t ns)
{
	return fmax(between(newest(fit)->ns, ns), 0);
}

double tl_clock_fit_bound_ns(const struct tl_clock_fit *fit, uint64_t ns)
{
	return tl_clock_reach_ns(&fit->reach, tl_clock_fit_age_ns(fit, ns)) +
	       (fit->aside != 0 ? fabs(fit->aside_ns) : 0);
}

// Return the distance of a sample from the line through the earlier ones.
static double deviation_ns(const struct tl_clock_fit *fit, const struct tl_clock_sample *sample)
{
	return between(newest(fit)->ns, sample->ns) - since_ns(fit, sample->ticks);
}

static bool is_outlier(
	const struct tl_clock_fit *fit, const struct tl_clock_sample *sample, const struct tl_clock_gate *gate)
{
	double age_ns = between(newest(fit)->ns, sample->ns);
	double ppb = fit->n < TRUSTED ? fmax(gate->drift_ppb, 2 * fit->reach.rate_ppb) : gate->drift_ppb;

	return fabs(deviation_ns(fit, sample)) > (double)(gate->outlier_ns + sample->half_ns) + age_ns * ppb / 1e9;
}

// True if one clock can have given both: they may deviate, but equally.
static bool agree(const struct tl_clock_fit *fit, const struct tl_clock_sample *a, const struct tl_clock_sample *b,
	uint64_t outlier_ns)
{
	double span_ns = between(a->ns, b->ns);
	double apart_ns = span_ns - between(a->ticks, b->ticks) * fit->ns_per_tick;

	return fabs(apart_ns) <= (double)(outlier_ns + a->half_ns + b->half_ns) + span_ns * TL_CLOCK_UNKNOWN_PPB / 1e9;
}

// True if this sample makes a step.
static bool set_aside(struct tl_clock_fit *fit, const struct tl_clock_sample *sample, const struct tl_clock_gate *gate)
{
	bool agrees = fit->aside != 0 && agree(fit, &fit->last_aside, sample, gate->outlier_ns);

	fit->agreeing = agrees ? fit->agreeing + 1 : 1;
	fit->aside++;
	fit->aside_ns = deviation_ns(fit, sample);
	fit->last_aside = *sample;
	return fit->agreeing >= gate->confirm || fit->aside >= GIVE_UP;
}

static void append(struct tl_clock_fit *fit, const struct tl_clock_sample *sample)
{
	if (between(newest(fit)->ns, sample->ns) < GAP_NS)
		return;
	if (fit->n == TL_CLOCK_WINDOW)
		memmove(&fit->samples[0], &fit->samples[1], --fit->n * sizeof(fit->samples[0]));
	fit->samples[fit->n++] = *sample;
}

// Weighted least squares, relative to the newest sample and the rate so far, so that the numbers stay small.
struct sums {
	double weight, x, y, xx, xy;
};

static void relate(const struct tl_clock_fit *fit, uint32_t i, double *x, double *y)
{
	*x = between(newest(fit)->ticks, fit->samples[i].ticks);
	*y = between(newest(fit)->ns, fit->samples[i].ns) - *x * fit->ns_per_tick;
}

static struct sums sum_up(const struct tl_clock_fit *fit)
{
	struct sums sums = {0};
	double mean_x = 0, mean_y = 0, x, y;

	for (uint32_t i = 0; i < fit->n; i++) {
		double sigma = (double)fit->samples[i].half_ns + READING_NS, weight = 1 / (sigma * sigma);
		relate(fit, i, &x, &y);
		sums.weight += weight;
		// Weighted means and sums about them, updated sample by sample.
		double dx = x - mean_x, dy = y - mean_y;
		mean_x += dx * weight / sums.weight;
		mean_y += dy * weight / sums.weight;
		sums.xx += weight * dx * (x - mean_x);
		sums.xy += weight * dx * (y - mean_y);
	}
	sums.x = mean_x;
	sums.y = mean_y;
	return sums;
}

// Position of a sample relative to the line.
struct residual {
	double age_s; // before the newest sample
	double off_ns;
	double half_ns; // largest error of the offset
};

// Return the rate between two samples, minus the line's, and its largest error: ppb.
static double rate_between(const struct residual *a, const struct residual *b, double *slack_ppb)
{
	double s = a->age_s - b->age_s;

	*slack_ppb = (a->half_ns + b->half_ns) / s;
	return (b->off_ns - a->off_ns) / s;
}

// Return the change of rate from one second to the next that no bracket explains.
static double seen_wander(const struct residual *r, uint32_t n)
{
	double wander_ppb = 0, slack_ppb[2];

	for (uint32_t i = 2; i < n; i++) {
		double before_ppb = rate_between(&r[i - 2], &r[i - 1], &slack_ppb[0]);
		double change_ppb = fabs(rate_between(&r[i - 1], &r[i], &slack_ppb[1]) - before_ppb);
		double apart_s = fmax((r[i - 2].age_s - r[i].age_s) / 2, 1);
		wander_ppb = fmax(wander_ppb, (change_ppb - slack_ppb[0] - slack_ppb[1]) / apart_s);
	}
	return wander_ppb;
}

// Return the largest deviation of the rate at the newest sample from the line's. The mean rate between two samples is
// known except for their brackets, and the rate has changed since the middle between them; the pair with the smallest
// bound counts.
static double rate_bound(const struct residual *r, uint32_t n, double wander_ppb)
{
	double least_ppb = INFINITY, slack_ppb;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++) {
			double off_ppb = fabs(rate_between(&r[i], &r[k], &slack_ppb));
			double middle_s = (r[i].age_s + r[k].age_s) / 2;
			least_ppb = fmin(least_ppb, off_ppb + slack_ppb + wander_ppb * middle_s);
		}
	return least_ppb;
}

// Set the error bound of the line: at each sample half its bracket plus its deviation, later also drift; the sample
// with the largest bound counts.
static void judge(struct tl_clock_fit *fit)
{
	struct residual r[TL_CLOCK_WINDOW];
	double x, y, spread_ns = INFINITY;

	for (uint32_t i = 0; i < fit->n; i++) {
		relate(fit, i, &x, &y);
		r[i] = (struct residual){.age_s = between(fit->samples[i].ns, newest(fit)->ns) / 1e9,
			.off_ns = y - fit->offset_ns,
			.half_ns = (double)fit->samples[i].half_ns};
	}
	fit->reach.wander_ppb = fmax(STEADY_PPB, MARGIN * seen_wander(r, fit->n));
	fit->reach.rate_ppb = rate_bound(r, fit->n, fit->reach.wander_ppb);
	for (uint32_t i = 0; i < fit->n; i++) {
		struct tl_clock_reach from_here = fit->reach;
		from_here.spread_ns = r[i].half_ns + fabs(r[i].off_ns);
		spread_ns = fmin(spread_ns, tl_clock_reach_ns(&from_here, r[i].age_s * 1e9));
	}
	fit->reach.spread_ns = spread_ns;
}

static void solve(struct tl_clock_fit *fit)
{
	struct sums sums = sum_up(fit);
	double change = sums.xy / sums.xx;
	double change_ppb = fabs(change) / fit->ns_per_tick * 1e9;

	fit->ns_per_tick += change;
	fit->offset_ns = sums.y - change * sums.x;
	if (fit->n < TRUSTED) { // only the next sample shows whether the rate changed or this one is an outlier
		double span_ns = between(fit->samples[0].ns, newest(fit)->ns);
		fit->reach.rate_ppb = fmax(TL_CLOCK_UNKNOWN_PPB, 2 * change_ppb);
		fit->reach.spread_ns = (double)newest(fit)->half_ns + span_ns * change_ppb / 1e9;
		return;
	}
	judge(fit);
}

enum tl_clock_verdict tl_clock_fit_add(
	struct tl_clock_fit *fit, const struct tl_clock_sample *sample, const struct tl_clock_gate *gate)
{
	if (is_outlier(fit, sample, gate)) {
		if (!set_aside(fit, sample, gate))
			return TL_CLOCK_SET_ASIDE;
		tl_clock_fit_begin(fit, sample, fit->ns_per_tick, TL_CLOCK_UNKNOWN_PPB);
		return TL_CLOCK_STEPPED;
	}
	fit->aside = 0;
	append(fit, sample);
	if (fit->n > 1)
		solve(fit);
	return TL_CLOCK_KEPT;
}
