// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the lcore's side and main's side of timesync share.

#include <stdatomic.h>

#include <tl_clock_track.h>
#include <tl_port.h>
#include <tl_tail.h>
#include <tl_timesync.h>

#define TL_TIMESYNC_FRAME_BYTES 60
#define TL_TIMESYNC_SEQUENCE 44 // of the frame: IEEE 1588-2008, section 13.3

// Where the one probe is, and the one received frame whose stamp is wanted. Only WANTED is the lcore's: it sends a
// probe, or takes the next frame that the NIC has stamped, and hands it back.
enum tl_timesync_state { TL_TIMESYNC_IDLE, TL_TIMESYNC_WANTED, TL_TIMESYNC_DONE };

// Replies whose leaving is stamped. Main's, but for the stamp's state.
struct tl_timesync_reply {
	struct tl_tx_stamp stamp;
	uint64_t next_ns; // when the next is due
	bool due;	  // and none has left since
	bool has_rx;	  // the port stamps what it receives
	bool one_clock;	  // by the clock that stamps what is sent
	const struct tl_clock_track *rx_track;
	struct tl_hist latency, wire_to_poll, poll_to_tx, tx_to_wire;
	struct tl_tail_samples *samples;
};

struct tl_timesync {
	// Between the two.
	_Atomic(int) probe_state;
	_Atomic(int) taken_state;
	uint64_t probe_tsc; // valid in DONE: when the tx_burst call began
	uint64_t taken_tsc; // valid in DONE: when the rx_burst call returned
	uint32_t latch;	    // valid in DONE: which of the NIC's registers has the stamp
	// The lcore's.
	struct tl_txq *txq;
	struct rte_mempool *pool;
	uint8_t frame[TL_TIMESYNC_FRAME_BYTES];
	uint16_t sequence;
	uint64_t probes_sent, probes_refused, ptp_received, ptp_busy;
	// Main's.
	struct tl_timesync_cfg cfg;
	char name[32];
	struct tl_clock_track *track;
	struct tl_timesync_reply *reply;	 // NULL: none is stamped
	uint64_t next_probe_ns;			 // when one is due
	bool heard;				 // a frame that was sent had its stamp
	uint32_t silent;			 // frames that had none, before
	unsigned latches;			 // of received frames
	uint32_t last_latch;			 // of the last received frame that was read
	uint64_t taken_before;			 // received frames taken, at the last sample
	uint64_t last_sent_ns, last_received_ns; // stamps: a register that gives the same one again has no new one
	struct tl_timesync_stats stats;
	struct tl_hist tx_to_wire, wire_to_poll;
};

extern const struct tl_timesync_ops tl_timesync_eth_ops; // ctx: the port

// ---- timesync_work.c

// Whether the frame has its stamp, whose send call began at begin_tsc. The last look does not wait.
enum tl_timesync_look { TL_TIMESYNC_WAITS, TL_TIMESYNC_LOST, TL_TIMESYNC_STAMPED };
enum tl_timesync_look tl_timesync_look(
	struct tl_timesync *sync, uint64_t begin_tsc, bool last_look, uint64_t *stamp_ns);

// Whether a stamp can be that of a frame, by how far it is from the frame's call: not where the register still held the
// stamp of another one. A span may be negative within the bound of the clocks.
#define TL_TIMESYNC_SPAN_MAX_NS TL_NS_PER_S
static inline bool tl_timesync_is_plausible(int64_t span_ns, uint64_t bound_ns)
{
	return span_ns >= -(int64_t)bound_ns && span_ns <= (int64_t)TL_TIMESYNC_SPAN_MAX_NS;
}

// Since 1970: a stamp of what was sent, and a time of the host. A span below 0 is recorded as 0.
int64_t tl_timesync_wire_ns(const struct tl_timesync *sync, uint64_t stamp_ns);
int64_t tl_timesync_host_ns(const struct tl_timesync *sync, uint64_t tsc);
void tl_timesync_record(struct tl_hist *hist, int64_t span_ns);

// ---- timesync_reply.c

int tl_timesync_replies_create(struct tl_timesync *sync); // 0 or -ENOMEM
void tl_timesync_replies_destroy(struct tl_timesync *sync);
void tl_timesync_replies_start(struct tl_timesync *sync);

// Whether the reply that was told of is done with.
bool tl_timesync_read_reply(struct tl_timesync *sync, bool last_look);

// HOT.
void tl_timesync_tick(void *sync, uint64_t mono_ns);
void tl_timesync_rx(void *sync, struct tl_burst *burst);
