// SPDX-License-Identifier: BSD-3-Clause
// io_uring: one system call submits the send of a message and the receive of the next, and sleeps until one of them has
// ended. Two buffers take turns: one is sent while the other fills.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <liburing.h>

#include "relay_priv.h"

#define ENTRIES 4

enum { RECEIVE, SEND };

struct state {
	struct io_uring ring;
	int in, out;
	uint8_t *room[2];
	unsigned filling; // buffer that is received into
	int filled_bytes; // received, and not yet being sent; 0: none
	bool receives, sends;
};

static void start_receive(struct state *s)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

	io_uring_prep_recv(sqe, s->in, s->room[s->filling], RELAY_ROOM_BYTES, 0);
	io_uring_sqe_set_data64(sqe, RECEIVE);
	s->receives = true;
}

// Send the filled buffer whole, and fill the other one meanwhile.
static void start_send(struct state *s)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

	io_uring_prep_send(sqe, s->out, s->room[s->filling], (size_t)s->filled_bytes, MSG_WAITALL | MSG_NOSIGNAL);
	io_uring_sqe_set_data64(sqe, SEND);
	s->sends = true;
	s->filled_bytes = 0;
	s->filling = 1 - s->filling;
}

// Take the completions that are there. Return 1, 0: the stream has ended, or -errno.
static int take_all(struct state *s)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;
	int more = 1;

	io_uring_for_each_cqe(&s->ring, head, cqe)
	{
		bool receive = io_uring_cqe_get_data64(cqe) == RECEIVE;
		n++;
		if (receive) {
			s->receives = false;
			s->filled_bytes = cqe->res;
		} else {
			s->sends = false;
		}
		if (cqe->res < 0 || (receive && cqe->res == 0))
			more = cqe->res;
	}
	io_uring_cq_advance(&s->ring, n);
	return more;
}

static int loop(struct state *s)
{
	int more = 1;

	while (more == 1) {
		if (s->filled_bytes > 0 && !s->sends)
			start_send(s);
		if (s->filled_bytes == 0 && !s->receives)
			start_receive(s);
		int rc = io_uring_submit_and_wait(&s->ring, 1);
		if (rc < 0 && rc != -EINTR)
			return rc;
		more = take_all(s);
	}
	return more;
}

int relay_uring(int in, int out)
{
	struct state s = {.in = in, .out = out};
	int rc = io_uring_queue_init(ENTRIES, &s.ring, 0);

	if (rc != 0)
		return rc;
	s.room[0] = malloc(RELAY_ROOM_BYTES);
	s.room[1] = malloc(RELAY_ROOM_BYTES);
	rc = s.room[0] == NULL || s.room[1] == NULL ? -ENOMEM : loop(&s);
	io_uring_queue_exit(&s.ring); // before its buffers are freed
	free(s.room[0]);
	free(s.room[1]);
	return rc;
}
