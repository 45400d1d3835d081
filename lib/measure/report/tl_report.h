// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// report: turns snapshots of counters into the tables and the JSON that a user sees, and checks the identities of the
// loss ledger. Pure: structs in, text or JSON out. Every counter is named once, in the tables of report.c.
//
// Threads: any. Memory: the caller's; json_t results are owned by the caller (json_decref).

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_hist.h>
#include <tl_pcapfile.h>

struct tl_report_stages;

#define TL_REPORT_NAME 64
#define TL_REPORT_PORTS 16
#define TL_REPORT_CAPTURES 16
#define TL_REPORT_ECHOES 16
#define TL_REPORT_COUNTERS 128
#define TL_REPORT_QUEUES 16

// One receive queue of a port. Its drops are part of the port's.
struct tl_report_port_queue {
	uint64_t rx_pkts, rx_bytes;
	uint64_t drop_nic_pkts;		 // where the port's drops_by_queue
	uint64_t handoff_pkts;		 // received here for another queue's lcore
	struct tl_hist_summary poll_gap; // of its lcore: times between two polls over poll_gap_above_ns
	uint64_t poll_gap_above_ns;	 // 0: not known
};

// What the lcores of a port with echoes handed to each other: handoff = handoff_taken + drop_handoff.
struct tl_report_handoff {
	uint64_t handoff_pkts; // received by another lcore than the one that owns the echo
	uint64_t handoff_taken_pkts;
	uint64_t drop_handoff_pkts; // the owner did not keep up
};

// PTP frames that a port sent to learn when they left: sent = stamped + lost.
struct tl_report_probes {
	uint64_t probes_sent, probes_stamped;
	uint64_t probes_lost;	 // no stamp came
	uint64_t probes_refused; // not sent
};

// PTP frames that it received: received = stamped + busy + lost.
struct tl_report_ptp_received {
	uint64_t ptp_received_pkts, ptp_stamped_pkts;
	uint64_t ptp_busy_pkts; // the NIC still held another one's stamp
	uint64_t ptp_lost_pkts; // no stamp came
};

// Replies that the NIC was to stamp: marked = timed + untimed + lost.
struct tl_report_replies {
	uint64_t replies_marked, replies_timed;
	uint64_t replies_untimed; // their triggers have no stamp
	uint64_t replies_lost;	  // no stamp came
};

struct tl_report_ptp {
	bool on;
	bool stamps_sent; // false: it has shown that it does not
	struct tl_report_probes probes;
	struct tl_report_ptp_received received;
	uint64_t bound_ns; // of the NIC's stamps against the TSC
	uint64_t clock_steps;
	struct tl_hist_summary tx_to_wire;   // from tx_burst
	struct tl_hist_summary wire_to_poll; // until rx_burst returned
	const char *trigger_source;	     // static: of replies' triggers; NULL: no reply is stamped
	struct tl_report_replies replies;
	struct tl_hist_summary reply;		 // from the trigger's stamp to the reply's
	struct tl_hist_summary reply_tx_to_wire; // of that, from tx_burst on
};

// Where the times of a port's received frames come from.
struct tl_report_stamps {
	const char *source;    // static; NULL: not known
	uint64_t unit_ns;      // they are multiples of; 0: unknown
	bool bounded;	       // false: nothing can bound them
	uint64_t bound_ns;     // against CLOCK_REALTIME, now
	const char *nic_clock; // static: what the NIC's clock shows, "ticks", "REALTIME" or "TAI"; NULL: it is not used
	int64_t nic_offset_ns; // of it from the time that it shows
	double nic_rate_hz;
	uint64_t nic_steps, nic_set_aside, nic_failed_reads; // of the comparisons with it
	const char *gate; // static: "trial", "open" or "shut", and source is what frames have now; NULL: none
	uint64_t gate_closures;
	uint64_t refused_pkts; // whose stamps could not be theirs
};

// What carries frames to a port.
struct tl_report_link {
	bool known, up;
	uint64_t downs; // times it was found to have gone
};

// Port row: hw_seen = rx + drop_nic + drop_nombuf + drop_error.
struct tl_report_port {
	char name[TL_REPORT_NAME];
	char device[TL_REPORT_NAME];
	uint64_t hw_seen_pkts; // counted by the kernel, the MAC or the file reader, not by us
	uint64_t rx_pkts;      // sum of what rx_burst returned
	uint64_t rx_bytes;
	uint64_t drop_nic_pkts;
	uint64_t drop_nombuf_pkts;
	uint64_t drop_error_pkts;
	uint64_t tx_pkts;
	uint64_t tx_bytes;
	uint64_t drop_tx_pkts;	 // handed to tx_burst and refused
	uint64_t altered_pkts;	 // received, but not as they were on the wire: put together or cut by the kernel
	uint64_t unstamped_pkts; // received without a stamp of the port's source: their time is the TSC's
	uint64_t mbufs_in_use;	 // of the port's pool: back at its start once all is over, or something leaks
	bool verified;		 // hw_seen has a source independent of rx_pkts
	bool has_mac;
	uint64_t mac_seen_pkts; // by the MAC, as the driver says: what hw_seen should be, and is where that is verified
	bool drops_by_queue;	// it is known of which queue drop_nic_pkts are
	struct tl_report_stamps stamps;
	struct tl_report_link link;
	struct tl_report_handoff handoff;
	struct tl_report_ptp ptp;
	uint32_t n_queues;
	struct tl_report_port_queue queues[TL_REPORT_QUEUES];
};

// One direction of a recording: offered = written + filtered + expired + paused + cut + drop_ring + drop_disk.
struct tl_report_flow {
	uint64_t offered_pkts;
	uint64_t written_pkts;
	uint64_t filtered_pkts;
	uint64_t expired_pkts; // offered after the recording's time was over, or held until no trigger could want them
	uint64_t paused_pkts;  // offered while it was paused
	uint64_t cut_pkts;     // offered after its frame count, or the cut-off of its flow, was reached
	uint64_t drop_ring_pkts;
	uint64_t drop_disk_pkts;
};

// What one receive queue brought to a recording. The identity holds for each direction of each queue.
struct tl_report_capture_queue {
	struct tl_report_flow flow[TL_DIRS];
	uint64_t slabs_used; // with the writer or on their way to it
};

// A source of a recording's stamps.
struct tl_report_capture_stamps {
	const char *source;    // static
	uint64_t unit_ns;      // 0: unknown
	uint64_t bound_max_ns; // against CLOCK_REALTIME, the largest since the recording began; UINT64_MAX: unknown
};

// Time was set while it recorded.
struct tl_report_step {
	const char *clock; // static: "REALTIME", or "NIC"
	uint64_t time_ns;  // when it was seen, since 1970
	int64_t offset_ns; // by how much
};

#define TL_REPORT_STEPS 64

struct tl_report_capture {
	char port[TL_REPORT_NAME];
	struct tl_report_flow flow[TL_DIRS]; // of all queues
	uint32_t n_queues;
	struct tl_report_capture_queue queues[TL_REPORT_QUEUES];
	uint64_t slabs;		 // of each queue
	uint64_t in_flight_pkts; // offered and still in slabs; 0 after the end
	uint64_t written_bytes;
	uint64_t late_pkts;	       // of order "time": came too late for their place, and were written after it
	uint64_t flows, flows_evicted; // of a cut-off: begun, and forgotten to make room for others
	uint64_t recycled_files, recycled_bytes; // dropped from the ring; what they held stays written
	uint64_t disk_free_bytes;		 // of the files' file system; UINT64_MAX: not known
	const char *state;			 // static: "recording", "paused", "waiting", "saving"
	uint64_t triggers;
	const char *last_trigger;   // static: why; NULL: none yet
	char last_trigger_time[32]; // UTC
	const char *const *files;   // borrowed, n_files paths: those that are still there
	uint32_t n_files;
	uint32_t n_stamps;
	struct tl_report_capture_stamps stamps[2];
	uint32_t n_steps; // in all; the first TL_REPORT_STEPS of them are kept
	struct tl_report_step step[TL_REPORT_STEPS];
	const char *error;	   // borrowed: why writing stopped, or NULL
	const char *filter_engine; // borrowed: what runs the filter, or NULL without one
};

// Messages of an echo: received = echoed + refused + drop_no_conn + drop_full + drop_tx + lost_unacked.
struct tl_report_echo {
	char name[TL_REPORT_NAME];
	const char *mode;  // "mcast_to_tcp", "tcp", "udp"
	const char *state; // "connected", "connecting", "listening", ...
	uint32_t queue;	   // the RX queue of its port whose lcore owns it
	uint64_t received_msgs, received_bytes;
	uint64_t echoed_msgs, echoed_bytes;
	uint64_t refused_msgs;
	uint64_t drop_no_conn_msgs, drop_full_msgs, drop_tx_msgs, lost_unacked_msgs;
	uint64_t connects, disconnects, connections; // connections: open now
	struct tl_hist_summary residence;	     // rx_burst return to just before tx_burst
	struct tl_hist_summary tx_call;		     // the tx_burst call
	const struct tl_report_stages *stages; // borrowed; NULL: it takes no stamps on the way (tl_report_stages.h)
};

// Everything at one moment.
// The restrictions of the process that are in force.
struct tl_report_process {
	char user[32];
	char capabilities[96]; // that main keeps, as cap_to_text(3) writes them: "=" is none
	bool sandbox;	       // false: switched off
	bool no_new_privs, seccomp;
	int landlock; // version of the kernel's; 0: not available
};

struct tl_snapshot {
	struct tl_report_process process;
	uint64_t uptime_ns;
	uint32_t n_ports, n_captures, n_echoes;
	struct tl_report_port ports[TL_REPORT_PORTS];
	struct tl_report_capture captures[TL_REPORT_CAPTURES];
	struct tl_report_echo echoes[TL_REPORT_ECHOES];
	// Per port: the stack's own counters (ARP, IP, TCP, drops), named by the net module; n 0 for a capture-only
	// port.
	struct tl_counter net[TL_REPORT_PORTS][TL_REPORT_COUNTERS];
	uint32_t n_net[TL_REPORT_PORTS];
	int tai_offset_s;    // TAI - CLOCK_REALTIME; 0: nobody told the kernel
	uint64_t wall_steps; // times CLOCK_REALTIME was set while we ran
	bool final;	     // after the drain: identities must hold with nothing in flight
};

// Whether every identity of the ledger holds. While running (final false) a port or an echo may be short of what still
// waits in its queues, and a recording of at most its in_flight, but nothing may be accounted for twice: whoever takes
// the snapshot reads the parts of an identity before its whole.
bool tl_report_ledger_ok(const struct tl_snapshot *snap);

// Whether nothing at all was lost: every drop counter of ports and captures is 0.
bool tl_report_lossless(const struct tl_snapshot *snap);

// {"min":…,"p50":…,"p90":…,"p99":…,"p999":…,"max":…,"mean":…,"count":…}, all the others null when count is 0.
json_t *tl_report_hist_json(const struct tl_hist_summary *summary);

// The object of `run --json` and `status --json`: uptime_ns, clock, final, ports[], captures[], echoes[], net[],
// ledger_ok, lossless; with one port also "port", the same object as ports[0], and with one echo also "echo". A capture
// has its totals at the top, the same keys per direction in "rx" and "tx", and "rx" and "tx" per receive queue in
// queues[]. An echo carries residence_ns and tx_call_ns, each with "source":"tsc" and "count". unaccounted_pkts is what
// an identity lacks: negative when counted twice.
json_t *tl_report_json(const struct tl_snapshot *snap);

// The loss ledger as a table a human reads, and the echo table.
void tl_report_ledger_text(FILE *out, const struct tl_snapshot *snap);
void tl_report_echo_text(FILE *out, const struct tl_snapshot *snap);

// One line of a latency table: "  label   min 1.2 us   p50 …".
void tl_report_hist_text(FILE *out, const char *label, const struct tl_hist_summary *summary);
