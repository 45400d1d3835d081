// SPDX-License-Identifier: BSD-3-Clause
// Saves files of the ring from removal: those with records in a window around a trigger are renamed to a name that the
// ring does not match, now or after a restart.
//
// The writer thread marks the current file. It passes the window to the helper, which checks the files that are
// complete, or soon will be.

#include "writer_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_files.h>
#include <tl_index.h>
#include <tl_log.h>

#define SAVED ".saved"
#define NAMES_MAX 1000 // names tried for one file, more than can be taken

// ---- on the writer thread

void tl_writer_save_look(struct tl_writer *writer)
{
	const struct tl_writer_hold_cfg *cfg = &writer->cfg.hold;
	struct tl_writer_hold *hold = &writer->hold;
	uint64_t trigger_ns = cfg->triggered(writer->cfg.ctx, hold->saving);

	if (trigger_ns != 0) {
		uint64_t from_ns = trigger_ns - tl_min_u64(cfg->pre_ns, trigger_ns);
		hold->saving = true;
		hold->until_ns = tl_max_u64(hold->until_ns, trigger_ns + cfg->post_ns);
		writer->file->saved |= tl_writer_is_in_time(0, writer->file->last_ns, from_ns, UINT64_MAX);
		tl_writer_helper_save(writer, from_ns, hold->until_ns);
	} else if (hold->saving && cfg->now_ns(writer->cfg.ctx) > hold->until_ns + cfg->settle_ns) {
		hold->saving = false;
		tl_writer_rotate(writer); // completes the last file of the episode
	}
}

void tl_writer_save_note(struct tl_writer *writer, const struct tl_slab *slab)
{
	const struct tl_writer_hold *hold = &writer->hold;
	struct tl_writer_file *file = writer->file;

	file->first_ns = file->last_ns == 0 ? slab->opened_ns : tl_min_u64(file->first_ns, slab->opened_ns);
	file->last_ns = writer->cfg.hold.now_ns(writer->cfg.ctx);
	file->saved |= hold->saving && slab->opened_ns <= hold->until_ns;
}

// ---- on the helper

// Build DIR/STEM.saved[_NUMBER]SUFFIX for DIR/STEM SUFFIX: a name that the pattern cannot produce.
static char *saved_name(const struct tl_writer *writer, const char *name, unsigned number)
{
	const char *suffix = writer->pattern.suffix;
	size_t chars = strlen(name) - strlen(suffix);
	char *path;
	int rc = number == 0 ? asprintf(&path, "%.*s" SAVED "%s", (int)chars, name, suffix)
			     : asprintf(&path, "%.*s" SAVED "_%u%s", (int)chars, name, number, suffix);

	return rc < 0 ? NULL : path;
}

int tl_writer_save_rename(const struct tl_writer *writer, const char *from, const char *name, char **out_path)
{
	int rc = -EEXIST;

	for (unsigned number = 0; rc == -EEXIST && number < NAMES_MAX; number++) {
		char *path = saved_name(writer, name, number);
		if (path == NULL)
			return -ENOMEM;
		rc = tl_rename_new(from, path);
		if (rc == 0) {
			tl_index_move(from, path);
			*out_path = path;
		} else {
			free(path);
		}
	}
	return rc;
}

// Only this thread changes the list; the lock protects readers.
void tl_writer_ring_save(struct tl_writer *writer, uint64_t from_ns, uint64_t until_ns)
{
	struct tl_writer_ring *ring = &writer->ring;

	for (uint32_t i = 0; i < ring->n; i++) {
		struct tl_writer_entry *entry = &ring->entries[i];
		if (entry->file != NULL || entry->saved ||
			!tl_writer_is_in_time(entry->first_ns, entry->last_ns, from_ns, until_ns))
			continue;
		tl_writer_ring_tally(ring, entry, -1);
		entry->saved = entry->unnamed = true;
		tl_writer_ring_tally(ring, entry, 1);
	}
}

static int name_saved(struct tl_writer *writer, struct tl_writer_entry *entry)
{
	struct tl_writer_ring *ring = &writer->ring;
	char *path;
	int rc = tl_writer_save_rename(writer, entry->path, entry->path, &path);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&ring->lock);
	free(entry->path);
	entry->path = path;
	entry->unnamed = false;
	ring->changed = true;
	pthread_mutex_unlock(&ring->lock);
	return 0;
}

// Sync new names to disk if files are synced.
static void sync_names(struct tl_writer *writer)
{
	int rc = writer->cfg.policy.sync == TL_WRITER_SYNC_CLOSE ? tl_writer_sync_directory(&writer->pattern) : 0;

	if (rc != 0)
		tl_writer_trouble_begin(writer, &writer->finishing, writer->cfg.path, rc);
}

const char *tl_writer_ring_name_saved(struct tl_writer *writer, int *out_code)
{
	struct tl_writer_ring *ring = &writer->ring;
	const char *failed = NULL;
	bool named = false;

	for (uint32_t i = 0; i < ring->n; i++) {
		if (!ring->entries[i].unnamed)
			continue;
		int rc = name_saved(writer, &ring->entries[i]);
		named |= rc == 0;
		if (rc != 0) {
			failed = ring->entries[i].path;
			*out_code = rc;
		}
	}
	if (named)
		sync_names(writer);
	if (failed != NULL && !ring->unsaved)
		tl_warn("%.300s: cannot be saved from the ring: %s; it stays, and is tried again", failed,
			strerror(-*out_code));
	else if (failed == NULL && ring->unsaved)
		tl_info("%.300s: files are saved from the ring again", writer->cfg.path);
	ring->unsaved = failed != NULL;
	return failed;
}
