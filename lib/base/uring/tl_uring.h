// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// uring: rings of io_uring that permit a few operations only: seccomp does not see what io_uring opens.
//
// Threads: one at a time per ring. Memory: the caller's ring.

#include <stdbool.h>
#include <stdint.h>

#include <liburing.h>

// Create a ring that is disabled until tl_uring_enable(): buffers can be registered meanwhile. Return 0 or -errno.
int tl_uring_init(struct io_uring *uring, unsigned depth);

#define TL_URING_OPERATIONS_MAX 8
// Restrict the ring to n operations (IORING_OP_*), and begin. Return 0 or -errno.
int tl_uring_enable(const struct io_uring *uring, const uint8_t *operations, unsigned n);

// Submit, and call done for each completion with the entry's data and result; it may add entries. With wait return
// after at least one completion.
void tl_uring_reap(struct io_uring *uring, bool wait, void (*done)(void *ctx, void *data, int32_t result), void *ctx);
