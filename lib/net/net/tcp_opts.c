// SPDX-License-Identifier: BSD-3-Clause
// TCP options: maximum segment size (RFC 9293 section 3.7.1, RFC 6691), window scale and timestamps (RFC 7323),
// SACK (RFC 2018), user timeout (RFC 5482).

#include "tcp_seg.h"
#include "tcp_table.h"

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MSS 2
#define OPTION_SCALE 3
#define OPTION_SACK_PERMITTED 4
#define OPTION_SACK 5
#define OPTION_STAMP 8
#define OPTION_USER_TIMEOUT 28

#define OPTION_MSS_LEN 4
#define OPTION_SCALE_LEN 3
#define OPTION_SACK_PERMITTED_LEN 2
#define OPTION_STAMP_LEN 10
#define OPTION_USER_TIMEOUT_LEN 4

#define USER_TIMEOUT_MINUTES 0x8000 // unit: minute, else second
#define USER_TIMEOUT_MAX 0x7fff
// Limits for the timeout of a peer: RFC 5482, section 3.1, and RFC 1122, section 4.2.3.5.
#define USER_TIMEOUT_LEAST_S 100
#define USER_TIMEOUT_MOST_S 3600

static uint32_t read_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void take_blocks(const uint8_t *option, uint8_t len, struct tl_tcp_options *out)
{
	out->n_blocks = 0;
	for (const uint8_t *p = option + 2; p + 8 <= option + len && out->n_blocks < TL_TCP_SACK_BLOCKS; p += 8)
		out->block[out->n_blocks++] = (struct tl_tcp_range){read_u32(p), read_u32(p + 4)};
}

static void take_option(const uint8_t *option, uint8_t len, struct tl_tcp_options *out)
{
	if (option[0] == OPTION_MSS && len == OPTION_MSS_LEN)
		out->mss = (uint16_t)(option[2] << 8 | option[3]);
	if (option[0] == OPTION_SCALE && len == OPTION_SCALE_LEN) {
		out->has_scale = true;
		out->scale = option[2] > TL_TCP_MAX_SCALE ? TL_TCP_MAX_SCALE : option[2];
	}
	if (option[0] == OPTION_SACK_PERMITTED && len == OPTION_SACK_PERMITTED_LEN)
		out->sack_permitted = true;
	if (option[0] == OPTION_STAMP && len == OPTION_STAMP_LEN) {
		out->has_stamp = true;
		out->stamp = read_u32(option + 2);
		out->echo = read_u32(option + 6);
	}
	if (option[0] == OPTION_SACK)
		take_blocks(option, len, out);
	if (option[0] == OPTION_USER_TIMEOUT && len == OPTION_USER_TIMEOUT_LEN) {
		uint16_t value = (uint16_t)(option[2] << 8 | option[3]);
		out->user_timeout_s = (value & USER_TIMEOUT_MAX) * ((value & USER_TIMEOUT_MINUTES) != 0 ? 60u : 1u);
	}
}

void tl_tcp_options_parse(const struct tl_tcp_hdr *hdr, struct tl_tcp_options *out)
{
	const uint8_t *p = (const uint8_t *)(hdr + 1);
	unsigned left = (hdr->data_off >> 4) * 4 - TL_TCP_LEN;

	*out = (struct tl_tcp_options){0};
	while (left > 0 && p[0] != OPTION_END) {
		if (p[0] == OPTION_NOP) {
			p++;
			left--;
			continue;
		}
		if (left < 2 || p[1] < 2 || p[1] > left) // missing or bad length: ignore the rest
			return;
		uint8_t len = p[1];
		take_option(p, len, out);
		p += len;
		left -= len;
	}
}

static uint16_t own_mss(const struct tl_tcp *c)
{
	return tl_tcp_link_mss(c->net, c->key);
}

static uint16_t default_mss(const struct tl_tcp *c)
{
	return tl_ip_is6(c->key.peer_be) ? TL_TCP_DEFAULT_MSS6 : TL_TCP_DEFAULT_MSS;
}

// User timeout in seconds if it fits, else in minutes, rounded up.
static uint16_t own_user_timeout(const struct tl_tcp *c)
{
	uint64_t seconds = (c->user_timeout_ns + TL_NS_PER_S - 1) / TL_NS_PER_S;
	uint64_t minutes = tl_min_u64((seconds + 59) / 60, USER_TIMEOUT_MAX);

	return (uint16_t)(seconds <= USER_TIMEOUT_MAX ? seconds : USER_TIMEOUT_MINUTES | minutes);
}

uint8_t tl_tcp_options_write(const struct tl_tcp *c, uint8_t buf[TL_TCP_OPTIONS_MAX])
{
	uint8_t n = 0;

	buf[n++] = OPTION_MSS;
	buf[n++] = OPTION_MSS_LEN;
	buf[n++] = (uint8_t)(own_mss(c) >> 8);
	buf[n++] = (uint8_t)own_mss(c);
	if (c->sack) {
		buf[n++] = OPTION_NOP;
		buf[n++] = OPTION_NOP;
		buf[n++] = OPTION_SACK_PERMITTED;
		buf[n++] = OPTION_SACK_PERMITTED_LEN;
	}
	if (c->offer_scale) {
		buf[n++] = OPTION_NOP;
		buf[n++] = OPTION_SCALE;
		buf[n++] = OPTION_SCALE_LEN;
		buf[n++] = c->rcv_scale;
	}
	if (c->user_timeout_option) {
		buf[n++] = OPTION_USER_TIMEOUT;
		buf[n++] = OPTION_USER_TIMEOUT_LEN;
		buf[n++] = (uint8_t)(own_user_timeout(c) >> 8);
		buf[n++] = (uint8_t)own_user_timeout(c);
	}
	return n;
}

// Use the longer timeout of both sides, within limits (RFC 5482, section 3.1).
static void adopt_user_timeout(struct tl_tcp *c, uint32_t peer_s)
{
	uint64_t peer_ns = tl_max_u64(peer_s, USER_TIMEOUT_LEAST_S) * TL_NS_PER_S;

	c->user_timeout_ns = tl_min_u64(tl_max_u64(c->user_timeout_ns, peer_ns), USER_TIMEOUT_MOST_S * TL_NS_PER_S);
}

void tl_tcp_options_apply(struct tl_tcp *c, const struct tl_tcp_hdr *peer_syn)
{
	struct tl_tcp_options options;

	tl_tcp_options_parse(peer_syn, &options);
	uint16_t mss = options.mss != 0 ? options.mss : default_mss(c);
	if (mss < TL_TCP_MIN_MSS)
		mss = TL_TCP_MIN_MSS;
	c->mss = mss < own_mss(c) ? mss : own_mss(c);
	c->snd_scale = options.scale;
	c->sack = c->sack && options.sack_permitted;
	c->stamped = c->stamped && options.has_stamp;
	if (c->stamped) {
		c->mss -= TL_TCP_STAMP_LEN; // RFC 6691: smaller segments, same MSS
		tl_tcp_stamp_take(c, options.stamp);
	}
	if (c->user_timeout_option && options.user_timeout_s != 0)
		adopt_user_timeout(c, options.user_timeout_s);
	if (!options.has_scale) { // RFC 7323, section 2.2: only if both offer it
		c->offer_scale = false;
		c->rcv_scale = 0;
		tl_tcp_set_recv_window(c, tl_min_u32(c->recv_window, UINT16_MAX));
	}
}
