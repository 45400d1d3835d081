// SPDX-License-Identifier: BSD-3-Clause
// Edits of a frame in its copy: every header is checked against the captured bytes before it is read.

#include "edit_priv.h"

#define ICMP_REDIRECT 5
#define ICMP6_ERROR_MAX 127 // RFC 4443, section 2.1
#define ND_SOLICITATION 135
#define ND_REDIRECT 137

// ---- addresses and ports

static inline tl_edit_addr all_bits(bool six)
{
	return six ? ~(tl_edit_addr)0 : UINT32_MAX;
}

static inline bool contains(const struct tl_edit_prefix *prefix, bool six, tl_edit_addr addr)
{
	return prefix->six == six && (addr & prefix->mask) == prefix->addr;
}

static tl_edit_addr edited_addr(const struct tl_edit *e, bool six, tl_edit_addr addr)
{
	for (unsigned i = 0; i < e->n_maps; i++) {
		const struct tl_edit_map *map = &e->maps[i];
		if (contains(&map->from, six, addr)) {
			addr = map->to.addr | (addr & ~map->to.mask & all_bits(six));
			break;
		}
	}
	for (unsigned i = 0; i < e->n_steps; i++) {
		const struct tl_edit_step *step = &e->steps[i];
		if (!step->ports && contains(&step->prefix, six, addr)) {
			tl_edit_addr host = (addr + step->shift) & ~step->prefix.mask & all_bits(six);
			return step->prefix.addr | host;
		}
	}
	return addr;
}

static uint16_t edited_port(const struct tl_edit *e, uint16_t port)
{
	for (unsigned i = 0; i < e->n_ports; i++) {
		const struct tl_edit_ports *map = &e->ports[i];
		if (port >= map->first && port <= map->last) {
			port = (uint16_t)(map->to + (port - map->first));
			break;
		}
	}
	for (unsigned i = 0; i < e->n_steps; i++) {
		const struct tl_edit_step *step = &e->steps[i];
		if (!step->ports || port < step->first || port > step->last)
			continue;
		uint32_t n = (uint32_t)(step->last - step->first) + 1, at = port - step->first + (uint32_t)step->shift;
		return (uint16_t)(step->first + (at >= n ? at - n : at));
	}
	return port;
}

static void edit_addr4(const struct tl_edit *e, uint8_t *at, uint64_t *change)
{
	uint32_t addr_be;

	memcpy(&addr_be, at, sizeof(addr_be));
	uint32_t edited_be = tl_be32((uint32_t)edited_addr(e, false, tl_be32(addr_be)));
	if (edited_be != addr_be)
		edit_replace(at, &edited_be, sizeof(edited_be), change);
}

static void edit_addr6(const struct tl_edit *e, uint8_t *at, uint64_t *change)
{
	uint64_t half_be[2];

	memcpy(half_be, at, sizeof(half_be));
	tl_edit_addr addr = (tl_edit_addr)__builtin_bswap64(half_be[0]) << 64 | __builtin_bswap64(half_be[1]);
	tl_edit_addr edited = edited_addr(e, true, addr);
	if (edited == addr)
		return;
	half_be[0] = __builtin_bswap64((uint64_t)(edited >> 64));
	half_be[1] = __builtin_bswap64((uint64_t)edited);
	edit_replace(at, half_be, sizeof(half_be), change);
}

static void edit_port(const struct tl_edit *e, uint8_t *at, uint64_t *change)
{
	uint16_t port = tl_load_be16(at), edited = edited_port(e, port), edited_be = tl_be16(edited);

	if (edited != port)
		edit_replace(at, &edited_be, sizeof(edited_be), change);
}

// ---- L4

static enum tl_edit_result edit_packet(const struct tl_edit *e, bool six, struct edit_span packet, bool quoted);

static bool is_icmp_error(uint8_t type, bool six)
{
	return six ? type <= ICMP6_ERROR_MAX
		   : type == 3 || type == 4 || type == ICMP_REDIRECT || type == 11 || type == 12;
}

// Edit the packet quoted by an error. The quote contains checksums, which change too: add the difference of
// its sums.
static void edit_quote(const struct tl_edit *e, bool six, struct edit_span quote, uint64_t *change)
{
	uint32_t before = tl_cksum_add(0, quote.at, quote.len);

	(void)edit_packet(e, six, quote, true);
	uint32_t after = tl_cksum_add(0, quote.at, quote.len);
	if (after != before)
		*change += (uint64_t)(uint16_t)~before + after;
}

static void edit_icmp(const struct tl_edit *e, bool six, struct edit_span l4, uint64_t *change)
{
	uint8_t type = l4.at[0];

	if (is_icmp_error(type, six)) {
		edit_quote(e, six, edit_skipped(l4, TL_ICMP_LEN), change);
		if (!six && type == ICMP_REDIRECT)
			edit_addr4(e, l4.at + 4, change);
	} else if (six && type >= ND_SOLICITATION && type <= ND_REDIRECT) {
		if (l4.len >= TL_ICMP_LEN + 16)
			edit_addr6(e, l4.at + TL_ICMP_LEN, change);
		if (type == ND_REDIRECT && l4.len >= TL_ICMP_LEN + 32)
			edit_addr6(e, l4.at + TL_ICMP_LEN + 16, change);
	}
}

// True if a VRRP checksum over IPv4 does not cover the addresses: that of version 2, and of version 3 by RFC 9568,
// unlike RFC 5798.
static bool is_own_only(struct edit_span vrrp)
{
	return vrrp.len != 0 && (vrrp.at[0] >> 4 < 3 || tl_cksum_finish(tl_cksum_add(0, vrrp.at, vrrp.len)) == 0);
}

// Edit what follows the IP header, unless it is a later fragment. pseudo: change of the addresses.
static enum tl_edit_result edit_l4(
	const struct tl_edit *e, bool six, uint8_t proto, struct edit_span at, uint64_t pseudo, bool quoted)
{
	const struct edit_l4 l4 = edit_l4_of(proto, six);
	uint64_t change = l4.pseudo && !(l4.own_only && is_own_only(at)) ? pseudo : 0;

	if (!l4.known)
		return l4.hidden && edit_is_change(pseudo) ? TL_EDIT_UNSUMMED : TL_EDIT_DONE;
	if (l4.ports && at.len >= 4) {
		edit_port(e, at.at, &change);
		edit_port(e, at.at + 2, &change);
	}
	if (l4.icmp && !quoted && at.len >= TL_ICMP_LEN)
		edit_icmp(e, six, at, &change);
	if (at.len >= l4.sum_at + 2u)
		edit_update(at.at + l4.sum_at, change, l4.zero_is_none);
	else if (edit_is_change(change))
		return TL_EDIT_UNSUMMED;
	return TL_EDIT_DONE;
}

// ---- L3

static void edit_ipv4_fields(const struct tl_edit *e, uint8_t *ip, uint64_t *change)
{
	if (e->dscp != TL_EDIT_KEEP)
		edit_ipv4_dscp(ip, (unsigned)e->dscp, change);
	if (e->ttl != TL_EDIT_KEEP) {
		uint8_t *at = ip + offsetof(struct tl_ipv4_hdr, ttl);
		const uint8_t word[2] = {(uint8_t)e->ttl, at[1]};
		edit_replace(at, word, sizeof(word), change);
	}
}

static enum tl_edit_result edit_ipv4(const struct tl_edit *e, struct edit_span packet, bool quoted)
{
	uint8_t *ip = packet.at;
	uint64_t addrs = 0, header = 0;

	if (packet.len < TL_IPV4_LEN || ip[0] >> 4 != 4)
		return TL_EDIT_MALFORMED;
	uint32_t hdr_len = (ip[0] & 0x0fu) * 4;
	uint32_t total_len = tl_load_be16(ip + offsetof(struct tl_ipv4_hdr, total_len_be));
	if (quoted) // in quotes of some hosts the length is not the original one
		total_len = packet.len;
	if (hdr_len < TL_IPV4_LEN || hdr_len > packet.len || total_len < hdr_len)
		return TL_EDIT_MALFORMED;
	edit_addr4(e, ip + offsetof(struct tl_ipv4_hdr, src_be), &addrs);
	edit_addr4(e, ip + offsetof(struct tl_ipv4_hdr, dst_be), &addrs);
	if (!quoted)
		edit_ipv4_fields(e, ip, &header);
	edit_update(ip + offsetof(struct tl_ipv4_hdr, cksum_be), addrs + header, false);
	if ((tl_load_be16(ip + offsetof(struct tl_ipv4_hdr, frag_be)) & TL_IPV4_FRAG_OFFSET) != 0)
		return TL_EDIT_DONE;
	packet.len = total_len < packet.len ? total_len : packet.len;
	return edit_l4(e, false, ip[offsetof(struct tl_ipv4_hdr, proto)], edit_skipped(packet, hdr_len), addrs, quoted);
}

static void edit_ipv6_fields(const struct tl_edit *e, uint8_t *ip)
{
	if (e->dscp != TL_EDIT_KEEP)
		edit_ipv6_dscp(ip, (unsigned)e->dscp);
	if (e->ttl != TL_EDIT_KEEP)
		ip[offsetof(struct tl_ipv6_hdr, hop_limit)] = (uint8_t)e->ttl;
}

static enum tl_edit_result edit_ipv6(const struct tl_edit *e, struct edit_span packet, bool quoted)
{
	uint8_t *ip = packet.at;
	uint64_t src = 0, dst = 0;

	if (packet.len < TL_IPV6_LEN || ip[0] >> 4 != 6)
		return TL_EDIT_MALFORMED;
	uint32_t payload_len = tl_load_be16(ip + offsetof(struct tl_ipv6_hdr, payload_len_be));
	edit_addr6(e, ip + offsetof(struct tl_ipv6_hdr, src), &src);
	edit_addr6(e, ip + offsetof(struct tl_ipv6_hdr, dst), &dst);
	if (!quoted)
		edit_ipv6_fields(e, ip);
	struct edit_chain c = {.at = edit_skipped(packet, TL_IPV6_LEN), .next = ip[offsetof(struct tl_ipv6_hdr, next)]};
	if (payload_len != 0 && payload_len < c.at.len) // 0: a jumbogram (RFC 2675)
		c.at.len = payload_len;
	if (!edit_walk(&c))
		return src + dst != 0 ? TL_EDIT_UNSUMMED : TL_EDIT_DONE;
	return c.later ? TL_EDIT_DONE
		       : edit_l4(e, true, c.next, c.at, (c.homed ? 0 : src) + (c.routed ? 0 : dst), quoted);
}

static enum tl_edit_result edit_packet(const struct tl_edit *e, bool six, struct edit_span packet, bool quoted)
{
	return six ? edit_ipv6(e, packet, quoted) : edit_ipv4(e, packet, quoted);
}

static enum tl_edit_result edit_arp(const struct tl_edit *e, struct edit_span packet)
{
	static const uint8_t ipv4_over_ethernet[] = {0, 1, 8, 0, TL_ETHER_ADDR_LEN, 4};
	uint64_t unused = 0;

	if (packet.len < TL_ARP_LEN)
		return TL_EDIT_MALFORMED;
	if (memcmp(packet.at, ipv4_over_ethernet, sizeof(ipv4_over_ethernet)) != 0)
		return TL_EDIT_DONE;
	edit_addr4(e, packet.at + offsetof(struct tl_arp_hdr, sender_ip_be), &unused);
	edit_addr4(e, packet.at + offsetof(struct tl_arp_hdr, target_ip_be), &unused);
	return TL_EDIT_DONE;
}

// ---- L2

static inline bool is_tagged(const uint8_t *frame, uint32_t len)
{
	return len >= TL_ETHER_LEN + TL_VLAN_LEN && tl_ethertype_is_tag(tl_load_be16(frame + 2 * TL_ETHER_ADDR_LEN));
}

uint32_t tl_edit_copied_bytes(const struct tl_edit *edit, const uint8_t *frame, uint32_t len)
{
	if (edit->vlan == TL_EDIT_VLAN_ADD)
		return len + TL_VLAN_LEN;
	return edit->vlan == TL_EDIT_VLAN_STRIP && is_tagged(frame, len) ? len - TL_VLAN_LEN : len;
}

// Copy the frame with the tag added, changed or stripped; return its length.
static uint32_t copy_l2(const struct tl_edit *e, const uint8_t *frame, uint32_t len, uint8_t *out)
{
	const uint32_t addrs = 2 * TL_ETHER_ADDR_LEN;
	uint32_t from = addrs, to = addrs;
	uint16_t tag_be[2] = {tl_be16(TL_ETHERTYPE_VLAN), tl_be16(e->vlan_id)};

	if (e->vlan == TL_EDIT_VLAN_ADD) {
		memcpy(out + to, tag_be, sizeof(tag_be));
		to += TL_VLAN_LEN;
	} else if (e->vlan == TL_EDIT_VLAN_STRIP && is_tagged(frame, len)) {
		from += TL_VLAN_LEN;
	}
	memcpy(out, frame, addrs);
	memcpy(out + to, frame + from, len - from);
	if (e->vlan == TL_EDIT_VLAN_SET && is_tagged(frame, len)) {
		tag_be[1] |= tl_be16(tl_load_be16(frame + TL_ETHER_LEN) & (uint16_t)~TL_VLAN_ID);
		memcpy(out + TL_ETHER_LEN, &tag_be[1], sizeof(tag_be[1]));
	}
	if (e->set_dst_mac)
		memcpy(out, e->dst_mac, TL_ETHER_ADDR_LEN);
	if (e->set_src_mac)
		memcpy(out + TL_ETHER_ADDR_LEN, e->src_mac, TL_ETHER_ADDR_LEN);
	return len - from + to;
}

enum tl_edit_result tl_edit_copy(
	const struct tl_edit *edit, const uint8_t *frame, uint32_t len, uint8_t *out, uint32_t *out_len)
{
	struct edit_span at;
	uint32_t bytes = copy_l2(edit, frame, len, out);

	*out_len = bytes;
	uint16_t type = edit_network(out, bytes, &at);
	switch (type) {
	case TL_ETHERTYPE_IPV4:
		return edit_ipv4(edit, at, false);
	case TL_ETHERTYPE_IPV6:
		return edit_ipv6(edit, at, false);
	case TL_ETHERTYPE_ARP:
		return edit_arp(edit, at);
	default:
		return TL_EDIT_DONE;
	}
}
