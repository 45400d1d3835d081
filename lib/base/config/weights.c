// SPDX-License-Identifier: BSD-3-Clause
// Weights of hosts in a class of a shape, by address prefix.

#include "config_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

static int weights_prefix(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_weight *weight = section;

	(void)key;
	weight->version = tl_config_prefix(r, value, &weight->prefix);
	return weight->version != 0 ? 0 : -EINVAL;
}

static const struct tl_config_key weight_keys[] = {
	{KEY(tl_config_weight, prefix, weights_prefix), .required = true},
	{KEY(tl_config_weight, weight, tl_config_number), .min = 1, .max = 100, .required = true},
};
const struct tl_config_table tl_config_weight_table = {KEYS(weight_keys), .bytes = sizeof(struct tl_config_weight)};

static bool weights_is_same(const struct tl_config_weight *a, const struct tl_config_weight *b)
{
	return a->version == b->version && a->prefix.bits == b->prefix.bits &&
	       memcmp(a->prefix.ip, b->prefix.ip, a->version == 4 ? 4 : 16) == 0;
}

static int weights_read(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, struct tl_config_class *cls)
{
	struct tl_config_weight *weight = &cls->weights[cls->n_weights];
	int rc = tl_config_read_object(r, key->table, value, weight);

	for (uint32_t i = 0; i < cls->n_weights && rc == 0; i++)
		if (weights_is_same(&cls->weights[i], weight))
			rc = tl_config_refuse_key(r, "prefix", "the list has this prefix already");
	cls->n_weights++;
	return rc;
}

int tl_config_weights(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_class *cls = section;
	size_t n = json_array_size(value);
	int rc = 0;

	if (!json_is_array(value))
		return tl_config_not(r, value, "an array");
	if (n < key->min || n > key->max)
		return tl_config_refuse(r, "the list has %zu entries: give 1 to %ju", n, (uintmax_t)key->max);
	cls->weights = calloc(n, sizeof(cls->weights[0]));
	if (cls->weights == NULL)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	for (size_t i = 0; i < n && rc == 0; i++) {
		tl_config_enter_index(r, i);
		rc = weights_read(r, key, json_array_get(value, i), cls);
		if (rc == 0)
			tl_config_leave(r);
	}
	return rc;
}

int tl_config_check_weights(struct tl_config_reader *r, const struct tl_config_class *cls)
{
	if (cls->n_weights != 0 && cls->fair != TL_FAIR_SOURCE && cls->fair != TL_FAIR_DESTINATION)
		return tl_config_refuse_key(
			r, "weights", "has no effect without \"fair\": \"source\" or \"destination\"");
	return 0;
}

bool tl_config_same_weights(const struct tl_config_class *a, const struct tl_config_class *b)
{
	bool same = a->n_weights == b->n_weights;

	for (uint32_t i = 0; i < a->n_weights && same; i++)
		same = weights_is_same(&a->weights[i], &b->weights[i]) && a->weights[i].weight == b->weights[i].weight;
	return same;
}
