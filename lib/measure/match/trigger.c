// SPDX-License-Identifier: BSD-3-Clause
// Triggers within some windows, in their order.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t sum_of(const uint8_t *data, uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum = match_extend(sum, data[i]);
	return sum;
}

// True if there was one of the same bytes within the window.
static bool is_copy(const struct tl_match *match, uint64_t hash, const struct match_trigger *trigger)
{
	if (!match->cfg.unique)
		return false;
	const struct match_group *group = match_find(&match->index, hash, trigger->key, trigger->key_len);
	return group != NULL && match_at(group, group->end - 1)->ts_ns + match->cfg.window_ns >= trigger->ts_ns;
}

// Create a trigger; its key: len bytes at the offset of the payload.
static struct match_trigger *make(const struct match_payload *payload, uint32_t offset, uint32_t len)
{
	struct match_trigger *trigger = malloc(sizeof(*trigger) + len);

	if (trigger == NULL)
		return NULL;
	*trigger = (struct match_trigger){.ts_ns = payload->ts_ns,
		.frame = payload->frame,
		.len = payload->len,
		.key_len = len,
		.again = payload->again,
		.cut = payload->cut};
	memcpy(trigger->key, payload->data + offset, len);
	return trigger;
}

int match_trigger_add(struct tl_match *match, const struct match_payload *payload)
{
	bool by_number = match->cfg.method == TL_MATCH_SEQUENCE, by_place = match->cfg.method == TL_MATCH_POSITION;
	uint32_t offset = by_number ? match->cfg.trigger_offset : 0;
	uint32_t key_len = by_place ? 0 : by_number ? match->cfg.number_bytes : payload->len;

	if (payload->len < (uint64_t)offset + key_len) {
		match->stats.trigger_ignored++;
		return 0;
	}
	struct match_trigger *trigger = make(payload, offset, key_len);
	if (trigger == NULL)
		return -ENOMEM;
	uint64_t hash = sum_of(trigger->key, key_len);
	bool copy = !by_place && is_copy(match, hash, trigger);
	int rc = copy || by_place ? 0 : match_index_add(&match->index, trigger, hash);
	match->stats.trigger_copies += copy;
	if (rc != 0 || copy) {
		free(trigger);
		return rc;
	}
	if (by_place) {
		trigger->begin = match->begin;
		trigger->sum = sum_of(payload->data, payload->len);
	}
	match->begin += payload->len;
	match->stats.triggers++;
	if (match->first == NULL)
		match->first = trigger;
	else
		match->last->next = trigger;
	match->last = trigger;
	if (match->awaited == NULL)
		match->awaited = trigger;
	return 0;
}

static void give_up(struct tl_match *match, const struct match_trigger *trigger)
{
	match->stats.unmatched_triggers++;
	if (match->cfg.unanswered != NULL)
		match->cfg.unanswered(match->cfg.ctx, trigger->ts_ns);
}

void match_triggers_retire(struct tl_match *match, uint64_t until_ns)
{
	while (match->first != NULL && match->first->ts_ns <= until_ns) {
		struct match_trigger *trigger = match->first;
		if (!trigger->answered)
			give_up(match, trigger);
		if (trigger->group != NULL)
			match_index_remove(&match->index, trigger);
		if (match->awaited == trigger)
			match->awaited = trigger->next;
		match->first = trigger->next;
		free(trigger);
	}
}
