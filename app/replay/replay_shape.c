// SPDX-License-Identifier: BSD-3-Clause
// The class tree of `tapline replay --shape`.

#include "replay_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_config.h>
#include <tl_report.h>
#include <tl_tree.h>
#include <tl_wire.h>

#include "replays.h"
#include "shaping.h"

#define FILE_BYTES_MAX (16u << 20)

// ---- the file

// Read a file. NULL: *err has the message.
static char *read_file(const char *path, struct tl_err *err)
{
	FILE *file = fopen(path, "re");
	char *text = file != NULL ? malloc(FILE_BYTES_MAX) : NULL;

	if (text == NULL) {
		tl_fail(err, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	} else {
		size_t n = fread(text, 1, FILE_BYTES_MAX, file);
		text[n < FILE_BYTES_MAX ? n : 0] = '\0'; // one that is too long is not JSON
	}
	if (file != NULL)
		fclose(file);
	return text;
}

// Load an entry of "shape" in a configuration around it, in whose first line the entry begins: lines in messages are
// those of the file.
static int load_entry(const char *path, char *text, const json_t *entry, struct tl_config **out, struct tl_err *err)
{
	const char *port = json_string_value(json_object_get(entry, "port"));
	const char *name = port != NULL ? port : "replay", *missing = port == NULL ? "\"port\": \"replay\"," : "";
	char *body = strchr(text, '{'), *whole;

	*body = '\0';
	if (asprintf(&whole,
		    "{\"eal\": {\"memory_mb\": 65536}, \"ports\": [{\"name\": \"%s\", \"device\": \"vdev:net_null0\"}], "
		    "\"replay\": [{\"name\": \"replay\", \"port\": \"%s\", \"files\": [\"-\"]}], \"shape\": [%s{%s%s]}",
		    name, name, text, missing, body + 1) < 0)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = tl_config_load_text(whole, strlen(whole), path, out, err);
	free(whole);
	return rc;
}

// Load a configuration, or an entry of its section "shape".
static int load_file(const char *path, struct tl_config **out, struct tl_err *err)
{
	char *text = read_file(path, err);
	json_t *root = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	int rc = -EINVAL;

	if (json_object_get(root, "classes") != NULL)
		rc = load_entry(path, text, root, out, err);
	else if (text != NULL)
		rc = tl_config_load(path, out, err);
	json_decref(root);
	free(text);
	return rc;
}

// Check whether a share limits the shape or classes of it.
static bool is_shared(const struct tl_config_shape *shape)
{
	bool shared = shape->share != TL_CONFIG_NO_SHARE;

	for (uint32_t i = 1; i < shape->n_classes; i++)
		shared |= shape->classes[i].member.weight != 0;
	return shared;
}

// Find the shape of this name; NULL: the only one.
static int choose(struct tl_replay_session *s, const char *path, const char *name, struct tl_err *err)
{
	const struct tl_config *config = s->shape_config;

	if (config->n_shapes == 0)
		return tl_fail(err, -EINVAL, "--shape %s: it has no \"shape\"", path);
	if (name == NULL && config->n_shapes > 1)
		return tl_fail(err, -EINVAL, "--shape %s: it has %u shapes: choose one, as %s:%s", path,
			config->n_shapes, path, config->shapes[0].name);
	while (name != NULL && s->shape_index < config->n_shapes &&
		strcmp(config->shapes[s->shape_index].name, name) != 0)
		s->shape_index++;
	if (s->shape_index == config->n_shapes)
		return tl_fail(err, -EINVAL, "--shape %s: no shape is called \"%s\"", path, name);
	if (is_shared(&config->shapes[s->shape_index]))
		return tl_fail(err, -EINVAL,
			"--shape %s: the shape \"%s\" has a share, which is divided in an appliance only", path,
			config->shapes[s->shape_index].name);
	return 0;
}

int tl_replay_load_shape(struct tl_replay_session *s, struct tl_err *err)
{
	char *path = s->args->shape != NULL ? strdup(s->args->shape) : NULL, *colon, *name = NULL;

	if (s->args->shape == NULL)
		return 0;
	if (path == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	colon = access(path, F_OK) != 0 ? strrchr(path, ':') : NULL;
	if (colon != NULL) {
		*colon = '\0';
		name = colon + 1;
	}
	int rc = load_file(path, &s->shape_config, err);
	if (rc == 0)
		rc = choose(s, path, name, err);
	if (rc == 0)
		rc = tl_shaping_check(s->shape_config, err);
	free(path);
	return rc;
}

// ---- the tree

uint64_t tl_replay_shape_bytes(const struct tl_replay_session *s)
{
	if (s->shape_config == NULL)
		return 0;
	const struct tl_config_shape *shape = &s->shape_config->shapes[s->shape_index];
	return tl_replay_tree_bytes(shape->frames, (uint32_t)tl_max_u64(shape->mtu, s->args->mtu + TL_ETHER_LEN));
}

int tl_replay_make_shape(struct tl_replay_session *s, struct tl_err *err)
{
	struct tl_replay_port *port = &s->ports[0];

	if (s->shape_config == NULL)
		return 0;
	struct tl_config_shape *shape = &s->shape_config->shapes[s->shape_index];
	shape->queue = 0;
	shape->mtu = tl_port_frame_limit(port->port) + TL_VLAN_LEN + shape->overhead_bytes;
	shape->mtu = (uint32_t)tl_min_u64(shape->mtu, TL_TREE_MTU_MAX); // longer ones count as drop_long_pkts
	int rc = tl_shaping_create(s->shape_config, s->shape_index, port->port, s->clock, &s->shaping, err);
	if (rc != 0)
		return rc;
	tl_shaping_list(s->shaping, &s->shape);
	s->shape.port = port->device;
	port->shape = tl_shaping_shape(s->shaping, &port->shape_pkts);
	return 0;
}

void tl_replay_drop_shape(struct tl_replay_session *s)
{
	tl_shaping_destroy(s->shaping);
	tl_config_free(s->shape_config);
}

// ---- results

json_t *tl_replay_shapes_json(const struct tl_replay_session *s, bool final)
{
	json_t *list = json_array();
	struct tl_report_shape row;

	if (s->shaping == NULL)
		return list;
	tl_metrics_read_shape(&s->shape, &row);
	json_array_append_new(list, tl_report_shape_json(&row, final));
	return list;
}

void tl_replay_print_shape(const struct tl_replay_session *s, FILE *out)
{
	struct tl_report_shape row;

	if (s->shaping == NULL)
		return;
	tl_metrics_read_shape(&s->shape, &row);
	fputc('\n', out);
	tl_report_shape_text(out, &row, true);
}

bool tl_replay_shape_ok(const struct tl_replay_session *s)
{
	struct tl_report_shape row;

	if (s->shaping == NULL)
		return true;
	tl_metrics_read_shape(&s->shape, &row);
	return tl_report_shape_ok(&row, true);
}
