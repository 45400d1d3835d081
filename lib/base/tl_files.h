// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// files: what the C library does not do in one call.
//
// Threads: any. Memory: none.

#include <stdbool.h>

struct stat;

// Renames where nothing is in the way: -EEXIST where the name is taken. Returns 0 or -errno.
int tl_rename_new(const char *from, const char *to);

// Whether both are names of one regular file that is there, however they are spelled.
bool tl_is_same_file(const char *a, const char *b);

// Whether two files are one, of any kind, as stat(2) describes them.
bool tl_is_same_inode(const struct stat *a, const struct stat *b);
