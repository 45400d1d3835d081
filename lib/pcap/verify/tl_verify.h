// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// verify: checks a recording against the digests written into it (tl_digest.h), and reports the byte ranges that have
// changed.
//
// Threads: any; one per file. Memory: a buffer of some MiB while it runs; the report is the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

struct tl_err;

#define TL_VERIFY_RANGES 64 // limit of damaged ranges in a report; more are counted

enum tl_verify_outcome {
	TL_VERIFY_GOOD,	      // every byte is as written
	TL_VERIFY_DAMAGED,    // some are not
	TL_VERIFY_INCOMPLETE, // no damage found, but the file was not closed: it is being written, or was truncated
	TL_VERIFY_RECOVERED,  // the same, and a recovery covered damage or closed it
	TL_VERIFY_NO_DIGESTS, // written without digests
	TL_VERIFY_BLANK,      // empty, or zeros where a recording begins: the disk may have lost it
	TL_VERIFY_FOREIGN,    // not a recording of tapline's
	TL_VERIFY_OUTCOMES
};

struct tl_verify_io {
	void *ctx;
	uint64_t size_bytes;
	int (*read)(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes); // read all bytes, or -errno
};

struct tl_verify_opts {
	void (*progress)(void *ctx, uint64_t done_bytes, uint64_t size_bytes); // called periodically; or NULL
	void *ctx;
};

struct tl_verify_range {
	uint64_t from, to; // bytes: from <= offset < to
};

struct tl_verify_report {
	enum tl_verify_outcome outcome;
	enum tl_digest_kind kind;
	uint64_t size_bytes;
	uint64_t good_bytes;	// in units with a right digest
	uint64_t units;		// good units
	uint64_t slabs;		// good slabs
	uint64_t records;	// records in good slabs
	uint64_t covered_bytes; // written by a recovery, without digests
	uint64_t damaged_bytes;
	uint64_t chain_end_bytes; // end of the consecutive good units from the beginning
	bool closed;		  // the digest of the file is present
	bool chain_broken;	  // all units are good, but differ from those in the digest of the file
	uint32_t ranges;
	struct tl_verify_range range[TL_VERIFY_RANGES]; // the first ranges, ascending
};

// "good", "damaged", ...
const char *tl_verify_outcome_name(enum tl_verify_outcome outcome);

// Verify a recording. Return 0 with the report, -ENOMEM, or -errno of read with a message.
int tl_verify(const struct tl_verify_io *io, const struct tl_verify_opts *opts, struct tl_verify_report *report,
	struct tl_err *err);

// Same for an open file.
int tl_verify_fd(int fd, const struct tl_verify_opts *opts, struct tl_verify_report *report, struct tl_err *err);
