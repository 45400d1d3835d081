// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the files of pci share.

#include <tl_pci.h>

#include <stddef.h>

#define PCI_BUS "/sys/bus/pci"

// ROOT/sys/bus/pci/devices/ADDRESS[/NAME]
void pci_path(char *path, size_t size, const char *root, const char *address, const char *name);

bool pci_is_nic(const struct tl_pci_device *device);

// As tl_pci_each_nic(), of all devices.
int pci_each(const char *root, int (*each)(void *ctx, const struct tl_pci_device *device), void *ctx);

// Whether a rule of ours binds it at boot.
bool pci_is_persistent(const char *root, const char *address);
