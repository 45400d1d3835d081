// SPDX-License-Identifier: BSD-3-Clause
// A host on the wire: its IGMP reports, and the queries that it follows.

#include "tl_test_host.h"

TL_TEST("a join is reported with Router Alert, TTL 1, to 224.0.0.22")
{
	static const uint8_t all_v3_routers[] = {0x01, 0x00, 0x5e, 0x00, 0x00, 0x16};
	struct host *h = start();
	struct heard heard = {0};
	uint8_t macs[8][6];

	(void)open_udp(h, GROUP, 0, 5000, &heard);
	for (unsigned ms = 0; ms < 3000; ms++)
		pass(h, TL_NS_PER_MS);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2); // robustness
	for (unsigned i = 0; i < 2; i++) {
		const struct frame *f = &h->sent[i];
		CU_ASSERT(is_ip(f, all_v3_routers, IP(224, 0, 0, 22), 2));
		CU_ASSERT_EQUAL(f->bytes[14], 0x46);
		CU_ASSERT_EQUAL(f->bytes[15], 0xc0);
		CU_ASSERT_EQUAL(f->bytes[22], 1);
		CU_ASSERT_EQUAL(memcmp(f->bytes + 34, "\x94\x04\x00\x00", 4), 0);
		CU_ASSERT_EQUAL(f->bytes[38], 0x22);
		CU_ASSERT_EQUAL(f->bytes[46], 4); // CHANGE_TO_EXCLUDE_MODE
		CU_ASSERT_EQUAL(memcmp(f->bytes + 50, &(uint32_t){GROUP}, 4), 0);
	}
	CU_ASSERT_EQUAL(tl_net_group_macs(h->net, macs, 8), 2);
	CU_ASSERT_EQUAL(memcmp(macs[0], "\x01\x00\x5e\x00\x00\x01", 6), 0);
	CU_ASSERT_EQUAL(memcmp(macs[1], "\x01\x00\x5e\x01\x02\x03", 6), 0);
	CU_ASSERT_EQUAL(counter(h, "igmp_reports_tx"), 2);
	stop(h);
}

TL_TEST("queries are answered from any source, including those other than the group's")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame general = igmp_query(PEER, IP(224, 0, 0, 1), 0);
	struct frame snooper = igmp_query(0, IP(224, 0, 0, 1), 0);
	struct frame of_group = igmp_query(GATEWAY, GROUP, GROUP);
	const struct frame *queries[] = {&general, &snooper, &of_group};

	(void)open_udp(h, GROUP, PEER, 5000, &heard);
	for (unsigned i = 0; i < 40; i++)
		pass(h, 100 * TL_NS_PER_MS);
	for (size_t i = 0; i < TL_ARRAY_LEN(queries); i++) {
		clear(h);
		CU_ASSERT(counts_as(h, "rx_igmp_pkts", queries[i]));
		for (unsigned j = 0; j < 40; j++)
			pass(h, 100 * TL_NS_PER_MS);
		CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
		CU_ASSERT_EQUAL(h->sent[0].bytes[38], 0x22);
	}
	CU_ASSERT_EQUAL(counter(h, "igmp_queries_rx"), 3);
	stop(h);
}

TL_TEST("after link up groups are reported again")
{
	struct host *h = start();
	struct heard heard = {0};

	(void)open_udp(h, GROUP, PEER, 5000, &heard);
	for (unsigned i = 0; i < 40; i++)
		pass(h, 100 * TL_NS_PER_MS);
	uint64_t reports = counter(h, "igmp_reports_tx");
	tl_net_announce_again(h->net, h->now_ns);
	for (unsigned i = 0; i < 40; i++)
		pass(h, 100 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(counter(h, "igmp_reports_tx"), reports + 2);
	stop(h);
}

TL_TEST("a query without TTL 1 and Router Alert is counted and ignored")
{
	struct host *h = start();
	struct frame good = igmp_query(PEER, IP(224, 0, 0, 1), 0), far = good, quiet = good, odd = good;

	far.bytes[22] = 2;
	quiet.bytes[34] = 0x44; // a time stamp instead of Router Alert
	odd.bytes[35] = 40;	// an option longer than the header
	for (unsigned i = 0; i < 3; i++) {
		struct frame *f = (struct frame *[]){&far, &quiet, &odd}[i];
		fix_cksums(f);
		CU_ASSERT(counts_as(h, "rx_igmp_pkts", f));
	}
	CU_ASSERT_EQUAL(counter(h, "igmp_bad_rx"), 3);
	CU_ASSERT_EQUAL(counter(h, "igmp_queries_rx"), 0);
	(void)memmove(good.bytes + 38, good.bytes + 34, 16); // NOPs before Router Alert
	memset(good.bytes + 34, 1, 4);
	good.bytes[14] = 0x47;
	put16(good.bytes + 16, 44);
	fix_cksums(&good);
	CU_ASSERT(counts_as(h, "rx_igmp_pkts", &good));
	CU_ASSERT_EQUAL(counter(h, "igmp_queries_rx"), 1);
	stop(h);
}

TL_TEST("IGMP to all routers is not processed")
{
	struct host *h = start();
	struct frame report = igmp_query(PEER, IP(224, 0, 0, 22), GROUP);
	struct frame leave = igmp_query(PEER, IP(224, 0, 0, 2), GROUP);

	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &report));
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &leave));
	stop(h);
}

int main(void)
{
	return test_host_run("net_igmp");
}
