// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Helpers for tests of the writer: a directory and its files, a failing backend, and a wait for an idle writer.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_test.h>

#include "writer_priv.h"

// ---- a directory and its files

// Make a directory, and the path of a recording in it.
static inline void tl_test_make_dir(char dir[64], char path[96])
{
	strcpy(dir, "/var/tmp/tl-writer-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, 96, "%s/x.pcapng", dir);
}

static inline int tl_test_remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

// Remove the directory with all files in it. Return 0, or an error if a file was created meanwhile.
static inline int tl_test_remove_dir(const char *dir)
{
	return nftw(dir, tl_test_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

// Return the whole file at path, to be freed by the caller, or NULL.
static inline uint8_t *tl_test_read_file(const char *path, size_t *out_size)
{
	struct stat status;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &status) != 0)
		return NULL;
	*out_size = (size_t)status.st_size;
	uint8_t *data = malloc(*out_size + 1);
	CU_ASSERT_EQUAL(read(fd, data, *out_size), status.st_size);
	close(fd);
	return data;
}

static inline bool tl_test_exists(const char *dir, const char *name)
{
	char path[192];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return lstat(path, &status) == 0;
}

// Count the files of the directory whose names end with end.
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

// ---- a failing backend

// Backend that completes the latest write first and fails every fifth, of slabs of 64 KiB: the first page is written,
// then an error.
static struct {
	uint32_t started;
	uint32_t failed;
} tl_test_faulty;

static inline void tl_test_faulty_start(struct tl_writer *writer, struct tl_writer_write *write)
{
	tl_test_faulty.started++;
}

static inline void tl_test_faulty_reap(struct tl_writer *writer, bool wait)
{
	for (uint32_t i = writer->flight_count; i-- > 0;) {
		struct tl_writer_write *write = &writer->flight[(writer->flight_first + i) % TL_WRITER_DEPTH];
		if (write->result != TL_WRITER_PENDING)
			continue;
		bool spoil = write->offset_bytes / 65536 % 5 == 3;
		uint32_t len = spoil ? TL_PCAPNG_ALIGN : write->len_bytes;
		write->result = tl_writer_file_write(write->file, write->data, len, write->offset_bytes);
		if (spoil)
			write->result = -EIO;
		tl_test_faulty.failed += spoil;
		return;
	}
}

static inline void tl_test_faulty_fini(struct tl_writer *writer)
{
}

static const struct tl_writer_backend tl_test_faulty_backend = {
	.depth = TL_WRITER_DEPTH,
	.start = tl_test_faulty_start,
	.reap = tl_test_faulty_reap,
	.fini = tl_test_faulty_fini,
};

// ---- an idle writer

// Check whether the next file has been opened.
static inline bool tl_test_has_next(struct tl_writer *writer)
{
	pthread_mutex_lock(&writer->helper.lock);
	bool has = writer->helper.ahead != NULL;
	pthread_mutex_unlock(&writer->helper.lock);
	return has;
}

// Check whether the writer waits for the next file, or has timed out waiting for it.
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

// Wait for the next file at rotations by size, so that a slow disk does not make a file larger than configured.
static inline void tl_test_wait_for_files(struct tl_writer *writer)
{
	writer->patience_ns = 60 * TL_NS_PER_S;
}
