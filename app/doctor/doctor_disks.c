// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about the directories of recordings.

#include "doctor_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_units.h>

#define MEASURE_BYTES (UINT64_C(512) << 20)
#define MEASURE_NS (2 * TL_NS_PER_S)
#define WRITE_BYTES (UINT64_C(4) << 20)
#define WRITE_ALIGN 4096
#define MBPS_BYTES 125000

// ---- the list of directories

// Return the path up to the last slash before the first strftime conversion.
static void directory_of(const struct tl_tree *tree, const char *path, char *dir, size_t size)
{
	char named[TL_FACT_TEXT];
	size_t end = strcspn(path, "%");

	while (end > 0 && path[end - 1] != '/')
		end--;
	while (end > 1 && path[end - 1] == '/')
		end--;
	snprintf(named, sizeof(named), "%.*s", (int)tl_min_u64(end, sizeof(named) - 1), path);
	char *real = tree->live ? realpath(end > 0 ? named : ".", NULL) : NULL;
	snprintf(dir, size, "%s", real != NULL ? real : end > 0 ? named : ".");
	free(real);
}

static struct tl_fact_disk *find_disk(struct tl_facts *facts, const char *path)
{
	for (uint32_t i = 0; i < facts->n_disks; i++)
		if (strcmp(facts->disks[i].path, path) == 0)
			return &facts->disks[i];
	if (facts->n_disks == TL_FACT_DISKS_MAX)
		return NULL;
	struct tl_fact_disk *disk = &facts->disks[facts->n_disks++];
	snprintf(disk->path, sizeof(disk->path), "%s", path);
	return disk;
}

// Return the highest data rate of a port; 0: unknown.
static uint64_t line_bytes_per_s(const struct tl_facts *facts, const char *device)
{
	const char *name = strncmp(device, "xdp:", 4) == 0 ? device + 4 : device;

	for (uint32_t i = 0; i < facts->n_ports; i++) {
		const struct tl_fact_num *mbps = &facts->ports[i].speed_mbps;
		if (strcmp(facts->ports[i].name, name) == 0 && mbps->known && mbps->value > 0 &&
			mbps->value < INT32_MAX)
			return (uint64_t)mbps->value * MBPS_BYTES;
	}
	return 0;
}

static void add_capture(const struct tl_tree *tree, const struct tl_config *config,
	const struct tl_config_capture *capture, struct tl_facts *facts)
{
	char dir[TL_FACT_TEXT];

	if (strcmp(capture->path, "-") == 0 || strcmp(capture->path, "null:") == 0)
		return;
	directory_of(tree, capture->path, dir, sizeof(dir));
	struct tl_fact_disk *disk = find_disk(facts, dir);
	if (disk == NULL)
		return;
	disk->min_free_bytes = tl_max_u64(disk->min_free_bytes, capture->min_free_bytes);
	disk->keep_bytes += tl_max_u64(capture->keep_bytes, (uint64_t)capture->keep_files * capture->rotate_bytes);
	disk->line_bytes_per_s += line_bytes_per_s(facts, config->ports[capture->port].device);
}

// ---- one directory

static void read_access(const struct tl_tree *tree, struct tl_fact_disk *disk)
{
	int fd = tl_tree_fd(tree, O_PATH | O_DIRECTORY, disk->path);

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
		return;
	disk->exists = tl_fact_is(fd >= 0);
	disk->writable = tl_fact_is(fd >= 0 && faccessat(fd, "", W_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0);
	if (fd >= 0)
		close(fd);
}

// Check whether the directory is below the mount point.
static bool is_below(const char *path, const char *mount)
{
	size_t chars = strlen(mount);

	return strcmp(mount, "/") == 0 ||
	       (strncmp(path, mount, chars) == 0 && (path[chars] == '/' || path[chars] == '\0'));
}

// Find the nearest mount, the last of equal ones, in lines "36 35 98:0 /root /mount/point options - type device
// options".
static struct tl_fact_text find_filesystem(const struct tl_tree *tree, const char *path)
{
	char *text = tl_tree_text(tree, "/proc/self/mountinfo");
	struct tl_fact_text found = {0};
	size_t best = 0;

	for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
		char mount[TL_FACT_TEXT] = "", type[32] = "";
		line += *line == '\n';
		size_t chars = strcspn(line, "\n");
		const char *dash = memmem(line, chars, " - ", 3);
		if (dash == NULL || sscanf(line, "%*s %*s %*s %*s %159s", mount) != 1 ||
			sscanf(dash, " - %31s", type) != 1)
			continue;
		if (!is_below(path, mount) || strlen(mount) < best)
			continue;
		best = strlen(mount);
		found = tl_fact_says(type);
	}
	free(text);
	return found;
}

// Open an unnamed file, which disappears on close. Return its descriptor or -errno.
static int open_unnamed(const struct tl_tree *tree, const char *dir, int flags)
{
	return tl_tree_fd(tree, O_TMPFILE | O_WRONLY | flags, dir);
}

static void try_o_direct(const struct tl_tree *tree, struct tl_fact_disk *disk)
{
	int plain = open_unnamed(tree, disk->path, 0);
	int direct = plain >= 0 ? open_unnamed(tree, disk->path, O_DIRECT) : -1;

	if (plain >= 0)
		disk->o_direct = tl_fact_is(direct >= 0 && tl_is_direct(direct));
	if (direct >= 0)
		close(direct);
	if (plain >= 0)
		close(plain);
}

static void read_free(const struct tl_tree *tree, struct tl_fact_disk *disk)
{
	int fd = tl_tree_fd(tree, O_PATH | O_DIRECTORY, disk->path);
	struct statvfs status;
	uint64_t bytes;

	if (fd < 0)
		return;
	if (fstatvfs(fd, &status) == 0) {
		bool over = __builtin_mul_overflow((uint64_t)status.f_bavail, (uint64_t)status.f_frsize, &bytes);
		disk->free_bytes = tl_fact_is(over || bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
	}
	close(fd);
}

static void write_for_a_while(int fd, const void *block, struct tl_fact_num *bytes_per_s)
{
	uint64_t begin_ns = tl_mono_ns(), ns = 0, bytes = 0;

	while (bytes < MEASURE_BYTES && ns < MEASURE_NS) {
		if (pwrite(fd, block, WRITE_BYTES, (off_t)bytes) != (ssize_t)WRITE_BYTES)
			return;
		bytes += WRITE_BYTES;
		ns = tl_mono_ns() - begin_ns;
	}
	if (fdatasync(fd) != 0)
		return;
	ns = tl_max_u64(tl_mono_ns() - begin_ns, 1);
	*bytes_per_s = tl_fact_is((int64_t)((double)bytes / (double)ns * (double)TL_NS_PER_S));
}

static void measure(const struct tl_tree *tree, struct tl_fact_disk *disk)
{
	int flags = disk->o_direct.known && disk->o_direct.value ? O_DIRECT : 0;
	int fd = open_unnamed(tree, disk->path, flags);
	void *block;

	if (fd < 0)
		return;
	if (posix_memalign(&block, WRITE_ALIGN, WRITE_BYTES) == 0) {
		memset(block, 0x5a, WRITE_BYTES); // nonzero data: disks may shortcut zeros
		write_for_a_while(fd, block, &disk->measured_bytes_per_s);
		free(block);
	}
	close(fd);
}

void tl_gather_disks(const struct tl_tree *tree, const struct tl_config *config, bool measured, struct tl_facts *facts)
{
	for (uint32_t i = 0; config != NULL && i < config->n_captures; i++)
		add_capture(tree, config, &config->captures[i], facts);
	for (uint32_t i = 0; i < facts->n_disks; i++) {
		struct tl_fact_disk *disk = &facts->disks[i];
		read_access(tree, disk);
		disk->filesystem = find_filesystem(tree, disk->path);
		try_o_direct(tree, disk);
		if (tree->live)
			read_free(tree, disk);
		if (measured)
			measure(tree, disk);
	}
}
