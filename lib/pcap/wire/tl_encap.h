// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// encap: the innermost frame or packet of an encapsulated frame, by one bounded walk over its headers.
//
//   802.1Q, 802.1ad  EtherTypes 0x8100, 0x88a8 (IEEE 802.1Q, table 9-1), and 0x9100 of older switches
//   MPLS             EtherTypes 0x8847, 0x8848 (RFC 3032, RFC 5332), IP protocol 137 (RFC 4023); its payload is
//                    IPv4 or IPv6 by the first four bits (RFC 4928), Ethernet after a control word (RFC 4448)
//   IP in IP         IP protocols 4 (RFC 2003, RFC 2473) and 41 (RFC 4213, RFC 2473)
//   GRE, NVGRE       IP protocol 47, version 0 (RFC 2784, RFC 2890; RFC 7637), without source routing
//   ERSPAN I to III  GRE protocols 0x88be and 0x22eb (draft-foschiano-erspan-03)
//   VXLAN            UDP port 4789 (RFC 7348), and 8472, the default of Linux
//   GENEVE           UDP port 6081 (RFC 8926)
//   GTP-U            UDP port 2152, version 1, user data (3GPP TS 29.281, section 5)
//
// Ports are destination ports. The walk ends at the last header that is understood and wholly captured: a tunnel counts
// if the Ethernet or IP header in it is. IP fragments, encrypted and control packets are not entered. Checksums are not
// verified. Identity of a tunnel beyond its network number, such as a GRE key or a TEID, is not kept.
//
// Threads: any; every function is pure. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_link.h>

#define TL_ENCAP_TUNNELS_MAX 4 // a frame with more ends at the fourth
#define TL_ENCAP_TAGS_MAX 4    // VLAN tags per Ethernet header

// Offsets are from the first byte of the frame.
struct tl_encap {
	uint32_t off;	      // innermost Ethernet frame, or IP packet; 0 without tunnel
	uint32_t network_off; // its network header, after its VLAN tags; equal to off for a packet
	uint32_t end;	      // its end, at most the captured length; without padding of the headers around it
	uint32_t network_id;  // VNI or VSID of the innermost tunnel that has one, 24 bits; 0: none
	uint16_t ethertype;   // type of the network header, host order; 0: unknown
	uint8_t tunnels;      // 0 to TL_ENCAP_TUNNELS_MAX; VLAN tags are none
	uint8_t tags;	      // VLAN tags of the innermost Ethernet frame
	bool ethernet;	      // an Ethernet frame, otherwise a packet (or, without tunnel, another link type)
};

// HOT. Walk an Ethernet frame of len captured bytes.
void tl_encap_parse(const uint8_t *frame, uint32_t len, struct tl_encap *out);

// Same for any link type. Of link types other than Ethernet tags are not counted.
void tl_encap_parse_link(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_encap *out);

// Set of UDP ports, modulo 64, with those of tunnels among them: one test sends the other ports past the walk.
#define TL_ENCAP_UDP_PORTS                                                                                             \
	(UINT64_C(1) << 4789 % 64 | UINT64_C(1) << 8472 % 64 | UINT64_C(1) << 6081 % 64 | UINT64_C(1) << 2152 % 64)

// True if an IP packet of this protocol, other than UDP, may be a tunnel.
static inline bool tl_encap_is_tunnel(uint8_t proto)
{
	return proto == TL_IPPROTO_IPIP || proto == TL_IPPROTO_IPV6 || proto == TL_IPPROTO_GRE ||
	       proto == TL_IPPROTO_MPLS;
}

// True if the innermost header is that of an IP packet.
static inline bool tl_encap_is_ip(const struct tl_encap *encap)
{
	return encap->ethertype == TL_ETHERTYPE_IPV4 || encap->ethertype == TL_ETHERTYPE_IPV6;
}
