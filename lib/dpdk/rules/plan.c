// SPDX-License-Identifier: BSD-3-Clause
// Plan of a port's flow rules.

#include <tl_rules.h>

#include <errno.h>
#include <string.h>

#include <tl_base.h>
#include <tl_err.h>

static unsigned items_of(const struct tl_config_rule *rule)
{
	return (rule->src.bits != 0 ? TL_RULES_SRC_IP : 0) | (rule->dst.bits != 0 ? TL_RULES_DST_IP : 0) |
	       (rule->proto != TL_CONFIG_PROTO_ANY ? TL_RULES_PROTO : 0) |
	       (rule->src_port != 0 ? TL_RULES_SRC_PORT : 0) | (rule->dst_port != 0 ? TL_RULES_DST_PORT : 0);
}

static const char *item_name(unsigned items)
{
	static const char *const names[] = {"src_ip", "dst_ip", "proto", "src_port", "dst_port"};

	return names[__builtin_ctz(items)];
}

static bool is_part(const struct tl_config_prefix *prefix, uint8_t version)
{
	return prefix->bits != 0 && prefix->bits != (version == 4 ? 32 : 128);
}

static struct tl_rules_row refuse(const char *item, const char *why)
{
	return (struct tl_rules_row){.item = item, .why = why};
}

// Check a rule by itself.
static struct tl_rules_row check_alone(const struct tl_rules_way *way, const struct tl_config_rule *rule)
{
	unsigned items = items_of(rule), ports = items & (TL_RULES_SRC_PORT | TL_RULES_DST_PORT);

	if (way->max == 0)
		return refuse(rule->drop ? "drop" : "queue", "this NIC has no filters for it");
	if (rule->version == 6 && !way->ip6)
		return refuse("IPv6", "its filters are of IPv4");
	if ((items & ~way->items) != 0)
		return refuse(item_name(items & ~way->items), "its filters do not compare it");
	if ((way->required & ~items) != 0)
		return refuse(item_name(way->required & ~items), "its filters need one");
	if (!way->prefixes && (is_part(&rule->src, rule->version) || is_part(&rule->dst, rule->version)))
		return refuse(is_part(&rule->src, rule->version) ? "src_ip" : "dst_ip",
			"its filters compare whole addresses, not prefixes");
	if (rule->mark != 0 && !way->marks)
		return refuse("mark", "with its driver no received frame bears one");
	if (way->proto_by_ports && (items & TL_RULES_PROTO) != 0 && ports == 0)
		return refuse("proto", "its filters compare the protocol only together with ports");
	if (way->proto_by_any && (items & ~TL_RULES_PROTO) == 0)
		return refuse("proto", "its filters compare the protocol only together with addresses or ports");
	return (struct tl_rules_row){.way = way};
}

// A marked rule that is not in the NIC is an error: without the mark, the recordings that ask for it record nothing.
static int refuse_marked(const struct tl_rules_row *row, struct tl_err *err)
{
	return tl_fail(err, -ENOTSUP,
		"a rule with a \"mark\" has to be in the NIC, and this one is refused for \"%s\": %s; remove \"mark\", and "
		"select its frames by the \"filter\" of a recording",
		row->item, row->why);
}

static bool same_shape(const struct tl_config_rule *a, const struct tl_config_rule *b)
{
	return items_of(a) == items_of(b) && a->src.bits == b->src.bits && a->dst.bits == b->dst.bits;
}

static bool shares_shape(const struct tl_rules_way *way, const struct tl_config_rule *a, const struct tl_config_rule *b)
{
	return way->shape == TL_RULES_SHAPE_PER_PORT ||
	       (way->shape == TL_RULES_SHAPE_PER_PROTO && a->version == b->version && a->proto == b->proto);
}

// Ways of one family are the same filters if they have the same name.
static bool is_same_way(const struct tl_rules_way *a, const struct tl_rules_way *b)
{
	return a != NULL && b != NULL && strcmp(a->name, b->name) == 0;
}

// Check the rule at index against those before it that the NIC can have. *used: filters of the same kind.
static struct tl_rules_row check_among(const struct tl_rules_plan *plan, const struct tl_config_rule *rules,
	uint32_t index, const struct tl_rules_way *way, uint32_t *used)
{
	*used = 0;
	for (uint32_t i = 0; i < index; i++) {
		if (!is_same_way(plan->row[i].way, way))
			continue;
		++*used;
		if (shares_shape(way, &rules[i], &rules[index]) && !same_shape(&rules[i], &rules[index]))
			return refuse("mask",
				way->shape == TL_RULES_SHAPE_PER_PORT
					? "all its filters of this kind have one mask, and an earlier rule another"
					: "its filters of one protocol have one mask, and an earlier rule another");
	}
	return (struct tl_rules_row){.way = way};
}

int tl_rules_plan(const struct tl_rules_family *family, const struct tl_config_rule *rules, uint32_t n,
	struct tl_rules_plan *out, uint32_t *at, struct tl_err *err)
{
	*out = (struct tl_rules_plan){.family = family, .n = n};
	for (uint32_t i = 0; i < n; i++) {
		struct tl_rules_row *row = &out->row[i];
		uint32_t used = 0;
		if (family == NULL) {
			*row = refuse("driver", "no flow rules of this driver are known");
		} else {
			const struct tl_rules_way *way = rules[i].drop ? &family->drops : &family->to_queue;
			*row = check_alone(way, &rules[i]);
			if (row->way != NULL)
				*row = check_among(out, rules, i, way, &used);
		}
		*at = i;
		if (row->way != NULL && used == row->way->max)
			return tl_fail(err, -ENOSPC, "one rule more than this NIC holds: %u of the kind \"%s\"",
				row->way->max, row->way->name);
		if (row->way == NULL && rules[i].mark != 0)
			return refuse_marked(row, err);
		out->n_drops += row->way != NULL && rules[i].drop;
	}
	return 0;
}
