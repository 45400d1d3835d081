// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_playlist: the files named by the arguments of a call, with the time of their first frame.
//
//   FILE        itself
//   DIRECTORY   the capture files in it, such as those of a ring
//   PATTERN     of glob(7), if no file has that name: the files that match
//   @LIST       the files named in a text file, one per line; relative paths are those of this process
// The files of one argument are in the order of their first times; arguments keep their order.
//
// Threads: one. Memory: add/free. One file is open at a time.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_err;

// Zero-initialize.
struct tl_replay_playlist {
	char **paths;
	uint64_t *first_ns; // of the first frame, since 1970; 0: none readable
	size_t n, capacity;
	uint64_t bytes; // contents of all files, compressed ones excluded
	size_t packed;	// compressed files
	size_t unreadable;
	bool once; // a list was no regular file: it cannot be read again
};

// True if the word names an existing file, directory or match; @LIST always.
bool tl_replay_playlist_is_word(const char *word);

// Add the files of a word, also those so damaged that nothing of them can be read. Return 0, or -errno with a message:
// a file is unavailable or not a capture; -ENOENT also without any file.
int tl_replay_playlist_add(struct tl_replay_playlist *list, const char *word, struct tl_err *err);

// Check that at least one file can be read; to merge, order all by their first times. Return 0, or -errno with a
// message.
int tl_replay_playlist_finish(struct tl_replay_playlist *list, bool merge, struct tl_err *err);

void tl_replay_playlist_free(struct tl_replay_playlist *list);
