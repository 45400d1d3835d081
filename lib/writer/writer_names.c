// SPDX-License-Identifier: BSD-3-Clause
// Gives the files of a recording their names: hidden until a file begins, then that of its time, with a number if
// taken.

#include "writer_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_files.h>

void tl_writer_resume_names(struct tl_writer *writer, time_t now)
{
	struct tl_writer_names *names = &writer->names;

	free(names->last_stem);
	names->last_stem = tl_writer_pattern_expand(&writer->pattern, now, 0);
	names->last_number = UINT32_MAX; // one less than 0
	if (names->last_stem != NULL)
		tl_writer_ring_last_number(&writer->ring, &writer->pattern, names->last_stem, &names->last_number);
}

// The number for a file that begins at this time: one more than the last of the same name.
static uint32_t first_number(struct tl_writer *writer, time_t began)
{
	struct tl_writer_names *names = &writer->names;
	char *stem = tl_writer_pattern_expand(&writer->pattern, began, 0);
	bool same = stem != NULL && names->last_stem != NULL && strcmp(stem, names->last_stem) == 0;

	if (same) {
		free(stem);
		return names->last_number + 1;
	}
	free(names->last_stem);
	names->last_stem = stem;
	names->last_number = UINT32_MAX; // one less than 0
	return 0;
}

int tl_writer_give_name(struct tl_writer *writer, struct tl_writer_file *file)
{
	struct tl_writer_names *names = &writer->names;
	uint32_t number = first_number(writer, file->began);
	int rc;

	do {
		char *name = tl_writer_pattern_expand(&writer->pattern, file->began, number);
		char *part = NULL;
		if (name == NULL || asprintf(&part, "%s%s", name, writer->parts ? TL_WRITER_PART : "") < 0) {
			free(name);
			return -ENOMEM;
		}
		bool taken = faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		rc = taken ? -EEXIST : tl_rename_new(file->at, part);
		if (rc == 0 || rc == -EEXIST)
			names->last_number = number++;
		if (rc == 0) {
			free(file->at);
			file->at = part;
			file->name = name;
			return 0;
		}
		free(part);
		free(name);
	} while (rc == -EEXIST && number != 0);
	return rc;
}

// A run that was killed may have left its next file behind. What it holds is kept, under a name of its time.
static void clear_way(struct tl_writer *writer)
{
	struct tl_writer_file left = {.at = tl_writer_pattern_hidden(&writer->pattern)};
	struct stat status;

	if (left.at != NULL && tl_writer_is_blank(left.at)) {
		unlink(left.at);
	} else if (left.at != NULL && tl_writer_is_ours(left.at, &status)) {
		left.began = status.st_mtim.tv_sec;
		tl_writer_give_name(writer, &left);
	}
	free(left.name);
	free(left.at);
}

int tl_writer_open_hidden(struct tl_writer *writer, struct tl_writer_file *file)
{
	file->at = tl_writer_pattern_hidden(&writer->pattern);
	if (file->at == NULL)
		return -ENOMEM;
	clear_way(writer);
	if (tl_writer_reuse(writer, file))
		return 0;
	int rc = tl_writer_file_create(
		file, file->at, !atomic_load_explicit(&writer->direct_refused, memory_order_relaxed));
	return rc == 0 && fstat(file->fd, &writer->created) != 0 ? -errno : rc;
}
