// SPDX-License-Identifier: BSD-3-Clause
// Encoding of messages as UDP datagrams and TCP segments, and of network events on their way into the capture.

#include <stdlib.h>

#include <tl_wire.h>

#include "traffic_priv.h"

#define SEGMENT_MAX 1400

static struct frame *add_frame(struct world *w, uint8_t side, uint8_t protocol, uint64_t ns)
{
	struct frame *frame = &w->frame[w->frames];

	if (w->frames < FRAMES_MAX - 1) // the last place takes the excess: no seed needs it
		w->frames++;
	*frame = (struct frame){.ns = ns, .serial = w->frames, .side = side, .protocol = protocol, .flow = NONE};
	w->last_ns = tl_max_u64(w->last_ns, ns);
	return frame;
}

static void add_segment(struct world *w, uint8_t side, uint32_t flow, uint32_t from, uint32_t to, uint64_t ns)
{
	struct frame *frame = add_frame(w, side, TL_IPPROTO_TCP, ns);

	frame->flow = flow;
	frame->place = from;
	frame->bytes = to - from;
	frame->tcp_flags = TL_TCP_ACK;
}

// Add a SYN or RST.
static void add_control(struct world *w, uint8_t side, uint32_t flow, uint8_t flags, uint64_t ns)
{
	struct frame *frame = add_frame(w, side, TL_IPPROTO_TCP, ns);

	frame->flow = flow;
	frame->place =
		(flags & TL_TCP_SYN) != 0 ? UINT32_MAX : w->flow[flow].text_bytes; // a SYN is placed before the text
	frame->tcp_flags = flags;
}

static uint32_t add_flow(struct world *w, uint16_t from_port, uint16_t to_port)
{
	struct flow *flow = &w->flow[w->flows];

	*flow = (struct flow){.from_port = from_port, .to_port = to_port, .text_at = w->used, .first = w->ordered};
	flow->isn = has(w, TL_TRAFFIC_WRAP) ? 0u - 1 - (uint32_t)below(w, 400) : (uint32_t)tl_random_next(&w->random);
	return w->flows++;
}

static uint32_t append(struct world *w, struct flow *flow, uint32_t at, uint32_t n)
{
	uint32_t place = flow->text_bytes;

	for (uint32_t i = 0; i < n; i++)
		w->bytes[w->used++] = w->bytes[at + i];
	flow->text_bytes += n;
	return place;
}

// ---- triggers

// Send a trigger. A TCP segment may begin with some bytes of the one before.
static void send_trigger(struct world *w, uint32_t flow, uint32_t number, uint32_t place)
{
	const struct message *message = &w->message[number];
	bool by_tcp = has(w, TL_TRAFFIC_TCP_TRIGGERS);
	uint32_t back = 0;
	static const uint32_t repeated = 5;

	if (happens(w, TL_TRAFFIC_UNSEEN_TRIGGER, 12))
		return;
	if (by_tcp && number != 0 && !has(w, TL_TRAFFIC_UNSEEN_TRIGGER) && !has(w, TL_TRAFFIC_OVERTAKE) &&
		happens(w, TL_TRAFFIC_AGAIN, 6))
		back = place < repeated ? place : repeated;
	bool again = by_tcp ? happens(w, TL_TRAFFIC_DUPLICATE, 8) : happens(w, TL_TRAFFIC_COPY, 5);
	for (unsigned i = 0; i <= again; i++) {
		uint64_t later_ns = i * (1 + below(w, 40000));
		struct frame *frame =
			add_frame(w, TRIGGER, by_tcp ? TL_IPPROTO_TCP : TL_IPPROTO_UDP, message->ask_ns + later_ns);
		frame->flow = flow;
		frame->place = place - back;
		frame->bytes = message->ask_bytes + back;
		frame->message = number;
		frame->tcp_flags = TL_TCP_ACK;
	}
}

static void send_triggers(struct world *w)
{
	uint32_t flow = add_flow(w, 4000, TRIGGER_PORT);

	if (has(w, TL_TRAFFIC_TCP_TRIGGERS) && !has(w, TL_TRAFFIC_MIDDLE))
		add_control(w, TRIGGER, flow, TL_TCP_SYN, 1000);
	for (uint32_t i = 0; i < w->messages; i++)
		send_trigger(w, flow, i, append(w, &w->flow[flow], w->message[i].ask_at, w->message[i].ask_bytes));
}

// ---- replies

static struct message *ordered(struct world *w, uint32_t i)
{
	return &w->message[w->order[i]];
}

static void append_answer(struct world *w, uint32_t flow, uint32_t i)
{
	struct message *message = ordered(w, i);

	message->flow = flow;
	message->place = append(w, &w->flow[flow], message->answer_at, message->answer_bytes);
	w->flow[flow].messages++;
}

static void send_datagram(struct world *w, uint32_t flow, uint32_t first, uint32_t n)
{
	const struct message *from = ordered(w, first), *last = ordered(w, first + n - 1);
	uint64_t ns = last->answer_ns + (happens(w, TL_TRAFFIC_OVERTAKE, 8) ? below(w, 30000) : 0);
	unsigned copies = 1 + happens(w, TL_TRAFFIC_DUPLICATE, 8);

	for (unsigned i = 0; i < copies; i++, ns += 1 + below(w, 5000)) {
		if (happens(w, TL_TRAFFIC_UNSEEN_REPLY, 15))
			continue;
		struct frame *frame = add_frame(w, REPLY, TL_IPPROTO_UDP, ns);
		frame->flow = flow;
		frame->place = from->place;
		frame->bytes = last->place + last->answer_bytes - from->place;
		frame->message = first;
		frame->messages = n;
	}
}

static void send_datagrams(struct world *w, uint32_t flow)
{
	uint32_t end = w->flow[flow].first + w->flow[flow].messages;

	for (uint32_t i = w->flow[flow].first, n; i < end; i += n) {
		n = 1;
		while (i + n < end && !has(w, TL_TRAFFIC_SEQUENCE) && happens(w, TL_TRAFFIC_MERGE, 3) &&
			ordered(w, i + n)->place + ordered(w, i + n)->answer_bytes - ordered(w, i)->place <=
				SEGMENT_MAX)
			n++;
		send_datagram(w, flow, i, n);
	}
}

// Send bytes of a flow: first transmission, or retransmission.
static void send_segment(struct world *w, uint32_t flow, uint32_t from, uint32_t to, uint64_t ns)
{
	unsigned copies = 1 + happens(w, TL_TRAFFIC_DUPLICATE, 8);

	if (happens(w, TL_TRAFFIC_AGAIN, 6))
		from -= (uint32_t)tl_min_u64(from, 1 + below(w, 8));
	if (happens(w, TL_TRAFFIC_OVERTAKE, 8))
		ns += below(w, 30000);
	for (unsigned i = 0; i < copies; i++, ns += 1 + below(w, 20000))
		if (!happens(w, TL_TRAFFIC_UNSEEN_REPLY, 15))
			add_segment(w, REPLY, flow, from, to, ns);
	if (!happens(w, TL_TRAFFIC_AGAIN, 8))
		return;
	uint32_t back = from - (uint32_t)tl_min_u64(from, below(w, 40));
	uint32_t stop = to - (uint32_t)below(w, tl_min_u64(to - back, 10));
	add_segment(w, REPLY, flow, back, stop, ns + below(w, 80000));
}

// Return the end of the segment that begins at from; i is the message there.
static uint32_t segment_end(struct world *w, uint32_t from, uint32_t i, uint32_t last)
{
	uint32_t end = ordered(w, i)->place + ordered(w, i)->answer_bytes;

	while (i < last && happens(w, TL_TRAFFIC_MERGE, 2)) {
		i++;
		end = ordered(w, i)->place + ordered(w, i)->answer_bytes;
	}
	if (end - from > 1 && happens(w, TL_TRAFFIC_SPLIT, 2))
		end = from + 1 + (uint32_t)below(w, end - from - 1);
	return (uint32_t)tl_min_u64(end, from + SEGMENT_MAX);
}

static void send_segments(struct world *w, uint32_t flow, uint64_t ns)
{
	const struct flow *of = &w->flow[flow];
	uint32_t i = of->first, last = of->first + of->messages - 1;

	for (uint32_t from = 0, to; from < of->text_bytes; from = to) {
		while (ordered(w, i)->place + ordered(w, i)->answer_bytes <= from)
			i++;
		to = segment_end(w, from, i, last);
		uint32_t latest = i;
		while (latest < last && ordered(w, latest + 1)->place < to)
			latest++;
		ns = tl_max_u64(ns + 1, ordered(w, latest)->answer_ns);
		send_segment(w, flow, from, to, ns);
		if (happens(w, TL_TRAFFIC_SPLIT, 2))
			ns += below(w, 20000);
	}
}

// Send one direction of a connection, from its handshake on, for messages first up to last of order[].
static void send_connection(struct world *w, uint32_t first, uint32_t end, uint16_t port, uint64_t ns, bool resets)
{
	w->ordered = first;
	uint32_t flow = add_flow(w, REPLY_PORT, port);
	if (has(w, TL_TRAFFIC_MIDDLE)) // only its sequence number shows that another connection has begun
		w->flow[flow].isn = (w->flow[flow].isn & 0xfffff) + (flow << 29);

	if (!has(w, TL_TRAFFIC_MIDDLE))
		add_control(w, REPLY, flow, TL_TCP_SYN | TL_TCP_ACK, ns);
	for (uint32_t i = first; i < end; i++)
		append_answer(w, flow, i);
	w->ordered = end;
	send_segments(w, flow, ns);
	if (resets)
		add_control(w, REPLY, flow, TL_TCP_RST | TL_TCP_ACK, w->last_ns + 1);
}

// After a reset a new connection begins later than all frames so far, on the same port or another.
static void send_stream(struct world *w, uint32_t first, uint32_t end, uint32_t stream)
{
	uint16_t port = (uint16_t)(40000 + 16 * stream);
	uint64_t ns = 2000;

	for (unsigned parts = 0; first < end; parts++) {
		uint32_t stop = first + 1;
		while (stop < end && (parts == 2 || !happens(w, TL_TRAFFIC_RESET, 12)))
			stop++;
		w->last_ns = parts == 0 ? 0 : w->last_ns;
		send_connection(w, first, stop, port, ns, stop < end);
		port = (uint16_t)(port + below(w, 2));
		ns = w->last_ns + 1 + below(w, 3000);
		first = stop;
	}
}

static int by_answer(const void *a, const void *b, void *ctx)
{
	const struct world *w = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct message *x = &w->message[i], *y = &w->message[k];

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->answer_ns != y->answer_ns)
		return x->answer_ns < y->answer_ns ? -1 : 1;
	return i < k ? -1 : 1;
}

static void send_replies(struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->messages; i++)
		if (!w->message[i].unanswered)
			w->order[n++] = i;
	qsort_r(w->order, n, sizeof(w->order[0]), by_answer, w);
	if (!has(w, TL_TRAFFIC_TCP_REPLIES)) {
		uint32_t flow = add_flow(w, REPLY_PORT, 40000);
		for (uint32_t i = 0; i < n; i++)
			append_answer(w, flow, i);
		send_datagrams(w, flow);
		return;
	}
	for (uint32_t first = 0, end; first < n; first = end) {
		end = first;
		while (end < n && ordered(w, end)->stream == ordered(w, first)->stream)
			end++;
		send_stream(w, first, end, ordered(w, first)->stream);
	}
}

// ---- whole traffic

static int by_time(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

void traffic_send(struct world *w)
{
	w->last_ns = 0;
	send_triggers(w);
	send_replies(w);
	uint64_t span_ns = w->message[w->messages - 1].ask_ns + 1;
	for (uint32_t i = 0; i < w->messages && has(w, TL_TRAFFIC_NOISE); i++)
		add_frame(w, (uint8_t)below(w, SIDES), TL_IPPROTO_UDP, below(w, span_ns))->noise = true;
	w->step_at_ns = below(w, span_ns);
	qsort(w->frame, w->frames, sizeof(w->frame[0]), by_time);
}
