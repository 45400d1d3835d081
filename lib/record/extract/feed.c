// SPDX-License-Identifier: BSD-3-Clause
// Input files for readers that process them from start to end.

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_extract_feed.h>

struct tl_extract_feed {
	struct extract_input input;
	struct extract_stream *stream; // compressed: the content; NULL: the file is not
};

static int fail(const struct tl_extract_feed *feed, int rc, struct tl_err *err)
{
	return tl_fail(err, rc, "%.300s: cannot read: %s", feed->input.path, strerror(-rc));
}

static int unpack_if_packed(struct tl_extract_feed *feed)
{
	const uint8_t *data;
	size_t got;

	int rc = extract_input_raw(&feed->input, 0, sizeof(uint32_t), &data, &got);
	if (rc != 0 || !extract_stream_is(data, got))
		return rc;
	feed->stream = extract_stream_open();
	return feed->stream != NULL ? 0 : -ENOMEM;
}

int tl_extract_feed_open(const char *path, struct tl_ahead *ahead, struct tl_extract_feed **out, struct tl_err *err)
{
	struct tl_extract_feed *feed = calloc(1, sizeof(*feed));

	if (feed == NULL)
		return tl_fail(err, -ENOMEM, "%.300s: no memory to read it", path);
	int rc = extract_input_open(&feed->input, NULL, path);
	if (rc != 0) {
		free(feed);
		return tl_fail(
			err, rc, "%.300s: cannot read: %s", path, rc == -EINVAL ? "not a regular file" : strerror(-rc));
	}
	extract_input_read_ahead(&feed->input, ahead);
	rc = unpack_if_packed(feed);
	if (rc != 0) {
		fail(feed, rc, err);
		tl_extract_feed_close(feed);
		return rc;
	}
	*out = feed;
	return 0;
}

int tl_extract_feed_get(
	struct tl_extract_feed *feed, uint64_t offset, size_t len, const uint8_t **out, size_t *got, struct tl_err *err)
{
	struct extract_input *input = &feed->input;
	int rc = feed->stream != NULL ? extract_stream_get(feed->stream, input, offset, len, out, got)
				      : extract_input_raw(input, offset, len, out, got);

	return rc == 0 ? 0 : fail(feed, rc, err);
}

bool tl_extract_feed_is_end(const struct tl_extract_feed *feed, uint64_t offset)
{
	return feed->stream != NULL ? extract_stream_is_end(feed->stream, offset)
				    : extract_input_is_end(&feed->input, offset);
}

int tl_extract_feed_error(const struct tl_extract_feed *feed, const char **why)
{
	*why = feed->stream != NULL ? extract_stream_why(feed->stream) : NULL;
	if (feed->input.broken != 0)
		*why = strerror(-feed->input.broken);
	else if (*why == NULL)
		*why = "the file became shorter";
	return feed->input.broken != 0 ? feed->input.broken : -EINVAL;
}

uint64_t tl_extract_feed_bytes(const struct tl_extract_feed *feed)
{
	return feed->stream == NULL ? feed->input.file_bytes : 0;
}

void tl_extract_feed_close(struct tl_extract_feed *feed)
{
	if (feed == NULL)
		return;
	extract_stream_close(feed->stream);
	extract_input_close(&feed->input);
	free(feed);
}
