// SPDX-License-Identifier: BSD-3-Clause
// Detect a PCI device that was torn out. Its registers and its configuration space read as all ones, and its file in
// sysfs disappears when the kernel has noticed. Drivers do not report it: ixgbe has no is_removed (DPDK 22.11.11,
// drivers/net/ixgbe/ixgbe_ethdev.c), and takes all ones for counts.

#include "port_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// Offset in bytes. Reserved bits are 0; the identifiers before it read as all ones in a virtual function.
#define COMMAND_AND_STATUS 4

void tl_port_open_presence(struct tl_port *port)
{
	char path[320];

	port->events.config_fd = -1;
	if (!tl_port_is_nic(port))
		return;
	snprintf(path, sizeof(path), "%s/%s/config", tl_port_sysfs_devices(), port->cfg.spec.arg);
	port->events.config_fd = open(path, O_RDONLY | O_CLOEXEC);
}

void tl_port_close_presence(struct tl_port *port)
{
	if (port->events.config_fd >= 0)
		close(port->events.config_fd);
	port->events.config_fd = -1;
}

bool tl_port_torn_out(struct tl_port *port)
{
	uint32_t value = 0;

	if (port->events.config_fd < 0)
		return false;
	ssize_t n = pread(port->events.config_fd, &value, sizeof(value), COMMAND_AND_STATUS);
	if (n == (ssize_t)sizeof(value) && value != UINT32_MAX)
		return false;
	atomic_store(&port->events.removed, true);
	return true;
}
