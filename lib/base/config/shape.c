// SPDX-License-Identifier: BSD-3-Clause
// Entries of "shape": class trees in front of send queues. Checks across keys: shape_check.c; of rates and bursts:
// app/shaping.c.

#include "config_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

#define BURST_MAX UINT64_C(576460752)

// ---- keys

static int config_read_classes(struct tl_config_reader *r, uint32_t parent, const json_t *value);

// Read "classes" of a class into the array that contains the class.
static int config_read_subclasses(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_class *cls = section;

	cls->has_classes = true;
	return config_read_classes(r, cls->place, value);
}

static int config_check_class(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section);

static const struct tl_config_key class_keys[] = {
	{KEY(tl_config_class, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1, .required = true},
	{KEY(tl_config_class, rate, tl_config_rate), .min = 1, .max = TL_CONFIG_RATE_MAX, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_class, ceil, tl_config_rate), .min = 1, .max = TL_CONFIG_RATE_MAX},
	{KEY(tl_config_class, burst, tl_config_burst), .min = 1, .max = BURST_MAX},
	{KEY(tl_config_class, cburst, tl_config_burst), .min = 1, .max = BURST_MAX},
	{KEY(tl_config_class, prio, tl_config_number), .max = 7, .fallback = "0"},
	{KEY(tl_config_class, quantum, tl_config_number), .min = 1, .max = 64 * MIB},
	{KEY(tl_config_class, match, tl_config_text), .max = 4095},
	{"echo", tl_config_text, FIELD(tl_config_class, echo_name), .max = TL_CONFIG_NAME_MAX - 1},
	{"default", tl_config_bool, FIELD(tl_config_class, is_default), .fallback = "false"},
	{CHOICE(tl_config_class, fair, TL_FAIRS), .fallback = "\"none\""},
	{KEY(tl_config_class, flows, tl_config_number), .min = 2, .max = 65536, .fallback = "1024"},
	{"weights", tl_config_weights, .table = &tl_config_weight_table, .min = 1, .max = 64},
	{KEY(tl_config_class, limit, tl_config_number), .min = 1, .max = 65536, .fallback = "1000"},
	{KEY(tl_config_class, limit_bytes, tl_config_limit), .min = 1, .max = 4 * GIB, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_class, limit_ms, tl_config_number), .min = 1, .max = 60000, .or_zero = true, .fallback = "0"},
	{CHOICE(tl_config_class, drop, TL_CLASS_DROPPING), .fallback = "\"limit\""},
	{KEY(tl_config_class, target_us, tl_config_number), .min = 1, .max = 1000000, .fallback = "5000"},
	{KEY(tl_config_class, interval_ms, tl_config_number), .min = 1, .max = 60000, .fallback = "100"},
	{KEY(tl_config_class, police, tl_config_object), .table = &tl_config_policer_table},
	{"classes", config_read_subclasses},
};
static const struct tl_config_table class_table = {
	KEYS(class_keys), .bytes = sizeof(struct tl_config_class), .check = config_check_class};

static int config_read_class(struct tl_config_reader *r, uint32_t parent, uint32_t nth, const json_t *value)
{
	struct tl_config_shape *shape = r->shape;

	if (shape->n_classes > TL_CONFIG_CLASSES_MAX)
		return tl_config_refuse(r, "the shape has more than %d classes", TL_CONFIG_CLASSES_MAX);
	struct tl_config_class *cls = &shape->classes[shape->n_classes];
	cls->place = shape->n_classes++;
	cls->parent = parent;
	cls->nth = nth;
	cls->depth = shape->classes[parent].depth + 1;
	cls->line = tl_config_line(r);
	return tl_config_read_object(r, &class_table, value, cls);
}

static int config_read_classes(struct tl_config_reader *r, uint32_t parent, const json_t *value)
{
	size_t n = json_array_size(value);
	int rc = 0;

	if (!json_is_array(value))
		return tl_config_not(r, value, "an array");
	if (n == 0)
		return tl_config_refuse(r, "the list is empty");
	if (r->shape->classes[parent].depth == TL_CONFIG_CLASS_DEPTH_MAX)
		return tl_config_refuse(r, "classes nest at most %d deep", TL_CONFIG_CLASS_DEPTH_MAX);
	for (size_t i = 0; i < n && rc == 0; i++) {
		tl_config_enter_index(r, i);
		rc = config_read_class(r, parent, (uint32_t)i, json_array_get(value, i));
		if (rc == 0)
			tl_config_leave(r);
	}
	return rc;
}

// Count the classes of a list and below.
static size_t config_count_classes(const json_t *value)
{
	size_t n = json_array_size(value), all = n;

	for (size_t i = 0; i < n; i++)
		all += config_count_classes(json_object_get(json_array_get(value, i), "classes"));
	return all;
}

// Read "classes", the last key of a shape: the others are complete then. The array is allocated whole before: the
// reader has addresses of classes.
int tl_config_classes(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_shape *shape = section;
	uint64_t n = 1 + tl_min_u64(config_count_classes(value), TL_CONFIG_CLASSES_MAX);
	struct tl_config_class *root = calloc(n, sizeof(*root));

	shape->classes = root;
	shape->n_classes = root != NULL ? 1 : 0;
	if (root == NULL || (root->name = strdup(shape->name)) == NULL)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	root->rate = shape->rate;
	root->burst = root->cburst = shape->burst;
	root->has_classes = true;
	tl_config_leave(r);
	root->line = tl_config_line(r);
	tl_config_enter(r, key->name);
	r->shape = shape;
	return config_read_classes(r, 0, value);
}

static const struct tl_config_key shape_keys[] = {
	{KEY(tl_config_shape, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1, .required = true},
	{"port", tl_config_text, FIELD(tl_config_shape, port_name), .max = 4095, .required = true},
	{KEY(tl_config_shape, queue, tl_config_queue), .max = TL_CONFIG_QUEUES_MAX - 1, .fallback = "\"auto\""},
	{KEY(tl_config_shape, rate, tl_config_rate), .min = 1, .max = TL_CONFIG_RATE_MAX, .required = true},
	{KEY(tl_config_shape, burst, tl_config_burst), .min = 1, .max = BURST_MAX},
	{"overhead", tl_config_number, FIELD(tl_config_shape, overhead_bytes), .max = 64, .fallback = "0"},
	{"share", tl_config_text, FIELD(tl_config_shape, share_name), .max = TL_CONFIG_NAME_MAX - 1},
	{CHOICE(tl_config_shape, tier, TL_CONFIG_TIERS), .fallback = "\"prod\""},
	{KEY(tl_config_shape, weight, tl_config_number), .min = 1, .max = 1000000, .fallback = "1"},
	{KEY(tl_config_shape, floor, tl_config_rate), .min = 1, .max = TL_CONFIG_RATE_MAX},
	{KEY(tl_config_shape, classes, tl_config_classes), .table = &class_table, .min = 1,
		.max = TL_CONFIG_CLASSES_MAX, .required = true},
};
const struct tl_config_table tl_config_shape_table = {
	KEYS(shape_keys), .bytes = sizeof(struct tl_config_shape), .check = tl_config_check_member};

void tl_config_free_shape(struct tl_config_shape *shape)
{
	for (uint32_t i = 0; i < shape->n_classes; i++) {
		free(shape->classes[i].name);
		free(shape->classes[i].match);
		free(shape->classes[i].echo_name);
		free(shape->classes[i].weights);
	}
	free(shape->classes);
	free(shape->name);
	free(shape->port_name);
	free(shape->share_name);
}

// ---- one class

static int config_check_codel(struct tl_config_reader *r, const struct tl_config_class *cls, const json_t *value)
{
	static const char *const keys[] = {"target_us", "interval_ms"};

	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++)
		if (cls->drop != TL_CLASS_DROP_CODEL && json_object_get(value, keys[i]) != NULL)
			return tl_config_refuse_key(r, keys[i], "has no effect without \"drop\": \"codel\"");
	if (cls->target_us > cls->interval_ms * 1000)
		return tl_config_refuse_key(r, "target_us",
			"%u is more than interval_ms, %u: lower it, or raise that one", cls->target_us,
			cls->interval_ms);
	return 0;
}

static int config_check_leaf(struct tl_config_reader *r, const struct tl_config_class *cls, const json_t *value)
{
	int ways = (cls->match != NULL) + (cls->echo_name != NULL) + cls->is_default;

	if (ways != 1)
		return tl_config_refuse(r,
			"a class without \"classes\" needs exactly one of \"match\", \"echo\", \"default\": true; it has %d",
			ways);
	if (cls->fair == TL_FAIR_NONE && json_object_get(value, "flows") != NULL)
		return tl_config_refuse_key(r, "flows", "has no effect without \"fair\"");
	if ((cls->flows & (cls->flows - 1)) != 0)
		return tl_config_refuse_key(r, "flows", "%u is not a power of two", cls->flows);
	int rc = tl_config_check_weights(r, cls);
	return rc == 0 ? config_check_codel(r, cls, value) : rc;
}

static int config_check_class(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	static const char *const leaf_keys[] = {"match", "echo", "default", "fair", "flows", "weights", "limit",
		"limit_bytes", "limit_ms", "drop", "target_us", "interval_ms", "police"};
	const struct tl_config_class *cls = section;

	if (cls->rate == 0 && cls->ceil == 0 && cls->burst != 0)
		return tl_config_refuse_key(r, "burst", "has no effect without \"rate\"");
	if (!cls->has_classes)
		return config_check_leaf(r, cls, value);
	for (size_t i = 0; i < TL_ARRAY_LEN(leaf_keys); i++)
		if (json_object_get(value, leaf_keys[i]) != NULL)
			return tl_config_refuse_key(
				r, leaf_keys[i], "not allowed with \"classes\": only leaves queue frames");
	return 0;
}
