// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the lcore's side and main's side of timesync share.

#include <stdatomic.h>

#include <tl_clock_track.h>
#include <tl_port.h>
#include <tl_timesync.h>

#define TL_TIMESYNC_FRAME_BYTES 60
#define TL_TIMESYNC_SEQUENCE 44 // of the frame: IEEE 1588-2008, section 13.3

// Where the one probe is, and the one received frame whose stamp is wanted. Only WANTED is the lcore's: it sends a
// probe, or takes the next frame that the NIC has stamped, and hands it back.
enum tl_timesync_state { TL_TIMESYNC_IDLE, TL_TIMESYNC_WANTED, TL_TIMESYNC_DONE };

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
	uint64_t wanted_tsc;			 // when the last probe was asked for
	uint32_t last_latch;			 // of the last received frame that was read
	uint64_t taken_before;			 // received frames taken, at the last sample
	uint64_t last_sent_ns, last_received_ns; // stamps: a register that gives the same one again has no new one
	struct tl_timesync_stats stats;
	struct tl_hist tx_to_wire, wire_to_poll;
};

extern const struct tl_timesync_ops tl_timesync_eth_ops; // ctx: the port

// HOT.
void tl_timesync_tick(void *sync, uint64_t mono_ns);
void tl_timesync_rx(void *sync, struct tl_burst *burst);
