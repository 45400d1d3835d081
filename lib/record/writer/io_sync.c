// SPDX-License-Identifier: BSD-3-Clause
// Synchronous I/O backend: pwrite() into a file, write() into a stream.

#include "writer_priv.h"

static void sync_start(struct tl_writer *writer, struct tl_writer_write *write)
{
	write->result = tl_writer_file_write(write->file, write->data, write->len_bytes, write->offset_bytes);
}

static void sync_reap(struct tl_writer *writer, bool wait)
{
	// Every write is complete when start() returns.
}

static void sync_fini(struct tl_writer *writer)
{
}

void tl_writer_sync_init(struct tl_writer *writer)
{
	static const struct tl_writer_backend backend = {
		.depth = 1,
		.start = sync_start,
		.reap = sync_reap,
		.fini = sync_fini,
	};

	writer->backend = &backend;
}
