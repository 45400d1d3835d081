// SPDX-License-Identifier: BSD-3-Clause
// Which files are meant: those that are named, and of a directory those that look like recordings, by name.

#include "extract_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC_PCAP_US 0xa1b2c3d4u
#define MAGIC_PCAP_NS 0xa1b23c4du

void extract_files_free(struct extract_files *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		free(files->file[i].path);
	free(files->file);
	*files = (struct extract_files){0};
}

static int add(struct extract_files *files, const char *path, const struct stat *status)
{
	if (files->n == files->capacity) {
		uint32_t capacity = files->capacity == 0 ? 64 : 2 * files->capacity;
		struct extract_file *more = realloc(files->file, capacity * sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		files->file = more;
		files->capacity = capacity;
	}
	char *copy = strdup(path);
	if (copy == NULL)
		return -ENOMEM;
	files->file[files->n++] =
		(struct extract_file){.path = copy, .device = status->st_dev, .inode = status->st_ino};
	return 0;
}

// Not every file of zstd is a recording: its first unit tells.
static bool begins_packed(int fd)
{
	size_t size = EXTRACT_PACKED_FIRST;
	uint8_t *data = malloc(size);
	ssize_t n = data != NULL ? pread(fd, data, size, 0) : -1;
	bool packed = n > 0 && extract_is_packed(data, (size_t)n);

	free(data);
	return packed;
}

// A regular file that begins like a capture.
static bool is_capture(const char *path, struct stat *status)
{
	uint32_t magic = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	bool regular = fstat(fd, status) == 0 && S_ISREG(status->st_mode);
	bool whole = regular && read(fd, &magic, sizeof(magic)) == (ssize_t)sizeof(magic);
	bool packed = whole && magic == EXTRACT_PACKED_MAGIC && begins_packed(fd);
	close(fd);
	return packed || (whole && (magic == TL_PCAPNG_SHB || magic == MAGIC_PCAP_US || magic == MAGIC_PCAP_NS ||
					   magic == __builtin_bswap32(MAGIC_PCAP_US) ||
					   magic == __builtin_bswap32(MAGIC_PCAP_NS)));
}

// x.pcapng, x_00001.pcapng … x_99999.pcapng, x_100000.pcapng
static int by_name(const void *a_file, const void *b_file)
{
	const struct extract_file *a = a_file, *b = b_file;

	return strverscmp(a->path, b->path);
}

static int add_if_capture(struct extract_files *files, const char *dir, const char *item)
{
	bool slash = dir[strlen(dir) - 1] == '/';
	struct stat status;
	char *path;

	if (asprintf(&path, "%s%s%s", dir, slash ? "" : "/", item) < 0)
		return -ENOMEM;
	int rc = is_capture(path, &status) ? add(files, path, &status) : 0;
	free(path);
	return rc;
}

static int add_directory(struct extract_files *files, const char *path)
{
	DIR *dir = opendir(path);
	uint32_t first = files->n;
	struct dirent *item;
	int rc = 0;

	if (dir == NULL)
		return -errno;
	while (rc == 0 && (item = readdir(dir)) != NULL)
		if (item->d_name[0] != '.') // hidden: the next file of a recording, among others
			rc = add_if_capture(files, path, item->d_name);
	closedir(dir);
	if (files->n > first)
		qsort(files->file + first, files->n - first, sizeof(*files->file), by_name);
	return rc;
}

int extract_files_list(struct extract_files *files, const struct tl_extract_cfg *cfg, struct tl_err *err)
{
	struct stat status;

	for (uint32_t i = 0; i < cfg->n_paths; i++) {
		const char *path = cfg->paths[i];
		int rc = 0;
		if (path[0] == '\0' || stat(path, &status) != 0)
			memset(&status, 0, sizeof(status)); // gone: opening it will tell
		rc = S_ISDIR(status.st_mode) ? add_directory(files, path) : add(files, path, &status);
		if (rc != 0)
			return tl_fail(err, rc, "%.300s: %s", path, strerror(-rc));
	}
	return 0;
}
