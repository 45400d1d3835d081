// SPDX-License-Identifier: BSD-3-Clause
// TCP streams, put together by sequence number (RFC 9293, section 3.4): each byte counts the first time it is seen, and
// in the order of the stream. What lies behind a hole waits for it, for a window.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_FIRST 256u
#define HELD_BYTES_MAX (UINT64_C(16) << 20) // of a stream: more than a window of TCP has, mostly
#define FAR_BYTES (INT64_C(256) << 20)	    // so far away it is another place of the stream, not a hole
#define IDLE_NS_MIN (60 * TL_NS_PER_S)

// ---- the table

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

// The stream of this key, a new one if there is none; NULL: no memory.
static struct match_stream *get_stream(struct tl_match *match, const struct match_stream_key *key)
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

// ---- bytes in order

// Bytes that come next: a trigger, or of replies, which are decided when all that is there has been put.
static int put_next(struct tl_match *match, struct match_stream *stream, const struct match_payload *bytes)
{
	uint64_t at = stream->expected;

	stream->expected += bytes->len;
	if (stream->key.is_trigger)
		return match_trigger_add(match, bytes);
	if (match->cfg.method != TL_MATCH_POSITION)
		return match_text_put(&stream->text, bytes->data, bytes->len, bytes->ts_ns, bytes->frame);
	if (match->only == NULL)
		match->only = stream;
	if (match->only == stream)
		return match_position(match, at, bytes->len, bytes->ts_ns, bytes->frame);
	match->stats.other_streams += at == 0;
	match->stats.unmatched_replies++;
	match->stats.unmatched_reply_bytes += bytes->len;
	return 0;
}

static int deliver(struct tl_match *match, struct match_stream *stream, const struct match_payload *bytes)
{
	int rc = put_next(match, stream, bytes);

	return rc != 0 ? rc : match_text_decide(match, &stream->text, match->now_ns);
}

// What was held and is next. It may be old already, and is decided as a whole: a reply may be split over its pieces.
static int deliver_held(struct tl_match *match, struct match_stream *stream)
{
	struct match_piece *piece;

	while ((piece = stream->held) != NULL && piece->at == stream->expected) {
		struct match_payload bytes = {.data = piece->data,
			.len = piece->len,
			.have = piece->len,
			.ts_ns = piece->ts_ns,
			.frame = piece->frame};
		stream->held = piece->next;
		stream->held_bytes -= piece->len;
		int rc = put_next(match, stream, &bytes);
		free(piece);
		if (rc != 0)
			return rc;
	}
	return match_text_decide(match, &stream->text, match->now_ns);
}

// After a hole the next reply of a given length begins where it would have without the hole.
static void find_reply(const struct tl_match *match, struct match_stream *stream)
{
	uint32_t len = match->cfg.reply_bytes;

	if (len != 0)
		stream->text.rest = (uint32_t)((len - (stream->expected - stream->begin) % len) % len);
}

// The bytes of the hole in front will not come.
static int give_up_hole(struct tl_match *match, struct match_stream *stream)
{
	int rc = match_text_decide(match, &stream->text, UINT64_MAX);

	if (!stream->key.is_trigger)
		match->stats.lost_bytes += stream->held->at - stream->expected;
	stream->expected = stream->held->at;
	find_reply(match, stream);
	return rc != 0 ? rc : deliver_held(match, stream);
}

// Everything that is there is decided.
static int settle(struct tl_match *match, struct match_stream *stream)
{
	int rc = 0;

	while (rc == 0 && stream->held != NULL)
		rc = give_up_hole(match, stream);
	return rc != 0 ? rc : match_text_decide(match, &stream->text, UINT64_MAX);
}

// ---- segments

static int hold(struct match_stream *stream, struct match_piece **link, uint64_t at, uint64_t end,
	const struct match_payload *segment, uint64_t segment_at)
{
	struct match_piece *piece = malloc(sizeof(*piece) + (end - at));

	if (piece == NULL)
		return -ENOMEM;
	*piece = (struct match_piece){
		.next = *link, .at = at, .ts_ns = segment->ts_ns, .frame = segment->frame, .len = (uint32_t)(end - at)};
	memcpy(piece->data, segment->data + (at - segment_at), end - at);
	*link = piece;
	stream->held_bytes += end - at;
	return 0;
}

// Holds what of a segment is not held yet. *out_new is how much that is.
static int hold_new(
	struct match_stream *stream, const struct match_payload *segment, uint64_t segment_at, uint64_t *out_new)
{
	struct match_piece **link = &stream->held;
	uint64_t at = tl_max_u64(segment_at, stream->expected), end = segment_at + segment->len;
	int rc = 0;

	*out_new = 0;
	while (rc == 0 && at < end) {
		struct match_piece *piece = *link;
		uint64_t until = piece != NULL ? tl_min_u64(end, piece->at) : end;
		if (at < until) {
			rc = hold(stream, link, at, until, segment, segment_at);
			*out_new += until - at;
			at = until;
			link = &(*link)->next;
		}
		if (piece == NULL)
			break;
		at = tl_max_u64(at, piece->at + piece->len);
		link = &piece->next;
	}
	return rc;
}

// Where the stream goes on from here, whatever was before.
static int restart(struct tl_match *match, struct match_stream *stream, uint32_t seq)
{
	int rc = stream->begun ? settle(match, stream) : 0;

	stream->begun = true;
	stream->begin = stream->expected;
	stream->text.rest = 0;
	stream->first_seq = seq;
	stream->base_seq = seq - (uint32_t)stream->expected;
	return rc;
}

static void count_repeated(struct tl_match *match, const struct match_stream *stream)
{
	if (stream->key.is_trigger)
		match->stats.trigger_repeated++;
	else
		match->stats.duplicates++;
}

static int take_segment(
	struct tl_match *match, struct match_stream *stream, const struct match_payload *segment, int64_t ahead)
{
	uint64_t at = stream->expected + (uint64_t)ahead, is_new;
	int rc = 0;

	if (ahead == 0 && stream->held == NULL)
		return deliver(match, stream, segment);
	if (ahead < 0 && -ahead >= segment->len) {
		if (!(ahead == -1 &&
			    segment->len == 1)) // a probe of keepalive repeats a byte (RFC 9293, section 3.8.4)
			count_repeated(match, stream);
		else if (stream->key.is_trigger)
			match->stats.trigger_repeated++;
		return 0;
	}
	if (ahead < 0) { // only what is new of it
		struct match_payload rest = *segment;
		rest.data += -ahead;
		rest.len -= (uint32_t)-ahead;
		return take_segment(match, stream, &rest, 0);
	}
	rc = hold_new(stream, segment, at, &is_new);
	if (rc != 0)
		return rc;
	if (is_new == 0)
		count_repeated(match, stream);
	rc = deliver_held(match, stream);
	while (rc == 0 && stream->held_bytes > HELD_BYTES_MAX)
		rc = give_up_hole(match, stream);
	return rc;
}

int match_stream_take(struct tl_match *match, const struct match_payload *segment)
{
	struct match_stream *stream = get_stream(match, &segment->key);
	int rc = 0;

	if (stream == NULL)
		return -ENOMEM;
	stream->last_ns = tl_max_u64(stream->last_ns, segment->ts_ns);
	int64_t ahead = (int32_t)(segment->seq - stream->base_seq - (uint32_t)stream->expected);
	bool starts = segment->syn && stream->first_seq != segment->seq; // else it is the SYN again
	if (!stream->begun || starts || ahead > FAR_BYTES || ahead < -FAR_BYTES) {
		rc = restart(match, stream, segment->seq);
		ahead = 0;
	}
	if (rc != 0 || segment->len == 0)
		return rc;
	return take_segment(match, stream, segment, ahead);
}

// ---- time

static int settle_old(struct tl_match *match, struct match_stream *stream, uint64_t now_ns)
{
	int rc = 0;

	if (now_ns == UINT64_MAX)
		return settle(match, stream);
	while (rc == 0 && stream->held != NULL && stream->held->ts_ns + match->cfg.window_ns < now_ns)
		rc = give_up_hole(match, stream);
	return rc != 0 ? rc : match_text_decide(match, &stream->text, now_ns);
}

int match_streams_settle(struct tl_match *match, uint64_t now_ns)
{
	uint64_t idle_ns = tl_max_u64(IDLE_NS_MIN, 4 * match->cfg.window_ns);
	int rc = 0;

	for (uint64_t i = 0; i < match->buckets && rc == 0; i++)
		for (struct match_stream **link = &match->bucket[i]; *link != NULL && rc == 0;) {
			struct match_stream *stream = *link;
			rc = settle_old(match, stream, now_ns);
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
