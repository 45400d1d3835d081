// SPDX-License-Identifier: BSD-3-Clause
// Driver that a device should have, and the cause that none took a PCI device.

#include "port_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_doctor.h>
#include <tl_eal_about.h>

#define PATH_BYTES 320

const char *tl_port_sysfs_devices(void)
{
	const char *given = getenv("SYSFS_PCI_DEVICES");

	return given != NULL ? given : "/sys/bus/pci/devices";
}

static int64_t read_id(const char *address, const char *name)
{
	char path[PATH_BYTES], text[16];

	snprintf(path, sizeof(path), "%s/%s/%s", tl_port_sysfs_devices(), address, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return -1;
	bool read = fgets(text, sizeof(text), file) != NULL;
	fclose(file);
	return read ? strtoll(text, NULL, 16) : -1;
}

bool tl_port_expected_driver(const struct tl_port_spec *spec, char *driver, size_t size, uint16_t *device)
{
	*device = 0;
	if (tl_port_traits(spec)->devargs) { // "net_tap0,iface=..."
		snprintf(driver, size, "%.*s", (int)strcspn(spec->arg, "0123456789,"), spec->arg);
		return true;
	}
	int64_t id = tl_port_traits(spec)->nic ? read_id(spec->arg, "device") : -1;
	const char *pmd = id > 0 ? tl_doctor_pmd(read_id(spec->arg, "vendor"), id) : NULL;
	if (pmd == NULL)
		return false;
	snprintf(driver, size, "%s", pmd);
	*device = (uint16_t)id;
	return true;
}

// Derive "librte-net-ice23" from "net_ice" and "/.../pmds-23.0"; Debian adds a hyphen after a digit:
// "librte-net-mlx5-23".
void tl_port_driver_package(const char *pmd, const char *dir, char *buf, size_t size)
{
	const char *abi = strrchr(dir, '-');
	char last = pmd[strlen(pmd) - 1];

	snprintf(buf, size, "librte-%s%s%.*s", pmd, last >= '0' && last <= '9' ? "-" : "",
		abi != NULL ? (int)strcspn(abi + 1, ".") : 0, abi != NULL ? abi + 1 : "");
	for (char *c = buf; *c != '\0'; c++)
		if (*c == '_')
			*c = '-';
}

// True if DPDK is installed without the driver of the device.
static bool lacks_driver(const char *pmd, char *package, size_t size)
{
	char dir[PATH_BYTES / 2], path[PATH_BYTES];

	if (pmd == NULL || tl_eal_driver_dir(dir, sizeof(dir)) != 0)
		return false;
	const char *abi = strrchr(dir, '-');
	snprintf(path, sizeof(path), "%s/librte_%s.so%s%s", dir, pmd, abi != NULL ? "." : "",
		abi != NULL ? abi + 1 : "");
	tl_port_driver_package(pmd, dir, package, size);
	return access(dir, X_OK) == 0 && access(path, F_OK) != 0;
}

// True if vfio denies access, as it may to a user other than root.
static bool is_shut(const char *address, char *file, size_t size)
{
	char link[PATH_BYTES], group[256];

	snprintf(link, sizeof(link), "%s/%s/iommu_group", tl_port_sysfs_devices(), address);
	ssize_t chars = readlink(link, group, sizeof(group) - 1);
	if (chars <= 0)
		return false;
	group[chars] = '\0';
	const char *number = strrchr(group, '/');
	snprintf(file, size, "/dev/vfio%s", number != NULL ? number : "/");
	return access(file, R_OK | W_OK) != 0 && errno == EACCES;
}

// ICE_PKG_FILE_DEFAULT and ICE_PKG_FILE_UPDATES of DPDK 22.11.11, ice_ethdev.h:50.
static bool lacks_ddp(const char *pmd)
{
	return pmd != NULL && strcmp(pmd, "net_ice") == 0 &&
	       access("/lib/firmware/updates/intel/ice/ddp/ice.pkg", R_OK) != 0 &&
	       access("/lib/firmware/intel/ice/ddp/ice.pkg", R_OK) != 0;
}

int tl_port_refuse_absent(const struct tl_port *port, struct tl_err *err)
{
	const char *address = port->cfg.spec.arg;
	const char *pmd = tl_doctor_pmd(read_id(address, "vendor"), read_id(address, "device"));
	char file[PATH_BYTES], package[96];

	if (lacks_driver(pmd, package, sizeof(package)))
		return tl_fail(err, -ENODEV,
			"port %s: DPDK's driver of %s, %s, is not installed: apt install %s (in your own DPDK: build it)",
			port->name, address, pmd, package);
	if (is_shut(address, file, sizeof(file)))
		return tl_fail(err, -EACCES,
			"port %s: this user may not open %s, required for %s: join its group (see "
			"drivers-config/udev/60-tapline-vfio.rules)",
			port->name, file, address);
	if (lacks_ddp(pmd))
		return tl_fail(err, -ENODEV,
			"port %s: net_ice did not accept %s: its DDP package, /lib/firmware/intel/ice/ddp/ice.pkg, is missing: install firmware-misc-nonfree, or use one queue without RSS: \"%s,safe-mode-support=1\"",
			port->name, address, address);
	return tl_fail(err, -ENODEV,
		"port %s: no DPDK driver accepted %s: check that it exists (`lspci -s %s`) and is bound to vfio-pci (`tapline bind --list`; mlx5 stays on its kernel driver)",
		port->name, address, address);
}
