// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the parsers of both IP versions.

#include <tl_wire.h>

// The transport header and payload.
struct l4_span {
	const uint8_t *data;
	uint16_t off; // offset in the frame
	uint16_t len;
};

enum tl_pkt_kind tl_wire_parse_udp(struct l4_span l4, struct tl_pkt *out);
enum tl_pkt_kind tl_wire_parse_tcp(struct l4_span l4, struct tl_pkt *out);
enum tl_pkt_kind tl_wire_parse_icmp(struct l4_span l4, struct tl_pkt *out);

// Parse the payload of the link header, out->l3_off bytes into the frame.
enum tl_pkt_kind tl_wire_parse_network(uint16_t ethertype, const uint8_t *frame, uint32_t len, struct tl_pkt *out);

// Parse an IPv6 packet: return TL_PKT_IP6 and set ip6_kind.
enum tl_pkt_kind tl_wire_parse_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out);
