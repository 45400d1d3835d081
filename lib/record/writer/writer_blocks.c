// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing blocks of a file, and the statistics in between, padded so that the next slab begins at an offset
// suitable for O_DIRECT.

#include "writer_priv.h"

#include <stdlib.h>
#include <time.h>

typedef uint32_t blocks_fn(void *ctx, void *buf, uint32_t size);

uint8_t *tl_writer_blocks_buffer(void)
{
	return aligned_alloc(TL_PCAPNG_ALIGN, TL_WRITER_BLOCKS_BYTES + 2 * TL_PCAPNG_ALIGN);
}

// Blocks written together, with their HEAD and PAD.
struct unit {
	uint32_t head_at;    // offset of the HEAD; it follows the opening blocks, which begin with the section header
	uint32_t used_bytes; // without the PAD
	uint32_t bytes;	     // 0: the blocks do not fit
};

// Fill the buffer. The HEAD is not signed yet. closes: the last blocks of the file.
static struct unit fill_unit(const struct tl_writer *writer, const struct tl_writer_file *file, blocks_fn *fill,
	uint8_t *buffer, bool closes)
{
	bool has_heads = tl_writer_has_heads(writer, file), opens = fill == writer->cfg.prologue;
	uint32_t before = has_heads && !opens ? TL_PCAPNG_HEAD_BYTES : 0;
	uint32_t room = TL_WRITER_BLOCKS_BYTES - TL_PCAPNG_HEAD_BYTES - TL_DIGEST_CHAIN_BYTES;
	uint32_t len = fill(writer->cfg.ctx, buffer + before, room);

	if (len == 0 || !has_heads)
		return (struct unit){.used_bytes = len, .bytes = len};
	if (closes)
		len += tl_writer_put_chain(writer, file, buffer + before + len);
	struct unit unit = {.head_at = opens ? len : 0, .used_bytes = len + TL_PCAPNG_HEAD_BYTES};
	struct tl_pcapng_head head = {.file = file->id, .used_bytes = opens ? TL_PCAPNG_HEAD_BYTES : unit.used_bytes};
	tl_pcapng_put_head(buffer + unit.head_at, &head);
	uint32_t pad = tl_pcapng_pad_bytes(unit.used_bytes, TL_PCAPNG_ALIGN);
	if (pad != 0)
		tl_pcapng_put_pad(buffer + unit.used_bytes, pad);
	unit.bytes = unit.used_bytes + pad;
	return unit;
}

// Append blocks. Requires that no write is in flight in this file.
static int append(struct tl_writer *writer, struct tl_writer_file *file, blocks_fn *fill, uint8_t *buffer, bool closes)
{
	struct unit unit = fill_unit(writer, file, fill, buffer, closes);
	struct tl_digest digest = {0};

	if (unit.bytes == 0)
		return -ENOBUFS;
	if (tl_writer_has_heads(writer, file))
		digest = tl_writer_sign_unit(writer, file, buffer, unit.used_bytes, unit.head_at, file->end_bytes);
	int rc = tl_writer_file_write(file, buffer, unit.bytes, file->end_bytes);
	if (rc != 0) {
		(void)tl_writer_file_cut(file); // on failure complete() reports it
		return rc;
	}
	file->end_bytes += unit.bytes;
	file->next_bytes = file->end_bytes;
	tl_writer_chain_add(writer, file, &digest, file->end_bytes);
	atomic_fetch_add_explicit(&writer->blocks_bytes, unit.bytes, memory_order_relaxed);
	return 0;
}

int tl_writer_put_prologue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer)
{
	int rc = append(writer, file, writer->cfg.prologue, buffer, false);

	if (rc == 0) {
		file->prologue_bytes = file->end_bytes;
		tl_writer_ring_allocate(writer, file);
	}
	tl_writer_warn_buffered(writer, file);
	return rc;
}

int tl_writer_put_epilogue(struct tl_writer *writer, struct tl_writer_file *file, uint8_t *buffer)
{
	return writer->cfg.epilogue != NULL ? append(writer, file, writer->cfg.epilogue, buffer, true) : 0;
}

// True if the file accepts blocks and has grown since the last statistics.
static bool needs_statistics(const struct tl_writer *writer, const struct tl_writer_file *file)
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
	if (!needs_statistics(writer, file))
		return false;
	uint32_t len = fill_unit(writer, file, writer->cfg.epilogue, statistics->buffer, false).bytes;
	// An almost full file gets its closing blocks soon.
	if (len == 0 || (limit_bytes != 0 && file->next_bytes + len + TL_WRITER_BLOCKS_BYTES > limit_bytes))
		return false;
	statistics->in_flight = true;
	file->statistics_bytes = file->next_bytes + len;
	*write = (struct tl_writer_write){.data = statistics->buffer, .len_bytes = len};
	return true;
}
