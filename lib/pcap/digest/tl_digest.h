// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// digest: CRC-32C or SHA-256 over each unit of a recording, and over the chain of them (docs/recording.md).
//
// A unit is a single write: the opening blocks of a file with their HEAD, a slab, or other blocks after a HEAD. Its
// digest covers its offset in the file and its bytes, except PAD and check. The check in the HEAD is the beginning of
// the digest. The chain is the digest of the previous chain and the digest of the unit, 32 bytes each, starting from
// zeros.
//
// Threads: any, once tl_digest_prepare() has returned. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

#define TL_DIGEST_BYTES 32u
#define TL_DIGEST_CHAIN_BYTES 68u // size of a CHAIN block

struct tl_digest {
	uint8_t byte[TL_DIGEST_BYTES]; // CRC-32C: little endian, then zeros
};

struct tl_digest_chain {
	enum tl_digest_kind kind;
	uint64_t units;
	uint64_t end_bytes; // end of the last unit
	struct tl_digest digest;
};

// Initialize the library that computes SHA-256. Before other threads use it.
void tl_digest_prepare(void);

// "none", "crc32c", "sha256"
const char *tl_digest_name(enum tl_digest_kind kind);

// Compute the SHA-256 and the size of a regular file. Return 0, -EINVAL: not a regular file, or another -errno. Reads
// the whole file.
int tl_digest_file(const char *path, struct tl_digest *out, uint64_t *out_bytes);

// Digest of the unit of bytes, without its PAD, that lies at this offset and whose HEAD is at head_at in it.
struct tl_digest tl_digest_unit(
	enum tl_digest_kind kind, const void *unit, uint32_t bytes, uint32_t head_at, uint64_t offset);

// Return the digest's check for a HEAD.
uint64_t tl_digest_check(const struct tl_digest *digest);

// Check whether the check of a slab, or of blocks after a HEAD, is right, of any kind. A missing check is right; so is
// that of a HEAD alone, whose unit precedes it.
bool tl_digest_is_right(const struct tl_pcapng_head *head, const void *unit, uint64_t offset);

// Add the unit that ends at this offset.
void tl_digest_chain_add(struct tl_digest_chain *chain, const struct tl_digest *unit, uint64_t end_bytes);

// Write the CHAIN block: TL_DIGEST_CHAIN_BYTES.
void tl_digest_chain_put(void *buf, const struct tl_digest_chain *chain);

// Read a CHAIN block. Return 0, or -EINVAL: the size bytes at buf are not one.
int tl_digest_chain_get(const void *buf, uint32_t size, struct tl_digest_chain *out);

bool tl_digest_same_chain(const struct tl_digest_chain *a, const struct tl_digest_chain *b);
