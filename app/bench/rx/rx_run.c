// SPDX-License-Identifier: BSD-3-Clause
// Measure one rung with frames of one size: slowly, to check what comes and how late; as fast as the sender can, three
// times, for the cost; and by bisection, for the highest rate without loss.

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
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
#define REFUSED_QUEUES                                                                                                 \
	"it receives queue 0 only, and the interface has more: `ethtool -L IFACE combined 1` leaves it one"
#define REFUSED_FORGET                                                                                                 \
	"its driver sets the interface's address, for which the kernel drops its neighbours: allow it with --take"
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

// ---- one run

// Set the losses that only the interface has counted since the beginning of the run.
static void count_losses(const struct rig *rig, uint64_t interface_drops, struct rx_run *run)
{
	run->lost_interface_pkts = rx_interface_losses(
		rig->row->rung, rx_net_drops(rig->net) - interface_drops, run->is.drops - run->was.drops);
}

// Wait until everything sent has been received or counted as dropped, or nothing comes any more.
static int drain(const struct rig *rig, unsigned quiet_looks, uint64_t interface_drops, struct rx_run *run)
{
	uint64_t end_ns = tl_ladder_now_ns();

	for (unsigned quiet = 0; quiet < quiet_looks; quiet++) {
		uint64_t before = run->is.pkts;
		int rc = rx_child_ask(&rig->child, rig->cfg->stop, &run->is, rig->err);
		if (rc != 0)
			return rc;
		if (run->is.pkts != before)
			run->late_ns = run->is.at_ns - end_ns;
		count_losses(rig, interface_drops, run);
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
	int rc = rx_sender_run(rig->sender, load, rig->cfg->stop, out);
	return rc == 0 ? 0
		       : tl_fail(rig->err, rc,
				 "cannot send frames of %u bytes on %s: %s; is it up, and its MTU large enough?",
				 rig->row->size_bytes, rig->net->sender_name, strerror(-rc));
}

static int run_load(const struct rig *rig, const struct rx_load *load, struct rx_run *run)
{
	*run = (struct rx_run){.tick_ns = rx_tick_ns()};
	int rc = rx_child_ask(&rig->child, rig->cfg->stop, &run->was, rig->err);
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
		rc = rx_child_ask(&rig->child, rig->cfg->stop, &run->is, rig->err);
	}
	run->elapsed_ns = rig->sends ? run->sent.elapsed_ns : tl_ladder_now_ns() - begin_ns;
	run->softirq_ns = rx_softirq_ns() - softirq_ns;
	count_losses(rig, drops, run);
	run->pkts = run->is.pkts - run->was.pkts;
	uint64_t pkts = rig->sends ? run->sent.pkts : run->pkts;
	run->pps = (double)pkts * (double)TL_NS_PER_S / (double)run->elapsed_ns;
	return atomic_load(rig->cfg->stop) ? -EINTR : rc;
}

// ---- the three parts

static int check_slowly(const struct rig *rig)
{
	uint64_t pkts = (uint64_t)(SLOW_PPS * rig->cfg->seconds);
	const struct rx_load slow = {
		.pps = SLOW_PPS, .pkts = tl_min_u64(tl_max_u64(pkts, SLOW_PKTS_MIN), SLOW_PKTS_MAX), .stamped = true};
	struct tl_bench_rx_row *row = rig->row;
	struct rx_run run;

	int rc = run_load(rig, &slow, &run);
	if (rc != 0)
		return rc;
	uint64_t sum = run.sent.pkts * (run.sent.pkts - 1) / 2; // of 0, 1, 2, ...
	row->check = (struct tl_bench_rx_check){run.sent.pkts, run.pkts, run.is.bytes - run.was.bytes,
		run.is.disorder_pkts == run.was.disorder_pkts && run.is.seq_sum - run.was.seq_sum == sum};
	row->loss_free_pps = rx_run_kept_up(&run) ? run.pps : 0;
	row->latency_count = run.is.latency_count;
	row->p50_ns = run.is.p50_ns;
	row->p99_ns = run.is.p99_ns;
	return 0;
}

static int run_fast(const struct rig *rig)
{
	const struct rx_load fast = {.duration_ns = (uint64_t)(rig->cfg->seconds * (double)TL_NS_PER_S)};
	struct rx_run runs[TL_BENCH_RX_RUNS];

	for (unsigned i = 0; i < TL_BENCH_RX_RUNS; i++) {
		int rc = run_load(rig, &fast, &runs[i]);
		if (rc != 0)
			return rc;
	}
	rx_runs_fill(runs, rig->sends, rig->row);
	return 0;
}

static int bisect(const struct rig *rig)
{
	struct tl_bench_rx_row *row = rig->row;
	struct rx_load load = {.duration_ns = (uint64_t)(rig->cfg->seconds * (double)TL_NS_PER_S)};
	double high = row->offered_pps;

	for (unsigned step = 0; step < STEPS && !row->sender_bound && high > row->loss_free_pps; step++) {
		struct rx_run run;
		load.pps = (row->loss_free_pps + high) / 2;
		int rc = run_load(rig, &load, &run);
		if (rc != 0)
			return rc;
		if (!rx_run_kept_up(&run))
			high = load.pps;
		else if (run.pps > row->loss_free_pps)
			row->loss_free_pps = run.pps;
	}
	return 0;
}

// Start the rung's process, without hugepages if they do not suffice any more.
static int start(struct rig *rig, bool timed)
{
	struct tl_bench_rx_row *row = rig->row;
	struct rx_child_cfg cfg = {
		row->rung, rig->net, rig->cpus, row->threads, row->size_bytes, rig->net->huge, timed, rig->cfg->stop};

	int rc = rx_child_start(&cfg, &rig->child, rig->err);
	if (rc != 0 && rc != -EINTR && rc != -ENETDOWN && row->rung->nic && !rx_is_tapline(row->rung) && cfg.huge) {
		rx_process_stop(&rig->child);
		cfg.huge = false;
		rc = rx_child_start(&cfg, &rig->child, rig->err);
	}
	row->hugepages = cfg.huge;
	return rc;
}

// Start Tapline for the slow part, in which it returns the frames, and again for the others.
static int measure(struct rig *rig)
{
	bool timed = rig->sends && rx_is_tapline(rig->row->rung);
	int rc = start(rig, timed);

	if (rc == 0 && rig->sends)
		rc = check_slowly(rig);
	if (rc == 0 && timed) {
		rx_process_stop(&rig->child);
		rc = start(rig, false);
	}
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
	if (!net->pair && !cfg->take)
		return rung->takes ? REFUSED_TAKE : rung->forgets ? REFUSED_FORGET : NULL;
	return rung->takes && net->queues > 1 ? REFUSED_QUEUES : NULL;
}

static uint32_t lanes_of(const struct tl_ladder_rung *rung, const cpu_set_t *cpus)
{
	if (rung->fanout == TL_LADDER_ALONE)
		return 1;
	return (uint32_t)tl_min_u64(tl_max_u64((uint64_t)CPU_COUNT(cpus), 2), TL_LADDER_LANES_MAX);
}

// Begin a row without figures.
static void begin_row(struct tl_bench_rx_row *row, uint32_t threads)
{
	*row = (struct tl_bench_rx_row){.rung = row->rung,
		.threads = threads,
		.size_bytes = row->size_bytes,
		.loss_free_pps = TL_BENCH_RX_UNKNOWN,
		.check = {.in_order = TL_BENCH_RX_UNKNOWN}};
}

// End the row with a reason and no figures, unless the benchmark was interrupted.
static int refuse(struct tl_bench_rx_row *row, int rc, const char *why)
{
	if (rc == -EINTR)
		return rc;
	begin_row(row, row->threads);
	snprintf(row->refused, sizeof(row->refused), "%s", why[0] != '\0' ? why : strerror(-rc));
	return 0;
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
	struct tl_err err = {.text = ""};
	struct rig rig = {.cfg = cfg, .net = net, .cpus = cpus, .row = row, .err = &err};
	const char *why = excluded(cfg, net, row->rung);

	begin_row(row, lanes_of(row->rung, cpus));
	if (why != NULL)
		return refuse(row, 0, why);
	int rc = measure_open(&rig);
	rx_process_stop(&rig.child);
	return rc == 0 ? 0 : refuse(row, rc, err.text);
}
