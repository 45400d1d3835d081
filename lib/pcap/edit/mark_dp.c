// SPDX-License-Identifier: BSD-3-Clause
// Marks of a frame in place: the priority of its outermost tag, and the DSCP of its outermost IP header.

#include "edit_priv.h"

#define PRIORITY_SHIFT 13 // in the tag (IEEE 802.1Q, clause 9.6)
#define PRIORITY_REST 0x1fff

static void mark_priority(uint8_t *frame, uint32_t len, unsigned pcp)
{
	if (len < TL_ETHER_LEN + TL_VLAN_LEN || !tl_ethertype_is_tag(tl_load_be16(frame + 2 * TL_ETHER_ADDR_LEN)))
		return;
	uint16_t tag = tl_load_be16(frame + TL_ETHER_LEN) & PRIORITY_REST;
	uint16_t tag_be = tl_be16((uint16_t)(tag | pcp << PRIORITY_SHIFT));
	memcpy(frame + TL_ETHER_LEN, &tag_be, sizeof(tag_be));
}

static void mark_dscp(uint8_t *frame, uint32_t len, unsigned dscp)
{
	struct edit_span ip;
	uint16_t type = edit_network(frame, len, &ip);
	uint64_t change = 0;

	if (type == TL_ETHERTYPE_IPV4 && ip.len >= TL_IPV4_LEN) {
		edit_ipv4_dscp(ip.at, dscp, &change);
		edit_update(ip.at + offsetof(struct tl_ipv4_hdr, cksum_be), change, false);
	} else if (type == TL_ETHERTYPE_IPV6 && ip.len >= TL_IPV6_LEN) {
		edit_ipv6_dscp(ip.at, dscp);
	}
}

void tl_edit_mark(uint8_t *frame, uint32_t len, int dscp, int pcp)
{
	if (pcp != TL_EDIT_KEEP)
		mark_priority(frame, len, (unsigned)pcp);
	if (dscp != TL_EDIT_KEEP)
		mark_dscp(frame, len, (unsigned)dscp);
}
