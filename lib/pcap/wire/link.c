// SPDX-License-Identifier: BSD-3-Clause
// Headers of link types other than Ethernet: offset and type of the network header.

#include <tl_link.h>

#include "wire_priv.h"

#define FAMILY_LEN 4
#define SLL_LEN 16
#define SLL2_LEN 20
// Packet types (packet(7)): up to SLL_OTHERHOST received, for this host, broadcast, a group or another host.
#define SLL_OTHERHOST 3
#define SLL_OUTGOING 4
#define VLAN_TAGS_MAX 2

// Address families as written by BSD, macOS and Linux.
enum { FAMILY_INET = 2, FAMILY_INET6_LINUX = 10, FAMILY_INET6_BSD = 24, FAMILY_INET6_FREE = 28, FAMILY_INET6_MAC = 30 };

// Link types in the order of enum tl_link: number and name.
#define LINKS(X)                                                                                                       \
	X(1, "ETHERNET")                                                                                               \
	X(0, "NULL")                                                                                                   \
	X(108, "LOOP")                                                                                                 \
	X(101, "RAW")                                                                                                  \
	X(228, "IPV4")                                                                                                 \
	X(229, "IPV6")                                                                                                 \
	X(113, "LINUX_SLL")                                                                                            \
	X(276, "LINUX_SLL2")

#define NUMBER(number, name) number,
#define LISTED(number, name) ", " name " (" #number ")"

static const uint16_t numbers[] = {LINKS(NUMBER)};

_Static_assert(TL_ARRAY_LEN(numbers) == TL_LINKS, "every link type has its number");

enum tl_link tl_link_of(uint32_t number)
{
	enum tl_link link = 0;

	while (link < TL_LINKS && numbers[link] != number)
		link++;
	return link;
}

const char *tl_link_names(void)
{
	static const char list[] = LINKS(LISTED);

	return list + strlen(", ");
}

static uint16_t type_of_family(uint32_t family)
{
	switch (family) {
	case FAMILY_INET:
		return TL_ETHERTYPE_IPV4;
	case FAMILY_INET6_LINUX:
	case FAMILY_INET6_BSD:
	case FAMILY_INET6_FREE:
	case FAMILY_INET6_MAC:
		return TL_ETHERTYPE_IPV6;
	default:
		return 0;
	}
}

// The family is one byte: the first in one byte order, the last in the other.
static uint16_t type_of_null(const uint8_t *frame)
{
	uint32_t family;

	memcpy(&family, frame, sizeof(family));
	return type_of_family(family > UINT8_MAX ? tl_be32(family) : family);
}

static uint16_t type_of_loop(const uint8_t *frame)
{
	uint32_t family_be;

	memcpy(&family_be, frame, sizeof(family_be));
	return type_of_family(tl_be32(family_be));
}

// The IP version is in the first four bits.
static uint16_t type_of_raw(const uint8_t *frame, uint32_t len)
{
	uint8_t version = len != 0 ? frame[0] >> 4 : 0;

	return version == 4 ? TL_ETHERTYPE_IPV4 : version == 6 ? TL_ETHERTYPE_IPV6 : 0;
}

static uint16_t header_bytes(enum tl_link link)
{
	static const uint16_t bytes[TL_LINKS] = {[TL_LINK_ETHERNET] = TL_ETHER_LEN,
		[TL_LINK_NULL] = FAMILY_LEN,
		[TL_LINK_LOOP] = FAMILY_LEN,
		[TL_LINK_SLL] = SLL_LEN,
		[TL_LINK_SLL2] = SLL2_LEN};

	return bytes[link];
}

static void read_packet_type(uint16_t type, struct tl_link_hdr *out)
{
	out->sent = type == SLL_OUTGOING;
	out->received = type <= SLL_OTHERHOST;
}

static void read_header(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_link_hdr *out)
{
	switch (link) {
	case TL_LINK_NULL:
		out->ethertype = type_of_null(frame);
		break;
	case TL_LINK_LOOP:
		out->ethertype = type_of_loop(frame);
		break;
	case TL_LINK_IPV4:
		out->ethertype = TL_ETHERTYPE_IPV4;
		break;
	case TL_LINK_IPV6:
		out->ethertype = TL_ETHERTYPE_IPV6;
		break;
	case TL_LINK_SLL: // packet type, ARPHRD_ type, length of the address, 8 bytes of it, protocol
		out->ethertype = tl_load_be16(frame + 14);
		read_packet_type(tl_load_be16(frame), out);
		break;
	case TL_LINK_SLL2: // protocol, reserved, interface index, ARPHRD_ type, packet type, ...
		out->ethertype = tl_load_be16(frame);
		read_packet_type(frame[10], out);
		break;
	case TL_LINK_ETHERNET:
		out->ethertype = tl_load_be16(frame + 12);
		break;
	default:
		out->ethertype = type_of_raw(frame, len);
	}
}

bool tl_link_parse(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_link_hdr *out)
{
	*out = (struct tl_link_hdr){.network_off = header_bytes(link)};
	if (len < out->network_off)
		return false;
	read_header(link, frame, len, out);
	for (unsigned tag = 0; tag < VLAN_TAGS_MAX; tag++) {
		if (out->ethertype != TL_ETHERTYPE_VLAN && out->ethertype != TL_ETHERTYPE_QINQ)
			return true;
		if (len - out->network_off < TL_VLAN_LEN)
			return false;
		if (tag == 0)
			out->vlan_tci = tl_load_be16(frame + out->network_off);
		out->ethertype = tl_load_be16(frame + out->network_off + 2);
		out->network_off += TL_VLAN_LEN;
	}
	return true;
}

int tl_link_dscp(enum tl_link link, const uint8_t *frame, uint32_t len)
{
	struct tl_link_hdr header;

	if (!tl_link_parse(link, frame, len, &header) || len < (uint32_t)header.network_off + TL_IPV4_LEN)
		return -1;
	if (header.ethertype == TL_ETHERTYPE_IPV4)
		return frame[header.network_off + 1] >> TL_DSCP_SHIFT;
	if (header.ethertype == TL_ETHERTYPE_IPV6) // between version and ECN
		return tl_load_be16(frame + header.network_off) >> (4 + TL_DSCP_SHIFT) & 0x3f;
	return -1;
}

void tl_link_vlans(enum tl_link link, const uint8_t *frame, const struct tl_pkt *pkt, uint16_t ids[2])
{
	uint32_t at = header_bytes(link);

	for (unsigned tag = 0; tag < VLAN_TAGS_MAX; tag++, at += TL_VLAN_LEN)
		ids[tag] = at + TL_VLAN_LEN <= pkt->l3_off ? tl_load_be16(frame + at) & TL_VLAN_ID : 0;
}

void tl_wire_parse_link(enum tl_link link, const uint8_t *frame, uint32_t len, struct tl_pkt *out)
{
	struct tl_link_hdr header;

	if (link == TL_LINK_ETHERNET) {
		tl_wire_parse(frame, len, out);
		return;
	}
	*out = (struct tl_pkt){.kind = TL_PKT_BAD};
	if (!tl_link_parse(link, frame, len, &header))
		return;
	out->l2_len = (uint8_t)header.network_off;
	out->l3_off = header.network_off;
	out->vlan_tci = header.vlan_tci;
	out->kind = tl_wire_parse_network(header.ethertype, frame, len, out);
}
