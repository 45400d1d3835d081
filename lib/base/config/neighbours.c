// SPDX-License-Identifier: BSD-3-Clause
// Neighbours of a port with configured MACs.

#include "config_priv.h"

#include <string.h>

#include <tl_units.h>

int tl_config_neighbour_ip(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_neighbour *n = section;
	const char *text = json_string_value(value);

	if (text != NULL && tl_parse_ipv4(text, &n->ip_be) == 0 && n->ip_be != 0)
		return 0;
	if (text != NULL && tl_parse_ipv6(text, &n->ip6) == 0 && tl_ip6_is_host(&n->ip6))
		return 0;
	return tl_config_not(r, value, "the IPv4 or IPv6 address of a host, such as 192.0.2.7");
}

int tl_config_mac(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_neighbour *n = section;
	static const uint8_t none[sizeof(n->mac)];
	const char *text = json_string_value(value);

	if (text == NULL || tl_parse_mac(text, n->mac) != 0 || (n->mac[0] & 1) != 0 ||
		memcmp(n->mac, none, sizeof(none)) == 0)
		return tl_config_not(r, value, "the MAC address of a host, such as 02:00:5e:10:00:01");
	return 0;
}

static bool is_on_link(const struct tl_config_port *port, const struct tl_config_neighbour *n)
{
	if (!tl_ip6_is_set(&n->ip6))
		return port->ip_be != 0 && ((n->ip_be ^ port->ip_be) & port->mask_be) == 0 && n->ip_be != port->ip_be;
	return tl_ip6_is_set(&port->ip6) && !tl_ip6_equal(&n->ip6, &port->ip6) &&
	       (tl_ip6_is_link_local(&n->ip6) || tl_ip6_same_prefix(&n->ip6, &port->ip6, port->ip6_bits));
}

static bool is_same(const struct tl_config_neighbour *a, const struct tl_config_neighbour *b)
{
	return a->ip_be == b->ip_be && tl_ip6_equal(&a->ip6, &b->ip6);
}

int tl_config_check_neighbours(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_port *port = section;

	for (uint32_t i = 0; i < port->n_neighbours; i++) {
		tl_config_enter(r, "neighbours");
		tl_config_enter_index(r, i);
		tl_config_enter(r, "ip");
		if (!is_on_link(port, &port->neighbours[i]))
			return tl_config_refuse(
				r, "a neighbour is another host inside the prefix of \"ip\" or \"ip6\"");
		for (uint32_t k = 0; k < i; k++)
			if (is_same(&port->neighbours[i], &port->neighbours[k]))
				return tl_config_refuse(r, "this neighbour is entry %u already", k);
		tl_config_leave(r);
		tl_config_leave(r);
		tl_config_leave(r);
	}
	return 0;
}
