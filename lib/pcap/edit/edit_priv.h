// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// edit_priv: headers of a frame, and changes of bytes with the checksums that cover them.
//
//   edit_parse.c    edits from the texts of options
//   edit_dp.c       edits of a frame in its copy
//   fit_dp.c        frames above the MTU: cut or fragmented
//   headers_dp.c    network and L4 headers
//   mark_dp.c       DSCP and priority of a frame in place
//
// Threads: any; every function is pure. Memory: the caller's.

#include <string.h>

#include <tl_edit.h>

// ---- changes, and checksums that cover them

// Replace an even number of bytes. Add ~m + m' of each word to the change of the checksums that cover them (RFC 1624).
static inline void edit_replace(uint8_t *at, const void *bytes, uint32_t len, uint64_t *change)
{
	const uint8_t *from = bytes;

	for (uint32_t i = 0; i < len; i += 2)
		*change += (uint64_t)(uint16_t)~tl_load_u16(at + i) + tl_load_u16(from + i);
	memcpy(at, from, len);
}

// True if the change is not zero in one's complement arithmetic.
static inline bool edit_is_change(uint64_t change)
{
	uint16_t complement = tl_cksum_fold(change);

	return complement != 0 && complement != 0xffff;
}

// Update a checksum field. With a zero that means none (UDP, RFC 768) that stays, and none results.
static inline void edit_update(uint8_t *field, uint64_t change, bool zero_is_none)
{
	uint16_t sum = tl_load_u16(field);

	if (!edit_is_change(change) || (zero_is_none && sum == 0))
		return;
	sum = tl_cksum_fold(tl_cksum_add64((uint16_t)~sum, change));
	if (zero_is_none && sum == 0)
		sum = 0xffff;
	memcpy(field, &sum, sizeof(sum));
}

// Set the DSCP of an IPv4 header; ECN stays.
static inline void edit_ipv4_dscp(uint8_t *ip, unsigned dscp, uint64_t *change)
{
	const uint8_t word[2] = {ip[0], (uint8_t)(dscp << TL_DSCP_SHIFT | (ip[1] & 3u))};

	edit_replace(ip, word, sizeof(word), change);
}

// Set the DSCP of an IPv6 header, which no checksum covers; ECN stays.
static inline void edit_ipv6_dscp(uint8_t *ip, unsigned dscp)
{
	uint16_t word = tl_be16((uint16_t)((tl_load_be16(ip) & 0xf03fu) | dscp << 6));

	memcpy(ip, &word, sizeof(word));
}

// ---- headers_dp.c

// Bytes of a packet from a header on, bounded by its IP length and the end of the frame.
struct edit_span {
	uint8_t *at;
	uint32_t len;
};

static inline struct edit_span edit_skipped(struct edit_span s, uint32_t n)
{
	return (struct edit_span){s.at + n, s.len - n};
}

// L4 header of a protocol: offset of the checksum, whether it covers the addresses, and whether 0 means none.
struct edit_l4 {
	uint8_t sum_at;
	bool known, ports, pseudo, zero_is_none, icmp;
	bool own_only; // VRRP over IPv4: the checksum may cover the packet only
	bool hidden;   // not known; there may be an L4 checksum inside
};

struct edit_l4 edit_l4_of(uint8_t proto, bool six);

// Position in the chain of extension headers (RFC 8200, section 4).
struct edit_chain {
	struct edit_span at;
	uint8_t next;
	bool routed;   // segments left: the final destination is in the routing header
	bool homed;    // the source in the checksum is the home address in destination options (RFC 6275)
	bool fragment; // has a fragment header
	bool later;    // a fragment other than the first
};

// Walk to the first header that is not an extension, or to the payload of a later fragment. False: truncated, or too
// many.
bool edit_walk(struct edit_chain *chain);

// Return the type behind the VLAN tags of a frame of at least TL_ETHER_LEN bytes, and the bytes behind it.
uint16_t edit_network(uint8_t *frame, uint32_t len, struct edit_span *out);
