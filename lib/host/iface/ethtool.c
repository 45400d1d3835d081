// SPDX-License-Identifier: BSD-3-Clause
// Requests to the driver of a kernel interface.

#include <tl_iface.h>

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int tl_iface_ethtool(const char *iface, void *request)
{
	struct ifreq call = {.ifr_data = request};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(call.ifr_name, sizeof(call.ifr_name), "%.15s", iface);
	int rc = ioctl(fd, SIOCETHTOOL, &call) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}
