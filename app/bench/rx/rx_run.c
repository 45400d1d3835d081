// SPDX-License-Identifier: BSD-3-Clause
// Measure one rung with frames of one size: slowly, to check what comes and how late; as fast as the sender can, three
// times, for the cost; and by bisection, for the highest rate without loss.

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "rx_priv.h"

#define SLOW_PPS 5000
#define SLOW_PKTS_MIN 100
#define SLOW_PKTS_MAX 1000
#define STEPS 5
#define DRAIN_MS 10
#define QUIET_LOOKS 50 // without a new frame: many times a block's timeout, or a turn of the scheduler
#define QUIET_LOOKS_SLOW 500
#define REFUSED_TAKE "it would take the frames from the kernel: allow it with --take"
#define REFUSED_NO_NIC                                                                                                 \
	"no NIC is given: bind one (tapline bind), name its port with -i, and a port wired to it, which sends, with --peer"
#define REFUSED_NO_KERNEL "a DPDK driver has the port, so the kernel receives none of its frames"

struct rig {
	const struct tl_bench_rx_cfg *cfg;
	const struct rx_net *net;
	struct rx_process child;
	const cpu_set_t *cpus;
	bool sends;
	struct rx_sender *sender; // NULL: the frames leave by a port, or none
	struct tl_bench_rx_row *row;
	struct tl_err *err;
};

// A run: differences of two snapshots.
struct run {
	struct rx_sent sent;
	struct rx_snapshot was, is;
	uint64_t pkts, lost_interface_pkts, elapsed_ns, softirq_ns;
	double pps; // sent, or received where nothing is sent
};

// ---- one run

// Wait until everything sent has been received or counted as dropped, or nothing comes any more.
static int drain(const struct rig *rig, unsigned quiet_looks, uint64_t interface_drops, struct run *run)
{
	for (unsigned quiet = 0; quiet < quiet_looks; quiet++) {
		uint64_t before = run->is.pkts;
		int rc = rx_child_ask(&rig->child, rig->cfg->stop, &run->is);
		if (rc != 0)
			return rc;
		run->lost_interface_pkts = rx_net_drops(rig->net) - interface_drops;
		if (run->is.pkts - run->was.pkts + run->is.drops - run->was.drops + run->lost_interface_pkts +
				run->sent.unsent_pkts >=
			run->sent.pkts)
			return 0;
		quiet = run->is.pkts == before ? quiet : 0;
		(void)poll(NULL, 0, DRAIN_MS);
	}
	return 0;
}

// Let time pass while others send.
static void wait_for(uint64_t duration_ns, const atomic_bool *stop)
{
	uint64_t end_ns = tl_ladder_now_ns() + duration_ns;

	while (!atomic_load_explicit(stop, memory_order_relaxed) && tl_ladder_now_ns() < end_ns)
		(void)poll(NULL, 0, (int)tl_min_u64(10, (end_ns - tl_ladder_now_ns()) / TL_NS_PER_MS + 1));
}

static int send_load(const struct rig *rig, const struct rx_load *load, struct rx_sent *out)
{
	if (rig->sender == NULL)
		return rx_port_send(
			&rig->net->sender, rig->row->size_bytes, rig->net->mac, load, rig->cfg->stop, out, rig->err);
	rx_sender_run(rig->sender, load, rig->cfg->stop, out);
	return 0;
}

static int run_load(const struct rig *rig, const struct rx_load *load, struct run *run)
{
	*run = (struct run){.pkts = 0};
	int rc = rx_child_ask(&rig->child, rig->cfg->stop, &run->was);
	if (rc != 0)
		return rc;
	uint64_t drops = rx_net_drops(rig->net), softirq_ns = rx_softirq_ns(), begin_ns = tl_ladder_now_ns();
	run->is = run->was;
	if (rig->sends) {
		rc = send_load(rig, load, &run->sent);
		if (rc == 0)
			rc = drain(rig, load->stamped ? QUIET_LOOKS_SLOW : QUIET_LOOKS, drops, run);
	} else {
		wait_for(load->duration_ns, rig->cfg->stop);
		rc = rx_child_ask(&rig->child, rig->cfg->stop, &run->is);
	}
	run->elapsed_ns = rig->sends ? run->sent.elapsed_ns : tl_ladder_now_ns() - begin_ns;
	run->softirq_ns = rx_softirq_ns() - softirq_ns;
	run->lost_interface_pkts = rx_net_drops(rig->net) - drops;
	run->pkts = run->is.pkts - run->was.pkts;
	uint64_t pkts = rig->sends ? run->sent.pkts : run->pkts;
	run->pps = (double)pkts * (double)TL_NS_PER_S / (double)run->elapsed_ns;
	return atomic_load(rig->cfg->stop) ? -EINTR : rc;
}

static uint64_t lost(const struct run *run)
{
	return run->sent.pkts > run->pkts ? run->sent.pkts - run->pkts : 0;
}

// ---- output of a run

static double per_packet(const struct run *run, uint64_t value)
{
	return run->pkts == 0 ? TL_BENCH_RX_UNKNOWN : (double)value / (double)run->pkts;
}

static double event_per_packet(const struct run *run, int64_t was, int64_t is)
{
	return was < 0 || is < 0 ? TL_BENCH_RX_UNKNOWN : per_packet(run, (uint64_t)(is - was));
}

static double cost(const struct tl_ladder_rung *rung, const struct run *run)
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
static void fill_losses(const struct run *run, struct tl_bench_rx_row *row)
{
	uint64_t drops = run->is.drops - run->was.drops;

	row->lost_pkts = run->sent.pkts > 0 ? lost(run) : drops;
	uint64_t left = row->lost_pkts;
	left -= row->lost_sender_pkts = tl_min_u64(run->sent.unsent_pkts, left);
	left -= row->lost_rung_pkts = tl_min_u64(drops, left);
	left -= row->lost_interface_pkts = tl_min_u64(run->lost_interface_pkts, left);
	row->lost_elsewhere_pkts = left;
}

// Split the CPU time as its ticks are split. A run may be shorter than a tick: then the parts are not known.
static void fill_parts(const struct run *run, struct tl_bench_rx_row *row)
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

static double received_pps(const struct run *run)
{
	return (double)run->pkts * (double)TL_NS_PER_S / (double)run->elapsed_ns;
}

static void fill_run(const struct run *run, struct tl_bench_rx_row *row)
{
	row->offered_pps = run->pps;
	row->received_pps = received_pps(run);
	row->cpu_ns = cost(row->rung, run);
	fill_parts(run, row);
	row->softirq_ns = per_packet(run, run->softirq_ns);
	row->tick_ns = per_packet(run, rx_tick_ns());
	row->sender_ns = run->sent.pkts == 0 ? TL_BENCH_RX_UNKNOWN : (double)run->sent.cpu_ns / (double)run->sent.pkts;
	row->instructions = event_per_packet(run, run->was.instructions, run->is.instructions);
	row->cycles = event_per_packet(run, run->was.cycles, run->is.cycles);
	row->wakeups_per_s = run->is.wakeups < 0 ? TL_BENCH_RX_UNKNOWN
						 : (double)(run->is.wakeups - run->was.wakeups) * (double)TL_NS_PER_S /
							   (double)run->elapsed_ns;
	fill_losses(run, row);
}

// ---- the three parts

static int check_slowly(const struct rig *rig)
{
	uint64_t pkts = (uint64_t)(SLOW_PPS * rig->cfg->seconds);
	const struct rx_load slow = {
		.pps = SLOW_PPS, .pkts = tl_min_u64(tl_max_u64(pkts, SLOW_PKTS_MIN), SLOW_PKTS_MAX), .stamped = true};
	struct tl_bench_rx_row *row = rig->row;
	struct run run;

	int rc = run_load(rig, &slow, &run);
	if (rc != 0)
		return rc;
	uint64_t sum = run.sent.pkts * (run.sent.pkts - 1) / 2; // of 0, 1, 2, ...
	row->check = (struct tl_bench_rx_check){run.sent.pkts, run.pkts, run.is.bytes - run.was.bytes,
		run.is.disorder_pkts == run.was.disorder_pkts && run.is.seq_sum - run.was.seq_sum == sum};
	if (rx_is_tapline(row->rung))
		row->check.in_order = TL_BENCH_RX_UNKNOWN;
	row->latency_count = run.is.latency_count;
	row->p50_ns = run.is.p50_ns;
	row->p99_ns = run.is.p99_ns;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// Sort the values of the runs. Return (largest - smallest) / median; 1 if only some of them are known.
static double spread_of(double values[TL_BENCH_RX_RUNS])
{
	qsort(values, TL_BENCH_RX_RUNS, sizeof(values[0]), by_value);
	double least = values[0], median = values[TL_BENCH_RX_RUNS / 2], most = values[TL_BENCH_RX_RUNS - 1];

	if (median <= 0)
		return most > median ? 1 : 0;
	return (most - least) / median;
}

// The row has the figures of the run with the median cost. The spread is that of the cost or, with our own traffic, of
// the rate.
static int run_fast(const struct rig *rig)
{
	const struct rx_load fast = {.duration_ns = (uint64_t)(rig->cfg->seconds * (double)TL_NS_PER_S)};
	struct run runs[TL_BENCH_RX_RUNS];
	double costs[TL_BENCH_RX_RUNS], rates[TL_BENCH_RX_RUNS];

	for (unsigned i = 0; i < TL_BENCH_RX_RUNS; i++) {
		int rc = run_load(rig, &fast, &runs[i]);
		if (rc != 0)
			return rc;
		costs[i] = cost(rig->row->rung, &runs[i]);
		rates[i] = received_pps(&runs[i]);
	}
	double spread = spread_of(costs), rate_spread = rig->sends ? spread_of(rates) : 0;
	for (unsigned i = TL_BENCH_RX_RUNS; i-- > 0;)
		if (cost(rig->row->rung, &runs[i]) == costs[TL_BENCH_RX_RUNS / 2])
			fill_run(&runs[i], rig->row);
	rig->row->spread = spread > rate_spread ? spread : rate_spread;
	rig->row->noisy = rig->row->spread > TL_BENCH_RX_SPREAD;
	return 0;
}

static int bisect(const struct rig *rig)
{
	struct tl_bench_rx_row *row = rig->row;
	struct rx_load load = {.duration_ns = (uint64_t)(rig->cfg->seconds * (double)TL_NS_PER_S)};
	double low = row->check.received_pkts == row->check.sent_pkts ? SLOW_PPS : 0, high = row->offered_pps;

	row->sender_bound = row->lost_pkts == 0;
	for (unsigned step = 0; step < STEPS && !row->sender_bound && high > low; step++) {
		struct run run;
		load.pps = (low + high) / 2;
		int rc = run_load(rig, &load, &run);
		if (rc != 0)
			return rc;
		if (lost(&run) == 0)
			low = tl_max_u64((uint64_t)low, (uint64_t)run.pps);
		else
			high = load.pps;
	}
	row->loss_free_pps = row->sender_bound ? row->offered_pps : low;
	return 0;
}

static int measure(const struct rig *rig)
{
	int rc = rig->sends ? check_slowly(rig) : 0;

	if (rc == 0)
		rc = run_fast(rig);
	if (rc == 0 && rig->sends)
		rc = bisect(rig);
	return rc;
}

// ---- a row

// Return why the rung cannot run on this traffic, or NULL.
static const char *excluded(
	const struct tl_bench_rx_cfg *cfg, const struct rx_net *net, const struct tl_ladder_rung *rung)
{
	if (rung->nic && !net->driver_port)
		return REFUSED_NO_NIC;
	if (rung->own_source)
		return net->own ? NULL
				: "it generates its own frames, of a size; run it without --interface, or with --peer";
	if (!rung->nic && net->driver_port)
		return REFUSED_NO_KERNEL;
	if (rung->addressed && !net->pair)
		return "it receives frames to its own address only; run it without --interface";
	return rung->takes && !net->pair && !cfg->take ? REFUSED_TAKE : NULL;
}

static uint32_t lanes_of(const struct tl_ladder_rung *rung, const cpu_set_t *cpus)
{
	if (rung->fanout == TL_LADDER_ALONE)
		return 1;
	return (uint32_t)tl_min_u64(tl_max_u64((uint64_t)CPU_COUNT(cpus), 2), TL_LADDER_LANES_MAX);
}

// End the row with a reason, unless the benchmark was interrupted.
static int refuse(struct tl_bench_rx_row *row, int rc, const char *why)
{
	if (rc == -EINTR)
		return rc;
	snprintf(row->refused, sizeof(row->refused), "%s", why);
	return 0;
}

// Start the rung's process, without hugepages if they do not suffice any more.
static int start(struct rig *rig)
{
	struct tl_bench_rx_row *row = rig->row;
	struct rx_child_cfg cfg = {
		row->rung, rig->net, rig->cpus, row->threads, row->size_bytes, rig->net->huge, rig->cfg->stop};

	int rc = rx_child_start(&cfg, &rig->child, rig->err);
	if (rc != 0 && rc != -EINTR && rc != -ENETDOWN && row->rung->nic && !rx_is_tapline(row->rung) && cfg.huge) {
		rx_process_stop(&rig->child);
		cfg.huge = false;
		rc = rx_child_start(&cfg, &rig->child, rig->err);
	}
	row->hugepages = cfg.huge;
	return rc;
}

static int measure_open(struct rig *rig)
{
	const struct rx_net *net = rig->net;
	const struct rx_sender_cfg sender = {.ifindex = net->sender_ifindex,
		.size_bytes = rig->row->size_bytes,
		.threads = rig->cfg->senders,
		.cpus = rig->cpus,
		.to = net->mac,
		.from = net->sender_mac};
	int rc = 0;

	rig->sends = net->own && !rig->row->rung->own_source;
	if (rig->sends && net->sender.pid == 0)
		rc = rx_sender_open(&sender, &rig->sender, rig->err);
	if (rc == 0)
		rc = measure(rig);
	rx_sender_close(rig->sender);
	return rc;
}

int rx_measure(
	const struct tl_bench_rx_cfg *cfg, const struct rx_net *net, const cpu_set_t *cpus, struct tl_bench_rx_row *row)
{
	struct tl_err err = {.text = "it did not answer, or could not receive"};
	struct rig rig = {.cfg = cfg, .net = net, .cpus = cpus, .row = row, .err = &err};
	const char *why = excluded(cfg, net, row->rung);

	row->threads = lanes_of(row->rung, cpus);
	row->loss_free_pps = TL_BENCH_RX_UNKNOWN;
	row->check.in_order = TL_BENCH_RX_UNKNOWN;
	if (why != NULL)
		return refuse(row, 0, why);
	int rc = start(&rig);
	if (rc == 0)
		rc = measure_open(&rig);
	rx_process_stop(&rig.child);
	return rc == 0 ? 0 : refuse(row, rc, err.text);
}
