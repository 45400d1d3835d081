// SPDX-License-Identifier: BSD-3-Clause
// Other classes for a running shape.

#include "shaping_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

// Limit the described classes as those in force, and have the lcore take them. classes: without the limit.
static int replace_set(struct tl_shaping *s, const struct tl_config_shape *next, struct shaping_classes *described,
	const uint32_t *to, struct tl_tree_class *classes, struct tl_err *err)
{
	struct tl_shape_cfg cfg = {.classes = described->of,
		.n_classes = next->n_classes,
		.fallback = next->fallback,
		.mtu = s->config->mtu,
		.overhead_bytes = s->config->overhead_bytes};
	struct tl_tree_class *clamped = calloc(next->n_classes, sizeof(*clamped));

	if (clamped == NULL)
		return tl_fail(err, -ENOMEM, "no memory for %u classes", next->n_classes);
	for (uint32_t i = 0; i < next->n_classes; i++)
		clamped[i] = classes[i] = described->of[i].tree;
	shaping_clamp(s, clamped, next->n_classes, s->limit);
	for (uint32_t i = 0; i < next->n_classes; i++)
		described->of[i].tree = clamped[i];
	free(clamped);
	return tl_shape_set_classes(s->shape, &cfg, to, err);
}

static void replace_config(struct tl_shaping *s, struct tl_config_shape *next, struct tl_tree_class *classes)
{
	next->mtu = s->config->mtu;
	if (s->own != NULL)
		tl_config_free_shape(s->own);
	free(s->own);
	free(s->classes);
	s->own = next;
	s->config = next;
	s->classes = classes;
	memset(s->class_in_bytes, 0, sizeof(s->class_in_bytes));
}

int shaping_replace(struct tl_shaping *s, struct tl_config_shape *next, const uint32_t *to, struct tl_err *err)
{
	struct tl_tree_class *classes = calloc(next->n_classes, sizeof(*classes));
	struct shaping_classes described;
	int rc = shaping_describe(next, &described, err);

	if (rc == 0 && classes == NULL)
		rc = tl_fail(err, -ENOMEM, "no memory for %u classes", next->n_classes);
	if (rc == 0)
		rc = replace_set(s, next, &described, to, classes, err);
	shaping_forget(&described);
	if (rc == 0)
		replace_config(s, next, classes);
	else
		free(classes);
	return rc;
}
