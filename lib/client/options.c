// SPDX-License-Identifier: BSD-3-Clause
// The options of `tapline client`: one table makes them, their defaults, their checks and their help.

#include "args_priv.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <tl_units.h>

enum kind { FLAG, NUMBER, SECONDS, ADDRESS, GROUP, ENDPOINT, LIST, STAMPS, TEXT, PREFIX };

struct option_row {
	const char *name;
	const char *value; // what stands for it in the help
	enum kind kind;
	size_t offset; // of its field in struct tl_client_given
	uint64_t min, max;
	const char *fallback; // parsed like a given one; NULL: none
	const char *help;
};

static const struct option_row rows[] = {
	{"kernel", NULL, FLAG, offsetof(struct tl_client_given, kernel), 0, 0, NULL,
		"use sockets of the kernel; this, or --port, is required"},
	{"port", "PORT", TEXT, offsetof(struct tl_client_given, port.device), 0, 0, NULL,
		"poll this port with Tapline's own stack instead: a kernel interface (eth0), xdp:INTERFACE, a PCI "
		"address (0000:3b:00.0) or vdev:DEVARGS; IPv4 only"},
	{"ip", "IP/BITS", PREFIX, offsetof(struct tl_client_given, port), 0, 0, NULL,
		"our address on the port, one that no other host has, and its prefix"},
	{"gateway", "IP", ADDRESS, offsetof(struct tl_client_given, gateway), 0, 0, NULL,
		"of the port: the way to what is not in the prefix"},
	{"vlan", "ID", NUMBER, offsetof(struct tl_client_given, port.vlan), 1, 4094, NULL,
		"of the port: tag every frame (IEEE 802.1Q)"},
	{"lcore", "CPU", NUMBER, offsetof(struct tl_client_given, port.lcore), 0, 1023, NULL,
		"poll the port on this CPU (default: wherever the kernel puts the thread)"},
	{"take", NULL, FLAG, offsetof(struct tl_client_given, port.take), 0, 0, NULL,
		"allow xdp: on the interface of the default route or of the login"},
	{"group", "GROUP", GROUP, offsetof(struct tl_client_given, group), 0, 0, NULL,
		"send to this multicast group and read the echoes from TCP"},
	{"udp-port", "PORT", NUMBER, offsetof(struct tl_client_given, udp_port), 1, 65535, NULL,
		"UDP port of the group"},
	{"tcp-listen", "IP:PORT", ENDPOINT, offsetof(struct tl_client_given, tcp_listen), 0, 0, NULL,
		"where the appliance connects to, to send the echoes"},
	{"tcp-connect", "IP:PORT", ENDPOINT, offsetof(struct tl_client_given, tcp_connect), 0, 0, NULL,
		"measure a TCP echo instead: connect, send and read back"},
	{"udp-echo", "IP:PORT", ENDPOINT, offsetof(struct tl_client_given, udp_echo), 0, 0, NULL,
		"measure a UDP echo instead"},
	{"source", "IP", ADDRESS, offsetof(struct tl_client_given, source), 0, 0, NULL,
		"send from this address, and multicast from its interface (default: the address of --tcp-listen; "
		"without that the kernel chooses)"},
	{"ttl", "N", NUMBER, offsetof(struct tl_client_given, ttl), 1, 255, "1",
		"time to live of the multicast, over IPv6 its hop limit"},
	{"rate", "N[,N...]", LIST, offsetof(struct tl_client_given, rate_pps), 1, 10000000, "1000",
		"messages per second; several: a run at each"},
	{"seconds", "S", SECONDS, offsetof(struct tl_client_given, duration_ns), TL_NS_PER_MS, 1000000 * TL_NS_PER_S,
		"5", "how long to send; with --rate at most 1000000000 messages"},
	{"payload", "BYTES[,...]", LIST, offsetof(struct tl_client_given, payload_bytes), MIN_PAYLOAD_BYTES,
		MAX_TCP_PAYLOAD_BYTES, "16",
		"size of a message; at most 1472 over UDP, 1452 over IPv6; several, or FROM:TO:COUNT: a run of each, and "
		"what a byte takes"},
	{"connect-timeout", "S", SECONDS, offsetof(struct tl_client_given, connect_timeout_ns), 100 * TL_NS_PER_MS,
		3600 * TL_NS_PER_S, "10", "how long to wait for the TCP connection"},
	{"linger", "S", SECONDS, offsetof(struct tl_client_given, linger_ns), 0, 3600 * TL_NS_PER_S, "1",
		"how long to wait for missing echoes after the last send"},
	{"spin", "US", NUMBER, offsetof(struct tl_client_given, spin_us), 0, 1000000, "100",
		"poll without sleeping for so many microseconds before and after each send: steadier times, more CPU"},
	{"timestamps", "SOURCE", STAMPS, offsetof(struct tl_client_given, timestamps), 0, 0, "auto",
		"who stamps packets, for wire_rtt_ns: nobody, the kernel, or the NIC; with --port those that arrive, also "
		"tsc; auto is the kernel where it can, with --port the port's best"},
	{"cold", "N", NUMBER, offsetof(struct tl_client_given, cold), 0, TL_CLIENT_COLD_LISTED, "1",
		"the first so many echoes after each connect are shown apart, and in no percentile"},
	{"null", "FILE", TEXT, offsetof(struct tl_client_given, null_path), 0, 0, NULL,
		"take off the time of a null echo: what --json gave for the same path without what is to be measured"},
	{"require-valid", NULL, FLAG, offsetof(struct tl_client_given, require_valid), 0, 0, NULL,
		"exit with 1 when the result is called invalid"},
	{"csv", "FILE", TEXT, offsetof(struct tl_client_given, files.csv), 0, 0, NULL, "write every sample"},
	{"hgrm", "FILE", TEXT, offsetof(struct tl_client_given, files.hgrm), 0, 0, NULL,
		"write the percentiles, as HdrHistogram does"},
	{"html", "FILE", TEXT, offsetof(struct tl_client_given, files.html), 0, 0, NULL, "write a page with plots"},
	{"report", "FILE", TEXT, offsetof(struct tl_client_given, files.json), 0, 0, NULL,
		"write the report of latencies, for `tapline latency --compare`"},
	{"json", NULL, FLAG, offsetof(struct tl_client_given, json), 0, 0, NULL,
		"print the results as one JSON object"},
	{"help", NULL, FLAG, offsetof(struct tl_client_given, help), 0, 0, NULL, "print this"},
};

double tl_client_seconds_of(uint64_t ns)
{
	return (double)ns / (double)TL_NS_PER_S;
}

bool tl_client_endpoint_given(const struct tl_client_endpoint *at)
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

static int parse_stamps(const char *text, enum tl_client_timestamps *out)
{
	for (*out = TL_CLIENT_STAMPS_AUTO; *out <= TL_CLIENT_STAMPS_TSC; ++*out)
		if (strcmp(text, tl_client_timestamps_name(*out)) == 0)
			return 0;
	return -EINVAL;
}

static int parse_value(const struct option_row *row, const char *text, struct tl_client_given *given)
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
	case LIST:
		return tl_client_sweep_parse(text, row->min, row->max, field);
	case STAMPS:
		return parse_stamps(text, field);
	case TEXT:
		*(const char **)field = text;
		return *text != '\0' ? 0 : -EINVAL;
	case PREFIX:
		return tl_parse_ipv4_prefix(text, &given->port.ip_be, &given->port.mask_be);
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
		snprintf(buf, size, "seconds from %.10g to %.10g", tl_client_seconds_of(row->min),
			tl_client_seconds_of(row->max));
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
	case LIST:
		snprintf(buf, size,
			"a whole number from %" PRIu64 " to %" PRIu64
			", up to %d of them rising and with commas between, or FROM:TO:COUNT",
			row->min, row->max, TL_CLIENT_POINTS);
		break;
	case STAMPS:
		snprintf(buf, size, "auto, user, kernel, nic or tsc");
		break;
	case TEXT:
		snprintf(buf, size, "a name");
		break;
	case PREFIX:
		snprintf(buf, size, "an IPv4 address and its prefix, such as 192.0.2.1/24");
		break;
	}
}

static int set_value(const struct option_row *row, const char *text, struct tl_client_given *given, struct tl_err *err)
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

int tl_client_read_options(int argc, char **argv, struct tl_client_given *given, struct tl_err *err)
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

	if (row->kind == NUMBER || row->kind == SECONDS || row->kind == STAMPS)
		describe_range(row, range, sizeof(range));
	if (row->kind == LIST)
		snprintf(range, sizeof(range), "from %" PRIu64 " to %" PRIu64, row->min, row->max);
	if (row->fallback != NULL)
		snprintf(fallback, sizeof(fallback), " (default %s)", row->fallback);
	snprintf(left, sizeof(left), "--%s %s", row->name, row->value != NULL ? row->value : "");
	snprintf(right, sizeof(right), "%s%s%s%s", row->help, range[0] != '\0' ? "; " : "", range, fallback);
	fprintf(out, "  %-24s ", left);
	print_wrapped(right, 27, out);
}

void tl_client_print_help(FILE *out)
{
	fputs("usage: tapline client TRANSPORT --group GROUP --udp-port PORT --tcp-listen IP:PORT [options]\n"
	      "       tapline client TRANSPORT --tcp-connect IP:PORT [options]\n"
	      "       tapline client TRANSPORT --udp-echo IP:PORT [options]\n"
	      "TRANSPORT: --kernel, or --port PORT --ip IP/BITS\n"
	      "\n"
	      "Sends numbered messages at a fixed rate, reads their echoes, and reports round-trip times and losses.\n"
	      "Times count from when a message was due (no coordinated omission). The first echoes find cold caches: they\n"
	      "are reported apart, as first_rtt_ns and cold[], and are not in rtt_ns. wire_rtt_ns is from the stamp of a\n"
	      "packet's departure to that of its echo's arrival. How late sends were is in sender_late_ns.\n"
	      "Exits with 0 when every message was echoed intact, 1 when not or without a connection, 2 on wrong usage.\n"
	      "A result that must not be believed is called invalid, with the reason.\n"
	      "\n",
		out);
	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++)
		print_option(&rows[i], out);
}
