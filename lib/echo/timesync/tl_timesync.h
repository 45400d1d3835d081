// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// timesync: wire timestamps from NICs that stamp only PTP frames (IEEE 1588), one at a time, in a register that holds
// the stamp until it is read: ixgbe, igb, i40e. A probe is such a frame, sent periodically by the lcore, after its
// other frames: its stamp gives the time of a frame from tx_burst to the wire (source nic-tx). A received PTP frame
// gives the time from the wire to the return of the poll (source nic-ptp). A reply of an echo may be any frame: its
// stamp, and that of its trigger if the NIC stamps received frames (nic-rx), give the latency from wire to wire.
//
//   create → tl_port_start → start → the lcore runs with the service; work() every few ms, sample() every second
//   → the lcore has returned → end → read → destroy
//
// Stamps of the kernel, for a port that is a kernel interface, are those of the driver taking the frame.
//
// Threads: the service functions on the port's first lcore, those of the tx_stamp on all, all others on main.
// Memory:  create/destroy; a probe is an mbuf of the port's pool.

#include <stdbool.h>
#include <stdint.h>

#include <tl_clock.h>
#include <tl_hist.h>
#include <tl_ledger.h>
#include <tl_port.h>
#include <tl_tx_stamp.h>

struct tl_err;
struct tl_service;
struct tl_tail_samples;
struct tl_timesync; // opaque

// NIC operations. Each returns 0 or -errno; stamps are on the NIC's own clock.
struct tl_timesync_ops {
	int (*enable)(void *ctx); // called once a second; no effect if not necessary
	void (*disable)(void *ctx);
	int (*read_clock)(void *ctx, uint64_t *ns);
	int (*read_sent)(void *ctx, uint64_t *ns);		       // -EINVAL: no stamp available
	int (*read_received)(void *ctx, uint32_t latch, uint64_t *ns); // the same
	unsigned (*latches)(void *ctx); // number of registers for stamps of received frames; NULL: one
	unsigned bits;			// width of the stamps
	const char *silence;		// cause and remedy if it stamps none of many frames
};

// The kernel, for an interface of which tl_port_stamps_sent() is true: its stamps are of replies only.
extern const struct tl_timesync_ops tl_timesync_kernel_ops; // ctx: the port

struct tl_timesync_cfg {
	const char *name;     // name of the port, for messages; borrowed
	struct tl_port *port; // borrowed until destroy
	const struct tl_clock *clock;
	uint32_t probes_per_s;		   // 0: no probes
	uint32_t replies_per_s;		   // 0: no replies
	const struct tl_timesync_ops *ops; // NULL: those of the port's driver
	void *ops_ctx;
};

// Create the stamping of a port, and query the device's support. Return 0, -ENOTSUP with a message, or another -errno.
int tl_timesync_create(const struct tl_timesync_cfg *cfg, struct tl_timesync **out, struct tl_err *err);

// Compare the NIC's clock with the TSC for 100 ms, after the start of the port. Return 0, or -errno with a message.
int tl_timesync_start(struct tl_timesync *sync, struct tl_err *err);

// Print the stamped frames and their sources, as lines of text, to stderr.
void tl_timesync_print(const struct tl_timesync *sync);

// Service for the lcore of queue 0, to which NICs deliver non-IP frames.
void tl_timesync_service(struct tl_timesync *sync, struct tl_service *out);

// Marking of replies to be stamped, for the port's echoes. Before the lcores run. NULL: none.
struct tl_tx_stamp *tl_timesync_tx_stamp(struct tl_timesync *sync);

// Read available stamps, and request the next probe or reply from the lcores when it is due: about every 20 ms. One
// frame is in flight at a time.
void tl_timesync_work(struct tl_timesync *sync);

// Compare the NIC's clock with the TSC: about once a second, after tl_clock_discipline().
void tl_timesync_sample(struct tl_timesync *sync);

// Account for frames in flight and disable the NIC's stamping. After the lcore has returned.
void tl_timesync_end(struct tl_timesync *sync);
void tl_timesync_destroy(struct tl_timesync *sync);

// Identities: see tl_ledger.h; one probe and one received frame may be in flight.
struct tl_timesync_stats {
	uint64_t probes_sent;
	TL_PROBE_PARTS(TL_COUNTER_FIELD)
	uint64_t probes_refused; // not sent: refused by the NIC, or no mbuf
	uint64_t ptp_received_pkts;
	TL_PTP_PARTS(TL_COUNTER_FIELD)
	uint64_t replies_marked;
	TL_REPLY_PARTS(TL_COUNTER_FIELD)
	uint64_t bound_ns; // current bound of a stamp against the TSC
	uint64_t clock_steps;
	bool unstamped; // many frames were sent and none was ever stamped: this DPDK does not request stamps
};
void tl_timesync_read(const struct tl_timesync *sync, struct tl_timesync_stats *out);

// Time from the start of the tx_burst call to the wire; from the wire to the return of rx_burst. Written by main.
const struct tl_hist *tl_timesync_tx_to_wire(const struct tl_timesync *sync);
const struct tl_hist *tl_timesync_wire_to_poll(const struct tl_timesync *sync);

// Latency of replies from their trigger, and its parts. The histograms are written by main.
struct tl_timesync_replies {
	enum tl_ts_source trigger_source;	   // TL_TS_NIC_RX: on the wire, TL_TS_TSC: at the return of the poll
	uint64_t trigger_bound_ns, reply_bound_ns; // largest of the stamps of all latencies, when they were converted
	bool one_clock;			    // both stamped by the same clock: the latency contains no clock conversion
	const struct tl_hist *latency;	    // of frames with a due time: from this to the wire
	const struct tl_hist *wire_to_poll; // NULL: triggers have no wire timestamp
	const struct tl_hist *poll_to_tx, *tx_to_wire;
	const struct tl_tail_samples *samples; // the most recent ones; residence_ns is the latency
};
bool tl_timesync_replies(const struct tl_timesync *sync, struct tl_timesync_replies *out); // false: none are stamped
