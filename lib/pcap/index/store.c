// SPDX-License-Identifier: BSD-3-Clause
// Collection of rows in memory; creation and removal of sidecars on disk.

#include <tl_index.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tl_files.h>

int tl_index_rows_add(struct tl_index_rows *rows, const struct tl_index_row *row)
{
	if (rows->capacity_bytes - rows->used_bytes < TL_INDEX_ROW_MAX) {
		size_t capacity = tl_max_u64(4 * TL_INDEX_ROW_MAX, rows->capacity_bytes * 2);
		uint8_t *data = realloc(rows->data, capacity);
		if (data == NULL)
			return -ENOMEM;
		rows->data = data;
		rows->capacity_bytes = capacity;
	}
	rows->used_bytes += tl_index_put_row(rows->data + rows->used_bytes, row);
	rows->n++;
	return 0;
}

void tl_index_rows_free(struct tl_index_rows *rows)
{
	free(rows->data);
	*rows = (struct tl_index_rows){0};
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_sidecar(const char *path, const void *header, const struct tl_index_rows *rows)
{
	bool named;
	int fd = tl_create_nameless(path, &named);

	if (fd < 0)
		return fd;
	int rc = write_all(fd, header, TL_INDEX_HEADER_BYTES);
	if (rc == 0)
		rc = write_all(fd, rows->data, rows->used_bytes);
	if (rc == 0 && !named) {
		rc = tl_give_name(fd, path);
		named = rc == 0;
	}
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0 && named)
		unlink(path);
	return rc;
}

int tl_index_rows_write(const struct tl_index_rows *rows, const char *recording, uint64_t file_bytes, uint64_t run_id)
{
	uint8_t header[TL_INDEX_HEADER_BYTES];
	char *path;

	if (asprintf(&path, "%s" TL_INDEX_SUFFIX, recording) < 0)
		return -ENOMEM;
	tl_index_put_header(header, &(struct tl_index_header){.file_bytes = file_bytes,
					    .run_id = run_id,
					    .rows = rows->n,
					    .rows_bytes = rows->used_bytes,
					    .rows_checksum = tl_index_checksum(rows->data, rows->used_bytes)});
	int rc = write_sidecar(path, header, rows);
	free(path);
	return rc;
}

static bool is_sidecar(const char *path)
{
	uint8_t header[TL_INDEX_HEADER_BYTES];
	struct tl_index_reader reader;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, header, sizeof(header));
	close(fd);
	return n > 0 && tl_index_open(&reader, header, (size_t)n) == 0;
}

void tl_index_move(const char *from, const char *to)
{
	char *old_path = NULL, *new_path = NULL;

	if (asprintf(&old_path, "%s" TL_INDEX_SUFFIX, from) >= 0 &&
		asprintf(&new_path, "%s" TL_INDEX_SUFFIX, to) >= 0 && is_sidecar(old_path))
		renameat2(AT_FDCWD, old_path, AT_FDCWD, new_path, RENAME_NOREPLACE);
	free(old_path);
	free(new_path);
}

bool tl_index_remove(const char *recording)
{
	char *path;

	if (asprintf(&path, "%s" TL_INDEX_SUFFIX, recording) < 0)
		return true;
	bool ours = is_sidecar(path);
	if (ours)
		unlink(path);
	bool foreign = !ours && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	free(path);
	return !foreign;
}
