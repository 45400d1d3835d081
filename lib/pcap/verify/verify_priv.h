// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// verify_priv: what the files of this module share.
//
//   verify.c       goes from unit to unit, and names what is between those that are good
//   verify_unit.c  whether a unit is good

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_verify.h>

#define UNIT_BYTES_MAX ((4u << 20) + TL_PCAPNG_ALIGN) // as a slab (tl_slab.h), with its PAD
#define OPENING_BYTES_MAX (128u << 10)		      // more than the blocks that open a file have

// A unit that begins at an offset, as its HEAD says.
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
	uint64_t file;	 // that the HEADs name; 0: not known yet
	struct tl_digest_chain chain;
};

// Reads so many bytes at the offset into the buffer. Returns 0 or -errno with a sentence.
int verify_read(struct check *check, uint64_t offset, uint32_t bytes);

// Looks at the HEAD at the offset. Returns 1 with the unit as it claims to be, 0: there is none of this file, or
// -errno.
int verify_look(struct check *check, uint64_t offset, struct unit *out);

// Reads a unit that was looked at into the buffer, and computes its digest. Returns 1 if it is good, 0, or -errno.
int verify_unit(struct check *check, uint64_t offset, struct unit *unit);

// The same of the blocks that open the file, at offset 0.
int verify_opening(struct check *check, struct unit *out);

// Tell whether the unit in the buffer has a CHAIN block.
bool verify_find_chain(const struct check *check, const struct unit *unit, struct tl_digest_chain *out);
