// SPDX-License-Identifier: BSD-3-Clause
// Frames sent, by the device's own counters.

#include "port_priv.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_ethdev.h>

// Read the interface's count (proc_net(5), /proc/net/dev: name, eight receive fields, sent packets after sent bytes),
// of this network namespace.
static bool read_interface(const char *iface, uint64_t *out_pkts)
{
	FILE *file = fopen("/proc/self/net/dev", "re");
	char line[512], name[64];
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line, " %63[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name, out_pkts) == 2 &&
			strcmp(name, iface) == 0;
	if (file != NULL)
		fclose(file);
	return found;
}

// Read the count of the interface of vdev:net_af_packet0,iface=NAME,… (see tl_port_counts_by_sockets()).
static bool read_named_interface(const struct tl_port *port, uint64_t *out_pkts)
{
	const char *iface = strstr(port->cfg.spec.arg, ",iface=");
	char name[IF_NAMESIZE] = "";

	if (iface != NULL)
		sscanf(iface, ",iface=%15[^,]", name);
	return read_interface(name, out_pkts);
}

bool tl_port_sent(const struct tl_port *port, uint64_t *out_pkts)
{
	struct rte_eth_stats stats;

	if (tl_port_is_kernels(port))
		return read_interface(port->cfg.spec.arg, out_pkts);
	if (port->socket_domain == AF_PACKET)
		return read_named_interface(port, out_pkts);
	if (!tl_port_traits(&port->cfg.spec)->dpdk || tl_port_removed(port, NULL) ||
		rte_eth_stats_get(port->port_id, &stats) != 0)
		return false;
	*out_pkts = stats.opackets;
	return true;
}
