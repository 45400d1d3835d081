// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// wire: header layouts, one bounds-checked parse per frame, Internet checksums. Pure functions on bytes; independent of
// DPDK.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <tl_base.h>
#include <tl_units.h>

#define TL_ETHER_LEN 14
#define TL_ETHER_ADDR_LEN 6
#define TL_VLAN_LEN 4	      // IEEE 802.1Q
#define TL_ETHER_MIN_FRAME 60 // without the FCS
#define TL_ARP_LEN 28
#define TL_IPV4_LEN 20
#define TL_IPV6_LEN 40
#define TL_UDP_LEN 8
#define TL_TCP_LEN 20
#define TL_ICMP_LEN 8
#define TL_IGMP_MIN_LEN 8

#define TL_ETHERTYPE_IPV4 0x0800
#define TL_ETHERTYPE_ARP 0x0806
#define TL_ETHERTYPE_IPV6 0x86dd
#define TL_ETHERTYPE_VLAN 0x8100
#define TL_ETHERTYPE_QINQ 0x88a8
#define TL_ETHERTYPE_QINQ_OLD 0x9100 // of older switches

#define TL_VLAN_ID 0x0fff // VLAN ID; the rest is priority and drop eligibility

#define TL_IPPROTO_ICMP 1
#define TL_IPPROTO_IGMP 2
#define TL_IPPROTO_IPIP 4
#define TL_IPPROTO_TCP 6
#define TL_IPPROTO_UDP 17
#define TL_IPPROTO_DCCP 33
#define TL_IPPROTO_IPV6 41
#define TL_IPPROTO_GRE 47
#define TL_IPPROTO_ESP 50
#define TL_IPPROTO_ICMP6 58
#define TL_IPPROTO_OSPF 89
#define TL_IPPROTO_PIM 103
#define TL_IPPROTO_VRRP 112
#define TL_IPPROTO_SCTP 132
#define TL_IPPROTO_UDPLITE 136
#define TL_IPPROTO_MPLS 137
#define TL_IPPROTO_HIP 139

// IPv6 extension headers (RFC 8200, section 4; RFC 4302 and RFC 6275).
#define TL_IP6_HOP_BY_HOP 0
#define TL_IP6_ROUTING 43
#define TL_IP6_FRAGMENT 44
#define TL_IP6_AH 51
#define TL_IP6_NO_NEXT 59
#define TL_IP6_DEST_OPTIONS 60
#define TL_IP6_MOBILITY 135

// Fragment word of IPv4 (RFC 791, section 3.1), and of the fragment header of IPv6 (RFC 8200, section 4.5).
#define TL_IPV4_DONT_FRAGMENT 0x4000
#define TL_IPV4_MORE_FRAGMENTS 0x2000
#define TL_IPV4_FRAG_OFFSET 0x1fff
#define TL_IP6_FRAG_OFFSET 0xfff8

#define TL_TCP_FIN 0x01
#define TL_TCP_SYN 0x02
#define TL_TCP_RST 0x04
#define TL_TCP_PSH 0x08
#define TL_TCP_ACK 0x10
#define TL_TCP_URG 0x20

static inline bool tl_ethertype_is_tag(uint16_t type)
{
	return type == TL_ETHERTYPE_VLAN || type == TL_ETHERTYPE_QINQ || type == TL_ETHERTYPE_QINQ_OLD;
}

// Ethernet II (IEEE 802.3, clause 3.2.6).
struct tl_ether_hdr {
	uint8_t dst[TL_ETHER_ADDR_LEN];
	uint8_t src[TL_ETHER_ADDR_LEN];
	uint16_t type_be;
} __attribute__((packed));

// ARP for IPv4 over Ethernet (RFC 826).
struct tl_arp_hdr {
	uint16_t hw_type_be; // 1
	uint16_t proto_be;   // 0x0800
	uint8_t hw_len;	     // 6
	uint8_t proto_len;   // 4
	uint16_t op_be;	     // 1 request, 2 reply
	uint8_t sender_mac[TL_ETHER_ADDR_LEN];
	uint32_t sender_ip_be;
	uint8_t target_mac[TL_ETHER_ADDR_LEN];
	uint32_t target_ip_be;
} __attribute__((packed));

// IPv4 (RFC 791, section 3.1).
struct tl_ipv4_hdr {
	uint8_t version_ihl;
	uint8_t tos;
	uint16_t total_len_be;
	uint16_t id_be;
	uint16_t frag_be; // flags and offset
	uint8_t ttl;
	uint8_t proto;
	uint16_t cksum_be;
	uint32_t src_be;
	uint32_t dst_be;
} __attribute__((packed));

// IPv6 (RFC 8200, section 3).
struct tl_ipv6_hdr {
	uint32_t version_be; // 4 bits, traffic class, flow label
	uint16_t payload_len_be;
	uint8_t next;
	uint8_t hop_limit;
	struct tl_ip6 src;
	struct tl_ip6 dst;
} __attribute__((packed));

#define TL_IPV6_CLASS_SHIFT 20 // the traffic class in version_be
#define TL_DSCP_SHIFT 2	       // the code point in the type of service or the traffic class (RFC 2474)

// UDP (RFC 768).
struct tl_udp_hdr {
	uint16_t src_port_be;
	uint16_t dst_port_be;
	uint16_t len_be;
	uint16_t cksum_be;
} __attribute__((packed));

// TCP (RFC 9293, section 3.1).
struct tl_tcp_hdr {
	uint16_t src_port_be;
	uint16_t dst_port_be;
	uint32_t seq_be;
	uint32_t ack_be;
	uint8_t data_off; // header length in 32-bit words, in the high four bits
	uint8_t flags;
	uint16_t window_be;
	uint16_t cksum_be;
	uint16_t urgent_be;
} __attribute__((packed));

// ICMP (RFC 792): the fixed first eight bytes; rest is id and sequence of an echo.
struct tl_icmp_hdr {
	uint8_t type; // 0 echo reply, 3 unreachable, 8 echo request
	uint8_t code;
	uint16_t cksum_be;
	uint32_t rest_be;
} __attribute__((packed));

// Kind of a frame. From TL_PKT_BAD on it is malformed: count it, do not process it.
enum tl_pkt_kind {
	TL_PKT_OTHER, // not IP, not ARP, or an unsupported protocol
	TL_PKT_ARP,
	TL_PKT_ICMP,
	TL_PKT_IGMP,
	TL_PKT_UDP,
	TL_PKT_TCP,
	TL_PKT_IP6,	  // IPv6: see ip6_kind
	TL_PKT_FRAG,	  // a fragment
	TL_PKT_BAD,	  // truncated headers, wrong version or header length
	TL_PKT_BAD_CKSUM, // IPv4 header checksum wrong
};

// Result of the parse. Offsets are from the first byte of the frame. Fields that the kind does not have are 0.
struct tl_pkt {
	uint8_t kind;	// enum tl_pkt_kind
	uint8_t l2_len; // 14, 18 with one VLAN tag, 22 with two
	uint16_t l3_off;
	uint16_t l4_off;
	uint16_t payload_off; // UDP, TCP, ICMP, IGMP payload after the L4 header (IGMP: == l4_off)
	uint32_t src_be;      // IPv4 source; ARP: sender. IPv6: 0, see tl_wire_ip6()
	uint16_t src_port_be; // UDP, TCP
	uint16_t dst_port_be;
	uint32_t dst_be;      // IPv4 destination; ARP: target
	uint16_t payload_len; // from the IP length (UDP: its own), without Ethernet padding
	uint16_t vlan_tci;    // TCI of the outermost tag, host order; 0 if untagged
	uint8_t tcp_flags;
	uint8_t ip6_kind; // for TL_PKT_IP6: OTHER, ICMP (ICMPv6), UDP, TCP, FRAG or BAD; offsets as in IPv4
	bool ip6_alert;	  // Router Alert in a hop-by-hop header (RFC 2711)
};

// HOT. Parse the frame of len contiguous bytes. The IPv4 header checksum is verified; the L4 checksum is not.
void tl_wire_parse(const uint8_t *frame, uint32_t len, struct tl_pkt *out);

// HOT. True if the ICMP, IGMP, UDP or TCP checksum of a parsed frame is right. A UDP checksum of 0 means none: true.
bool tl_wire_l4_cksum_ok(const uint8_t *frame, const struct tl_pkt *pkt);

// HOT. Internet checksum (RFC 1071): add the one's-complement sum of len bytes to sum; any alignment. Of data summed in
// pieces only the last may be of odd length.
uint32_t tl_cksum_add(uint32_t sum, const void *data, size_t len);

// HOT. Fold and complement a sum: the value for a header field, in network order.
uint16_t tl_cksum_finish(uint32_t sum);

// HOT. Pseudo-header sum (RFC 9293 section 3.1, RFC 768); l4_len is host order.
uint32_t tl_cksum_pseudo(uint32_t src_be, uint32_t dst_be, uint8_t proto, uint16_t l4_len);

// HOT. Pseudo-header sum of IPv6 (RFC 8200, section 8.1).
uint32_t tl_cksum_pseudo6(const struct tl_ip6 *src, const struct tl_ip6 *dst, uint8_t proto, uint32_t l4_len);

// HOT. Header of a parsed TL_PKT_IP6 frame.
static inline const struct tl_ipv6_hdr *tl_wire_ip6(const uint8_t *frame, const struct tl_pkt *pkt)
{
	return (const struct tl_ipv6_hdr *)(frame + pkt->l3_off);
}

// Fill cksum_be of an IPv4 header (20 bytes, no options).
void tl_wire_ipv4_finish(struct tl_ipv4_hdr *ip);

// Multicast MAC of an IPv4 group (RFC 1112, section 6.4).
void tl_wire_mcast_mac(uint32_t group_be, uint8_t mac[TL_ETHER_ADDR_LEN]);

// Multicast MAC of an IPv6 group (RFC 2464, section 7).
void tl_wire_mcast_mac6(const struct tl_ip6 *group, uint8_t mac[TL_ETHER_ADDR_LEN]);

static inline uint16_t tl_be16(uint16_t host)
{
	return __builtin_bswap16(host);
}

static inline uint32_t tl_be32(uint32_t host)
{
	return __builtin_bswap32(host);
}

// HOT. One's-complement sum of 64 bits, with end-around carry.
static inline uint64_t tl_cksum_add64(uint64_t sum, uint64_t word)
{
	bool carry = __builtin_add_overflow(sum, word, &sum);

	return sum + carry;
}

// HOT. Add the sum of a few bytes; tl_cksum_add() is faster for many.
static inline uint64_t tl_cksum_add_few(uint64_t sum, const uint8_t *data, uint32_t len)
{
	const uint8_t *end = data + (len & ~UINT32_C(7));
	uint64_t word;

	for (; data < end; data += 8) {
		memcpy(&word, data, 8);
		sum = tl_cksum_add64(sum, word);
	}
	if ((len & 7) == 0)
		return sum;
	uint32_t four = 0;
	uint16_t two = 0;
	if ((len & 4) != 0) {
		memcpy(&four, data, 4);
		data += 4;
	}
	if ((len & 2) != 0) {
		memcpy(&two, data, 2);
		data += 2;
	}
	uint8_t one = (len & 1) != 0 ? *data : 0; // padded with a zero
	return tl_cksum_add64(sum, (uint64_t)four + two + one);
}

// HOT. The same for at least 8 bytes. The last few are the upper bytes of the last word.
static inline uint64_t tl_cksum_add_some(uint64_t sum, const uint8_t *data, uint32_t len)
{
	const uint8_t *last = data + len - 8;
	uint64_t word;

	do {
		memcpy(&word, data, 8);
		sum = tl_cksum_add64(sum, word);
		data += 8;
	} while (data <= last);
	if ((len & 7) == 0)
		return sum;
	memcpy(&word, last, 8);
	return tl_cksum_add64(sum, word >> (-len & 7) * 8);
}

// HOT. The same for any number of bytes with at least 8 others before them.
static inline uint64_t tl_cksum_add_tail(uint64_t sum, const uint8_t *data, uint32_t len)
{
	const uint8_t *last = data + len - 8;
	uint64_t word;

	for (; data <= last; data += 8) {
		memcpy(&word, data, 8);
		sum = tl_cksum_add64(sum, word);
	}
	if ((len & 7) == 0)
		return sum;
	memcpy(&word, last, 8);
	return tl_cksum_add64(sum, word >> (-len & 7) * 8);
}

// HOT. Fold and complement such a sum, as tl_cksum_finish() does. A word added to its rotation by half has the sum of
// both halves in the upper half, carry included.
static inline uint16_t tl_cksum_fold32(uint32_t sum)
{
	sum += sum << 16 | sum >> 16;
	return (uint16_t) ~(sum >> 16);
}

static inline uint16_t tl_cksum_fold(uint64_t sum)
{
	sum += sum << 32 | sum >> 32;
	return tl_cksum_fold32((uint32_t)(sum >> 32));
}

// HOT. True if the sum, not 0, of everything that a checksum covers, and of the checksum itself, is that of a right
// one: folded it is 0xffff, and no fold changes a sum modulo 0xffff. The inverse of 0xffff modulo 2^64 maps its
// multiples, and no other number, to 0..UINT64_MAX / 0xffff.
static inline bool tl_cksum_is_right(uint64_t sum)
{
	const uint64_t inverse = UINT64_C(0xfffefffefffeffff);
	_Static_assert(UINT64_C(0xfffefffefffeffff) * UINT16_MAX == 1, "inverse");

	return sum * inverse <= UINT64_MAX / UINT16_MAX;
}

static inline bool tl_ipv4_is_mcast(uint32_t ip_be)
{
	return (tl_be32(ip_be) >> 28) == 0xe;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tl_be16/32 assume a little-endian host");
_Static_assert(sizeof(struct tl_arp_hdr) == TL_ARP_LEN, "RFC 826");
_Static_assert(sizeof(struct tl_ipv4_hdr) == TL_IPV4_LEN, "RFC 791");
_Static_assert(sizeof(struct tl_ipv6_hdr) == TL_IPV6_LEN, "RFC 8200");
_Static_assert(sizeof(struct tl_tcp_hdr) == TL_TCP_LEN, "RFC 9293");
