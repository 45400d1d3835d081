// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pci: properties of a PCI device as reported by the kernel, and the steps that give a NIC to DPDK (vfio-pci) or back
// to the kernel. Every access is to a file below root: "" for this host's, or a tree made by a test.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

struct tl_err;

#define TL_PCI_ADDRESS_CHARS 16
#define TL_PCI_NAME_CHARS 32
#define TL_PCI_NETDEVS_MAX 4
#define TL_PCI_DRIVER "vfio-pci"

struct tl_pci_device {
	char address[TL_PCI_ADDRESS_CHARS]; // 0000:3b:00.0
	uint16_t vendor, device;	    // as in pci.ids
	uint32_t class;			    // base class, subclass, interface: 0x020000 is Ethernet
	char driver[TL_PCI_NAME_CHARS];	    // "" for none
	char override[TL_PCI_NAME_CHARS];   // driver_override, "" for none
	int iommu_group;		    // -1: none
	int numa_node;			    // -1: not reported
	unsigned n_netdevs;
	char netdevs[TL_PCI_NETDEVS_MAX][TL_PCI_NAME_CHARS]; // kernel interfaces
};

// Convert "0000:3b:00.0" or "3b:00.0" to the long form. Return 0, or -EINVAL with a message.
int tl_pci_parse_address(const char *text, char address[TL_PCI_ADDRESS_CHARS], struct tl_err *err);

// Read a device. Return 0, -EINVAL for an invalid address or -ENODEV if it does not exist, with a message.
int tl_pci_read(const char *root, const char *address, struct tl_pci_device *out, struct tl_err *err);

// Call each() for every device of class network (0x02), by address, until it returns other than 0, which is returned.
// -errno without a PCI bus.
int tl_pci_each_nic(const char *root, int (*each)(void *ctx, const struct tl_pci_device *device), void *ctx);

// A write of text into a file. path includes the root.
struct tl_pci_step {
	char path[256];
	char text[64];
	const char *why; // static
};

#define TL_PCI_STEPS_MAX 6

struct tl_pci_plan {
	struct tl_pci_device device; // state before the plan
	const char *want;	     // driver expected afterwards; NULL: any
	bool begins_noiommu;	     // enables vfio's no-IOMMU mode, which was off
	unsigned n_steps;	     // 0: nothing to do
	struct tl_pci_step steps[TL_PCI_STEPS_MAX];
};

// Devices to be given to vfio-pci together.
struct tl_pci_wish {
	const char *root;
	char *const *addresses;
	unsigned n;
	bool without_iommu;
};

// Plan the steps that give device i to vfio-pci. Return 0, or with a message: -EPERM if the host would lose its default
// route or the login, -ENOTSUP if the device is not a NIC or must keep its driver, -EBUSY if a device of its IOMMU
// group would stay with the kernel, -ENXIO without an IOMMU unless without_iommu is set.
int tl_pci_plan_bind(const struct tl_pci_wish *wish, unsigned i, struct tl_pci_plan *out, struct tl_err *err);

// Plan the steps that return a device to its former driver ("": the one the kernel finds). Return 0, or -ENOTSUP with a
// message if it is bound to a driver other than vfio-pci.
int tl_pci_plan_unbind(
	const char *root, const char *address, const char *former, struct tl_pci_plan *out, struct tl_err *err);

// Execute the steps in order and check that the device is bound to the expected driver. If not, undo the steps. Return
// 0, or -errno with the message.
int tl_pci_execute(const char *root, const struct tl_pci_plan *plan, struct tl_err *err);

// Restore the device to the state before an executed plan. Return 0, or -errno with a message.
int tl_pci_undo(const char *root, const struct tl_pci_plan *plan, struct tl_err *err);

// True if a plan has enabled vfio's no-IOMMU mode, and it has not been disabled since.
bool tl_pci_began_noiommu(const char *root);
// Disable it in that case, if no device needs it. Return 0, or -EBUSY if one does, or another -errno, with a message.
// tl_pci_undo() includes this.
int tl_pci_end_noiommu(const char *root, struct tl_err *err);

// ---- stored state of a bound device

// Store, read and remove its former driver ("" for none), in /run/tapline-bind, until the next boot. Return 0, or
// -errno with a message.
int tl_pci_remember(const char *root, const struct tl_pci_device *device, struct tl_err *err);
bool tl_pci_recall(const char *root, const char *address, char driver[TL_PCI_NAME_CHARS]);
void tl_pci_forget(const char *root, const char *address);

// Write a udev rule that runs program, a path, with arguments when the device appears: at every boot. Return 0, or
// -errno with a message.
int tl_pci_persist(
	const char *root, const char *address, const char *program, const char *arguments, struct tl_err *err);
// Remove the rule. Return true if there was one.
bool tl_pci_unpersist(const char *root, const char *address);
