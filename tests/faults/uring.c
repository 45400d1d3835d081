// SPDX-License-Identifier: BSD-3-Clause
// Interpose io_uring writes: a write that must fail becomes a NOP, and its completion has the error.

#include "seam.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <liburing.h>

#define SITE __builtin_return_address(0)
#define FAILED 64 // entries in flight that have become NOPs

// Failed requests of one ring: the submitting thread also reaps.
static _Thread_local struct {
	uint64_t user_data;
	int code; // 0: free entry
} failed[FAILED];

static void remember(uint64_t user_data, int code)
{
	for (size_t i = 0; i < FAILED; i++)
		if (failed[i].code == 0) {
			failed[i].user_data = user_data;
			failed[i].code = code;
			return;
		}
	abort();
}

// Process the entries that are not submitted yet, and not processed before.
static void look_at_entries(struct io_uring *ring, const void *site)
{
	static _Thread_local unsigned looked; // entries processed so far

	for (; looked != ring->sq.sqe_tail; looked++) {
		struct io_uring_sqe *sqe = &ring->sq.sqes[looked & *ring->sq.kring_mask];
		int code = seam_count("uring_write", site, sqe->fd);
		if (code == 0 || code == SEAM_SHORT)
			seam_trace_file("write", sqe->fd);
		if (code == SEAM_SHORT) {
			sqe->len = sqe->len / 2 / 4096 * 4096;
		} else if (code != 0) {
			uint64_t user_data = sqe->user_data;
			remember(user_data, code);
			io_uring_prep_nop(sqe);
			sqe->user_data = user_data;
		}
	}
}

static void look_at_completions(struct io_uring *ring)
{
	unsigned tail = atomic_load_explicit((_Atomic unsigned *)ring->cq.ktail, memory_order_acquire);

	for (unsigned head = *ring->cq.khead; head != tail; head++) {
		struct io_uring_cqe *cqe = &ring->cq.cqes[head & *ring->cq.kring_mask];
		for (size_t i = 0; i < FAILED; i++)
			if (failed[i].code != 0 && failed[i].user_data == cqe->user_data) {
				cqe->res = -failed[i].code;
				failed[i].code = 0;
			}
	}
}

static int submit(struct io_uring *ring, unsigned wait, const char *name, const void *site)
{
	static int (*next)(struct io_uring *, unsigned);

	look_at_entries(ring, site);
	int code = seam_count(name, site, -1);
	if (code != 0)
		return -code;
	if (next == NULL)
		next = (int (*)(struct io_uring *, unsigned))seam_next("io_uring_submit_and_wait");
	int rc = next(ring, wait);
	look_at_completions(ring);
	return rc;
}

int io_uring_submit(struct io_uring *ring)
{
	return submit(ring, 0, "io_uring_submit", SITE);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned wait)
{
	return submit(ring, wait, "io_uring_submit_and_wait", SITE);
}
