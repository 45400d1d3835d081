// SPDX-License-Identifier: BSD-3-Clause
// SYN cookies (RFC 4987, section 3.6): with too many half-open handshakes a SYN is answered without storing state. The
// ACK returns the state in its acknowledgment number and in the echoed timestamp:
//
//   our ISN:       time, in 64 s : 5 | MSS : 3 | keyed hash of addresses, ports, the peer's ISN and those 8 bits : 24
//   our timestamp: the clock, rounded down | SACK : 1 | window scale, 15 for none : 4

#include "tcp_output.h"
#include "tcp_secret.h"
#include "tcp_seg.h"
#include "tcp_table.h"

#define PERIOD_SHIFT 36 // 68.7 s; a cookie is valid for one to two periods
#define HASH_MASK UINT32_C(0xffffff)
#define STAMP_BITS 5
#define STAMP_SACK 0x10
#define SCALE_NONE 15

static const uint16_t MSS[8] = {TL_TCP_MIN_MSS, TL_TCP_DEFAULT_MSS, TL_TCP_DEFAULT_MSS6, 1380, 1440, 1452, 1460, 8960};

static uint32_t period_now(const struct tl_net *net)
{
	return (uint32_t)(net->now_ns >> PERIOD_SHIFT);
}

static uint32_t cookie_for(
	const struct tl_net *net, struct tl_tcp_key key, uint32_t peer_isn, uint32_t period, unsigned mss)
{
	uint64_t word = (uint64_t)peer_isn << 32 | (period << 3 & 0x7ffffff8) | mss;
	const uint64_t *secret = net->tcp->secrets.cookie;
	uint32_t hash = (uint32_t)tl_tcp_hash(secret, tl_tcp_hash_key(net, secret, key) ^ word);

	return (period & 31) << 27 | mss << 24 | (hash & HASH_MASK);
}

// ---- send

// Index of the largest MSS that fits.
static unsigned mss_index(const struct tl_tcp *c)
{
	uint16_t mss = c->mss + (c->stamped ? TL_TCP_STAMP_LEN : 0);
	unsigned i = TL_ARRAY_LEN(MSS) - 1;

	while (i > 0 && MSS[i] > mss)
		i--;
	return i;
}

// Drop the options that need timestamps.
static void forgo_options(struct tl_tcp *c)
{
	c->sack = false;
	c->offer_scale = false;
	c->rcv_scale = 0;
	tl_tcp_set_recv_window(c, tl_min_u32(c->recv_window, UINT16_MAX));
}

static void mark_stamp(struct tl_tcp *c)
{
	uint32_t now = tl_tcp_stamp_now(c);
	uint32_t bits = (c->offer_scale ? c->snd_scale : SCALE_NONE) | (c->sack ? STAMP_SACK : 0);
	uint32_t marked = (now >> STAMP_BITS << STAMP_BITS) | bits;

	if (tl_seq_lt(now, marked)) // the clock must not run back
		marked -= 1 << STAMP_BITS;
	c->stamp_offset += marked - now;
}

void tl_tcp_cookie_send(struct tl_net *net, struct tl_tcp *c, uint32_t peer_isn)
{
	if (c->stamped)
		mark_stamp(c);
	else
		forgo_options(c);
	tl_tcp_start_sequence(c, cookie_for(net, c->key, peer_isn, period_now(net), mss_index(c)));
	net->tcp->cookies_ns = net->now_ns;
	tl_count(&net->stats.tcp_syn_cookies_tx, 1);
	tl_tcp_transmit_syn(c);
}

// ---- receive

bool tl_tcp_cookie_check(const struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_seg *seg)
{
	uint32_t cookie = seg->ack - 1, period = period_now(net);
	uint32_t age = (period - (cookie >> 27)) & 31;

	if ((net->now_ns - net->tcp->cookies_ns) >> PERIOD_SHIFT > 1 || age > 1)
		return false;
	return cookie == cookie_for(net, key, seg->seq - 1, period - age, cookie >> 24 & 7);
}

// Restore the connection. The RTO keeps its initial value: there is no RTT sample.
void tl_tcp_cookie_open(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	uint16_t link_mss = c->mss;
	uint8_t scale = seg->echo & 15;

	tl_tcp_start_sequence(c, seg->ack - 1);
	c->mss = tl_min_u32(MSS[(seg->ack - 1) >> 24 & 7], link_mss);
	c->stamped = seg->stamped;
	if (c->stamped) {
		c->mss -= TL_TCP_STAMP_LEN;
		c->sack = (seg->echo & STAMP_SACK) != 0;
		c->offer_scale = scale != SCALE_NONE;
		c->snd_scale = c->offer_scale ? scale : 0;
		tl_tcp_stamp_take(c, seg->stamp);
	}
	if (!c->stamped)
		forgo_options(c);
	if (!c->offer_scale) {
		c->rcv_scale = 0;
		tl_tcp_set_recv_window(c, tl_min_u32(c->recv_window, UINT16_MAX));
	}
	c->rcv_nxt = seg->seq;
	c->rcv_acked = seg->seq;
	uint32_t window = c->follows_room ? tl_min_u32(c->recv_window, c->send_limit) : c->recv_window;
	c->rcv_adv = seg->seq + tl_min_u32(window, UINT16_MAX); // window advertised with the cookie
	tl_count(&c->net->stats.tcp_syn_cookies_rx, 1);
}
