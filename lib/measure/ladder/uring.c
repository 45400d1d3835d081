// SPDX-License-Identifier: BSD-3-Clause
// io_uring: one recvmsg request stays armed (multishot, Linux 6.0) and takes one of our buffers for each frame. The
// thread reads completions from shared memory and returns buffers by a second ring; it enters the kernel only to sleep.
// The skb, the queue's lock and the copy are those of recv.

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <liburing.h>

#include "ladder_priv.h"

#define BUFFERS 1024u
#define BUFFER_BYTES 2048u
#define ENTRIES 8

struct lane {
	struct ladder_lane base;
	struct io_uring ring; // io_uring_queue_exit() if has_ring
	bool has_ring;
	struct msghdr message; // lengths of name and control data: none
	struct io_uring_buf_ring *returned;
	uint8_t *buffers;
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->has_ring)
		io_uring_queue_exit(&lane->ring);
	free(lane->returned);
	free(lane->buffers);
	ladder_close_socket(lane);
}

static void give(struct lane *lane, uint16_t id, int at)
{
	io_uring_buf_ring_add(lane->returned, lane->buffers + (size_t)id * BUFFER_BYTES, BUFFER_BYTES, id,
		io_uring_buf_ring_mask(BUFFERS), at);
}

static int create_ring(struct lane *lane, struct tl_err *err)
{
	struct io_uring_params params = {.flags = IORING_SETUP_CQSIZE, .cq_entries = 2 * BUFFERS};
	int rc = io_uring_queue_init_params(ENTRIES, &lane->ring, &params);

	if (rc != 0)
		return tl_fail(err, rc, "io_uring_setup: %s", strerror(-rc));
	lane->has_ring = true;
	lane->buffers = malloc((size_t)BUFFERS * BUFFER_BYTES);
	lane->returned = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
	if (lane->buffers == NULL || lane->returned == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	io_uring_buf_ring_init(lane->returned);
	struct io_uring_buf_reg reg = {.ring_addr = (uintptr_t)lane->returned, .ring_entries = BUFFERS};
	rc = io_uring_register_buf_ring(&lane->ring, &reg, 0);
	if (rc != 0)
		return tl_fail(err, rc, "io_uring: no ring of provided buffers (Linux 5.19): %s", strerror(-rc));
	for (unsigned i = 0; i < BUFFERS; i++)
		give(lane, (uint16_t)i, (int)i);
	io_uring_buf_ring_advance(lane->returned, BUFFERS);
	return 0;
}

static int set_up(void *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	int rc = create_ring(lane, err);

	return rc == 0 ? ladder_buffer(lane, cfg->buffer_bytes, err) : rc;
}

static int arm(struct lane *lane)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&lane->ring);

	io_uring_prep_recvmsg_multishot(sqe, lane->base.fd, &lane->message, MSG_TRUNC);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	int rc = io_uring_submit(&lane->ring);
	return rc < 0 ? rc : 0;
}

static void take(struct lane *lane, const struct io_uring_cqe *cqe, struct tl_ladder_sink *sink)
{
	uint16_t id = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
	struct io_uring_recvmsg_out *out =
		io_uring_recvmsg_validate(lane->buffers + (size_t)id * BUFFER_BYTES, cqe->res, &lane->message);

	if (out != NULL)
		tl_ladder_take(sink, io_uring_recvmsg_payload(out, &lane->message), out->payloadlen);
	give(lane, id, 0);
	io_uring_buf_ring_advance(lane->returned, 1);
}

// Take the completions that are there. Return 1 if the request must be armed again, 0, or -errno.
static int take_all(struct lane *lane, struct tl_ladder_sink *sink)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;
	int rc = 0;

	io_uring_for_each_cqe(&lane->ring, head, cqe)
	{
		n++;
		if ((cqe->flags & IORING_CQE_F_BUFFER) != 0)
			take(lane, cqe, sink);
		if (cqe->res < 0 && cqe->res != -ENOBUFS)
			rc = cqe->res;
		else if ((cqe->flags & IORING_CQE_F_MORE) == 0 && rc == 0)
			rc = 1; // out of buffers, or the kernel's own limit
	}
	io_uring_cq_advance(&lane->ring, n);
	return rc;
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	int rc = arm(lane);

	while (rc == 0 && !atomic_load_explicit(stop, memory_order_relaxed)) {
		struct __kernel_timespec wait = {.tv_nsec = (long long)(TL_LADDER_WAIT_MS * TL_NS_PER_MS)};
		struct io_uring_cqe *cqe;
		rc = io_uring_wait_cqe_timeout(&lane->ring, &cqe, &wait);
		if (rc == -ETIME || rc == -EINTR)
			rc = 0;
		if (rc == 0)
			rc = take_all(lane, sink);
		if (rc == 1)
			rc = arm(lane);
	}
	return rc;
}

const struct tl_ladder_ops ladder_uring = {
	sizeof(struct lane), ladder_open_packet, set_up, receive, ladder_dropped, close_lane};
