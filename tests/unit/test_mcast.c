// SPDX-License-Identifier: BSD-3-Clause
// IGMP host in virtual time: joins, leaves and reports, and the state of a router that receives them.

#include <tl_test_mcast.h>

TL_TEST("a join is reported at the next tick and again within a second")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	CU_ASSERT_EQUAL(rig->sent_count, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT(reported(rig, i, TO_EX, GROUP(1), 0));
		CU_ASSERT_EQUAL(record_count(rig, i), 1);
		CU_ASSERT_EQUAL(rig->sent[i].len, 16);
	}
	CU_ASSERT_EQUAL(rig->sent[0].at_ns, START);
	CU_ASSERT(rig->sent[1].at_ns > START && rig->sent[1].at_ns <= START + S);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	CU_ASSERT_EQUAL(counter(rig, "igmp_reports_tx"), 2);
	free_rig(rig);
}

TL_TEST("robustness is the number of reports per change")
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct tl_mcast_cfg cfg = {.send = on_send, .send_ctx = rig, .robustness = 5};

	CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &rig->m), 0);
	join(rig, GROUP(1), 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 5);
	free_rig(rig);
}

TL_TEST("joins made together share one report")
{
	struct rig *rig = new_rig(1);

	for (unsigned i = 0; i < 10; i++)
		join(rig, GROUP(i), i % 2 == 0 ? 0 : SOURCE(i));
	run_for(rig, 0);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT_EQUAL(record_count(rig, 0), 10);
	for (unsigned i = 0; i < 10; i++)
		CU_ASSERT(reported(rig, 0, i % 2 == 0 ? TO_EX : ALLOW, GROUP(i), i % 2 == 0 ? 0 : 1u << i));
	free_rig(rig);
}

TL_TEST("a group is left after its last join was undone")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	join(rig, GROUP(1), 0);
	leave(rig, GROUP(1), 0);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	CU_ASSERT(tl_mcast_accepts(rig->m, GROUP(1), SOURCE(1)));
	leave(rig, GROUP(1), 0);
	CU_ASSERT(!tl_mcast_accepts(rig->m, GROUP(1), SOURCE(1)));
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), 0, rig->now_ns), -ENOENT);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(1), 0));
	CU_ASSERT(reported(rig, 1, TO_IN, GROUP(1), 0));
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), 0, rig->now_ns), -ENOENT);
	free_rig(rig);
}

TL_TEST("sources of a group accumulate, and are allowed and blocked individually")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), SOURCE(1));
	run_for(rig, 0);
	CU_ASSERT(reported(rig, 0, ALLOW, GROUP(1), 1u << 1));
	join(rig, GROUP(1), SOURCE(2)); // before the repetition: both in the next report, only 2 in the last one
	run_for(rig, 0);
	CU_ASSERT(reported(rig, 1, ALLOW, GROUP(1), 1u << 1 | 1u << 2));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 3);
	CU_ASSERT(reported(rig, 2, ALLOW, GROUP(1), 1u << 2));
	forget_sent(rig);
	join(rig, GROUP(1), SOURCE(2));
	leave(rig, GROUP(1), SOURCE(2));
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	leave(rig, GROUP(1), SOURCE(1));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT(reported(rig, 0, BLOCK, GROUP(1), 1u << 1));
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), SOURCE(1), rig->now_ns), -ENOENT);
	free_rig(rig);
}

TL_TEST("one report allows new sources and blocks old ones")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), SOURCE(1));
	settle(rig);
	join(rig, GROUP(1), SOURCE(2));
	leave(rig, GROUP(1), SOURCE(1));
	run_for(rig, 0);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(reported(rig, 0, ALLOW, GROUP(1), 1u << 2));
	CU_ASSERT(reported(rig, 0, BLOCK, GROUP(1), 1u << 1));
	free_rig(rig);
}

TL_TEST("an any-source join overrides source joins while it exists")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), SOURCE(1));
	join(rig, GROUP(1), 0);
	run_for(rig, 0);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT(reported(rig, 0, TO_EX, GROUP(1), 0));
	settle(rig);
	join(rig, GROUP(1), SOURCE(2)); // already accepted
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	leave(rig, GROUP(1), 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(1), 1u << 1 | 1u << 2));
	CU_ASSERT(reported(rig, 1, TO_IN, GROUP(1), 1u << 1 | 1u << 2));
	free_rig(rig);
}

// The querier lowers the robustness between the two changes: the first must not be repeated longer than the second.
TL_TEST("a mode change cancels pending source changes")
{
	struct rig *rig = new_rig(1);
	uint8_t query[12];

	build_v3_query(query, 10, GROUP(9), 0, 0);
	query[8] = 3;
	input(rig, query, sizeof(query));
	join(rig, GROUP(1), SOURCE(1));
	query[8] = 2;
	input(rig, query, sizeof(query));
	join(rig, GROUP(1), 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(record_count(rig, i), 1);
		CU_ASSERT(reported(rig, i, TO_EX, GROUP(1), 0));
	}
	free_rig(rig);
}

TL_TEST("a datagram is accepted only from a joined source, at once")
{
	struct rig *rig = new_rig(1);

	CU_ASSERT(!tl_mcast_accepts(rig->m, GROUP(1), SOURCE(1)));
	join(rig, GROUP(1), SOURCE(1));
	join(rig, GROUP(2), 0);
	CU_ASSERT(tl_mcast_accepts(rig->m, GROUP(1), SOURCE(1)));
	CU_ASSERT(!tl_mcast_accepts(rig->m, GROUP(1), SOURCE(2)));
	CU_ASSERT(tl_mcast_accepts(rig->m, GROUP(2), SOURCE(2)));
	CU_ASSERT(!tl_mcast_accepts(rig->m, GROUP(3), SOURCE(1)));
	leave(rig, GROUP(1), SOURCE(1)); // its BLOCK is pending, its datagrams are rejected
	CU_ASSERT(!tl_mcast_accepts(rig->m, GROUP(1), SOURCE(1)));
	free_rig(rig);
}

TL_TEST("the NIC filter holds 224.0.0.1 and every joined group once")
{
	struct rig *rig = new_rig(1);
	uint32_t groups[4] = {0};

	CU_ASSERT_EQUAL(tl_mcast_groups(rig->m, groups, 4), 1);
	CU_ASSERT_EQUAL(groups[0], ALL_HOSTS);
	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	join(rig, ALL_HOSTS, 0);
	CU_ASSERT_EQUAL(tl_mcast_groups(rig->m, groups, 4), 3);
	CU_ASSERT_EQUAL(groups[1], GROUP(1));
	CU_ASSERT_EQUAL(groups[2], GROUP(2));
	leave(rig, GROUP(1), 0); // not reported yet, but removed from the filter
	groups[1] = groups[2] = 0;
	CU_ASSERT_EQUAL(tl_mcast_groups(rig->m, groups, 1), 2);
	CU_ASSERT_EQUAL(groups[1], 0);
	CU_ASSERT_EQUAL(tl_mcast_groups(rig->m, groups, 4), 2);
	CU_ASSERT_EQUAL(groups[1], GROUP(2));
	free_rig(rig);
}

TL_TEST("224.0.0.1 is never reported")
{
	struct rig *rig = new_rig(1);

	join(rig, ALL_HOSTS, 0);
	v3_query(rig, 10, 0, 0, 0);
	v3_query(rig, 10, ALL_HOSTS, 0, 0);
	run_for(rig, 30 * S);
	v2_query(rig, 10, 0);
	v2_query(rig, 10, ALL_HOSTS);
	run_for(rig, 30 * S);
	leave(rig, ALL_HOSTS, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 0);
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, ALL_HOSTS, 0, rig->now_ns), -ENOENT);
	free_rig(rig);
}

TL_TEST("invalid joins and leaves are refused")
{
	struct rig *rig = new_rig(1);
	struct tl_mcast *m = NULL;
	struct tl_mcast_cfg no_send = {0}, too_robust = {.send = on_send, .robustness = 8};

	CU_ASSERT_EQUAL(tl_mcast_create(&no_send, &m), -EINVAL);
	CU_ASSERT_EQUAL(tl_mcast_create(&too_robust, &m), -EINVAL);
	CU_ASSERT_PTR_NULL(m);
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, SOURCE(1), 0, START), -EINVAL);
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, GROUP(1), GROUP(2), START), -EINVAL);
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, GROUP(1), UINT32_MAX, START), -EINVAL);
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), 0, START), -ENOENT);
	join(rig, GROUP(1), SOURCE(1));
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), 0, START), -ENOENT);
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), SOURCE(2), START), -ENOENT);
	tl_mcast_destroy(NULL);
	free_rig(rig);
}

TL_TEST("the limits are 64 groups and 16 sources")
{
	struct rig *rig = new_rig(1);

	for (unsigned i = 0; i < TL_MCAST_GROUPS; i++)
		join(rig, GROUP(i), 0);
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, GROUP(200), 0, rig->now_ns), -ENOSPC);
	leave(rig, GROUP(0), 0);
	join(rig, GROUP(200), SOURCE(0)); // immediately, although the leave is not reported yet
	for (unsigned i = 1; i < TL_MCAST_SOURCES; i++)
		join(rig, GROUP(200), SOURCE(i));
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, GROUP(200), SOURCE(100), rig->now_ns), -ENOSPC);
	leave(rig, GROUP(200), SOURCE(3));
	join(rig, GROUP(200), SOURCE(100));
	CU_ASSERT(tl_mcast_accepts(rig->m, GROUP(200), SOURCE(100)));
	CU_ASSERT(!tl_mcast_accepts(rig->m, GROUP(200), SOURCE(3)));
	CU_ASSERT_EQUAL(tl_mcast_groups(rig->m, NULL, 0), TL_MCAST_GROUPS + 1);
	free_rig(rig);
}

TL_TEST("a source slot is free after its leave was reported")
{
	struct rig *rig = new_rig(1);

	for (unsigned i = 0; i < TL_MCAST_SOURCES; i++)
		join(rig, GROUP(1), SOURCE(i));
	leave(rig, GROUP(1), SOURCE(9));
	settle(rig);
	leave(rig, GROUP(1), SOURCE(3));
	join(rig, GROUP(1), SOURCE(20)); // takes the slot of 9, not of 3, which still has to be reported
	run_for(rig, 0);
	CU_ASSERT(reported(rig, 0, BLOCK, GROUP(1), 1u << 3));
	CU_ASSERT(reported(rig, 0, ALLOW, GROUP(1), 1u << 20));
	free_rig(rig);
}

TL_TEST("a report too large for one message is split")
{
	struct rig *rig = new_rig(1);
	bool seen[TL_MCAST_GROUPS] = {0};
	struct record r;

	for (unsigned g = 0; g < TL_MCAST_GROUPS; g++) {
		for (unsigned s = 0; s < TL_MCAST_SOURCES; s++)
			join(rig, GROUP(g), SOURCE(s));
	}
	settle(rig);
	v3_query(rig, 10, 0, 0, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 4); // 64 records of 72 bytes, 19 per message
	for (unsigned i = 0; i < rig->sent_count; i++) {
		unsigned records = 0;
		for (uint16_t off = 8; next_record(&rig->sent[i], &off, &r); records++) {
			seen[tl_be32(r.group_be) & 0xff] = true;
			CU_ASSERT_EQUAL(r.type, IS_IN);
			CU_ASSERT_EQUAL(r.source_count, TL_MCAST_SOURCES);
		}
		CU_ASSERT_EQUAL(records, record_count(rig, i));
	}
	for (unsigned g = 0; g < TL_MCAST_GROUPS; g++)
		CU_ASSERT(seen[g]);
	free_rig(rig);
}

TL_TEST("counters are not written past the buffer")
{
	struct rig *rig = new_rig(1);
	struct tl_counter one[2] = {0};

	CU_ASSERT_EQUAL(tl_mcast_counters(rig->m, NULL, 0), 4);
	CU_ASSERT_EQUAL(tl_mcast_counters(rig->m, one, 1), 4);
	CU_ASSERT_STRING_EQUAL(one[0].name, "igmp_reports_tx");
	CU_ASSERT_PTR_NULL(one[1].name);
	free_rig(rig);
}

// Router state from reports (RFC 3376, section 6.4, without timers), for 8 groups and 8 sources.
struct router {
	bool exclude[8];
	uint8_t sources[8]; // included, one bit each
};

static void hear_record(struct router *router, const struct record *r)
{
	unsigned g = tl_be32(r->group_be) & 0xff;
	uint8_t mask = 0;

	for (unsigned s = 0; s < 8; s++)
		mask |= in_list(r->sources, r->source_count, SOURCE(s)) ? (uint8_t)(1u << s) : 0;
	switch (r->type) {
	case TO_EX:
	case IS_EX:
		router->exclude[g] = true;
		router->sources[g] = 0;
		break;
	case TO_IN:
		router->exclude[g] = false;
		router->sources[g] = mask;
		break;
	case ALLOW:
	case IS_IN:
		router->sources[g] |= router->exclude[g] ? 0 : mask;
		break;
	case BLOCK:
		router->sources[g] &= (uint8_t)~mask;
		break;
	default:
		CU_FAIL("unknown record type");
	}
}

static void hear_all(struct router *router, struct rig *rig)
{
	struct record r;

	for (unsigned i = 0; i < rig->sent_count; i++) {
		for (uint16_t off = 8; next_record(&rig->sent[i], &off, &r);)
			hear_record(router, &r);
	}
	forget_sent(rig);
}

// Reference model of the joins: [group][0] any source, [group][1 + n] SOURCE(n).
typedef unsigned refs_table[8][9];

static void random_step(struct rig *rig, refs_table refs)
{
	unsigned g = (unsigned)rand() % 8, s = (unsigned)rand() % 9;
	uint32_t source_be = s == 0 ? 0 : SOURCE(s - 1);

	if (rand() % 8 == 0) {
		v3_query(rig, (uint8_t)rand(), rand() % 2 == 0 ? 0 : GROUP(g), 0, 0);
	} else if (rand() % 8 == 0) {
		v3_query(rig, (uint8_t)rand(), GROUP(g), 0, (unsigned)rand() % 9);
	} else if (rand() % 2 == 0) {
		join(rig, GROUP(g), source_be);
		refs[g][s]++;
	} else {
		int want = refs[g][s] != 0 ? 0 : -ENOENT;
		CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(g), source_be, rig->now_ns), want);
		refs[g][s] -= refs[g][s] != 0;
	}
}

static void check_against(const struct rig *rig, refs_table refs, const struct router *router)
{
	for (unsigned g = 0; g < 8; g++) {
		CU_ASSERT_EQUAL(router->exclude[g], refs[g][0] != 0);
		for (unsigned s = 0; s < 8; s++) {
			bool wanted = refs[g][0] != 0 || refs[g][1 + s] != 0;
			bool forwarded = router->exclude[g] || (router->sources[g] & 1u << s) != 0;
			CU_ASSERT_EQUAL(forwarded, wanted);
			CU_ASSERT_EQUAL(tl_mcast_accepts(rig->m, GROUP(g), SOURCE(s)), wanted);
		}
	}
}

TL_TEST("a router that receives every report knows the exact state")
{
	struct rig *rig = new_rig(5);
	struct router router = {0};
	refs_table refs = {0};

	srand(5);
	for (unsigned i = 0; i < 20000; i++) {
		for (int steps = rand() % 4; steps >= 0; steps--)
			random_step(rig, refs);
		run_for(rig, rand() % 4 == 0 ? (uint64_t)rand() % (2 * S) : 0);
		hear_all(&router, rig);
		check_against(rig, refs, &router);
	}
	free_rig(rig);
}

int main(void)
{
	return tl_test_run("mcast");
}
