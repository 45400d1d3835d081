// SPDX-License-Identifier: BSD-3-Clause
// Validation of the options of a client over a DPDK port.

#include "args_priv.h"

#include <errno.h>

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

int tl_client_check_port(const struct tl_client_given *given, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	int ret = check_foreign(given, err);
	if (ret != 0 || given->port.device == NULL)
		return ret;
	if (given->port.ip_be == 0)
		return tl_fail(err, -EINVAL, "--port needs our address there: give --ip, such as 192.0.2.1/24");
	return check_addresses(given, cfg, err);
}
