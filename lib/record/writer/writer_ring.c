// SPDX-License-Identifier: BSD-3-Clause
// Ring of files: the files of a recording, oldest first; removes the oldest to keep the limits.
//
// A file is removed only if its name matches the recording's and if, checked immediately before, it is ours and not in
// use. It leaves the list when it is gone, or is no longer ours. A file that cannot be removed stays and is retried
// later; the next oldest is removed in its place.

#include "writer_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <tl_array.h>
#include <tl_log.h>

#define RENAME_CHARS 16 // growth of a name when its file is completed
#define ALLOCATION_MAX (UINT64_C(8) << 30)
#define ALLOCATION_SHARE 8 // fraction of keep_bytes, and of the free space, that one file may allocate in advance
#define INDEX_SHARE 32	   // fraction of a file reserved for its index
#define FAILURES_MAX 16	   // failed removals in one search for a removable file
#define PAUSE_MIN_NS (250 * TL_NS_PER_MS)
#define PAUSE_MAX_NS (2 * TL_NS_PER_S) // longest interval between attempts to remove a file

// ---- the list

void tl_writer_ring_tally(struct tl_writer_ring *ring, const struct tl_writer_entry *entry, int sign)
{
	ring->n_failed += (uint32_t)(entry->pause_ns != 0 ? sign : 0);
	if (entry->left) {
		ring->n_left += (uint32_t)sign;
	} else if (!entry->saved && entry->file != NULL) {
		ring->n_open += (uint32_t)sign;
	} else if (!entry->saved) {
		ring->n_complete += (uint32_t)sign;
		ring->complete_bytes += (uint64_t)sign * entry->bytes;
	}
}

// Make room for an entry. Places of files no longer listed are used once they are as many as the others.
static int reserve(struct tl_writer_ring *ring)
{
	if (ring->n < ring->capacity)
		return 0;
	if (ring->gone != 0) {
		struct tl_writer_entry *first = ring->entries - ring->gone;
		ring->entries = memmove(first, ring->entries, ring->n * sizeof(*first));
		ring->capacity += ring->gone;
		ring->gone = 0;
	}
	return tl_array_reserve(&ring->entries, 2 * (size_t)ring->n, &ring->capacity, sizeof(*ring->entries));
}

int tl_writer_ring_add(struct tl_writer_ring *ring, struct tl_writer_entry entry)
{
	if (reserve(ring) != 0)
		return -ENOMEM;
	if (entry.path_room == 0)
		entry.path_room = strlen(entry.path) + 1;
	ring->entries[ring->n++] = entry;
	tl_writer_ring_tally(ring, &entry, 1);
	ring->changed = true;
	return 0;
}

int tl_writer_ring_begin(struct tl_writer_ring *ring, const struct tl_writer_file *file)
{
	size_t room = strlen(file->at) + 1 + RENAME_CHARS;
	char *path = malloc(room);
	int rc = -ENOMEM;

	pthread_mutex_lock(&ring->lock);
	if (path != NULL)
		rc = tl_writer_ring_add(ring,
			(struct tl_writer_entry){
				.path = strcpy(path, file->at), .path_room = room, .file = file, .this_run = true});
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

// An entry has space for each later name of its file: the list never contains a stale name.
void tl_writer_ring_move(struct tl_writer_ring *ring, const struct tl_writer_file *file)
{
	size_t bytes = strlen(file->at) + 1;

	pthread_mutex_lock(&ring->lock);
	struct tl_writer_entry *entry = entry_of(ring, file);
	if (entry != NULL && bytes > entry->path_room) {
		char *path = malloc(bytes);
		if (path != NULL) {
			free(entry->path);
			entry->path = path;
			entry->path_room = bytes;
		}
	}
	if (entry != NULL && bytes <= entry->path_room) {
		memcpy(entry->path, file->at, bytes);
		ring->changed = true;
	}
	pthread_mutex_unlock(&ring->lock);
}

static void drop(struct tl_writer_ring *ring, struct tl_writer_entry *entry)
{
	uint32_t index = (uint32_t)(entry - ring->entries);

	tl_writer_ring_tally(ring, entry, -1);
	ring->n--;
	ring->changed = true;
	if (index != 0) {
		memmove(entry, entry + 1, (ring->n - index) * sizeof(*entry));
		return;
	}
	ring->entries++;
	ring->capacity--;
	ring->gone++;
}

void tl_writer_ring_end(struct tl_writer_ring *ring, struct tl_writer_file *file, bool keep)
{
	pthread_mutex_lock(&ring->lock);
	struct tl_writer_entry *entry = entry_of(ring, file);
	if (entry != NULL && keep) {
		tl_writer_ring_tally(ring, entry, -1);
		entry->bytes = file->end_bytes;
		entry->pkts = file->written_pkts;
		file->written_pkts = NULL;
		entry->first_ns = file->first_ns;
		entry->last_ns = file->last_ns;
		entry->saved = file->saved;
		entry->unnamed = file->unnamed;
		entry->left = false;
		entry->file = NULL;
		tl_writer_ring_tally(ring, entry, 1);
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

// Only the helper changes the list and searches it.
static bool may_go(const struct tl_writer_entry *entry)
{
	return entry->file == NULL && !entry->saved;
}

static struct tl_writer_entry *oldest_entry(const struct tl_writer_ring *ring)
{
	for (uint32_t i = 0; i < ring->n; i++)
		if (may_go(&ring->entries[i]))
			return &ring->entries[i];
	return NULL;
}

const struct tl_writer_entry *tl_writer_ring_oldest(const struct tl_writer_ring *ring)
{
	return oldest_entry(ring);
}

static void free_entry(struct tl_writer_entry *entry)
{
	free(entry->pkts);
	free(entry->path);
}

static void take_off(struct tl_writer_ring *ring, struct tl_writer_entry *entry)
{
	pthread_mutex_lock(&ring->lock);
	free_entry(entry);
	drop(ring, entry);
	pthread_mutex_unlock(&ring->lock);
}

static void count_dropped(struct tl_writer *writer, uint64_t (*pkts)[TL_DIRS])
{
	for (uint32_t ring = 0; ring < writer->n_flows; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			tl_count(&writer->dropped_pkts[ring][dir], pkts[ring][dir]);
}

// Count a file given up by the ring and already removed. pkts: packets that this run wrote to it; NULL: none.
static void count_dropped_file(struct tl_writer *writer, const char *path, uint64_t (*pkts)[TL_DIRS], uint64_t bytes)
{
	tl_writer_index_remove(path);
	tl_count(&writer->stats.recycled_files, 1);
	tl_count(&writer->stats.recycled_bytes, bytes);
	if (tl_writer_saves_files(writer) && pkts != NULL)
		count_dropped(writer, pkts);
}

void tl_writer_ring_gave_up(struct tl_writer *writer, uint64_t bytes)
{
	struct tl_writer_entry *oldest = oldest_entry(&writer->ring);

	count_dropped_file(writer, oldest->path, oldest->pkts, bytes);
	take_off(&writer->ring, oldest);
}

bool tl_writer_ring_drop_file(struct tl_writer *writer, const struct tl_writer_file *file, int code)
{
	struct tl_writer_ring *ring = &writer->ring;
	const struct tl_writer_entry *entry = entry_of(ring, file);

	if (!tl_writer_may_recycle_for(writer, code) || entry == NULL || entry == &ring->entries[ring->n - 1] ||
		unlink(file->at) != 0)
		return false;
	count_dropped_file(writer, file->at, file->written_pkts, file->end_bytes);
	return true;
}

// Remove a file. Return 0, -ENOENT: already gone, -ENOMSG: no longer ours, or another -errno, which may be temporary.
static int remove_file(struct tl_writer *writer, const struct tl_writer_entry *entry, uint64_t *out_bytes)
{
	struct stat status;
	int fd = tl_writer_open_ours(entry->path, &status);

	if (fd == -ENOMSG)
		tl_warn("%.300s: is not our recording any more, and stays", entry->path);
	if (fd < 0)
		return fd;
	int rc = tl_writer_remove(fd, entry->path, &status);
	close(fd);
	if (rc != 0)
		return rc;
	*out_bytes = (uint64_t)status.st_size;
	count_dropped_file(writer, entry->path, entry->pkts, *out_bytes);
	return 0;
}

// Schedule the next attempt after a removal that failed with rc.
static void postpone(struct tl_writer_ring *ring, struct tl_writer_entry *entry, int rc)
{
	if (!ring->stuck)
		tl_warn("%.300s: cannot be removed from the ring: %s; tried again until it can be", entry->path,
			rc == -EBUSY ? "somebody has locked it" : strerror(-rc));
	ring->stuck = true;
	tl_writer_ring_tally(ring, entry, -1);
	entry->pause_ns = tl_min_u64(tl_max_u64(2 * entry->pause_ns, PAUSE_MIN_NS), PAUSE_MAX_NS);
	entry->retry = tl_writer_from_now(entry->pause_ns);
	tl_writer_ring_tally(ring, entry, 1);
}

// Log the end of the fault after a successful removal.
static void log_recovered(struct tl_writer_ring *ring, const struct tl_writer_entry *entry)
{
	if (!ring->stuck || entry->pause_ns == 0)
		return;
	tl_info("%.300s: removed from the ring at last", entry->path);
	ring->stuck = false;
}

// Index of the youngest file whose removal failed and is due for another attempt; 0: none.
static uint32_t youngest_retry(const struct tl_writer_ring *ring)
{
	for (uint32_t i = ring->n_failed != 0 ? ring->n : 0; i-- > 0;)
		if (ring->entries[i].pause_ns != 0 && tl_writer_has_passed(ring->entries[i].retry))
			return i;
	return 0;
}

bool tl_writer_ring_recycle(struct tl_writer *writer, uint64_t *out_bytes)
{
	struct tl_writer_ring *ring = &writer->ring;
	// The cause of the failure may have prevented the removal of older files, too: retry them before this one, or
	// it would be removed in place of an older one.
	uint32_t retries = youngest_retry(ring);

	*out_bytes = 0;
	// The youngest stays: it is being written, or is the only file of the recording.
	for (uint32_t i = 0, failures = 0; i + 1 < ring->n && failures < FAILURES_MAX; i++) {
		struct tl_writer_entry *entry = &ring->entries[i];
		if (!may_go(entry) || (i >= retries && !tl_writer_has_passed(entry->retry)))
			continue;
		int rc = remove_file(writer, entry, out_bytes);
		if (rc == 0 || rc == -ENOENT || rc == -ENOMSG) {
			log_recovered(ring, entry);
			take_off(ring, entry);
			atomic_fetch_add(&writer->helper.freed, 1); // or the next may be removed
			return true;
		}
		postpone(ring, entry, rc);
		failures++;
	}
	return false;
}

// Files of the ring, and the possible growth of those being written.
struct extent {
	uint32_t files;
	uint64_t bytes;
	uint64_t growth_bytes;
};

// Youngest file being written, of those before *i, and its place.
static const struct tl_writer_entry *youngest_open(const struct tl_writer_ring *ring, uint32_t *i)
{
	const struct tl_writer_entry *entry;

	do
		entry = &ring->entries[--*i];
	while (entry->file == NULL || entry->left);
	return entry;
}

// Files left by earlier runs are not counted: their ownership is checked later. Without the lock: only the helper,
// which calls this, changes entries, and a file system that does not answer would hold up main, which lists them for
// the status.
static struct extent measure(const struct tl_writer_ring *ring, uint64_t rotate_bytes)
{
	struct extent extent = {.files = ring->n_complete + ring->n_open, .bytes = ring->complete_bytes};
	struct stat status;

	for (uint32_t i = ring->n, n = ring->n_open; n != 0; n--) { // the youngest
		const struct tl_writer_entry *entry = youngest_open(ring, &i);
		if (fstat(entry->file->fd, &status) != 0)
			continue;
		uint64_t bytes = (uint64_t)status.st_size;
		extent.bytes += bytes;
		extent.growth_bytes += rotate_bytes > bytes ? rotate_bytes - bytes : 0;
	}
	return extent;
}

static uint64_t free_bytes(const struct tl_writer_pattern *pattern)
{
	struct statvfs status;

	if (statvfs(pattern->dir[0] != '\0' ? pattern->dir : ".", &status) != 0)
		return UINT64_MAX; // no removal without knowledge
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

	// Without blocks that mark the written part of a file, its size has to.
	if (bytes != 0 && !writer->cfg.unaligned && free_bytes(&writer->pattern) / ALLOCATION_SHARE >= bytes)
		tl_writer_file_allocate(file, bytes);
}

// The next file, opened ahead, is on disk too, though not yet in the ring.
static bool is_over(const struct tl_writer_policy *policy, const struct extent *extent)
{
	uint64_t bytes = extent->bytes + extent->growth_bytes + allocation_bytes(policy);

	return (policy->keep_files != 0 && extent->files > policy->keep_files) ||
	       (policy->keep_bytes != 0 && bytes > policy->keep_bytes);
}

// Bytes to keep free: space for the rest of the file ahead of time, so that the writer need not wait for it, for
// opening and closing blocks, and for indexes.
static uint64_t wanted_bytes(const struct tl_writer_policy *policy, const struct extent *extent)
{
	uint64_t beside = 2 * TL_WRITER_BLOCKS_BYTES + policy->rotate_bytes / INDEX_SHARE;

	return tl_max_u64(
		policy->min_free_bytes, policy->on_full == TL_WRITER_FULL_RECYCLE ? extent->growth_bytes + beside : 0);
}

bool tl_writer_ring_is_full(struct tl_writer *writer)
{
	const struct tl_writer_policy *policy = &writer->cfg.policy;
	struct extent extent = measure(&writer->ring, policy->rotate_bytes);
	bool counts = policy->min_free_bytes != 0 || policy->on_full == TL_WRITER_FULL_RECYCLE;

	return is_over(policy, &extent) ||
	       (counts && free_bytes(&writer->pattern) < wanted_bytes(policy, &extent) + allocation_bytes(policy));
}

void tl_writer_ring_tidy(struct tl_writer *writer, bool more)
{
	const struct tl_writer_policy *policy = &writer->cfg.policy;
	struct extent extent = measure(&writer->ring, policy->rotate_bytes);
	uint64_t wanted = wanted_bytes(policy, &extent), room = 0, freed;

	if (wanted != 0)
		room = free_bytes(&writer->pattern);
	// Count the freed space instead of measuring it: some file systems free it later.
	while ((is_over(policy, &extent) || room < wanted) && tl_writer_ring_recycle(writer, &freed)) {
		extent.files -= extent.files != 0; // files of earlier runs are not counted yet
		extent.bytes -= tl_min_u64(freed, extent.bytes);
		room += freed;
	}
	atomic_store_explicit(&writer->no_room, room < policy->min_free_bytes && !more, memory_order_relaxed);
}

// ---- for other threads

// Copy the names into a single allocation: the pointers, then the names.
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
		free(ring->listed);
		ring->listed = names; // rather none than stale names
		ring->n_listed = count;
		ring->changed = names == NULL;
	}
	pthread_mutex_unlock(&ring->lock);
	*n = ring->n_listed;
	return ring->listed;
}

void tl_writer_ring_fini(struct tl_writer_ring *ring)
{
	for (uint32_t i = 0; i < ring->n; i++)
		free_entry(&ring->entries[i]);
	if (ring->entries != NULL)
		free(ring->entries - ring->gone);
	free(ring->listed);
	pthread_mutex_destroy(&ring->lock);
}
