// SPDX-License-Identifier: BSD-3-Clause
// Classes of a shape that share a rate: as shapes do (shaping_share.c), by the frames of each class.

#include "shaping_priv.h"

#include <tl_err.h>

struct class_members {
	struct tl_share_node node[TL_CONFIG_MEMBERS_MAX + 1]; // the share itself, then its classes
	uint32_t cls[TL_CONFIG_MEMBERS_MAX + 1];
	uint32_t n;
	uint64_t weights;
};

static uint64_t class_demand(struct tl_shaping *s, uint32_t cls, uint64_t elapsed_ns)
{
	struct tl_tree_stats stats;

	tl_shape_sample(s->shape, cls, &stats);
	uint64_t in_bytes = stats.in_bytes - stats.drop_bytes[TL_TREE_DROP_POLICE];
	return tl_share_demand(&s->kept.demands[cls], in_bytes, stats.backlog_bytes, elapsed_ns);
}

static void class_add(struct class_members *m, struct tl_shaping *s, uint32_t cls, uint64_t elapsed_ns)
{
	const struct tl_config_class *c = &s->config->classes[cls];

	m->node[m->n] = (struct tl_share_node){.weight = c->member.weight,
		.tier = c->member.tier,
		.demand = class_demand(s, cls, elapsed_ns),
		.floor = tl_config_member_floor(c),
		.ceil = s->kept.classes[cls].ceil};
	m->weights += c->member.weight;
	m->cls[m->n++] = cls;
}

// Set the limits of all members, if one is to be set.
static void class_set(struct tl_shaping *s, const struct class_members *m, uint64_t rate)
{
	uint64_t before[TL_CONFIG_MEMBERS_MAX + 1];
	struct tl_err err;
	bool changed = false;

	for (uint32_t i = 1; i < m->n; i++) {
		uint32_t cls = m->cls[i];
		uint64_t part = shaping_idle_part(rate, m->node[i].weight, m->weights);
		uint64_t least = tl_max_u64(part, tl_config_member_floor(&s->config->classes[cls]));
		before[i] = s->kept.limits[cls];
		s->kept.limits[cls] = tl_max_u64(m->node[i].share, least);
		changed |= shaping_differs(s->kept.limits[cls], before[i]);
	}
	if (changed && shaping_set(s, s->kept.classes, s->limit, &err) == 0)
		return;
	for (uint32_t i = 1; i < m->n; i++)
		s->kept.limits[m->cls[i]] = before[i];
}

// Return the rate to divide: the given one, at most that of the shape, or what the port takes, whichever classes send
// it.
static uint64_t class_rate(
	struct tl_shaping *s, uint64_t given, struct tl_share_capacity *measured, uint64_t elapsed_ns)
{
	struct tl_share_use use = {0};
	struct tl_tree_load load;

	if (given != 0) // a change may have made it less
		return tl_min_u64(given, s->kept.classes[0].rate);
	tl_shape_load(s->shape, &load);
	shaping_add_use(&use, s, load.sent_bytes);
	tl_share_measure(measured, &use, elapsed_ns);
	return measured->bps;
}

void shaping_share_classes(const struct tl_config *config, uint32_t index, struct tl_shaping *const *shapes,
	struct tl_share_capacity *measured, uint64_t elapsed_ns)
{
	struct class_members m = {.n = 1, .node[0] = {.weight = 1}};
	struct tl_shaping *s = NULL;

	for (uint32_t i = 0; i < config->n_shapes; i++)
		for (uint32_t c = 1; c < config->shapes[i].n_classes; c++) {
			if (config->shapes[i].classes[c].member.weight == 0 || config->shapes[i].class_share != index)
				continue;
			s = shapes[i];
			class_add(&m, s, c, elapsed_ns);
		}
	uint64_t rate = class_rate(s, config->shares[index].rate, measured, elapsed_ns);
	tl_share_limits(m.node, m.n, rate);
	class_set(s, &m, rate);
}
