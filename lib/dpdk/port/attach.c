// SPDX-License-Identifier: BSD-3-Clause
// Lookup or creation of a port's DPDK device.

#include "port_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

// Format name and arguments of the virtual device to create.
static void virtual_device(struct tl_port *port, char *args, size_t size)
{
	const struct tl_port_cfg *cfg = &port->cfg;

	if (tl_port_is_kernels(port)) {
		snprintf(port->dev_name, sizeof(port->dev_name), "net_af_xdp_%s", port->name);
		snprintf(args, size, "iface=%s,queue_count=%u", cfg->spec.arg, cfg->rx_queues);
	} else { // "net_ring0,arg=…": driver name, then arguments
		size_t name_len = strcspn(cfg->spec.arg, ",");
		snprintf(port->dev_name, sizeof(port->dev_name), "%.*s", (int)name_len, cfg->spec.arg);
		snprintf(args, size, "%s", cfg->spec.arg[name_len] == ',' ? cfg->spec.arg + name_len + 1 : "");
	}
}

static int probe_virtual(struct tl_port *port, struct tl_err *err)
{
	char args[320];

	virtual_device(port, args, sizeof(args));
	int rc = rte_eal_hotplug_add("vdev", port->dev_name, args);
	if (rc != 0) {
		char name[sizeof(port->dev_name)];
		snprintf(name, sizeof(name), "%s", port->dev_name);
		port->dev_name[0] = '\0';
		if (rc == -EFAULT) // EAL's error for a name that no driver matches
			return tl_fail(err, rc,
				"port %s: no driver of this DPDK creates %s: names begin with their driver, such as "
				"net_null0, net_ring0 or net_pcap0",
				port->name, name);
		return tl_fail(err, rc, "port %s: DPDK could not create %s with \"%s\" (%s)%s", port->name, name, args,
			strerror(-rc), tl_port_is_kernels(port) ? ": are you root (CAP_NET_RAW, CAP_NET_ADMIN)?" : "");
	}
	rc = rte_eth_dev_get_port_by_name(port->dev_name, &port->port_id);
	return rc == 0 ? 0 : tl_fail(err, rc, "port %s: %s is not a network device", port->name, port->dev_name);
}

int tl_port_attach(struct tl_port *port, struct tl_err *err)
{
	int rc = tl_port_check(&port->cfg, err);

	if (rc != 0)
		return rc;
	if (!tl_port_is_nic(port))
		return probe_virtual(port, err);
	return rte_eth_dev_get_port_by_name(port->cfg.spec.arg, &port->port_id) == 0 ? 0
										     : tl_port_refuse_absent(port, err);
}
