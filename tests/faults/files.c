// SPDX-License-Identifier: BSD-3-Clause
// Interpose calls that change files. The trace has each of them, so that the judge can tell what was on disk before a
// file was renamed. The stash keeps the contents of files that lose their names.

#include "seam.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SITE __builtin_return_address(0)

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int fallocate64(int fd, int mode, off_t offset, off_t len);
int ftruncate64(int fd, off_t len);
ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset);
ssize_t pread64(int fd, void *data, size_t len, off_t offset);
ssize_t __read_chk(int fd, void *data, size_t len, size_t size);

// ---- bytes

// Return how much of len to transfer; -1: the call fails, and errno is set.
static ssize_t allowed(const char *name, const void *site, int fd, size_t len)
{
	int code = seam_count(name, site, fd);

	if (code == 0)
		return (ssize_t)len;
	if (code == SEAM_SHORT)
		return (ssize_t)(len > 8192 ? len / 2 / 4096 * 4096 : len / 2); // block size of O_DIRECT
	errno = code;
	return -1;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset)
{
	ssize_t now = allowed("pwrite64", SITE, fd, len);

	if (now < 0)
		return -1;
	seam_trace_file("write", fd);
	return syscall(SYS_pwrite64, fd, data, now, offset);
}

ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t now = allowed("write", SITE, fd, len);

	if (now < 0)
		return -1;
	seam_trace_file("write", fd);
	return syscall(SYS_write, fd, data, now);
}

ssize_t pread64(int fd, void *data, size_t len, off_t offset)
{
	ssize_t now = allowed("pread64", SITE, fd, len);

	return now < 0 ? -1 : syscall(SYS_pread64, fd, data, now, offset);
}

ssize_t read(int fd, void *data, size_t len)
{
	ssize_t now = allowed("read", SITE, fd, len);

	return now < 0 ? -1 : syscall(SYS_read, fd, data, now);
}

// Name in hardened builds.
ssize_t __read_chk(int fd, void *data, size_t len, size_t size)
{
	ssize_t now = allowed("read", SITE, fd, len);

	return now < 0 ? -1 : syscall(SYS_read, fd, data, now < (ssize_t)size ? now : (ssize_t)size);
}

// Check whether the call must fail; errno is set then.
static bool fails(const char *name, const void *site, int fd)
{
	int code = seam_count(name, site, fd);

	if (code != 0)
		errno = code;
	return code != 0;
}

int ftruncate64(int fd, off_t len)
{
	if (fails("ftruncate64", SITE, fd))
		return -1;
	seam_trace_file("write", fd);
	return (int)syscall(SYS_ftruncate, fd, len);
}

int fallocate64(int fd, int mode, off_t offset, off_t len)
{
	if (fails("fallocate64", SITE, fd))
		return -1;
	seam_trace_file("write", fd);
	return (int)syscall(SYS_fallocate, fd, mode, offset, len);
}

// Skip the sync unless requested: without a power failure the disk contents do not matter.
static int force(const char *name, const void *site, int fd, long number)
{
	int code = seam_count(name, site, fd);

	if (code == SEAM_SKIPPED)
		return 0;
	errno = code;
	if (code != 0)
		return -1;
	seam_trace_file("sync", fd);
	return getenv("SEAM_SYNC") != NULL ? (int)syscall(number, fd) : 0;
}

int fsync(int fd)
{
	return force("fsync", SITE, fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return force("fdatasync", SITE, fd, SYS_fdatasync);
}

// As on Linux, the descriptor is closed even after an error.
int close(int fd)
{
	bool failed = fails("close", SITE, fd);
	int code = errno;
	int rc = (int)syscall(SYS_close, fd);

	if (!failed)
		return rc;
	errno = code;
	return -1;
}

// ---- names

static bool ends_in(const char *name, const char *end)
{
	size_t chars = strlen(name);

	return end != NULL && chars >= strlen(end) && strcmp(name + chars - strlen(end), end) == 0;
}

// Copy a file to the stash before it loses this name, if the suffix matches.
static void stash(const char *name)
{
	static unsigned number;
	const char *dir = getenv("SEAM_STASH");
	char path[4096];

	if (dir == NULL || !ends_in(name, getenv("SEAM_SUFFIX")))
		return;
	snprintf(path, sizeof(path), "%s/%u", dir, __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
	int in = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	int out = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (in >= 0 && out >= 0 && syscall(SYS_copy_file_range, in, NULL, out, NULL, (size_t)1 << 30, 0) > 0) {
	}
	syscall(SYS_close, in);
	syscall(SYS_close, out);
}

static int move(const char *from, const char *to, unsigned flags)
{
	struct stat status = {0};

	if (!ends_in(to, getenv("SEAM_SUFFIX")) && !ends_in(to, ".part"))
		stash(from);
	int rc = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
	if (rc == 0 && syscall(SYS_stat, to, &status) == 0)
		seam_trace("rename %lu %s %s", (unsigned long)status.st_ino, from, to);
	return rc;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return fails("renameat2", SITE, -1) ? -1 : move(from, to, flags);
}

int rename(const char *from, const char *to)
{
	return fails("rename", SITE, -1) ? -1 : move(from, to, 0);
}

static int take_away(const char *call, const void *site, const char *name)
{
	if (fails(call, site, -1))
		return -1;
	stash(name);
	int rc = (int)syscall(SYS_unlink, name);
	if (rc == 0)
		seam_trace("remove %s", name);
	return rc;
}

int unlink(const char *name)
{
	return take_away("unlink", SITE, name);
}

int remove(const char *name)
{
	return take_away("remove", SITE, name);
}
