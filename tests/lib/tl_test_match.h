// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_match: links of frames built by the test, and the counts of all other messages.

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

static inline int take_link(void *ctx, const struct tl_match_link *link)
{
	struct scene *scene = ctx;

	if (scene->links < LINKS)
		scene->link[scene->links] = *link;
	scene->links++;
	return 0;
}

static inline void take_unanswered(void *ctx, uint64_t trigger_ns)
{
	struct scene *scene = ctx;

	if (scene->unanswered < LINKS)
		scene->unanswered_ns[scene->unanswered] = trigger_ns;
	scene->unanswered++;
}

static inline struct scene *begin(const struct tl_match_cfg *with)
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

static inline const struct tl_match_stats *finish(struct scene *scene)
{
	CU_ASSERT_EQUAL(tl_match_finish(scene->match), 0);
	const struct tl_match_stats *stats = tl_match_get_stats(scene->match);
	CU_ASSERT_EQUAL(stats->triggers, stats->matched + stats->unmatched_triggers);
	CU_ASSERT_EQUAL(stats->matched, scene->links);
	CU_ASSERT_EQUAL(stats->unmatched_triggers, scene->unanswered);
	return stats;
}

static inline void end(struct scene *scene)
{
	tl_match_destroy(scene->match);
	free(scene);
}

// ---- frames

static inline uint32_t put_ether(const struct scene *scene, uint8_t *frame)
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

static inline uint32_t put_ip(const struct scene *scene, uint8_t *frame, uint8_t proto, uint32_t len)
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
static inline void give(struct scene *scene, bool is_trigger, uint64_t at_ns, const uint8_t *frame, uint32_t len)
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

static inline void udp(struct scene *scene, bool is_trigger, uint64_t at_ns, const void *payload, uint32_t len)
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

static inline void tcp_flags(struct scene *scene, bool is_trigger, uint64_t at_ns, uint32_t seq, const void *payload,
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

static inline void tcp(struct scene *scene, uint64_t at_ns, uint32_t seq, const char *text)
{
	tcp_flags(scene, false, at_ns, seq, text, (uint32_t)strlen(text), TL_TCP_ACK);
}

static inline void trigger(struct scene *scene, uint64_t at_ns, const char *text)
{
	udp(scene, true, at_ns, text, (uint32_t)strlen(text));
}

static inline void udp_reply(struct scene *scene, uint64_t at_ns, const char *text)
{
	udp(scene, false, at_ns, text, (uint32_t)strlen(text));
}

// Return true if link i has these two times.
static inline bool is_link(const struct scene *scene, unsigned i, uint64_t trigger_ns, uint64_t reply_ns)
{
	return i < scene->links && scene->link[i].number == i + 1 &&
	       scene->link[i].trigger_ns == START_NS + trigger_ns && scene->link[i].reply_ns == START_NS + reply_ns;
}

static const struct tl_match_cfg by_payload = {.method = TL_MATCH_PAYLOAD};

static const struct tl_match_cfg by_position = {.method = TL_MATCH_POSITION};

static const struct tl_match_cfg by_number = {
	.method = TL_MATCH_SEQUENCE, .trigger_offset = 1, .reply_offset = 1, .number_bytes = 2};

static const struct tl_match_cfg by_number_of_4_bytes = {
	.method = TL_MATCH_SEQUENCE, .trigger_offset = 1, .number_bytes = 2, .reply_bytes = 4};
