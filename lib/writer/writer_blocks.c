// SPDX-License-Identifier: BSD-3-Clause
// The blocks that open and close a file, and the statistics in between, padded so that the next slab begins where
// O_DIRECT wants it.

#include "writer_priv.h"

#include <stdlib.h>
#include <time.h>

typedef uint32_t blocks_fn(void *ctx, void *buf, uint32_t size);

uint8_t *tl_writer_blocks_buffer(void)
{
	return aligned_alloc(TL_PCAPNG_ALIGN, TL_WRITER_BLOCKS_BYTES + 2 * TL_PCAPNG_ALIGN);
}

// Whether the file has the blocks that serve alignment and recovery.
static bool has_heads(const struct tl_writer *writer, const struct tl_writer_file *file)
{
	return !file->stream && !writer->cfg.opaque;
}

// Only in a file that is written again a part that was not written may look like one that was.
static void sign(const struct tl_writer_file *file, uint8_t *slab, uint32_t used_bytes)
{
	tl_pcapng_sign_head(slab, file->id, file->reused ? tl_pcapng_check(slab, used_bytes) : 0);
}

// The blocks with a HEAD, which tells that they are this file's, and their PAD. What opens the file begins with its
// section header, and the HEAD is behind it all. Returns their length; 0 where they do not fit.
static uint32_t fill_whole(
	const struct tl_writer *writer, const struct tl_writer_file *file, blocks_fn *fill, uint8_t *buffer)
{
	bool opens = fill == writer->cfg.prologue;
	uint32_t before = has_heads(writer, file) && !opens ? TL_PCAPNG_HEAD_BYTES : 0;
	uint32_t len = fill(writer->cfg.ctx, buffer + before, TL_WRITER_BLOCKS_BYTES - TL_PCAPNG_HEAD_BYTES);

	if (len == 0 || !has_heads(writer, file))
		return len;
	struct tl_pcapng_head head = {.file = file->id, .used_bytes = TL_PCAPNG_HEAD_BYTES + (opens ? 0 : len)};
	tl_pcapng_put_head(buffer + (opens ? len : 0), &head);
	len += TL_PCAPNG_HEAD_BYTES;
	if (!opens)
		sign(file, buffer, len);
	uint32_t pad = tl_pcapng_pad_bytes(len, TL_PCAPNG_ALIGN);
	if (pad != 0)
		tl_pcapng_put_pad(buffer + len, pad);
	return len + pad;
}

void tl_writer_sign(const struct tl_writer *writer, const struct tl_writer_write *write)
{
	struct tl_pcapng_head head;

	if (has_heads(writer, write->file) && tl_pcapng_get_head(write->data, write->len_bytes, &head) == 0)
		sign(write->file, write->data, head.used_bytes);
}

// Nothing is in flight in this file.
static int append(struct tl_writer *writer, struct tl_writer_file *file, blocks_fn *fill, uint8_t *buffer)
{
	uint32_t len = fill_whole(writer, file, fill, buffer);
	if (len == 0)
		return -ENOBUFS;
	int rc = tl_writer_file_write(file, buffer, len, file->end_bytes);
	if (rc != 0) {
		tl_writer_file_cut(file);
		return rc;
	}
	file->end_bytes += len;
	file->next_bytes = file->end_bytes;
	atomic_fetch_add_explicit(&writer->blocks_bytes, len, memory_order_relaxed);
	return 0;
}

int tl_writer_put_prologue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer)
{
	int rc = append(writer, file, writer->cfg.prologue, buffer);

	if (rc == 0) {
		file->prologue_bytes = file->end_bytes;
		tl_writer_ring_allocate(writer, file);
	}
	tl_writer_say_buffered(writer, file);
	return rc;
}

int tl_writer_put_epilogue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer)
{
	return writer->cfg.epilogue != NULL ? append(writer, file, writer->cfg.epilogue, buffer) : 0;
}

// Whether the file has grown since the last statistics, and takes blocks at all.
static bool wants_statistics(const struct tl_writer *writer, const struct tl_writer_file *file)
{
	bool grown = file->next_bytes > tl_max_u64(file->prologue_bytes, file->statistics_bytes);

	return grown && file->prologue_bytes != 0 && !writer->writing.on && !writer->statistics.in_flight;
}

bool tl_writer_statistics_due(struct tl_writer *writer, struct tl_writer_write *write)
{
	struct tl_writer_statistics *statistics = &writer->statistics;
	uint64_t limit_bytes = writer->cfg.policy.rotate_bytes;
	struct tl_writer_file *file = writer->file;
	struct timespec now;

	if (statistics->buffer == NULL || file == NULL)
		return false;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
	if (statistics->due_ns == 0)
		statistics->due_ns = now_ns + writer->cfg.statistics_ns;
	if (now_ns < statistics->due_ns)
		return false;
	statistics->due_ns = now_ns + writer->cfg.statistics_ns;
	if (!wants_statistics(writer, file))
		return false;
	uint32_t len = fill_whole(writer, file, writer->cfg.epilogue, statistics->buffer);
	// A file that is about full gets its last ones soon.
	if (len == 0 || (limit_bytes != 0 && file->next_bytes + len + TL_WRITER_BLOCKS_BYTES > limit_bytes))
		return false;
	statistics->in_flight = true;
	file->statistics_bytes = file->next_bytes + len;
	*write = (struct tl_writer_write){.data = statistics->buffer, .len_bytes = len};
	return true;
}
