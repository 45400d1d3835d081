// SPDX-License-Identifier: BSD-3-Clause
// The writer thread: takes sealed slabs, keeps writes in flight, rotates, and gets over a disk that fails.
//
// Writes finish in any order but retire in the order of their offsets, and a slab is given back only when it retires.
// So when a write fails, every slab behind it is still in memory, and recovery needs no holes and no patches: wait for
// what is in flight, write all of it again, one by one, from the end of the last slab that retired, and cut the file
// behind the last that succeeded. A slab that fails again is counted as dropped and leaves nothing in the file, which
// is whole blocks from its first byte to end_bytes at any time.

#include "writer_priv.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MIN_NS (200 * TL_NS_PER_US)
#define IDLE_MAX_NS (2 * TL_NS_PER_MS)

typedef uint32_t blocks_fn(void *ctx, void *buf, uint32_t size);

static void fail(struct tl_writer *writer, int code)
{
	tl_writer_trouble_begins(writer, &writer->writing, writer->file.path, code);
	if (writer->file.broken != 0)
		atomic_store_explicit(&writer->pipe_closed, true, memory_order_release);
}

// Appends the prologue or the epilogue, in a file padded so that the next slab begins where O_DIRECT wants it. Nothing
// is in flight in this file.
static int append_blocks(struct tl_writer *writer, struct tl_writer_file *file, blocks_fn *fill)
{
	uint32_t len = fill(writer->cfg.ctx, writer->blocks, TL_WRITER_BLOCKS_BYTES);
	if (len == 0)
		return -ENOBUFS;
	uint32_t pad = file->stream ? 0 : tl_pcapng_pad_bytes(len, TL_PCAPNG_ALIGN);
	if (pad != 0)
		tl_pcapng_put_pad(writer->blocks + len, pad);
	len += pad;

	int rc = tl_writer_file_write(file, writer->blocks, len, file->end_bytes);
	if (rc != 0) {
		tl_writer_file_cut(file);
		return rc;
	}
	file->end_bytes += len;
	file->next_bytes = file->end_bytes;
	tl_count(&writer->stats.written_bytes, len);
	return 0;
}

static int write_prologue(struct tl_writer *writer, struct tl_writer_file *file)
{
	int rc = append_blocks(writer, file, writer->cfg.prologue);

	if (rc == 0)
		file->prologue_bytes = file->end_bytes;
	tl_writer_say_buffered(writer, file);
	return rc;
}

// A file whose prologue could not be written yet takes no slab: nobody could read it.
static bool ready(struct tl_writer *writer)
{
	if (writer->file.prologue_bytes != 0)
		return true;
	int rc = write_prologue(writer, &writer->file);
	if (rc != 0)
		fail(writer, rc);
	return rc == 0;
}

static void finish_file(struct tl_writer *writer)
{
	struct tl_writer_file *file = &writer->file;

	if (file->prologue_bytes != 0) {
		int rc = append_blocks(writer, file, writer->cfg.epilogue);
		if (rc != 0)
			fail(writer, rc);
	}
	int rc = tl_writer_file_close(file);
	if (rc != 0)
		fail(writer, rc);
}

static struct tl_writer_write *in_flight(struct tl_writer *writer, uint32_t index)
{
	return &writer->flight[(writer->flight_first + index) % TL_WRITER_DEPTH];
}

static void give_back(const struct tl_writer_write *write)
{
	tl_slab_give_back(write->ring, write->slab);
}

static void pop(struct tl_writer *writer)
{
	writer->flight_first = (writer->flight_first + 1) % TL_WRITER_DEPTH;
	writer->flight_count--;
}

static void count_written(struct tl_writer *writer, const struct tl_writer_write *write)
{
	for (int dir = 0; dir < TL_DIRS; dir++)
		tl_count(&writer->stats.written_pkts[dir], write->slab->records[dir]);
	tl_count(&writer->stats.written_bytes, write->len_bytes);
	writer->file.end_bytes += write->len_bytes;
	tl_writer_trouble_ends(writer, &writer->writing, writer->file.path);
}

static void count_dropped(struct tl_writer *writer, const struct tl_writer_write *write)
{
	for (int dir = 0; dir < TL_DIRS; dir++)
		tl_count(&writer->stats.drop_disk_pkts[dir], write->slab->records[dir]);
}

// Writes all that is in flight again, as described at the top.
static void recover(struct tl_writer *writer)
{
	struct tl_writer_file *file = &writer->file;

	for (uint32_t i = 0; i < writer->flight_count; i++)
		while (in_flight(writer, i)->result == TL_WRITER_PENDING)
			writer->backend->reap(writer, true);
	while (writer->flight_count > 0) {
		struct tl_writer_write *write = in_flight(writer, 0);
		int rc = tl_writer_file_write(file, write->data, write->len_bytes, file->end_bytes);
		if (rc == 0) {
			count_written(writer, write);
		} else {
			count_dropped(writer, write);
			fail(writer, rc);
		}
		give_back(write);
		pop(writer);
	}
	tl_writer_file_cut(file); // what was written of dropped slabs
	tl_writer_say_buffered(writer, file);
}

// Gives back the slabs whose writes finished, oldest first. Returns how many.
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
		count_written(writer, write);
		give_back(write);
		pop(writer);
		retired++;
	}
	return retired;
}

static void drain(struct tl_writer *writer)
{
	while (writer->flight_count > 0) {
		if (in_flight(writer, 0)->result == TL_WRITER_PENDING)
			writer->backend->reap(writer, true);
		retire(writer);
	}
}

static int open_next(struct tl_writer *writer, struct tl_writer_file *next, char *name)
{
	struct tl_err err;

	int rc = tl_writer_file_open(next, name, !writer->direct_refused, &err);
	if (rc == 0)
		rc = write_prologue(writer, next);
	if (rc == 0)
		rc = tl_writer_names_keep(writer->names, name);
	if (rc != 0 && next->fd >= 0) {
		tl_writer_file_close(next);
		unlink(name);
	}
	return rc;
}

// Opens the next file before it closes this one: if that fails, the recording goes on in this one, and it is tried
// again with the next slab.
static void rotate(struct tl_writer *writer)
{
	struct tl_writer_file next = {.fd = -1, .regular_only = true, .stop = &writer->stop};
	char *name = tl_writer_names_next(writer->names, writer->cfg.path);
	int rc = name == NULL ? -ENOMEM : open_next(writer, &next, name);

	if (rc != 0) {
		const char *path = name == NULL ? writer->cfg.path : name;
		tl_writer_trouble_begins(writer, &writer->rotating, path, rc);
		free(name);
		return;
	}
	drain(writer);
	finish_file(writer);
	writer->file = next;
	tl_count(&writer->stats.files, 1);
	tl_writer_trouble_ends(writer, &writer->rotating, name);
}

// Whether len more bytes and the epilogue would exceed the size that a file may have. A file has at least one slab.
static bool is_full(const struct tl_writer *writer, uint32_t len_bytes)
{
	const struct tl_writer_file *file = &writer->file;

	if (writer->cfg.rotate_bytes == 0 || file->next_bytes <= file->prologue_bytes)
		return false;
	return file->next_bytes + len_bytes + TL_WRITER_BLOCKS_BYTES > writer->cfg.rotate_bytes;
}

static void start_write(struct tl_writer *writer, struct tl_slab_ring *ring, struct tl_slab *slab)
{
	struct tl_writer_write write = {.ring = ring, .slab = slab, .result = TL_WRITER_PENDING};
	struct tl_writer_file *file = &writer->file;

	write.data = slab->data;
	write.len_bytes = slab->sealed_bytes;
	if (file->stream) { // the blocks that serve recovery and alignment serve nobody there
		write.data += TL_PCAPNG_HEAD_BYTES;
		write.len_bytes = slab->used_bytes - TL_PCAPNG_HEAD_BYTES;
	}
	if (is_full(writer, write.len_bytes))
		rotate(writer);
	if (!ready(writer)) {
		count_dropped(writer, &write);
		give_back(&write);
		return;
	}
	write.offset_bytes = file->next_bytes;
	file->next_bytes += write.len_bytes;
	struct tl_writer_write *slot = in_flight(writer, writer->flight_count++);
	*slot = write;
	writer->backend->start(writer, slot);
}

// Starts writes until the queue is full or no ring has a sealed slab, one slab of each ring in turn. Returns how many
// slabs it took.
static uint32_t take(struct tl_writer *writer)
{
	uint32_t depth = writer->backend->depth, taken = 0, empty = 0;

	while (taken < depth && writer->flight_count < depth && empty < writer->cfg.n_rings) {
		struct tl_slab_ring *ring = writer->cfg.rings[writer->next_ring];
		writer->next_ring = (writer->next_ring + 1) % writer->cfg.n_rings;
		struct tl_slab *slab = tl_slab_take(ring);
		if (slab == NULL) {
			empty++;
			continue;
		}
		empty = 0;
		taken++;
		start_write(writer, ring, slab);
	}
	return taken;
}

// The RX lcore never signals: the writer sleeps, longer while nothing comes, and looks again.
static void idle(struct tl_writer *writer)
{
	struct tl_writer_file *file = &writer->file;

	if (file->stream && file->broken == 0 && tl_writer_stream_abandoned(file)) {
		file->broken = -EPIPE;
		fail(writer, file->broken);
	}
	uint64_t ns = writer->flight_count > 0 ? IDLE_MIN_NS : writer->idle_ns;
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
	writer->idle_ns = tl_min_u64(writer->idle_ns * 2, IDLE_MAX_NS);
}

void *tl_writer_main(void *arg)
{
	struct tl_writer *writer = arg;

	writer->idle_ns = IDLE_MIN_NS;
	ready(writer);
	for (;;) {
		// Read before the rings are looked at: what was sealed before stop() is found below.
		bool stopping = atomic_load_explicit(&writer->stop, memory_order_acquire);
		bool moved = take(writer) > 0;
		bool full = writer->flight_count == writer->backend->depth;
		writer->backend->reap(writer, full && in_flight(writer, 0)->result == TL_WRITER_PENDING);
		moved = retire(writer) > 0 || moved;
		if (moved || full) {
			writer->idle_ns = IDLE_MIN_NS;
			continue;
		}
		if (stopping && writer->flight_count == 0)
			break;
		idle(writer);
	}
	finish_file(writer);
	return NULL;
}
