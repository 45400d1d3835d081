// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the parsers of the two IP versions share.

#include <tl_wire.h>

// The IP payload behind all headers, as they give it.
struct l4_span {
	const uint8_t *data;
	uint16_t off; // from the first byte of the frame
	uint16_t len;
};

enum tl_pkt_kind tl_wire_parse_udp(struct l4_span l4, struct tl_pkt *out);
enum tl_pkt_kind tl_wire_parse_tcp(struct l4_span l4, struct tl_pkt *out);
enum tl_pkt_kind tl_wire_parse_icmp(struct l4_span l4, struct tl_pkt *out);

// Parse the payload of the link header, out->l3_off bytes into the frame.
enum tl_pkt_kind tl_wire_parse_network(uint16_t ethertype, const uint8_t *frame, uint32_t len, struct tl_pkt *out);

// TL_PKT_IP6, with ip6_kind.
enum tl_pkt_kind tl_wire_parse_ipv6(const uint8_t *frame, uint32_t len, struct tl_pkt *out);
