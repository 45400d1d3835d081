// SPDX-License-Identifier: BSD-3-Clause
// The field of a frame that a table of expressions compares. Its offset is fixed, as in the expressions: behind a VLAN
// tag there is no address.

#include "shape_priv.h"

#include <string.h>

#include <rte_mbuf.h>

#include <tl_wire.h>

#define RARP 0x8035
#define QINQ_OLD 0x9100

// Places of addresses in a frame.
struct index_place {
	uint8_t version, len;
	uint8_t off[2]; // of source and destination; of ARP and RARP the protocol addresses of sender and target
};

static const struct index_place index_ip4 = {4, 4, {26, 30}}, index_ip6 = {6, 16, {22, 38}},
				index_arp = {4, 4, {28, 38}};

static inline const struct index_place *index_place_of(uint16_t type)
{
	switch (type) {
	case TL_ETHERTYPE_IPV4:
		return &index_ip4;
	case TL_ETHERTYPE_IPV6:
		return &index_ip6;
	case TL_ETHERTYPE_ARP:
	case RARP:
		return &index_arp;
	default:
		return NULL;
	}
}

static inline bool index_read_host(const uint8_t *frame, uint32_t len, bool dst, struct shape_value *out)
{
	const struct index_place *place = index_place_of(tl_be16(*(const uint16_t *)(const void *)(frame + 12)));

	if (place == NULL || len < (uint32_t)place->off[dst] + place->len)
		return false;
	*out = (struct shape_value){.version = place->version};
	memcpy(out->words, frame + place->off[dst], place->len);
	return true;
}

static inline bool index_read_vlan(const uint8_t *frame, uint32_t len, struct shape_value *out)
{
	uint16_t type = tl_be16(*(const uint16_t *)(const void *)(frame + 12));
	uint16_t tag;

	if (len < TL_ETHER_LEN + 2 || (type != TL_ETHERTYPE_VLAN && type != TL_ETHERTYPE_QINQ && type != QINQ_OLD))
		return false;
	memcpy(&tag, frame + TL_ETHER_LEN, sizeof(tag));
	*out = (struct shape_value){.words = {tl_be16(tag) & TL_VLAN_ID}};
	return true;
}

const struct shape_rule *shape_index_find(
	const struct shape_set *s, const struct shape_index *index, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct shape_value value;

	if (m->data_len < TL_ETHER_LEN)
		return NULL;
	bool found = index->field == SHAPE_VLAN
			     ? index_read_vlan(frame, m->data_len, &value)
			     : index_read_host(frame, m->data_len, index->field == SHAPE_DST_HOST, &value);
	if (!found)
		return NULL;
	const struct shape_slot *slot = shape_index_slot((struct shape_index *)(uintptr_t)index, &value);
	return slot->rule != SHAPE_FREE ? &s->rules[slot->rule - 1] : NULL;
}
