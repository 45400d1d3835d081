// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_rx internals: the private interfaces, the sender, the process of a rung, and runs.

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "bench_rx.h"

#define RX_BUFFER_BYTES (64u << 20) // of each rung, over all its lanes
#define RX_THREADS_MAX 64	    // of a Tapline that records: far fewer

extern const struct tl_ladder_rung rx_tapline, rx_tapline_nic;

static inline bool rx_is_tapline(const struct tl_ladder_rung *rung)
{
	return rung == &rx_tapline || rung == &rx_tapline_nic;
}

// ---- rx_process.c

struct rx_process {
	pid_t pid; // 0: none
	int fd;	   // socket to it; -1: none
};

// Start a process that runs main(ctx, its socket). Return 0, or -errno with a message in *err.
int rx_process_fork(void (*main)(const void *ctx, int fd), const void *ctx, struct rx_process *out, struct tl_err *err);
void rx_process_silence(void); // in that process: discard its output

// Receive a message of bytes. Return 0, -EINTR: *stop, -ETIMEDOUT, -EPIPE: the process has ended.
int rx_process_hear(int fd, const atomic_bool *stop, unsigned timeout_ms, void *out, size_t bytes);
void rx_process_stop(struct rx_process *process); // close its socket, and wait for its end

// ---- rx_net.c

struct rx_net {
	bool own;		      // the frames are the benchmark's: of the private pair or of --peer
	bool pair;		      // the private pair
	bool driver_port;	      // ifname is a port that a DPDK driver has
	bool huge;		      // DPDK's memory of such a port is in hugepages
	char ifname[256], driver[32]; // receiving: an interface or PORT
	char sender_name[256];	      // likewise; "": nothing is sent
	unsigned ifindex, sender_ifindex;
	uint32_t queues; // that receive; 0: unknown
	uint8_t mac[6], sender_mac[6];
	int promiscuous_fd;	  // holds the interface in that mode; -1: none
	struct rx_process sender; // pid 0: frames are sent on sender_ifindex
};

// Make the private pair; or look the interface up, and make it promiscuous until end(), or try out the port. Start the
// sending port. Return 0, or -errno with a message in *err.
int rx_net_begin(struct rx_net *net, const struct tl_bench_rx_cfg *cfg, const cpu_set_t *cpus, struct tl_err *err);
void rx_net_end(struct rx_net *net);
uint64_t rx_net_drops(const struct rx_net *net); // of the interface: /proc/net/dev; 0 for a port

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
	uint64_t unsent_pkts; // accepted by the driver, and not among the frames that the sending port has counted
};

// Send on the interface; with send, by send(ctx, frames, n): returns the number sent, at most RX_BATCH.
#define RX_BATCH 64
struct rx_sender_cfg {
	unsigned ifindex;
	uint32_t size_bytes;
	uint32_t threads;	  // on an interface: 1..TL_BENCH_RX_SENDERS_MAX, on the first CPUs of the set
	const cpu_set_t *cpus;	  // of threads beyond the caller's
	const uint8_t *to, *from; // MAC addresses
	uint32_t (*send)(void *ctx, const struct iovec *frames, uint32_t n);
	void *ctx;
};

int rx_sender_open(const struct rx_sender_cfg *cfg, struct rx_sender **out, struct tl_err *err);
// Number the frames of a load from 0, in each thread. A stamped load has one: it is in order. Return 0, or the -errno
// of the interface, which ends the load: down, removed, or with an MTU below the frame.
int rx_sender_run(struct rx_sender *sender, const struct rx_load *load, const atomic_bool *stop, struct rx_sent *out);
void rx_sender_close(struct rx_sender *sender);

// ---- rx_port.c: a port of a DPDK driver, in its own process

struct rx_port_facts {
	uint8_t mac[6];
	char driver[32];
};

struct rx_port_cfg {
	const char *device; // PORT
	bool sends, huge;
	uint32_t cpu;
	const atomic_bool *stop;
};

// Start the process and the port. Return 0, or -errno with a message in *err.
int rx_port_start(
	const struct rx_port_cfg *cfg, struct rx_process *out, struct rx_port_facts *facts, struct tl_err *err);

// Send a load. Return 0, or -errno with a message in *err; -EINTR: *stop.
int rx_port_send(const struct rx_process *port, uint32_t size_bytes, const uint8_t to[6], const struct rx_load *load,
	const atomic_bool *stop, struct rx_sent *out, struct tl_err *err);

// ---- rx_child.c

// Sums over all lanes since the start.
struct rx_snapshot {
	int rc;		// first error of a lane
	uint64_t at_ns; // CLOCK_MONOTONIC
	uint64_t pkts, bytes, disorder_pkts, seq_sum, busy_ns, drops;
	uint64_t cpu_ns;		       // of the receiving threads, exact
	uint64_t polling_ns;		       // its part of the threads that poll
	uint64_t user_ns, system_ns;	       // its parts, as sampled by the tick
	int64_t wakeups, instructions, cycles; // -1: unknown
	uint64_t latency_count, p50_ns, p99_ns;
};

struct rx_child_cfg {
	const struct tl_ladder_rung *rung;
	const struct rx_net *net;
	const cpu_set_t *cpus;
	uint32_t lanes, size_bytes;
	bool huge, timed; // as in struct tl_ladder_cfg
	const atomic_bool *stop;
};

// Start the process, and wait until its lanes receive. Return 0, or -errno with the lane's reason; -EINTR: *stop.
int rx_child_start(const struct rx_child_cfg *cfg, struct rx_process *out, struct tl_err *err);

// Return 0, or -errno with a message in *err: of a lane that could not receive, too; -EINTR: *stop.
int rx_child_ask(const struct rx_process *child, const atomic_bool *stop, struct rx_snapshot *out, struct tl_err *err);

// ---- rx_child_cpu.c: what the kernel counts

// Hardware counters of a lane's thread; -1: refused.
struct rx_events {
	atomic_int instructions_fd, cycles_fd;
};

// Open the counters of a thread; tid 0: the calling one. Return 0, or the -errno of a counter that was refused.
int rx_events_open(struct rx_events *events, pid_t tid);
void rx_events_close(struct rx_events *events);
void rx_events_add(const struct rx_events *events, struct rx_snapshot *out);

// Those of all threads of another process but main; closed with the caller's.
struct rx_process_events {
	struct rx_events of[RX_THREADS_MAX];
	unsigned n;
};

void rx_process_events_open(struct rx_process_events *events, pid_t pid);

// Fill in CPU times and wake-ups: of all threads but the one that answers, the calling one, or main of another process.
void rx_usage_own(struct rx_snapshot *out);
void rx_usage_of(pid_t pid, struct rx_snapshot *out); // polling_ns: of DPDK's workers
uint64_t rx_usage_thread(pthread_t thread);	      // CPU time

uint64_t rx_softirq_ns(void); // of the whole host, in ticks of rx_tick_ns()
uint64_t rx_tick_ns(void);

// Process of a Tapline lane.
pid_t rx_tapline_pid(void *lane);

// ---- rx_returned.c: frames of a recording that comes through a pipe

struct rx_returned; // opaque

struct rx_returned *rx_returned_create(int fd); // takes fd; NULL: out of memory
// Take the frames that have come, after wait_ms at most. Return 0, or -errno: the recording has ended, or is damaged.
int rx_returned_take(struct rx_returned *returned, struct tl_ladder_sink *sink, unsigned wait_ms);
void rx_returned_destroy(struct rx_returned *returned);

// ---- rx_figures.c: figures of runs; pure

// A run: differences of two snapshots.
struct rx_run {
	struct rx_sent sent;
	struct rx_snapshot was, is;
	uint64_t pkts, lost_interface_pkts, elapsed_ns, softirq_ns, tick_ns;
	uint64_t late_ns; // from the end of sending to the last frame
	double pps;	  // sent, or received where nothing is sent
};

// Time for which a rung that keeps up may have frames: blocks of the kernel, naps of Tapline, and two looks at
// counters.
#define RX_BATCH_NS (50 * TL_NS_PER_MS)

uint64_t rx_run_lost(const struct rx_run *run); // of the frames sent

// Check that no frame was lost, and that none was received only because it could wait in a buffer.
bool rx_run_kept_up(const struct rx_run *run);

// Return the losses that the interface alone has counted: none if the rung makes its frames itself; without those of
// the rung if it takes frames from the driver, where veth counts a frame that AF_XDP refuses as its own loss, too.
uint64_t rx_interface_losses(const struct tl_ladder_rung *rung, uint64_t interface_pkts, uint64_t rung_pkts);

// Fill the row from the run with the median cost. Its spread is that of the cost or, with our own traffic, of the rate:
// (largest - smallest) / median; 1 if only some of them are known. sender_bound: each run kept up.
// loss_free_pps is raised to the highest rate of a run that did.
void rx_runs_fill(const struct rx_run runs[TL_BENCH_RX_RUNS], bool sends, struct tl_bench_rx_row *row);

// ---- rx_run.c

// Fill the row for row->rung and row->size_bytes. Return 0, also if it is refused; -EINTR: *cfg->stop.
int rx_measure(const struct tl_bench_rx_cfg *cfg, const struct rx_net *net, const cpu_set_t *cpus,
	struct tl_bench_rx_row *row);
