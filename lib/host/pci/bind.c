// SPDX-License-Identifier: BSD-3-Clause
// Plans and executes the writes to /sys that give a NIC to vfio-pci or back.

#include "pci_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_iface.h>

#define BRIDGE_CLASS 0x06u
#define MELLANOX 0x15b3
#define UPPER "upper_" // links in /sys/class/net/IFACE to the bond, bridge or VLAN above it
#define UPPERS_MAX 8   // depth limit: a bond of a VLAN of a bridge …

// ---- protected devices

// True if the host is reached through the interface, or through one stacked on it; *why is then set.
static bool is_needed(const char *root, const char *iface, int depth, const char **why)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	bool needed = true;

	if (tl_iface_has_default_route(root, iface))
		*why = "the default route";
	else if (tl_iface_carries_login(iface))
		*why = "your login";
	else
		needed = false;
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, iface);
	DIR *dir = needed || depth == UPPERS_MAX ? NULL : opendir(path);
	if (dir == NULL)
		return needed;
	while (!needed && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, UPPER, strlen(UPPER)) == 0)
			needed = is_needed(root, entry->d_name + strlen(UPPER), depth + 1, why);
	closedir(dir);
	return needed;
}

static int check_device(const char *root, const struct tl_pci_device *device, struct tl_err *err)
{
	const char *why;

	if (!pci_is_nic(device))
		return tl_fail(
			err, -ENOTSUP, "%s is not a network device (class %06x)", device->address, device->class);
	if (device->vendor == MELLANOX)
		return tl_fail(err, -ENOTSUP,
			"%s is a Mellanox NIC: DPDK's mlx5 shares it with the kernel's mlx5_core. Leave it there, and use "
			"the PCI address as port",
			device->address);
	for (unsigned i = 0; i < device->n_netdevs; i++)
		if (is_needed(root, device->netdevs[i], 0, &why))
			return tl_fail(err, -EPERM, "%s is interface %s, which carries %s: it stays with the kernel",
				device->address, device->netdevs[i], why);
	return 0;
}

struct group {
	const struct tl_pci_wish *wish;
	const struct tl_pci_device *device;
	struct tl_err *err;
};

// True if the device is bound in this call, or at boot by a separate one: udev binds one device after the other.
static bool goes_along(const struct tl_pci_wish *wish, const char *address)
{
	char other[TL_PCI_ADDRESS_CHARS];

	for (unsigned i = 0; i < wish->n; i++)
		if (tl_pci_parse_address(wish->addresses[i], other, NULL) == 0 && strcmp(other, address) == 0)
			return true;
	return pci_is_persistent(wish->root, address);
}

// Check the other devices of the group. A bridge may stay: it only forwards for the group's devices.
static int in_group(void *ctx, const struct tl_pci_device *other)
{
	const struct group *group = ctx;

	if (other->iommu_group != group->device->iommu_group || other->class >> 16 == BRIDGE_CLASS ||
		other->driver[0] == '\0' || strcmp(other->driver, TL_PCI_DRIVER) == 0 ||
		goes_along(group->wish, other->address))
		return 0;
	return tl_fail(group->err, -EBUSY,
		"%s shares IOMMU group %d with %s, which driver %s has: all of a group go to " TL_PCI_DRIVER
		" or none. Bind both in one call, or put the NIC in another slot",
		group->device->address, other->iommu_group, other->address, other->driver);
}

static int check_iommu(const struct tl_pci_wish *wish, const struct tl_pci_device *device, struct tl_err *err)
{
	struct group group = {wish, device, err};

	if (device->iommu_group >= 0)
		return pci_each(wish->root, in_group, &group);
	if (!wish->without_iommu)
		return tl_fail(err, -ENXIO,
			"%s is not behind an IOMMU: enable it in the firmware, and boot with intel_iommu=on or amd_iommu=on "
			"iommu=pt; or let the NIC write to all memory with --no-iommu",
			device->address);
	return 0;
}

// ---- plans

static void add(struct tl_pci_plan *plan, const char *path, const char *text, const char *why)
{
	struct tl_pci_step *step = &plan->steps[plan->n_steps++];

	(void)memccpy(step->path, path, '\0', sizeof(step->path) - 1);
	(void)memccpy(step->text, text, '\0', sizeof(step->text) - 1);
	step->why = why;
}

static void add_override(struct tl_pci_plan *plan, const char *root, const char *driver, const char *why)
{
	char path[PATH_MAX];

	pci_path(path, sizeof(path), root, plan->device.address, "driver_override");
	add(plan, path, driver, why);
}

static void add_leave(struct tl_pci_plan *plan, const char *root)
{
	char path[PATH_MAX];

	pci_path(path, sizeof(path), root, plan->device.address, "driver/unbind");
	if (plan->device.driver[0] != '\0')
		add(plan, path, plan->device.address, "take it from its driver");
}

static void add_probe(struct tl_pci_plan *plan, const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" PCI_BUS "/drivers_probe", root);
	add(plan, path, plan->device.address, "find its driver");
}

int tl_pci_plan_bind(const struct tl_pci_wish *wish, unsigned i, struct tl_pci_plan *out, struct tl_err *err)
{
	const char *root = wish->root;

	*out = (struct tl_pci_plan){.want = TL_PCI_DRIVER};
	int rc = tl_pci_read(root, wish->addresses[i], &out->device, err);
	if (rc != 0 || strcmp(out->device.driver, TL_PCI_DRIVER) == 0)
		return rc;
	rc = check_device(root, &out->device, err);
	if (rc == 0)
		rc = check_iommu(wish, &out->device, err);
	if (rc != 0)
		return rc;
	out->begins_noiommu = out->device.iommu_group < 0 && !pci_noiommu_is_on(root);
	if (out->begins_noiommu)
		pci_noiommu_step(root, "Y", &out->steps[out->n_steps++]);
	add_override(out, root, TL_PCI_DRIVER, "only " TL_PCI_DRIVER " may have it");
	add_leave(out, root);
	add_probe(out, root);
	return 0;
}

int tl_pci_plan_unbind(
	const char *root, const char *address, const char *former, struct tl_pci_plan *out, struct tl_err *err)
{
	*out = (struct tl_pci_plan){.want = former[0] != '\0' ? former : NULL};
	int rc = tl_pci_read(root, address, &out->device, err);
	if (rc != 0)
		return rc;
	bool ours = strcmp(out->device.driver, TL_PCI_DRIVER) == 0;
	if (out->device.driver[0] != '\0' && !ours)
		return tl_fail(err, -ENOTSUP, "%s is not with " TL_PCI_DRIVER " but with %s: nothing to return",
			out->device.address, out->device.driver);
	add_override(out, root, "\n", "any driver may have it");
	add_leave(out, root);
	add_probe(out, root);
	return 0;
}

// ---- execution

int pci_write_step(const struct tl_pci_step *step, struct tl_err *err)
{
	int fd = open(step->path, O_WRONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return tl_fail(err, -errno, "cannot open %s (%s)%s", step->path, strerror(errno),
			errno == EACCES ? ": this needs root" : "");
	size_t chars = strlen(step->text);
	if (write(fd, step->text, chars) != (ssize_t)chars)
		rc = tl_fail(err, -(errno != 0 ? errno : EIO), "cannot write \"%s\" to %s (%s)",
			step->text[0] == '\n' ? "" : step->text, step->path, strerror(errno));
	close(fd);
	return rc;
}

static const char *driver_name(const struct tl_pci_device *device)
{
	return device->driver[0] != '\0' ? device->driver : "no driver";
}

static bool is_as_before(const struct tl_pci_plan *plan, const struct tl_pci_device *now)
{
	return strcmp(now->driver, plan->device.driver) == 0;
}

// Continue after a failed step: only the restored driver counts.
int tl_pci_undo(const char *root, const struct tl_pci_plan *plan, struct tl_err *err)
{
	struct tl_pci_plan back = {0};
	int rc = tl_pci_read(root, plan->device.address, &back.device, err);

	if (rc != 0)
		return rc;
	add_override(&back, root, plan->device.override[0] != '\0' ? plan->device.override : "\n", "");
	if (!is_as_before(plan, &back.device)) {
		add_leave(&back, root);
		if (plan->device.driver[0] != '\0')
			add_probe(&back, root);
	}
	for (unsigned i = 0; i < back.n_steps; i++)
		(void)pci_write_step(&back.steps[i], NULL);
	rc = tl_pci_read(root, plan->device.address, &back.device, err);
	if (rc == 0 && !is_as_before(plan, &back.device))
		rc = tl_fail(err, -ENXIO, "%s is with %s now and could not be returned to %s; see `dmesg`",
			plan->device.address, driver_name(&back.device), driver_name(&plan->device));
	(void)tl_pci_end_noiommu(root, NULL);
	return rc;
}

int tl_pci_execute(const char *root, const struct tl_pci_plan *plan, struct tl_err *err)
{
	struct tl_pci_device now;
	// Loading vfio may have enabled it, through the host's modprobe.d: then it is not disabled by us.
	bool begins_noiommu = plan->begins_noiommu && !pci_noiommu_is_on(root);
	int rc = begins_noiommu ? pci_noiommu_remember(root, err) : 0;

	for (unsigned i = 0; i < plan->n_steps && rc == 0; i++)
		rc = pci_write_step(&plan->steps[i], err);
	if (rc == 0)
		rc = tl_pci_read(root, plan->device.address, &now, err);
	if (rc == 0 && plan->want != NULL && strcmp(now.driver, plan->want) != 0)
		rc = tl_fail(err, -ENXIO, "the kernel bound %s to %s, not to %s; see `dmesg`", plan->device.address,
			driver_name(&now), plan->want);
	if (rc != 0 && plan->n_steps != 0)
		(void)tl_pci_undo(root, plan, NULL);
	return rc;
}
