// SPDX-License-Identifier: BSD-3-Clause
// Storage of a device's former driver, and of the rule that binds it at boot.

#include "pci_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_err.h>

#define MEMORY "run/tapline-bind" // not below /run/tapline, which is owned by the user of the service
#define RULES "etc/udev/rules.d"
#define UNQUOTABLE "'\"\\" // characters that cannot be quoted for udev

struct place {
	const char *root, *dir; // dir is relative to root
	char name[64];
};

static struct place memory_of(const char *root, const char *name)
{
	struct place place = {.root = root, .dir = MEMORY};

	snprintf(place.name, sizeof(place.name), "%s", name);
	return place;
}

static struct place rule_of(const char *root, const char *address)
{
	struct place place = {.root = root, .dir = RULES};

	snprintf(place.name, sizeof(place.name), "70-tapline-%s.rules", address);
	return place;
}

// Create the parent directories of a file.
static void make_way(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdir(part, 0755);
	}
}

// True if only root and the caller can create files there.
static bool is_safe(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Open the directory of a place, without following symbolic links below root. Return a descriptor, or -errno.
static int open_directory(const struct place *place)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	int base = open(place->root[0] != '\0' ? place->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (base < 0)
		return -errno;
	int dir = (int)syscall(SYS_openat2, base, place->dir, &how, sizeof(how));
	int rc = dir < 0 ? -errno : is_safe(dir) ? dir : -EPERM;
	if (rc < 0 && dir >= 0)
		close(dir);
	close(base);
	return rc;
}

// Open a file. Return a stream, or NULL with errno set.
static FILE *open_file(const struct place *place, int flags, const char *mode)
{
	int dir = open_directory(place);

	if (dir < 0) {
		errno = -dir;
		return NULL;
	}
	int fd = openat(dir, place->name, flags | O_NOFOLLOW | O_CLOEXEC, 0644);
	close(dir);
	return fd >= 0 ? fdopen(fd, mode) : NULL;
}

static const char *why_not(int error)
{
	return error == EACCES ? ": this needs root"
	       : error == EPERM
		       ? ": its directory must belong to root and be writable by root only: `chown root` and `chmod 755` it"
	       : error == ELOOP ? ": a symbolic link is in its path: remove it"
				: "";
}

static int write_file(const struct place *place, const char *text, struct tl_err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", place->root, place->dir, place->name);
	make_way(path);
	FILE *file = open_file(place, O_WRONLY | O_CREAT | O_TRUNC, "w");
	if (file == NULL)
		return tl_fail(err, -errno, "cannot write %s (%s)%s", path, strerror(errno), why_not(errno));
	bool written = fputs(text, file) >= 0;
	if (fclose(file) != 0 || !written)
		return tl_fail(err, -EIO, "cannot write %s (%s)", path, strerror(errno));
	return 0;
}

static bool remove_file(const struct place *place)
{
	int dir = open_directory(place);
	bool gone = dir >= 0 && unlinkat(dir, place->name, 0) == 0;

	if (dir >= 0)
		close(dir);
	return gone;
}

int pci_remember(const char *root, const char *name, const char *text, struct tl_err *err)
{
	struct place place = memory_of(root, name);

	return write_file(&place, text, err);
}

int tl_pci_remember(const char *root, const struct tl_pci_device *device, struct tl_err *err)
{
	char text[TL_PCI_NAME_CHARS + 1];

	snprintf(text, sizeof(text), "%s\n", device->driver);
	return pci_remember(root, device->address, text, err);
}

bool tl_pci_recall(const char *root, const char *name, char line[TL_PCI_NAME_CHARS])
{
	struct place place = memory_of(root, name);
	FILE *file = open_file(&place, O_RDONLY, "r");

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
	struct place place = memory_of(root, address);

	(void)remove_file(&place);
}

// Quote a program's path for udev's RUN: single quotes keep spaces together, and % and $ are doubled.
static int quote(char *out, size_t size, const char *program, struct tl_err *err)
{
	size_t used = 0;

	for (const char *p = program; *p != '\0'; p++) {
		if ((unsigned char)*p < ' ' || strchr(UNQUOTABLE, *p) != NULL || used + 3 > size)
			return tl_fail(err, -EINVAL,
				"\"%s\" is not allowed in a udev rule: install the program where the path has no quotes, "
				"backslashes or control characters",
				program);
		if (*p == '%' || *p == '$')
			out[used++] = *p;
		out[used++] = *p;
	}
	out[used] = '\0';
	return 0;
}

int tl_pci_persist(
	const char *root, const char *address, const char *program, const char *arguments, struct tl_err *err)
{
	struct place place = rule_of(root, address);
	char quoted[2 * PATH_MAX], rule[sizeof(quoted) + 512];
	int rc = quote(quoted, sizeof(quoted), program, err);

	if (rc != 0)
		return rc;
	snprintf(rule, sizeof(rule),
		"# Made by `tapline bind --persist`, removed by `tapline unbind`.\n"
		"ACTION==\"add\", SUBSYSTEM==\"pci\", KERNEL==\"%s\", RUN+=\"'%s' %s\"\n",
		address, quoted, arguments);
	return write_file(&place, rule, err);
}

bool pci_is_persistent(const char *root, const char *address)
{
	struct place place = rule_of(root, address);
	int dir = open_directory(&place);
	bool is = dir >= 0 && faccessat(dir, place.name, F_OK, 0) == 0;

	if (dir >= 0)
		close(dir);
	return is;
}

bool tl_pci_unpersist(const char *root, const char *address)
{
	struct place place = rule_of(root, address);

	return remove_file(&place);
}
