// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract_feed: reads a recording, or any other capture file, from its beginning to its end, whatever its size. A
// compressed recording (tl_zslab.h) is read as what it holds.
//
// Threads: one per feed. Memory: open/close; the largest length asked for, of a compressed recording also its largest
// unit.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;
struct tl_extract_feed; // opaque

#define TL_EXTRACT_FEED_MAX (16u << 20) // longest piece that can be asked for

// Opens a regular file; path is borrowed until close. Returns 0, or -errno and a sentence.
int tl_extract_feed_open(const char *path, struct tl_extract_feed **out, struct tl_err *err);

// Gives len bytes from this offset on, which must not be before the last one: *got of them, fewer only where no more
// can be read. Valid until the next call. Returns 0, or -errno and a sentence.
int tl_extract_feed_get(struct tl_extract_feed *feed, uint64_t offset, size_t len, const uint8_t **out, size_t *got,
	struct tl_err *err);

// True if this offset is the end of the file; elsewhere no more could be read since the file became shorter, or its
// compressed data is damaged.
bool tl_extract_feed_is_end(const struct tl_extract_feed *feed, uint64_t offset);

void tl_extract_feed_close(struct tl_extract_feed *feed);
