// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client: measures an echo from outside, over a transport: ordinary kernel sockets, or another (tl_client_link.h). It
// sends numbered messages at a fixed rate, reads them back and reports how long they took and what became of them.
//
// Two times of each message: rtt, from when it was due to when user space had read its echo, by CLOCK_MONOTONIC; and,
// where something stamps packets, wire_rtt, from the stamp of its departure to that of its echo's arrival.
//
// Open loop: message i is due at start + i / rate, and its round-trip time counts from that moment, whenever it was
// really sent. A client that falls behind therefore shows longer times, never fewer of them (no coordinated omission);
// sender_late says how far behind it was. In bursts of n, messages k * n .. k * n + n - 1 are all due when the first of
// them is, and leave in a loop that does nothing else.
//
// What is counted:
//   sent         messages handed whole to the transport
//   send_errors  messages the transport refused, or that a broken connection cut short
//   received     messages sent whose echo came back intact
//   lost         messages sent whose echo did not come back intact
//   duplicated   intact echoes of a message already received
//   reordered    intact first echoes that came after the echo of a later message
//   corrupt      echoes that equal no message sent; the message they were meant to be stays lost
// Two identities hold at the end of every run, and are checked against independent sums (balanced):
//   sent = received + lost
//   echoes read = received + duplicated + corrupt
// An echo read is a datagram, or payload_bytes of a stream. What a closed connection leaves of an unfinished echo is no
// echo read. A stream is always cut every payload_bytes: when bytes go missing, echoes are corrupt until it reconnects.
//
// Threads: tl_client_run() does everything on the calling thread. *stop may be set from anywhere, also from a signal
// handler. Memory: the caller's; run() allocates and frees what it needs.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_err.h>
#include <tl_client_stamp.h>
#include <tl_client_sweep.h>
#include <tl_hist.h>
#include <tl_latency.h>
#include <tl_options.h>
#include <tl_units.h>

#define TL_CLIENT_MAX_MESSAGES UINT64_C(1000000000)
#define TL_CLIENT_MAX_BURST 64
#define TL_CLIENT_MAX_SAMPLES UINT64_C(20000000) // of a report that keeps each

enum tl_client_mode {
	TL_CLIENT_MULTICAST, // multicast UDP out, TCP back: the peer connects to us
	TL_CLIENT_TCP,	     // TCP out and back: we connect to the peer
	TL_CLIENT_UDP,	     // UDP out and back
};

// Who stamps departures and arrivals. None stands in for another: what has no stamp is counted.
enum tl_client_timestamps {
	TL_CLIENT_STAMPS_AUTO,	 // the kernel where it can, else nobody; tl_client_resolve() says which
	TL_CLIENT_STAMPS_USER,	 // nobody: there is only what user space sees
	TL_CLIENT_STAMPS_KERNEL, // the kernel, when it gives a packet to the driver and takes one from it
	TL_CLIENT_STAMPS_NIC,	 // the NIC
	TL_CLIENT_STAMPS_TSC,	 // the processor's counter, when the driver's calls return: not of kernel sockets
};

// Who carries messages, and who stamps them there.
struct tl_client_sources {
	const char *transport;			       // "kernel", "port"; static, as are the next two
	const char *departures, *arrivals;	       // "user" (nobody), "kernel", "tsc", "nic-tx", "nic-rx"
	uint64_t departure_unit_ns, arrival_unit_ns;   // of stamps; 0: unknown
	uint64_t departure_bound_ns, arrival_bound_ns; // 0: nobody says; of "user" what a reading may be off by
	bool realtime;				       // stamps are of CLOCK_REALTIME
	uint64_t realtime_bound_ns; // where bounds are of one clock, that of both stamps: what it may be off by. Else 0
	uint64_t faults;   // what the NIC has counted of frames that did not, or may not have, left at their time
	const char *fault; // the driver's counter of them, the first; NULL: none
};

struct tl_client_endpoint {
	uint32_t ip_be;
	uint16_t port_be;
	struct tl_ip6 ip6; // instead, when set
};

struct tl_client_ops;

struct tl_client_cfg {
	const struct tl_client_ops *transport; // NULL: sockets of the kernel
	void *transport_ctx;		       // what its open() needs; borrowed
	enum tl_client_mode mode;
	struct tl_client_endpoint group; // MULTICAST only: where the messages go
	struct tl_client_endpoint peer;	 // MULTICAST: where to listen; else the echo server
	struct tl_client_endpoint
		source; // of what is sent, and so the interface of the multicast; 0: the kernel chooses
	uint64_t ttl;	// MULTICAST only; over IPv6 the hop limit
	uint64_t rate_pps;
	uint64_t burst; // messages that are due at the same time, at most TL_CLIENT_MAX_BURST; 0 and 1: each alone
	uint64_t duration_ns;
	uint64_t payload_bytes; // at least 8; at most what a datagram holds, 64 KiB over TCP
	uint64_t connect_timeout_ns;
	uint64_t linger_ns; // how long to wait for echoes after the last send
	uint64_t spin_ns;   // poll without sleeping this long before and after each send
	uint64_t cold;	    // so many echoes after each connect are kept apart
	double max_loss;    // of the messages sent, the lost ones: a greater share makes the result invalid
	enum tl_client_timestamps timestamps;
	uint64_t seed; // of the payloads; a new one per run tells late echoes of an earlier run apart
};

enum tl_client_phase { TL_CLIENT_BEGINNING, TL_CLIENT_CONNECTING, TL_CLIENT_SENDING, TL_CLIENT_LINGERING };

struct tl_client_progress {
	uint32_t point, points;		  // of a sweep, from 1; else 0
	uint64_t payload_bytes, rate_pps; // in BEGINNING, which only sweeps have
	enum tl_client_phase phase;
	uint64_t elapsed_ns; // in connecting, or since the first message was due
	uint64_t total_ns;   // the connect timeout, or the duration
	uint64_t sent;
	uint64_t received;
};

struct tl_client_hooks {
	const atomic_bool *stop;						// may be NULL
	void (*progress)(void *ctx, const struct tl_client_progress *progress); // once a second; may be NULL
	void *ctx;
	struct tl_latency *report; // gets every sample of the result's best time; may be NULL
	uint32_t point, points;	   // for progress()
};

#define TL_CLIENT_COLD_LISTED 64
#define TL_CLIENT_REASONS 8

// How well the middle of a distribution is known: half of the interval that holds it with 95 % confidence, were samples
// independent of each other. Zero with fewer than two.
struct tl_client_spread {
	uint64_t p50_ns;
	double mean_ns;
};

// An echo that found cold caches.
struct tl_client_cold {
	uint64_t connection; // from 0
	uint64_t rtt_ns;
	uint64_t wire_rtt_ns; // 0: no stamps
};

// Time without that of a null echo: the difference of the means. The mean of a sum is the sum of the means; quantiles
// are not subtracted.
struct tl_client_net {
	bool given;
	double mean_ns, mean_ci95_ns;
};

struct tl_client_result {
	enum tl_client_mode mode;
	enum tl_client_timestamps timestamps; // never AUTO
	struct tl_client_sources sources;
	uint64_t planned, asked_pps, payload_bytes, burst;
	uint64_t sent, send_errors;
	uint64_t received, lost, duplicated, corrupt, reordered;
	uint64_t reconnects;	    // connections after the first
	uint64_t first_rtt_ns;	    // of the first echo that came back. Valid when received > 0
	struct tl_hist_summary rtt; // from when the message was due to when user space had read its echo; without cold
	struct tl_hist_summary wire_rtt; // from stamp to stamp; without cold
	struct tl_hist_summary last_rtt,
		last_wire_rtt; // of rtt and wire_rtt the last of each burst; empty without bursts
	struct tl_client_spread rtt_spread, wire_spread;
	struct tl_latency_level rtt_levels[TL_LATENCY_LEVELS], wire_levels[TL_LATENCY_LEVELS];
	double max_loss;
	uint64_t loss_window_ns; // what is lost was waited for so long at least; 0: not known
	struct tl_hist_summary sender_late;
	struct tl_hist_summary poll_gap; // before each echo of rtt, how long nobody had looked
	struct tl_client_stamp_counts stamps;
	uint64_t wire_over_rtt; // pairs whose stamps are further apart than what user space saw around them
	uint64_t cold_count;
	struct tl_client_cold cold[TL_CLIENT_COLD_LISTED]; // the first of them
	double rate_pps;	 // achieved: between the first and the last send; 0 with fewer than two
	uint64_t elapsed_ns;	 // from the first message that was due to the end
	uint64_t stolen_ns;	 // by the hypervisor, from the CPUs that the client ran on
	int64_t clock_step_ns;	 // by which CLOCK_REALTIME was set; 0: it was not
	uint64_t clock_bound_ns; // what a reading of it may be off by
	struct tl_client_net net;
	uint32_t n_invalid;
	char invalid[TL_CLIENT_REASONS][TL_LATENCY_TEXT]; // why it must not be believed; none: it is valid
	bool interrupted;				  // *stop was seen
	bool balanced;					  // both identities hold
};

// The best time there is of the run, and its JSON key: wire_rtt with stamps, else rtt.
const struct tl_hist_summary *tl_client_best(const struct tl_client_result *result);
const struct tl_latency_level *tl_client_best_levels(const struct tl_client_result *result);
const struct tl_client_spread *tl_client_best_spread(const struct tl_client_result *result);
const char *tl_client_best_name(const struct tl_client_result *result);

// "user", "kernel", "nic" or "tsc".
const char *tl_client_timestamps_name(enum tl_client_timestamps timestamps);

// "multicast", "tcp" or "udp".
const char *tl_client_mode_name(enum tl_client_mode mode);

// What AUTO is on this host over sockets of the kernel.
enum tl_client_timestamps tl_client_resolve(enum tl_client_timestamps timestamps);

// The messages a run of this configuration sends.
uint64_t tl_client_planned(const struct tl_client_cfg *cfg);

// Connects, sends, reads back. Returns 0 and fills *result (also when interrupted), or -errno and the sentence: no
// socket, no connection in time (-ETIMEDOUT), interrupted before there was one (-EINTR), no memory, an interface that
// cannot stamp (-EOPNOTSUPP).
int tl_client_run(const struct tl_client_cfg *cfg, const struct tl_client_hooks *hooks, struct tl_client_result *result,
	struct tl_err *err);

// Run i of the sweep: cfg with its value.
struct tl_client_cfg tl_client_point(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, size_t i);

// One run per value of the sweep, results[sweep->n]; *done is how many are filled. Returns like run(), also when
// interrupted.
int tl_client_sweep_run(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep,
	const struct tl_client_hooks *hooks, struct tl_client_result *results, size_t *done, struct tl_err *err);

// Writes why the figures of *result, taken as they are, must not be believed into its invalid[].
void tl_client_verdict(struct tl_client_result *result);

// 0 when every message that was to be sent was echoed intact, else -EIO and a sentence saying what is missing. An
// interrupted run was to send what it sent.
int tl_client_judge(const struct tl_client_result *result, struct tl_err *err);

// The result as a new JSON object (NULL when out of memory), and as a table for people.
json_t *tl_client_result_json(const struct tl_client_result *result);
void tl_client_result_print(const struct tl_client_result *result, FILE *out);

// The same of a sweep: points[] has the result of each run, slope the line through the medians of a payload sweep.
json_t *tl_client_sweep_json(const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count);
void tl_client_sweep_print(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count, FILE *out);

// The JSON of an earlier run against a null echo: the same path, without what is to be measured.
//
// load() reads it; the caller owns *out. Returns 0, or -errno and the sentence.
int tl_client_null_load(const char *path, json_t **out, struct tl_err *err);
// Whether it has a run of the same mode, payload, rate and stamps for each of the sweep; cfg's stamps are resolved.
// Returns 0, or -EINVAL and the sentence.
int tl_client_null_check(
	const json_t *null, const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, struct tl_err *err);
// Takes the time of that run off: fills result->net, and invalid[] when it was invalid.
void tl_client_null_subtract(const json_t *null, struct tl_client_result *result);

// What the result has to say in the report of latencies that got its samples.
void tl_client_report_fill(struct tl_latency *report, const struct tl_client_sweep *sweep,
	const struct tl_client_result *results, size_t n);

// The host that a run over a port is on the wire.
struct tl_client_port {
	const char *device; // of argv; NULL: there is none, the run is over sockets of the kernel
	uint32_t ip_be, mask_be, gateway_be;
	uint64_t vlan;	  // 0: untagged
	uint64_t lcore;	  // the CPU to poll on; TL_CLIENT_ANY_LCORE: wherever the kernel puts the thread
	uint64_t lead_us; // datagrams are given to a NIC that sends at a time so long before; 0: all leave at once
	bool take;
};
#define TL_CLIENT_ANY_LCORE UINT64_MAX

// The command line of `tapline client`.
struct tl_client_args {
	struct tl_client_cfg cfg; // of the first run; complete but for the seed
	struct tl_client_sweep sweep;
	struct tl_client_port port;
	const char *null_path; // these are of argv, NULL where not given
	struct tl_latency_files files;
	bool require_valid;
	bool json;
	bool help; // was asked for; nothing else was checked
};

// argv[0] is the command's name. Returns 0, or -EINVAL and a sentence naming the option and what it accepts.
int tl_client_parse_args(int argc, char **argv, struct tl_client_args *args, struct tl_err *err);

// What a client accepts, with its help.
extern const struct tl_command tl_client_command;
