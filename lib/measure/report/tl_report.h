// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// report: formats snapshots of counters as the tables and the JSON for users, and checks the identities of the loss
// ledger. Pure: structs in, text or JSON out. Every counter is named once: in tl_ledger.h, or in the tables of
// report.c.
//
// Threads: any. Memory: the caller's; json_t results are owned by the caller (json_decref).

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_hist.h>
#include <tl_ledger.h>
#include <tl_pcapfile.h>

struct tl_report_stages;

#define TL_REPORT_NAME 64
#define TL_REPORT_PORTS 16
#define TL_REPORT_COUNTERS 128
#define TL_REPORT_QUEUES 16
#define TL_REPORT_SIZES 8
#define TL_REPORT_SHAPES 16
#define TL_REPORT_POLICE 16

// Receive queue of a port. Its drops are part of the port's.
struct tl_report_port_queue {
	const char *role; // static: "both", "echo", "record", "none": the services of its lcore
	uint64_t rx_pkts, rx_bytes;
	uint64_t drop_nic_pkts;		   // if the port has drops_by_queue
	uint64_t handoff_pkts;		   // received here for another queue's lcore
	struct tl_hist_summary poll_gap;   // of its lcore: gaps between two polls over poll_gap_above_ns
	uint64_t poll_gap_above_ns;	   // 0: unknown
	uint64_t turn_ns[TL_REPORT_SIZES]; // time of its lcore in turns with 0, 1, 2..3, 4..7, ... 64 and more frames
	uint64_t descriptors;		   // of its ring; 0: their fill is unknown
	uint64_t rss_entries;		   // entries of the RSS table for this queue; the port has its size
	uint64_t ring_used, ring_used_max; // with frames that wait: in the last sample, and at most
};

struct tl_report_probes {
	uint64_t probes_sent;
	TL_PROBE_PARTS(TL_COUNTER_FIELD)
	uint64_t probes_refused;
};

struct tl_report_ptp_received {
	uint64_t ptp_received_pkts;
	TL_PTP_PARTS(TL_COUNTER_FIELD)
};

struct tl_report_replies {
	uint64_t replies_marked;
	TL_REPLY_PARTS(TL_COUNTER_FIELD)
};

struct tl_report_ptp {
	bool on;
	bool stamps_sent; // false: shown not to stamp
	struct tl_report_probes probes;
	struct tl_report_ptp_received received;
	uint64_t bound_ns; // of the NIC's stamps against the TSC
	uint64_t clock_steps;
	struct tl_hist_summary tx_to_wire;   // from tx_burst
	struct tl_hist_summary wire_to_poll; // until return of rx_burst
	const char *trigger_source;	     // static: of replies' triggers; NULL: no reply is stamped
	struct tl_report_replies replies;
	struct tl_hist_summary reply;		 // from the trigger's stamp to the reply's
	struct tl_hist_summary reply_tx_to_wire; // part of it after tx_burst
};

// Source of the times of a port's received frames.
struct tl_report_stamps {
	const char *source;    // static; NULL: unknown
	uint64_t unit_ns;      // resolution; 0: unknown
	bool bounded;	       // false: no bound is known
	uint64_t bound_ns;     // against CLOCK_REALTIME, now
	const char *nic_clock; // static: time scale of the NIC's clock, "ticks", "REALTIME" or "TAI"; NULL: not used
	int64_t nic_offset_ns; // offset of the clock from that time scale
	double nic_rate_hz;
	uint64_t nic_steps, nic_set_aside, nic_failed_reads; // of its comparisons
	const char *gate; // static: "trial", "open" or "shut"; source is the current one; NULL: none
	uint64_t gate_closures;
	uint64_t refused_pkts; // frames whose stamps were implausible
};

// Link of a port.
struct tl_report_link {
	bool known, up;
	uint64_t downs; // detected changes to link down
};

// Flow rule of a port. The texts are static or borrowed.
struct tl_report_rule {
	const char *matches; // "dst 239.1.1.1 udp dst port 5001"
	bool drops;
	uint32_t queue;	     // if it does not drop
	uint32_t mark;	     // 0: none
	const char *derived; // reason for a rule that is not in the configuration; NULL: it is
	const char *by;	     // kind of the NIC's filter: "5-tuple filter"; NULL: the NIC cannot have the rule
	uint32_t used, most; // filters of the kind in use with this rule, and in the NIC
	const char *outcome; // "planned", "installed", "refused" by the driver, or "instead": the NIC cannot have it
	const char *item;    // refused by the plan; NULL: none
	const char *why;     // reason of the refusal; NULL: none
	const char *instead; // done where the rule is not in the NIC
	bool counted;	     // hits_pkts is known
	uint64_t hits_pkts;
	bool marked; // marked_pkts is known: frames bear the mark
	uint64_t marked_pkts;
};

// Port row.
struct tl_report_port {
	char name[TL_REPORT_NAME];
	char device[TL_REPORT_NAME];
	uint64_t hw_seen_pkts; // counted by the kernel, the MAC or the file reader, independently
	uint64_t rx_pkts;      // sum of the return values of rx_burst
	uint64_t rx_bytes;
	uint64_t copied_pkts; // copies from the kernel's interface of an isolated port
	TL_PORT_PARTS(TL_COUNTER_FIELD)
	TL_TXQ_COUNTERS(TL_COUNTER_FIELD)
	TL_RXQ_COUNTERS(TL_COUNTER_FIELD)
	uint64_t mbufs_in_use; // of the port's pool: equal to its start value at the end, otherwise there is a leak
	bool verified;	       // hw_seen has a source independent of rx_pkts
	bool drops_unknown;    // frames dropped at full queues are not counted: drop_nic_pkts 0 is no evidence
	uint64_t unrecorded_rx_pkts, unrecorded_tx_pkts; // of queues left out by the port's recordings
	uint64_t rss_size;				 // entries of the RSS table; 0: unknown, or one queue
	bool rss_symmetric;				 // both directions of a flow arrive on the same queue
	bool rss_inner;		   // inner flows are spread, by the NIC unless rss_outer_why is set
	const char *rss_outer_why; // reason for the hand-off alone; static
	bool rule_drops_unknown;   // the NIC does not count drops by flow rules: drop_rule_pkts 0 is no evidence
	uint32_t n_rules;
	const struct tl_report_rule *rules; // borrowed
	bool has_mac;
	uint64_t mac_seen_pkts; // MAC count, from the driver: expected hw_seen, equal to it if verified
	bool drops_by_queue;	// the queues of drop_nic_pkts are known
	struct tl_report_stamps stamps;
	struct tl_report_link link;
	struct tl_ledger_handoff handoff;
	struct tl_ledger_inner inner;
	struct tl_report_ptp ptp;
	uint32_t n_queues;
	struct tl_report_port_queue queues[TL_REPORT_QUEUES];
};

// Share of one receive queue in a recording. The identity holds for each direction of each queue.
struct tl_report_capture_queue {
	struct tl_ledger_flow flow[TL_DIRS];
	uint64_t slabs_used; // at the writer or queued for it
};

// Source of a recording's stamps.
struct tl_report_capture_stamps {
	const char *source;    // static
	uint64_t unit_ns;      // 0: unknown
	uint64_t bound_max_ns; // against CLOCK_REALTIME, maximum of the recording; UINT64_MAX: unknown
};

// Clock step during a recording.
struct tl_report_step {
	const char *clock; // static: "REALTIME", or "NIC"
	uint64_t time_ns;  // time of detection, since 1970
	int64_t offset_ns; // size of the step
};

#define TL_REPORT_STEPS 64

// Class of a recording, of all queues and both directions.
struct tl_report_police {
	const char *name; // borrowed
	bool is_default;  // of frames that no other class matches
	uint64_t matched_pkts;
	TL_POLICE_PARTS(TL_COUNTER_FIELD)
	TL_POLICE_COUNTERS(TL_COUNTER_FIELD)
};

struct tl_report_capture {
	char port[TL_REPORT_NAME];
	struct tl_ledger_flow flow[TL_DIRS]; // of all queues
	uint32_t n_queues;
	struct tl_report_capture_queue queues[TL_REPORT_QUEUES];
	uint32_t n_classes; // 0: every frame is recorded whole
	struct tl_report_police classes[TL_REPORT_POLICE];
	uint64_t unmatched_pkts; // of no class
	uint64_t slabs;		 // of each queue
	uint64_t in_flight_pkts; // offered and still in slabs; 0 after the end
	uint64_t written_bytes;
	uint64_t late_pkts;			 // with order "time": too late for their position, and written after it
	uint64_t flows, flows_evicted;		 // of a cut-off: started, and evicted to make room for others
	uint64_t recycled_files, recycled_bytes; // removed from the ring; their frames remain counted as written
	uint64_t disk_free_bytes;		 // of the files' file system; UINT64_MAX: unknown
	uint64_t limit_bps;			 // of its writer in the share of the disk; UINT64_MAX: none
	const char *state;			 // static: "recording", "paused", "waiting", "saving"
	uint64_t triggers;
	const char *last_trigger;   // static: its cause; NULL: none yet
	char last_trigger_time[32]; // UTC
	const char *const *files;   // borrowed, n_files paths: those that still exist
	uint32_t n_files;
	uint32_t n_stamps;
	struct tl_report_capture_stamps stamps[2];
	uint32_t n_steps; // in total; the first TL_REPORT_STEPS of them are kept
	struct tl_report_step step[TL_REPORT_STEPS];
	const char *error;	   // borrowed: why writing stopped, or NULL
	const char *filter_engine; // borrowed: engine of the filter, or NULL without one
};

// Messages of an echo.
struct tl_report_echo {
	char name[TL_REPORT_NAME];
	const char *mode;  // "mcast_to_tcp", "tcp", "udp"
	const char *state; // "connected", "connecting", "listening", ...
	uint32_t queue;	   // RX queue of its port whose lcore owns it
	uint64_t received_msgs;
	TL_ECHO_PARTS(TL_COUNTER_FIELD)
	uint64_t lost_unacked_msgs;
	TL_ECHO_COUNTERS(TL_COUNTER_FIELD)
	struct tl_hist_summary residence;      // from return of rx_burst to just before tx_burst
	struct tl_hist_summary tx_call;	       // duration of the tx_burst call
	uint64_t pace_bps;		       // pacing rate of each connection; 0: none
	bool is_policed;		       // the echo has a policer
	bool is_delayed;		       // the echo has a delay
	struct tl_hist_summary lateness;       // from the due time of a delayed reply to just before tx_burst
	const struct tl_report_stages *stages; // borrowed; NULL: no stage stamps (tl_report_stages.h)
};

// Class of a shape, the shape itself first. The texts are borrowed.
struct tl_report_class {
	const char *name;
	const char *parent; // NULL: the shape itself
	uint32_t depth;	    // classes above it
	bool is_policed;    // the class itself has a policer
	uint64_t rate_bps, ceil_bps, prio;
	uint64_t in_pkts;
	TL_CLASS_PARTS(TL_COUNTER_FIELD)
	TL_CLASS_COUNTERS(TL_COUNTER_FIELD)
	uint64_t delay_mean_ns, delay_p99_ns, delay_max_ns; // waiting times of sent frames
};

// Class tree in front of a send queue.
struct tl_report_shape {
	const char *name, *port; // borrowed
	uint32_t queue;
	uint64_t bypass_pkts;				  // sent past the classes
	uint64_t tx_pkts, drop_tx_pkts, drop_shaped_pkts; // of the queue
	uint32_t n_classes;
	const struct tl_report_class *classes; // borrowed
};

// Restrictions of the process that are in force.
struct tl_report_process {
	char user[32];
	char capabilities[96]; // kept by main, in the format of cap_to_text(3): "=" is none
	bool sandbox;	       // false: disabled
	bool no_new_privs, seccomp;
	int landlock; // version of the kernel's; 0: not available
};

// Everything at one moment.
struct tl_snapshot {
	struct tl_report_process process;
	uint64_t uptime_ns;
	uint32_t n_ports, n_captures, n_echoes, n_shapes;
	struct tl_report_port ports[TL_REPORT_PORTS];
	struct tl_report_capture *captures; // borrowed, as are the echoes
	struct tl_report_echo *echoes;
	struct tl_report_shape shapes[TL_REPORT_SHAPES];
	// Per port: the stack's own counters (ARP, IP, TCP, drops), named by the net module; n 0 for a capture-only
	// port.
	struct tl_counter net[TL_REPORT_PORTS][TL_REPORT_COUNTERS];
	uint32_t n_net[TL_REPORT_PORTS];
	int tai_offset_s;    // TAI - CLOCK_REALTIME; 0: not set in the kernel
	uint64_t wall_steps; // steps of CLOCK_REALTIME during the run
	bool final;	     // after the drain: identities must hold with nothing in flight
};

// Check every identity of the ledger. While running (final false) a port or an echo may lack frames still in its
// queues, and a recording at most its in_flight, but nothing may be counted twice: the snapshot must read the parts of
// an identity before its whole.
bool tl_report_ledger_ok(const struct tl_snapshot *snap);

// True if no loss was counted: every drop counter of ports and captures is 0.
bool tl_report_lossless(const struct tl_snapshot *snap);

// False if the drops of a port are not counted, or its MAC saw more frames than are accounted for at the end, so that
// tl_report_lossless() is unreliable.
bool tl_report_drops_known(const struct tl_snapshot *snap);

// Return {"min":…,"p50":…,"p90":…,"p99":…,"p999":…,"max":…,"mean":…,"count":…}, all others null when count is 0.
json_t *tl_report_hist_json(const struct tl_hist_summary *summary);

// Return the object of `run --json` and `status --json`: uptime_ns, clock, final, ports[], captures[], echoes[],
// shapes[], net[], ledger_ok, lossless; with one port also "port", the same object as ports[0], and with one echo also
// "echo". A capture has its totals at the top, the same keys per direction in "rx" and "tx", and "rx" and "tx" per
// receive queue in queues[]. An echo has residence_ns, tx_call_ns and with a delay lateness_ns, each
// with "source":"tsc" and "count". unaccounted_pkts is the difference of an identity: negative when counted twice.
json_t *tl_report_json(const struct tl_snapshot *snap);

// Check the identities of a shape; return its object, an element of shapes[]; print it as a table.
bool tl_report_shape_ok(const struct tl_report_shape *shape, bool final);
json_t *tl_report_shape_json(const struct tl_report_shape *shape, bool final);
void tl_report_shape_text(FILE *out, const struct tl_report_shape *shape, bool final);

// True if the rule is in the NIC, or will be.
bool tl_report_rule_holds(const struct tl_report_rule *rule);
// Return the object of a flow rule, as in ports[].flow_rules.
json_t *tl_report_rule_json(const struct tl_report_rule *rule);
// Print one line: "dst 239.1.1.1 udp -> queue 0: installed, 5-tuple filter 1 of 128; not counted by this NIC".
void tl_report_rule_text(FILE *out, const struct tl_report_rule *rule);

// Print the loss ledger and the echoes as text tables.
void tl_report_ledger_text(FILE *out, const struct tl_snapshot *snap);
void tl_report_echo_text(FILE *out, const struct tl_snapshot *snap);

// Print one line of a latency table: " label min 1.2 us p50 …".
void tl_report_hist_text(FILE *out, const char *label, const struct tl_hist_summary *summary);
