// SPDX-License-Identifier: BSD-3-Clause
// Flow rules of a port: from the plan to rte_flow, and the counters of what they match.

#include "port_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <tl_log.h>
#include <tl_rules.h>

// A rule as rte_flow takes it. Its items and actions point into itself.
struct rule {
	struct rte_flow_item items[4];
	struct rte_flow_action actions[4];
	struct rte_flow_item_ipv4 ip4, ip4_mask;
	struct rte_flow_item_ipv6 ip6, ip6_mask;
	struct rte_flow_item_tcp tcp, tcp_mask;
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_count count;
	struct rte_flow_action_mark mark;
	struct rte_flow_attr attr;
};

_Static_assert(TL_CONFIG_MARK_MAX == TL_PORT_MARK_MAX, "every mark of a configuration is counted");

#define DERIVED_PRIORITY 1 // rules of the configuration precede derived ones

static void set_mask(void *mask, unsigned bits)
{
	uint8_t *byte = mask;

	for (unsigned i = 0; i < bits; i++)
		byte[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

static void set_ip(struct rule *r, const struct tl_config_rule *rule, const struct tl_rules_way *way)
{
	static const uint8_t protos[] = {[TL_CONFIG_PROTO_ANY] = 0,
		[TL_CONFIG_PROTO_TCP] = TL_IPPROTO_TCP,
		[TL_CONFIG_PROTO_UDP] = TL_IPPROTO_UDP};

	if (rule->version == 6) {
		memcpy(&r->ip6.hdr.src_addr, rule->src.ip, sizeof(r->ip6.hdr.src_addr));
		memcpy(&r->ip6.hdr.dst_addr, rule->dst.ip, sizeof(r->ip6.hdr.dst_addr));
		set_mask(&r->ip6_mask.hdr.src_addr, rule->src.bits);
		set_mask(&r->ip6_mask.hdr.dst_addr, rule->dst.bits);
		r->items[1] =
			(struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_IPV6, .spec = &r->ip6, .mask = &r->ip6_mask};
		return;
	}
	memcpy(&r->ip4.hdr.src_addr, rule->src.ip, sizeof(r->ip4.hdr.src_addr));
	memcpy(&r->ip4.hdr.dst_addr, rule->dst.ip, sizeof(r->ip4.hdr.dst_addr));
	set_mask(&r->ip4_mask.hdr.src_addr, rule->src.bits);
	set_mask(&r->ip4_mask.hdr.dst_addr, rule->dst.bits);
	if (way->proto_in_ip && rule->proto != TL_CONFIG_PROTO_ANY) {
		r->ip4.hdr.next_proto_id = protos[rule->proto];
		r->ip4_mask.hdr.next_proto_id = UINT8_MAX;
	}
	r->items[1] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &r->ip4, .mask = &r->ip4_mask};
}

static uint16_t port_mask(uint32_t port)
{
	return port != 0 ? UINT16_MAX : 0;
}

static void set_l4(struct rule *r, const struct tl_config_rule *rule)
{
	uint16_t src_be = tl_be16((uint16_t)rule->src_port), dst_be = tl_be16((uint16_t)rule->dst_port);

	if (rule->proto == TL_CONFIG_PROTO_TCP) {
		r->tcp.hdr.src_port = src_be;
		r->tcp.hdr.dst_port = dst_be;
		r->tcp_mask.hdr.src_port = port_mask(rule->src_port);
		r->tcp_mask.hdr.dst_port = port_mask(rule->dst_port);
		r->items[2] =
			(struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_TCP, .spec = &r->tcp, .mask = &r->tcp_mask};
	} else if (rule->proto == TL_CONFIG_PROTO_UDP) {
		r->udp.hdr.src_port = src_be;
		r->udp.hdr.dst_port = dst_be;
		r->udp_mask.hdr.src_port = port_mask(rule->src_port);
		r->udp_mask.hdr.dst_port = port_mask(rule->dst_port);
		r->items[2] =
			(struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &r->udp, .mask = &r->udp_mask};
	}
}

// Set the mark of the configuration, or an index of the filter's own, which no frame bears.
static void set_actions(
	struct rule *r, const struct tl_config_rule *rule, const struct tl_rules_way *way, uint32_t index)
{
	struct rte_flow_action *action = r->actions;

	if (way->counts)
		*action++ = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &r->count};
	r->queue.index = (uint16_t)rule->queue;
	*action++ = rule->drop ? (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_DROP}
			       : (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &r->queue};
	r->mark.id = way->index_by_mark ? index + 1 : rule->mark;
	if (r->mark.id != 0)
		*action = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_MARK, .conf = &r->mark};
}

// Translate a rule. Unset elements stay 0: RTE_FLOW_ITEM_TYPE_END and RTE_FLOW_ACTION_TYPE_END.
static void translate(const struct tl_port *port, uint32_t index, struct rule *out)
{
	const struct tl_config_rule *rule = &port->cfg.rules[index];
	const struct tl_rules_way *way = port->cfg.rules_plan->row[index].way;

	*out = (struct rule){.items[0] = {.type = RTE_FLOW_ITEM_TYPE_ETH},
		.count.id = index,
		.attr = {.ingress = 1, .priority = rule->derived != NULL ? DERIVED_PRIORITY : 0}};
	set_ip(out, rule, way);
	set_l4(out, rule);
	set_actions(out, rule, way, index);
}

static int refuse(struct tl_port *port, uint32_t index, const char *call, const struct rte_flow_error *error)
{
	snprintf(port->rules.refusal, sizeof(port->rules.refusal), "the driver refuses entry %u (%s: %s)", index, call,
		error->message != NULL ? error->message : "without a reason");
	return -ENOTSUP;
}

static int validate_rule(struct tl_port *port, uint32_t index, const struct rule *rule)
{
	struct rte_flow_error error = {0};
	int rc = rte_flow_validate(port->port_id, &rule->attr, rule->items, rule->actions, &error);

	return rc == 0 ? 0 : refuse(port, index, "rte_flow_validate", &error);
}

static int create_rule(struct tl_port *port, uint32_t index, const struct rule *rule)
{
	struct rte_flow_error error = {0};

	port->rules.flow[index] = rte_flow_create(port->port_id, &rule->attr, rule->items, rule->actions, &error);
	return port->rules.flow[index] != NULL ? 0 : refuse(port, index, "rte_flow_create", &error);
}

// Give each planned rule to the driver, until one is refused.
static int give_rules(struct tl_port *port, int (*give)(struct tl_port *port, uint32_t index, const struct rule *rule))
{
	const struct tl_rules_plan *plan = port->cfg.rules_plan;
	struct rule rule;
	int rc = 0;

	for (uint32_t i = 0; i < plan->n && rc == 0; i++) {
		if (plan->row[i].way == NULL)
			continue;
		translate(port, i, &rule);
		rc = give(port, i, &rule);
	}
	return rc;
}

// ---- marks

bool tl_port_has_marks(const struct tl_port *port)
{
	const struct tl_rules_plan *plan = port->cfg.rules_plan;
	bool has = false;

	for (uint32_t i = 0; plan != NULL && i < plan->n; i++)
		has |= port->cfg.rules[i].mark != 0;
	return has;
}

// Let each queue count the marks of its frames. Return 0 or -ENOMEM.
static int count_marks(struct tl_port *port)
{
	size_t bytes = port->cfg.rx_queues * sizeof(struct tl_marked);
	struct tl_marked *marked = port->rules.marked = aligned_alloc(TL_CACHE_LINE, bytes);

	if (marked == NULL)
		return -ENOMEM;
	memset(marked, 0, bytes);
	for (uint16_t q = 0; q < port->cfg.rx_queues; q++) {
		marked[q].burst = port->rxq[q].burst;
		port->rxq[q].marked = &marked[q];
		port->rxq[q].burst = tl_eth_marked_burst;
	}
	return 0;
}

static void forget_marks(struct tl_port *port)
{
	for (uint16_t q = 0; port->rules.marked != NULL && q < port->cfg.rx_queues; q++)
		port->rxq[q].burst = port->rules.marked[q].burst;
	free(port->rules.marked);
	port->rules.marked = NULL;
}

static uint64_t marked_pkts(const struct tl_port *port, uint32_t mark)
{
	uint64_t pkts = 0;

	for (uint16_t q = 0; q < port->cfg.rx_queues; q++)
		pkts += tl_count_read(&port->rules.marked[q].pkts[mark]);
	return pkts;
}

// ---- installation

// True if only dropping rules use their kind of filters, so that one counter of its matches is of what they drop.
static bool drops_are_alone(const struct tl_port *port)
{
	const struct tl_rules_plan *plan = port->cfg.rules_plan;

	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->row[i].way != NULL && !port->cfg.rules[i].drop &&
			strcmp(plan->row[i].way->name, plan->family->drops.name) == 0)
			return false;
	return true;
}

void tl_port_install_rules(struct tl_port *port)
{
	const struct tl_rules_plan *plan = port->cfg.rules_plan;
	struct tl_port_rules *rules = &port->rules;
	struct rte_flow_error error;

	if (plan == NULL || plan->n == 0)
		return;
	*rules = (struct tl_port_rules){.flow = calloc(plan->n, sizeof(rules->flow[0])), .refusal = "out of memory"};
	(void)rte_flow_flush(port->port_id, &error); // of a process that ended without removing them
	int rc = rules->flow != NULL ? give_rules(port, validate_rule) : -ENOMEM;
	if (rc == 0)
		rc = give_rules(port, create_rule);
	if (rc == 0 && tl_port_has_marks(port))
		rc = count_marks(port);
	rules->installed = rc == 0;
	if (rc != 0) {
		tl_port_remove_rules(port);
		if (!port->cfg.isolate && !tl_port_has_marks(port)) // else the port does not start
			tl_warn("port %s: no flow rule is installed: %s; frames are spread by RSS", port->name,
				rules->refusal);
		return;
	}
	rules->refusal[0] = '\0';
	if (plan->n_drops != 0 && plan->family->drop_counter != NULL && drops_are_alone(port))
		rules->counts_drops = rte_eth_xstats_get_id_by_name(
					      port->port_id, plan->family->drop_counter, &rules->drop_counter) == 0;
}

void tl_port_remove_rules(struct tl_port *port)
{
	struct tl_port_rules *rules = &port->rules;
	struct rte_flow_error error;

	for (uint32_t i = 0; rules->flow != NULL && i < port->cfg.rules_plan->n; i++) {
		if (rules->flow[i] != NULL && rte_flow_destroy(port->port_id, rules->flow[i], &error) != 0)
			tl_warn("port %s: entry %u of its flow rules was not removed: the next start does that",
				port->name, i);
	}
	forget_marks(port);
	free(rules->flow);
	rules->flow = NULL;
	rules->installed = false;
}

// ---- counters

static bool query(const struct tl_port *port, uint32_t index, uint64_t *pkts)
{
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_query_count count = {0};
	struct rte_flow_error error;

	if (rte_flow_query(port->port_id, port->rules.flow[index], actions, &count, &error) != 0 || !count.hits_set)
		return false;
	*pkts = count.hits;
	return true;
}

// Read the one counter of all dropping rules.
static bool read_drop_counter(const struct tl_port *port, uint64_t *pkts)
{
	return port->rules.counts_drops &&
	       rte_eth_xstats_get_by_id(port->port_id, &port->rules.drop_counter, pkts, 1) == 1;
}

void tl_port_rule_drops(const struct tl_port *port, struct tl_port_stats *out)
{
	const struct tl_rules_plan *plan = port->cfg.rules_plan;
	uint64_t pkts;

	if (!port->rules.installed || plan->n_drops == 0 || read_drop_counter(port, &out->drop_rule_pkts))
		return;
	for (uint32_t i = 0; i < plan->n; i++) {
		if (!port->cfg.rules[i].drop || port->rules.flow[i] == NULL)
			continue;
		if (plan->row[i].way->counts && query(port, i, &pkts))
			out->drop_rule_pkts += pkts;
		else
			out->rule_drops_unknown = true;
	}
}

void tl_port_rule(const struct tl_port *port, uint32_t index, struct tl_port_rule *out)
{
	const struct tl_rules_plan *plan = port->cfg.rules_plan;

	*out = (struct tl_port_rule){.installed = port->rules.installed && port->rules.flow[index] != NULL};
	out->marked = out->installed && port->cfg.rules[index].mark != 0;
	if (out->marked)
		out->marked_pkts = marked_pkts(port, port->cfg.rules[index].mark);
	if (!out->installed || tl_port_removed(port, NULL))
		return;
	if (plan->row[index].way->counts)
		out->counted = query(port, index, &out->hits_pkts);
	else if (port->cfg.rules[index].drop && plan->n_drops == 1)
		out->counted = read_drop_counter(port, &out->hits_pkts);
}

const char *tl_port_rules_refusal(const struct tl_port *port)
{
	return port->rules.refusal[0] != '\0' ? port->rules.refusal : NULL;
}
