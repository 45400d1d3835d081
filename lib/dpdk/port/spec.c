// SPDX-License-Identifier: BSD-3-Clause
// Kinds of ports, and the parser of PORT: kind and arguments.

#include "port_priv.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static const struct tl_port_traits kinds[] = {
	[TL_PORT_PCI] = {.nic = true,
		.dpdk = true,
		.sends = true,
		.sources = TL_TS_BIT(TL_TS_TSC) | TL_TS_BIT(TL_TS_NIC_RX),
		.way = "DPDK's driver of the NIC",
		.drops = "the driver's",
		.ops = &tl_port_eth_ops},
	[TL_PORT_KERNEL] = {.interface = true,
		.sends = true,
		.shows_sent = true,
		.sources = TL_TS_BIT(TL_TS_TSC) | TL_TS_BIT(TL_TS_KERNEL),
		.way = "AF_PACKET (TPACKET_V3), a block at a time: the port only records",
		.way_sending =
			"AF_PACKET (TPACKET_V2), a frame at a time: the port has an echo (xdp: would take the interface "
			"from the kernel, and is never chosen by itself)",
		.drops = "the kernel's, from its socket",
		.check = tl_kernel_check,
		.ops = &tl_port_packet_ops},
	[TL_PORT_XDP] = {.prefix = "xdp:",
		.interface = true,
		.dpdk = true,
		.sends = true,
		.bpf = true,
		.sources = TL_TS_BIT(TL_TS_TSC),
		.way = "AF_XDP",
		.drops = "the kernel's, of this socket; frames seen are not counted",
		.check = tl_kernel_check,
		.ops = &tl_port_eth_ops},
	[TL_PORT_FILE] = {.prefix = "pcap:",
		.sources = TL_TS_BIT(TL_TS_FILE),
		.way = "a file",
		.drops = "none needed: a file loses nothing",
		.check = tl_file_check,
		.ops = &tl_port_file_ops},
	[TL_PORT_VDEV] = {.prefix = "vdev:",
		.devargs = true,
		.dpdk = true,
		.sends = true,
		.sources = TL_TS_BIT(TL_TS_TSC) | TL_TS_BIT(TL_TS_NIC_RX),
		.way = "a virtual device of DPDK",
		.drops = "the driver's",
		.ops = &tl_port_eth_ops},
};

const struct tl_port_traits *tl_port_traits(const struct tl_port_spec *spec)
{
	return &kinds[spec->kind];
}

static bool is_hex(const char *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strchr("0123456789abcdefABCDEF", s[i]) == NULL || s[i] == '\0')
			return false;
	return true;
}

#define PCI_ADDRESS_CHARS 12

// "0000:3b:00.0", with or without DPDK's device arguments after a comma
static bool is_pci_address(const char *s)
{
	char behind = strlen(s) < PCI_ADDRESS_CHARS ? '?' : s[PCI_ADDRESS_CHARS];

	return (behind == '\0' || behind == ',') && is_hex(s, 4) && s[4] == ':' && is_hex(s + 5, 2) && s[7] == ':' &&
	       is_hex(s + 8, 2) && s[10] == '.' && s[11] >= '0' && s[11] <= '7';
}

static bool is_interface_name(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len < IF_NAMESIZE && strpbrk(s, "/ \t\n:,=") == NULL;
}

static int refuse(const char *text, struct tl_err *err)
{
	return tl_fail(err, -EINVAL,
		"\"%s\" is not a port: give a PCI address (0000:3b:00.0), a kernel interface (eth0), xdp:INTERFACE, "
		"pcap:FILE or vdev:DEVARGS",
		text);
}

int tl_port_spec_parse(const char *text, struct tl_port_spec *out, struct tl_err *err)
{
	const char *arg = text;

	*out = (struct tl_port_spec){.kind = is_pci_address(text) ? TL_PORT_PCI : TL_PORT_KERNEL};
	for (unsigned kind = 0; kind < TL_ARRAY_LEN(kinds); kind++) {
		const char *prefix = kinds[kind].prefix;
		if (prefix != NULL && strncmp(text, prefix, strlen(prefix)) == 0) {
			out->kind = kind;
			arg = text + strlen(prefix);
		}
	}
	if (*arg == '\0' || strlen(arg) >= sizeof(out->arg) || strlen(text) >= sizeof(out->text))
		return refuse(text, err);
	if (kinds[out->kind].interface && !is_interface_name(arg))
		return refuse(text, err);
	snprintf(out->text, sizeof(out->text), "%s", text);
	snprintf(out->arg, sizeof(out->arg), "%s", arg);
	if (!kinds[out->kind].nic)
		return 0;
	out->arg[PCI_ADDRESS_CHARS] = '\0';
	for (char *c = out->arg; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c); // spelled as by the kernel and DPDK
	return 0;
}
