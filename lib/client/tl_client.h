// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client: measures an echo from outside, with ordinary kernel sockets. It sends numbered messages at a fixed rate,
// reads them back and reports how long they took and what became of them.
//
// Open loop: message i is due at start + i / rate, and its round-trip time counts from that moment, whenever it was
// really sent. A client that falls behind therefore shows longer times, never fewer of them (no coordinated omission);
// sender_late says how far behind it was.
//
// What is counted:
//   sent         messages handed whole to the kernel
//   send_errors  messages the kernel refused, or that a broken connection cut short
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
#include <tl_hist.h>
#include <tl_units.h>

#define TL_CLIENT_MAX_MESSAGES UINT64_C(1000000000)

enum tl_client_mode {
	TL_CLIENT_MULTICAST, // multicast UDP out, TCP back: the peer connects to us
	TL_CLIENT_TCP,	     // TCP out and back: we connect to the peer
	TL_CLIENT_UDP,	     // UDP out and back
};

struct tl_client_endpoint {
	uint32_t ip_be;
	uint16_t port_be;
	struct tl_ip6 ip6; // instead, when set
};

struct tl_client_cfg {
	enum tl_client_mode mode;
	struct tl_client_endpoint group; // MULTICAST only: where the messages go
	struct tl_client_endpoint peer;	 // MULTICAST: where to listen; else the echo server
	struct tl_client_endpoint
		source; // of what is sent, and so the interface of the multicast; 0: the kernel chooses
	uint64_t ttl;	// MULTICAST only; over IPv6 the hop limit
	uint64_t rate_pps;
	uint64_t duration_ns;
	uint64_t payload_bytes; // at least 8; at most what a datagram holds, 64 KiB over TCP
	uint64_t connect_timeout_ns;
	uint64_t linger_ns; // how long to wait for echoes after the last send
	uint64_t spin_ns;   // poll without sleeping this long before and after each send
	uint64_t seed;	    // of the payloads; a new one per run tells late echoes of an earlier run apart
};

enum tl_client_phase { TL_CLIENT_CONNECTING, TL_CLIENT_SENDING, TL_CLIENT_LINGERING };

struct tl_client_progress {
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
};

struct tl_client_result {
	uint64_t planned;
	uint64_t sent, send_errors;
	uint64_t received, lost, duplicated, corrupt, reordered;
	uint64_t reconnects;	    // connections after the first
	uint64_t first_rtt_ns;	    // of the first echo that came back; not in rtt. Valid when received > 0
	struct tl_hist_summary rtt; // from when the message was due to when user space had read its echo
	struct tl_hist_summary sender_late;
	double rate_pps; // achieved: between the first and the last send; 0 with fewer than two
	uint64_t payload_bytes;
	bool interrupted; // *stop was seen
	bool balanced;	  // both identities hold
};

// The messages a run of this configuration sends.
uint64_t tl_client_planned(const struct tl_client_cfg *cfg);

// Connects, sends, reads back. Returns 0 and fills *result (also when interrupted), or -errno and the sentence: no
// socket, no connection in time (-ETIMEDOUT), interrupted before there was one (-EINTR), no memory.
int tl_client_run(const struct tl_client_cfg *cfg, const struct tl_client_hooks *hooks, struct tl_client_result *result,
	struct tl_err *err);

// 0 when every message that was to be sent was echoed intact, else -EIO and a sentence saying what is missing. An
// interrupted run was to send what it sent.
int tl_client_judge(const struct tl_client_result *result, struct tl_err *err);

// The result as a new JSON object (NULL when out of memory), and as a table for people.
json_t *tl_client_result_json(const struct tl_client_result *result);
void tl_client_result_print(const struct tl_client_result *result, FILE *out);

// The command line of `tapline client`.
struct tl_client_args {
	struct tl_client_cfg cfg; // complete but for the seed
	bool json;
	bool help; // was asked for; nothing else was checked
};

// argv[0] is the command's name. Returns 0, or -EINVAL and a sentence naming the option and what it accepts.
int tl_client_parse_args(int argc, char **argv, struct tl_client_args *args, struct tl_err *err);
void tl_client_print_help(FILE *out);
