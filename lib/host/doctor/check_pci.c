// SPDX-License-Identifier: BSD-3-Clause
// Checks of PCI network cards: the bound driver, the IOMMU, the slot.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#define READ_REQUEST_LEAST 512
#define ASPM_BITS 3

static bool has_driver(const struct tl_fact_port *port, const char *name)
{
	return port->driver.known && strcmp(port->driver.text, name) == 0;
}

static bool uses_vfio(const struct tl_fact_port *port)
{
	return has_driver(port, "vfio-pci");
}

static bool fits_dpdk(const struct tl_fact_port *port)
{
	return tl_port_is_bifurcated(port) ? has_driver(port, "mlx5_core") || has_driver(port, "mlx4_core")
					   : uses_vfio(port);
}

static bool fits_badly(const struct tl_fact_port *port)
{
	return has_driver(port, "uio_pci_generic") || has_driver(port, "igb_uio");
}

static void judge_driver_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const char *name = port->driver.text[0] != '\0' ? port->driver.text : "no driver";

	if (port->present.known && !port->present.value)
		tl_found(f, TL_VERDICT_FAIL, "%s: no such device", port->name);
	else if (!port->driver.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->name);
	else if (fits_badly(port))
		tl_found(f, TL_VERDICT_WARN, "%s: %s", port->name, name);
	else if (fits_dpdk(port) || !port->configured || !port->pci)
		tl_found(f, TL_VERDICT_OK, "%s: %s", port->name, name);
	else
		tl_found(f, TL_VERDICT_FAIL, "%s: %s", port->name, name);
}

// Choose the verdict of a vfio requirement: fail if such a card is configured, warn without a configuration.
static bool wants_vfio(const struct tl_facts *facts, enum tl_verdict *bad, struct tl_finding *f)
{
	*bad = facts->wanted.configured ? TL_VERDICT_FAIL : TL_VERDICT_WARN;
	for (uint32_t i = 0; i < facts->n_ports; i++)
		if (tl_port_needs_vfio(&facts->ports[i]))
			return true;
	if (facts->wanted.configured)
		tl_found(f, TL_VERDICT_OK, "no port of the configuration needs it");
	return !facts->wanted.configured;
}

static void judge_vfio_module(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *loaded = &facts->bus.vfio_module;
	enum tl_verdict bad;

	if (loaded->known && wants_vfio(facts, &bad, f))
		tl_found(f, loaded->value ? TL_VERDICT_OK : bad,
			loaded->value ? "vfio-pci is there" : "vfio-pci is not loaded");
}

static void judge_vfio_access_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!uses_vfio(port))
		tl_found(f, port->driver.known ? TL_VERDICT_OK : TL_VERDICT_UNKNOWN, "%s: not on vfio", port->name);
	else if (!port->vfio_access.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->name);
	else
		tl_found(f, port->vfio_access.value ? TL_VERDICT_OK : TL_VERDICT_FAIL,
			"%s: group %" PRIi64 " may %sbe opened", port->name, port->group.value,
			port->vfio_access.value ? "" : "not ");
}

static void judge_iommu(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *groups = &facts->bus.iommu_groups, *unsafe = &facts->bus.noiommu;
	enum tl_verdict bad;

	if (!groups->known || !wants_vfio(facts, &bad, f))
		return;
	if (groups->value > 0)
		tl_found(f, TL_VERDICT_OK, "%" PRIi64 " groups", groups->value);
	else if (unsafe->known && unsafe->value)
		tl_found(f, TL_VERDICT_WARN, "no IOMMU, and vfio is allowed to do without");
	else
		tl_found(f, bad, "no IOMMU group");
}

static void judge_iommu_group_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (tl_port_is_bifurcated(port))
		tl_found(f, TL_VERDICT_OK, "%s: stays with the kernel's driver", port->name);
	else if (!port->group.known || !port->group_others.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: no group", port->name);
	else if (port->group_others.text[0] == '\0')
		tl_found(f, TL_VERDICT_OK, "%s: group %" PRIi64, port->name, port->group.value);
	else
		tl_found(f, uses_vfio(port) && port->configured ? TL_VERDICT_FAIL : TL_VERDICT_WARN,
			"%s: group %" PRIi64 ", with %s", port->name, port->group.value, port->group_others.text);
}

// mlx5_txpp_map_hca_bar() maps BAR 0 when stamps are times since 1970; without it the driver reads the tick clock
// (drivers/net/mlx5/linux/mlx5_ethdev_os.c:1976 and mlx5_txpp.c:998, DPDK v22.11.11).
static void judge_nic_clock_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!tl_port_is_bifurcated(port))
		tl_found(f, TL_VERDICT_OK, "%s: no Mellanox card", port->name);
	else if (!port->bar0.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->name);
	else if (port->bar0.value)
		tl_found(f, TL_VERDICT_OK, "%s: BAR 0 may be mapped", port->name);
	else
		tl_found(f, TL_VERDICT_WARN,
			"%s: BAR 0 may not be mapped: with REAL_TIME_CLOCK_ENABLE=1 no stamp of the NIC would be used",
			port->name);
}

static void judge_width_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!port->width.known || !port->max_width.known || port->max_width.value == 0)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: the device does not tell", port->name);
	else
		tl_found(f, port->width.value >= port->max_width.value ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%s: x%" PRIi64 " of x%" PRIi64, port->name, port->width.value, port->max_width.value);
}

static void judge_speed_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!port->mts.known || !port->max_mts.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: the device does not tell", port->name);
	else
		tl_found(f, port->mts.value >= port->max_mts.value ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%s: %g of %g GT/s", port->name, (double)port->mts.value / 1000,
			(double)port->max_mts.value / 1000);
}

static void judge_read_request_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const struct tl_fact_num *bytes = &port->read_request_bytes;

	if (!bytes->known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: no PCIe capability could be read (as root?)", port->name);
	else
		tl_found(f, bytes->value >= READ_REQUEST_LEAST ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%s: %" PRIi64 " bytes", port->name, bytes->value);
}

static void judge_aspm_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	static const char *const states[] = {"off", "L0s", "L1", "L0s and L1"};

	if (!port->aspm.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: no PCIe capability could be read (as root?)", port->name);
	else
		tl_found(f, port->aspm.value == 0 ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: %s", port->name,
			states[port->aspm.value & ASPM_BITS]);
}

static void judge_aer_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!port->aer_correctable.known || !port->aer_nonfatal.known || !port->aer_fatal.known) {
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: counts no errors", port->name);
		return;
	}
	bool bad = port->aer_fatal.value > 0 || port->aer_nonfatal.value > 0;
	tl_found(f,
		bad				  ? TL_VERDICT_FAIL
		: port->aer_correctable.value > 0 ? TL_VERDICT_WARN
						  : TL_VERDICT_OK,
		"%s: %" PRIi64 " correctable, %" PRIi64 " nonfatal, %" PRIi64 " fatal", port->name,
		port->aer_correctable.value, port->aer_nonfatal.value, port->aer_fatal.value);
}

static const struct tl_fact_node *node_of(const struct tl_facts *facts, int64_t id)
{
	for (uint32_t i = 0; i < facts->n_nodes; i++)
		if (facts->nodes[i].id == id)
			return &facts->nodes[i];
	return NULL;
}

static void judge_numa_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const struct tl_fact_node *node = port->node.known ? node_of(facts, port->node.value) : NULL;
	char text[128];

	if (port->node.known && port->node.value < 0)
		tl_found(f, facts->n_nodes == 1 ? TL_VERDICT_OK : TL_VERDICT_UNKNOWN, "%s: no node", port->name);
	else if (node == NULL)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->name);
	else {
		struct tl_fact_cpus far = tl_cpus_minus(&port->lcores, &node->cpus);
		bool near = tl_cpus_is_empty(&far);
		tl_found(f, near ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: node %u%s%s", port->name, node->id,
			near ? "" : ", but not CPUs ", near ? "" : tl_cpus_format(&far, text, sizeof(text)));
	}
}

static bool has_pmd(const struct tl_fact_port *port, const char *pmd)
{
	const char *own = port->vendor.known ? tl_doctor_pmd(port->vendor.value, port->device.value) : NULL;

	return own != NULL && strcmp(own, pmd) == 0;
}

// In a guest only the device number indicates it.
static bool is_virtual(const struct tl_fact_port *port)
{
	static const uint32_t ids[] = {0x808610ca, 0x80861520, 0x808610ed, 0x80861515, 0x80861565, 0x808615a8,
		0x808615c5, 0x8086154c, 0x808637cd, 0x80861889, 0x15b31014, 0x15b31016, 0x15b31018, 0x15b3101a,
		0x15b3101c, 0x15b3101e};

	for (size_t i = 0; i < TL_ARRAY_LEN(ids); i++)
		if (port->device.known && (int64_t)ids[i] == (port->vendor.value << 16 | port->device.value))
			return true;
	return port->virtual_function.known && port->virtual_function.value;
}

static void judge_trust(const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!port->trusted.known)
		tl_found(f, TL_VERDICT_WARN,
			"%s: is a virtual function: without trust it gets frames of its own address alone, and only the "
			"host of the card can read its trust",
			port->name);
	else
		tl_found(f, port->trusted.value ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%s: is virtual function %lld of %s, %s", port->name, (long long)port->vf.value,
			port->parent.text,
			port->trusted.value ? "trusted" : "not trusted: it gets frames of its own address alone");
}

// Report unexpected limits of a NIC. Sources: drivers-config/, and of DPDK v22.11:
// - a RoCE bond is one device: drivers/net/mlx5/linux/mlx5_os.c:1785
// - ice takes no card without its DDP package: drivers/net/ice/ice_ethdev.c:2330
// - ice sets the TX bits with promiscuous mode: drivers/net/ice/ice_ethdev.c:4786
// - source pruning is off from i40e_ethdev.c:5874 of v24.11 (since 23.07) and ice_ethdev.c:1699 of v25.03 on
static void judge_limits_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!port->pci || !port->vendor.known)
		return;
	if (strncmp(port->rdma.text, "mlx5_bond", 9) == 0)
		tl_found(f, TL_VERDICT_WARN, "%s: is bonded as %s: its frames come by the first port of the bond",
			port->name, port->rdma.text);
	else if (is_virtual(port))
		judge_trust(port, f);
	else if (has_pmd(port, "net_ice") && port->ddp.known && !port->ddp.value)
		tl_found(f, TL_VERDICT_FAIL, "%s: no DDP package ice.pkg", port->name);
	else if (has_pmd(port, "net_ice"))
		tl_found(f, TL_VERDICT_OK,
			"%s: promiscuous, it also receives what functions of the same card send; before DPDK 25.03 it drops "
			"frames with its own source address (source pruning)",
			port->name);
	else if (has_pmd(port, "net_i40e"))
		tl_found(f, TL_VERDICT_OK,
			"%s: before DPDK 23.07 it drops received frames with its own source address (source pruning)",
			port->name);
	else
		tl_found(f, TL_VERDICT_OK, "%s: none", port->name);
}

static const struct tl_check checks[] = {
	{"pci.driver", TL_CAN_WARN | TL_CAN_FAIL,
		"DPDK accesses a NIC through vfio-pci; a Mellanox NIC stays with mlx5_core. uio drivers have no memory protection and no interrupts per queue.",
		"Another driver has it: tapline bind ADDRESS; a Mellanox card goes back with tapline unbind ADDRESS. No such "
		"device: correct the address in the configuration; tapline bind --list shows those that there are.",
		.judge_port = judge_driver_of},
	{"pci.vfio_module", TL_CAN_WARN | TL_CAN_FAIL, "NICs cannot be bound without the module vfio-pci.",
		"modprobe vfio-pci, and a line vfio-pci in /etc/modules-load.d/vfio.conf.",
		"modprobe vfio-pci || echo \"there is no module vfio-pci\" >&2", .judge = judge_vfio_module},
	{"pci.vfio_access", TL_CAN_FAIL, "The process opens /dev/vfio/vfio and the file of the NIC's group.",
		"Give both files to the group of the user that runs Tapline: a udev rule SUBSYSTEM==\"vfio\", GROUP=\"vfio\", "
		"MODE=\"0660\".",
		.judge_port = judge_vfio_access_of},
	{"pci.iommu", TL_CAN_WARN | TL_CAN_FAIL, "vfio requires an IOMMU; without one a NIC can write to any memory.",
		"Enable VT-d or AMD-Vi in the firmware's setup, and intel_iommu=on iommu=pt on the kernel command line.",
		NULL, "intel_iommu=on iommu=pt", judge_iommu},
	{"pci.iommu_group", TL_CAN_WARN | TL_CAN_FAIL,
		"vfio opens whole groups: it refuses a group if another driver has one of its devices.",
		"Bind the other devices of the group to vfio-pci too, or move the NIC to another slot.",
		.judge_port = judge_iommu_group_of},
	{"pci.lockdown", TL_CAN_WARN, "A kernel in lockdown refuses uio drivers, vfio without an IOMMU, and MSR reads.",
		"Use vfio-pci with an IOMMU, or disable Secure Boot.", .setting = TEXT(bus.lockdown, .good = "none")},
	{"pci.nic_clock", TL_CAN_WARN,
		"With REAL_TIME_CLOCK_ENABLE=1 a Mellanox card's clock is read through its BAR 0, which only root may map, and "
		"no kernel that is locked down; else DPDK reads another clock than that of the stamps.",
		"mstconfig -d ADDRESS set REAL_TIME_CLOCK_ENABLE=0, then a cold boot: ticks are read without the BAR.",
		.judge_port = judge_nic_clock_of},
	{"pci.link_width", TL_CAN_WARN,
		"With fewer lanes than it supports, a NIC cannot transfer its line rate to memory.",
		"Use a slot with as many wired lanes; clean the contacts.", .judge_port = judge_width_of},
	{"pci.link_speed", TL_CAN_WARN, "A slot of an older PCIe generation halves the rate of each lane.",
		"Use a slot of the NIC's generation; set the slot's speed to auto in the firmware's setup.",
		.judge_port = judge_speed_of},
	{"pci.read_request", TL_CAN_WARN,
		"With small read requests a NIC waits more often for the data of sent frames.",
		"setpci -s ADDRESS CAP_EXP+8.w: bits 14 to 12 to 2 (512 bytes) or 5 (4096 bytes).",
		"printf '%s\\n' {pci} | while read -r dev; do\n"
		"\tsetpci -s \"$dev\" CAP_EXP+8.w=2000:7000 || echo \"$dev: no setpci, or no such card\" >&2\n"
		"done",
		.judge_port = judge_read_request_of},
	{"pci.aspm", TL_CAN_WARN,
		"A PCIe link in a low-power state delays the first frame after a pause by microseconds.",
		"pcie_aspm.policy=performance on the kernel command line, or setpci -s ADDRESS CAP_EXP+10.w=0:3.",
		"printf '%s\\n' {pci} | while read -r dev; do\n"
		"\tsetpci -s \"$dev\" CAP_EXP+10.w=0000:0003 || echo \"$dev: no setpci, or no such card\" >&2\n"
		"done",
		"pcie_aspm.policy=performance", .judge_port = judge_aspm_of},
	{"pci.aer", TL_CAN_WARN | TL_CAN_FAIL,
		"Correctable errors on the PCIe link cost retransmissions; uncorrectable ones stop the NIC.",
		"Reseat the NIC, try another slot, update its firmware.", .judge_port = judge_aer_of},
	{"pci.numa", TL_CAN_WARN,
		"A worker on another node than the NIC reads each frame over the interconnect of the sockets.",
		"Set ports[].lcores to CPUs of the NIC's node (/sys/bus/pci/devices/ADDRESS/local_cpulist).",
		.judge_port = judge_numa_of},
	{"pci.limits", TL_CAN_WARN | TL_CAN_FAIL,
		"Some NICs do not deliver all frames, or work in part only: untrusted virtual functions, bonded ports, ice without its DDP package.",
		"Virtual function: ip link set PF vf N trust on, on the host. Bond: name its first port, or take it apart. DDP "
		"package: install firmware-misc-nonfree, or add ,safe-mode-support=1 to the device.",
		.judge_port = judge_limits_of},
};

const struct tl_check_group tl_doctor_pci = {checks, TL_ARRAY_LEN(checks)};
