// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Declarations shared by the lcore side and the main side of timesync.

#include <stdatomic.h>

#include <tl_clock_track.h>
#include <tl_port.h>
#include <tl_tail.h>
#include <tl_timesync.h>

#define TL_TIMESYNC_FRAME_BYTES 60
#define TL_TIMESYNC_SEQUENCE 44 // offset in the frame: IEEE 1588-2008, section 13.3

// State of the single probe, and of the single received frame to be stamped. Only in WANTED the lcore owns it:
// it sends a probe, or takes the next frame stamped by the NIC, and hands it back.
enum tl_timesync_state { TL_TIMESYNC_IDLE, TL_TIMESYNC_WANTED, TL_TIMESYNC_DONE };

// Replies whose departure is stamped. Owned by main, except the state of the stamp.
struct tl_timesync_reply {
	struct tl_tx_stamp stamp;
	uint64_t next_ns; // due time of the next one
	bool due;	  // and none sent since
	bool has_rx;	  // the port stamps received frames
	bool one_clock;	  // with the clock that stamps sent frames
	const struct tl_clock_track *rx_track;
	uint64_t trigger_bound_ns, reply_bound_ns; // largest of the latencies
	struct tl_hist latency, wire_to_poll, poll_to_tx, tx_to_wire;
	struct tl_tail_samples *samples;
};

struct tl_timesync {
	// Shared by both sides.
	_Atomic(int) probe_state;
	_Atomic(int) taken_state;
	uint64_t probe_tsc; // valid in DONE: start of the tx_burst call
	uint64_t taken_tsc; // valid in DONE: return of the rx_burst call
	uint32_t latch;	    // valid in DONE: NIC register with the stamp
	// Owned by the lcore.
	struct tl_txq *txq;
	struct rte_mempool *pool;
	uint8_t frame[TL_TIMESYNC_FRAME_BYTES];
	uint16_t sequence;
	uint64_t probes_sent, probes_refused, ptp_received_pkts, ptp_busy_pkts;
	// Owned by main.
	struct tl_timesync_cfg cfg;
	char name[32];
	struct tl_clock_track *track;
	struct tl_timesync_reply *reply;	 // NULL: replies are not stamped
	uint64_t next_probe_ns;			 // due time of the next one
	bool heard;				 // a stamp of a sent frame has been read
	uint32_t silent;			 // sent frames without a stamp, before the first one
	unsigned latches;			 // registers for received frames
	uint32_t last_latch;			 // register of the last received frame read
	uint64_t taken_before;			 // received frames taken until the last sample
	uint64_t last_sent_ns, last_received_ns; // stamps; a repeated value is not a new stamp
	struct tl_timesync_stats stats;
	struct tl_hist tx_to_wire, wire_to_poll;
};

extern const struct tl_timesync_ops tl_timesync_eth_ops; // ctx: the port

// ---- timesync_work.c

// True if the frame sent by the call that began at begin_tsc has its stamp. The last attempt does not wait.
enum tl_timesync_look { TL_TIMESYNC_WAITS, TL_TIMESYNC_LOST, TL_TIMESYNC_STAMPED };
enum tl_timesync_look tl_timesync_look(
	struct tl_timesync *sync, uint64_t begin_tsc, bool last_look, uint64_t *stamp_ns);

// Limit for a plausible distance between a stamp and the call of its frame, to detect a stale stamp of another frame in
// the register. A span may be negative within the bound of the clocks.
#define TL_TIMESYNC_SPAN_MAX_NS TL_NS_PER_S
static inline bool tl_timesync_is_plausible(int64_t span_ns, uint64_t bound_ns)
{
	return span_ns >= -(int64_t)bound_ns && span_ns <= (int64_t)TL_TIMESYNC_SPAN_MAX_NS;
}

// Convert a stamp of a sent frame, and a time of the host, to ns since 1970. A span below 0 is recorded as 0.
int64_t tl_timesync_wire_ns(const struct tl_timesync *sync, uint64_t stamp_ns);
int64_t tl_timesync_host_ns(const struct tl_timesync *sync, uint64_t tsc);
void tl_timesync_record(struct tl_hist *hist, int64_t span_ns);

// ---- timesync_reply.c

int tl_timesync_replies_create(struct tl_timesync *sync); // 0 or -ENOMEM
void tl_timesync_replies_destroy(struct tl_timesync *sync);
void tl_timesync_replies_start(struct tl_timesync *sync);

// True if the announced reply is completed.
bool tl_timesync_read_reply(struct tl_timesync *sync, bool last_look);

// HOT.
void tl_timesync_tick(void *sync, uint64_t mono_ns);
void tl_timesync_rx(void *sync, struct tl_burst *burst);
