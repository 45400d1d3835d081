// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recover: makes a recording that was left behind by a crash a valid file, in place. What is no whole slab is covered
// by PAD blocks, of which only the two ends are written: no data is moved, and no record that is whole is touched. What
// is behind the last whole slab is cut off, and statistics are appended where they are missing. In a compressed
// recording (tl_zslab.h) skippable frames cover. One in classic pcap is cut behind the last record before the first
// that is not whole.
//
// A recovery may be killed, or its power may go, at any moment: the next one gives the same file. A file that needs
// nothing is not written to, and neither is one that is not ours.
//
// Threads: any; one per file. Memory: the report's lists are freed by tl_recover_report_fini(); while it runs, a window
// of at most 8 MiB.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;

// Where the recording is. Each call does all of it or returns -errno.
struct tl_recover_io {
	void *ctx;
	uint64_t size_bytes;
	int (*read)(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes);
	int (*write)(void *ctx, const void *buf, uint32_t len_bytes, uint64_t offset_bytes);
	int (*cut)(void *ctx, uint64_t size_bytes);
	int (*sync)(void *ctx);
	// Where data may be next, at the offset or behind it: what is before is zeros. NULL: not known.
	uint64_t (*next_data)(void *ctx, uint64_t offset_bytes);
};

struct tl_recover_opts {
	bool dry_run; // only look
	// Called now and then while the file is read. Other than 0: give up, with -ECANCELED and nothing written. May
	// be NULL.
	int (*progress)(void *ctx, uint64_t done_bytes, uint64_t size_bytes);
	void *ctx;
};

// Slabs from first to last, both included.
struct tl_recover_range {
	uint64_t first, last;
};

// The slabs of one ring of one run that the file holds. What lies between two ranges is missing.
struct tl_recover_ring {
	uint64_t run_id;
	uint32_t ring;
	uint32_t n;
	uint32_t capacity;
	struct tl_recover_range *kept; // ascending
};

struct tl_recover_report {
	uint64_t size_bytes; // before
	uint64_t slabs_kept;
	uint64_t records_kept;
	uint64_t slabs_torn;   // slabs that begin, but are not whole
	uint64_t vain_bytes;   // of these, as they claim: more than a few times the size are not gone through
	uint64_t padded_bytes; // covered by PAD blocks
	uint64_t cut_bytes;    // cut off
	uint64_t end_bytes;    // of the recovered file
	uint32_t interfaces;
	uint32_t rebuilt_interfaces; // whose description was lost, and is made up
	bool rebuilt_section;	     // the section header was lost, and is made up
	uint32_t statistics;	     // ISBs appended
	bool changed;		     // the file was, or with dry_run would be, written to
	uint32_t n_rings;
	struct tl_recover_ring *rings;
};

// Returns 0, or a sentence and -EMEDIUMTYPE (another program's file) or -ENOMSG (no recording, or nothing whole of
// one), both untouched, -ECANCELED, -ENOMEM, or -errno of the io. The report is to be freed in either case.
int tl_recover(const struct tl_recover_io *io, const struct tl_recover_opts *opts, struct tl_recover_report *report,
	struct tl_err *err);
void tl_recover_report_fini(struct tl_recover_report *report);

// Slabs missing between those that the file holds.
uint64_t tl_recover_missing(const struct tl_recover_ring *ring);

// ---- files

#define TL_RECOVER_PART ".part" // behind the name of a file that is not complete

// Opens a recording, and locks it like its writer would. Returns the descriptor, or a sentence and -EBUSY (somebody is
// writing it), -ENOMSG (no regular file), or -errno.
int tl_recover_open(const char *path, bool dry_run, struct tl_err *err);

// tl_recover() of an open file. Its time of modification stays.
int tl_recover_fd(int fd, const struct tl_recover_opts *opts, struct tl_recover_report *report, struct tl_err *err);

// Whether an open file says in its beginning that it is a recording of tapline's, of whatever form.
bool tl_recover_is_ours(int fd);
// The same: returns 0, -ENOMSG: it is not, or -errno where that cannot be said.
int tl_recover_check_ours(int fd);

// Whether nothing was recorded in an open file: it is zeros, or has what opens a recording (*out_opened) and behind
// that zeros, or what another file left there.
bool tl_recover_is_blank(int fd, bool *out_opened);

// Tell whether the file has a section header and nothing else: a new one is marked so, before its recording begins.
bool tl_recover_is_only_marked(int fd);

// Moves a file to name, or to the next number that is free: suffix_chars of the name stand behind a number. Its
// directory is forced to the disk. Returns 0 and the name it got, which the caller frees, or -errno.
int tl_recover_publish(const char *from, const char *name, size_t suffix_chars, char **out_name);
