// SPDX-License-Identifier: BSD-3-Clause
// Index of the triggers by their bytes: those with the same bytes form a group. Lengths and beginnings of the keys are
// counted, so that a position in a stream where no key is possible is skipped at once.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_array.h>

#define BUCKETS_FIRST 1024u

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

// Return the position of this length, or its insertion point.
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
	if (tl_array_reserve(&index->length, index->lengths, &index->lengths_room, sizeof(*index->length)) != 0)
		return -ENOMEM;
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
	while (group != NULL && !(group->hash == hash && group->len == len &&
					memcmp(match_at(group, group->first)->key, key, len) == 0))
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

// Add a group without triggers, or return NULL.
static struct match_group *add_group(struct match_index *index, uint64_t hash, uint32_t len)
{
	int rc = index->groups == index->buckets ? grow(index) : 0;
	struct match_group *group = rc == 0 ? calloc(1, sizeof(*group)) : NULL;

	if (group == NULL)
		return NULL;
	struct match_group **bucket = bucket_of(index, hash, len);
	*group = (struct match_group){.next = *bucket, .same = &group->only, .room = 1, .hash = hash, .len = len};
	*bucket = group;
	index->groups++;
	return group;
}

static int double_room(struct match_group *group)
{
	struct match_trigger **same = reallocarray(NULL, group->room, 2 * sizeof(struct match_trigger *));

	if (same == NULL)
		return -ENOMEM;
	for (uint32_t place = group->first; place != group->end; place++)
		same[place & (2 * group->room - 1)] = match_at(group, place);
	if (group->same != &group->only)
		free(group->same);
	group->same = same;
	group->room *= 2;
	return 0;
}

static int join_group(struct match_index *index, struct match_trigger *trigger, uint64_t hash)
{
	struct match_group *group = match_find(index, hash, trigger->key, trigger->key_len);

	if (group == NULL)
		group = add_group(index, hash, trigger->key_len);
	if (group == NULL || (group->end - group->first == group->room && double_room(group) != 0))
		return -ENOMEM;
	trigger->group = group;
	trigger->latest_ns = trigger->ts_ns;
	if (group->end != group->first)
		trigger->latest_ns = tl_max_u64(trigger->ts_ns, match_at(group, group->end - 1)->latest_ns);
	index->disorder_ns = tl_max_u64(index->disorder_ns, trigger->latest_ns - trigger->ts_ns);
	trigger->place = group->end++;
	trigger->skip = trigger->behind = group->end;
	group->same[trigger->place & (group->room - 1)] = trigger;
	return 0;
}

// Remove the first trigger of a group.
static void leave_group(struct match_index *index, struct match_group *group)
{
	group->open += group->open == group->first;
	if (++group->first != group->end)
		return;
	struct match_group **link = bucket_of(index, group->hash, group->len);
	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	index->groups--;
	if (group->same != &group->only)
		free(group->same);
	free(group);
}

// ---- groups and lengths

// Return the count of keys with this beginning; keys shorter than a beginning are counted apart.
static uint32_t *beginning_of(struct match_index *index, const struct match_trigger *trigger)
{
	return trigger->key_len < MATCH_BEGINNING ? &index->short_keys
						  : &index->beginning[match_beginning(trigger->key)];
}

int match_index_add(struct match_index *index, struct match_trigger *trigger, uint64_t hash)
{
	int rc = add_length(index, trigger->key_len);

	if (rc != 0)
		return rc;
	rc = join_group(index, trigger, hash);
	if (rc != 0)
		remove_length(index, trigger->key_len);
	else
		++*beginning_of(index, trigger);
	return rc;
}

void match_index_remove(struct match_index *index, struct match_trigger *trigger)
{
	--*beginning_of(index, trigger);
	remove_length(index, trigger->key_len);
	leave_group(index, trigger->group);
}

void match_index_free(struct match_index *index)
{
	free(index->bucket);
	free(index->length);
}
