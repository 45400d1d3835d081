// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// digest: CRC-32C or SHA-256 over each unit of a recording, and over the chain of them (docs/recording.md).
//
// A unit is what is written at once: the blocks that open a file with their HEAD, a slab, or other blocks behind a
// HEAD. Its digest covers its offset in the file and its bytes, PAD and check excluded. The check in the HEAD is the
// beginning of it. The chain is the digest of the chain before and the digest of the unit, 32 bytes each, from zeros
// on.
//
// Threads: any, once tl_digest_prepare() has returned. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

#define TL_DIGEST_BYTES 32u
#define TL_DIGEST_CHAIN_BYTES 68u // of a CHAIN block

struct tl_digest {
	uint8_t byte[TL_DIGEST_BYTES]; // CRC-32C: little endian, then zeros
};

struct tl_digest_chain {
	enum tl_digest_kind kind;
	uint64_t units;
	uint64_t end_bytes; // behind the last unit
	struct tl_digest digest;
};

// Prepares the library that computes SHA-256: before other threads do.
void tl_digest_prepare(void);

// "none", "crc32c", "sha256"
const char *tl_digest_name(enum tl_digest_kind kind);

// SHA-256 of a regular file, from its beginning to its end, and how many bytes these are. Returns 0, -EINVAL: it is no
// regular file, or another -errno. It reads the whole file.
int tl_digest_file(const char *path, struct tl_digest *out, uint64_t *out_bytes);

// Digest of the unit of bytes, without its PAD, that lies at this offset and whose HEAD is at head_at in it.
struct tl_digest tl_digest_unit(
	enum tl_digest_kind kind, const void *unit, uint32_t bytes, uint32_t head_at, uint64_t offset);

// The check that a HEAD has of it.
uint64_t tl_digest_check(const struct tl_digest *digest);

// Tell whether the check of a slab, or of blocks behind a HEAD, is right, of whatever kind. One without is right; so is
// that of a HEAD alone, whose unit is before it.
bool tl_digest_is_right(const struct tl_pcapng_head *head, const void *unit, uint64_t offset);

// Adds the unit that ends at this offset.
void tl_digest_chain_add(struct tl_digest_chain *chain, const struct tl_digest *unit, uint64_t end_bytes);

// The CHAIN block: TL_DIGEST_CHAIN_BYTES.
void tl_digest_chain_put(void *buf, const struct tl_digest_chain *chain);

// Returns 0, or -EINVAL: the size bytes at buf are no CHAIN block.
int tl_digest_chain_get(const void *buf, uint32_t size, struct tl_digest_chain *out);

bool tl_digest_same_chain(const struct tl_digest_chain *a, const struct tl_digest_chain *b);
