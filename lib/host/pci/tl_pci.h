// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pci: what the kernel says of a PCI device, and the steps that give a NIC to DPDK (vfio-pci) or back to the kernel.
// Everything is a file below root: "" for this host's own, or a tree that a test made up.
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
	int numa_node;			    // -1: not said
	unsigned n_netdevs;
	char netdevs[TL_PCI_NETDEVS_MAX][TL_PCI_NAME_CHARS]; // its kernel interfaces
};

// "0000:3b:00.0" or "3b:00.0" to the long form. Returns 0, or -EINVAL with a sentence.
int tl_pci_parse_address(const char *text, char address[TL_PCI_ADDRESS_CHARS], struct tl_err *err);

// Returns 0, -EINVAL for a wrong address or -ENODEV where there is no such device, with a sentence.
int tl_pci_read(const char *root, const char *address, struct tl_pci_device *out, struct tl_err *err);

// Calls each() with every device of class network (0x02), by address, until it returns other than 0, which is returned.
// -errno where there is no PCI bus.
int tl_pci_each_nic(const char *root, int (*each)(void *ctx, const struct tl_pci_device *device), void *ctx);

// One write of text into a file. path includes the root.
struct tl_pci_step {
	char path[256];
	char text[64];
	const char *why; // static
};

#define TL_PCI_STEPS_MAX 6

struct tl_pci_plan {
	struct tl_pci_device device; // as it was
	const char *want;	     // the driver that should have it afterwards; NULL: whichever takes it
	bool begins_noiommu;	     // switches vfio's no-IOMMU mode on, which was off
	unsigned n_steps;	     // 0: it is as it should be
	struct tl_pci_step steps[TL_PCI_STEPS_MAX];
};

// Devices that go to vfio-pci together.
struct tl_pci_wish {
	const char *root;
	char *const *addresses;
	unsigned n;
	bool without_iommu;
};

// What gives device i of them to vfio-pci. Returns 0, or with a sentence: -EPERM where the host would lose its default
// route or the login, -ENOTSUP where the device is no NIC or must keep its driver, -EBUSY where a device of its IOMMU
// group would stay in the kernel's hands, -ENXIO where there is no IOMMU and without_iommu is not set.
int tl_pci_plan_bind(const struct tl_pci_wish *wish, unsigned i, struct tl_pci_plan *out, struct tl_err *err);

// What gives a device back to the driver it had before, which former names ("" for what the kernel finds). Returns 0,
// or -ENOTSUP with a sentence where a driver other than vfio-pci has it.
int tl_pci_plan_unbind(
	const char *root, const char *address, const char *former, struct tl_pci_plan *out, struct tl_err *err);

// Takes the steps in order and looks whether the driver has it. If not, undoes what it did. Returns 0, or -errno and
// the sentence.
int tl_pci_execute(const char *root, const struct tl_pci_plan *plan, struct tl_err *err);

// Gives the device back as it was before an executed plan. Returns 0, or -errno and a sentence.
int tl_pci_undo(const char *root, const struct tl_pci_plan *plan, struct tl_err *err);

// Whether a plan has switched vfio's no-IOMMU mode on, and nobody has switched it off since.
bool tl_pci_began_noiommu(const char *root);
// If so, and where no device needs it any more: off. Returns 0, or -EBUSY where one does, or another -errno, with a
// sentence. tl_pci_undo() has done it.
int tl_pci_end_noiommu(const char *root, struct tl_err *err);

// ---- what is remembered of a device that was bound

// The driver it had ("" for none), in /run/tapline-bind, until the next boot. Return 0, or -errno and a sentence.
int tl_pci_remember(const char *root, const struct tl_pci_device *device, struct tl_err *err);
bool tl_pci_recall(const char *root, const char *address, char driver[TL_PCI_NAME_CHARS]);
void tl_pci_forget(const char *root, const char *address);

// Write a udev rule that runs program, a path, with arguments when the device appears: at every boot. Returns 0, or
// -errno and a sentence.
int tl_pci_persist(
	const char *root, const char *address, const char *program, const char *arguments, struct tl_err *err);
// Whether there was one.
bool tl_pci_unpersist(const char *root, const char *address);
