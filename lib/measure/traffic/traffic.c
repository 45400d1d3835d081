// SPDX-License-Identifier: BSD-3-Clause
// Choice of tricks, and generation of triggers, latencies and replies.

#include <stdio.h>
#include <stdlib.h>

#include "traffic_priv.h"

#define BIT(trick) (UINT64_C(1) << TL_TRAFFIC_##trick)
#define LOSES (BIT(NO_REPLY) | BIT(UNSEEN_REPLY) | BIT(UNSEEN_TRIGGER) | BIT(LATE))
#define CLOCKS (BIT(OFFSET) | BIT(DRIFT) | BIT(STEP))
#define REPEATS (BIT(IDENTICAL) | BIT(SHORT))

// A trick is played in percent of the cases in which all of needs and none of excludes are played: both list earlier
// tricks.
static const struct trick {
	const char *name;
	unsigned percent;
	uint64_t needs, excludes;
} tricks[] = {
	[TL_TRAFFIC_TCP_REPLIES] = {"TCP replies", 70, 0, 0},
	[TL_TRAFFIC_TCP_TRIGGERS] = {"TCP triggers", 20, 0, 0},
	[TL_TRAFFIC_POSITION] = {"position", 12, BIT(TCP_REPLIES), 0},
	[TL_TRAFFIC_SEQUENCE] = {"sequence", 15, 0, BIT(POSITION)},
	[TL_TRAFFIC_IDENTICAL] = {"identical payloads", 15, 0, BIT(SEQUENCE)},
	[TL_TRAFFIC_SHORT] = {"short payloads", 10, 0, BIT(SEQUENCE) | BIT(IDENTICAL)},
	[TL_TRAFFIC_PREFIX] = {"prefixes", 15, 0, BIT(SEQUENCE) | REPEATS},
	[TL_TRAFFIC_HEADER] = {"headers", 20, 0, BIT(POSITION) | REPEATS},
	[TL_TRAFFIC_WRAP] = {"sequence wrap", 30, 0, 0},
	[TL_TRAFFIC_SPLIT] = {"splits", 40, BIT(TCP_REPLIES), 0},
	[TL_TRAFFIC_MERGE] = {"merges", 40, 0, 0},
	[TL_TRAFFIC_OVERTAKE] = {"reordering", 30, 0, 0},
	[TL_TRAFFIC_DUPLICATE] = {"duplicates", 25, 0, 0},
	[TL_TRAFFIC_AGAIN] = {"retransmissions", 30, 0, 0},
	[TL_TRAFFIC_RESET] = {"resets", 15, BIT(TCP_REPLIES), BIT(POSITION) | BIT(PREFIX) | REPEATS},
	[TL_TRAFFIC_MIDDLE] = {"no handshake", 15, 0, BIT(OVERTAKE) | BIT(AGAIN) | BIT(DUPLICATE)},
	[TL_TRAFFIC_STREAMS] = {"several streams", 25, BIT(TCP_REPLIES), BIT(POSITION) | BIT(PREFIX) | REPEATS},
	[TL_TRAFFIC_NO_REPLY] = {"lost messages", 30, 0, 0},
	[TL_TRAFFIC_UNSEEN_REPLY] = {"lost replies", 25, 0, BIT(POSITION)},
	[TL_TRAFFIC_UNSEEN_TRIGGER] = {"lost triggers", 20, 0, BIT(POSITION)},
	[TL_TRAFFIC_LATE] = {"late replies", 15, 0, BIT(POSITION) | REPEATS},
	[TL_TRAFFIC_COPY] = {"copied triggers", 20, 0, BIT(POSITION) | BIT(TCP_TRIGGERS) | BIT(LATE) | REPEATS},
	[TL_TRAFFIC_UNIQUE] = {"unique", 60, BIT(COPY), 0},
	[TL_TRAFFIC_TWO_FILES] = {"two files", 35, 0, 0},
	[TL_TRAFFIC_OFFSET] = {"clock offset", 35, BIT(TWO_FILES), BIT(COPY)},
	[TL_TRAFFIC_DRIFT] = {"clock drift", 35, BIT(TWO_FILES), BIT(COPY)},
	[TL_TRAFFIC_STEP] = {"clock step", 35, BIT(TWO_FILES), BIT(COPY)},
	[TL_TRAFFIC_MICROSECONDS] = {"microseconds", 25, 0, 0},
	[TL_TRAFFIC_IP6] = {"IPv6", 25, 0, 0},
	[TL_TRAFFIC_VLAN] = {"VLAN", 15, 0, 0},
	[TL_TRAFFIC_LINK] = {"link types", 30, 0, BIT(VLAN)},
	[TL_TRAFFIC_PCAPNG] = {"pcapng", 50, 0, 0},
	[TL_TRAFFIC_MARKED] = {"directions", 40, BIT(PCAPNG), 0},
	[TL_TRAFFIC_BIG_ENDIAN] = {"big endian", 30, 0, 0},
	[TL_TRAFFIC_CUT] = {"snaplen", 40, BIT(POSITION), 0},
	[TL_TRAFFIC_NOISE] = {"other traffic", 40, 0, 0},
};

const char *tl_traffic_trick_name(enum tl_traffic_trick trick)
{
	return tricks[trick].name;
}

static void choose_tricks(struct world *w)
{
	for (unsigned i = 0; i < TL_TRAFFIC_TRICKS; i++) {
		const struct trick *trick = &tricks[i];
		bool chosen = below(w, 100) < trick->percent; // always drawn: keeps the rest of a seed
		if (chosen && (w->is.tricks & trick->needs) == trick->needs && (w->is.tricks & trick->excludes) == 0)
			w->is.tricks |= UINT64_C(1) << i;
	}
}

// Decide whether the truth is exact: payloads that recur, and tricks that put another message in the place of a missing
// one, allow more than one answer.
static void check_exactness(struct world *w)
{
	uint64_t played = w->is.tricks;
	bool by_position = has(w, TL_TRAFFIC_POSITION);

	w->is.exact = by_position ? (played & LOSES) == 0
				  : (played & REPEATS) == 0 &&
					    !((played & BIT(PREFIX)) != 0 && (played & (LOSES | CLOCKS)) != 0);
	if ((played & BIT(COPY)) != 0 && (played & BIT(UNIQUE)) == 0 && (played & BIT(TCP_REPLIES)) == 0 &&
		(played & BIT(DUPLICATE)) != 0)
		w->is.exact = false; // the second reply answers the second trigger
	w->is.orderly = !w->is.exact && !by_position && (played & BIT(IDENTICAL)) != 0 &&
			(played & (BIT(UNSEEN_TRIGGER) | CLOCKS)) == 0 &&
			((played & BIT(TCP_REPLIES)) != 0 || (played & (BIT(DUPLICATE) | BIT(OVERTAKE))) == 0);
}

static void choose_clocks(struct world *w)
{
	static const uint8_t families[] = {24, 28, 30};
	const enum tl_link links[] = {TL_LINK_NULL, TL_LINK_LOOP, TL_LINK_RAW, TL_LINK_SLL, TL_LINK_SLL2,
		has(w, TL_TRAFFIC_IP6) ? TL_LINK_IPV6 : TL_LINK_IPV4};
	bool coarse = has(w, TL_TRAFFIC_MICROSECONDS);
	unsigned which = (unsigned)below(w, 3);

	w->unit_ns[TRIGGER] = coarse && which != 1 ? 1000 : 1;
	w->unit_ns[REPLY] = has(w, TL_TRAFFIC_TWO_FILES) ? (coarse && which != 2 ? 1000 : 1) : w->unit_ns[TRIGGER];
	w->offset_ns = has(w, TL_TRAFFIC_OFFSET) ? (int64_t)below(w, 120000) - 60000 : 0;
	w->drift_ppm = has(w, TL_TRAFFIC_DRIFT) ? (int64_t)below(w, 4000) - 2000 : 0;
	w->step_ns = has(w, TL_TRAFFIC_STEP) ? (int64_t)below(w, 200000) - 100000 : 0;
	w->family = has(w, TL_TRAFFIC_IP6) ? families[below(w, TL_ARRAY_LEN(families))] : 2;
	w->link = has(w, TL_TRAFFIC_LINK) ? links[below(w, TL_ARRAY_LEN(links))] : TL_LINK_ETHERNET;
}

// ---- messages

static uint32_t make_bytes(struct world *w, uint32_t n)
{
	uint32_t at = w->used;

	for (uint32_t i = 0; i < n; i++)
		w->bytes[w->used++] = (uint8_t)tl_random_next(&w->random);
	return at;
}

static void copy_bytes(struct world *w, uint32_t to, uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		w->bytes[to + i] = w->bytes[from + i];
}

static uint32_t payload_bytes(struct world *w)
{
	static const uint32_t usual[] = {12, 16, 16, 16, 33, 64, 200, 700};

	return usual[below(w, TL_ARRAY_LEN(usual))];
}

// Generate a payload. Short ones count from 0 up to a period of the seed.
static void make_payload(struct world *w, struct message *message, uint32_t number, uint32_t period)
{
	const struct message *before = number != 0 ? message - 1 : NULL;

	if (before != NULL && has(w, TL_TRAFFIC_IDENTICAL)) {
		message->ask_at = before->ask_at;
		message->ask_bytes = before->ask_bytes;
		return;
	}
	message->ask_bytes = has(w, TL_TRAFFIC_SHORT) ? 1 + (period & 1) : payload_bytes(w);
	bool longer = before != NULL && before->ask_bytes < 400 && happens(w, TL_TRAFFIC_PREFIX, 2);
	if (longer)
		message->ask_bytes = before->ask_bytes + 12;
	message->ask_at = make_bytes(w, message->ask_bytes);
	if (longer)
		copy_bytes(w, message->ask_at, before->ask_at, before->ask_bytes);
	if (has(w, TL_TRAFFIC_SHORT)) {
		w->bytes[message->ask_at] = (uint8_t)(number % period);
		w->bytes[message->ask_at + message->ask_bytes - 1] = (uint8_t)(number % period);
	}
}

// Generate a reply. By sequence it has only the number in common with its trigger; else the payload, with or without
// bytes around.
static void make_answer(struct world *w, struct message *message)
{
	const struct tl_match_cfg *match = &w->is.match;
	uint32_t head = 0, tail = 0;

	if (has(w, TL_TRAFFIC_SEQUENCE)) {
		message->answer_bytes = match->reply_bytes != 0 ? match->reply_bytes : message->ask_bytes;
		message->core_bytes = message->answer_bytes;
		message->answer_at = make_bytes(w, message->answer_bytes);
		copy_bytes(w, message->answer_at + match->reply_offset, message->ask_at + match->trigger_offset,
			match->number_bytes);
		return;
	}
	if (has(w, TL_TRAFFIC_HEADER)) {
		head = (uint32_t)below(w, 9);
		tail = (uint32_t)below(w, 5);
	}
	message->core_from = head;
	message->core_bytes = message->ask_bytes;
	message->answer_bytes = head + message->ask_bytes + tail;
	message->answer_at = make_bytes(w, message->answer_bytes);
	copy_bytes(w, message->answer_at + head, message->ask_at, message->ask_bytes);
}

static uint64_t jitter_ns(struct world *w)
{
	uint64_t even = below(w, w->jitter_ns + 1);

	switch (w->jitter_kind) {
	case 0:
		return 0;
	case 1:
		return even;
	case 2: // two modes
		return below(w, 5) == 0 ? 4 * w->jitter_ns + even : even / 8;
	default: // a long tail: each doubling is half as likely
		return even << __builtin_ctzll(tl_random_next(&w->random) | 64);
	}
}

static void choose_times(struct world *w)
{
	static const uint64_t gaps[] = {300, 5000, 20000, 60000, 400000};

	w->gap_ns = gaps[below(w, TL_ARRAY_LEN(gaps))];
	w->base_ns = 400 + below(w, 30000);
	w->jitter_ns = 1 + below(w, 20000);
	w->jitter_kind = (unsigned)below(w, 4);
	w->is.match.window_ns = (3 + below(w, 6)) * TL_NS_PER_MS;
}

static void make_message(struct world *w, uint32_t number, uint32_t period, uint32_t streams)
{
	struct message *message = &w->message[number];
	uint64_t before_ns = number != 0 ? message[-1].ask_ns - message[-1].delay_ns : 5000;
	uint64_t unit_ns = w->unit_ns[TRIGGER];

	*message = (struct message){.stream = (uint32_t)below(w, streams), .asked = NONE, .copied = NONE};
	if (!has(w, TL_TRAFFIC_POSITION) && happens(w, TL_TRAFFIC_OVERTAKE, 10))
		message->delay_ns = below(w, 3 * w->gap_ns);
	message->ask_ns = before_ns + message->delay_ns + w->gap_ns / 2 + below(w, w->gap_ns);
	message->answer_ns = message->ask_ns + w->base_ns + jitter_ns(w);
	if (happens(w, TL_TRAFFIC_LATE, 12)) {
		message->ask_ns -= message->ask_ns % unit_ns;
		message->answer_ns = message->ask_ns + w->is.match.window_ns + unit_ns * below(w, 2);
	}
	if (has(w, TL_TRAFFIC_POSITION) && number != 0 && message->answer_ns < message[-1].answer_ns)
		message->answer_ns = message[-1].answer_ns;
	message->unanswered = happens(w, TL_TRAFFIC_NO_REPLY, 15);
	make_payload(w, message, number, period);
	make_answer(w, message);
}

static void make_messages(struct world *w)
{
	uint32_t least = (w->is.tricks & REPEATS) != 0 ? 40 : 1; // links of identical payloads need several to show
	uint32_t n = least + (uint32_t)below(w, below(w, 4) == 0 ? TL_TRAFFIC_PAIRS - least + 1 : 40);
	uint32_t period = 2 + (uint32_t)below(w, 60);
	uint32_t streams = has(w, TL_TRAFFIC_STREAMS) ? 2 + (uint32_t)below(w, 2) : 1;

	for (w->messages = 0; w->messages < n; w->messages++)
		make_message(w, w->messages, period, streams);
}

// ---- the call

static void make_call(struct world *w)
{
	struct tl_traffic *is = &w->is;
	static const unsigned max_losses[] = {1, 1, 0, 50, 200};
	const char *tag = has(w, TL_TRAFFIC_VLAN) ? "vlan and " : "";

	is->max_loss_permille = max_losses[below(w, TL_ARRAY_LEN(max_losses))];
	is->files = has(w, TL_TRAFFIC_TWO_FILES) ? 2 : 1;
	snprintf(is->trigger, sizeof(is->trigger), "%s%s dst port %d", tag,
		has(w, TL_TRAFFIC_TCP_TRIGGERS) ? "tcp" : "udp", TRIGGER_PORT);
	snprintf(is->reply, sizeof(is->reply), "%s%s src port %d", tag, has(w, TL_TRAFFIC_TCP_REPLIES) ? "tcp" : "udp",
		REPLY_PORT);
	is->match.unique = has(w, TL_TRAFFIC_UNIQUE);
	if (has(w, TL_TRAFFIC_POSITION))
		is->match.method = TL_MATCH_POSITION;
	if (!has(w, TL_TRAFFIC_SEQUENCE))
		return;
	is->match.method = TL_MATCH_SEQUENCE;
	is->match.number_bytes = 8;
	is->match.trigger_offset = (uint32_t)below(w, 4);
	is->match.reply_offset = has(w, TL_TRAFFIC_HEADER) ? (uint32_t)below(w, 5) : is->match.trigger_offset;
	uint32_t reply_bytes = 12 + (uint32_t)below(w, 60);
	bool begins = !has(w, TL_TRAFFIC_MIDDLE) || !has(w, TL_TRAFFIC_UNSEEN_REPLY); // a stream, with a whole reply
	if (has(w, TL_TRAFFIC_TCP_REPLIES) && begins && below(w, 2) == 0)
		is->match.reply_bytes = reply_bytes;
}

struct tl_traffic *tl_traffic_create(void)
{
	return (struct tl_traffic *)calloc(1, sizeof(struct world));
}

void tl_traffic_destroy(struct tl_traffic *traffic)
{
	free(traffic);
}

void tl_traffic_make(struct tl_traffic *traffic, uint64_t seed)
{
	struct world *w = (struct world *)traffic;

	w->is = (struct tl_traffic){.seed = seed};
	w->random = tl_random_mix(seed);
	w->messages = w->ordered = w->flows = w->frames = w->used = 0;
	choose_tricks(w);
	check_exactness(w);
	choose_clocks(w);
	choose_times(w);
	make_call(w);
	make_messages(w);
	traffic_send(w);
	traffic_describe(w);
}
