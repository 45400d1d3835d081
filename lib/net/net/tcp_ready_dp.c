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

// ---- shapes

// The headers are identified by the offset of the payload in an untagged frame.
#define OFF_IP4 (TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN)
#define OFF_IP4_STAMPED (OFF_IP4 + TL_TCP_STAMP_LEN)
#define OFF_IP6 (TL_ETHER_LEN + TL_IPV6_LEN + TL_TCP_LEN)
#define OFF_IP6_STAMPED (OFF_IP6 + TL_TCP_STAMP_LEN)
_Static_assert(OFF_IP4_STAMPED < OFF_IP6, "with and without timestamps");

static inline uint32_t l4_off_of(uint32_t off)
{
	return TL_ETHER_LEN + (off < OFF_IP6 ? TL_IPV4_LEN : TL_IPV6_LEN);
}

static inline bool is_stamped_at(uint32_t off)
{
	return off == OFF_IP4_STAMPED || off > OFF_IP6;
}

// The most frequent headers, which have functions of their own: name, offset of the payload, length of the tag.
#define SHAPES(X)                                                                                                      \
	X(ip4_stamped, OFF_IP4_STAMPED, 0)                                                                             \
	X(ip4, OFF_IP4, 0)                                                                                             \
	X(tagged_ip4_stamped, OFF_IP4_STAMPED, TL_VLAN_LEN)                                                            \
	X(ip6_stamped, OFF_IP6_STAMPED, 0)                                                                             \
	X(ip6, OFF_IP6, 0)                                                                                             \
	X(tagged_ip6_stamped, OFF_IP6_STAMPED, TL_VLAN_LEN)

enum {
	SHAPE_other,
#define X(name, shape_off, shape_tag_len) SHAPE_##name,
	SHAPES(X)
#undef X
};

static uint8_t shape_of(uint32_t off, uint32_t tag_len)
{
#define X(name, shape_off, shape_tag_len)                                                                              \
	if (off == (shape_off) && tag_len == (shape_tag_len))                                                          \
		return SHAPE_##name;
	SHAPES(X)
#undef X
	return SHAPE_other;
}

// The template from its EtherType on: offsets there are those of an untagged frame.
static uint8_t *untagged_of(struct tl_tcp_ready *r)
{
	return r->frame + r->tag_len;
}

static struct tl_tcp_hdr *tcp_of(struct tl_tcp_ready *r)
{
	return (struct tl_tcp_hdr *)(untagged_of(r) + r->l4_off);
}

static struct tl_tcp_stamp_option *stamp_of(struct tl_tcp_ready *r)
{
	return (struct tl_tcp_stamp_option *)(tcp_of(r) + 1);
}

// Fill in the length of the IP header, whose packet ends len bytes behind it.
static inline __attribute__((always_inline)) void fill_ip(
	const struct tl_tcp *c, uint8_t *l3, uint32_t len, bool is_ip6)
{
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)l3;
	uint16_t len_be = tl_be16((uint16_t)(is_ip6 ? len : TL_IPV4_LEN + len));

	if (is_ip6) {
		((struct tl_ipv6_hdr *)l3)->payload_len_be = len_be;
		return;
	}
	ip->total_len_be = len_be;
	ip->cksum_be = tl_cksum_fold32(c->ready.l3_sum + len_be);
}

void tl_tcp_ready_set_len(struct tl_tcp *c, uint32_t len)
{
	struct tl_tcp_ready *r = &c->ready;

	r->len = len;
	r->len_be = tl_be16((uint16_t)len);
	fill_ip(c, untagged_of(r) + TL_ETHER_LEN, r->payload_off - r->l4_off + len, c->is_ip6);
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
	const size_t addresses_len = offsetof(struct tl_ether_hdr, type_be);
	uint32_t tag_be = c->net->tag_be;

	*r = (struct tl_tcp_ready){
		.l4_off = TL_ETHER_LEN + tl_ip_len(c->key.peer_be), .tag_len = c->net->cfg.vlan != 0 ? TL_VLAN_LEN : 0};
	memcpy(r->frame, frame, addresses_len);
	memcpy(r->frame + addresses_len, &tag_be, r->tag_len);
	memcpy(untagged_of(r) + addresses_len, frame + addresses_len, r->l4_off + TL_TCP_LEN - addresses_len);
	if (tl_ip_is6(c->key.peer_be))
		((struct tl_ipv6_hdr *)(untagged_of(r) + TL_ETHER_LEN))->payload_len_be = 0;
	else
		learn_ip4(r, (struct tl_ipv4_hdr *)(untagged_of(r) + TL_ETHER_LEN));
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
	*tcp = (struct tl_tcp_hdr){.src_port_be = c->key.own_port_be,
		.dst_port_be = c->key.peer_port_be,
		.data_off = (uint8_t)(header_len << 2),
		.flags = TL_TCP_PSH | TL_TCP_ACK};
	r->payload_off = r->l4_off + header_len;
	r->shape = shape_of(r->payload_off, r->tag_len);
	r->len = 0; // no message is that short
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

// Write ACK, window and echoed timestamp; return their sum.
static inline __attribute__((always_inline)) uint64_t put_fields(
	const struct tl_tcp *c, struct tl_tcp_hdr *tcp, uint32_t off, uint16_t window)
{
	uint32_t ack_be = tl_be32(c->rcv_nxt), echo_be = is_stamped_at(off) ? tl_be32(c->stamp_recent) : 0;
	uint16_t window_be = tl_be16(window);

	tcp->ack_be = ack_be;
	tcp->window_be = window_be;
	if (is_stamped_at(off))
		((struct tl_tcp_stamp_option *)(tcp + 1))->echo_be = echo_be;
	return (uint64_t)ack_be + window_be + echo_be;
}

// Set the fields that stay the same until the next refresh.
static inline __attribute__((always_inline)) void set_fields(struct tl_tcp *c, uint32_t off)
{
	struct tl_tcp_ready *r = &c->ready;
	struct tl_tcp_offer offer = tl_tcp_offer(c, c->rcv_scale);

	r->adv = offer.adv;
	r->l4_sum =
		r->fixed_sum + put_fields(c, (struct tl_tcp_hdr *)(untagged_of(r) + l4_off_of(off)), off, offer.field);
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
	set_fields(c, r->payload_off);
}

// ---- the segment

// Copy; add the copied words to the sum.
static inline uint64_t copy_and_sum(uint8_t *to, const uint8_t *from, uint32_t len, uint64_t sum)
{
	size_t words = len & ~UINT32_C(7), at = 0;

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

// True if the sum of the data is known: it is the payload of the received frame.
static inline bool is_summed(const struct tl_net *net, const uint8_t *data, uint32_t len)
{
	return data == net->summed.data && len == net->summed.len;
}

// The same for few bytes. Of those with a known sum 16 to 32 are the most frequent: two overlapping vectors.
static inline uint64_t copy_few(const struct tl_net *net, uint8_t *to, const uint8_t *from, uint32_t len, uint64_t sum)
{
	if (TL_UNLIKELY(len - 16 > 16 || !is_summed(net, from, len)))
		return copy_and_sum(to, from, len, sum);
	memcpy(to, from, 16);
	memcpy(to + len - 16, from + len - 16, 16);
	return tl_cksum_add64(sum, net->summed.sum);
}

// Copy; return the checksum of the segment, given the sum of the rest.
static uint16_t copy_long(
	const struct tl_tcp *c, struct rte_mbuf *m, uint8_t *to, const uint8_t *from, uint32_t len, uint64_t sum)
{
	uint32_t l4_len = c->ready.payload_off - c->ready.l4_off + len;

	memcpy(to, from, len);
	if (tl_ip_asks_cksum(c->net, l4_len)) {
		uint16_t field = tl_ip_ask_cksum(c->net, m, c->key.peer_be, TL_IPPROTO_TCP, (uint16_t)l4_len);
		m->l2_len += c->ready.tag_len;
		return field;
	}
	uint64_t data_sum = is_summed(c->net, from, len) ? c->net->summed.sum : tl_cksum_add(0, from, len);
	return tl_cksum_fold(tl_cksum_add64(sum, data_sum));
}

// Copy the headers and fill in the lengths; return that of the payload in network order. Zeros behind the shortest
// headers pad the frame. The IP header is complete in the template if the message is as long as the last.
static inline __attribute__((always_inline)) uint32_t fill_headers(
	const struct tl_tcp *c, struct rte_mbuf *m, uint8_t *start, uint32_t off, uint32_t tag_len, uint32_t len)
{
	const struct tl_tcp_ready *r = &c->ready;
	uint32_t frame_len = tag_len + off + len;
	_Static_assert(OFF_IP4 < TL_ETHER_MIN_FRAME && OFF_IP4_STAMPED >= TL_ETHER_MIN_FRAME,
		"only the shortest need padding");
	_Static_assert(OFF_IP4_STAMPED + TL_VLAN_LEN <= 64 + 8, "a word behind the vectors");

	if (off == OFF_IP4 && frame_len < tag_len + TL_ETHER_MIN_FRAME)
		frame_len = tag_len + TL_ETHER_MIN_FRAME;
	m->data_len = (uint16_t)frame_len;
	m->pkt_len = frame_len;
	memcpy(start, r->frame, 64);
	if (off == OFF_IP4_STAMPED)
		memcpy(start + 64, r->frame + 64, 8);
	else if (off >= OFF_IP6)
		memcpy(start + 64, r->frame + 64, sizeof(r->frame) - 64);
	if (TL_LIKELY(len == r->len))
		return r->len_be;
	fill_ip(c, start + tag_len + TL_ETHER_LEN, off - l4_off_of(off) + len, off >= OFF_IP6);
	return tl_be16((uint16_t)len);
}

// Fill in the fields that differ per segment and add them to the sum of the rest (RFC 1624, section 3, with old values
// of 0). off: of the payload, a constant for the most frequent headers. offer: the window, if the template has none.
static inline __attribute__((always_inline)) void fill(const struct tl_net *net, struct tl_tcp *c, struct rte_mbuf *m,
	uint32_t seq, const uint8_t *data, uint32_t len, uint32_t off, uint32_t tag_len, bool few,
	const struct tl_tcp_offer *offer)
{
	uint8_t *start = rte_pktmbuf_mtod(m, uint8_t *), *frame = start + tag_len;
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(frame + l4_off_of(off));
	uint64_t sum = fill_headers(c, m, start, off, tag_len, len);
	uint32_t seq_be = tl_be32(seq), stamp_be = 0;

	sum += offer != NULL ? c->ready.fixed_sum + put_fields(c, tcp, off, offer->field) : c->ready.l4_sum;
	tcp->seq_be = seq_be;
	if (is_stamped_at(off)) {
		stamp_be = tl_be32(tl_tcp_stamp_at(c, net->now_ns));
		((struct tl_tcp_stamp_option *)(tcp + 1))->stamp_be = stamp_be;
	}
	sum += (uint64_t)seq_be + stamp_be;
	if (few)
		tcp->cksum_be = tl_cksum_fold(copy_few(net, frame + off, data, len, sum));
	else
		tcp->cksum_be = copy_long(c, m, frame + off, data, len, sum);
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
static inline __attribute__((always_inline)) int send_ready(struct tl_tcp *c, struct rte_mbuf *m,
	struct tl_tcp_note note, uint32_t off, uint32_t tag_len, bool few, const struct tl_tcp_offer *offer)
{
	struct tl_net *net = c->net;

	fill(net, c, m, note.seq, note.data, note.len, off, tag_len, few, offer);
	c->snd_nxt = note.seq + note.len;
	c->snd_end = c->snd_nxt;
	tl_net_push_tagged(net, m);
	return TL_TCP_SENT;
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
		set_fields(c, c->ready.payload_off);
		c->rcv_adv = c->ready.adv; // a later segment must not advertise less
	}
	struct tl_tcp_note note = {.c = c, .data = data, .seq = c->snd_nxt, .len = len};
	net->tcp->note[net->n_notes++] = note;
	return send_ready(c, m, note, c->ready.payload_off, c->ready.tag_len, len <= FEW_BYTES, NULL);
}

// True if a segment that makes that many bytes in flight may leave, and another window follow the room: at most what
// set_limits() allows, as after a pause cwnd restarts with two segments or more (RFC 6928). False if anything is
// queued, lost, closed or not settled.
static inline bool may_follow(const struct tl_tcp *c, uint32_t len, uint32_t flight)
{
	return (c->conditions & ~TL_TCP_ACK_NOW) == TL_TCP_CALM && tl_tcp_all_sent(c) && len <= c->mss &&
	       flight <= c->snd_wnd && flight <= c->cwnd + c->limited_bytes && flight <= c->send_limit;
}

// Send by the ready header where each segment has another window: it is refreshed for this one alone.
static inline __attribute__((always_inline)) int send_following(
	struct tl_tcp *c, const uint8_t *data, uint32_t len, uint32_t off, uint32_t tag_len)
{
	struct tl_net *net = c->net;
	struct rte_mbuf *m = net->spare;
	uint32_t flight = c->snd_nxt - c->snd_una + len;

	if (TL_UNLIKELY(!c->ready.is_due || !is_ready(c, len, FEW_BYTES) || !may_follow(c, len, flight) || m == NULL ||
			!tl_txq_has_room(net->cfg.tx) || !tl_tcp_flight_take(c)))
		return send_any_ready(c, data, len);
	if (!c->follows_room) // is_due is not set without it
		__builtin_unreachable();
	struct tl_tcp_note note = {.c = c, .data = data, .seq = c->snd_nxt, .len = len};
	net->spare = NULL;
	net->tcp->note[0] = note;
	net->n_notes = 1;
	uint32_t wanted = tl_min_u32(c->recv_window, c->send_limit - flight);
	struct tl_tcp_offer offer = tl_tcp_offer_of(c, c->rcv_scale, wanted);
	c->ready.adv = offer.adv;
	c->rcv_adv = offer.adv;
	return send_ready(c, m, note, off, tag_len, true, &offer);
}

// Send the first segment after a settle: there are no notes, and the last refresh is still valid.
static inline __attribute__((always_inline)) int send_first(
	struct tl_tcp *c, const uint8_t *data, uint32_t len, uint32_t off, uint32_t tag_len)
{
	struct tl_net *net = c->net;
	struct rte_mbuf *m = net->spare;

	if (TL_UNLIKELY(c->arp_generation != net->arp_generation || c->flight == NULL || m == NULL))
		return send_any_ready(c, data, len);
	struct tl_tcp_note note = {.c = c, .data = data, .seq = c->snd_nxt, .len = len};
	net->spare = NULL;
	net->tcp->note[0] = note;
	net->n_notes = 1;
	return send_ready(c, m, note, off, tag_len, true, NULL);
}

// ---- by the shape of the headers

typedef int (*send_fn)(struct tl_tcp *c, const uint8_t *data, uint32_t len);

#define X(name, off, tag_len)                                                                                          \
	static int send_first_##name(struct tl_tcp *c, const uint8_t *data, uint32_t len)                              \
	{                                                                                                              \
		return send_first(c, data, len, off, tag_len);                                                         \
	}                                                                                                              \
	static int send_following_##name(struct tl_tcp *c, const uint8_t *data, uint32_t len)                          \
	{                                                                                                              \
		return send_following(c, data, len, off, tag_len);                                                     \
	}
SHAPES(X)
X(other, c->ready.payload_off, c->ready.tag_len)
#undef X

#define X(name, off, tag_len) [SHAPE_##name] = send_first_##name,
static const send_fn FIRST[] = {SHAPES(X)[SHAPE_other] = send_first_other};
#undef X
#define X(name, off, tag_len) [SHAPE_##name] = send_following_##name,
static const send_fn FOLLOWING[] = {SHAPES(X)[SHAPE_other] = send_following_other};
#undef X

int tl_tcp_send_held(struct tl_tcp *c, const void *data, uint32_t len)
{
	if (len - 1 < c->ready.few) // a length of 0 wraps to a huge one
		return FIRST[c->ready.shape](c, data, len);
	return FOLLOWING[c->ready.shape](c, data, len);
}
