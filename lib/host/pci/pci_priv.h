// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Declarations shared by the files of pci.

#include <tl_pci.h>

#include <stddef.h>

#define PCI_BUS "/sys/bus/pci"

// Build ROOT/sys/bus/pci/devices/ADDRESS[/NAME].
void pci_path(char *path, size_t size, const char *root, const char *address, const char *name);

bool pci_is_nic(const struct tl_pci_device *device);

// Same as tl_pci_each_nic(), for all devices.
int pci_each(const char *root, int (*each)(void *ctx, const struct tl_pci_device *device), void *ctx);

// True if a rule of ours binds it at boot.
bool pci_is_persistent(const char *root, const char *address);

// Store a line of text under a name, in /run/tapline-bind: tl_pci_recall() and tl_pci_forget() take the same name.
int pci_remember(const char *root, const char *name, const char *text, struct tl_err *err);

// Execute a step. Return 0, or -errno with a message.
int pci_write_step(const struct tl_pci_step *step, struct tl_err *err);

// ---- vfio's no-IOMMU mode

// Build the step that sets the mode to text: "Y" or "N".
void pci_noiommu_step(const char *root, const char *text, struct tl_pci_step *out);
bool pci_noiommu_is_on(const char *root);
// Store that the mode was off, for tl_pci_end_noiommu().
int pci_noiommu_remember(const char *root, struct tl_err *err);
