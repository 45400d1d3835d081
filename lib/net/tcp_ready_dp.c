// SPDX-License-Identifier: BSD-3-Clause
// The short way out: a segment of new data made from the connection's ready header, when a look after the last one, or at
// the last that came in, found nothing in the way. What need not be done before the frame leaves is noted and done
// afterwards.

#include <string.h>

#include <rte_mbuf.h>

#include "tcp_priv.h"

#define COPY_WORDS_MAX 64 // longer data is copied first and summed then, in blocks

void tl_tcp_ready_learn(struct tl_tcp *c, const uint8_t *frame)
{
	struct tl_tcp_ready *r = &c->ready;
	uint32_t peer_be = tl_tcp_key_peer_ip(c->key);

	*r = (struct tl_tcp_ready){.l3_off = TL_ETHER_LEN, .l4_off = TL_ETHER_LEN + TL_IPV4_LEN};
	memcpy(r->frame, frame, TL_TCP_HEADERS);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(r->frame + r->l3_off);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(r->frame + r->l4_off);
	ip->total_len_be = 0;
	ip->id_be = 0;
	ip->cksum_be = 0;
	*tcp = (struct tl_tcp_hdr){.src_port_be = tcp->src_port_be, .dst_port_be = tcp->dst_port_be};
	r->l3_sum = tl_cksum_add(0, ip, TL_IPV4_LEN);
	r->l4_sum = (uint64_t)tcp->src_port_be + tcp->dst_port_be +
		    tl_cksum_pseudo(c->net->cfg.ip_be, peer_be, TL_IPPROTO_TCP, 0);
}

// ---- the look

// Nothing waits, nothing is amiss, and an ACK would have no SACK blocks.
static bool is_plain(const struct tl_tcp *c)
{
	return tl_tcp_may_send(c) && c->snd_nxt == c->snd_end && c->snd_nxt == c->snd_max && c->trouble == 0 &&
	       !c->fin_queued && !c->persisting && c->ooo_count == 0 && !c->dsack_due;
}

// After a pause the congestion window is the initial one again, which the note takes care of.
static uint32_t window_left(const struct tl_tcp *c)
{
	uint32_t usable = tl_tcp_usable(c);

	return c->snd_una != c->snd_max ? usable : tl_min_u32(usable, tl_tcp_cc_initial_window(c));
}

void tl_tcp_ready_look(struct tl_tcp *c)
{
	c->ready_room = is_plain(c) ? tl_min_u32(window_left(c), c->send_limit - tl_tcp_queued(c)) : 0;
	c->ready_bytes = tl_min_u32(c->ready_room, c->mss);
}

// ---- the segment

// Copies, and returns the sum of what was copied.
static inline uint64_t copy_and_sum(uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint64_t sum = 0;

	if (TL_UNLIKELY(len > COPY_WORDS_MAX)) {
		memcpy(to, from, len);
		return tl_cksum_add(0, to, len);
	}
	for (; len >= 8; len -= 8, to += 8, from += 8) {
		uint64_t word;
		memcpy(&word, from, sizeof(word));
		memcpy(to, &word, sizeof(word));
		sum = tl_cksum_add64(sum, word);
	}
	if (len > 0) {
		uint64_t rest = 0;
		for (uint32_t i = 0; i < len; i++)
			rest |= (uint64_t)from[i] << 8 * i;
		for (uint32_t i = 0; i < len; i++)
			to[i] = from[i];
		sum = tl_cksum_add64(sum, rest);
	}
	return sum;
}

// Sets what differs from segment to segment and adds it to the sum of what does not (RFC 1624, section 3, with the
// fields' old values 0).
static inline void fill_ip(struct tl_tcp *c, struct tl_ipv4_hdr *ip, uint16_t len)
{
	ip->total_len_be = tl_be16(len);
	ip->id_be = tl_be16(c->net->ip_id++);
	ip->cksum_be = tl_cksum_fold(c->ready.l3_sum + ip->total_len_be + ip->id_be);
}

// Returns the sum of the option.
static inline uint64_t fill_stamp(const struct tl_tcp *c, struct tl_tcp_hdr *tcp)
{
	struct tl_tcp_stamp_option *option = (struct tl_tcp_stamp_option *)(tcp + 1);

	option->word_be = tl_be32(TL_TCP_STAMP_WORD);
	option->stamp_be = tl_be32(tl_tcp_stamp_now(c));
	option->echo_be = tl_be32(c->stamp_recent);
	return (uint64_t)option->word_be + option->stamp_be + option->echo_be;
}

static inline void fill_tcp(struct tl_tcp *c, struct tl_tcp_hdr *tcp, const uint8_t *data, uint32_t len)
{
	uint32_t header_len = TL_TCP_LEN + (c->stamped ? TL_TCP_STAMP_LEN : 0);
	uint16_t off_and_flags = (uint16_t)((TL_TCP_PSH | TL_TCP_ACK) << 8 | header_len << 2);
	uint64_t sum = copy_and_sum((uint8_t *)tcp + header_len, data, len);

	if (c->stamped)
		sum = tl_cksum_add64(sum, fill_stamp(c, tcp));
	tcp->seq_be = tl_be32(c->snd_nxt);
	tcp->ack_be = tl_be32(c->rcv_nxt);
	memcpy(&tcp->data_off, &off_and_flags, sizeof(off_and_flags));
	c->snd_end += len; // the window we advertise may depend on the room left
	tcp->window_be = tl_be16(tl_tcp_advertise(c, c->rcv_scale));
	sum = tl_cksum_add64(sum, c->ready.l4_sum + tcp->seq_be + tcp->ack_be + off_and_flags + tcp->window_be +
					  tl_be16((uint16_t)(header_len + len)));
	tcp->cksum_be = tl_cksum_fold(sum);
}

static inline void fill(struct tl_tcp *c, struct rte_mbuf *m, const uint8_t *data, uint32_t len)
{
	const struct tl_tcp_ready *r = &c->ready;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t frame_len = r->l4_off + TL_TCP_LEN + (c->stamped ? TL_TCP_STAMP_LEN : 0) + len;

	memcpy(frame, r->frame, sizeof(r->frame)); // with zeros behind, which pad a short frame
	fill_tcp(c, (struct tl_tcp_hdr *)(frame + r->l4_off), data, len);
	fill_ip(c, (struct tl_ipv4_hdr *)(frame + r->l3_off), (uint16_t)(frame_len - r->l3_off));
	frame_len = frame_len < TL_ETHER_MIN_FRAME ? TL_ETHER_MIN_FRAME : frame_len;
	m->data_len = (uint16_t)frame_len;
	m->pkt_len = frame_len;
}

// ---- notes

static void settle(const struct tl_tcp_note *note)
{
	struct tl_tcp *c = note->c;

	tl_count(&c->net->stats.tcp_segments_tx, 1);
	tl_tcp_ring_put(c, note->seq, note->data, note->len);
	if (note->seq == c->snd_una && c->net->now_ns - c->last_tx_ns > c->rto_ns)
		tl_tcp_cc_idle(c);
	c->snd_nxt = note->seq + note->len;
	tl_tcp_account_sent(c, note->seq);
}

// Each note is of a segment of its own: its place in the sequence is gone back to, and left at the end of the last.
void tl_tcp_settle_notes(struct tl_net *net)
{
	const struct tl_tcp_note *note = net->tcp->note;
	uint32_t n = net->n_notes;

	net->n_notes = 0;
	for (uint32_t i = 0; i < n; i++)
		settle(&note[i]);
	for (uint32_t i = 0; i < n; i++)
		tl_tcp_ready_look(note[i].c);
}

void tl_net_sent(struct tl_net *net)
{
	tl_tcp_settle(net);
}

bool tl_tcp_ready_send(struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct tl_net *net = c->net;
	uint32_t seq = c->snd_nxt;

	// One compare: of nothing to send the length is huge, and so it is with a header of another time.
	if (TL_UNLIKELY(((uint64_t)(c->arp_generation ^ net->arp_generation) << 32 | (uint32_t)(len - 1)) >= c->ready_bytes))
		return false;
	struct rte_mbuf *m = rte_pktmbuf_alloc(net->cfg.pool);
	if (TL_UNLIKELY(m == NULL))
		return false; // the long way counts it

	fill(c, m, data, len);
	tl_txq_push(net->cfg.tx, m);
	c->snd_nxt = seq + len;
	c->rcv_acked = c->rcv_nxt;
	c->ack_now = false;
	c->ready_room -= len;
	c->ready_bytes = tl_min_u32(c->ready_room, c->mss);
	net->tcp->note[net->n_notes++] = (struct tl_tcp_note){.c = c, .data = data, .seq = seq, .len = len};
	if (TL_UNLIKELY(net->n_notes == TL_ARRAY_LEN(net->tcp->note)))
		tl_tcp_settle_notes(net);
	return true;
}
