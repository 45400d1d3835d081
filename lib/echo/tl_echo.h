// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// echo: the messages that come in and go out again: UDP multicast to a TCP connection, TCP echo (RFC 862) and UDP echo.
// A host is what one lcore runs: one network stack and the echoes that live on its address. The hosts of a port with
// several lcores share its address; what one receives for another goes there by steer.
//
// Threads: create, destroy and sample on main; the service functions run on the lcore that owns the host.
// Memory:  create/destroy; payloads are copied once, from the received mbuf into the mbuf that is sent.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_hist.h>
#include <tl_lcore.h>
#include <tl_net.h>
#include <tl_steer.h>
#include <tl_tail.h>
#include <tl_tx_stamp.h>

struct tl_err;
struct tl_echo_host;

enum tl_echo_kind { TL_ECHO_KIND_MCAST_TO_TCP, TL_ECHO_KIND_TCP, TL_ECHO_KIND_UDP };

// What to do with a message that the TCP send buffer has no room for.
enum tl_echo_full {
	TL_ECHO_FULL_DROP,  // drop this message, counted drop_full_msgs
	TL_ECHO_FULL_RESET, // the same, and reset the connection: a peer that does not read is a dead peer
};

struct tl_echo_cfg {
	const char *name; // borrowed for life
	enum tl_echo_kind kind;
	uint32_t group_be, source_be;  // MCAST_TO_TCP: what to receive; source 0: any
	struct tl_ip6 group6, source6; // instead, when group6 is set
	uint32_t n_groups;	       // from group_be on; 0: one
	uint16_t udp_port_be;
	uint32_t connect_ip_be;	   // MCAST_TO_TCP: where to send
	struct tl_ip6 connect_ip6; // instead, when set
	uint16_t connect_port_be;
	uint16_t listen_port_be; // TCP, UDP
	uint32_t send_buffer_bytes;
	enum tl_echo_full on_full;
	bool warm;		  // MCAST_TO_TCP: a send for practice with each tick
	bool without_cwnd;	  // MCAST_TO_TCP, TCP: only the peer's window bounds what is in flight
	uint32_t user_timeout_ms; // TCP, MCAST_TO_TCP: RFC 5482; 0: 20 000
	bool user_timeout_option; // tell the peer, and be as patient as it asks
	uint64_t keepalive_ns;	  // TCP, MCAST_TO_TCP: silence before the first probe; 0: no probes
	uint32_t rto_min_us;	  // TCP, MCAST_TO_TCP: floor of the RTO; 0: 200 000
	uint64_t reconnect_min_ns, reconnect_max_ns; // MCAST_TO_TCP: first and longest wait for the next attempt
	uint32_t max_connections;		     // TCP
	uint32_t send_buffers; // TCP: connections with data unacknowledged at once, of the port's together; 0: all
	bool stages;	       // take stamps on the way; what follows needs them
	uint64_t outlier_ns;   // a message that stayed longer is kept with what was around it; 0: none
	uint32_t outliers;     // so many of them
	uint32_t samples;      // the last so many bursts' residence; 0: none
};

// Messages: received = echoed + refused + drop_no_conn + drop_full + drop_tx + lost_unacked. A message of a TCP echo is
// a run of in-order bytes as it arrived. echoed: handed to the stack; those that the peer has not acknowledged when the
// connection ends become lost_unacked.
struct tl_echo_stats {
	uint64_t received_msgs, received_bytes;
	uint64_t echoed_msgs, echoed_bytes;
	uint64_t refused_msgs;	    // UDP: from a port that would answer the answer
	uint64_t drop_no_conn_msgs; // no connection to send on
	uint64_t drop_full_msgs;    // no room in the send buffer
	uint64_t drop_tx_msgs;	    // no mbuf, too long for the MTU, or no route
	uint64_t lost_unacked_msgs; // the connection ended before the peer acknowledged all of it
	uint64_t connects, disconnects, connections;
};

struct tl_echo_host_cfg {
	struct tl_net_cfg net;		  // max_conns and the send buffers are set from the echoes
	const struct tl_echo_cfg *echoes; // copied
	uint32_t n_echoes;
	const uint16_t *udp_ports_be; // all that are echoed by UDP, on whichever port; borrowed for the call
	uint32_t n_udp_ports;
	struct tl_port *port; // for the multicast filter
	const struct tl_clock *clock;
	struct tl_steer_side *steer; // NULL: the port's only host
	bool stamped; // the port's ts_ns say when a frame was on the wire, by the NIC's clock or the kernel's
	struct tl_tx_stamp *tx_stamp; // borrowed for life: replies that the NIC stamps; NULL: none
};

int tl_echo_host_create(const struct tl_echo_host_cfg *cfg, struct tl_echo_host **out, struct tl_err *err);

// Opens the echoes' ports and groups on all hosts of one port, and announces its address. After tl_port_start(), before
// the lcores run.
int tl_echo_hosts_start(struct tl_echo_host *const *hosts, uint32_t n, struct tl_err *err);

// The port's link was down and is up again: the lcore announces the addresses and reports the groups anew. Any thread.
void tl_echo_host_announce_again(struct tl_echo_host *host);

// Instead of being run: the port's other hosts must not wait for this one's last frames.
void tl_echo_host_forgo(struct tl_echo_host *host);

// From now on *at_ns is set to the time, mono_ns, when a message's residence was longer than above_ns. Before the lcore
// runs. Returns 0, or -E2BIG with a sentence.
int tl_echo_host_alarm(struct tl_echo_host *host, uint64_t above_ns, _Atomic(uint64_t) *at_ns, struct tl_err *err);

void tl_echo_host_destroy(struct tl_echo_host *host);
void tl_echo_host_service(struct tl_echo_host *host, struct tl_service *out);

void tl_echo_sample(const struct tl_echo_host *host, uint32_t echo, struct tl_echo_stats *out);
const char *tl_echo_state(const struct tl_echo_host *host, uint32_t echo); // "connected", "connecting", "listening", …
void tl_echo_residence(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out); // ns, source tsc
void tl_echo_tx_call(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out);   // ns, source tsc

// ---- stages, of an echo that has them: ns, source tsc but for the wire's end

// What a stamp costs here, measured at create(): rdtsc alone, and as it is taken on the way.
struct tl_stamp_cost {
	double rdtsc_ns, stamp_ns;
};
const struct tl_stamp_cost *tl_echo_stamp_cost(const struct tl_echo_host *host); // NULL: no echo has stages

// Recorded like the residence, of which PARSE, STACK and QUEUE are the parts. WIRE, where the port stamps, is recorded
// once per frame with bytes for the echo.
bool tl_echo_has_stage(const struct tl_echo_host *host, uint32_t echo, enum tl_stage stage);
void tl_echo_stage(const struct tl_echo_host *host, uint32_t echo, enum tl_stage stage, struct tl_hist *out);

// Frames with bytes for the echo that are not in WIRE: they came without a stamp of the port's source, or it is later
// than the poll that brought them, a fault of clocks.
uint64_t tl_echo_unstamped_pkts(const struct tl_echo_host *host, uint32_t echo);
uint64_t tl_echo_after_poll_pkts(const struct tl_echo_host *host, uint32_t echo);

// The time between the poll that brought a message and the one before, once per message.
void tl_echo_poll_gap(const struct tl_echo_host *host, uint32_t echo, struct tl_hist *out);

const struct tl_tail *tl_echo_tail(const struct tl_echo_host *host, uint32_t echo);	       // NULL: none
const struct tl_tail_samples *tl_echo_samples(const struct tl_echo_host *host, uint32_t echo); // NULL: none

const struct tl_net *tl_echo_net(const struct tl_echo_host *host);
