// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// zslab: a recording's slabs, compressed one by one with zstd (RFC 8878), so that any of them can be read without the
// others. A file is units, each a multiple of 4096 bytes long:
//
//   blocks  [zstd frame: blocks][skippable frame: padding]                               opens and closes a file
//   slab    [skippable frame: HEAD][zstd frame: the sealed slab][skippable frame: padding]
//   nothing [skippable frame: padding]                                                   where recovery covered damage
//
// All zstd frames say how long their content is, and have a checksum. What comes out of them, one after another, is the
// recording as it would be without compression, byte for byte. A file begins with a unit of blocks, so with the magic
// number of a zstd frame, which is what programs know a compressed file by.
//
// Threads: any; a packer or an unpacker is used by one at a time. Memory: create/destroy; the rest is the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_pcapfile.h>

#define TL_ZSLAB_LEVEL_MAX 19

struct tl_zslab_packer;	  // opaque
struct tl_zslab_unpacker; // opaque

// What stands at the beginning of some bytes.
struct tl_zslab_unit {
	bool slab;		    // else blocks, or nothing: content_bytes is 0
	struct tl_pcapng_head head; // of a slab
	uint32_t frame_at;	    // the zstd frame: where, how long, and how long its content is
	uint32_t frame_bytes;
	uint32_t content_bytes;
	uint32_t unit_bytes; // the next unit begins here
};

// Returns NULL without memory. level: 1 (fast) .. TL_ZSLAB_LEVEL_MAX.
struct tl_zslab_packer *tl_zslab_packer_create(int level);
void tl_zslab_packer_destroy(struct tl_zslab_packer *packer);

// The most bytes that a unit can have whose content has content_bytes.
uint32_t tl_zslab_bound(uint32_t content_bytes);

// Compresses a sealed slab: HEAD, records, PAD. Returns the bytes of the unit, -EINVAL (it does not begin with a HEAD)
// or -ENOBUFS (never with tl_zslab_bound() of room).
int64_t tl_zslab_pack(
	struct tl_zslab_packer *packer, const void *slab, uint32_t sealed_bytes, void *out, uint32_t size);

// The same for the blocks that open or close a file.
int64_t tl_zslab_pack_blocks(
	struct tl_zslab_packer *packer, const void *blocks, uint32_t bytes, void *out, uint32_t size);

// The beginning of a unit of nothing, unit_bytes long: the rest of it may be anything. unit_bytes is a multiple of
// 4096.
#define TL_ZSLAB_PAD_BYTES 8u
void tl_zslab_put_pad(void *out, uint32_t unit_bytes);

// Only the HEAD at the beginning of a slab's unit, of which the first TL_ZSLAB_HEAD_BYTES are enough: to find slabs on
// boundaries of 4096 bytes, and from one to the next. Returns 0 with all but content_bytes set, or -EINVAL.
#define TL_ZSLAB_HEAD_BYTES 88u
int tl_zslab_get_head(const void *buf, uint64_t size, struct tl_zslab_unit *out);

// Returns 0, or -EINVAL: no unit begins here, or none that is whole within size. Only padding may be missing at the
// end: unit_bytes is then what is there, but for a unit of nothing, which is looked at no further.
int tl_zslab_look(const void *buf, uint64_t size, struct tl_zslab_unit *out);

// NULL without memory.
struct tl_zslab_unpacker *tl_zslab_unpacker_create(void);
void tl_zslab_unpacker_destroy(struct tl_zslab_unpacker *unpacker);

// The content of the unit at buf that tl_zslab_look() found. Returns content_bytes, -ENOBUFS (more than size), or
// -EBADMSG (broken: its checksum does not match, or a slab is not the one that HEAD announces).
int64_t tl_zslab_unpack(struct tl_zslab_unpacker *unpacker, const void *buf, const struct tl_zslab_unit *unit,
	void *out, uint32_t size);
