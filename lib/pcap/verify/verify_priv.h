// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// verify_priv: declarations shared by the files of this module.
//
//   verify.c       walk from unit to unit, and report of the ranges between good ones
//   verify_unit.c  check of a unit

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_verify.h>

#define UNIT_BYTES_MAX ((4u << 20) + TL_PCAPNG_ALIGN) // size of a slab (tl_slab.h), with its PAD
#define OPENING_BYTES_MAX (128u << 10)		      // more than the opening blocks of a file

// Unit at an offset, according to its HEAD.
struct unit {
	struct tl_pcapng_head head;
	uint32_t head_at;
	uint32_t used_bytes;  // without its PAD
	uint32_t total_bytes; // with it
	struct tl_digest digest;
};

struct check {
	const struct tl_verify_io *io;
	const struct tl_verify_opts *opts;
	struct tl_verify_report *report;
	struct tl_err *err;
	uint8_t *buffer; // UNIT_BYTES_MAX, or all of a smaller file
	uint64_t file;	 // file number in the HEADs; 0: not known yet
	struct tl_digest_chain chain;
};

// Read bytes at the offset into the buffer. Return 0 or -errno with a message.
int verify_read(struct check *check, uint64_t offset, uint32_t bytes);

// Parse the HEAD at the offset. Return 1 with the unit as claimed by it, 0: no HEAD of this file, or -errno.
int verify_look(struct check *check, uint64_t offset, struct unit *out);

// Read a parsed unit into the buffer, and compute its digest. Return 1 if it is good, 0, or -errno.
int verify_unit(struct check *check, uint64_t offset, struct unit *unit);

// Same for the opening blocks of the file, at offset 0.
int verify_opening(struct check *check, struct unit *out);

// Check whether the unit in the buffer has a CHAIN block.
bool verify_find_chain(const struct check *check, const struct unit *unit, struct tl_digest_chain *out);
