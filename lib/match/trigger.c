// SPDX-License-Identifier: BSD-3-Clause
// The triggers within the window, and the index that finds them by their bytes: by the payload, or the number in it.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_FIRST 1024u

static uint64_t sum_of(const uint8_t *data, uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum = match_extend(sum, data[i]);
	return sum;
}

static uint64_t power_of(uint32_t exponent)
{
	uint64_t power = 1, square = MATCH_BASE;

	for (; exponent != 0; exponent >>= 1, square *= square)
		if (exponent & 1)
			power *= square;
	return power;
}

static struct match_group **bucket_of(const struct match_index *index, uint64_t hash, uint32_t len)
{
	uint64_t mixed = (hash ^ len) * UINT64_C(0xd6e8feb86659fd93);

	return &index->bucket[(mixed ^ mixed >> 32) & (index->buckets - 1)];
}

// ---- lengths of keys

// Where this length stands, or has to.
static uint32_t place_of(const struct match_index *index, uint32_t len)
{
	uint32_t low = 0, high = index->lengths;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (index->length[middle].len > len)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_length(struct match_index *index, uint32_t len)
{
	uint32_t at = place_of(index, len);

	if (at < index->lengths && index->length[at].len == len) {
		index->length[at].triggers++;
		return 0;
	}
	if (index->lengths == index->lengths_room) {
		uint32_t room = index->lengths_room != 0 ? 2 * index->lengths_room : 16;
		struct match_length *more = reallocarray(index->length, room, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		index->length = more;
		index->lengths_room = room;
	}
	memmove(&index->length[at + 1], &index->length[at], (index->lengths - at) * sizeof(*index->length));
	index->length[at] = (struct match_length){.len = len, .power = power_of(len), .triggers = 1};
	index->lengths++;
	return 0;
}

static void remove_length(struct match_index *index, uint32_t len)
{
	uint32_t at = place_of(index, len);

	if (--index->length[at].triggers != 0)
		return;
	index->lengths--;
	memmove(&index->length[at], &index->length[at + 1], (index->lengths - at) * sizeof(*index->length));
}

// ---- groups

struct match_group *match_find(const struct match_index *index, uint64_t hash, const uint8_t *key, uint32_t len)
{
	if (index->groups == 0)
		return NULL;
	struct match_group *group = *bucket_of(index, hash, len);
	while (group != NULL && !(group->hash == hash && group->len == len && memcmp(group->first->key, key, len) == 0))
		group = group->next;
	return group;
}

static int grow(struct match_index *index)
{
	struct match_index larger = *index;

	larger.buckets = index->buckets != 0 ? 2 * index->buckets : BUCKETS_FIRST;
	larger.bucket = calloc(larger.buckets, sizeof(struct match_group *));
	if (larger.bucket == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < index->buckets; i++) {
		struct match_group *group = index->bucket[i], *next;
		for (; group != NULL; group = next) {
			struct match_group **bucket = bucket_of(&larger, group->hash, group->len);
			next = group->next;
			group->next = *bucket;
			*bucket = group;
		}
	}
	free(index->bucket);
	*index = larger;
	return 0;
}

static int join_group(struct match_index *index, struct match_trigger *trigger, uint64_t hash)
{
	struct match_group *group = match_find(index, hash, trigger->key, trigger->key_len);
	int rc = 0;

	if (group == NULL) {
		if (index->groups == index->buckets)
			rc = grow(index);
		group = rc == 0 ? calloc(1, sizeof(*group)) : NULL;
		if (group == NULL)
			return -ENOMEM;
		group->hash = hash;
		group->len = trigger->key_len;
		group->first = trigger;
		struct match_group **bucket = bucket_of(index, hash, group->len);
		group->next = *bucket;
		*bucket = group;
		index->groups++;
	} else {
		group->last->next_same = trigger;
	}
	group->last = trigger;
	if (group->open == NULL)
		group->open = trigger;
	trigger->group = group;
	return 0;
}

// The first of a group goes.
static void leave_group(struct match_index *index, struct match_trigger *trigger)
{
	struct match_group *group = trigger->group;

	if (group->open == trigger)
		group->open = trigger->next_same;
	group->first = trigger->next_same;
	if (group->first != NULL)
		return;
	struct match_group **link = bucket_of(index, group->hash, group->len);
	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	index->groups--;
	free(group);
}

void match_index_free(struct match_index *index)
{
	free(index->bucket);
	free(index->length);
}

// ---- triggers

// Whether there was one of the same bytes within the window.
static bool is_copy(const struct tl_match *match, uint64_t hash, const struct match_trigger *trigger)
{
	if (!match->cfg.unique)
		return false;
	const struct match_group *group = match_find(&match->index, hash, trigger->key, trigger->key_len);
	return group != NULL && group->last->ts_ns + match->cfg.window_ns >= trigger->ts_ns;
}

static int index_trigger(struct tl_match *match, struct match_trigger *trigger, uint64_t hash)
{
	int rc = add_length(&match->index, trigger->key_len);

	if (rc != 0)
		return rc;
	rc = join_group(&match->index, trigger, hash);
	if (rc != 0)
		remove_length(&match->index, trigger->key_len);
	return rc;
}

// What is looked for in the replies: len bytes at the offset of the payload.
static struct match_trigger *make(const struct match_payload *payload, uint32_t offset, uint32_t len)
{
	struct match_trigger *trigger = malloc(sizeof(*trigger) + len);

	if (trigger == NULL)
		return NULL;
	*trigger = (struct match_trigger){
		.ts_ns = payload->ts_ns, .frame = payload->frame, .len = payload->len, .key_len = len};
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
	int rc = copy || by_place ? 0 : index_trigger(match, trigger, hash);
	match->stats.trigger_copies += copy;
	if (rc != 0 || copy) {
		free(trigger);
		return rc;
	}
	trigger->begin = match->begin;
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

void match_triggers_retire(struct tl_match *match, uint64_t until_ns)
{
	while (match->first != NULL && match->first->ts_ns <= until_ns) {
		struct match_trigger *trigger = match->first;
		match->stats.unmatched_triggers += !trigger->answered;
		if (trigger->group != NULL) {
			remove_length(&match->index, trigger->key_len);
			leave_group(&match->index, trigger);
		}
		if (match->awaited == trigger)
			match->awaited = trigger->next;
		match->first = trigger->next;
		free(trigger);
	}
}

// ---- links

static bool is_in_sight(const struct tl_match *match, const struct match_trigger *trigger, uint64_t reply_ns)
{
	uint64_t apart_ns = trigger->ts_ns > reply_ns ? trigger->ts_ns - reply_ns : reply_ns - trigger->ts_ns;

	return apart_ns <= match->cfg.window_ns;
}

// The first in sight that has a reply.
static struct match_trigger *find_answered(
	const struct tl_match *match, const struct match_group *group, uint64_t reply_ns)
{
	struct match_trigger *trigger = group->first;

	while (trigger != NULL && !(trigger->answered && is_in_sight(match, trigger, reply_ns)))
		trigger = trigger->next_same;
	return trigger;
}

// The oldest that waits. Else one that has a reply gets it again. A reply stamped before its trigger is believed only
// where no other trigger can be meant: after one lost trigger each reply would get the next one's.
struct match_trigger *match_choose(
	const struct tl_match *match, const struct match_group *group, uint64_t reply_ns, bool *out_again)
{
	struct match_trigger *later = NULL;
	unsigned n_later = 0;

	for (struct match_trigger *trigger = group->open; trigger != NULL && n_later < 2;
		trigger = trigger->next_same) {
		if (trigger->answered || !is_in_sight(match, trigger, reply_ns))
			continue;
		if (trigger->ts_ns <= reply_ns) {
			*out_again = false;
			return trigger;
		}
		later = trigger;
		n_later++;
	}
	struct match_trigger *answered = find_answered(match, group, reply_ns);
	*out_again = answered != NULL;
	return answered != NULL ? answered : n_later == 1 ? later : NULL;
}

int match_link(struct tl_match *match, struct match_trigger *trigger, uint64_t reply_ns, uint64_t reply_frame)
{
	struct match_group *group = trigger->group;
	struct tl_match_link link = {.number = ++match->stats.matched,
		.trigger_frame = trigger->frame,
		.reply_frame = reply_frame,
		.trigger_ns = trigger->ts_ns,
		.reply_ns = reply_ns};

	match->stats.negative += reply_ns < trigger->ts_ns;
	trigger->answered = true;
	while (group != NULL && group->open != NULL && group->open->answered)
		group->open = group->open->next_same;
	return match->cfg.linked(match->cfg.ctx, &link);
}
