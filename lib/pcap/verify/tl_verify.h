// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// verify: checks a recording against the digests that its writer put into it (tl_digest.h), and names the ranges of
// bytes that are not as they were written.
//
// Threads: any; one per file. Memory: a buffer of some MiB while it runs; the report is the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

struct tl_err;

#define TL_VERIFY_RANGES 64 // of damage that a report names; more are counted

enum tl_verify_outcome {
	TL_VERIFY_GOOD,	      // every byte is as it was written
	TL_VERIFY_DAMAGED,    // some are not
	TL_VERIFY_INCOMPLETE, // what is there is good, but the file was not closed: it is being written, or was cut off
	TL_VERIFY_RECOVERED,  // the same, and a recovery covered damage or closed it
	TL_VERIFY_NO_DIGESTS, // written without them
	TL_VERIFY_FOREIGN,    // no recording of tapline's
	TL_VERIFY_OUTCOMES
};

struct tl_verify_io {
	void *ctx;
	uint64_t size_bytes;
	int (*read)(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes); // all of it, or -errno
};

struct tl_verify_opts {
	void (*progress)(void *ctx, uint64_t done_bytes, uint64_t size_bytes); // now and then; or NULL
	void *ctx;
};

struct tl_verify_range {
	uint64_t from, to; // bytes: from <= offset < to
};

struct tl_verify_report {
	enum tl_verify_outcome outcome;
	enum tl_digest_kind kind;
	uint64_t size_bytes;
	uint64_t good_bytes;	// in units whose digest is right
	uint64_t units;		// of these
	uint64_t slabs;		// of these
	uint64_t records;	// in these slabs
	uint64_t covered_bytes; // written by a recovery, which makes no digests
	uint64_t damaged_bytes;
	uint64_t chain_end_bytes; // where good units that follow each other from the beginning end
	bool closed;		  // the digest of the file is there
	bool chain_broken;	  // all units are good, but they are not those that the file was closed with
	uint32_t ranges;
	struct tl_verify_range range[TL_VERIFY_RANGES]; // the first so many, ascending
};

// "good", "damaged", ...
const char *tl_verify_outcome_name(enum tl_verify_outcome outcome);

// Returns 0 with the report, -ENOMEM, or -errno of read with a sentence.
int tl_verify(const struct tl_verify_io *io, const struct tl_verify_opts *opts, struct tl_verify_report *report,
	struct tl_err *err);

// The same of an open file.
int tl_verify_fd(int fd, const struct tl_verify_opts *opts, struct tl_verify_report *report, struct tl_err *err);
