// SPDX-License-Identifier: BSD-3-Clause
// Restricted rings of io_uring, and their completions.

#include <tl_uring.h>

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tl_base.h>

int tl_uring_init(struct io_uring *uring, unsigned depth)
{
	return io_uring_queue_init(depth, uring, IORING_SETUP_R_DISABLED);
}

// io_uring_register(2): liburing 2.3 lacks the functions for these two operations.
static int register_at(const struct io_uring *uring, unsigned operation, const void *args, unsigned n)
{
	return syscall(SYS_io_uring_register, uring->ring_fd, operation, args, n) < 0 ? -errno : 0;
}

int tl_uring_enable(const struct io_uring *uring, const uint8_t *operations, unsigned n)
{
	struct io_uring_restriction permitted[TL_URING_OPERATIONS_MAX] = {0};

	for (unsigned i = 0; i < n; i++) {
		permitted[i].opcode = IORING_RESTRICTION_SQE_OP;
		permitted[i].sqe_op = operations[i];
	}
	int rc = register_at(uring, IORING_REGISTER_RESTRICTIONS, permitted, n);

	return rc != 0 ? rc : register_at(uring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

void tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *ctx, void *data, int32_t result), void *ctx)
{
	struct io_uring_cqe *cqe;
	bool any = false;

	do {
		int rc = io_uring_submit_and_wait(uring, wait && !any ? 1 : 0);
		while (io_uring_peek_cqe(uring, &cqe) == 0) {
			void *data = io_uring_cqe_get_data(cqe);
			int32_t result = cqe->res;
			io_uring_cqe_seen(uring, cqe);
			done(ctx, data, result);
			any = true;
		}
		if (rc < 0 && !any) // for example out of memory: do not spin
			nanosleep(&(struct timespec){.tv_nsec = TL_NS_PER_MS}, NULL);
	} while (wait && !any);
}
