// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// timesync: time stamps of the wire from NICs that stamp only PTP frames (IEEE 1588), one at a time, in a register that
// holds the stamp until it is read: ixgbe, igb, i40e. A probe is such a frame, sent now and then by the lcore, behind
// whatever it sends: the stamp tells how long a frame takes from tx_burst to the wire (source nic-tx). A received PTP
// frame tells how long one takes from the wire until the poll has it (source nic-ptp). A reply of an echo is any frame:
// its stamp, and that of its trigger where the NIC stamps what it receives (nic-rx), are the latency from wire to wire.
//
//   create → tl_port_start → start → the lcore runs with the service; work() every few ms, sample() every second
//   → the lcore has returned → end → read → destroy
//
// Threads: the service's functions on the port's first lcore, those of the tx_stamp on all, everything else on main.
// Memory:  create/destroy; a probe is an mbuf of the port's pool.

#include <stdbool.h>
#include <stdint.h>

#include <tl_clock.h>
#include <tl_hist.h>
#include <tl_port.h>
#include <tl_tx_stamp.h>

struct tl_err;
struct tl_service;
struct tl_tail_samples;
struct tl_timesync; // opaque

// What a NIC can do. Each returns 0 or -errno; the stamps are of its own clock.
struct tl_timesync_ops {
	int (*enable)(void *ctx); // once a second: does nothing where that is not called for
	void (*disable)(void *ctx);
	int (*read_clock)(void *ctx, uint64_t *ns);
	int (*read_sent)(void *ctx, uint64_t *ns);		       // -EINVAL: there is none
	int (*read_received)(void *ctx, uint32_t latch, uint64_t *ns); // the same
	unsigned (*latches)(void *ctx); // registers of received frames' stamps; NULL: one
	unsigned bits;			// of the stamps
};

struct tl_timesync_cfg {
	const char *name;     // of the port, for messages; borrowed
	struct tl_port *port; // borrowed until destroy
	const struct tl_clock *clock;
	uint32_t probes_per_s;		   // 0: no probes
	uint32_t replies_per_s;		   // 0: no replies
	const struct tl_timesync_ops *ops; // NULL: those of the port's driver
	void *ops_ctx;
};

// Asks the device whether it can at all. Returns 0, -ENOTSUP with a sentence, or another -errno.
int tl_timesync_create(const struct tl_timesync_cfg *cfg, struct tl_timesync **out, struct tl_err *err);

// The port has been started. Compares its clock with the TSC for 100 ms. Returns 0 or -errno with a sentence.
int tl_timesync_start(struct tl_timesync *sync, struct tl_err *err);

// What is stamped and by whom, as lines of text on stderr.
void tl_timesync_print(const struct tl_timesync *sync);

// For the lcore of queue 0, where NICs put what is not IP.
void tl_timesync_service(struct tl_timesync *sync, struct tl_service *out);

// For the port's echoes, before the lcores run: which replies are to be stamped. NULL: none.
struct tl_tx_stamp *tl_timesync_tx_stamp(struct tl_timesync *sync);

// Reads the stamps that have come, and asks the lcores for the next probe or reply when it is due: every 20 ms or so.
// One frame is in flight at a time.
void tl_timesync_work(struct tl_timesync *sync);

// Compares the NIC's clock with the TSC: about once a second, after tl_clock_discipline().
void tl_timesync_sample(struct tl_timesync *sync);

// The lcore does not run any more: what is in flight is accounted for. Stops the NIC's stamping.
void tl_timesync_end(struct tl_timesync *sync);
void tl_timesync_destroy(struct tl_timesync *sync);

// Sent = stamped + lost and received = stamped + busy + lost, but for one of each that is in flight; marked = timed +
// untimed + lost.
struct tl_timesync_stats {
	uint64_t probes_sent, probes_stamped;
	uint64_t probes_lost;	 // sent, and no stamp of them came in time
	uint64_t probes_refused; // by the NIC, or for want of an mbuf: not sent
	uint64_t ptp_received, ptp_stamped;
	uint64_t ptp_busy;	  // the register still held the stamp of one before: not stamped
	uint64_t ptp_lost;	  // stamped, says the NIC, and there was no such stamp
	uint64_t replies_marked;  // for the NIC to stamp; counted when it is known what came of it
	uint64_t replies_timed;	  // with a latency
	uint64_t replies_untimed; // stamped, and the trigger was not, or by a stamp that cannot be its own
	uint64_t replies_lost;	  // no stamp of them came in time, or they did not leave as foreseen
	uint64_t bound_ns;	  // of a stamp against the TSC, now
	uint64_t clock_steps;
	bool unstamped; // many frames were sent and none was ever stamped: this DPDK does not ask for it
};
void tl_timesync_read(const struct tl_timesync *sync, struct tl_timesync_stats *out);

// From the tx_burst call's beginning to the wire; from the wire until rx_burst returned. Written by main.
const struct tl_hist *tl_timesync_tx_to_wire(const struct tl_timesync *sync);
const struct tl_hist *tl_timesync_wire_to_poll(const struct tl_timesync *sync);

// Of replies: from their trigger to them, and the parts of that. The histograms are written by main.
struct tl_timesync_replies {
	enum tl_ts_source trigger_source; // TL_TS_NIC_RX: on the wire, TL_TS_TSC: when the poll returned
	uint64_t trigger_bound_ns, reply_bound_ns;
	bool one_clock; // stamped both, so that no other clock is in the latency
	const struct tl_hist *latency;
	const struct tl_hist *wire_to_poll; // NULL: triggers have no stamp of the wire
	const struct tl_hist *poll_to_tx, *tx_to_wire;
	const struct tl_tail_samples *samples; // the last of them; residence_ns is the latency
};
bool tl_timesync_replies(const struct tl_timesync *sync, struct tl_timesync_replies *out); // false: none are stamped
