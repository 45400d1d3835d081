// SPDX-License-Identifier: BSD-3-Clause
// Files of earlier runs: recognizes files of this program, and lists all of a recording's.
//
// A file is ours if it is a regular file and its beginning names this program. A file locked by another process is in
// use, and neither changed nor removed.

#include "writer_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <tl_array.h>
#include <tl_log.h>
#include <tl_recover.h>

// Open a regular file. Return the descriptor, -ENOMSG for any other type, or -errno.
static int open_regular(const char *path, int access, struct stat *status)
{
	int fd = open(path, access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -ENOMSG : -errno;
	int rc = fstat(fd, status) != 0 ? -errno : S_ISREG(status->st_mode) ? 0 : -ENOMSG;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

// Open and lock a regular file; -EBUSY while another process has locked it. NFS grants an exclusive lock only to a
// descriptor open for writing, and a shared one to any open for reading: for a file that cannot be opened for writing,
// a shared lock detects a writer as well.
static int open_unused(const char *path, struct stat *status)
{
	int lock = LOCK_EX | LOCK_NB;
	int fd = open_regular(path, O_RDWR, status);

	if (fd == -EACCES || fd == -EPERM || fd == -EROFS) {
		lock = LOCK_SH | LOCK_NB;
		fd = open_regular(path, O_RDONLY, status);
	}
	if (fd < 0 || flock(fd, lock) == 0)
		return fd;
	int rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(fd);
	return rc;
}

int tl_writer_open_ours(const char *path, struct stat *status)
{
	int fd = open_unused(path, status);
	int rc = fd < 0 ? fd : tl_recover_check_ours(fd);

	if (rc >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

void tl_writer_warn_unknown(const char *path)
{
	tl_warn("%.300s: has no mark of a recording of tapline and is left alone; remove it if it is not needed", path);
}

// True if an error is a permanent property of the file, not a temporary one: the file may be ours, but we cannot keep
// or remove it.
static bool is_lasting(int code)
{
	return code == -ENOMSG || code == -ENOENT || code == -EACCES || code == -EPERM;
}

// Find a recording of this program. Return 1: found, in use or not, or -errno.
static int find_ours(const char *path, struct stat *status)
{
	int fd = open_regular(path, O_RDONLY, status);
	int rc = fd < 0 ? fd : tl_recover_check_ours(fd);

	if (fd >= 0)
		close(fd);
	return rc == 0 ? 1 : rc;
}

struct found {
	struct tl_writer_entry entry;
	struct timespec written;
	uint32_t number;
};

static int by_age(const void *a_found, const void *b_found)
{
	const struct found *a = a_found, *b = b_found;

	if (a->written.tv_sec != b->written.tv_sec)
		return a->written.tv_sec < b->written.tv_sec ? -1 : 1;
	if (a->written.tv_nsec != b->written.tv_nsec)
		return a->written.tv_nsec < b->written.tv_nsec ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->entry.path, b->entry.path);
}

// Check for a file that an earlier run may have left incomplete. Return 1: it may be, 0: it is not, or -errno. The
// owner of a file that is empty, or all zeros, is unknown. A lock does not prove that a file is in use: the kernel
// releases it only when the writes of a killed process are complete.
static int find_left(const char *path, struct stat *status)
{
	int fd = open_unused(path, status);
	bool opened;

	if (fd < 0)
		return fd == -EBUSY ? find_ours(path, status) : fd;
	bool unknown = tl_recover_is_blank(fd, &opened) && !opened;
	bool marked = tl_recover_is_ours(fd) && tl_recover_is_only_marked(fd);
	if (unknown)
		tl_writer_warn_unknown(path);
	if (marked)
		(void)unlink(path); // empty, and its name may be taken
	close(fd);
	return !unknown && !marked;
}

static int look_at(const struct tl_writer_pattern *pattern, const char *name, struct found *out)
{
	struct stat status;
	bool part;

	if (!tl_writer_pattern_match(pattern, name, &out->number, &part))
		return 0;
	if (asprintf(&out->entry.path, "%s%s", pattern->dir, name) < 0)
		return -ENOMEM;
	int rc = part ? find_left(out->entry.path, &status) : find_ours(out->entry.path, &status);
	if (rc == -EACCES || rc == -EPERM)
		tl_warn("%.300s: cannot be opened: %s; it stays and does not count towards the limits of the ring",
			out->entry.path, strerror(-rc));
	if (rc != 1) {
		free(out->entry.path);
		return is_lasting(rc) ? 0 : rc;
	}
	out->entry.left = part;
	out->entry.bytes = (uint64_t)status.st_size;
	out->written = status.st_mtim;
	return 1;
}

// Find all of our files in the directory. Return 0, -ENOMEM, or -errno if the directory cannot be read to its end; the
// caller frees *out in any case.
static int find_all(const struct tl_writer_pattern *pattern, DIR *dir, struct found **out, size_t *n)
{
	struct dirent *item;
	size_t capacity = 0;

	while (errno = 0, (item = readdir(dir)) != NULL) {
		if (tl_array_reserve(out, *n, &capacity, sizeof(**out)) != 0)
			return -ENOMEM;
		(*out)[*n] = (struct found){0};
		int rc = look_at(pattern, item->d_name, &(*out)[*n]);
		if (rc < 0)
			return rc;
		*n += (size_t)rc;
	}
	return -errno; // from readdir, 0 at the end
}

int tl_writer_ring_find(struct tl_writer_ring *ring, const struct tl_writer_pattern *pattern)
{
	DIR *dir = opendir(pattern->dir[0] != '\0' ? pattern->dir : ".");
	struct found *found = NULL;
	size_t n = 0, kept = 0;

	if (dir == NULL)
		return -errno;
	int rc = find_all(pattern, dir, &found, &n);
	closedir(dir);
	if (n != 0)
		qsort(found, n, sizeof(*found), by_age);
	while (kept < n && rc == 0) {
		rc = tl_writer_ring_add(ring, found[kept].entry);
		kept += rc == 0;
	}
	for (; kept < n; kept++)
		free(found[kept].entry.path);
	free(found);
	return rc;
}
