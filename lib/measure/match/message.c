// SPDX-License-Identifier: BSD-3-Clause
// Replies from bytes. The bytes are read from left to right: at each position the longest payload of a trigger that
// matches is taken, and a byte without a match is skipped. So a position is decided when the longest existing payload
// would fit, or no more bytes can come in time.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_array.h>

void match_text_free(struct match_text *text)
{
	free(text->data);
	free(text->sum);
	free(text->mark);
	*text = (struct match_text){0};
}

// ---- waiting bytes

// Remove decided bytes.
static void compact(struct match_text *text)
{
	if (text->at == 0)
		return;
	text->len -= text->at;
	text->marks -= text->mark_at;
	memmove(text->data, text->data + text->at, text->len);
	memmove(text->sum, text->sum + text->at, (text->len + 1) * sizeof(*text->sum));
	memmove(text->mark, text->mark + text->mark_at, text->marks * sizeof(*text->mark));
	for (uint32_t i = 0; i < text->marks; i++)
		text->mark[i].end -= text->at;
	text->at = 0;
	text->mark_at = 0;
}

static int make_room(struct match_text *text, uint32_t len)
{
	if (text->at > text->room / 2 || text->at == text->len)
		compact(text);
	if (text->len + len > text->room || text->data == NULL) {
		uint32_t room = text->len + len + 2048;
		uint8_t *data = realloc(text->data, room);
		text->data = data != NULL ? data : text->data;
		uint64_t *sum = reallocarray(text->sum, room + 1, sizeof(*sum));
		text->sum = sum != NULL ? sum : text->sum;
		if (data == NULL || sum == NULL)
			return -ENOMEM;
		text->sum[0] = text->room == 0 ? 0 : text->sum[0];
		text->room = room;
	}
	return tl_array_reserve(&text->mark, text->marks, &text->marks_room, sizeof(*text->mark));
}

int match_text_put(struct match_text *text, const struct match_payload *bytes)
{
	uint32_t len = bytes->len;
	int rc = len != 0 ? make_room(text, len) : 0;

	if (rc != 0 || len == 0)
		return rc;
	memcpy(text->data + text->len, bytes->data, len);
	for (uint32_t i = 0; i < len; i++)
		text->sum[text->len + i + 1] = match_extend(text->sum[text->len + i], bytes->data[i]);
	text->len += len;
	text->mark[text->marks++] = (struct match_mark){.end = text->len,
		.ts_ns = bytes->ts_ns,
		.frame = bytes->frame,
		.back = bytes->back,
		.again = bytes->again};
	return 0;
}

// True if a is later; with equal stamps the later segment.
static bool is_later(uint64_t ts_ns, uint64_t frame, const struct match_reply *reply)
{
	return ts_ns > reply->ts_ns || (ts_ns == reply->ts_ns && frame > reply->frame);
}

// Return the first len bytes as a reply: they are complete with the latest of their segments. A segment counts where
// its first byte lies.
static struct match_reply completion(const struct match_text *text, uint32_t len)
{
	const struct match_mark *mark = &text->mark[text->mark_at];
	struct match_reply reply = {.ts_ns = mark->ts_ns, .frame = mark->frame, .segments = 1, .again = mark->again};

	while (mark->end < text->at + len) {
		mark++;
		reply.segments += mark->back == 0 || mark[-1].end - text->at <= mark->back;
		reply.again |= mark->again;
		if (is_later(mark->ts_ns, mark->frame, &reply)) {
			reply.ts_ns = mark->ts_ns;
			reply.frame = mark->frame;
		}
	}
	return reply;
}

static void pass(struct match_text *text, uint32_t len)
{
	text->at += len;
	while (text->mark_at < text->marks && text->mark[text->mark_at].end <= text->at) {
		text->mark_at++;
		text->skipping = false;
	}
}

// Count bytes without a trigger; those of one segment are one reply.
static void pass_unmatched(struct tl_match *match, struct match_text *text, uint32_t len)
{
	match->stats.unmatched_reply_bytes += len;
	match->stats.unmatched_replies += !text->skipping;
	text->skipping = true;
	pass(text, len);
}

// Take len bytes at the front as the answer.
static int take(struct tl_match *match, struct match_text *text, uint32_t len, const struct match_answer *answer)
{
	struct match_reply reply = completion(text, len);

	text->skipping = false;
	pass(text, len);
	if (!answer->again)
		return match_link(match, answer->trigger, answer->ambiguous, &reply);
	match_repeat(match, answer);
	return 0;
}

// ---- by payload

// True if a payload matches at the front; *out_rc is then the result.
static bool take_payload(struct tl_match *match, struct match_text *text, int *out_rc)
{
	const struct match_index *index = &match->index;

	if (!match_may_begin(index, text->data + text->at, text->len - text->at))
		return false;
	for (uint32_t i = 0; i < index->lengths; i++) {
		const struct match_length *length = &index->length[i];
		if (length->len > text->len - text->at)
			continue;
		uint64_t hash = text->sum[text->at + length->len] - text->sum[text->at] * length->power;
		struct match_group *group = match_find(index, hash, text->data + text->at, length->len);
		if (group == NULL)
			continue;
		struct match_answer answer = match_choose(match, group, completion(text, length->len).ts_ns);
		if (answer.trigger == NULL)
			continue;
		*out_rc = take(match, text, length->len, &answer);
		return true;
	}
	return false;
}

static int decide_payloads(struct tl_match *match, struct match_text *text, uint64_t now_ns)
{
	int rc = 0;

	while (rc == 0 && text->at < text->len) {
		uint32_t longest = match->index.lengths != 0 ? match->index.length[0].len : 1;
		bool old = text->mark[text->mark_at].ts_ns + match->cfg.window_ns < now_ns;
		if (text->len - text->at < longest && !old)
			break;
		if (!take_payload(match, text, &rc))
			pass_unmatched(match, text, 1);
	}
	return rc;
}

// ---- by number

static uint64_t number_of(const struct tl_match *match, const uint8_t *message, const uint8_t **out)
{
	uint64_t sum = 0;

	*out = message + match->cfg.reply_offset;
	for (uint32_t i = 0; i < match->cfg.number_bytes; i++)
		sum = match_extend(sum, (*out)[i]);
	return sum;
}

static struct match_group *find_number(const struct tl_match *match, const uint8_t *message)
{
	const uint8_t *number;
	uint64_t hash = number_of(match, message, &number);

	return match_find(&match->index, hash, number, match->cfg.number_bytes);
}

// Return the length of the reply at the front: as configured, or that of its trigger; 0: unknown, no trigger has its
// number.
static uint32_t reply_bytes(struct tl_match *match, struct match_group *group)
{
	if (match->cfg.reply_bytes != 0)
		return match->cfg.reply_bytes;
	return group != NULL ? match_oldest(match, group)->len : 0;
}

// Skip a whole reply if its length is known, else a byte.
static void pass_unknown(struct tl_match *match, struct match_text *text)
{
	uint32_t left = text->len - text->at, len = match->cfg.reply_bytes;

	if (len != 0)
		text->skipping = false;
	if (len > left) {
		text->rest = len - left;
		text->rest_counted = true;
	}
	pass_unmatched(match, text, len == 0 ? 1 : len < left ? len : left);
}

// Skip the end of a reply whose beginning was lost.
static void pass_rest(struct tl_match *match, struct match_text *text)
{
	uint32_t len = (uint32_t)tl_min_u64(text->rest, text->len - text->at);

	if (len == 0)
		return;
	text->rest -= len;
	text->skipping = text->rest_counted;
	text->rest_counted = true;
	pass_unmatched(match, text, len);
}

static int decide_numbers(struct tl_match *match, struct match_text *text, uint64_t now_ns)
{
	uint32_t need = match->cfg.reply_offset + match->cfg.number_bytes;
	int rc = 0;

	pass_rest(match, text);
	while (rc == 0 && text->at < text->len) {
		uint32_t left = text->len - text->at;
		bool old = text->mark[text->mark_at].ts_ns + match->cfg.window_ns < now_ns;
		struct match_group *group = left >= need ? find_number(match, text->data + text->at) : NULL;
		uint32_t len = reply_bytes(match, group);
		if ((left < need || left < len) && !old)
			break;
		struct match_answer answer = {0};
		if (group != NULL && len <= left)
			answer = match_choose(match, group, completion(text, len).ts_ns);
		if (answer.trigger != NULL)
			rc = take(match, text, len, &answer);
		else
			pass_unknown(match, text);
	}
	return rc;
}

int match_text_decide(struct tl_match *match, struct match_text *text, uint64_t now_ns)
{
	int rc = match->cfg.method == TL_MATCH_SEQUENCE ? decide_numbers(match, text, now_ns)
							: decide_payloads(match, text, now_ns);

	if (text->at == text->len)
		compact(text);
	return rc;
}

// ---- datagrams

static int match_number(struct tl_match *match, const struct match_payload *payload)
{
	bool has_one = payload->len >= (uint64_t)match->cfg.reply_offset + match->cfg.number_bytes;
	struct match_group *group = has_one ? find_number(match, payload->data) : NULL;
	struct match_answer answer = {0};

	if (group != NULL)
		answer = match_choose(match, group, payload->ts_ns);
	if (answer.trigger == NULL) {
		match->stats.unmatched_replies++;
		match->stats.unmatched_reply_bytes += payload->len;
	}
	if (answer.again)
		match_repeat(match, &answer);
	if (answer.trigger == NULL || answer.again)
		return 0;
	return match_link(match, answer.trigger, answer.ambiguous,
		&(struct match_reply){.ts_ns = payload->ts_ns, .frame = payload->frame, .segments = 1});
}

int match_datagram(struct tl_match *match, const struct match_payload *payload)
{
	if (match->cfg.method == TL_MATCH_SEQUENCE)
		return match_number(match, payload);
	if (match->cfg.method == TL_MATCH_POSITION || payload->len == 0) { // datagrams have no guaranteed order
		match->stats.unmatched_replies++;
		match->stats.unmatched_reply_bytes += payload->len;
		return 0;
	}
	int rc = match_text_put(&match->datagram, payload);
	return rc != 0 ? rc : match_text_decide(match, &match->datagram, UINT64_MAX);
}

// ---- by position

// Add the bytes of a piece at this place that belong to the reply, if none is missing in front of them.
static void add_bytes(
	struct match_reply *reply, const struct match_trigger *trigger, uint64_t at, const struct match_payload *piece)
{
	uint64_t from = tl_max_u64(at, trigger->begin),
		 until = tl_min_u64(at + piece->len, trigger->begin + trigger->len);

	if (from != trigger->begin + reply->bytes)
		return;
	for (uint64_t i = from; i < until; i++)
		reply->sum = match_extend(reply->sum, piece->data[i - at]);
	reply->bytes += (uint32_t)(until - from);
}

// Account for a piece of the reply to the awaited trigger. Return this reply so far.
static const struct match_reply *add_piece(struct tl_match *match, uint64_t at, const struct match_payload *piece)
{
	struct match_reply *reply = &match->reply;
	uint64_t end = match->awaited->begin + match->awaited->len;

	if (match->reply_end != end)
		*reply = (struct match_reply){0};
	match->reply_end = end;
	add_bytes(reply, match->awaited, at, piece);
	reply->segments += piece->back == 0 || at <= match->awaited->begin + piece->back;
	reply->again |= piece->again;
	reply->cut |= piece->cut;
	if (is_later(piece->ts_ns, piece->frame, reply)) {
		reply->ts_ns = piece->ts_ns;
		reply->frame = piece->frame;
	}
	return reply;
}

// True if the bytes of both are known, and differ.
static bool is_different(const struct match_trigger *trigger, const struct match_reply *reply)
{
	return !trigger->cut && !reply->cut && reply->bytes == trigger->len && reply->sum != trigger->sum;
}

int match_position(struct tl_match *match, uint64_t at, const struct match_payload *bytes)
{
	uint64_t end = at + bytes->len;
	bool unmatched = match->awaited == NULL || at < match->awaited->begin;
	int rc = 0;

	while (rc == 0 && match->awaited != NULL && match->awaited->begin < end) {
		struct match_trigger *trigger = match->awaited;
		uint64_t trigger_end = trigger->begin + trigger->len;
		const struct match_reply *reply = trigger_end > at ? add_piece(match, at, bytes) : NULL;
		if (trigger_end > end)
			break;
		match->awaited = trigger->next;
		if (reply == NULL) // its last byte was lost
			continue;
		if (match_is_in_sight(match, trigger, reply->ts_ns)) {
			match->stats.different += is_different(trigger, reply);
			rc = match_link(match, trigger, false, reply);
		} else {
			unmatched = true;
		}
	}
	unmatched |= end > match->begin;
	match->stats.unmatched_replies += unmatched;
	match->stats.unmatched_reply_bytes += unmatched ? bytes->len : 0;
	return rc;
}
