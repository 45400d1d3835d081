// SPDX-License-Identifier: BSD-3-Clause
// Comparison of the runs of two sides: quantiles, mean, share of answered triggers.

#include "compare_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BEYOND 10 // samples needed beyond a quantile

static const struct {
	const char *name;
	double share;
} wanted[TL_LATENCY_QUANTILES] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

// State of a comparison.
struct work {
	const struct tl_latency_side *a, *b;
	struct tl_latency_one *ones; // with one run per side: that of a, that of b; else NULL
	double *figures;	     // of each run of a, then of b
	double miss;		     // probability that one interval misses
};

static double mean_over(const struct tl_latency_side *side, tl_latency_figure *figure, double share)
{
	double sum = 0;

	for (size_t i = 0; i < side->n; i++)
		sum += figure(side->run[i], share) / (double)side->n;
	return sum;
}

static uint64_t fewest_of(const struct tl_latency_side *side)
{
	uint64_t fewest = UINT64_MAX;

	for (size_t i = 0; i < side->n; i++)
		fewest = tl_min_u64(fewest, side->run[i]->latency.count);
	return fewest;
}

// Return a stamp's error: at least a unit, and the bound if it is known.
static double error_of(const struct tl_latency_source *source)
{
	return (double)tl_max_u64(source->unit_ns, source->bound_ns);
}

// Return the error of a latency: at most that of both of its stamps.
static double stamp_error(const struct tl_latency *run)
{
	return error_of(&run->trigger) + error_of(&run->reply);
}

static double stamps_of(const struct tl_latency_side *side)
{
	double most = 0;

	for (size_t i = 0; i < side->n; i++)
		most = fmax(most, stamp_error(side->run[i]));
	return most;
}

static void compare_runs(const struct work *work, tl_latency_figure *figure, double share, struct tl_latency_row *row)
{
	size_t n_a = work->a->n, n_b = work->b->n;

	for (size_t i = 0; i < n_a + n_b; i++)
		work->figures[i] = figure(i < n_a ? work->a->run[i] : work->b->run[i - n_a], share);
	row->a_effective = (double)n_a;
	row->b_effective = (double)n_b;
	row->diff = tl_latency_between_runs(work->figures, n_a, work->figures + n_a, n_b, work->miss);
	row->verdict = TL_LATENCY_SAME;
}

bool tl_latency_has_interval(const struct tl_latency_row *row)
{
	return row->verdict != TL_LATENCY_TOO_FEW && row->verdict != TL_LATENCY_INCONCLUSIVE;
}

static void widen(struct tl_latency_row *row, double by_ns)
{
	if (!tl_latency_has_interval(row))
		return;
	row->diff.low_ns -= by_ns;
	row->diff.high_ns += by_ns;
}

static void compare_quantile(const struct work *work, size_t level, struct tl_latency_comparison *out)
{
	struct tl_latency_quantile *quantile = &out->quantiles[level];
	struct tl_latency_row *row = &quantile->row;

	if (work->ones == NULL)
		compare_runs(work, tl_latency_value_at, quantile->share, row);
	else if (out->ordered)
		tl_latency_one_quantile(&work->ones[0], &work->ones[1], level, quantile->share, work->miss, row);
	if (!tl_latency_has_interval(row))
		return;
	widen(row, out->stamps_ns);
	if (row->diff.low_ns > quantile->threshold_ns)
		row->verdict = TL_LATENCY_SLOWER;
	else if (row->diff.high_ns < -quantile->threshold_ns)
		row->verdict = TL_LATENCY_FASTER;
}

static void compare_means(const struct work *work, struct tl_latency_comparison *out)
{
	if (work->ones == NULL)
		compare_runs(work, tl_latency_mean, 0, &out->mean);
	else if (out->ordered)
		tl_latency_one_mean(&work->ones[0], &work->ones[1], work->miss, &out->mean);
	widen(&out->mean, out->stamps_ns);
}

// Compare the answered shares: fewer answers are as bad as longer latencies.
static void compare_answered(const struct work *work, struct tl_latency_row *row)
{
	if (work->ones == NULL)
		compare_runs(work, tl_latency_answered, 0, row);
	else
		tl_latency_one_answered(&work->ones[0], &work->ones[1], work->miss, row);
	if (!tl_latency_has_interval(row))
		return;
	if (row->diff.high_ns < 0)
		row->verdict = TL_LATENCY_SLOWER;
	else if (row->diff.low_ns > 0)
		row->verdict = TL_LATENCY_FASTER;
}

static enum tl_latency_verdict verdict_of(const struct tl_latency_comparison *comparison)
{
	size_t of[TL_LATENCY_VERDICTS] = {0};

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		of[comparison->quantiles[i].row.verdict]++;
	if (of[TL_LATENCY_TOO_FEW] == TL_LATENCY_QUANTILES)
		return TL_LATENCY_TOO_FEW;
	of[comparison->answered.verdict]++;
	if (of[TL_LATENCY_INCONCLUSIVE] != 0)
		return TL_LATENCY_INCONCLUSIVE;
	if (of[TL_LATENCY_SLOWER] != 0)
		return TL_LATENCY_SLOWER;
	return of[TL_LATENCY_FASTER] != 0 && comparison->counted ? TL_LATENCY_FASTER : TL_LATENCY_SAME;
}

static void count_side(const struct tl_latency_side *side, uint64_t *count, uint64_t *lost, bool *counted)
{
	for (size_t i = 0; i < side->n; i++) {
		*count += side->run[i]->latency.count;
		*lost += side->run[i]->unmatched_triggers;
		*counted &= !side->run[i]->uncounted && side->run[i]->matched >= side->run[i]->latency.count;
	}
}

static struct tl_latency_row row_of(const struct work *work, tl_latency_figure *figure, double share)
{
	return (struct tl_latency_row){.a = mean_over(work->a, figure, share),
		.b = mean_over(work->b, figure, share),
		.verdict = TL_LATENCY_TOO_FEW};
}

static bool is_ordered(const struct tl_latency_one *one)
{
	return one->blocks.n != 0 && one->blocks.dated;
}

// Fill everything that needs no interval.
static void begin(
	const struct work *work, const struct tl_latency_threshold *threshold, struct tl_latency_comparison *out)
{
	*out = (struct tl_latency_comparison){.a_runs = work->a->n, .b_runs = work->b->n, .counted = true};
	count_side(work->a, &out->a_count, &out->a_lost, &out->counted);
	count_side(work->b, &out->b_count, &out->b_lost, &out->counted);
	out->stamps_ns = stamps_of(work->a) + stamps_of(work->b);
	out->ordered = work->ones == NULL || (is_ordered(&work->ones[0]) && is_ordered(&work->ones[1]));
	out->mean = row_of(work, tl_latency_mean, 0);
	out->answered = row_of(work, tl_latency_answered, 0);
	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
		struct tl_latency_quantile *quantile = &out->quantiles[i];
		quantile->name = wanted[i].name;
		quantile->share = wanted[i].share;
		quantile->needed = (uint64_t)(BEYOND / (1 - quantile->share) + 0.5);
		quantile->row = row_of(work, tl_latency_value_at, quantile->share);
		quantile->threshold_ns = threshold->value;
		if (threshold->percent)
			quantile->threshold_ns *= isinf(quantile->row.a) ? 0 : quantile->row.a / 100;
	}
}

// The miss probability of each interval depends on their number, not on their values.
static void compare_all(struct work *work, double miss, struct tl_latency_comparison *out)
{
	uint64_t fewest = tl_min_u64(fewest_of(work->a), fewest_of(work->b));
	size_t enough = 0;

	while (enough < TL_LATENCY_QUANTILES && fewest >= out->quantiles[enough].needed)
		enough++; // they are in the order of samples needed
	out->confidence = 1 - miss;
	work->miss = miss / (double)(enough + out->counted);
	for (size_t i = 0; i < enough; i++)
		compare_quantile(work, i, out);
	if (enough != 0)
		compare_means(work, out);
	if (enough != 0 && out->counted && out->ordered)
		compare_answered(work, &out->answered);
	out->verdict = verdict_of(out);
}

static struct tl_hist *merge(const struct tl_latency_side *side)
{
	struct tl_hist *all = malloc(sizeof(*all));

	if (all == NULL)
		return NULL;
	tl_hist_init(all);
	for (size_t i = 0; i < side->n; i++)
		tl_hist_merge(all, &side->run[i]->latency);
	return all;
}

// Return the probability that a sample of B is larger. Lost ones are larger than all others, and equal among
// themselves.
static double chance_larger(const struct tl_hist *a, double lost_a, const struct tl_hist *b, double lost_b)
{
	double pairs = ((double)a->count + lost_a) * ((double)b->count + lost_b), below = 0, larger = 0;

	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		larger += (double)b->bucket[i] * (below + (double)a->bucket[i] / 2);
		below += (double)a->bucket[i];
	}
	larger += lost_b * (below + lost_a / 2);
	return pairs > 0 ? larger / pairs : 0.5;
}

static int compare_samples(const struct work *work, struct tl_latency_comparison *out)
{
	struct tl_hist *a = merge(work->a), *b = merge(work->b);
	int rc = a == NULL || b == NULL ? -ENOMEM : 0;

	if (rc == 0)
		out->b_larger = chance_larger(a, (double)out->a_lost, b, (double)out->b_lost);
	free(a);
	free(b);
	return rc;
}

int tl_latency_compare(const struct tl_latency_side *a, const struct tl_latency_side *b,
	const struct tl_latency_threshold *threshold, double miss, struct tl_latency_comparison *out)
{
	bool single = a->n == 1 && b->n == 1;
	struct work work = {.a = a, .b = b};

	if (!single && (a->n < 2 || b->n < 2))
		return -EINVAL;
	work.figures = calloc(a->n + b->n, sizeof(double));
	work.ones = single ? calloc(2, sizeof(*work.ones)) : NULL;
	int rc = work.figures == NULL || (single && work.ones == NULL) ? -ENOMEM : 0;
	for (size_t i = 0; i < 2 && rc == 0 && single; i++) {
		work.ones[i].run = i == 0 ? a->run[0] : b->run[0];
		tl_latency_get_blocks(work.ones[i].run, &work.ones[i].blocks);
	}
	if (rc == 0) {
		begin(&work, threshold, out);
		compare_all(&work, miss, out);
		rc = compare_samples(&work, out);
	}
	free(work.figures);
	free(work.ones);
	return rc;
}
