// SPDX-License-Identifier: BSD-3-Clause
// Division of one resource among users, with its capacity given or measured.

#include <tl_share_group.h>

#include <tl_base.h>

#define GROWTH 16	  // an estimate grows by this part of it in an interval in which nobody waits
#define NEW_PART 4	  // part of a new measurement in the estimate
#define BUSY_PARTS 3 / 4u // of an interval: a user that waited for longer had the resource busy

static uint64_t group_rate(uint64_t bytes, uint64_t elapsed_ns)
{
	unsigned __int128 rate = (unsigned __int128)bytes * 8 * TL_NS_PER_S / elapsed_ns;

	return rate < TL_SHARE_MAX ? (uint64_t)rate : TL_SHARE_MAX;
}

// Totals are sampled while they change: a smaller one than before has not grown.
static uint64_t group_growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void tl_share_measure(struct tl_share_capacity *c, const struct tl_share_use *use, uint64_t elapsed_ns)
{
	bool busy = use->busy_ns >= elapsed_ns * BUSY_PARTS;

	c->busy_ns = busy ? c->busy_ns + elapsed_ns : 0;
	if (busy && use->done_bytes == 0)
		return;
	if (!busy)
		c->bps = tl_min_u64(c->bps + c->bps / GROWTH + 1, TL_SHARE_MAX);
	else if (c->bps == TL_SHARE_MAX)
		c->bps = group_rate(use->done_bytes, c->busy_ns);
	else
		c->bps = c->bps - c->bps / NEW_PART + group_rate(use->done_bytes, c->busy_ns) / NEW_PART;
	c->busy_ns = 0;
}

static struct tl_share_use group_use(const struct tl_share_group *g)
{
	struct tl_share_use use = {0};

	for (uint32_t i = 0; i < g->n; i++) {
		const struct tl_share_member *m = &g->members[i];
		use.done_bytes += group_growth(m->load.done_bytes, m->last.done_bytes);
		use.busy_ns = tl_max_u64(use.busy_ns, group_growth(m->load.busy_ns, m->last.busy_ns));
	}
	return use;
}

uint64_t tl_share_demand(struct tl_share_demand *last, uint64_t in_bytes, uint64_t backlog_bytes, uint64_t elapsed_ns)
{
	uint64_t rate = group_rate(group_growth(in_bytes, last->in_bytes) + backlog_bytes, elapsed_ns);
	bool begins = backlog_bytes != 0 && rate / 2 > last->bps;

	*last = (struct tl_share_demand){.in_bytes = in_bytes, .bps = rate};
	return begins ? TL_SHARE_MAX : rate;
}

void tl_share_group_init(struct tl_share_group *group, uint64_t given)
{
	*group = (struct tl_share_group){.given = given, .measured = {.bps = TL_SHARE_MAX}};
}

void tl_share_group_divide(struct tl_share_group *g, uint64_t elapsed_ns)
{
	struct tl_share_node nodes[TL_SHARE_MEMBERS_MAX + 1] = {{.weight = 1}};

	for (uint32_t i = 0; i < g->n; i++) {
		struct tl_share_member *m = &g->members[i];
		nodes[i + 1] = (struct tl_share_node){.weight = m->weight,
			.tier = m->tier,
			.floor = m->floor,
			.ceil = m->ceil,
			.demand = tl_share_demand(&m->demand, m->load.in_bytes, m->load.backlog_bytes, elapsed_ns)};
	}
	struct tl_share_use use = group_use(g);
	tl_share_measure(&g->measured, &use, elapsed_ns);
	uint64_t capacity = g->given != 0 ? g->given : g->measured.bps;
	tl_share_limits(nodes, g->n + 1, capacity);
	for (uint32_t i = 0; i < g->n; i++) {
		g->members[i].limit = capacity < TL_SHARE_MAX ? nodes[i + 1].share : TL_SHARE_MAX;
		g->members[i].last = g->members[i].load;
	}
}
