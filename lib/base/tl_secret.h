// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// secret: words that nobody can guess, from the kernel's random source. Each secret takes its own: none follows from
// another.
//
// Threads: any. Memory: none. Not for the data path: it is a system call.

#include <stddef.h>

// Fills out with secret bytes. Returns 0 or -errno.
int tl_secret_fill(void *out, size_t bytes);
