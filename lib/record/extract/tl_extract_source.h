// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract_source: the frames of a capture file of any size and link type, in file order: pcap and pcapng, also
// compressed (tl_extract_feed.h). It reads through a sliding window: memory is bounded, and truncation of the file
// during the read is an error instead of a signal.
//
// Threads: one per source. Memory: a window of 1 MiB, or a slab of the memory that reads ahead, up to
// TL_EXTRACT_FEED_MAX for a longer record.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_pcapfile.h>

struct tl_ahead;
struct tl_err;
struct tl_extract_feed;

// Fields are private except wrong_at.
struct tl_extract_source {
	struct tl_extract_feed *feed;
	struct tl_pcap_reader *reader;
	const char *path;
	uint64_t at;	   // offset of the window in the file
	size_t window;	   // bytes requested
	size_t least;	   // of them
	bool last;	   // the window reaches the end of the readable data
	bool cut;	   // the readable data ends before the end of the file
	uint64_t wrong_at; // offset of an error
};

// List the capture files in a directory, in the order of their names, without hidden ones. Return 0, or -errno with a
// message. The caller frees the paths and the list.
int tl_extract_directory(const char *path, char ***out, size_t *out_n, struct tl_err *err);

// True if a file that cannot be opened below may be a damaged capture: it is empty, ends within its first word, or
// begins like a capture or a compressed file.
bool tl_extract_may_be_capture(const char *path);

// Open a file, whose path is borrowed until close, and read its header. Return 0, or -errno with a message.
int tl_extract_source_open(struct tl_extract_source *source, const char *path, struct tl_err *err);
// The same, read ahead; ahead is borrowed until close. NULL: when it is needed.
int tl_extract_source_open_ahead(
	struct tl_extract_source *source, const char *path, struct tl_ahead *ahead, struct tl_err *err);
// Read the next record. Return 1 with *out, valid until the next call; 0 at the end of the file; or -errno with a
// message.
int tl_extract_source_next(struct tl_extract_source *source, struct tl_pcap_frame *out, struct tl_err *err);
// Continue after an error with the next record, if the end of the bad one is known. False: it is not.
bool tl_extract_source_skip(struct tl_extract_source *source);
// Return the length of the file's content, 0: unknown; and the offset of the next record in it.
uint64_t tl_extract_source_bytes(const struct tl_extract_source *source);
uint64_t tl_extract_source_offset(const struct tl_extract_source *source);
void tl_extract_source_close(struct tl_extract_source *source);
