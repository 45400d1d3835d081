// SPDX-License-Identifier: BSD-3-Clause
// io_uring I/O backend: eight writes in flight, from buffers registered with the kernel where it permits.

#include "writer_priv.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static void uring_reap(struct tl_writer *writer, bool wait)
{
	struct io_uring *uring = &writer->uring;
	struct io_uring_cqe *cqe;
	bool any = false;

	do {
		int rc = io_uring_submit_and_wait(uring, wait && !any ? 1 : 0);
		while (io_uring_peek_cqe(uring, &cqe) == 0) {
			struct tl_writer_write *write = io_uring_cqe_get_data(cqe);
			// A short write counts as failed and is repeated from its start.
			bool whole = cqe->res >= 0 && (uint32_t)cqe->res == write->len_bytes;
			write->result = whole ? 0 : cqe->res < 0 ? cqe->res : -EIO;
			io_uring_cqe_seen(uring, cqe);
			any = true;
		}
		if (rc < 0 && !any) // for example out of memory: do not spin
			nanosleep(&(struct timespec){.tv_nsec = TL_NS_PER_MS}, NULL);
	} while (wait && !any);
}

static void uring_fini(struct tl_writer *writer)
{
	io_uring_queue_exit(&writer->uring);
}

// io_uring_register(2): liburing 2.3 lacks the functions for these two operations.
static int register_at(const struct io_uring *uring, unsigned operation, const void *args, unsigned n)
{
	return syscall(SYS_io_uring_register, uring->ring_fd, operation, args, n) < 0 ? -errno : 0;
}

// Restrict the ring to writes, and begin: seccomp does not see what io_uring opens.
static int enable(const struct io_uring *uring)
{
	static const struct io_uring_restriction writes[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_WRITE},
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_WRITE_FIXED},
	};
	int rc = register_at(uring, IORING_REGISTER_RESTRICTIONS, writes, TL_ARRAY_LEN(writes));

	return rc != 0 ? rc : register_at(uring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

int tl_writer_uring_init(struct tl_writer *writer)
{
	static const struct tl_writer_backend backend = {
		.depth = TL_WRITER_DEPTH,
		.start = uring_start,
		.reap = uring_reap,
		.fini = uring_fini,
	};

	int rc = io_uring_queue_init(TL_WRITER_DEPTH, &writer->uring, IORING_SETUP_R_DISABLED);
	if (rc != 0)
		return rc;
	writer->uring_registered = register_buffers(writer);
	rc = enable(&writer->uring);
	if (rc == 0)
		writer->backend = &backend;
	else
		io_uring_queue_exit(&writer->uring);
	return rc;
}
