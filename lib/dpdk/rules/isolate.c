// SPDX-License-Identifier: BSD-3-Clause
// Rules of an isolated port that follow from its addresses and its echoes.

#include <tl_rules.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <tl_base.h>

struct rules_list {
	struct tl_config_rule *rule;
	uint32_t n;
	bool overflow;
};

static bool is_same_prefix(const struct tl_config_prefix *a, const struct tl_config_prefix *b)
{
	return a->bits == b->bits && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

// Append a derived rule, unless the list has it: echoes may share groups.
static void add_rule(struct rules_list *list, const struct tl_config_rule *rule)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct tl_config_rule *other = &list->rule[i];
		if (other->derived != NULL && other->version == rule->version && other->proto == rule->proto &&
			other->dst_port == rule->dst_port && is_same_prefix(&other->dst, &rule->dst))
			return;
	}
	list->overflow |= list->n == TL_RULES_MAX;
	if (!list->overflow)
		list->rule[list->n++] = *rule;
}

static struct tl_config_prefix network4(uint32_t ip, unsigned bits)
{
	struct tl_config_prefix out = {.bits = (uint8_t)bits};
	uint32_t ip_be = htonl(ip);

	memcpy(out.ip, &ip_be, sizeof(ip_be));
	return out;
}

static struct tl_config_prefix host6(const struct tl_ip6 *ip)
{
	struct tl_config_prefix out = {.bits = 128};

	memcpy(out.ip, ip, sizeof(out.ip));
	return out;
}

static void add_addresses(struct rules_list *list, const struct tl_config_port *port, uint32_t queue)
{
	struct tl_config_rule rule = {.version = 4, .queue = queue, .derived = "address of the port"};

	rule.dst = network4(ntohl(port->ip_be), 32);
	if (port->ip_be != 0)
		add_rule(list, &rule);
	rule.version = 6;
	rule.dst = host6(&port->ip6);
	if (tl_ip6_is_set(&port->ip6))
		add_rule(list, &rule);
}

// Add consecutive groups as the largest networks that have no others.
static void add_range(struct rules_list *list, uint32_t first, uint32_t n, struct tl_config_rule *rule)
{
	while (n != 0) {
		unsigned bits = (unsigned)tl_min_u64((unsigned)__builtin_ctz(first), 31u - (unsigned)__builtin_clz(n));
		rule->dst = network4(first, 32 - bits);
		add_rule(list, rule);
		first += 1u << bits;
		n -= 1u << bits;
	}
}

// Only the first fragment of a datagram has ports: where datagrams are reassembled, the rule compares none.
static void add_groups(
	struct rules_list *list, const struct tl_config_port *port, const struct tl_config_echo *echo, uint32_t queue)
{
	bool whole = port->ip_fragments != TL_CONFIG_FRAGMENTS_REASSEMBLE;
	struct tl_config_rule rule = {.version = 4,
		.proto = TL_CONFIG_PROTO_UDP,
		.dst_port = whole ? ntohs(echo->udp_port_be) : 0,
		.queue = queue,
		.derived = "group of an echo"};

	if (!tl_ip6_is_set(&echo->group6)) {
		add_range(list, ntohl(echo->group_be), (uint32_t)tl_max_u64(echo->n_groups, 1), &rule);
		return;
	}
	rule.version = 6;
	rule.dst = host6(&echo->group6);
	add_rule(list, &rule);
}

int tl_rules_isolate(
	const struct tl_config *config, uint32_t port, const uint16_t *echo_queues, struct tl_config_rule *out)
{
	const struct tl_config_port *cfg = &config->ports[port];
	struct rules_list list = {.rule = out, .n = cfg->n_flow_rules};
	bool has_echo = false;

	memcpy(out, cfg->flow_rules, cfg->n_flow_rules * sizeof(out[0]));
	for (uint32_t i = 0; i < config->n_echoes; i++) {
		const struct tl_config_echo *echo = &config->echoes[i];
		if (echo->port != port)
			continue;
		if (!has_echo)
			add_addresses(&list, cfg, echo_queues[i]);
		has_echo = true;
		if (echo->mode == TL_ECHO_KIND_MCAST_TO_TCP)
			add_groups(&list, cfg, echo, echo_queues[i]);
	}
	return list.overflow ? -ENOSPC : (int)list.n;
}
