// SPDX-License-Identifier: BSD-3-Clause
// NIC stamps for packets of ordinary sockets: enable, and restore the previous configuration.

#include "kernel_priv.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEEDED_FLAGS (SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE)

int tl_client_nic_check(const struct ethtool_ts_info *info, const char *name, struct tl_err *err)
{
	if ((info->so_timestamping & NEEDED_FLAGS) != NEEDED_FLAGS || (info->tx_types & 1u << HWTSTAMP_TX_ON) == 0)
		return tl_fail(err, -EOPNOTSUPP,
			"--timestamps nic: the driver of %s stamps no frames in hardware (`ethtool -T %s`); use "
			"--timestamps kernel",
			name, name);
	if ((info->rx_filters & 1u << HWTSTAMP_FILTER_ALL) == 0)
		return tl_fail(err, -EOPNOTSUPP,
			"--timestamps nic: %s stamps received frames of PTP only, not all (`ethtool -T %s`); use "
			"--timestamps kernel",
			name, name);
	return 0;
}

// Return the name of the interface that the kernel routes through.
static int find_interface(int fd, const struct tl_client_cfg *cfg, char name[IFNAMSIZ], struct tl_err *err)
{
	struct tl_client_endpoint local = cfg->source, to = cfg->peer;
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	char text[TL_ENDPOINT6_TEXT];

	if (cfg->mode != TL_CLIENT_MULTICAST) {
		if (tl_client_bind_source(fd, cfg) != 0 || tl_client_connect(fd, to) != 0 ||
			getsockname(fd, (struct sockaddr *)&address, &len) != 0)
			return tl_fail(err, -errno, "no route to %s: %s; check the routes of this host",
				tl_client_endpoint_text(to, text), strerror(errno));
		local = (struct tl_client_endpoint){0};
		if (address.ss_family == AF_INET6)
			memcpy(&local.ip6, &((struct sockaddr_in6 *)&address)->sin6_addr, sizeof(local.ip6));
		else
			local.ip_be = ((struct sockaddr_in *)&address)->sin_addr.s_addr;
	}
	if (if_indextoname(tl_client_interface_of(&local), name) == NULL)
		return tl_fail(err, -ENODEV, "no interface of this host has the address that messages are sent from");
	return 0;
}

static int configure(int fd, struct tl_client_nic *nic, struct tl_err *err)
{
	struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};
	struct hwtstamp_config wanted = {.tx_type = HWTSTAMP_TX_ON, .rx_filter = HWTSTAMP_FILTER_ALL};
	struct ifreq request = {.ifr_data = (char *)&info};

	memcpy(request.ifr_name, nic->name, sizeof(nic->name));
	if (ioctl(fd, SIOCETHTOOL, &request) != 0)
		info = (struct ethtool_ts_info){0}; // driver without support for stamps
	int ret = tl_client_nic_check(&info, nic->name, err);
	if (ret != 0)
		return ret;
	request.ifr_data = (char *)&nic->before;
	bool known = ioctl(fd, SIOCGHWTSTAMP, &request) == 0;
	if (known && nic->before.tx_type == HWTSTAMP_TX_ON && nic->before.rx_filter == HWTSTAMP_FILTER_ALL)
		return 0;
	request.ifr_data = (char *)&wanted;
	if (ioctl(fd, SIOCSHWTSTAMP, &request) != 0)
		return tl_fail(err, -errno,
			"cannot turn the time stamps of %s on: %s; run as root, or use --timestamps kernel", nic->name,
			strerror(errno));
	nic->changed = known;
	if (wanted.rx_filter != HWTSTAMP_FILTER_ALL)
		return tl_fail(err, -EOPNOTSUPP,
			"%s did not agree to stamp all received frames; use --timestamps kernel", nic->name);
	return 0;
}

int tl_client_nic_begin(struct tl_client_nic *nic, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	*nic = (struct tl_client_nic){0};
	int fd = tl_client_socket(cfg, SOCK_DGRAM);
	if (fd < 0)
		return tl_fail(err, -errno, "cannot open a UDP socket: %s", strerror(errno));
	int ret = find_interface(fd, cfg, nic->name, err);
	if (ret == 0)
		ret = configure(fd, nic, err);
	close(fd);
	return ret;
}

void tl_client_nic_end(struct tl_client_nic *nic)
{
	struct ifreq request = {.ifr_data = (char *)&nic->before};
	int fd = nic->changed ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	memcpy(request.ifr_name, nic->name, sizeof(nic->name));
	ioctl(fd, SIOCSHWTSTAMP, &request);
	close(fd);
	nic->changed = false;
}
