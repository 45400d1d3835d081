// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Header prediction (RFC 7323, section 5.6): checks and steps that the paths of IPv4 (tcp_predict_dp.c) and IPv6
// (tcp_predict6_dp.c) share.
//
// Threads: the lcore that owns the net.

#include <string.h>

#include "tcp_input.h"
#include "tcp_lend.h"
#include "tcp_output.h"
#include "tcp_table.h"

// HOT. Send what data or an ACK made possible, or due, where no reply carried it.
void tl_tcp_predict_answer(struct tl_tcp *c, bool made_room);

// ---- the header

// True if no check of the connection's state depends on the segment: nothing is lost, held, queued or due.
static inline bool is_calm(const struct tl_tcp *c)
{
	return c->conditions == TL_TCP_CALM && tl_tcp_all_sent(c);
}

// True for flags ACK and perhaps PSH with a header of len bytes, its reserved bits 0.
static inline bool has_head(const struct tl_tcp_hdr *hdr, uint8_t len)
{
	uint16_t head = (uint16_t)tl_tcp_head(hdr);

	return (head | TL_TCP_PSH << 8) == ((TL_TCP_PSH | TL_TCP_ACK) << 8 | len << 2);
}

static inline const struct tl_tcp_stamp_option *stamp_of(const struct tl_tcp_hdr *hdr)
{
	return (const struct tl_tcp_stamp_option *)(hdr + 1);
}

// True if the options are timestamps alone, no older than the last (PAWS).
static inline bool has_new_stamp(const struct tl_tcp *c, const struct tl_tcp_hdr *hdr)
{
	return stamp_of(hdr)->word_be == tl_be32(TL_TCP_STAMP_WORD) &&
	       tl_seq_le(c->stamp_recent, tl_be32(stamp_of(hdr)->stamp_be));
}

// True if flags and options are those of the connection.
static inline bool is_usual(const struct tl_tcp *c, const struct tl_tcp_hdr *hdr)
{
	if (!c->stamped)
		return has_head(hdr, TL_TCP_LEN);
	return has_head(hdr, TL_TCP_LEN + TL_TCP_STAMP_LEN) && has_new_stamp(c, hdr);
}

// Bits by which the header differs from that head, PSH aside.
static inline uint32_t news_in(const struct tl_tcp_hdr *hdr, uint32_t head)
{
	return (tl_tcp_head(hdr) ^ head) & ~TL_TCP_HEAD_PSH;
}

// True if no more than the window is new, so that flags and data offset are usual.
static inline bool is_window_alone(uint32_t news)
{
	return (news & ~TL_TCP_HEAD_WINDOW) == 0;
}

// Take the window of a usual segment, which most often is the old one.
TL_TCP_STEP void take_usual_window(struct tl_tcp *c, const struct tl_tcp_hdr *hdr, uint32_t news, uint32_t seq)
{
	uint32_t head = tl_tcp_head(hdr) & ~TL_TCP_HEAD_PSH;

	if (TL_LIKELY(news == 0))
		c->snd_wl1 = seq;
	else
		tl_tcp_set_window(c, head, (uint32_t)tl_be16(hdr->window_be) << c->snd_scale, seq);
}

// True if data can be answered.
static inline bool has_room(const struct tl_tcp *c)
{
	return !c->follows_room || TL_LIKELY(tl_tcp_has_flight(c));
}

// ---- data

static inline void update_window_of_peer(struct tl_tcp *c, bool made_room)
{
	if (made_room && tl_tcp_window_reopened(c))
		tl_tcp_pend(c);
}

// True if the reply left by the ready header: it carries the ACK, and its bookkeeping waits until the frame has left.
static inline bool is_replied(const struct tl_net *net, const struct tl_tcp *c)
{
	return net->n_notes != 0 && net->tcp->note[0].c == c;
}

TL_TCP_STEP void take_data(struct tl_net *net, struct tl_tcp *c, const uint8_t *payload, uint32_t len, bool made_room)
{
	struct tl_tcp_table *table = net->tcp;

	c->rcv_nxt += len;
	tl_tcp_enter(table);
	tl_tcp_ready_refresh(c); // for a reply
	if (TL_LIKELY(c->ops->data != NULL))
		c->ops->data(c->ctx, c, payload, len);
	if (TL_LIKELY(is_replied(net, c)) && !(made_room && c->ops->room != NULL))
		update_window_of_peer(c, made_room);
	else
		tl_tcp_predict_answer(c, made_room);
	tl_tcp_leave(table);
}

// ---- the segment's place, and its checksum

// Sequence and acknowledgment number, as in a header, of the next segment of a calm connection that acknowledges all:
// rcv_nxt and snd_end, both in reverse order.
static inline uint64_t end_place(const struct tl_tcp *c)
{
	uint64_t end;
	_Static_assert(offsetof(struct tl_tcp, rcv_nxt) == offsetof(struct tl_tcp, snd_end) + 4, "one word");

	memcpy(&end, (const uint8_t *)c + offsetof(struct tl_tcp, snd_end), sizeof(end));
	return __builtin_bswap64(end);
}

static inline uint64_t place_of(const struct tl_tcp_hdr *hdr)
{
	uint64_t place;

	memcpy(&place, &hdr->seq_be, sizeof(place));
	return place;
}

// Sum of addresses and TCP header of a segment at that place with len bytes of payload, whose flags and options are
// usual: the ready header has the sum of the fields that are the same both ways. It counts data offset and flags, which
// are in the last word, too.
TL_TCP_STEP uint64_t sum_head(
	const struct tl_tcp *c, const struct tl_tcp_hdr *hdr, uint64_t place, bool stamped, uint32_t len)
{
	const uint32_t header_len = TL_TCP_LEN + (stamped ? TL_TCP_STAMP_LEN : 0);
	const uint32_t counted = (TL_TCP_PSH | TL_TCP_ACK) << 8 | header_len << 2;
	uint64_t last, sum = (uint64_t)c->ready.fixed_sum + (UINT16_MAX - counted) + tl_be16((uint16_t)len);

	memcpy(&last, &hdr->data_off, sizeof(last));
	if (stamped)
		sum += (uint64_t)stamp_of(hdr)->stamp_be + stamp_of(hdr)->echo_be;
	return tl_cksum_add64(tl_cksum_add64(sum, place), last);
}

// ---- an ACK without data

// True for the ACK of all that is in flight, if that has one transmission time, on a connection whose cwnd has grown
// and whose application waits for no room: no timer is set, and nothing is sent. The ring has no run without bytes.
TL_TCP_STEP bool is_plain_ack(const struct tl_net *net, const struct tl_tcp *c, const struct tl_tcp_hdr *hdr)
{
	return is_calm(c) && place_of(hdr) == end_place(c) && c->rcv_nxt == c->rcv_acked &&
	       c->snd_end - c->snd_una <= 2u * c->mss && c->n_sent == 1 && c->sent_first == 0 &&
	       !c->flight->sent[0].again && c->flight->sent[0].at_ns < net->now_ns && c->srtt_ns != 0 &&
	       tl_tcp_cc_is_grown(c) && c->ops->room == NULL;
}

// Take the steps of process() for such an ACK. The only run ends at snd_max, and so with the ACK. is_known, a
// constant: settle_few() made it known, so that it is short, and changes no window and, if the window follows the room,
// nothing of the ready header.
TL_TCP_STEP void take_plain_ack(
	struct tl_net *net, struct tl_tcp *c, const struct tl_tcp_hdr *hdr, uint64_t at_ns, bool stamped, bool is_known)
{
	uint64_t now_ns = net->now_ns;
	uint32_t ack = c->snd_end;

	if (at_ns >= now_ns) // checked by the caller: no sample is 0
		__builtin_unreachable();
	tl_count(&net->stats.rx_tcp_pkts, 1);
	c->rack.at_ns = at_ns;
	c->rack.to = ack;
	c->rack.highest = ack;
	c->rack.rtt_ns = now_ns - at_ns;
	tl_tcp_rtt_smooth(c, now_ns - at_ns, 0);
	c->last_rx_ns = now_ns;
	if (stamped)
		tl_tcp_stamp_take(c, tl_be32(stamp_of(hdr)->stamp_be));
	c->limited_bytes = 0;
	c->keepalives = 0;
	c->dup_acks = 0;
	c->sent_first = 0;
	c->n_sent = 0;
	if (!is_known)
		tl_tcp_mss_proven(c, ack - c->snd_una);
	c->snd_una = ack;
	tl_tcp_timer_stop(c, TL_TCP_RETRANSMIT);
	tl_tcp_timer_stop(c, TL_TCP_GIVE_UP);
	if (TL_LIKELY(!c->own_buffer)) {
		tl_tcp_pool_put(&net->tcp->flights, c->flight);
		c->flight = NULL;
	}
	take_usual_window(c, hdr, is_known ? 0 : news_in(hdr, c->peer_head), c->rcv_nxt);
	if (!is_known)
		update_window_of_peer(c, true);
	if (is_known && TL_LIKELY(c->follows_room))
		c->ready.plain_ack = 0;
	else
		tl_tcp_ready_refresh(c);
}

// ---- data that acknowledges nothing new

TL_TCP_STEP bool is_plain_data(const struct tl_tcp *c, const struct tl_tcp_hdr *hdr, uint32_t news, uint32_t len)
{
	return is_window_alone(news) && is_calm(c) && hdr->ack_be == tl_be32(c->snd_una) &&
	       hdr->seq_be == tl_be32(c->rcv_nxt) && len <= c->rcv_adv - c->rcv_nxt && has_room(c);
}

// Take the steps of process() for such data.
TL_TCP_STEP void take_plain_data(
	struct tl_net *net, struct tl_tcp *c, const struct tl_tcp_hdr *hdr, uint32_t news, uint32_t len, bool stamped)
{
	const uint8_t *payload = (const uint8_t *)(hdr + 1) + (stamped ? TL_TCP_STAMP_LEN : 0);

	tl_count(&net->stats.rx_tcp_pkts, 1);
	c->last_rx_ns = net->now_ns;
	c->keepalives = 0;
	if (stamped && tl_seq_le(c->rcv_nxt, c->rcv_acked))
		tl_tcp_stamp_take(c, tl_be32(stamp_of(hdr)->stamp_be));
	if (TL_LIKELY(tl_seq_le(c->snd_wl1, c->rcv_nxt)))
		take_usual_window(c, hdr, news, c->rcv_nxt);
	take_data(net, c, payload, len, false);
}

// True if the checksum of a usual segment with payload is right. The payload's sum is noted: an echo need not sum it
// again.
TL_TCP_STEP bool is_text_right(
	struct tl_net *net, const struct tl_tcp *c, const struct tl_tcp_hdr *hdr, bool stamped, uint32_t len)
{
	const uint8_t *payload = (const uint8_t *)(hdr + 1) + (stamped ? TL_TCP_STAMP_LEN : 0);
	uint64_t sum = tl_cksum_add_tail(0, payload, len);

	net->summed = (struct tl_net_summed){.data = payload, .sum = sum, .len = len};
	return tl_cksum_is_right(tl_cksum_add64(sum_head(c, hdr, place_of(hdr), stamped, len), sum));
}
