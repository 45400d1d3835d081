// SPDX-License-Identifier: BSD-3-Clause
// The table of TCP streams: finds them, and forgets those that are idle.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_FIRST 256u
#define IDLE_NS_MIN (60 * TL_NS_PER_S)

static struct match_stream **bucket_of(
	struct match_stream **bucket, uint64_t buckets, const struct match_stream_key *key)
{
	uint64_t sum = 0, word;

	_Static_assert(sizeof(*key) % sizeof(word) == 0, "it is hashed by words, and has no padding");
	for (size_t i = 0; i < sizeof(*key); i += sizeof(word)) {
		memcpy(&word, (const uint8_t *)key + i, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0xd6e8feb86659fd93);
		sum ^= sum >> 32;
	}
	return &bucket[sum & (buckets - 1)];
}

static int grow(struct tl_match *match)
{
	uint64_t buckets = match->buckets != 0 ? 2 * match->buckets : BUCKETS_FIRST;
	struct match_stream **larger = calloc(buckets, sizeof(struct match_stream *));

	if (larger == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < match->buckets; i++) {
		struct match_stream *stream = match->bucket[i], *next;
		for (; stream != NULL; stream = next) {
			struct match_stream **bucket = bucket_of(larger, buckets, &stream->key);
			next = stream->next;
			stream->next = *bucket;
			*bucket = stream;
		}
	}
	free(match->bucket);
	match->bucket = larger;
	match->buckets = buckets;
	return 0;
}

struct match_stream *match_stream_get(struct tl_match *match, const struct match_stream_key *key)
{
	struct match_stream *stream;

	if (match->streams == match->buckets && grow(match) != 0)
		return NULL;
	struct match_stream **bucket = bucket_of(match->bucket, match->buckets, key);
	for (stream = *bucket; stream != NULL; stream = stream->next)
		if (memcmp(&stream->key, key, sizeof(*key)) == 0)
			return stream;
	stream = calloc(1, sizeof(*stream));
	if (stream == NULL)
		return NULL;
	stream->key = *key;
	stream->next = *bucket;
	*bucket = stream;
	match->streams++;
	return stream;
}

static void free_stream(struct match_stream *stream)
{
	struct match_piece *next;

	for (struct match_piece *piece = stream->held; piece != NULL; piece = next) {
		next = piece->next;
		free(piece);
	}
	match_text_free(&stream->text);
	free(stream);
}

void match_streams_free(struct tl_match *match)
{
	struct match_stream *next;

	for (uint64_t i = 0; i < match->buckets; i++)
		for (struct match_stream *stream = match->bucket[i]; stream != NULL; stream = next) {
			next = stream->next;
			free_stream(stream);
		}
	free(match->bucket);
}

int match_streams_settle(struct tl_match *match, uint64_t now_ns)
{
	uint64_t idle_ns = tl_max_u64(IDLE_NS_MIN, 4 * match->cfg.window_ns);
	int rc = 0;

	for (uint64_t i = 0; i < match->buckets && rc == 0; i++)
		for (struct match_stream **link = &match->bucket[i]; *link != NULL && rc == 0;) {
			struct match_stream *stream = *link;
			rc = match_stream_settle(match, stream, now_ns);
			if (stream != match->only && stream->last_ns + idle_ns < now_ns && rc == 0) {
				*link = stream->next;
				match->streams--;
				free_stream(stream);
			} else {
				link = &stream->next;
			}
		}
	return rc;
}
