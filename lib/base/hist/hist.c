// SPDX-License-Identifier: BSD-3-Clause
// Snapshots, sums and percentiles of a log-linear histogram.

#include <tl_hist.h>

#include <string.h>

void tl_hist_init(struct tl_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	hist->min_ns = UINT64_MAX;
}

// Sum the buckets into count, so that percentiles are consistent with values recorded during the copy. overflow is read
// before, as a part of count. Buckets outside of the range of values are empty.
void tl_hist_copy(struct tl_hist *to, const struct tl_hist *from)
{
	uint64_t min_ns = tl_count_read(&from->min_ns), max_ns = tl_count_read(&from->max_ns);

	tl_hist_init(to);
	to->overflow = tl_count_read(&from->overflow);
	for (size_t i = tl_hist_index(min_ns); min_ns <= max_ns && i <= tl_hist_index(max_ns); i++) {
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
	to->overflow += from->overflow;
	to->min_ns = tl_min_u64(to->min_ns, from->min_ns);
	to->max_ns = tl_max_u64(to->max_ns, from->max_ns);
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

// Inverse of tl_hist_index(). The first value of the bucket after the last is TL_HIST_MAX_NS + 1.
uint64_t tl_hist_lower_ns(size_t index)
{
	return tl_hist_edge(index, TL_HIST_SUB_BITS);
}

uint64_t tl_hist_upper_ns(size_t index)
{
	return tl_hist_lower_ns(index + 1) - 1;
}

uint64_t tl_hist_at_rank(const struct tl_hist *hist, uint64_t rank)
{
	uint64_t seen = 0;

	if (hist->count == 0)
		return 0;
	if (rank > hist->count - hist->overflow)
		return hist->max_ns;
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen >= rank)
			return tl_min_u64(tl_max_u64(tl_hist_upper_ns(i), hist->min_ns), hist->max_ns);
	}
	return hist->max_ns;
}

uint64_t tl_hist_count_from(const struct tl_hist *hist, uint64_t value_ns)
{
	uint64_t n = 0;

	for (size_t i = tl_hist_index(value_ns); i < TL_HIST_BUCKETS; i++)
		n += hist->bucket[i];
	return n;
}

uint64_t tl_hist_permille(const struct tl_hist *hist, unsigned permille)
{
	return tl_hist_at_rank(hist, tl_hist_rank(hist->count, permille)); // 0 is before the first value: min
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
