// SPDX-License-Identifier: BSD-3-Clause
// Received messages: queries schedule answers, reports of other hosts suppress ours.

#include "mcast_priv.h"

#define V1_MAX_RESPONSE_NS (10 * TL_NS_PER_S) // RFC 3376, section 7.2.1
#define TENTH_NS (100 * TL_NS_PER_MS)

// RFC 3376, section 8.1: robustness "SHOULD NOT be one". The interval is bounded, because an older version is used for
// up to seven intervals after a query (section 8.12).
#define ROBUSTNESS_MIN 2
#define QUERY_INTERVAL_MAX_NS (600 * TL_NS_PER_S)

// A query of any version (RFC 3376, section 4.1).
struct query {
	enum igmp_version version;
	bool general;
	uint32_t group_be; // 0: general, or an unknown group
	uint64_t max_response_ns;
	uint8_t robustness;   // v3; 0: the default
	uint64_t interval_ns; // v3; 0: the default
	uint16_t source_count;
	const uint8_t *sources;
};

// Decode Max Resp Code and QQIC: linear below 128, then a 4-bit mantissa and a 3-bit exponent (sections 4.1.1 and
// 4.1.7).
static uint64_t code_value(uint8_t code)
{
	if (code < 128)
		return code;
	return (uint64_t)((code & 0x0f) | 0x10) << (((code >> 4) & 0x07) + 3);
}

// RFC 3810, section 5.1.3: linear below 32768, then a 12-bit mantissa and a 3-bit exponent.
static uint64_t mld_code_value(uint16_t code)
{
	if (code < 0x8000)
		return code;
	return (uint64_t)((code & 0x0fff) | 0x1000) << (((code >> 12) & 0x07) + 3);
}

// Parse the fields behind the group, equal in both protocols.
static bool parse_v3(const struct tl_mcast *m, const uint8_t *igmp, uint16_t len, struct query *query)
{
	const uint8_t *rest = igmp + m->dialect->sources_off - 4;
	uint16_t source_count = tl_load_be16(rest + 2);

	if (len < m->dialect->sources_off + m->dialect->address_len * source_count)
		return false;
	if (query->general && source_count != 0)
		return false;
	query->version = IGMP_V3;
	query->robustness = rest[0] & 0x07;
	query->interval_ns = code_value(rest[1]) * TL_NS_PER_S;
	query->source_count = source_count;
	query->sources = rest + 4;
	return true;
}

// Parse a query. Length and Max Resp Code give the version (section 7.1). A v1 query is always general.
static bool parse_igmp(const struct tl_mcast *m, const uint8_t *igmp, uint16_t len, struct query *query)
{
	query->group_be = mcast_load_address(m, igmp + m->dialect->group_off);
	query->general = query->group_be == 0;
	if (len == IGMP_MIN_LEN && igmp[1] == 0) {
		query->version = IGMP_V1;
		query->max_response_ns = V1_MAX_RESPONSE_NS;
		query->group_be = 0;
		query->general = true;
		return true;
	}
	if (query->group_be != 0 && !tl_ipv4_is_mcast(query->group_be))
		return false;
	if (len == IGMP_MIN_LEN) {
		query->version = IGMP_V2;
		query->max_response_ns = igmp[1] * TENTH_NS;
		return true;
	}
	query->max_response_ns = code_value(igmp[1]) * TENTH_NS;
	return len >= m->dialect->sources_off && parse_v3(m, igmp, len, query);
}

// Parse a query. The length gives the version (RFC 3810, section 8.1).
static bool parse_mld(const struct tl_mcast *m, const uint8_t *mld, uint16_t len, struct query *query)
{
	struct tl_ip6 group;

	if (len < m->dialect->older_len)
		return false;
	memcpy(&group, mld + m->dialect->group_off, sizeof(group));
	query->group_be = mcast_load_address(m, group.byte);
	query->general = !tl_ip6_is_set(&group);
	if (!query->general && !tl_ip6_is_mcast(&group))
		return false;
	query->version = IGMP_V2;
	query->max_response_ns = tl_load_be16(mld + 4) * TL_NS_PER_MS;
	if (len == m->dialect->older_len)
		return true;
	query->max_response_ns = mld_code_value(tl_load_be16(mld + 4)) * TL_NS_PER_MS;
	return len >= m->dialect->sources_off && parse_v3(m, mld, len, query);
}

// Adopt robustness and interval of the querier (sections 4.1.6 and 4.1.7), within bounds.
static void follow_querier(struct tl_mcast *m, const struct query *query)
{
	uint64_t interval_ns = query->interval_ns != 0 ? query->interval_ns : TL_MCAST_QUERY_INTERVAL_NS;

	m->robustness = m->cfg.robustness;
	if (query->robustness != 0)
		m->robustness = (uint8_t)tl_max_u64(query->robustness, ROBUSTNESS_MIN);
	m->interval_ns = tl_min_u64(interval_ns, QUERY_INTERVAL_MAX_NS);
}

// Adopt parameters and version of the querier. An older version is used until this time has passed without such a
// general query (section 8.12).
static void update_querier(struct tl_mcast *m, const struct query *query, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + m->robustness * m->interval_ns + query->max_response_ns;

	if (query->version == IGMP_V3)
		follow_querier(m, query);
	else if (query->general && query->version == IGMP_V2)
		m->v2_until_ns = until_ns;
	else if (query->general)
		m->v1_until_ns = until_ns;
	mcast_update_version(m, now_ns);
}

static bool is_asked(const struct membership *member, uint32_t source_be)
{
	for (unsigned i = 0; i < member->asked_count; i++) {
		if (member->asked_be[i] == source_be)
			return true;
	}
	return false;
}

// Add the requested sources. With too many, or one that is unknown and included, answer for the whole group: that
// contains the answer.
static void add_asked(const struct tl_mcast *m, struct membership *member, const struct query *query)
{
	for (unsigned i = 0; i < query->source_count; i++) {
		uint32_t source_be = mcast_load_address(m, query->sources + m->dialect->address_len * i);
		bool unknown = m->cfg.book != NULL && (member->any_refs != 0 || source_be == 0);
		if (is_asked(member, source_be) || (unknown && member->any_refs == 0))
			continue;
		if (unknown || member->asked_count == TL_MCAST_SOURCES) {
			member->asked_count = 0;
			return;
		}
		member->asked_be[member->asked_count++] = source_be;
	}
}

// Schedule one answer per group at the earlier time; for the whole group if one of the queries was (RFC 3376, section
// 5.2, rules 3 to 5).
static void answer_group(
	const struct tl_mcast *m, struct membership *member, const struct query *query, uint64_t due_ns)
{
	bool whole = member->response_due_ns != TL_MCAST_NEVER && member->asked_count == 0;

	if (query->source_count == 0)
		member->asked_count = 0;
	else if (!whole)
		add_asked(m, member, query);
	member->response_due_ns = tl_min_u64(member->response_due_ns, due_ns);
}

// Schedule the answers to a general query: in v3 one for all groups (section 5.2), before one per group at random times
// (RFC 2236, section 3).
static void answer_all_groups(struct tl_mcast *m, const struct query *query, uint64_t now_ns)
{
	bool pending = m->sweep != 0 || m->response_due_ns != TL_MCAST_NEVER;
	uint64_t by_ns = now_ns + query->max_response_ns;
	uint64_t due_ns = m->version == IGMP_V3 ? now_ns + mcast_random_ns(m, query->max_response_ns) : now_ns;

	if (m->count == 0)
		return;
	m->general_queries++;
	m->answer_by_ns = pending ? tl_min_u64(m->answer_by_ns, by_ns) : by_ns;
	m->response_due_ns = tl_min_u64(m->response_due_ns, due_ns);
}

// True if a query may need an answer. Unknown sources are included only in EXCLUDE {}.
static bool needs_answer(const struct tl_mcast *m, const struct membership *member, const struct query *query)
{
	if (m->cfg.book == NULL || member->any_refs != 0 || query->source_count == 0)
		return true;
	for (unsigned i = 0; i < query->source_count; i++) {
		if (mcast_load_address(m, query->sources + m->dialect->address_len * i) != 0)
			return true;
	}
	return false;
}

static void answer_one_group(struct tl_mcast *m, const struct query *query, uint64_t now_ns)
{
	uint64_t due_ns = now_ns + mcast_random_ns(m, query->max_response_ns);
	struct membership *member = mcast_find(m, query->group_be);

	// Rule 1: an earlier answer to a general query covers it.
	if (member == NULL || !is_member(member) || query->group_be == m->all_hosts_be || m->response_due_ns <= due_ns)
		return;
	if (needs_answer(m, member, query))
		answer_group(m, member, query, due_ns);
	mcast_reschedule(m, member);
}

// Check a query (RFC 3376, section 9.1): v2 and v3 have Router Alert, and a general one to a group goes to all hosts.
static bool is_valid_query(const struct tl_mcast *m, const struct tl_mcast_packet *packet, const struct query *query)
{
	if (query->version != IGMP_V1 && !packet->alert)
		return false;
	return !query->general || !tl_ip_is_mcast(packet->dst_be) || packet->dst_be == m->all_hosts_be;
}

static void query_received(struct tl_mcast *m, const struct tl_mcast_packet *packet, uint64_t now_ns)
{
	const uint8_t *message = packet->message;
	struct query query = {0};
	bool good = m->cfg.book != NULL ? parse_mld(m, message, packet->len, &query)
					: parse_igmp(m, message, packet->len, &query);

	if (!good || !is_valid_query(m, packet, &query)) {
		tl_count(&m->bad_rx, 1);
		return;
	}
	tl_count(&m->queries_rx, 1);
	update_querier(m, &query, now_ns);
	if (query.general)
		answer_all_groups(m, &query, now_ns);
	else
		answer_one_group(m, &query, now_ns);
}

// Suppress our report of a group that another host reported (RFC 2236, section 3), except in v3 and for a join that was
// never reported.
static void report_received(struct tl_mcast *m, uint32_t group_be, uint64_t now_ns)
{
	struct membership *member = mcast_find(m, group_be);

	if (m->version == IGMP_V3 || member == NULL)
		return;
	member->response_due_ns = TL_MCAST_NEVER;
	member->reported_query = m->general_queries;
	if (member->change_due_ns > now_ns) {
		member->mode_left = 0;
		member->change_due_ns = TL_MCAST_NEVER;
	}
	mcast_reschedule(m, member);
}

// Check the link scope: TTL 1 (RFC 3376, section 4, and 3810, section 5). MLD has Router Alert and a link-local source;
// reports also the unspecified source (sections 5.2.13 and 6.2).
static bool is_valid_scope(const struct tl_mcast *m, const struct tl_mcast_packet *packet)
{
	if (packet->hop_limit != 1 || m->cfg.book == NULL)
		return packet->hop_limit == 1;
	if (!packet->alert || packet->src_be == 0)
		return false;
	return (uint8_t)packet->src_be == TL_IP6_LINK_LOCAL ||
	       (packet->message[0] != m->dialect->query && !tl_ip6_is_set(tl_ip6_of(m->cfg.book, packet->src_be)));
}

void tl_mcast_input(struct tl_mcast *m, const struct tl_mcast_packet *packet, uint64_t now_ns)
{
	const uint8_t *message = packet->message;

	if (packet->src_be == m->cfg.ip_be && packet->src_be != 0)
		return;
	if (packet->len < m->dialect->older_len || !is_valid_scope(m, packet)) {
		tl_count(&m->bad_rx, 1);
		return;
	}
	mcast_update_version(m, now_ns);
	if (message[0] == m->dialect->query)
		query_received(m, packet, now_ns);
	else if (message[0] == IGMP_V1_REPORT || message[0] == m->dialect->older_report)
		report_received(m, mcast_load_address(m, message + m->dialect->group_off), now_ns);
	mcast_settle(m);
}
