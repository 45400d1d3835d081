// SPDX-License-Identifier: BSD-3-Clause
// io_uring I/O backend: eight writes in flight, from buffers registered with the kernel where it permits.

#include "writer_priv.h"

#include <errno.h>

#include <tl_uring.h>

#define BUFFER_BYTES_MAX (UINT64_C(1) << 30) // io_uring_register_buffers(3)
#define BUFFERS_MAX 1024u

// ---- registered buffers: a ring's memory, in pieces of BUFFER_BYTES_MAX; no slab crosses a piece boundary

static uint32_t pieces(uint64_t bytes)
{
	return (uint32_t)((bytes + BUFFER_BYTES_MAX - 1) / BUFFER_BYTES_MAX);
}

static uint32_t buffers_before(const struct tl_writer *writer, const struct tl_slab_ring *ring)
{
	uint8_t *memory;
	uint32_t n = 0;

	for (uint32_t i = 0; i < writer->cfg.n_rings && writer->cfg.rings[i] != ring; i++)
		n += pieces(tl_slab_memory(writer->cfg.rings[i], &memory));
	return n;
}

static uint32_t buffer_of(const struct tl_writer *writer, const struct tl_writer_write *write)
{
	uint8_t *memory;

	tl_slab_memory(write->ring, &memory);
	return buffers_before(writer, write->ring) + (uint32_t)((uint64_t)(write->data - memory) / BUFFER_BYTES_MAX);
}

// Register the buffers to avoid a page lookup and pin per write. The kernel may refuse: registered memory counts
// against RLIMIT_MEMLOCK. Every write then passes its own address.
static bool register_buffers(struct tl_writer *writer)
{
	struct iovec buffers[BUFFERS_MAX];
	uint32_t n = 0;

	if (buffers_before(writer, NULL) > BUFFERS_MAX)
		return false;
	for (uint32_t i = 0; i < writer->cfg.n_rings; i++) {
		uint8_t *memory;
		uint64_t bytes = tl_slab_memory(writer->cfg.rings[i], &memory);
		for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES_MAX)
			buffers[n++] = (struct iovec){
				.iov_base = memory + at, .iov_len = tl_min_u64(bytes - at, BUFFER_BYTES_MAX)};
	}
	return io_uring_register_buffers(&writer->uring, buffers, n) == 0;
}

// ---- the backend

static void uring_start(struct tl_writer *writer, struct tl_writer_write *write)
{
	// Never NULL: the submission queue has an entry for every write that may be in flight.
	struct io_uring_sqe *sqe = io_uring_get_sqe(&writer->uring);

	if (writer->uring_registered && write->slab != NULL)
		io_uring_prep_write_fixed(sqe, write->file->fd, write->data, write->len_bytes, write->offset_bytes,
			(int)buffer_of(writer, write));
	else
		io_uring_prep_write(sqe, write->file->fd, write->data, write->len_bytes, write->offset_bytes);
	io_uring_sqe_set_data(sqe, write);
	// An entry that the kernel cannot accept now (-EAGAIN: no memory) stays in the queue; reap() submits it.
	io_uring_submit(&writer->uring);
}

static void note_result(void *ctx, void *data, int32_t result)
{
	struct tl_writer_write *write = data;

	// A short write counts as failed and is repeated from its start.
	write->result = result < 0 ? result : (uint32_t)result == write->len_bytes ? 0 : -EIO;
}

static void uring_reap(struct tl_writer *writer, bool wait)
{
	tl_uring_reap(&writer->uring, wait, note_result, NULL);
}

static void uring_fini(struct tl_writer *writer)
{
	io_uring_queue_exit(&writer->uring);
}

int tl_writer_uring_init(struct tl_writer *writer)
{
	static const uint8_t writes[] = {IORING_OP_WRITE, IORING_OP_WRITE_FIXED};
	static const struct tl_writer_backend backend = {
		.depth = TL_WRITER_DEPTH,
		.start = uring_start,
		.reap = uring_reap,
		.fini = uring_fini,
	};

	int rc = tl_uring_init(&writer->uring, TL_WRITER_DEPTH);
	if (rc != 0)
		return rc;
	writer->uring_registered = register_buffers(writer);
	rc = tl_uring_enable(&writer->uring, writes, TL_ARRAY_LEN(writes));
	if (rc == 0)
		writer->backend = &backend;
	else
		io_uring_queue_exit(&writer->uring);
	return rc;
}
