// SPDX-License-Identifier: BSD-3-Clause
// Isolated ports: DPDK receives the frames of flow rules; all others stay with the kernel, whose interface the device
// shares.

#include "port_priv.h"

#include <errno.h>
#include <string.h>

#include <rte_flow.h>

#include <tl_iface.h>
#include <tl_log.h>
#include <tl_units.h>

// Refuse an address that the kernel answers for.
static int check_address(const struct tl_port_cfg *cfg, const char *address, struct tl_err *err)
{
	char iface[TL_PORT_IFACE_CHARS];

	if (!tl_iface_with_address(address, iface))
		return 0;
	return tl_fail(err, -EADDRINUSE,
		"port %s: the kernel has the address %s on %s, and would answer for it, too: `ip address del` it there, "
		"or give the port another one",
		cfg->name, address, iface);
}

int tl_isolate_check(const struct tl_port_cfg *cfg, struct tl_err *err)
{
	struct tl_port_cfg kernels = {.name = cfg->name, .spec = {.kind = TL_PORT_KERNEL}};
	char ip[TL_IPV4_TEXT], ip6[TL_IPV6_TEXT];

	if (!tl_port_kernel_iface(&cfg->spec, kernels.spec.arg))
		return tl_fail(err, -ENODEV,
			"port %s: %s has no interface of the kernel in this network namespace, and cannot be isolated: "
			"omit \"isolate\"",
			cfg->name, cfg->spec.text);
	int rc = tl_kernel_check(&kernels, err);
	if (rc == 0 && cfg->ip_be != 0)
		rc = check_address(cfg, tl_format_ipv4(cfg->ip_be, ip), err);
	if (rc == 0 && tl_ip6_is_set(&cfg->ip6))
		rc = check_address(cfg, tl_format_ipv6(&cfg->ip6, ip6), err);
	return rc;
}

// net_tap removes its own rules for the kernel's interface only once its queues exist (tap_flow_isolate(), DPDK
// v22.11.9, tap_flow.c:1595); mlx5 can be isolated until it is started (mlx5_flow.c:7964).
int tl_isolate_device(struct tl_port *port, struct tl_err *err)
{
	struct rte_flow_error error = {0};
	int rc = rte_flow_isolate(port->port_id, 1, &error);

	if (rc != 0)
		return tl_fail(err, rc, "port %s: the driver of %s does not isolate flows (%s): omit \"isolate\"",
			port->name, port->cfg.spec.text, error.message != NULL ? error.message : strerror(-rc));
	(void)tl_port_kernel_iface(&port->cfg.spec, port->copies.iface);
	return port->cfg.ip_be != 0 || tl_ip6_is_set(&port->cfg.ip6) ? tl_copies_open(port, err) : 0;
}

void tl_isolate_clean(const struct tl_port *port)
{
	char iface[TL_PORT_IFACE_CHARS];

	if (port->dev_name[0] == '\0' || !tl_port_changes_iface(&port->cfg.spec) ||
		!tl_port_kernel_iface(&port->cfg.spec, iface))
		return;
	int rc = tl_iface_remove_ingress(iface);
	if (rc != 0 && rc != -ENOENT && rc != -ENODEV)
		tl_warn("port %s: the interface %s keeps the ingress queueing discipline of net_tap (%s): tc qdisc del "
			"dev %s ingress",
			port->name, iface, strerror(-rc), iface);
}
