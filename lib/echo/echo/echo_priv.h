// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A host, its stack and its echoes.

#include <tl_echo.h>
#include <tl_err.h>
#include <tl_tcp.h>
#include <tl_tx_stamp.h>

#define TL_ECHOES_MAX 1000
#define TL_ECHO_FEW 2 // up to here a burst looks at all echoes, which costs no more than a list of those with messages
#define TL_ECHO_TURN 16 // echoes that a tick looks at

enum tl_echo_state {
	TL_ECHO_IDLE,
	TL_ECHO_CONNECTING,
	TL_ECHO_CONNECTED,
	TL_ECHO_HALF_CLOSED, // the peer sent FIN
	TL_ECHO_CLOSING,     // FIN sent, too
	TL_ECHO_WAITING,
	TL_ECHO_LISTENING,
	TL_ECHO_CLOSED
};

// Messages of a burst that have been sent, with the times of the last flush.
struct tl_echo_sent {
	uint64_t msgs, stay_ns;
	uint64_t stage_ns[TL_STAGES];
};

// Stage measurements of an echo.
struct tl_echo_stages {
	struct tl_hist hist[TL_STAGES];
	struct tl_hist poll_gap; // before the burst with the message
	uint64_t unstamped_pkts, after_poll_pkts;
	uint64_t outlier_ns; // UINT64_MAX: off
	struct tl_tail *tail;
	struct tl_tail_samples *samples;
	bool open; // the last outlier waits for the burst after it
	struct tl_echo_sent sent;
	struct tl_echo *next_sent; // of those with sent.msgs
};

struct tl_echo {
	struct tl_echo_cfg cfg;
	char name[32];
	struct tl_echo_host *host;
	struct tl_udp *udp;
	struct tl_tcp *conn; // MCAST_TO_TCP: the connection, NULL while waiting
	struct tl_tcp_listener *listener;
	_Atomic(int) state;    // enum tl_echo_state; the lcore writes, main reads
	uint64_t retry_at_ns;  // end of the wait, or of the timeout of a half-closed peer; 0: set by the next tick
	uint32_t acked_at_fin; // tl_tcp_acked() when the peer half-closed
	uint64_t backoff_ns;
	uint64_t pending_msgs;	      // echoed since the last flush, residence not recorded yet
	uint64_t pending_bytes;	      // MCAST_TO_TCP: not counted yet
	struct tl_echo *next_pending; // of those that a burst had messages for; NULL: in no list
	struct tl_echo_stats stats;
	struct tl_hist residence;
	struct tl_hist tx_call;
	struct tl_echo_stages *stages; // NULL: none
	struct tl_echo_delay *delay;   // NULL: replies leave at once
	struct tl_echo_police *police; // NULL: none
};

#define TL_ECHO_ALARMS_MAX 64 // as many as recordings

// A trigger for long residence times.
struct tl_echo_alarm {
	uint64_t above_ns;
	_Atomic(uint64_t) *at_ns;
};

// Stamps of the current part of a burst, and facts of the burst before.
struct tl_echo_staged {
	uint64_t parsed_tsc, ready_tsc;
	struct tl_tail_burst last;
	struct tl_echo *sent; // echoes with messages sent in this burst
	bool has_tail;	      // an echo keeps outliers
	bool open;	      // an outlier waits for the burst after it
};

// A reply to be stamped by the NIC, from its marking to the return of the send call.
struct tl_echo_marked {
	const uint8_t *payload;		  // trigger's payload
	uint64_t sent_pkts, dropped_pkts; // counters of the queue at the marking
	bool open;
};

struct tl_echo_host {
	struct tl_net *net;
	struct tl_txq *tx;
	struct tl_port *port;
	const struct tl_clock *clock;
	struct tl_steer_side *steer; // NULL: only host of the port
	struct tl_rxq *copies;	     // NULL: none
	uint32_t n_echoes;
	struct tl_echo *pending; // with more than TL_ECHO_FEW: those that may have messages; ends at &echoes[n_echoes]
	uint32_t next_tick;	 // index of the echo whose turn is next
	uint64_t alarm_ns;	 // lowest of all alarms; UINT64_MAX: none
	struct tl_echo_alarm alarms[TL_ECHO_ALARMS_MAX];
	uint32_t n_alarms;
	_Atomic(uint32_t) link_ups;    // link-up events, counted by main
	uint32_t announced_ups;	       // value of link_ups at the last announcement
	struct tl_echo_delays *delays; // NULL: no echo has a delay
	bool closing;
	bool hung_up;	// while closing: connections are closed, or closing
	bool shut;	// the same, and ports are closed
	bool is_staged; // an echo has stages
	bool stamped;	// frames carry wire timestamps
	struct tl_echo_staged staged;
	struct tl_tx_stamp *tx_stamp; // NULL: replies are not stamped
	struct tl_echo_marked marked;
	uint64_t answering[(UINT16_MAX + 1) / 64]; // one bit per UDP port, by port_be, that answers every datagram
	struct tl_stamp_cost stamp_cost;
	uint64_t reset_at_ns;	 // while closing; 0: set by the next tick
	struct tl_burst copied;	 // burst of the queue copies
	struct tl_echo echoes[]; // n_echoes; 450 KiB of histograms each
};

// True if the sender would answer our reply, in an endless loop.
static inline bool tl_echo_would_loop(const struct tl_echo_host *host, uint16_t src_port_be)
{
	return (host->answering[src_port_be / 64] >> (src_port_be % 64) & 1) != 0;
}

// HOT. List an echo of many before its message: the flush that follows looks at listed ones alone.
static inline void tl_echo_pend(struct tl_echo *echo)
{
	if (echo->next_pending != NULL)
		return;
	echo->next_pending = echo->host->pending;
	echo->host->pending = echo;
}

// loop.c: find the ports that would loop.
void tl_echo_note_answering(struct tl_echo_host *host, const struct tl_echo_host_cfg *cfg);

// echo_dp.c: the lcore's roles and the callbacks of the stack.
void tl_echo_rx(void *host, struct tl_burst *burst);
void tl_echo_steered_rx(void *host, struct tl_burst *burst);
void tl_echo_after_tx(void *host, struct tl_burst *burst);
uint16_t tl_echo_poll(void *host, uint64_t mono_ns);			       // frames from other lcores
void tl_echo_count_sent(struct tl_echo *echo);				       // MCAST_TO_TCP: count pending messages
void tl_echo_account(struct tl_echo_host *host, const struct tl_burst *burst); // messages that left with the last flush
void tl_echo_mcast_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_udp_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_listed_mcast_datagram(void *echo, const struct tl_udp_datagram *datagram); // the same, of many echoes
void tl_echo_listed_udp_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_listed_tcp_data(void *echo, struct tl_tcp *c, const uint8_t *data, uint32_t len);
void tl_echo_held_datagram(void *echo, uint16_t len, bool left);
void tl_echo_tcp_data(void *echo, struct tl_tcp *c, const uint8_t *data, uint32_t len);
void tl_echo_raise_alarms(const struct tl_echo_host *host, uint64_t stay_ns, uint64_t mono_ns);

// parts_dp.c: parse frames from..to-1; pass a burst, whose first frames are parsed, to the stack in parts, and send the
// replies of each but the last. polled: the burst as polled, before the split by owner.
void tl_echo_parse(struct tl_burst *burst, uint16_t from, uint16_t to);
void tl_echo_input(struct tl_echo_host *host, struct tl_burst *burst, const struct tl_burst *polled, uint16_t parsed);

// pace_dp.c: functions of the service of paced connections.
uint16_t tl_echo_pace_poll(void *host, uint64_t mono_ns);
uint64_t tl_echo_pace_next_ns(void *host);

// copies_dp.c: pass a burst of an isolated port's second queue to the stack, and send its replies.
void tl_echo_take_copies(struct tl_echo_host *host, uint64_t mono_ns);

// mark_dp.c: the same callbacks with marking of a reply on request, and its publication after the send call.
void tl_echo_marking_mcast_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_marking_udp_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_marking_tcp_data(void *echo, struct tl_tcp *c, const uint8_t *data, uint32_t len);
void tl_echo_publish_marked(struct tl_echo_host *host, const struct tl_burst *burst);

// echo_conn.c: connections.
int tl_echo_open(struct tl_echo *echo, struct tl_err *err);
void tl_echo_tick(void *host, uint64_t mono_ns);
void tl_echo_close(void *host);
bool tl_echo_closed(void *host);
void tl_echo_finish(void *host);

// stages_dp.c: the same roles with stage stamps.
void tl_echo_staged_rx(void *host, struct tl_burst *burst);
void tl_echo_staged_after_tx(void *host, struct tl_burst *burst);
uint16_t tl_echo_staged_poll(void *host, uint64_t mono_ns);
void tl_echo_stage_part(struct tl_echo_host *host, const struct tl_burst *burst);      // before tl_echo_account()
uint64_t tl_echo_own_frames(const struct tl_echo *echo, const struct tl_burst *burst); // one bit per frame

// stages.c
int tl_echo_stages_init(struct tl_echo_host *host, int socket_id, struct tl_err *err);
void tl_echo_stages_fini(struct tl_echo_host *host); // also after a failed init

// COLD. Record an outlier of this burst; complete those before it with facts of this burst; store facts of this burst.
void tl_echo_note_outlier(struct tl_echo *echo, const struct tl_burst *burst);
void tl_echo_complete_outliers(struct tl_echo_host *host, const struct tl_burst *burst);
void tl_echo_keep_burst(struct tl_echo_host *host, const struct tl_burst *burst);

static inline void tl_echo_parse_at(struct tl_burst *burst, uint16_t i)
{
	const struct rte_mbuf *m = burst->pkts[i];

	tl_wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &burst->pkt[i]);
}

// Take a stage stamp.
static inline void tl_echo_stamp(uint64_t *at_tsc)
{
	*at_tsc = rte_rdtsc();
}

static inline uint64_t tl_echo_poll_gap_ns(const struct tl_echo_host *host, const struct tl_burst *burst)
{
	if (TL_UNLIKELY(burst->last_tsc == 0))
		return TL_TAIL_UNKNOWN;
	return tl_clock_span_ns(host->clock, burst->tsc - burst->last_tsc);
}
