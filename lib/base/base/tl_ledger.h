// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Counters of ports, recordings and echoes, each once. The module that counts, the snapshot and the report have their
// fields, sums and rows from these lists: X(name) for each counter, in the order of the report.
//
// A name ends in its unit. Counters named drop_* or lost_* are losses, but for drop_rule_pkts. One thread writes a
// counter, see tl_count().

#include <stdint.h>

#define TL_COUNTER_FIELD(name) uint64_t name;

// Port: hw_seen_pkts = rx_pkts + parts. The drops are the account of the device, its driver or the kernel.
#define TL_PORT_DROPS(X)                                                                                               \
	X(drop_nic_pkts)    /* no room in a queue */                                                                   \
	X(drop_nombuf_pkts) /* no mbuf */                                                                              \
	X(drop_error_pkts)  /* damaged */

// The same, and frames dropped by the device for a flow rule: wanted, no loss.
#define TL_PORT_PARTS(X) TL_PORT_DROPS(X) X(drop_rule_pkts)

// Each receive queue of a port, beside rx_pkts and rx_bytes.
#define TL_RXQ_COUNTERS(X)                                                                                             \
	X(altered_pkts)	  /* different from the wire: merged or cut by the kernel */                                   \
	X(unstamped_pkts) /* without a stamp of the port's source: their time is that of the poll */

// Each send queue of a port.
#define TL_TXQ_COUNTERS(X)                                                                                             \
	X(tx_pkts)                                                                                                     \
	X(tx_bytes)                                                                                                    \
	X(drop_tx_pkts)	    /* not accepted by the port, with the queue full or at the end */                          \
	X(delayed_tx_pkts)  /* not accepted at once; then sent, or also in drop_tx_pkts */                             \
	X(drop_shaped_pkts) /* dropped by its class tree */

// Frames by the colour of their meter, and their bytes.
#define TL_COLOUR_PKTS(X) X(green_pkts) X(yellow_pkts) X(red_pkts)
#define TL_COLOUR_BYTES(X) X(green_bytes) X(yellow_bytes) X(red_bytes)

// Class of a class tree: in_pkts = parts, and with a policer the sum of the colours. An inner class has the sums of its
// leaves, except for borrowed_bytes. The drops of all leaves are the queue's drop_shaped_pkts, and those of a replay
// that sends through the tree. In the order of enum tl_tree_drop.
#define TL_CLASS_DROPS(X)                                                                                              \
	X(drop_police_pkts) /* by the policer, before the queue */                                                     \
	X(drop_long_pkts)   /* longer than the port's frames */                                                        \
	X(drop_limit_pkts)  /* limit, limit_bytes */                                                                   \
	X(drop_late_pkts)   /* limit_ms */                                                                             \
	X(drop_codel_pkts)  /* "drop": "codel" */                                                                      \
	X(drop_memory_pkts) /* tree full */                                                                            \
	X(drop_end_pkts)    /* still queued at the end of the run */
#define TL_CLASS_PARTS(X) X(sent_pkts) X(queued_pkts) TL_CLASS_DROPS(X)
#define TL_CLASS_COUNTERS(X)                                                                                           \
	X(in_bytes) /* bytes include the overhead */                                                                   \
	X(sent_bytes)                                                                                                  \
	X(queued_bytes)                                                                                                \
	X(borrowed_bytes)		     /* of sent_bytes: beyond the class's own rate */                          \
	TL_COLOUR_PKTS(X) TL_COLOUR_BYTES(X) /* 0 without a policer */

// PTP frames of a port. Sent to obtain their departure time: probes_sent = parts; and probes_refused, not sent.
// Received: ptp_received_pkts = parts. Replies marked for a stamp of the NIC, once the outcome is known: replies_marked
// = parts.
#define TL_PROBE_PARTS(X)                                                                                              \
	X(probes_stamped)                                                                                              \
	X(probes_lost) /* not stamped in time */
#define TL_PTP_PARTS(X)                                                                                                \
	X(ptp_stamped_pkts)                                                                                            \
	X(ptp_busy_pkts) /* the NIC still held the stamp of another one */                                             \
	X(ptp_lost_pkts) /* reported as stamped by the NIC, but without a stamp */
#define TL_REPLY_PARTS(X)                                                                                              \
	X(replies_timed)   /* with a latency */                                                                        \
	X(replies_untimed) /* stamped, but the trigger was not, or with an implausible stamp */                        \
	X(replies_lost)	   /* not stamped in time, or not sent as expected */

// Counters of a direction of a queue of a recording: offered_pkts = written_pkts + parts + policed_pkts +
// drop_disk_pkts. The lcore counts the parts, and policed_pkts with yellow_pkts in a recording with classes; the writer
// counts the others and more of expired_pkts.
#define TL_TAP_PARTS(X)                                                                                                \
	X(filtered_pkts)                                                                                               \
	X(expired_pkts) /* offered after the recording's end, or held until no trigger could save them */              \
	X(paused_pkts)	/* offered while it was paused */                                                              \
	X(cut_pkts)	/* offered after its frame limit, or the cut-off of its flow, was reached */                   \
	X(drop_ring_pkts)
#define TL_POLICED_PARTS(X) X(policed_pkts) /* red in their class */
#define TL_CAPTURE_PARTS(X) X(written_pkts) TL_TAP_PARTS(X) TL_POLICED_PARTS(X) X(drop_disk_pkts)
#define TL_CAPTURE_COUNTERS(X) X(yellow_pkts) /* cut to the snaplen of their class; recorded or dropped */

// Direction of a recording, or of one of its queues. Until the end offered_pkts exceeds the sum of its parts by the
// frames in the slabs.
struct tl_ledger_flow {
	uint64_t offered_pkts;
	TL_CAPTURE_PARTS(TL_COUNTER_FIELD)
	TL_CAPTURE_COUNTERS(TL_COUNTER_FIELD)
};

// Frames handed over between the lcores of a port with echoes: handoff_pkts = handoff_taken_pkts + drop_handoff_pkts.
struct tl_ledger_handoff {
	uint64_t handoff_pkts;	     // received by an lcore other than the owner of the echo
	uint64_t handoff_taken_pkts; // by the owner
	uint64_t drop_handoff_pkts;  // the owner's ring was full
};

// Encapsulated frames handed over between the recorded lcores of a port, by inner flows: inner_handoff_pkts =
// inner_taken_pkts + inner_kept_pkts.
struct tl_ledger_inner {
	uint64_t inner_handoff_pkts; // of another lcore's flows
	uint64_t inner_taken_pkts;   // by that lcore
	uint64_t inner_kept_pkts;    // recorded by the receiving lcore: the ring of the other one was full
};

// Class of a recording: matched_pkts = parts. The red frames of all classes are the recording's policed_pkts.
#define TL_POLICE_PARTS(X) TL_COLOUR_PKTS(X)
#define TL_POLICE_COUNTERS(X)                                                                                          \
	TL_COLOUR_BYTES(X) /* bytes on the wire */                                                                     \
	X(meters)	   /* taken by flows or sources, repetitions included */                                       \
	X(overflow_pkts)   /* metered with others for lack of a meter */

// Echo: received_msgs = parts + lost_unacked_msgs, and with a policer the sum of the colours. Messages whose connection
// ended before they were acknowledged in full move from echoed_msgs to lost_unacked_msgs.
#define TL_ECHO_DROPS(X)                                                                                               \
	X(drop_no_conn_msgs) /* no connection */                                                                       \
	X(drop_full_msgs)    /* no room in the send buffer */                                                          \
	X(drop_tx_msgs)	     /* no mbuf, too long for the MTU, or no route */                                          \
	X(drop_police_msgs)  /* by the policer */                                                                      \
	X(drop_delay_msgs)   /* as many delayed messages waited as may, or it was to wait at the end */
#define TL_ECHO_PARTS(X)                                                                                               \
	X(echoed_msgs)                                                                                                 \
	X(refused_msgs) /* UDP: from a port that would cause a loop */                                                 \
	TL_ECHO_DROPS(X)
#define TL_ECHO_COUNTERS(X)                                                                                            \
	X(received_bytes)                                                                                              \
	X(echoed_bytes)                                                                                                \
	X(connects)                                                                                                    \
	X(disconnects)                                                                                                 \
	X(connections)	/* open now */                                                                                 \
	X(waiting_msgs) /* delayed, not due yet */                                                                     \
	X(paced_waits)	/* times that a paced connection had a segment wait */                                         \
	X(green_msgs)	/* by the colour of its policer; 0 without one */                                              \
	X(yellow_msgs)                                                                                                 \
	X(red_msgs)
