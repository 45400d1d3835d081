// SPDX-License-Identifier: BSD-3-Clause
// lib/measure/match, with frames built by the test: links, their times, and counts of all other messages.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_match.h>
#include <tl_wire.h>

#include "tl_test.h"

#define LINKS 64
#define START_NS (UINT64_C(1700000000) * TL_NS_PER_S)
#define TRIGGER_PORT 5001
#define REPLY_PORT 5002

struct scene {
	struct tl_match *match;
	struct tl_match_link link[LINKS];
	unsigned links;
	uint64_t unanswered_ns[LINKS]; // trigger times
	unsigned unanswered;
	uint64_t frame; // number of the last one
	// Properties of the next frame:
	bool ip6, vlan;
	enum tl_link link_type;
	uint16_t client_port;
	uint32_t cut_bytes; // captured; 0: all
	bool bad_checksum;
};

static int take_link(void *ctx, const struct tl_match_link *link)
{
	struct scene *scene = ctx;

	if (scene->links < LINKS)
		scene->link[scene->links] = *link;
	scene->links++;
	return 0;
}

static void take_unanswered(void *ctx, uint64_t trigger_ns)
{
	struct scene *scene = ctx;

	if (scene->unanswered < LINKS)
		scene->unanswered_ns[scene->unanswered] = trigger_ns;
	scene->unanswered++;
}

static struct scene *begin(const struct tl_match_cfg *with)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct tl_match_cfg cfg = *with;

	cfg.linked = take_link;
	cfg.unanswered = take_unanswered;
	cfg.ctx = scene;
	cfg.window_ns = cfg.window_ns != 0 ? cfg.window_ns : TL_NS_PER_MS;
	scene->client_port = 40000;
	if (tl_match_create(&cfg, &scene->match) != 0)
		abort();
	return scene;
}

static const struct tl_match_stats *finish(struct scene *scene)
{
	CU_ASSERT_EQUAL(tl_match_finish(scene->match), 0);
	const struct tl_match_stats *stats = tl_match_get_stats(scene->match);
	CU_ASSERT_EQUAL(stats->triggers, stats->matched + stats->unmatched_triggers);
	CU_ASSERT_EQUAL(stats->matched, scene->links);
	CU_ASSERT_EQUAL(stats->unmatched_triggers, scene->unanswered);
	return stats;
}

static void end(struct scene *scene)
{
	tl_match_destroy(scene->match);
	free(scene);
}

// ---- frames

static uint32_t put_ether(const struct scene *scene, uint8_t *frame)
{
	uint16_t type = tl_be16(scene->ip6 ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4);
	uint32_t len = TL_ETHER_LEN;

	if (scene->link_type == TL_LINK_SLL2) {
		memset(frame, 0, 20);
		memcpy(frame, &type, 2);
		return 20;
	}
	if (scene->link_type != TL_LINK_ETHERNET) // RAW
		return 0;
	memset(frame, 2, TL_ETHER_LEN);
	if (scene->vlan) {
		uint16_t tag[] = {tl_be16(TL_ETHERTYPE_VLAN), tl_be16(7)};
		memcpy(frame + 12, tag, sizeof(tag));
		len += TL_VLAN_LEN;
	}
	memcpy(frame + len - 2, &type, 2);
	return len;
}

static uint32_t put_ip(const struct scene *scene, uint8_t *frame, uint8_t proto, uint32_t len)
{
	if (scene->ip6) {
		struct tl_ipv6_hdr *ip = (void *)frame;
		*ip = (struct tl_ipv6_hdr){.version_be = tl_be32(6u << 28),
			.payload_len_be = tl_be16((uint16_t)len),
			.next = proto,
			.hop_limit = 64,
			.src.byte = {0x20, 1, 0xd, 0xb8, [15] = 1},
			.dst.byte = {0x20, 1, 0xd, 0xb8, [15] = 2}};
		return TL_IPV6_LEN;
	}
	struct tl_ipv4_hdr *ip = (void *)frame;
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16((uint16_t)(TL_IPV4_LEN + len)),
		.ttl = 64,
		.proto = proto,
		.src_be = tl_be32(0xc0000201),
		.dst_be = tl_be32(0xc0000202)};
	tl_wire_ipv4_finish(ip);
	if (scene->bad_checksum)
		ip->cksum_be ^= 0x0101;
	return TL_IPV4_LEN;
}

// Pass the frame to the matcher in a block of its exact size.
static void give(struct scene *scene, bool is_trigger, uint64_t at_ns, const uint8_t *frame, uint32_t len)
{
	uint32_t have = scene->cut_bytes != 0 && scene->cut_bytes < len ? scene->cut_bytes : len;
	uint8_t *exact = malloc(have);
	struct tl_match_frame given = {.data = exact,
		.cap_bytes = have,
		.wire_bytes = len,
		.ts_ns = START_NS + at_ns,
		.frame = ++scene->frame,
		.link = scene->link_type};

	memcpy(exact, frame, have);
	CU_ASSERT_EQUAL(is_trigger ? tl_match_trigger(scene->match, &given) : tl_match_reply(scene->match, &given), 0);
	free(exact);
}

static void udp(struct scene *scene, bool is_trigger, uint64_t at_ns, const void *payload, uint32_t len)
{
	uint8_t frame[2048];
	uint32_t at = put_ether(scene, frame);

	at += put_ip(scene, frame + at, TL_IPPROTO_UDP, TL_UDP_LEN + len);
	struct tl_udp_hdr header = {.src_port_be = tl_be16(4000),
		.dst_port_be = tl_be16(is_trigger ? TRIGGER_PORT : REPLY_PORT),
		.len_be = tl_be16((uint16_t)(TL_UDP_LEN + len))};
	memcpy(frame + at, &header, sizeof(header));
	memcpy(frame + at + sizeof(header), payload, len);
	give(scene, is_trigger, at_ns, frame, at + TL_UDP_LEN + len);
}

static void tcp_flags(struct scene *scene, bool is_trigger, uint64_t at_ns, uint32_t seq, const void *payload,
	uint32_t len, uint8_t flags)
{
	uint8_t frame[UINT16_MAX];
	uint32_t at = put_ether(scene, frame);

	at += put_ip(scene, frame + at, TL_IPPROTO_TCP, TL_TCP_LEN + len);
	struct tl_tcp_hdr header = {.src_port_be = tl_be16(is_trigger ? TRIGGER_PORT : REPLY_PORT),
		.dst_port_be = tl_be16(scene->client_port),
		.seq_be = tl_be32(seq),
		.data_off = 5 << 4,
		.flags = flags};
	memcpy(frame + at, &header, sizeof(header));
	memcpy(frame + at + sizeof(header), payload, len);
	give(scene, is_trigger, at_ns, frame, at + TL_TCP_LEN + len);
}

static void tcp(struct scene *scene, uint64_t at_ns, uint32_t seq, const char *text)
{
	tcp_flags(scene, false, at_ns, seq, text, (uint32_t)strlen(text), TL_TCP_ACK);
}

static void trigger(struct scene *scene, uint64_t at_ns, const char *text)
{
	udp(scene, true, at_ns, text, (uint32_t)strlen(text));
}

static void udp_reply(struct scene *scene, uint64_t at_ns, const char *text)
{
	udp(scene, false, at_ns, text, (uint32_t)strlen(text));
}

// Return true if link i has these two times.
static bool is_link(const struct scene *scene, unsigned i, uint64_t trigger_ns, uint64_t reply_ns)
{
	return i < scene->links && scene->link[i].number == i + 1 &&
	       scene->link[i].trigger_ns == START_NS + trigger_ns && scene->link[i].reply_ns == START_NS + reply_ns;
}

static const struct tl_match_cfg by_payload = {.method = TL_MATCH_PAYLOAD};
static const struct tl_match_cfg by_position = {.method = TL_MATCH_POSITION};
static const struct tl_match_cfg by_number = {
	.method = TL_MATCH_SEQUENCE, .trigger_offset = 1, .reply_offset = 1, .number_bytes = 2};

// ---- by payload

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

// ---- time

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

// ---- by number and by position

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

static const struct tl_match_cfg by_number_of_4_bytes = {
	.method = TL_MATCH_SEQUENCE, .trigger_offset = 1, .number_bytes = 2, .reply_bytes = 4};

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

// ---- frames

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

// ---- more than one of each, and one step beyond a limit

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
