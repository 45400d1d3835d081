// SPDX-License-Identifier: BSD-3-Clause
// vfio's no-IOMMU mode: one kernel switch for all devices. We disable it only if we have enabled it.

#include "pci_priv.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>

#define SWITCH "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
#define USERS "/sys/class/vfio*/noiommu-*" // devices used by vfio without an IOMMU, on any bus
#define MEMORY "no-iommu"		   // beside the addresses: the mode was off before

void pci_noiommu_step(const char *root, const char *text, struct tl_pci_step *out)
{
	*out = (struct tl_pci_step){.why = "let " TL_PCI_DRIVER " have devices without an IOMMU"};
	snprintf(out->path, sizeof(out->path), "%.128s" SWITCH, root);
	snprintf(out->text, sizeof(out->text), "%s", text);
}

bool pci_noiommu_is_on(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" SWITCH, root);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	int state = fgetc(file);
	fclose(file);
	return state == 'Y';
}

int pci_noiommu_remember(const char *root, struct tl_err *err)
{
	return pci_remember(root, MEMORY, "N\n", err);
}

bool tl_pci_began_noiommu(const char *root)
{
	char was[TL_PCI_NAME_CHARS];

	return tl_pci_recall(root, MEMORY, was);
}

// Find one such device; copy its name to name.
static bool find_user(const char *root, char *name, size_t size)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s" USERS, root);
	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	snprintf(name, size, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	return true;
}

int tl_pci_end_noiommu(const char *root, struct tl_err *err)
{
	char was[TL_PCI_NAME_CHARS], user[64];
	struct tl_pci_step step;

	if (!tl_pci_recall(root, MEMORY, was))
		return 0;
	if (!pci_noiommu_is_on(root)) { // disabled by another process, or never enabled
		tl_pci_forget(root, MEMORY);
		return 0;
	}
	pci_noiommu_step(root, was, &step);
	if (find_user(root, user, sizeof(user)))
		return tl_fail(err, -EBUSY,
			"vfio's no-IOMMU mode stays on, because /dev/vfio/%s needs it: `tapline unbind` of the last such NIC "
			"switches it off, or, once nothing needs it, `echo %s > %s`",
			user, was, step.path);
	int rc = pci_write_step(&step, err);
	if (rc == 0)
		tl_pci_forget(root, MEMORY);
	return rc;
}
