// SPDX-License-Identifier: BSD-3-Clause
// TCP streams, put together by sequence number (RFC 9293, section 3.4): each byte counts the first time it is seen, and
// in the order of the stream. What lies behind a hole waits for it, for a window.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define HELD_BYTES_MAX (UINT64_C(16) << 20) // of a stream: more than a window of TCP has, mostly
#define FAR_BYTES (INT64_C(256) << 20)	    // so far away it is another place of the stream, not a hole
#define FRONTS_MAX 8			    // segments in a row, each of which came in front of all before it

// ---- bytes in order

// Bytes that come next: a trigger, or of replies, which are decided when all that is there has been put.
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

// Triggers wait for nothing that was lost in front of them, or their replies would find none; by position they have to.
static bool waits(const struct tl_match *match, const struct match_stream *stream)
{
	return !stream->key.is_trigger || match->cfg.method == TL_MATCH_POSITION;
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

// After a hole the next reply of a given length begins where it would have without the hole.
static void find_reply(const struct tl_match *match, struct match_stream *stream)
{
	uint32_t len = match->cfg.reply_bytes;

	if (len != 0)
		stream->text.rest = (uint32_t)((len - (stream->expected - stream->begin) % len) % len);
	stream->text.rest_counted = false;
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

// A piece at this place or before it, as near as is known; NULL: the first may be behind it.
static struct match_piece *held_near(const struct match_stream *stream, uint64_t at)
{
	if (stream->last_held != NULL && stream->last_held->at <= at)
		return stream->last_held;
	return stream->put_held != NULL && stream->put_held->at <= at ? stream->put_held : NULL;
}

// Holds what of a segment is not held yet. *out_new is how much that is.
static int hold_new(struct tl_match *match, struct match_stream *stream, const struct match_payload *segment,
	uint64_t segment_at, uint64_t *out_new)
{
	uint64_t last_end = stream->last_held != NULL ? stream->last_held->at + stream->last_held->len : 0;
	struct match_piece **link = &stream->held;
	uint64_t at = tl_max_u64(segment_at, stream->expected), end = segment_at + segment->len;
	struct match_piece *near = held_near(stream, at);
	uint64_t before = 0; // end of what was new of it last
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

// Where the stream goes on from here, whatever was before.
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

// A probe of keepalive repeats the last byte that was sent (RFC 9293, section 3.8.4).
static bool is_probe(const struct match_stream *stream, const struct match_payload *segment, uint64_t at)
{
	const struct match_piece *last = stream->last_held;

	return segment->len == 1 && !stream->key.is_trigger &&
	       at + 1 == (last != NULL ? last->at + last->len : stream->expected);
}

// Sets *out_new when something of the segment was not seen before, or it need not be.
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
	if (ahead < 0) { // only what is new of it
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
		rc = give_up_hole(match, stream);
	return rc;
}

// How many bytes lie in front of what the capture showed first. It may have begun inside a connection, and then with a
// segment that came before those in front of it. A single byte is a probe of keepalive; by position bytes count in the
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
	bool starts = segment->syn && stream->first_seq != segment->seq; // else it is the SYN again
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
	match_stream_waits(match, stream);
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
		rc = give_up_hole(match, stream);
	return rc != 0 ? rc : match_text_decide(match, &stream->text, now_ns);
}
