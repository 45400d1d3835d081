// SPDX-License-Identifier: BSD-3-Clause
// Records without their outer headers.

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_encap.h>

#define ADDRS_LEN (2 * TL_ETHER_ADDR_LEN)
#define ETHERTYPE_LEN 2u

// Copy an Ethernet frame of cap_bytes without its tags into extract->peeled.
static int drop_tags(struct extract *extract, const uint8_t *frame, const struct tl_encap *encap)
{
	const uint8_t *rest = frame + encap->network_off - ETHERTYPE_LEN;
	uint32_t rest_bytes = encap->end - encap->network_off + ETHERTYPE_LEN;
	uint8_t *to = realloc(extract->peeled, ADDRS_LEN + rest_bytes);

	if (to == NULL)
		return -ENOMEM;
	extract->peeled = to;
	memcpy(to, frame + encap->off, ADDRS_LEN);
	memcpy(to + ADDRS_LEN, rest, rest_bytes);
	return 0;
}

// Lengths on the wire and captured shrink by what is before the innermost frame or packet and its tags; what the outer
// headers put behind it is removed too, if the frame is whole.
int extract_decap(struct extract *extract, uint16_t linktype, struct extract_record *record)
{
	struct tl_pcapng_packet *packet = &record->packet;
	enum tl_link link = tl_link_of(linktype);
	struct tl_encap encap;

	if (link == TL_LINKS)
		return 0;
	tl_encap_parse_link(link, packet->data, packet->cap_bytes, &encap);
	if (encap.tunnels == 0 && encap.tags == 0)
		return 0;
	uint32_t before = encap.off + encap.tags * TL_VLAN_LEN;
	bool whole = packet->cap_bytes >= packet->wire_bytes;
	int rc = encap.tags != 0 ? drop_tags(extract, packet->data, &encap) : 0;
	packet->data = encap.tags != 0 ? extract->peeled : packet->data + encap.off;
	packet->cap_bytes = encap.end - before;
	packet->wire_bytes = whole ? packet->cap_bytes : packet->wire_bytes - before;
	record->form = encap.ethernet ? EXTRACT_ETHERNET : EXTRACT_RAW;
	extract->stats->records_peeled++;
	return rc;
}
