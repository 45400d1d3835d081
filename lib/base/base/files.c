// SPDX-License-Identifier: BSD-3-Clause
// Reads without a trace in the page cache; direct writes; files named later; rename without replacing; identity of
// files.

#include <tl_files.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int tl_read_once(int fd, void *buf, uint32_t len_bytes, uint64_t offset_bytes)
{
	for (uint32_t done = 0; done < len_bytes;) {
		ssize_t n = pread(fd, (uint8_t *)buf + done, len_bytes - done, (off_t)(offset_bytes + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (uint32_t)n;
	}
	if (offset_bytes != 0) // a length of 0 would mean all
		(void)posix_fadvise(fd, 0, (off_t)offset_bytes, POSIX_FADV_DONTNEED);
	return 0;
}

bool tl_is_direct(int fd)
{
	struct statx status;
	struct statfs system;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 && (status.stx_mask & STATX_DIOALIGN))
		return status.stx_dio_offset_align != 0;
	return fstatfs(fd, &system) == 0 &&
	       (system.f_type == EXT4_SUPER_MAGIC || system.f_type == XFS_SUPER_MAGIC || system.f_type == TMPFS_MAGIC);
}

// Copy the directory of a path, and return the path's last part. NULL: it is too long.
static const char *files_split(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash != NULL ? (size_t)(slash - path) + 1 : 0;

	if (len >= PATH_MAX)
		return NULL;
	snprintf(dir, PATH_MAX, "%.*s", len != 0 ? (int)len : 1, len != 0 ? path : ".");
	return path + len;
}

int tl_create_nameless(const char *path, bool *out_named)
{
	char dir[PATH_MAX];

	if (files_split(path, dir) == NULL)
		return -ENAMETOOLONG;
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0640);
	*out_named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR);
	if (*out_named)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	return fd < 0 ? -errno : fd;
}

int tl_give_name(int fd, const char *path)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

int tl_rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) // not atomic on this file system
		return -EEXIST;
	return rename(from, to) == 0 ? 0 : -errno;
}

bool tl_is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool tl_is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) && tl_is_same_inode(&one, &other);
}

// Describe the directory of a path, and return the path's last part. NULL: there is no such directory.
static const char *files_last(const char *path, struct stat *out)
{
	char dir[PATH_MAX];
	const char *last = files_split(path, dir);

	return last != NULL && stat(dir, out) == 0 ? last : NULL;
}

bool tl_is_same_target(const char *a, const char *b)
{
	struct stat of_a, of_b;

	if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
		return tl_is_same_inode(&of_a, &of_b);
	const char *last_a = files_last(a, &of_a), *last_b = files_last(b, &of_b);
	return last_a != NULL && last_b != NULL && strcmp(last_a, last_b) == 0 && tl_is_same_inode(&of_a, &of_b);
}
