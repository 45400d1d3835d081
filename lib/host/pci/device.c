// SPDX-License-Identifier: BSD-3-Clause
// Reader of a PCI device from /sys/bus/pci/devices.

#include "pci_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>

#define NETWORK_CLASS 0x02u

void pci_path(char *path, size_t size, const char *root, const char *address, const char *name)
{
	snprintf(path, size, "%s" PCI_BUS "/devices/%s%s%s", root, address, *name != '\0' ? "/" : "", name);
}

int tl_pci_parse_address(const char *text, char address[TL_PCI_ADDRESS_CHARS], struct tl_err *err)
{
	unsigned domain = 0, bus, slot, function;
	int used = 0;

	if ((sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &used) != 4 || text[used] != '\0') &&
		(domain = 0, sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &used) != 3 || text[used] != '\0'))
		return tl_fail(err, -EINVAL,
			"\"%s\" is not a PCI address such as 0000:3b:00.0 (see `tapline bind --list`)", text);
	if (!isxdigit((unsigned char)text[0]) || slot > 0x1f || function > 7)
		return tl_fail(err, -EINVAL, "\"%s\" is not a PCI address: slots end at 1f, functions at 7", text);
	snprintf(address, TL_PCI_ADDRESS_CHARS, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, slot, function);
	return 0;
}

static bool read_text(const char *root, const char *address, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];

	pci_path(path, sizeof(path), root, address, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool got = fgets(text, (int)size, file) != NULL;
	fclose(file);
	if (got)
		text[strcspn(text, "\n")] = '\0';
	return got;
}

static long read_number(const char *root, const char *address, const char *name, long otherwise)
{
	char text[32], *end;

	if (!read_text(root, address, name, text, sizeof(text)))
		return otherwise;
	long number = strtol(text, &end, 0);
	return end == text ? otherwise : number;
}

// Read the last component of a symbolic link's target.
static bool read_link(const char *root, const char *address, const char *name, char *text, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];

	pci_path(path, sizeof(path), root, address, name);
	ssize_t chars = readlink(path, target, sizeof(target) - 1);
	if (chars <= 0)
		return false;
	target[chars] = '\0';
	const char *slash = strrchr(target, '/');
	snprintf(text, size, "%.*s", (int)size - 1, slash != NULL ? slash + 1 : target);
	return true;
}

static void read_netdevs(const char *root, struct tl_pci_device *device, const char *name)
{
	char path[PATH_MAX];
	const struct dirent *entry;

	pci_path(path, sizeof(path), root, device->address, name);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return;
	while (device->n_netdevs < TL_PCI_NETDEVS_MAX && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			snprintf(device->netdevs[device->n_netdevs++], TL_PCI_NAME_CHARS, "%.*s", TL_PCI_NAME_CHARS - 1,
				entry->d_name);
	closedir(dir);
}

// Find the interfaces of the device, or of the virtio device on it.
static void find_netdevs(const char *root, struct tl_pci_device *device)
{
	char path[PATH_MAX], name[NAME_MAX + sizeof("/net")];
	const struct dirent *entry;

	read_netdevs(root, device, "net");
	pci_path(path, sizeof(path), root, device->address, "");
	DIR *dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		snprintf(name, sizeof(name), "%s/net", entry->d_name);
		if (strncmp(entry->d_name, "virtio", strlen("virtio")) == 0)
			read_netdevs(root, device, name);
	}
	closedir(dir);
}

int tl_pci_read(const char *root, const char *address, struct tl_pci_device *out, struct tl_err *err)
{
	char path[PATH_MAX], group[TL_PCI_NAME_CHARS];

	*out = (struct tl_pci_device){.iommu_group = -1};
	int rc = tl_pci_parse_address(address, out->address, err);
	if (rc != 0)
		return rc;
	pci_path(path, sizeof(path), root, out->address, "");
	if (access(path, F_OK) != 0)
		return tl_fail(err, -ENODEV, "no PCI device %s (see `tapline bind --list`)", out->address);
	out->vendor = (uint16_t)read_number(root, out->address, "vendor", 0);
	out->device = (uint16_t)read_number(root, out->address, "device", 0);
	out->class = (uint32_t)read_number(root, out->address, "class", 0);
	out->numa_node = (int)read_number(root, out->address, "numa_node", -1);
	(void)read_link(root, out->address, "driver", out->driver, sizeof(out->driver));
	if (read_text(root, out->address, "driver_override", out->override, sizeof(out->override)) &&
		strcmp(out->override, "(null)") == 0)
		out->override[0] = '\0';
	if (read_link(root, out->address, "iommu_group", group, sizeof(group)))
		out->iommu_group = atoi(group);
	find_netdevs(root, out);
	return 0;
}

bool pci_is_nic(const struct tl_pci_device *device)
{
	return device->class >> 16 == NETWORK_CLASS;
}

int pci_each(const char *root, int (*each)(void *ctx, const struct tl_pci_device *device), void *ctx)
{
	char path[PATH_MAX];
	struct dirent **names;
	struct tl_pci_device device;
	int rc = 0;

	snprintf(path, sizeof(path), "%s" PCI_BUS "/devices", root);
	int n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (rc == 0 && names[i]->d_name[0] != '.' && tl_pci_read(root, names[i]->d_name, &device, NULL) == 0)
			rc = each(ctx, &device);
		free(names[i]);
	}
	free(names);
	return rc;
}

struct nics {
	int (*each)(void *ctx, const struct tl_pci_device *device);
	void *ctx;
};

static int if_nic(void *ctx, const struct tl_pci_device *device)
{
	const struct nics *nics = ctx;

	return pci_is_nic(device) ? nics->each(nics->ctx, device) : 0;
}

int tl_pci_each_nic(const char *root, int (*each)(void *ctx, const struct tl_pci_device *device), void *ctx)
{
	struct nics nics = {each, ctx};

	return pci_each(root, if_nic, &nics);
}
