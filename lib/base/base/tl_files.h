// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// files: operations that the C library lacks.

#include <stdbool.h>
#include <stdint.h>

struct stat;

// Read all of len_bytes from a file that is read once: the pages before offset_bytes leave the page cache to running
// recordings. Return 0 or -errno; -EIO where the file ends before.
int tl_read_once(int fd, void *buf, uint32_t len_bytes, uint64_t offset_bytes);

// True if what was written with O_DIRECT is stored, and not in the page cache alone: some file systems accept the flag
// and ignore it, such as ext4 with data=journal (statx(2), STATX_DIOALIGN). Where the kernel does not say, as before
// Linux 6.1, ext4 and xfs are trusted, and tmpfs, which writes nothing later; others are not.
bool tl_is_direct(int fd);

// Create a file for writing, 0640, without a name: a process killed before tl_give_name() leaves nothing. On a file
// system that does not support this the file is named at once, and *out_named is true. Return the descriptor or -errno.
int tl_create_nameless(const char *path, bool *out_named);

// Name such a file, in the directory of its creation. Return 0 or -errno; -EEXIST if the name is taken.
int tl_give_name(int fd, const char *path);

// Rename without replacing: -EEXIST if the name is taken. Return 0 or -errno.
int tl_rename_new(const char *from, const char *to);

// True if both paths name one existing regular file.
bool tl_is_same_file(const char *a, const char *b);

// True if both paths name one file, of any kind, that exists or could be made: its directory and its name are the same.
bool tl_is_same_target(const char *a, const char *b);

// True if both describe the same file, of any kind.
bool tl_is_same_inode(const struct stat *a, const struct stat *b);
