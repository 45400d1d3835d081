// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_rx internals: the private interfaces, the sender, the process of a rung, and runs.

#include <sched.h>
#include <sys/types.h>

#include "bench_rx.h"

#define RX_BUFFER_BYTES (16u << 20) // of each rung, over all its lanes

extern const struct tl_ladder_rung rx_tapline;

// ---- rx_net.c

struct rx_net {
	bool own;
	char ifname[32]; // receiving
	unsigned ifindex, sender_ifindex;
	uint8_t mac[6], sender_mac[6];
	int promiscuous_fd; // holds the interface in that mode; -1: none
};

// Make the private pair, or look the interface up and make it promiscuous until end(). Return 0 or -errno.
int rx_net_begin(struct rx_net *net, const char *ifname, struct tl_err *err);
void rx_net_end(struct rx_net *net);
uint64_t rx_net_drops(const struct rx_net *net); // of the interface: /proc/net/dev
void rx_net_driver(const struct rx_net *net, char *text, size_t size);

// ---- rx_sender.c

struct rx_sender; // opaque

struct rx_load {
	double pps;	      // 0: as fast as it can
	uint64_t pkts;	      // 0: until the duration is over
	uint64_t duration_ns; // 0: until all frames are sent
	bool stamped;
};

struct rx_sent {
	uint64_t pkts, elapsed_ns, cpu_ns;
};

int rx_sender_open(const struct rx_net *net, uint32_t size_bytes, struct rx_sender **out, struct tl_err *err);
void rx_sender_run(struct rx_sender *sender, const struct rx_load *load, const atomic_bool *stop, struct rx_sent *out);
void rx_sender_close(struct rx_sender *sender);

// ---- rx_child.c

// Sums over all lanes since the start.
struct rx_snapshot {
	int rc;		// first error of a lane
	uint64_t at_ns; // CLOCK_MONOTONIC
	uint64_t pkts, bytes, disorder_pkts, seq_sum, busy_ns, drops;
	uint64_t cpu_ns;		       // of the receiving threads, exact
	uint64_t user_ns, system_ns;	       // its parts, as sampled by the tick
	int64_t wakeups, instructions, cycles; // -1: unknown
	uint64_t latency_count, p50_ns, p99_ns;
};

struct rx_child {
	pid_t pid;
	int fd;
};

struct rx_child_cfg {
	const struct tl_ladder_rung *rung;
	const struct rx_net *net;
	const cpu_set_t *cpus;
	uint32_t lanes, size_bytes;
	const atomic_bool *stop;
};

// Start the process, and wait until its lanes receive. Return 0, or -errno with the lane's reason; -EINTR: *stop.
int rx_child_start(const struct rx_child_cfg *cfg, struct rx_child *out, struct tl_err *err);
int rx_child_ask(const struct rx_child *child, const atomic_bool *stop, struct rx_snapshot *out);
void rx_child_stop(struct rx_child *child);

// ---- rx_child_cpu.c: what the kernel counts

// Hardware counters of a lane's thread; -1: refused.
struct rx_events {
	atomic_int instructions_fd, cycles_fd;
};

void rx_events_open(struct rx_events *events); // of the calling thread
void rx_events_add(const struct rx_events *events, struct rx_snapshot *out);

// Fill in CPU times and wake-ups: of all threads but the one that answers, the calling one, or main of another process.
void rx_usage_own(struct rx_snapshot *out);
void rx_usage_of(pid_t pid, struct rx_snapshot *out);

uint64_t rx_softirq_ns(void); // of the whole host, in ticks of rx_tick_ns()
uint64_t rx_tick_ns(void);

// Process of a Tapline lane.
pid_t rx_tapline_pid(void *lane);

// ---- rx_run.c

// Fill the row for row->rung and row->size_bytes. Return 0, also if it is refused; -EINTR: *cfg->stop.
int rx_measure(const struct tl_bench_rx_cfg *cfg, const struct rx_net *net, const cpu_set_t *cpus,
	struct tl_bench_rx_row *row);
