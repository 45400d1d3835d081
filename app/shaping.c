// SPDX-License-Identifier: BSD-3-Clause
// Class trees from the entries of "shape".

#include "shaping_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include <tl_err.h>
#include <tl_filter.h>

#include "reach.h"

#define PATH_BYTES 256 // "$.shape[15]", and 7 times ".classes[9999]"

// Write the path of a class.
static const char *shaping_path(const struct tl_config *config, uint32_t index, uint32_t cls, char path[PATH_BYTES])
{
	const struct tl_config_class *classes = config->shapes[index].classes;
	uint32_t way[TL_CONFIG_CLASS_DEPTH_MAX], depth = classes[cls].depth;

	for (uint32_t i = depth, at = cls; i > 0; i--, at = classes[at].parent)
		way[i - 1] = classes[at].nth;
	size_t used = (size_t)snprintf(path, PATH_BYTES, "$.shape[%u]", index);
	for (uint32_t i = 0; i < depth; i++)
		used += (size_t)snprintf(path + used, PATH_BYTES - used, ".classes[%u]", way[i]);
	return path;
}

int shaping_check_reach(
	const struct tl_config *config, const struct tl_config_shape *shape, uint32_t *at, struct tl_err *err)
{
	bool echoes = tl_config_replay_from(config, shape->port) == NULL;
	bool tagged = config->ports[shape->port].vlan != 0;
	struct tl_reach reach = {.n = 0};
	int rc = 0;

	for (uint32_t i = 1; i < shape->n_classes && reach.n < TL_REACH_MAX && rc == 0; i++) {
		const struct tl_config_class *c = &shape->classes[i];
		*at = i;
		if (c->match == NULL)
			continue;
		if (echoes && tl_filter_covers(TL_SHAPE_CONTROL, c->match))
			return tl_fail(err, -EINVAL,
				"class %s: unreachable: ARP, IGMP, MLD and neighbour discovery of a port with an echo bypass the "
				"classes; remove it",
				c->name);
		if (echoes && tl_filter_excludes(tagged ? "ether proto 0x8100" : "ip or ip6", c->match))
			return tl_fail(err, -EINVAL, "class %s: unreachable: the port sends IP packets with%s", c->name,
				tagged ? " a VLAN tag; begin with \"vlan and\"" : "out a VLAN tag");
		rc = tl_reach_add(&reach, c->name, c->match, err);
	}
	if (rc != 0)
		return rc;
	*at = shape->fallback;
	return tl_reach_add(&reach, shape->classes[*at].name, "", err);
}

static int shaping_check_expressions(const struct tl_config *config, uint32_t index, struct tl_err *err)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	char path[PATH_BYTES];

	for (uint32_t i = 0; i < shape->n_classes; i++) {
		const struct tl_config_class *c = &shape->classes[i];
		int rc = c->match != NULL ? tl_filter_check(c->match, err) : 0;
		if (rc != 0)
			return tl_fail_at(err, rc, "%s:%u: %s.match", config->file, c->line,
				shaping_path(config, index, i, path));
	}
	uint32_t at;
	int rc = shaping_check_reach(config, shape, &at, err);
	if (rc != 0)
		return tl_fail_at(err, rc, "%s:%u: %s", config->file, shape->classes[at].line,
			shaping_path(config, index, at, path));
	return 0;
}

static int shaping_check_tree(const struct tl_config *config, uint32_t index, struct tl_err *err)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	struct tl_tree_class *classes = calloc(shape->n_classes, sizeof(*classes));
	struct tl_tree_cfg tree = {.classes = classes,
		.n_classes = shape->n_classes,
		.mtu = shape->mtu,
		.overhead_bytes = shape->overhead_bytes,
		.frames = shape->frames};
	char path[PATH_BYTES];
	uint32_t at;

	if (classes == NULL)
		return tl_fail(err, -ENOMEM, "%s: out of memory", config->file);
	for (uint32_t i = 0; i < shape->n_classes; i++)
		classes[i] = shaping_tree_class(shape, i);
	int rc = tl_tree_check(&tree, &at, err);
	free(classes);
	if (rc != 0)
		return tl_fail_at(err, rc, "%s:%u: %s", config->file, shape->classes[at].line,
			shaping_path(config, index, at, path));
	return 0;
}

int tl_shaping_check(const struct tl_config *config, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < config->n_shapes && rc == 0; i++) {
		rc = shaping_check_expressions(config, i, err);
		if (rc == 0)
			rc = shaping_check_tree(config, i, err);
	}
	return rc;
}

uint32_t tl_shaping_frames(const struct tl_config *config, uint32_t port)
{
	uint32_t frames = 0;

	for (uint32_t i = 0; i < config->n_shapes; i++)
		if (config->shapes[i].port == port)
			frames += config->shapes[i].frames;
	return frames;
}

void shaping_clamp(struct tl_tree_class *classes, uint32_t n, const uint64_t *limits, uint64_t limit)
{
	classes[0].rate = classes[0].ceil = tl_min_u64(classes[0].rate, limit);
	for (uint32_t i = 1; i < n; i++)
		classes[i].ceil = tl_min_u64(tl_min_u64(classes[i].ceil, limits[i]), classes[classes[i].parent].ceil);
}

int shaping_set(struct tl_shaping *s, const struct tl_tree_class *classes, uint64_t limit, struct tl_err *err)
{
	uint32_t n = s->config->n_classes;
	struct tl_tree_class *clamped = calloc(n, sizeof(*clamped));

	if (clamped == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		clamped[i] = classes[i];
	shaping_clamp(clamped, n, s->kept.limits, limit);
	int rc = tl_shape_set_rates(s->shape, clamped, err);
	if (rc == 0) {
		for (uint32_t i = 0; i < n; i++) {
			s->kept.classes[i] = classes[i];
			s->kept.classes[i].name = s->config->classes[i].name;
		}
		s->limit = limit;
		shaping_show_rates(s);
	}
	free(clamped);
	return rc;
}

static int shaping_make(struct tl_shaping *s, struct tl_txq *txq, const struct tl_clock *clock, struct tl_err *err)
{
	const struct tl_config_shape *config = s->config;
	struct shaping_classes classes;
	int rc = shaping_describe(config, &classes, err);
	struct tl_shape_cfg cfg = {.txq = txq,
		.clock = clock,
		.classes = classes.of,
		.n_classes = config->n_classes,
		.fallback = config->fallback,
		.mtu = config->mtu,
		.overhead_bytes = config->overhead_bytes,
		.frames = config->frames,
		.now_ns = tl_clock_mono_ns(clock, rte_rdtsc())};

	s->limit = UINT64_MAX;
	if (rc == 0)
		rc = shaping_keep(config, &classes, &s->kept, err);
	if (rc == 0)
		rc = tl_shape_create(&cfg, &s->shape, err);
	shaping_forget(&classes);
	return rc;
}

int tl_shaping_create(const struct tl_config *config, uint32_t index, struct tl_port *port,
	const struct tl_clock *clock, struct tl_shaping **out, struct tl_err *err)
{
	struct tl_shaping *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	s->config = &config->shapes[index];
	struct tl_txq *txq = tl_port_txq(port, (uint16_t)s->config->queue);
	s->txq = txq;
	s->frames = s->config->frames;
	int rc = shaping_make(s, txq, clock, err);
	if (rc != 0) {
		tl_shaping_destroy(s);
		return tl_fail_at(err, rc, "%s: $.shape[%u]", config->file, index);
	}
	*out = s;
	return 0;
}

void tl_shaping_destroy(struct tl_shaping *s)
{
	if (s == NULL)
		return;
	tl_shape_destroy(s->shape);
	if (s->own != NULL)
		tl_config_free_shape(s->own);
	free(s->own);
	shaping_free(&s->kept);
	free(s);
}

void tl_shaping_service(struct tl_shaping *s, struct tl_service *out)
{
	tl_shape_service(s->shape, out);
}

struct tl_shape *tl_shaping_shape(struct tl_shaping *s, uint32_t *frames)
{
	*frames = s->frames;
	return s->shape;
}

void shaping_show_rates(struct tl_shaping *s)
{
	struct tl_report_class *rows = s->kept.rows;

	for (uint32_t i = 0; i < s->config->n_classes; i++) {
		const struct tl_tree_class *c = &s->kept.classes[i];
		uint64_t above = i != 0 ? rows[c->parent].ceil_bps : s->limit;
		rows[i].rate_bps = i != 0 ? c->rate : tl_min_u64(c->rate, s->limit);
		rows[i].ceil_bps = tl_min_u64(tl_min_u64(c->ceil, s->kept.limits[i]), above);
		rows[i].prio = c->prio;
	}
}

void tl_shaping_list(struct tl_shaping *s, struct tl_metrics_shape *out)
{
	const struct tl_config_shape *config = s->config;

	for (uint32_t i = 0; i < config->n_classes; i++) {
		const struct tl_config_class *c = &config->classes[i];
		s->kept.rows[i] = (struct tl_report_class){.name = c->name,
			.parent = i != 0 ? config->classes[c->parent].name : NULL,
			.depth = c->depth,
			.is_policed = c->police.meter.cir != 0};
	}
	shaping_show_rates(s);
	*out = (struct tl_metrics_shape){.name = config->name,
		.port = config->port_name,
		.queue = config->queue,
		.shape = s->shape,
		.txq = s->txq,
		.rows = s->kept.rows,
		.n = config->n_classes};
}
