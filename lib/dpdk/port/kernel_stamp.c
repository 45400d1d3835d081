// SPDX-License-Identifier: BSD-3-Clause
// Stamps by the kernel of frames sent to an interface: taken in the driver when it takes the frame, on CLOCK_REALTIME.
// Only marked frames are stamped (slot_tx.c): each costs the sender about a microsecond.

#include "port_priv.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <sys/socket.h>

#include <tl_departure.h>
#include <tl_iface.h>

static int socket_of(const struct tl_port *port)
{
	const struct tl_slot_queue *s =
		tl_port_is_kernels(port) && port->cfg.tx_queues != 0 ? port->txq[0].backend : NULL;

	return s != NULL ? s->fd : -1;
}

bool tl_port_stamps_sent(const struct tl_port *port)
{
	struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};

	return socket_of(port) >= 0 && tl_iface_ethtool(port->cfg.spec.arg, &info) == 0 &&
	       (info.so_timestamping & SOF_TIMESTAMPING_TX_SOFTWARE) != 0;
}

int tl_port_enable_sent_stamps(const struct tl_port *port)
{
	const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;

	return setsockopt(socket_of(port), SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0 ? 0 : -errno;
}

bool tl_port_read_sent_stamp(const struct tl_port *port, uint64_t *ns)
{
	struct tl_departure departure;
	bool found = false;

	while (tl_departure_read(socket_of(port), &departure))
		if (departure.stamp_ns != 0) {
			*ns = departure.stamp_ns;
			found = true;
		}
	return found;
}
