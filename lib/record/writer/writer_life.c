// SPDX-License-Identifier: BSD-3-Clause
// Life cycle of a file on the helper thread, except its content: opened ahead, named once begun, completed after the
// writer has left it.

#include "writer_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_log.h>

bool tl_writer_may_recycle_for(const struct tl_writer *writer, int code)
{
	return (code == -ENOSPC || code == -EDQUOT) && writer->cfg.policy.on_full == TL_WRITER_FULL_RECYCLE;
}

static bool recycle_for(struct tl_writer *writer, int code)
{
	uint64_t bytes;

	return tl_writer_may_recycle_for(writer, code) &&
	       (tl_writer_helper_shrink_ahead(writer) || tl_writer_ring_recycle(writer, &bytes));
}

int tl_writer_open_ahead(struct tl_writer *writer, struct tl_writer_file *file)
{
	int rc = tl_writer_open_hidden(writer, file);

	if (rc != 0 || tl_writer_holds(writer)) // the prologue depends on the trigger
		return rc;
	do
		rc = tl_writer_put_prologue(writer, file, writer->helper.blocks);
	while (recycle_for(writer, rc));
	// Otherwise slabs of this file could follow the beginning of the previous one after a power loss.
	if (rc == 0 && file->reused && writer->cfg.policy.sync == TL_WRITER_SYNC_CLOSE && fdatasync(file->fd) != 0)
		rc = -errno;
	return rc;
}

int tl_writer_begin(struct tl_writer *writer, struct tl_writer_file *file)
{
	if (tl_writer_file_is_removed(file))
		return 0;
	int rc = file->name == NULL ? tl_writer_name_file(writer, file) : 0;

	return rc != 0 ? rc : tl_writer_ring_begin(&writer->ring, file);
}

int tl_writer_sync_directory(const struct tl_writer_pattern *pattern)
{
	int fd = open(pattern->dir[0] != '\0' ? pattern->dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int rc = fsync(fd) == 0 || errno == EINVAL ? 0 : -errno; // EINVAL: not supported by this file system
	close(fd);
	return rc;
}

// True if a trigger saves the file: marked by the writer, or triggered after the writer had left it.
static bool is_saved(struct tl_writer *writer, const struct tl_writer_file *file)
{
	struct tl_writer_helper *helper = &writer->helper;

	pthread_mutex_lock(&helper->lock);
	bool in_window =
		tl_writer_is_in_time(file->first_ns, file->last_ns, helper->save_from_ns, helper->save_until_ns);
	pthread_mutex_unlock(&helper->lock);
	return tl_writer_saves_files(writer) && (file->saved || in_window);
}

// Rename a complete file. *out_part is the old path, which the caller owns.
static int rename_complete(struct tl_writer *writer, struct tl_writer_file *file, char **out_part)
{
	char *path = NULL;
	int rc = 0;

	file->saved = is_saved(writer, file);
	if (file->saved)
		tl_writer_save_rename(writer, file->at, file->name, &path);
	bool unnamed = file->saved && path == NULL; // retried later
	if (path == NULL)
		rc = (path = strdup(file->name)) == NULL ? -ENOMEM : tl_rename_new(file->at, path);
	if (rc != 0) {
		free(path);
		return rc;
	}
	file->unnamed = unnamed;
	*out_part = file->at;
	file->at = path;
	tl_writer_ring_move(&writer->ring, file);
	return 0;
}

// Restore the .part name of a file that is not complete.
static void take_back(struct tl_writer *writer, struct tl_writer_file *file, char *part)
{
	int rc = tl_rename_new(file->at, part);

	if (rc != 0) {
		tl_warn("%.300s: may not be on the disk, and cannot be called %s: %s", file->at, part, strerror(-rc));
		free(part);
		return;
	}
	free(file->at);
	file->at = part;
	tl_writer_ring_move(&writer->ring, file);
}

static bool is_synced_at_close(const struct tl_writer *writer, const struct tl_writer_file *file)
{
	return writer->cfg.policy.sync == TL_WRITER_SYNC_CLOSE && !file->stream;
}

// Write the closing blocks and cut off the rest.
static int put_end(struct tl_writer *writer, struct tl_writer_file *file)
{
	int rc = 0, later;

	if (file->prologue_bytes != 0 && file->broken == 0)
		do
			rc = tl_writer_put_epilogue(writer, file, writer->helper.blocks);
		while (recycle_for(writer, rc));
	later = tl_writer_file_cut(file);
	return rc != 0 ? rc : later;
}

// Sync the file to disk if configured, or if it was written through the page cache.
static int force(struct tl_writer *writer, struct tl_writer_file *file)
{
	bool cached = file->stored || (!file->stream && !file->direct);
	int rc = cached || is_synced_at_close(writer, file) ? tl_writer_file_force(file->fd, fsync) : 0;
	int later = tl_writer_file_close(file);

	return rc != 0 ? rc : later;
}

// Give a whole file its final name, and sync the name to disk if configured.
static int publish(struct tl_writer *writer, struct tl_writer_file *file, bool *out_unknown)
{
	char *part = NULL;
	int rc = writer->parts && file->name != NULL ? rename_complete(writer, file, &part) : 0;

	if (rc == 0 && is_synced_at_close(writer, file)) {
		rc = tl_writer_sync_directory(&writer->pattern);
		*out_unknown = rc != 0;
	}
	if (rc != 0 && part != NULL)
		take_back(writer, file, part);
	else
		free(part);
	return rc;
}

// Count the packets of the file as dropped: the data on disk is unknown.
static void disown(struct tl_writer *writer, const struct tl_writer_file *file)
{
	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			tl_count(&writer->unknown_pkts[ring][dir], file->written_pkts[ring][dir]);
			file->written_pkts[ring][dir] = 0;
		}
}

// Report a file that another program has removed. Its packets stay counted as written, like those of files removed
// later.
static void warn_removed(const struct tl_writer *writer, const struct tl_writer_file *file)
{
	unsigned long long pkts = 0;

	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			pkts += file->written_pkts[ring][dir];
	if (pkts != 0)
		tl_warn("%.300s: was removed by another program before it was complete: %llu packets that count as "
			"written are gone with it; let nobody else remove files of a running recording",
			file->at, pkts);
}

int tl_writer_complete(struct tl_writer *writer, struct tl_writer_file *file)
{
	bool removed = tl_writer_file_is_removed(file);
	bool blank = writer->parts && file->prologue_bytes == 0;
	int rc = removed ? 0 : put_end(writer, file);
	if (removed)
		warn_removed(writer, file);
	if (!removed && !is_saved(writer, file) && tl_writer_ring_drop_file(writer, file, rc)) {
		removed = true;
		rc = 0;
	}
	int forced = force(writer, file);
	// Data written through the page cache has already been confirmed, except that of a stream.
	bool unknown = forced != 0 && (file->direct || file->stored) && !removed;

	if (rc == 0 && !removed)
		rc = forced;
	if (removed) {
		// No file to name or list.
	} else if (blank) {
		unlink(file->at);
	} else if (rc == 0) {
		rc = publish(writer, file, &unknown);
	}
	if (unknown)
		disown(writer, file);
	if (rc != 0) // no trigger saves it
		file->first_ns = file->last_ns = 0;
	tl_writer_index_finish(writer, file, rc == 0 && !blank && !removed);
	tl_writer_ring_end(&writer->ring, file, !blank && !removed);
	return rc;
}
