// SPDX-License-Identifier: BSD-3-Clause
// Parser of a frame: every length is checked before a byte after it is read.

#include "wire_priv.h"

#define VLAN_TAGS_MAX 2

enum tl_pkt_kind tl_wire_parse_udp(struct l4_span l4, struct tl_pkt *out)
{
	const struct tl_udp_hdr *udp = (const void *)l4.data;

	if (l4.len < TL_UDP_LEN)
		return TL_PKT_BAD;
	uint16_t udp_len = tl_be16(udp->len_be);
	if (udp_len < TL_UDP_LEN || udp_len > l4.len)
		return TL_PKT_BAD;
	out->src_port_be = udp->src_port_be;
	out->dst_port_be = udp->dst_port_be;
	out->payload_off = l4.off + TL_UDP_LEN;
	out->payload_len = udp_len - TL_UDP_LEN;
	return TL_PKT_UDP;
}

enum tl_pkt_kind tl_wire_parse_tcp(struct l4_span l4, struct tl_pkt *out)
{
	const struct tl_tcp_hdr *tcp = (const void *)l4.data;

	if (l4.len < TL_TCP_LEN)
		return TL_PKT_BAD;
	uint16_t hdr_len = (uint16_t)(tcp->data_off >> 4) * 4;
	if (hdr_len < TL_TCP_LEN || hdr_len > l4.len)
		return TL_PKT_BAD;
	out->src_port_be = tcp->src_port_be;
	out->dst_port_be = tcp->dst_port_be;
	out->tcp_flags = tcp->flags;
	out->payload_off = l4.off + hdr_len;
	out->payload_len = l4.len - hdr_len;
	return TL_PKT_TCP;
}

enum tl_pkt_kind tl_wire_parse_icmp(struct l4_span l4, struct tl_pkt *out)
{
	if (l4.len < TL_ICMP_LEN)
		return TL_PKT_BAD;
	out->payload_off = l4.off + TL_ICMP_LEN;
	out->payload_len = l4.len - TL_ICMP_LEN;
	return TL_PKT_ICMP;
}

static enum tl_pkt_kind parse_igmp(struct l4_span l4, struct tl_pkt *out)
{
	if (l4.len < TL_IGMP_MIN_LEN)
		return TL_PKT_BAD;
	out->payload_off = l4.off;
	out->payload_len = l4.len;
	return TL_PKT_IGMP;
}

static enum tl_pkt_kind parse_l4(uint8_t proto, struct l4_span l4, struct tl_pkt *out)
{
	switch (proto) {
	case TL_IPPROTO_UDP:
		return tl_wire_parse_udp(l4, out);
	case TL_IPPROTO_TCP:
		return tl_wire_parse_tcp(l4, out);
	case TL_IPPROTO_ICMP:
		return tl_wire_parse_icmp(l4, out);
	case TL_IPPROTO_IGMP:
		return parse_igmp(l4, out);
	default:
		return TL_PKT_OTHER;
	}
}

// Verify a header of 5 to 15 words: its sum with the checksum is all ones (RFC 1071, section 1).
static inline bool ipv4_cksum_ok(const uint8_t *ip, uint32_t hdr_len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < hdr_len; i += sizeof(uint32_t)) {
		uint32_t word;
		memcpy(&word, ip + i, sizeof(word));
		sum += word;
	}
	return tl_cksum_is_right(sum);
}

// Verify a header without options.
static inline bool ipv4_plain_cksum_ok(const struct tl_ipv4_hdr *ip)
{
	uint64_t first, second;
	uint32_t third;

	memcpy(&first, ip, sizeof(first));
	memcpy(&second, (const uint8_t *)ip + 8, sizeof(second));
	memcpy(&third, (const uint8_t *)ip + 16, sizeof(third));
	return tl_cksum_is_right(tl_cksum_add64(tl_cksum_add64(first, second), third));
}

static enum tl_pkt_kind parse_ipv4(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	uint32_t room = len - out->l3_off;
	const struct tl_ipv4_hdr *ip = (const void *)(frame + out->l3_off);

	if (room < TL_IPV4_LEN || ip->version_ihl >> 4 != 4)
		return TL_PKT_BAD;
	uint16_t hdr_len = (uint16_t)(ip->version_ihl & 0x0f) * 4;
	uint16_t total_len = tl_be16(ip->total_len_be);
	if (hdr_len < TL_IPV4_LEN || total_len < hdr_len || total_len > room)
		return TL_PKT_BAD;
	if (TL_UNLIKELY(!ipv4_cksum_ok(frame + out->l3_off, hdr_len)))
		return TL_PKT_BAD_CKSUM;
	out->src_be = ip->src_be;
	out->dst_be = ip->dst_be;
	out->l4_off = out->l3_off + hdr_len;
	if (TL_UNLIKELY(tl_be16(ip->frag_be) & (TL_IPV4_MORE_FRAGMENTS | TL_IPV4_FRAG_OFFSET)))
		return TL_PKT_FRAG;
	struct l4_span l4 = {.data = frame + out->l4_off, .off = out->l4_off, .len = total_len - hdr_len};
	return parse_l4(ip->proto, l4, out);
}

static enum tl_pkt_kind parse_arp(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	const struct tl_arp_hdr *arp = (const void *)(frame + out->l3_off);

	if (len - out->l3_off < TL_ARP_LEN)
		return TL_PKT_BAD;
	if (arp->hw_type_be != tl_be16(1) || arp->proto_be != tl_be16(TL_ETHERTYPE_IPV4) ||
		arp->hw_len != TL_ETHER_ADDR_LEN || arp->proto_len != sizeof(arp->sender_ip_be))
		return TL_PKT_BAD;
	out->src_be = arp->sender_ip_be;
	out->dst_be = arp->target_ip_be;
	return TL_PKT_ARP;
}

static inline bool is_vlan(uint16_t type)
{
	return type == TL_ETHERTYPE_VLAN || type == TL_ETHERTYPE_QINQ;
}

// Skip at most two tags. False: truncated in a tag; otherwise *type is the EtherType after them.
static bool skip_vlan_tags(const uint8_t *frame, uint32_t len, struct tl_pkt *out, uint16_t *type)
{
	uint32_t off = TL_ETHER_LEN;

	for (unsigned tag = 0; tag < VLAN_TAGS_MAX && is_vlan(*type); tag++) {
		if (len - off < TL_VLAN_LEN)
			return false;
		if (tag == 0)
			out->vlan_tci = tl_load_be16(frame + off);
		*type = tl_load_be16(frame + off + 2);
		off += TL_VLAN_LEN;
	}
	out->l2_len = (uint8_t)off;
	out->l3_off = (uint16_t)off;
	return true;
}

static inline enum tl_pkt_kind parse_network(uint16_t type, const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	if (TL_LIKELY(type == TL_ETHERTYPE_IPV4))
		return parse_ipv4(frame, len, out);
	if (type == TL_ETHERTYPE_ARP)
		return parse_arp(frame, len, out);
	return type == TL_ETHERTYPE_IPV6 ? tl_wire_parse_ipv6(frame, len, out) : TL_PKT_OTHER;
}

enum tl_pkt_kind tl_wire_parse_network(uint16_t ethertype, const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	return parse_network(ethertype, frame, len, out);
}

static __attribute__((noinline)) void parse_any(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	*out = (struct tl_pkt){.kind = TL_PKT_BAD};
	if (len < TL_ETHER_LEN)
		return;
	uint16_t type = tl_load_be16(frame + offsetof(struct tl_ether_hdr, type_be));
	if (!skip_vlan_tags(frame, len, out, &type))
		return;
	out->kind = parse_network(type, frame, len, out);
}

// The most frequent frames: UDP and TCP directly behind an IPv4 header, of a whole packet, or behind an IPv6 header,
// untagged or with one tag of IEEE 802.1Q. tag_len, 0 or TL_VLAN_LEN, and ip_len, the length of that header, are
// constants.
#define STEP static inline __attribute__((always_inline))
#define PLAIN_MIN_LEN (TL_ETHER_LEN + TL_IPV4_LEN + TL_UDP_LEN)

// Store the fields of a plain frame, in the order of the struct, so that neighbours become one store: the last eight
// bytes are built in a register, in memory order.
STEP void store_plain(struct tl_pkt *out, const uint8_t *frame, uint32_t tag_len, uint32_t ip_len, uint8_t l4_kind,
	uint16_t l4_header_len, uint32_t payload_len, uint8_t tcp_flags)
{
	const uint8_t *l3 = frame + TL_ETHER_LEN + tag_len;
	const struct tl_ipv4_hdr *ip = (const void *)l3;
	const bool is_ip6 = ip_len == TL_IPV6_LEN;
	uint32_t src_be = is_ip6 ? 0 : ip->src_be, dst_be = is_ip6 ? 0 : ip->dst_be, ports;
	uint64_t last = payload_len | (uint64_t)tcp_flags << 32 | (is_ip6 ? (uint64_t)l4_kind << 40 : 0);
	_Static_assert(
		offsetof(struct tl_pkt, dst_port_be) == offsetof(struct tl_pkt, src_port_be) + 2, "as in the header");
	_Static_assert(offsetof(struct tl_pkt, payload_len) == sizeof(*out) - sizeof(last) &&
			       offsetof(struct tl_pkt, vlan_tci) == offsetof(struct tl_pkt, payload_len) + 2 &&
			       offsetof(struct tl_pkt, tcp_flags) == offsetof(struct tl_pkt, payload_len) + 4 &&
			       offsetof(struct tl_pkt, ip6_kind) == offsetof(struct tl_pkt, payload_len) + 5,
		"the last eight");

	memcpy(&ports, l3 + ip_len, sizeof(ports)); // of UDP and of TCP
	out->kind = is_ip6 ? TL_PKT_IP6 : l4_kind;
	out->l2_len = (uint8_t)(TL_ETHER_LEN + tag_len);
	out->l3_off = (uint16_t)(TL_ETHER_LEN + tag_len);
	out->l4_off = (uint16_t)(TL_ETHER_LEN + tag_len + ip_len);
	out->payload_off = (uint16_t)(TL_ETHER_LEN + tag_len + ip_len + l4_header_len);
	out->src_be = src_be;
	memcpy(&out->src_port_be, &ports, sizeof(ports));
	out->dst_be = dst_be;
	memcpy(&out->payload_len, &last, sizeof(last));
	if (tag_len != 0)
		out->vlan_tci = tl_load_be16(frame + TL_ETHER_LEN);
}

// Parse UDP and TCP, as parse_any() does, in an IP packet that ends room bytes behind a header of UDP. False: nothing
// was done.
STEP bool parse_plain_l4(
	const uint8_t *frame, struct tl_pkt *out, uint32_t tag_len, uint32_t ip_len, uint8_t proto, uint32_t room)
{
	const void *l4 = frame + TL_ETHER_LEN + tag_len + ip_len;
	const struct tl_udp_hdr *udp = l4;
	const struct tl_tcp_hdr *tcp = l4;

	if (TL_LIKELY(proto == TL_IPPROTO_UDP)) {
		uint32_t payload_len = (uint32_t)tl_be16(udp->len_be) - TL_UDP_LEN;
		if (TL_UNLIKELY(payload_len > room))
			return false;
		store_plain(out, frame, tag_len, ip_len, TL_PKT_UDP, TL_UDP_LEN, payload_len, 0);
		return true;
	}
	if (proto != TL_IPPROTO_TCP || room < TL_TCP_LEN - TL_UDP_LEN)
		return false;
	uint32_t header_len = (uint32_t)(tcp->data_off >> 4) * 4;
	if (TL_UNLIKELY(header_len < TL_TCP_LEN || header_len - TL_UDP_LEN > room))
		return false;
	store_plain(out, frame, tag_len, ip_len, TL_PKT_TCP, (uint16_t)header_len, room + TL_UDP_LEN - header_len,
		tcp->flags);
	return true;
}

// The frame has at least PLAIN_MIN_LEN bytes, and those of the tag.
STEP bool parse_plain_ipv4(const uint8_t *frame, uint32_t len, struct tl_pkt *out, uint32_t tag_len)
{
	const uint32_t least = TL_IPV4_LEN + TL_UDP_LEN;
	const struct tl_ipv4_hdr *ip = (const void *)(frame + TL_ETHER_LEN + tag_len);

	if (TL_UNLIKELY(ip->version_ihl != 0x45 ||
			(ip->frag_be & tl_be16(TL_IPV4_MORE_FRAGMENTS | TL_IPV4_FRAG_OFFSET)) != 0))
		return false;
	uint32_t room = tl_be16(ip->total_len_be) - least; // a shorter packet wraps to a huge one
	if (TL_UNLIKELY(room > len - TL_ETHER_LEN - tag_len - least || !ipv4_plain_cksum_ok(ip)))
		return false;
	return parse_plain_l4(frame, out, tag_len, TL_IPV4_LEN, ip->proto, room);
}

STEP bool parse_plain_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out, uint32_t tag_len)
{
	const uint32_t least = TL_ETHER_LEN + tag_len + TL_IPV6_LEN + TL_UDP_LEN;
	const struct tl_ether_hdr *ether = (const void *)(frame + tag_len);
	const struct tl_ipv6_hdr *ip = (const void *)(ether + 1);

	if (TL_UNLIKELY(len < least || ether->type_be != tl_be16(TL_ETHERTYPE_IPV6) || *(const uint8_t *)ip >> 4 != 6))
		return false;
	uint32_t room = (uint32_t)tl_be16(ip->payload_len_be) - TL_UDP_LEN;
	return TL_LIKELY(room <= len - least) && parse_plain_l4(frame, out, tag_len, TL_IPV6_LEN, ip->next, room);
}

static __attribute__((noinline)) void parse_untagged_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	if (!parse_plain_ipv6(frame, len, out, 0))
		parse_any(frame, len, out);
}

static __attribute__((noinline)) void parse_tagged_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	if (!parse_plain_ipv6(frame, len, out, TL_VLAN_LEN))
		parse_any(frame, len, out);
}

// Parse a frame of at least PLAIN_MIN_LEN bytes that is not untagged IPv4.
static __attribute__((noinline)) void parse_tagged_or_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	const struct tl_ether_hdr *ether = (const void *)frame, *inner = (const void *)(frame + TL_VLAN_LEN);

	if (ether->type_be != tl_be16(TL_ETHERTYPE_VLAN))
		parse_untagged_ipv6(frame, len, out);
	else if (inner->type_be != tl_be16(TL_ETHERTYPE_IPV4))
		parse_tagged_ipv6(frame, len, out);
	else if (len < PLAIN_MIN_LEN + TL_VLAN_LEN || !parse_plain_ipv4(frame, len, out, TL_VLAN_LEN))
		parse_any(frame, len, out);
}

void tl_wire_parse(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	const struct tl_ether_hdr *ether = (const void *)frame;

	if (TL_UNLIKELY(len < PLAIN_MIN_LEN))
		parse_any(frame, len, out);
	else if (ether->type_be != tl_be16(TL_ETHERTYPE_IPV4))
		parse_tagged_or_ipv6(frame, len, out);
	else if (!parse_plain_ipv4(frame, len, out, 0))
		parse_any(frame, len, out);
}
