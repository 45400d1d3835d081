// SPDX-License-Identifier: BSD-3-Clause
// Distribution with figures for the precision of its mean and median.

#include "session_priv.h"

#include <math.h>

#define Z95 1.96 // of the normal distribution: 95 % lie within this many standard deviations

void tl_client_quantity_init(struct tl_client_quantity *quantity)
{
	*quantity = (struct tl_client_quantity){0};
	tl_hist_init(&quantity->hist);
}

void tl_client_quantity_add(struct tl_client_quantity *quantity, uint64_t value_ns)
{
	tl_hist_record(&quantity->hist, value_ns);
	double off = (double)value_ns - quantity->mean_ns;
	quantity->mean_ns += off / (double)quantity->hist.count;
	quantity->square_sum += off * ((double)value_ns - quantity->mean_ns);
}

// Return half the interval of the median. It lies between two order statistics whose ranks follow the binomial
// distribution, for any distribution of the values; as per mille they are rounded outwards.
static uint64_t median_ci95_ns(const struct tl_hist *hist)
{
	double off = Z95 / 2 / sqrt((double)hist->count) * 1000;
	unsigned permille = off >= 499 ? 500 : (unsigned)off + 1;
	uint64_t p50_ns = tl_hist_permille(hist, 500);

	return tl_max_u64(
		p50_ns - tl_hist_permille(hist, 500 - permille), tl_hist_permille(hist, 500 + permille) - p50_ns);
}

struct tl_client_spread tl_client_quantity_spread(const struct tl_client_quantity *quantity)
{
	double n = (double)quantity->hist.count;

	if (n < 2)
		return (struct tl_client_spread){0};
	return (struct tl_client_spread){
		.p50_ns = median_ci95_ns(&quantity->hist),
		.mean_ns = Z95 * sqrt(quantity->square_sum / (n - 1) / n),
	};
}

static uint64_t delayed(const struct tl_hist *late, const struct tl_hist *gap, uint64_t by_ns)
{
	return tl_hist_count_from(late, by_ns) + (gap != NULL ? tl_hist_count_from(gap, by_ns) : 0);
}

void tl_client_levels(const struct tl_hist *times, uint64_t lost, const struct tl_hist *late, const struct tl_hist *gap,
	struct tl_latency_level out[TL_LATENCY_LEVELS])
{
	tl_latency_levels_of(times, lost, NULL, out);
	for (size_t i = 0; i < TL_LATENCY_LEVELS && times->count != 0; i++)
		out[i].late = 2 * delayed(late, gap, tl_max_u64(out[i].ns / 4, 1)) >= tl_max_u64(out[i].beyond, 1);
}
