// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about ports: those of the configuration, else every NIC on PCI. lib/host/pci is not suitable: it puts
// --root before a path, but here a link must stay below the root too (tl_tree), and unreadable data is unknown instead
// of an error.

#include "doctor_facts.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tl_iface.h>
#include <tl_port.h>

#define CARD "/sys/bus/pci/devices/%s"
#define CLASS_ETHERNET 0x0200 // base class and subclass, above the programming interface

// ---- the IOMMU group

struct group {
	const struct tl_tree *tree;
	const char *address;
	int64_t id;
	struct tl_fact_text others;
};

static bool may_stay(const char *driver)
{
	static const char *const harmless[] = {"", "vfio-pci", "pcieport", "pci-stub"};

	for (size_t i = 0; i < TL_ARRAY_LEN(harmless); i++)
		if (strcmp(driver, harmless[i]) == 0)
			return true;
	return false;
}

static void look_member(void *ctx, const char *name)
{
	struct group *group = ctx;
	struct tl_fact_text driver = tl_tree_link(group->tree, CARD "/driver", name);
	size_t used = strlen(group->others.text), room = sizeof(group->others.text) - used;

	group->others.known = true;
	if (strcmp(name, group->address) == 0 || may_stay(driver.text) || room < 48)
		return;
	snprintf(group->others.text + used, room, "%s%.16s (%.20s)", used > 0 ? ", " : "", name, driver.text);
}

static bool may_open(const struct tl_tree *tree, const char *path)
{
	int fd = tl_tree_fd(tree, O_PATH, path);
	bool may = fd >= 0 && faccessat(fd, "", R_OK | W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;

	if (fd >= 0)
		close(fd);
	return may;
}

static void read_group(const struct tl_tree *tree, const char *address, bool noiommu, struct tl_fact_port *port)
{
	struct tl_fact_text link = tl_tree_link(tree, CARD "/iommu_group", address);
	struct group group = {.tree = tree, .address = address};
	char path[TL_TREE_PATH_MAX];

	port->group = link.known ? tl_fact_parse(link.text, 10) : (struct tl_fact_num){0};
	if (!port->group.known)
		return;
	snprintf(path, sizeof(path), "/sys/kernel/iommu_groups/%lld/devices", (long long)port->group.value);
	tl_tree_each(tree, path, look_member, &group);
	port->group_others = group.others;
	snprintf(path, sizeof(path), "/dev/vfio/%s%lld", noiommu ? "noiommu-" : "", (long long)port->group.value);
	port->vfio_access = tl_fact_is(may_open(tree, "/dev/vfio/vfio") && may_open(tree, path));
}

// ---- one port

static void take_first(void *ctx, const char *name)
{
	struct tl_fact_text *first = ctx;

	if (first->text[0] == '\0')
		*first = tl_fact_says(name);
}

struct virtio {
	const struct tl_tree *tree;
	const char *address;
	struct tl_fact_text *interface;
};

static void look_virtio(void *ctx, const char *name)
{
	const struct virtio *virtio = ctx;
	char path[TL_TREE_PATH_MAX];

	if (strncmp(name, "virtio", 6) != 0)
		return;
	snprintf(path, sizeof(path), CARD "/%.32s/net", virtio->address, name);
	tl_tree_each(virtio->tree, path, take_first, virtio->interface);
}

// Find the interface name; of a virtio NIC the interface is a grandchild. "": no kernel driver created one.
static struct tl_fact_text find_interface(const struct tl_tree *tree, const char *address)
{
	struct tl_fact_text interface = tl_fact_says("");
	struct virtio virtio = {.tree = tree, .address = address, .interface = &interface};
	char path[TL_TREE_PATH_MAX];

	snprintf(path, sizeof(path), CARD "/net", address);
	tl_tree_each(tree, path, take_first, &interface);
	snprintf(path, sizeof(path), CARD, address);
	if (interface.text[0] == '\0')
		tl_tree_each(tree, path, look_virtio, &virtio);
	return interface;
}

// Read the firmware version of a Mellanox NIC from its InfiniBand device.
static struct tl_fact_text read_firmware(const struct tl_tree *tree, const char *address, struct tl_fact_text *rdma)
{
	struct tl_fact_text device = {0};
	char path[TL_TREE_PATH_MAX];

	snprintf(path, sizeof(path), CARD "/infiniband", address);
	tl_tree_each(tree, path, take_first, &device);
	*rdma = device.known ? device : tl_fact_says("");
	return device.known ? tl_tree_line(tree, CARD "/infiniband/%s/fw_ver", address, device.text) : device;
}

static void read_card(const struct tl_tree *tree, const char *address, bool noiommu, struct tl_fact_port *port)
{
	char path[TL_TREE_PATH_MAX];

	snprintf(port->address, sizeof(port->address), "%.15s", address);
	port->vendor = tl_tree_hex(tree, CARD "/vendor", address);
	port->device = tl_tree_hex(tree, CARD "/device", address);
	port->node = tl_tree_num(tree, CARD "/numa_node", address);
	if (port->vendor.known) // true if the directory is a device's
		port->driver = tl_tree_link(tree, CARD "/driver", address);
	port->firmware = read_firmware(tree, address, &port->rdma);
	tl_gather_trust(tree, port);
	port->ddp = tl_fact_is(tl_tree_exists(tree, "/lib/firmware/updates/intel/ice/ddp/ice.pkg") ||
			       tl_tree_exists(tree, "/lib/firmware/intel/ice/ddp/ice.pkg") ||
			       tl_tree_exists(tree, "/usr/lib/firmware/intel/ice/ddp/ice.pkg"));
	snprintf(path, sizeof(path), CARD "/resource0", address);
	if (tl_tree_exists(tree, "%s", path))
		port->bar0 = tl_fact_is(may_open(tree, path));
	read_group(tree, address, noiommu, port);
	tl_gather_slot(tree, address, port);
	if (!port->interface.known)
		port->interface = find_interface(tree, address);
}

static void read_interface(const struct tl_tree *tree, struct tl_fact_port *port)
{
	const char *name = port->interface.text;

	if (name[0] == '\0')
		return;
	port->carrier = tl_tree_num(tree, "/sys/class/net/%s/carrier", name);
	port->mtu = tl_tree_num(tree, "/sys/class/net/%s/mtu", name);
	port->speed_mbps = tl_tree_num(tree, "/sys/class/net/%s/speed", name);
	if (tree->live)
		tl_gather_ethtool(port);
}

// Read the facts of one port. address: PCI address of the NIC; "": not on PCI.
static void read_port(
	const struct tl_tree *tree, const struct tl_facts *facts, const char *address, struct tl_fact_port *port)
{
	bool noiommu = facts->bus.noiommu.known && facts->bus.noiommu.value;

	if (address[0] != '\0') {
		if (tl_tree_exists(tree, "/sys/bus/pci/devices"))
			port->present = tl_fact_is(tl_tree_exists(tree, CARD, address));
		read_card(tree, address, noiommu, port);
	}
	read_interface(tree, port);
}

// ---- all ports

// Check whether a name has the form "0000:3b:00.0".
static bool is_address(const char *name)
{
	struct tl_port_spec spec;

	return tl_port_spec_parse(name, &spec, NULL) == 0 && tl_port_traits(&spec)->nic;
}

static bool has_echo(const struct tl_config *config, uint32_t port)
{
	for (uint32_t i = 0; i < config->n_echoes; i++)
		if (config->echoes[i].port == port)
			return true;
	return false;
}

// Find an address of the port among the kernel's.
static struct tl_fact_text find_taken(const struct tl_config_port *port)
{
	char text[2][TL_IPV6_TEXT] = {"", ""}, iface[TL_PORT_IFACE_CHARS];
	struct tl_fact_text taken = tl_fact_says("");

	if (port->ip_be != 0)
		tl_format_ipv4(port->ip_be, text[0]);
	if (tl_ip6_is_set(&port->ip6))
		tl_format_ipv6(&port->ip6, text[1]);
	for (size_t i = 0; i < TL_ARRAY_LEN(text); i++)
		if (text[i][0] != '\0' && tl_iface_with_address(text[i], iface))
			snprintf(taken.text, sizeof(taken.text), "%s on %s", text[i], iface);
	return taken;
}

static void add_configured(
	const struct tl_tree *tree, const struct tl_config *config, uint32_t index, struct tl_facts *facts)
{
	const struct tl_config_port *from = &config->ports[index];
	char address[TL_ADDRESS_CHARS];
	struct tl_port_spec spec;

	if (tl_port_spec_parse(from->device, &spec, NULL) != 0)
		return;
	const struct tl_port_traits *traits = tl_port_traits(&spec);
	char iface[TL_PORT_IFACE_CHARS];
	bool shares = from->isolate && !traits->nic && tl_port_kernel_iface(&spec, iface); // a net_tap
	if (!traits->nic && !traits->interface && !shares)
		return;
	struct tl_fact_port *port = &facts->ports[facts->n_ports++];
	*port = (struct tl_fact_port){.configured = true, .pci = traits->nic, .wanted_mtu = from->mtu};
	snprintf(port->name, sizeof(port->name), "%.63s", shares ? iface : spec.arg);
	port->sends = has_echo(config, index);
	port->isolated = from->isolate;
	if (from->isolate && tree->live)
		port->taken = find_taken(from);
	port->lcores = facts->wanted.port_lcores[index];
	tl_gather_address(tree, &spec, address, sizeof(address));
	if (!port->pci) {
		port->interface = tl_fact_says(port->name);
		if (tl_tree_exists(tree, "/sys/class/net"))
			port->present = tl_fact_is(tl_tree_exists(tree, "/sys/class/net/%s", port->name));
	}
	read_port(tree, facts, address, port);
}

struct scan {
	const struct tl_tree *tree;
	struct tl_facts *facts;
};

static void look_card(void *ctx, const char *name)
{
	struct scan *scan = ctx;
	struct tl_facts *facts = scan->facts;

	if (!is_address(name) || facts->n_ports == TL_FACT_PORTS_MAX)
		return;
	struct tl_fact_num class = tl_tree_hex(scan->tree, CARD "/class", name);
	if (!class.known || class.value >> 8 != CLASS_ETHERNET)
		return;
	struct tl_fact_port *port = &facts->ports[facts->n_ports++];
	*port = (struct tl_fact_port){.pci = true, .lcores.known = true};
	snprintf(port->name, sizeof(port->name), "%.63s", name);
	read_port(scan->tree, facts, name, port);
}

static void count_group(void *ctx, const char *name)
{
	int64_t *n = ctx;

	*n += isdigit((unsigned char)name[0]) != 0;
}

static void read_bus(const struct tl_tree *tree, struct tl_fact_bus *bus)
{
	struct tl_fact_text lockdown = tl_tree_line(tree, "/sys/kernel/security/lockdown");
	struct tl_fact_text unsafe = tl_tree_line(tree, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	int64_t groups = 0;

	if (tl_tree_exists(tree, "/sys/bus/pci/drivers"))
		bus->vfio_module = tl_fact_is(tl_tree_exists(tree, "/sys/bus/pci/drivers/vfio-pci"));
	if (tl_tree_each(tree, "/sys/kernel/iommu_groups", count_group, &groups) == 0)
		bus->iommu_groups = tl_fact_is(groups);
	if (unsafe.known)
		bus->noiommu = tl_fact_is(unsafe.text[0] == 'Y' || unsafe.text[0] == '1');
	bus->lockdown = tl_fact_chosen(&lockdown);
}

void tl_gather_ports(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts)
{
	struct scan scan = {.tree = tree, .facts = facts};

	read_bus(tree, &facts->bus);
	if (config == NULL)
		tl_tree_each(tree, "/sys/bus/pci/devices", look_card, &scan);
	for (uint32_t i = 0; config != NULL && i < config->n_ports; i++)
		add_configured(tree, config, i, facts);
}
