// SPDX-License-Identifier: BSD-3-Clause
// A side of a session: its bytes in the order of sequence numbers (RFC 9293, section 3.4), and the steps of the script.

#include "session_priv.h"

#include <string.h>

#define STEPS_FIRST 8u
#define ROOM_FIRST 512u
#define FAR_BYTES                                                                                                      \
	(INT64_C(1) << 30) // the largest window (RFC 7323, section 2.2): farther numbers are not of this stream
#define WINDOW_BYTES ((int64_t)TL_SESSION_HELD_MAX) // of a receiver, which ignores a RST or FIN outside of it

static enum tl_session_side other(enum tl_session_side side)
{
	return side == TL_SESSION_CLIENT ? TL_SESSION_SERVER : TL_SESSION_CLIENT;
}

// Return the position of a sequence number near the expected one: negative before the first byte.
static int64_t place_of(const struct session_stream *stream, uint32_t seq)
{
	return (int64_t)stream->expected + (int32_t)(seq - (stream->base + (uint32_t)stream->expected));
}

bool session_is_near(const struct session_stream *stream, uint32_t seq)
{
	int64_t distance = place_of(stream, seq) - (int64_t)stream->expected;

	return distance <= WINDOW_BYTES && distance >= -WINDOW_BYTES;
}

// ---- steps

static int add_step(struct tl_session_set *set, struct session *s, const struct tl_session_step *step)
{
	uint64_t size = sizeof(*step);
	int rc = 0;

	if (s->pub.n_steps == s->steps_room) {
		uint32_t room = s->steps_room != 0 ? 2 * s->steps_room : STEPS_FIRST;
		void *steps = session_realloc(set, s->steps, s->steps_room * size, room * size, &rc);
		if (steps == NULL) {
			session_empty(set, s, TL_SESSION_BEYOND);
			return rc;
		}
		s->steps = steps;
		s->steps_room = room;
	}
	s->steps[s->pub.n_steps++] = *step;
	return 0;
}

// Extend the last step, unless it was taken, or begin another.
static int add_data(
	struct tl_session_set *set, struct session *s, enum tl_session_side side, uint64_t len, uint64_t ts_ns)
{
	struct tl_session_step *last = s->pub.n_steps > s->taken_steps ? &s->steps[s->pub.n_steps - 1] : NULL;

	if (last == NULL || last->side != side || last->event != TL_SESSION_DATA ||
		(ts_ns > last->last_ns && ts_ns - last->last_ns > set->cfg.pause_ns))
		return add_step(set, s,
			&(struct tl_session_step){.side = side,
				.event = TL_SESSION_DATA,
				.bytes = len,
				.at_ns = ts_ns,
				.last_ns = ts_ns});
	last->bytes += len;
	last->last_ns = tl_max_u64(last->last_ns, ts_ns);
	return 0;
}

// ---- bytes in order

static bool is_within_limit(const struct tl_session_set *set, const struct session *s, uint64_t len)
{
	uint64_t used = s->stream[0].expected + s->stream[1].expected;

	return set->cfg.session_bytes == 0 || used + len <= set->cfg.session_bytes;
}

// Append the next bytes to a stream. Without memory for them the session is emptied.
static int append_bytes(
	struct tl_session_set *set, struct session *s, enum tl_session_side side, const uint8_t *data, uint32_t len)
{
	struct session_stream *stream = &s->stream[side];
	uint64_t room = stream->room != 0 ? stream->room : ROOM_FIRST;
	int rc = 0;

	while (room < stream->expected + len)
		room *= 2;
	void *grown = stream->data;
	if (!is_within_limit(set, s, len))
		grown = NULL;
	else if (room != stream->room)
		grown = session_realloc(set, stream->data, stream->room, room, &rc);
	if (grown == NULL) {
		session_empty(set, s, TL_SESSION_BEYOND);
		return rc;
	}
	stream->data = grown;
	stream->room = room;
	memcpy(stream->data + stream->expected, data, len);
	stream->expected += len;
	return 0;
}

// The same, and to the script.
static int append(struct tl_session_set *set, struct session *s, enum tl_session_side side, const uint8_t *data,
	uint32_t len, uint64_t ts_ns)
{
	int rc = append_bytes(set, s, side, data, len);

	return rc != 0 || s->empty ? rc : add_data(set, s, side, len, ts_ns);
}

static void free_first(struct tl_session_set *set, struct session_stream *stream)
{
	struct session_piece *piece = stream->held;

	stream->held = piece->next;
	if (stream->held == NULL)
		stream->last_held = NULL;
	stream->held_bytes -= piece->len;
	stream->pieces--;
	session_free(set, piece, sizeof(*piece) + piece->len);
}

void session_free_held(struct tl_session_set *set, struct session_stream *stream)
{
	while (stream->held != NULL)
		free_first(set, stream);
}

// Append held bytes that are next, and the FIN.
static int append_held(struct tl_session_set *set, struct session *s, enum tl_session_side side, uint64_t ts_ns)
{
	struct session_stream *stream = &s->stream[side];
	int rc = 0;

	while (rc == 0 && !s->empty && stream->held != NULL && stream->held->at == stream->expected) {
		const struct session_piece *piece = stream->held;
		rc = append(set, s, side, piece->data, piece->len, piece->ts_ns);
		if (!s->empty)
			free_first(set, stream);
	}
	if (rc != 0 || s->empty || stream->fin_done || stream->fin_at != stream->expected)
		return rc;
	stream->fin_done = true;
	return add_step(set, s,
		&(struct tl_session_step){.side = side, .event = TL_SESSION_FIN, .at_ns = ts_ns, .last_ns = ts_ns});
}

// ---- bytes after a hole

// Put a piece behind *link.
static int hold(struct tl_session_set *set, struct session *s, struct session_stream *stream,
	struct session_piece **link, uint64_t at, const uint8_t *data, uint32_t len, uint64_t ts_ns)
{
	struct session_piece *piece = NULL;
	int rc = 0;

	if (stream->pieces == TL_SESSION_PIECES_MAX || stream->held_bytes + len > TL_SESSION_HELD_MAX) {
		session_empty(set, s, TL_SESSION_HOLE);
		return 0;
	}
	piece = session_realloc(set, NULL, 0, sizeof(*piece) + len, &rc);
	if (piece == NULL) {
		session_empty(set, s, TL_SESSION_BEYOND);
		return rc;
	}
	*piece = (struct session_piece){.next = *link, .at = at, .ts_ns = ts_ns, .len = len};
	memcpy(piece->data, data, len);
	*link = piece;
	if (piece->next == NULL)
		stream->last_held = piece;
	stream->held_bytes += len;
	stream->pieces++;
	return 0;
}

// Hold the parts of [at, end) that are not held yet; the segment begins at at.
static int hold_new(struct tl_session_set *set, struct session *s, struct session_stream *stream, uint64_t at,
	uint64_t end, const struct session_segment *segment)
{
	struct session_piece *last = stream->last_held;
	struct session_piece **link = last != NULL && last->at <= at ? &last : &stream->held;
	const uint8_t *data = segment->data;
	int rc = 0;

	while (rc == 0 && !s->empty && at < end) {
		struct session_piece *piece = *link;
		uint64_t until = piece != NULL ? tl_min_u64(end, piece->at) : end;
		if (at < until) {
			rc = hold(set, s, stream, link, at, data, (uint32_t)(until - at), segment->ts_ns);
			data += until - at;
			at = until;
			continue;
		}
		uint64_t next = tl_max_u64(at, piece->at + piece->len);
		data += next - at;
		at = next;
		link = &piece->next;
	}
	return rc;
}

// ---- segments

static int take_data(
	struct tl_session_set *set, struct session *s, enum tl_session_side side, const struct session_segment *segment)
{
	struct session_stream *stream = &s->stream[side];
	int64_t at = place_of(stream, segment->seq), end = at + segment->len;

	if (stream->fin_at != UINT64_MAX && end > (int64_t)stream->fin_at)
		end = (int64_t)stream->fin_at; // nothing follows a FIN
	if (end <= (int64_t)stream->expected || at > (int64_t)stream->expected + FAR_BYTES)
		return 0; // nothing new, or of another connection
	if (segment->have < segment->len) {
		session_empty(set, s, TL_SESSION_CUT);
		return 0;
	}
	if (at > (int64_t)stream->expected)
		return hold_new(set, s, stream, (uint64_t)at, (uint64_t)end, segment);
	uint32_t old = (uint32_t)((int64_t)stream->expected - at);
	uint32_t len = (uint32_t)(end - (int64_t)stream->expected);
	if (stream->held != NULL) // the held bytes were captured first
		len = (uint32_t)tl_min_u64(len, stream->held->at - stream->expected);
	uint64_t begin = stream->expected;
	int rc = append(set, s, side, segment->data + old, len, segment->ts_ns);
	if (rc != 0 || s->empty || begin + len == (uint64_t)end)
		return rc;
	struct session_segment rest = *segment;
	rest.data += old + len;
	return hold_new(set, s, stream, begin + len, (uint64_t)end, &rest);
}

// Note that the bytes before a sequence number were sent.
static void note_sent(struct session_stream *stream, uint32_t seq)
{
	int64_t at = place_of(stream, seq);

	if (stream->known && at > (int64_t)stream->sent && at <= (int64_t)stream->expected + FAR_BYTES)
		stream->sent = (uint64_t)at;
}

static int take_reset(
	struct tl_session_set *set, struct session *s, enum tl_session_side side, const struct session_segment *segment)
{
	uint64_t ts_ns = segment->ts_ns;

	note_sent(&s->stream[side], segment->seq);
	s->reset = true;
	return add_step(set, s,
		&(struct tl_session_step){.side = side, .event = TL_SESSION_RST, .at_ns = ts_ns, .last_ns = ts_ns});
}

int session_segment(
	struct tl_session_set *set, struct session *s, enum tl_session_side side, const struct session_segment *segment)
{
	struct session_stream *stream = &s->stream[side];
	bool is_reset = (segment->flags & TL_TCP_RST) != 0, is_syn = (segment->flags & TL_TCP_SYN) != 0;
	int rc = 0;

	if (session_is_over(s))
		return 0;
	if (is_reset && stream->known && !session_is_near(stream, segment->seq))
		return 0; // RFC 5961, section 3.2
	s->opened |= !is_reset && (side == TL_SESSION_SERVER || !is_syn);
	if ((segment->flags & TL_TCP_ACK) != 0)
		note_sent(&s->stream[other(side)], segment->ack);
	if (is_reset)
		return take_reset(set, s, side, segment);
	if (is_syn && !stream->known) {
		stream->known = true;
		stream->base = segment->seq;
	}
	if (!stream->known || (is_syn && segment->seq != stream->base))
		return 0;
	int64_t end = place_of(stream, segment->seq) + segment->len;
	if ((segment->flags & TL_TCP_FIN) != 0 && stream->fin_at == UINT64_MAX && end >= (int64_t)stream->expected &&
		end <= (int64_t)stream->expected + WINDOW_BYTES)
		stream->fin_at = (uint64_t)end;
	if (segment->len != 0)
		rc = take_data(set, s, side, segment);
	return rc != 0 || s->empty ? rc : append_held(set, s, side, segment->ts_ns);
}

int session_datagram(struct tl_session_set *set, struct session *s, enum tl_session_side side,
	const struct session_segment *datagram)
{
	if (s->empty)
		return 0;
	if (datagram->have < datagram->len) {
		session_empty(set, s, TL_SESSION_CUT);
		return 0;
	}
	int rc = append_bytes(set, s, side, datagram->data, datagram->len);
	if (rc != 0 || s->empty)
		return rc;
	return add_step(set, s,
		&(struct tl_session_step){.side = side,
			.event = TL_SESSION_DATA,
			.bytes = datagram->len,
			.at_ns = datagram->ts_ns,
			.last_ns = datagram->ts_ns});
}
