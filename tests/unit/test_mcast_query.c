// SPDX-License-Identifier: BSD-3-Clause
// IGMP host in virtual time: queries and their answers, and messages that are ignored.

#include <tl_test_mcast.h>

// Deliver a message with this destination, TTL and Router Alert option.
static void input_with(struct rig *rig, const uint8_t *bytes, size_t len, struct tl_mcast_packet header)
{
	header.message = bytes;
	header.len = (uint16_t)len;
	header.src_be = QUERIER;
	tl_mcast_input(rig->m, &header, rig->now_ns);
}

TL_TEST("a general query is answered for all groups within its time")
{
	struct rig *rig = new_rig(1);

	v3_query(rig, 100, 0, 0, 0); // no group is joined: no reply
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	join(rig, GROUP(2), SOURCE(2));
	join(rig, GROUP(3), 0);
	leave(rig, GROUP(3), 0);
	settle(rig);
	uint64_t asked_ns = rig->now_ns;
	v3_query(rig, 100, 0, 0, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(rig->sent[0].at_ns > asked_ns && rig->sent[0].at_ns <= asked_ns + 10 * S);
	CU_ASSERT_EQUAL(record_count(rig, 0), 2);
	CU_ASSERT(reported(rig, 0, IS_EX, GROUP(1), 0));
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(2), 1u << 1 | 1u << 2));
	CU_ASSERT_EQUAL(counter(rig, "igmp_queries_rx"), 2);
	free_rig(rig);
}

TL_TEST("closely spaced queries share an answer")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	v3_query(rig, 100, 0, 0, 0);
	uint64_t first_ns = tl_mcast_next_deadline(rig->m);
	v3_query(rig, 0xff, 0, 0, 0); // up to 3174.4 s: later
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), first_ns);
	v3_query(rig, 0xff, GROUP(1), 0, 0); // RFC 3376, section 5.2, rule 1
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), first_ns);
	v3_query(rig, 0, 0, 0, 0); // at once
	CU_ASSERT(tl_mcast_next_deadline(rig->m) <= rig->now_ns + 1);
	run_for(rig, 4000 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	free_rig(rig);
}

// RFC 3376, section 5.2, rule 5.
TL_TEST("a later query does not postpone the answer for a group")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	v3_query(rig, 10, GROUP(1), 0, 0);
	uint64_t first_ns = tl_mcast_next_deadline(rig->m);
	v3_query(rig, 0xff, GROUP(1), 0, 0); // up to 3174.4 s
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), first_ns);
	free_rig(rig);
}

TL_TEST("a group query is answered for that group alone")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	settle(rig);
	v3_query(rig, 10, GROUP(3), 0, 0); // not joined
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	v3_query(rig, 10, GROUP(2), 0, 0);
	run_for(rig, S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(2), 1u << 1));
	v2_query(rig, 10, GROUP(1)); // v2 format, but not a general query: the host stays in v3
	run_for(rig, S);
	CU_ASSERT(reported(rig, 1, IS_EX, GROUP(1), 0));
	free_rig(rig);
}

TL_TEST("a source query is answered only with included sources")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	join(rig, GROUP(2), SOURCE(2));
	join(rig, GROUP(2), SOURCE(9));
	settle(rig);
	v3_query(rig, 10, GROUP(2), 2, 3);
	run_for(rig, S);
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(2), 1u << 2));
	v3_query(rig, 10, GROUP(2), 3, 3); // none of them joined
	run_for(rig, S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	v3_query(rig, 10, GROUP(1), 3, 2); // joined for any source: both reported
	run_for(rig, S);
	CU_ASSERT(reported(rig, 1, IS_IN, GROUP(1), 1u << 3 | 1u << 4));
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	free_rig(rig);
}

TL_TEST("source queries accumulate, and a group query covers them")
{
	struct rig *rig = new_rig(1);

	for (unsigned i = 0; i < 6; i++)
		join(rig, GROUP(1), SOURCE(i));
	settle(rig);
	v3_query(rig, 10, GROUP(1), 0, 2);
	v3_query(rig, 10, GROUP(1), 1, 2);
	run_for(rig, 10 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(1), 7));
	v3_query(rig, 10, GROUP(1), 0, 1);
	v3_query(rig, 10, GROUP(1), 0, 0); // the whole group covers the source
	v3_query(rig, 10, GROUP(1), 3, 1);
	run_for(rig, 10 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT(reported(rig, 1, IS_IN, GROUP(1), 0x3f));
	v3_query(rig, 10, GROUP(1), 3, 40); // above the limit of stored sources
	run_for(rig, 10 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 3);
	CU_ASSERT(reported(rig, 2, IS_IN, GROUP(1), 0x3f));
	v3_query(rig, 10, GROUP(1), 5, 1);
	run_for(rig, 10 * S);
	CU_ASSERT(reported(rig, 3, IS_IN, GROUP(1), 1u << 5));
	free_rig(rig);
}

TL_TEST("a group that was left is absent from answers")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), 0);
	settle(rig);
	leave(rig, GROUP(1), 0);
	v3_query(rig, 0, 0, 0, 0);
	run_for(rig, 1);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT_EQUAL(record_count(rig, 1), 1);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(1), 0));
	CU_ASSERT(reported(rig, 1, IS_EX, GROUP(2), 0));
	settle(rig);
	v3_query(rig, 100, GROUP(2), 0, 0);
	leave(rig, GROUP(2), 0);
	rig->now_ns += 10 * S; // late: leave and reply are due together
	tl_mcast_tick(rig->m, rig->now_ns);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(2), 0));
	free_rig(rig);
}

TL_TEST("response codes are decoded as linear and floating-point values")
{
	static const struct {
		uint8_t code;
		uint64_t max_ns;
	} codes[] = {{1, 100 * MS}, {127, 12700 * MS}, {0x80, 12800 * MS}, {0x8f, 24800 * MS}, {0x9f, 49600 * MS},
		{0xff, 3174400 * MS}};
	struct rig *rig = new_rig(7);

	join(rig, GROUP(1), 0);
	settle(rig);
	for (size_t i = 0; i < TL_ARRAY_LEN(codes); i++) {
		uint64_t longest_ns = 0;
		for (unsigned k = 0; k < 200; k++) {
			v3_query(rig, codes[i].code, 0, 0, 0);
			longest_ns = tl_max_u64(longest_ns, tl_mcast_next_deadline(rig->m) - rig->now_ns);
			run_for(rig, 4000 * S);
			forget_sent(rig);
		}
		CU_ASSERT(longest_ns <= codes[i].max_ns);
		CU_ASSERT(longest_ns > codes[i].max_ns / 10 * 9);
	}
	free_rig(rig);
}

TL_TEST("the querier sets the robustness")
{
	static const struct {
		uint8_t qrv;
		unsigned sent;
	} robustness[] = {{4, 4}, {1, 2}, {0, 2}, {0x0b, 3}}; // the last with the S flag set
	uint8_t query[12];

	for (size_t i = 0; i < TL_ARRAY_LEN(robustness); i++) {
		struct rig *rig = new_rig(i);
		build_v3_query(query, 100, 0, 0, 0);
		query[8] = robustness[i].qrv;
		input(rig, query, sizeof(query));
		join(rig, GROUP(1), 0);
		run_for(rig, 30 * S);
		CU_ASSERT_EQUAL(rig->sent_count, robustness[i].sent);
		free_rig(rig);
	}
}

TL_TEST("equal seeds give equal delays")
{
	uint64_t at_ns[3];

	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = new_rig(i == 2 ? 99 : 42);
		join(rig, GROUP(1), 0);
		run_for(rig, 30 * S);
		at_ns[i] = rig->sent[1].at_ns;
		free_rig(rig);
	}
	CU_ASSERT_EQUAL(at_ns[0], at_ns[1]);
	CU_ASSERT_NOT_EQUAL(at_ns[0], at_ns[2]);
}

TL_TEST("a truncated or inconsistent query is counted and ignored")
{
	struct rig *rig = new_rig(1);
	uint8_t query[12 + 4 * 64];
	size_t len = build_v3_query(query, 10, GROUP(1), 0, 3);
	uint64_t bad = 0;

	join(rig, GROUP(1), 0);
	settle(rig);
	for (size_t cut = 0; cut < len; cut++) {
		if (cut == 8) // a complete v2 query
			continue;
		input(rig, query, cut);
		CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), ++bad);
	}
	query[10] = 0xff; // 65283 sources
	input(rig, query, sizeof(query));
	len = build_v3_query(query, 10, 0, 0, 1); // sources without a group
	input(rig, query, len);
	len = build_v3_query(query, 10, SOURCE(1), 0, 0); // not a multicast group
	input(rig, query, len);
	v2_query(rig, 10, SOURCE(1));
	CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), bad + 4);
	CU_ASSERT_EQUAL(counter(rig, "igmp_queries_rx"), 0);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	free_rig(rig);
}

TL_TEST("unknown types and our own messages are ignored")
{
	static const uint8_t types[] = {0x00, 0x13, 0x14, 0x17, 0x1e, 0x22, 0x30, 0xff};
	struct rig *rig = new_rig(1);
	uint8_t query[12];

	join(rig, GROUP(1), 0);
	settle(rig);
	for (size_t i = 0; i < TL_ARRAY_LEN(types); i++)
		short_message(rig, types[i], 1, GROUP(1));
	input_from(rig, query, build_v3_query(query, 10, 0, 0, 0), OWN_IP);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), 0);
	free_rig(rig);
}

// A snooping switch without an address queries from 0.0.0.0; a host without an address accepts that, too.
TL_TEST("a query from 0.0.0.0 is accepted")
{
	uint8_t query[12];

	for (unsigned has_ip = 0; has_ip <= 1; has_ip++) {
		struct rig *rig = calloc(1, sizeof(*rig));
		struct tl_mcast_cfg cfg = {.send = on_send, .send_ctx = rig, .ip_be = has_ip ? OWN_IP : 0};
		CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &rig->m), 0);
		join(rig, GROUP(1), 0);
		settle(rig);
		input_from(rig, query, build_v3_query(query, 10, 0, 0, 0), 0);
		CU_ASSERT_NOT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
		free_rig(rig);
	}
}

TL_TEST("data after a query is ignored")
{
	struct rig *rig = new_rig(1);
	uint8_t query[64] = {0};

	join(rig, GROUP(1), 0);
	settle(rig);
	build_v3_query(query, 10, GROUP(1), 0, 0);
	input(rig, query, sizeof(query));
	run_for(rig, S);
	CU_ASSERT(reported(rig, 0, IS_EX, GROUP(1), 0));
	free_rig(rig);
}

// ---- messages that no querier on the link sends

TL_TEST("a query not valid from an on-link router is counted and ignored")
{
	const struct {
		unsigned version;
		uint32_t group_be, dst_be;
		uint8_t hop_limit;
		bool alert, followed;
	} queries[] = {
		{3, 0, ALL_HOSTS, 1, true, true},
		{3, 0, ALL_HOSTS, 2, true, false},  // RFC 3376, section 4
		{3, 0, ALL_HOSTS, 1, false, false}, // section 9.1
		{3, 0, GROUP(1), 1, true, false},   // section 9.1
		{3, 0, OWN_IP, 1, true, true},	    // section 4.1.12
		{3, GROUP(1), GROUP(1), 1, true, true},
		{3, GROUP(1), ALL_HOSTS, 1, true, true},
		{3, GROUP(1), GROUP(1), 64, true, false},
		{3, GROUP(1), GROUP(1), 1, false, false},
		{2, 0, ALL_HOSTS, 1, true, true},
		{2, 0, ALL_HOSTS, 1, false, false},
		{2, 0, GROUP(1), 1, true, false},
		{1, 0, ALL_HOSTS, 1, false, true}, // predates Router Alert
		{1, 0, ALL_HOSTS, 2, false, false},
		{1, 0, GROUP(1), 1, false, false},
	};
	uint8_t bytes[12];

	for (size_t i = 0; i < TL_ARRAY_LEN(queries); i++) {
		struct rig *rig = new_rig(i);
		join(rig, GROUP(1), 0);
		settle(rig);
		(void)build_v3_query(bytes, queries[i].version == 1 ? 0 : 10, queries[i].group_be, 0, 0);
		input_with(rig, bytes, queries[i].version == 3 ? 12 : 8,
			(struct tl_mcast_packet){.dst_be = queries[i].dst_be,
				.hop_limit = queries[i].hop_limit,
				.alert = queries[i].alert});
		run_for(rig, 30 * S);
		CU_ASSERT_EQUAL(rig->sent_count, queries[i].followed);
		CU_ASSERT_EQUAL(counter(rig, "igmp_queries_rx"), queries[i].followed);
		CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), !queries[i].followed);
		free_rig(rig);
	}
}

TL_TEST("a report from outside the link suppresses nothing")
{
	struct rig *rig = new_rig(1);
	uint8_t report[8] = {0x16};

	memcpy(report + 4, &(uint32_t){GROUP(1)}, 4);
	join(rig, GROUP(1), 0);
	settle(rig);
	v2_query(rig, 100, 0);
	input_with(rig, report, sizeof(report), (struct tl_mcast_packet){.dst_be = GROUP(1), .hop_limit = 64});
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	free_rig(rig);
}

// Return the seconds of v2 mode after a v2 query that follows a v3 query with this QRV and QQIC.
static uint64_t v2_seconds(uint8_t qrv, uint8_t qqic)
{
	struct rig *rig = new_rig(1);
	uint8_t bytes[12];
	uint64_t seconds = 0;

	(void)build_v3_query(bytes, 10, 0, 0, 0);
	bytes[8] = qrv;
	bytes[9] = qqic;
	input(rig, bytes, sizeof(bytes));
	v2_query(rig, 10, 0);
	for (bool older = true; older && seconds < 1000000; seconds++) {
		forget_sent(rig);
		rig->now_ns += S;
		join(rig, GROUP(1), 0);
		run_for(rig, 0);
		older = told(rig, 0, 0x16, GROUP(1), GROUP(1));
		leave(rig, GROUP(1), 0);
		run_for(rig, 0);
	}
	free_rig(rig);
	return seconds;
}

TL_TEST("robustness and interval of a querier are bounded")
{
	CU_ASSERT_EQUAL(v2_seconds(2, 125), 251); // RFC 3376, section 8.12, with a response interval of 1 s
	CU_ASSERT_EQUAL(v2_seconds(1, 125), 251);
	CU_ASSERT_EQUAL(v2_seconds(0, 0), 251);
	CU_ASSERT_EQUAL(v2_seconds(7, 20), 141);
	CU_ASSERT_EQUAL(v2_seconds(7, 255), 7 * 600 + 1); // limited from 31 744 s
}

// ---- many groups

#define MANY 16000

// Count messages, and reports per group.
struct crowd {
	struct tl_mcast *m;
	uint64_t now_ns;
	unsigned groups; // groups reported since the last check
	uint8_t told[MANY];
};

static void note_told(struct crowd *crowd, uint32_t group_be)
{
	uint32_t i = tl_be32(group_be) - tl_be32(GROUP(0));

	CU_ASSERT_FATAL(i < MANY);
	crowd->told[i]++;
	crowd->groups++;
}

static void on_crowd_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
	struct crowd *crowd = ctx;
	struct sent sent = {.len = len};
	struct record r;

	memcpy(sent.bytes, igmp, len);
	if (igmp[0] != 0x22)
		note_told(crowd, get_be32(igmp + 4));
	else
		for (uint16_t off = 8; next_record(&sent, &off, &r);)
			note_told(crowd, r.group_be);
}

static struct crowd *new_crowd(void)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct tl_mcast_cfg cfg = {.send = on_crowd_send, .send_ctx = crowd, .ip_be = OWN_IP, .groups = MANY};

	crowd->now_ns = START;
	CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &crowd->m), 0);
	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL_FATAL(tl_mcast_join(crowd->m, GROUP(i), 0, crowd->now_ns), 0);
	while (tl_mcast_next_deadline(crowd->m) != TL_MCAST_NEVER)
		tl_mcast_tick(crowd->m, crowd->now_ns += 100 * MS);
	memset(crowd->told, 0, sizeof(crowd->told));
	crowd->groups = 0;
	return crowd;
}

static void free_crowd(struct crowd *crowd)
{
	tl_mcast_destroy(crowd->m);
	free(crowd);
}

static void ask_crowd(struct crowd *crowd, size_t len)
{
	uint8_t bytes[12];

	(void)build_v3_query(bytes, 10, 0, 0, 0);
	const struct tl_mcast_packet packet = {.message = bytes,
		.len = (uint16_t)len,
		.src_be = QUERIER,
		.dst_be = ALL_HOSTS,
		.hop_limit = 1,
		.alert = true};
	tl_mcast_input(crowd->m, &packet, crowd->now_ns);
}

// Tick every millisecond until no timer is due; return the maximum of groups reported by one tick.
static unsigned tick_crowd(struct crowd *crowd)
{
	unsigned most = 0;

	while (tl_mcast_next_deadline(crowd->m) != TL_MCAST_NEVER) {
		crowd->groups = 0;
		tl_mcast_tick(crowd->m, crowd->now_ns += MS);
		most = crowd->groups > most ? crowd->groups : most;
	}
	return most;
}

static bool crowd_told(const struct crowd *crowd, uint32_t first, uint8_t times)
{
	for (uint32_t i = first; i < MANY; i++)
		if (crowd->told[i] != times)
			return false;
	return true;
}

TL_TEST("a general query for 16 000 groups is answered a few per tick")
{
	struct crowd *crowd = new_crowd();
	uint64_t asked_ns = crowd->now_ns;

	ask_crowd(crowd, 12);
	CU_ASSERT(tick_crowd(crowd) <= 256);
	CU_ASSERT(crowd_told(crowd, 0, 1));
	asked_ns = crowd->now_ns;
	ask_crowd(crowd, 8);
	CU_ASSERT(tick_crowd(crowd) <= 256);
	CU_ASSERT(crowd_told(crowd, 0, 2));
	CU_ASSERT(crowd->now_ns <= asked_ns + S + MS);
	free_crowd(crowd);
}

TL_TEST("queries during an answer restart it once")
{
	struct crowd *crowd = new_crowd();

	ask_crowd(crowd, 12);
	while (crowd->groups == 0)
		tl_mcast_tick(crowd->m, crowd->now_ns += MS);
	for (unsigned i = 0; i < 1000; i++)
		ask_crowd(crowd, 12);
	(void)tick_crowd(crowd);
	CU_ASSERT(crowd_told(crowd, 0, 2));
	free_crowd(crowd);
}

TL_TEST("groups left during an answer do not hide others")
{
	struct crowd *crowd = new_crowd();

	ask_crowd(crowd, 12);
	while (crowd->groups == 0)
		tl_mcast_tick(crowd->m, crowd->now_ns += MS);
	for (uint32_t i = 0; i < MANY / 2; i++)
		CU_ASSERT_EQUAL(tl_mcast_leave(crowd->m, GROUP(i), 0, crowd->now_ns), 0);
	memset(crowd->told + MANY / 2, 0, MANY / 2);
	ask_crowd(crowd, 12);
	(void)tick_crowd(crowd);
	bool all = true;
	for (uint32_t i = MANY / 2; i < MANY; i++)
		all &= crowd->told[i] >= 1;
	CU_ASSERT(all);
	free_crowd(crowd);
}

int main(void)
{
	return tl_test_run("mcast_query");
}
