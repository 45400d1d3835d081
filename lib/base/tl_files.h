// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// files: what the C library does not do in one call.
//
// Threads: any. Memory: none.

// Renames where nothing is in the way: -EEXIST where the name is taken. Returns 0 or -errno.
int tl_rename_new(const char *from, const char *to);
