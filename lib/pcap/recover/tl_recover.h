// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recover: repairs a recording after a crash, in place. Damage is covered by PAD blocks, of which only both ends are
// written: no data is moved, and no whole record is changed. The file is truncated after the last whole slab, and
// missing statistics are appended. In a compressed recording (tl_zslab.h) skippable frames cover the damage. Classic
// pcap is truncated before the first incomplete record.
//
// A recovery may be killed, or lose power, at any moment: the next one produces the same file. An intact file is not
// written to, nor one that is not ours.
//
// Threads: any; one per file. Memory: the report's lists are freed by tl_recover_report_fini(); while it runs, a window
//          of at most 8 MiB.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;

// Access to the recording. Each call does all of it or returns -errno.
struct tl_recover_io {
	void *ctx;
	uint64_t size_bytes;
	int (*read)(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes);
	int (*write)(void *ctx, const void *buf, uint32_t len_bytes, uint64_t offset_bytes);
	int (*cut)(void *ctx, uint64_t size_bytes);
	int (*sync)(void *ctx);
	// Next offset with possible data, at the offset or later; zeros before it. NULL: not supported.
	uint64_t (*next_data)(void *ctx, uint64_t offset_bytes);
};

struct tl_recover_opts {
	bool dry_run; // check only
	// Called from time to time during the scan. Other than 0: stop with -ECANCELED, nothing written. May be NULL.
	int (*progress)(void *ctx, uint64_t done_bytes, uint64_t size_bytes);
	void *ctx;
};

// Slabs from first to last, inclusive.
struct tl_recover_range {
	uint64_t first, last;
};

// Slabs of one ring of one run in the file. Those between two ranges are missing.
struct tl_recover_ring {
	uint64_t run_id;
	uint32_t ring;
	uint32_t n;
	size_t capacity;
	struct tl_recover_range *kept; // ascending
};

struct tl_recover_report {
	uint64_t size_bytes; // before
	uint64_t slabs_kept;
	uint64_t records_kept;
	uint64_t doubtful_records; // classic pcap: cut off, as their end may be lost bytes; at offset doubtful_at
	uint64_t doubtful_at;
	uint64_t slabs_torn;   // incomplete slabs
	uint64_t vain_bytes;   // size of these by their headers; beyond a multiple of the file's size they are not
			       // searched
	uint64_t padded_bytes; // covered by PAD blocks
	uint64_t cut_bytes;    // truncated
	uint64_t end_bytes;    // size of the recovered file
	uint32_t interfaces;
	uint32_t rebuilt_interfaces; // interfaces with a rebuilt description
	bool rebuilt_section;	     // the section header was rebuilt
	uint32_t statistics;	     // ISBs appended
	bool changed;		     // the file was written to, or would be with dry_run
	uint32_t n_rings;
	struct tl_recover_ring *rings;
};

// Recover a recording. Return 0, or a message and -EMEDIUMTYPE (another program's file) or -ENOMSG (not a recording, or
// nothing whole in it), both untouched, -ECANCELED, -ENOMEM, or -errno of the io. Free the report in either case.
int tl_recover(const struct tl_recover_io *io, const struct tl_recover_opts *opts, struct tl_recover_report *report,
	struct tl_err *err);
void tl_recover_report_fini(struct tl_recover_report *report);

// Number of slabs missing between the ranges.
uint64_t tl_recover_missing(const struct tl_recover_ring *ring);

// ---- files

#define TL_RECOVER_PART ".part" // suffix of an incomplete file's name

// Open a recording, with the lock of a writer. Return the descriptor, or a message and -EBUSY (being written), -ENOMSG
// (not a regular file), or -errno.
int tl_recover_open(const char *path, bool dry_run, struct tl_err *err);

// tl_recover() of an open file. Its modification time is kept.
int tl_recover_fd(int fd, const struct tl_recover_opts *opts, struct tl_recover_report *report, struct tl_err *err);

// True if the start of an open file identifies a recording of tapline's, of any form.
bool tl_recover_is_ours(int fd);
// The same check: return 0, -ENOMSG: not ours, or -errno if unknown.
int tl_recover_check_ours(int fd);

// True if nothing was recorded in an open file: it is zeros, or has opening blocks (*out_opened) followed by zeros or
// by data of another file.
bool tl_recover_is_blank(int fd, bool *out_opened);

// True if the file has only a section header, the mark of a new file before its recording begins.
bool tl_recover_is_only_marked(int fd);

// Rename a file to name, or to the next free number: suffix_chars of the name follow the number. Its directory is
// synced. Return 0 and the new name, which the caller frees, or -errno.
int tl_recover_publish(const char *from, const char *name, size_t suffix_chars, char **out_name);
