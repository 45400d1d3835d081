// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link: link types of capture files whose frames do not begin with an Ethernet header. Numbers and layouts:
// https://www.tcpdump.org/linktypes.html.
//
// Threads: any; every function is pure. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_wire.h>

enum tl_link {
	TL_LINK_ETHERNET, // LINKTYPE_ETHERNET, 1
	TL_LINK_NULL,	  // LINKTYPE_NULL, 0: address family in the capturing host's byte order
	TL_LINK_LOOP,	  // LINKTYPE_LOOP, 108: the same in network byte order
	TL_LINK_RAW,	  // LINKTYPE_RAW, 101: an IP header, version 4 or 6
	TL_LINK_IPV4,	  // LINKTYPE_IPV4, 228
	TL_LINK_IPV6,	  // LINKTYPE_IPV6, 229
	TL_LINK_SLL,	  // LINKTYPE_LINUX_SLL, 113: Linux cooked, as `tcpdump -i any` wrote it up to libpcap 1.9
	TL_LINK_SLL2,	  // LINKTYPE_LINUX_SLL2, 276: Linux cooked, version 2
	TL_LINKS,
};

// The link header of a frame.
struct tl_link_hdr {
	uint16_t ethertype;   // type of the network header, host order; 0: unknown
	uint16_t network_off; // offset of the network header, after up to two VLAN tags
	uint16_t vlan_tci;    // TCI of the outermost tag, host order; 0: untagged
	bool sent, received;  // by the capturing host; known only with SLL and SLL2
};

// Link type of a LINKTYPE_ number; TL_LINKS: unsupported.
enum tl_link tl_link_of(uint32_t number);

// All names with their numbers, for messages: "ETHERNET (1), NULL (0), ...". Static.
const char *tl_link_names(void);

// Parse the link header of a frame of len captured bytes. False: truncated.
bool tl_link_parse(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_link_hdr *out);

// Return the DSCP of the outermost IP header of a frame of len captured bytes (RFC 2474); -1: it has none.
int tl_link_dscp(enum tl_link link, const uint8_t *frame, uint32_t len);

// Read the VLAN IDs of a parsed frame with an IP packet, the outermost first; 0: no tag, or a priority tag.
void tl_link_vlans(enum tl_link link, const uint8_t *frame, const struct tl_pkt *pkt, uint16_t ids[2]);

// Same as tl_wire_parse() for any of these link types; ARP is supported with Ethernet and SLL headers.
void tl_wire_parse_link(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_pkt *out);

// Same for a frame of which the capture kept cap_bytes of wire_bytes, whatever its IPv4 header checksum: the missing
// bytes read as zeros. Return the address that the offsets of *out refer to: frame, or scratch. Frames longer than
// TL_CAPTURED_MAX are TL_PKT_OTHER.
#define TL_CAPTURED_MAX (65536u + 64u)
const uint8_t *tl_wire_parse_captured(enum tl_link link, const uint8_t *frame, uint32_t cap_bytes, uint32_t wire_bytes,
	uint8_t scratch[TL_CAPTURED_MAX], struct tl_pkt *out);
