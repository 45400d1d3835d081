// SPDX-License-Identifier: BSD-3-Clause
// Table of TCP streams: lookup, checks of those with undecided bytes, and removal of idle ones.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_FIRST 256u
#define IDLE_NS_MIN (60 * TL_NS_PER_S)
#define IDLE_TICKS 4 // per idle time: checks for idle streams

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

static uint64_t idle_ns(const struct tl_match *match)
{
	return tl_max_u64(IDLE_NS_MIN, 4 * match->cfg.window_ns);
}

// True if the stream is idle: none of its bytes wait any more.
static bool is_idle(const struct tl_match *match, const struct match_stream *stream)
{
	return stream != match->only && !stream->waiting && stream->last_ns + idle_ns(match) < match->now_ns;
}

static void empty(struct match_stream *stream)
{
	struct match_piece *next;

	for (struct match_piece *piece = stream->held; piece != NULL; piece = next) {
		next = piece->next;
		free(piece);
	}
	match_text_free(&stream->text);
	*stream = (struct match_stream){.next = stream->next, .key = stream->key};
}

static void free_stream(struct match_stream *stream)
{
	empty(stream);
	free(stream);
}

struct match_stream *match_stream_get(struct tl_match *match, const struct match_stream_key *key)
{
	struct match_stream *stream;

	if (match->streams == match->buckets && grow(match) != 0)
		return NULL;
	struct match_stream **bucket = bucket_of(match->bucket, match->buckets, key);
	for (stream = *bucket; stream != NULL; stream = stream->next)
		if (memcmp(&stream->key, key, sizeof(*key)) == 0) {
			if (is_idle(match, stream))
				empty(stream);
			return stream;
		}
	stream = calloc(1, sizeof(*stream));
	if (stream == NULL)
		return NULL;
	stream->key = *key;
	stream->next = *bucket;
	*bucket = stream;
	match->streams++;
	return stream;
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

static bool has_undecided(const struct match_stream *stream)
{
	return stream->held != NULL || stream->text.at != stream->text.len;
}

void match_stream_add_pending(struct tl_match *match, struct match_stream *stream)
{
	if (stream->waiting || !has_undecided(stream))
		return;
	stream->waiting = true;
	stream->next_waiting = NULL;
	*(match->waiting != NULL ? &match->last_waiting->next_waiting : &match->waiting) = stream;
	match->last_waiting = stream;
}

static void expire_idle(struct tl_match *match)
{
	for (uint64_t i = 0; i < match->buckets; i++)
		for (struct match_stream **link = &match->bucket[i]; *link != NULL;) {
			struct match_stream *stream = *link;
			match->stats.steps++;
			if (is_idle(match, stream)) {
				*link = stream->next;
				match->streams--;
				free_stream(stream);
			} else {
				link = &stream->next;
			}
		}
}

int match_streams_settle(struct tl_match *match, uint64_t now_ns)
{
	struct match_stream *stream = match->waiting, *next;
	int rc = 0;

	match->waiting = NULL;
	for (; stream != NULL; stream = next) {
		next = stream->next_waiting;
		match->stats.steps++;
		if (rc == 0)
			rc = match_stream_settle(match, stream, now_ns);
		stream->waiting = false;
		match_stream_add_pending(match, stream);
	}
	if (rc == 0 && match->now_ns >= match->idle_tick_ns) {
		match->idle_tick_ns = match->now_ns + idle_ns(match) / IDLE_TICKS;
		expire_idle(match);
	}
	return rc;
}
