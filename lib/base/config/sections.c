// SPDX-License-Identifier: BSD-3-Clause
// Tables of keys, one per section of the file, and readers for values of a single section.

#include "config_priv.h"

#include <arpa/inet.h>
#include <string.h>

#include <tl_units.h>

#define SCOPE_LINK 2 // of an IPv6 group (RFC 4291, section 2.7): smallest scope that leaves a host

static bool is_multicast(uint32_t ip_be)
{
	return ntohl(ip_be) >> 28 == 0xe; // 224.0.0.0/4
}

// True for an address of a single host: not 0.0.0.0/8, not multicast or reserved (RFC 1122 section 3.2.1.3).
static bool is_unicast(uint32_t ip_be)
{
	uint32_t first = ntohl(ip_be) >> 24;

	return first != 0 && first < 224;
}

// True for a host address in its prefix, not the network or its broadcast (RFC 3021: /31 has neither).
static bool is_host(uint32_t ip_be, uint32_t mask_be)
{
	uint32_t host_bits = ntohl(~mask_be), host = ntohl(ip_be) & host_bits;

	return is_unicast(ip_be) && (host_bits <= 1 || (host != 0 && host != host_bits));
}

static int read_ip(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section;
	const char *text = json_string_value(value);

	if (text == NULL || tl_parse_ipv4_prefix(text, &port->ip_be, &port->mask_be) != 0)
		return tl_config_not(r, value, "an IPv4 address with a prefix, such as 192.0.2.1/24");
	if (!is_host(port->ip_be, port->mask_be))
		return tl_config_not(
			r, value, "the address of a host: it is the network's own, broadcast or multicast");
	return 0;
}

static int read_gateway(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section; // "ip" precedes "gateway" in the table
	const char *text = json_string_value(value);

	if (text == NULL || tl_parse_ipv4(text, &port->gateway_be) != 0)
		return tl_config_not(r, value, "an IPv4 address, such as 192.0.2.254");
	if (port->ip_be == 0)
		return tl_config_refuse(r, "a gateway requires \"ip\"");
	if ((port->gateway_be & port->mask_be) != (port->ip_be & port->mask_be))
		return tl_config_not(r, value, "inside the prefix of \"ip\"");
	if (port->gateway_be == port->ip_be)
		return tl_config_not(r, value, "another address than \"ip\"");
	if (!is_host(port->gateway_be, port->mask_be))
		return tl_config_not(r, value, "the address of a host: it is the network's own or its broadcast");
	return 0;
}

static int read_ip6(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section;
	const char *text = json_string_value(value);

	if (text == NULL || tl_parse_ipv6_prefix(text, &port->ip6, &port->ip6_bits) != 0)
		return tl_config_not(r, value, "an IPv6 address with a prefix, such as 2001:db8::1/64");
	if (!tl_ip6_is_host(&port->ip6))
		return tl_config_not(r, value, "the address of a host: it is unspecified, loopback or multicast");
	return 0;
}

static int read_gateway6(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section; // "ip6" precedes "gateway6" in the table
	const char *text = json_string_value(value);

	if (text == NULL || tl_parse_ipv6(text, &port->gateway6) != 0 || !tl_ip6_is_host(&port->gateway6))
		return tl_config_not(r, value, "the IPv6 address of a router, such as 2001:db8::fe or fe80::1");
	if (!tl_ip6_is_set(&port->ip6))
		return tl_config_refuse(r, "an IPv6 gateway requires \"ip6\"");
	if (!tl_ip6_is_link_local(&port->gateway6) && !tl_ip6_same_prefix(&port->gateway6, &port->ip6, port->ip6_bits))
		return tl_config_not(r, value, "inside the prefix of \"ip6\", or link-local");
	if (tl_ip6_equal(&port->gateway6, &port->ip6))
		return tl_config_not(r, value, "another address than \"ip6\"");
	return 0;
}

static int read_vlan(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_port *port = section; // "ip" and "ip6" precede "vlan" in the table

	if (port->ip_be == 0 && !tl_ip6_is_set(&port->ip6))
		return tl_config_refuse(r, "a port without \"ip\" records every VLAN and answers none");
	return tl_config_number(r, key, value, section);
}

// Distinguish 0 from an absent key: received frames are stamped.
static int read_probes(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section;

	port->ptp = true;
	return tl_config_number(r, key, value, section);
}

// Read a ring size. Rings of a kernel interface have their own size, and a file has none.
static int read_descriptors(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_port *port = section; // "device" precedes both in the table
	const char *what;

	if (!tl_config_is_nic(port, &what))
		return tl_config_refuse(r,
			"only a NIC that DPDK drives, or a \"vdev:\", has descriptors; \"%.64s\" is %s", port->device,
			what);
	return tl_config_number(r, key, value, section);
}

// Read "auto", or one lcore for each RX queue ("rx_queues" precedes "lcores" in the table).
static int read_lcores(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_port *port = section;
	size_t n = json_array_size(value);
	int rc = 0;

	for (size_t i = 0; i < TL_CONFIG_QUEUES_MAX; i++)
		port->lcores[i] = TL_CONFIG_LCORE_AUTO;
	if (json_is_string(value) && strcmp(json_string_value(value), "auto") == 0)
		return 0;
	if (!json_is_array(value))
		return tl_config_not(r, value, "\"auto\" or an array of lcore numbers");
	if (n != port->rx_queues)
		return tl_config_refuse(r, "%zu lcores for %u RX queues; name one for each", n, port->rx_queues);
	for (size_t i = 0; i < n && rc == 0; i++) {
		uint64_t lcore = 0;
		tl_config_enter_index(r, i);
		rc = tl_config_integer(r, key, json_array_get(value, i), &lcore);
		tl_config_leave(r);
		port->lcores[i] = (uint32_t)lcore;
	}
	return rc;
}

int tl_config_queue(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	uint64_t queue = TL_CONFIG_QUEUE_AUTO;
	int rc = 0;

	if (!json_is_string(value))
		rc = tl_config_integer(r, key, value, &queue);
	else if (strcmp(json_string_value(value), "auto") != 0)
		rc = tl_config_not(r, value, "\"auto\" or the number of an RX queue");
	*(uint32_t *)(void *)((char *)section + key->offset) = (uint32_t)queue;
	return rc;
}

static int read_group(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_echo *echo = section;
	const char *text = json_string_value(value);

	if (text != NULL && tl_parse_ipv4(text, &echo->group_be) == 0 && is_multicast(echo->group_be))
		return 0;
	if (text != NULL && tl_parse_ipv6(text, &echo->group6) == 0 && tl_ip6_is_mcast(&echo->group6) &&
		(echo->group6.byte[1] & 0x0f) >= SCOPE_LINK)
		return 0;
	return tl_config_not(
		r, value, "a multicast group, 224.0.0.0 to 239.255.255.255, or one of IPv6, such as ff05::1234");
}

static int read_groups(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_echo *echo = section; // "group" precedes "groups" in the table
	uint64_t n = 0;
	int rc = tl_config_integer(r, key, value, &n);

	if (rc == 0 && n > 1 && tl_ip6_is_set(&echo->group6))
		return tl_config_refuse(r, "consecutive groups are supported for IPv4 only");
	if (rc == 0 && !is_multicast(htonl(ntohl(echo->group_be) + (uint32_t)n - 1)) && n > 1)
		return tl_config_refuse(r, "fewer groups are left up to 239.255.255.255");
	echo->n_groups = (uint32_t)n;
	return rc;
}

static int read_source(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_echo *echo = section;
	const char *text = json_string_value(value);

	if (text != NULL && tl_ip6_is_set(&echo->group6)) { // "group" precedes "source" in the table
		if (tl_parse_ipv6(text, &echo->source6) != 0 || !tl_ip6_is_host(&echo->source6))
			return tl_config_not(
				r, value, "the IPv6 address of a sender, as the group is of IPv6, such as 2001:db8::7");
		return 0;
	}
	if (text == NULL || tl_parse_ipv4(text, &echo->source_be) != 0 || !is_unicast(echo->source_be))
		return tl_config_not(r, value, "the IPv4 address of a sender, such as 192.0.2.7");
	return 0;
}

static int read_connect(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_echo *echo = section;
	const char *text = json_string_value(value);

	if (text != NULL && tl_parse_endpoint(text, &echo->connect_ip_be, &echo->connect_port_be) == 0 &&
		is_unicast(echo->connect_ip_be))
		return 0;
	if (text != NULL && tl_parse_endpoint6(text, &echo->connect_ip6, &echo->connect_port_be) == 0 &&
		tl_ip6_is_host(&echo->connect_ip6))
		return 0;
	return tl_config_not(r, value, "an address and a TCP port, such as 192.0.2.9:5000 or [2001:db8::9]:5000");
}

static int read_l4_port(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	uint64_t n = 0;
	int rc = tl_config_integer(r, key, value, &n);

	*(uint16_t *)(void *)((char *)section + key->offset) = htons((uint16_t)n);
	return rc;
}

static int read_power_of_two(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	int rc = tl_config_size(r, key, value, section);
	const uint32_t *field = (const uint32_t *)(const void *)((const char *)section + key->offset);

	if (rc == 0 && (*field & (*field - 1)) != 0)
		return tl_config_not(r, value, "a power of two");
	return rc;
}

// Modes of an echo, by the keys that are present.
static const struct {
	const char *keys[2];
	enum tl_echo_kind mode;
} echo_modes[] = {
	{{"receive", "send"}, TL_ECHO_KIND_MCAST_TO_TCP},
	{{"tcp_listen"}, TL_ECHO_KIND_TCP},
	{{"udp_listen"}, TL_ECHO_KIND_UDP},
};

// Modes of an echo to which a key applies: in the others it is refused rather than silently ignored.
#define LISTENS (1u << TL_ECHO_KIND_TCP)
#define SENDS (1u << TL_ECHO_KIND_MCAST_TO_TCP)
#define IN_TCP (LISTENS | SENDS)
#define BY_UDP (SENDS | 1u << TL_ECHO_KIND_UDP)

static const char *name_of_modes(unsigned modes)
{
	if (modes == BY_UDP)
		return "\"receive\" or \"udp_listen\": bytes of TCP must not be dropped; \"pace_bps\" limits a connection";
	return modes == LISTENS ? "\"tcp_listen\"" : modes == SENDS ? "\"receive\"" : "TCP";
}

static const struct tl_config_table echo_table;

#define QUARTER_SECOND_US 250000u

static int check_echo_times(struct tl_config_reader *r, const struct tl_config_echo *echo)
{
	if (echo->rto_min_us > echo->user_timeout_seconds * QUARTER_SECOND_US)
		return tl_config_refuse_key(r, "rto_min_us",
			"%u is more than a quarter of user_timeout_seconds, %u: a lost segment could end the "
			"connection; lower it, or raise that one",
			echo->rto_min_us, echo->user_timeout_seconds);
	if (echo->reconnect_min_ms > echo->reconnect_max_ms)
		return tl_config_refuse_key(r, "reconnect_min_ms",
			"%u is more than reconnect_max_ms, %u: lower it, or raise that one", echo->reconnect_min_ms,
			echo->reconnect_max_ms);
	return 0;
}

static int check_echo(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_echo *echo = section;
	unsigned modes = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(echo_modes); i++) {
		const char *const *keys = echo_modes[i].keys;
		bool first = json_object_get(value, keys[0]) != NULL;
		bool second = keys[1] == NULL ? first : json_object_get(value, keys[1]) != NULL;
		if (first != second)
			return tl_config_refuse(r, "\"receive\" and \"send\" belong together; \"%s\" is missing",
				first ? keys[1] : keys[0]);
		modes += first;
		if (first)
			echo->mode = echo_modes[i].mode;
	}
	if (modes != 1)
		return tl_config_refuse(r,
			"an echo has exactly one of \"receive\" with \"send\", \"tcp_listen\", "
			"\"udp_listen\"; here are %u",
			modes);
	for (size_t i = 0; i < echo_table.n_keys; i++) {
		const struct tl_config_key *row = &echo_table.keys[i];
		if (row->modes == 0 || row->modes & 1u << echo->mode || json_object_get(value, row->name) == NULL)
			continue;
		return tl_config_refuse_key(
			r, row->name, "applies only to an echo that uses %s", name_of_modes(row->modes));
	}
	int rc = check_echo_times(r, echo);
	return rc != 0 ? rc : tl_config_check_delay(r, value, echo);
}

static const struct tl_config_key eal_keys[] = {
	{KEY(tl_config_eal, huge, tl_config_bool), .fallback = "true"},
	{KEY(tl_config_eal, memory_mb, tl_config_number), .min = 64, .max = 65536, .fallback = "512"},
	{KEY(tl_config_eal, main_lcore, tl_config_number), .max = TL_CONFIG_LCORE_MAX, .fallback = "0"},
};
static const struct tl_config_table eal_table = {KEYS(eal_keys), .bytes = sizeof(struct tl_config_eal)};

static const struct tl_config_key neighbour_keys[] = {
	{"ip", tl_config_neighbour_ip, FIELD(tl_config_neighbour, ip_be), .required = true},
	{KEY(tl_config_neighbour, mac, tl_config_mac), .required = true},
};
static const struct tl_config_table neighbour_table = {
	KEYS(neighbour_keys), .bytes = sizeof(struct tl_config_neighbour)};

static const char *const rsses[] = {[TL_CONFIG_RSS_DEFAULT] = "default",
	[TL_CONFIG_RSS_SYMMETRIC] = "symmetric",
	[TL_CONFIG_RSS_INNER] = "inner",
	NULL};
static const char *const roles[] = {TL_CONFIG_ROLES(TL_CHOICE_WORD) NULL};
static const char *const protos[] = {
	[TL_CONFIG_PROTO_ANY] = "any", [TL_CONFIG_PROTO_TCP] = "tcp", [TL_CONFIG_PROTO_UDP] = "udp", NULL};
static const struct tl_config_key rule_keys[] = {
	{"src_ip", tl_config_rule_ip, FIELD(tl_config_rule, src)},
	{"dst_ip", tl_config_rule_ip, FIELD(tl_config_rule, dst)},
	{KEY(tl_config_rule, proto, tl_config_choice), .choices = protos, .fallback = "\"any\""},
	{KEY(tl_config_rule, src_port, tl_config_number), .min = 1, .max = UINT16_MAX},
	{KEY(tl_config_rule, dst_port, tl_config_number), .min = 1, .max = UINT16_MAX},
	{KEY(tl_config_rule, queue, tl_config_rule_queue), .max = TL_CONFIG_QUEUES_MAX - 1},
	{KEY(tl_config_rule, drop, tl_config_rule_drop)},
	{KEY(tl_config_rule, mark, tl_config_number), .min = 1, .max = TL_CONFIG_MARK_MAX},
};
static const struct tl_config_table rule_table = {
	KEYS(rule_keys), .bytes = sizeof(struct tl_config_rule), .check = tl_config_check_rule};

static int check_port_keys(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	int rc = tl_config_check_neighbours(r, key, value, section);

	return rc == 0 ? tl_config_check_rules(r, key, value, section) : rc;
}

static const struct tl_config_key port_keys[] = {
	{KEY(tl_config_port, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1, .required = true},
	{KEY(tl_config_port, device, tl_config_text), .max = 239, .required = true},
	{KEY(tl_config_port, rx_queues, tl_config_number), .min = 1, .max = TL_CONFIG_QUEUES_MAX, .fallback = "1"},
	{KEY(tl_config_port, lcores, read_lcores), .max = TL_CONFIG_LCORE_MAX, .fallback = "\"auto\""},
	{KEY(tl_config_port, roles, tl_config_roles), .choices = roles},
	{KEY(tl_config_port, rss, tl_config_rss), .choices = rsses, .fallback = "\"default\""},
	{KEY(tl_config_port, rss_queues, tl_config_rss_queues), .max = TL_CONFIG_QUEUES_MAX - 1},
	{KEY(tl_config_port, flow_rules, tl_config_array), .table = &rule_table, .max = TL_CONFIG_RULES_MAX,
		.count_offset = offsetof(struct tl_config_port, n_flow_rules)},
	{KEY(tl_config_port, isolate, tl_config_isolate), .fallback = "false"},
	{KEY(tl_config_port, rx_descriptors, read_descriptors), .min = TL_CONFIG_DESCRIPTORS_MIN,
		.max = TL_CONFIG_DESCRIPTORS_MAX},
	{KEY(tl_config_port, tx_descriptors, read_descriptors), .min = TL_CONFIG_DESCRIPTORS_MIN,
		.max = TL_CONFIG_DESCRIPTORS_MAX},
	{"ip", read_ip, FIELD(tl_config_port, ip_be)},
	{"gateway", read_gateway, FIELD(tl_config_port, gateway_be)},
	{KEY(tl_config_port, ip6, read_ip6)},
	{KEY(tl_config_port, gateway6, read_gateway6)},
	{KEY(tl_config_port, vlan, read_vlan), .min = 1, .max = 4094},
	{KEY(tl_config_port, mtu, tl_config_number), .min = 576, .max = 9600, .fallback = "1500"},
	{KEY(tl_config_port, ttl, tl_config_number), .min = 1, .max = 255, .fallback = "64"},
	{KEY(tl_config_port, dscp, tl_config_number), .max = 63, .fallback = "0"},
	{CHOICE(tl_config_port, ip_fragments, TL_CONFIG_FRAGMENTS), .fallback = "\"reassemble\""},
	{KEY(tl_config_port, neighbour_entries, tl_config_number), .min = 128, .max = 65536, .fallback = "1024"},
	{KEY(tl_config_port, neighbours, tl_config_array), .table = &neighbour_table, .max = TL_CONFIG_NEIGHBOURS_MAX,
		.count_offset = offsetof(struct tl_config_port, n_neighbours)},
	{KEY(tl_config_port, ptp_probes_per_s, read_probes), .max = TL_CONFIG_PROBES_MAX},
	{KEY(tl_config_port, reply_stamps_per_s, read_probes), .max = TL_CONFIG_PROBES_MAX},
	{CHOICE(tl_config_port, tx_checksums, TL_CONFIG_CHECKSUMS), .fallback = "\"auto\""},
	{KEY(tl_config_port, promisc, tl_config_bool), .fallback = "true"},
	{KEY(tl_config_port, take, tl_config_bool), .fallback = "false"},
	{CHOICE(tl_config_port, timestamps, TL_TS_SOURCES), .fallback = "\"auto\""},
	{CHOICE(tl_config_port, idle, TL_IDLES), .fallback = "\"auto\""},
};
static const struct tl_config_table port_table = {
	KEYS(port_keys), .bytes = sizeof(struct tl_config_port), .check = check_port_keys};

static const struct tl_config_key trigger_keys[] = {
	{CHOICE(tl_config_trigger, store, TL_CONFIG_STORES), .fallback = "\"memory\""},
	{KEY(tl_config_trigger, pre_seconds, tl_config_number), .max = 86400, .fallback = "10"},
	{KEY(tl_config_trigger, pre_bytes, tl_config_size), .min = 64 * KIB, .max = 64 * GIB, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_trigger, post_seconds, tl_config_number), .max = 86400, .fallback = "10"},
	{KEY(tl_config_trigger, filter, tl_config_text), .max = 4095},
	{KEY(tl_config_trigger, on_drop, tl_config_bool), .fallback = "false"},
	{KEY(tl_config_trigger, echo_latency_us, tl_config_number), .min = 1, .max = 60000000, .or_zero = true,
		.fallback = "0"},
};
static const struct tl_config_table trigger_table = {KEYS(trigger_keys), .bytes = sizeof(struct tl_config_trigger)};

static const struct tl_config_key capture_keys[] = {
	{"port", tl_config_text, FIELD(tl_config_capture, port_name), .max = 4095, .required = true},
	{KEY(tl_config_capture, filter, tl_config_text), .max = 4095},
	{KEY(tl_config_capture, marks, tl_config_marks), .min = 1, .max = TL_CONFIG_MARK_MAX},
	{KEY(tl_config_capture, snaplen, tl_config_number), .min = 14, .max = 262144, .or_zero = true, .fallback = "0"},
	{CHOICE(tl_config_capture, direction, TL_CONFIG_DIRECTIONS), .fallback = "\"both\""},
	{KEY(tl_config_capture, path, tl_config_text), .max = 4095, .required = true},
	{KEY(tl_config_capture, rotate_bytes, tl_config_size), .min = 4 * MIB, .max = 16 * TIB, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_capture, rotate_seconds, tl_config_number), .min = 1, .max = 31536000, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_capture, rotate_packets, tl_config_number), .min = 1, .max = UINT64_C(1) << 53, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_capture, keep_files, tl_config_number), .min = 2, .max = 1000000, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_capture, keep_bytes, tl_config_size), .min = 8 * MIB, .max = 1024 * TIB, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_capture, min_free_bytes, tl_config_size), .max = 1024 * TIB, .fallback = "0"},
	{CHOICE(tl_config_capture, on_full, TL_WRITER_FULLS), .fallback = "\"pause\""},
	{CHOICE(tl_config_capture, fsync, TL_WRITER_SYNCS), .fallback = "\"auto\""},
	{KEY(tl_config_capture, index, tl_config_bool)},
	{KEY(tl_config_capture, buffer_bytes, tl_config_size), .min = 4 * MIB, .max = 64 * GIB, .fallback = "\"64M\""},
	{CHOICE(tl_config_capture, io, TL_WRITER_IOS), .fallback = "\"io_uring\""},
	{KEY(tl_config_capture, cutoff_bytes, tl_config_size), .min = KIB, .max = GIB, .or_zero = true,
		.fallback = "0"},
	{KEY(tl_config_capture, cutoff_flows, read_power_of_two), .min = KIB, .max = 64 * MIB, .fallback = "\"1M\""},
	{KEY(tl_config_capture, inner, tl_config_bool), .fallback = "false"},
	{CHOICE(tl_config_capture, order, TL_CONFIG_ORDERS), .fallback = "\"arrival\""},
	{KEY(tl_config_capture, order_window_ms, tl_config_number), .min = 1, .max = 1000, .fallback = "100"},
	{CHOICE(tl_config_capture, format, TL_CONFIG_FORMATS), .fallback = "\"pcapng\""},
	{CHOICE(tl_config_capture, compress, TL_CONFIG_COMPRESSIONS), .fallback = "\"none\""},
	{KEY(tl_config_capture, compress_level, tl_config_number), .min = 1, .max = 19, .fallback = "1"},
	{KEY(tl_config_capture, compress_threads, tl_config_number), .min = 1, .max = 16, .fallback = "1"},
	{CHOICE(tl_config_capture, digest, TL_DIGESTS), .fallback = "\"none\""},
	{CHOICE(tl_config_capture, mode, TL_CONFIG_MODES), .fallback = "\"continuous\""},
	{KEY(tl_config_capture, trigger, tl_config_object), .table = &trigger_table, .fallback = "{}"},
	{KEY(tl_config_capture, classes, tl_config_array), .table = &tl_config_police_table, .min = 1,
		.max = TL_CONFIG_POLICE_MAX, .count_offset = offsetof(struct tl_config_capture, n_classes)},
	{"share", tl_config_text, FIELD(tl_config_capture, share_name), .max = TL_CONFIG_NAME_MAX - 1},
	{CHOICE(tl_config_capture, tier, TL_CONFIG_TIERS), .fallback = "\"prod\""},
	{KEY(tl_config_capture, weight, tl_config_number), .min = 1, .max = 1000000, .fallback = "1"},
	{KEY(tl_config_capture, floor, tl_config_rate), .min = 1, .max = TL_CONFIG_RATE_MAX},
};
static const struct tl_config_table capture_table = {
	KEYS(capture_keys), .bytes = sizeof(struct tl_config_capture), .check = tl_config_check_capture};

static const struct tl_config_key receive_keys[] = {
	{"group", read_group, FIELD(tl_config_echo, group_be), .required = true},
	{"groups", read_groups, FIELD(tl_config_echo, n_groups), .min = 1, .max = 16000, .fallback = "1"},
	{"udp_port", read_l4_port, FIELD(tl_config_echo, udp_port_be), .min = 1, .max = UINT16_MAX, .required = true},
	{"source", read_source, FIELD(tl_config_echo, source_be)},
};
static const struct tl_config_table receive_table = {KEYS(receive_keys), .bytes = sizeof(struct tl_config_echo)};

static const struct tl_config_key send_keys[] = {
	{"tcp_connect", read_connect, FIELD(tl_config_echo, connect_ip_be), .required = true},
};
static const struct tl_config_table send_table = {KEYS(send_keys), .bytes = sizeof(struct tl_config_echo)};

static const struct tl_config_key outliers_keys[] = {
	{KEY(tl_config_outliers, above_us, tl_config_number), .min = 1, .max = 60000000, .required = true},
	{KEY(tl_config_outliers, keep, tl_config_number), .min = 1, .max = 1024, .fallback = "32"},
};
static const struct tl_config_table outliers_table = {KEYS(outliers_keys), .bytes = sizeof(struct tl_config_outliers)};

// "receive" and "send" have no own struct: they fill the echo's.
static const struct tl_config_key echo_keys[] = {
	{KEY(tl_config_echo, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1},
	{"port", tl_config_text, FIELD(tl_config_echo, port_name), .max = 4095, .required = true},
	{KEY(tl_config_echo, queue, tl_config_queue), .max = TL_CONFIG_QUEUES_MAX - 1, .fallback = "\"auto\""},
	{"receive", tl_config_object, .table = &receive_table},
	{"send", tl_config_object, .table = &send_table},
	{"tcp_listen", read_l4_port, FIELD(tl_config_echo, listen_port_be), .min = 1, .max = UINT16_MAX},
	{"udp_listen", read_l4_port, FIELD(tl_config_echo, listen_port_be), .min = 1, .max = UINT16_MAX},
	{KEY(tl_config_echo, send_buffer_bytes, read_power_of_two), .min = 4 * KIB, .max = 16 * MIB,
		.fallback = "\"64K\"", .modes = IN_TCP},
	{CHOICE(tl_config_echo, on_full, TL_ECHO_FULLS), .fallback = "\"drop\"", .modes = IN_TCP},
	{CHOICE(tl_config_echo, congestion, TL_CONFIG_CONGESTIONS), .fallback = "\"newreno\"", .modes = IN_TCP},
	{KEY(tl_config_echo, warm, tl_config_bool), .fallback = "true", .modes = SENDS},
	{KEY(tl_config_echo, user_timeout_seconds, tl_config_number), .min = 1, .max = 3600, .fallback = "20",
		.modes = IN_TCP},
	{KEY(tl_config_echo, user_timeout_option, tl_config_bool), .fallback = "false", .modes = IN_TCP},
	{KEY(tl_config_echo, keepalive_seconds, tl_config_number), .max = 86400, .fallback = "30", .modes = IN_TCP},
	{KEY(tl_config_echo, rto_min_us, tl_config_number), .min = 1000, .max = 60000000, .fallback = "200000",
		.modes = IN_TCP},
	{KEY(tl_config_echo, pace_bps, tl_config_pace), .min = TL_CONFIG_PACE_MIN, .max = TL_CONFIG_RATE_MAX,
		.modes = IN_TCP},
	{KEY(tl_config_echo, reconnect_min_ms, tl_config_number), .min = 1, .max = 3600000, .fallback = "100",
		.modes = SENDS},
	{KEY(tl_config_echo, reconnect_max_ms, tl_config_number), .min = 1, .max = 3600000, .fallback = "5000",
		.modes = SENDS},
	{KEY(tl_config_echo, max_connections, tl_config_number), .min = 1, .max = MIB, .fallback = "1024",
		.modes = LISTENS},
	{KEY(tl_config_echo, send_buffers, tl_config_number), .min = 1, .max = MIB, .fallback = "4096",
		.modes = LISTENS},
	{KEY(tl_config_echo, stages, tl_config_bool), .fallback = "false"},
	{KEY(tl_config_echo, outliers, tl_config_object), .table = &outliers_table},
	{KEY(tl_config_echo, samples, tl_config_number), .min = 1, .max = 16 * MIB, .or_zero = true, .fallback = "0"},
	{"delay", tl_config_delay, FIELD(tl_config_echo, delay_ns), .min = 1, .max = 10 * TL_NS_PER_S},
	{KEY(tl_config_echo, delay_limit, tl_config_number), .min = 64, .max = MIB, .fallback = "4096"},
	{KEY(tl_config_echo, police, tl_config_policer), .modes = BY_UDP},
};
static const struct tl_config_table echo_table = {
	KEYS(echo_keys), .bytes = sizeof(struct tl_config_echo), .check = check_echo};

static int read_operators(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_control *control = section; // "socket" precedes "operators" in the table

	if (control->socket == NULL)
		return tl_config_refuse(r, "has no effect without \"socket\"");
	return tl_config_text(r, key, value, section);
}

// sun_path of a UNIX socket holds 107 characters and a NUL.
static const struct tl_config_key control_keys[] = {
	{KEY(tl_config_control, socket, tl_config_text), .max = 107},
	{KEY(tl_config_control, operators, read_operators), .max = 31},
};
static const struct tl_config_table control_table = {KEYS(control_keys), .bytes = sizeof(struct tl_config_control)};

static const struct tl_config_key process_keys[] = {
	{KEY(tl_config_process, user, tl_config_text), .max = 31},
	{CHOICE(tl_config_process, sandbox, TL_CONFIG_SANDBOXES), .fallback = "\"on\""},
};
static const struct tl_config_table process_table = {KEYS(process_keys), .bytes = sizeof(struct tl_config_process)};

static const struct tl_config_key root_keys[] = {
	{KEY(tl_config, eal, tl_config_object), .table = &eal_table, .fallback = "{}"},
	{KEY(tl_config, ports, tl_config_array), .table = &port_table, .min = 1, .max = TL_CONFIG_PORTS_MAX,
		.count_offset = offsetof(struct tl_config, n_ports), .required = true},
	{"capture", tl_config_array, FIELD(tl_config, captures), .table = &capture_table, .max = TL_CONFIG_CAPTURES_MAX,
		.count_offset = offsetof(struct tl_config, n_captures), .allocated = true},
	{"echo", tl_config_array, FIELD(tl_config, echoes), .table = &echo_table, .max = TL_CONFIG_ECHOES_MAX,
		.count_offset = offsetof(struct tl_config, n_echoes), .allocated = true},
	{"shape", tl_config_array, FIELD(tl_config, shapes), .table = &tl_config_shape_table,
		.max = TL_CONFIG_SHAPES_MAX, .count_offset = offsetof(struct tl_config, n_shapes)},
	{"replay", tl_config_array, FIELD(tl_config, replays), .table = &tl_config_replay_table,
		.max = TL_CONFIG_REPLAYS_MAX, .count_offset = offsetof(struct tl_config, n_replays)},
	{"share", tl_config_array, FIELD(tl_config, shares), .table = &tl_config_share_table,
		.max = TL_CONFIG_SHARES_MAX, .count_offset = offsetof(struct tl_config, n_shares)},
	{KEY(tl_config, control, tl_config_object), .table = &control_table, .fallback = "{}"},
	{KEY(tl_config, process, tl_config_object), .table = &process_table, .fallback = "{}"},
};
const struct tl_config_table tl_config_root = {KEYS(root_keys), .bytes = sizeof(struct tl_config)};
