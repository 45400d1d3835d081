// SPDX-License-Identifier: BSD-3-Clause
// The flow director with perfect filters over IPv4 (7.1.2.7). Signature filters, MAC-VLAN and tunnels are not modelled.

#include "model.h"

enum { COMMAND_ADD = 1, COMMAND_REMOVE = 2, COMMAND_QUERY = 3 };
#define CMD_FOUND 0x4u // 8.2.3.21.16: result of a query
#define CMD_DROP 0x200u

// The software index of FDIRHASH identifies a perfect filter.
static struct fdir_filter *find(struct card *card, uint16_t index)
{
	for (unsigned i = 0; i < FDIR_FILTERS; i++)
		if (card->fdir[i].used && card->fdir[i].index == index)
			return &card->fdir[i];
	return NULL;
}

static void add(struct card *card, uint16_t index, uint32_t command)
{
	struct fdir_filter *filter = find(card, index);

	for (unsigned i = 0; i < FDIR_FILTERS && filter == NULL; i++)
		if (!card->fdir[i].used)
			filter = &card->fdir[i];
	if (filter == NULL)
		model_lacks("room for flow director filters", index);
	*filter = (struct fdir_filter){.used = true,
		.drop = (command & CMD_DROP) != 0,
		.queue = command >> 16 & 0x7F,
		.l4_type = command >> 5 & 3,
		.src = get(card, FDIRIPSA),
		.dst = get(card, FDIRIPDA),
		.ports = get(card, FDIRPORT),
		.vlan = (uint16_t)get(card, FDIRVLAN),
		.flex = (uint16_t)(get(card, FDIRVLAN) >> 16),
		.index = index,
		.hash = (uint16_t)(get(card, FDIRHASH) & 0x7FFF)};
}

static void write_command(struct card *card, uint32_t offset, uint32_t value)
{
	uint16_t index = (uint16_t)(get(card, FDIRHASH) >> 16 & 0x7FFF);
	struct fdir_filter *filter = find(card, index);

	switch (value & 3) {
	case COMMAND_ADD:
		add(card, index, value);
		break;
	case COMMAND_REMOVE:
		if (filter != NULL)
			filter->used = false;
		break;
	case COMMAND_QUERY:
		value = filter != NULL ? value | CMD_FOUND : value & ~CMD_FOUND;
		break;
	}
	set(card, offset, value & ~3u);
}

static uint32_t read_control(struct card *card, uint32_t offset)
{
	return get(card, offset) | FDIRCTRL_INIT_DONE;
}

// A set bit in FDIRSIP4M, FDIRDIP4M or the port masks excludes that bit of the field from the comparison.
static bool matches(struct card *card, const struct fdir_filter *f, const struct frame *frame, const struct headers *h)
{
	static const uint8_t types[] = {0, 17, 6, 132};
	const uint8_t *ip = frame->data + h->l3, *l4 = frame->data + h->l4;
	uint32_t ignored = get(card, f->l4_type == 1 ? FDIRUDPM : FDIRTCPM);
	uint32_t ports = h->l4 != 0 ? (uint32_t)be16(l4 + 2) << 16 | be16(l4) : 0;
	uint32_t src = be32((const uint8_t *)&f->src), dst = be32((const uint8_t *)&f->dst);
	bool any_l4 = (get(card, FDIRM) & 0x8) != 0;

	// The address masks are big-endian in the register, as the addresses are, and 1 means "ignore".
	uint32_t ignored_src = __builtin_bswap32(get(card, FDIRSIP4M));
	uint32_t ignored_dst = __builtin_bswap32(get(card, FDIRDIP4M));
	if (((src ^ be32(ip + 12)) & ~ignored_src) != 0 || ((dst ^ be32(ip + 16)) & ~ignored_dst) != 0)
		return false;
	if (!any_l4 && types[f->l4_type] != h->l4_proto)
		return false;
	return any_l4 || ((ports ^ f->ports) & ~ignored) == 0;
}

// Report the filter in place of the RSS hash (7.1.6.2): type 15, software index and hash. FDIRCTRL.Report-Status
// enables that, with RXCSUM.PCSD.
static void report(const struct card *card, const struct fdir_filter *filter, struct route *route)
{
	if ((get(card, FDIRCTRL) & FDIRCTRL_REPORT) == 0 || (get(card, RXCSUM) & RXCSUM_PCSD) == 0)
		return;
	route->rss_type = 0xF;
	route->hash = (uint32_t)filter->index << 16 | filter->hash;
}

bool fdir_route(struct card *card, const struct frame *frame, const struct headers *h, struct route *route)
{
	if ((get(card, FDIRCTRL) & 3) == 0 || h->l3 == 0 || h->v6 || h->fragment)
		return false;
	if ((get(card, FDIRCTRL) & FDIRCTRL_PERFECT) == 0)
		model_lacks("FDIRCTRL", get(card, FDIRCTRL));
	for (unsigned i = 0; i < FDIR_FILTERS; i++) {
		const struct fdir_filter *filter = &card->fdir[i];
		if (!filter->used || !matches(card, filter, frame, h))
			continue;
		count(card, FDIRMATCH, 1);
		route->fdir_match = true;
		report(card, filter, route);
		route->drop = filter->drop;
		route->queue = filter->queue;
		return true;
	}
	count(card, FDIRMISS, 1);
	return false;
}

const struct row fdir_rows[] = {{FDIRCTRL, 1, 4, read_control, NULL}, {FDIRCMD, 1, 4, NULL, write_command}, {0}};
