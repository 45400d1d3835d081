// SPDX-License-Identifier: BSD-3-Clause
// Network and L4 headers of a frame, in bounds.

#include "edit_priv.h"

#define TAGS_MAX 4
#define EXTENSIONS_MAX 8
#define ROUTING_LEFT 3
#define OPTION_PAD1 0
#define OPTION_HOME 201

struct edit_l4 edit_l4_of(uint8_t proto, bool six)
{
	switch (proto) {
	case TL_IPPROTO_TCP:
		return (struct edit_l4){.known = true, .sum_at = 16, .ports = true, .pseudo = true};
	case TL_IPPROTO_UDP:
		return (struct edit_l4){
			.known = true, .sum_at = 6, .ports = true, .pseudo = true, .zero_is_none = true};
	case TL_IPPROTO_DCCP:
	case TL_IPPROTO_UDPLITE:
		return (struct edit_l4){.known = true, .sum_at = 6, .ports = true, .pseudo = true};
	case TL_IPPROTO_ICMP:
		return (struct edit_l4){.known = !six, .sum_at = 2, .icmp = true};
	case TL_IPPROTO_ICMP6:
		return (struct edit_l4){.known = six, .sum_at = 2, .icmp = true, .pseudo = true};
	case TL_IPPROTO_PIM: // RFC 7761, section 4.9
		return (struct edit_l4){.known = six, .sum_at = 2, .pseudo = true};
	case TL_IPPROTO_OSPF: // RFC 5340, appendix A.3.1; 0 with authentication (RFC 7166, section 4.2)
		return (struct edit_l4){.known = six, .sum_at = 12, .pseudo = true, .zero_is_none = true};
	case TL_IPPROTO_VRRP:
		return (struct edit_l4){.known = true, .sum_at = 6, .pseudo = true, .own_only = !six};
	case TL_IP6_MOBILITY: // RFC 6275, section 6.1.1
		return (struct edit_l4){.known = six, .sum_at = 4, .pseudo = true};
	case TL_IPPROTO_HIP: // RFC 7401, section 5.1.1
		return (struct edit_l4){.known = true, .sum_at = 4, .pseudo = true};
	case TL_IPPROTO_ESP:
	case TL_IP6_AH: // of IPv4; edit_walk() passes that of IPv6
		return (struct edit_l4){.hidden = true};
	default:
		return (struct edit_l4){0};
	}
}

static inline bool is_extension(uint8_t proto)
{
	return proto == TL_IP6_HOP_BY_HOP || proto == TL_IP6_ROUTING || proto == TL_IP6_FRAGMENT ||
	       proto == TL_IP6_DEST_OPTIONS || proto == TL_IP6_AH;
}

// True if destination options have a home address.
static bool has_home(const uint8_t *options, uint32_t len)
{
	for (uint32_t i = 2; i + 1 < len; i += options[i] == OPTION_PAD1 ? 1 : 2u + options[i + 1])
		if (options[i] == OPTION_HOME)
			return true;
	return false;
}

// Skip one extension header. False: truncated.
static bool skip_extension(struct edit_chain *c)
{
	if (c->at.len < 8)
		return false;
	const uint8_t *header = c->at.at;
	uint32_t len = c->next == TL_IP6_FRAGMENT ? 8
		       : c->next == TL_IP6_AH	  ? (header[1] + 2u) * 4
						  : (header[1] + 1u) * 8;
	if (len > c->at.len)
		return false;
	c->routed |= c->next == TL_IP6_ROUTING && header[ROUTING_LEFT] != 0;
	c->homed |= c->next == TL_IP6_DEST_OPTIONS && has_home(header, len);
	c->fragment |= c->next == TL_IP6_FRAGMENT;
	c->later |= c->next == TL_IP6_FRAGMENT && (tl_load_be16(header + 2) & TL_IP6_FRAG_OFFSET) != 0;
	c->next = header[0];
	c->at = edit_skipped(c->at, len);
	return true;
}

bool edit_walk(struct edit_chain *chain)
{
	for (unsigned i = 0; is_extension(chain->next) && !chain->later; i++)
		if (i == EXTENSIONS_MAX || !skip_extension(chain))
			return false;
	return true;
}

uint16_t edit_network(uint8_t *frame, uint32_t len, struct edit_span *out)
{
	struct edit_span at = {frame + TL_ETHER_LEN, len - TL_ETHER_LEN};
	uint16_t type = tl_load_be16(at.at - 2);

	for (unsigned i = 0; i < TAGS_MAX && tl_ethertype_is_tag(type) && at.len >= TL_VLAN_LEN; i++) {
		type = tl_load_be16(at.at + 2);
		at = edit_skipped(at, TL_VLAN_LEN);
	}
	*out = at;
	return type;
}
