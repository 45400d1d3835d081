// SPDX-License-Identifier: BSD-3-Clause
// IPv6 (RFC 8200): the header and its extension headers, up to the transport header.

#include "wire_priv.h"

#define EXTENSIONS_MAX 8 // limit; legitimate packets have fewer
#define EXTENSION_MIN 8

#define OPTION_PAD1 0
#define OPTION_ROUTER_ALERT 5
#define OPTION_ACTION 0xc0 // action for unknown options; 0: skip

#define ROUTING_LEFT 3 // offset of "segments left"

// Walk the options of an extension header of len bytes (section 4.2). TL_PKT_IP6: continue.
static enum tl_pkt_kind walk_options(const uint8_t *header, uint16_t len, struct tl_pkt *out)
{
	for (uint16_t at = 2; at < len;) {
		uint8_t type = header[at];
		if (type == OPTION_PAD1) {
			at++;
			continue;
		}
		if (len - at < 2 || header[at + 1] > len - at - 2)
			return TL_PKT_BAD;
		if (type == OPTION_ROUTER_ALERT)
			out->ip6_alert = true;
		else if ((type & OPTION_ACTION) != 0)
			return TL_PKT_OTHER;
		at += 2 + header[at + 1];
	}
	return TL_PKT_IP6;
}

// Skip one extension header of len bytes (sections 4.3 to 4.6). Routing headers with segments left, and type 0 (RFC
// 5095), are refused.
static enum tl_pkt_kind take_extension(uint8_t type, const uint8_t *header, uint16_t len, struct tl_pkt *out)
{
	if (type == TL_IP6_ROUTING)
		return header[2] == 0 || header[ROUTING_LEFT] != 0 ? TL_PKT_OTHER : TL_PKT_IP6;
	return walk_options(header, len, out);
}

static enum tl_pkt_kind parse_l4(uint8_t proto, struct l4_span l4, struct tl_pkt *out)
{
	switch (proto) {
	case TL_IPPROTO_TCP:
		return tl_wire_parse_tcp(l4, out);
	case TL_IPPROTO_UDP:
		return tl_wire_parse_udp(l4, out);
	case TL_IPPROTO_ICMP6:
		return tl_wire_parse_icmp(l4, out);
	case TL_IP6_FRAGMENT:
		return TL_PKT_FRAG;
	default:
		return TL_PKT_OTHER;
	}
}

static inline bool is_extension(uint8_t proto, bool first)
{
	return (proto == TL_IP6_HOP_BY_HOP && first) || proto == TL_IP6_ROUTING || proto == TL_IP6_DEST_OPTIONS;
}

static enum tl_pkt_kind parse_payload(uint8_t proto, struct l4_span at, struct tl_pkt *out)
{
	for (unsigned i = 0; TL_UNLIKELY(is_extension(proto, i == 0)); i++) {
		if (at.len < EXTENSION_MIN || i == EXTENSIONS_MAX)
			return TL_PKT_BAD;
		uint16_t len = (uint16_t)(at.data[1] + 1) * 8;
		if (len > at.len)
			return TL_PKT_BAD;
		enum tl_pkt_kind kind = take_extension(proto, at.data, len, out);
		if (kind != TL_PKT_IP6)
			return kind;
		proto = at.data[0];
		at = (struct l4_span){.data = at.data + len, .off = at.off + len, .len = at.len - len};
	}
	out->l4_off = at.off;
	return parse_l4(proto, at, out);
}

enum tl_pkt_kind tl_wire_parse_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	uint32_t room = len - out->l3_off;
	const uint8_t *ip = frame + out->l3_off;

	out->ip6_kind = TL_PKT_BAD;
	if (room < TL_IPV6_LEN || ip[0] >> 4 != 6)
		return TL_PKT_IP6;
	uint16_t payload_len = tl_load_be16(ip + offsetof(struct tl_ipv6_hdr, payload_len_be));
	if (payload_len > room - TL_IPV6_LEN)
		return TL_PKT_IP6;
	struct l4_span l4 = {.data = ip + TL_IPV6_LEN, .off = out->l3_off + TL_IPV6_LEN, .len = payload_len};
	out->ip6_kind = parse_payload(ip[offsetof(struct tl_ipv6_hdr, next)], l4, out);
	return TL_PKT_IP6;
}
