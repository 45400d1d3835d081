// SPDX-License-Identifier: BSD-3-Clause
// The walk from a frame to its innermost frame or packet: every length is checked before a byte behind it is read.
//
// The type of what comes next is an EtherType throughout: GRE and GENEVE use them, and 0x6558 is an Ethernet frame.

#include <tl_encap.h>

#define MPLS_LABELS_MAX 8
#define MPLS_LABEL_LEN 4
#define MPLS_BOTTOM 0x01   // "bottom of stack", in the third byte (RFC 3032, section 2.1)
#define CONTROL_WORD_LEN 4 // its first 16 bits are 0 (RFC 4448, section 4.6)
#define EXTENSIONS_MAX 8   // per IPv6 header
#define GTP_EXTENSIONS_MAX 8

#define UDP_VXLAN 4789
#define UDP_VXLAN_LINUX 8472
#define UDP_GENEVE 6081
#define UDP_GTP 2152

enum {
	TYPE_ETHERNET = 0x6558, // Transparent Ethernet Bridging
	TYPE_MPLS = 0x8847,
	TYPE_MPLS_MCAST = 0x8848,
	TYPE_ERSPAN = 0x88be, // type I and II
	TYPE_ERSPAN3 = 0x22eb,
};

// GRE flags (RFC 2890, section 2; RFC 1701 for routing).
enum { GRE_CHECKSUM = 0x8000, GRE_ROUTING = 0x4000, GRE_KEY = 0x2000, GRE_SEQUENCE = 0x1000, GRE_VERSION = 0x0007 };

// Bytes of the frame not read yet.
struct cursor {
	const uint8_t *at;
	uint32_t left;	     // up to the end of the innermost header around it
	uint32_t off;	     // offset of at in the frame
	uint32_t network_id; // of the last tunnel
};

static inline uint32_t read_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

// Move behind a header. False: it is not wholly captured.
static inline bool skip(struct cursor *c, uint32_t bytes)
{
	if (bytes > c->left)
		return false;
	c->at += bytes;
	c->left -= bytes;
	c->off += bytes;
	return true;
}

static inline void end_at(struct cursor *c, uint32_t bytes)
{
	if (bytes < c->left)
		c->left = bytes;
}

static inline bool is_mpls(uint16_t type)
{
	return type == TYPE_MPLS || type == TYPE_MPLS_MCAST;
}

// ---- one function per layer: return the type of what follows the header, 0: not understood

static uint16_t type_of_version(const struct cursor *c)
{
	uint8_t version = c->left != 0 ? c->at[0] >> 4 : 0;

	return version == 4 ? TL_ETHERTYPE_IPV4 : version == 6 ? TL_ETHERTYPE_IPV6 : 0;
}

static uint16_t peel_mpls(struct cursor *c)
{
	bool bottom = false;

	for (unsigned i = 0; i < MPLS_LABELS_MAX && !bottom; i++) {
		if (c->left < MPLS_LABEL_LEN)
			return 0;
		bottom = (c->at[2] & MPLS_BOTTOM) != 0;
		skip(c, MPLS_LABEL_LEN);
	}
	if (!bottom)
		return 0;
	bool control_word = c->left >= CONTROL_WORD_LEN && tl_load_be16(c->at) == 0;
	if (control_word)
		skip(c, CONTROL_WORD_LEN);
	return control_word ? TYPE_ETHERNET : type_of_version(c);
}

// Type II has a header of 8 bytes, announced by a sequence number; type I has none.
static uint16_t peel_erspan(struct cursor *c, uint16_t gre_flags)
{
	if ((gre_flags & GRE_SEQUENCE) == 0)
		return TYPE_ETHERNET;
	return c->left >= 8 && c->at[0] >> 4 == 1 && skip(c, 8) ? TYPE_ETHERNET : 0;
}

// 12 bytes, then 8 more if the last bit is set. The frame type is 0 for Ethernet, 2 for IP.
static uint16_t peel_erspan3(struct cursor *c)
{
	if (c->left < 12 || c->at[0] >> 4 != 2)
		return 0;
	uint8_t frame_type = c->at[10] >> 2 & 0x1f, more = c->at[11] & 0x01;
	if (!skip(c, more != 0 ? 20 : 12))
		return 0;
	return frame_type == 0 ? TYPE_ETHERNET : frame_type == 2 ? type_of_version(c) : 0;
}

// NVGRE is GRE with an Ethernet frame and a key, whose first 24 bits are the VSID (RFC 7637, section 3.2).
static uint16_t peel_gre(struct cursor *c)
{
	if (c->left < 4)
		return 0;
	uint16_t flags = tl_load_be16(c->at), type = tl_load_be16(c->at + 2);
	uint32_t key_at = (flags & GRE_CHECKSUM) != 0 ? 8 : 4;
	uint32_t bytes = key_at + ((flags & GRE_KEY) != 0 ? 4 : 0) + ((flags & GRE_SEQUENCE) != 0 ? 4 : 0);
	if ((flags & (GRE_ROUTING | GRE_VERSION)) != 0 || bytes > c->left)
		return 0;
	if (type == TYPE_ETHERNET && (flags & GRE_KEY) != 0)
		c->network_id = read_be24(c->at + key_at);
	skip(c, bytes);
	if (type == TYPE_ERSPAN)
		return peel_erspan(c, flags);
	return type == TYPE_ERSPAN3 ? peel_erspan3(c) : type;
}

// Flags, of which "VNI is valid" is required (RFC 7348, section 5), VNI at 4.
static uint16_t peel_vxlan(struct cursor *c)
{
	if (c->left < 8 || (c->at[0] & 0x08) == 0)
		return 0;
	c->network_id = read_be24(c->at + 4);
	return skip(c, 8) ? TYPE_ETHERNET : 0;
}

// Version and length of the options in words, flags with "control packet", type, VNI (RFC 8926, section 3.4).
static uint16_t peel_geneve(struct cursor *c)
{
	if (c->left < 8 || c->at[0] >> 6 != 0 || (c->at[1] & 0x80) != 0)
		return 0;
	uint16_t type = tl_load_be16(c->at + 2);
	c->network_id = read_be24(c->at + 4);
	return skip(c, 8 + (c->at[0] & 0x3fu) * 4) ? type : 0;
}

// Extension headers: length in words, content, next type (3GPP TS 29.281, section 5.2.1). at[-1]: type of the first.
static bool skip_gtp_extensions(struct cursor *c)
{
	for (unsigned i = 0; c->at[-1] != 0; i++) {
		if (i == GTP_EXTENSIONS_MAX || c->left == 0 || c->at[0] == 0 || !skip(c, c->at[0] * 4u))
			return false;
	}
	return true;
}

// Version 1, protocol type GTP, message type G-PDU; any of three flags adds four bytes (section 5.1).
static uint16_t peel_gtp(struct cursor *c)
{
	if (c->left < 8 || (c->at[0] & 0xf0) != 0x30 || c->at[1] != 255)
		return 0;
	uint8_t flags = c->at[0];
	if (!skip(c, (flags & 0x07) != 0 ? 12 : 8))
		return 0;
	return (flags & 0x04) == 0 || skip_gtp_extensions(c) ? type_of_version(c) : 0;
}

static uint16_t peel_udp(struct cursor *c)
{
	if (c->left < TL_UDP_LEN)
		return 0;
	uint16_t port = tl_load_be16(c->at + offsetof(struct tl_udp_hdr, dst_port_be));
	uint16_t udp_len = tl_load_be16(c->at + offsetof(struct tl_udp_hdr, len_be));
	if (udp_len < TL_UDP_LEN)
		return 0;
	end_at(c, udp_len);
	skip(c, TL_UDP_LEN);
	switch (port) {
	case UDP_VXLAN:
	case UDP_VXLAN_LINUX:
		return peel_vxlan(c);
	case UDP_GENEVE:
		return peel_geneve(c);
	case UDP_GTP:
		return peel_gtp(c);
	default:
		return 0;
	}
}

static uint16_t peel_proto(struct cursor *c, uint8_t proto)
{
	switch (proto) {
	case TL_IPPROTO_UDP:
		return peel_udp(c);
	case TL_IPPROTO_IPIP:
		return TL_ETHERTYPE_IPV4;
	case TL_IPPROTO_IPV6:
		return TL_ETHERTYPE_IPV6;
	case TL_IPPROTO_GRE:
		return peel_gre(c);
	case TL_IPPROTO_MPLS:
		return peel_mpls(c);
	default:
		return 0;
	}
}

// RFC 791, section 3.1.
static uint16_t peel_ipv4(struct cursor *c)
{
	const struct tl_ipv4_hdr *ip = (const void *)c->at;
	uint32_t hdr_len = (ip->version_ihl & 0x0fu) * 4, total_len = tl_be16(ip->total_len_be);

	if (hdr_len < TL_IPV4_LEN || total_len < hdr_len ||
		(tl_be16(ip->frag_be) & (TL_IPV4_MORE_FRAGMENTS | TL_IPV4_FRAG_OFFSET)) != 0)
		return 0;
	uint8_t proto = ip->proto;
	end_at(c, total_len);
	return skip(c, hdr_len) ? peel_proto(c, proto) : 0;
}

// RFC 8200, sections 3 and 4.
static uint16_t peel_ipv6(struct cursor *c)
{
	uint32_t payload_len = tl_load_be16(c->at + offsetof(struct tl_ipv6_hdr, payload_len_be));
	uint8_t next = c->at[offsetof(struct tl_ipv6_hdr, next)];

	skip(c, TL_IPV6_LEN);
	if (payload_len != 0) // 0: a jumbogram
		end_at(c, payload_len);
	for (unsigned i = 0; next == TL_IP6_HOP_BY_HOP || next == TL_IP6_ROUTING || next == TL_IP6_DEST_OPTIONS; i++) {
		if (i == EXTENSIONS_MAX || c->left < 8)
			return 0;
		next = c->at[0];
		if (!skip(c, (c->at[1] + 1u) * 8))
			return 0;
	}
	return peel_proto(c, next);
}

static uint16_t peel(struct cursor *c, uint16_t type)
{
	if (type == TL_ETHERTYPE_IPV4)
		type = peel_ipv4(c);
	else if (type == TL_ETHERTYPE_IPV6)
		type = peel_ipv6(c);
	else if (!is_mpls(type))
		return 0;
	return is_mpls(type) ? peel_mpls(c) : type;
}

// ---- the walk

// Read the Ethernet header at the cursor, which is wholly captured, and as many tags as are.
static void enter_ethernet(struct cursor *c, struct tl_encap *out)
{
	out->ethernet = true;
	out->ethertype = tl_load_be16(c->at + offsetof(struct tl_ether_hdr, type_be));
	out->tags = 0;
	skip(c, TL_ETHER_LEN);
	while (tl_ethertype_is_tag(out->ethertype) && out->tags < TL_ENCAP_TAGS_MAX && c->left >= TL_VLAN_LEN) {
		out->ethertype = tl_load_be16(c->at + 2);
		out->tags++;
		skip(c, TL_VLAN_LEN);
	}
	out->network_off = c->off;
}

// True if an IP header of this type, without options, is at the cursor.
static inline bool is_ip_at(const struct cursor *c, uint16_t type)
{
	return c->left >= (type == TL_ETHERTYPE_IPV4 ? TL_IPV4_LEN : TL_IPV6_LEN) && type_of_version(c) == type;
}

// Make what is at the cursor the innermost. False: it is not understood, or not wholly captured.
static bool enter(struct cursor *c, uint16_t type, struct tl_encap *out)
{
	bool ethernet = type == TYPE_ETHERNET && c->left >= TL_ETHER_LEN;
	bool ip = (type == TL_ETHERTYPE_IPV4 || type == TL_ETHERTYPE_IPV6) && is_ip_at(c, type);

	if (!ethernet && !ip)
		return false;
	out->off = c->off;
	out->end = c->off + c->left;
	out->network_id = c->network_id;
	out->tunnels++;
	if (ethernet) {
		enter_ethernet(c, out);
		return true;
	}
	out->ethernet = false;
	out->tags = 0;
	out->ethertype = type;
	out->network_off = c->off;
	return true;
}

// Walk on from the network header of a frame or packet that was entered.
static void walk(struct cursor *c, struct tl_encap *out)
{
	for (unsigned i = 0; i < TL_ENCAP_TUNNELS_MAX; i++) {
		bool ip = out->ethertype == TL_ETHERTYPE_IPV4 || out->ethertype == TL_ETHERTYPE_IPV6;
		if (ip && !is_ip_at(c, out->ethertype))
			return;
		uint16_t type = peel(c, out->ethertype);
		if (type == 0 || !enter(c, type, out))
			return;
	}
}

void tl_encap_parse(const uint8_t *frame, uint32_t len, struct tl_encap *out)
{
	struct cursor c = {.at = frame, .left = len};

	*out = (struct tl_encap){.end = len, .ethernet = true};
	if (len < TL_ETHER_LEN)
		return;
	enter_ethernet(&c, out);
	walk(&c, out);
}

void tl_encap_parse_link(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_encap *out)
{
	struct tl_link_hdr header;

	if (link == TL_LINK_ETHERNET) {
		tl_encap_parse(frame, len, out);
		return;
	}
	*out = (struct tl_encap){.end = len};
	if (!tl_link_parse(link, frame, len, &header))
		return;
	struct cursor c = {
		.at = frame + header.network_off, .left = len - header.network_off, .off = header.network_off};
	out->ethertype = header.ethertype;
	out->network_off = header.network_off;
	walk(&c, out);
}
