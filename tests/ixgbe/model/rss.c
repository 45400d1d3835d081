// SPDX-License-Identifier: BSD-3-Clause
// Receive side scaling: 7.1.2.8, with Microsoft's Toeplitz hash and the table of 128 entries (X550: 512).

#include "model.h"

#include <string.h>

enum { FIELD_TCP4 = 16, FIELD_IP4 = 17, FIELD_IP6 = 20, FIELD_TCP6 = 21, FIELD_UDP4 = 22, FIELD_UDP6 = 23 };
// 7.1.6.1
enum { TYPE_TCP4 = 1, TYPE_IP4 = 2, TYPE_TCP6 = 3, TYPE_IP6 = 5, TYPE_UDP4 = 7, TYPE_UDP6 = 8 };

static uint32_t toeplitz(const struct card *card, const uint8_t *input, unsigned bytes)
{
	const uint8_t *key = (const uint8_t *)&card->reg[RSSRK(0) / 4];
	uint32_t window = be32(key), hash = 0;

	for (unsigned i = 0; i < bytes; i++)
		for (int bit = 7; bit >= 0; bit--) {
			if ((input[i] >> bit & 1) != 0)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	return hash;
}

static uint8_t type_of(uint32_t mrqc, const struct headers *h)
{
	static const struct {
		bool v6;
		uint8_t proto, field, type;
	} kinds[] = {{false, 6, FIELD_TCP4, TYPE_TCP4}, {false, 17, FIELD_UDP4, TYPE_UDP4},
		{true, 6, FIELD_TCP6, TYPE_TCP6}, {true, 17, FIELD_UDP6, TYPE_UDP6}, {false, 0, FIELD_IP4, TYPE_IP4},
		{true, 0, FIELD_IP6, TYPE_IP6}};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (h->l3 != 0 && h->v6 == kinds[i].v6 && (kinds[i].proto == 0 || h->l4_proto == kinds[i].proto) &&
			(mrqc >> kinds[i].field & 1) != 0)
			return kinds[i].type;
	return 0;
}

static uint8_t table_entry(const struct card *card, uint32_t hash)
{
	unsigned entries = card->mac == MAC_X550 ? 512 : 128, i = hash & (entries - 1);
	uint32_t offset = i < 128 ? RETA(i / 4) : ERETA((i - 128) / 4);
	uint8_t entry = (uint8_t)(get(card, offset) >> 8 * (i & 3));

	return card->mac == MAC_X550 ? entry & 0x3F : entry & 0x0F;
}

// A frame without a hash goes to queue 0.
void rss_route(const struct card *card, const struct frame *frame, const struct headers *h, struct route *route)
{
	uint32_t mrqc = get(card, MRQC);
	unsigned addresses = h->v6 ? 32 : 8;
	uint8_t input[36];

	if ((mrqc & 0xF) == 0)
		return;
	if ((mrqc & 0xF) != 1)
		model_lacks("MRQC", mrqc);
	route->rss_type = type_of(mrqc, h);
	if (route->rss_type == 0)
		return;
	memcpy(input, frame->data + h->l3 + (h->v6 ? 8 : 12), addresses);
	bool ports = route->rss_type != TYPE_IP4 && route->rss_type != TYPE_IP6;
	if (ports)
		memcpy(input + addresses, frame->data + h->l4, 4);
	route->hash = toeplitz(card, input, addresses + (ports ? 4 : 0));
	route->queue = table_entry(card, route->hash) ^ has_flaw(card, "rss");
}
