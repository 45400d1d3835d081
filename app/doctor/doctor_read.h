// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// read: files of sysfs and procfs below a directory, as facts. What is not there, too long, no regular file or not what
// was expected is a fact that is not known; nothing outside the directory is opened, whatever links say.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <tl_base.h>
#include <tl_doctor_facts.h>

#define TL_TREE_FILE_MAX (1u << 20) // bytes of a file that are read at most
#define TL_TREE_PATH_MAX 512

struct tl_tree {
	int root_fd;
	bool live; // the running host's own
};

// "" or "/" is the host. Returns 0 or -errno.
int tl_tree_open(const char *root, struct tl_tree *out);
void tl_tree_close(struct tl_tree *tree);

// Opens with these flags, beside O_CLOEXEC and O_NONBLOCK. Returns a file descriptor or -errno.
int tl_tree_fd(const struct tl_tree *tree, int flags, const char *path);

// Up to size - 1 bytes of a regular file, and a NUL behind them. Returns how many or -errno.
ssize_t tl_tree_bytes(const struct tl_tree *tree, char *buf, size_t size, const char *path);

// All of it as text, to be freed: lines of printable ASCII, no NUL inside. NULL: cannot be read.
char *tl_tree_text(const struct tl_tree *tree, const char *path);

// Of one-line files. path_fmt is made like printf.
struct tl_fact_num tl_tree_num(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);
struct tl_fact_num tl_tree_hex(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);
struct tl_fact_text tl_tree_line(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);
struct tl_fact_cpus tl_tree_cpus(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);

// The last name of what a symbolic link points to; "" where there is no such link.
struct tl_fact_text tl_tree_link(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);

bool tl_tree_exists(const struct tl_tree *tree, const char *path_fmt, ...) TL_PRINTF(2, 3);

// Calls visit for each name in a directory but hidden ones, at most 100,000. Returns 0, or -errno where there is no
// such directory.
int tl_tree_each(const struct tl_tree *tree, const char *path, void (*visit)(void *ctx, const char *name), void *ctx);

// "[always] madvise never": the word in brackets; a text without them stays.
struct tl_fact_text tl_fact_chosen(const struct tl_fact_text *words);

struct tl_fact_num tl_fact_is(int64_t value); // known
struct tl_fact_text tl_fact_says(const char *text);

// The number, nothing before or after it; base as of strtoll.
struct tl_fact_num tl_fact_parse(const char *text, int base);

// The rest of the line that begins so ("MemTotal:"), without blanks around it; false where there is none.
bool tl_line_after(const char *text, const char *begin, char *buf, size_t size);
// The same of a file.
bool tl_tree_line_after(const struct tl_tree *tree, const char *path, const char *begin, char *buf, size_t size);
