// SPDX-License-Identifier: BSD-3-Clause
// Shapes that share a rate: weighted max-min fairness by their demands (tl_share.h), every 100 ms.

#include "shaping_priv.h"

#include <tl_err.h>
#include <tl_share_group.h>

#define IDLE_PART 16 // part of its weight that an idle shape keeps, for the frames that show its demand

struct share_members {
	struct tl_share_node node[TL_CONFIG_SHAPES_MAX + 1]; // the share itself, then its shapes
	struct tl_shaping *shape[TL_CONFIG_SHAPES_MAX + 1];
	uint32_t n;
	uint64_t weights;
	struct tl_share_use use; // of the port since the last division
};

void shaping_add_use(struct tl_share_use *use, struct tl_shaping *s, uint64_t sent_bytes)
{
	uint64_t busy_ns = tl_shape_busy_ns(s->shape);

	use->done_bytes += sent_bytes - s->sent_bytes;
	use->busy_ns = tl_max_u64(use->busy_ns, busy_ns - s->busy_ns);
	s->sent_bytes = sent_bytes;
	s->busy_ns = busy_ns;
}

uint64_t shaping_idle_part(uint64_t rate, uint64_t weight, uint64_t weights)
{
	return tl_max_u64(rate / IDLE_PART * weight / weights, 1);
}

bool shaping_differs(uint64_t limit, uint64_t before)
{
	return limit < before || limit - before > before / 64;
}

static uint64_t share_demand(struct tl_shaping *s, struct tl_share_use *use, uint64_t elapsed_ns)
{
	struct tl_tree_load load;

	tl_shape_load(s->shape, &load);
	shaping_add_use(use, s, load.sent_bytes);
	return tl_share_demand(&s->demand, load.in_bytes, load.backlog_bytes, elapsed_ns);
}

static void share_add(struct share_members *m, struct tl_shaping *s, uint64_t elapsed_ns)
{
	m->node[m->n] = (struct tl_share_node){.weight = s->config->weight,
		.tier = s->config->tier,
		.demand = share_demand(s, &m->use, elapsed_ns),
		.floor = tl_config_shape_floor(s->config),
		.ceil = s->kept.classes[0].rate};
	m->weights += s->config->weight;
	m->shape[m->n++] = s;
}

// Return the least limit of a shape: its demand shows only in frames that arrive, and these leave at once up to here.
static uint64_t share_least(const struct share_members *m, const struct tl_shaping *s, uint64_t rate)
{
	uint64_t part = shaping_idle_part(rate, s->config->weight, m->weights);

	return tl_max_u64(part, tl_config_shape_floor(s->config));
}

// Set the limit if it differs. If it cannot be set yet, the next division sets it.
static void share_set(struct tl_shaping *s, uint64_t limit)
{
	struct tl_err err;

	if (shaping_differs(limit, s->limit))
		(void)shaping_set(s, s->kept.classes, limit, &err);
}

static void share_divide(const struct tl_config *config, uint32_t index, struct tl_shaping *const *shapes,
	struct tl_share_capacity *measured, uint64_t elapsed_ns)
{
	struct share_members m = {.n = 1};

	m.node[0] = (struct tl_share_node){.weight = 1};
	for (uint32_t i = 0; i < config->n_shapes; i++)
		if (config->shapes[i].share == index)
			share_add(&m, shapes[i], elapsed_ns);
	tl_share_measure(measured, &m.use, elapsed_ns);
	uint64_t rate = config->shares[index].rate != 0 ? config->shares[index].rate : measured->bps;
	tl_share_limits(m.node, m.n, rate);
	for (uint32_t i = 1; i < m.n; i++)
		share_set(m.shape[i], tl_max_u64(m.node[i].share, share_least(&m, m.shape[i], rate)));
}

void tl_shaping_share_init(struct tl_shaping_shares *shares)
{
	*shares = (struct tl_shaping_shares){.done_ns = 0};
	for (uint32_t i = 0; i < TL_CONFIG_SHARES_MAX; i++)
		shares->measured[i].bps = TL_SHARE_MAX;
}

void tl_shaping_share(const struct tl_config *config, struct tl_shaping *const *shapes,
	struct tl_shaping_shares *shares, uint64_t now_ns)
{
	if (now_ns - shares->done_ns < TL_SHAPING_SHARE_NS)
		return;
	for (uint32_t i = 0; i < config->n_shares; i++)
		if (config->shares[i].n_classes != 0)
			shaping_share_classes(config, i, shapes, &shares->measured[i], now_ns - shares->done_ns);
		else
			share_divide(config, i, shapes, &shares->measured[i], now_ns - shares->done_ns);
	shares->done_ns = now_ns;
}
