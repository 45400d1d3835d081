// SPDX-License-Identifier: BSD-3-Clause
// File names of a recording: hidden until the file begins, then from its time, with a number if taken.

#include "writer_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_recover.h>

#define HIDDEN_MAX 100 // hidden paths for the next file

void tl_writer_resume_names(struct tl_writer *writer, time_t now)
{
	struct tl_writer_names *names = &writer->names;

	free(names->last_stem);
	names->last_stem = tl_writer_pattern_expand(&writer->pattern, now, 0);
	names->last_number = UINT32_MAX; // one less than 0
	if (names->last_stem != NULL)
		tl_writer_ring_last_number(&writer->ring, &writer->pattern, names->last_stem, &names->last_number);
}

// Choose the number for a file that begins at this time: one more than the last of the same name, which may have been
// removed. Return 0 or -ENOMEM.
static int first_number(struct tl_writer *writer, time_t began, uint32_t *out)
{
	struct tl_writer_names *names = &writer->names;
	char *stem = tl_writer_pattern_expand(&writer->pattern, began, 0);

	if (stem == NULL)
		return -ENOMEM;
	if (names->last_stem != NULL && strcmp(stem, names->last_stem) == 0) {
		free(stem);
	} else {
		free(names->last_stem);
		names->last_stem = stem;
		names->last_number = UINT32_MAX; // one less than 0
	}
	*out = names->last_number + 1;
	return 0;
}

int tl_writer_name_file(struct tl_writer *writer, struct tl_writer_file *file)
{
	struct tl_writer_names *names = &writer->names;
	uint32_t number;
	int rc = first_number(writer, file->began, &number);

	if (rc != 0)
		return rc;
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

// Free the path of the next file. A killed run may have left its own there; its data is kept, under a name of its time.
// Return 0 if the path is free, -ENOMSG: it is taken by a file not known to be ours, or -errno.
static int clear_way(struct tl_writer *writer, char *at)
{
	struct tl_writer_file left = {.at = strdup(at)};
	struct stat status;
	bool opened;
	int fd = left.at != NULL ? tl_writer_open_ours(at, &status) : -ENOMEM;
	int rc = fd < 0 ? fd : 0;

	if (rc == 0 && tl_recover_is_blank(fd, &opened)) {
		rc = unlink(at) != 0 ? -errno : 0;
	} else if (rc == 0) {
		left.began = status.st_mtim.tv_sec;
		rc = tl_writer_name_file(writer, &left);
	}
	if (fd >= 0)
		close(fd);
	free(left.name);
	free(left.at);
	return rc == -ENOENT ? 0 : rc;
}

// Choose a free hidden path.
static int find_way(struct tl_writer *writer, char **out)
{
	struct tl_writer_names *names = &writer->names;
	int rc = -ENOMSG;

	for (uint32_t number = 0; rc == -ENOMSG && number < HIDDEN_MAX; number++) {
		free(*out);
		*out = tl_writer_pattern_hidden(&writer->pattern, number);
		rc = *out == NULL ? -ENOMEM : clear_way(writer, *out);
		if (rc == -ENOMSG && number >= names->unknown) {
			tl_writer_warn_unknown(*out);
			names->unknown = number + 1;
		}
	}
	return rc == -ENOMSG ? -EEXIST : rc;
}

// Write a section header at the place of the prologue, or the header of classic pcap: without it a file cut short by a
// crash cannot be identified. Errors are ignored, since the prologue would fail the same way.
static void mark(struct tl_writer *writer, struct tl_writer_file *file)
{
	const struct tl_pcapng_shb shb = {.application = "tapline " TL_VERSION};
	uint8_t *block = writer->helper.blocks;
	uint32_t len;

	if (writer->cfg.unaligned) {
		len = writer->cfg.prologue(writer->cfg.ctx, block, TL_WRITER_BLOCKS_BYTES);
	} else {
		len = tl_pcapng_put_shb(block, TL_WRITER_BLOCKS_BYTES, &shb);
		tl_pcapng_put_pad(block + len, TL_PCAPNG_ALIGN - len);
		len = TL_PCAPNG_ALIGN;
	}
	(void)tl_writer_file_write(file, block, len, 0);
}

int tl_writer_open_hidden(struct tl_writer *writer, struct tl_writer_file *file)
{
	int rc = find_way(writer, &file->at);

	if (rc != 0 || tl_writer_reuse(writer, file))
		return rc;
	rc = tl_writer_file_create(file, !atomic_load_explicit(&writer->direct_refused, memory_order_relaxed));
	if (rc != 0)
		return rc;
	mark(writer, file);
	rc = tl_writer_file_name(file);
	return rc == 0 && fstat(file->fd, &writer->created) != 0 ? -errno : rc;
}
