// SPDX-License-Identifier: BSD-3-Clause
// Division of one resource among users, with its capacity given or measured.

#include <tl_share_group.h>

#include <tl_base.h>

#define GROWTH 16	  // an estimate grows by this part of it in an interval in which nobody waits
#define NEW_PART 4	  // part of a new measurement in the estimate
#define BUSY_PARTS 7 / 8u // of an interval: a user that waited for longer had the resource busy

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

static void group_measure(struct tl_share_group *g, uint64_t elapsed_ns)
{
	uint64_t done = 0;
	bool busy = false;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct tl_share_member *m = &g->members[i];
		done += group_growth(m->load.done_bytes, m->last.done_bytes);
		busy |= group_growth(m->load.busy_ns, m->last.busy_ns) >= elapsed_ns * BUSY_PARTS;
	}
	g->busy_ns += elapsed_ns;
	if (busy && done == 0)
		return;
	uint64_t rate = group_rate(done, g->busy_ns);
	if (!busy)
		g->measured = tl_min_u64(g->measured + g->measured / GROWTH + 1, TL_SHARE_MAX);
	else if (g->measured == TL_SHARE_MAX)
		g->measured = rate;
	else
		g->measured = g->measured - g->measured / NEW_PART + rate / NEW_PART;
	g->busy_ns = 0;
}

// Return the rate that does within an interval what waits, and what arrives if it continues as in the last one.
static uint64_t group_demand(const struct tl_share_member *m, uint64_t elapsed_ns)
{
	return group_rate(group_growth(m->load.in_bytes, m->last.in_bytes) + m->load.backlog_bytes, elapsed_ns);
}

void tl_share_group_init(struct tl_share_group *group, uint64_t given)
{
	*group = (struct tl_share_group){.given = given, .measured = TL_SHARE_MAX};
}

void tl_share_group_divide(struct tl_share_group *g, uint64_t elapsed_ns)
{
	struct tl_share_node nodes[TL_SHARE_MEMBERS_MAX + 1] = {{.weight = 1}};

	for (uint32_t i = 0; i < g->n; i++)
		nodes[i + 1] = (struct tl_share_node){.weight = g->members[i].weight,
			.tier = g->members[i].tier,
			.floor = g->members[i].floor,
			.ceil = g->members[i].ceil,
			.demand = group_demand(&g->members[i], elapsed_ns)};
	group_measure(g, elapsed_ns);
	uint64_t capacity = g->given != 0 ? g->given : g->measured;
	tl_share_limits(nodes, g->n + 1, capacity);
	for (uint32_t i = 0; i < g->n; i++) {
		g->members[i].limit = capacity < TL_SHARE_MAX ? nodes[i + 1].share : TL_SHARE_MAX;
		g->members[i].last = g->members[i].load;
	}
}
