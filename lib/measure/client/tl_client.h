// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client: measures an echo from outside, over a transport: kernel sockets, or another (tl_client_link.h). It sends
// numbered messages at a fixed rate, receives their echoes and reports round-trip times and losses.
//
// Two times per message: rtt, from its due time until user space has read its echo, by CLOCK_MONOTONIC; and, if packets
// are stamped, wire_rtt, from the stamp of its departure to that of its echo's arrival.
//
// Open loop: message i is due at start + i / rate, and its round-trip time counts from that moment, regardless of the
// actual send time. A client that falls behind therefore shows longer times, never fewer of them (no coordinated
// omission); sender_late is its delay. In bursts of n, messages k * n .. k * n + n - 1 are all due when the first of
// them is, and leave in a tight loop.
//
// Counts:
//   sent messages accepted completely by the transport
//   send_errors messages rejected by the transport, or truncated by a broken connection
//   received messages sent whose echo arrived intact
//   lost messages sent whose echo did not arrive intact
//   duplicates intact echoes of a message already received
//   reordered intact first echoes that arrived after the echo of a later message
//   corrupt echoes that equal no message sent; the message of such an echo remains lost
// Two identities hold at the end of every run, and are checked against independent sums (balanced):
//   sent = received + lost
//   echoes read = received + duplicates + corrupt
// An echo read is a datagram, or payload_bytes of a stream. The partial echo of a closed connection does not count. A
// stream is always cut every payload_bytes: after missing bytes, echoes are corrupt until it reconnects.
//
// Threads: tl_client_run() runs on the calling thread only. *stop may be set from anywhere, also from a signal handler.
// Memory: the caller's; run() allocates and frees its own.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_err.h>
#include <tl_client_stamp.h>
#include <tl_hist.h>
#include <tl_latency.h>
#include <tl_options.h>
#include <tl_units.h>

#define TL_CLIENT_MAX_MESSAGES UINT64_C(1000000000)
#define TL_CLIENT_MAX_BURST 64
#define TL_CLIENT_MAX_SAMPLES UINT64_C(20000000) // of a report that keeps all samples
#define TL_CLIENT_POINTS 64			 // of a sweep

enum tl_client_axis { TL_CLIENT_AXIS_NONE, TL_CLIENT_AXIS_PAYLOAD, TL_CLIENT_AXIS_RATE };

// Values to measure at; with axis NONE there is one run, as configured, and n is 1.
struct tl_client_sweep {
	enum tl_client_axis axis;
	size_t n;
	uint64_t at[TL_CLIENT_POINTS];
};

// Parse "64", "16,64,256", or "16:1472:5": the last is the number of values at equal distances. Each is in [min, max]
// and greater than the one before. Fills n and at. Return 0, -EINVAL, -ERANGE.
int tl_client_sweep_parse(const char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep);

enum tl_client_mode {
	TL_CLIENT_MULTICAST, // multicast UDP out, TCP back: the peer connects to the client
	TL_CLIENT_TCP,	     // TCP out and back: the client connects to the peer
	TL_CLIENT_UDP,	     // UDP out and back
};

// Stamp source of departures and arrivals. Sources are never mixed: packets without a stamp are counted.
enum tl_client_timestamps {
	TL_CLIENT_STAMPS_AUTO,	 // the kernel if it can, else none; see tl_client_resolve()
	TL_CLIENT_STAMPS_USER,	 // none: times of user space only
	TL_CLIENT_STAMPS_KERNEL, // the kernel, at the transfer of a packet to or from the driver
	TL_CLIENT_STAMPS_NIC,	 // the NIC
	TL_CLIENT_STAMPS_TSC,	 // the TSC, at the return of the driver's calls: not for kernel sockets
};

// Transport of messages, and the sources of its stamps.
struct tl_client_sources {
	const char *transport;			       // "kernel", "port"; static, as are the next two
	const char *departures, *arrivals;	       // "user" (none), "kernel", "tsc", "nic-tx", "nic-rx"
	uint64_t departure_unit_ns, arrival_unit_ns;   // of stamps; 0: unknown
	uint64_t departure_bound_ns, arrival_bound_ns; // 0: unknown; of "user" the error of a reading
	bool realtime;				       // stamps are of CLOCK_REALTIME
	uint64_t realtime_bound_ns; // with bounds of one clock, that of both stamps: its error bound. Else 0
	uint64_t faults;	    // NIC's count of frames that did not, or may not have, left at their time
	const char *fault;	    // name of the driver's first such counter; NULL: none
};

struct tl_client_endpoint {
	uint32_t ip_be;
	uint16_t port_be;
	struct tl_ip6 ip6; // used instead, if set
};

struct tl_client_ops;

struct tl_client_cfg {
	const struct tl_client_ops *transport; // NULL: kernel sockets
	void *transport_ctx;		       // context of its open(); borrowed
	enum tl_client_mode mode;
	struct tl_client_endpoint group; // MULTICAST only: destination of the messages
	struct tl_client_endpoint peer;	 // MULTICAST: address to listen on; else the echo server
	struct tl_client_endpoint
		source; // source address, and so the interface of the multicast; 0: the kernel chooses
	uint64_t ttl;	// MULTICAST only; over IPv6 the hop limit
	uint64_t rate_pps;
	uint64_t burst; // messages due at the same time, at most TL_CLIENT_MAX_BURST; 0 and 1: no bursts
	uint64_t duration_ns;
	uint64_t payload_bytes; // at least 8; at most the size of a datagram, 1 MiB over TCP
	uint64_t connect_timeout_ns;
	uint64_t linger_ns; // time to wait for echoes after the last send
	uint64_t spin_ns;   // polling without sleep, before and after each send
	uint64_t cold;	    // echoes per connection that are counted apart
	double max_loss;    // largest valid share of lost messages among those sent
	enum tl_client_timestamps timestamps;
	uint64_t seed; // of the payloads; a new one per run distinguishes late echoes of an earlier run
};

enum tl_client_phase { TL_CLIENT_BEGINNING, TL_CLIENT_CONNECTING, TL_CLIENT_SENDING, TL_CLIENT_LINGERING };

struct tl_client_progress {
	uint32_t point, points;		  // of a sweep, from 1; else 0
	uint64_t payload_bytes, rate_pps; // in BEGINNING, which only sweeps have
	enum tl_client_phase phase;
	uint64_t elapsed_ns; // while connecting, or since the first message was due
	uint64_t total_ns;   // connect timeout, or duration
	uint64_t sent;
	uint64_t received;
};

struct tl_client_hooks {
	const atomic_bool *stop;						// may be NULL
	void (*progress)(void *ctx, const struct tl_client_progress *progress); // called once a second; may be NULL
	void *ctx;
	struct tl_latency *report; // receives every sample of the result's best time; may be NULL
	uint32_t point, points;	   // for progress()
};

#define TL_CLIENT_COLD_LISTED 64

// Precision of mean and median: half of the interval that holds it with 95 % confidence, if samples are independent of
// each other. Zero with fewer than two.
struct tl_client_spread {
	uint64_t p50_ns;
	double mean_ns;
};

// Times of all echoes but the cold ones.
struct tl_client_times {
	struct tl_hist_summary all;
	struct tl_hist_summary last; // of the last message of each burst; empty without bursts
	struct tl_latency_level levels[TL_LATENCY_LEVELS];
	struct tl_client_spread spread;
};

// Echo with cold caches.
struct tl_client_cold {
	uint64_t connection; // from 0
	uint64_t rtt_ns;
	uint64_t wire_rtt_ns; // 0: no stamps
};

// Time minus that of a null echo: the difference of the means. The mean of a sum is the sum of the means; quantiles are
// not subtracted.
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
	uint64_t received, lost, duplicates, corrupt, reordered;
	uint64_t reconnects;		 // connections after the first
	uint64_t first_rtt_ns;		 // of the first echo received. Valid when received > 0
	struct tl_client_times rtt;	 // from the due time of the message until user space has read its echo
	struct tl_client_times wire_rtt; // from stamp to stamp
	double max_loss;
	uint64_t window_ns; // minimum time that lost messages were waited for; 0: unknown
	struct tl_hist_summary sender_late;
	struct tl_hist_summary poll_gap; // polling gap before each echo of rtt
	struct tl_client_stamp_counts stamps;
	uint64_t wire_over_rtt; // pairs whose stamps are further apart than the user space times around them
	uint64_t cold_count;
	struct tl_client_cold cold[TL_CLIENT_COLD_LISTED]; // the first n_cold of them
	double rate_pps;	 // achieved, between the first and the last send; 0 with fewer than two
	uint64_t elapsed_ns;	 // from the due time of the first message to the end
	uint64_t stolen_ns;	 // by the hypervisor, from the CPUs that the client ran on
	int64_t clock_step_ns;	 // step of CLOCK_REALTIME; 0: none
	uint64_t clock_bound_ns; // error of a reading of it
	struct tl_client_net net;
	struct tl_latency_reasons invalid;
	bool interrupted; // *stop was set
	bool balanced;	  // both identities hold
};

// Return the best times of the run, and their JSON key: wire_rtt with stamps, else rtt.
const struct tl_client_times *tl_client_best(const struct tl_client_result *result);
const char *tl_client_best_name(const struct tl_client_result *result);

// "user", "kernel", "nic" or "tsc".
const char *tl_client_timestamps_name(enum tl_client_timestamps timestamps);

// "multicast", "tcp" or "udp".
const char *tl_client_mode_name(enum tl_client_mode mode);

// Resolve AUTO for kernel sockets on this host.
enum tl_client_timestamps tl_client_resolve(enum tl_client_timestamps timestamps);

// Return the number of messages in a run of this configuration.
uint64_t tl_client_planned(const struct tl_client_cfg *cfg);

// Connect, send, receive. Return 0 and fill *result (also when interrupted), or -errno with a message: no socket, no
// connection in time (-ETIMEDOUT), interrupted before there was one (-EINTR), no memory, an interface that cannot stamp
// (-EOPNOTSUPP).
int tl_client_run(const struct tl_client_cfg *cfg, const struct tl_client_hooks *hooks, struct tl_client_result *result,
	struct tl_err *err);

// Return the configuration of run i of the sweep: cfg with its value.
struct tl_client_cfg tl_client_point(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, size_t i);

// Run once per value of the sweep, into results[sweep->n]; *done is the number of results filled. Return like run(),
// also when interrupted.
int tl_client_sweep_run(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep,
	const struct tl_client_hooks *hooks, struct tl_client_result *results, size_t *done, struct tl_err *err);

// Add the reasons why *result is not valid to its invalid.
void tl_client_verdict(struct tl_client_result *result);

// Return 0 when every planned message was echoed intact, else -EIO and a message with the missing counts. In an
// interrupted run the messages sent count as planned.
int tl_client_check_result(const struct tl_client_result *result, struct tl_err *err);

// Format the result as a new JSON object (out of memory: NULL, or incomplete, which tl_json_check() detects), and as
// text.
json_t *tl_client_result_json(const struct tl_client_result *result);
void tl_client_result_print(const struct tl_client_result *result, FILE *out);

// Format a sweep the same way: points[] has the result of each run, payload_fit the line through the medians of a
// payload sweep.
json_t *tl_client_sweep_json(const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count);
void tl_client_sweep_print(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count, FILE *out);

// The JSON of an earlier run against a null echo: the same path without the device under test.
//
// load() reads it; the caller owns *out. Return 0, or -errno with a message.
int tl_client_null_load(const char *path, json_t **out, struct tl_err *err);
// Check that it has a run of the same mode, payload, rate and stamps for each run of the sweep; cfg's stamps are
// resolved. Return 0, or -EINVAL with a message.
int tl_client_null_check(
	const json_t *null, const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, struct tl_err *err);
// Subtract the time of that run: fill result->net, and invalid if that run was invalid.
void tl_client_null_subtract(const json_t *null, struct tl_client_result *result);

// Fill the latency report that received the samples with the other parts of the result.
void tl_client_report_fill(struct tl_latency *report, const struct tl_client_sweep *sweep,
	const struct tl_client_result *results, size_t n);

// Host on the wire of a run over a port.
struct tl_client_port {
	const char *device; // of argv; NULL: none, the run uses kernel sockets
	uint32_t ip_be, mask_be, gateway_be;
	uint64_t vlan;	  // 0: untagged
	uint64_t lcore;	  // CPU to poll on; TL_CLIENT_ANY_LCORE: chosen by the kernel
	uint64_t lead_us; // lead of datagrams to a NIC that sends at a time; 0: all leave at once
	bool take;
};
#define TL_CLIENT_ANY_LCORE UINT64_MAX

// Command line of `tapline client`.
struct tl_client_args {
	struct tl_client_cfg cfg; // of the first run; complete except for the seed
	struct tl_client_sweep sweep;
	struct tl_client_port port;
	const char *null_path; // from argv, NULL if not given
	struct tl_latency_files files;
	bool require_valid;
	bool json;
	bool help; // help was requested; nothing else was checked
};

// Parse argv; argv[0] is the command's name. Return 0, or -EINVAL with a message naming the option and its valid
// values.
int tl_client_parse_args(int argc, char **argv, struct tl_client_args *args, struct tl_err *err);

// Options of a client, with their help.
extern const struct tl_command tl_client_command;
