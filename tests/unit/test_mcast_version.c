// SPDX-License-Identifier: BSD-3-Clause
// IGMP host in virtual time: queriers of versions 1 and 2.

#include <tl_test_mcast.h>

TL_TEST("a v2 querier is answered in v2, with a random delay per group")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	settle(rig);
	uint64_t asked_ns = rig->now_ns;
	v2_query(rig, 50, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	unsigned first = told(rig, 0, 0x16, GROUP(1), GROUP(1)) ? 0 : 1;
	CU_ASSERT(told(rig, first, 0x16, GROUP(1), GROUP(1)));
	CU_ASSERT(told(rig, 1 - first, 0x16, GROUP(2), GROUP(2)));
	CU_ASSERT(rig->sent[0].at_ns < rig->sent[1].at_ns); // individual delays
	CU_ASSERT(rig->sent[0].at_ns > asked_ns && rig->sent[1].at_ns <= asked_ns + 5 * S);
	forget_sent(rig);
	v3_query(rig, 10, GROUP(1), 5, 2); // a v3 query counts as v2 in v2 mode
	run_for(rig, S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(told(rig, 0, 0x16, GROUP(1), GROUP(1)));
	free_rig(rig);
}

TL_TEST("with v2 the answers for many groups are spread over the response time")
{
	const unsigned groups = 60;
	struct rig *rig = new_rig(1);
	unsigned moments = 1;

	for (unsigned i = 0; i < groups; i++)
		join(rig, GROUP(i + 1), 0);
	settle(rig);
	v2_query(rig, 10, 0);
	uint64_t asked_ns = rig->now_ns;
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL_FATAL(rig->sent_count, groups);
	CU_ASSERT(rig->sent[0].at_ns > asked_ns && rig->sent[groups - 1].at_ns <= asked_ns + S);
	for (unsigned i = 1; i < groups; i++)
		moments += rig->sent[i].at_ns != rig->sent[i - 1].at_ns;
	CU_ASSERT(moments > groups / 2);
	free_rig(rig);
}

TL_TEST("with v2 a join is reported and a leave is sent to all routers")
{
	struct rig *rig = new_rig(1);

	v2_query(rig, 100, 0);
	join(rig, GROUP(1), SOURCE(1));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT(told(rig, 0, 0x16, GROUP(1), GROUP(1)));
	CU_ASSERT(told(rig, 1, 0x16, GROUP(1), GROUP(1)));
	CU_ASSERT(rig->sent[1].at_ns - rig->sent[0].at_ns <= 10 * S);
	forget_sent(rig);
	join(rig, GROUP(1), SOURCE(2)); // v2 has no sources
	leave(rig, GROUP(1), SOURCE(1));
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	leave(rig, GROUP(1), SOURCE(2));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(told(rig, 0, 0x17, ALL_ROUTERS, GROUP(1)));
	CU_ASSERT_EQUAL(counter(rig, "igmp_leaves_tx"), 1);
	CU_ASSERT_EQUAL(counter(rig, "igmp_reports_tx"), 2);
	free_rig(rig);
}

TL_TEST("with v2 another member's report suppresses ours")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	v3_query(rig, 100, GROUP(1), 0, 0); // v3: not suppressed
	short_message(rig, 0x16, 0, GROUP(1));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	v2_query(rig, 100, 0);
	short_message(rig, 0x16, 0, GROUP(2)); // a different group
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	v2_query(rig, 100, 0);
	short_message(rig, 0x16, 0, GROUP(1));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	join(rig, GROUP(3), 0);
	short_message(rig, 0x12, 0, GROUP(3)); // the first report is sent nevertheless, the second is suppressed
	run_for(rig, 0);
	short_message(rig, 0x12, 0, GROUP(3));
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 3);
	leave(rig, GROUP(3), 0);
	short_message(rig, 0x16, 0, GROUP(3)); // a leave is not suppressed
	run_for(rig, 30 * S);
	CU_ASSERT(told(rig, 3, 0x17, ALL_ROUTERS, GROUP(3)));
	free_rig(rig);
}

TL_TEST("a v1 querier is answered in v1 and receives no leave")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	uint64_t asked_ns = rig->now_ns;
	v2_query(rig, 0, GROUP(9)); // code 0: v1, which ignores the group field
	v2_query(rig, 100, 0);	    // v1 takes precedence over v2
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(told(rig, 0, 0x12, GROUP(1), GROUP(1)));
	CU_ASSERT(rig->sent[0].at_ns <= asked_ns + 10 * S);
	leave(rig, GROUP(1), 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1); // v1 has no leave
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(1), 0, rig->now_ns), -ENOENT);
	free_rig(rig);
}

TL_TEST("v3 is used again 260 s after the last query of an older querier")
{
	struct rig *rig = new_rig(1);
	uint64_t heard_ns = rig->now_ns;

	v2_query(rig, 100, 0); // 2 * 125 s + 10 s
	run_until(rig, heard_ns + 260 * S - 1);
	join(rig, GROUP(1), 0);
	run_for(rig, 0);
	CU_ASSERT(told(rig, 0, 0x16, GROUP(1), GROUP(1)));
	run_until(rig, heard_ns + 260 * S);
	forget_sent(rig);
	join(rig, GROUP(2), 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2); // the repetition for the first was cancelled with v2
	CU_ASSERT(reported(rig, 0, TO_EX, GROUP(2), 0));
	free_rig(rig);
}

TL_TEST("a v3 querier sets the timeout of an older one")
{
	struct rig *rig = new_rig(1);
	uint8_t query[12];

	build_v3_query(query, 100, 0, 0, 0);
	query[8] = 3;
	query[9] = 20;
	input(rig, query, sizeof(query));
	uint64_t heard_ns = rig->now_ns;
	v2_query(rig, 50, 0); // 3 * 20 s + 5 s
	run_until(rig, heard_ns + 65 * S - 1);
	join(rig, GROUP(1), 0);
	run_for(rig, 0);
	CU_ASSERT(told(rig, 0, 0x16, GROUP(1), GROUP(1)));
	run_for(rig, 1);
	join(rig, GROUP(2), 0);
	run_for(rig, 0);
	CU_ASSERT(reported(rig, 1, TO_EX, GROUP(2), 0));
	free_rig(rig);
}

TL_TEST("unsent state changes survive a change of version")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	run_for(rig, 0);
	join(rig, GROUP(2), SOURCE(1));
	settle(rig);
	leave(rig, GROUP(2), SOURCE(1));
	join(rig, GROUP(3), 0);
	leave(rig, GROUP(1), 0);
	v2_query(rig, 255, 0); // received before the BLOCK, the TO_EX and the TO_IN were sent
	run_for(rig, 0);
	CU_ASSERT_EQUAL(rig->sent_count, 3);
	CU_ASSERT_EQUAL(counter(rig, "igmp_leaves_tx"), 2);
	CU_ASSERT(told(rig, 0, 0x16, GROUP(3), GROUP(3)) || told(rig, 1, 0x16, GROUP(3), GROUP(3)) ||
		  told(rig, 2, 0x16, GROUP(3), GROUP(3)));
	run_for(rig, 30 * S); // the repetitions were cancelled, the query is answered
	CU_ASSERT_EQUAL(rig->sent_count, 4);
	CU_ASSERT(told(rig, 3, 0x16, GROUP(3), GROUP(3)));
	free_rig(rig);
}

TL_TEST("after a return to v3 unsent changes are reported as the complete state")
{
	struct rig *rig = new_rig(1);
	uint64_t end_of_v2_ns = rig->now_ns + 260 * S;

	v2_query(rig, 100, 0);
	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), 0);
	run_until(rig, end_of_v2_ns - 1);
	forget_sent(rig);
	v2_query(rig, 255, GROUP(1)); // the pending v2 reply is cancelled
	CU_ASSERT(tl_mcast_next_deadline(rig->m) > end_of_v2_ns);
	leave(rig, GROUP(2), 0);
	join(rig, GROUP(3), SOURCE(1));
	rig->now_ns = end_of_v2_ns;
	run_for(rig, 60 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT_EQUAL(record_count(rig, 0), 2);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(2), 0));
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(3), 1u << 1));
	free_rig(rig);
}

TL_TEST("repetitions end with a change of version")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	run_for(rig, 0);
	leave(rig, GROUP(2), SOURCE(1));
	run_for(rig, 0);
	forget_sent(rig);
	v2_query(rig, 100, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1); // only the reply
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, GROUP(2), SOURCE(1), rig->now_ns), -ENOENT);
	free_rig(rig);
}

int main(void)
{
	return tl_test_run("mcast_version");
}
