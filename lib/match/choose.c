// SPDX-License-Identifier: BSD-3-Clause
// Choice among triggers of the same bytes: which one a reply answers, and whether another could be meant.
//
// A reply answers the oldest trigger that waits. Where several wait the pair is ambiguous: after one lost reply every
// later one would get the trigger before its own, for ever. So older triggers are given up after RESYNC_REPLIES replies
// in a row of which each came after one more trigger, and as soon after it as replies come that are not ambiguous.
// Replies that a stalled echo sends in a burst do not do that: no trigger comes in between.

#include "match_priv.h"

#define RESYNC_REPLIES 8
#define WAITING_MAX 64 // triggers looked at for one reply
#define USUAL_DECAY 16 // the usual latency falls by this part with each pair that took less

bool match_is_in_sight(const struct tl_match *match, const struct match_trigger *trigger, uint64_t reply_ns)
{
	uint64_t apart_ns = trigger->ts_ns > reply_ns ? trigger->ts_ns - reply_ns : reply_ns - trigger->ts_ns;

	return apart_ns <= match->cfg.window_ns;
}

static bool is_open(const struct match_trigger *trigger)
{
	return !trigger->answered && !trigger->given_up;
}

// The first in sight that has a reply.
static struct match_trigger *find_answered(
	const struct tl_match *match, const struct match_group *group, uint64_t reply_ns)
{
	struct match_trigger *trigger = group->first;

	while (trigger != NULL && !(trigger->answered && match_is_in_sight(match, trigger, reply_ns)))
		trigger = trigger->next_same;
	return trigger;
}

// Open triggers in sight of a reply.
struct candidates {
	struct match_trigger *oldest, *youngest, *later; // stamped up to the reply: first, last; behind it: last
	unsigned waiting, n_later;			 // up to the reply, at most WAITING_MAX; behind it, at most 2
};

static struct candidates find_candidates(
	const struct tl_match *match, const struct match_group *group, uint64_t reply_ns)
{
	struct candidates found = {0};

	for (struct match_trigger *trigger = group->open;
		trigger != NULL && found.n_later < 2 && found.waiting < WAITING_MAX; trigger = trigger->next_same) {
		if (!is_open(trigger) || !match_is_in_sight(match, trigger, reply_ns))
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
	return found;
}

static struct match_trigger *choose_of_several(
	struct match_group *group, const struct candidates *candidates, uint64_t reply_ns)
{
	struct match_trigger *youngest = candidates->youngest;
	bool in_step = candidates->waiting < WAITING_MAX && youngest->frame != group->youngest_frame &&
		       reply_ns - youngest->ts_ns <= group->usual_ns;

	group->youngest_frame = youngest->frame;
	group->in_step = in_step ? group->in_step + 1 : 0;
	if (group->in_step < RESYNC_REPLIES)
		return candidates->oldest;
	for (struct match_trigger *trigger = candidates->oldest; trigger != youngest; trigger = trigger->next_same)
		trigger->given_up = is_open(trigger);
	return youngest;
}

// A reply stamped before its trigger is believed only where no other trigger can be meant: after one lost trigger each
// reply would get the next one's.
struct match_answer match_choose(const struct tl_match *match, struct match_group *group, uint64_t reply_ns)
{
	struct candidates candidates = find_candidates(match, group, reply_ns);

	if (candidates.waiting > 1)
		return (struct match_answer){
			.trigger = choose_of_several(group, &candidates, reply_ns), .ambiguous = true};
	group->in_step = 0;
	if (candidates.waiting == 1) {
		uint64_t latency_ns = reply_ns - candidates.oldest->ts_ns;
		group->usual_ns = tl_max_u64(latency_ns, group->usual_ns - group->usual_ns / USUAL_DECAY);
		return (struct match_answer){.trigger = candidates.oldest};
	}
	struct match_trigger *answered = find_answered(match, group, reply_ns);
	if (answered != NULL)
		return (struct match_answer){.trigger = answered, .again = true};
	return (struct match_answer){.trigger = candidates.n_later == 1 ? candidates.later : NULL};
}

int match_link(
	struct tl_match *match, struct match_trigger *trigger, bool ambiguous, uint64_t reply_ns, uint64_t reply_frame)
{
	struct match_group *group = trigger->group;
	struct tl_match_link link = {.number = ++match->stats.matched,
		.trigger_frame = trigger->frame,
		.reply_frame = reply_frame,
		.trigger_ns = trigger->ts_ns,
		.reply_ns = reply_ns,
		.ambiguous = ambiguous};

	match->stats.negative += reply_ns < trigger->ts_ns;
	match->stats.ambiguous += ambiguous;
	trigger->answered = true;
	while (group != NULL && group->open != NULL && !is_open(group->open))
		group->open = group->open->next_same;
	return match->cfg.linked(match->cfg.ctx, &link);
}
