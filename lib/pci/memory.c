// SPDX-License-Identifier: BSD-3-Clause
// Remembers which driver a device had, and what is to be done with it at boot.

#include "pci_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>

#define MEMORY "/run/tapline/bind"
#define RULES "/etc/udev/rules.d"

static void memory_path(char *path, size_t size, const char *root, const char *name)
{
	snprintf(path, size, "%s" MEMORY "/%s", root, name);
}

static void rule_path(char *path, size_t size, const char *root, const char *address)
{
	snprintf(path, size, "%s" RULES "/70-tapline-%s.rules", root, address);
}

// Makes the directories that lead to a file.
static void make_way(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdir(part, 0755);
	}
}

static int write_file(const char *path, const char *text, struct tl_err *err)
{
	make_way(path);
	FILE *file = fopen(path, "we");
	if (file == NULL)
		return tl_fail(err, -errno, "cannot write %s (%s)%s", path, strerror(errno),
			errno == EACCES ? ": this needs root" : "");
	bool written = fputs(text, file) >= 0;
	if (fclose(file) != 0 || !written)
		return tl_fail(err, -EIO, "cannot write %s (%s)", path, strerror(errno));
	return 0;
}

int pci_remember(const char *root, const char *name, const char *text, struct tl_err *err)
{
	char path[PATH_MAX];

	memory_path(path, sizeof(path), root, name);
	return write_file(path, text, err);
}

int tl_pci_remember(const char *root, const struct tl_pci_device *device, struct tl_err *err)
{
	char text[TL_PCI_NAME_CHARS + 1];

	snprintf(text, sizeof(text), "%s\n", device->driver);
	return pci_remember(root, device->address, text, err);
}

bool tl_pci_recall(const char *root, const char *name, char line[TL_PCI_NAME_CHARS])
{
	char path[PATH_MAX];

	memory_path(path, sizeof(path), root, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool got = fgets(line, TL_PCI_NAME_CHARS, file) != NULL;
	fclose(file);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

void tl_pci_forget(const char *root, const char *address)
{
	char path[PATH_MAX];

	memory_path(path, sizeof(path), root, address);
	(void)unlink(path);
}

int tl_pci_persist(const char *root, const char *address, const char *command, struct tl_err *err)
{
	char path[PATH_MAX], rule[PATH_MAX + 256];

	rule_path(path, sizeof(path), root, address);
	snprintf(rule, sizeof(rule),
		"# Made by `tapline bind --persist`, removed by `tapline unbind`.\n"
		"ACTION==\"add\", SUBSYSTEM==\"pci\", KERNEL==\"%s\", RUN+=\"%s\"\n",
		address, command);
	return write_file(path, rule, err);
}

bool pci_is_persistent(const char *root, const char *address)
{
	char path[PATH_MAX];

	rule_path(path, sizeof(path), root, address);
	return access(path, F_OK) == 0;
}

bool tl_pci_unpersist(const char *root, const char *address)
{
	char path[PATH_MAX];

	rule_path(path, sizeof(path), root, address);
	return unlink(path) == 0;
}
