// SPDX-License-Identifier: BSD-3-Clause
// Sent messages: due reports and leaves, as many groups per v3 report as fit.

#include "mcast_priv.h"

#define V3_REPORT_LEN 8 // header before the first record (RFC 3376, section 4.2, and 3810, section 5.2)
#define V3_RECORD_LEN(m) (4 + (m)->dialect->address_len) // record header before the first source
#define OLDER_MAX_LEN 24
#define V3_REPEAT_NS (1 * TL_NS_PER_S)	   // section 8.11: unsolicited report interval
#define OLDER_REPEAT_NS (10 * TL_NS_PER_S) // RFC 2236, section 8.10

// RFC 3376, section 4.2.12.
enum record_type {
	IS_IN = 1,
	IS_EX = 2,
	TO_IN = 3,
	TO_EX = 4,
	ALLOW = 5,
	BLOCK = 6,
};

struct source_list {
	unsigned count;
	uint32_t ip_be[TL_MCAST_SOURCES];
};

// Groups per tick of a sweep: one v3 report and a half, to bound the time on the lcore.
#define SWEEP_GROUPS 256

// A v3 report under construction.
struct report {
	uint16_t len;
	uint16_t records;
	uint8_t bytes[TL_MCAST_MSG_MAX];
};

static void store_be16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void send_message(struct tl_mcast *m, uint32_t dst_be, uint8_t *igmp, uint16_t len)
{
	uint16_t cksum_be = tl_cksum_finish(tl_cksum_add(0, igmp, len));

	memcpy(igmp + 2, &cksum_be, sizeof(cksum_be));
	m->cfg.send(m->cfg.send_ctx, dst_be, igmp, len);
}

static void send_report(struct tl_mcast *m, struct report *report)
{
	if (report->records == 0)
		return;
	memset(report->bytes, 0, V3_REPORT_LEN);
	report->bytes[0] = m->dialect->report;
	store_be16(report->bytes + 6, report->records);
	send_message(m, m->v3_routers_be, report->bytes, report->len);
	tl_count(&m->reports_tx, 1);
	report->len = V3_REPORT_LEN;
	report->records = 0;
}

static void add_record(struct tl_mcast *m, struct report *report, enum record_type type, uint32_t group_be,
	const struct source_list *sources)
{
	uint8_t address_len = m->dialect->address_len;
	uint16_t len = (uint16_t)(V3_RECORD_LEN(m) + sources->count * address_len);

	if (report->len + len > m->cfg.msg_max_bytes)
		send_report(m, report);
	uint8_t *record = report->bytes + report->len;
	record[0] = (uint8_t)type;
	record[1] = 0; // no auxiliary data
	store_be16(record + 2, (uint16_t)sources->count);
	mcast_store_address(m, record + 4, group_be);
	for (unsigned i = 0; i < sources->count; i++)
		mcast_store_address(m, record + V3_RECORD_LEN(m) + i * address_len, sources->ip_be[i]);
	report->len += len;
	report->records++;
}

static struct source_list wanted_sources(const struct membership *member)
{
	struct source_list list = {0};

	for (unsigned i = 0; i < member->source_count; i++) {
		if (member->source[i].refs != 0)
			list.ip_be[list.count++] = member->source[i].ip_be;
	}
	return list;
}

static struct source_list changed_sources(const struct membership *member, bool joined)
{
	struct source_list list = {0};

	for (unsigned i = 0; i < member->source_count; i++) {
		if (member->source[i].change_left != 0 && (member->source[i].refs != 0) == joined)
			list.ip_be[list.count++] = member->source[i].ip_be;
	}
	return list;
}

// Requested sources that are included.
static struct source_list asked_sources(const struct tl_mcast *m, uint32_t i)
{
	const struct membership *member = &m->member[i];
	struct source_list list = {0};

	for (unsigned k = 0; k < member->asked_count; k++) {
		if (tl_mcast_accepts(m, m->group_be[i], member->asked_be[k]))
			list.ip_be[list.count++] = member->asked_be[k];
	}
	return list;
}

// Add the whole state of a group, as a change (TO_EX, TO_IN) or an answer (IS_EX, IS_IN).
static void add_state(
	struct tl_mcast *m, struct report *report, uint32_t i, enum record_type exclude, enum record_type include)
{
	static const struct source_list none = {0};
	struct source_list wanted = wanted_sources(&m->member[i]);

	if (m->member[i].any_refs != 0)
		add_record(m, report, exclude, m->group_be[i], &none);
	else
		add_record(m, report, include, m->group_be[i], &wanted);
}

static void count_down(uint8_t *left, bool *more)
{
	if (*left != 0)
		--*left;
	*more |= *left != 0;
}

// Plan the next transmission of a change, if one remains (RFC 3376, section 5.1).
static void plan_repetition(struct tl_mcast *m, struct membership *member, uint64_t now_ns)
{
	bool more = false;

	count_down(&member->mode_left, &more);
	for (unsigned i = 0; i < member->source_count; i++)
		count_down(&member->source[i].change_left, &more);
	member->change_due_ns = more ? now_ns + m->repeat_ns : TL_MCAST_NEVER;
}

static void add_change(struct tl_mcast *m, struct report *report, uint32_t i)
{
	struct source_list joined = changed_sources(&m->member[i], true);
	struct source_list left = changed_sources(&m->member[i], false);

	if (m->member[i].mode_left != 0) {
		add_state(m, report, i, TO_EX, TO_IN);
		return;
	}
	if (joined.count != 0)
		add_record(m, report, ALLOW, m->group_be[i], &joined);
	if (left.count != 0)
		add_record(m, report, BLOCK, m->group_be[i], &left);
}

// Answer a query; one for sources only if some are included (RFC 3376, section 5.2).
static void add_answer(struct tl_mcast *m, struct report *report, uint32_t i)
{
	if (!is_member(&m->member[i]))
		return;
	if (m->member[i].asked_count == 0) {
		add_state(m, report, i, IS_EX, IS_IN);
		return;
	}
	struct source_list asked = asked_sources(m, i);
	if (asked.count != 0)
		add_record(m, report, IS_IN, m->group_be[i], &asked);
}

// Send a v1 or v2 message (RFC 2236, section 2), of MLD v1 (RFC 2710, section 3).
static void send_older(struct tl_mcast *m, uint8_t type, uint32_t dst_be, uint32_t group_be)
{
	uint8_t message[OLDER_MAX_LEN] = {type};

	mcast_store_address(m, message + m->dialect->group_off, group_be);
	send_message(m, dst_be, message, m->dialect->older_len);
}

static void report_older(struct tl_mcast *m, uint32_t i)
{
	if (is_member(&m->member[i])) {
		send_older(m, m->version == IGMP_V2 ? m->dialect->older_report : IGMP_V1_REPORT, m->group_be[i],
			m->group_be[i]);
		tl_count(&m->reports_tx, 1);
	} else if (m->version == IGMP_V2) {
		send_older(m, m->dialect->leave, m->all_routers_be, m->group_be[i]);
		tl_count(&m->leaves_tx, 1);
	}
}

static void clear_answer(struct membership *member)
{
	member->response_due_ns = TL_MCAST_NEVER;
	member->asked_count = 0;
}

// Send what is due for entry i.
static void report_due(struct tl_mcast *m, struct report *report, uint32_t i, uint64_t now_ns)
{
	struct membership *member = mcast_at(m, i);
	bool change = member->change_due_ns <= now_ns, answer = member->response_due_ns <= now_ns;

	if (m->version != IGMP_V3 && (change || answer))
		report_older(m, i);
	else if (answer)
		add_answer(m, report, i);
	if (m->version == IGMP_V3 && change)
		add_change(m, report, i);
	if (change)
		plan_repetition(m, member, now_ns);
	if (answer)
		clear_answer(member);
	mcast_reschedule(m, member);
}

// Answer a general query for entry i: in v3 at once, before at a random time (RFC 2236, section 3).
static void answer_general(struct tl_mcast *m, struct report *report, uint32_t i, uint64_t now_ns)
{
	struct membership *member = mcast_at(m, i);
	uint64_t spread_ns = m->answer_by_ns > now_ns ? m->answer_by_ns - now_ns : 0;

	if (!is_member(member) || m->group_be[i] == m->all_hosts_be)
		return;
	if (m->version == IGMP_V3) {
		add_state(m, report, i, IS_EX, IS_IN);
		clear_answer(member);
	} else if (member->reported_query != m->general_queries) {
		member->asked_count = 0;
		member->response_due_ns = tl_min_u64(member->response_due_ns, now_ns + mcast_random_ns(m, spread_ns));
	}
	mcast_reschedule(m, member);
}

static void sweep(struct tl_mcast *m, struct report *report, uint64_t now_ns)
{
	if (m->sweep == 0 && m->response_due_ns <= now_ns) {
		m->sweep = m->count;
		m->response_due_ns = TL_MCAST_NEVER;
	}
	for (unsigned n = 0; n < SWEEP_GROUPS && m->sweep != 0; n++)
		answer_general(m, report, --m->sweep, now_ns);
}

void tl_mcast_tick(struct tl_mcast *m, uint64_t now_ns)
{
	struct report report = {.len = V3_REPORT_LEN};

	if (now_ns < m->deadline_ns)
		return;
	mcast_update_version(m, now_ns);
	m->repeat_ns = mcast_random_ns(m, m->version == IGMP_V3 ? V3_REPEAT_NS : OLDER_REPEAT_NS);
	sweep(m, &report, now_ns);
	while (tl_heap_due(&m->due) <= now_ns)
		report_due(m, &report, tl_heap_first(&m->due), now_ns);
	send_report(m, &report);
	mcast_settle(m);
}
