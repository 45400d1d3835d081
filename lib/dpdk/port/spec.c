// SPDX-License-Identifier: BSD-3-Clause
// Parser of PORT: device kind and arguments.

#include "port_priv.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

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
	static const struct {
		const char *prefix;
		enum tl_port_kind kind;
	} prefixes[] = {{"xdp:", TL_PORT_XDP}, {"pcap:", TL_PORT_FILE}, {"vdev:", TL_PORT_VDEV}};
	const char *arg = text;

	*out = (struct tl_port_spec){.kind = is_pci_address(text) ? TL_PORT_PCI : TL_PORT_KERNEL};
	for (size_t i = 0; i < TL_ARRAY_LEN(prefixes); i++) {
		size_t len = strlen(prefixes[i].prefix);
		if (strncmp(text, prefixes[i].prefix, len) == 0) {
			out->kind = prefixes[i].kind;
			arg = text + len;
		}
	}
	if (*arg == '\0' || strlen(arg) >= sizeof(out->arg) || strlen(text) >= sizeof(out->text))
		return refuse(text, err);
	if ((out->kind == TL_PORT_KERNEL || out->kind == TL_PORT_XDP) && !is_interface_name(arg))
		return refuse(text, err);
	snprintf(out->text, sizeof(out->text), "%s", text);
	snprintf(out->arg, sizeof(out->arg), "%s", arg);
	if (out->kind != TL_PORT_PCI)
		return 0;
	out->arg[PCI_ADDRESS_CHARS] = '\0';
	for (char *c = out->arg; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c); // spelled as by the kernel and DPDK
	return 0;
}
