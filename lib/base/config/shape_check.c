// SPDX-License-Identifier: BSD-3-Clause
// Checks of the entries of "shape", when the ports and echoes are known.

#include "config_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

#define FRAME_BYTES 18 // Ethernet header and a tag
#define FRAMES_MAX (UINT32_C(1) << 20)
#define ROOM_MIN 2048	 // bytes for a frame in a buffer of a port, at least
#define BUFFER_BYTES 320 // around it: headroom and headers

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

// Indexes of the classes by the texts that only one may have.
struct config_texts {
	json_t *names, *matches;
};

// Add a class. *other: index of the class that has the text already; NULL: none.
static int config_add_text(
	struct tl_config_reader *r, json_t *texts, const char *text, uint32_t at, const json_t **other)
{
	*other = json_object_get(texts, text);
	if (*other == NULL && json_object_set_new(texts, text, json_integer(at)) != 0)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	return 0;
}

static int config_check_among(struct tl_config_reader *r, const struct tl_config *config, uint32_t index, uint32_t at,
	const struct config_texts *texts)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	const struct tl_config_class *cls = &shape->classes[at];
	const json_t *same_name, *same_match = NULL;
	int rc = config_add_text(r, texts->names, cls->name, at, &same_name);

	if (rc == 0 && cls->match != NULL)
		rc = config_add_text(r, texts->matches, cls->match, at, &same_match);
	if (rc != 0)
		return rc;
	if (same_name != NULL)
		return refuse_class(r, index, shape, at, "name", "duplicate name in the shape: \"%s\"", cls->name);
	if (cls->is_default && shape->fallback != 0)
		return refuse_class(r, index, shape, at, "default", "the class \"%s\" is the default already",
			shape->classes[shape->fallback].name);
	if (same_match != NULL)
		return refuse_class(r, index, shape, at, cls->echo_name != NULL ? "echo" : "match",
			"unreachable class: the class \"%s\" matches the same frames first",
			shape->classes[json_integer_value(same_match)].name);
	return 0;
}

static int config_check_policer(struct tl_config_reader *r, const struct tl_config *config, uint32_t index, uint32_t at)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	const struct tl_config_meter *meter = &shape->classes[at].police.meter;

	config_point_at_class(r, index, shape, at, "police");
	return tl_config_check_buckets(r, &config->ports[shape->port], meter, shape->overhead_bytes);
}

static int config_check_each(struct tl_config_reader *r, struct tl_config *config, uint32_t index, uint64_t *frames)
{
	struct tl_config_shape *shape = &config->shapes[index];
	struct config_texts texts = {.names = json_object(), .matches = json_object()};
	const json_t *other;
	int rc = config_add_text(r, texts.names, shape->name, 0, &other);

	for (uint32_t i = 1; i < shape->n_classes && rc == 0; i++) {
		const struct tl_config_class *cls = &shape->classes[i];
		if (cls->echo_name != NULL)
			rc = config_resolve_echo(r, config, index, i);
		if (rc == 0)
			rc = config_check_among(r, config, index, i, &texts);
		if (rc == 0)
			rc = config_check_policer(r, config, index, i);
		if (cls->is_default)
			shape->fallback = i;
		*frames += cls->has_classes ? 0 : cls->limit;
	}
	json_decref(texts.names);
	json_decref(texts.matches);
	return rc;
}

static int config_check_classes(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_shape *shape = &config->shapes[index];
	uint64_t frames = 0;
	int rc = config_check_each(r, config, index, &frames);

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
	bool replays = tl_config_replay_from(config, shape->port) != NULL; // its frames have buffers of their own
	uint64_t buffer = (replays ? shape->mtu : tl_max_u64(shape->mtu, ROOM_MIN)) + BUFFER_BYTES;
	uint64_t mb = shape->frames * buffer >> 20;

	if (mb < config->eal.memory_mb)
		return 0;
	return refuse_shape(r, index, "classes",
		"the limits allow %u queued frames in buffers of %ju bytes, %ju MiB, and eal.memory_mb is %u: lower \"limit\", or raise eal.memory_mb",
		shape->frames, (uintmax_t)buffer, (uintmax_t)mb, config->eal.memory_mb);
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
