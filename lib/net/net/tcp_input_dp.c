// SPDX-License-Identifier: BSD-3-Clause
// Received segments: RFC 9293 section 3.10.7, with the checks of RFC 5961 against blind attacks.
//
// Data is acknowledged by the application's reply, at once for every second full segment, and otherwise at the end of
// the burst. There is no delayed-ACK timer: a burst already gathers segments that arrived together, a reply sent in
// data() carries the ACK, and a peer that waits for it (Nagle, slow start) is not delayed.

#include <rte_mbuf.h>

#include "tcp_input.h"
#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_ooo.h"
#include "tcp_output.h"
#include "tcp_secret.h"
#include "tcp_seg.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

// ---- helpers

static uint32_t seq_len(const struct tl_tcp_seg *seg)
{
	return seg->len + ((seg->flags & TL_TCP_SYN) != 0) + ((seg->flags & TL_TCP_FIN) != 0);
}

// Send a challenge ACK, rate-limited: anyone may provoke it (RFC 5961, section 7).
static void challenge(struct tl_tcp *c)
{
	uint64_t now_ns = c->net->now_ns;

	if (now_ns < c->challenge_ns)
		return;
	c->challenge_ns = now_ns + TL_TCP_CHALLENGE_GAP_NS;
	tl_count(&c->net->stats.tcp_challenge_acks_tx, 1);
	tl_tcp_send_ack(c);
}

// Complete the handshake. False: the application ended the connection.
static bool establish(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	c->snd_una = seg->ack;
	tl_tcp_timer_stop(c, TL_TCP_RETRANSMIT);
	tl_tcp_timer_stop(c, TL_TCP_GIVE_UP);
	c->backoff = 0;
	if (c->syn_lost)
		c->rto_ns = tl_max_u64(TL_TCP_RTO_SYN_LOST_NS, c->rto_min_ns);
	else if (c->syn_ns != 0)
		tl_tcp_rtt_sample(c, c->net->now_ns - c->syn_ns);
	tl_tcp_opening_end(c);
	tl_tcp_keep_hop(c);
	c->soft_error = false;
	tl_tcp_take_window(c, seg);
	tl_tcp_cc_start(c);
	tl_tcp_keepalive_start(c);
	tl_tcp_ready_options(c);
	c->state = c->fin_queued ? TL_TCPS_FIN_WAIT_1 : TL_TCPS_ESTABLISHED;
	c->reported = true;
	tl_count(&c->net->stats.tcp_established, 1);
	if (c->ops->opened != NULL)
		c->ops->opened(c->ctx, c);
	return tl_tcp_alive(c);
}

// ---- timestamps (RFC 7323, section 5.3)

// Read timestamps that are the only option, in their usual form (RFC 7323, appendix A). False: they are not.
static inline bool read_usual_stamp(struct tl_tcp_seg *seg)
{
	const struct tl_tcp_stamp_option *option = (const struct tl_tcp_stamp_option *)(seg->hdr + 1);

	if (TL_UNLIKELY(seg->hdr->data_off != (TL_TCP_LEN + TL_TCP_STAMP_LEN) << 2 ||
			option->word_be != tl_be32(TL_TCP_STAMP_WORD)))
		return false;
	seg->stamped = true;
	seg->stamp = tl_be32(option->stamp_be);
	seg->echo = tl_be32(option->echo_be);
	seg->more_options = false;
	return true;
}

static void read_stamp(struct tl_tcp_seg *seg)
{
	if (TL_UNLIKELY(!read_usual_stamp(seg)) && seg->more_options)
		tl_tcp_stamp_find(seg);
}

// Count the reason to refuse a segment without timestamps or with an old one. False: accept it, as every RST (section
// 5.2).
static bool refuse_stamp(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	if ((seg->flags & TL_TCP_RST) != 0)
		return false;
	if (!seg->stamped) { // section 3.2
		tl_count(&c->net->stats.tcp_no_timestamp_pkts, 1);
		return true;
	}
	if (tl_tcp_stamp_aged(c))
		return false;
	tl_count(&c->net->stats.tcp_old_timestamp_pkts, 1);
	if (seq_len(seg) == 0)
		challenge(c); // same as for every unacceptable bare ACK
	else
		tl_tcp_send_ack(c);
	return true;
}

static bool stamp_ok(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	if (TL_LIKELY(seg->stamped && tl_seq_le(c->stamp_recent, seg->stamp)))
		return true;
	return !refuse_stamp(c, seg);
}

// ---- LISTEN and CLOSED

// Take sequence number and options of the peer's SYN.
static void take_syn(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	uint32_t window = c->rcv_adv - c->rcv_nxt; // window that our SYN advertised, if it was sent

	c->rcv_nxt = seg->seq + 1;
	c->rcv_adv = c->rcv_nxt + window;
	tl_tcp_options_apply(c, seg->hdr);
}

// Enter SYN-RECEIVED with the options that both sides offer.
static void enter_syn_received(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	c->state = TL_TCPS_SYN_RECEIVED;
	c->offer_scale = true;
	c->sack = true;
	c->stamped = true;
	c->stamp_offset = tl_tcp_stamp_offset(c->net, c->key);
	take_syn(c, seg);
}

static struct tl_tcp_key seg_key(const struct tl_tcp_seg *seg)
{
	return tl_tcp_key(seg->src_be, seg->hdr->src_port_be, seg->hdr->dst_port_be);
}

// Allocate a connection of the listener. NULL: no room.
static struct tl_tcp *accept_conn(struct tl_tcp_listener *listener, struct tl_tcp_key key)
{
	struct tl_tcp *c = NULL;

	if (listener->conns < listener->max_conns)
		c = tl_tcp_take(listener->net, key, listener->ops, listener->ctx, &listener->opts);
	if (c == NULL)
		return NULL;
	listener->conns++;
	c->listener = listener;
	return c;
}

// Answer a SYN without a free slot by a cookie, if half-open handshakes occupy slots.
static void accept_by_cookie(struct tl_net *net, struct tl_tcp_listener *listener, const struct tl_tcp_seg *seg)
{
	if (listener->conns - listener->half_open >= listener->max_conns || net->tcp->n_half_open == 0) {
		tl_count(&net->stats.tcp_backlog_drops, 1);
		return;
	}
	struct tl_tcp *c = tl_tcp_cookie_conn(net, seg_key(seg), &listener->opts);
	enter_syn_received(c, seg);
	tl_tcp_cookie_send(net, c, seg->seq);
}

// Take a SYN for a listener. The ISN must be above *beyond, the last sequence number of an earlier connection of the
// pair.
static void accept_syn(
	struct tl_net *net, struct tl_tcp_listener *listener, const struct tl_tcp_seg *seg, const uint32_t *beyond)
{
	bool backlog_full = net->tcp->n_half_open >= net->tcp->half_open_max;
	struct tl_tcp *c = backlog_full ? NULL : accept_conn(listener, seg_key(seg));

	if (c == NULL) {
		accept_by_cookie(net, listener, seg);
		return;
	}
	tl_count(&net->stats.tcp_passive_opens, 1);
	tl_tcp_half_open(c);
	enter_syn_received(c, seg);
	uint32_t iss = tl_tcp_isn(net, c->key);
	if (beyond != NULL && tl_seq_le(iss, *beyond)) // RFC 9293, section 3.6.1
		iss = *beyond + 1;
	tl_tcp_start_sequence(c, iss);
	tl_tcp_send_syn(c);
}

// Take an ACK for a listener. NULL: not a valid cookie, or no room.
static struct tl_tcp *accept_cookie(struct tl_net *net, struct tl_tcp_listener *listener, struct tl_tcp_seg *seg)
{
	if ((seg->flags & (TL_TCP_SYN | TL_TCP_RST)) != 0 || !tl_tcp_cookie_check(net, seg_key(seg), seg))
		return NULL;
	struct tl_tcp *c = accept_conn(listener, seg_key(seg));
	if (c == NULL && tl_tcp_half_open_evict(listener))
		c = accept_conn(listener, seg_key(seg));
	if (c == NULL) {
		tl_count(&net->stats.tcp_backlog_drops, 1);
		return NULL;
	}
	tl_count(&net->stats.tcp_passive_opens, 1);
	c->state = TL_TCPS_SYN_RECEIVED;
	c->stamp_offset = tl_tcp_stamp_offset(net, c->key);
	read_stamp(seg);
	tl_tcp_cookie_open(c, seg);
	return c;
}

// Return the connection that the segment opens by a cookie, or NULL.
static struct tl_tcp *input_unknown(struct tl_net *net, struct tl_tcp_seg *seg)
{
	struct tl_tcp_listener *listener = tl_tcp_find_listener(net->tcp, seg->hdr->dst_port_be);
	bool is_syn = (seg->flags & (TL_TCP_SYN | TL_TCP_ACK | TL_TCP_RST)) == TL_TCP_SYN;

	struct tl_tcp *c = NULL;

	if (listener != NULL && is_syn)
		accept_syn(net, listener, seg, NULL);
	else if (listener != NULL && (seg->flags & TL_TCP_ACK) != 0)
		c = accept_cookie(net, listener, seg);
	if (c == NULL && (listener == NULL || (seg->flags & TL_TCP_ACK) != 0))
		tl_tcp_refuse(net, seg);
	return c;
}

// ---- SYN-SENT (section 3.10.7.3)

static void input_syn_sent(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	bool has_ack = (seg->flags & TL_TCP_ACK) != 0;

	if (has_ack && seg->ack != c->snd_max) {
		tl_tcp_refuse(c->net, seg);
		return;
	}
	if ((seg->flags & TL_TCP_RST) != 0) {
		tl_count(&c->net->stats.tcp_resets_rx, 1);
		if (has_ack)
			tl_tcp_end(c, TL_TCP_REFUSED);
		return;
	}
	if ((seg->flags & TL_TCP_SYN) == 0)
		return;
	take_syn(c, seg);
	if (!has_ack) { // simultaneous open
		c->state = TL_TCPS_SYN_RECEIVED;
		tl_tcp_send_syn(c);
		return;
	}
	c->ack_now = true; // unless opened() sends data
	if (establish(c, seg) && tl_tcp_unsent(c))
		tl_tcp_output(c);
	if (c->ack_now && tl_tcp_alive(c))
		tl_tcp_send_ack(c);
}

// ---- first to fourth check: sequence number, RST, SYN (section 3.10.7.4)

// Take an RST (RFC 5961, section 3.2).
static void input_rst(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	tl_count(&c->net->stats.tcp_resets_rx, 1);
	if (seg->seq == c->rcv_nxt) {
		bool refused = c->state == TL_TCPS_SYN_RECEIVED;
		tl_tcp_end(c, refused ? TL_TCP_REFUSED : TL_TCP_RESET);
	} else if (tl_seq_lt(c->rcv_nxt, seg->seq) && tl_seq_lt(seg->seq, c->rcv_adv)) {
		challenge(c);
	} else {
		tl_count(&c->net->stats.tcp_out_of_window_pkts, 1);
	}
}

// Take a SYN on a known connection. True: continue with the rest of the segment (simultaneous open).
static bool input_syn(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	if (c->state == TL_TCPS_SYN_RECEIVED && seg->seq + 1 == c->rcv_nxt) {
		if ((seg->flags & TL_TCP_ACK) == 0) { // retransmission: our SYN-ACK was lost
			if (c->stamped)
				tl_tcp_remember_stamp(c, seg, seg->seq);
			tl_tcp_send_syn(c);
			return false;
		}
		seg->seq++;
		seg->flags &= ~TL_TCP_SYN;
		return true;
	}
	challenge(c); // RFC 5961, section 4.2
	return false;
}

static bool reject(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	tl_count(&c->net->stats.tcp_out_of_window_pkts, 1);
	if (seq_len(seg) == 0)
		challenge(c); // ends an ACK loop between two desynchronized hosts
	else
		tl_tcp_send_ack(c);
	return false;
}

// Trim the segment to the receive window. False: nothing is left; an ACK was sent.
static bool trim(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	uint32_t room;

	if (tl_seq_lt(seg->seq, c->rcv_nxt)) {
		uint32_t known = c->rcv_nxt - seg->seq;
		if (seg->len > 0)
			tl_tcp_dsack(c, seg->seq, seg->seq + tl_min_u32(known, seg->len));
		if (known >= seq_len(seg))
			return reject(c, seg);
		c->ack_now = true; // our ACK may be lost
		seg->payload += known;
		seg->len -= known;
		seg->seq += known;
	}
	if (tl_seq_lt(c->rcv_adv, seg->seq))
		return reject(c, seg);
	room = c->rcv_adv - seg->seq; // a FIN needs none
	if (seg->len <= room)
		return true;
	if (room == 0 && seg->seq != c->rcv_nxt)
		return reject(c, seg);
	c->ack_now = true; // zero-window probe, or data beyond the window: use its ACK field
	seg->len = (uint16_t)room;
	seg->flags &= ~TL_TCP_FIN;
	return true;
}

// ---- fifth: the ACK field

// True for a duplicate ACK (RFC 5681, section 2).
static bool is_dup_ack(const struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	return c->snd_nxt != c->snd_una && seg->ack == c->snd_una && seq_len(seg) == 0 && seg->window == c->snd_wnd;
}

// End the tail loss probe when it is acknowledged; detect a loss that it repaired (RFC 8985, section 7.4).
static void probe_acked(struct tl_tcp *c, const struct tl_tcp_seg *seg, bool advances)
{
	if (tl_seq_lt(seg->ack, c->probe_end))
		return;
	if (!c->probe_again || seg->dsack || (!advances && !seg->more_options)) {
		c->probing = false;
	} else if (tl_seq_lt(c->probe_end, seg->ack)) {
		c->probing = false;
		tl_tcp_cc_probe_repaired(c);
	}
}

// Update the send window (RFC 9293, section 3.10.7.4) unless the segment is older than SND.WL1 or acknowledges less
// than SND.UNA. A segment that advances SND.UNA always updates it: the old window would reach beyond the promised edge.
static void update_window(struct tl_tcp *c, const struct tl_tcp_seg *seg, bool advances)
{
	if (advances || (seg->ack == c->snd_una && tl_seq_le(c->snd_wl1, seg->seq)))
		tl_tcp_take_window(c, seg);
	if (c->persisting) // the peer may keep its window at zero as long as it answers (RFC 9293, section 3.8.6.1)
		tl_tcp_timer_stop(c, TL_TCP_GIVE_UP);
}

// Handle the ACK of our FIN. False: the connection has ended.
static bool fin_acked(struct tl_tcp *c)
{
	switch (c->state) {
	case TL_TCPS_FIN_WAIT_1:
		c->state = TL_TCPS_FIN_WAIT_2;
		tl_tcp_keepalive_start(c);
		return true;
	case TL_TCPS_CLOSING:
		tl_tcp_enter_time_wait(c);
		return false;
	case TL_TCPS_LAST_ACK:
		tl_tcp_end(c, TL_TCP_DONE);
		return false;
	default:
		return true;
	}
}

// Process the ACK field. seq is the segment's first sequence number before trimming. An unacceptable ACK does not
// update TS.Recent: a forged timestamp far ahead would make all later segments look old. False: drop the segment.
static bool input_ack(struct tl_tcp *c, struct tl_tcp_seg *seg, uint32_t seq)
{
	if (c->state == TL_TCPS_SYN_RECEIVED) {
		if (seg->ack != c->snd_max) {
			tl_tcp_refuse(c->net, seg);
			return false;
		}
		if (c->stamped)
			tl_tcp_remember_stamp(c, seg, seq);
		return establish(c, seg);
	}
	if (tl_seq_lt(c->snd_max, seg->ack) || tl_seq_lt(seg->ack, c->snd_una - c->max_snd_wnd)) {
		challenge(c); // RFC 5961, section 5.2
		return false;
	}
	if (c->stamped)
		tl_tcp_remember_stamp(c, seg, seq);
	bool advances = tl_seq_lt(c->snd_una, seg->ack);
	if (advances) {
		tl_tcp_sample_rtt(c, seg);
		tl_tcp_sent_acked(c, seg, false);
	}
	bool sack_news = TL_UNLIKELY(seg->more_options) && tl_tcp_sack_input(c, seg);
	if (advances) {
		tl_tcp_ack_advances(c, seg, false);
	} else if (sack_news || is_dup_ack(c, seg)) {
		tl_count(&c->net->stats.tcp_dup_acks_rx, 1);
		if (!c->sack)
			tl_tcp_cc_dup_ack(c);
	}
	if (TL_UNLIKELY(c->trouble != 0) && c->sack) {
		if (c->probing)
			probe_acked(c, seg, advances);
		if (sack_news || advances)
			tl_tcp_cc_repair(c);
	}
	update_window(c, seg, advances);
	return !tl_tcp_fin_acked(c) || fin_acked(c);
}

// ---- seventh and eighth: text and FIN

static void input_fin(struct tl_tcp *c)
{
	c->rcv_nxt++;
	if (tl_seq_lt(c->rcv_adv, c->rcv_nxt))
		c->rcv_adv = c->rcv_nxt;
	c->ack_now = true;
	switch (c->state) {
	case TL_TCPS_ESTABLISHED:
		c->state = TL_TCPS_CLOSE_WAIT;
		if (c->ops->peer_closed != NULL)
			c->ops->peer_closed(c->ctx, c);
		else
			tl_tcp_close(c);
		return;
	case TL_TCPS_FIN_WAIT_1: // ours is not acknowledged yet
		c->state = TL_TCPS_CLOSING;
		return;
	case TL_TCPS_FIN_WAIT_2:
		tl_tcp_send_ack(c);
		tl_tcp_enter_time_wait(c);
		return;
	default:
		return;
	}
}

// Deliver in-order bytes and FIN. rcv_nxt moves first, so that a reply sent in data() acknowledges them.
static void take_text(struct tl_tcp *c, const uint8_t *payload, uint16_t len, bool fin)
{
	c->rcv_nxt += len;
	if (len > 0 && c->ops->data != NULL) {
		tl_tcp_ready_refresh(c); // for a reply
		c->ops->data(c->ctx, c, payload, len);
		tl_tcp_settle(c->net); // the connection is read from here on, and payload may be freed
	}
	if (fin && tl_tcp_may_receive(c))
		input_fin(c);
}

// Deliver held segments that are in order now, until the connection ends.
static void take_held(struct tl_tcp *c)
{
	struct tl_tcp_held held;

	while (tl_tcp_may_receive(c) && tl_tcp_ooo_next(c, &held)) {
		take_text(c, held.payload, held.len, held.fin);
		rte_pktmbuf_free(held.m);
	}
}

// Deliver a segment while others are held; an ACK is due at once (RFC 5681, section 4.2).
static void fill_gap(struct tl_tcp *c, const struct tl_tcp_seg *seg, bool fin)
{
	c->ack_now = true;
	tl_tcp_dsack_held(c, seg->seq, seg->seq + seg->len);
	take_text(c, seg->payload, seg->len, fin);
	take_held(c);
}

// True if the application echoes data and no send buffer is free: drop the segment, the peer retransmits.
static bool cannot_answer(const struct tl_tcp *c)
{
	return c->follows_room && !tl_tcp_has_flight(c) && tl_tcp_may_send(c);
}

static void input_text(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	bool fin = (seg->flags & TL_TCP_FIN) != 0;

	if ((seg->len == 0 && !fin) || !tl_tcp_may_receive(c))
		return;
	if (TL_UNLIKELY(seg->seq != c->rcv_nxt)) {
		c->ack_now = true; // duplicate ACK: report the gap
		tl_tcp_ooo_hold(c, seg);
		return;
	}
	if (TL_UNLIKELY(seg->len > 0 && cannot_answer(c))) {
		tl_count(&c->net->stats.tcp_no_send_buffer_pkts, 1);
		return;
	}
	if (TL_UNLIKELY(c->ooo_count > 0))
		fill_gap(c, seg, fin);
	else
		take_text(c, seg->payload, seg->len, fin);
}

// ---- last: replies

void tl_tcp_answer(struct tl_tcp *c, bool made_room)
{
	if (tl_tcp_unsent(c))
		tl_tcp_output(c);
	if (made_room && tl_tcp_may_send(c) && c->ops->room != NULL) {
		c->ops->room(c->ctx, c);
		if (!tl_tcp_alive(c))
			return;
	}
	if (c->ack_now || c->rcv_nxt - c->rcv_acked >= 2u * c->mss)
		tl_tcp_send_ack(c);
	else if (c->rcv_nxt != c->rcv_acked || (made_room && tl_tcp_window_reopened(c)))
		tl_tcp_pend(c);
}

static void input_synchronized(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	uint32_t seq = seg->seq;

	if (c->stamped) {
		read_stamp(seg);
		if (TL_UNLIKELY(!stamp_ok(c, seg)))
			return;
	}
	if (TL_UNLIKELY((seg->flags & TL_TCP_RST) != 0)) {
		input_rst(c, seg);
		return;
	}
	if (TL_UNLIKELY((seg->flags & TL_TCP_SYN) != 0) && !input_syn(c, seg))
		return;
	if (!trim(c, seg))
		return;
	if ((seg->flags & TL_TCP_ACK) == 0 || !input_ack(c, seg, seq))
		return;
	input_text(c, seg);
	if (tl_tcp_alive(c))
		tl_tcp_answer(c, seg->made_room);
}

// ---- TIME-WAIT

// True if the SYN is new by its timestamp, for any sequence number (RFC 6191, section 2).
static bool is_stamped_later(const struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	if (!c->stamped)
		return false;
	read_stamp(seg);
	return seg->stamped && tl_seq_lt(c->stamp_recent, seg->stamp);
}

// Reuse the pair for a new connection with higher sequence numbers (RFC 9293, section 3.6.1, MAY-2).
static bool reopen(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	struct tl_net *net = c->net;
	struct tl_tcp_listener *listener = tl_tcp_find_listener(net->tcp, seg->hdr->dst_port_be);
	bool is_syn = (seg->flags & (TL_TCP_SYN | TL_TCP_ACK | TL_TCP_RST)) == TL_TCP_SYN;
	uint32_t beyond = c->snd_max;

	if (!is_syn || listener == NULL || !(tl_seq_lt(c->rcv_nxt, seg->seq) || is_stamped_later(c, seg)))
		return false;
	tl_count(&net->stats.tcp_time_wait_reused, 1);
	tl_tcp_end(c, TL_TCP_DONE);
	accept_syn(net, listener, seg, &beyond);
	return true;
}

// Handle a segment in TIME-WAIT. RST does not shorten it (RFC 1337). A repeated FIN means that our ACK was lost:
// restart 2 MSL.
static void input_time_wait(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	struct tl_tcp_queue *queue = &c->net->tcp->time_wait;

	if ((seg->flags & TL_TCP_RST) != 0 || reopen(c, seg))
		return;
	if ((seg->flags & TL_TCP_FIN) != 0) {
		TAILQ_REMOVE(queue, c, link);
		TAILQ_INSERT_TAIL(queue, c, link);
		tl_tcp_timer_set(c, TL_TCP_GIVE_UP, TL_TCP_TIME_WAIT_NS);
	}
	if (seq_len(seg) != 0)
		tl_tcp_send_ack(c);
}

// ---- entry points

static void input_known(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	uint8_t shift = (seg->flags & TL_TCP_SYN) != 0 ? 0 : c->snd_scale; // RFC 7323, section 2.2

	seg->window = (uint32_t)tl_be16(seg->hdr->window_be) << shift;
	c->last_rx_ns = c->net->now_ns;
	c->keepalives = 0;
	tl_tcp_ready_stop(c);
	if (TL_UNLIKELY(c->state == TL_TCPS_SYN_SENT))
		input_syn_sent(c, seg);
	else if (TL_UNLIKELY(c->state == TL_TCPS_TIME_WAIT))
		input_time_wait(c, seg);
	else
		input_synchronized(c, seg);
	tl_tcp_ready_refresh(c);
}

void tl_tcp_input(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct tl_tcp_table *table = net->tcp;
	struct tl_tcp *c = tl_tcp_find(net, tl_tcp_key_of(pkt));
	struct tl_tcp_seg seg;

	tl_tcp_settle(net);
	tl_tcp_seg_read(&seg, m, frame, pkt);
	tl_tcp_enter(table);
	if (TL_UNLIKELY(c == NULL))
		c = input_unknown(net, &seg);
	if (TL_LIKELY(c != NULL) && !tl_tcp_predicted(c, &seg))
		input_known(c, &seg);
	if (TL_UNLIKELY(tl_ip_is6(seg.src_be)) && seg.made_room)
		tl_tcp_confirm_hop(c);
	tl_tcp_leave(table);
}

// Send what waited for an mbuf or for room: of a handshake without a timer the SYN.
static inline __attribute__((always_inline)) void send_pending(struct tl_tcp *c)
{
	if (TL_UNLIKELY(c->state < TL_TCPS_ESTABLISHED)) {
		if (!tl_tcp_timer_is_set(c, TL_TCP_RETRANSMIT)) {
			tl_tcp_send_syn(c);
			return;
		}
	} else if (tl_tcp_unsent(c)) {
		tl_tcp_output(c);
	}
	if (c->ack_now || c->rcv_nxt != c->rcv_acked || tl_tcp_window_reopened(c))
		tl_tcp_send_ack(c);
}

void tl_tcp_burst_done(struct tl_net *net)
{
	struct tl_tcp_table *table = net->tcp;
	struct tl_tcp_queue now = TAILQ_HEAD_INITIALIZER(now);
	bool out_of_mbufs = false;
	struct tl_tcp *c;

	tl_tcp_settle(net);
	net->tcp_pending = false;
	TAILQ_CONCAT(&now, &table->pending, pending_link);
	while ((c = TAILQ_FIRST(&now)) != NULL && !out_of_mbufs) {
		TAILQ_REMOVE(&now, c, pending_link);
		c->pending = false;
		send_pending(c);
		out_of_mbufs = c->pending; // pending again, like the rest: retry at the next tick
		tl_tcp_ready_refresh(c);
	}
	TAILQ_CONCAT(&table->pending, &now, pending_link);
	net->tcp_pending = !TAILQ_EMPTY(&table->pending);
}
