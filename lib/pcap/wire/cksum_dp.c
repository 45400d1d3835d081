// SPDX-License-Identifier: BSD-3-Clause
// Internet checksums (RFC 1071), summed in wide words; L4 checksum of a parsed frame.

#include <tl_wire.h>

// Words are loaded in memory order: the one's-complement sum does not depend on byte order, except for a swap (RFC
// 1071, section 2, "Byte Order Independence").
//
// Sum 32 bytes per turn into four independent sums.
static uint64_t sum_blocks(const uint8_t *p, size_t blocks)
{
	uint64_t sum[4] = {0};

	for (; blocks != 0; blocks--, p += 32) {
		for (unsigned i = 0; i < TL_ARRAY_LEN(sum); i++)
			sum[i] = tl_cksum_add64(sum[i], tl_load_u64(p + 8 * i));
	}
	return tl_cksum_add64(tl_cksum_add64(sum[0], sum[1]), tl_cksum_add64(sum[2], sum[3]));
}

static inline uint64_t sum_bytes(uint64_t sum, const uint8_t *p, size_t len)
{
	if (len >= 64) {
		sum = tl_cksum_add64(sum, sum_blocks(p, len / 32));
		p += len & ~(size_t)31;
		len &= 31;
	}
	for (; len >= 8; len -= 8, p += 8)
		sum = tl_cksum_add64(sum, tl_load_u64(p));
	if (len == 0)
		return sum;
	uint64_t rest = 0;
	if (len & 4) {
		rest = tl_load_u32(p);
		p += 4;
	}
	if (len & 2) {
		rest += tl_load_u16(p);
		p += 2;
	}
	if (len & 1)
		rest += *p; // padded with a zero byte: the low half in little-endian memory order
	return tl_cksum_add64(sum, rest);
}

uint32_t tl_cksum_add(uint32_t sum, const void *data, size_t len)
{
	return (uint16_t)~tl_cksum_fold(sum_bytes(sum, data, len));
}

uint16_t tl_cksum_finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

uint32_t tl_cksum_pseudo(uint32_t src_be, uint32_t dst_be, uint8_t proto, uint16_t l4_len)
{
	uint64_t sum = (uint64_t)src_be + dst_be + tl_be16(proto) + tl_be16(l4_len);
	return (uint16_t)~tl_cksum_fold(sum);
}

uint32_t tl_cksum_pseudo6(const struct tl_ip6 *src, const struct tl_ip6 *dst, uint8_t proto, uint32_t l4_len)
{
	const uint32_t tail_be[] = {tl_be32(l4_len), tl_be32(proto)};

	return tl_cksum_add(
		tl_cksum_add(tl_cksum_add(0, src, sizeof(*src)), dst, sizeof(*dst)), tail_be, sizeof(tail_be));
}

static uint16_t udp_cksum_be(const uint8_t *udp)
{
	return (uint16_t)tl_load_u16(udp + offsetof(struct tl_udp_hdr, cksum_be));
}

// ICMPv6 also has a pseudo-header, and UDP must have a checksum (RFC 8200, section 8.1).
static bool ip6_cksum_ok(const uint8_t *frame, const struct tl_pkt *pkt, const uint8_t *l4, uint16_t l4_len)
{
	static const uint8_t protos[] = {
		[TL_PKT_ICMP] = TL_IPPROTO_ICMP6, [TL_PKT_UDP] = TL_IPPROTO_UDP, [TL_PKT_TCP] = TL_IPPROTO_TCP};
	const struct tl_ipv6_hdr *ip = tl_wire_ip6(frame, pkt);
	uint8_t proto = pkt->ip6_kind < TL_ARRAY_LEN(protos) ? protos[pkt->ip6_kind] : 0;

	if (proto == 0 || (proto == TL_IPPROTO_UDP && udp_cksum_be(l4) == 0))
		return false;
	uint32_t sum = tl_cksum_pseudo6(&ip->src, &ip->dst, proto, l4_len);
	return tl_cksum_finish(tl_cksum_add(sum, l4, l4_len)) == 0;
}

bool tl_wire_l4_cksum_ok(const uint8_t *frame, const struct tl_pkt *pkt)
{
	const uint8_t *l4 = frame + pkt->l4_off;
	uint16_t l4_len = (uint16_t)(pkt->payload_off - pkt->l4_off + pkt->payload_len);
	uint64_t sum = 0;

	if (TL_LIKELY(pkt->kind == TL_PKT_UDP || pkt->kind == TL_PKT_TCP)) {
		bool udp = pkt->kind == TL_PKT_UDP;
		if (udp && udp_cksum_be(l4) == 0)
			return true;
		sum = (uint64_t)pkt->src_be + pkt->dst_be + tl_be16(udp ? TL_IPPROTO_UDP : TL_IPPROTO_TCP) +
		      tl_be16(l4_len);
	} else if (pkt->kind == TL_PKT_IP6) {
		return ip6_cksum_ok(frame, pkt, l4, l4_len);
	} else if (pkt->kind != TL_PKT_ICMP && pkt->kind != TL_PKT_IGMP) {
		return false;
	}
	return tl_cksum_fold(sum_bytes(sum, l4, l4_len)) == 0;
}
