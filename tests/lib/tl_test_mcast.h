// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_mcast: an IGMP host in virtual time; its messages are collected.

#include <errno.h>
#include <stdlib.h>

#include <tl_mcast.h>
#include <tl_test.h>
#include <tl_wire.h>

#define SENT_MAX 256
#define MS TL_NS_PER_MS
#define S TL_NS_PER_S
#define START (1000 * S)

#define ALL_HOSTS tl_be32(0xe0000001)
#define ALL_ROUTERS tl_be32(0xe0000002)
#define V3_ROUTERS tl_be32(0xe0000016)
#define GROUP(n) tl_be32(0xef010100u + (n))
#define SOURCE(n) tl_be32(0xc0000200u + (n))
#define OWN_IP tl_be32(0x0a000001)
#define QUERIER tl_be32(0x0a0000fe)

enum { IS_IN = 1, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK };

struct sent {
	uint64_t at_ns;
	uint32_t dst_be;
	uint16_t len;
	uint8_t bytes[TL_MCAST_MSG_MAX];
};

// An instance, its clock, and its sent messages.
struct rig {
	struct tl_mcast *m;
	uint64_t now_ns;
	unsigned sent_count;
	struct sent sent[SENT_MAX];
};

// A group record of a v3 report.
struct record {
	uint8_t type;
	uint16_t source_count;
	uint32_t group_be;
	const uint8_t *sources;
};

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get_be32(const uint8_t *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

static inline void on_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
	struct rig *rig = ctx;

	CU_ASSERT(len >= 8 && len <= TL_MCAST_MSG_MAX);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, igmp, len)), 0);
	CU_ASSERT_FATAL(rig->sent_count < SENT_MAX);
	struct sent *sent = &rig->sent[rig->sent_count++];
	*sent = (struct sent){.at_ns = rig->now_ns, .dst_be = dst_be, .len = len};
	memcpy(sent->bytes, igmp, len);
}

static inline struct rig *new_rig(uint64_t seed)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct tl_mcast_cfg cfg = {.send = on_send, .send_ctx = rig, .ip_be = OWN_IP, .seed = seed};

	rig->now_ns = START;
	CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &rig->m), 0);
	return rig;
}

static inline void free_rig(struct rig *rig)
{
	tl_mcast_destroy(rig->m);
	free(rig);
}

// Advance the time, with a tick exactly at each deadline.
static inline void run_until(struct rig *rig, uint64_t until_ns)
{
	while (tl_mcast_next_deadline(rig->m) <= until_ns) {
		rig->now_ns = tl_max_u64(rig->now_ns, tl_mcast_next_deadline(rig->m));
		tl_mcast_tick(rig->m, rig->now_ns);
	}
	rig->now_ns = until_ns;
}

static inline void run_for(struct rig *rig, uint64_t ns)
{
	run_until(rig, rig->now_ns + ns);
}

static inline void forget_sent(struct rig *rig)
{
	rig->sent_count = 0;
}

static inline void settle(struct rig *rig)
{
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	forget_sent(rig);
}

static inline void join(struct rig *rig, uint32_t group_be, uint32_t source_be)
{
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, group_be, source_be, rig->now_ns), 0);
}

static inline void leave(struct rig *rig, uint32_t group_be, uint32_t source_be)
{
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, group_be, source_be, rig->now_ns), 0);
}

static inline void input_from(struct rig *rig, const uint8_t *bytes, size_t len, uint32_t src_be)
{
	uint8_t *copy = malloc(len); // exact size, so that the sanitizer guards its end
	memcpy(copy, bytes, len);
	const struct tl_mcast_packet packet = {.message = copy,
		.len = (uint16_t)len,
		.src_be = src_be,
		.dst_be = ALL_HOSTS,
		.hop_limit = 1,
		.alert = true};
	tl_mcast_input(rig->m, &packet, rig->now_ns);
	free(copy);
}

static inline void input(struct rig *rig, const uint8_t *bytes, size_t len)
{
	input_from(rig, bytes, len, QUERIER);
}

static inline void short_message(struct rig *rig, uint8_t type, uint8_t code, uint32_t group_be)
{
	uint8_t bytes[8] = {type, code};
	memcpy(bytes + 4, &group_be, 4);
	input(rig, bytes, sizeof(bytes));
}

static inline void v2_query(struct rig *rig, uint8_t code, uint32_t group_be)
{
	short_message(rig, 0x11, code, group_be);
}

// Deliver a query for SOURCE(first) to SOURCE(first + count - 1); robustness 2, interval 125 s.
static inline size_t build_v3_query(uint8_t *bytes, uint8_t code, uint32_t group_be, unsigned first, unsigned count)
{
	memset(bytes, 0, 12);
	bytes[0] = 0x11;
	bytes[1] = code;
	memcpy(bytes + 4, &group_be, 4);
	bytes[8] = 2;
	bytes[9] = 125;
	bytes[11] = (uint8_t)count;
	for (unsigned i = 0; i < count; i++)
		memcpy(bytes + 12 + 4 * i, &(uint32_t){SOURCE(first + i)}, 4);
	return 12 + 4 * count;
}

static inline void v3_query(struct rig *rig, uint8_t code, uint32_t group_be, unsigned first, unsigned count)
{
	uint8_t bytes[12 + 4 * 64];
	input(rig, bytes, build_v3_query(bytes, code, group_be, first, count));
}

// Read the record at *off of a v3 report and advance *off; return false at the end.
static inline bool next_record(const struct sent *sent, uint16_t *off, struct record *out)
{
	if (*off >= sent->len)
		return false;
	const uint8_t *p = sent->bytes + *off;
	*out = (struct record){
		.type = p[0], .source_count = get16(p + 2), .group_be = get_be32(p + 4), .sources = p + 8};
	CU_ASSERT_EQUAL(p[1], 0);
	*off = (uint16_t)(*off + 8 + 4 * out->source_count);
	CU_ASSERT(*off <= sent->len);
	return true;
}

static inline bool in_list(const uint8_t *sources, unsigned count, uint32_t source_be)
{
	for (unsigned i = 0; i < count; i++) {
		if (get_be32(sources + 4 * i) == source_be)
			return true;
	}
	return false;
}

// Return true if message i is a v3 report with this record and exactly the sources of mask (bit n: SOURCE(n)).
static inline bool reported(const struct rig *rig, unsigned i, uint8_t type, uint32_t group_be, uint32_t mask)
{
	const struct sent *sent = &rig->sent[i];
	struct record r;

	if (i >= rig->sent_count || sent->dst_be != V3_ROUTERS || sent->bytes[0] != 0x22)
		return false;
	for (uint16_t off = 8; next_record(sent, &off, &r);) {
		bool same = r.type == type && r.group_be == group_be && r.source_count == __builtin_popcount(mask);
		for (unsigned n = 0; n < 32; n++)
			same = same && (!(mask & 1u << n) || in_list(r.sources, r.source_count, SOURCE(n)));
		if (same)
			return true;
	}
	return false;
}

static inline unsigned record_count(const struct rig *rig, unsigned i)
{
	return i < rig->sent_count ? get16(rig->sent[i].bytes + 6) : 0;
}

// Return true if message i is this v1 or v2 message.
static inline bool told(const struct rig *rig, unsigned i, uint8_t type, uint32_t dst_be, uint32_t group_be)
{
	const struct sent *sent = &rig->sent[i];
	return i < rig->sent_count && sent->len == 8 && sent->bytes[0] == type && sent->bytes[1] == 0 &&
	       sent->dst_be == dst_be && get_be32(sent->bytes + 4) == group_be;
}

static inline uint64_t counter(const struct rig *rig, const char *name)
{
	struct tl_counter counters[8];
	unsigned n = tl_mcast_counters(rig->m, counters, 8);

	for (unsigned i = 0; i < n; i++) {
		if (strcmp(counters[i].name, name) == 0)
			return counters[i].value;
	}
	return UINT64_MAX;
}
