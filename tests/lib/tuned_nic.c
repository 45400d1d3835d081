// SPDX-License-Identifier: BSD-3-Clause
// Rings and interrupt moderation of a NIC on any interface: preloaded, it answers these queries of ethtool. With
// ADAPTIVE_NIC its moderation adapts to the load.
//
//   LD_PRELOAD=BUILD/tests/libtuned_nic.so tapline doctor -c config.json

#include <dlfcn.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>

static int (*real_ioctl)(int fd, unsigned long request, ...);

__attribute__((constructor)) static void begin(void)
{
	real_ioctl = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
}

// Return whether the query was answered.
static int answer(void *query)
{
	struct ethtool_ringparam *ring = query;
	struct ethtool_coalesce *moderation = query;

	switch (ring->cmd) {
	case ETHTOOL_GRINGPARAM:
		ring->rx_max_pending = 4096;
		ring->tx_max_pending = 2048;
		ring->rx_pending = 512;
		ring->tx_pending = 256;
		return 1;
	case ETHTOOL_GCOALESCE:
		moderation->use_adaptive_rx_coalesce = getenv("ADAPTIVE_NIC") != NULL;
		moderation->rx_coalesce_usecs = 30;
		moderation->tx_coalesce_usecs = 7;
		return 1;
	default:
		return 0;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	va_start(args, request);
	void *arg = va_arg(args, void *);
	va_end(args);
	if (request == SIOCETHTOOL && answer(((struct ifreq *)arg)->ifr_data))
		return 0;
	return real_ioctl(fd, request, arg);
}
