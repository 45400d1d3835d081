// SPDX-License-Identifier: BSD-3-Clause
// Sums and percentiles of a coarse histogram.

#include <tl_coarse.h>

#include <tl_hist.h>

uint64_t tl_coarse_add(struct tl_coarse *sum, const struct tl_coarse *from)
{
	uint64_t added = 0;

	for (size_t i = 0; i < TL_COARSE_BUCKETS; i++) {
		uint64_t n = tl_count_read(&from->bucket[i]);
		sum->bucket[i] += n;
		added += n;
	}
	return added;
}

uint64_t tl_coarse_permille(const struct tl_coarse *hist, uint64_t count, unsigned permille)
{
	uint64_t rank = tl_hist_rank(count, permille), seen = 0;
	size_t i = 0;

	if (count == 0)
		return 0;
	while (i < TL_COARSE_BUCKETS - 1 && (seen += hist->bucket[i]) < rank)
		i++;
	return tl_hist_edge(i + 1, TL_COARSE_SUB_BITS) - 1;
}
