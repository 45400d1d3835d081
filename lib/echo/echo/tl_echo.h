// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// echo: message echoes: UDP multicast to a TCP connection, TCP echo (RFC 862) and UDP echo. A host runs on one lcore: a
// network stack and the echoes on its address. The hosts of a port with several lcores share its address; frames for
// another lcore are handed over by steer.
//
// Threads: create, destroy and sample on main; the service functions run on the lcore that owns the host.
// Memory:  create/destroy; payloads are copied once, from the received mbuf into the mbuf that is sent.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_choices.h>
#include <tl_hist.h>
#include <tl_lcore.h>
#include <tl_ledger.h>
#include <tl_net.h>
#include <tl_steer.h>
#include <tl_tail.h>
#include <tl_tx_stamp.h>

struct tl_err;
struct tl_echo_host;
struct tl_policer_cfg;

struct tl_echo_cfg {
	const char *name; // borrowed for life
	enum tl_echo_kind kind;
	uint32_t group_be, source_be;  // MCAST_TO_TCP: group to receive; source 0: any
	struct tl_ip6 group6, source6; // used instead when group6 is set
	uint32_t n_groups;	       // consecutive groups from group_be; 0: one
	uint16_t udp_port_be;
	uint32_t connect_ip_be;	   // MCAST_TO_TCP: destination
	struct tl_ip6 connect_ip6; // used instead when set
	uint16_t connect_port_be;
	uint16_t listen_port_be; // TCP, UDP
	uint32_t send_buffer_bytes;
	enum tl_echo_full on_full;
	bool warm;		  // MCAST_TO_TCP: cache warm-up with each tick
	bool without_cwnd;	  // MCAST_TO_TCP, TCP: no congestion window
	uint32_t user_timeout_ms; // TCP, MCAST_TO_TCP: RFC 5482; 0: 20 000
	bool user_timeout_option; // send it in the SYN, and adopt a longer one of the peer
	uint64_t keepalive_ns;	  // TCP, MCAST_TO_TCP: idle time before the first probe; 0: no probes
	uint32_t rto_min_us;	  // TCP, MCAST_TO_TCP: floor of the RTO; 0: 200 000
	uint64_t pace_bps;	  // TCP, MCAST_TO_TCP: pacing rate of each connection (tl_tcp.h); 0: not paced
	uint64_t reconnect_min_ns, reconnect_max_ns; // MCAST_TO_TCP: first and longest wait before a connect
	uint32_t max_connections;		     // TCP
	uint32_t send_buffers; // TCP: connections with unacknowledged data at once, over all echoes of the port; 0: all
	bool stages;	       // take stage stamps; required by the options below
	uint64_t outlier_ns;   // residence time above which a message is recorded with its context; 0: off
	uint32_t outliers;     // outliers to keep
	uint32_t samples;      // send calls of which the residence is kept; 0: none
	// Impairment for tests: replies leave delay_ns after their messages, 0: at once; without the stages above.
	// jitter_ns, at most delay_ns: 0: always; half the width of a uniform distribution, standard deviation of the
	// others, whose tails are cut at a probability of 1/2050. A draw below 0 counts as 0. The draws are the same in
	// each run.
	uint64_t delay_ns, jitter_ns;
	enum tl_jitter jitter;
	uint32_t delay_limit; // messages of at most 1952 bytes that may wait; a longer one counts as several
	// MCAST_TO_TCP, UDP: colours the bytes of each message at its reception, and drops it before the echo; marks
	// are ignored. NULL: none. Borrowed for tl_echo_host_create().
	const struct tl_policer_cfg *police;
};

// Identity: received = echoed + refused + drop_no_conn + drop_full + drop_tx + drop_police + drop_delay + lost_unacked.
// A message of a TCP echo is a run of in-order bytes as it arrived. echoed: accepted by the stack; messages not
// acknowledged when the connection ends become lost_unacked.
struct tl_echo_stats {
	uint64_t received_msgs;
	TL_ECHO_COUNTERS(TL_COUNTER_FIELD)
	TL_ECHO_PARTS(TL_COUNTER_FIELD)
	uint64_t lost_unacked_msgs; // not acknowledged in full before the connection ended
};

struct tl_echo_host_cfg {
	struct tl_net_cfg net;		  // max_conns and send buffers are set from the echoes
	const struct tl_echo_cfg *echoes; // copied
	uint32_t n_echoes;
	const uint16_t *udp_ports_be; // UDP ports of all echoes on all ports; borrowed for the call
	uint32_t n_udp_ports;
	struct tl_port *port;  // for the multicast filter
	struct tl_rxq *copies; // second queue of the lcore, of an isolated port; NULL: none
	const struct tl_clock *clock;
	struct tl_steer_side *steer;  // NULL: only host of the port
	bool stamped;		      // ts_ns of the port are wire times, by the NIC's clock or the kernel's
	struct tl_tx_stamp *tx_stamp; // borrowed for life: NIC stamps of replies; NULL: none
};

int tl_echo_host_create(const struct tl_echo_host_cfg *cfg, struct tl_echo_host **out, struct tl_err *err);

// Open the ports and groups of all hosts of a port, and announce its address. After tl_port_start(), before the lcores
// run.
int tl_echo_hosts_start(struct tl_echo_host *const *hosts, uint32_t n, struct tl_err *err);

// After link up: the lcore announces the addresses and reports the groups again. Any thread.
void tl_echo_host_announce_again(struct tl_echo_host *host);

// Set *at_ns to the current time, mono_ns, whenever a residence time exceeds above_ns. Before the lcore runs. Return
// 0, or -E2BIG with a message.
int tl_echo_host_alarm(struct tl_echo_host *host, uint64_t above_ns, _Atomic(uint64_t) *at_ns, struct tl_err *err);

void tl_echo_host_destroy(struct tl_echo_host *host);
void tl_echo_host_service(struct tl_echo_host *host, struct tl_service *out);

// Write the service that sends the delayed replies, after that of the host. False: no echo has a delay.
bool tl_echo_delay_service(struct tl_echo_host *host, struct tl_service *out);

// Write the service that sends the waiting segments of paced connections, after that of the host. False: no echo is
// paced.
bool tl_echo_pace_service(struct tl_echo_host *host, struct tl_service *out);

void tl_echo_sample(const struct tl_echo_host *host, uint32_t echo, struct tl_echo_stats *out);
const char *tl_echo_state(const struct tl_echo_host *host, uint32_t echo); // "connected", "connecting", "listening", …
void tl_echo_residence(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out); // ns, source tsc
void tl_echo_tx_call(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out);   // ns, source tsc
// Time from the due time of a delayed reply to the send call: ns, source tsc. False: the echo has no delay.
bool tl_echo_lateness(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out);

// ---- stages of an echo that has them: ns, source tsc, except the wire's end

// Measured cost of a stamp: rdtsc alone, and with its store.
struct tl_stamp_cost {
	double rdtsc_ns, stamp_ns;
};
const struct tl_stamp_cost *tl_echo_stamp_cost(const struct tl_echo_host *host); // NULL: no echo has stages

// Stage histograms, recorded like the residence, which is the sum of PARSE, STACK and QUEUE. WIRE, where the port
// stamps, is recorded once per frame with bytes for the echo.
bool tl_echo_has_stage(const struct tl_echo_host *host, uint32_t echo, enum tl_stage stage);
void tl_echo_stage(const struct tl_echo_host *host, uint32_t echo, enum tl_stage stage, struct tl_hist *out);

// Frames with bytes for the echo that are not in WIRE: without a stamp, or with one later than the poll, a clock error.
uint64_t tl_echo_unstamped_pkts(const struct tl_echo_host *host, uint32_t echo);
uint64_t tl_echo_after_poll_pkts(const struct tl_echo_host *host, uint32_t echo);

// Time between the poll that returned a message and the poll before, once per message.
void tl_echo_poll_gap(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out);

const struct tl_tail *tl_echo_tail(const struct tl_echo_host *host, uint32_t echo);	       // NULL: none
const struct tl_tail_samples *tl_echo_samples(const struct tl_echo_host *host, uint32_t echo); // NULL: none

const struct tl_net *tl_echo_net(const struct tl_echo_host *host);
