// SPDX-License-Identifier: BSD-3-Clause
// Group memberships: join, leave, and the state changes to report.

#include "mcast_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_random.h>

#define ROBUSTNESS_DEFAULT 2 // RFC 3376, section 8.1
#define ROBUSTNESS_MAX 7     // the QRV field has three bits

static const struct dialect IGMP = {
	.query = IGMP_QUERY,
	.older_report = IGMP_V2_REPORT,
	.leave = IGMP_V2_LEAVE,
	.report = IGMP_V3_REPORT,
	.address_len = 4,
	.group_off = 4,
	.older_len = 8,
	.sources_off = 12,
};
static const struct dialect MLD = {
	.query = MLD_QUERY,
	.older_report = MLD_V1_REPORT,
	.leave = MLD_V1_DONE,
	.report = MLD_V2_REPORT,
	.address_len = 16,
	.group_off = 8,
	.older_len = 24,
	.sources_off = 28,
};

// Return the number of ff02::last, with a reference that is never released.
static uint32_t local_group(struct tl_ip6_book *book, uint8_t last)
{
	const struct tl_ip6 ip = {{0xff, 0x02, [15] = last}};
	uint32_t number_be = tl_ip6_number(book, &ip);

	tl_ip6_ref(book, number_be);
	return number_be;
}

static void choose_dialect(struct tl_mcast *m)
{
	struct tl_ip6_book *book = m->cfg.book;

	m->dialect = book != NULL ? &MLD : &IGMP;
	m->all_hosts_be = book != NULL ? local_group(book, 1) : tl_be32(0xe0000001);
	m->all_routers_be = book != NULL ? local_group(book, 2) : tl_be32(0xe0000002);
	m->v3_routers_be = book != NULL ? local_group(book, 0x16) : tl_be32(0xe0000016);
}

uint32_t mcast_load_address(const struct tl_mcast *m, const uint8_t *p)
{
	struct tl_ip6 ip;
	uint32_t ip_be;

	if (m->cfg.book == NULL) {
		memcpy(&ip_be, p, sizeof(ip_be));
		return ip_be;
	}
	memcpy(&ip, p, sizeof(ip));
	return tl_ip6_find(m->cfg.book, &ip);
}

void mcast_store_address(const struct tl_mcast *m, uint8_t *p, uint32_t ip_be)
{
	if (m->cfg.book == NULL)
		memcpy(p, &ip_be, sizeof(ip_be));
	else
		memcpy(p, tl_ip6_of(m->cfg.book, ip_be), sizeof(struct tl_ip6));
}

static int make_table(struct tl_mcast *m)
{
	uint32_t groups = m->cfg.groups, buckets = 16;

	while (buckets < 2 * groups)
		buckets *= 2;
	m->bucket_mask = buckets - 1;
	m->group_be = calloc(groups, sizeof(m->group_be[0]));
	m->member = calloc(groups, sizeof(m->member[0]));
	m->next = calloc(groups, sizeof(m->next[0]));
	m->bucket = calloc(buckets, sizeof(m->bucket[0]));
	m->due.node = calloc(groups, sizeof(m->due.node[0]));
	m->due.place = calloc(groups, sizeof(m->due.place[0]));
	bool made = m->group_be != NULL && m->member != NULL && m->next != NULL && m->bucket != NULL;
	return made && m->due.node != NULL && m->due.place != NULL ? 0 : -ENOMEM;
}

int tl_mcast_create(const struct tl_mcast_cfg *cfg, struct tl_mcast **out)
{
	if (cfg->send == NULL || cfg->robustness > ROBUSTNESS_MAX || cfg->groups > TL_MCAST_GROUPS_MAX)
		return -EINVAL;
	struct tl_mcast *m = aligned_alloc(_Alignof(struct tl_mcast), sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	*m = (struct tl_mcast){
		.deadline_ns = TL_MCAST_NEVER,
		.response_due_ns = TL_MCAST_NEVER,
		.version = IGMP_V3,
		.interval_ns = TL_MCAST_QUERY_INTERVAL_NS,
		.random_state = cfg->seed,
		.cfg = *cfg,
	};
	if (m->cfg.robustness == 0)
		m->cfg.robustness = ROBUSTNESS_DEFAULT;
	m->robustness = m->cfg.robustness;
	if (m->cfg.msg_max_bytes == 0 || m->cfg.msg_max_bytes > TL_MCAST_MSG_MAX)
		m->cfg.msg_max_bytes = TL_MCAST_MSG_MAX;
	if (m->cfg.groups == 0)
		m->cfg.groups = TL_MCAST_GROUPS;
	if (make_table(m) != 0) {
		tl_mcast_destroy(m);
		return -ENOMEM;
	}
	choose_dialect(m);
	*out = m;
	return 0;
}

void tl_mcast_destroy(struct tl_mcast *m)
{
	if (m == NULL)
		return;
	free(m->group_be);
	free(m->member);
	free(m->next);
	free(m->bucket);
	free(m->due.node);
	free(m->due.place);
	free(m);
}

// Scaled to the range by a multiplication.
uint64_t mcast_random_ns(struct tl_mcast *m, uint64_t max_ns)
{
	return (uint64_t)(((unsigned __int128)tl_random_next(&m->random_state) * max_ns) >> 64) + 1;
}

static void link_entry(struct tl_mcast *m, uint32_t i, uint32_t group_be)
{
	uint16_t *bucket = mcast_bucket(m, group_be);

	m->group_be[i] = group_be;
	m->next[i] = *bucket;
	*bucket = (uint16_t)(i + 1);
}

static void unlink_entry(struct tl_mcast *m, uint32_t i)
{
	uint16_t *link = mcast_bucket(m, m->group_be[i]);

	while (*link != i + 1)
		link = &m->next[*link - 1];
	*link = m->next[i];
}

static void note_due(struct tl_mcast *m, uint32_t i)
{
	const struct membership *member = &m->member[i];

	tl_heap_set(&m->due, i, tl_min_u64(member->change_due_ns, member->response_due_ns));
}

// Remove entry i; the last one takes its index. A sweep counts down, so a moved entry is visited at worst twice.
static void remove_entry(struct tl_mcast *m, uint32_t i)
{
	uint32_t last = m->count - 1;

	unlink_entry(m, i);
	tl_heap_set(&m->due, i, TL_HEAP_NEVER);
	if (last != i) {
		unlink_entry(m, last);
		tl_heap_set(&m->due, last, TL_HEAP_NEVER);
		m->member[i] = m->member[last];
		link_entry(m, i, m->group_be[last]);
		note_due(m, i);
	}
	m->count = last;
	m->sweep = (uint32_t)tl_min_u64(m->sweep, last);
}

// Allocate an entry, or reuse one that was left: dropping an unsent leave, which the querier finds out by asking, is
// better than refusing a join.
static struct membership *new_entry(struct tl_mcast *m, uint32_t group_be)
{
	uint32_t i = 0;

	if (m->count < m->cfg.groups) {
		i = m->count++;
	} else {
		while (i < m->count && is_member(&m->member[i]))
			i++;
		if (i == m->count)
			return NULL;
		unlink_entry(m, i);
	}
	link_entry(m, i, group_be);
	m->member[i] = (struct membership){.version_changes = m->version_changes,
		.change_due_ns = TL_MCAST_NEVER,
		.response_due_ns = TL_MCAST_NEVER};
	return &m->member[i];
}

static struct source *find_source(struct membership *member, uint32_t source_be)
{
	for (unsigned i = 0; i < member->source_count; i++) {
		if (member->source[i].ip_be == source_be)
			return &member->source[i];
	}
	return NULL;
}

static struct source *new_source(struct membership *member, uint32_t source_be)
{
	unsigned i = 0;

	if (member->source_count < TL_MCAST_SOURCES)
		i = member->source_count++;
	else
		while (i < TL_MCAST_SOURCES && member->source[i].refs != 0)
			i++;
	if (i == TL_MCAST_SOURCES)
		return NULL;
	member->source[i] = (struct source){.ip_be = source_be};
	return &member->source[i];
}

static void drop_reported_sources(struct membership *member)
{
	for (unsigned i = 0; i < member->source_count;) {
		if (member->source[i].refs == 0 && member->source[i].change_left == 0)
			member->source[i] = member->source[--member->source_count];
		else
			i++;
	}
}

static void clear_changes(struct membership *member)
{
	member->mode_left = 0;
	for (unsigned i = 0; i < member->source_count; i++)
		member->source[i].change_left = 0;
}

// Cancel pending answers and repetitions after a change of version (RFC 3376, section 7.2.1). A change that was not
// sent yet remains, as one report of the whole state, which all versions can express.
static void cancel_pending(struct membership *member, uint64_t now_ns)
{
	bool unsent = member->change_due_ns <= now_ns;

	clear_changes(member);
	member->mode_left = unsent ? 1 : 0;
	if (!unsent)
		member->change_due_ns = TL_MCAST_NEVER;
	member->response_due_ns = TL_MCAST_NEVER;
	member->asked_count = 0;
}

struct membership *mcast_at(struct tl_mcast *m, uint32_t i)
{
	struct membership *member = &m->member[i];

	if (member->version_changes != m->version_changes)
		cancel_pending(member, m->version_ns);
	member->version_changes = m->version_changes;
	return member;
}

struct membership *mcast_find(struct tl_mcast *m, uint32_t group_be)
{
	uint32_t place = mcast_place(m, group_be);

	return place != 0 ? mcast_at(m, place - 1) : NULL;
}

void mcast_reschedule(struct tl_mcast *m, struct membership *member)
{
	uint32_t i = (uint32_t)(member - m->member);

	drop_reported_sources(member);
	if (!is_member(member) && member->change_due_ns == TL_MCAST_NEVER)
		remove_entry(m, i);
	else
		note_due(m, i);
}

void mcast_settle(struct tl_mcast *m)
{
	m->deadline_ns = m->sweep != 0 ? 0 : tl_min_u64(m->response_due_ns, tl_heap_due(&m->due));
}

void mcast_update_version(struct tl_mcast *m, uint64_t now_ns)
{
	enum igmp_version version = IGMP_V3;

	if (now_ns < m->v1_until_ns)
		version = IGMP_V1;
	else if (now_ns < m->v2_until_ns)
		version = IGMP_V2;
	if (version == m->version)
		return;
	m->version = version;
	m->version_changes++;
	m->version_ns = now_ns;
	m->response_due_ns = TL_MCAST_NEVER;
	m->sweep = 0;
}

// Reception state of a group, compared before and after a join or leave.
struct reception {
	bool any;
	bool member;
	uint8_t wanted_count;
};

static struct reception reception_of(const struct membership *member)
{
	return (struct reception){
		.any = member->any_refs != 0,
		.member = is_member(member),
		.wanted_count = member->wanted_count,
	};
}

// Plan the report of a change (RFC 3376, section 5.1). A filter mode change reports the whole source list and replaces
// pending source changes; in EXCLUDE {} source changes need no report.
static bool plan_v3_change(
	struct tl_mcast *m, struct membership *member, struct source *source, struct reception before)
{
	struct reception after = reception_of(member);

	if (after.any != before.any) {
		clear_changes(member);
		member->mode_left = m->robustness;
		return true;
	}
	if (after.any || after.wanted_count == before.wanted_count)
		return false;
	source->change_left = m->robustness;
	return true;
}

// Plan the report of a change: reports are repeated, a leave is sent once (RFC 2236, section 3).
static bool plan_older_change(struct tl_mcast *m, struct membership *member, struct reception before)
{
	if (is_member(member) == before.member)
		return false;
	member->mode_left = is_member(member) ? m->robustness : 1;
	return true;
}

static void plan_change(
	struct tl_mcast *m, struct membership *member, struct source *source, struct reception before, uint64_t now_ns)
{
	bool planned;

	// Never reported (RFC 3376, section 5, and RFC 2236, section 6).
	if (m->group_be[member - m->member] == m->all_hosts_be)
		return;
	if (m->version == IGMP_V3)
		planned = plan_v3_change(m, member, source, before);
	else
		planned = plan_older_change(m, member, before);
	if (planned)
		member->change_due_ns = now_ns;
}

static bool is_unicast(const struct tl_mcast *m, uint32_t ip_be)
{
	return ip_be == 0 ||
	       (ip_be != UINT32_MAX && !tl_ip_is_mcast(ip_be) && tl_ip_is6(ip_be) == (m->cfg.book != NULL));
}

static bool is_group(const struct tl_mcast *m, uint32_t ip_be)
{
	return tl_ip_is_mcast(ip_be) && tl_ip_is6(ip_be) == (m->cfg.book != NULL);
}

int tl_mcast_join(struct tl_mcast *m, uint32_t group_be, uint32_t source_be, uint64_t now_ns)
{
	struct source *source = NULL;

	if (!is_group(m, group_be) || !is_unicast(m, source_be))
		return -EINVAL;
	mcast_update_version(m, now_ns);
	struct membership *member = mcast_find(m, group_be);
	if (member == NULL)
		member = new_entry(m, group_be);
	if (member == NULL)
		return -ENOSPC;
	struct reception before = reception_of(member);
	if (source_be == 0) {
		member->any_refs++;
	} else {
		source = find_source(member, source_be);
		if (source == NULL)
			source = new_source(member, source_be);
		if (source == NULL)
			return -ENOSPC;
		if (source->refs++ == 0)
			member->wanted_count++;
	}
	plan_change(m, member, source, before, now_ns);
	mcast_reschedule(m, member);
	mcast_settle(m);
	return 0;
}

int tl_mcast_leave(struct tl_mcast *m, uint32_t group_be, uint32_t source_be, uint64_t now_ns)
{
	struct source *source = NULL;

	mcast_update_version(m, now_ns);
	struct membership *member = mcast_find(m, group_be);
	if (member == NULL)
		return -ENOENT;
	struct reception before = reception_of(member);
	if (source_be == 0) {
		if (member->any_refs == 0)
			return -ENOENT;
		member->any_refs--;
	} else {
		source = find_source(member, source_be);
		if (source == NULL || source->refs == 0)
			return -ENOENT;
		if (--source->refs == 0)
			member->wanted_count--;
	}
	plan_change(m, member, source, before, now_ns);
	mcast_reschedule(m, member);
	mcast_settle(m);
	return 0;
}

void tl_mcast_report_again(struct tl_mcast *m, uint64_t now_ns)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct membership *member = mcast_at(m, i);
		if (!is_member(member) || m->group_be[i] == m->all_hosts_be)
			continue;
		clear_changes(member);
		member->mode_left = m->robustness;
		member->change_due_ns = now_ns;
		mcast_reschedule(m, member);
	}
	mcast_settle(m);
}

unsigned tl_mcast_groups(const struct tl_mcast *m, uint32_t *out_be, unsigned max)
{
	unsigned n = 0;

	if (n < max)
		out_be[n] = m->all_hosts_be;
	n++;
	for (uint32_t i = 0; i < m->count; i++) {
		if (!is_member(&m->member[i]) || m->group_be[i] == m->all_hosts_be)
			continue;
		if (n < max)
			out_be[n] = m->group_be[i];
		n++;
	}
	return n;
}

unsigned tl_mcast_counters(const struct tl_mcast *m, struct tl_counter *out, unsigned max)
{
	const struct {
		const char *igmp, *mld;
		const uint64_t *counter;
	} table[] = {
		{"igmp_reports_tx", "mld_reports_tx", &m->reports_tx},
		{"igmp_leaves_tx", "mld_leaves_tx", &m->leaves_tx},
		{"igmp_queries_rx", "mld_queries_rx", &m->queries_rx},
		{"igmp_bad_rx", "mld_bad_rx", &m->bad_rx},
	};
	bool mld = m->cfg.book != NULL;

	for (unsigned i = 0; i < TL_ARRAY_LEN(table) && i < max; i++)
		out[i] = (struct tl_counter){
			.name = mld ? table[i].mld : table[i].igmp, .value = tl_count_read(table[i].counter)};
	return TL_ARRAY_LEN(table);
}
