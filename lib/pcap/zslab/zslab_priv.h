// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Skippable frames of a unit.

#include <tl_zslab.h>

// Two of the sixteen magic numbers for user content (RFC 8878, section 3.1.2).
#define ZSLAB_MAGIC_PAD 0x184D2A50u
#define ZSLAB_MAGIC_HEAD 0x184D2A54u
#define ZSLAB_SKIP_BYTES 8u // magic, content length

// Little endian, no holes; documented in docs/recording.md.
struct zslab_head {
	uint32_t magic;
	uint32_t content_bytes; // bytes that follow
	uint8_t head[TL_PCAPNG_HEAD_BYTES];
	uint32_t frame_bytes; // zstd frame, which follows
	uint32_t unit_bytes;  // this frame, the zstd frame and the padding
	uint64_t reserved;    // 0
};

_Static_assert(sizeof(struct zslab_head) == TL_ZSLAB_HEAD_BYTES, "HEAD has no holes");
