// SPDX-License-Identifier: BSD-3-Clause
// Other classes for a running shape.

#include "shaping_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_err.h>

// Limit the described classes as those in force, and have the lcore take them.
static int replace_set(struct tl_shaping *s, const struct tl_config_shape *next, struct shaping_classes *described,
	const struct shaping_kept *kept, const uint32_t *to, struct tl_err *err)
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
		clamped[i] = kept->classes[i];
	shaping_clamp(clamped, next->n_classes, kept->limits, s->limit);
	for (uint32_t i = 0; i < next->n_classes; i++)
		described->of[i].tree = clamped[i];
	free(clamped);
	return tl_shape_set_classes(s->shape, &cfg, to, err);
}

static void replace_config(struct tl_shaping *s, struct tl_config_shape *next, const struct shaping_kept *kept)
{
	next->mtu = s->config->mtu;
	if (s->own != NULL)
		tl_config_free_shape(s->own);
	free(s->own);
	shaping_free(&s->kept);
	s->own = next;
	s->config = next;
	s->kept = *kept;
}

int shaping_replace(struct tl_shaping *s, struct tl_config_shape *next, const uint32_t *to, struct tl_err *err)
{
	struct shaping_kept kept = {.classes = NULL};
	struct shaping_classes described;
	int rc = shaping_describe(next, &described, err);

	if (rc == 0)
		rc = shaping_keep(next, &described, &kept, err);
	if (rc == 0)
		rc = replace_set(s, next, &described, &kept, to, err);
	shaping_forget(&described);
	if (rc == 0)
		replace_config(s, next, &kept);
	else
		shaping_free(&kept);
	return rc;
}
