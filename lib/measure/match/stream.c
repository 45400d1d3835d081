// SPDX-License-Identifier: BSD-3-Clause
// TCP streams, reassembled by sequence number (RFC 9293, section 3.4): each byte counts the first time it is seen, in
// the order of the stream. Bytes after a hole wait for it, for a window.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define HELD_BYTES_MAX (UINT64_C(16) << 20) // of a stream: usually more than a TCP window
#define FAR_BYTES (INT64_C(256) << 20)	    // at this distance it is another place of the stream, not a hole
#define FRONTS_MAX 8			    // consecutive segments, each of which came in front of all before it

// ---- bytes in order

// Process the next bytes: a trigger, or bytes of replies, which are decided after all available bytes.
static int put_next(struct tl_match *match, struct match_stream *stream, const struct match_payload *bytes)
{
	uint64_t at = stream->expected;

	stream->expected += bytes->len;
	if (stream->key.is_trigger)
		return match_trigger_add(match, bytes);
	if (match->cfg.method != TL_MATCH_POSITION)
		return match_text_put(&stream->text, bytes);
	if (match->only == NULL)
		match->only = stream;
	if (match->only == stream)
		return match_position(match, at, bytes);
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

// True if bytes must wait for a hole. Triggers do not, or their replies would find none; by position they have to.
static bool waits(const struct tl_match *match, const struct match_stream *stream)
{
	return !stream->key.is_trigger || match->cfg.method == TL_MATCH_POSITION;
}

// Process held bytes that are next. They may be old already, and are decided as a whole: a reply may be split over its
// pieces.
static int deliver_held(struct tl_match *match, struct match_stream *stream)
{
	struct match_piece *piece;

	while ((piece = stream->held) != NULL && piece->at == stream->expected) {
		struct match_payload bytes = {.data = piece->data,
			.len = piece->len,
			.have = piece->len,
			.ts_ns = piece->ts_ns,
			.frame = piece->frame,
			.again = piece->again,
			.cut = piece->cut,
			.back = piece->back};
		stream->held = piece->next;
		stream->last_held = piece->next != NULL ? stream->last_held : NULL;
		stream->put_held = piece != stream->put_held ? stream->put_held : NULL;
		stream->held_bytes -= piece->len;
		int rc = waits(match, stream) ? put_next(match, stream, &bytes) : 0;
		stream->expected = piece->at + piece->len;
		free(piece);
		if (rc != 0)
			return rc;
	}
	return match_text_decide(match, &stream->text, match->now_ns);
}

// Find the next reply after a hole: replies of a given length begin where they would without the hole.
static void find_reply(const struct tl_match *match, struct match_stream *stream)
{
	uint32_t len = match->cfg.reply_bytes;

	if (len != 0)
		stream->text.rest = (uint32_t)((len - (stream->expected - stream->begin) % len) % len);
	stream->text.rest_counted = false;
}

// Give up the bytes of the hole in front.
static int skip_hole(struct tl_match *match, struct match_stream *stream)
{
	int rc = match_text_decide(match, &stream->text, UINT64_MAX);

	if (!stream->key.is_trigger)
		match->stats.lost_bytes += stream->held->at - stream->expected;
	stream->expected = stream->held->at;
	find_reply(match, stream);
	return rc != 0 ? rc : deliver_held(match, stream);
}

// Decide all available bytes.
static int settle(struct tl_match *match, struct match_stream *stream)
{
	int rc = 0;

	while (rc == 0 && stream->held != NULL)
		rc = skip_hole(match, stream);
	return rc != 0 ? rc : match_text_decide(match, &stream->text, UINT64_MAX);
}

// ---- segments

static int hold(struct match_stream *stream, struct match_piece **link, uint64_t at, const struct match_payload *bytes)
{
	struct match_piece *piece = malloc(sizeof(*piece) + bytes->len);

	if (piece == NULL)
		return -ENOMEM;
	*piece = (struct match_piece){.next = *link,
		.at = at,
		.ts_ns = bytes->ts_ns,
		.frame = bytes->frame,
		.len = bytes->len,
		.again = bytes->again,
		.cut = bytes->cut,
		.back = bytes->back};
	memcpy(piece->data, bytes->data, bytes->len);
	*link = piece;
	*(piece->next == NULL ? &stream->last_held : &stream->put_held) = piece;
	stream->held_bytes += bytes->len;
	return 0;
}

// Return the nearest known piece at or before this position; NULL: the first may be after it.
static struct match_piece *held_near(const struct match_stream *stream, uint64_t at)
{
	if (stream->last_held != NULL && stream->last_held->at <= at)
		return stream->last_held;
	return stream->put_held != NULL && stream->put_held->at <= at ? stream->put_held : NULL;
}

// Hold the part of a segment that is not held yet. *out_new is its length.
static int hold_new(struct tl_match *match, struct match_stream *stream, const struct match_payload *segment,
	uint64_t segment_at, uint64_t *out_new)
{
	uint64_t last_end = stream->last_held != NULL ? stream->last_held->at + stream->last_held->len : 0;
	struct match_piece **link = &stream->held;
	uint64_t at = tl_max_u64(segment_at, stream->expected), end = segment_at + segment->len;
	struct match_piece *near = held_near(stream, at);
	uint64_t before = 0; // end of its last new part
	int rc = 0;

	*out_new = 0;
	if (near != NULL) {
		at = tl_max_u64(at, near->at + near->len);
		link = &near->next;
	}
	while (rc == 0 && at < end) {
		struct match_piece *piece = *link;
		match->stats.steps++;
		uint64_t until = piece != NULL ? tl_min_u64(end, piece->at) : end;
		if (at < until) {
			struct match_payload bytes = *segment;
			bytes.again |= segment_at < last_end;
			bytes.data += at - segment_at;
			bytes.len = (uint32_t)(until - at);
			bytes.back = before != 0 ? (uint32_t)(at - before) : 0;
			before = until;
			rc = hold(stream, link, at, &bytes);
			if (rc == 0 && !waits(match, stream))
				rc = match_trigger_add(match, &bytes);
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

// Continue the stream from here, regardless of its past.
static int restart(struct tl_match *match, struct match_stream *stream, const struct match_payload *segment)
{
	int rc = stream->begun ? settle(match, stream) : 0;

	stream->begun = true;
	stream->begin = stream->expected;
	stream->text.rest = 0;
	stream->text.rest_counted = false;
	stream->from_syn = segment->syn;
	stream->first_seq = segment->seq;
	stream->base_seq = segment->seq - (uint32_t)stream->expected;
	return rc;
}

// True for a keepalive probe, which repeats the last byte sent (RFC 9293, section 3.8.4).
static bool is_probe(const struct match_stream *stream, const struct match_payload *segment, uint64_t at)
{
	const struct match_piece *last = stream->last_held;

	return segment->len == 1 && !stream->key.is_trigger &&
	       at + 1 == (last != NULL ? last->at + last->len : stream->expected);
}

// Process a segment. Sets *out_new if part of it is new, or need not be.
static int take_segment(struct tl_match *match, struct match_stream *stream, const struct match_payload *segment,
	int64_t ahead, bool *out_new)
{
	uint64_t at = stream->expected + (uint64_t)ahead, new_bytes;
	int rc = 0;

	if (ahead == 0 && stream->held == NULL) {
		*out_new = true;
		return deliver(match, stream, segment);
	}
	*out_new |= is_probe(stream, segment, at);
	if (ahead < 0 && -ahead >= segment->len)
		return 0;
	if (ahead < 0) { // only the new part
		struct match_payload rest = *segment;
		rest.data += -ahead;
		rest.len -= (uint32_t)-ahead;
		rest.again = true;
		return take_segment(match, stream, &rest, 0, out_new);
	}
	rc = hold_new(match, stream, segment, at, &new_bytes);
	if (rc != 0)
		return rc;
	*out_new |= new_bytes != 0;
	rc = deliver_held(match, stream);
	while (rc == 0 && stream->held_bytes > HELD_BYTES_MAX)
		rc = skip_hole(match, stream);
	return rc;
}

// Return the number of bytes before the first ones in the capture. It may have begun inside a connection, and then with
// a segment that overtook those in front of it. A single byte is a keepalive probe; by position bytes count in the
// order of the stream only.
static uint32_t bytes_in_front(const struct tl_match *match, const struct match_stream *stream,
	const struct match_payload *segment, int64_t ahead)
{
	int64_t front = (int64_t)(stream->begin - stream->expected) - ahead;

	if (stream->from_syn || front <= 0 || stream->key.in_front == FRONTS_MAX || (front == 1 && segment->len == 1) ||
		match->cfg.method == TL_MATCH_POSITION)
		return 0;
	return (uint32_t)tl_min_u64((uint64_t)front, segment->len);
}

static int take_bytes(struct tl_match *match, const struct match_payload *segment, bool *out_new)
{
	struct match_stream *stream = match_stream_get(match, &segment->key);
	struct match_payload front = *segment, rest = *segment;
	int rc = 0;

	if (stream == NULL)
		return -ENOMEM;
	stream->last_ns = tl_max_u64(stream->last_ns, segment->ts_ns);
	int64_t ahead = (int32_t)(segment->seq - stream->base_seq - (uint32_t)stream->expected);
	bool starts = segment->syn && stream->first_seq != segment->seq; // otherwise it is the SYN again
	if (!stream->begun || starts || ahead > FAR_BYTES || ahead < -FAR_BYTES) {
		rc = restart(match, stream, segment);
		ahead = 0;
	}
	front.len = bytes_in_front(match, stream, segment, ahead);
	rest.data += front.len;
	rest.len -= front.len;
	front.key.in_front++;
	if (rc == 0 && front.len != 0)
		rc = take_bytes(match, &front, out_new);
	if (rc == 0 && rest.len != 0)
		rc = take_segment(match, stream, &rest, ahead + front.len, out_new);
	match_stream_add_pending(match, stream);
	return rc;
}

int match_stream_take(struct tl_match *match, const struct match_payload *segment)
{
	bool is_new = segment->len == 0;
	int rc = take_bytes(match, segment, &is_new);

	if (rc == 0 && !is_new && segment->key.is_trigger)
		match->stats.trigger_repeated++;
	else if (rc == 0 && !is_new)
		match->stats.duplicates++;
	return rc;
}

int match_stream_settle(struct tl_match *match, struct match_stream *stream, uint64_t now_ns)
{
	int rc = 0;

	if (now_ns == UINT64_MAX)
		return settle(match, stream);
	while (rc == 0 && stream->held != NULL && stream->held->ts_ns + match->cfg.window_ns < now_ns)
		rc = skip_hole(match, stream);
	return rc != 0 ? rc : match_text_decide(match, &stream->text, now_ns);
}
