// SPDX-License-Identifier: BSD-3-Clause
// Input files: those named, and those in a directory that look like recordings, sorted by name.

#include "extract_priv.h"
#include <tl_array.h>
#include <tl_extract_feed.h>
#include <tl_extract_source.h>
#include <tl_log.h>
#include <tl_remedy.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void extract_files_free(struct extract_files *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		free(files->file[i].path);
	free(files->file);
	*files = (struct extract_files){0};
}

static int add(struct extract_files *files, const char *path, const struct stat *status)
{
	if (tl_array_reserve(&files->file, files->n, &files->capacity, sizeof(*files->file)) != 0)
		return -ENOMEM;
	char *copy = strdup(path);
	if (copy == NULL)
		return -ENOMEM;
	files->file[files->n++] =
		(struct extract_file){.path = copy, .device = status->st_dev, .inode = status->st_ino};
	return 0;
}

// Check the first unit: other zstd files are not recordings. Return 1, 0 or -errno.
static int begins_packed(int fd)
{
	size_t size = EXTRACT_PACKED_FIRST;
	uint8_t *data = malloc(size);
	ssize_t n = data != NULL ? pread(fd, data, size, 0) : -1;
	int rc = data == NULL ? -ENOMEM : n < 0 ? -errno : n > 0 && extract_is_packed(data, (size_t)n);

	free(data);
	return rc;
}

static bool is_magic(uint32_t magic)
{
	return magic == TL_PCAPNG_SHB || tl_pcap_is_magic(magic);
}

// Check the content of a file compressed by any program. Return 1, 0 or -errno.
static int contains_capture(const char *path)
{
	struct tl_extract_feed *feed;
	uint32_t magic = 0;
	const uint8_t *data;
	size_t got;
	struct tl_err err;

	int rc = tl_extract_feed_open(path, NULL, &feed, &err);
	if (rc != 0)
		return rc;
	rc = tl_extract_feed_get(feed, 0, sizeof(magic), &data, &got, &err);
	if (rc == 0 && got == sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	tl_extract_feed_close(feed);
	return rc != 0 ? rc : is_magic(magic);
}

static int begins_as_capture(int fd, const char *path, bool streams, struct stat *status)
{
	uint32_t magic = 0;

	if (fstat(fd, status) != 0)
		return -errno;
	if (!S_ISREG(status->st_mode))
		return 0;
	ssize_t n = read(fd, &magic, sizeof(magic));
	if (n != (ssize_t)sizeof(magic))
		return n < 0 ? -errno : 0;
	if (streams && extract_stream_is(&magic, sizeof(magic)))
		return contains_capture(path);
	return magic == EXTRACT_PACKED_MAGIC ? begins_packed(fd) : is_magic(magic);
}

// Check for a regular file that starts like a capture: 1, 0, or -errno.
static int is_capture(const char *path, bool streams, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) // removed, a dangling link, or a socket
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? 0 : -errno;
	int rc = begins_as_capture(fd, path, streams, status);
	close(fd);
	return rc;
}

bool tl_extract_may_be_capture(const char *path)
{
	uint32_t magic;
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	ssize_t n = regular ? read(fd, &magic, sizeof(magic)) : -1;

	if (fd >= 0)
		close(fd);
	if (n != (ssize_t)sizeof(magic))
		return n >= 0;
	return is_magic(magic) || extract_stream_is(&magic, sizeof(magic));
}

// Order: x.pcapng, x_00001.pcapng … x_99999.pcapng, x_100000.pcapng
static int by_name(const void *a_file, const void *b_file)
{
	const struct extract_file *a = a_file, *b = b_file;

	return strverscmp(a->path, b->path);
}

static bool is_sidecar(const char *item)
{
	size_t chars = strlen(item), end = strlen(TL_INDEX_SUFFIX);

	return chars > end && strcmp(item + chars - end, TL_INDEX_SUFFIX) == 0;
}

// Check for the index of a file: 1, 0, or -errno.
static int has_sidecar(const char *path)
{
	char *name;
	int rc = 1;

	if (asprintf(&name, "%s" TL_INDEX_SUFFIX, path) < 0)
		return -ENOMEM;
	if (access(name, F_OK) != 0)
		rc = errno == ENOENT || errno == ENAMETOOLONG ? 0 : -errno;
	free(name);
	return rc;
}

// Add a file of a directory: a capture, or a recording by its index, whose beginning is damaged then. Count others.
static int add_item(struct extract_files *files, const char *path, const char *item)
{
	struct stat status = {0};
	int rc = is_capture(path, files->streams, &status);
	bool other = rc == 0 && S_ISREG(status.st_mode) && !is_sidecar(item);

	if (other)
		rc = has_sidecar(path);
	if (rc > 0)
		return add(files, path, &status);
	if (rc == 0 && other && files->others++ == 0)
		snprintf(files->other, sizeof(files->other), "%s", item);
	return rc;
}

static int add_if_capture(struct extract_files *files, const char *dir, const char *item, struct tl_err *err)
{
	bool slash = dir[strlen(dir) - 1] == '/';
	char *path;

	if (asprintf(&path, "%s%s%s", dir, slash ? "" : "/", item) < 0)
		return tl_fail(err, -ENOMEM, "%.300s: %s", dir, strerror(ENOMEM));
	int rc = add_item(files, path, item);
	if (rc < 0)
		tl_fail(err, rc, "%.300s: %s%s", path, strerror(-rc), tl_remedy(rc));
	free(path);
	return rc;
}

static int add_directory(struct extract_files *files, const char *path, struct tl_err *err)
{
	DIR *dir = opendir(path);
	uint32_t first = files->n;
	struct dirent *item;
	int rc = 0;

	if (dir == NULL)
		return tl_fail(err, -errno, "%.300s: %s%s", path, strerror(errno), tl_remedy(-errno));
	files->others = 0;
	while (errno = 0, rc == 0 && (item = readdir(dir)) != NULL)
		if (item->d_name[0] != '.') // hidden: among others the next file of a recording
			rc = add_if_capture(files, path, item->d_name, err);
	if (rc == 0 && errno != 0)
		rc = tl_fail(err, -errno, "%.300s: cannot be read to its end: %s", path, strerror(errno));
	closedir(dir);
	if (files->n > first)
		qsort(files->file + first, files->n - first, sizeof(*files->file), by_name);
	if (files->others != 0)
		tl_info("%.300s: files that do not begin like a capture, and are left out: %" PRIu32
			", the first is %s",
			path, files->others, files->other);
	return rc;
}

int tl_extract_directory(const char *path, char ***out, size_t *out_n, struct tl_err *err)
{
	struct extract_files files = {.streams = true};

	int rc = add_directory(&files, path, err);
	*out = calloc(files.n + 1u, sizeof(**out));
	*out_n = 0;
	if (rc == 0 && *out == NULL)
		rc = tl_fail(err, -ENOMEM, "%.300s: %s", path, strerror(ENOMEM));
	for (uint32_t i = 0; rc == 0 && i < files.n; i++) {
		(*out)[(*out_n)++] = files.file[i].path;
		files.file[i].path = NULL;
	}
	extract_files_free(&files);
	return rc;
}

int extract_files_list(struct extract_files *files, const struct tl_extract_cfg *cfg, struct tl_err *err)
{
	struct stat status;

	for (uint32_t i = 0; i < cfg->n_paths; i++) {
		const char *path = cfg->paths[i];
		if (path[0] == '\0' || stat(path, &status) != 0)
			memset(&status, 0, sizeof(status)); // removed: open reports it
		bool is_directory = S_ISDIR(status.st_mode);
		int rc = is_directory ? add_directory(files, path, err) : add(files, path, &status);
		if (rc != 0)
			return is_directory ? rc : tl_fail(err, rc, "%.300s: %s%s", path, strerror(-rc), tl_remedy(rc));
	}
	return 0;
}
