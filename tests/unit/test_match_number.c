// SPDX-License-Identifier: BSD-3-Clause
// match: replies of a fixed length, matching by sequence number and by stream position.

#include <tl_test_match.h>

TL_TEST("a sequence number in both messages matches them")
{
	struct scene *scene = begin(&by_number);

	trigger(scene, 1, "t01...");
	trigger(scene, 2, "t02...");
	trigger(scene, 3, "t03...");
	trigger(scene, 4, "t");
	udp_reply(scene, 10, "r02 as long as it likes");
	tcp(scene, 20, 1, "r01abcr0");
	tcp(scene, 30, 9, "3abcr99abcr01abc");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 2, 10));
	CU_ASSERT(is_link(scene, 1, 1, 20));
	CU_ASSERT(is_link(scene, 2, 3, 30));
	CU_ASSERT_EQUAL(stats->trigger_ignored, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1); // r99, and bytes received with it
	end(scene);
}

TL_TEST("replies of a fixed length are extracted from the stream")
{
	struct tl_match_cfg cfg = by_number;

	cfg.reply_offset = 0;
	cfg.reply_bytes = 4;
	struct scene *scene = begin(&cfg);
	trigger(scene, 1, "t01");
	trigger(scene, 2, "t02");
	tcp(scene, 10, 1, "01..99..02");
	tcp(scene, 20, 11, "..01..");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 20));
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1);
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	end(scene);
}

TL_TEST("replies of a fixed length are realigned after a hole")
{
	struct tl_match_cfg cfg = by_number;

	cfg.reply_offset = 0;
	cfg.reply_bytes = 4;
	struct scene *scene = begin(&cfg);
	trigger(scene, 1, "t01");
	trigger(scene, 2, "t02");
	trigger(scene, 3, "t03");
	tcp(scene, 10, 1, "01..02"); // the 2 bytes after it are lost, and the first of the next reply
	tcp(scene, 20, 10, "9..");
	tcp(scene, 30, 13, "03..");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 3, 30));
	CU_ASSERT_EQUAL(stats->unmatched_replies, 2);
	CU_ASSERT_EQUAL(stats->unmatched_reply_bytes, 5);
	CU_ASSERT_EQUAL(stats->lost_bytes, 3);
	end(scene);
}

// The rest of a reply that is truncated by more than a window does not begin another reply.
TL_TEST("replies of a fixed length stay aligned after a stall")
{
	struct scene *scene = begin(&by_number_of_4_bytes);
	uint64_t later_ns = 3 * TL_NS_PER_MS;

	tcp(scene, 10, 1, "99");
	trigger(scene, later_ns, "t03");
	udp_reply(scene, later_ns, "none");
	tcp(scene, later_ns + 1, 3, "..03..");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1 + 1); // and the datagram
	CU_ASSERT_EQUAL(stats->lost_bytes, 0);
	end(scene);
}

// Bytes before the capture's first segment have no position, as positions count from it.
TL_TEST("stream positions count from the start of the capture")
{
	struct scene *scene = begin(&by_position);

	tcp_flags(scene, true, 1, 105, "bbbb", 4, TL_TCP_ACK);
	tcp_flags(scene, true, 2, 101, "aaaa", 4, TL_TCP_ACK);
	tcp(scene, 10, 201, "1234");
	tcp(scene, 20, 205, "5678");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->trigger_repeated, 1);
	CU_ASSERT_EQUAL(stats->trigger_bytes, 4);
	CU_ASSERT_EQUAL(stats->reply_bytes, 8); // the count proves it
	end(scene);
}

TL_TEST("the position in the stream matches messages")
{
	struct scene *scene = begin(&by_position);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbbbb");
	trigger(scene, 3, "cc");
	trigger(scene, 4, "dd");
	tcp(scene, 10, 101, "1234123");
	tcp(scene, 20, 108, "456");
	tcp(scene, 30, 113, "2123"); // two bytes were lost before it
	scene->client_port++;
	tcp(scene, 40, 1, "other");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 20));
	CU_ASSERT(is_link(scene, 2, 4, 30));
	CU_ASSERT_EQUAL(stats->lost_bytes, 2);
	CU_ASSERT_EQUAL(stats->other_streams, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 2); // two bytes without a trigger, and the other stream
	CU_ASSERT_EQUAL(stats->trigger_bytes, 14);
	CU_ASSERT_EQUAL(stats->reply_bytes, 16);
	end(scene);
}

// A trigger and a later reply are missing, so lengths agree. The reply to "b" is split, and its first byte arrives
// last.
TL_TEST("with matching by position replies with wrong bytes are counted")
{
	for (unsigned missing = 0; missing < 2; missing++) {
		struct scene *scene = begin(&by_position);
		trigger(scene, 1, missing != 0 ? "bbbb" : "aaaa");
		trigger(scene, 2, missing != 0 ? "cccc" : "bbbb");
		trigger(scene, 3, missing != 0 ? "dddd" : "cccc");
		tcp(scene, 10, 101, "aaaa");
		tcp(scene, 30, 106, "bb");
		tcp(scene, 31, 108, "bccc");
		tcp(scene, 32, 105, "b");
		tcp(scene, 40, 112, "c");
		const struct tl_match_stats *stats = finish(scene);
		CU_ASSERT_EQUAL(scene->links, 3);
		CU_ASSERT_EQUAL(stats->trigger_bytes, stats->reply_bytes);
		CU_ASSERT_EQUAL(stats->different, missing != 0 ? 3 : 0);
		end(scene);
	}
}

// Truncated: the trigger of the first pair, a buffered segment of the second, the only segment of the third. The fourth
// pair is complete, the fifth out of the window. All differ.
TL_TEST("with matching by position truncated or unmatched frames are not compared")
{
	struct scene *scene = begin(&by_position);

	scene->cut_bytes = 45;
	trigger(scene, 1, "1111");
	scene->cut_bytes = 0;
	trigger(scene, 2, "2222");
	trigger(scene, 3, "3333");
	trigger(scene, 4, "4444");
	trigger(scene, 5, "5555");
	tcp(scene, 10, 101, "aaaa");
	scene->cut_bytes = 55;
	tcp(scene, 20, 107, "bb");
	scene->cut_bytes = 0;
	tcp(scene, 21, 105, "bb");
	scene->cut_bytes = 57;
	tcp(scene, 30, 109, "cccc");
	scene->cut_bytes = 0;
	tcp(scene, 40, 113, "dddd");
	tcp(scene, 3 * TL_NS_PER_MS / 2, 117, "eeee");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 4);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1);
	CU_ASSERT_EQUAL(stats->different, 1);
	end(scene);
}

TL_TEST("truncated frames can be matched by position")
{
	struct scene *scene = begin(&by_position);

	scene->cut_bytes = 54;
	trigger(scene, 1, "some twenty bytes...");
	tcp(scene, 10, 1, "some twenty bytes...");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT_EQUAL(stats->different, 0); // unknown
	end(scene);
}

TL_TEST("a payload without its last byte counts as truncated")
{
	struct scene *scene = begin(&by_payload);

	scene->cut_bytes = TL_ETHER_LEN + TL_IPV4_LEN + TL_UDP_LEN + 3;
	trigger(scene, 1, "aaaa");
	scene->cut_bytes++;
	trigger(scene, 2, "aaaa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->trigger_cut, 1);
	CU_ASSERT_EQUAL(stats->triggers, 1);
	end(scene);
}

TL_TEST("a partly captured sequence number counts as truncated, a complete one suffices")
{
	struct scene *scene = begin(&by_number);

	scene->cut_bytes = TL_ETHER_LEN + TL_IPV4_LEN + TL_UDP_LEN + by_number.trigger_offset + 1;
	trigger(scene, 1, "t01...");
	scene->cut_bytes++;
	trigger(scene, 2, "t02...");
	udp_reply(scene, 10, "r02...");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->trigger_cut, 1);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 2, 10));
	end(scene);
}

TL_TEST("the stream used for matching by position never expires")
{
	struct scene *scene = begin(&by_position);
	uint64_t later_ns = 61 * TL_NS_PER_S;

	trigger(scene, 1, "aaaa");
	tcp(scene, 10, 1, "1234");
	trigger(scene, later_ns, "bbbb");
	tcp(scene, later_ns + 10, 5, "5678");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 1, later_ns, later_ns + 10));
	end(scene);
}

int main(void)
{
	return tl_test_run("match_number");
}
