// SPDX-License-Identifier: BSD-3-Clause
// Input files for readers that process them from start to end.

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_extract_feed.h>

struct tl_extract_feed {
	struct extract_input input;
};

static int fail(const struct tl_extract_feed *feed, int rc, struct tl_err *err)
{
	return tl_fail(err, rc, "%.300s: cannot read: %s", feed->input.path, strerror(-rc));
}

// Detect a compressed file by its first bytes, as extract does.
static int unpack_if_packed(struct tl_extract_feed *feed)
{
	const uint8_t *data;
	uint32_t magic = 0;
	size_t got;

	int rc = extract_input_raw(&feed->input, 0, sizeof(magic), &data, &got);
	if (rc != 0)
		return rc;
	if (got == sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	return magic == EXTRACT_PACKED_MAGIC ? extract_packed_open(&feed->input) : 0;
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
	int rc = extract_input_get(&feed->input, offset, len, out, got);

	return rc == 0 ? 0 : fail(feed, rc, err);
}

bool tl_extract_feed_is_end(const struct tl_extract_feed *feed, uint64_t offset)
{
	return extract_input_is_end(&feed->input, offset);
}

int tl_extract_feed_error(const struct tl_extract_feed *feed)
{
	return feed->input.broken;
}

uint64_t tl_extract_feed_bytes(const struct tl_extract_feed *feed)
{
	return feed->input.packed == NULL ? feed->input.file_bytes : 0;
}

void tl_extract_feed_close(struct tl_extract_feed *feed)
{
	if (feed == NULL)
		return;
	extract_input_close(&feed->input);
	free(feed);
}
