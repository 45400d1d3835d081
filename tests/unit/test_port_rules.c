// SPDX-License-Identifier: BSD-3-Clause
// Flow rules from the plan to the driver. This program replaces librte_ethdev's functions for rules.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <tl_rules.h>
#include <tl_test.h>

#include "port_priv.h"

#define RULES_MAX 8

// Requests to the driver, and its replies.
static struct {
	int flushed, validated, created, destroyed;
	int refuse_valid, refuse_create; // index of the rejected call; 0: none
	struct rte_flow_item_ipv4 ip4_mask[RULES_MAX];
	enum rte_flow_item_type last_item[RULES_MAX];
	enum rte_flow_action_type actions[RULES_MAX][4];
	uint32_t mark[RULES_MAX];
	uint16_t queue[RULES_MAX], dst_port_be[RULES_MAX];
	uint32_t priority[RULES_MAX];
	bool alive[RULES_MAX + 1];
	uint64_t xstat;
} driver;

int rte_flow_flush(uint16_t port_id, struct rte_flow_error *error)
{
	CU_ASSERT_EQUAL(driver.created, 0);
	driver.flushed++;
	return 0;
}

int rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
	const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	CU_ASSERT_EQUAL(driver.created, 0);
	error->message = "not this one";
	return ++driver.validated == driver.refuse_valid ? -EINVAL : 0;
}

struct rte_flow *rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	int n = driver.created;

	CU_ASSERT_TRUE(attr->ingress);
	CU_ASSERT_EQUAL(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
	if (n + 1 == driver.refuse_create)
		return NULL;
	driver.created++;
	driver.priority[n] = attr->priority;
	if (pattern[1].type == RTE_FLOW_ITEM_TYPE_IPV4)
		driver.ip4_mask[n] = *(const struct rte_flow_item_ipv4 *)pattern[1].mask;
	driver.last_item[n] = pattern[2].type;
	if (pattern[2].type == RTE_FLOW_ITEM_TYPE_UDP) {
		driver.dst_port_be[n] = ((const struct rte_flow_item_udp *)pattern[2].spec)->hdr.dst_port;
		CU_ASSERT_EQUAL(pattern[3].type, RTE_FLOW_ITEM_TYPE_END);
	}
	for (int i = 0; i < 4; i++) {
		driver.actions[n][i] = actions[i].type;
		if (actions[i].type == RTE_FLOW_ACTION_TYPE_QUEUE)
			driver.queue[n] = ((const struct rte_flow_action_queue *)actions[i].conf)->index;
		if (actions[i].type == RTE_FLOW_ACTION_TYPE_MARK)
			driver.mark[n] = ((const struct rte_flow_action_mark *)actions[i].conf)->id;
		if (actions[i].type == RTE_FLOW_ACTION_TYPE_END)
			break;
	}
	driver.alive[n + 1] = true;
	return (struct rte_flow *)(uintptr_t)(n + 1);
}

int rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
	CU_ASSERT_TRUE(driver.alive[(uintptr_t)flow]);
	driver.alive[(uintptr_t)flow] = false;
	driver.destroyed++;
	return 0;
}

// Rule n has 100 n hits.
int rte_flow_query(uint16_t port_id, struct rte_flow *flow, const struct rte_flow_action *action, void *data,
	struct rte_flow_error *error)
{
	CU_ASSERT_EQUAL(action->type, RTE_FLOW_ACTION_TYPE_COUNT);
	*(struct rte_flow_query_count *)data =
		(struct rte_flow_query_count){.hits_set = 1, .hits = 100 * (uintptr_t)flow};
	return 0;
}

int rte_eth_xstats_get_id_by_name(uint16_t port_id, const char *name, uint64_t *id)
{
	*id = 7;
	return strcmp(name, "flow_director_matched_filters") == 0 ? 0 : -EINVAL;
}

int rte_eth_xstats_get_by_id(uint16_t port_id, const uint64_t *ids, uint64_t *values, unsigned size)
{
	CU_ASSERT_EQUAL(ids[0], 7);
	values[0] = driver.xstat;
	return 1;
}

static struct tl_config_rule to_host(uint8_t host, enum tl_config_proto proto, uint32_t dst_port)
{
	return (struct tl_config_rule){.version = 4,
		.dst = {.bits = 32, .ip = {10, 0, 0, host}},
		.proto = proto,
		.dst_port = dst_port,
		.queue = host};
}

static struct tl_config_rule drop_host(uint8_t host, enum tl_config_proto proto)
{
	struct tl_config_rule rule = to_host(host, proto, 0);

	rule.drop = true;
	return rule;
}

// A poll returns a frame with the mark 7, one with the mark 8 if the queue is 1, and three without a mark.
static uint16_t poll_frames(struct tl_rxq *q, struct tl_burst *b)
{
	static struct rte_mbuf frames[] = {{.ol_flags = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID, .hash.fdir.hi = 7},
		{.ol_flags = RTE_MBUF_F_RX_RSS_HASH, .hash.fdir.hi = 7},
		{.ol_flags = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID, .hash.fdir.hi = 256 + 7},
		{.ol_flags = RTE_MBUF_F_RX_FDIR, .hash.fdir.hi = 8},
		{.ol_flags = RTE_MBUF_F_RX_FDIR_ID, .hash.fdir.hi = 8}};

	b->n = q->queue_id == 1 ? 5 : 4;
	for (uint16_t i = 0; i < b->n; i++)
		b->pkts[i] = &frames[i];
	return b->n;
}

static struct tl_port *install(const char *pmd, uint16_t device, const struct tl_config_rule *rules, uint32_t n)
{
	struct tl_port *port = aligned_alloc(TL_CACHE_LINE, sizeof(*port));
	struct tl_rules_plan *plan = calloc(1, sizeof(*plan));
	uint32_t at;

	memset(port, 0, sizeof(*port));
	CU_ASSERT_EQUAL(tl_rules_plan(tl_rules_family(pmd, device), rules, n, plan, &at, NULL), 0);
	port->cfg.rx_queues = 2;
	for (uint16_t q = 0; q < 2; q++)
		port->rxq[q] = (struct tl_rxq){.queue_id = q, .burst = poll_frames};
	port->cfg.rules = rules;
	port->cfg.rules_plan = plan;
	tl_port_install_rules(port);
	return port;
}

static void forget(struct tl_port *port)
{
	tl_port_remove_rules(port);
	for (int i = 0; i <= RULES_MAX; i++)
		CU_ASSERT_FALSE(driver.alive[i]);
	free((void *)port->cfg.rules_plan);
	free(port);
	memset(&driver, 0, sizeof(driver));
}

TL_TEST("planned rules are installed and removed")
{
	const struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_UDP, 5001),
		{.version = 6, .dst.bits = 128, .proto = TL_CONFIG_PROTO_TCP}, to_host(2, TL_CONFIG_PROTO_ANY, 0),
		drop_host(3, TL_CONFIG_PROTO_ANY)};
	struct tl_port *port = install("net_ixgbe", 0x10fb, rules, TL_ARRAY_LEN(rules));
	struct tl_port_rule state;

	CU_ASSERT_EQUAL(driver.flushed, 1);
	CU_ASSERT_EQUAL(driver.created, 3); // without that of IPv6
	CU_ASSERT_EQUAL(driver.queue[0], 1);
	CU_ASSERT_EQUAL(driver.queue[1], 2);
	CU_ASSERT_EQUAL(driver.dst_port_be[0], tl_be16(5001));
	CU_ASSERT_EQUAL(driver.last_item[1], RTE_FLOW_ITEM_TYPE_END);
	CU_ASSERT_EQUAL(driver.actions[2][0], RTE_FLOW_ACTION_TYPE_DROP);
	CU_ASSERT_PTR_NULL(tl_port_rules_refusal(port));
	tl_port_rule(port, 0, &state);
	CU_ASSERT_TRUE(state.installed && !state.counted);
	tl_port_rule(port, 1, &state);
	CU_ASSERT_FALSE(state.installed);
	tl_port_remove_rules(port);
	CU_ASSERT_EQUAL(driver.destroyed, 3);
	tl_port_rule(port, 0, &state);
	CU_ASSERT_FALSE(state.installed);
	forget(port);
}

TL_TEST("the protocol is set where the driver expects it")
{
	const struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_TCP, 0)};
	struct tl_port *port = install("net_ixgbe", 0x10fb, rules, 1);

	CU_ASSERT_EQUAL(driver.ip4_mask[0].hdr.next_proto_id, 0xff);
	CU_ASSERT_EQUAL(driver.ip4_mask[0].hdr.dst_addr, UINT32_MAX);
	CU_ASSERT_EQUAL(driver.ip4_mask[0].hdr.src_addr, 0);
	CU_ASSERT_EQUAL(driver.last_item[0], RTE_FLOW_ITEM_TYPE_TCP);
	forget(port);
	port = install("net_i40e", 0x1572, rules, 1);
	CU_ASSERT_EQUAL(driver.ip4_mask[0].hdr.next_proto_id, 0);
	CU_ASSERT_EQUAL(driver.last_item[0], RTE_FLOW_ITEM_TYPE_TCP);
	forget(port);
}

TL_TEST("a prefix is translated to a mask")
{
	struct tl_config_rule rule = to_host(0, TL_CONFIG_PROTO_ANY, 0);

	rule.dst.bits = 22;
	struct tl_port *port = install("net_mlx5", 0x1017, &rule, 1);
	CU_ASSERT_EQUAL(memcmp(&driver.ip4_mask[0].hdr.dst_addr, "\xff\xff\xfc\x00", 4), 0);
	forget(port);
}

TL_TEST("if one rule is refused, none stays installed")
{
	const struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_TCP, 0), to_host(2, TL_CONFIG_PROTO_TCP, 0),
		to_host(3, TL_CONFIG_PROTO_TCP, 0)};
	struct tl_port_stats stats = {0};
	struct tl_port_rule state;

	driver.refuse_valid = 3;
	struct tl_port *port = install("net_i40e", 0x1572, rules, 3);
	CU_ASSERT_EQUAL(driver.created, 0);
	CU_ASSERT_STRING_EQUAL(
		tl_port_rules_refusal(port), "the driver refuses entry 2 (rte_flow_validate: not this one)");
	forget(port);
	driver.refuse_create = 3;
	port = install("net_i40e", 0x1572, rules, 3);
	CU_ASSERT_EQUAL(driver.created, 2);
	CU_ASSERT_EQUAL(driver.destroyed, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_port_rules_refusal(port), "entry 2 (rte_flow_create"));
	tl_port_rule(port, 0, &state);
	CU_ASSERT_FALSE(state.installed);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT_FALSE(stats.rule_drops_unknown);
	forget(port);
}

TL_TEST("hits are counted if the NIC supports it")
{
	const struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_TCP, 0), drop_host(2, TL_CONFIG_PROTO_UDP),
		drop_host(3, TL_CONFIG_PROTO_UDP)};
	struct tl_port *port = install("net_ice", 0x1592, rules, 3);
	struct tl_port_stats stats = {0};
	struct tl_port_rule state;

	CU_ASSERT_EQUAL(driver.actions[0][0], RTE_FLOW_ACTION_TYPE_COUNT);
	CU_ASSERT_EQUAL(driver.actions[0][1], RTE_FLOW_ACTION_TYPE_QUEUE);
	tl_port_rule(port, 0, &state);
	CU_ASSERT_TRUE(state.counted);
	CU_ASSERT_EQUAL(state.hits_pkts, 100);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT_EQUAL(stats.drop_rule_pkts, 200 + 300);
	CU_ASSERT_FALSE(stats.rule_drops_unknown);
	forget(port);
}

TL_TEST("drops are unknown if the NIC does not count them")
{
	const struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_TCP, 0), drop_host(2, TL_CONFIG_PROTO_UDP)};
	struct tl_port_stats stats = {0};
	struct tl_port_rule state;

	struct tl_port *port = install("net_i40e", 0x1572, rules, 1);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT_FALSE(stats.rule_drops_unknown); // no rule drops
	forget(port);
	port = install("net_i40e", 0x1572, rules, 2);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT_TRUE(stats.rule_drops_unknown);
	tl_port_rule(port, 1, &state);
	CU_ASSERT_TRUE(state.installed && !state.counted);
	forget(port);
}

TL_TEST("a shared drop counter is attributed to a rule only if it is the sole one")
{
	const struct tl_config_rule rules[] = {drop_host(1, TL_CONFIG_PROTO_ANY), drop_host(2, TL_CONFIG_PROTO_ANY)};
	struct tl_port_stats stats = {0};
	struct tl_port_rule state;

	struct tl_port *port = install("net_ixgbe", 0x10fb, rules, 1);
	driver.xstat = 55;
	tl_port_rule(port, 0, &state);
	CU_ASSERT_TRUE(state.counted);
	CU_ASSERT_EQUAL(state.hits_pkts, 55);
	forget(port);
	port = install("net_ixgbe", 0x10fb, rules, 2);
	driver.xstat = 56;
	tl_port_rule(port, 0, &state);
	CU_ASSERT_FALSE(state.counted);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT_EQUAL(stats.drop_rule_pkts, 56);
	CU_ASSERT_FALSE(stats.rule_drops_unknown);
	forget(port);
}

// The counter of an X550 also has what is brought to queues.
TL_TEST("a counter that also has other rules' frames does not count drops")
{
	struct tl_config_rule rules[] = {drop_host(1, TL_CONFIG_PROTO_UDP), drop_host(2, TL_CONFIG_PROTO_UDP),
		to_host(3, TL_CONFIG_PROTO_UDP, 9)};
	struct tl_port_stats stats = {0};

	rules[0].dst_port = rules[1].dst_port = 9;
	driver.xstat = 55;
	struct tl_port *port = install("net_ixgbe", 0x1563, rules, 2);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT(stats.drop_rule_pkts == 55 && !stats.rule_drops_unknown);
	forget(port);
	driver.xstat = 55;
	stats = (struct tl_port_stats){0};
	port = install("net_ixgbe", 0x1563, rules, 3);
	CU_ASSERT_EQUAL(driver.created, 3);
	tl_port_rule_drops(port, &stats);
	CU_ASSERT(stats.drop_rule_pkts == 0 && stats.rule_drops_unknown);
	forget(port);
}

// Otherwise the driver gives the same index to all of an ixgbe's flow director, which distinguishes them by it.
TL_TEST("each filter of a flow director has an index of its own")
{
	const struct tl_config_rule rules[] = {drop_host(1, TL_CONFIG_PROTO_ANY), to_host(2, TL_CONFIG_PROTO_ANY, 0),
		drop_host(3, TL_CONFIG_PROTO_ANY)};

	struct tl_port *port = install("net_ixgbe", 0x10fb, rules, 3);
	CU_ASSERT_EQUAL(driver.actions[0][0], RTE_FLOW_ACTION_TYPE_DROP);
	CU_ASSERT_EQUAL(driver.actions[0][1], RTE_FLOW_ACTION_TYPE_MARK);
	CU_ASSERT_EQUAL(driver.actions[1][1], RTE_FLOW_ACTION_TYPE_END); // a 5-tuple filter
	CU_ASSERT_EQUAL(driver.actions[2][1], RTE_FLOW_ACTION_TYPE_MARK);
	CU_ASSERT(driver.mark[0] == 1 && driver.mark[2] == 3);
	CU_ASSERT_TRUE(port->rxq[0].burst == poll_frames);
	forget(port);
}

// A NIC's priority 0 precedes 1 (rte_flow.rst).
TL_TEST("derived rules have lower priority than configured ones")
{
	struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_TCP, 7), to_host(1, TL_CONFIG_PROTO_ANY, 0)};

	rules[1].derived = "address of the port";
	struct tl_port *port = install("net_tap", 0, rules, TL_ARRAY_LEN(rules));
	CU_ASSERT_EQUAL(driver.created, 2);
	CU_ASSERT(driver.priority[0] == 0 && driver.priority[1] == 1);
	forget(port);
}

TL_TEST("a mark follows the queue, and its frames are counted")
{
	struct tl_config_rule rules[] = {to_host(1, TL_CONFIG_PROTO_TCP, 7), to_host(2, TL_CONFIG_PROTO_TCP, 7),
		to_host(3, TL_CONFIG_PROTO_TCP, 7)};
	struct tl_burst *b = calloc(1, sizeof(*b));
	struct tl_port_rule state;

	rules[0].mark = 7;
	rules[1].mark = 8;
	struct tl_port *port = install("net_ice", 0x1592, rules, TL_ARRAY_LEN(rules));
	CU_ASSERT_EQUAL(driver.actions[0][0], RTE_FLOW_ACTION_TYPE_COUNT);
	CU_ASSERT_EQUAL(driver.actions[0][1], RTE_FLOW_ACTION_TYPE_QUEUE);
	CU_ASSERT_EQUAL(driver.actions[0][2], RTE_FLOW_ACTION_TYPE_MARK);
	CU_ASSERT_EQUAL(driver.actions[2][2], RTE_FLOW_ACTION_TYPE_END);
	CU_ASSERT(driver.mark[0] == 7 && driver.mark[1] == 8);
	for (int i = 0; i < 3; i++)
		for (uint16_t q = 0; q < 2; q++)
			CU_ASSERT_EQUAL(port->rxq[q].burst(&port->rxq[q], b), 4 + q);
	tl_port_rule(port, 0, &state);
	CU_ASSERT_TRUE(state.marked && state.counted);
	CU_ASSERT_EQUAL(state.marked_pkts, 6);
	tl_port_rule(port, 1, &state);
	CU_ASSERT_EQUAL(state.marked_pkts, 3);
	tl_port_rule(port, 2, &state);
	CU_ASSERT_FALSE(state.marked);
	forget(port);
	free(b);
}

TL_TEST("ports without marks poll as before")
{
	struct tl_config_rule rule = to_host(1, TL_CONFIG_PROTO_TCP, 0);

	struct tl_port *port = install("net_ice", 0x1592, &rule, 1);
	CU_ASSERT_TRUE(port->rules.installed && port->rxq[0].burst == poll_frames);
	forget(port);
	rule.mark = 7;
	driver.refuse_create = 1;
	port = install("net_ice", 0x1592, &rule, 1);
	CU_ASSERT_TRUE(!port->rules.installed && port->rxq[0].burst == poll_frames);
	forget(port);
}

int main(void)
{
	return tl_test_run("port_rules");
}
