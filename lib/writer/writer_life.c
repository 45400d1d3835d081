// SPDX-License-Identifier: BSD-3-Clause
// The life of a file but for what is written into it, on the helper thread: opened ahead, named when it has begun,
// completed when the writer has left it.

#include "writer_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <tl_files.h>

bool tl_writer_may_recycle_for(const struct tl_writer *writer, int code)
{
	return (code == -ENOSPC || code == -EDQUOT) && writer->cfg.policy.on_full == TL_WRITER_FULL_RECYCLE;
}

bool tl_writer_recycle_for(struct tl_writer *writer, int code)
{
	uint64_t freed;

	return tl_writer_may_recycle_for(writer, code) && tl_writer_ring_recycle(writer, &freed);
}

int tl_writer_open_ahead(struct tl_writer *writer, struct tl_writer_file *file)
{
	int rc = tl_writer_open_hidden(writer, file);

	if (rc != 0 || tl_writer_holds(writer)) // only its trigger knows what goes into the prologue
		return rc;
	do
		rc = tl_writer_put_prologue(writer, file, writer->helper.blocks);
	while (tl_writer_recycle_for(writer, rc));
	// Else, without power, slabs of this file could stand behind the beginning of the last.
	if (rc == 0 && file->reused && writer->cfg.policy.sync == TL_WRITER_SYNC_CLOSE && fdatasync(file->fd) != 0)
		rc = -errno;
	return rc;
}

int tl_writer_begin(struct tl_writer *writer, struct tl_writer_file *file)
{
	if (tl_writer_file_is_removed(file))
		return 0;
	int rc = file->name == NULL ? tl_writer_give_name(writer, file) : 0;

	return rc != 0 ? rc : tl_writer_ring_begin(&writer->ring, file);
}

void tl_writer_sync_directory(const struct tl_writer_pattern *pattern)
{
	int fd = open(pattern->dir[0] != '\0' ? pattern->dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

// Whether a trigger wants it: the writer knew, or the trigger came when it had been left already.
static bool is_saved(struct tl_writer *writer, const struct tl_writer_file *file)
{
	struct tl_writer_helper *helper = &writer->helper;

	pthread_mutex_lock(&helper->lock);
	bool in_window =
		tl_writer_is_in_time(file->first_ns, file->last_ns, helper->save_from_ns, helper->save_until_ns);
	pthread_mutex_unlock(&helper->lock);
	return tl_writer_saves_files(writer) && (file->saved || in_window);
}

static int rename_complete(struct tl_writer *writer, struct tl_writer_file *file)
{
	char *path = NULL;
	int rc;

	file->saved = is_saved(writer, file);
	if (file->saved)
		rc = tl_writer_save_rename(writer, file->at, file->name, &path);
	else
		rc = tl_rename_new(file->at, file->name);
	if (rc != 0)
		return rc;
	free(file->at);
	file->at = path != NULL ? path : strdup(file->name);
	tl_writer_ring_move(&writer->ring, file);
	return 0;
}

int tl_writer_complete(struct tl_writer *writer, struct tl_writer_file *file)
{
	bool sync = writer->cfg.policy.sync == TL_WRITER_SYNC_CLOSE && !file->stream;
	bool removed = tl_writer_file_is_removed(file);
	int rc = 0, later;

	if (file->prologue_bytes != 0 && file->broken == 0)
		do
			rc = tl_writer_put_epilogue(writer, file, writer->helper.blocks);
		while (tl_writer_recycle_for(writer, rc));
	tl_writer_file_cut(file);
	if (sync && fsync(file->fd) != 0 && rc == 0)
		rc = -errno;
	later = tl_writer_file_close(file);
	if (rc == 0)
		rc = later;
	bool blank = writer->parts && file->prologue_bytes == 0;
	if (removed) {
		// There is nothing to name, nor to list.
	} else if (blank) {
		unlink(file->at);
	} else if (file->name != NULL && writer->parts) {
		later = rename_complete(writer, file);
		if (rc == 0)
			rc = later;
	}
	tl_writer_index_finish(writer, file, !blank && !removed);
	if (sync)
		tl_writer_sync_directory(&writer->pattern);
	tl_writer_ring_end(&writer->ring, file, !blank && !removed);
	return rc;
}
