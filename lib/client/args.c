// SPDX-License-Identifier: BSD-3-Clause
// The command line of `tapline client`: one table makes the options, their defaults, their checks and their help.

#include <tl_client.h>

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <tl_units.h>

#define MIN_PAYLOAD_BYTES 8
#define MAX_UDP_PAYLOAD_BYTES 1472
#define MAX_UDP6_PAYLOAD_BYTES 1452
#define MAX_TCP_PAYLOAD_BYTES 65536

// The values as they were given, before they are judged together. A port of 0 is one not given.
struct given {
	bool kernel, json, help;
	struct tl_client_endpoint group, source; // addresses only
	struct tl_client_endpoint tcp_listen, tcp_connect, udp_echo;
	uint64_t udp_port, ttl, rate_pps, payload_bytes, spin_us;
	uint64_t duration_ns, connect_timeout_ns, linger_ns;
};

enum kind { FLAG, NUMBER, SECONDS, ADDRESS, GROUP, ENDPOINT };

struct option_row {
	const char *name;
	const char *value; // what stands for it in the help
	enum kind kind;
	size_t offset; // of its field in struct given
	uint64_t min, max;
	const char *fallback; // parsed like a given one; NULL: none
	const char *help;
};

static const struct option_row rows[] = {
	{"kernel", NULL, FLAG, offsetof(struct given, kernel), 0, 0, NULL,
		"use sockets of the kernel; required, there is no other transport"},
	{"group", "GROUP", GROUP, offsetof(struct given, group), 0, 0, NULL,
		"send to this multicast group and read the echoes from TCP"},
	{"udp-port", "PORT", NUMBER, offsetof(struct given, udp_port), 1, 65535, NULL, "UDP port of the group"},
	{"tcp-listen", "IP:PORT", ENDPOINT, offsetof(struct given, tcp_listen), 0, 0, NULL,
		"where the appliance connects to, to send the echoes"},
	{"tcp-connect", "IP:PORT", ENDPOINT, offsetof(struct given, tcp_connect), 0, 0, NULL,
		"measure a TCP echo instead: connect, send and read back"},
	{"udp-echo", "IP:PORT", ENDPOINT, offsetof(struct given, udp_echo), 0, 0, NULL, "measure a UDP echo instead"},
	{"source", "IP", ADDRESS, offsetof(struct given, source), 0, 0, NULL,
		"send from this address, and multicast from its interface (default: the address of --tcp-listen; "
		"without that the kernel chooses)"},
	{"ttl", "N", NUMBER, offsetof(struct given, ttl), 1, 255, "1",
		"time to live of the multicast, over IPv6 its hop limit"},
	{"rate", "N", NUMBER, offsetof(struct given, rate_pps), 1, 10000000, "1000", "messages per second"},
	{"seconds", "S", SECONDS, offsetof(struct given, duration_ns), TL_NS_PER_MS, 1000000 * TL_NS_PER_S, "5",
		"how long to send; with --rate at most 1000000000 messages"},
	{"payload", "BYTES", NUMBER, offsetof(struct given, payload_bytes), MIN_PAYLOAD_BYTES, MAX_TCP_PAYLOAD_BYTES,
		"16", "size of a message; at most 1472 over UDP, 1452 over IPv6"},
	{"connect-timeout", "S", SECONDS, offsetof(struct given, connect_timeout_ns), 100 * TL_NS_PER_MS,
		3600 * TL_NS_PER_S, "10", "how long to wait for the TCP connection"},
	{"linger", "S", SECONDS, offsetof(struct given, linger_ns), 0, 3600 * TL_NS_PER_S, "1",
		"how long to wait for missing echoes after the last send"},
	{"spin", "US", NUMBER, offsetof(struct given, spin_us), 0, 1000000, "100",
		"poll without sleeping for so many microseconds before and after each send: steadier times, more CPU"},
	{"json", NULL, FLAG, offsetof(struct given, json), 0, 0, NULL, "print the results as one JSON object"},
	{"help", NULL, FLAG, offsetof(struct given, help), 0, 0, NULL, "print this"},
};

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)TL_NS_PER_S;
}

static bool is_given(const struct tl_client_endpoint *at)
{
	return at->ip_be != 0 || tl_ip6_is_set(&at->ip6);
}

static int parse_address(const char *text, struct tl_client_endpoint *out)
{
	*out = (struct tl_client_endpoint){0};
	return tl_parse_ipv4(text, &out->ip_be) == 0 ? 0 : tl_parse_ipv6(text, &out->ip6);
}

static int parse_group(const char *text, struct tl_client_endpoint *out)
{
	int ret = parse_address(text, out);
	if (ret != 0)
		return ret;
	if (tl_ip6_is_mcast(&out->ip6))
		return 0;
	return (*(const uint8_t *)&out->ip_be & 0xf0) == 0xe0 ? 0 : -EINVAL; // 224.0.0.0/4, RFC 5771
}

static int parse_endpoint(const char *text, struct tl_client_endpoint *out)
{
	*out = (struct tl_client_endpoint){0};
	if (*text == '[') {
		int ret = tl_parse_endpoint6(text, &out->ip6, &out->port_be);
		return ret == 0 && !tl_ip6_is_set(&out->ip6) ? -EINVAL : ret; // :: tells no interface, and no family
	}
	return tl_parse_endpoint(text, &out->ip_be, &out->port_be);
}

static int parse_seconds(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns)
{
	int ret = tl_parse_seconds(text, out_ns);
	if (ret != 0)
		return ret;
	return *out_ns < min_ns || *out_ns > max_ns ? -ERANGE : 0;
}

static int parse_value(const struct option_row *row, const char *text, struct given *given)
{
	void *field = (char *)given + row->offset;
	struct tl_client_endpoint *endpoint = field;

	switch (row->kind) {
	case FLAG:
		*(bool *)field = true;
		return 0;
	case NUMBER:
		return tl_parse_u64(text, row->min, row->max, field);
	case SECONDS:
		return parse_seconds(text, row->min, row->max, field);
	case ADDRESS:
		return parse_address(text, endpoint);
	case GROUP:
		return parse_group(text, endpoint);
	case ENDPOINT:
		return parse_endpoint(text, endpoint);
	}
	return -EINVAL;
}

static void describe_range(const struct option_row *row, char *buf, size_t size)
{
	switch (row->kind) {
	case FLAG:
		snprintf(buf, size, "no value");
		break;
	case NUMBER:
		snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, row->min, row->max);
		break;
	case SECONDS:
		snprintf(buf, size, "seconds from %.10g to %.10g", seconds_of(row->min), seconds_of(row->max));
		break;
	case ADDRESS:
		snprintf(buf, size, "an address such as 192.0.2.1 or 2001:db8::1");
		break;
	case GROUP:
		snprintf(buf, size, "a multicast address from 224.0.0.0 to 239.255.255.255, or of IPv6");
		break;
	case ENDPOINT:
		snprintf(buf, size,
			"an address and a port from 1 to 65535, such as 192.0.2.1:5000 or [2001:db8::1]:5000");
		break;
	}
}

static int set_value(const struct option_row *row, const char *text, struct given *given, struct tl_err *err)
{
	char range[128];

	if (parse_value(row, text, given) == 0)
		return 0;
	describe_range(row, range, sizeof(range));
	return tl_fail(err, -EINVAL, "--%s %s: give %s", row->name, text, range);
}

static int bad_option(int opt, char **argv, struct tl_err *err)
{
	const char *word = argv[optind - 1];

	if (opt == ':')
		return tl_fail(err, -EINVAL, "%s needs a value; `tapline client --help` describes it", word);
	return tl_fail(
		err, -EINVAL, "%s is no option of client, or is not used like this; see `tapline client --help`", word);
}

// Fills given from the defaults and then from argv.
static int read_options(int argc, char **argv, struct given *given, struct tl_err *err)
{
	struct option options[TL_ARRAY_LEN(rows) + 1] = {0};
	int index = 0, opt;

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		options[i].name = rows[i].name;
		options[i].has_arg = rows[i].kind == FLAG ? no_argument : required_argument;
		int ret = rows[i].fallback != NULL ? set_value(&rows[i], rows[i].fallback, given, err) : 0;
		if (ret != 0)
			return ret;
	}

	optind = 0; // glibc: begin anew
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:", options, &index)) != -1) {
		int ret = opt == 0 ? set_value(&rows[index], optarg, given, err) : bad_option(opt, argv, err);
		if (ret != 0)
			return ret;
	}
	if (optind < argc)
		return tl_fail(
			err, -EINVAL, "%s: client takes options only; see `tapline client --help`", argv[optind]);
	return 0;
}

static bool other_family(const struct tl_client_endpoint *a, const struct tl_client_endpoint *b)
{
	return is_given(a) && is_given(b) && tl_ip6_is_set(&a->ip6) != tl_ip6_is_set(&b->ip6);
}

static int check_families(const struct given *given, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	if (other_family(&cfg->source, &cfg->peer) || other_family(&given->group, &cfg->peer) ||
		other_family(&given->group, &cfg->source))
		return tl_fail(err, -EINVAL, "give addresses of one family: IPv4, or IPv6");
	return 0;
}

static int choose_mode(const struct given *given, struct tl_client_cfg *cfg, struct tl_err *err)
{
	bool multicast = is_given(&given->group) || given->tcp_listen.port_be != 0 || given->udp_port != 0;
	bool tcp = given->tcp_connect.port_be != 0;
	bool udp = given->udp_echo.port_be != 0;

	if (multicast + tcp + udp != 1)
		return tl_fail(err, -EINVAL,
			"give exactly one of --group (with --udp-port and --tcp-listen), --tcp-connect and --udp-echo");
	if (multicast && (!is_given(&given->group) || given->tcp_listen.port_be == 0 || given->udp_port == 0))
		return tl_fail(
			err, -EINVAL, "--group, --udp-port (from 1 to 65535) and --tcp-listen are given together");
	if (multicast && !is_given(&given->tcp_listen) && !is_given(&given->source))
		return tl_fail(err, -EINVAL,
			"--tcp-listen 0.0.0.0 leaves open which interface sends the multicast; give the address of "
			"that interface with --source, such as 192.0.2.1");
	cfg->mode = multicast ? TL_CLIENT_MULTICAST : tcp ? TL_CLIENT_TCP : TL_CLIENT_UDP;
	cfg->peer = multicast ? given->tcp_listen : tcp ? given->tcp_connect : given->udp_echo;
	cfg->source = given->source;
	if (multicast && !is_given(&given->source))
		cfg->source =
			(struct tl_client_endpoint){.ip_be = given->tcp_listen.ip_be, .ip6 = given->tcp_listen.ip6};
	return check_families(given, cfg, err);
}

static int check_sizes(const struct tl_client_cfg *cfg, struct tl_err *err)
{
	uint64_t planned = tl_client_planned(cfg);

	int udp_max = tl_ip6_is_set(&cfg->peer.ip6) ? MAX_UDP6_PAYLOAD_BYTES : MAX_UDP_PAYLOAD_BYTES;

	if (cfg->mode != TL_CLIENT_TCP && cfg->payload_bytes > (uint64_t)udp_max)
		return tl_fail(err, -EINVAL, "--payload %" PRIu64 ": give a whole number from %d to %d over UDP",
			cfg->payload_bytes, MIN_PAYLOAD_BYTES, udp_max);
	if (planned == 0 || planned > TL_CLIENT_MAX_MESSAGES)
		return tl_fail(err, -EINVAL,
			"--rate %" PRIu64 " for --seconds %.10g is %" PRIu64
			" messages: give a product from 1 to %" PRIu64,
			cfg->rate_pps, seconds_of(cfg->duration_ns), planned, TL_CLIENT_MAX_MESSAGES);
	return 0;
}

int tl_client_parse_args(int argc, char **argv, struct tl_client_args *args, struct tl_err *err)
{
	struct given given = {0};
	int ret = read_options(argc, argv, &given, err);

	*args = (struct tl_client_args){.json = given.json, .help = given.help};
	if (ret != 0 || given.help)
		return given.help ? 0 : ret;
	if (!given.kernel)
		return tl_fail(err, -EINVAL, "give --kernel: sockets of the kernel are the only transport of client");

	struct tl_client_cfg *cfg = &args->cfg;
	*cfg = (struct tl_client_cfg){
		.ttl = given.ttl,
		.rate_pps = given.rate_pps,
		.duration_ns = given.duration_ns,
		.payload_bytes = given.payload_bytes,
		.connect_timeout_ns = given.connect_timeout_ns,
		.linger_ns = given.linger_ns,
		.spin_ns = given.spin_us * TL_NS_PER_US,
	};
	ret = choose_mode(&given, cfg, err);
	if (ret != 0)
		return ret;
	if (cfg->mode == TL_CLIENT_MULTICAST)
		cfg->group = (struct tl_client_endpoint){
			given.group.ip_be, htons((uint16_t)given.udp_port), given.group.ip6};
	return check_sizes(cfg, err);
}

// Text whose first column is column, broken between words before column 100.
static void print_wrapped(const char *text, size_t column, FILE *out)
{
	const size_t width = 100 - column;

	while (strlen(text) > width) {
		size_t len = width;
		while (len > 1 && text[len] != ' ')
			len--;
		fprintf(out, "%.*s\n%*s", (int)len, text, (int)column, "");
		text += len + 1;
	}
	fprintf(out, "%s\n", text);
}

static void print_option(const struct option_row *row, FILE *out)
{
	char left[40], right[384], range[96] = "", fallback[32] = "";

	if (row->kind == NUMBER || row->kind == SECONDS)
		describe_range(row, range, sizeof(range));
	if (row->fallback != NULL)
		snprintf(fallback, sizeof(fallback), " (default %s)", row->fallback);
	snprintf(left, sizeof(left), "--%s %s", row->name, row->value != NULL ? row->value : "");
	snprintf(right, sizeof(right), "%s%s%s%s", row->help, range[0] != '\0' ? "; " : "", range, fallback);
	fprintf(out, "  %-24s ", left);
	print_wrapped(right, 27, out);
}

void tl_client_print_help(FILE *out)
{
	fputs("usage: tapline client --kernel --group GROUP --udp-port PORT --tcp-listen IP:PORT [options]\n"
	      "       tapline client --kernel --tcp-connect IP:PORT [options]\n"
	      "       tapline client --kernel --udp-echo IP:PORT [options]\n"
	      "\n"
	      "Sends numbered messages at a fixed rate, reads their echoes, and reports round-trip times and losses.\n"
	      "Times count from when a message was due (no coordinated omission). The first echo finds cold caches: it\n"
	      "is reported apart, as first_rtt_ns, and is not in rtt_ns. How late sends were is in sender_late_ns.\n"
	      "Exits with 0 when every message was echoed intact, 1 when not or without a connection, 2 on wrong usage.\n"
	      "\n",
		out);
	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++)
		print_option(&rows[i], out);
}
