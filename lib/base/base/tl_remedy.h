// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// remedy: what a user can do about an error of a file, for the end of a message.
//
// Threads: any.

#include <tl_base.h>

// Return "; REMEDY" for a negative errno, or "" if none is known:
// tl_fail(err, rc, "%.300s: cannot read: %s%s", path, strerror(-rc), tl_remedy(rc)). A static text.
const char *tl_remedy(int code);
