// SPDX-License-Identifier: BSD-3-Clause
// Frames above the MTU: cut, or fragmented.

#include <tl_fit.h>

#include "edit_priv.h"

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_COPIED 0x80
#define PACKET_MAX 65535
#define FRAGMENT_MIN 8 // unit of fragment offsets
#define LEN_AT 4       // length of UDP, checksum coverage of UDP-Lite and DCCP

// ---- cut

// Set a length field of a header, and add the change.
static void set_len(uint8_t *at, uint32_t len, uint64_t *change)
{
	uint16_t len_be = tl_be16((uint16_t)len);

	edit_replace(at, &len_be, sizeof(len_be), change);
}

// Return the number of L4 bytes that the checksum covers. 0, or more than there are: it is wrong, or of another kind.
static uint32_t covered_bytes(uint8_t proto, struct edit_span at)
{
	uint32_t field = at.len > LEN_AT + 1 ? tl_load_be16(at.at + LEN_AT) : 0;

	switch (proto) {
	case TL_IPPROTO_UDP: // options may follow (RFC 9868)
		return field;
	case TL_IPPROTO_UDPLITE: // RFC 3828, section 3.1
		return field == 0 ? at.len : field;
	case TL_IPPROTO_DCCP: // RFC 4340, section 9.2; the field is data offset and CsCov
		return field % 16 == 0 ? at.len : ((field >> 8) + field % 16 - 1) * 4;
	case TL_IPPROTO_TCP:
	case TL_IPPROTO_ICMP:
	case TL_IPPROTO_ICMP6:
		return at.len;
	default:
		return 0;
	}
}

// Replace the length in a pseudo-header.
static uint64_t len_change(uint32_t from, uint32_t to)
{
	return (uint64_t)(uint16_t)~tl_be16((uint16_t)from) + tl_be16((uint16_t)to);
}

// Bound what the checksum covers to len bytes, which are fewer: change the field, and subtract the bytes beyond.
static void cut_covered(uint8_t proto, uint8_t *l4, uint32_t covered, uint32_t len, uint64_t *change)
{
	uint32_t field = tl_load_be16(l4 + LEN_AT);
	uint16_t lost = (uint16_t)tl_cksum_add(0, l4 + len, covered - len);

	if (proto == TL_IPPROTO_DCCP)
		set_len(l4 + LEN_AT, field & ~UINT32_C(15), change); // all
	else if (proto == TL_IPPROTO_UDP || (proto == TL_IPPROTO_UDPLITE && field != 0))
		set_len(l4 + LEN_AT, len, change);
	// bytes at odd places are the other halves
	*change += (uint16_t) ~(len % 2 != 0 ? __builtin_bswap16(lost) : lost);
}

// Update the L4 header of a packet whose L4 bytes become len. at: the old bytes.
static void cut_l4(bool six, uint8_t proto, struct edit_span at, uint32_t len)
{
	const struct edit_l4 l4 = edit_l4_of(proto, six);
	uint32_t covered = l4.known ? covered_bytes(proto, at) : 0, least = l4.sum_at + 2u;
	uint64_t change = 0;

	if (covered < least || covered > at.len || len < least)
		return;
	if (proto == TL_IPPROTO_UDP)
		change = len_change(covered, covered < len ? covered : len);
	else if (l4.pseudo)
		change = len_change(at.len, len);
	if (covered > len)
		cut_covered(proto, at.at, covered, len, &change);
	edit_update(at.at + l4.sum_at, change, l4.zero_is_none);
}

// Cut a packet, which is captured up to span.len, to len bytes.
static void cut_ipv4(struct edit_span packet, uint32_t len)
{
	uint8_t *ip = packet.at;
	uint64_t change = 0;

	if (packet.len < TL_IPV4_LEN || ip[0] >> 4 != 4)
		return;
	uint32_t hdr_len = (ip[0] & 0x0fu) * 4,
		 total_len = tl_load_be16(ip + offsetof(struct tl_ipv4_hdr, total_len_be));
	if (hdr_len < TL_IPV4_LEN || hdr_len > len || total_len <= len || total_len > packet.len)
		return;
	set_len(ip + offsetof(struct tl_ipv4_hdr, total_len_be), len, &change);
	edit_update(ip + offsetof(struct tl_ipv4_hdr, cksum_be), change, false);
	uint16_t fragment = tl_load_be16(ip + offsetof(struct tl_ipv4_hdr, frag_be));
	if ((fragment & (TL_IPV4_FRAG_OFFSET | TL_IPV4_MORE_FRAGMENTS)) == 0)
		cut_l4(false, ip[offsetof(struct tl_ipv4_hdr, proto)],
			(struct edit_span){ip + hdr_len, total_len - hdr_len}, len - hdr_len);
}

static void cut_ipv6(struct edit_span packet, uint32_t len)
{
	uint8_t *ip = packet.at;
	uint64_t unused = 0;

	if (packet.len < TL_IPV6_LEN || ip[0] >> 4 != 6)
		return;
	uint32_t total_len = TL_IPV6_LEN + tl_load_be16(ip + offsetof(struct tl_ipv6_hdr, payload_len_be));
	if (len < TL_IPV6_LEN || total_len <= len || total_len > packet.len)
		return;
	set_len(ip + offsetof(struct tl_ipv6_hdr, payload_len_be), len - TL_IPV6_LEN, &unused);
	struct edit_chain c = {
		.at = {ip + TL_IPV6_LEN, total_len - TL_IPV6_LEN}, .next = ip[offsetof(struct tl_ipv6_hdr, next)]};
	uint32_t lost = total_len - len;
	if (edit_walk(&c) && !c.fragment && c.at.len > lost)
		cut_l4(true, c.next, c.at, c.at.len - lost);
}

void tl_fit_cut(uint8_t *frame, uint32_t len, uint32_t limit)
{
	struct edit_span at;
	uint16_t type = edit_network(frame, len, &at);
	uint32_t l2_bytes = (uint32_t)(at.at - frame), left = limit > l2_bytes ? limit - l2_bytes : 0;

	if (type == TL_ETHERTYPE_IPV4)
		cut_ipv4(at, left);
	else if (type == TL_ETHERTYPE_IPV6)
		cut_ipv6(at, left);
}

// ---- fragments

// Build the header of later fragments: with the options that are to be copied (RFC 791, section 3.1).
static void build_later(struct tl_fit *fit)
{
	uint32_t n = TL_IPV4_LEN;

	memcpy(fit->later, fit->ip, TL_IPV4_LEN);
	for (uint32_t at = TL_IPV4_LEN; at < fit->hdr_bytes && fit->ip[at] != OPTION_END;) {
		uint32_t len = fit->ip[at] == OPTION_NOP ? 1 : at + 1 < fit->hdr_bytes ? fit->ip[at + 1] : 0;
		if (len == 0 || (len < 2 && fit->ip[at] != OPTION_NOP) || len > fit->hdr_bytes - at)
			break;
		if ((fit->ip[at] & OPTION_COPIED) != 0) {
			memcpy(fit->later + n, fit->ip + at, len);
			n += len;
		}
		at += len;
	}
	while (n % 4 != 0)
		fit->later[n++] = OPTION_END;
	fit->later[0] = (uint8_t)(0x40 | n / 4);
	fit->later_bytes = n;
}

bool tl_fit_begin(struct tl_fit *fit, const uint8_t *frame, uint32_t len, uint32_t limit)
{
	struct edit_span at;

	if (edit_network((uint8_t *)(uintptr_t)frame, len, &at) != TL_ETHERTYPE_IPV4 || at.len < TL_IPV4_LEN ||
		at.at[0] >> 4 != 4)
		return false;
	uint32_t total_len = tl_load_be16(at.at + offsetof(struct tl_ipv4_hdr, total_len_be));
	uint32_t fragment = tl_load_be16(at.at + offsetof(struct tl_ipv4_hdr, frag_be));
	*fit = (struct tl_fit){.frame = frame,
		.ip = at.at,
		.l2_bytes = (uint32_t)(at.at - frame),
		.hdr_bytes = (at.at[0] & 0x0fu) * 4,
		.offset = fragment & TL_IPV4_FRAG_OFFSET,
		.more = (fragment & TL_IPV4_MORE_FRAGMENTS) != 0};
	if (limit < fit->l2_bytes + fit->hdr_bytes + FRAGMENT_MIN)
		return false;
	fit->mtu = limit - fit->l2_bytes;
	if (fit->hdr_bytes < TL_IPV4_LEN || total_len <= fit->hdr_bytes || total_len > at.len ||
		(fragment & TL_IPV4_DONT_FRAGMENT) != 0 || fit->offset * 8u + total_len > PACKET_MAX)
		return false;
	fit->data = at.at + fit->hdr_bytes;
	fit->left = total_len - fit->hdr_bytes;
	build_later(fit);
	return true;
}

// Complete the header of a fragment: its checksum is the original one, changed by the differences.
static void finish_header(const struct tl_fit *fit, uint8_t *ip, uint32_t hdr, uint32_t n, bool more)
{
	uint16_t total_be = tl_be16((uint16_t)(hdr + n));
	uint16_t fragment = tl_load_be16(fit->ip + offsetof(struct tl_ipv4_hdr, frag_be));
	uint16_t reserved = fragment & (uint16_t) ~(TL_IPV4_MORE_FRAGMENTS | TL_IPV4_FRAG_OFFSET);
	uint16_t frag_be = tl_be16((uint16_t)(reserved | (more ? TL_IPV4_MORE_FRAGMENTS : 0) | fit->offset));

	memcpy(ip + offsetof(struct tl_ipv4_hdr, total_len_be), &total_be, sizeof(total_be));
	memcpy(ip + offsetof(struct tl_ipv4_hdr, frag_be), &frag_be, sizeof(frag_be));
	uint32_t before = tl_cksum_add(0, fit->ip, fit->hdr_bytes), after = tl_cksum_add(0, ip, hdr);
	edit_update(ip + offsetof(struct tl_ipv4_hdr, cksum_be), (uint64_t)(uint16_t)~before + after, false);
}

uint32_t tl_fit_next(struct tl_fit *fit, uint8_t *out)
{
	bool first = fit->data == fit->ip + fit->hdr_bytes;
	uint32_t hdr = first ? fit->hdr_bytes : fit->later_bytes;
	uint8_t *ip = out + fit->l2_bytes;

	if (fit->left == 0)
		return 0;
	uint32_t n = fit->left <= fit->mtu - hdr ? fit->left : (fit->mtu - hdr) & ~UINT32_C(7);
	memcpy(out, fit->frame, fit->l2_bytes);
	memcpy(ip, first ? fit->ip : fit->later, hdr);
	memcpy(ip + hdr, fit->data, n);
	finish_header(fit, ip, hdr, n, fit->more || n < fit->left);
	fit->data += n;
	fit->left -= n;
	fit->offset += n / 8;
	return fit->l2_bytes + hdr + n;
}
