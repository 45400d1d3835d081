// SPDX-License-Identifier: BSD-3-Clause
// Internet checksums (RFC 1071), summed in wide words; the L4 check of a parsed frame.

#include <tl_wire.h>

// Words are loaded as they stand in memory: the one's-complement sum is the same in either byte order, only swapped
// (RFC 1071, section 2, "Byte Order Independence"), so no word is ever turned around.
static inline uint64_t load64(const uint8_t *p)
{
	uint64_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint64_t load32(const uint8_t *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint64_t load16(const uint8_t *p)
{
	uint16_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

// The two 32-bit halves of a word: sums of them cannot overflow 64 bits below 2^32 words.
static inline uint64_t halves(uint64_t word)
{
	return (word & UINT32_MAX) + (word >> 32);
}

// A sum of 64 bits as one of 17 bits at most.
static inline uint32_t fold64(uint64_t sum)
{
	sum = halves(sum);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

// 32 bytes a turn into four sums: no addition waits for the one before it.
static uint64_t sum_blocks(const uint8_t *p, size_t blocks)
{
	uint64_t sum[4] = {0};

	for (; blocks != 0; blocks--, p += 32) {
		for (unsigned i = 0; i < TL_ARRAY_LEN(sum); i++)
			sum[i] += halves(load64(p + 8 * i));
	}
	return halves(sum[0]) + halves(sum[1]) + halves(sum[2]) + halves(sum[3]);
}

uint32_t tl_cksum_add(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t wide = sum + sum_blocks(p, len / 32);

	p += len & ~(size_t)31;
	if (len & 16) {
		wide += halves(load64(p)) + halves(load64(p + 8));
		p += 16;
	}
	if (len & 8) {
		wide += halves(load64(p));
		p += 8;
	}
	if (len & 4) {
		wide += load32(p);
		p += 4;
	}
	if (len & 2) {
		wide += load16(p);
		p += 2;
	}
	if (len & 1)
		wide += *p; // padded with a zero byte behind it: the low half in little-endian memory order
	return fold64(wide);
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
	return fold64(sum);
}

uint32_t tl_cksum_pseudo6(const struct tl_ip6 *src, const struct tl_ip6 *dst, uint8_t proto, uint32_t l4_len)
{
	uint64_t sum = (uint64_t)tl_be32(l4_len) + tl_be16(proto);

	for (unsigned i = 0; i < sizeof(*src); i += 8)
		sum += halves(load64(src->byte + i)) + halves(load64(dst->byte + i));
	return fold64(sum);
}

static uint16_t udp_cksum_be(const uint8_t *udp)
{
	return (uint16_t)load16(udp + offsetof(struct tl_udp_hdr, cksum_be));
}

// ICMPv6 has a pseudo-header, too, and UDP must have a checksum (RFC 8200, section 8.1).
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
	uint32_t sum = 0;

	switch (pkt->kind) {
	case TL_PKT_UDP:
		if (udp_cksum_be(l4) == 0)
			return true;
		sum = tl_cksum_pseudo(pkt->src_be, pkt->dst_be, TL_IPPROTO_UDP, l4_len);
		break;
	case TL_PKT_TCP:
		sum = tl_cksum_pseudo(pkt->src_be, pkt->dst_be, TL_IPPROTO_TCP, l4_len);
		break;
	case TL_PKT_ICMP:
	case TL_PKT_IGMP:
		break;
	case TL_PKT_IP6:
		return ip6_cksum_ok(frame, pkt, l4, l4_len);
	default:
		return false;
	}
	return tl_cksum_finish(tl_cksum_add(sum, l4, l4_len)) == 0;
}
