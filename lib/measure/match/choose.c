// SPDX-License-Identifier: BSD-3-Clause
// Choice among triggers of the same bytes: the one that a reply answers, and whether another is possible.
//
// A reply answers the oldest waiting trigger. If several wait the pair is ambiguous: after one lost reply every later
// one would be assigned the trigger before its own, forever. So older triggers are given up after RESYNC_REPLIES
// consecutive replies of which each came after one more trigger, and as soon after it as unambiguous replies do.
// Replies that a stalled echo sends in a burst have no such effect: no trigger comes in between.
//
// A reply that matches several answered triggers and no open one is ambiguous, too: it may be a copy of an earlier
// reply, or the reply that was overtaken by its copy.
//
// The cost of a choice is O(log n) for n triggers of the same bytes, amortised: places out of sight are skipped by
// binary search, those that do not wait by union-find of neighbours with path halving (Tarjan and van Leeuwen 1984),
// and at most WAITING_MAX candidates are examined from the oldest one on, and as many places from the youngest one
// back. Only triggers that are out of order in a file are passed one by one.

#include "match_priv.h"

#define RESYNC_REPLIES 8
#define WAITING_MAX 64 // triggers examined for one reply, from either end
#define USUAL_DECAY 16 // the usual latency decays by this part with each pair that took less

bool match_is_in_sight(const struct tl_match *match, const struct match_trigger *trigger, uint64_t reply_ns)
{
	uint64_t apart_ns = trigger->ts_ns > reply_ns ? trigger->ts_ns - reply_ns : reply_ns - trigger->ts_ns;

	return apart_ns <= match->cfg.window_ns;
}

static bool is_open(const struct match_trigger *trigger)
{
	return !trigger->answered && !trigger->given_up;
}

// ---- places of a group

// Return the first place from this one on with a waiting trigger, or the end.
static uint32_t next_open(struct tl_match *match, struct match_group *group, uint32_t place)
{
	while (place != group->end) {
		struct match_trigger *trigger = match_at(group, place);
		match->stats.steps++;
		if (is_open(trigger))
			break;
		if (trigger->skip != group->end && !is_open(match_at(group, trigger->skip)))
			trigger->skip = match_at(group, trigger->skip)->skip;
		place = trigger->skip;
	}
	return place;
}

// Return the first place from this one on that may be stamped at this time or later: all before it are stamped earlier.
static uint32_t first_since(struct tl_match *match, const struct match_group *group, uint32_t place, uint64_t since_ns)
{
	uint32_t low = 0, high = group->end - place;

	if (high != 0 && match_at(group, place)->latest_ns >= since_ns)
		return place;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		match->stats.steps++;
		if (match_at(group, place + middle)->latest_ns < since_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return place + low;
}

// Return the first place from this one on that may be in sight.
static uint32_t first_in_sight(
	struct tl_match *match, const struct match_group *group, uint32_t place, uint64_t reply_ns)
{
	return first_since(match, group, place, reply_ns - tl_min_u64(match->cfg.window_ns, reply_ns));
}

// Check whether this trigger and all behind it are stamped too late for the window.
static bool is_beyond(const struct tl_match *match, const struct match_trigger *trigger, uint64_t reply_ns)
{
	uint64_t ahead_ns = trigger->latest_ns - tl_min_u64(reply_ns, trigger->latest_ns);

	return ahead_ns > match->cfg.window_ns && ahead_ns - match->cfg.window_ns > match->index.disorder_ns;
}

const struct match_trigger *match_oldest(struct tl_match *match, struct match_group *group)
{
	group->open = next_open(match, group, group->open);
	return match_at(group, group->open != group->end ? group->open : group->first);
}

// ---- candidates

// Return the first place from this one on with a trigger not given up, or the end.
static uint32_t next_live(struct tl_match *match, const struct match_group *group, uint32_t place)
{
	uint32_t end = place;

	while (end != group->end && match_at(group, end)->given_up) {
		end = match_at(group, end)->behind;
		match->stats.steps++;
	}
	while (place != end) {
		struct match_trigger *trigger = match_at(group, place);
		place = trigger->behind;
		trigger->behind = end;
	}
	return end;
}

// Return the first trigger in sight that has a reply, if none stamped up to this reply waits; ambiguous if there are
// several. Those that wait are stamped later, and nearly always none behind them has a reply.
static struct match_answer find_answered(struct tl_match *match, const struct match_group *group, uint64_t reply_ns)
{
	uint32_t place = first_in_sight(match, group, group->first, reply_ns), open = 0;
	struct match_answer answer = {0};

	for (; open < WAITING_MAX && !answer.ambiguous; place++) {
		place = next_live(match, group, place);
		if (place == group->end)
			break;
		struct match_trigger *trigger = match_at(group, place);
		match->stats.steps++;
		if (is_beyond(match, trigger, reply_ns))
			break;
		if (trigger->answered && match_is_in_sight(match, trigger, reply_ns)) {
			answer.ambiguous = answer.again;
			answer.again = true;
			answer.trigger = answer.trigger != NULL ? answer.trigger : trigger;
		}
		open += is_open(trigger);
	}
	return answer;
}

// Open triggers in sight of a reply.
struct candidates {
	struct match_trigger *oldest, *youngest, *later; // stamped up to the reply: first, last; behind it: last
	unsigned waiting, n_later;			 // up to the reply, at most WAITING_MAX; behind it, at most 2
};

// Return the last open trigger in sight before the first that is stamped after the reply; the oldest if none is near.
static struct match_trigger *find_youngest(
	struct tl_match *match, const struct match_group *group, struct match_trigger *oldest, uint64_t reply_ns)
{
	uint32_t place = first_since(match, group, oldest->place, reply_ns + 1);

	for (unsigned n = 0; n < WAITING_MAX && place != oldest->place; n++) {
		struct match_trigger *trigger = match_at(group, --place);
		match->stats.steps++;
		if (is_open(trigger) && match_is_in_sight(match, trigger, reply_ns))
			return trigger;
	}
	return oldest;
}

static struct candidates find_candidates(struct tl_match *match, struct match_group *group, uint64_t reply_ns)
{
	struct candidates found = {0};

	group->open = next_open(match, group, group->open);
	uint32_t place = next_open(match, group, first_in_sight(match, group, group->open, reply_ns));
	for (; place != group->end && found.n_later < 2 && found.waiting < WAITING_MAX;
		place = next_open(match, group, place + 1)) {
		struct match_trigger *trigger = match_at(group, place);
		if (is_beyond(match, trigger, reply_ns))
			break;
		if (!match_is_in_sight(match, trigger, reply_ns))
			continue;
		if (trigger->ts_ns > reply_ns) {
			found.later = trigger;
			found.n_later++;
			continue;
		}
		found.oldest = found.waiting == 0 ? trigger : found.oldest;
		found.youngest = trigger;
		found.waiting++;
	}
	if (found.waiting == WAITING_MAX)
		found.youngest = find_youngest(match, group, found.oldest, reply_ns);
	return found;
}

static struct match_trigger *choose_of_several(
	struct tl_match *match, struct match_group *group, const struct candidates *candidates, uint64_t reply_ns)
{
	struct match_trigger *youngest = candidates->youngest;
	uint32_t place = candidates->oldest->place;
	bool in_step = youngest->frame != group->youngest_frame && reply_ns - youngest->ts_ns <= group->usual_ns;

	group->youngest_frame = youngest->frame;
	group->in_step = in_step ? group->in_step + 1 : 0;
	if (group->in_step < RESYNC_REPLIES)
		return candidates->oldest;
	for (; place != youngest->place; place = next_open(match, group, place + 1))
		match_at(group, place)->given_up = true;
	return youngest;
}

// Choose. A reply stamped before its trigger is accepted only if no other trigger is possible: after one lost trigger
// each reply would be assigned the next one's.
struct match_answer match_choose(struct tl_match *match, struct match_group *group, uint64_t reply_ns)
{
	struct candidates candidates = find_candidates(match, group, reply_ns);

	if (candidates.waiting > 1)
		return (struct match_answer){
			.trigger = choose_of_several(match, group, &candidates, reply_ns), .ambiguous = true};
	group->in_step = 0;
	if (candidates.waiting == 1) {
		uint64_t latency_ns = reply_ns - candidates.oldest->ts_ns;
		group->usual_ns = tl_max_u64(latency_ns, group->usual_ns - group->usual_ns / USUAL_DECAY);
		return (struct match_answer){.trigger = candidates.oldest};
	}
	struct match_answer answered = find_answered(match, group, reply_ns);
	if (answered.again)
		return answered;
	return (struct match_answer){.trigger = candidates.n_later == 1 ? candidates.later : NULL};
}

void match_repeat(struct tl_match *match, const struct match_answer *answer)
{
	match->stats.duplicates++;
	match->stats.ambiguous += answer->ambiguous;
}

int match_link(struct tl_match *match, struct match_trigger *trigger, bool ambiguous, const struct match_reply *reply)
{
	struct tl_match_link link = {.number = ++match->stats.matched,
		.trigger_frame = trigger->frame,
		.reply_frame = reply->frame,
		.trigger_ns = trigger->ts_ns,
		.reply_ns = reply->ts_ns,
		.ambiguous = ambiguous,
		.segments = reply->segments,
		.retransmitted = trigger->again || reply->again};

	match->stats.negative += reply->ts_ns < trigger->ts_ns;
	match->stats.ambiguous += ambiguous;
	trigger->answered = true;
	return match->cfg.linked(match->cfg.ctx, &link);
}
