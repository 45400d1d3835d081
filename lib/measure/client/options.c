// SPDX-License-Identifier: BSD-3-Clause
// Options of `tapline client`: one table gives parser, defaults, checks and help.

#include "args_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <tl_options.h>
#include <tl_units.h>

enum kind { FLAG, NUMBER, SECONDS, ADDRESS, GROUP, ENDPOINT, LIST, STAMPS, TEXT, PREFIX, SHARE };

// Valid values of an option, and its destination.
struct rule {
	enum kind kind;
	size_t offset; // of its field in struct tl_client_given
	uint64_t min, max;
	const char *fallback; // parsed like a given value; NULL: none
};

#define FIELD(name) offsetof(struct tl_client_given, name)
#define RULE(...)                                                                                                      \
	.meaning = &(const struct rule)                                                                                \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

static const struct tl_option options[] = {
	{"kernel", 0, NULL, "use kernel sockets; either this or --port is required", RULE(FLAG, FIELD(kernel))},
	{"port", 0, "PORT",
		"poll this port with Tapline's own stack instead: a kernel interface (eth0), xdp:INTERFACE, a PCI "
		"address (0000:3b:00.0) or vdev:DEVARGS; IPv4 only",
		RULE(TEXT, FIELD(port.device))},
	{"ip", 0, "IP/BITS", "own address on the port, unused by other hosts, and its prefix",
		RULE(PREFIX, FIELD(port))},
	{"gateway", 0, "IP", "with --port: next hop for addresses outside the prefix", RULE(ADDRESS, FIELD(gateway))},
	{"vlan", 0, "ID", "with --port: tag every frame (IEEE 802.1Q)", RULE(NUMBER, FIELD(port.vlan), 1, 4094)},
	{"lcore", 0, "CPU", "poll the port on this CPU (default: chosen by the kernel)",
		RULE(NUMBER, FIELD(port.lcore), 0, 1023)},
	{"lead", 0, "US",
		"with --timestamps nic or auto: pass datagrams to a NIC with scheduled sending this many microseconds before they are due; 0: send at once",
		RULE(NUMBER, FIELD(port.lead_us), 0, MAX_LEAD_US, LEAD_US_TEXT)},
	{"take", 0, NULL, "allow xdp: on the interface of the default route or of the login",
		RULE(FLAG, FIELD(port.take))},
	{"group", 0, "GROUP", "send to this multicast group and read the echoes from TCP", RULE(GROUP, FIELD(group))},
	{"udp-port", 0, "PORT", "UDP port of the group", RULE(NUMBER, FIELD(udp_port), 1, 65535)},
	{"tcp-listen", 0, "IP:PORT", "listen here for the appliance's connection, which returns the echoes",
		RULE(ENDPOINT, FIELD(tcp_listen))},
	{"tcp-connect", 0, "IP:PORT", "measure a TCP echo instead: connect, send and read back",
		RULE(ENDPOINT, FIELD(tcp_connect))},
	{"udp-echo", 0, "IP:PORT", "measure a UDP echo instead", RULE(ENDPOINT, FIELD(udp_echo))},
	{"source", 0, "IP",
		"send from this address, and multicast from its interface (default: the address of --tcp-listen, otherwise the kernel's choice)",
		RULE(ADDRESS, FIELD(source))},
	{"ttl", 0, "N", "TTL of the multicast, or hop limit over IPv6", RULE(NUMBER, FIELD(ttl), 1, 255, "1")},
	{"rate", 0, "N[,N...]", "messages per second; several: one run each",
		RULE(LIST, FIELD(rate_pps), 1, 10000000, "1000")},
	{"burst", 0, "N", "send bursts of N messages, all due at the same time, at the average rate of --rate",
		RULE(NUMBER, FIELD(burst), 1, TL_CLIENT_MAX_BURST, "1")},
	{"seconds", 0, "S", "duration of sending; with --rate at most 1000000000 messages",
		RULE(SECONDS, FIELD(duration_ns), TL_NS_PER_MS, 1000000 * TL_NS_PER_S, "5")},
	{"payload", 0, "BYTES[,...]",
		"size of a message; at most 1472 over UDP, 1452 over IPv6; several, or FROM:TO:COUNT: one run each, and the time per byte",
		RULE(LIST, FIELD(payload_bytes), MIN_PAYLOAD_BYTES, MAX_TCP_PAYLOAD_BYTES, "16")},
	{"connect-timeout", 0, "S", "timeout of the TCP connection",
		RULE(SECONDS, FIELD(connect_timeout_ns), 100 * TL_NS_PER_MS, 3600 * TL_NS_PER_S, "10")},
	{"linger", 0, "S", "longest wait for missing echoes after the last send",
		RULE(SECONDS, FIELD(linger_ns), 0, 3600 * TL_NS_PER_S, "1")},
	{"spin", 0, "US",
		"poll without sleep this many microseconds before and after each send: steadier times, more CPU",
		RULE(NUMBER, FIELD(spin_us), 0, 1000000, "100")},
	{"timestamps", 0, "SOURCE",
		"source of packet stamps, for wire_rtt_ns: none (user), the kernel or the NIC; with --port that of arrivals, also tsc; auto: the kernel if possible, with --port the port's best",
		.choices = "auto user kernel nic tsc", RULE(STAMPS, FIELD(timestamps), 0, 0, "auto")},
	{"cold", 0, "N", "number of echoes after each connect that are listed apart and not in percentiles",
		RULE(NUMBER, FIELD(cold), 0, TL_CLIENT_COLD_LISTED, "1")},
	{"null", 0, "FILE",
		"subtract the time of a null echo: the --json output of the same path without the device under test",
		.choices = TL_CHOICES_FILE, RULE(TEXT, FIELD(null_path))},
	{"max-loss", 0, "SHARE", "the result is invalid if a larger share of the messages is lost",
		RULE(SHARE, FIELD(max_loss), .fallback = TL_LATENCY_MAX_LOSS_TEXT)},
	{"require-valid", 0, NULL, "exit 1 if the result is invalid", RULE(FLAG, FIELD(require_valid))},
	{"csv", 0, "FILE", "write every sample", .choices = TL_CHOICES_FILE, RULE(TEXT, FIELD(files.csv))},
	{"hgrm", 0, "FILE", "write the percentiles in HdrHistogram's format", .choices = TL_CHOICES_FILE,
		RULE(TEXT, FIELD(files.hgrm))},
	{"html", 0, "FILE", "write a page with plots", .choices = TL_CHOICES_FILE, RULE(TEXT, FIELD(files.html))},
	{"report", 0, "FILE", "write the latency report, for `tapline latency --compare`", .choices = TL_CHOICES_FILE,
		RULE(TEXT, FIELD(files.json))},
	{"json", 0, NULL, "print the results as one JSON object", RULE(FLAG, FIELD(json))},
	TL_OPTION_HELP,
};

double tl_client_seconds_of(uint64_t ns)
{
	return (double)ns / (double)TL_NS_PER_S;
}

bool tl_client_endpoint_is_set(const struct tl_client_endpoint *at)
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
		return ret == 0 && !tl_ip6_is_set(&out->ip6) ? -EINVAL : ret; // :: has no interface, and no family
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

static int parse_value(const struct rule *rule, const char *text, struct tl_client_given *given)
{
	void *field = (char *)given + rule->offset;
	struct tl_client_endpoint *endpoint = field;

	switch (rule->kind) {
	case FLAG:
		*(bool *)field = true;
		return 0;
	case NUMBER:
		return tl_parse_u64(text, rule->min, rule->max, field);
	case SECONDS:
		return parse_seconds(text, rule->min, rule->max, field);
	case ADDRESS:
		return parse_address(text, endpoint);
	case GROUP:
		return parse_group(text, endpoint);
	case ENDPOINT:
		return parse_endpoint(text, endpoint);
	case LIST:
		return tl_client_sweep_parse(text, rule->min, rule->max, field);
	case STAMPS:
		return parse_stamps(text, field);
	case TEXT:
		*(const char **)field = text;
		return *text != '\0' ? 0 : -EINVAL;
	case PREFIX:
		return tl_parse_ipv4_prefix(text, &given->port.ip_be, &given->port.mask_be);
	case SHARE:
		return tl_latency_parse_share(text, field);
	}
	return -EINVAL;
}

static void describe_range(const struct rule *rule, char *buf, size_t size)
{
	static const char *const texts[] = {
		[FLAG] = "no value",
		[ADDRESS] = "an address such as 192.0.2.1 or 2001:db8::1",
		[GROUP] = "a multicast address from 224.0.0.0 to 239.255.255.255, or of IPv6",
		[ENDPOINT] = "an address and a port from 1 to 65535, such as 192.0.2.1:5000 or [2001:db8::1]:5000",
		[STAMPS] = "auto, user, kernel, nic or tsc",
		[TEXT] = "a name",
		[PREFIX] = "an IPv4 address and its prefix, such as 192.0.2.1/24",
		[SHARE] = "a share from 0 to 1, or from 0% to 100%",
	};

	if (rule->kind == SECONDS)
		snprintf(buf, size, "seconds from %.10g to %.10g", tl_client_seconds_of(rule->min),
			tl_client_seconds_of(rule->max));
	else if (rule->kind == NUMBER)
		snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, rule->min, rule->max);
	else if (rule->kind == LIST)
		snprintf(buf, size,
			"a whole number from %" PRIu64 " to %" PRIu64
			", up to %d of them rising and with commas between, or FROM:TO:COUNT",
			rule->min, rule->max, TL_CLIENT_POINTS);
	else
		snprintf(buf, size, "%s", texts[rule->kind]);
}

static void describe(const struct tl_option *option, char *text, size_t size)
{
	const struct rule *rule = option->meaning;
	char range[96] = "";

	if (rule == NULL) // help
		return;
	if (rule->kind == NUMBER || rule->kind == SECONDS || rule->kind == STAMPS || rule->kind == SHARE)
		describe_range(rule, range, sizeof(range));
	if (rule->kind == LIST)
		snprintf(range, sizeof(range), "from %" PRIu64 " to %" PRIu64, rule->min, rule->max);
	snprintf(text, size, "%s%s%s%s%s", range[0] != '\0' ? "; " : "", range,
		rule->fallback != NULL ? " (default " : "", rule->fallback != NULL ? rule->fallback : "",
		rule->fallback != NULL ? ")" : "");
}

const struct tl_command tl_client_command = {
	.name = "client",
	.summary = "measure an echo from outside",
	.usage = "client TRANSPORT --group GROUP --udp-port PORT --tcp-listen IP:PORT [options]\n"
		 "client TRANSPORT --tcp-connect IP:PORT [options]\n"
		 "client TRANSPORT --udp-echo IP:PORT [options]",
	.about =
		"TRANSPORT: --kernel, or --port PORT --ip IP/BITS\n"
		"\n"
		"Sends numbered messages at a fixed rate, reads their echoes, and reports round-trip times and losses.\n"
		"Times count from the due time of a message (no coordinated omission). The first echoes have cold caches: they\n"
		"are in first_rtt_ns and cold[], not in rtt_ns. wire_rtt_ns is the time from the departure stamp of a packet\n"
		"to the arrival stamp of its echo. sender_late_ns is the lateness of sends.\n"
		"Exit status: 0 every message was echoed intact, 1 it was not, or no connection, 2 wrong usage.\n"
		"An unreliable result is marked invalid, with the reason.",
	.words = "",
	TL_OPTIONS(options),
	.until_word = true,
	.describe = describe,
};

static int set_value(
	const struct tl_option *option, const char *text, struct tl_client_given *given, struct tl_err *err)
{
	char range[128];

	if (parse_value(option->meaning, text, given) == 0)
		return 0;
	describe_range(option->meaning, range, sizeof(range));
	return tl_fail(err, -EINVAL, "--%s %s: give %s", option->name, text, range);
}

static int bad_option(const struct tl_options_reader *reader, struct tl_err *err)
{
	const char *word = reader->argv[optind - 1];

	if (reader->missing_value)
		return tl_fail(err, -EINVAL, "%s needs a value; `tapline client --help` describes it", word);
	return tl_fail(err, -EINVAL, "%s: unknown option of client, or wrong use; see `tapline client --help`", word);
}

static int set_defaults(struct tl_client_given *given, struct tl_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(options) && ret == 0; i++) {
		const struct rule *rule = options[i].meaning;
		if (rule != NULL && rule->fallback != NULL)
			ret = set_value(&options[i], rule->fallback, given, err);
	}
	return ret;
}

int tl_client_read_options(int argc, char **argv, struct tl_client_given *given, struct tl_err *err)
{
	struct tl_options_reader reader;
	const struct tl_option *option;
	int ret = set_defaults(given, err);

	tl_options_begin_quiet(&reader, &tl_client_command, argc, argv);
	while (ret == 0 && (option = tl_options_next(&reader)) != NULL) {
		if (option->meaning != NULL)
			ret = set_value(option, optarg, given, err);
		else
			given->help = true;
	}
	if (ret != 0)
		return ret;
	if (reader.status >= 0)
		return bad_option(&reader, err);
	if (optind < argc)
		return tl_fail(
			err, -EINVAL, "%s: client takes options only; see `tapline client --help`", argv[optind]);
	return 0;
}
