// SPDX-License-Identifier: BSD-3-Clause
// Checks of the link, as far as a kernel driver reports it.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#define FEC_FROM_MBPS 25000

static void judge_carrier_of(const struct tl_fact_port *port, struct tl_finding *f)
{
	const char *name = port->interface.text;

	if (port->present.known && !port->present.value)
		tl_found(f, TL_VERDICT_FAIL, "%s: no such interface", name);
	else if (!port->carrier.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: is down", name);
	else if (port->carrier.value == 0)
		tl_found(f, TL_VERDICT_WARN, "%s: no carrier", name);
	else if (port->speed_mbps.known && port->speed_mbps.value > 0)
		tl_found(f, TL_VERDICT_OK, "%s: %" PRIi64 " Mbit/s", name, port->speed_mbps.value);
	else
		tl_found(f, TL_VERDICT_OK, "%s: has a carrier", name);
}

static void judge_mtu_of(const struct tl_fact_port *port, struct tl_finding *f)
{
	uint64_t wanted = port->configured ? port->wanted_mtu : 0;

	if (!port->mtu.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->interface.text);
	else if (port->mtu.value >= (int64_t)wanted)
		tl_found(f, TL_VERDICT_OK, "%s: %" PRIi64, port->interface.text, port->mtu.value);
	else // a capture-only port still works, except for long frames
		tl_found(f, port->sends ? TL_VERDICT_FAIL : TL_VERDICT_WARN,
			"%s: %" PRIi64 ", the configuration has %" PRIu64, port->interface.text, port->mtu.value,
			wanted);
}

static void judge_pause_of(const struct tl_fact_port *port, struct tl_finding *f)
{
	static const char *const ways[] = {"off", "received", "sent", "received and sent"};

	if (!port->pause.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: the driver does not tell", port->interface.text);
	else
		tl_found(f, port->pause.value == 0 ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: %s", port->interface.text,
			ways[port->pause.value & 3]);
}

static void judge_fec_of(const struct tl_fact_port *port, struct tl_finding *f)
{
	bool wanted = port->speed_mbps.known && port->speed_mbps.value >= FEC_FROM_MBPS;

	if (!port->fec.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: the driver does not tell", port->interface.text);
	else
		tl_found(f, port->fec.value || !wanted ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: %s",
			port->interface.text, port->fec.value ? "on" : "off");
}

static void judge_isolated(const struct tl_facts *facts, struct tl_finding *f)
{
	bool any = false;

	for (uint32_t i = 0; i < facts->n_ports; i++) {
		const struct tl_fact_port *port = &facts->ports[i];
		if (!port->isolated)
			continue;
		any = true;
		if (!port->interface.known || port->interface.text[0] == '\0')
			tl_found(f, TL_VERDICT_FAIL, "%s: has no interface of the kernel", port->name);
		else if (!port->taken.known)
			tl_found(f, TL_VERDICT_UNKNOWN, "%s: the kernel's addresses could not be read", port->name);
		else if (port->taken.text[0] != '\0')
			tl_found(f, TL_VERDICT_FAIL, "%s: the kernel has %s", port->name, port->taken.text);
		else
			tl_found(f, TL_VERDICT_OK, "%s: beside the kernel, with addresses of its own", port->name);
	}
	if (!any && (facts->wanted.configured || facts->n_ports != 0))
		tl_found(f, TL_VERDICT_OK, "no port is isolated");
}

static const struct tl_check checks[] = {
	{"link.carrier", TL_CAN_WARN | TL_CAN_FAIL, "Without a carrier no frame arrives, and there is no other error.",
		"Check cable, transceiver and the switch's port; ip link set INTERFACE up.",
		.judge_interface = judge_carrier_of},
	{"link.mtu", TL_CAN_WARN | TL_CAN_FAIL,
		"Frames longer than the interface's MTU are dropped; an echo refuses to start.",
		"ip link set INTERFACE mtu N, or set ports[].mtu to the interface's.", .judge_interface = judge_mtu_of},
	{"link.pause", TL_CAN_WARN,
		"Pause frames of a switch or peer stop sending; those of this host stop the peer and hide loss.",
		"ethtool -A INTERFACE rx off tx off", .judge_interface = judge_pause_of},
	{"link.fec", TL_CAN_WARN,
		"At 25 Gbit/s and above a link without error correction loses frames; both ends must use the same.",
		"ethtool --set-fec INTERFACE encoding auto, or the switch's setting.", .judge_interface = judge_fec_of},
	{"link.isolated", TL_CAN_FAIL,
		"An isolated port shares an interface with the kernel, which answers ARP for each address that it has, whatever its interface.",
		"ip address del ADDRESS dev INTERFACE, or give ports[].ip and ip6 other addresses. arp_ignore and rp_filter need no change.",
		.judge = judge_isolated},
};

const struct tl_check_group tl_doctor_link = {checks, TL_ARRAY_LEN(checks)};
