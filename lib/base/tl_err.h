// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// err: an error that tells the user what to do. A function that can fail because of the user's input takes a struct
// tl_err * as its last parameter, fills it with one sentence (place, cause, mend; no trailing newline or full stop
// needed) and returns a negative errno.
//
// Threads: any. Memory: the caller's.

#include <tl_base.h>

struct tl_err {
	char text[512];
};

// Formats the sentence into err (may be NULL) and returns code unchanged: `return tl_fail(err, -EINVAL, "...", ...);`
int tl_fail(struct tl_err *err, int code, const char *fmt, ...) TL_PRINTF(3, 4);

// Puts "prefix: " in front of the sentence, so that a caller adds the place it knows. Returns code unchanged.
int tl_fail_at(struct tl_err *err, int code, const char *prefix_fmt, ...) TL_PRINTF(3, 4);
