// SPDX-License-Identifier: BSD-3-Clause
// The 82599's parser: packet type (7.1.6.2) and checksums (7.1.11).

#include "model.h"

enum { ETHER = 14, TAG = 4, ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86DD, ETHERTYPE_VLAN = 0x8100 };
enum { TYPE_IPV4 = 1, TYPE_IPV4E = 2, TYPE_IPV6 = 4, TYPE_IPV6E = 8, TYPE_TCP = 16, TYPE_UDP = 32, TYPE_SCTP = 64 };
enum { TCP = 6, UDP = 17, SCTP = 132, HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60 };

uint16_t checksum(const uint8_t *p, uint32_t bytes, uint32_t sum)
{
	uint64_t total = sum;

	for (; bytes > 1; bytes -= 2, p += 2)
		total += be16(p);
	if (bytes == 1)
		total += (uint32_t)p[0] << 8;
	while (total > 0xFFFF)
		total = (total & 0xFFFF) + (total >> 16);
	return (uint16_t)total;
}

uint32_t pseudo_sum(const uint8_t *ip, bool v6, uint8_t proto, uint32_t l4_bytes)
{
	return (uint32_t)checksum(ip + (v6 ? 8 : 12), v6 ? 32 : 8, 0) + proto + l4_bytes;
}

// Checksums are verified in unfragmented packets only; a UDP checksum of 0 over IPv4 means none.
static void check_l4(const struct frame *frame, struct headers *h)
{
	const uint8_t *l4 = frame->data + h->l4;
	unsigned least = h->l4_proto == TCP ? 20 : 8;

	if (h->l4_bytes < least || h->l4 + h->l4_bytes > frame->bytes || h->l4_proto == SCTP)
		return;
	if (h->l4_proto == UDP && !h->v6 && be16(l4 + 6) == 0)
		return;
	h->l4_checked = true;
	h->l4_bad =
		checksum(l4, h->l4_bytes, pseudo_sum(frame->data + h->l3, h->v6, h->l4_proto, h->l4_bytes)) != 0xFFFF;
}

static void find_l4(const struct frame *frame, struct headers *h, uint8_t proto, uint32_t at, uint32_t end)
{
	static const struct {
		uint8_t proto, type;
	} known[] = {{TCP, TYPE_TCP}, {UDP, TYPE_UDP}, {SCTP, TYPE_SCTP}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]) && !h->fragment && at + 8 <= end; i++) {
		if (known[i].proto != proto)
			continue;
		h->l4 = (uint16_t)at;
		h->l4_proto = proto;
		h->l4_bytes = (uint16_t)(end - at);
		h->packet_type |= known[i].type;
		check_l4(frame, h);
	}
}

static void parse_ipv4(const struct frame *frame, struct headers *h, uint32_t at)
{
	const uint8_t *ip = frame->data + at;
	uint32_t header = 4 * (ip[0] & 0xFu), total = be16(ip + 2);

	if (ip[0] >> 4 != 4 || header < 20 || at + header > frame->bytes)
		return;
	h->l3 = (uint16_t)at;
	h->packet_type = header > 20 ? TYPE_IPV4E : TYPE_IPV4;
	h->ip_bad = checksum(ip, header, 0) != 0xFFFF;
	h->fragment = (be16(ip + 6) & 0x3FFF) != 0;
	if (total >= header && at + total <= frame->bytes)
		find_l4(frame, h, ip[9], at + header, at + total);
}

static void parse_ipv6(const struct frame *frame, struct headers *h, uint32_t at)
{
	const uint8_t *ip = frame->data + at;
	uint32_t end = at + 40 + be16(ip + 4);
	uint8_t next = ip[6];

	if (ip[0] >> 4 != 6)
		return;
	h->l3 = (uint16_t)at;
	h->v6 = true;
	h->packet_type = TYPE_IPV6;
	for (at += 40; at + 8 <= end && end <= frame->bytes; at += 8 + 8u * frame->data[at + 1]) {
		if (next != HOP_BY_HOP && next != ROUTING && next != DESTINATION && next != FRAGMENT)
			break;
		h->packet_type = TYPE_IPV6E;
		h->fragment |= next == FRAGMENT;
		next = frame->data[at];
	}
	if (end <= frame->bytes)
		find_l4(frame, h, next, at, end);
}

// The parser handles one VLAN tag; a second one is an unknown packet type.
void parse(const struct frame *frame, struct headers *out)
{
	const uint8_t *data = frame->data;
	uint32_t at = ETHER;

	*out = (struct headers){.ethertype = be16(data + 12)};
	if (out->ethertype == ETHERTYPE_VLAN) {
		out->tagged = true;
		out->vlan = be16(data + 14);
		out->ethertype = be16(data + 16);
		at += TAG;
	}
	if (out->ethertype == ETHERTYPE_IPV4 && at + 20 <= frame->bytes)
		parse_ipv4(frame, out, at);
	else if (out->ethertype == ETHERTYPE_IPV6 && at + 40 <= frame->bytes)
		parse_ipv6(frame, out, at);
}
