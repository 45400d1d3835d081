// SPDX-License-Identifier: BSD-3-Clause
// Kernel interface of a device that DPDK drives beside it. Configuring the device sets its MTU: mlx5_dev_configure
// calls mlx5_dev_set_mtu (drivers/net/mlx5/mlx5_ethdev.c:149 and 631, DPDK v22.11.11). It is restored at the end.

#include "port_priv.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include <tl_log.h>

// Write the name of the first interface of a PCI device.
static bool first_interface(const char *address, char name[TL_PORT_IFACE_CHARS])
{
	char net[320];

	name[0] = '\0';
	snprintf(net, sizeof(net), "%s/%s/net", tl_port_sysfs_devices(), address);
	DIR *names = opendir(net);
	for (const struct dirent *entry; names != NULL && name[0] == '\0' && (entry = readdir(names)) != NULL;)
		if (entry->d_name[0] != '.')
			snprintf(name, TL_PORT_IFACE_CHARS, "%.15s", entry->d_name);
	if (names != NULL)
		closedir(names);
	return name[0] != '\0';
}

bool tl_port_kernel_iface(const struct tl_port_spec *spec, char name[TL_PORT_IFACE_CHARS])
{
	const char *remote = tl_port_changes_iface(spec) ? strstr(spec->arg, ",remote=") : NULL;

	if (tl_port_traits(spec)->nic)
		return first_interface(spec->arg, name);
	if (remote == NULL)
		return false;
	remote += strlen(",remote=");
	snprintf(name, TL_PORT_IFACE_CHARS, "%.*s", (int)strcspn(remote, ","), remote);
	return name[0] != '\0';
}

// net_tap removes its filters from its own interface and from that of remote=, and restores their flags
// (drivers/net/tap/rte_eth_tap.c:1190, DPDK v22.11.11).
bool tl_port_changes_iface(const struct tl_port_spec *spec)
{
	return tl_port_traits(spec)->devargs && strncmp(spec->arg, "net_tap", strlen("net_tap")) == 0;
}

void tl_port_note_shared(struct tl_port *port)
{
	struct tl_port_shared *shared = &port->shared;
	char path[320];

	if (!tl_port_is_nic(port) || !first_interface(port->cfg.spec.arg, shared->name))
		return;
	snprintf(path, sizeof(path), "%s/%s/net/%s/mtu", tl_port_sysfs_devices(), port->cfg.spec.arg, shared->name);
	FILE *file = fopen(path, "re");
	if (file == NULL || fscanf(file, "%hu", &shared->mtu) != 1)
		shared->mtu = 0;
	if (file != NULL)
		fclose(file);
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
