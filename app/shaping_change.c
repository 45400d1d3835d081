// SPDX-License-Identifier: BSD-3-Clause
// New rates for the classes of a running appliance, or other classes.

#include "shaping_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

static bool change_is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// Return the key of a class that differs and cannot change; NULL: none.
static const char *change_forbidden(const struct tl_config_shape *now, const struct tl_config_class *a,
	const struct tl_config_shape *next, const struct tl_config_class *b)
{
	if (strcmp(now->classes[a->parent].name, next->classes[b->parent].name) != 0 ||
		a->has_classes != b->has_classes)
		return "classes";
	return tl_config_same_policer(&a->police, &b->police) ? NULL : "police";
}

// True if no key beside those of rates differs.
static bool change_is_of_rates(const struct tl_config_class *a, const struct tl_config_class *b)
{
	return change_is_same_text(a->match, b->match) && a->is_default == b->is_default && a->fair == b->fair &&
	       a->flows == b->flows && tl_config_same_weights(a, b) && a->limit == b->limit &&
	       a->limit_bytes == b->limit_bytes && a->limit_ms == b->limit_ms && a->drop == b->drop &&
	       a->target_us == b->target_us && a->interval_ms == b->interval_ms;
}

static int change_check_shape(const struct tl_config_shape *now, const struct tl_config_shape *next, struct tl_err *err)
{
	if (strcmp(now->name, next->name) != 0 || now->port != next->port || now->queue != next->queue ||
		now->overhead_bytes != next->overhead_bytes)
		return tl_fail(err, -EINVAL, "name, port, queue or overhead differ: restart for that");
	if (now->share != next->share || now->tier != next->tier || now->weight != next->weight ||
		now->floor != next->floor)
		return tl_fail(err, -EINVAL, "share, tier, weight or floor differ: restart for that");
	if (now->share != TL_CONFIG_NO_SHARE && tl_config_shape_floor(next) > tl_config_shape_floor(now))
		return tl_fail(err, -EINVAL,
			"the rates of its classes add up to more than its floor in the share: restart for that");
	return 0;
}

// Find the class of the same name for each class; TL_TREE_REMOVED: none.
static int change_find(
	const struct tl_config_shape *now, const struct tl_config_shape *next, uint32_t *to, struct tl_err *err)
{
	json_t *places = json_object();
	int rc = 0;

	for (uint32_t i = 0; i < next->n_classes && rc == 0; i++)
		if (json_object_set_new(places, next->classes[i].name, json_integer(i)) != 0)
			rc = tl_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < now->n_classes; i++) {
		const json_t *place = json_object_get(places, now->classes[i].name);
		to[i] = place != NULL ? (uint32_t)json_integer_value(place) : TL_TREE_REMOVED;
	}
	json_decref(places);
	return rc;
}

// Check that the classes may continue those in force. *rates: only rates differ.
static int change_check(const struct tl_config_shape *now, const struct tl_config_shape *next, const uint32_t *to,
	bool *rates, struct tl_err *err)
{
	*rates = now->n_classes == next->n_classes;
	for (uint32_t i = 1; i < now->n_classes; i++) {
		const struct tl_config_class *c = &now->classes[i];
		*rates &= to[i] == i;
		if (to[i] == TL_TREE_REMOVED)
			continue;
		if (c->member.weight != 0 && next->classes[to[i]].rate > tl_config_member_floor(c))
			return tl_fail(err, -EINVAL,
				"class %s: its rate is more than its floor in the share: restart for that", c->name);
		const char *key = change_forbidden(now, c, next, &next->classes[to[i]]);
		if (key != NULL)
			return tl_fail(err, -EINVAL,
				"class %s: \"%s\" differs: restart for that, or give the class another name", c->name,
				key);
		*rates &= change_is_of_rates(c, &next->classes[to[i]]);
	}
	return 0;
}

// Check whether the classes can be replaced. The port has no more buffers than at the start.
static int change_check_set(const struct tl_shaping *s, const struct tl_config_shape *next, struct tl_err *err)
{
	for (uint32_t i = 1; i < s->config->n_classes; i++)
		if (s->config->classes[i].member.weight != 0)
			return tl_fail(err, -EINVAL,
				"class %s is in a share: only rates can change then; restart for more",
				s->config->classes[i].name);
	if (next->frames > s->frames)
		return tl_fail(err, -ENOMEM,
			"the limits allow %u queued frames, and the port has buffers for %u since the start: lower \"limit\", or "
			"restart",
			next->frames - 1, s->frames - 1);
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

// Replace the classes, if they can be.
static int change_set(const struct tl_config *config, struct tl_shaping *s, struct tl_config_shape *next,
	const uint32_t *to, bool *taken, struct tl_err *err)
{
	uint32_t at;
	int rc = change_check_set(s, next, err);

	if (rc == 0)
		rc = shaping_check_reach(config, next, &at, err);
	if (rc == 0)
		rc = shaping_replace(s, next, to, err);
	*taken = rc == 0;
	return rc;
}

// Change what differs. *taken: next belongs to the shape.
static int change_to(const struct tl_config *config, struct tl_shaping *s, struct tl_config_shape *next, bool *taken,
	struct tl_err *err)
{
	uint32_t *to = calloc(s->config->n_classes, sizeof(*to));
	bool rates = false;
	int rc = to == NULL ? tl_fail(err, -ENOMEM, "out of memory") : change_check_shape(s->config, next, err);

	if (rc == 0)
		rc = change_find(s->config, next, to, err);
	if (rc == 0)
		rc = change_check(s->config, next, to, &rates, err);
	if (rc == 0 && rates)
		rc = change_rates(s, next, err);
	else if (rc == 0)
		rc = change_set(config, s, next, to, taken, err);
	free(to);
	return rc;
}

int tl_shaping_change(const struct tl_config *config, uint32_t index, struct tl_shaping *s, const json_t *entry,
	struct tl_metrics_shape *row, struct tl_err *err)
{
	struct tl_config_shape *next = calloc(1, sizeof(*next));
	bool taken = false;

	if (next == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	int rc = tl_config_load_shape(config, index, entry, next, err);
	if (rc != 0) {
		free(next);
		return rc;
	}
	rc = change_to(config, s, next, &taken, err);
	if (taken) {
		tl_shaping_list(s, row);
	} else {
		tl_config_free_shape(next);
		free(next);
	}
	return rc;
}
