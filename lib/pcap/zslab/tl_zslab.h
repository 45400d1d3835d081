// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// zslab: slabs of a recording, compressed one by one with zstd (RFC 8878), so that each can be read alone. A file is a
// sequence of units, each a multiple of 4096 bytes long:
//
//   blocks  [zstd frame: blocks][skippable frame: padding]                               opens and closes a file
//   slab    [skippable frame: HEAD][zstd frame: the sealed slab][skippable frame: padding]
//   empty   [skippable frame: padding]                                                   damage covered by recovery
//
// Every zstd frame states the length of its content and has a checksum. Their contents, concatenated, are the
// uncompressed recording, byte for byte. A file begins with a unit of blocks, and so with the magic number of a zstd
// frame, by which programs recognize a compressed file.
//
// Threads: any; a packer or an unpacker is used by one at a time. Memory: create/destroy; the rest is the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

#define TL_ZSLAB_LEVEL_MAX 19

struct tl_zslab_packer;	  // opaque
struct tl_zslab_unpacker; // opaque

// The unit at the start of a buffer.
struct tl_zslab_unit {
	bool slab;		    // false: blocks, or an empty unit: content_bytes is 0
	struct tl_pcapng_head head; // HEAD of a slab
	uint32_t frame_at;	    // zstd frame: offset, length, length of its content
	uint32_t frame_bytes;
	uint32_t content_bytes;
	uint32_t unit_bytes; // offset of the next unit
};

// Create a packer. Return NULL if out of memory. level: 1 (fast) .. TL_ZSLAB_LEVEL_MAX.
struct tl_zslab_packer *tl_zslab_packer_create(int level);
void tl_zslab_packer_destroy(struct tl_zslab_packer *packer);

// Largest unit for a content of content_bytes.
uint32_t tl_zslab_bound(uint32_t content_bytes);

// Compress a sealed slab: HEAD, records, PAD. Return the bytes of the unit, -EINVAL (no HEAD at its start) or -ENOBUFS
// (never with tl_zslab_bound() of room).
int64_t tl_zslab_pack(
	struct tl_zslab_packer *packer, const void *slab, uint32_t sealed_bytes, void *out, uint32_t size);

// Compress the blocks that open or close a file.
int64_t tl_zslab_pack_blocks(
	struct tl_zslab_packer *packer, const void *blocks, uint32_t bytes, void *out, uint32_t size);

// Write the start of an empty unit of unit_bytes, a multiple of 4096; its remaining bytes are ignored.
#define TL_ZSLAB_PAD_BYTES 8u
void tl_zslab_put_pad(void *out, uint32_t unit_bytes);

// Parse only the HEAD of a slab's unit, from its first TL_ZSLAB_HEAD_BYTES: to find slabs on 4096-byte boundaries and
// skip from one to the next. Return 0 with all but content_bytes set, or -EINVAL.
#define TL_ZSLAB_HEAD_BYTES 88u
int tl_zslab_get_head(const void *buf, uint64_t size, struct tl_zslab_unit *out);

// Parse the unit at the start of buf. Return 0, or -EINVAL: no unit, or one not whole within size. Padding alone may
// be truncated: unit_bytes is then the available part, except for an empty unit, which is not checked further.
int tl_zslab_look(const void *buf, uint64_t size, struct tl_zslab_unit *out);

// Create an unpacker. Return NULL if out of memory.
struct tl_zslab_unpacker *tl_zslab_unpacker_create(void);
void tl_zslab_unpacker_destroy(struct tl_zslab_unpacker *unpacker);

// Decompress the unit at buf that tl_zslab_look() found. Return content_bytes, -ENOBUFS (more than size), or -EBADMSG
// (checksum mismatch, or a slab other than its HEAD announces).
int64_t tl_zslab_unpack(struct tl_zslab_unpacker *unpacker, const void *buf, const struct tl_zslab_unit *unit,
	void *out, uint32_t size);
