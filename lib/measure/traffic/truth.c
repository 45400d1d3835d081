// SPDX-License-Identifier: BSD-3-Clause
// Truth: stamps and numbers of frames, the frames of each message, and when it was complete. The message that a byte
// belongs to is known, so no bytes are compared.

#include <stdlib.h>

#include <tl_wire.h>

#include "traffic_priv.h"

// Return the clock of a side at a true time, counted in its unit.
static uint64_t stamp_ns(const struct world *w, unsigned side, uint64_t ns)
{
	int64_t shown = (int64_t)ns;

	if (side == REPLY)
		shown += w->offset_ns + (int64_t)ns * w->drift_ppm / 1000000 + (ns >= w->step_at_ns ? w->step_ns : 0);
	uint64_t stamp = START_NS + (uint64_t)shown;
	return stamp - stamp % w->unit_ns[side];
}

static void stamp_frames(struct world *w)
{
	uint32_t packets[SIDES] = {0};

	for (uint32_t i = 0; i < w->frames; i++) {
		struct frame *frame = &w->frame[i];
		frame->stamp_ns = stamp_ns(w, frame->side, frame->ns);
		frame->packet = ++packets[w->is.files == 2 ? frame->side : 0];
	}
}

// ---- segments

// Record the first frame with each byte of a flow.
static void bring(struct world *w, uint32_t flow, uint64_t *repeated)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < w->flow[flow].text_bytes; i++)
		w->brought_by[i] = NONE;
	for (uint32_t i = 0; i < w->frames; i++) {
		struct frame *frame = &w->frame[i];
		uint32_t fresh = 0;
		if (frame->flow != flow || frame->bytes == 0)
			continue;
		for (uint32_t k = frame->place; k < frame->place + frame->bytes; k++)
			if (w->brought_by[k] == NONE) {
				w->brought_by[k] = i;
				fresh++;
			}
		uint32_t behind = frame->place + frame->bytes;
		bool probe = frame->bytes == 1 && behind == end; // resembles a keepalive probe
		frame->again = fresh < frame->bytes || behind < end;
		end = (uint32_t)tl_max_u64(end, behind);
		*repeated += fresh == 0 && !probe;
	}
}

static void find_triggers(struct world *w)
{
	bool by_tcp = has(w, TL_TRAFFIC_TCP_TRIGGERS);
	uint64_t repeated = 0;

	if (by_tcp)
		bring(w, 0, &repeated);
	for (uint32_t i = 0; i < w->frames; i++) {
		const struct frame *frame = &w->frame[i];
		if (frame->noise || frame->side != TRIGGER || frame->bytes == 0)
			continue;
		struct message *message = &w->message[frame->message];
		if (message->asked == NONE)
			message->asked = i;
		else if (!by_tcp && !w->is.match.unique)
			message->copied = i;
		else
			continue;
		w->is.triggers++;
	}
}

// ---- replies

// True if all bytes of the answer have arrived. Sets the frame that completed them.
static bool is_complete(const struct world *w, const struct message *message, const struct frame **out)
{
	const struct frame *last = NULL;
	uint32_t from = message->place + message->core_from;

	for (uint32_t i = from; i < from + message->core_bytes; i++) {
		if (w->brought_by[i] == NONE)
			return false;
		const struct frame *frame = &w->frame[w->brought_by[i]];
		if (last == NULL || frame->stamp_ns > last->stamp_ns ||
			(frame->stamp_ns == last->stamp_ns && frame->packet > last->packet))
			last = frame;
	}
	*out = last;
	return true;
}

static uint32_t count_segments(struct world *w, uint32_t from, uint32_t to)
{
	uint32_t segments = 0;

	for (uint32_t i = from; i < to; i++) {
		struct frame *frame = &w->frame[w->brought_by[i]];
		segments += frame->counted != w->is.pairs + 1;
		frame->counted = w->is.pairs + 1;
	}
	return segments;
}

// True if a segment with some of these bytes repeated others, or was overtaken.
static bool was_sent_again(const struct world *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (w->frame[w->brought_by[i]].again)
			return true;
	return false;
}

static void add_pair(struct world *w, struct message *message, const struct frame *last)
{
	const struct frame *asked = &w->frame[message->asked];
	uint32_t from = message->place + message->core_from, to = from + message->core_bytes;
	struct tl_traffic_pair pair = {.trigger_packet = asked->packet,
		.reply_packet = last->packet,
		.trigger_ns = asked->stamp_ns,
		.reply_ns = last->stamp_ns,
		.segments = count_segments(w, from, to)};

	pair.ambiguous = message->copied != NONE && w->frame[message->copied].stamp_ns <= last->stamp_ns;
	pair.retransmitted = asked->again || was_sent_again(w, from, to);
	w->is.ambiguous += pair.ambiguous;
	w->is.reply_first += pair.reply_ns < pair.trigger_ns;
	w->is.pair[w->is.pairs++] = pair;
	message->done = true;
}

// True if these bytes are a reply, to a trigger that had none or has one.
static bool answers(struct world *w, struct message *message)
{
	const struct frame *last;

	if (message->asked == NONE || !is_complete(w, message, &last))
		return false;
	uint64_t asked_ns = w->frame[message->asked].stamp_ns;
	uint64_t apart_ns = last->stamp_ns > asked_ns ? last->stamp_ns - asked_ns : asked_ns - last->stamp_ns;
	if (apart_ns > w->is.match.window_ns)
		return false;
	if (message->done)
		w->is.duplicates++;
	else
		add_pair(w, message, last);
	return true;
}

// Return the key of the stretch of a byte without a reply: the segment, or the reply's place if all have equal length.
static uint32_t stretch(const struct world *w, uint32_t at)
{
	uint32_t reply_bytes = w->is.match.reply_bytes;

	if (w->brought_by[at] == NONE)
		return NONE;
	return reply_bytes != 0 ? at / reply_bytes : w->brought_by[at];
}

// Walk over bytes of a flow, and the messages first up to end of order[] in them.
static void walk(struct world *w, uint32_t from, uint32_t to, uint32_t first, uint32_t end)
{
	uint32_t passing = NONE;

	while (from < to) {
		struct message *message = first < end ? &w->message[w->order[first]] : NULL;
		bool begins = message != NULL && message->place + message->core_from == from;
		first += begins;
		if (begins && answers(w, message)) {
			from += message->core_bytes;
			passing = NONE;
			continue;
		}
		uint32_t here = stretch(w, from++);
		w->is.unmatched_replies += here != passing && here != NONE;
		passing = here;
	}
}

static void find_replies(struct world *w)
{
	for (uint32_t i = 1; i < w->flows && has(w, TL_TRAFFIC_TCP_REPLIES); i++) {
		const struct flow *flow = &w->flow[i];
		bring(w, i, &w->is.duplicates);
		walk(w, 0, flow->text_bytes, flow->first, flow->first + flow->messages);
	}
	for (uint32_t i = 0; i < w->frames && !has(w, TL_TRAFFIC_TCP_REPLIES); i++) {
		const struct frame *frame = &w->frame[i];
		if (frame->noise || frame->side != REPLY || frame->bytes == 0)
			continue;
		for (uint32_t k = frame->place; k < frame->place + frame->bytes; k++)
			w->brought_by[k] = i;
		walk(w, frame->place, frame->place + frame->bytes, frame->message, frame->message + frame->messages);
	}
}

static int by_trigger(const void *a, const void *b)
{
	const struct tl_traffic_pair *x = a, *y = b;

	return x->trigger_packet < y->trigger_packet ? -1 : x->trigger_packet > y->trigger_packet;
}

void traffic_describe(struct world *w)
{
	stamp_frames(w);
	find_triggers(w);
	find_replies(w);
	for (uint32_t i = 0; i < w->messages; i++)
		w->is.missing |= has(w, TL_TRAFFIC_POSITION) && w->message[i].unanswered;
	qsort(w->is.pair, w->is.pairs, sizeof(w->is.pair[0]), by_trigger);
}
