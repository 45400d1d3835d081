// SPDX-License-Identifier: BSD-3-Clause
// The files of a recording, oldest first, and dropping the oldest to keep the limits.
//
// A file is dropped only when its name matches the recording's and, looked at right before, it is ours.

#include "writer_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <tl_log.h>

#define ALLOCATION_MAX (UINT64_C(8) << 30)
#define ALLOCATION_SHARE 8 // of keep_bytes, and of what is free, that one file may take ahead of its time

// ---- the list

int tl_writer_ring_add(struct tl_writer_ring *ring, struct tl_writer_entry entry)
{
	if (ring->n == ring->capacity) {
		uint32_t capacity = ring->capacity == 0 ? 64 : 2 * ring->capacity;
		struct tl_writer_entry *entries = realloc(ring->entries, capacity * sizeof(*entries));
		if (entries == NULL)
			return -ENOMEM;
		ring->entries = entries;
		ring->capacity = capacity;
	}
	ring->entries[ring->n++] = entry;
	ring->changed = true;
	return 0;
}

int tl_writer_ring_begin(struct tl_writer_ring *ring, const struct tl_writer_file *file)
{
	char *path = strdup(file->at);
	int rc = -ENOMEM;

	pthread_mutex_lock(&ring->lock);
	if (path != NULL)
		rc = tl_writer_ring_add(ring, (struct tl_writer_entry){.path = path, .file = file, .this_run = true});
	pthread_mutex_unlock(&ring->lock);
	if (rc != 0)
		free(path);
	return rc;
}

static struct tl_writer_entry *entry_of(struct tl_writer_ring *ring, const struct tl_writer_file *file)
{
	for (uint32_t i = ring->n; i-- > 0;)
		if (ring->entries[i].file == file)
			return &ring->entries[i];
	return NULL;
}

void tl_writer_ring_move(struct tl_writer_ring *ring, const struct tl_writer_file *file)
{
	char *path = strdup(file->at);

	pthread_mutex_lock(&ring->lock);
	struct tl_writer_entry *entry = entry_of(ring, file);
	if (entry != NULL && path != NULL) {
		free(entry->path);
		entry->path = path;
		path = NULL;
		ring->changed = true;
	}
	pthread_mutex_unlock(&ring->lock);
	free(path);
}

static void drop(struct tl_writer_ring *ring, struct tl_writer_entry *entry)
{
	uint32_t index = (uint32_t)(entry - ring->entries);

	memmove(entry, entry + 1, (--ring->n - index) * sizeof(*entry));
	ring->changed = true;
}

void tl_writer_ring_end(struct tl_writer_ring *ring, struct tl_writer_file *file, bool keep)
{
	pthread_mutex_lock(&ring->lock);
	struct tl_writer_entry *entry = entry_of(ring, file);
	if (entry != NULL && keep) {
		entry->bytes = file->end_bytes;
		entry->pkts = file->written_pkts;
		file->written_pkts = NULL;
		entry->first_ns = file->first_ns;
		entry->last_ns = file->last_ns;
		entry->saved = file->saved;
		entry->file = NULL;
	} else if (entry != NULL) {
		free(entry->path);
		drop(ring, entry);
	}
	pthread_mutex_unlock(&ring->lock);
}

bool tl_writer_ring_last_number(
	const struct tl_writer_ring *ring, const struct tl_writer_pattern *pattern, const char *stem, uint32_t *out)
{
	size_t same = strlen(pattern->dir) + pattern->stem_chars;
	uint32_t number;
	bool part, any = false;

	for (uint32_t i = 0; i < ring->n; i++) {
		const char *path = ring->entries[i].path;
		if (strncmp(path, stem, same) != 0 ||
			!tl_writer_pattern_match(pattern, path + strlen(pattern->dir), &number, &part))
			continue;
		*out = any && *out > number ? *out : number;
		any = true;
	}
	return any;
}

// ---- limits

// Only the helper changes the list, and looks for it.
static struct tl_writer_entry *oldest_entry(const struct tl_writer_ring *ring)
{
	for (uint32_t i = 0; i < ring->n; i++)
		if (ring->entries[i].file == NULL && !ring->entries[i].saved)
			return &ring->entries[i];
	return NULL;
}

const struct tl_writer_entry *tl_writer_ring_oldest(const struct tl_writer_ring *ring)
{
	return oldest_entry(ring);
}

// Takes the oldest complete file off the list. False: there is none.
static bool take_oldest(struct tl_writer_ring *ring, struct tl_writer_entry *out)
{
	pthread_mutex_lock(&ring->lock);
	struct tl_writer_entry *oldest = oldest_entry(ring);
	if (oldest != NULL) {
		*out = *oldest;
		drop(ring, oldest);
	}
	pthread_mutex_unlock(&ring->lock);
	return oldest != NULL;
}

static void count_dropped(struct tl_writer *writer, const struct tl_writer_entry *entry)
{
	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			tl_count(&writer->dropped_pkts[ring][dir], entry->pkts[ring][dir]);
}

// A file that the ring gave up, and that is gone now.
static void count_given_up(struct tl_writer *writer, const struct tl_writer_entry *entry, uint64_t bytes)
{
	tl_index_remove(entry->path);
	tl_count(&writer->stats.recycled_files, 1);
	tl_count(&writer->stats.recycled_bytes, bytes);
	if (tl_writer_saves_files(writer) && entry->pkts != NULL)
		count_dropped(writer, entry);
}

static void free_entry(struct tl_writer_entry *entry)
{
	free(entry->pkts);
	free(entry->path);
}

void tl_writer_ring_gave_up(struct tl_writer *writer, uint64_t bytes)
{
	struct tl_writer_entry oldest;

	if (!take_oldest(&writer->ring, &oldest))
		return;
	count_given_up(writer, &oldest, bytes);
	free_entry(&oldest);
}

bool tl_writer_ring_recycle(struct tl_writer *writer, uint64_t *out_bytes)
{
	struct tl_writer_entry oldest;
	struct stat status;
	int rc;

	*out_bytes = 0;
	if (!take_oldest(&writer->ring, &oldest))
		return false;
	if (!tl_writer_is_ours(oldest.path, &status)) {
		if (lstat(oldest.path, &status) == 0)
			tl_warn("%.300s: is not our recording any more, and stays", oldest.path);
	} else if ((rc = tl_writer_remove(oldest.path)) != 0) {
		tl_warn("%.300s: cannot remove: %s", oldest.path, strerror(-rc));
	} else {
		*out_bytes = (uint64_t)status.st_size;
		count_given_up(writer, &oldest, *out_bytes);
	}
	free_entry(&oldest);
	return true;
}

// What the ring takes, and what the files being written may still grow by.
struct extent {
	uint32_t files;
	uint64_t bytes;
	uint64_t growth_bytes;
};

static struct extent measure(struct tl_writer_ring *ring, uint64_t rotate_bytes)
{
	struct extent extent = {0};
	struct stat status;

	pthread_mutex_lock(&ring->lock);
	for (uint32_t i = 0; i < ring->n; i++) {
		const struct tl_writer_entry *entry = &ring->entries[i];
		uint64_t bytes = entry->bytes;
		if (entry->saved)
			continue;
		if (entry->file != NULL && fstat(entry->file->fd, &status) == 0) {
			bytes = (uint64_t)status.st_size;
			extent.growth_bytes += rotate_bytes > bytes ? rotate_bytes - bytes : 0;
		}
		extent.files++;
		extent.bytes += bytes;
	}
	pthread_mutex_unlock(&ring->lock);
	return extent;
}

static uint64_t free_bytes(const struct tl_writer_pattern *pattern)
{
	struct statvfs status;

	if (statvfs(pattern->dir[0] != '\0' ? pattern->dir : ".", &status) != 0)
		return UINT64_MAX; // nothing is removed on a guess
	return (uint64_t)status.f_bavail * status.f_frsize;
}

void tl_writer_ring_measure_free(struct tl_writer *writer)
{
	atomic_store_explicit(&writer->free_bytes, free_bytes(&writer->pattern), memory_order_relaxed);
}

static uint64_t allocation_bytes(const struct tl_writer_policy *policy)
{
	bool fits = policy->keep_bytes == 0 || policy->rotate_bytes <= policy->keep_bytes / ALLOCATION_SHARE;

	return fits && policy->rotate_bytes <= ALLOCATION_MAX ? policy->rotate_bytes : 0;
}

uint64_t tl_writer_ring_allocation(const struct tl_writer *writer)
{
	return allocation_bytes(&writer->cfg.policy);
}

void tl_writer_ring_allocate(const struct tl_writer *writer, struct tl_writer_file *file)
{
	uint64_t bytes = allocation_bytes(&writer->cfg.policy);

	// Where nothing in a file tells what was written of it, its size has to.
	if (bytes != 0 && !writer->cfg.unaligned && free_bytes(&writer->pattern) / ALLOCATION_SHARE >= bytes)
		tl_writer_file_allocate(file, bytes);
}

// The next file, opened ahead, is on the disk too, though not in the ring yet.
static bool is_over(const struct tl_writer_policy *policy, const struct extent *extent)
{
	uint64_t bytes = extent->bytes + extent->growth_bytes + allocation_bytes(policy);

	return (policy->keep_files != 0 && extent->files > policy->keep_files) ||
	       (policy->keep_bytes != 0 && bytes > policy->keep_bytes);
}

// What has to be free: room for the rest of the file in good time, so that the writer need not wait for it.
static uint64_t wanted_bytes(const struct tl_writer_policy *policy, const struct extent *extent)
{
	return tl_max_u64(policy->min_free_bytes, policy->on_full == TL_WRITER_FULL_RECYCLE ? extent->growth_bytes : 0);
}

bool tl_writer_ring_is_full(struct tl_writer *writer)
{
	const struct tl_writer_policy *policy = &writer->cfg.policy;
	struct extent extent = measure(&writer->ring, policy->rotate_bytes);
	bool counts = policy->min_free_bytes != 0 || policy->on_full == TL_WRITER_FULL_RECYCLE;

	return is_over(policy, &extent) ||
	       (counts && free_bytes(&writer->pattern) < wanted_bytes(policy, &extent) + allocation_bytes(policy));
}

void tl_writer_ring_tidy(struct tl_writer *writer)
{
	const struct tl_writer_policy *policy = &writer->cfg.policy;
	struct extent extent = measure(&writer->ring, policy->rotate_bytes);
	uint64_t wanted = wanted_bytes(policy, &extent), room = 0, freed;

	if (wanted != 0)
		room = free_bytes(&writer->pattern);
	// Counted, not asked for again: some file systems free the space of a removed file later.
	while ((is_over(policy, &extent) || room < wanted) && tl_writer_ring_recycle(writer, &freed)) {
		extent.files--;
		extent.bytes -= tl_min_u64(freed, extent.bytes);
		room += freed;
	}
	atomic_store_explicit(&writer->no_room, room < policy->min_free_bytes, memory_order_relaxed);
}

// ---- for other threads

// One piece of memory: the pointers, then what they point to.
static const char **copy_names(const struct tl_writer_ring *ring, uint32_t *out_n)
{
	size_t bytes = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ring->n; i++)
		if (ring->entries[i].this_run)
			bytes += sizeof(char *) + strlen(ring->entries[i].path) + 1;
	const char **names = malloc(bytes + 1);
	if (names == NULL)
		return NULL;
	for (uint32_t i = 0; i < ring->n; i++)
		n += ring->entries[i].this_run;
	*out_n = n;
	char *text = (char *)(names + n);
	for (uint32_t i = 0, next = 0; i < ring->n; i++) {
		if (!ring->entries[i].this_run)
			continue;
		names[next++] = text;
		text = stpcpy(text, ring->entries[i].path) + 1;
	}
	return names;
}

const char *const *tl_writer_ring_list(struct tl_writer_ring *ring, uint32_t *n)
{
	pthread_mutex_lock(&ring->lock);
	if (ring->changed) {
		uint32_t count = 0;
		const char **names = copy_names(ring, &count);
		if (names != NULL) {
			free(ring->listed);
			ring->listed = names;
			ring->n_listed = count;
			ring->changed = false;
		}
	}
	pthread_mutex_unlock(&ring->lock);
	*n = ring->n_listed;
	return ring->listed;
}

void tl_writer_ring_fini(struct tl_writer_ring *ring)
{
	for (uint32_t i = 0; i < ring->n; i++)
		free_entry(&ring->entries[i]);
	free(ring->entries);
	free(ring->listed);
	pthread_mutex_destroy(&ring->lock);
}
