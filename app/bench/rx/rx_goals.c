// SPDX-License-Identifier: BSD-3-Clause
// Goals of the ladder: ratios of two rungs with frames of one size, as measured.

#include <math.h>

#include "rx_priv.h"

#define TAPLINE "tapline"

static bool ran(const struct tl_bench_rx_row *row)
{
	return row->refused[0] == '\0' && row->cpu_ns > 0 && row->received_pps > 0;
}

static const struct tl_bench_rx_row *find(
	const struct tl_bench_rx_result *result, uint32_t size_bytes, const char *name)
{
	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_bench_rx_row *row = &result->rows[i];
		if (row->size_bytes == size_bytes && strcmp(row->rung->name, name) == 0)
			return ran(row) ? row : NULL;
	}
	return NULL;
}

// Check for a rung that gets its frames from the kernel, but for Tapline.
static bool is_kernels(const struct tl_ladder_rung *rung)
{
	return !rung->own_source && !rung->nic && strcmp(rung->name, TAPLINE) != 0;
}

// Return the kernel's rung with the least cost or, by_rate, with the highest rate; NULL: none was measured.
static const struct tl_bench_rx_row *best_of_kernel(
	const struct tl_bench_rx_result *result, uint32_t size_bytes, bool by_rate)
{
	const struct tl_bench_rx_row *best = NULL;

	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_bench_rx_row *row = &result->rows[i];
		if (row->size_bytes != size_bytes || !ran(row) || !is_kernels(row->rung))
			continue;
		if (best == NULL || (by_rate ? row->received_pps > best->received_pps : row->cpu_ns < best->cpu_ns))
			best = row;
	}
	return best;
}

// Compare two rows, unless one was not measured. Return the number of goals added.
static unsigned add(struct tl_bench_rx_goal *out, const struct tl_bench_rx_row *row, const struct tl_bench_rx_row *than,
	bool by_rate, double at_least, double at_most)
{
	if (row == NULL || than == NULL)
		return 0;
	double ratio = by_rate ? row->received_pps / than->received_pps : row->cpu_ns / than->cpu_ns;
	*out = (struct tl_bench_rx_goal){.rung = row->rung->name,
		.than = than->rung->name,
		.size_bytes = row->size_bytes,
		.by_rate = by_rate,
		.ratio = ratio,
		.at_least = at_least,
		.at_most = at_most,
		.met = ratio >= at_least && ratio <= at_most,
		.noisy = row->noisy || than->noisy,
		.sender_bound = by_rate && than->sender_bound};
	return 1;
}

unsigned tl_bench_rx_goals(
	const struct tl_bench_rx_result *result, struct tl_bench_rx_goal out[TL_BENCH_RX_GOALS * TL_BENCH_SIZES_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < result->n_rows; i++) {
		uint32_t size = result->rows[i].size_bytes;
		bool again = false;
		for (unsigned j = 0; j < i; j++)
			again |= result->rows[j].size_bytes == size;
		if (again)
			continue;
		n += add(&out[n], find(result, size, "ring-v3-hash"), find(result, size, "recv"), false, 0, 1.0 / 3);
		n += add(&out[n], find(result, size, "dpdk-memory"), best_of_kernel(result, size, true), true, 5,
			INFINITY);
		n += add(&out[n], find(result, size, TAPLINE), best_of_kernel(result, size, false), false, 0, 1);
	}
	return n;
}
