// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// err: error messages for the user. A function that can fail because of user input takes a struct tl_err * as last
// parameter, fills it with one message (place, cause, remedy; no trailing newline or full stop) and returns a negative
// errno.
//
// Threads: any. Memory: the caller's.

#include <tl_base.h>

struct tl_err {
	char text[512];
};

// Format the message into err (may be NULL) and return code: `return tl_fail(err, -EINVAL, "...", ...);`
int tl_fail(struct tl_err *err, int code, const char *fmt, ...) TL_PRINTF(3, 4);

// Prepend "prefix: " to the message: the place known to the caller. Return code.
int tl_fail_at(struct tl_err *err, int code, const char *prefix_fmt, ...) TL_PRINTF(3, 4);
