// SPDX-License-Identifier: BSD-3-Clause
// Summary of a report and its quantiles: by nearest rank over the samples if all of them were kept, else by the
// histogram.

#include "latency_priv.h"

#include <math.h>
#include <stdlib.h>

#include "compare_priv.h"

#define MISS 0.05 // probability that an interval does not hold the quantile

const char *const tl_latency_level_keys[TL_LATENCY_LEVELS] = {"p50", "p90", "p99", "p999"};
static const unsigned permilles[TL_LATENCY_LEVELS] = {500, 900, 990, 999};

// Values in order: sorted_ns if it is not NULL, else those of the histogram.
struct ordered {
	uint64_t *sorted_ns;
	const struct tl_hist *hist;
};

static int by_value(const void *a_ns, const void *b_ns)
{
	uint64_t a = *(const uint64_t *)a_ns, b = *(const uint64_t *)b_ns;

	return (a > b) - (a < b);
}

// Return all samples, sorted, the caller's; NULL if some are missing, or out of memory.
static uint64_t *sort_samples(const struct tl_latency *report)
{
	size_t n = report->n_samples;
	uint64_t *sorted_ns;

	if (n == 0 || n != report->latency.count)
		return NULL;
	sorted_ns = reallocarray(NULL, n, sizeof(*sorted_ns));
	if (sorted_ns == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		sorted_ns[i] = report->samples[i].latency_ns;
	qsort(sorted_ns, n, sizeof(*sorted_ns), by_value);
	return sorted_ns;
}

static uint64_t at_rank(const struct ordered *values, uint64_t rank)
{
	return values->sorted_ns != NULL ? values->sorted_ns[rank - 1] : tl_hist_at_rank(values->hist, rank);
}

// Fill the levels. Triggers without a reply rank after all samples.
static void fill_levels(const struct ordered *values, uint64_t unanswered, const bool late[TL_LATENCY_LEVELS],
	struct tl_latency_level out[TL_LATENCY_LEVELS])
{
	uint64_t count = values->hist->count;

	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++) {
		uint64_t rank = tl_hist_rank(count, permilles[i]);
		uint64_t with_loss = tl_hist_rank(count + unanswered, permilles[i]);
		out[i] = (struct tl_latency_level){.samples = count,
			.ns = count != 0 ? at_rank(values, rank) : 0,
			.with_loss_ns = with_loss > count ? TL_LATENCY_NEVER
					: count != 0	  ? at_rank(values, with_loss)
							  : 0,
			.beyond = count - rank,
			.few = count != 0 && count - rank < TL_LATENCY_FEW,
			.late = late != NULL && late[i],
			.low_ns = TL_LATENCY_UNBOUNDED,
			.high_ns = TL_LATENCY_UNBOUNDED};
	}
}

static uint64_t at_share(const struct ordered *values, double share)
{
	double rank = ceil(share * (double)values->hist->count - 1e-9);

	return rank >= 1 && rank <= (double)values->hist->count ? at_rank(values, (uint64_t)rank)
								: TL_LATENCY_UNBOUNDED;
}

// Fill Woodruff's interval from the variation in the course of the run, as in compare_one.c.
static void fill_interval(const struct ordered *values, const struct tl_latency_spread *spread, double share,
	struct tl_latency_level *level)
{
	double off = tl_latency_student(MISS, spread->df) * sqrt(share * (1 - share) / spread->effective);

	level->effective = fmin(spread->effective, spread->kept);
	if (!spread->settled || level->few)
		return;
	level->low_ns = at_share(values, share - off);
	level->high_ns = at_share(values, share + off);
}

static void fill_intervals(const struct tl_latency *report, const struct ordered *values,
	struct tl_latency_level levels[TL_LATENCY_LEVELS])
{
	struct tl_latency_blocks blocks;

	tl_latency_get_blocks(report, &blocks);
	for (size_t i = 0; i < TL_LATENCY_LEVELS && blocks.n != 0; i++) {
		struct tl_latency_spread spread = tl_latency_spread(&blocks, i, 0);
		fill_interval(values, &spread, (double)permilles[i] / 1000, &levels[i]);
	}
}

void tl_latency_levels(const struct tl_latency *report, struct tl_latency_level out[TL_LATENCY_LEVELS])
{
	const struct ordered values = {.sorted_ns = sort_samples(report), .hist = &report->latency};

	fill_levels(&values, report->unmatched_triggers, report->late, out);
	fill_intervals(report, &values, out);
	free(values.sorted_ns);
}

void tl_latency_levels_of(const struct tl_hist *hist, uint64_t unanswered, const bool late[TL_LATENCY_LEVELS],
	struct tl_latency_level out[TL_LATENCY_LEVELS])
{
	fill_levels(&(struct ordered){.hist = hist}, unanswered, late, out);
}

const char *tl_latency_few_from(uint64_t samples)
{
	static const char *const names[TL_LATENCY_LEVELS] = {"p50", "p90", "p99", "p99.9"};

	for (size_t i = 0; i < TL_LATENCY_LEVELS && samples != 0; i++)
		if (samples - tl_hist_rank(samples, permilles[i]) < TL_LATENCY_FEW)
			return names[i];
	return NULL;
}

bool tl_latency_summarize(const struct tl_latency *report, struct tl_hist_summary *out)
{
	const struct ordered values = {.sorted_ns = sort_samples(report), .hist = &report->latency};
	struct tl_latency_level levels[TL_LATENCY_LEVELS];

	tl_hist_summarize(&report->latency, out);
	if (values.sorted_ns == NULL)
		return report->latency.count == 0;
	fill_levels(&values, 0, NULL, levels);
	out->p50_ns = levels[0].ns;
	out->p90_ns = levels[1].ns;
	out->p99_ns = levels[2].ns;
	out->p999_ns = levels[3].ns;
	free(values.sorted_ns);
	return true;
}
