// SPDX-License-Identifier: BSD-3-Clause
// match: replies are matched to triggers by payload, within the window, over any frames.

#include <tl_test_match.h>

TL_TEST("a reply is matched to its trigger with exact times")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 100, "first");
	tcp(scene, 1334, 1, "first");
	trigger(scene, 2000, "second");
	udp_reply(scene, 2001, "second");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT(is_link(scene, 0, 100, 1334));
	CU_ASSERT(is_link(scene, 1, 2000, 2001));
	CU_ASSERT_EQUAL(scene->link[0].trigger_frame, 1);
	CU_ASSERT_EQUAL(scene->link[0].reply_frame, 2);
	CU_ASSERT_EQUAL(stats->unmatched_replies + stats->unmatched_triggers + stats->duplicates, 0);
	end(scene);
}

TL_TEST("frames of other link types than Ethernet are read")
{
	static const enum tl_link of[] = {TL_LINK_RAW, TL_LINK_SLL2, TL_LINK_ETHERNET};
	struct scene *scene = begin(&by_payload);

	for (unsigned i = 0; i < TL_ARRAY_LEN(of); i++) {
		scene->link_type = of[i];
		scene->ip6 = !scene->ip6;
		scene->bad_checksum = i == 1;
		scene->client_port++;
		trigger(scene, 100 * i, "aaaa");
		tcp(scene, 100 * i + 10, 1, "aaaa");
	}
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT_EQUAL(stats->ignored + stats->trigger_ignored, 0);
	end(scene);
}

TL_TEST("identical payloads are matched in order, and an extra reply is a duplicate")
{
	struct scene *scene = begin(&by_payload);

	for (unsigned i = 0; i < 3; i++)
		trigger(scene, 1 + i, "same");
	tcp(scene, 10, 1, "samesame");
	udp_reply(scene, 20, "same");
	udp_reply(scene, 30, "same");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 10));
	CU_ASSERT(is_link(scene, 2, 3, 20));
	CU_ASSERT_EQUAL(stats->duplicates, 1);
	CU_ASSERT_EQUAL(stats->ambiguous, 3); // the last pair has no alternative, the duplicate has one
	CU_ASSERT(scene->link[0].ambiguous && scene->link[1].ambiguous && !scene->link[2].ambiguous);
	end(scene);
}

TL_TEST("the longer of two payloads at one position is matched")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "ab");
	trigger(scene, 2, "abcd");
	tcp(scene, 10, 1, "abc");
	tcp(scene, 20, 4, "dab");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 0, 2, 20));
	CU_ASSERT(is_link(scene, 1, 1, 20));
	end(scene);
}

TL_TEST("connections are separate, including those on the same ports")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	tcp(scene, 10, 1, "aa");
	scene->client_port++;
	tcp(scene, 11, 700, "bb");
	scene->client_port--;
	tcp(scene, 20, 3, "aa");
	scene->client_port++;
	tcp(scene, 21, 702, "bb");
	tcp_flags(scene, false, 30, 5, "", 0, TL_TCP_SYN); // the same ports again
	trigger(scene, 31, "cccc");
	tcp(scene, 40, 6, "cccc");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3);
	CU_ASSERT(is_link(scene, 0, 1, 20));
	CU_ASSERT(is_link(scene, 1, 2, 21));
	CU_ASSERT(is_link(scene, 2, 31, 40));
	end(scene);
}

TL_TEST("a reply is matched within the window only")
{
	struct scene *scene = begin(&by_payload);
	uint64_t window_ns = TL_NS_PER_MS;

	trigger(scene, 0, "aaaa");
	trigger(scene, 1, "bbbb");
	tcp(scene, window_ns, 1, "aaaa");
	tcp(scene, window_ns + 2, 5, "bbbb");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 0, window_ns));
	CU_ASSERT_EQUAL(stats->unmatched_triggers, 1);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 1);
	end(scene);
}

TL_TEST("triggers expire after several windows")
{
	struct scene *scene = begin(&by_payload);
	const struct tl_match_stats *stats = tl_match_get_stats(scene->match);

	for (uint64_t i = 0; i < 100; i++)
		trigger(scene, i * TL_NS_PER_MS / 10, "never answered");
	CU_ASSERT(stats->unmatched_triggers > 50);
	CU_ASSERT(stats->unmatched_triggers < 100);
	finish(scene);
	CU_ASSERT_EQUAL(stats->unmatched_triggers, 100);
	end(scene);
}

TL_TEST("triggers without a reply are reported with their times")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 10, "aaaa");
	trigger(scene, 20, "bbbb");
	trigger(scene, 30, "cccc");
	tcp(scene, 40, 1, "bbbb");
	CU_ASSERT_EQUAL(scene->unanswered, 0);
	finish(scene);
	CU_ASSERT_EQUAL(scene->unanswered, 2);
	CU_ASSERT_EQUAL(scene->unanswered_ns[0], START_NS + 10);
	CU_ASSERT_EQUAL(scene->unanswered_ns[1], START_NS + 30);
	end(scene);
}

TL_TEST("IPv4, IPv6, VLAN tags and checksums left to the NIC are accepted")
{
	struct scene *scene = begin(&by_payload);

	for (unsigned i = 0; i < 4; i++) {
		scene->ip6 = i & 1;
		scene->vlan = i & 2;
		trigger(scene, 100 * i, "aaaa");
		tcp(scene, 100 * i + 10, 1, "aaaa");
	}
	scene->ip6 = scene->vlan = false;
	scene->client_port++;
	scene->bad_checksum = true; // left to the NIC, in frames captured by the sending host
	trigger(scene, 500, "bbbb");
	tcp(scene, 510, 1, "bbbb");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 5);
	CU_ASSERT_EQUAL(stats->ignored + stats->trigger_ignored, 0);
	end(scene);
}

TL_TEST("unusable frames are counted")
{
	static const uint8_t arp[TL_ETHER_MIN_FRAME] = {[12] = 8, 6};
	struct scene *scene = begin(&by_payload);
	struct tl_match_frame unstamped = {.data = arp, .cap_bytes = sizeof(arp), .wire_bytes = sizeof(arp)};

	give(scene, true, 1, arp, sizeof(arp));
	give(scene, false, 2, arp, sizeof(arp));
	trigger(scene, 3, "");
	scene->cut_bytes = 46;
	trigger(scene, 4, "more than four bytes");
	tcp(scene, 5, 1, "more than four bytes");
	tl_match_trigger(scene->match, &unstamped);
	tl_match_reply(scene->match, &unstamped);
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->trigger_ignored, 1);
	CU_ASSERT_EQUAL(stats->ignored, 1);
	CU_ASSERT_EQUAL(stats->trigger_empty, 1);
	CU_ASSERT_EQUAL(stats->trigger_cut, 1);
	CU_ASSERT_EQUAL(stats->cut, 1);
	CU_ASSERT_EQUAL(stats->trigger_unstamped, 1);
	CU_ASSERT_EQUAL(stats->unstamped, 1);
	CU_ASSERT_EQUAL(stats->trigger_frames, 4);
	end(scene);
}

TL_TEST("with unique payloads copies of triggers are excluded")
{
	struct tl_match_cfg cfg = by_payload;

	cfg.unique = true;
	struct scene *scene = begin(&cfg);
	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "aaaa");
	tcp(scene, 10, 1, "aaaa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT_EQUAL(stats->trigger_copies, 1);
	CU_ASSERT_EQUAL(stats->unmatched_triggers, 0);
	end(scene);
}

TL_TEST("segments can be triggers")
{
	struct scene *scene = begin(&by_payload);

	tcp_flags(scene, true, 1, 1, "aaaa", 4, TL_TCP_ACK);
	tcp_flags(scene, true, 2, 1, "aaaa", 4, TL_TCP_ACK);
	tcp_flags(scene, true, 3, 3, "aabb", 4, TL_TCP_ACK);
	tcp(scene, 10, 1, "aaaa");
	tcp(scene, 20, 5, "bb");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 3, 20));
	CU_ASSERT_EQUAL(stats->trigger_repeated, 1);
	end(scene);
}

TL_TEST("each of thousands of triggers is found")
{
	struct scene *scene = begin(&by_payload);
	char text[16];

	for (unsigned i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "trigger %u.", i);
		trigger(scene, i, text);
	}
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "trigger %u.", i);
		udp_reply(scene, 5000 + i, text);
	}
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 3000);
	CU_ASSERT_EQUAL(stats->unmatched_triggers + stats->unmatched_replies, 0);
	end(scene);
}

TL_TEST("hundreds of connections are separate")
{
	struct scene *scene = begin(&by_payload);
	char text[16];

	for (unsigned half = 0; half < 2; half++)
		for (unsigned i = 0; i < 600; i++) {
			snprintf(text, sizeof(text), "%05u%05u", 10000 + i, 20000 + i);
			scene->client_port = (uint16_t)(40000 + i);
			if (half == 0)
				trigger(scene, i, text);
			text[half == 0 ? 5 : 10] = '\0';
			tcp(scene, 1000 + 1000 * half + i, 1 + 5 * half, text + 5 * half);
		}
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 600);
	CU_ASSERT_EQUAL(stats->unmatched_replies, 0);
	end(scene);
}

// Its sequence numbers may then belong to another connection.
TL_TEST("a connection expires after an idle minute")
{
	struct scene *scene = begin(&by_payload);
	uint64_t later_ns = 61 * TL_NS_PER_S;

	trigger(scene, 1, "aaaa");
	tcp(scene, 10, 101, "aaaa");
	trigger(scene, later_ns, "aaaa");
	tcp(scene, later_ns + 10, 101, "aaaa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT_EQUAL(stats->duplicates, 0);
	end(scene);
}

TL_TEST("a copy counts as one up to the end of the window")
{
	struct tl_match_cfg cfg = by_payload;

	cfg.unique = true;
	struct scene *scene = begin(&cfg);
	trigger(scene, 0, "aaaa");
	trigger(scene, TL_NS_PER_MS, "aaaa");
	trigger(scene, 2 * TL_NS_PER_MS + 1, "aaaa");
	const struct tl_match_stats *stats = finish(scene);
	CU_ASSERT_EQUAL(stats->trigger_copies, 1);
	CU_ASSERT_EQUAL(stats->triggers, 2);
	end(scene);
}

// Five equal messages, of which the two oldest expired.
TL_TEST("identical triggers are kept when their number grows")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 0, "same");
	trigger(scene, 1, "same");
	for (uint64_t i = 0; i < 5; i++) {
		trigger(scene, 3900000 + 1000 * i, "same");
		if (i == 1)
			udp_reply(scene, 3901500, "else"); // the first two expired
	}
	for (uint64_t i = 0; i < 5; i++)
		udp_reply(scene, 3910000 + 1000 * i, "same");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 5);
	for (unsigned i = 0; i < 5; i++)
		CU_ASSERT(is_link(scene, i, 3900000 + 1000 * i, 3910000 + 1000 * i));
	end(scene);
}

// The file has the second trigger two windows early.
TL_TEST("a trigger is found among identical ones with unordered timestamps")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 100000, "same");
	trigger(scene, 2000000, "same");
	for (uint64_t i = 2; i < 5; i++)
		trigger(scene, 100000 * i, "same");
	udp_reply(scene, 2500000, "same");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 1);
	CU_ASSERT(is_link(scene, 0, 2000000, 2500000));
	end(scene);
}

// Both replies leave one hole at once, the second after the first.
TL_TEST("a reply does not use the time of the next one")
{
	struct scene *scene = begin(&by_payload);

	trigger(scene, 1, "aaaa");
	trigger(scene, 2, "bbbb");
	tcp(scene, 5, 1, "wwww");
	tcp(scene, 10, 9, "aaaa");
	tcp(scene, 20, 13, "bbbb");
	tcp(scene, 30, 5, "xxxx");
	finish(scene);
	CU_ASSERT_EQUAL(scene->links, 2);
	CU_ASSERT(is_link(scene, 0, 1, 10));
	CU_ASSERT(is_link(scene, 1, 2, 20));
	end(scene);
}

// ---- cost per message

// Feed message i of n, i us after the first; the window is n / 2 us.
typedef void traffic(struct scene *scene, uint64_t i, uint64_t n);

static void identical(struct scene *scene, uint64_t i, uint64_t n)
{
	(void)n;
	trigger(scene, 1000 * i, "same");
	udp_reply(scene, 1000 * i + 5, "same");
}

static void identical_seen_twice(struct scene *scene, uint64_t i, uint64_t n)
{
	identical(scene, i, n);
	identical(scene, i, n);
}

static void identical_replies_seen_twice(struct scene *scene, uint64_t i, uint64_t n)
{
	identical(scene, i, n);
	udp_reply(scene, 1000 * i + 6, "same");
}

static void identical_with_losses(struct scene *scene, uint64_t i, uint64_t n)
{
	trigger(scene, 1000 * i, "same");
	if (i % 10 != 9 && i != n / 3)
		udp_reply(scene, 1000 * i + 5, "same");
}

// A quarter has no reply and expires; some messages later each reply is duplicated.
static void identical_twice_after_an_outage(struct scene *scene, uint64_t i, uint64_t n)
{
	unsigned copies = i < n / 100 ? 1 : i < n / 4 ? 0 : i < n / 4 + 20 ? 1 : 2;

	trigger(scene, 1000 * i, "same");
	for (unsigned copy = 0; copy < copies; copy++)
		udp_reply(scene, 1000 * i + 5 + copy, "same");
}

// Four in five have no reply, and none expires: no latency is as short as that of the first.
static void identical_unanswered(struct scene *scene, uint64_t i, uint64_t n)
{
	(void)n;
	trigger(scene, 1000 * i, "same");
	if (i % 5 == 0)
		udp_reply(scene, 1000 * i + (i == 0 ? 1 : 500), "same");
}

// The first has none; those that follow after a window have one each, immediately.
static void an_old_one_unanswered(struct scene *scene, uint64_t i, uint64_t n)
{
	if (i == 0)
		trigger(scene, 0, "same");
	else
		identical(scene, i + 3 * n / 4, n);
}

static void none_answered(struct scene *scene, uint64_t i, uint64_t n)
{
	(void)n;
	trigger(scene, 1000 * i, "same");
	udp_reply(scene, 1000 * i + 5, "else");
}

// The clock of replies is slow: each is stamped a quarter of a window before its trigger.
static void replies_before_triggers(struct scene *scene, uint64_t i, uint64_t n)
{
	trigger(scene, 1000 * i, "same");
	if (i > n / 8)
		udp_reply(scene, 1000 * (i - n / 8), "same");
}

// Two sources of replies, one of which is late by most of a window.
static void replies_of_two_times(struct scene *scene, uint64_t i, uint64_t n)
{
	identical(scene, i, n);
	if (i > n / 2)
		udp_reply(scene, 1000 * (i - n * 2 / 5), "same");
}

static void numbers_of_one_byte(struct scene *scene, uint64_t i, uint64_t n)
{
	uint8_t number = (uint8_t)i;

	(void)n;
	udp(scene, true, 1000 * i, &number, 1);
	udp(scene, false, 1000 * i + 5, &number, 1);
	udp(scene, false, 1000 * i + 6, &number, 1);
}

// Half are triggers that arrive more than a window later, half are copies of the first one's reply.
static void copies_before_triggers(struct scene *scene, uint64_t i, uint64_t n)
{
	if (i == 0)
		identical(scene, i, n);
	else if (i < n / 2)
		trigger(scene, 1000 * (i + n * 3 / 4), "same");
	else
		udp_reply(scene, 6, "same");
}

// Feed segment i of a stream of replies, each of them distinct.
static void numbered_reply(struct scene *scene, uint64_t i, uint64_t at_ns)
{
	char text[16];

	snprintf(text, sizeof(text), "%08u", (unsigned)i);
	tcp(scene, at_ns, 1 + 8 * (uint32_t)i, text);
}

static void numbered_trigger(struct scene *scene, uint64_t i)
{
	char text[16];

	snprintf(text, sizeof(text), "%08u", (unsigned)i);
	trigger(scene, 1000 * i, text);
}

// A segment of replies is lost, and its successors wait for it.
static void held_behind_a_loss(struct scene *scene, uint64_t i, uint64_t n)
{
	numbered_trigger(scene, i);
	if (i != n / 4)
		numbered_reply(scene, i, 1000 * i + 5);
}

// Every other segment is late by a quarter of the messages, and fills a hole between two that follow the last.
static void held_behind_many_losses(struct scene *scene, uint64_t i, uint64_t n)
{
	numbered_trigger(scene, i);
	if (i % 2 == 0)
		numbered_reply(scene, i, 1000 * i + 5);
	else if (i > n / 4)
		numbered_reply(scene, (i - n / 4) | 1, 1000 * i + 5);
}

// As before, behind a hole that is never filled.
static void held_in_two_places(struct scene *scene, uint64_t i, uint64_t n)
{
	if (i != n / 100)
		held_behind_many_losses(scene, i, n);
}

// One message per connection; each ends in the middle.
static void a_connection_each(struct scene *scene, uint64_t i, uint64_t n)
{
	(void)n;
	scene->client_port = (uint16_t)i;
	trigger(scene, 1000 * i, "12345678");
	tcp(scene, 1000 * i + 5, 1 + (uint32_t)(i >> 16) * 4, "1234");
}

// Return the steps per 1000 messages.
static uint64_t steps_of(traffic *next, uint64_t n)
{
	struct tl_match_cfg cfg = next == numbers_of_one_byte ? by_number : by_payload;

	cfg.window_ns = 1000 * n / 2;
	cfg.trigger_offset = 0;
	cfg.reply_offset = 0;
	cfg.number_bytes = 1;
	struct scene *scene = begin(&cfg);
	for (uint64_t i = 0; i < n; i++)
		next(scene, i, n);
	uint64_t steps = finish(scene)->steps;
	end(scene);
	return 1000 * steps / n;
}

TL_TEST("the cost of a message does not depend on the number of messages or payload lengths")
{
	static traffic *const all[] = {identical, identical_seen_twice, identical_replies_seen_twice,
		identical_with_losses, identical_twice_after_an_outage, identical_unanswered, an_old_one_unanswered,
		none_answered, replies_before_triggers, replies_of_two_times, copies_before_triggers,
		numbers_of_one_byte, held_behind_a_loss, held_behind_many_losses, held_in_two_places,
		a_connection_each};

	for (size_t i = 0; i < TL_ARRAY_LEN(all); i++) {
		uint64_t few = steps_of(all[i], 1000), many = steps_of(all[i], 100000);
		if (many > 3 * few)
			printf("# traffic %zu: %" PRIu64 " steps per 1000 messages of 1000, %" PRIu64 " of 100000\n", i,
				few, many);
		CU_ASSERT(many <= 3 * few);
	}
}

int main(void)
{
	return tl_test_run("match");
}
