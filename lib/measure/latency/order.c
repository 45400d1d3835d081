// SPDX-License-Identifier: BSD-3-Clause
// Samples in their order, in bounded memory, and their division into blocks.

#include "latency_priv.h"

#include <math.h>
#include <stdlib.h>

#include <tl_array.h>

static const double levels[TL_LATENCY_LEVELS] = {0.5, 0.9, 0.99, 0.999};

// Drop every second sample. Their number is even, so the next one to keep follows the last one at the new distance.
static void thin(struct tl_latency_order *order)
{
	order->n /= 2;
	order->stride *= 2;
	for (size_t i = 0; i < order->n; i++)
		order->bucket[i] = order->bucket[2 * i];
}

static int make_room(struct tl_latency_order *order)
{
	if (order->n == TL_LATENCY_ORDER_MAX)
		thin(order);
	return tl_array_reserve(&order->bucket, order->n, &order->room, sizeof(order->bucket[0]));
}

int tl_latency_order_add(struct tl_latency_order *order, uint64_t time_ns, uint64_t latency_ns)
{
	_Static_assert(TL_HIST_BUCKETS <= UINT16_MAX, "a bucket's number has 16 bits");

	order->first_ns = order->seen == 0 ? time_ns : tl_min_u64(order->first_ns, time_ns);
	order->last_ns = tl_max_u64(order->last_ns, time_ns);
	if (order->seen++ % order->stride != 0)
		return 0;
	int rc = make_room(order);
	if (rc == 0)
		order->bucket[order->n++] = (uint16_t)tl_hist_index(latency_ns);
	return rc;
}

// Return the bucket up to which the share of samples is nearest to the level; with few distinct values, not the bucket
// up to which all lie.
static unsigned bucket_of(const uint32_t *counts, size_t n, double level)
{
	double wanted = level * (double)n;
	uint64_t below = 0;
	unsigned last = 0;

	for (unsigned i = 0; i < TL_HIST_BUCKETS; i++) {
		uint64_t up_to = below + counts[i];
		if (counts[i] == 0)
			continue;
		if ((double)up_to >= wanted - 1e-9) {
			bool is_last = below != 0 && (up_to == n || wanted - (double)below < (double)up_to - wanted);
			return is_last ? last : i;
		}
		below = up_to;
		last = i;
	}
	return last;
}

static void fill_block(const uint16_t *bucket, size_t n, const unsigned *at_most, struct tl_latency_block *out)
{
	*out = (struct tl_latency_block){.n = n};
	for (size_t i = 0; i < n; i++) {
		out->sum_ns += tl_hist_upper_ns(bucket[i]);
		for (size_t level = 0; level < TL_LATENCY_LEVELS; level++)
			out->at_most[level] += bucket[i] <= at_most[level];
	}
}

// Fill the blocks. A loaded report has them already.
static void fill_blocks(const struct tl_latency *report, struct tl_latency_blocks *out)
{
	const struct tl_latency_order *order = &report->order;
	unsigned at_most[TL_LATENCY_LEVELS];
	uint32_t *counts = order->n != 0 ? calloc(TL_HIST_BUCKETS, sizeof(*counts)) : NULL;

	*out = report->blocks;
	if (counts == NULL)
		return;
	for (size_t i = 0; i < order->n; i++)
		counts[order->bucket[i]]++;
	for (size_t level = 0; level < TL_LATENCY_LEVELS; level++)
		at_most[level] = bucket_of(counts, order->n, levels[level]);
	free(counts);
	out->n = tl_min_u64(order->n, TL_LATENCY_BLOCKS);
	for (size_t i = 0; i < out->n; i++) {
		size_t first = order->n * i / out->n, end = order->n * (i + 1) / out->n;
		fill_block(order->bucket + first, end - first, at_most, &out->at[i]);
	}
	tl_latency_bins_put(&report->bins, out);
}

void tl_latency_get_blocks(const struct tl_latency *report, struct tl_latency_blocks *out)
{
	uint64_t kept = 0, lost = 0;

	fill_blocks(report, out);
	for (size_t i = 0; i < out->n; i++) {
		kept += out->at[i].n;
		lost += out->at[i].lost;
	}
	out->dated = lost == report->unmatched_triggers;
	out->weight = kept != 0 ? fmax(1, (double)report->order.seen / (double)kept) : 1;
}
