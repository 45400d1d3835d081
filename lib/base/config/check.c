// SPDX-License-Identifier: BSD-3-Clause
// Checks across keys: names that must be unique or exist, and contradictory settings.

#include "config_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_files.h>
#include <tl_units.h>

#define IP6_MTU_MIN 1280u // RFC 8200, section 5

static const char *file_of(const struct tl_config_port *port)
{
	return strncmp(port->device, "pcap:", 5) == 0 ? port->device + 5 : NULL;
}

// The kernel interface "eth0" and the AF_XDP port "xdp:eth0" are one device.
static const char *bare_device(const struct tl_config_port *port)
{
	return strncmp(port->device, "xdp:", 4) == 0 ? port->device + 4 : port->device;
}

// Compare two devices. A virtual device is identified by its name, regardless of its arguments; PCI addresses may be in
// capitals.
static bool is_same_device(const struct tl_config_port *a, const struct tl_config_port *b)
{
	const char *one = bare_device(a), *other = bare_device(b);
	size_t chars = strcspn(one, ",");
	bool is_interface = strchr(one, ':') == NULL;

	return strcspn(other, ",") == chars &&
	       (is_interface ? strncmp(one, other, chars) : strncasecmp(one, other, chars)) == 0;
}

static int check_ip6(struct tl_config_reader *r, const struct tl_config_port *port, uint32_t index)
{
	if (!tl_ip6_is_set(&port->ip6) || port->mtu >= IP6_MTU_MIN)
		return 0;
	return tl_config_refuse_at(
		r, "ports", index, "mtu", "IPv6 needs %u at least; raise it, or leave out \"ip6\"", IP6_MTU_MIN);
}

static int check_port(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_port *port = &config->ports[index];

	for (uint32_t i = 0; i < index; i++) {
		const struct tl_config_port *other = &config->ports[i];
		if (strcmp(port->name, other->name) == 0)
			return tl_config_refuse_at(
				r, "ports", index, "name", "$.ports[%u] is called \"%s\" already", i, port->name);
		if (file_of(port) == NULL && is_same_device(port, other))
			return tl_config_refuse_at(r, "ports", index, "device",
				"the port \"%s\" has the device \"%s\" already", other->name, other->device);
	}
	return check_ip6(r, port, index);
}

// Check probes: only a port with an echo sends.
static int check_probes(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_port *port = &config->ports[index];
	uint32_t per_s = port->ptp_probes_per_s + port->reply_stamps_per_s;
	bool has_echo = false;

	for (uint32_t i = 0; i < config->n_echoes; i++)
		has_echo |= config->echoes[i].port == index;
	if (per_s == 0 || (has_echo && per_s <= TL_CONFIG_PROBES_MAX))
		return 0;
	tl_config_point_at(
		r, "ports", index, port->reply_stamps_per_s != 0 ? "reply_stamps_per_s" : "ptp_probes_per_s");
	if (has_echo)
		return tl_config_refuse(r,
			"with ptp_probes_per_s it makes %u: the NIC stamps one frame at a time, %u a second "
			"in all",
			per_s, TL_CONFIG_PROBES_MAX);
	return tl_config_refuse(
		r, "a port without an echo sends nothing; set 0 to stamp the PTP frames that it receives");
}

// Port or replay that an lcore serves.
struct lcore_user {
	const char *kind, *name;
};

// Check an lcore at the current path: it has one user.
static int check_lcore(struct tl_config_reader *r, const struct tl_config *config, uint32_t lcore, const char *kind,
	const char *name, struct lcore_user *users)
{
	if (lcore == config->eal.main_lcore)
		return tl_config_refuse(r, "lcore %u is the main lcore (eal.main_lcore); choose another", lcore);
	if (users[lcore].name != NULL)
		return tl_config_refuse(
			r, "lcore %u serves the %s \"%s\" already", lcore, users[lcore].kind, users[lcore].name);
	users[lcore] = (struct lcore_user){kind, name};
	return 0;
}

static int check_lcores(struct tl_config_reader *r, const struct tl_config *config)
{
	struct lcore_user users[TL_CONFIG_LCORE_MAX + 1] = {{NULL, NULL}};
	int rc = 0;

	for (uint32_t i = 0; i < config->n_ports; i++) {
		const struct tl_config_port *port = &config->ports[i];
		for (uint32_t q = 0; q < port->rx_queues; q++) {
			uint32_t lcore = port->lcores[q];
			if (lcore == TL_CONFIG_LCORE_AUTO)
				continue;
			tl_config_point_at(r, "ports", i, "lcores");
			tl_config_enter_index(r, q);
			rc = check_lcore(r, config, lcore, "port", port->name, users);
			if (rc != 0)
				return rc;
		}
	}
	for (uint32_t i = 0; i < config->n_replays && rc == 0; i++) {
		tl_config_point_at(r, "replay", i, "lcore");
		if (config->replays[i].lcore != TL_CONFIG_LCORE_AUTO)
			rc = check_lcore(r, config, config->replays[i].lcore, "replay", config->replays[i].name, users);
	}
	return rc;
}

int tl_config_resolve_port(
	struct tl_config_reader *r, const struct tl_config *config, const char *name, uint32_t *out_index)
{
	char known[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < config->n_ports; i++) {
		if (strcmp(config->ports[i].name, name) == 0) {
			*out_index = i;
			return 0;
		}
		if (used < sizeof(known))
			used += (size_t)snprintf(
				known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", config->ports[i].name);
	}
	return tl_config_refuse(r, "unknown port \"%.64s\"; the ports are: %s", name, known);
}

static int check_capture_path(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const char *path = config->captures[index].path;

	tl_config_point_at(r, "capture", index, "path");
	if (strcmp(path, "null:") == 0) // no content that could be mixed up
		return 0;
	for (uint32_t i = 0; i < index; i++) {
		if (strcmp(path, config->captures[i].path) == 0)
			return tl_config_refuse(r, "$.capture[%u] writes to %s already", i,
				strcmp(path, "-") == 0 ? "stdout" : "this file");
	}
	for (uint32_t i = 0; i < config->n_ports; i++) {
		const char *input = file_of(&config->ports[i]);
		if (input != NULL && (strcmp(path, input) == 0 || tl_is_same_file(path, input)))
			return tl_config_refuse(r, "the port \"%s\" reads this file", config->ports[i].name);
	}
	return 0;
}

static int check_capture(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_capture *capture = &config->captures[index];

	tl_config_point_at(r, "capture", index, "port");
	int rc = tl_config_resolve_port(r, config, capture->port_name, &capture->port);
	if (rc == 0)
		rc = check_capture_path(r, config, index);
	if (rc == 0)
		rc = tl_config_join_disk(r, config, index);
	if (rc == 0) {
		tl_config_point_at(r, "capture", index, "marks");
		rc = tl_config_check_marks(r, config, index);
	}
	for (uint32_t i = 0; i < capture->n_classes && rc == 0; i++) {
		tl_config_point_at(r, "capture", index, "classes");
		tl_config_enter_index(r, i);
		rc = tl_config_check_buckets(r, &config->ports[capture->port], &capture->classes[i].meter, 0);
	}
	return rc;
}

static int name_echo(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_echo *echo = &config->echoes[index];

	if (echo->name == NULL && asprintf(&echo->name, "echo%u", index) < 0) {
		echo->name = NULL;
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	}
	for (uint32_t i = 0; i < index; i++) {
		if (strcmp(echo->name, config->echoes[i].name) == 0)
			return tl_config_refuse_at(
				r, "echo", index, "name", "$.echo[%u] is called \"%s\" already", i, echo->name);
	}
	return 0;
}

static int check_echo_port(struct tl_config_reader *r, struct tl_config *config, struct tl_config_echo *echo)
{
	int rc = tl_config_resolve_port(r, config, echo->port_name, &echo->port);
	if (rc != 0)
		return rc;
	const struct tl_config_port *port = &config->ports[echo->port];
	if (file_of(port) != NULL)
		return tl_config_refuse(r, "the port \"%s\" is a file: it cannot send", port->name);
	if (port->ip_be == 0 && !tl_ip6_is_set(&port->ip6))
		return tl_config_refuse(r, "the port \"%s\" has no \"ip\" to echo from", port->name);
	return 0;
}

// Check that the port of an echo supports the family of an address. The error is reported at the current path.
static int check_family(struct tl_config_reader *r, const struct tl_config_port *port, bool is_ip6)
{
	if (is_ip6 && !tl_ip6_is_set(&port->ip6))
		return tl_config_refuse(r, "is of IPv6, but the port \"%s\" has no \"ip6\"", port->name);
	if (!is_ip6 && port->ip_be == 0)
		return tl_config_refuse(r, "is of IPv4, but the port \"%s\" has no \"ip\"", port->name);
	return 0;
}

static int check_peer6(struct tl_config_reader *r, const struct tl_config_port *port, const struct tl_ip6 *connect_ip6)
{
	char peer[TL_IPV6_TEXT];

	tl_format_ipv6(connect_ip6, peer);
	if (tl_ip6_equal(connect_ip6, &port->ip6))
		return tl_config_refuse(r, "%s is the port's own address", peer);
	if (port->isolate && tl_ip6_is_link_local(connect_ip6) && !tl_ip6_is_link_local(&port->ip6))
		return tl_config_refuse(r,
			"%s would answer to the link-local address, which the kernel has on an isolated port: give another "
			"address of the peer",
			peer);
	if (!tl_ip6_is_link_local(connect_ip6) && !tl_ip6_same_prefix(connect_ip6, &port->ip6, port->ip6_bits) &&
		!tl_ip6_is_set(&port->gateway6))
		return tl_config_refuse(
			r, "%s is outside the IPv6 prefix of the port \"%s\", which has no gateway6", peer, port->name);
	return 0;
}

static int check_echo_peer(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_echo *echo = &config->echoes[index];
	const struct tl_config_port *port = &config->ports[echo->port];
	char peer[TL_IPV4_TEXT];

	if (echo->mode != TL_ECHO_KIND_MCAST_TO_TCP)
		return 0;
	tl_config_point_at(r, "echo", index, "receive");
	tl_config_enter(r, "group");
	int rc = check_family(r, port, tl_ip6_is_set(&echo->group6));
	if (rc != 0)
		return rc;
	tl_config_point_at(r, "echo", index, "send");
	tl_config_enter(r, "tcp_connect");
	rc = check_family(r, port, tl_ip6_is_set(&echo->connect_ip6));
	if (rc != 0 || tl_ip6_is_set(&echo->connect_ip6))
		return rc != 0 ? rc : check_peer6(r, port, &echo->connect_ip6);
	tl_format_ipv4(echo->connect_ip_be, peer);
	if (echo->connect_ip_be == port->ip_be)
		return tl_config_refuse(r, "%s is the port's own address", peer);
	if (((echo->connect_ip_be ^ port->ip_be) & port->mask_be) != 0 && port->gateway_be == 0)
		return tl_config_refuse(
			r, "%s is outside the prefix of the port \"%s\", which has no gateway", peer, port->name);
	return 0;
}

bool tl_config_share_a_group(const struct tl_config_echo *a, const struct tl_config_echo *b)
{
	uint32_t first = ntohl(a->group_be), other = ntohl(b->group_be);

	return tl_ip6_equal(&a->group6, &b->group6) && (other - first < a->n_groups || first - other < b->n_groups);
}

// True if both echoes would receive the same message.
static bool receive_the_same(const struct tl_config_echo *a, const struct tl_config_echo *b)
{
	if (a->port != b->port || a->mode != b->mode)
		return false;
	if (a->mode == TL_ECHO_KIND_MCAST_TO_TCP)
		return tl_config_share_a_group(a, b) && a->udp_port_be == b->udp_port_be;
	return a->listen_port_be == b->listen_port_be;
}

static int check_echo_input(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	static const char *const keys[] = {[TL_ECHO_KIND_MCAST_TO_TCP] = "receive",
		[TL_ECHO_KIND_TCP] = "tcp_listen",
		[TL_ECHO_KIND_UDP] = "udp_listen"};
	const struct tl_config_echo *echo = &config->echoes[index];

	for (uint32_t i = 0; i < index; i++) {
		if (!receive_the_same(echo, &config->echoes[i]))
			continue;
		return tl_config_refuse_at(r, "echo", index, keys[echo->mode],
			"the echo \"%s\" listens to this on the port \"%s\" already", config->echoes[i].name,
			echo->port_name);
	}
	return 0;
}

// Check the queue: one lcore owns a group.
static int check_echo_queue(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_echo *echo = &config->echoes[index];
	const struct tl_config_port *port = &config->ports[echo->port];

	if (echo->queue == TL_CONFIG_QUEUE_AUTO)
		return 0;
	tl_config_point_at(r, "echo", index, "queue");
	if (echo->queue >= port->rx_queues)
		return tl_config_refuse(
			r, "the port \"%s\" has %u RX queues, counted from 0", port->name, port->rx_queues);
	for (uint32_t i = 0; i < index; i++) {
		const struct tl_config_echo *other = &config->echoes[i];
		if (other->port == echo->port && echo->mode == TL_ECHO_KIND_MCAST_TO_TCP && other->mode == echo->mode &&
			tl_config_share_a_group(other, echo) && other->queue != TL_CONFIG_QUEUE_AUTO &&
			other->queue != echo->queue)
			return tl_config_refuse(r,
				"the echo \"%s\" receives the same group on queue %u: one lcore owns a group",
				other->name, other->queue);
	}
	return 0;
}

// Replies to be stamped leave with the burst of their message.
static int check_echo_delay(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_echo *echo = &config->echoes[index];

	if (echo->delay_ns == 0 || config->ports[echo->port].reply_stamps_per_s == 0)
		return 0;
	return tl_config_refuse_at(r, "echo", index, "delay",
		"delayed replies are not stamped: leave out \"reply_stamps_per_s\" of the port \"%s\", or the delay",
		echo->port_name);
}

static int check_echo_police(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_echo *echo = &config->echoes[index];

	if (echo->police.meter.cir == 0)
		return 0;
	tl_config_point_at(r, "echo", index, "police");
	int rc = tl_config_check_unmarked(r, &echo->police);
	return rc == 0 ? tl_config_check_buckets(r, &config->ports[echo->port], &echo->police.meter, 0) : rc;
}

static int check_echo(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	int rc = name_echo(r, config, index);

	tl_config_point_at(r, "echo", index, "port");
	if (rc == 0)
		rc = check_echo_port(r, config, &config->echoes[index]);
	if (rc == 0)
		rc = check_echo_peer(r, config, index);
	if (rc == 0)
		rc = check_echo_input(r, config, index);
	if (rc == 0)
		rc = check_echo_queue(r, config, index);
	if (rc == 0)
		rc = check_echo_delay(r, config, index);
	if (rc == 0)
		rc = check_echo_police(r, config, index);
	return rc;
}

// Check triggers after the echoes, whose ports are resolved then.
static int check_trigger(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_capture *capture = &config->captures[index];

	if (capture->trigger.echo_latency_us == 0)
		return 0;
	for (uint32_t i = 0; i < config->n_echoes; i++)
		if (config->echoes[i].port == capture->port)
			return 0;
	tl_config_point_at(r, "capture", index, "trigger");
	tl_config_enter(r, "echo_latency_us");
	return tl_config_refuse(r, "no echo on the port \"%s\"", capture->port_name);
}

int tl_config_check(struct tl_config_reader *r, struct tl_config *config)
{
	int rc = 0;

	for (uint32_t i = 0; i < config->n_ports && rc == 0; i++)
		rc = check_port(r, config, i);
	if (rc == 0)
		rc = check_lcores(r, config);
	for (uint32_t i = 0; i < config->n_captures && rc == 0; i++)
		rc = check_capture(r, config, i);
	for (uint32_t i = 0; i < config->n_echoes && rc == 0; i++)
		rc = check_echo(r, config, i);
	for (uint32_t i = 0; i < config->n_captures && rc == 0; i++)
		rc = check_trigger(r, config, i);
	for (uint32_t i = 0; i < config->n_ports && rc == 0; i++)
		rc = check_probes(r, config, i);
	for (uint32_t i = 0; i < config->n_replays && rc == 0; i++)
		rc = tl_config_check_replay(r, config, i);
	for (uint32_t i = 0; i < config->n_ports && rc == 0; i++)
		rc = tl_config_check_isolated(r, config, i);
	for (uint32_t i = 0; i < config->n_shapes && rc == 0; i++)
		rc = tl_config_check_shape(r, config, i);
	for (uint32_t i = 0; i < config->n_shares && rc == 0; i++)
		rc = tl_config_check_share(r, config, i);
	return rc != 0 ? rc : tl_config_check_roles(r, config);
}
