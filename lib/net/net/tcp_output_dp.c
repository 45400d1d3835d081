// SPDX-License-Identifier: BSD-3-Clause
// Sent segments: windows, headers from the connection's template, and the send call.

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_pace.h"
#include "tcp_seg.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

// ---- the send ring

static void ring_get(const struct tl_tcp *c, uint32_t seq, uint8_t *to, uint32_t len)
{
	uint32_t at = seq & c->ring_mask;
	uint32_t first = tl_min_u32(len, c->ring_mask + 1 - at);

	memcpy(to, c->flight->ring + at, first);
	memcpy(to + first, c->flight->ring, len - first);
}

uint32_t tl_tcp_room(const struct tl_tcp *c)
{
	return tl_tcp_may_send(c) && tl_tcp_has_flight(c) ? tl_tcp_ring_room(c) : 0;
}

uint32_t tl_tcp_unsent_bytes(const struct tl_tcp *c)
{
	return tl_seq_lt(c->snd_nxt, c->snd_end) ? c->snd_end - c->snd_nxt : 0;
}

// ---- the window we advertise

static uint16_t advertise(struct tl_tcp *c, uint8_t shift)
{
	struct tl_tcp_offer offer = tl_tcp_offer(c, shift);

	c->rcv_adv = offer.adv;
	return offer.field;
}

// ---- one segment

static uint8_t stamp_len(const struct tl_tcp *c)
{
	return c->stamped ? TL_TCP_STAMP_LEN : 0;
}

// Write the options; return the start of the payload.
static uint8_t *options_fill(const struct tl_tcp *c, const struct tl_tcp_out *out, struct tl_tcp_hdr *tcp)
{
	uint8_t *p = (uint8_t *)(tcp + 1);

	if (c->stamped) {
		*(struct tl_tcp_stamp_option *)p = (struct tl_tcp_stamp_option){
			tl_be32(TL_TCP_STAMP_WORD), tl_be32(tl_tcp_stamp_now(c)), tl_be32(c->stamp_recent)};
		p += TL_TCP_STAMP_LEN;
	}
	if (TL_UNLIKELY(out->options_len > 0))
		memcpy(p, out->options, out->options_len);
	return p + out->options_len;
}

static void tcp_fill(struct tl_tcp *c, struct rte_mbuf *m, struct tl_tcp_hdr *tcp, const struct tl_tcp_out *out)
{
	uint8_t *payload = options_fill(c, out, tcp);
	uint16_t header_len = (uint16_t)(payload - (uint8_t *)tcp);

	tcp->seq_be = tl_be32(out->seq);
	tcp->ack_be = tl_be32((out->flags & TL_TCP_ACK) != 0 ? c->rcv_nxt : 0);
	tcp->data_off = (uint8_t)(header_len << 2);
	tcp->flags = out->flags;
	tcp->window_be = tl_be16(advertise(c, (out->flags & TL_TCP_SYN) != 0 ? 0 : c->rcv_scale));
	tcp->cksum_be = 0;
	if (out->data != NULL)
		memcpy(payload, out->data, out->len);
	else if (out->len > 0)
		ring_get(c, out->seq, payload, out->len);

	tcp->cksum_be = tl_ip_cksum(c->net, m, c->key.peer_be, TL_IPPROTO_TCP, tcp, header_len + out->len);
}

// Copy the headers from the template, for a resolved neighbour.
static struct tl_tcp_hdr *headers_copy(struct tl_tcp *c, struct rte_mbuf *m, uint16_t payload_len)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t l4_off = c->ready.l4_off;
	uint16_t len = l4_off + TL_TCP_LEN + payload_len;

	memcpy(frame, c->ready.frame + c->ready.tag_len, sizeof(c->ready.frame) - TL_VLAN_LEN);
	memcpy(frame, c->ready.frame, offsetof(struct tl_ether_hdr, type_be)); // without the tag behind the addresses
	if (TL_UNLIKELY(tl_ip_is6(c->key.peer_be))) {
		((struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN))->payload_len_be = tl_be16(len - l4_off);
	} else {
		struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
		ip->total_len_be = tl_be16(len - TL_ETHER_LEN);
		tl_wire_ipv4_finish(ip);
	}
	if (len < TL_ETHER_MIN_FRAME) {
		memset(frame + len, 0, TL_ETHER_MIN_FRAME - len);
		len = TL_ETHER_MIN_FRAME;
	}
	m->data_len = len;
	m->pkt_len = len;
	return (struct tl_tcp_hdr *)(frame + l4_off);
}

static struct tl_tcp_hdr *headers_build(struct tl_tcp *c, struct rte_mbuf *m, uint16_t payload_len)
{
	struct tl_tcp_hdr *tcp =
		(struct tl_tcp_hdr *)tl_ip_build(c->net, m, TL_IPPROTO_TCP, c->key.peer_be, TL_TCP_LEN + payload_len);

	*tcp = (struct tl_tcp_hdr){
		.src_port_be = c->key.own_port_be,
		.dst_port_be = c->key.peer_port_be,
	};
	return tcp;
}

// Slow path: resolve the neighbour, and store the headers as template once its MAC is known. Pin it if the table was
// full of other connections' neighbours when the peer answered.
static void output_and_learn(struct tl_tcp *c, struct rte_mbuf *m)
{
	struct tl_net *net = c->net;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t peer_be = c->key.peer_be;

	if (c->state >= TL_TCPS_ESTABLISHED && c->state != TL_TCPS_TIME_WAIT)
		tl_tcp_keep_hop(c);
	if (tl_ip_next_hop_mac(net, peer_be, ((struct tl_ether_hdr *)frame)->dst)) {
		tl_tcp_ready_learn(c, frame);
		c->arp_generation = net->arp_generation;
	}
	tl_ip_output(net, m, peer_be);
}

static bool transmit(struct tl_tcp *c, const struct tl_tcp_out *out)
{
	struct tl_net *net = c->net;
	if (TL_UNLIKELY(!tl_txq_has_room(net->cfg.tx))) {
		tl_count(&net->stats.tcp_tx_full, 1);
		return false;
	}
	struct rte_mbuf *m = tl_net_alloc(net);
	if (TL_UNLIKELY(m == NULL))
		return false;

	bool known = c->arp_generation == net->arp_generation;
	uint16_t len = stamp_len(c) + out->options_len + out->len;
	struct tl_tcp_hdr *tcp = TL_LIKELY(known) ? headers_copy(c, m, len) : headers_build(c, m, len);
	tcp_fill(c, m, tcp, out);
	if ((out->flags & TL_TCP_ACK) != 0) {
		c->rcv_acked = c->rcv_nxt;
		c->ack_now = false;
	}
	tl_count(&net->stats.tcp_segments_tx, 1);
	if (TL_UNLIKELY(c->paced) && (out->len > 0 || (out->flags & TL_TCP_FIN) != 0))
		tl_tcp_pace_charge(c, m->pkt_len);
	if (TL_LIKELY(known))
		tl_net_push(net, m);
	else
		output_and_learn(c, m);
	return true;
}

// Transmit with SACK blocks. An ACK without room for blocks beside its data leaves the ACK due.
static bool transmit_with_sack(struct tl_tcp *c, const struct tl_tcp_out *out)
{
	uint8_t blocks[TL_TCP_SACK_MAX];
	struct tl_tcp_out with = *out;
	bool due = c->ack_now;

	with.options = blocks;
	with.options_len = tl_tcp_sack_write(c, c->mss - out->len, blocks);
	if (!transmit(c, &with))
		return false;
	c->ack_now = due && c->sack && out->len > 0 && with.options_len == 0;
	if (c->dsack_due && with.options_len > 0) {
		c->dsack_due = false;
		tl_count(&c->net->stats.tcp_dsacks_tx, 1);
	}
	return true;
}

bool tl_tcp_transmit(struct tl_tcp *c, const struct tl_tcp_out *out)
{
	if (TL_UNLIKELY(c->ooo_count > 0 || c->dsack_due) && (out->flags & (TL_TCP_RST | TL_TCP_SYN)) == 0)
		return transmit_with_sack(c, out);
	return transmit(c, out);
}

// ---- the stream

// Send len bytes at snd_nxt, from data or (NULL) from the ring, with FIN or FIN alone.
static bool send_next(struct tl_tcp *c, const uint8_t *data, uint32_t len, bool fin)
{
	struct tl_tcp_out out = {.data = data, .seq = c->snd_nxt, .len = (uint16_t)len, .flags = TL_TCP_ACK};

	if (len > 0 && out.seq + len == c->snd_end)
		out.flags |= TL_TCP_PSH;
	if (fin) {
		out.flags |= TL_TCP_FIN;
		(void)tl_tcp_flight_take(c); // optional
	}
	if (TL_UNLIKELY(!tl_tcp_transmit(c, &out))) {
		tl_tcp_pend(c);
		return false;
	}
	c->snd_nxt += len + fin;
	tl_tcp_account_sent(c, out.seq);
	return true;
}

// Silly window avoidance of the sender (RFC 9293, section 3.8.6.2.1); the persist timer is its override timeout.
static bool sws_blocked(const struct tl_tcp *c, uint32_t len, uint32_t queued)
{
	return len < c->mss && len < queued && len < c->max_snd_wnd / 2;
}

static void persist(struct tl_tcp *c)
{
	c->persisting = true;
	c->backoff = 0;
	tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, tl_tcp_rto_ns(c));
	tl_tcp_timer_stop(c, TL_TCP_GIVE_UP); // until the first probe
}

static bool has_next(struct tl_tcp *c)
{
	if (TL_UNLIKELY(c->n_sacked > 0))
		tl_tcp_sack_skip(c);
	return tl_tcp_unsent(c);
}

void tl_tcp_output(struct tl_tcp *c)
{
	while (has_next(c)) {
		uint32_t queued = c->snd_end - c->snd_nxt;
		uint32_t allowed = tl_tcp_usable(c);
		uint32_t len = tl_min_u32(tl_min_u32(queued, allowed), c->mss);
		bool fin = c->fin_queued && len == queued && allowed > len;

		if ((len == 0 && !fin) || sws_blocked(c, len, queued))
			break;
		if (tl_tcp_pace_holds(c)) {
			tl_tcp_pace_wait(c);
			return;
		}
		if (!send_next(c, NULL, len, fin))
			return;
	}
	if (tl_tcp_unsent(c) && c->snd_nxt == c->snd_una && !tl_tcp_timer_is_set(c, TL_TCP_RETRANSMIT))
		persist(c);
}

// Send as much as the windows and pacing allow from the caller's memory.
static void send_directly(struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	while (len > 0) {
		uint32_t n = tl_min_u32(len, c->mss);
		if (n > tl_tcp_usable(c) || tl_tcp_pace_holds(c) || !send_next(c, data, n, false))
			return;
		data += n;
		len -= n;
	}
}

int tl_tcp_send_slow(struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	tl_tcp_settle(c->net);
	if (TL_UNLIKELY(!tl_tcp_may_send(c)))
		return -ENOTCONN;
	if (TL_UNLIKELY(len == 0))
		return 0;
	if (TL_UNLIKELY(len > tl_tcp_ring_room(c) || !tl_tcp_flight_take(c)))
		return -ENOBUFS;
	if (c->snd_una == c->snd_max && c->net->now_ns - c->last_tx_ns > c->rto_ns)
		tl_tcp_cc_idle(c);

	uint32_t seq = c->snd_end;
	bool nothing_waits = c->snd_nxt == seq;
	c->snd_end += len; // before the first segment: the advertised window may depend on the room left
	if (TL_LIKELY(nothing_waits))
		send_directly(c, data, len);
	tl_tcp_ring_put(c, seq, data, len);
	if (TL_UNLIKELY(tl_tcp_unsent(c)))
		tl_tcp_output(c);
	tl_tcp_ready_refresh(c);
	return 0;
}

int tl_tcp_send(struct tl_tcp *c, const void *data, uint32_t len)
{
	int rc = tl_tcp_send_held(c, data, len);

	tl_tcp_settle(c->net);
	return rc < 0 ? rc : 0;
}

bool tl_tcp_reserve(struct tl_tcp *c, uint32_t len)
{
	tl_tcp_settle(c->net);
	if (len > tl_tcp_ring_room(c))
		return false;
	c->send_limit -= len;
	tl_tcp_ready_refresh(c);
	return true;
}

void tl_tcp_unreserve(struct tl_tcp *c, uint32_t len)
{
	tl_tcp_settle(c->net);
	c->send_limit += len;
	tl_tcp_ready_refresh(c);
}

// ---- control segments

// Sequence number for a segment without data: snd_max, or snd_una while the window is shut. The peer drops anything
// below its rcv_nxt.
static uint32_t bare_seq(const struct tl_tcp *c)
{
	return c->persisting ? c->snd_una : c->snd_max;
}

void tl_tcp_send_ack(struct tl_tcp *c)
{
	struct tl_tcp_out out = {.seq = bare_seq(c), .flags = TL_TCP_ACK};

	if (!tl_tcp_transmit(c, &out)) {
		c->ack_now = true;
		tl_tcp_pend(c);
	}
}

void tl_tcp_send_rst(struct tl_tcp *c)
{
	struct tl_tcp_out out = {.seq = bare_seq(c), .flags = TL_TCP_RST | TL_TCP_ACK};

	if (tl_tcp_transmit(c, &out))
		tl_count(&c->net->stats.tcp_resets_tx, 1);
}

bool tl_tcp_transmit_syn(struct tl_tcp *c)
{
	uint8_t options[TL_TCP_OPTIONS_MAX];
	uint8_t len = tl_tcp_options_write(c, options);
	struct tl_tcp_out out = {.options = options, .seq = c->iss, .options_len = len, .flags = TL_TCP_SYN};

	if (c->state == TL_TCPS_SYN_RECEIVED)
		out.flags |= TL_TCP_ACK;
	return tl_tcp_transmit(c, &out);
}

void tl_tcp_send_syn(struct tl_tcp *c)
{
	if (!tl_tcp_transmit_syn(c)) {
		tl_tcp_timer_stop(c, TL_TCP_RETRANSMIT);
		tl_tcp_pend(c);
		return;
	}
	if (c->syn_ns == 0)
		c->syn_ns = c->net->now_ns;
	tl_count(&c->net->stats.tcp_retransmits, c->syn_lost);
	if (!tl_tcp_timer_is_set(c, TL_TCP_RETRANSMIT))
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, tl_tcp_rto_ns(c));
}

uint32_t tl_tcp_retransmit(struct tl_tcp *c, uint32_t seq, uint32_t most)
{
	if (tl_tcp_pace_holds(c)) {
		c->pace_resend = true;
		tl_tcp_pace_wait(c);
		return 0;
	}
	uint32_t queued = tl_seq_lt(seq, c->snd_end) ? c->snd_end - seq : 0;
	uint32_t sent = c->snd_max - seq; // may include our FIN
	uint32_t len = tl_min_u32(tl_min_u32(queued, sent), tl_min_u32(most, c->mss));
	struct tl_tcp_out out = {.seq = seq, .len = (uint16_t)len, .flags = TL_TCP_ACK};
	bool fin = seq + len == c->snd_end && tl_seq_lt(c->snd_end, c->snd_max);

	if (len > 0 && seq + len == c->snd_end)
		out.flags |= TL_TCP_PSH;
	if (fin)
		out.flags |= TL_TCP_FIN;
	if (!tl_tcp_transmit(c, &out))
		return 0;
	c->pace_resend = false;
	tl_count(&c->net->stats.tcp_retransmits, 1);
	tl_tcp_sent_again(c, seq, seq + len + fin);
	return len + fin;
}

bool tl_tcp_probe_window(struct tl_tcp *c)
{
	uint32_t queued = tl_tcp_queued(c);
	uint32_t fits = tl_min_u32(tl_min_u32(queued, tl_tcp_usable(c)), c->mss);

	if (fits > 0)
		return send_next(c, NULL, fits, false);
	struct tl_tcp_out out = {.seq = c->snd_una, .len = queued > 0, .flags = TL_TCP_ACK};
	if (queued == 0)
		out.flags |= TL_TCP_FIN;
	if (!tl_tcp_transmit(c, &out))
		return false;
	tl_count(&c->net->stats.tcp_window_probes_tx, 1);
	if (c->snd_max == c->snd_una)
		c->snd_max++;
	return true;
}

bool tl_tcp_probe_tail(struct tl_tcp *c)
{
	uint32_t flight = c->snd_nxt - c->snd_una;
	uint32_t queued = tl_tcp_unsent_bytes(c);
	uint32_t window = c->snd_wnd > flight ? c->snd_wnd - flight : 0;
	uint32_t len = tl_min_u32(tl_min_u32(queued, window), c->mss); // not limited by cwnd
	uint32_t last = tl_min_u32(c->snd_max - c->snd_una, c->mss);

	c->probe_again = len == 0 || sws_blocked(c, len, queued);
	if (c->probe_again ? tl_tcp_retransmit(c, c->snd_max - last, last) == 0 : !send_next(c, NULL, len, false))
		return false;
	tl_count(&c->net->stats.tcp_tail_probes_tx, 1);
	c->probing = true;
	c->probe_end = c->snd_max;
	return true;
}

// Send a keepalive probe: an acknowledged sequence number, no data (RFC 1122, section 4.2.3.6).
bool tl_tcp_send_keepalive(struct tl_tcp *c)
{
	struct tl_tcp_out out = {.seq = c->snd_una - 1, .flags = TL_TCP_ACK};

	if (!tl_tcp_transmit(c, &out))
		return false;
	tl_count(&c->net->stats.tcp_keepalives_tx, 1);
	return true;
}

void tl_tcp_refuse(struct tl_net *net, const struct tl_tcp_seg *seg)
{
	bool has_ack = (seg->flags & TL_TCP_ACK) != 0;
	if ((seg->flags & TL_TCP_RST) != 0)
		return;
	struct rte_mbuf *m = tl_net_alloc(net);
	if (m == NULL)
		return;

	uint32_t seq_after = seg->seq + seg->len + ((seg->flags & TL_TCP_SYN) != 0) + ((seg->flags & TL_TCP_FIN) != 0);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)tl_ip_build(net, m, TL_IPPROTO_TCP, seg->src_be, TL_TCP_LEN);
	*tcp = (struct tl_tcp_hdr){
		.src_port_be = seg->hdr->dst_port_be,
		.dst_port_be = seg->hdr->src_port_be,
		.seq_be = has_ack ? tl_be32(seg->ack) : 0,
		.ack_be = has_ack ? 0 : tl_be32(seq_after),
		.data_off = TL_TCP_LEN << 2,
		.flags = has_ack ? TL_TCP_RST : TL_TCP_RST | TL_TCP_ACK,
	};
	tcp->cksum_be = tl_ip_cksum(net, m, seg->src_be, TL_IPPROTO_TCP, tcp, TL_TCP_LEN);
	tl_count(&net->stats.tcp_resets_tx, 1);
	tl_ip_output(net, m, seg->src_be);
}
