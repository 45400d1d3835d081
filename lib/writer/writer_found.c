// SPDX-License-Identifier: BSD-3-Clause
// What earlier runs left on the disk: which files are ours, and all of a recording's.
//
// A file is ours when it is a regular file, its beginning names this program, and nobody is writing it.

#include "writer_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <tl_recover.h>

// A regular file that nobody is writing, or -1.
static int open_unused(const char *path, int access, struct stat *status)
{
	int fd = open(path, access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int tl_writer_open_ours(const char *path, int access, struct stat *status)
{
	int fd = open_unused(path, access, status);

	if (fd < 0 || tl_recover_is_ours(fd))
		return fd;
	close(fd);
	return -1;
}

bool tl_writer_is_ours(const char *path, struct stat *status)
{
	int fd = tl_writer_open_ours(path, O_RDONLY, status);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool tl_writer_is_blank(const char *path)
{
	struct stat status;
	int fd = open_unused(path, O_RDONLY, &status);

	if (fd < 0)
		return false;
	bool opened;
	bool blank = tl_recover_is_blank(fd, &opened) && (!opened || tl_recover_is_ours(fd));
	close(fd);
	return blank;
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

// Whether nobody is writing what an earlier run did not complete. One that it did not begin either is no loss.
static bool is_left(const char *path, struct stat *status)
{
	int fd = open_unused(path, O_RDONLY, status);
	bool opened;

	if (fd < 0)
		return false;
	bool nothing = tl_recover_is_blank(fd, &opened) && !opened;
	if (nothing)
		unlink(path);
	close(fd);
	return !nothing;
}

static int look_at(const struct tl_writer_pattern *pattern, const char *name, struct found *out)
{
	struct stat status;
	bool part;

	if (!tl_writer_pattern_match(pattern, name, &out->number, &part))
		return 0;
	if (asprintf(&out->entry.path, "%s%s", pattern->dir, name) < 0)
		return -ENOMEM;
	out->entry.left = part && is_left(out->entry.path, &status);
	if (!out->entry.left && (part || !tl_writer_is_ours(out->entry.path, &status))) {
		free(out->entry.path);
		return 0;
	}
	out->entry.bytes = (uint64_t)status.st_size;
	out->written = status.st_mtim;
	return 1;
}

// Every file of ours in the directory. Returns 0 or -ENOMEM; the caller frees *out either way.
static int find_all(const struct tl_writer_pattern *pattern, DIR *dir, struct found **out, size_t *n)
{
	struct dirent *item;
	size_t capacity = 0;

	while ((item = readdir(dir)) != NULL) {
		if (*n == capacity) {
			capacity = capacity == 0 ? 64 : 2 * capacity;
			struct found *more = realloc(*out, capacity * sizeof(*more));
			if (more == NULL)
				return -ENOMEM;
			*out = more;
		}
		(*out)[*n] = (struct found){0};
		int rc = look_at(pattern, item->d_name, &(*out)[*n]);
		if (rc < 0)
			return rc;
		*n += (size_t)rc;
	}
	return 0;
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
