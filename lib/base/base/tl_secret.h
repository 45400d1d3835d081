// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// secret: unpredictable words from the kernel's random source. Draw each secret separately: none can be derived from
// another.
//
// Threads: any. Memory: none. Not for the data path: it is a system call.

#include <stddef.h>

// Fill out with random bytes. Return 0 or -errno.
int tl_secret_fill(void *out, size_t bytes);
