// SPDX-License-Identifier: BSD-3-Clause
// tapline run --explain: draw the class trees of a port.

#include <inttypes.h>
#include <stdio.h>

#include <tl_text.h>
#include <tl_units.h>

#include "policer.h"
#include "shaping_priv.h"

static const char *const fairs[] = {TL_FAIRS(TL_CHOICE_WORD)};
static const char *const tiers[] = {TL_CONFIG_TIERS(TL_CHOICE_WORD)};
static const char *const drops[] = {TL_CLASS_DROPPING(TL_CHOICE_WORD)};

// Return the sum of the rates guaranteed to the children of a class.
static uint64_t explain_children_bps(const struct tl_config_shape *shape, uint32_t cls)
{
	uint64_t sum = 0;

	for (uint32_t i = cls + 1; i < shape->n_classes && shape->classes[i].parent >= cls; i++)
		if (shape->classes[i].parent == cls)
			sum += shape->classes[i].rate;
	return sum;
}

static json_t *explain_class_json(const struct tl_config_shape *shape, uint32_t cls)
{
	const struct tl_config_class *c = &shape->classes[cls];
	json_t *row = json_pack("{s:s, s:s?, s:I, s:I, s:I, s:i, s:s?, s:b}", "name", c->name, "parent",
		cls != 0 ? shape->classes[c->parent].name : NULL, "rate_bps", (json_int_t)c->rate, "ceil_bps",
		(json_int_t)shaping_ceil(shape, cls), "children_rate_bps", (json_int_t)explain_children_bps(shape, cls),
		"prio", (int)c->prio, "match", c->match, "default", c->is_default);

	if (c->member.weight != 0)
		json_object_update_new(
			row, json_pack("{s:s, s:i, s:I}", "tier", tiers[c->member.tier], "weight",
				     (int)c->member.weight, "floor_bps", (json_int_t)tl_config_member_floor(c)));
	if (!c->has_classes)
		json_object_update_new(
			row, json_pack("{s:s, s:i, s:I, s:I, s:I, s:s, s:o}", "fair", fairs[c->fair], "weights",
				     (int)c->n_weights, "limit", (json_int_t)c->limit, "limit_bytes",
				     (json_int_t)c->limit_bytes, "limit_ms", (json_int_t)c->limit_ms, "drop",
				     drops[c->drop], "police", tl_policer_json(&c->police)));
	return row;
}

json_t *tl_shaping_json(const struct tl_config *config, uint32_t port)
{
	json_t *shapes = json_array();

	for (uint32_t i = 0; i < config->n_shapes; i++) {
		const struct tl_config_shape *shape = &config->shapes[i];
		json_t *classes = json_array();
		if (shape->port != port) {
			json_decref(classes);
			continue;
		}
		for (uint32_t c = 0; c < shape->n_classes; c++)
			json_array_append_new(classes, explain_class_json(shape, c));
		json_t *row = json_pack("{s:s, s:i, s:i, s:o}", "name", shape->name, "queue", (int)shape->queue,
			"longest_frame_bytes", (int)shape->mtu, "classes", classes);
		if (shape->share != TL_CONFIG_NO_SHARE)
			json_object_update_new(row, json_pack("{s:s, s:s, s:i, s:I}", "share", shape->share_name,
							    "tier", tiers[shape->tier], "weight", (int)shape->weight,
							    "floor_bps", (json_int_t)tl_config_shape_floor(shape)));
		json_array_append_new(shapes, row);
	}
	return shapes;
}

static bool explain_is_last(const struct tl_config_shape *shape, uint32_t cls)
{
	uint32_t i = cls + 1;

	while (i < shape->n_classes && shape->classes[i].parent >= cls)
		i++;
	return i == shape->n_classes || shape->classes[i].parent != shape->classes[cls].parent;
}

// Print the branches to a class: "|  `- ".
static void explain_branches(const struct tl_config_shape *shape, uint32_t cls)
{
	uint32_t above[TL_CONFIG_CLASS_DEPTH_MAX], n = 0;

	for (uint32_t at = shape->classes[cls].parent; at != 0; at = shape->classes[at].parent)
		above[n++] = at;
	printf("    ");
	while (n > 0)
		printf("%s", explain_is_last(shape, above[--n]) ? "   " : "|  ");
	printf("%s", explain_is_last(shape, cls) ? "`- " : "|- ");
}

static const char *bps(uint64_t value, char text[24])
{
	return tl_format_scaled((double)value, text, 24);
}

static void explain_frames(const struct tl_config_class *c)
{
	printf("; %s%s", c->is_default ? "unmatched frames" : TL_PRINTABLE(c->match),
		c->fair != TL_FAIR_NONE ? ", " : "");
	if (c->fair != TL_FAIR_NONE)
		printf("%" PRIu32 " queues by %s", c->flows, fairs[c->fair]);
	if (c->n_weights != 0)
		printf(", %" PRIu32 " weights of hosts", c->n_weights);
	printf("; limit %" PRIu32 " frames", c->limit);
	if (c->limit_bytes != 0)
		printf(", %" PRIu64 " bytes", c->limit_bytes);
	if (c->limit_ms != 0)
		printf(", %" PRIu32 " ms", c->limit_ms);
	if (c->drop == TL_CLASS_DROP_CODEL)
		printf("; CoDel above %" PRIu32 " us for %" PRIu32 " ms", c->target_us, c->interval_ms);
	if (c->police.meter.cir != 0) {
		printf("; policed: ");
		tl_policer_print(&c->police, "frames");
	}
}

// Print the place of a class in a share.
static void explain_member(
	const struct tl_config *config, const struct tl_config_shape *shape, const struct tl_config_class *c)
{
	char floor[24];

	if (c->member.weight != 0)
		printf("; of share %s%s: %s, weight %" PRIu32 ", floor %sbit/s",
			config->shares[shape->class_share].name,
			config->shares[shape->class_share].rate == 0 ? ", as measured" : "", tiers[c->member.tier],
			c->member.weight, bps(tl_config_member_floor(c), floor));
}

static void explain_class(const struct tl_config *config, const struct tl_config_shape *shape, uint32_t cls)
{
	const struct tl_config_class *c = &shape->classes[cls];
	char rate[24], ceil[24], sum[24];

	explain_branches(shape, cls);
	printf("%s: ", c->name);
	if (c->rate != 0)
		printf("%sbit/s guaranteed, ", bps(c->rate, rate));
	printf("at most %sbit/s, prio %" PRIu32, bps(shaping_ceil(shape, cls), ceil), c->prio);
	if (c->has_classes)
		printf("; children guaranteed %sbit/s", bps(explain_children_bps(shape, cls), sum));
	else
		explain_frames(c);
	explain_member(config, shape, c);
	putchar('\n');
}

static void explain_share(const struct tl_config *config, const struct tl_config_shape *shape)
{
	uint64_t limit = config->shares[shape->share].rate;
	char rate[24], floor[24];

	printf("    of share %s, %s%s%s: %s, weight %" PRIu32 ", floor %sbit/s\n", shape->share_name,
		limit != 0 ? "at most " : "", limit != 0 ? bps(limit, rate) : "as measured", limit != 0 ? "bit/s" : "",
		tiers[shape->tier], shape->weight, bps(tl_config_shape_floor(shape), floor));
}

void tl_shaping_print(const struct tl_config *config, uint32_t port)
{
	char rate[24], sum[24];

	for (uint32_t i = 0; i < config->n_shapes; i++) {
		const struct tl_config_shape *shape = &config->shapes[i];
		if (shape->port != port)
			continue;
		printf("  shape %s, queue %" PRIu32 ": at most %sbit/s, classes guaranteed %sbit/s, frames of up to "
		       "%" PRIu32 " bytes\n",
			shape->name, shape->queue, bps(shape->rate, rate), bps(explain_children_bps(shape, 0), sum),
			shape->mtu);
		if (shape->share != TL_CONFIG_NO_SHARE)
			explain_share(config, shape);
		for (uint32_t c = 1; c < shape->n_classes; c++)
			explain_class(config, shape, c);
	}
}
