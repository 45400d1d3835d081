// SPDX-License-Identifier: BSD-3-Clause
// match: matching continues after lost segments, lost replies and outages.

#include <tl_test_match.h>

TL_TEST("replies after a loss are found")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	trigger(scene, 3, "cccc");
	tcp(scene, 10, 1, "aaaa");
	tcp(scene, 20, 9, "cccc");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 1, 3, 20));
	CU_ASSERT_EQUAL(stats->unmatched_triggers, 1);
	CU_ASSERT_EQUAL(stats->lost_bytes, 4);
	end(scene);
}

// Each copy of a reply arrives after the next trigger and is paired with it: all pairs are wrong, and no trigger waits
// twice.
TL_TEST("a late copy of a reply that could belong to another trigger is ambiguous")
{
	for (unsigned different = 0; different < 2; different++) {
		struct scene *scene = begin(&by_payload);
		for (unsigned i = 1; i <= 20; i++) {
			const char *payload = different != 0 && i % 2 != 0 ? "odd!" : "same";
			const char *before = different != 0 && i % 2 == 0 ? "odd!" : "same";
			trigger(scene, 100000 * i, payload);
			if (i != 1)
				udp_reply(scene, 100000 * i + 2, before);
			udp_reply(scene, 100000 * i + 5, payload);
		}
		const struct tl_match_stats *stats = finish(scene);
		CU_ASSERT_EQUAL(scene->links, 20);
		CU_ASSERT_EQUAL(stats->duplicates, 19);
		CU_ASSERT_EQUAL(stats->ambiguous, different != 0 ? 17 : 19);
		CU_ASSERT_EQUAL(scene->link[9].reply_ns - scene->link[9].trigger_ns, different != 0 ? 5 : 2);
		end(scene);
	}
}

TL_TEST("matching resynchronizes after a lost reply")
{
	struct scene *scene = begin(&by_payload);
	uint64_t slow = 0;

	for (unsigned i = 1; i <= 40; i++) {
		trigger(scene, 1000 * i, "same");
		if (i != 10)
			udp_reply(scene, 1000 * i + 5, "same");
	}
	const struct tl_match_stats *stats = finish(scene);
	for (unsigned i = 0; i < scene->links; i++)
		slow += scene->link[i].reply_ns - scene->link[i].trigger_ns != 5;
	CU_ASSERT_EQUAL(scene->links, 39);
	CU_ASSERT_EQUAL(slow, 7); // all of them marked
	CU_ASSERT_EQUAL(stats->ambiguous, 8);
	CU_ASSERT_EQUAL(stats->unmatched_triggers, 1);
	end(scene);
}

// As many triggers are pending at a time as were lost. They are read ahead of the replies.
TL_TEST("matching resynchronizes after an outage for any number of waiting triggers")
{
	enum { READ_AHEAD = 70 };
	static const unsigned lost[] = {10, 62, 63, 64, 65, 500};

	for (size_t k = 0; k < TL_ARRAY_LEN(lost); k++) {
		struct scene *scene = begin(&by_payload);
		uint64_t slow = 0;
		for (unsigned i = 1; i <= 600 + READ_AHEAD; i++) {
			unsigned reply = i - READ_AHEAD;
			if (i <= 600)
				trigger(scene, 1000 * i, "same");
			if (i > READ_AHEAD && (reply <= 20 || reply > 20 + lost[k]))
				udp_reply(scene, 1000 * reply + 5, "same");
		}
		for (unsigned i = 0; i < tl_min_u64(scene->links, LINKS); i++)
			slow += scene->link[i].reply_ns - scene->link[i].trigger_ns != 5;
		const struct tl_match_stats *stats = finish(scene);
		CU_ASSERT_EQUAL(scene->links, 600 - lost[k]);
		CU_ASSERT_EQUAL(slow, 7);
		CU_ASSERT_EQUAL(stats->ambiguous, 8);
		CU_ASSERT_EQUAL(stats->unmatched_triggers, lost[k]);
		end(scene);
	}
}

// The second loss is the oldest trigger, which a reply out of order made visible again.
TL_TEST("a trigger that was given up is not matched again")
{
	struct scene *scene = begin(&by_payload);
	uint64_t window_ns = TL_NS_PER_MS, later_ns = window_ns + 100000;

	trigger(scene, 0, "same");
	for (unsigned i = 0; i < 10; i++) {
		trigger(scene, later_ns + 1000 * i, "same");
		if (i != 1)
			udp_reply(scene, later_ns + 1000 * i + 5, "same");
	}
	CU_ASSERT_EQUAL(scene->links, 9); // the last expired one is number 8
	trigger(scene, window_ns - 20, "same");
	udp_reply(scene, window_ns - 18, "same");
	CU_ASSERT(is_link(scene, 9, window_ns - 20, window_ns - 18));
	udp_reply(scene, later_ns + 9020, "same");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 10);
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	end(scene);
}

// The file has an old trigger after a younger one.
TL_TEST("a second reply is ambiguous only through triggers within the window")
{
	struct scene *scene = begin(&by_payload);
	uint64_t young_ns = 2 * TL_NS_PER_MS;

	trigger(scene, young_ns, "same");
	trigger(scene, 100, "same");
	udp_reply(scene, 105, "same");
	udp_reply(scene, young_ns + 5, "same");
	udp_reply(scene, young_ns + 10, "same");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	CU_ASSERT_EQUAL(stats->ambiguous, 0);
	end(scene);
}

TL_TEST("the latencies of a burst after a stall are preserved")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 500, "same");
	udp_reply(scene, 600, "same");
	for (unsigned i = 1; i <= 20; i++)
		trigger(scene, 1000 * i, "same");
	for (unsigned i = 1; i <= 20; i++)
		udp_reply(scene, 20005 + i, "same");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 21);
	for (unsigned i = 1; i <= 20; i++)
		CU_ASSERT(is_link(scene, i, 1000 * i, 20005 + i));
	CU_ASSERT_EQUAL(stats->ambiguous, 19);
	end(scene);
}

// A pipeline: the latency exceeds the time between triggers in all samples.
TL_TEST("a steady backlog is not treated as a loss")
{
	struct scene *scene = begin(&by_payload);

	for (unsigned i = 1; i <= 40; i++) {
		trigger(scene, 1000 * i, "same");
		if (i > 1)
			udp_reply(scene, 1000 * i + 500, "same");
	}
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 39);
	for (unsigned i = 0; i < 39; i++)
		CU_ASSERT_EQUAL(scene->link[i].reply_ns - scene->link[i].trigger_ns, 1500);
	end(scene);
}

TL_TEST("a hole is given up after a window")
{
	struct scene *scene = begin(&by_payload);

	tcp(scene, 10, 1, "before");
	trigger(scene, 20, "aaaa");
	tcp(scene, 30, 20, "aaaa");
	CU_ASSERT_EQUAL(scene->links, 0); // the hole may be filled
	tcp(scene, 2 * TL_NS_PER_MS, 24, "and on");
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 20, 30));
	finish(scene);
	end(scene);
}

// Both halves are older than a window when the hole in front of them expires.
TL_TEST("a reply split by a hole is matched when the hole is given up")
{
	struct scene *scene = begin(&by_payload);

	tcp(scene, 10, 1, "before");
	trigger(scene, 20, "aaaabbbb");
	tcp(scene, 30, 20, "aaaa");
	tcp(scene, 40, 24, "bbbb");
	tcp(scene, 2 * TL_NS_PER_MS, 28, "and on");
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 20, 40));
	finish(scene);
	end(scene);
}

TL_TEST("a reply stamped before its trigger is reported unless it could belong to another")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 500, "aaaa");
	trigger(scene, 600, "same");
	trigger(scene, 700, "same");
	tcp(scene, 100, 1, "aaaa");
	tcp(scene, 110, 5, "same"); // ambiguous
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 500, 100));
	CU_ASSERT_EQUAL(stats->negative, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1);
	end(scene);
}

// Segment 5 to 8 is lost for good.
TL_TEST("trigger segments after a lost one are used immediately")
{
	struct scene *scene = begin(&by_payload);

	tcp_flags(scene, true, 1, 1, "aaaa", 4, TL_TCP_ACK);
	tcp_flags(scene, true, 2, 9, "cccc", 4, TL_TCP_ACK);
	tcp_flags(scene, true, 3, 9, "cccc", 4, TL_TCP_ACK);
	tcp(scene, 10, 1, "aaaacccc");
	tcp_flags(scene, true, 20, 13, "dddd", 4, TL_TCP_ACK);
	tcp(scene, 30, 9, "dddd");
	tcp_flags(scene, true, 2 * TL_NS_PER_MS, 17, "eeee", 4, TL_TCP_ACK);
	tcp(scene, 3 * TL_NS_PER_MS, 13, "eeee");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 4);
	CU_ASSERT(is_link(scene, 1, 2, 10));
	CU_ASSERT(is_link(scene, 2, 20, 30));
	CU_ASSERT_EQUAL(stats->triggers, 4);
	CU_ASSERT_EQUAL(stats->trigger_repeated, 1);
	end(scene);
}

// A stream that appears late in a capture: the reply arrives when its trigger is almost three windows old.
TL_TEST("a reply out of order matches a trigger almost three windows old")
{
	struct scene *scene = begin(&by_payload);
	uint64_t window_ns = TL_NS_PER_MS;

	trigger(scene, 0, "aaaa");
	udp_reply(scene, 29 * window_ns / 10, "later");
	udp_reply(scene, window_ns, "aaaa");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 0, window_ns));
	end(scene);
}

// The first of three expires while the second waits.
TL_TEST("of identical triggers only the oldest expires")
{
	struct scene *scene = begin(&by_payload);
	uint64_t tenth_ns = TL_NS_PER_MS / 10;

	trigger(scene, 0, "same");
	trigger(scene, 9 * tenth_ns, "same");
	udp_reply(scene, 35 * tenth_ns, "nothing");
	trigger(scene, 35 * tenth_ns, "else");
	trigger(scene, 35 * tenth_ns + 1, "same");
	udp_reply(scene, 36 * tenth_ns, "same");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 35 * tenth_ns + 1, 36 * tenth_ns));
	end(scene);
}

// More bytes in total than may be held at a time.
TL_TEST("a hole is awaited regardless of earlier reordering")
{
	static uint8_t bytes[60000];
	struct scene *scene = begin(&by_position);
	uint32_t seq = 1;

	tcp_flags(scene, false, 1, 0, "", 0, TL_TCP_SYN);
	for (unsigned i = 0; i < 300; i++) {
		tcp_flags(scene, false, 2 * i + 2, seq + sizeof(bytes), bytes, sizeof(bytes), TL_TCP_ACK);
		tcp_flags(scene, false, 2 * i + 3, seq, bytes, sizeof(bytes), TL_TCP_ACK);
		seq += 2 * sizeof(bytes);
	}
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->lost_bytes, 0);
	CU_ASSERT_EQUAL(stats->reply_bytes, 600 * sizeof(bytes));
	end(scene);
}

// All of "..9." is lost except its end, which arrives byte by byte after the hole has expired.
TL_TEST("the rest of a lost reply is skipped across segments")
{
	struct scene *scene = begin(&by_number_of_4_bytes);
	uint64_t later_ns = 3 * TL_NS_PER_MS;

	trigger(scene, 1, "t01");
	tcp(scene, 10, 1, "01..");
	tcp(scene, 20, 6, "9");
	trigger(scene, later_ns, "t03");
	udp_reply(scene, later_ns, "none");
	tcp(scene, later_ns + 1, 7, ".");
	tcp(scene, later_ns + 2, 8, ".03..");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 1, later_ns, later_ns + 2));
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1 + 1); // and the datagram
	CU_ASSERT_EQUAL(stats->lost_bytes, 1);
	end(scene);
}

// The second connection begins where the first ended, at an offset that is not a multiple of the reply size.
TL_TEST("replies are found after a loss in a later connection on the same ports")
{
	struct scene *scene = begin(&by_number_of_4_bytes);

	trigger(scene, 1, "t01");
	trigger(scene, 2, "t02");
	trigger(scene, 3, "t03");
	tcp(scene, 10, 1, "01..xx");
	tcp_flags(scene, false, 20, 1000, "", 0, TL_TCP_SYN);
	tcp(scene, 30, 1001, "02..");
	tcp(scene, 40, 1011, "..03..");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 1, 2, 30));
	CU_ASSERT(is_link(scene, 2, 3, 40));
	end(scene);
}

// The first connection ends two bytes before the end of its reply.
TL_TEST("a later connection on the same ports starts at a reply boundary")
{
	struct scene *scene = begin(&by_number_of_4_bytes);

	trigger(scene, 1, "t01");
	tcp(scene, 10, 101, "99..");
	tcp(scene, 20, 106, "x");
	tcp_flags(scene, false, 30, 5000, "", 0, TL_TCP_SYN);
	tcp(scene, 40, 5001, "01..");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 1, 40));
	end(scene);
}

TL_TEST("one byte beyond the last trigger is reported")
{
	struct scene *scene = begin(&by_position);

	trigger(scene, 1, "aaaa");
	tcp(scene, 10, 1, "12345");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1);
	CU_ASSERT_EQUAL(stats->unmatched_reply_bytes, 5);
	end(scene);
}

// Each could begin the long one until a window has passed.
TL_TEST("undecided bytes of all connections are settled after a window")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aa");
	trigger(scene, 2, "bb");
	trigger(scene, 3, "a long one");
	tcp(scene, 10, 1, "aa");
	scene->client_port++;
	tcp(scene, 20, 1, "bb");
	CU_ASSERT_EQUAL(scene->links, 0);
	udp_reply(scene, 2 * TL_NS_PER_MS, "else");
	CU_ASSERT_EQUAL(scene->links, 2);
	finish(scene);
	end(scene);
}

int main(void)
{
	return tl_test_run("match_loss");
}
