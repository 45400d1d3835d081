// SPDX-License-Identifier: BSD-3-Clause
// The blocks that open and close a file, padded so that the next slab begins where O_DIRECT wants it.

#include "writer_priv.h"

#include <stdlib.h>

typedef uint32_t blocks_fn(void *ctx, void *buf, uint32_t size);

uint8_t *tl_writer_blocks_buffer(void)
{
	return aligned_alloc(TL_PCAPNG_ALIGN, TL_WRITER_BLOCKS_BYTES + 2 * TL_PCAPNG_ALIGN);
}

// Nothing is in flight in this file.
static int append(struct tl_writer *writer, struct tl_writer_file *file, blocks_fn *fill, uint8_t *buffer)
{
	uint32_t len = fill(writer->cfg.ctx, buffer, TL_WRITER_BLOCKS_BYTES);
	if (len == 0)
		return -ENOBUFS;
	uint32_t pad = file->stream ? 0 : tl_pcapng_pad_bytes(len, TL_PCAPNG_ALIGN);
	if (pad != 0)
		tl_pcapng_put_pad(buffer + len, pad);
	len += pad;

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
	return append(writer, file, writer->cfg.epilogue, buffer);
}
