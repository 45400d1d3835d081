// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// progress: a log line every two seconds about a file that is being read.
//
// Threads: one per struct. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

// Zero-initialize for each file.
struct tl_progress {
	uint64_t next_ns; // monotonic time of the next line; 0: none has been asked for
};

// Check whether a line is due at this time: the first one two seconds after the first call.
bool tl_progress_is_due(struct tl_progress *progress, uint64_t now_ns);

// Log "PATH: read DONE of SIZE" if a line is due. size_bytes 0: unknown.
void tl_progress_log(struct tl_progress *progress, const char *path, uint64_t done_bytes, uint64_t size_bytes);
