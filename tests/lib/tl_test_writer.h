// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Helpers for tests of the writer: files in its directory, and a writer that has caught up.

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_test.h>

#include "writer_priv.h"

static inline bool tl_test_exists(const char *dir, const char *name)
{
	char path[192];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return lstat(path, &status) == 0;
}

// Count the files of the directory whose names end so.
static inline uint32_t tl_test_count_files(const char *dir, const char *end)
{
	DIR *stream = opendir(dir);
	struct dirent *item;
	uint32_t n = 0;

	while ((item = readdir(stream)) != NULL) {
		size_t len = strlen(item->d_name);
		n += len >= strlen(end) && strcmp(item->d_name + len - strlen(end), end) == 0;
	}
	closedir(stream);
	return n;
}

// Tell whether the next file has been opened.
static inline bool tl_test_has_next(struct tl_writer *writer)
{
	pthread_mutex_lock(&writer->helper.lock);
	bool has = writer->helper.ahead != NULL;
	pthread_mutex_unlock(&writer->helper.lock);
	return has;
}

// Tell whether the writer waits for the next file, or has waited in vain.
static inline bool tl_test_wants_next(struct tl_writer *writer)
{
	pthread_mutex_lock(&writer->helper.lock);
	bool wants = writer->helper.wished;
	pthread_mutex_unlock(&writer->helper.lock);
	return wants;
}

static inline bool tl_test_are_empty(struct tl_slab_ring *const *rings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tl_slab_used(rings[i]) != 0)
			return false;
	return true;
}

// Wait until all slabs are in the file and the next file is there: on a busy host that may take longer than the writer
// waits.
static inline void tl_test_settle(struct tl_writer *writer, struct tl_slab_ring *const *rings, size_t n)
{
	CU_ASSERT(tl_test_until(tl_test_has_next(writer) && tl_test_are_empty(rings, n)));
}

// Rotations by size wait for the next file, so that a slow disk makes no file larger than it is to be.
static inline void tl_test_wait_for_files(struct tl_writer *writer)
{
	writer->patience_ns = 60 * TL_NS_PER_S;
}
