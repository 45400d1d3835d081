// SPDX-License-Identifier: BSD-3-Clause
// Figures of a run at the highest rate: cost per frame, its parts, and the losses by counter.

#include <stdlib.h>

#include "rx_priv.h"

uint64_t rx_run_lost(const struct rx_run *run)
{
	return run->sent.pkts > run->pkts ? run->sent.pkts - run->pkts : 0;
}

uint64_t rx_interface_losses(const struct tl_ladder_rung *rung, uint64_t interface_pkts, uint64_t rung_pkts)
{
	if (rung->own_source)
		return 0;
	return interface_pkts - (rung->takes ? tl_min_u64(interface_pkts, rung_pkts) : 0);
}

static bool is_late(const struct rx_run *run)
{
	return run->late_ns > RX_BATCH_NS;
}

bool rx_run_kept_up(const struct rx_run *run)
{
	return rx_run_lost(run) == 0 && !is_late(run);
}

static double pps_of(const struct rx_run *run)
{
	uint64_t ns = run->elapsed_ns + (is_late(run) ? run->late_ns : 0);

	return (double)run->pkts * (double)TL_NS_PER_S / (double)ns;
}

static double per_packet(const struct rx_run *run, uint64_t value)
{
	return run->pkts == 0 ? TL_BENCH_RX_UNKNOWN : (double)value / (double)run->pkts;
}

static double event_per_packet(const struct rx_run *run, int64_t was, int64_t is)
{
	return was < 0 || is < 0 ? TL_BENCH_RX_UNKNOWN : per_packet(run, (uint64_t)(is - was));
}

static double cost(const struct tl_ladder_rung *rung, const struct rx_run *run)
{
	const struct rx_snapshot *was = &run->was, *is = &run->is;

	uint64_t cpu_ns = is->cpu_ns - was->cpu_ns;

	if (rung->polls) { // of the threads that poll, the part in polls with frames: by the wall clock, which also
			   // runs while others do
		uint64_t polling_ns = tl_min_u64(is->polling_ns - was->polling_ns, cpu_ns);
		double busy = (double)(is->busy_ns - was->busy_ns) / (double)tl_max_u64(is->at_ns - was->at_ns, 1);
		cpu_ns -= (uint64_t)((double)polling_ns * (1 - (busy < 1 ? busy : 1)));
	}
	return per_packet(run, cpu_ns);
}

// Attribute the losses: frames that did not leave, the rung's own counter, the interface's, and a rest that none has.
// If nothing was sent, the losses are those that a counter has.
static void fill_losses(const struct rx_run *run, struct tl_bench_rx_row *row)
{
	uint64_t drops = run->is.drops - run->was.drops;

	row->lost_pkts = run->sent.pkts > 0 ? rx_run_lost(run) : drops + run->lost_interface_pkts;
	uint64_t left = row->lost_pkts;
	left -= row->lost_sender_pkts = tl_min_u64(run->sent.unsent_pkts, left);
	left -= row->lost_rung_pkts = tl_min_u64(drops, left);
	left -= row->lost_interface_pkts = tl_min_u64(run->lost_interface_pkts, left);
	row->lost_elsewhere_pkts = left;
}

// Split the CPU time as its ticks are split. A run may be shorter than a tick: then the parts are not known.
static void fill_parts(const struct rx_run *run, struct tl_bench_rx_row *row)
{
	uint64_t user_ns = run->is.user_ns - tl_min_u64(run->was.user_ns, run->is.user_ns);
	uint64_t system_ns = run->is.system_ns - tl_min_u64(run->was.system_ns, run->is.system_ns);
	double all_ns = per_packet(run, run->is.cpu_ns - run->was.cpu_ns), both = (double)(user_ns + system_ns);

	row->user_ns = row->system_ns = TL_BENCH_RX_UNKNOWN;
	if (all_ns >= 0 && both > 0) {
		row->user_ns = all_ns * (double)user_ns / both;
		row->system_ns = all_ns * (double)system_ns / both;
	}
}

static void fill_run(const struct rx_run *run, struct tl_bench_rx_row *row)
{
	row->offered_pps = run->pps;
	row->received_pps = pps_of(run);
	row->cpu_ns = cost(row->rung, run);
	fill_parts(run, row);
	row->softirq_ns = per_packet(run, run->softirq_ns);
	row->tick_ns = per_packet(run, run->tick_ns);
	row->sender_ns = run->sent.pkts == 0 ? TL_BENCH_RX_UNKNOWN : (double)run->sent.cpu_ns / (double)run->sent.pkts;
	row->instructions = event_per_packet(run, run->was.instructions, run->is.instructions);
	row->cycles = event_per_packet(run, run->was.cycles, run->is.cycles);
	row->wakeups_per_s = run->is.wakeups < 0 ? TL_BENCH_RX_UNKNOWN
						 : (double)(run->is.wakeups - run->was.wakeups) * (double)TL_NS_PER_S /
							   (double)tl_max_u64(run->is.at_ns - run->was.at_ns, 1);
	fill_losses(run, row);
}

// ---- several runs

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double spread_of(double values[TL_BENCH_RX_RUNS])
{
	qsort(values, TL_BENCH_RX_RUNS, sizeof(values[0]), by_value);
	double least = values[0], median = values[TL_BENCH_RX_RUNS / 2], most = values[TL_BENCH_RX_RUNS - 1];

	if (median <= 0)
		return most > median ? 1 : 0;
	return (most - least) / median;
}

void rx_runs_fill(const struct rx_run runs[TL_BENCH_RX_RUNS], bool sends, struct tl_bench_rx_row *row)
{
	double costs[TL_BENCH_RX_RUNS], rates[TL_BENCH_RX_RUNS];

	row->sender_bound = sends;
	for (unsigned i = 0; i < TL_BENCH_RX_RUNS; i++) {
		costs[i] = cost(row->rung, &runs[i]);
		rates[i] = pps_of(&runs[i]);
		row->sender_bound &= rx_run_kept_up(&runs[i]);
		if (sends && rx_run_kept_up(&runs[i]) && runs[i].pps > row->loss_free_pps)
			row->loss_free_pps = runs[i].pps;
	}
	double spread = spread_of(costs), rate_spread = sends ? spread_of(rates) : 0;
	for (unsigned i = TL_BENCH_RX_RUNS; i-- > 0;)
		if (cost(row->rung, &runs[i]) == costs[TL_BENCH_RX_RUNS / 2])
			fill_run(&runs[i], row);
	row->spread = spread > rate_spread ? spread : rate_spread;
	row->noisy = row->spread > TL_BENCH_RX_SPREAD;
}
