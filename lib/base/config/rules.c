// SPDX-License-Identifier: BSD-3-Clause
// Flow rules of a port, and the queues of all other frames.

#include "config_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_units.h>

bool tl_config_is_nic(const struct tl_config_port *port, const char **what)
{
	bool file = strncmp(port->device, "pcap:", 5) == 0;

	*what = file ? "a file" : "a kernel interface";
	return strchr(port->device, ':') != NULL && !file && strncmp(port->device, "xdp:", 4) != 0;
}

// ---- one rule

// Parse an address with or without a prefix length. Return its version, or 0.
static uint8_t parse_prefix(const char *text, struct tl_config_prefix *out)
{
	struct tl_ip6 ip6 = {{0}};
	uint32_t ip_be = 0, mask_be = UINT32_MAX;

	out->bits = 128;
	if (tl_parse_ipv4(text, &ip_be) == 0 || tl_parse_ipv4_prefix(text, &ip_be, &mask_be) == 0) {
		memcpy(out->ip, &ip_be, sizeof(ip_be));
		out->bits = (uint8_t)__builtin_popcount(mask_be);
		return 4;
	}
	if (tl_parse_ipv6(text, &ip6) != 0 && tl_parse_ipv6_prefix(text, &ip6, &out->bits) != 0)
		return 0;
	memcpy(out->ip, &ip6, sizeof(out->ip));
	return 6;
}

static bool bit(const uint8_t *ip, unsigned index)
{
	return (ip[index / 8] >> (7 - index % 8) & 1) != 0;
}

uint8_t tl_config_prefix(struct tl_config_reader *r, const json_t *value, struct tl_config_prefix *out)
{
	const char *text = json_string_value(value);
	uint8_t version = text != NULL ? parse_prefix(text, out) : 0;

	if (version == 0)
		tl_config_not(r, value, "an address, or several with a prefix, such as 192.0.2.0/24");
	for (unsigned i = out->bits; version != 0 && i < (version == 4 ? 32u : 128u); i++) {
		if (!bit(out->ip, i))
			continue;
		tl_config_not(r, value, "a network: bits behind its prefix are set");
		version = 0;
	}
	return version;
}

int tl_config_rule_ip(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_rule *rule = section;
	struct tl_config_prefix *prefix = (struct tl_config_prefix *)(void *)((char *)section + key->offset);
	uint8_t version = tl_config_prefix(r, value, prefix);

	if (version == 0)
		return -EINVAL;
	if (rule->version != 0 && rule->version != version)
		return tl_config_refuse(r, "\"src_ip\" is of IPv4 and \"dst_ip\" of IPv6, or the other way round");
	rule->version = version;
	return 0;
}

int tl_config_rule_queue(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_rule *rule = section;
	uint64_t queue = 0;
	int rc = tl_config_integer(r, key, value, &queue);

	rule->queue = (uint32_t)queue;
	return rc;
}

int tl_config_rule_drop(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_rule *rule = section;

	if (!json_is_true(value))
		return tl_config_not(r, value, "true; omit the key in other rules");
	rule->drop = true;
	return 0;
}

int tl_config_check_rule(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_rule *rule = section;
	bool has_queue = json_object_get(value, "queue") != NULL;

	if (rule->src.bits == 0 && rule->dst.bits == 0 && rule->proto == TL_CONFIG_PROTO_ANY)
		return tl_config_refuse(r,
			"a rule has at least one of \"src_ip\", \"dst_ip\", \"proto\"; \"rss_queues\" is for all other frames");
	if (rule->proto == TL_CONFIG_PROTO_ANY && (rule->src_port != 0 || rule->dst_port != 0))
		return tl_config_refuse_key(r, rule->src_port != 0 ? "src_port" : "dst_port",
			"a port belongs to a protocol: add \"proto\": \"tcp\" or \"udp\"");
	if (has_queue == rule->drop)
		return tl_config_refuse(r, "a rule has either \"queue\" or \"drop\"");
	if (rule->drop && rule->mark != 0)
		return tl_config_refuse_key(
			r, "mark", "frames that the NIC drops bear none; remove one of the two keys");
	if (!has_queue)
		rule->queue = TL_CONFIG_QUEUE_AUTO;
	if (rule->version == 0)
		rule->version = 4;
	rule->line = tl_config_line(r);
	return 0;
}

// ---- all rules of a port

static bool prefixes_overlap(const struct tl_config_prefix *a, const struct tl_config_prefix *b)
{
	unsigned bits = a->bits < b->bits ? a->bits : b->bits;

	for (unsigned i = 0; i < bits; i++)
		if (bit(a->ip, i) != bit(b->ip, i))
			return false;
	return true;
}

static bool values_overlap(uint32_t a, uint32_t b)
{
	return a == 0 || b == 0 || a == b;
}

bool tl_config_rules_overlap(const struct tl_config_rule *a, const struct tl_config_rule *b)
{
	return a->version == b->version && prefixes_overlap(&a->src, &b->src) && prefixes_overlap(&a->dst, &b->dst) &&
	       values_overlap(a->proto, b->proto) && values_overlap(a->src_port, b->src_port) &&
	       values_overlap(a->dst_port, b->dst_port);
}

static int check_rule_among(struct tl_config_reader *r, const struct tl_config_port *port, uint32_t index)
{
	const struct tl_config_rule *rule = &port->flow_rules[index];
	char text[TL_CONFIG_RULE_TEXT];

	if (!rule->drop && rule->queue >= port->rx_queues)
		return tl_config_refuse_key(r, "queue", "the port has %u RX queues, counted from 0", port->rx_queues);
	for (uint32_t i = 0; i < index; i++) {
		if (tl_config_rules_overlap(rule, &port->flow_rules[i]))
			return tl_config_refuse(r,
				"a frame may match entry %u, too (%s): which of both applies depends on the NIC; make them "
				"exclude each other",
				i, tl_config_rule_text(&port->flow_rules[i], text));
		if (rule->mark != 0 && rule->mark == port->flow_rules[i].mark)
			return tl_config_refuse_key(r, "mark", "entry %u has this mark already", i);
	}
	return 0;
}

// Check keys that contradict "isolate".
static int check_isolate(struct tl_config_reader *r, const struct tl_config_port *port)
{
	if (!port->isolate)
		return 0;
	if (port->rss_queues != 0)
		return tl_config_refuse_key(r, "rss_queues",
			"an isolated port receives frames of its rules only, and no others are distributed: remove one of "
			"the two keys");
	if (port->vlan != 0)
		return tl_config_refuse_key(
			r, "vlan", "the rules of an isolated port match untagged frames: remove one of the two keys");
	return 0;
}

int tl_config_check_rules(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_port *port = section;
	const char *what;
	int refused = check_isolate(r, port);

	if (refused != 0)
		return refused;
	if (port->n_flow_rules != 0 && !tl_config_is_nic(port, &what))
		return tl_config_refuse_key(r, "flow_rules",
			"only a NIC that DPDK drives, or a \"vdev:\", has flow rules; \"%.64s\" is %s", port->device,
			what);
	for (uint32_t i = 0; i < port->n_flow_rules; i++) {
		tl_config_enter(r, "flow_rules");
		tl_config_enter_index(r, i);
		int rc = check_rule_among(r, port, i);
		if (rc != 0)
			return rc;
		tl_config_leave(r);
		tl_config_leave(r);
	}
	return 0;
}

int tl_config_rss(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_port *port = section; // "device" precedes "rss" in the table
	const char *what;
	int rc = tl_config_choice(r, key, value, section);

	if (rc == 0 && port->rss == TL_CONFIG_RSS_INNER && port->rx_queues < 2)
		return tl_config_refuse(r, "\"inner\" is for ports with several RX queues");
	if (rc == 0 && port->rss == TL_CONFIG_RSS_SYMMETRIC && !tl_config_is_nic(port, &what))
		return tl_config_refuse(r,
			"only a NIC that DPDK drives, or a \"vdev:\", supports an RSS key; \"%.64s\" is %s",
			port->device, what);
	return rc;
}

int tl_config_rss_queues(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section; // "device" and "rx_queues" precede "rss_queues" in the table
	size_t n = json_array_size(value);
	const char *what;

	if (!tl_config_is_nic(port, &what))
		return tl_config_refuse(r,
			"only a NIC that DPDK drives, or a \"vdev:\", has an RSS table; "
			"\"%.64s\" is %s",
			port->device, what);
	if (!json_is_array(value) || n == 0)
		return tl_config_not(r, value, "an array of queues, such as [1, 2, 3]");
	for (size_t i = 0; i < n; i++) {
		uint64_t queue = 0;
		tl_config_enter_index(r, i);
		int rc = tl_config_integer(r, key, json_array_get(value, i), &queue);
		if (rc == 0 && queue >= port->rx_queues)
			rc = tl_config_refuse(r, "the port has %u RX queues, counted from 0", port->rx_queues);
		if (rc == 0 && (port->rss_queues >> queue & 1) != 0)
			rc = tl_config_refuse(r, "queue %u is in the list already", (unsigned)queue);
		if (rc != 0)
			return rc;
		tl_config_leave(r);
		port->rss_queues |= 1u << queue;
	}
	return 0;
}

int tl_config_isolate(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section; // "device" precedes "isolate" in the table
	const char *what;
	int rc = tl_config_bool(r, key, value, section);

	if (rc != 0 || !port->isolate)
		return rc;
	if (!tl_config_is_nic(port, &what))
		return tl_config_refuse(r,
			"only a device that DPDK drives beside the kernel can be isolated, an mlx5 or a net_tap; \"%.64s\" is %s",
			port->device, what);
	port->isolate_line = tl_config_line(r);
	return 0;
}

int tl_config_check_isolated(struct tl_config_reader *r, const struct tl_config *config, uint32_t port)
{
	const struct tl_config_port *cfg = &config->ports[port];
	bool receives = !cfg->isolate;

	for (uint32_t i = 0; i < config->n_echoes; i++)
		receives |= config->echoes[i].port == port;
	for (uint32_t i = 0; i < cfg->n_flow_rules; i++)
		receives |= !cfg->flow_rules[i].drop;
	if (receives)
		return 0;
	return tl_config_refuse_at(r, "ports", port, "isolate",
		"the port receives frames of rules only, and has neither an echo nor a rule with a \"queue\"");
}

// ---- text

static size_t put_prefix(char *text, size_t used, const char *name, uint8_t version, const struct tl_config_prefix *p)
{
	char ip[INET6_ADDRSTRLEN] = "";
	bool whole = p->bits == (version == 4 ? 32 : 128);

	if (p->bits == 0)
		return used;
	(void)inet_ntop(version == 4 ? AF_INET : AF_INET6, p->ip, ip, sizeof(ip));
	used += (size_t)snprintf(text + used, TL_CONFIG_RULE_TEXT - used, "%s%s %s", used != 0 ? " " : "", name, ip);
	if (!whole)
		used += (size_t)snprintf(text + used, TL_CONFIG_RULE_TEXT - used, "/%u", p->bits);
	return used;
}

static size_t put_port(char *text, size_t used, const char *name, uint32_t port)
{
	if (port == 0)
		return used;
	return used + (size_t)snprintf(text + used, TL_CONFIG_RULE_TEXT - used, " %s port %u", name, port);
}

const char *tl_config_rule_text(const struct tl_config_rule *rule, char text[TL_CONFIG_RULE_TEXT])
{
	static const char *const protos[] = {
		[TL_CONFIG_PROTO_ANY] = "", [TL_CONFIG_PROTO_TCP] = "tcp", [TL_CONFIG_PROTO_UDP] = "udp"};
	size_t used = put_prefix(text, 0, "src", rule->version, &rule->src);

	used = put_prefix(text, used, "dst", rule->version, &rule->dst);
	if (rule->proto != TL_CONFIG_PROTO_ANY)
		used += (size_t)snprintf(
			text + used, TL_CONFIG_RULE_TEXT - used, "%s%s", used != 0 ? " " : "", protos[rule->proto]);
	used = put_port(text, used, "src", rule->src_port);
	(void)put_port(text, used, "dst", rule->dst_port);
	return text;
}
