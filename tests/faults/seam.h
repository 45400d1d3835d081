// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// seam: interposes between a program and its libraries, and makes chosen calls fail. Preloaded; it affects only calls
// made by the program's own text: calls between libraries, and those of DPDK, are unchanged.
//
//   LD_PRELOAD=BUILD/tests/libseam.so SEAM_TRACE=FILE [SEAM_FAULT=SITE:CALL:FIRST:LAST:CODE] [SEAM_STASH=DIR] tapline …
//
// SEAM_TRACE   file for the events, one line each, appended:
//   write INODE            bytes of a file are about to change: pwrite, ftruncate, fallocate, or a write by io_uring
//   sync INODE             the written data is on the disk: fsync or fdatasync
//   rename INODE FROM TO   a name was changed
//   remove NAME            a name was removed
//   fault CALL CODE NAME   a call failed on purpose; NAME is that of its file, or -
//   and at the end of the program:
//   site OFFSET CALL N     N calls were made from here; OFFSET is that of the return address in the program
//   leak OFFSET N          N blocks of memory allocated here are left
//   open NAME              a file is still open
// SEAM_FAULT   the calls FIRST to LAST of CALL (from 1; LAST 0: all that follow) from SITE fail with errno CODE; with
//              CODE SEAM_SHORT they do half of the requested work; with CODE SEAM_SKIPPED fsync and fdatasync do
//              nothing and report success; with CODE SEAM_KILLED the program is killed before the call
// SEAM_SYNC    if set, fsync and fdatasync reach the disk, which takes most of the run's time
// SEAM_STASH   directory for copies of the files that lose a name which ends in SEAM_SUFFIX
//
// Threads: any. Memory: static, except memory returned to the program.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_SHORT 1000	  // no errno
#define SEAM_SKIPPED 1001 // not an errno either
#define SEAM_KILLED 1002

// Error convention of a call.
enum seam_way {
	SEAM_MINUS_ONE,	 // -1, and errno
	SEAM_NULL,	 // NULL, and errno
	SEAM_CODE,	 // errno value
	SEAM_MINUS_CODE, // negative errno value
};

struct seam_call {
	const char *name;
	enum seam_way way;
	void *next; // next definition of the function
};

// Decision about a call.
struct seam_verdict {
	bool fails;
	long value;
};

// Count a call from this return address. Return 0, the errno to fail with, or SEAM_SHORT. fd: file descriptor of the
// call, or -1.
int seam_count(const char *name, const void *site, int fd);

// program.c: tell whether the program's text contains the site; *out_offset: its offset.
bool seam_is_ours(const void *site, uintptr_t *out_offset);

// Write one line of the trace.
__attribute__((format(printf, 1, 2))) void seam_trace(const char *format, ...);

// Trace a change of the file, or a completed sync.
void seam_trace_file(const char *what, int fd);

// memory.c: trace the leaks.
void seam_trace_leaks(void);

// Return the next definition of this function behind this library.
void *seam_next(const char *name);
