// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract_feed: reads a recording, or any other capture file, of any size, from start to end. A file compressed with
// zstd, by a recording or by another program, is read as its uncompressed content.
//
// Threads: one per feed. Memory: open/close; the largest length requested, for a compressed file also the window of its
// frames, up to 128 MiB (RFC 8878, section 3.1.1.1.2): longer ones are refused.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_ahead;
struct tl_err;
struct tl_extract_feed; // opaque

#define TL_EXTRACT_FEED_MAX (16u << 20) // limit of the length of a request

// Open a regular file; path is borrowed until close, and so is ahead, which reads it ahead; NULL: nothing does. Return
// 0, or -errno with a message.
int tl_extract_feed_open(const char *path, struct tl_ahead *ahead, struct tl_extract_feed **out, struct tl_err *err);

// Read len bytes at this offset, which must not decrease: *got of them, fewer only if no more can be read. Valid until
// the next call. Return 0, or -errno with a message.
int tl_extract_feed_get(struct tl_extract_feed *feed, uint64_t offset, size_t len, const uint8_t **out, size_t *got,
	struct tl_err *err);

// Return why no more data follows the last bytes of tl_extract_feed_get(), and not the end of the file: the -errno of
// the read, or -EINVAL: truncated or damaged. *why: the reason as text, static, or valid until the next strerror().
int tl_extract_feed_error(const struct tl_extract_feed *feed, const char **why);

// True if this offset is the end of the file; otherwise the missing data is due to truncation of the file, or to
// damaged compressed data.
bool tl_extract_feed_is_end(const struct tl_extract_feed *feed, uint64_t offset);

// Return the length of the content; 0: unknown, of a compressed file.
uint64_t tl_extract_feed_bytes(const struct tl_extract_feed *feed);

void tl_extract_feed_close(struct tl_extract_feed *feed);
