// SPDX-License-Identifier: BSD-3-Clause
// Compressed files of any program, read from start to end as their uncompressed content: any number of zstd frames, of
// any length, with skippable frames between them (RFC 8878, section 3.1).

#include "extract_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define READ_BYTES (128u << 10)
#define SKIPPABLE_MAGIC 0x184D2A50u // of 16 consecutive ones (RFC 8878, section 3.1.2)

struct extract_stream {
	ZSTD_DCtx *zstd;
	uint64_t raw_at;  // offset in the file of the next compressed byte
	bool inside;	  // a frame has begun, and its end is missing
	bool ended;	  // no more content can be read
	const char *why;  // reason, if that is not the end of the file
	uint8_t *content; // after what was passed
	size_t capacity, len;
	uint64_t content_at; // offset of content[0] in the uncompressed file
};

bool extract_stream_is(const void *data, size_t size)
{
	uint32_t magic;

	if (size < sizeof(magic))
		return false;
	memcpy(&magic, data, sizeof(magic));
	return magic == EXTRACT_PACKED_MAGIC || (magic & ~0xFu) == SKIPPABLE_MAGIC;
}

struct extract_stream *extract_stream_open(void)
{
	struct extract_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->zstd = ZSTD_createDCtx();
	if (s->zstd == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

void extract_stream_close(struct extract_stream *s)
{
	if (s == NULL)
		return;
	ZSTD_freeDCtx(s->zstd);
	free(s->content);
	free(s);
}

static int make_room(struct extract_stream *s, size_t bytes)
{
	if (bytes <= s->capacity)
		return 0;
	uint8_t *content = realloc(s->content, bytes);
	if (content == NULL)
		return -ENOMEM;
	s->content = content;
	s->capacity = bytes;
	return 0;
}

static void drop_before(struct extract_stream *s, uint64_t offset)
{
	size_t passed = tl_min_u64(offset - s->content_at, s->len);

	if (passed == 0)
		return;
	s->len -= passed;
	memmove(s->content, s->content + passed, s->len);
	s->content_at += passed;
}

static void end(struct extract_stream *s, const char *why)
{
	s->ended = true;
	s->why = why;
}

// Decompress the next bytes of the file into the free room, or end. Return 0 or -errno.
static int decompress(struct extract_stream *s, struct extract_input *input)
{
	const uint8_t *data;
	size_t got;

	int rc = extract_input_raw(input, s->raw_at, READ_BYTES, &data, &got);
	if (rc != 0)
		return rc;
	if (got == 0 && !s->inside) {
		end(s, s->raw_at < input->file_bytes ? "the file became shorter" : NULL);
		return 0;
	}
	ZSTD_inBuffer in = {.src = data, .size = got};
	ZSTD_outBuffer out = {.dst = s->content + s->len, .size = s->capacity - s->len};
	size_t left = ZSTD_decompressStream(s->zstd, &out, &in);
	if (ZSTD_isError(left)) {
		end(s, ZSTD_getErrorName(left));
		return 0;
	}
	s->raw_at += in.pos;
	s->len += out.pos;
	s->inside = left != 0;
	if (got == 0 && out.pos == 0)
		end(s, "its compressed data is cut off");
	return 0;
}

int extract_stream_get(struct extract_stream *s, struct extract_input *input, uint64_t offset, size_t len,
	const uint8_t **out, size_t *got)
{
	int rc = offset < s->content_at ? -EIO : make_room(s, len);

	while (rc == 0 && !s->ended && s->content_at + s->len < offset + len) {
		drop_before(s, offset);
		rc = decompress(s, input);
	}
	if (rc != 0)
		return rc;
	drop_before(s, offset);
	*got = offset == s->content_at ? tl_min_u64(s->len, len) : 0;
	*out = s->content;
	return 0;
}

bool extract_stream_is_end(const struct extract_stream *s, uint64_t offset)
{
	return s->ended && s->why == NULL && offset >= s->content_at + s->len;
}

const char *extract_stream_why(const struct extract_stream *s)
{
	return s->why;
}
