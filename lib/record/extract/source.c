// SPDX-License-Identifier: BSD-3-Clause
// Reader of a capture file through a sliding window: memory is bounded, and truncation of the file during the read is
// an error instead of a signal.

#include <tl_extract_source.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <tl_ahead.h>
#include <tl_err.h>
#include <tl_extract_feed.h>

#define WINDOW_BYTES (1u << 20)

// Read the window that begins at this offset.
static int look(struct tl_extract_source *s, uint64_t offset, const uint8_t **data, size_t *got, struct tl_err *err)
{
	int rc = tl_extract_feed_get(s->feed, offset, s->window, data, got, err);

	if (rc != 0)
		return rc;
	s->at = offset;
	s->last = *got < s->window;
	s->cut = s->last && !tl_extract_feed_is_end(s->feed, offset + *got);
	return 0;
}

static int fail_cut(const struct tl_extract_source *s, uint64_t offset, struct tl_err *err)
{
	const char *why;
	int rc = tl_extract_feed_error(s->feed, &why);

	return tl_fail(err, rc, "%s, byte %" PRIu64 ": cannot be read from here on: %s", s->path, offset, why);
}

// Open a reader on the window. The start of a file, up to its first frame, may be longer than a window.
static int open_reader(struct tl_extract_source *s, struct tl_err *err)
{
	const uint8_t *data;
	size_t got;
	int rc;

	for (;; s->window *= 2) {
		rc = look(s, 0, &data, &got, err);
		if (rc != 0)
			return rc;
		if (got == 0)
			return s->cut ? fail_cut(s, 0, err) : tl_fail(err, -EINVAL, "%s: the file is empty", s->path);
		rc = tl_pcap_open_window(data, got, s->path, &s->reader, err);
		if (rc == 0 || s->last || s->window == TL_EXTRACT_FEED_MAX)
			return rc;
	}
}

int tl_extract_source_open_ahead(
	struct tl_extract_source *source, const char *path, struct tl_ahead *ahead, struct tl_err *err)
{
	size_t window = ahead != NULL ? tl_ahead_slab_bytes(ahead) : WINDOW_BYTES;

	*source = (struct tl_extract_source){.path = path, .window = window, .least = window};
	int rc = tl_extract_feed_open(path, ahead, &source->feed, err);
	if (rc != 0)
		return rc;
	rc = open_reader(source, err);
	if (rc != 0)
		tl_extract_source_close(source);
	return rc;
}

int tl_extract_source_open(struct tl_extract_source *source, const char *path, struct tl_err *err)
{
	return tl_extract_source_open_ahead(source, path, NULL, err);
}

// Move the window to the start of a partial record; enlarge it if it already begins there. Return 0, 1: no more data,
// or -errno.
static int move(struct tl_extract_source *s, uint64_t offset, struct tl_err *err)
{
	const uint8_t *data;
	size_t got;

	if (s->last)
		return 1;
	if (offset != s->at)
		s->window = s->least;
	else if (s->window == TL_EXTRACT_FEED_MAX)
		return 1;
	else
		s->window *= 2;
	int rc = look(s, offset, &data, &got, err);
	if (rc == 0)
		tl_pcap_move(s->reader, data, got, offset);
	return rc;
}

int tl_extract_source_next(struct tl_extract_source *source, struct tl_pcap_frame *out, struct tl_err *err)
{
	for (;;) {
		int rc = tl_pcap_next(source->reader, out, err);
		if (rc == 1)
			return 1;
		source->wrong_at = rc < 0 ? tl_pcap_fault_offset(source->reader) : tl_pcap_offset(source->reader);
		if (!tl_pcap_needs_more(source->reader))
			return rc;
		int moved = move(source, tl_pcap_offset(source->reader), err);
		if (moved < 0)
			return moved;
		if (moved == 1)
			return source->cut ? fail_cut(source, source->wrong_at, err) : rc;
	}
}

bool tl_extract_source_skip(struct tl_extract_source *source)
{
	return tl_pcap_skip(source->reader);
}

uint64_t tl_extract_source_bytes(const struct tl_extract_source *source)
{
	return tl_extract_feed_bytes(source->feed);
}

uint64_t tl_extract_source_offset(const struct tl_extract_source *source)
{
	return tl_pcap_offset(source->reader);
}

void tl_extract_source_close(struct tl_extract_source *source)
{
	tl_pcap_close(source->reader);
	tl_extract_feed_close(source->feed);
	source->reader = NULL;
	source->feed = NULL;
}
