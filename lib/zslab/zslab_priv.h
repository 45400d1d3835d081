// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The skippable frames of a unit.

#include <tl_zslab.h>

// RFC 8878 section 3.1.2: sixteen magic numbers, their content the user's; these two are ours.
#define ZSLAB_MAGIC_PAD 0x184D2A50u
#define ZSLAB_MAGIC_HEAD 0x184D2A54u
#define ZSLAB_SKIP_BYTES 8u // magic, length of the content

// Little endian, no holes. docs/recording.md shows it.
struct zslab_head {
	uint32_t magic;
	uint32_t content_bytes; // what follows
	uint8_t head[TL_PCAPNG_HEAD_BYTES];
	uint32_t frame_bytes; // of the zstd frame, which comes next
	uint32_t unit_bytes;  // with this, the zstd frame and the padding
	uint64_t reserved;    // 0
};

_Static_assert(sizeof(struct zslab_head) == TL_ZSLAB_HEAD_BYTES, "HEAD has no holes");
