// SPDX-License-Identifier: BSD-3-Clause
// Weights of hosts in a fair class.

#include "shape_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

static struct shape_prefix weights_prefix(const struct tl_shape_weight *w)
{
	struct shape_prefix prefix = {.is_ip6 = w->version == 6, .weight = w->weight};
	uint8_t mask[16] = {0};

	for (unsigned i = 0; i < w->bits; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
	memcpy(prefix.mask, mask, sizeof(mask));
	memcpy(prefix.ip, w->ip, prefix.is_ip6 ? 16 : 4);
	return prefix;
}

static int weights_compare(const void *a, const void *b)
{
	const struct tl_shape_weight *left = a, *right = b;

	return (int)right->bits - (int)left->bits;
}

static int weights_add(struct shape_set *s, uint32_t index, const struct tl_shape_class *c)
{
	struct tl_shape_weight sorted[TL_SHAPE_WEIGHTS_MAX];
	struct shape_weights *weights = calloc(1, sizeof(*weights));

	if (weights == NULL)
		return -ENOMEM;
	memcpy(sorted, c->weights, c->n_weights * sizeof(sorted[0]));
	qsort(sorted, c->n_weights, sizeof(sorted[0]), weights_compare);
	for (; weights->n < c->n_weights; weights->n++)
		weights->of[weights->n] = weights_prefix(&sorted[weights->n]);
	s->weights[index] = weights;
	s->work[index] |= SHAPE_WEIGHTED;
	return 0;
}

int shape_add_weights(struct shape_set *s, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < cfg->n_classes && rc == 0; i++) {
		if (cfg->classes[i].n_weights == 0)
			continue;
		if (s->weights == NULL)
			s->weights = calloc(cfg->n_classes, sizeof(s->weights[0]));
		rc = s->weights != NULL ? weights_add(s, i, &cfg->classes[i]) : -ENOMEM;
	}
	return rc == 0 ? 0 : tl_fail(err, rc, "no memory for the weights of %u classes", cfg->n_classes);
}

void shape_free_weights(struct shape_set *s)
{
	for (uint32_t i = 0; s->weights != NULL && i < s->n_classes; i++)
		free(s->weights[i]);
	free(s->weights);
}
