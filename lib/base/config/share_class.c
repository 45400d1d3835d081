// SPDX-License-Identifier: BSD-3-Clause
// "classes" of an entry of "share": classes of one shape that divide its rate.

#include "config_priv.h"

#include <stdlib.h>
#include <string.h>

static const struct tl_config_key member_keys[] = {
	{"class", tl_config_text, FIELD(tl_config_member, name), .max = 2 * TL_CONFIG_NAME_MAX - 1, .required = true},
	{CHOICE(tl_config_member, tier, TL_CONFIG_TIERS), .fallback = "\"prod\""},
	{KEY(tl_config_member, weight, tl_config_number), .min = 1, .max = 1000000, .fallback = "1"},
	{KEY(tl_config_member, floor, tl_config_rate), .min = 1, .max = TL_CONFIG_RATE_MAX},
};
const struct tl_config_table tl_config_member_table = {KEYS(member_keys), .bytes = sizeof(struct tl_config_member)};

void tl_config_free_members(struct tl_config_share *share)
{
	for (uint32_t i = 0; i < share->n_classes; i++)
		free(share->classes[i].name);
}

uint64_t tl_config_member_floor(const struct tl_config_class *cls)
{
	return tl_max_u64(cls->member.floor, cls->rate);
}

// Find the class of a shape that a member names, as "wan/ssh". Return its index; 0: it names none of the shape.
static uint32_t config_find_class(const struct tl_config_shape *shape, const char *name)
{
	size_t len = strlen(shape->name);

	if (strncmp(name, shape->name, len) != 0 || name[len] != '/')
		return 0;
	for (uint32_t i = 1; i < shape->n_classes; i++)
		if (strcmp(shape->classes[i].name, name + len + 1) == 0)
			return i;
	return 0;
}

void tl_config_join_classes(const struct tl_config *config, struct tl_config_shape *shape)
{
	for (uint32_t i = 0; i < config->n_shares; i++)
		for (uint32_t k = 0; k < config->shares[i].n_classes; k++) {
			uint32_t cls = config_find_class(shape, config->shares[i].classes[k].name);
			if (cls == 0)
				continue;
			shape->classes[cls].member = config->shares[i].classes[k];
			shape->class_share = i;
		}
}

// ---- a share, when the shapes are known

static int refuse_member(struct tl_config_reader *r, uint32_t index, uint32_t member, const char *key, const char *what,
	const char *name)
{
	r->path.depth = 0;
	tl_config_enter(r, "share");
	tl_config_enter_index(r, index);
	tl_config_enter(r, "classes");
	tl_config_enter_index(r, member);
	tl_config_enter(r, key);
	return tl_config_refuse(r, what, name);
}

// Check whether a share before this member, or this one, names the same class.
static bool config_is_listed(const struct tl_config *config, uint32_t index, uint32_t member)
{
	for (uint32_t i = 0; i <= index; i++)
		for (uint32_t k = 0; k < (i < index ? config->shares[i].n_classes : member); k++)
			if (strcmp(config->shares[i].classes[k].name, config->shares[index].classes[member].name) == 0)
				return true;
	return false;
}

// Return the member above a class; NULL: none.
static const struct tl_config_class *config_member_above(const struct tl_config_shape *shape, uint32_t cls)
{
	while ((cls = shape->classes[cls].parent) != 0)
		if (shape->classes[cls].member.weight != 0)
			return &shape->classes[cls];
	return NULL;
}

static int config_check_member_class(struct tl_config_reader *r, const struct tl_config *config, uint32_t index,
	uint32_t member, const struct tl_config_shape *shape)
{
	const struct tl_config_member *m = &config->shares[index].classes[member];
	uint32_t at = config_find_class(shape, m->name);

	if (at == 0)
		return refuse_member(
			r, index, member, "class", "no class of the shape of the first one is called \"%s\"", m->name);
	const struct tl_config_class *above = config_member_above(shape, at), *cls = &shape->classes[at];
	if (config_is_listed(config, index, member))
		return refuse_member(r, index, member, "class", "the class \"%s\" is in a share already", m->name);
	if (above != NULL)
		return refuse_member(r, index, member, "class",
			"the class is below \"%s\", which is in a share: leave out one of them", above->name);
	if (cls->ceil != 0 && m->floor > cls->ceil)
		return refuse_member(r, index, member, "floor", "above \"ceil\" of the class%s: lower it", "");
	return 0;
}

static int config_check_member_sums(
	struct tl_config_reader *r, const struct tl_config *config, uint32_t index, const struct tl_config_shape *shape)
{
	const struct tl_config_share *share = &config->shares[index];
	uint64_t floors = 0, rate = share->rate != 0 ? share->rate : shape->rate;

	for (uint32_t i = 1; i < shape->n_classes; i++)
		floors += shape->classes[i].member.weight != 0 && shape->class_share == index
				  ? tl_config_member_floor(&shape->classes[i])
				  : 0;
	r->path.depth = 0;
	tl_config_enter(r, "share");
	tl_config_enter_index(r, index);
	tl_config_enter(r, "rate");
	if (share->rate > shape->rate)
		return tl_config_refuse(r, "above that of the shape \"%s\": lower it", shape->name);
	if (floors > rate)
		return tl_config_refuse(r,
			"the floors of its classes, or their rates, add up to %ju bit/s, more than %s: lower them",
			(uintmax_t)floors, share->rate != 0 ? "this" : "the rate of their shape");
	return 0;
}

int tl_config_check_members(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_share *share = &config->shares[index];
	const struct tl_config_shape *shape = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < config->n_shapes; i++) {
		if (config_find_class(&config->shapes[i], share->classes[0].name) != 0)
			shape = &config->shapes[i];
		if (config->shapes[i].share == index)
			return refuse_member(r, index, 0, "class",
				"the share is also that of the shape \"%s\": give its classes one of their own",
				config->shapes[i].name);
	}
	if (shape == NULL)
		return refuse_member(
			r, index, 0, "class", "\"%s\" is no class, as SHAPE/CLASS", share->classes[0].name);
	if (shape->class_share != index || shape->share != TL_CONFIG_NO_SHARE)
		return refuse_member(r, index, 0, "class",
			"the shape \"%s\", or another class of it, is in another share", shape->name);
	for (uint32_t i = 0; i < share->n_classes && rc == 0; i++)
		rc = config_check_member_class(r, config, index, i, shape);
	return rc == 0 ? config_check_member_sums(r, config, index, shape) : rc;
}
