// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// link: link types of capture files, by which a frame begins with another header than Ethernet's, or with none. The
// numbers and layouts are those of https://www.tcpdump.org/linktypes.html.
//
// Threads: any; every function is pure. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_wire.h>

enum tl_link {
	TL_LINK_ETHERNET, // LINKTYPE_ETHERNET, 1
	TL_LINK_NULL,	  // LINKTYPE_NULL, 0: address family in the byte order of the host that captured
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
	uint16_t ethertype;   // of what follows, host order; 0: none that there is a number for
	uint16_t network_off; // where that begins; behind VLAN tags, of which two are passed
	uint16_t vlan_tci;    // of the outermost tag, host order; 0 without one
	bool sent, received;  // by the host that captured; neither but with SLL and SLL2
};

// The link type of this LINKTYPE_ number, or TL_LINKS: none of these.
enum tl_link tl_link_of(uint32_t number);

// "LINUX_SLL2". Static.
const char *tl_link_name(enum tl_link link);

// Every name with its number, for messages: "ETHERNET (1), NULL (0), ...". Static.
const char *tl_link_names(void);

// Reads the link header of a frame of len captured bytes. False: it is cut within this header.
bool tl_link_parse(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_link_hdr *out);

// tl_wire_parse() for a frame of any of these link types; ARP is known with Ethernet and SLL headers.
void tl_wire_parse_link(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_pkt *out);
