// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_rx: what each way of receiving costs on this host: every rung of lib/measure/ladder and Tapline itself, one
// after another, each in its own process, on the same frames.
//
// Without an interface it makes a network namespace that has no name and ends with the process, a veth pair in it, and
// sends; with one, or a port of a DPDK driver, it receives what arrives, and sends nothing, unless it is given a second
// one to send on.
// Threads: main. Memory: the result is the caller's; tl_bench_rx_free() releases its rows.

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_ladder.h>

#include "bench_list.h"

#define TL_BENCH_RX_RUNS 3	// at the highest rate
#define TL_BENCH_RX_SPREAD 0.10 // of those runs; beyond it a row is noisy
#define TL_BENCH_RX_SENDERS_MAX 8
#define TL_BENCH_RX_UNKNOWN (-1) // a figure that this host or rung cannot give

struct tl_bench_rx_cfg {
	const char *ifname; // interface, PCI address or vdev:; NULL: a private veth pair
	const char *peer;   // with ifname: likewise, wired to it; NULL: nothing is sent
	double seconds;	    // length of a run
	uint32_t sizes[TL_BENCH_SIZES_MAX], n_sizes;
	const char *rungs; // names, separated by commas; NULL: all
	uint32_t senders;  // threads that send, on an interface; at most TL_BENCH_RX_SENDERS_MAX; 0: half of the CPUs
	bool take;	   // with ifname: rungs may take frames from the kernel
	const atomic_bool *stop;
};

// Frames sent slowly, and those received.
struct tl_bench_rx_check {
	uint64_t sent_pkts, received_pkts, received_bytes;
	int in_order; // 1, 0; UNKNOWN: the rung does not see marks
};

struct tl_bench_rx_row {
	const struct tl_ladder_rung *rung;
	uint32_t threads;
	uint32_t size_bytes; // 0: as they come
	char refused[512];   // "": it ran

	double loss_free_pps;		  // highest rate at which it kept up; UNKNOWN: nothing was sent
	bool sender_bound;		  // the sender cannot send faster
	double offered_pps, received_pps; // of the run with the median cost
	uint64_t lost_pkts, lost_sender_pkts, lost_rung_pkts, lost_interface_pkts, lost_elsewhere_pkts;

	double cpu_ns; // per frame: user + system; of rungs that poll the time of polls that returned frames
	double user_ns, system_ns;   // per frame, of the receiving threads
	double softirq_ns, tick_ns;  // per frame, of the whole host, and the resolution of that
	double sender_ns;	     // per frame, of the sending thread, softirq included
	double instructions, cycles; // per frame
	double wakeups_per_s;
	double spread; // (largest - smallest) / median of cpu_ns
	bool noisy;
	uint64_t latency_count, p50_ns, p99_ns; // at the slow rate
	struct tl_bench_rx_check check;
	bool hugepages; // of dpdk-nic
};

struct tl_bench_rx_result {
	char ifname[256], driver[32];
	char sender[256]; // "": nothing was sent
	uint32_t senders; // its threads
	bool own_traffic;
	bool pair; // the private one
	bool interrupted;
	char counters_refused[160]; // why there are no instructions and cycles; "": there are
	uint32_t cpus, buffer_bytes;
	double seconds;
	struct tl_bench_rx_row *rows;
	unsigned n_rows;
};

#define TL_BENCH_RX_RUNGS_MAX 32

// A goal: a figure of a rung over that of another, with frames of one size.
#define TL_BENCH_RX_GOALS 3 // per size

struct tl_bench_rx_goal {
	const char *rung, *than;
	uint32_t size_bytes;
	bool by_rate; // the figure is received_pps, else cpu_ns
	double ratio, at_least, at_most;
	bool met;
	bool noisy;	   // one of the rows is
	bool sender_bound; // than could receive faster than the sender sends: ratio is too high
};

// Fill in the goals whose rungs were measured. Return their number. Pure.
unsigned tl_bench_rx_goals(
	const struct tl_bench_rx_result *result, struct tl_bench_rx_goal out[TL_BENCH_RX_GOALS * TL_BENCH_SIZES_MAX]);

// Check whether every name of a list is a rung.
bool tl_bench_rx_known(const char *names);

// Run the benchmark. Return 0, also if it was interrupted; or -errno with a message in *err.
int tl_bench_rx(const struct tl_bench_rx_cfg *cfg, struct tl_bench_rx_result *result, struct tl_err *err);
void tl_bench_rx_free(struct tl_bench_rx_result *result);
