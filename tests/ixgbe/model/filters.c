// SPDX-License-Identifier: BSD-3-Clause
// Filters that select a queue before the flow director and RSS (7.1.2.2, in this order): ethertype 7.1.2.3, SYN
// 7.1.2.6, 5-tuple 7.1.2.5.

#include "model.h"

#define FTQF_ENABLE 0x80000000u
#define FTQF_MASK_SHIFT 25 // a set bit excludes the field
#define TUPLES 128

enum { TCP = 6 };

static bool by_ethertype(const struct card *card, const struct headers *h, struct route *route)
{
	for (unsigned i = 0; i < 8; i++) {
		uint32_t filter = get(card, ETQF(i)), action = get(card, ETQS(i));
		if ((filter & ETQF_ENABLE) == 0 || (filter & 0xFFFF) != h->ethertype || h->l3 != 0)
			continue;
		route->is_1588 |= (filter & ETQF_1588) != 0;
		if ((action & ETQS_ENABLE) == 0)
			continue;
		route->queue = action >> 16 & 0x7F;
		return true;
	}
	return false;
}

static bool by_syn(const struct card *card, const struct frame *frame, const struct headers *h, struct route *route)
{
	uint32_t filter = get(card, SYNQF);

	if ((filter & 1) == 0 || h->l4_proto != TCP || (frame->data[h->l4 + 13] & 0x12) != 0x02)
		return false;
	route->queue = filter >> 1 & 0x7F;
	return true;
}

static bool matches(const struct card *card, unsigned i, const struct frame *frame, const struct headers *h)
{
	static const uint8_t protocols[] = {6, 17, 132};
	const uint8_t *ip = frame->data + h->l3, *l4 = frame->data + h->l4;
	uint32_t rule = get(card, FTQF(i)), ignored = rule >> FTQF_MASK_SHIFT & 0x1F;
	uint32_t ports = get(card, SDPQF(i)); // in network order, source first
	const uint8_t *wanted = (const uint8_t *)&ports;
	const uint8_t *src = (const uint8_t *)&card->reg[SAQF(i) / 4], *dst = (const uint8_t *)&card->reg[DAQF(i) / 4];
	bool has_ports = h->l4 != 0;

	return ((ignored & 1) != 0 || be32(src) == be32(ip + 12)) &&
	       ((ignored & 2) != 0 || be32(dst) == be32(ip + 16)) &&
	       ((ignored & 4) != 0 || (has_ports && be16(wanted) == be16(l4))) &&
	       ((ignored & 8) != 0 || (has_ports && be16(wanted + 2) == be16(l4 + 2))) &&
	       ((ignored & 16) != 0 || ((rule & 3) != 3 && ip[9] == protocols[rule & 3]));
}

// Route a frame by the matching filter of the highest priority, the first one among equals.
static bool by_tuple(const struct card *card, const struct frame *frame, const struct headers *h, struct route *route)
{
	uint32_t best = 0;

	if (h->l3 == 0 || h->v6)
		return false;
	for (unsigned i = 0; i < TUPLES; i++) {
		uint32_t rule = get(card, FTQF(i)), priority = 1 + (rule >> 2 & 7);
		if ((rule & FTQF_ENABLE) == 0 || priority <= best || !matches(card, i, frame, h))
			continue;
		best = priority;
		route->queue = get(card, L34TIMIR(i)) >> 21 & 0x7F;
	}
	return best != 0;
}

// SYNQF.SYNQFP selects whether SYN or 5-tuple filters have priority.
bool filters_route(const struct card *card, const struct frame *frame, const struct headers *h, struct route *route)
{
	bool syn_first = (get(card, SYNQF) & 0x80000000u) != 0;

	if (by_ethertype(card, h, route))
		return true;
	if (syn_first && by_syn(card, frame, h, route))
		return true;
	return by_tuple(card, frame, h, route) || by_syn(card, frame, h, route);
}
