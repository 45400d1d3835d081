// SPDX-License-Identifier: BSD-3-Clause
// Recordings, and readers beside them, that share the bandwidth of a disk.

#include "disk_shares.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_share_group.h>

#define INTERVAL_NS (80 * TL_NS_PER_MS)
#define READER_NS TL_NS_PER_S // a reader that has not asked for so long has ended
#define READER_BACKLOG (UINT64_C(1) << 40)

struct disk_reader {
	pid_t pid;
	uint64_t seen_ns;
};

// Members of the group: the recordings, then the readers.
struct disk_share {
	struct tl_share_group group;
	struct tl_capture *captures[TL_CONFIG_CAPTURES_MAX];
	uint32_t n_captures;
	struct disk_reader readers[TL_SHARE_MEMBERS_MAX - TL_CONFIG_CAPTURES_MAX];
};

struct tl_disk_shares {
	const struct tl_config *config;
	uint64_t divided_ns;
	struct disk_share shares[TL_CONFIG_SHARES_MAX];
};

int tl_disk_shares_create(const struct tl_config *config, struct tl_capture *const *captures,
	struct tl_disk_shares **out, struct tl_err *err)
{
	struct tl_disk_shares *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	s->config = config;
	for (uint32_t i = 0; i < config->n_shares; i++)
		tl_share_group_init(&s->shares[i].group, config->shares[i].rate);
	for (uint32_t i = 0; i < config->n_captures; i++) {
		const struct tl_config_capture *c = &config->captures[i];
		if (c->share == TL_CONFIG_NO_SHARE)
			continue;
		struct disk_share *share = &s->shares[c->share];
		share->group.members[share->group.n++] =
			(struct tl_share_member){.weight = c->weight, .tier = c->tier, .floor = c->floor};
		share->captures[share->n_captures++] = captures[i];
	}
	*out = s;
	return 0;
}

void tl_disk_shares_destroy(struct tl_disk_shares *shares)
{
	free(shares);
}

// ---- readers

static void disk_remove_readers(struct disk_share *share, uint64_t now_ns)
{
	struct tl_share_group *g = &share->group;

	for (uint32_t i = share->n_captures; i < g->n;) {
		struct disk_reader *reader = &share->readers[i - share->n_captures];
		if (now_ns - reader->seen_ns <= READER_NS) {
			i++;
			continue;
		}
		g->n--;
		g->members[i] = g->members[g->n];
		*reader = share->readers[g->n - share->n_captures];
	}
}

// Return the member of a process, a new one if it has none; NULL: all are taken.
static struct tl_share_member *disk_find_reader(struct disk_share *share, pid_t pid, uint64_t bytes, uint64_t now_ns)
{
	struct tl_share_group *g = &share->group;
	uint32_t i = share->n_captures;

	while (i < g->n && share->readers[i - share->n_captures].pid != pid)
		i++;
	if (i - share->n_captures == TL_ARRAY_LEN(share->readers))
		return NULL;
	if (i == g->n)
		g->members[g->n++] = (struct tl_share_member){
			.weight = 1, .tier = TL_CONFIG_TIER_NONPROD, .last = {.done_bytes = bytes}};
	share->readers[i - share->n_captures] = (struct disk_reader){pid, now_ns};
	return &g->members[i];
}

static struct disk_share *disk_find(struct tl_disk_shares *s, const char *name)
{
	for (uint32_t i = 0; i < s->config->n_shares; i++)
		if (strcmp(s->config->shares[i].name, name) == 0 && s->shares[i].n_captures != 0)
			return &s->shares[i];
	return NULL;
}

json_t *tl_disk_shares_read(struct tl_disk_shares *s, const char *text, pid_t pid, uint64_t now_ns)
{
	char name[TL_CONFIG_NAME_MAX];
	uint64_t rate_bps, bytes;

	if (text == NULL || sscanf(text, "%31s %" SCNu64 " %" SCNu64, name, &rate_bps, &bytes) != 3)
		return json_pack("{s:b, s:s}", "ok", 0, "error", "a reader gives a share, a rate and its bytes");
	struct disk_share *share = disk_find(s, name);
	if (share == NULL)
		return json_pack("{s:b, s:o}", "ok", 0, "error",
			json_sprintf("no recordings share \"%s\"; see \"share\" in the configuration", name));
	struct tl_share_member *member = disk_find_reader(share, pid, bytes, now_ns);
	if (member == NULL)
		return json_pack("{s:b, s:o}", "ok", 0, "error", json_sprintf("\"%s\" has too many readers", name));
	member->ceil = tl_min_u64(tl_max_u64(rate_bps, 1), TL_SHARE_MAX);
	member->load = (struct tl_share_load){.backlog_bytes = READER_BACKLOG, .done_bytes = bytes};
	return json_pack("{s:b, s:I}", "ok", 1, "limit_bps", (json_int_t)member->limit);
}

// ---- division

static void disk_divide(struct disk_share *share, uint64_t elapsed_ns)
{
	struct tl_share_group *g = &share->group;
	struct tl_writer_load load;

	for (uint32_t i = 0; i < share->n_captures; i++) {
		tl_capture_load(share->captures[i], &load);
		g->members[i].load = (struct tl_share_load){.in_bytes = load.in_bytes,
			.backlog_bytes = load.backlog_bytes,
			.done_bytes = load.done_bytes,
			.busy_ns = load.busy_ns};
	}
	tl_share_group_divide(g, elapsed_ns);
	for (uint32_t i = 0; i < share->n_captures; i++) {
		uint64_t limit = g->members[i].limit;
		tl_capture_set_limit(share->captures[i], limit < TL_SHARE_MAX ? limit / 8 : TL_WRITER_NO_LIMIT);
	}
}

void tl_disk_shares_divide(struct tl_disk_shares *s, uint64_t now_ns)
{
	if (now_ns - s->divided_ns < INTERVAL_NS)
		return;
	for (uint32_t i = 0; i < s->config->n_shares; i++) {
		disk_remove_readers(&s->shares[i], now_ns);
		if (s->shares[i].n_captures != 0)
			disk_divide(&s->shares[i], now_ns - s->divided_ns);
	}
	s->divided_ns = now_ns;
}
