// SPDX-License-Identifier: BSD-3-Clause
// IGMP host in virtual time: messages, their times, and the state of a router that receives them.

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

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get_be32(const uint8_t *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

static void on_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
	struct rig *rig = ctx;

	CU_ASSERT(len >= 8 && len <= TL_MCAST_MSG_MAX);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, igmp, len)), 0);
	CU_ASSERT_FATAL(rig->sent_count < SENT_MAX);
	struct sent *sent = &rig->sent[rig->sent_count++];
	*sent = (struct sent){.at_ns = rig->now_ns, .dst_be = dst_be, .len = len};
	memcpy(sent->bytes, igmp, len);
}

static struct rig *new_rig(uint64_t seed)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct tl_mcast_cfg cfg = {.send = on_send, .send_ctx = rig, .ip_be = OWN_IP, .seed = seed};

	rig->now_ns = START;
	CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &rig->m), 0);
	return rig;
}

static void free_rig(struct rig *rig)
{
	tl_mcast_destroy(rig->m);
	free(rig);
}

// Advance the time, with a tick exactly at each deadline.
static void run_until(struct rig *rig, uint64_t until_ns)
{
	while (tl_mcast_next_deadline(rig->m) <= until_ns) {
		rig->now_ns = tl_max_u64(rig->now_ns, tl_mcast_next_deadline(rig->m));
		tl_mcast_tick(rig->m, rig->now_ns);
	}
	rig->now_ns = until_ns;
}

static void run_for(struct rig *rig, uint64_t ns)
{
	run_until(rig, rig->now_ns + ns);
}

static void forget_sent(struct rig *rig)
{
	rig->sent_count = 0;
}

static void settle(struct rig *rig)
{
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	forget_sent(rig);
}

static void join(struct rig *rig, uint32_t group_be, uint32_t source_be)
{
	CU_ASSERT_EQUAL(tl_mcast_join(rig->m, group_be, source_be, rig->now_ns), 0);
}

static void leave(struct rig *rig, uint32_t group_be, uint32_t source_be)
{
	CU_ASSERT_EQUAL(tl_mcast_leave(rig->m, group_be, source_be, rig->now_ns), 0);
}

static void input_from(struct rig *rig, const uint8_t *bytes, size_t len, uint32_t src_be)
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

static void input(struct rig *rig, const uint8_t *bytes, size_t len)
{
	input_from(rig, bytes, len, QUERIER);
}

// Deliver a message with this destination, TTL and Router Alert option.
static void input_with(struct rig *rig, const uint8_t *bytes, size_t len, struct tl_mcast_packet header)
{
	header.message = bytes;
	header.len = (uint16_t)len;
	header.src_be = QUERIER;
	tl_mcast_input(rig->m, &header, rig->now_ns);
}

static void short_message(struct rig *rig, uint8_t type, uint8_t code, uint32_t group_be)
{
	uint8_t bytes[8] = {type, code};
	memcpy(bytes + 4, &group_be, 4);
	input(rig, bytes, sizeof(bytes));
}

static void v2_query(struct rig *rig, uint8_t code, uint32_t group_be)
{
	short_message(rig, 0x11, code, group_be);
}

// Deliver a query for SOURCE(first) to SOURCE(first + count - 1); robustness 2, interval 125 s.
static size_t build_v3_query(uint8_t *bytes, uint8_t code, uint32_t group_be, unsigned first, unsigned count)
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

static void v3_query(struct rig *rig, uint8_t code, uint32_t group_be, unsigned first, unsigned count)
{
	uint8_t bytes[12 + 4 * 64];
	input(rig, bytes, build_v3_query(bytes, code, group_be, first, count));
}

// Read the record at *off of a v3 report and advance *off; return false at the end.
static bool next_record(const struct sent *sent, uint16_t *off, struct record *out)
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

static bool in_list(const uint8_t *sources, unsigned count, uint32_t source_be)
{
	for (unsigned i = 0; i < count; i++) {
		if (get_be32(sources + 4 * i) == source_be)
			return true;
	}
	return false;
}

// Return true if message i is a v3 report with this record and exactly the sources of mask (bit n: SOURCE(n)).
static bool reported(const struct rig *rig, unsigned i, uint8_t type, uint32_t group_be, uint32_t mask)
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

static unsigned record_count(const struct rig *rig, unsigned i)
{
	return i < rig->sent_count ? get16(rig->sent[i].bytes + 6) : 0;
}

// Return true if message i is this v1 or v2 message.
static bool told(const struct rig *rig, unsigned i, uint8_t type, uint32_t dst_be, uint32_t group_be)
{
	const struct sent *sent = &rig->sent[i];
	return i < rig->sent_count && sent->len == 8 && sent->bytes[0] == type && sent->bytes[1] == 0 &&
	       sent->dst_be == dst_be && get_be32(sent->bytes + 4) == group_be;
}

static uint64_t counter(const struct rig *rig, const char *name)
{
	struct tl_counter counters[8];
	unsigned n = tl_mcast_counters(rig->m, counters, 8);

	for (unsigned i = 0; i < n; i++) {
		if (strcmp(counters[i].name, name) == 0)
			return counters[i].value;
	}
	return UINT64_MAX;
}

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

TL_TEST("a general query is answered for all groups within its time")
{
	struct rig *rig = new_rig(1);

	v3_query(rig, 100, 0, 0, 0); // no group is joined: no reply
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	join(rig, GROUP(2), SOURCE(2));
	join(rig, GROUP(3), 0);
	leave(rig, GROUP(3), 0);
	settle(rig);
	uint64_t asked_ns = rig->now_ns;
	v3_query(rig, 100, 0, 0, 0);
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(rig->sent[0].at_ns > asked_ns && rig->sent[0].at_ns <= asked_ns + 10 * S);
	CU_ASSERT_EQUAL(record_count(rig, 0), 2);
	CU_ASSERT(reported(rig, 0, IS_EX, GROUP(1), 0));
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(2), 1u << 1 | 1u << 2));
	CU_ASSERT_EQUAL(counter(rig, "igmp_queries_rx"), 2);
	free_rig(rig);
}

TL_TEST("closely spaced queries share an answer")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	v3_query(rig, 100, 0, 0, 0);
	uint64_t first_ns = tl_mcast_next_deadline(rig->m);
	v3_query(rig, 0xff, 0, 0, 0); // up to 3174.4 s: later
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), first_ns);
	v3_query(rig, 0xff, GROUP(1), 0, 0); // RFC 3376, section 5.2, rule 1
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), first_ns);
	v3_query(rig, 0, 0, 0, 0); // at once
	CU_ASSERT(tl_mcast_next_deadline(rig->m) <= rig->now_ns + 1);
	run_for(rig, 4000 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	free_rig(rig);
}

// RFC 3376, section 5.2, rule 5.
TL_TEST("a later query does not postpone the answer for a group")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	settle(rig);
	v3_query(rig, 10, GROUP(1), 0, 0);
	uint64_t first_ns = tl_mcast_next_deadline(rig->m);
	v3_query(rig, 0xff, GROUP(1), 0, 0); // up to 3174.4 s
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), first_ns);
	free_rig(rig);
}

TL_TEST("a group query is answered for that group alone")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	settle(rig);
	v3_query(rig, 10, GROUP(3), 0, 0); // not joined
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	v3_query(rig, 10, GROUP(2), 0, 0);
	run_for(rig, S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(2), 1u << 1));
	v2_query(rig, 10, GROUP(1)); // v2 format, but not a general query: the host stays in v3
	run_for(rig, S);
	CU_ASSERT(reported(rig, 1, IS_EX, GROUP(1), 0));
	free_rig(rig);
}

TL_TEST("a source query is answered only with included sources")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), SOURCE(1));
	join(rig, GROUP(2), SOURCE(2));
	join(rig, GROUP(2), SOURCE(9));
	settle(rig);
	v3_query(rig, 10, GROUP(2), 2, 3);
	run_for(rig, S);
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(2), 1u << 2));
	v3_query(rig, 10, GROUP(2), 3, 3); // none of them joined
	run_for(rig, S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	v3_query(rig, 10, GROUP(1), 3, 2); // joined for any source: both reported
	run_for(rig, S);
	CU_ASSERT(reported(rig, 1, IS_IN, GROUP(1), 1u << 3 | 1u << 4));
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	free_rig(rig);
}

TL_TEST("source queries accumulate, and a group query covers them")
{
	struct rig *rig = new_rig(1);

	for (unsigned i = 0; i < 6; i++)
		join(rig, GROUP(1), SOURCE(i));
	settle(rig);
	v3_query(rig, 10, GROUP(1), 0, 2);
	v3_query(rig, 10, GROUP(1), 1, 2);
	run_for(rig, 10 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	CU_ASSERT(reported(rig, 0, IS_IN, GROUP(1), 7));
	v3_query(rig, 10, GROUP(1), 0, 1);
	v3_query(rig, 10, GROUP(1), 0, 0); // the whole group covers the source
	v3_query(rig, 10, GROUP(1), 3, 1);
	run_for(rig, 10 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT(reported(rig, 1, IS_IN, GROUP(1), 0x3f));
	v3_query(rig, 10, GROUP(1), 3, 40); // above the limit of stored sources
	run_for(rig, 10 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 3);
	CU_ASSERT(reported(rig, 2, IS_IN, GROUP(1), 0x3f));
	v3_query(rig, 10, GROUP(1), 5, 1);
	run_for(rig, 10 * S);
	CU_ASSERT(reported(rig, 3, IS_IN, GROUP(1), 1u << 5));
	free_rig(rig);
}

TL_TEST("a group that was left is absent from answers")
{
	struct rig *rig = new_rig(1);

	join(rig, GROUP(1), 0);
	join(rig, GROUP(2), 0);
	settle(rig);
	leave(rig, GROUP(1), 0);
	v3_query(rig, 0, 0, 0, 0);
	run_for(rig, 1);
	CU_ASSERT_EQUAL(rig->sent_count, 2);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT_EQUAL(record_count(rig, 1), 1);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(1), 0));
	CU_ASSERT(reported(rig, 1, IS_EX, GROUP(2), 0));
	settle(rig);
	v3_query(rig, 100, GROUP(2), 0, 0);
	leave(rig, GROUP(2), 0);
	rig->now_ns += 10 * S; // late: leave and reply are due together
	tl_mcast_tick(rig->m, rig->now_ns);
	CU_ASSERT_EQUAL(record_count(rig, 0), 1);
	CU_ASSERT(reported(rig, 0, TO_IN, GROUP(2), 0));
	free_rig(rig);
}

TL_TEST("response codes are decoded as linear and floating-point values")
{
	static const struct {
		uint8_t code;
		uint64_t max_ns;
	} codes[] = {{1, 100 * MS}, {127, 12700 * MS}, {0x80, 12800 * MS}, {0x8f, 24800 * MS}, {0x9f, 49600 * MS},
		{0xff, 3174400 * MS}};
	struct rig *rig = new_rig(7);

	join(rig, GROUP(1), 0);
	settle(rig);
	for (size_t i = 0; i < TL_ARRAY_LEN(codes); i++) {
		uint64_t longest_ns = 0;
		for (unsigned k = 0; k < 200; k++) {
			v3_query(rig, codes[i].code, 0, 0, 0);
			longest_ns = tl_max_u64(longest_ns, tl_mcast_next_deadline(rig->m) - rig->now_ns);
			run_for(rig, 4000 * S);
			forget_sent(rig);
		}
		CU_ASSERT(longest_ns <= codes[i].max_ns);
		CU_ASSERT(longest_ns > codes[i].max_ns / 10 * 9);
	}
	free_rig(rig);
}

TL_TEST("the querier sets the robustness")
{
	static const struct {
		uint8_t qrv;
		unsigned sent;
	} robustness[] = {{4, 4}, {1, 2}, {0, 2}, {0x0b, 3}}; // the last with the S flag set
	uint8_t query[12];

	for (size_t i = 0; i < TL_ARRAY_LEN(robustness); i++) {
		struct rig *rig = new_rig(i);
		build_v3_query(query, 100, 0, 0, 0);
		query[8] = robustness[i].qrv;
		input(rig, query, sizeof(query));
		join(rig, GROUP(1), 0);
		run_for(rig, 30 * S);
		CU_ASSERT_EQUAL(rig->sent_count, robustness[i].sent);
		free_rig(rig);
	}
}

TL_TEST("equal seeds give equal delays")
{
	uint64_t at_ns[3];

	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = new_rig(i == 2 ? 99 : 42);
		join(rig, GROUP(1), 0);
		run_for(rig, 30 * S);
		at_ns[i] = rig->sent[1].at_ns;
		free_rig(rig);
	}
	CU_ASSERT_EQUAL(at_ns[0], at_ns[1]);
	CU_ASSERT_NOT_EQUAL(at_ns[0], at_ns[2]);
}

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

TL_TEST("a truncated or inconsistent query is counted and ignored")
{
	struct rig *rig = new_rig(1);
	uint8_t query[12 + 4 * 64];
	size_t len = build_v3_query(query, 10, GROUP(1), 0, 3);
	uint64_t bad = 0;

	join(rig, GROUP(1), 0);
	settle(rig);
	for (size_t cut = 0; cut < len; cut++) {
		if (cut == 8) // a complete v2 query
			continue;
		input(rig, query, cut);
		CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), ++bad);
	}
	query[10] = 0xff; // 65283 sources
	input(rig, query, sizeof(query));
	len = build_v3_query(query, 10, 0, 0, 1); // sources without a group
	input(rig, query, len);
	len = build_v3_query(query, 10, SOURCE(1), 0, 0); // not a multicast group
	input(rig, query, len);
	v2_query(rig, 10, SOURCE(1));
	CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), bad + 4);
	CU_ASSERT_EQUAL(counter(rig, "igmp_queries_rx"), 0);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	free_rig(rig);
}

TL_TEST("unknown types and our own messages are ignored")
{
	static const uint8_t types[] = {0x00, 0x13, 0x14, 0x17, 0x1e, 0x22, 0x30, 0xff};
	struct rig *rig = new_rig(1);
	uint8_t query[12];

	join(rig, GROUP(1), 0);
	settle(rig);
	for (size_t i = 0; i < TL_ARRAY_LEN(types); i++)
		short_message(rig, types[i], 1, GROUP(1));
	input_from(rig, query, build_v3_query(query, 10, 0, 0, 0), OWN_IP);
	CU_ASSERT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
	CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), 0);
	free_rig(rig);
}

// A snooping switch without an address queries from 0.0.0.0; a host without an address accepts that, too.
TL_TEST("a query from 0.0.0.0 is accepted")
{
	uint8_t query[12];

	for (unsigned has_ip = 0; has_ip <= 1; has_ip++) {
		struct rig *rig = calloc(1, sizeof(*rig));
		struct tl_mcast_cfg cfg = {.send = on_send, .send_ctx = rig, .ip_be = has_ip ? OWN_IP : 0};
		CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &rig->m), 0);
		join(rig, GROUP(1), 0);
		settle(rig);
		input_from(rig, query, build_v3_query(query, 10, 0, 0, 0), 0);
		CU_ASSERT_NOT_EQUAL(tl_mcast_next_deadline(rig->m), TL_MCAST_NEVER);
		free_rig(rig);
	}
}

TL_TEST("data after a query is ignored")
{
	struct rig *rig = new_rig(1);
	uint8_t query[64] = {0};

	join(rig, GROUP(1), 0);
	settle(rig);
	build_v3_query(query, 10, GROUP(1), 0, 0);
	input(rig, query, sizeof(query));
	run_for(rig, S);
	CU_ASSERT(reported(rig, 0, IS_EX, GROUP(1), 0));
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

// ---- messages that no querier on the link sends

TL_TEST("a query not valid from an on-link router is counted and ignored")
{
	const struct {
		unsigned version;
		uint32_t group_be, dst_be;
		uint8_t hop_limit;
		bool alert, followed;
	} queries[] = {
		{3, 0, ALL_HOSTS, 1, true, true},
		{3, 0, ALL_HOSTS, 2, true, false},  // RFC 3376, section 4
		{3, 0, ALL_HOSTS, 1, false, false}, // section 9.1
		{3, 0, GROUP(1), 1, true, false},   // section 9.1
		{3, 0, OWN_IP, 1, true, true},	    // section 4.1.12
		{3, GROUP(1), GROUP(1), 1, true, true},
		{3, GROUP(1), ALL_HOSTS, 1, true, true},
		{3, GROUP(1), GROUP(1), 64, true, false},
		{3, GROUP(1), GROUP(1), 1, false, false},
		{2, 0, ALL_HOSTS, 1, true, true},
		{2, 0, ALL_HOSTS, 1, false, false},
		{2, 0, GROUP(1), 1, true, false},
		{1, 0, ALL_HOSTS, 1, false, true}, // predates Router Alert
		{1, 0, ALL_HOSTS, 2, false, false},
		{1, 0, GROUP(1), 1, false, false},
	};
	uint8_t bytes[12];

	for (size_t i = 0; i < TL_ARRAY_LEN(queries); i++) {
		struct rig *rig = new_rig(i);
		join(rig, GROUP(1), 0);
		settle(rig);
		(void)build_v3_query(bytes, queries[i].version == 1 ? 0 : 10, queries[i].group_be, 0, 0);
		input_with(rig, bytes, queries[i].version == 3 ? 12 : 8,
			(struct tl_mcast_packet){.dst_be = queries[i].dst_be,
				.hop_limit = queries[i].hop_limit,
				.alert = queries[i].alert});
		run_for(rig, 30 * S);
		CU_ASSERT_EQUAL(rig->sent_count, queries[i].followed);
		CU_ASSERT_EQUAL(counter(rig, "igmp_queries_rx"), queries[i].followed);
		CU_ASSERT_EQUAL(counter(rig, "igmp_bad_rx"), !queries[i].followed);
		free_rig(rig);
	}
}

TL_TEST("a report from outside the link suppresses nothing")
{
	struct rig *rig = new_rig(1);
	uint8_t report[8] = {0x16};

	memcpy(report + 4, &(uint32_t){GROUP(1)}, 4);
	join(rig, GROUP(1), 0);
	settle(rig);
	v2_query(rig, 100, 0);
	input_with(rig, report, sizeof(report), (struct tl_mcast_packet){.dst_be = GROUP(1), .hop_limit = 64});
	run_for(rig, 30 * S);
	CU_ASSERT_EQUAL(rig->sent_count, 1);
	free_rig(rig);
}

// Return the seconds of v2 mode after a v2 query that follows a v3 query with this QRV and QQIC.
static uint64_t v2_seconds(uint8_t qrv, uint8_t qqic)
{
	struct rig *rig = new_rig(1);
	uint8_t bytes[12];
	uint64_t seconds = 0;

	(void)build_v3_query(bytes, 10, 0, 0, 0);
	bytes[8] = qrv;
	bytes[9] = qqic;
	input(rig, bytes, sizeof(bytes));
	v2_query(rig, 10, 0);
	for (bool older = true; older && seconds < 1000000; seconds++) {
		forget_sent(rig);
		rig->now_ns += S;
		join(rig, GROUP(1), 0);
		run_for(rig, 0);
		older = told(rig, 0, 0x16, GROUP(1), GROUP(1));
		leave(rig, GROUP(1), 0);
		run_for(rig, 0);
	}
	free_rig(rig);
	return seconds;
}

TL_TEST("robustness and interval of a querier are bounded")
{
	CU_ASSERT_EQUAL(v2_seconds(2, 125), 251); // RFC 3376, section 8.12, with a response interval of 1 s
	CU_ASSERT_EQUAL(v2_seconds(1, 125), 251);
	CU_ASSERT_EQUAL(v2_seconds(0, 0), 251);
	CU_ASSERT_EQUAL(v2_seconds(7, 20), 141);
	CU_ASSERT_EQUAL(v2_seconds(7, 255), 7 * 600 + 1); // limited from 31 744 s
}

// ---- many groups

#define MANY 16000

// Count messages, and reports per group.
struct crowd {
	struct tl_mcast *m;
	uint64_t now_ns;
	unsigned groups; // groups reported since the last check
	uint8_t told[MANY];
};

static void note_told(struct crowd *crowd, uint32_t group_be)
{
	uint32_t i = tl_be32(group_be) - tl_be32(GROUP(0));

	CU_ASSERT_FATAL(i < MANY);
	crowd->told[i]++;
	crowd->groups++;
}

static void on_crowd_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
	struct crowd *crowd = ctx;
	struct sent sent = {.len = len};
	struct record r;

	memcpy(sent.bytes, igmp, len);
	if (igmp[0] != 0x22)
		note_told(crowd, get_be32(igmp + 4));
	else
		for (uint16_t off = 8; next_record(&sent, &off, &r);)
			note_told(crowd, r.group_be);
}

static struct crowd *new_crowd(void)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct tl_mcast_cfg cfg = {.send = on_crowd_send, .send_ctx = crowd, .ip_be = OWN_IP, .groups = MANY};

	crowd->now_ns = START;
	CU_ASSERT_EQUAL_FATAL(tl_mcast_create(&cfg, &crowd->m), 0);
	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL_FATAL(tl_mcast_join(crowd->m, GROUP(i), 0, crowd->now_ns), 0);
	while (tl_mcast_next_deadline(crowd->m) != TL_MCAST_NEVER)
		tl_mcast_tick(crowd->m, crowd->now_ns += 100 * MS);
	memset(crowd->told, 0, sizeof(crowd->told));
	crowd->groups = 0;
	return crowd;
}

static void free_crowd(struct crowd *crowd)
{
	tl_mcast_destroy(crowd->m);
	free(crowd);
}

static void ask_crowd(struct crowd *crowd, size_t len)
{
	uint8_t bytes[12];

	(void)build_v3_query(bytes, 10, 0, 0, 0);
	const struct tl_mcast_packet packet = {.message = bytes,
		.len = (uint16_t)len,
		.src_be = QUERIER,
		.dst_be = ALL_HOSTS,
		.hop_limit = 1,
		.alert = true};
	tl_mcast_input(crowd->m, &packet, crowd->now_ns);
}

// Tick every millisecond until no timer is due; return the maximum of groups reported by one tick.
static unsigned tick_crowd(struct crowd *crowd)
{
	unsigned most = 0;

	while (tl_mcast_next_deadline(crowd->m) != TL_MCAST_NEVER) {
		crowd->groups = 0;
		tl_mcast_tick(crowd->m, crowd->now_ns += MS);
		most = crowd->groups > most ? crowd->groups : most;
	}
	return most;
}

static bool crowd_told(const struct crowd *crowd, uint32_t first, uint8_t times)
{
	for (uint32_t i = first; i < MANY; i++)
		if (crowd->told[i] != times)
			return false;
	return true;
}

TL_TEST("a general query for 16 000 groups is answered a few per tick")
{
	struct crowd *crowd = new_crowd();
	uint64_t asked_ns = crowd->now_ns;

	ask_crowd(crowd, 12);
	CU_ASSERT(tick_crowd(crowd) <= 256);
	CU_ASSERT(crowd_told(crowd, 0, 1));
	asked_ns = crowd->now_ns;
	ask_crowd(crowd, 8);
	CU_ASSERT(tick_crowd(crowd) <= 256);
	CU_ASSERT(crowd_told(crowd, 0, 2));
	CU_ASSERT(crowd->now_ns <= asked_ns + S + MS);
	free_crowd(crowd);
}

TL_TEST("queries during an answer restart it once")
{
	struct crowd *crowd = new_crowd();

	ask_crowd(crowd, 12);
	while (crowd->groups == 0)
		tl_mcast_tick(crowd->m, crowd->now_ns += MS);
	for (unsigned i = 0; i < 1000; i++)
		ask_crowd(crowd, 12);
	(void)tick_crowd(crowd);
	CU_ASSERT(crowd_told(crowd, 0, 2));
	free_crowd(crowd);
}

TL_TEST("groups left during an answer do not hide others")
{
	struct crowd *crowd = new_crowd();

	ask_crowd(crowd, 12);
	while (crowd->groups == 0)
		tl_mcast_tick(crowd->m, crowd->now_ns += MS);
	for (uint32_t i = 0; i < MANY / 2; i++)
		CU_ASSERT_EQUAL(tl_mcast_leave(crowd->m, GROUP(i), 0, crowd->now_ns), 0);
	memset(crowd->told + MANY / 2, 0, MANY / 2);
	ask_crowd(crowd, 12);
	(void)tick_crowd(crowd);
	bool all = true;
	for (uint32_t i = MANY / 2; i < MANY; i++)
		all &= crowd->told[i] >= 1;
	CU_ASSERT(all);
	free_crowd(crowd);
}

int main(void)
{
	return tl_test_run("mcast");
}
