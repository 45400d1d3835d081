// SPDX-License-Identifier: BSD-3-Clause
// Expiry of the timers of a connection.

#include <rte_mbuf.h>

#include <tl_port.h>

#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_pace.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

#define BACKOFF_MAX 16
#define PROBES_PER_USER_TIMEOUT 4
#define KEEPALIVE_PROBES 5
#define KEEPALIVE_INTERVAL_MAX_NS (15 * TL_NS_PER_S)
#define FIN_WAIT_2_IDLE_NS (60 * TL_NS_PER_S)

// ---- retransmission (RFC 6298)

uint64_t tl_tcp_rto_ns(const struct tl_tcp *c)
{
	return tl_min_u64(c->rto_ns << c->backoff, TL_TCP_RTO_MAX_NS);
}

// log2 of the RTT samples per round trip, which divides the weight of each (RFC 7323, appendix G).
static unsigned samples_shift(const struct tl_tcp *c)
{
	uint32_t flight = c->snd_max - c->snd_una;
	unsigned shift = 0;

	while (flight >> shift > 2u * c->mss)
		shift++;
	return shift;
}

void tl_tcp_rtt_sample(struct tl_tcp *c, uint64_t rtt_ns)
{
	if (c->srtt_ns == 0) {
		c->srtt_ns = tl_max_u64(rtt_ns, 1);
		c->rttvar_ns = c->srtt_ns / 2;
		tl_tcp_rtt_use(c, c->srtt_ns);
	} else {
		tl_tcp_rtt_smooth(c, rtt_ns, samples_shift(c));
	}
	c->backoff = 0;
}

static void back_off(struct tl_tcp *c)
{
	if (c->backoff < BACKOFF_MAX)
		c->backoff++;
}

static void time_out(struct tl_tcp *c)
{
	tl_count(&c->net->stats.tcp_timeouts, 1);
	if (c->state == TL_TCPS_SYN_SENT || c->state == TL_TCPS_SYN_RECEIVED) {
		c->syn_lost = true;
		back_off(c);
		tl_tcp_send_syn(c);
		return;
	}
	if (c->claimed_mss != 0)
		tl_tcp_pmtu_believe(c);
	tl_tcp_cc_timeout(c);
	back_off(c);
	c->snd_nxt = c->snd_una;
	tl_tcp_output(c); // one segment: cwnd is one
}

static bool is_to_peer(const struct tl_tcp *c, const uint8_t *frame, const struct tl_pkt *pkt)
{
	if (pkt->src_port_be != c->key.own_port_be || pkt->dst_port_be != c->key.peer_port_be)
		return false;
	if (c->is_ip6)
		return pkt->kind == TL_PKT_IP6 && tl_ip6_equal(&tl_wire_ip6(frame, pkt)->dst, &c->peer6);
	return pkt->kind == TL_PKT_TCP && pkt->dst_be == c->key.peer_be;
}

// True if a segment with that sequence number waits in the port's queue: nothing says that the network lost it.
static bool waits_in_port(const struct tl_tcp *c, uint32_t seq)
{
	const struct tl_txq *q = c->net->cfg.tx;

	for (uint16_t i = 0; i < q->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		struct tl_pkt pkt;
		tl_wire_parse(frame, q->pkts[i]->data_len, &pkt);
		if (!is_to_peer(c, frame, &pkt))
			continue;
		const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(frame + pkt.l4_off);
		uint32_t len = pkt.payload_len + ((tcp->flags & (TL_TCP_SYN | TL_TCP_FIN)) != 0);
		if (seq - tl_be32(tcp->seq_be) < len)
			return true;
	}
	return false;
}

static bool is_one_segment_in_flight(const struct tl_tcp *c)
{
	return tl_seq_le(c->snd_last, c->snd_una);
}

// Time when the retransmission timer is really due. With SACK the timer may have been set for a probe that is obsolete,
// or too early.
static uint64_t expiry_ns(const struct tl_tcp *c, bool probe)
{
	if (!c->sack)
		return 0;
	if (c->n_sent == 0) // FIN without a buffer
		return c->last_tx_ns + tl_tcp_rto_ns(c);
	uint64_t rto_at_ns = c->flight->sent[c->sent_first].at_ns + tl_tcp_rto_ns(c);
	if (!probe || is_one_segment_in_flight(c)) // its ACK may be delayed
		return rto_at_ns;
	return tl_min_u64(tl_max_u64(c->last_tx_ns + c->pto_ns, c->pace_at_ns), rto_at_ns);
}

static void retransmit_expired(struct tl_tcp *c)
{
	bool probe = c->sack && c->trouble == 0 && c->n_sent > 0; // RFC 8985, section 7.2
	uint64_t at_ns = expiry_ns(c, probe);

	if (at_ns > c->net->now_ns) {
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, at_ns - c->net->now_ns);
	} else if (TL_UNLIKELY(waits_in_port(c, probe ? c->snd_max - 1 : c->snd_una))) {
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, tl_tcp_loss_timeout_ns(c));
	} else if (probe && !tl_tcp_pace_holds(c)) {
		bool sent = tl_tcp_probe_tail(c);
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, sent ? tl_tcp_rto_ns(c) : c->pto_ns);
	} else {
		time_out(c);
	}
}

// Interval of zero-window probes: several fit into the user timeout, so one lost probe or answer ends no connection.
static uint64_t probe_interval_ns(const struct tl_tcp *c)
{
	uint64_t most_ns = tl_max_u64(c->user_timeout_ns / PROBES_PER_USER_TIMEOUT, c->rto_ns);

	return tl_min_u64(tl_tcp_rto_ns(c), most_ns);
}

// Probe the zero window. The user timeout runs from the first unanswered probe.
static void persist_expired(struct tl_tcp *c)
{
	if (tl_tcp_pace_holds(c)) {
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, c->pace_at_ns - c->net->now_ns);
		return;
	}
	bool sent = tl_tcp_probe_window(c);
	if (!c->persisting) // window opened
		return;
	if (sent)
		back_off(c);
	tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, probe_interval_ns(c));
	if (sent && !tl_tcp_timer_is_set(c, TL_TCP_GIVE_UP))
		tl_tcp_timer_set(c, TL_TCP_GIVE_UP, c->user_timeout_ns);
}

// ---- timeout of the connection

static void give_up(struct tl_tcp *c)
{
	switch (c->state) {
	case TL_TCPS_TIME_WAIT:
		tl_tcp_end(c, TL_TCP_DONE);
		return;
	case TL_TCPS_SYN_SENT:
	case TL_TCPS_SYN_RECEIVED:
		tl_tcp_end(c, c->soft_error ? TL_TCP_UNREACHABLE : TL_TCP_TIMEOUT);
		return;
	default:
		tl_tcp_send_rst(c); // for a peer that returns
		tl_tcp_end(c, TL_TCP_TIMEOUT);
	}
}

// ---- keepalive (RFC 1122, section 4.2.3.6)

// Idle time before keepalive. In FIN-WAIT-2 it has a default: a dead peer would hold the connection for ever, and a
// live one answers.
static uint64_t keepalive_idle_ns(const struct tl_tcp *c)
{
	if (c->keepalive_idle_ns == 0 && c->state == TL_TCPS_FIN_WAIT_2)
		return FIN_WAIT_2_IDLE_NS;
	return c->keepalive_idle_ns;
}

void tl_tcp_keepalive_start(struct tl_tcp *c)
{
	uint64_t idle_ns = keepalive_idle_ns(c);

	c->keepalives = 0;
	if (idle_ns != 0)
		tl_tcp_timer_set(c, TL_TCP_KEEPALIVE, idle_ns);
}

static void keepalive_expired(struct tl_tcp *c)
{
	uint64_t idle_ns = keepalive_idle_ns(c);
	uint64_t silent_ns = c->net->now_ns - c->last_rx_ns;

	if (idle_ns == 0)
		return;
	if (c->snd_una != c->snd_max || tl_tcp_unsent(c)) { // covered by the user timeout
		tl_tcp_timer_set(c, TL_TCP_KEEPALIVE, idle_ns);
	} else if (silent_ns < idle_ns) {
		tl_tcp_timer_set(c, TL_TCP_KEEPALIVE, idle_ns - silent_ns);
	} else if (c->keepalives == KEEPALIVE_PROBES) {
		tl_tcp_send_rst(c);
		tl_tcp_end(c, TL_TCP_TIMEOUT);
	} else {
		c->keepalives += tl_tcp_send_keepalive(c);
		tl_tcp_timer_set(c, TL_TCP_KEEPALIVE, tl_min_u64(idle_ns, KEEPALIVE_INTERVAL_MAX_NS));
	}
}

// ---- expiry

static bool take_expired(struct tl_tcp *c, enum tl_tcp_timer timer)
{
	if (c->deadline_ns[timer] > c->net->now_ns)
		return false;
	tl_tcp_timer_stop(c, timer);
	return true;
}

void tl_tcp_wake(struct tl_tcp *c)
{
	if (take_expired(c, TL_TCP_GIVE_UP))
		give_up(c);
	if (take_expired(c, TL_TCP_KEEPALIVE))
		keepalive_expired(c);
	if (take_expired(c, TL_TCP_REORDER))
		tl_tcp_cc_repair(c);
	if (take_expired(c, TL_TCP_RETRANSMIT)) {
		if (c->persisting)
			persist_expired(c);
		else
			retransmit_expired(c);
	}
	tl_tcp_ready_refresh(c);
	tl_tcp_wheel_insert(c); // no deadline is left if it has ended
}
