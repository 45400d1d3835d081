// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// read: files of sysfs and procfs below a directory, as facts. A file that is missing, too long, not regular or of
// unexpected content yields an unknown fact; nothing outside the directory is opened, regardless of links.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <tl_base.h>
#include <tl_doctor_facts.h>

#define TL_TREE_FILE_MAX (1u << 20) // largest number of bytes read of a file
#define TL_TREE_PATH_MAX 512

struct tl_tree {
	int root_fd;
	bool live; // root is that of the running host
};

// Open a root; "" or "/" is the host. Return 0 or -errno.
int tl_tree_open(const char *root, struct tl_tree *out);
void tl_tree_close(struct tl_tree *tree);

// Open a file with these flags, plus O_CLOEXEC and O_NONBLOCK. Return a file descriptor or -errno.
int tl_tree_fd(const struct tl_tree *tree, int flags, const char *path);

// Read up to size - 1 bytes of a regular file, and append a NUL. Return the byte count or -errno.
ssize_t tl_tree_bytes(const struct tl_tree *tree, char *buf, size_t size, const char *path);

// Return the whole file as text, to be freed: lines of printable ASCII, no NUL inside. NULL: unreadable.
char *tl_tree_text(const struct tl_tree *tree, const char *path);

// Read one-line files. path_fmt is a printf format.
struct tl_fact_num tl_tree_num(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);
struct tl_fact_num tl_tree_hex(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);
struct tl_fact_text tl_tree_line(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);
struct tl_fact_cpus tl_tree_cpus(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);

// Return the last component of a symbolic link's target; "" if there is no such link.
struct tl_fact_text tl_tree_link(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);

bool tl_tree_exists(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);

// Call visit for each name in a directory except hidden ones, at most 100,000. Return 0, or -errno if there is no such
// directory.
int tl_tree_each(const struct tl_tree *tree, const char *path, void (*visit)(void *ctx, const char *name), void *ctx);

// Return the word in brackets of "[always] madvise never"; a text without brackets is returned as is.
struct tl_fact_text tl_fact_chosen(const struct tl_fact_text *words);

struct tl_fact_num tl_fact_is(int64_t value); // return a known number
struct tl_fact_text tl_fact_says(const char *text);

// Parse a number that fills the whole text; base as in strtoll().
struct tl_fact_num tl_fact_parse(const char *text, int base);

// Copy the trimmed rest of the line that begins with begin ("MemTotal:"); false if there is none.
bool tl_line_after(const char *text, const char *begin, char *buf, size_t size);
// Do the same for a file.
bool tl_tree_line_after(const struct tl_tree *tree, const char *path, const char *begin, char *buf, size_t size);
