// SPDX-License-Identifier: BSD-3-Clause
// Extraction of addresses and ports of a frame. Every length is checked before a byte after it is read; checksums and
// total lengths are ignored, to index frames cut by a snaplen and frames sent with wrong checksums, too.

#include <tl_index.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <tl_wire.h>

#define TAGS_MAX 4
#define IPV6_FRAGMENT_BYTES 8u
#define EXTENSIONS_MAX 16
#define PORTS_BYTES 4u
#define MAPPED 0xffff00000000u // ::ffff:0:0/96

static inline uint32_t read_be32(const uint8_t *p)
{
	return __builtin_bswap32(tl_load_u32(p));
}

static struct tl_index_addr read_v4(const uint8_t *p)
{
	return (struct tl_index_addr){.low = MAPPED | read_be32(p)};
}

static struct tl_index_addr read_v6(const uint8_t *p)
{
	return (struct tl_index_addr){.high = (uint64_t)read_be32(p) << 32 | read_be32(p + 4),
		.low = (uint64_t)read_be32(p + 8) << 32 | read_be32(p + 12)};
}

static void find_ports(uint8_t proto, const uint8_t *l4, uint32_t len, struct tl_index_keys *out)
{
	bool ports = proto == TL_IPPROTO_TCP || proto == TL_IPPROTO_UDP || proto == TL_IPPROTO_SCTP ||
		     proto == TL_IPPROTO_DCCP || proto == TL_IPPROTO_UDPLITE;

	if (!ports || len < PORTS_BYTES)
		return;
	out->port[0] = tl_load_be16(l4);
	out->port[1] = tl_load_be16(l4 + 2);
	out->has_ports = true;
}

static void find_v4(const uint8_t *ip, uint32_t len, struct tl_index_keys *out)
{
	if (len < TL_IPV4_LEN || ip[0] >> 4 != 4)
		return;
	out->addr[0] = read_v4(ip + 12);
	out->addr[1] = read_v4(ip + 16);
	out->has_addrs = true;
	uint32_t header = (ip[0] & 0xfu) * 4;
	bool first = (tl_load_be16(ip + 6) & TL_IPV4_FRAG_OFFSET) == 0;
	if (first && header >= TL_IPV4_LEN && header <= len)
		find_ports(ip[9], ip + header, len - header, out);
}

// Return the length of this extension header (RFC 8200, section 4; AH: RFC 4302, section 2.2); 0: not an extension
// header, or its content is hidden.
static uint32_t extension_bytes(uint8_t next, const uint8_t *header)
{
	switch (next) {
	case TL_IP6_HOP_BY_HOP:
	case TL_IP6_ROUTING:
	case TL_IP6_DEST_OPTIONS:
		return (header[1] + 1u) * 8;
	case TL_IP6_FRAGMENT:
		return (tl_load_be16(header + 2) & TL_IP6_FRAG_OFFSET) == 0 ? IPV6_FRAGMENT_BYTES : 0;
	case TL_IP6_AH:
		return (header[1] + 2u) * 4;
	default:
		return 0;
	}
}

static void find_v6(const uint8_t *ip, uint32_t len, struct tl_index_keys *out)
{
	if (len < TL_IPV6_LEN || ip[0] >> 4 != 6)
		return;
	out->addr[0] = read_v6(ip + 8);
	out->addr[1] = read_v6(ip + 24);
	out->has_addrs = true;
	uint8_t next = ip[6];
	uint32_t at = TL_IPV6_LEN;
	for (int i = 0; i < EXTENSIONS_MAX && len - at >= 8; i++) {
		uint32_t bytes = extension_bytes(next, ip + at);
		if (bytes == 0 || bytes > len - at)
			break;
		next = ip[at];
		at += bytes;
	}
	bool later_fragment = next == TL_IP6_FRAGMENT;
	if (!later_fragment)
		find_ports(next, ip + at, len - at, out);
}

static void find_arp(const uint8_t *arp, uint32_t len, struct tl_index_keys *out)
{
	if (len < TL_ARP_LEN || tl_load_be16(arp + 2) != TL_ETHERTYPE_IPV4 || arp[4] != 6 || arp[5] != 4)
		return;
	out->addr[0] = read_v4(arp + 14);
	out->addr[1] = read_v4(arp + 24);
	out->has_addrs = true;
}

static inline void find_keys(uint16_t type, const uint8_t *packet, uint32_t len, struct tl_index_keys *out)
{
	if (TL_LIKELY(type == TL_ETHERTYPE_IPV4))
		find_v4(packet, len, out);
	else if (type == TL_ETHERTYPE_IPV6)
		find_v6(packet, len, out);
	else if (type == TL_ETHERTYPE_ARP)
		find_arp(packet, len, out);
}

void tl_index_keys_network(uint16_t ethertype, const uint8_t *packet, uint32_t cap_bytes, struct tl_index_keys *out)
{
	out->has_addrs = false;
	out->has_ports = false;
	find_keys(ethertype, packet, cap_bytes, out);
}

void tl_index_keys(const uint8_t *frame, uint32_t cap_bytes, struct tl_index_keys *out)
{
	uint32_t at = TL_ETHER_LEN;

	out->has_addrs = false;
	out->has_ports = false;
	if (cap_bytes < TL_ETHER_LEN)
		return;
	uint16_t type = tl_load_be16(frame + 12);
	for (int tag = 0; tag < TAGS_MAX && TL_UNLIKELY(tl_ethertype_is_tag(type)) && cap_bytes - at >= TL_VLAN_LEN;
		tag++) {
		type = tl_load_be16(frame + at + 2);
		at += TL_VLAN_LEN;
	}
	find_keys(type, frame + at, cap_bytes - at, out);
}

int tl_index_parse_addr(const char *text, struct tl_index_addr *out)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		*out = read_v4(bytes);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		*out = read_v6(bytes);
	else
		return -EINVAL;
	return 0;
}
