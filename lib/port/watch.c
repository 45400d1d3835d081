// SPDX-License-Identifier: BSD-3-Clause
// What befalls a port while it runs: its link goes down and comes back, or its device is taken away.

#define ALLOW_EXPERIMENTAL_API // rte_dev_event_callback_*, since 18.05

#include "port_priv.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <tl_log.h>

// ---- the device

// The kernel asks vfio for the device back (it is unplugged, removed or unbound) and waits until we let go. A thread of
// DPDK's hears it.
static void asked_for(const char *device, enum rte_dev_event_type event, void *port)
{
	if (event == RTE_DEV_EVENT_REMOVE)
		atomic_store(&((struct tl_port *)port)->events.removed, true);
}

// The driver says that its device is gone.
static int is_gone(uint16_t port_id, enum rte_eth_event_type event, void *port, void *unused)
{
	atomic_store(&((struct tl_port *)port)->events.removed, true);
	return 0;
}

static const char *device_name(const struct tl_port *port)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port->port_id, &info) == 0 ? rte_dev_name(info.device) : NULL;
}

bool tl_port_removed(const struct tl_port *port, struct tl_err *err)
{
	if (!atomic_load(&port->events.removed))
		return false;
	if (err != NULL)
		tl_fail(err, -ENODEV,
			"port %s: %s was taken away: it was unplugged, removed, or unbound from its driver; what came "
			"until then is recorded",
			port->name, port->cfg.spec.text);
	return true;
}

// ---- the link

static bool read_link(const struct tl_port *port, bool *up)
{
	struct rte_eth_link link;

	if (tl_port_is_kernels(port))
		return tl_kernel_link(port->cfg.spec.arg, up);
	if (port->ops != &tl_port_eth_ops || rte_eth_link_get_nowait(port->port_id, &link) != 0)
		return false;
	*up = link.link_status == RTE_ETH_LINK_UP;
	return true;
}

bool tl_port_has_link(const struct tl_port *port)
{
	bool up;

	return !read_link(port, &up) || up;
}

static void report_link(const struct tl_port *port)
{
	if (port->events.link.up)
		tl_info("port %s: %s has a link, %llu Mbit/s", port->name, port->cfg.spec.text,
			(unsigned long long)tl_port_speed_bps(port) / 1000000);
	else
		tl_warn("port %s: %s has no link any more: frames will come when it has one", port->name,
			port->cfg.spec.text);
}

bool tl_port_watch(struct tl_port *port)
{
	struct tl_port_events *events = &port->events;
	struct tl_err err;
	bool up;

	(void)tl_port_torn_out(port); // sets removed
	if (tl_port_removed(port, &err)) {
		if (!events->reported)
			tl_warn("%s", err.text);
		events->reported = true;
		events->link.up = false;
		return false;
	}
	events->link.known = read_link(port, &up);
	if (!events->link.known || up == events->link.up)
		return false;
	events->link.up = up;
	events->link.downs += !up;
	report_link(port);
	return up;
}

void tl_port_link(const struct tl_port *port, struct tl_port_link *out)
{
	*out = port->events.link;
}

// ---- both

void tl_port_begin_watch(struct tl_port *port)
{
	struct tl_port_events *events = &port->events;

	events->link.known = read_link(port, &events->link.up);
	if (port->ops != &tl_port_eth_ops)
		return;
	events->device = device_name(port);
	if (events->device != NULL)
		(void)rte_dev_event_callback_register(events->device, asked_for, port);
	(void)rte_eth_dev_callback_register(port->port_id, RTE_ETH_EVENT_INTR_RMV, is_gone, port);
}

// Retry while a callback runs (-EAGAIN).
void tl_port_end_watch(struct tl_port *port)
{
	if (port->events.device == NULL)
		return;
	while (rte_dev_event_callback_unregister(port->events.device, asked_for, port) == -EAGAIN)
		rte_delay_us_sleep(100);
	while (rte_eth_dev_callback_unregister(port->port_id, RTE_ETH_EVENT_INTR_RMV, is_gone, port) == -EAGAIN)
		rte_delay_us_sleep(100);
}
