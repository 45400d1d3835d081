// SPDX-License-Identifier: BSD-3-Clause
// Fast path: send new data with the connection's ready header, if the last refresh found no obstacle. Bookkeeping that
// can wait until the frame has left is noted and done afterwards.

#include <string.h>

#include <rte_mbuf.h>

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_seg.h"
#include "tcp_table.h"

#define FEW_BYTES 64 // up to here: copy and sum by words; above: in blocks

static struct tl_tcp_hdr *tcp_of(struct tl_tcp_ready *r)
{
	return (struct tl_tcp_hdr *)(r->frame + r->l4_off);
}

static struct tl_tcp_stamp_option *stamp_of(struct tl_tcp_ready *r)
{
	return (struct tl_tcp_stamp_option *)(tcp_of(r) + 1);
}

// Clear the fields that differ per frame.
static void learn_ip4(struct tl_tcp_ready *r, struct tl_ipv4_hdr *ip)
{
	ip->total_len_be = 0;
	ip->cksum_be = 0;
	r->l3_sum = tl_cksum_add(0, ip, TL_IPV4_LEN);
}

void tl_tcp_ready_learn(struct tl_tcp *c, const uint8_t *frame)
{
	struct tl_tcp_ready *r = &c->ready;
	bool is_ip6 = tl_ip_is6(c->key.peer_be);

	*r = (struct tl_tcp_ready){.l4_off = TL_ETHER_LEN + tl_ip_len(c->key.peer_be)};
	memcpy(r->frame, frame, r->l4_off + TL_TCP_LEN);
	if (is_ip6)
		((struct tl_ipv6_hdr *)(r->frame + TL_ETHER_LEN))->payload_len_be = 0;
	else
		learn_ip4(r, (struct tl_ipv4_hdr *)(r->frame + TL_ETHER_LEN));
	tl_tcp_ready_options(c);
}

void tl_tcp_ready_options(struct tl_tcp *c)
{
	struct tl_tcp_ready *r = &c->ready;
	r->l4_off = TL_ETHER_LEN + tl_ip_len(c->key.peer_be);
	struct tl_tcp_hdr *tcp = tcp_of(r);
	uint32_t word_be = c->stamped ? tl_be32(TL_TCP_STAMP_WORD) : 0;
	uint8_t header_len = TL_TCP_LEN + (c->stamped ? TL_TCP_STAMP_LEN : 0);

	*stamp_of(r) = (struct tl_tcp_stamp_option){.word_be = word_be};
	*tcp = (struct tl_tcp_hdr){.src_port_be = tcp->src_port_be,
		.dst_port_be = tcp->dst_port_be,
		.data_off = (uint8_t)(header_len << 2),
		.flags = TL_TCP_PSH | TL_TCP_ACK};
	r->payload_off = r->l4_off + header_len;
	r->fixed_sum = tl_ip_pseudo(c->net, c->key.peer_be, TL_IPPROTO_TCP, 0);
	r->fixed_sum = tl_cksum_add(r->fixed_sum, tcp, TL_TCP_LEN + sizeof(word_be)) + tl_be16(header_len);
}

// ---- refresh

// True if nothing is queued, no loss indication is set, and an ACK would carry no SACK blocks.
static bool is_plain(const struct tl_tcp *c)
{
	return tl_tcp_may_send(c) && c->snd_nxt == c->snd_end && c->snd_nxt == c->snd_max && c->trouble == 0 &&
	       c->unusual == 0;
}

// Usable window; after a pause with the restart value of cwnd, which settle() sets.
static uint32_t window_left(const struct tl_tcp *c)
{
	uint32_t usable = tl_tcp_usable(c);

	return c->snd_una != c->snd_max ? usable : tl_min_u32(usable, tl_tcp_cc_after_pause(c));
}

// Set the fields that stay the same until the next refresh: ACK, window, echoed timestamp.
static inline __attribute__((always_inline)) void set_fields(struct tl_tcp *c)
{
	struct tl_tcp_ready *r = &c->ready;
	struct tl_tcp_hdr *tcp = tcp_of(r);
	struct tl_tcp_offer offer = tl_tcp_offer(c, c->rcv_scale);
	uint32_t ack_be = tl_be32(c->rcv_nxt), echo_be = c->stamped ? tl_be32(c->stamp_recent) : 0;
	uint16_t window_be = tl_be16(offer.field);

	r->adv = offer.adv;
	tcp->ack_be = ack_be;
	tcp->window_be = window_be;
	stamp_of(r)->echo_be = echo_be;
	r->l4_sum = (uint64_t)r->fixed_sum + ack_be + window_be + echo_be;
}

// Set the limits of a segment. False: none may leave by the ready header.
static inline bool set_limits(struct tl_tcp *c)
{
	struct tl_tcp_ready *r = &c->ready;
	uint32_t room = is_plain(c) ? tl_min_u32(window_left(c), c->send_limit - tl_tcp_queued(c)) : 0;

	tl_tcp_ready_stop(c);
	r->bytes = tl_min_u32(room, c->mss);
	r->snd_edge = c->snd_nxt + room;
	return room != 0;
}

void tl_tcp_ready_refresh_now(struct tl_tcp *c)
{
	struct tl_tcp_ready *r = &c->ready;

	if (!set_limits(c))
		return;
	r->few = tl_min_u32(r->bytes, FEW_BYTES);
	set_fields(c);
}

// ---- the segment

// Copy; return the sum of the copied words.
static inline uint64_t copy_and_sum(uint8_t *to, const uint8_t *from, uint32_t len)
{
	size_t words = len & ~UINT32_C(7), at = 0;
	uint64_t sum = 0;

	for (uint64_t word; at < words; at += 8) {
		memcpy(&word, from + at, 8);
		memcpy(to + at, &word, 8);
		sum = tl_cksum_add64(sum, word);
	}
	if (words == len)
		return sum;
	for (; at < len; at++)
		to[at] = from[at];
	return tl_cksum_add_few(sum, from + words, len - (uint32_t)words);
}

// Sum of data; known if it is the payload of the received frame.
static uint32_t sum_of(const struct tl_net *net, const uint8_t *data, uint32_t len)
{
	if (data == net->summed.data && len == net->summed.len)
		return net->summed.sum;
	return tl_cksum_add(0, data, len);
}

// Copy; return the checksum of the segment, given the sum of the rest.
static uint16_t copy_long(
	const struct tl_tcp *c, struct rte_mbuf *m, uint8_t *to, const uint8_t *from, uint32_t len, uint64_t sum)
{
	uint32_t l4_len = c->ready.payload_off - c->ready.l4_off + len;

	memcpy(to, from, len);
	if (tl_ip_asks_cksum(c->net, l4_len))
		return tl_ip_ask_cksum(c->net, m, c->key.peer_be, TL_IPPROTO_TCP, (uint16_t)l4_len);
	return tl_cksum_fold(tl_cksum_add64(sum, sum_of(c->net, from, len)));
}

static inline void fill_ip4(const struct tl_tcp *c, struct tl_ipv4_hdr *ip, uint16_t len)
{
	uint16_t len_be = tl_be16(len);

	ip->total_len_be = len_be;
	ip->cksum_be = tl_cksum_fold32(c->ready.l3_sum + len_be);
}

// Fill in the fields that differ per segment and add them to the sum of the rest (RFC 1624, section 3, with old values
// of 0). The zeros behind the header pad short frames.
static inline __attribute__((always_inline)) void fill(
	struct tl_tcp *c, struct rte_mbuf *m, const uint8_t *data, uint32_t len, bool few)
{
	const struct tl_tcp_ready *r = &c->ready;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *payload = frame + r->payload_off;
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(frame + r->l4_off);
	void *ip = frame + TL_ETHER_LEN;
	uint32_t frame_len = r->payload_off + len, seq_be = tl_be32(c->snd_nxt);
	uint64_t sum = r->l4_sum + seq_be + tl_be16((uint16_t)len);

	memcpy(frame, r->frame, sizeof(r->frame));
	if (c->stamped) {
		uint32_t stamp_be = tl_be32(tl_tcp_stamp_now(c));
		((struct tl_tcp_stamp_option *)(tcp + 1))->stamp_be = stamp_be;
		sum += stamp_be;
	}
	tcp->seq_be = seq_be;
	if (TL_LIKELY(r->l4_off == TL_ETHER_LEN + TL_IPV4_LEN))
		fill_ip4(c, ip, (uint16_t)(frame_len - TL_ETHER_LEN));
	else
		((struct tl_ipv6_hdr *)ip)->payload_len_be = tl_be16((uint16_t)(frame_len - r->l4_off));
	frame_len = frame_len < TL_ETHER_MIN_FRAME ? TL_ETHER_MIN_FRAME : frame_len;
	m->data_len = (uint16_t)frame_len;
	m->pkt_len = frame_len;

	if (few)
		tcp->cksum_be = tl_cksum_fold(tl_cksum_add64(sum, copy_and_sum(payload, data, len)));
	else
		tcp->cksum_be = copy_long(c, m, payload, data, len, sum);
}

// ---- notes

static void settle(const struct tl_tcp_note *note)
{
	struct tl_tcp *c = note->c;
	struct tl_tcp_ready *r = &c->ready;

	tl_count(&c->net->stats.tcp_segments_tx, 1);
	c->rcv_adv = r->adv;
	c->rcv_acked = c->rcv_nxt;
	c->ack_now = false;
	tl_tcp_ring_put(c, note->seq, note->data, note->len);
	if (note->seq == c->snd_una && c->net->now_ns - c->last_tx_ns > c->rto_ns)
		tl_tcp_cc_idle(c);
	c->snd_nxt = note->seq + note->len;
	tl_tcp_account_sent(c, note->seq);
	r->few = tl_min_u32(r->few, r->snd_edge - c->snd_nxt);
}

// Settle each note from its own sequence number up to the end of the last. The refresh stays valid, with less room.
void tl_tcp_settle_notes(struct tl_net *net)
{
	const struct tl_tcp_note *note = net->tcp->note;
	uint32_t n = net->n_notes;

	net->n_notes = 0;
	for (uint32_t i = 0; i < n; i++)
		settle(&note[i]);
}

static __attribute__((noinline)) void settle_and_provide(struct tl_net *net)
{
	tl_tcp_settle(net);
	if (net->spare == NULL && tl_txq_has_room(net->cfg.tx))
		net->spare = rte_pktmbuf_alloc(net->cfg.pool);
}

void tl_net_sent(struct tl_net *net)
{
	if (net->n_notes != 0 || net->spare == NULL)
		settle_and_provide(net);
}

// True if len bytes may leave by the ready header: a length of 0 wraps to a huge one. The template may be stale.
static inline bool is_ready(const struct tl_tcp *c, uint32_t len, uint32_t most)
{
	return TL_LIKELY(len - 1 < most && c->arp_generation == c->net->arp_generation);
}

static __attribute__((noinline)) int send_slow(struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	int rc = tl_tcp_send_slow(c, data, len);

	return rc == 0 && tl_tcp_unsent_bytes(c) != 0 ? TL_TCP_HELD_BACK : rc;
}

// Send. Calls come last, so that no register need be saved for later use.
static inline __attribute__((always_inline)) void send_ready(
	struct tl_tcp *c, struct rte_mbuf *m, struct tl_tcp_note note, bool few)
{
	struct tl_net *net = c->net;

	fill(c, m, note.data, note.len, few);
	c->snd_nxt = note.seq + note.len;
	c->snd_end = c->snd_nxt;
	tl_net_push(net, m);
}

// Send by the ready header if the segment is not the first of a burst, is long, the window follows the room, or no mbuf
// is at hand.
static __attribute__((noinline)) int send_any_ready(struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct tl_net *net = c->net;

	if (net->n_notes == TL_ARRAY_LEN(net->tcp->note))
		tl_tcp_settle_notes(net);
	if (c->ready.is_due)
		(void)set_limits(c);
	if (!is_ready(c, len, tl_min_u32(c->ready.bytes, c->ready.snd_edge - c->snd_nxt)) ||
		!tl_txq_has_room(net->cfg.tx) || !tl_tcp_flight_take(c))
		return send_slow(c, data, len);
	struct rte_mbuf *m = net->spare != NULL ? net->spare : rte_pktmbuf_alloc(net->cfg.pool);
	net->spare = NULL;
	if (m == NULL)
		return send_slow(c, data, len); // counts the failure
	if (c->follows_room) {			// the room shrinks
		c->snd_end += len;
		set_fields(c);
		c->rcv_adv = c->ready.adv; // a later segment must not advertise less
	}
	struct tl_tcp_note note = {.c = c, .data = data, .seq = c->snd_nxt, .len = len};
	net->tcp->note[net->n_notes++] = note;
	send_ready(c, m, note, len <= FEW_BYTES);
	return TL_TCP_SENT;
}

// Send the first segment after a settle: a spare mbuf is present, there are no notes, and the last refresh is still
// valid.
int tl_tcp_send_held(struct tl_tcp *c, const void *data, uint32_t len)
{
	struct tl_net *net = c->net;
	struct rte_mbuf *m = net->spare;

	if (TL_UNLIKELY(!is_ready(c, len, c->ready.few) || c->ring == NULL || m == NULL))
		return send_any_ready(c, data, len);
	struct tl_tcp_note note = {.c = c, .data = data, .seq = c->snd_nxt, .len = len};
	net->spare = NULL;
	net->tcp->note[0] = note;
	net->n_notes = 1;
	send_ready(c, m, note, true);
	return TL_TCP_SENT;
}
