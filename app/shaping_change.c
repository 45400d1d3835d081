// SPDX-License-Identifier: BSD-3-Clause
// New rates for the classes of a running appliance.

#include "shaping_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

static bool change_is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// Return the first key of a class that differs and cannot change; NULL: none.
static const char *change_in_class(const struct tl_config_class *a, const struct tl_config_class *b)
{
	const struct {
		const char *key;
		bool same;
	} keys[] = {
		{"name", strcmp(a->name, b->name) == 0},
		{"classes", a->parent == b->parent && a->has_classes == b->has_classes},
		{"match", change_is_same_text(a->match, b->match)},
		{"default", a->is_default == b->is_default},
		{"fair", a->fair == b->fair},
		{"flows", a->flows == b->flows},
		{"weights", tl_config_same_weights(a, b)},
		{"limit", a->limit == b->limit},
		{"limit_bytes", a->limit_bytes == b->limit_bytes},
		{"limit_ms", a->limit_ms == b->limit_ms},
		{"drop", a->drop == b->drop},
		{"target_us", a->target_us == b->target_us},
		{"interval_ms", a->interval_ms == b->interval_ms},
		{"police", tl_config_same_policer(&a->police, &b->police)},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++)
		if (!keys[i].same)
			return keys[i].key;
	return NULL;
}

static int change_check(const struct tl_config_shape *now, const struct tl_config_shape *next, struct tl_err *err)
{
	static const char only[] =
		"only rate, ceil, burst, cburst, quantum and prio can change at run time; restart for other changes";

	if (strcmp(now->name, next->name) != 0 || now->port != next->port || now->queue != next->queue ||
		now->overhead_bytes != next->overhead_bytes)
		return tl_fail(err, -EINVAL, "name, port, queue or overhead differ: %s", only);
	if (now->share != next->share || now->tier != next->tier || now->weight != next->weight ||
		now->floor != next->floor)
		return tl_fail(err, -EINVAL, "share, tier, weight or floor differ: %s", only);
	if (now->share != TL_CONFIG_NO_SHARE && tl_config_shape_floor(next) > tl_config_shape_floor(now))
		return tl_fail(err, -EINVAL,
			"the rates of its classes add up to more than its floor in the share: restart for that");
	for (uint32_t i = 1; i < now->n_classes && i < next->n_classes; i++) {
		if (now->classes[i].member.weight != 0 &&
			next->classes[i].rate > tl_config_member_floor(&now->classes[i]))
			return tl_fail(err, -EINVAL,
				"class %s: its rate is more than its floor in the share: restart for that",
				next->classes[i].name);
		const char *key = change_in_class(&now->classes[i], &next->classes[i]);
		if (key != NULL)
			return tl_fail(err, -EINVAL, "class %s: \"%s\" differs from that of class %s: %s",
				next->classes[i].name, key, now->classes[i].name, only);
	}
	if (now->n_classes != next->n_classes)
		return tl_fail(
			err, -EINVAL, "%u classes instead of %u: %s", next->n_classes - 1, now->n_classes - 1, only);
	return 0;
}

static int change_rates(struct tl_shaping *s, const struct tl_config_shape *next, struct tl_err *err)
{
	struct tl_tree_class *classes = calloc(next->n_classes, sizeof(*classes));

	if (classes == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < next->n_classes; i++)
		classes[i] = shaping_tree_class(next, i);
	int rc = shaping_set(s, classes, s->limit, err);
	free(classes);
	return rc;
}

int tl_shaping_change(
	const struct tl_config *config, uint32_t index, struct tl_shaping *s, const json_t *entry, struct tl_err *err)
{
	struct tl_config_shape *next = calloc(1, sizeof(*next));

	if (next == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	int rc = tl_config_load_shape(config, index, entry, next, err);
	if (rc == 0) {
		rc = change_check(s->config, next, err);
		if (rc == 0)
			rc = change_rates(s, next, err);
		tl_config_free_shape(next);
	}
	free(next);
	return rc;
}
