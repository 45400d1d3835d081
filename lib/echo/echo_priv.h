// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A host, its stack and its echoes.

#include <tl_echo.h>
#include <tl_err.h>
#include <tl_tcp.h>

#define TL_ECHOES_MAX 16

enum tl_echo_state {
	TL_ECHO_IDLE,
	TL_ECHO_CONNECTING,
	TL_ECHO_CONNECTED,
	TL_ECHO_WAITING,
	TL_ECHO_LISTENING,
	TL_ECHO_CLOSED
};

struct tl_echo {
	struct tl_echo_cfg cfg;
	char name[32];
	struct tl_echo_host *host;
	struct tl_udp *udp;
	struct tl_tcp *conn; // MCAST_TO_TCP: the one connection, NULL while waiting
	struct tl_tcp_listener *listener;
	_Atomic(int) state; // enum tl_echo_state; the lcore writes, main reads
	uint64_t retry_at_ns;
	uint64_t backoff_ns;
	uint64_t pending_msgs;	// echoed in this burst, residence not yet recorded
	uint64_t pending_bytes; // MCAST_TO_TCP: of those, which are not yet counted
	struct tl_echo_stats stats;
	struct tl_hist residence;
	struct tl_hist tx_call;
};

#define TL_ECHO_ALARMS_MAX 16

// Whom to tell that a message stayed too long.
struct tl_echo_alarm {
	uint64_t above_ns;
	_Atomic(uint64_t) *at_ns;
};

struct tl_echo_host {
	struct tl_net *net;
	struct tl_txq *tx;
	struct tl_port *port;
	const struct tl_clock *clock;
	struct tl_steer_side *steer; // NULL: the port's only host
	uint32_t n_echoes;
	uint64_t alarm_ns; // the lowest of all alarms; UINT64_MAX: there is none
	struct tl_echo_alarm alarms[TL_ECHO_ALARMS_MAX];
	uint32_t n_alarms;
	bool closing;
	uint64_t reset_at_ns;	 // while closing; 0: set by the next tick
	struct tl_echo echoes[]; // n_echoes; each with 450 KiB of histograms
};

// echo_dp.c: the lcore's roles and the callbacks of the stack.
void tl_echo_rx(void *host, struct tl_burst *burst);
void tl_echo_steered_rx(void *host, struct tl_burst *burst);
void tl_echo_after_tx(void *host, struct tl_burst *burst);
uint16_t tl_echo_poll(void *host, uint64_t mono_ns); // what other lcores handed over
void tl_echo_mcast_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_udp_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_tcp_data(void *echo, struct tl_tcp *c, const uint8_t *data, uint32_t len);

// echo_conn.c: connections come and go.
int tl_echo_open(struct tl_echo *echo, struct tl_err *err);
void tl_echo_tick(void *host, uint64_t mono_ns);
void tl_echo_close(void *host);
bool tl_echo_closed(void *host);
void tl_echo_finish(void *host);
