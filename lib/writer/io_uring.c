// SPDX-License-Identifier: BSD-3-Clause
// Eight writes in flight through io_uring.

#include "writer_priv.h"

#include <time.h>

static void uring_start(struct tl_writer *writer, struct tl_writer_write *write)
{
	// Never NULL: the queue has an entry for every write that may be in flight.
	struct io_uring_sqe *sqe = io_uring_get_sqe(&writer->uring);

	io_uring_prep_write(sqe, write->file->fd, write->data, write->len_bytes, write->offset_bytes);
	io_uring_sqe_set_data(sqe, write);
	// An entry the kernel cannot take now (-EAGAIN: no memory) stays in the queue, and reap() submits it.
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
			// A short write counts as failed, and is written again from its start.
			bool whole = cqe->res >= 0 && (uint32_t)cqe->res == write->len_bytes;
			write->result = whole ? 0 : cqe->res < 0 ? cqe->res : -EIO;
			io_uring_cqe_seen(uring, cqe);
			any = true;
		}
		if (rc < 0 && !any) // out of memory, say: no reason to spin
			nanosleep(&(struct timespec){.tv_nsec = TL_NS_PER_MS}, NULL);
	} while (wait && !any);
}

static void uring_fini(struct tl_writer *writer)
{
	io_uring_queue_exit(&writer->uring);
}

int tl_writer_uring_init(struct tl_writer *writer)
{
	static const struct tl_writer_backend backend = {
		.depth = TL_WRITER_DEPTH,
		.start = uring_start,
		.reap = uring_reap,
		.fini = uring_fini,
	};

	int rc = io_uring_queue_init(TL_WRITER_DEPTH, &writer->uring, 0);
	if (rc == 0)
		writer->backend = &backend;
	return rc;
}
