// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// edit: copies an Ethernet frame with other addresses, ports, VLAN tag, TTL or DSCP. Checksums are updated by the
// change (RFC 1624, equation 3), never computed: a wrong one stays as wrong as it was.
//
//   MAC addresses   of the Ethernet header
//   IP addresses    of the outermost IP header behind VLAN tags; of ARP for IPv4 (RFC 826); of the packet quoted by an
//                   ICMP error, and the gateway of a redirect (RFC 792, RFC 4443); target and destination of neighbour
//                   discovery (RFC 4861, sections 4.3 to 4.5). Those in IP options, routing headers and payloads stay
//   ports           of TCP, UDP, UDP-Lite and DCCP, also in such a quoted packet
//   TTL, DSCP       of the outermost IP header: TTL or hop limit, type of service or traffic class without ECN
//   checksums       of IPv4, TCP, UDP, UDP-Lite, DCCP, ICMP, ICMPv6, VRRP and HIP; over IPv6 of OSPF, PIM and mobility
//                   headers. UDP and OSPF without one (0) stay so
//
// Only the first fragment has ports and an L4 checksum, which covers the addresses of all of them. With segments
// left in a routing header the L4 checksum covers the final destination there (RFC 8200, section 8.1), and with a home
// address in destination options that one instead of the source (RFC 6275, section 11.3.1).
//
// Threads: set-up on main, then one per struct. Memory: the caller's; nothing is allocated.

#include <stdbool.h>
#include <stdint.h>

#include <tl_wire.h>

struct tl_err;

#define TL_EDIT_MAPS_MAX 64
#define TL_EDIT_PORTS_MAX 64
#define TL_EDIT_STEPS_MAX 16
#define TL_EDIT_KEEP (-1)
#define TL_EDIT_GROWTH TL_VLAN_LEN // maximum of bytes added to a frame

typedef unsigned __int128 tl_edit_addr; // host order; an IPv4 address in the low 32 bits

struct tl_edit_prefix {
	tl_edit_addr addr, mask; // no bit of the address beyond the mask
	uint8_t bits;
	bool six;
};

struct tl_edit_map {
	struct tl_edit_prefix from, to; // of one family
};

struct tl_edit_ports {
	uint16_t first, last, to; // to replaces first, and so on
};

// Increment per loop, modulo the range: of the addresses of a prefix, or of ports.
struct tl_edit_step {
	bool ports;
	struct tl_edit_prefix prefix;
	uint16_t first, last;
	uint32_t by;
	tl_edit_addr shift; // in the current loop; for ports less than their number
};

enum tl_edit_vlan { TL_EDIT_VLAN_KEEP, TL_EDIT_VLAN_ADD, TL_EDIT_VLAN_SET, TL_EDIT_VLAN_STRIP };

// Zero-initialize, then set ttl and dscp to TL_EDIT_KEEP: tl_edit_init().
struct tl_edit {
	bool set_src_mac, set_dst_mac;
	uint8_t src_mac[TL_ETHER_ADDR_LEN], dst_mac[TL_ETHER_ADDR_LEN];
	enum tl_edit_vlan vlan; // outermost 802.1Q or 802.1ad tag
	uint16_t vlan_id;	// 0 to 4094; SET keeps priority and drop eligibility
	int ttl;		// 1 to 255
	int dscp;		// 0 to 63
	struct tl_edit_map maps[TL_EDIT_MAPS_MAX];
	unsigned n_maps;
	struct tl_edit_ports ports[TL_EDIT_PORTS_MAX];
	unsigned n_ports;
	struct tl_edit_step steps[TL_EDIT_STEPS_MAX]; // after maps and ports
	unsigned n_steps;
};

void tl_edit_init(struct tl_edit *edit);

// True if a frame may differ from its copy.
bool tl_edit_is_set(const struct tl_edit *edit);

// Add a map of prefixes, "10.0.0.0/8=192.168.0.0/16", of IPv6 alike: the bits of the second prefix replace the first
// bits of each address in the first; the other bits stay. Of several the first that matches applies. Return 0, or
// -EINVAL with a message: syntax, two families, bits beyond a prefix, too many, or covered by an earlier one.
int tl_edit_add_map(struct tl_edit *edit, const char *text, struct tl_err *err);

// Add a map of ports: "80=8080", "5000-5099=6000". Errors as above, and a range that ends beyond 65535.
int tl_edit_add_ports(struct tl_edit *edit, const char *text, struct tl_err *err);

// Add an increment per loop: "10.1.0.0/16+1", "40000-49999+100". Errors as above.
int tl_edit_add_step(struct tl_edit *edit, const char *text, struct tl_err *err);

// Set the VLAN edit: "add:100", "set:100" or "strip". Return 0, or -EINVAL with a message.
int tl_edit_set_vlan(struct tl_edit *edit, const char *text, struct tl_err *err);

// Set the loop, from 0, whose increments apply to the following frames.
void tl_edit_set_loop(struct tl_edit *edit, uint64_t loop);

// Outcome of an edit.
enum tl_edit_result {
	TL_EDIT_DONE,
	TL_EDIT_MALFORMED, // IP or ARP headers are truncated or inconsistent: addresses were not edited
	TL_EDIT_UNSUMMED,  // the L4 checksum is beyond the end of a short first fragment, or within ESP or AH of IPv4
};

// HOT. Copy a frame of len bytes, at least TL_ETHER_LEN, to out, which has room for TL_EDIT_GROWTH bytes more. Sets the
// length of the copy: len, or with a VLAN edit up to 4 bytes more or less.
enum tl_edit_result tl_edit_copy(
	const struct tl_edit *edit, const uint8_t *frame, uint32_t len, uint8_t *out, uint32_t *out_len);

// HOT. Return the length of the copy, without making it.
uint32_t tl_edit_copied_bytes(const struct tl_edit *edit, const uint8_t *frame, uint32_t len);

// HOT. Set DSCP, 0 to 63, and priority of the outermost VLAN tag, 0 to 7, of a frame of len bytes, at least
// TL_ETHER_LEN, in place; TL_EDIT_KEEP: unchanged. ECN and drop eligibility stay. Frames without such a header stay.
void tl_edit_mark(uint8_t *frame, uint32_t len, int dscp, int pcp);
