// SPDX-License-Identifier: BSD-3-Clause
// Entries of "share": rates that several shapes divide by demand. share_capture.c has those of recordings.

#include "config_priv.h"

#include <string.h>

static const struct tl_config_key share_keys[] = {
	{KEY(tl_config_share, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1, .required = true},
	{KEY(tl_config_share, rate, tl_config_capacity), .min = 1, .max = TL_CONFIG_RATE_MAX, .required = true},
	{KEY(tl_config_share, classes, tl_config_array), .table = &tl_config_member_table, .min = 1,
		.max = TL_CONFIG_MEMBERS_MAX, .count_offset = offsetof(struct tl_config_share, n_classes)},
};
const struct tl_config_table tl_config_share_table = {KEYS(share_keys), .bytes = sizeof(struct tl_config_share)};

uint64_t tl_config_shape_floor(const struct tl_config_shape *shape)
{
	uint64_t rates = 0;

	for (uint32_t i = 1; i < shape->n_classes; i++)
		if (shape->classes[i].parent == 0)
			rates += shape->classes[i].rate;
	return tl_max_u64(shape->floor, rates);
}

int tl_config_check_unshared(struct tl_config_reader *r, const char *share_name, const json_t *value)
{
	static const char *const keys[] = {"tier", "weight", "floor"};

	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++)
		if (share_name == NULL && json_object_get(value, keys[i]) != NULL)
			return tl_config_refuse_key(r, keys[i], "has no effect without \"share\"");
	return 0;
}

int tl_config_find_share(struct tl_config_reader *r, const struct tl_config *config, const char *section,
	uint32_t index, const char *name, uint32_t *out)
{
	*out = TL_CONFIG_NO_SHARE;
	for (uint32_t i = 0; i < config->n_shares && name != NULL; i++)
		if (strcmp(config->shares[i].name, name) == 0)
			*out = i;
	if (name == NULL || *out != TL_CONFIG_NO_SHARE)
		return 0;
	return tl_config_refuse_at(r, section, index, "share", "no entry of \"share\" is called \"%s\"", name);
}

int tl_config_check_member(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_shape *shape = section;
	int rc = tl_config_check_unshared(r, shape->share_name, value);

	(void)key;
	if (rc != 0)
		return rc;
	if (shape->floor > shape->rate)
		return tl_config_refuse_key(r, "floor", "above \"rate\", the limit of the shape: lower it");
	return 0;
}

int tl_config_join_share(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_shape *shape = &config->shapes[index];

	tl_config_join_classes(config, shape);
	return tl_config_find_share(r, config, "shape", index, shape->share_name, &shape->share);
}

static int config_check_floors(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_share *share = &config->shares[index];
	uint64_t floors = 0;
	uint32_t members = 0, port = 0;
	bool is_one_port = true;

	for (uint32_t i = 0; i < config->n_shapes; i++) {
		if (config->shapes[i].share != index)
			continue;
		floors += tl_config_shape_floor(&config->shapes[i]);
		is_one_port &= members == 0 || config->shapes[i].port == port;
		port = config->shapes[i].port;
		members++;
	}
	tl_config_point_at(r, "share", index, members == 0 ? "name" : "rate");
	if (members == 0)
		return tl_config_refuse(
			r, "it has no \"classes\", and no shape and no recording has \"share\": \"%s\"", share->name);
	if (share->rate == 0 && !is_one_port)
		return tl_config_refuse(
			r, "the capacity of one port is measured, and its shapes are on several: give a rate");
	if (share->rate != 0 && floors > share->rate)
		return tl_config_refuse(r,
			"the floors of its shapes, or the rates of their classes, add up to %ju bit/s, more than this: lower them",
			(uintmax_t)floors);
	return 0;
}

int tl_config_check_share(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	for (uint32_t i = index + 1; i < config->n_shares; i++) {
		if (strcmp(config->shares[i].name, config->shares[index].name) != 0)
			continue;
		return tl_config_refuse_at(
			r, "share", i, "name", "$.share[%u] is called \"%s\" already", index, config->shares[i].name);
	}
	bool has_classes = config->shares[index].n_classes != 0, has_disk = tl_config_shares_disk(config, index);
	if (has_classes && has_disk)
		return tl_config_refuse_at(
			r, "share", index, "classes", "recordings have the same \"share\": give them another");
	if (has_classes)
		return tl_config_check_members(r, config, index);
	return has_disk ? tl_config_check_disk(r, config, index) : config_check_floors(r, config, index);
}
