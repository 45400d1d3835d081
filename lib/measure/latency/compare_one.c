// SPDX-License-Identifier: BSD-3-Clause
// Figures of a run, and their difference between two runs.

#include "compare_priv.h"

#include <math.h>

double tl_latency_value_at(const struct tl_latency *run, double share)
{
	double rank = ceil(share * ((double)run->latency.count + (double)run->unmatched_triggers) - 1e-9);

	return rank > (double)run->latency.count ? INFINITY
						 : (double)tl_hist_at_rank(&run->latency, (uint64_t)fmax(rank, 1));
}

double tl_latency_mean(const struct tl_latency *run, double share)
{
	return run->latency.count != 0 ? (double)run->latency.sum_ns / (double)run->latency.count : 0;
}

double tl_latency_answered(const struct tl_latency *run, double share)
{
	double all = (double)run->matched + (double)run->unmatched_triggers;

	return all > 0 ? (double)run->matched / all : 1;
}

// Variance of a single latency, from the histogram.
static double variance_of(const struct tl_latency *run)
{
	const struct tl_hist *hist = &run->latency;
	double mean = tl_latency_mean(run, 0), sum = 0;

	for (size_t i = 0; i < TL_HIST_BUCKETS; i++)
		if (hist->bucket[i] != 0)
			sum += pow((double)tl_hist_upper_ns(i) - mean, 2) * (double)hist->bucket[i];
	return hist->count > 1 ? sum / (double)(hist->count - 1) : 0;
}

// Return the interval of a quantile: the shares of samples between which it lies, looked up as latencies: Woodruff,
// "Confidence intervals for medians and other position measures", 1952.
static struct tl_latency_interval quantile_within(const struct tl_latency *run, double share, double off)
{
	return (struct tl_latency_interval){.diff_ns = tl_latency_value_at(run, share),
		.low_ns = tl_latency_value_at(run, share - off),
		.high_ns = tl_latency_value_at(run, share + off)};
}

// Return the variance of the quantile, in ns, approximately: the weight of one run against the other.
static double variance_near(const struct tl_latency *run, double share, double error)
{
	const struct tl_latency_interval within = quantile_within(run, share, error);

	return pow((within.high_ns - within.low_ns) / 2, 2);
}

// Return B - A with this error of the shares of samples.
static struct tl_latency_interval quantile_diff(
	const struct tl_latency *a, double off_a, const struct tl_latency *b, double off_b, double share)
{
	struct tl_latency_interval within_a = quantile_within(a, share, off_a);
	struct tl_latency_interval within_b = quantile_within(b, share, off_b);

	return tl_latency_minus(&within_b, &within_a);
}

static struct tl_latency_interval wider(struct tl_latency_interval one, struct tl_latency_interval other)
{
	return (struct tl_latency_interval){
		one.diff_ns, fmin(one.low_ns, other.low_ns), fmax(one.high_ns, other.high_ns)};
}

static void take_effective(
	const struct tl_latency_spread *a, const struct tl_latency_spread *b, struct tl_latency_row *row)
{
	row->a_effective = fmin(a->effective, a->kept);
	row->b_effective = fmin(b->effective, b->kept);
}

// A run with few bursts by chance has low quantiles and a small apparent error, as its bursts also determine its error.
// So each run is also evaluated with the pooled error per sample of both, and the wider limits hold.
void tl_latency_one_quantile(const struct tl_latency_one *a, const struct tl_latency_one *b, size_t level, double share,
	double miss, struct tl_latency_row *row)
{
	struct tl_latency_spread spread_a = tl_latency_spread(&a->blocks, level, 0);
	struct tl_latency_spread spread_b = tl_latency_spread(&b->blocks, level, 0);

	take_effective(&spread_a, &spread_b, row);
	row->verdict = TL_LATENCY_INCONCLUSIVE;
	if (!spread_a.settled || !spread_b.settled)
		return;
	double error_a = sqrt(share * (1 - share) / spread_a.effective);
	double error_b = sqrt(share * (1 - share) / spread_b.effective);
	double t = tl_latency_student(miss, tl_latency_welch(variance_near(a->run, share, error_a), spread_a.df,
						    variance_near(b->run, share, error_b), spread_b.df));
	double of_both = hypot(error_a * sqrt(spread_a.kept), error_b * sqrt(spread_b.kept)) / M_SQRT2;
	row->diff = wider(quantile_diff(a->run, t * error_a, b->run, t * error_b, share),
		quantile_diff(
			a->run, t * of_both / sqrt(spread_a.kept), b->run, t * of_both / sqrt(spread_b.kept), share));
	row->verdict = TL_LATENCY_SAME;
}

void tl_latency_one_mean(
	const struct tl_latency_one *a, const struct tl_latency_one *b, double miss, struct tl_latency_row *row)
{
	struct tl_latency_spread spread_a = tl_latency_spread(&a->blocks, TL_LATENCY_MEAN, variance_of(a->run));
	struct tl_latency_spread spread_b = tl_latency_spread(&b->blocks, TL_LATENCY_MEAN, variance_of(b->run));

	take_effective(&spread_a, &spread_b, row);
	row->verdict = TL_LATENCY_INCONCLUSIVE;
	if (!spread_a.settled || !spread_b.settled)
		return;
	double df = tl_latency_welch(spread_a.variance, spread_a.df, spread_b.variance, spread_b.df);
	double off = tl_latency_student(miss, df) * sqrt(spread_a.variance + spread_b.variance);
	row->diff = (struct tl_latency_interval){row->b - row->a, row->b - row->a - off, row->b - row->a + off};
	row->verdict = TL_LATENCY_SAME;
}

static double triggers_of(const struct tl_latency *run)
{
	return (double)run->matched + (double)run->unmatched_triggers;
}

// Variance of the share over that of independent triggers; at least 1.
static double clustering(const struct tl_latency_spread *spread)
{
	return fmax(1, spread->kept / spread->effective);
}

// Wilson, "Probable inference, the law of succession, and statistical inference", 1927; for the equivalent number of
// independent triggers.
static struct tl_latency_interval answered_within(const struct tl_latency *run, double effective, double t)
{
	double n = effective, share = tl_latency_answered(run, 0);
	double middle = (share + t * t / (2 * n)) / (1 + t * t / n);
	double off = t / (1 + t * t / n) * sqrt(share * (1 - share) / n + t * t / (4 * n * n));

	return (struct tl_latency_interval){share, middle - off, middle + off};
}

// A run without losses does not show their clustering: the other one does. So the larger clustering of both holds for
// both.
void tl_latency_one_answered(
	const struct tl_latency_one *a, const struct tl_latency_one *b, double miss, struct tl_latency_row *row)
{
	struct tl_latency_spread spread_a = tl_latency_spread(&a->blocks, TL_LATENCY_ANSWERED, 0);
	struct tl_latency_spread spread_b = tl_latency_spread(&b->blocks, TL_LATENCY_ANSWERED, 0);

	row->verdict = TL_LATENCY_INCONCLUSIVE;
	if (!spread_a.settled || !spread_b.settled)
		return;
	double together = fmax(clustering(&spread_a), clustering(&spread_b));
	double t = tl_latency_student(miss, together > 1 ? fmin(spread_a.df, spread_b.df) : 1e6);
	row->a_effective = triggers_of(a->run) / together;
	row->b_effective = triggers_of(b->run) / together;
	struct tl_latency_interval within_a = answered_within(a->run, row->a_effective, t);
	struct tl_latency_interval within_b = answered_within(b->run, row->b_effective, t);
	row->diff = tl_latency_minus(&within_b, &within_a);
	row->verdict = TL_LATENCY_SAME;
}
