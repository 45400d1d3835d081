// SPDX-License-Identifier: BSD-3-Clause
// Runtime events of a port: link down and up, removal of the device.

#define ALLOW_EXPERIMENTAL_API // rte_dev_event_callback_*, since 18.05

#include "port_priv.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <tl_iface.h>
#include <tl_log.h>
#include <tl_units.h>

#define ASK_NS TL_NS_PER_S // between two queries of a NIC
#define AWAIT_PAUSE_US 10000

// ---- device

// Handle a removal request: the kernel requests the device from vfio (it is unplugged, removed or unbound) and waits
// until the port releases it. Runs in a thread of DPDK.
static void asked_for(const char *device, enum rte_dev_event_type event, void *port)
{
	if (event == RTE_DEV_EVENT_REMOVE)
		atomic_store(&((struct tl_port *)port)->events.removed, true);
}

// Handle the driver's event that its device is gone.
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
			"port %s: %s is gone: it was unplugged, removed, or unbound from its driver; frames received until then are recorded",
			port->name, port->cfg.spec.text);
	return true;
}

// ---- link

// While the link is down ixgbe's driver restarts its setup at each query, which keeps optics of several speeds from
// ever linking up (ixgbe_dev_link_update_share() of DPDK 22.11.11, ixgbe_ethdev.c:4361).
bool tl_port_link_due(struct tl_port_events *events, uint64_t now_ns)
{
	if (now_ns < events->next_ask_ns)
		return false;
	events->next_ask_ns = now_ns + ASK_NS;
	return true;
}

static bool ask_device(struct tl_port *port, bool *up)
{
	struct rte_eth_link link;
	bool asked = port->ops == &tl_port_eth_ops && rte_eth_link_get_nowait(port->port_id, &link) == 0;

	if (asked) {
		bool known = link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
		atomic_store(&port->events.speed_bps, known ? link.link_speed * UINT64_C(1000000) : 0);
		*up = link.link_status == RTE_ETH_LINK_UP;
	}
	return asked;
}

// The kernel's flags follow the carrier up to a second later, its count at once: a loss that both show is one.
static bool ask_kernel(struct tl_port *port, bool *up)
{
	const char *iface = port->cfg.spec.arg;
	struct tl_iface_carrier carrier;
	bool known = tl_kernel_link(iface, up);

	if (tl_iface_carrier(iface, &carrier) == 0) {
		*up &= carrier.on;
		port->events.carrier_downs = carrier.downs;
	}
	return known;
}

void tl_port_look_at_link(struct tl_port *port)
{
	struct tl_port_link *link = &port->events.link;
	bool up;

	if (tl_port_is_nic(port) && !tl_port_link_due(&port->events, tl_mono_ns()))
		return;
	if (!tl_port_is_kernels(port) || atomic_load(&port->events.speed_bps) == 0)
		link->known = ask_device(port, &up);
	if (tl_port_is_kernels(port))
		link->known = ask_kernel(port, &up);
	if (link->known)
		link->up = up;
}

uint64_t tl_port_speed_bps(const struct tl_port *port)
{
	return port->ops == &tl_port_packet_ops ? port->speed_bps : atomic_load(&port->events.speed_bps);
}

bool tl_port_await_link(struct tl_port *port, uint64_t timeout_ns)
{
	uint64_t deadline_ns = tl_mono_ns() + timeout_ns;

	for (;;) {
		tl_port_look_at_link(port);
		if (!port->events.link.known || port->events.link.up)
			return true;
		if (tl_mono_ns() >= deadline_ns)
			return false;
		rte_delay_us_sleep(AWAIT_PAUSE_US);
	}
}

// Return how often the link was lost since the last look. A kernel interface counts those that were over before this
// look, but not those by `ip link set down`.
static uint32_t downs_since(const struct tl_port_events *events, bool was_up, uint32_t before)
{
	return events->carrier_downs != before ? events->carrier_downs - before : was_up && !events->link.up;
}

static void report_link(const struct tl_port *port, bool was_up)
{
	if (port->events.link.up && was_up)
		tl_warn("port %s: %s had no link for less than a second", port->name, port->cfg.spec.text);
	else if (port->events.link.up)
		tl_info("port %s: %s has a link, %llu Mbit/s", port->name, port->cfg.spec.text,
			(unsigned long long)tl_port_speed_bps(port) / 1000000);
	else
		tl_warn("port %s: %s has no link any more: reception resumes with the link", port->name,
			port->cfg.spec.text);
}

bool tl_port_watch(struct tl_port *port)
{
	struct tl_port_events *events = &port->events;
	struct tl_err err;
	bool was_up = events->link.up;
	uint32_t before = events->carrier_downs;

	(void)tl_port_torn_out(port); // sets removed
	if (tl_port_removed(port, &err)) {
		if (!events->reported)
			tl_warn("%s", err.text);
		events->reported = true;
		events->link.up = false;
		return false;
	}
	tl_port_look_at_link(port);
	uint32_t downs = downs_since(events, was_up, before);
	if (events->link.up == was_up && downs == 0)
		return false;
	events->link.downs += downs;
	report_link(port, was_up);
	return events->link.up;
}

void tl_port_link(const struct tl_port *port, struct tl_port_link *out)
{
	*out = port->events.link;
}

// ---- device and link

void tl_port_begin_watch(struct tl_port *port)
{
	struct tl_port_events *events = &port->events;

	events->next_ask_ns = 0; // the device has restarted
	tl_port_look_at_link(port);
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
