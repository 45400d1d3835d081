// SPDX-License-Identifier: BSD-3-Clause
// match: payloads in the segments of a stream: merged, split, retransmitted and out of order.

#include <tl_test_match.h>

TL_TEST("several payloads in one segment and one payload over several segments are found")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	trigger(scene, 3, "cccccc");
	tcp(scene, 10, 1, "aaaabbbbcc");
	tcp(scene, 20, 11, "cc");
	tcp(scene, 30, 13, "cc");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 10));
	CU_ASSERT(is_link(scene, 2, 3, 30));
	end(scene);
}

TL_TEST("payloads are found between unmatched bytes, which are counted")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	tcp(scene, 10, 1, "<4:aaaa><4:bb");
	tcp(scene, 20, 14, "bb>");
	udp_reply(scene, 30, "nothing");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 20));
	CU_ASSERT_EQUAL(stats->unmatched_replies, 4); // before, between and after; and the datagram
	CU_ASSERT_EQUAL(stats->unmatched_reply_bytes, 3 + 4 + 1 + 7);
	end(scene);
}

TL_TEST("unmatched bytes count as one reply per segment")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	tcp(scene, 10, 1, "none");
	tcp(scene, 20, 5, "neither");
	tcp(scene, 30, 12, "aaaa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT(is_link(scene, 0, 1, 30));
	CU_ASSERT_EQUAL(stats->unmatched_replies, 2);
	CU_ASSERT_EQUAL(stats->unmatched_reply_bytes, 4 + 7);
	end(scene);
}

TL_TEST("retransmitted and overlapping bytes count once, at first arrival")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	tcp(scene, 10, 1, "aaaa");
	tcp(scene, 20, 1, "aaaa");   // retransmitted
	tcp(scene, 30, 1, "aaaabb"); // retransmitted, with more data
	tcp(scene, 40, 3, "aabbbb"); // repeated
	tcp(scene, 50, 8, "b");	     // a keepalive probe
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 40));
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 0);
	end(scene);
}

TL_TEST("segments out of order are reordered")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	trigger(scene, 3, "cccc");
	tcp_flags(scene, false, 5, 0, "", 0, TL_TCP_SYN);
	tcp(scene, 10, 9, "cccc");
	tcp(scene, 11, 9, "cccc");
	tcp(scene, 20, 3, "aabbbbcc"); // overlaps buffered data
	tcp(scene, 30, 1, "aa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 1, 30)); // its first bytes arrived last
	CU_ASSERT(is_link(scene, 1, 2, 20));
	CU_ASSERT(is_link(scene, 2, 3, 10));
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	end(scene);
}

// Without a captured SYN the first segment need not be the first in sequence.
TL_TEST("a capture may start within a connection, out of order")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	trigger(scene, 3, "cccc");
	trigger(scene, 4, "dddd");
	tcp(scene, 10, 109, "cccc");
	tcp(scene, 20, 105, "bbbb");
	tcp(scene, 30, 101, "aaaabbbb");
	tcp(scene, 40, 101, "aaaabbbbcccc");
	tcp(scene, 50, 113, "dddd");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 4);
	CU_ASSERT(is_link(scene, 0, 3, 10));
	CU_ASSERT(is_link(scene, 1, 2, 20));
	CU_ASSERT(is_link(scene, 2, 1, 30));
	CU_ASSERT(is_link(scene, 3, 4, 50));
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 0);
	end(scene);
}

TL_TEST("a wrapping sequence number is followed")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	trigger(scene, 3, "cccc");
	tcp_flags(scene, false, 5, UINT32_MAX - 5, "", 0, TL_TCP_SYN);
	tcp(scene, 10, UINT32_MAX - 4, "aaaabb");
	tcp(scene, 20, 3, "cccc");
	tcp(scene, 30, 1, "bb");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 30));
	CU_ASSERT(is_link(scene, 2, 3, 20));
	end(scene);
}

TL_TEST("a split reply is complete when its last segment has arrived")
{
	static const struct tl_match_cfg *const cfgs[] = {&by_payload, &by_position};

	for (unsigned i = 0; i < 2; i++) {
		struct scene *scene = begin(cfgs[i]);
		trigger(scene, 1, "aaaa");
		trigger(scene, 2, "bbbbbb");
		trigger(scene, 3, "cc");
		tcp_flags(scene, false, 5, 0, "", 0, TL_TCP_SYN);
		tcp(scene, 10, 1, "aaaab");
		tcp(scene, 20, 10, "bcc");
		tcp(scene, 30, 8, "bb");
		tcp(scene, 200, 6, "bb"); // the middle of a reply arrives last
		finish(scene);
		CU_ASSERT_EQUAL(scene->links, 3);
		CU_ASSERT(is_link(scene, 0, 1, 10));
		CU_ASSERT(is_link(scene, 1, 2, 200));
		CU_ASSERT_EQUAL(scene->link[1].reply_frame, scene->frame);
		CU_ASSERT(is_link(scene, 2, 3, 20));
		end(scene);
	}
}

TL_TEST("each reply has the number of its segments")
{
	static const struct tl_match_cfg *const cfgs[] = {&by_payload, &by_position};

	for (unsigned i = 0; i < 2; i++) {
		struct scene *scene = begin(cfgs[i]);
		trigger(scene, 1, "aaaa");
		trigger(scene, 2, "bbbb");
		trigger(scene, 3, "cc");
		tcp_flags(scene, false, 5, 0, "", 0, TL_TCP_SYN);
		tcp(scene, 10, 1, "aaaab");
		tcp(scene, 20, 6, "b");
		tcp(scene, 30, 7, "bbcc");
		finish(scene);
		CU_ASSERT_EQUAL(scene->links, 3);
		CU_ASSERT_EQUAL(scene->link[0].segments, 1);
		CU_ASSERT_EQUAL(scene->link[1].segments, 3);
		CU_ASSERT_EQUAL(scene->link[2].segments, 1);
		for (unsigned j = 0; j < 3; j++)
			CU_ASSERT_FALSE(scene->link[j].retransmitted);
		end(scene);
	}
}

// The second segment of each case fills the gaps on both sides of the first.
TL_TEST("a segment counts once for each reply that it carries bytes of")
{
	static const struct tl_match_cfg *const cfgs[] = {&by_payload, &by_position};
	static const struct {
		uint32_t seq;
		const char *first;
		unsigned segments[3];
	} cases[] = {{7, "bb", {1, 2, 1}}, {3, "aabb", {2, 2, 1}}, {6, "b", {1, 2, 1}}};

	for (unsigned i = 0; i < 2 * TL_ARRAY_LEN(cases); i++) {
		struct scene *scene = begin(cfgs[i % 2]);
		trigger(scene, 1, "aaaa");
		trigger(scene, 2, "bbbb");
		trigger(scene, 3, "cc");
		tcp_flags(scene, false, 5, 0, "", 0, TL_TCP_SYN);
		tcp(scene, 10, cases[i / 2].seq, cases[i / 2].first);
		tcp(scene, 20, 1, "aaaabbbbcc");
		finish(scene);
		CU_ASSERT_EQUAL(scene->links, 3);
		for (unsigned j = 0; j < 3; j++)
			CU_ASSERT_EQUAL(scene->link[j].segments, cases[i / 2].segments[j]);
		end(scene);
	}
}

// Microsecond stamps are often equal.
TL_TEST("among equal stamps the later segment completes a reply")
{
	static const struct tl_match_cfg *const cfgs[] = {&by_payload, &by_position};

	for (unsigned i = 0; i < 2; i++) {
		struct scene *scene = begin(cfgs[i]);
		trigger(scene, 1, "aaaa");
		trigger(scene, 2, "bbbb");
		tcp_flags(scene, false, 5, 0, "", 0, TL_TCP_SYN);
		tcp(scene, 10, 1, "aa");
		tcp(scene, 10, 3, "aa");
		uint64_t completed_a = scene->frame;
		tcp(scene, 10, 7, "bb");
		tcp(scene, 10, 5, "bb");
		finish(scene);
		CU_ASSERT_EQUAL(scene->links, 2);
		CU_ASSERT_EQUAL(scene->link[0].reply_frame, completed_a);
		CU_ASSERT_EQUAL(scene->link[1].reply_frame, scene->frame);
		end(scene);
	}
}

// Replies by arrival: partly retransmitted, in a hole, behind a hole, whole, behind a whole retransmission.
TL_TEST("retransmissions are reported")
{
	static const struct tl_match_cfg *const cfgs[] = {&by_payload, &by_position};
	static const bool again[] = {true, true, false, false, true, true};

	for (unsigned i = 0; i < 2; i++) {
		struct scene *scene = begin(cfgs[i]);
		trigger(scene, 1, "aaaa");
		trigger(scene, 2, "bbbb");
		trigger(scene, 3, "cccc");
		trigger(scene, 4, "dddd");
		trigger(scene, 5, "eeee");
		tcp_flags(scene, true, 6, 1, "ffff", 4, TL_TCP_ACK);
		tcp_flags(scene, true, 7, 3, "ffgg", 4, TL_TCP_ACK);
		tcp_flags(scene, false, 9, 0, "", 0, TL_TCP_SYN);
		tcp(scene, 10, 1, "aa");
		tcp(scene, 11, 1, "aaaa");
		tcp(scene, 20, 9, "cccc");
		tcp(scene, 21, 5, "bbbb");
		tcp(scene, 30, 13, "dddd");
		tcp(scene, 40, 13, "dddd");
		tcp(scene, 41, 13, "ddddeeee");
		tcp(scene, 50, 21, "ff");
		tcp(scene, 51, 21, "ffffgg");
		finish(scene);
		CU_ASSERT_EQUAL(scene->links, 7);
		for (unsigned j = 0; j < scene->links; j++)
			CU_ASSERT_EQUAL(
				scene->link[j].retransmitted, j == 6 || again[scene->link[j].trigger_frame - 1]);
		end(scene);
	}
}

// A probe repeats the last byte sent, whatever was lost before it.
TL_TEST("a single byte before a loss is not a keepalive probe")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	tcp(scene, 10, 1, "aaaa");
	tcp(scene, 20, 9, "xxxx");
	tcp(scene, 30, 12, "x");
	CU_ASSERT_EQUAL(tl_match_get_stats(scene->match)->duplicates, 0);
	tcp(scene, 40, 4, "a");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	end(scene);
}

// The first captured segment of a connection may be an ACK, followed by a keepalive probe with a byte before it.
TL_TEST("a keepalive probe before any data contributes no bytes")
{
	struct scene *scene = begin(&by_payload);

	tcp_flags(scene, true, 1, 101, "", 0, TL_TCP_ACK);
	tcp_flags(scene, true, 2, 100, "x", 1, TL_TCP_ACK);
	tcp(scene, 3, 201, "");
	tcp(scene, 4, 200, "x");
	tcp_flags(scene, true, 5, 101, "aaaa", 4, TL_TCP_ACK);
	tcp(scene, 10, 201, "aaaa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT_EQUAL(stats->triggers, 1);
	CU_ASSERT_EQUAL(stats->trigger_repeated, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies + stats->duplicates, 0);
	end(scene);
}

TL_TEST("data in a SYN segment starts after the SYN")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	tcp_flags(scene, false, 10, 0, "aaaa", 4, TL_TCP_SYN);
	tcp(scene, 20, 5, "bbbb");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT_EQUAL(stats->lost_bytes, 0);
	end(scene);
}

TL_TEST("a retransmitted SYN does not restart a connection")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	tcp_flags(scene, false, 5, 0, "", 0, TL_TCP_SYN);
	tcp(scene, 10, 1, "aaaa");
	tcp_flags(scene, false, 15, 0, "", 0, TL_TCP_SYN);
	tcp(scene, 20, 5, "bbbb");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT_EQUAL(stats->lost_bytes, 0);
	end(scene);
}

// The second half of each reply arrives with the next segment.
TL_TEST("each last byte in a long stream has the time of its segment")
{
	struct scene *scene = begin(&by_payload);
	uint32_t seq = 1;
	char text[601];

	for (unsigned i = 0; i < 16; i++) {
		memset(text, 'a' + (int)i, 600);
		text[600] = '\0';
		trigger(scene, i, text);
	}
	for (unsigned i = 0; i <= 16; i++) {
		size_t second = i > 0 ? 300 : 0, first = i < 16 ? 300 : 0;
		memset(text, 'a' + (int)i - 1, second);
		memset(text + second, 'a' + (int)i, first);
		text[second + first] = '\0';
		tcp(scene, 100 + i, seq, text);
		seq += (uint32_t)(second + first);
	}
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 16);
	for (unsigned i = 0; i < 16; i++)
		CU_ASSERT(is_link(scene, i, i, 101 + i));
	end(scene);
}

int main(void)
{
	return tl_test_run("match_stream");
}
