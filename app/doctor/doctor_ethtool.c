// SPDX-License-Identifier: BSD-3-Clause
// Query a network driver by ethtool ioctls: pause frames, error correction, firmware.

#include "doctor_facts.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool ask(int fd, const char *interface, void *command)
{
	struct ifreq request = {.ifr_data = command};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", interface);
	return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

void tl_gather_ethtool(struct tl_fact_port *port)
{
	struct ethtool_pauseparam pause = {.cmd = ETHTOOL_GPAUSEPARAM};
	struct ethtool_fecparam fec = {.cmd = ETHTOOL_GFECPARAM};
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	const char *interface = port->interface.text;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (ask(fd, interface, &pause))
		port->pause = tl_fact_is((pause.rx_pause != 0) | (pause.tx_pause != 0) << 1);
	if (ask(fd, interface, &fec))
		port->fec = tl_fact_is((fec.active_fec & ~(uint32_t)(ETHTOOL_FEC_NONE | ETHTOOL_FEC_OFF)) != 0);
	if (!port->firmware.known && ask(fd, interface, &driver) && driver.fw_version[0] != '\0')
		port->firmware = tl_fact_says(driver.fw_version);
	close(fd);
}
