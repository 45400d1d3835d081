// SPDX-License-Identifier: BSD-3-Clause
// Sessions by addresses and ports.

#include "session_priv.h"

#include <string.h>

#include <tl_wire.h>

#define FIRST 256u // buckets, and places in the list

static struct session **bucket_of(struct session **bucket, uint64_t buckets, const struct session_key *key)
{
	uint64_t sum = 0, word;

	_Static_assert(sizeof(*key) % sizeof(word) == 0, "it is hashed by words, and has no padding");
	_Static_assert(sizeof(*key) == 2 * (sizeof(struct tl_ip6) + sizeof(uint16_t)) + sizeof(uint32_t),
		"it is hashed by words, and has no padding");
	for (size_t i = 0; i < sizeof(*key); i += sizeof(word)) {
		memcpy(&word, (const uint8_t *)key + i, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0xd6e8feb86659fd93);
		sum ^= sum >> 32;
	}
	return &bucket[sum & (buckets - 1)];
}

struct session *session_find(const struct tl_session_set *set, const struct session_key *key)
{
	struct session *s = set->buckets != 0 ? *bucket_of(set->bucket, set->buckets, key) : NULL;

	while (s != NULL && memcmp(&s->key, key, sizeof(*key)) != 0)
		s = s->next;
	return s;
}

// Put a session into its bucket, in front of older ones.
static void insert(struct session **buckets, uint64_t n, struct session *s)
{
	struct session **bucket = bucket_of(buckets, n, &s->key);

	s->next = *bucket;
	*bucket = s;
}

// Double buckets and list. The list is in the order of creation, so later sessions of a connection come in front again.
static bool grow(struct tl_session_set *set, int *rc)
{
	uint64_t room = set->room != 0 ? 2 * set->room : FIRST;
	struct session **list = session_realloc(set, set->list, set->room * sizeof(*list), room * sizeof(*list), rc);

	if (list == NULL)
		return false;
	set->list = list;
	set->room = room;
	struct session **bucket = session_realloc(set, NULL, 0, room * sizeof(*bucket), rc);
	if (bucket == NULL)
		return set->buckets != 0; // longer chains will do
	memset(bucket, 0, room * sizeof(*bucket));
	for (uint64_t i = 0; i < set->n; i++)
		if (!set->list[i]->retired)
			insert(bucket, room, set->list[i]);
	session_free(set, set->bucket, set->buckets * sizeof(*bucket));
	set->bucket = bucket;
	set->buckets = room;
	return true;
}

int session_begin(struct tl_session_set *set, const struct session_key *key, bool client_is_first, uint64_t ts_ns,
	struct session **out)
{
	struct session *s = NULL;
	int rc = 0;

	if (!set->full && (set->n < set->room || grow(set, &rc)))
		s = session_realloc(set, NULL, 0, sizeof(*s), &rc);
	*out = s;
	set->full |= s == NULL;
	if (s == NULL)
		return rc;
	*s = (struct session){.key = *key,
		.client_is_first = client_is_first,
		.place = set->n,
		.pub = {.number = ++set->begun,
			.is_ip6 = (key->kind & SESSION_IP6) != 0,
			.is_udp = (key->kind & SESSION_UDP) != 0,
			.vlan = {key->kind >> SESSION_VLAN_SHIFT & TL_VLAN_ID, key->kind >> SESSION_INNER_SHIFT},
			.first_ns = ts_ns}};
	s->pub.end[TL_SESSION_CLIENT] = key->end[client_is_first ? 0 : 1];
	s->pub.end[TL_SESSION_SERVER] = key->end[client_is_first ? 1 : 0];
	s->stream[0].fin_at = s->stream[1].fin_at = UINT64_MAX;
	set->list[set->n++] = s;
	insert(set->bucket, set->buckets, s);
	if (set->cfg.idle_ns != 0)
		TAILQ_INSERT_TAIL(&set->recent, s, recent);
	return 0;
}

void session_unlink(struct tl_session_set *set, struct session *s)
{
	struct session **link = bucket_of(set->bucket, set->buckets, &s->key);

	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
}
