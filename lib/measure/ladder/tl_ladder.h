// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ladder: methods of receiving frames on Linux. Each is a rung: one file per interface of the kernel or of DPDK, with
// four functions. `tapline bench rx` runs them one after another on the same traffic; docs/benchmarks.md describes
// them.
//
// A rung has one lane per receiving thread. A lane is opened, receives until stopped, reports the kernel's drops, and
// is closed. It passes each frame to its sink.
//
// Threads: open(), dropped() and close() on main; receive() on the lane's thread; dropped() also while that runs.
// Memory:  open() allocates the lane, close() frees it.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <tl_err.h>
#include <tl_hist.h>

#define TL_LADDER_LANES_MAX 8
#define TL_LADDER_WAIT_MS 20 // longest sleep of a lane, and delay of *stop

// ---- frames of the sender

#define TL_LADDER_HEADERS 42 // Ethernet, IPv4 and UDP
#define TL_LADDER_SIZE_MIN 60
#define TL_LADDER_SIZE_MAX 1514
#define TL_LADDER_MAGIC 0x746c7278u
#define TL_LADDER_UDP_PORT 9009
#define TL_LADDER_FLOWS 64 // source ports, in turn
#define TL_LADDER_RX_IP 0x0a630001u
#define TL_LADDER_TX_IP 0x0a630002u

// Beginning of the payload of each frame.
struct tl_ladder_mark {
	uint32_t magic;
	uint32_t seq;	   // from 0
	uint64_t stamp_ns; // CLOCK_MONOTONIC before the send call; 0: none
};

// Write a frame of size_bytes (60..1514, without FCS) with sequence number and stamp 0.
void tl_ladder_frame(uint8_t *frame, uint32_t size_bytes, const uint8_t to[6], const uint8_t from[6]);

// HOT. Number a frame, and choose its flow.
static inline void tl_ladder_number(uint8_t *frame, uint32_t seq, uint64_t stamp_ns)
{
	const struct tl_ladder_mark mark = {TL_LADDER_MAGIC, seq, stamp_ns};

	frame[35] = (uint8_t)(seq % TL_LADDER_FLOWS); // low byte of the UDP source port
	memcpy(frame + TL_LADDER_HEADERS, &mark, sizeof(mark));
}

// ---- sink

// Received frames of a lane. Written by its thread only; main reads it with tl_count_read().
struct tl_ladder_sink {
	bool any;	      // foreign traffic: frames without marks
	uint64_t pkts, bytes; // frames without FCS
	uint64_t foreign_pkts;
	uint64_t disorder_pkts; // received after a frame that was sent later
	uint64_t seq_sum;	// of all sequence numbers: a duplicate does not hide a loss
	uint64_t busy_ns;	// of lanes that poll: time of the polls that returned frames
	uint32_t next_seq;
	struct tl_hist *latency;
};

static inline uint64_t tl_ladder_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

// HOT. Count the payload of a datagram, received at at_ns of CLOCK_MONOTONIC (0: now) in a frame of frame_bytes.
static inline void tl_ladder_take_payload_at(struct tl_ladder_sink *sink, const uint8_t *payload,
	uint32_t payload_bytes, uint32_t frame_bytes, uint64_t at_ns)
{
	struct tl_ladder_mark mark = {.magic = 0};

	if (payload_bytes >= sizeof(mark))
		memcpy(&mark, payload, sizeof(mark));
	if (!sink->any && mark.magic != TL_LADDER_MAGIC) {
		tl_count(&sink->foreign_pkts, 1);
		return;
	}
	tl_count(&sink->pkts, 1);
	tl_count(&sink->bytes, frame_bytes);
	if (sink->any)
		return;
	if (mark.seq < sink->next_seq && mark.seq != 0) // 0: an own source restarts
		tl_count(&sink->disorder_pkts, 1);
	sink->next_seq = mark.seq + 1;
	tl_count(&sink->seq_sum, mark.seq);
	if (mark.stamp_ns == 0)
		return;
	at_ns = at_ns != 0 ? at_ns : tl_ladder_now_ns();
	tl_hist_record(sink->latency, at_ns > mark.stamp_ns ? at_ns - mark.stamp_ns : 0);
}

// HOT. Count the payload of a datagram, received now in a frame of frame_bytes.
static inline void tl_ladder_take_payload(
	struct tl_ladder_sink *sink, const uint8_t *payload, uint32_t payload_bytes, uint32_t frame_bytes)
{
	tl_ladder_take_payload_at(sink, payload, payload_bytes, frame_bytes, 0);
}

// HOT. Count a frame received at at_ns of CLOCK_MONOTONIC; 0: now.
static inline void tl_ladder_take_at(struct tl_ladder_sink *sink, const void *frame, uint32_t bytes, uint64_t at_ns)
{
	uint32_t headers = bytes < TL_LADDER_HEADERS ? bytes : TL_LADDER_HEADERS;

	tl_ladder_take_payload_at(sink, (const uint8_t *)frame + headers, bytes - headers, bytes, at_ns);
}

// HOT. Count a frame received now.
static inline void tl_ladder_take(struct tl_ladder_sink *sink, const void *frame, uint32_t bytes)
{
	tl_ladder_take_at(sink, frame, bytes, 0);
}

// ---- rungs

struct tl_ladder_rung;

struct tl_ladder_cfg {
	const char *ifname; // receiving interface; of a rung with nic: PORT
	unsigned ifindex;
	uint32_t lane, lanes;
	uint32_t buffer_bytes; // of this lane: socket buffer, ring or UMEM; a power of two, 1 MiB or more
	uint32_t size_bytes;   // frame size, for an own source
	uint16_t group;	       // fanout group of all lanes
	uint32_t cpu;	       // on which the lane's thread will run
	bool huge;	       // of a rung with nic: DPDK's memory is in hugepages
	bool timed;	       // of a rung in another process: it returns each frame with the time at which it had it
};

struct tl_ladder_ops {
	size_t lane_bytes; // size of a lane; open() gets it with all bytes 0
	// Open a lane. Return 0, or -errno with the reason in *err; close() follows in either case.
	int (*open)(void *lane, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err);
	// Part of open() in lanes of AF_PACKET: prepare the socket before it is bound.
	int (*set_up)(void *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err);
	// Receive until *stop. Return 0 or -errno.
	int (*receive)(void *lane, struct tl_ladder_sink *sink, const atomic_bool *stop);
	// Return the frames dropped since open(), by the counter named in drops.
	uint64_t (*dropped)(void *lane);
	void (*close)(void *lane);
};

struct tl_ladder_rung {
	const char *name;
	const char *than;  // rung that it is compared with, earlier in the ladder; NULL: the first
	const char *why;   // why its cost differs from that
	const char *drops; // counter that dropped() reads
	const struct tl_ladder_ops *ops;
	int mode;	 // meaning by ops
	int fanout;	 // PACKET_FANOUT_*, with a lane per CPU; TL_LADDER_ALONE: one lane
	bool polls;	 // never sleeps: its cost is busy_ns
	bool takes;	 // takes the frames from the kernel's stack
	bool forgets;	 // the kernel drops the neighbours of the interface
	bool addressed;	 // receives datagrams to TL_LADDER_RX_IP only
	bool own_source; // generates its own frames
	bool nic;	 // receives from a port that a DPDK driver has, which the kernel does not see
};

#define TL_LADDER_ALONE (-1)

// All rungs, in the order of the ladder. Static.
const struct tl_ladder_rung *tl_ladder_rungs(unsigned *n);

// Allocate and open a lane of a rung. Return 0, or -errno with the reason in *err and no lane.
int tl_ladder_open(
	const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, void **out_lane, struct tl_err *err);
void tl_ladder_close(const struct tl_ladder_rung *rung, void *lane);

// ---- ports of DPDK drivers

struct tl_clock;
struct tl_eal;
struct tl_port;

// DPDK with one port. Threads: as of tl_port.h. Memory: open() and close().
struct tl_ladder_nic {
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_port *port;
};

// Start DPDK, once per process, and the PCI or vdev port, promiscuous, with one queue for each direction in use. Return
// 0, or -errno with a message in *err and nothing open.
int tl_ladder_nic_open(
	const char *device, bool sends, bool huge, uint32_t cpu, struct tl_ladder_nic *out, struct tl_err *err);

// Wait for the link. Return 0, or -ENETDOWN with a message in *err.
int tl_ladder_nic_await(const struct tl_ladder_nic *nic, struct tl_err *err);
void tl_ladder_nic_close(struct tl_ladder_nic *nic); // all 0: no effect
