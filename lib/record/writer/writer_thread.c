// SPDX-License-Identifier: BSD-3-Clause
// Writer thread: takes sealed slabs, keeps writes in flight, rotates, and recovers from disk errors.
//
// Writes finish in any order but retire in the order of their offsets, and a slab is given back only when it retires.
// When a write fails, every later slab is therefore still in memory, and recovery needs no holes and no patches: wait
// for the writes in flight, repeat all of them, one by one, from the end of the last retired slab, and cut the file
// after the last success. A slab that fails again is counted as dropped and leaves nothing in the file, which consists
// of whole blocks from its first byte to end_bytes at any time.
//
// A rotation does not wait for writes in flight: the next file takes new slabs at once, and the previous one is handed
// to the helper, which completes it, when its writes have retired.

#include "writer_priv.h"

#include <time.h>

#include <tl_guard.h>

void tl_writer_fail(struct tl_writer *writer, const struct tl_writer_file *file, int code)
{
	tl_writer_trouble_begin(writer, &writer->writing, file->label, code);
	if (file->broken != 0)
		atomic_store_explicit(&writer->pipe_closed, true, memory_order_release);
}

static struct tl_writer_write *in_flight(struct tl_writer *writer, uint32_t index)
{
	return &writer->flight[(writer->flight_first + index) % TL_WRITER_DEPTH];
}

// Begin a file. A file without a prologue takes no slabs: it could not be read.
static int begin_file(struct tl_writer *writer, struct tl_writer_file *file)
{
	int rc = 0;

	if (file->prologue_bytes == 0)
		do
			rc = tl_writer_put_prologue(writer, file, writer->blocks);
		while (tl_writer_helper_make_room(writer, rc));
	return rc;
}

static bool ready(struct tl_writer *writer)
{
	int rc = atomic_load_explicit(&writer->no_room, memory_order_relaxed) ? -ENOSPC : 0;

	if (tl_writer_file_is_removed(writer->file) && !tl_writer_leave_removed(writer))
		rc = -ENOENT;
	if (rc == 0)
		rc = begin_file(writer, writer->file);
	if (rc != 0)
		tl_writer_fail(writer, writer->file, rc);
	return rc == 0;
}

static void release_write(struct tl_writer *writer, const struct tl_writer_write *write)
{
	if (write->slab != NULL)
		tl_slab_give_back(write->ring, write->slab);
	else
		writer->statistics.in_flight = false;
}

// Remove the oldest write from the queue.
static void pop(struct tl_writer *writer)
{
	struct tl_writer_file *file = in_flight(writer, 0)->file;

	tl_writer_count_done(writer, in_flight(writer, 0));
	writer->flight_first = (writer->flight_first + 1) % TL_WRITER_DEPTH;
	writer->flight_count--;
	if (--file->in_flight == 0 && file->left)
		tl_writer_cached_release(writer, file);
}

static uint32_t number_of(const struct tl_writer *writer, const struct tl_slab_ring *ring)
{
	uint32_t number = 0;

	while (writer->cfg.rings[number] != ring)
		number++;
	return number;
}

// Get the n-th part of a slab's records, all from one ring. False: there are no more.
static bool origin_of(
	const struct tl_writer *writer, const struct tl_writer_write *write, uint32_t n, struct tl_slab_origin *out)
{
	const struct tl_slab *slab = write->slab;

	if (slab == NULL || n >= tl_max_u64(slab->n_origins, 1))
		return false;
	if (slab->n_origins != 0)
		*out = slab->origins[n];
	else
		*out = (struct tl_slab_origin){.ring = number_of(writer, write->ring),
			.records = {slab->records[TL_DIR_RX], slab->records[TL_DIR_TX]}};
	return true;
}

// Count the packets accepted by the file. In the page cache they are not written yet.
static void count_taken(struct tl_writer *writer, const struct tl_writer_write *write)
{
	struct tl_writer_file *file = write->file;
	struct tl_slab_origin origin;

	for (uint32_t i = 0; origin_of(writer, write, i, &origin); i++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			file->cached_pkts[origin.ring][dir] += origin.records[dir];
	file->end_bytes += write->len_bytes;
	if (file->stream || file->direct)
		tl_writer_cached_confirm(writer, file);
}

// Return a written slab to the lcore, through the index if there is one.
static void settle(struct tl_writer *writer, const struct tl_writer_write *write)
{
	uint64_t offset_bytes = write->file->end_bytes;

	tl_writer_chain_add(writer, write->file, &write->digest, offset_bytes + write->len_bytes);
	count_taken(writer, write);
	if (write->slab == NULL || !tl_writer_index_add(writer, write, offset_bytes))
		release_write(writer, write);
}

static void count_dropped(struct tl_writer *writer, const struct tl_writer_write *write)
{
	struct tl_slab_origin origin;

	for (uint32_t i = 0; origin_of(writer, write, i, &origin); i++)
		for (int dir = 0; dir < TL_DIRS; dir++)
			tl_count(&writer->flows[origin.ring].drop_disk_pkts[dir], origin.records[dir]);
}

static void drop(struct tl_writer *writer, const struct tl_writer_write *write)
{
	count_dropped(writer, write);
	release_write(writer, write);
}

static uint32_t records(const struct tl_slab *slab)
{
	return slab != NULL ? slab->records[TL_DIR_RX] + slab->records[TL_DIR_TX] : 0;
}

// Return the file after that of the oldest write: the one of younger writes, the current one, or a new one. NULL: none
// is available.
static struct tl_writer_file *file_after(struct tl_writer *writer, const struct tl_writer_file *file)
{
	for (uint32_t i = 0; i < writer->flight_count; i++)
		if (in_flight(writer, i)->file != file)
			return in_flight(writer, i)->file;
	return writer->file != file || tl_writer_go_on(writer, TL_WRITER_STUCK_PATIENCE_NS) ? writer->file : NULL;
}

// Check whether to leave a file after a write that did not fit: it may not grow (ulimit -f, or the maximum file size),
// or is large enough that the ring can remove it for new data.
static bool is_to_be_left(struct tl_writer *writer, const struct tl_writer_file *file, int code)
{
	uint64_t limit_bytes = writer->cfg.policy.rotate_bytes;
	uint64_t next_bytes = file->end_bytes + in_flight(writer, 0)->len_bytes + TL_WRITER_BLOCKS_BYTES;
	bool is_due = file->left || (limit_bytes != 0 && next_bytes > limit_bytes);

	return writer->parts && file->end_bytes > file->prologue_bytes &&
	       (code == -EFBIG || (tl_writer_may_recycle_for(writer, code) && is_due));
}

// Move the writes in flight for such a file to the next. False: the oldest write has failed permanently.
static bool move_on(struct tl_writer *writer, int code)
{
	struct tl_writer_file *full = in_flight(writer, 0)->file;

	if (!is_to_be_left(writer, full, code))
		return false;
	struct tl_writer_file *next = file_after(writer, full);
	if (next == NULL || begin_file(writer, next) != 0)
		return false;
	(void)tl_writer_file_cut(full);
	for (uint32_t i = 0; i < writer->flight_count && in_flight(writer, i)->file == full; i++) {
		struct tl_writer_write *write = in_flight(writer, i);
		write->file = next;
		next->in_flight++;
		next->pkts += records(write->slab);
	}
	full->in_flight = 0;
	if (tl_writer_saves_files(writer) &&
		full->last_ns != 0) { // the slabs that moved may have any timestamp of the file
		next->first_ns = next->last_ns == 0 ? full->first_ns : tl_min_u64(next->first_ns, full->first_ns);
		next->last_ns = tl_max_u64(next->last_ns, full->last_ns);
		next->saved |= full->saved;
	}
	tl_writer_cached_release(writer, full);
	return true;
}

static int write_again(struct tl_writer *writer, struct tl_writer_write *write)
{
	int rc;

	do {
		rc = begin_file(writer, write->file); // it may have lost its prologue
		write->offset_bytes = write->file->end_bytes;
		tl_writer_sign(writer, write);
		if (rc == 0)
			rc = tl_writer_file_write(write->file, write->data, write->len_bytes, write->offset_bytes);
		if (tl_writer_may_recycle_for(writer, rc))
			tl_writer_file_cut(write->file); // the part that fitted
	} while (tl_writer_helper_make_room(writer, rc) || move_on(writer, rc));
	return rc;
}

// Repeat all writes in flight, as described above.
static void recover(struct tl_writer *writer)
{
	for (uint32_t i = 0; i < writer->flight_count; i++)
		while (in_flight(writer, i)->result == TL_WRITER_PENDING)
			writer->backend->reap(writer, true);
	while (writer->flight_count > 0) {
		struct tl_writer_write *write = in_flight(writer, 0);
		int rc = write_again(writer, write);
		tl_count(&writer->stats.repeated_writes, 1);
		if (rc == 0) {
			settle(writer, write);
		} else {
			count_dropped(writer, write);
			tl_writer_fail(writer, write->file, rc);
			release_write(writer, write);
		}
		tl_writer_warn_buffered(writer, write->file);
		if (write->file->in_flight == 1)
			(void)tl_writer_file_cut(write->file); // written parts of dropped slabs
		pop(writer);
	}
}

// Give back the slabs of finished writes, oldest first. Return their number.
static uint32_t retire(struct tl_writer *writer)
{
	uint32_t retired = 0;

	while (writer->flight_count > 0 && in_flight(writer, 0)->result != TL_WRITER_PENDING) {
		struct tl_writer_write *write = in_flight(writer, 0);
		if (write->result != 0) {
			retired += writer->flight_count;
			recover(writer);
			break;
		}
		settle(writer, write);
		pop(writer);
		retired++;
	}
	return retired;
}

// True if this slab and the epilogue would exceed the limits of the file. A file has at least one slab.
static bool is_full(const struct tl_writer *writer, const struct tl_writer_write *write)
{
	const struct tl_writer_policy *policy = &writer->cfg.policy;
	const struct tl_writer_file *file = writer->file;

	if (file->next_bytes <= file->prologue_bytes)
		return false;
	return (policy->rotate_bytes != 0 &&
		       file->next_bytes + write->len_bytes + TL_WRITER_BLOCKS_BYTES > policy->rotate_bytes) ||
	       (policy->rotate_packets != 0 && file->pkts + records(write->slab) > policy->rotate_packets);
}

// Submit a write at the end of the file.
static void submit(struct tl_writer *writer, const struct tl_writer_write *write)
{
	struct tl_writer_file *file = writer->file;
	struct tl_writer_write *slot = in_flight(writer, writer->flight_count++);

	*slot = *write;
	slot->file = file;
	slot->offset_bytes = file->next_bytes;
	slot->result = TL_WRITER_PENDING;
	file->next_bytes += slot->len_bytes;
	file->in_flight++;
	tl_writer_sign(writer, slot);
	tl_writer_busy_begin(writer);
	writer->backend->start(writer, slot);
	tl_writer_busy_end(writer);
}

static void start_write(struct tl_writer *writer, struct tl_slab_ring *ring, struct tl_slab *slab)
{
	struct tl_writer_write write = {.ring = ring, .slab = slab};

	if (writer->file == NULL) { // none available; the helper has logged the reason
		drop(writer, &write);
		return;
	}
	if (slab->sealed_bytes == 0) {
		tl_writer_fail(writer, writer->file, -ENOMEM);
		drop(writer, &write);
		return;
	}
	write.data = slab->data;
	write.len_bytes = slab->sealed_bytes;
	if (writer->file->stream) { // a stream needs no recovery or alignment blocks
		write.data += slab->head_bytes;
		write.len_bytes = slab->used_bytes - slab->head_bytes;
	}
	if (is_full(writer, &write))
		tl_writer_go_on(writer, writer->patience_ns);
	if (!ready(writer)) {
		drop(writer, &write);
		return;
	}
	if (tl_writer_saves_files(writer))
		tl_writer_save_note(writer, slab);
	writer->file->pkts += records(slab);
	submit(writer, &write);
}

static void write_statistics(struct tl_writer *writer)
{
	struct tl_writer_write write;

	if (writer->flight_count < writer->backend->depth && tl_writer_statistics_due(writer, &write))
		submit(writer, &write);
}

// Take the next sealed slab, of each ring in turn, and its ring. NULL: there is none.
static struct tl_slab *next_sealed(struct tl_writer *writer, struct tl_slab_ring **out_ring)
{
	for (uint32_t i = 0; i < writer->cfg.n_rings; i++) {
		*out_ring = writer->cfg.rings[writer->next_ring];
		writer->next_ring = (writer->next_ring + 1) % writer->cfg.n_rings;
		struct tl_slab *slab = tl_slab_take(*out_ring);
		if (slab != NULL)
			return slab;
	}
	return NULL;
}

// Start writes until the queue is full or no slab is left to write. Return the number of slabs taken.
static uint32_t take(struct tl_writer *writer, bool stopping)
{
	uint32_t depth = writer->backend->depth, taken = 0;
	struct tl_slab_ring *ring;

	while (taken < depth && writer->flight_count < depth && tl_writer_may_take(writer)) {
		struct tl_slab *slab = tl_writer_holds(writer) ? tl_writer_hold_take(writer, stopping, &ring)
							       : next_sealed(writer, &ring);
		if (slab == NULL)
			break;
		taken++;
		tl_writer_count_taken(writer, slab);
		start_write(writer, ring, slab);
	}
	return taken;
}

// Take the results of finished writes. Waiting for one is time in which the disk accepts no more.
static void reap(struct tl_writer *writer, bool wait)
{
	if (wait)
		tl_writer_busy_begin(writer);
	writer->backend->reap(writer, wait);
	if (wait)
		tl_writer_busy_end(writer);
}

// Sleep, then poll again: the RX lcore never signals.
static void idle(struct tl_writer *writer)
{
	struct tl_writer_file *file = writer->file;

	if (file != NULL && file->stream && file->broken == 0 && tl_writer_stream_abandoned(file)) {
		file->broken = -EPIPE;
		tl_writer_fail(writer, file, file->broken);
	}
	uint64_t ns = tl_writer_pace_next(&writer->pace);
	if (writer->flight_count > 0) // a completion does not wake it either
		ns = TL_WRITER_PACE_MIN_NS;
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static bool is_to_stop(const struct tl_writer *writer)
{
	return atomic_load_explicit(&writer->stop, memory_order_acquire) &&
	       (writer->cfg.drained == NULL || writer->cfg.drained(writer->cfg.ctx));
}

// Sync files in the page cache. Return true if there is more to sync.
static bool force_cached(struct tl_writer *writer, bool wait)
{
	if (tl_writer_cached_take(writer, wait))
		recover(writer);
	return tl_writer_cached_ask(writer);
}

void *tl_writer_main(void *arg)
{
	struct tl_writer *writer = arg;
	uint8_t *slabs;

	tl_guard_thread(TL_GUARD_FILES, "tl-writer");
	tl_writer_pace_init(
		&writer->pace, tl_slab_count(writer->cfg.rings[0]), tl_slab_memory(writer->cfg.rings[0], &slabs));
	tl_writer_set_rotation_time(writer, (uint64_t)time(NULL));
	if (writer->file != NULL)
		ready(writer);
	for (;;) {
		// Read before the rings: slabs sealed before stop() are found below.
		bool stopping = is_to_stop(writer);
		if (tl_writer_saves_files(writer))
			tl_writer_save_look(writer);
		tl_writer_rotate_if_due(writer);
		write_statistics(writer);
		uint32_t taken = take(writer, stopping);
		writer->pace.found += taken;
		bool full = writer->flight_count == writer->backend->depth;
		reap(writer, full && in_flight(writer, 0)->result == TL_WRITER_PENDING);
		bool moved = retire(writer) > 0 || taken > 0;
		tl_writer_index_release(writer, false);
		force_cached(writer, false);
		if (moved || full)
			continue;
		if (stopping && writer->flight_count == 0)
			break;
		idle(writer);
	}
	tl_writer_index_release(writer, true);
	if (writer->file != NULL)
		tl_writer_leave_file(writer);
	while (force_cached(writer, true)) {
	}
	return NULL;
}
