// SPDX-License-Identifier: BSD-3-Clause
// Classes of the configuration, as the shaper takes them.

#include "shaping_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

#include "policer.h"

uint64_t shaping_ceil(const struct tl_config_shape *shape, uint32_t cls)
{
	const struct tl_config_class *c = &shape->classes[cls];

	while (c->ceil == 0 && c->rate == 0)
		c = &shape->classes[c->parent];
	return c->ceil != 0 ? c->ceil : c->rate;
}

struct tl_tree_class shaping_tree_class(const struct tl_config_shape *shape, uint32_t cls)
{
	const struct tl_config_class *c = &shape->classes[cls];
	bool leaf = !c->has_classes;

	return (struct tl_tree_class){.name = c->name,
		.parent = c->parent,
		.rate = c->rate,
		.ceil = shaping_ceil(shape, cls),
		.burst = c->burst,
		.cburst = c->cburst,
		.quantum = c->quantum,
		.prio = c->prio,
		.flows = leaf && c->fair != TL_FAIR_NONE ? c->flows : 1,
		.limit_pkts = leaf ? c->limit : 0,
		.limit_bytes = leaf ? c->limit_bytes : 0,
		.limit_ns = leaf ? c->limit_ms * TL_NS_PER_MS : 0,
		.codel_target_ns = leaf && c->drop == TL_CLASS_DROP_CODEL ? c->target_us * TL_NS_PER_US : 0,
		.codel_interval_ns = c->interval_ms * TL_NS_PER_MS};
}

// Describe the weights of a class. Return their number.
static uint32_t classes_weigh(const struct tl_config_class *c, struct tl_shape_weight *out)
{
	for (uint32_t i = 0; i < c->n_weights; i++) {
		const struct tl_config_weight *w = &c->weights[i];
		out[i] = (struct tl_shape_weight){.version = w->version, .bits = w->prefix.bits, .weight = w->weight};
		memcpy(out[i].ip, w->prefix.ip, sizeof(out[i].ip));
	}
	return c->n_weights;
}

static void classes_fill(const struct tl_config_shape *shape, struct shaping_classes *out)
{
	struct tl_shape_weight *weights = out->weights;

	for (uint32_t i = 0; i < shape->n_classes; i++) {
		const struct tl_config_class *c = &shape->classes[i];
		out->of[i] = (struct tl_shape_class){.tree = shaping_tree_class(shape, i),
			.match = c->match,
			.fair = c->fair,
			.weights = weights,
			.n_weights = classes_weigh(c, weights)};
		weights += c->n_weights;
		if (tl_policer_describe(&c->police, shape->overhead_bytes, &out->policers[i]))
			out->of[i].police = &out->policers[i];
	}
}

int shaping_describe(const struct tl_config_shape *shape, struct shaping_classes *out, struct tl_err *err)
{
	uint32_t weights = 1;

	for (uint32_t i = 0; i < shape->n_classes; i++)
		weights += shape->classes[i].n_weights;
	out->of = calloc(shape->n_classes, sizeof(*out->of));
	out->policers = calloc(shape->n_classes, sizeof(*out->policers));
	out->weights = calloc(weights, sizeof(*out->weights));
	if (out->of == NULL || out->policers == NULL || out->weights == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the classes of %s", shape->name);
	classes_fill(shape, out);
	return 0;
}

void shaping_forget(struct shaping_classes *classes)
{
	free(classes->of);
	free(classes->policers);
	free(classes->weights);
}

int shaping_keep(const struct tl_config_shape *shape, const struct shaping_classes *classes, struct shaping_kept *out,
	struct tl_err *err)
{
	uint32_t n = shape->n_classes;

	*out = (struct shaping_kept){.classes = calloc(n, sizeof(*out->classes)),
		.limits = calloc(n, sizeof(*out->limits)),
		.demands = calloc(n, sizeof(*out->demands)),
		.rows = calloc(n, sizeof(*out->rows))};
	if (out->classes == NULL || out->limits == NULL || out->demands == NULL || out->rows == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the classes of %s", shape->name);
	for (uint32_t i = 0; i < n; i++) {
		out->classes[i] = classes->of[i].tree;
		out->limits[i] = UINT64_MAX;
	}
	return 0;
}

void shaping_free(struct shaping_kept *kept)
{
	free(kept->classes);
	free(kept->limits);
	free(kept->demands);
	free(kept->rows);
}
