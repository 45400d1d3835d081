// SPDX-License-Identifier: BSD-3-Clause
// Validate the options of `tapline client` together, and build a configuration from them.

#include "args_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>

#include <tl_units.h>

static bool is_in_prefix(const struct tl_client_port *port, uint32_t ip_be)
{
	return ((ip_be ^ port->ip_be) & port->mask_be) == 0;
}

// Reject options of kernel sockets that a port lacks, and the reverse.
static int check_foreign(const struct tl_client_given *given, struct tl_err *err)
{
	if (given->port.device == NULL &&
		(given->port.ip_be != 0 || tl_client_endpoint_is_set(&given->gateway) || given->port.vlan != 0 ||
			given->port.take || given->port.lcore != TL_CLIENT_ANY_LCORE))
		return tl_fail(err, -EINVAL, "--ip, --gateway, --vlan, --lcore and --take belong to --port PORT");
	if (given->port.device == NULL && given->timestamps == TL_CLIENT_STAMPS_TSC)
		return tl_fail(err, -EINVAL, "--timestamps tsc belongs to --port; give user, kernel or nic");
	if (given->port.device == NULL && given->port.lead_us != LEAD_US)
		return tl_fail(err, -EINVAL, "--lead belongs to --port: sockets of the kernel send at once");
	if (given->port.device != NULL && tl_client_endpoint_is_set(&given->source))
		return tl_fail(err, -EINVAL, "--source belongs to --kernel: a port sends from its --ip");
	if (given->port.device != NULL && given->ttl != 1)
		return tl_fail(err, -EINVAL, "--ttl belongs to --kernel: a port sends multicast with a TTL of 1");
	return 0;
}

static int check_addresses(const struct tl_client_given *given, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	const struct tl_client_port *port = &given->port;
	const struct tl_client_endpoint *gateway = &given->gateway;
	char peer[TL_ENDPOINT6_TEXT], own[TL_IPV4_TEXT];

	tl_format_ipv4(port->ip_be, own);
	if (tl_ip6_is_set(&cfg->peer.ip6) || tl_ip6_is_set(&given->group.ip6) || tl_ip6_is_set(&gateway->ip6))
		return tl_fail(err, -EINVAL, "--port measures over IPv4 only; give addresses of IPv4, or --kernel");
	if (gateway->ip_be != 0 && (!is_in_prefix(port, gateway->ip_be) || gateway->ip_be == port->ip_be))
		return tl_fail(err, -EINVAL, "--gateway: give another address in the prefix of --ip");
	tl_format_endpoint(cfg->peer.ip_be, cfg->peer.port_be, peer);
	bool own_peer = cfg->peer.ip_be == port->ip_be;
	if (cfg->mode == TL_CLIENT_MULTICAST && !own_peer)
		return tl_fail(err, -EINVAL, "--tcp-listen %s: a port listens on its --ip, %s", peer, own);
	if (cfg->mode != TL_CLIENT_MULTICAST && own_peer)
		return tl_fail(
			err, -EINVAL, "%s is our own address (--ip): give --ip one that no other host has", peer);
	if (!is_in_prefix(port, cfg->peer.ip_be) && gateway->ip_be == 0)
		return tl_fail(err, -EINVAL, "%s is not in the prefix of --ip: give another, or a --gateway", peer);
	return 0;
}

// Validate the options of a port, once all others are valid.
static int check_port(const struct tl_client_given *given, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	int ret = check_foreign(given, err);
	if (ret != 0 || given->port.device == NULL)
		return ret;
	if (given->port.ip_be == 0)
		return tl_fail(err, -EINVAL, "--port needs our address there: give --ip, such as 192.0.2.1/24");
	return check_addresses(given, cfg, err);
}

static bool other_family(const struct tl_client_endpoint *a, const struct tl_client_endpoint *b)
{
	return tl_client_endpoint_is_set(a) && tl_client_endpoint_is_set(b) &&
	       tl_ip6_is_set(&a->ip6) != tl_ip6_is_set(&b->ip6);
}

static int check_families(const struct tl_client_given *given, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	if (other_family(&cfg->source, &cfg->peer) || other_family(&given->group, &cfg->peer) ||
		other_family(&given->group, &cfg->source))
		return tl_fail(err, -EINVAL, "give addresses of one family: IPv4, or IPv6");
	return 0;
}

static int choose_mode(const struct tl_client_given *given, struct tl_client_cfg *cfg, struct tl_err *err)
{
	bool multicast =
		tl_client_endpoint_is_set(&given->group) || given->tcp_listen.port_be != 0 || given->udp_port != 0;
	bool tcp = given->tcp_connect.port_be != 0;
	bool udp = given->udp_echo.port_be != 0;

	if (multicast + tcp + udp != 1)
		return tl_fail(err, -EINVAL,
			"give exactly one of --group (with --udp-port and --tcp-listen), --tcp-connect and --udp-echo");
	if (multicast &&
		(!tl_client_endpoint_is_set(&given->group) || given->tcp_listen.port_be == 0 || given->udp_port == 0))
		return tl_fail(
			err, -EINVAL, "--group, --udp-port (from 1 to 65535) and --tcp-listen are given together");
	if (multicast && given->kernel && !tl_client_endpoint_is_set(&given->tcp_listen) &&
		!tl_client_endpoint_is_set(&given->source))
		return tl_fail(err, -EINVAL,
			"--tcp-listen 0.0.0.0 leaves open which interface sends the multicast; give the address of "
			"that interface with --source, such as 192.0.2.1");
	cfg->mode = multicast ? TL_CLIENT_MULTICAST : tcp ? TL_CLIENT_TCP : TL_CLIENT_UDP;
	cfg->peer = multicast ? given->tcp_listen : tcp ? given->tcp_connect : given->udp_echo;
	if (multicast && !tl_client_endpoint_is_set(&given->tcp_listen))
		cfg->peer.ip_be = given->port.ip_be; // without a port: 0, any
	cfg->source = given->source;
	if (multicast && !tl_client_endpoint_is_set(&given->source))
		cfg->source =
			(struct tl_client_endpoint){.ip_be = given->tcp_listen.ip_be, .ip6 = given->tcp_listen.ip6};
	return check_families(given, cfg, err);
}

static int check_size(const struct tl_client_cfg *cfg, struct tl_err *err)
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
			cfg->rate_pps, tl_client_seconds_of(cfg->duration_ns), planned, TL_CLIENT_MAX_MESSAGES);
	return 0;
}

// Set the sweep and, in cfg, its first run.
static int choose_sweep(const struct tl_client_given *given, struct tl_client_args *args, struct tl_err *err)
{
	bool payloads = given->payload_bytes.n > 1, rates = given->rate_pps.n > 1;

	if (payloads && rates)
		return tl_fail(err, -EINVAL, "give several values to --payload or to --rate, not to both");
	args->sweep = payloads ? given->payload_bytes : given->rate_pps;
	args->sweep.axis = payloads ? TL_CLIENT_AXIS_PAYLOAD : rates ? TL_CLIENT_AXIS_RATE : TL_CLIENT_AXIS_NONE;

	struct tl_client_cfg *cfg = &args->cfg;
	for (size_t i = args->sweep.n; i-- > 0;) {
		cfg->payload_bytes = given->payload_bytes.at[payloads ? i : 0];
		cfg->rate_pps = given->rate_pps.at[rates ? i : 0];
		int ret = check_size(cfg, err);
		if (ret != 0)
			return ret;
	}
	return 0;
}

// Check the memory for samples: for files every sample is kept until the end.
static int check_samples(const struct tl_client_args *args, struct tl_err *err)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < args->sweep.n; i++) {
		const struct tl_client_cfg one = tl_client_point(&args->cfg, &args->sweep, i);
		samples += tl_client_planned(&one);
	}
	if ((args->files.csv != NULL || args->files.html != NULL) && samples > TL_CLIENT_MAX_SAMPLES)
		return tl_fail(err, -EINVAL,
			"--csv and --html keep every sample in memory, and %" PRIu64
			" are too many: give --rate and --seconds a product up to %" PRIu64,
			samples, TL_CLIENT_MAX_SAMPLES);
	return 0;
}

static struct tl_client_args args_of(const struct tl_client_given *given)
{
	return (struct tl_client_args){
		.cfg =
			{
				.ttl = given->ttl,
				.burst = given->burst,
				.duration_ns = given->duration_ns,
				.connect_timeout_ns = given->connect_timeout_ns,
				.linger_ns = given->linger_ns,
				.spin_ns = given->spin_us * TL_NS_PER_US,
				.cold = given->cold,
				.max_loss = given->max_loss,
				.timestamps = given->timestamps,
			},
		.port = given->port,
		.null_path = given->null_path,
		.files = given->files,
		.require_valid = given->require_valid,
		.json = given->json,
		.help = given->help,
	};
}

int tl_client_parse_args(int argc, char **argv, struct tl_client_args *args, struct tl_err *err)
{
	struct tl_client_given given = {.port.lcore = TL_CLIENT_ANY_LCORE};
	int ret = tl_client_read_options(argc, argv, &given, err);

	given.port.gateway_be = given.gateway.ip_be;
	*args = args_of(&given);
	if (given.burst > 1)
		args->port.lead_us = 0; // no two frames leave at the same time
	if (ret != 0 || given.help)
		return given.help ? 0 : ret;
	if (given.kernel == (given.port.device != NULL))
		return tl_fail(err, -EINVAL,
			"give one of --kernel (sockets of the kernel) and --port PORT (a port, and our own stack)");

	struct tl_client_cfg *cfg = &args->cfg;
	ret = choose_mode(&given, cfg, err);
	if (ret == 0)
		ret = check_port(&given, cfg, err);
	if (ret != 0)
		return ret;
	if (cfg->mode == TL_CLIENT_MULTICAST)
		cfg->group = (struct tl_client_endpoint){
			given.group.ip_be, htons((uint16_t)given.udp_port), given.group.ip6};
	ret = choose_sweep(&given, args, err);
	return ret != 0 ? ret : check_samples(args, err);
}
