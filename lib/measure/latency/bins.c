// SPDX-License-Identifier: BSD-3-Clause
// Counts of samples and lost triggers over time, in bounded memory, so that losses can be assigned to blocks of
// samples.

#include "latency_priv.h"

// Merge each bin with its neighbour.
static void widen(struct tl_latency_bins *bins)
{
	for (size_t i = 0; i < TL_LATENCY_BINS / 2; i++) {
		bins->came[i] = bins->came[2 * i] + bins->came[2 * i + 1];
		bins->lost[i] = bins->lost[2 * i] + bins->lost[2 * i + 1];
	}
	for (size_t i = TL_LATENCY_BINS / 2; i < TL_LATENCY_BINS; i++)
		bins->came[i] = bins->lost[i] = 0;
	bins->width_ns *= 2;
}

// Return the bin of a time. Times before the first one belong to the first bin.
static size_t bin_of(struct tl_latency_bins *bins, uint64_t time_ns)
{
	if (bins->width_ns == 0) {
		bins->begin_ns = time_ns;
		bins->width_ns = 1;
	}
	uint64_t since_ns = time_ns - tl_min_u64(bins->begin_ns, time_ns);
	while (since_ns / bins->width_ns >= TL_LATENCY_BINS)
		widen(bins);
	return since_ns / bins->width_ns;
}

void tl_latency_bins_add(struct tl_latency_bins *bins, uint64_t time_ns)
{
	bins->came[bin_of(bins, time_ns)]++;
}

void tl_latency_date_lost(struct tl_latency *report, uint64_t time_ns)
{
	report->bins.lost[bin_of(&report->bins, time_ns)]++;
}

// Assign losses to blocks. Blocks have equally many samples: a bin's losses go to the block that has the sample in the
// middle of the bin.
void tl_latency_bins_put(const struct tl_latency_bins *bins, struct tl_latency_blocks *out)
{
	uint64_t all = 0, before = 0;

	for (size_t i = 0; i < TL_LATENCY_BINS; i++)
		all += bins->came[i];
	for (size_t i = 0; i < TL_LATENCY_BINS && out->n != 0; i++) {
		double middle = all != 0 ? ((double)before + (double)bins->came[i] / 2) / (double)all : 0;
		size_t block = tl_min_u64((uint64_t)(middle * (double)out->n), out->n - 1);
		out->at[block].lost += bins->lost[i];
		before += bins->came[i];
	}
}
