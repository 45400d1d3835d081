// SPDX-License-Identifier: BSD-3-Clause
// Options of SYNs in the order of other stacks, and FreeBSD's receive buffer.

#include "pd_like.h"

#include <string.h>

#include "tcp_seg.h"

#define FREEBSD_RCVBUF 65536 // net.inet.tcp.recvspace
#define USUAL_MSS 1460

enum { END = 0, NOP = 1, MSS = 2, SCALE = 3, SACK_PERMITTED = 4, STAMP = 8 };

// Options under construction.
struct writer {
	uint8_t bytes[64];
	uint8_t len;
};

static void put(struct writer *w, const void *bytes, uint8_t len)
{
	memcpy(w->bytes + w->len, bytes, len);
	w->len += len;
}

static void pad(struct writer *w, uint8_t with, unsigned to, unsigned of)
{
	while (w->len % of != to)
		w->bytes[w->len++] = with;
}

static void put_mss(struct writer *w, const struct tl_tcp_options *o)
{
	if (o->mss != 0)
		put(w, (uint8_t[]){MSS, 4, (uint8_t)(o->mss >> 8), (uint8_t)o->mss}, 4);
}

static void put_stamp(struct writer *w, const struct tl_tcp_options *o)
{
	const uint32_t stamps_be[] = {tl_be32(o->stamp), tl_be32(o->echo)};

	put(w, (uint8_t[]){STAMP, 10}, 2);
	put(w, stamps_be, sizeof(stamps_be));
}

static void write_linux(struct writer *w, const struct tl_tcp_options *o)
{
	put_mss(w, o);
	if (!o->sack_permitted || !o->has_stamp)
		put(w, (uint8_t[]){NOP, NOP}, o->sack_permitted || o->has_stamp ? 2 : 0);
	if (o->sack_permitted)
		put(w, (uint8_t[]){SACK_PERMITTED, 2}, 2);
	if (o->has_stamp)
		put_stamp(w, o);
	if (o->has_scale)
		put(w, (uint8_t[]){NOP, SCALE, 3, o->scale}, 4);
}

static void write_freebsd(struct writer *w, const struct tl_tcp_options *o)
{
	put_mss(w, o);
	if (o->has_scale)
		put(w, (uint8_t[]){NOP, SCALE, 3, o->scale}, 4);
	if (o->sack_permitted)
		put(w, (uint8_t[]){SACK_PERMITTED, 2}, 2);
	if (o->has_stamp) {
		pad(w, NOP, 2, 4);
		put_stamp(w, o);
	}
	pad(w, END, 0, 4);
}

static void fix_cksums(struct tl_ipv4_hdr *ip, struct tl_tcp_hdr *tcp, uint16_t l4_len)
{
	uint32_t sum = tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, l4_len);

	tcp->cksum_be = 0;
	tcp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, tcp, l4_len));
	tl_wire_ipv4_finish(ip);
}

// Return the length behind the IP header; our SYNs have no data.
static uint16_t rewrite_syn(struct tl_tcp_hdr *tcp, enum tl_pd_like like)
{
	struct tl_tcp_options options;
	struct writer w = {.len = 0};

	tl_tcp_options_parse(tcp, &options);
	if (like == TL_PD_LIKE_LINUX)
		write_linux(&w, &options);
	else
		write_freebsd(&w, &options);
	memcpy(tcp + 1, w.bytes, w.len);
	tcp->data_off = (uint8_t)((TL_TCP_LEN + w.len) << 2);
	return TL_TCP_LEN + w.len;
}

// A buffer of whole segments is slightly larger than the maximum of an unscaled window: the small difference does not
// reduce the window.
static void widen(struct tl_tcp_hdr *tcp)
{
	const unsigned beyond = (FREEBSD_RCVBUF + USUAL_MSS - 1) / USUAL_MSS * USUAL_MSS - UINT16_MAX;

	if (tl_be16(tcp->window_be) >= UINT16_MAX - beyond)
		tcp->window_be = UINT16_MAX;
}

size_t tl_pd_like_packet(uint8_t *packet, size_t len, enum tl_pd_like like)
{
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)packet;
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	uint16_t l4_len = (uint16_t)(len - TL_IPV4_LEN);

	if (like == TL_PD_LIKE_NONE || ip->proto != TL_IPPROTO_TCP)
		return len;
	if ((tcp->flags & TL_TCP_SYN) != 0)
		l4_len = rewrite_syn(tcp, like);
	else if (like == TL_PD_LIKE_FREEBSD)
		widen(tcp);
	ip->total_len_be = tl_be16(TL_IPV4_LEN + l4_len);
	fix_cksums(ip, tcp, l4_len);
	return TL_IPV4_LEN + l4_len;
}

// Return the bytes of data, 0: none, or no TCP.
static uint32_t data_len(const uint8_t *packet)
{
	const struct tl_ipv4_hdr *ip = (const struct tl_ipv4_hdr *)packet;
	const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(ip + 1);

	return ip->proto == TL_IPPROTO_TCP ? tl_be16(ip->total_len_be) - TL_IPV4_LEN - (tcp->data_off >> 4) * 4u : 0;
}

static bool continues(const struct tl_pd_like_sent *sent, const uint8_t *packet, uint64_t at_us)
{
	const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(packet + TL_IPV4_LEN);

	return data_len(packet) > 0 && at_us == sent->at_us && tl_be32(tcp->seq_be) == sent->end;
}

void tl_pd_like_push(
	struct tl_pd_like_sent *sent, uint8_t *packet, uint64_t at_us, const uint8_t *next, uint64_t next_at_us)
{
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)packet;
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	uint32_t len = data_len(packet), seq = tl_be32(tcp->seq_be);
	bool more = continues(sent, packet, at_us);

	if (ip->proto != TL_IPPROTO_TCP || (len == 0 && (tcp->flags & TL_TCP_SYN) == 0))
		return;
	if ((tcp->flags & TL_TCP_SYN) == 0 && tl_seq_lt(seq, sent->end)) // a retransmission
		return;
	*sent = (struct tl_pd_like_sent){at_us, seq + len + ((tcp->flags & TL_TCP_SYN) != 0)};
	if (!more || (next != NULL && continues(sent, next, next_at_us)))
		return;
	tcp->flags |= TL_TCP_PSH;
	fix_cksums(ip, tcp, tl_be16(ip->total_len_be) - TL_IPV4_LEN);
}

int tl_pd_like_rcvbuf(uint16_t mss, enum tl_pd_like like)
{
	if (like == TL_PD_LIKE_FREEBSD && mss != 0)
		return (FREEBSD_RCVBUF + mss - 1) / mss * mss;
	return FREEBSD_RCVBUF;
}
