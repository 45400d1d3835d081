// SPDX-License-Identifier: BSD-3-Clause
// Kernel interface of a device that DPDK drives beside it. Configuring the device sets its MTU: mlx5_dev_configure
// calls mlx5_dev_set_mtu (drivers/net/mlx5/mlx5_ethdev.c:149 and 631, DPDK v22.11.11). It is restored at the end.

#include "port_priv.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include <tl_log.h>

// net_tap removes its filters from its own interface and from that of remote=, and restores their flags
// (drivers/net/tap/rte_eth_tap.c:1190, DPDK v22.11.11).
bool tl_port_changes_iface(const struct tl_port_spec *spec)
{
	return tl_port_traits(spec)->devargs && strncmp(spec->arg, "net_tap", strlen("net_tap")) == 0;
}

void tl_port_note_shared(struct tl_port *port)
{
	struct tl_port_shared *shared = &port->shared;
	char net[320], path[640];

	if (!tl_port_is_nic(port))
		return;
	snprintf(net, sizeof(net), "%s/%s/net", tl_port_sysfs_devices(), port->cfg.spec.arg);
	DIR *names = opendir(net);
	for (const struct dirent *name; names != NULL && shared->mtu == 0 && (name = readdir(names)) != NULL;) {
		snprintf(path, sizeof(path), "%s/%s/mtu", net, name->d_name);
		FILE *file = name->d_name[0] != '.' ? fopen(path, "re") : NULL;
		if (file != NULL && fscanf(file, "%hu", &shared->mtu) == 1)
			snprintf(shared->name, sizeof(shared->name), "%.15s", name->d_name);
		if (file != NULL)
			fclose(file);
	}
	if (names != NULL)
		closedir(names);
}

// Restore the MTU, after the device has been stopped.
void tl_port_restore_shared(const struct tl_port *port)
{
	const struct tl_port_shared *shared = &port->shared;
	uint16_t mtu;

	if (shared->mtu == 0 || rte_eth_dev_get_mtu(port->port_id, &mtu) != 0 || mtu == shared->mtu)
		return;
	int rc = rte_eth_dev_set_mtu(port->port_id, shared->mtu);
	if (rc == 0)
		tl_info("port %s: the interface %s has its MTU of %u again", port->name, shared->name, shared->mtu);
	else
		tl_warn("port %s: the interface %s keeps the MTU %u (%s): ip link set %s mtu %u", port->name,
			shared->name, mtu, strerror(-rc), shared->name, shared->mtu);
}
