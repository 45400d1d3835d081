// SPDX-License-Identifier: BSD-3-Clause
// Snapshots, sums and percentiles of a log-linear histogram.

#include <tl_hist.h>

#include <string.h>

void tl_hist_init(struct tl_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	hist->min_ns = UINT64_MAX;
}

// The buckets are read first and counted: whatever is recorded meanwhile, count is their sum, as percentiles need it.
void tl_hist_copy(struct tl_hist *to, const struct tl_hist *from)
{
	to->count = 0;
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		to->bucket[i] = tl_count_read(&from->bucket[i]);
		to->count += to->bucket[i];
	}
	to->sum_ns = tl_count_read(&from->sum_ns);
	to->min_ns = tl_count_read(&from->min_ns);
	to->max_ns = tl_count_read(&from->max_ns);
}

void tl_hist_merge(struct tl_hist *to, const struct tl_hist *from)
{
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	to->min_ns = tl_min_u64(to->min_ns, from->min_ns);
	to->max_ns = tl_max_u64(to->max_ns, from->max_ns);
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

// The largest value of a bucket: the inverse of tl_hist_index().
static uint64_t upper_edge(size_t index)
{
	if (index < (UINT64_C(2) << TL_HIST_SUB_BITS))
		return index;
	unsigned shift = (unsigned)(index >> TL_HIST_SUB_BITS) - 1;
	uint64_t leading = index - ((size_t)shift << TL_HIST_SUB_BITS);
	return ((leading + 1) << shift) - 1; // of the last bucket: 2^64 wraps to 0, less 1 is UINT64_MAX
}

uint64_t tl_hist_permille(const struct tl_hist *hist, unsigned permille)
{
	// ceil(count * permille / 1000) without overflow; 0 is the rank before the first value: min.
	uint64_t rank = hist->count / 1000 * permille + (hist->count % 1000 * permille + 999) / 1000;
	uint64_t seen = 0;

	if (hist->count == 0)
		return 0;
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen >= rank)
			return tl_min_u64(tl_max_u64(upper_edge(i), hist->min_ns), hist->max_ns);
	}
	return hist->max_ns;
}

void tl_hist_summarize(const struct tl_hist *hist, struct tl_hist_summary *out)
{
	*out = (struct tl_hist_summary){0};
	if (hist->count == 0)
		return;
	out->count = hist->count;
	out->min_ns = hist->min_ns;
	out->p50_ns = tl_hist_permille(hist, 500);
	out->p90_ns = tl_hist_permille(hist, 900);
	out->p99_ns = tl_hist_permille(hist, 990);
	out->p999_ns = tl_hist_permille(hist, 999);
	out->max_ns = hist->max_ns;
	out->mean_ns = (double)hist->sum_ns / (double)hist->count;
}
