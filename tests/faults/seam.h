// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// seam: stands between a program and the libraries it calls, and lets chosen calls fail. Preloaded; it looks only at
// calls that the program's own text makes, so that the libraries among themselves, and DPDK, go on as ever.
//
//   LD_PRELOAD=BUILD/tests/libseam.so SEAM_TRACE=FILE [SEAM_FAULT=SITE:CALL:FIRST:LAST:CODE] [SEAM_STASH=DIR] tapline …
//
// SEAM_TRACE   a file for what happened, one line each, appended:
//   write INODE            bytes of a file are about to change: pwrite, ftruncate, fallocate, or a write by io_uring
//   sync INODE             what was written is on the disk: fsync or fdatasync
//   rename INODE FROM TO   a name was changed
//   remove NAME            a name was removed
//   fault CALL CODE NAME   a call failed on purpose; NAME is that of its file, or -
//   and when the program ends:
//   site OFFSET CALL N     so many calls were made from here; OFFSET is of the return address in the program
//   leak OFFSET N          so many pieces of memory that were allocated here are left
//   open NAME              a file is still open
// SEAM_FAULT   the calls FIRST to LAST of CALL (from 1; LAST 0: all that follow) from SITE fail with errno CODE; or,
// with
//              CODE SEAM_SHORT, do half of what they were asked for, or, with CODE SEAM_SKIPPED, of fsync and
//              fdatasync, do nothing and say that it is done
// SEAM_SYNC    if set, fsync and fdatasync reach the disk, which takes most of the time
// SEAM_STASH   copies of the files go there that lose a name which ends in SEAM_SUFFIX
//
// Threads: any. Memory: static, but for what is left to the program.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_SHORT 1000	  // no errno
#define SEAM_SKIPPED 1001 // nor this

// How a call says that it failed.
enum seam_way {
	SEAM_MINUS_ONE,	 // -1, and errno
	SEAM_NULL,	 // NULL, and errno
	SEAM_CODE,	 // the errno
	SEAM_MINUS_CODE, // the negative errno
};

struct seam_call {
	const char *name;
	enum seam_way way;
	void *next; // the function behind this library
};

// Results of calls that fail.
struct seam_verdict {
	bool fails;
	long value;
};

// Counts a call from this return address. Returns 0, an errno with which it is to fail, or SEAM_SHORT. fd: what it is
// about, or -1.
int seam_count(const char *name, const void *site, int fd);

// program.c: tell whether the program itself makes a call from here; *out_offset: where.
bool seam_is_ours(const void *site, uintptr_t *out_offset);

// Write one line of the trace.
__attribute__((format(printf, 1, 2))) void seam_trace(const char *format, ...);

// The file changes, or its changes have been forced to the disk.
void seam_trace_file(const char *what, int fd);

// memory.c: what is left, for the trace.
void seam_trace_leaks(void);

// The function of this name behind this library.
void *seam_next(const char *name);
