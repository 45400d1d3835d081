// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// fit: frames longer than a port sends, cut or fragmented. Checksums are updated by the change: a wrong one stays as
// wrong as it was.
//
// Threads: any; one per struct. Memory: the caller's; nothing is allocated.

#include <stdbool.h>
#include <stdint.h>

// HOT. Cut a frame to limit bytes in place; it is longer. The length of an IP packet becomes that of the rest; unless
// it is a fragment, so do the length of UDP, the coverage of UDP-Lite and DCCP, and the checksum of these, TCP and
// ICMP.
void tl_fit_cut(uint8_t *frame, uint32_t len, uint32_t limit);

// Fields are private.
struct tl_fit {
	const uint8_t *frame, *ip, *data; // data: the rest of the payload
	uint32_t l2_bytes, hdr_bytes, left, mtu;
	uint16_t offset;   // of data, in units of 8 bytes
	bool more;	   // fragments follow the packet itself
	uint8_t later[60]; // header of all fragments but the first
	uint32_t later_bytes;
};

// HOT. Begin to fragment a frame into frames of at most limit bytes as a router does (RFC 791, section 3.2). False: it
// is no IPv4 packet, truncated, malformed, must not be fragmented (DF), or the limit has no room for its headers and 8
// bytes.
bool tl_fit_begin(struct tl_fit *fit, const uint8_t *frame, uint32_t len, uint32_t limit);

// HOT. Write the next fragment to out, of limit bytes; return its length, 0: there are no more.
uint32_t tl_fit_next(struct tl_fit *fit, uint8_t *out);
