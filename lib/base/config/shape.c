// SPDX-License-Identifier: BSD-3-Clause
// Entries of "shape": class trees in front of send queues. Rates and bursts are checked in app/shaping.c.

#include "config_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_units.h>

#define FRAME_BYTES 18 // Ethernet header and a tag
#define FRAMES_MAX (UINT32_C(1) << 20)
#define BURST_MAX UINT64_C(576460752)

// ---- keys

static int config_read_classes(
	struct tl_config_reader *r, struct tl_config_shape *shape, uint32_t parent, const json_t *value);

// Read "classes" of a class into the array that contains the class.
static int config_read_subclasses(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_class *cls = section;
	struct tl_config_shape *shape;
	uint32_t index = cls->place;

	cls->has_classes = true;
	shape = (struct tl_config_shape *)(void *)((char *)(cls - index) - offsetof(struct tl_config_shape, classes));
	return config_read_classes(r, shape, index, value);
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
	{KEY(tl_config_class, limit_bytes, tl_config_size), .min = 1, .max = 4 * GIB, .or_zero = true, .fallback = "0"},
	{KEY(tl_config_class, limit_ms, tl_config_number), .min = 1, .max = 60000, .or_zero = true, .fallback = "0"},
	{CHOICE(tl_config_class, drop, TL_CLASS_DROPPING), .fallback = "\"limit\""},
	{KEY(tl_config_class, target_us, tl_config_number), .min = 1, .max = 1000000, .fallback = "5000"},
	{KEY(tl_config_class, interval_ms, tl_config_number), .min = 1, .max = 60000, .fallback = "100"},
	{KEY(tl_config_class, police, tl_config_object), .table = &tl_config_policer_table},
	{"classes", config_read_subclasses},
};
static const struct tl_config_table class_table = {
	KEYS(class_keys), .bytes = sizeof(struct tl_config_class), .check = config_check_class};

static int config_read_class(
	struct tl_config_reader *r, struct tl_config_shape *shape, uint32_t parent, uint32_t nth, const json_t *value)
{
	struct tl_config_class *cls = &shape->classes[shape->n_classes];

	if (shape->n_classes > TL_CONFIG_CLASSES_MAX)
		return tl_config_refuse(r, "the shape has more than %d classes", TL_CONFIG_CLASSES_MAX);
	cls->place = shape->n_classes++;
	cls->parent = parent;
	cls->nth = nth;
	cls->depth = shape->classes[parent].depth + 1;
	cls->line = r->text != NULL ? tl_config_line(r->text, r->len, &r->path) : 0;
	return tl_config_read_object(r, &class_table, value, cls);
}

static int config_read_classes(
	struct tl_config_reader *r, struct tl_config_shape *shape, uint32_t parent, const json_t *value)
{
	size_t n = json_array_size(value);
	int rc = 0;

	if (!json_is_array(value))
		return tl_config_not(r, value, "an array");
	if (n == 0)
		return tl_config_refuse(r, "the list is empty");
	if (shape->classes[parent].depth == TL_CONFIG_CLASS_DEPTH_MAX)
		return tl_config_refuse(r, "classes nest at most %d deep", TL_CONFIG_CLASS_DEPTH_MAX);
	for (size_t i = 0; i < n && rc == 0; i++) {
		tl_config_enter_index(r, i);
		rc = config_read_class(r, shape, parent, (uint32_t)i, json_array_get(value, i));
		if (rc == 0)
			tl_config_leave(r);
	}
	return rc;
}

// Read "classes", the last key of a shape: the others are complete then.
int tl_config_classes(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_shape *shape = section;
	struct tl_config_class *root = &shape->classes[0];

	root->name = strdup(shape->name);
	if (root->name == NULL)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	root->rate = shape->rate;
	root->burst = root->cburst = shape->burst;
	root->has_classes = true;
	shape->n_classes = 1;
	return config_read_classes(r, shape, 0, value);
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

// ---- a shape, when the ports and echoes are known

static void config_point_at_class(
	struct tl_config_reader *r, uint32_t index, const struct tl_config_shape *shape, uint32_t cls, const char *key)
{
	uint32_t way[TL_CONFIG_CLASS_DEPTH_MAX];
	uint32_t depth = shape->classes[cls].depth;

	for (uint32_t i = depth, at = cls; i > 0; i--, at = shape->classes[at].parent)
		way[i - 1] = shape->classes[at].nth;
	tl_config_point_at(r, "shape", index, NULL);
	for (uint32_t i = 0; i < depth; i++) {
		tl_config_enter(r, "classes");
		tl_config_enter_index(r, way[i]);
	}
	if (key != NULL)
		tl_config_enter(r, key);
}

#define refuse_shape(r, index, key, ...) tl_config_refuse_at(r, "shape", index, key, __VA_ARGS__)
#define refuse_class(r, index, shape, cls, key, ...)                                                                   \
	(config_point_at_class(r, index, shape, cls, key), tl_config_refuse(r, __VA_ARGS__))

static int config_check_shaped_port(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	const struct tl_config_port *port = &config->ports[shape->port];
	const struct tl_config_replay *replay = tl_config_replay_from(config, shape->port);
	bool echoes = false;

	for (uint32_t i = 0; i < config->n_echoes; i++)
		echoes |= config->echoes[i].port == shape->port;
	if (!echoes && replay == NULL)
		return refuse_shape(
			r, index, "port", "the port \"%s\" has no echo and no replay: it sends nothing", port->name);
	if (port->ptp)
		return refuse_shape(r, index, "port",
			"the port \"%s\" has ptp_probes_per_s or reply_stamps_per_s: stamped frames must not be delayed",
			port->name);
	if (replay != NULL && shape->queue != TL_CONFIG_QUEUE_AUTO && shape->queue != 0)
		return refuse_shape(
			r, index, "queue", "the replay \"%s\" sends through queue 0: leave the key out", replay->name);
	if (replay == NULL && shape->queue == TL_CONFIG_QUEUE_AUTO && port->rx_queues > 1)
		return refuse_shape(r, index, "queue",
			"the port \"%s\" has %u send queues, one per lcore: set the queue of this shape", port->name,
			port->rx_queues);
	if (shape->queue != TL_CONFIG_QUEUE_AUTO && shape->queue >= port->rx_queues)
		return refuse_shape(r, index, "queue", "the port \"%s\" has %u RX queues, counted from 0", port->name,
			port->rx_queues);
	return 0;
}

static int config_check_same_shape(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_shape *shape = &config->shapes[index];

	for (uint32_t i = 0; i < index; i++) {
		const struct tl_config_shape *other = &config->shapes[i];
		if (strcmp(other->name, shape->name) == 0)
			return refuse_shape(r, index, "name", "$.shape[%u] is called \"%s\" already", i, shape->name);
		if (other->port == shape->port && other->queue == shape->queue)
			return refuse_shape(
				r, index, "port", "the shape \"%s\" is on this port and queue already", other->name);
	}
	return 0;
}

// Write the expression of an echo's frames.
static void config_match_echo(const struct tl_config_echo *echo, char *text, size_t size)
{
	char peer[TL_IPV6_TEXT];

	if (echo->mode != TL_ECHO_KIND_MCAST_TO_TCP) {
		snprintf(text, size, "%s src port %u", echo->mode == TL_ECHO_KIND_UDP ? "udp" : "tcp",
			ntohs(echo->listen_port_be));
		return;
	}
	if (tl_ip6_is_set(&echo->connect_ip6))
		tl_format_ipv6(&echo->connect_ip6, peer);
	else
		tl_format_ipv4(echo->connect_ip_be, peer);
	snprintf(text, size, "dst host %s and tcp dst port %u", peer, ntohs(echo->connect_port_be));
}

static int config_resolve_echo(struct tl_config_reader *r, struct tl_config *config, uint32_t index, uint32_t at)
{
	struct tl_config_shape *shape = &config->shapes[index];
	struct tl_config_class *cls = &shape->classes[at];
	uint32_t vlan = config->ports[shape->port].vlan;
	char text[128];

	for (uint32_t i = 0; i < config->n_echoes; i++) {
		const struct tl_config_echo *echo = &config->echoes[i];
		if (echo->port != shape->port || strcmp(echo->name, cls->echo_name) != 0)
			continue;
		config_match_echo(echo, text, sizeof(text));
		if (asprintf(&cls->match, "%s%s", vlan != 0 ? "vlan and " : "", text) < 0) {
			cls->match = NULL;
			return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
		}
		return 0;
	}
	return refuse_class(r, index, shape, at, "echo", "no echo on the port \"%s\" is called \"%s\"",
		config->ports[shape->port].name, cls->echo_name);
}

static int config_check_among(struct tl_config_reader *r, const struct tl_config *config, uint32_t index, uint32_t at)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	const struct tl_config_class *cls = &shape->classes[at];

	for (uint32_t i = 0; i < at; i++) {
		const struct tl_config_class *other = &shape->classes[i];
		if (strcmp(other->name, cls->name) == 0)
			return refuse_class(
				r, index, shape, at, "name", "duplicate name in the shape: \"%s\"", cls->name);
		if (cls->is_default && other->is_default)
			return refuse_class(
				r, index, shape, at, "default", "the class \"%s\" is the default already", other->name);
		if (cls->match != NULL && other->match != NULL && strcmp(cls->match, other->match) == 0)
			return refuse_class(r, index, shape, at, cls->echo_name != NULL ? "echo" : "match",
				"unreachable class: the class \"%s\" matches the same frames first", other->name);
	}
	return 0;
}

static int config_check_policer(struct tl_config_reader *r, const struct tl_config *config, uint32_t index, uint32_t at)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	const struct tl_config_meter *meter = &shape->classes[at].police.meter;

	config_point_at_class(r, index, shape, at, "police");
	return tl_config_check_buckets(r, &config->ports[shape->port], meter, shape->overhead_bytes);
}

static int config_check_classes(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_shape *shape = &config->shapes[index];
	uint64_t frames = 0;
	int rc = 0;

	for (uint32_t i = 1; i < shape->n_classes && rc == 0; i++) {
		const struct tl_config_class *cls = &shape->classes[i];
		if (cls->echo_name != NULL)
			rc = config_resolve_echo(r, config, index, i);
		if (rc == 0)
			rc = config_check_among(r, config, index, i);
		if (rc == 0)
			rc = config_check_policer(r, config, index, i);
		if (cls->is_default)
			shape->fallback = i;
		frames += cls->has_classes ? 0 : cls->limit;
	}
	if (rc != 0)
		return rc;
	if (shape->fallback == 0)
		return refuse_shape(r, index, "classes",
			"no default class: set \"default\": true in one class, for unmatched frames");
	if (frames > FRAMES_MAX)
		return refuse_shape(r, index, "classes",
			"the limits allow %ju queued frames, the maximum is %u: lower \"limit\"", (uintmax_t)frames,
			FRAMES_MAX);
	shape->frames = (uint32_t)frames + 1; // a fair class at its limit enqueues before it drops
	return 0;
}

// A queued frame occupies a DPDK buffer for the longest frame.
static int config_check_memory(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	uint64_t mb = (uint64_t)shape->frames * shape->mtu >> 20;

	if (mb < config->eal.memory_mb)
		return 0;
	return refuse_shape(r, index, "classes",
		"the limits allow %u queued frames of %u bytes, %ju MiB, and eal.memory_mb is %u: lower \"limit\", or raise eal.memory_mb",
		shape->frames, shape->mtu, (uintmax_t)mb, config->eal.memory_mb);
}

int tl_config_check_shape(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_shape *shape = &config->shapes[index];

	tl_config_point_at(r, "shape", index, "port");
	int rc = tl_config_resolve_port(r, config, shape->port_name, &shape->port);
	if (rc == 0)
		rc = config_check_shaped_port(r, config, index);
	if (rc == 0 && shape->queue == TL_CONFIG_QUEUE_AUTO)
		shape->queue = 0;
	if (rc == 0)
		rc = config_check_same_shape(r, config, index);
	if (rc == 0)
		rc = tl_config_join_share(r, config, index);
	if (rc == 0)
		rc = config_check_classes(r, config, index);
	if (rc == 0)
		shape->mtu = config->ports[shape->port].mtu + FRAME_BYTES + shape->overhead_bytes;
	return rc == 0 ? config_check_memory(r, config, index) : rc;
}

int tl_config_load_shape(const struct tl_config *config, uint32_t index, const json_t *entry,
	struct tl_config_shape *out, struct tl_err *err)
{
	struct tl_config_reader r = {.name = config->shapes[index].name, .err = err};
	struct tl_config *copy = malloc(sizeof(*copy)); // shallow: only the shape is its own

	if (copy == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	*copy = *config;
	struct tl_config_shape *shape = &copy->shapes[index];
	memset(shape, 0, sizeof(*shape));
	int rc = tl_config_read_object(&r, &tl_config_shape_table, entry, shape);
	if (rc == 0)
		rc = tl_config_check_shape(&r, copy, index);
	if (rc == 0)
		*out = *shape;
	else
		tl_config_free_shape(shape);
	free(copy);
	return rc;
}
