// SPDX-License-Identifier: BSD-3-Clause
// Test the classes of a recording: the class of a frame, the meter that colours it, and each frame counted once.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_err.h>
#include <tl_random.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_wire.h>

#include "police_priv.h"

#define S TL_NS_PER_S
#define FRAMES 600
#define FLOWS 8

static struct rte_mempool *pool;
static struct tl_burst burst;

// ---- frames

// UDP from 10.0.0.HOST:PORT to 10.0.1.1:53 without its payload; wire_bytes long on the wire.
static struct rte_mbuf *make_frame(uint8_t host, uint16_t port)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + 8),
		.proto = TL_IPPROTO_UDP,
		.src_be = tl_be32(0x0a000000u + host),
		.dst_be = tl_be32(0x0a000101)};
	uint8_t udp[8] = {(uint8_t)(port >> 8), (uint8_t)port, 0, 53};

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(m, 60);
	memset(frame, 0, 60);
	frame[12] = TL_ETHERTYPE_IPV4 >> 8;
	memcpy(frame + TL_ETHER_LEN, &ip, sizeof(ip));
	memcpy(frame + TL_ETHER_LEN + TL_IPV4_LEN, udp, sizeof(udp));
	return m;
}

static void begin_burst(void)
{
	burst = (struct tl_burst){0};
}

static void add_mbuf(struct rte_mbuf *m, uint32_t wire_bytes, uint64_t ts_ns)
{
	burst.pkts[burst.n] = m;
	burst.wire_bytes[burst.n] = wire_bytes;
	burst.ts_ns[burst.n++] = ts_ns;
}

static void add_frame(uint8_t host, uint16_t port, uint32_t wire_bytes, uint64_t ts_ns)
{
	add_mbuf(make_frame(host, port), wire_bytes, ts_ns);
}

static struct tl_police_verdict decide(struct tl_police *p, uint64_t wanted)
{
	struct tl_police_verdict verdict;

	tl_police_burst(p, &burst, wanted, &verdict);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	CU_ASSERT_EQUAL(verdict.red & verdict.yellow, 0);
	CU_ASSERT_EQUAL((verdict.red | verdict.yellow) & ~wanted, 0);
	return verdict;
}

// Colour of a single frame.
static enum tl_meter_colour colour_of(
	struct tl_police *p, uint8_t host, uint16_t port, uint32_t wire_bytes, uint64_t ts_ns)
{
	begin_burst();
	add_frame(host, port, wire_bytes, ts_ns);
	struct tl_police_verdict v = decide(p, 1);
	return v.red != 0 ? TL_METER_RED : v.yellow != 0 ? TL_METER_YELLOW : TL_METER_GREEN;
}

// ---- classes

// cbs bytes, and 1000 bytes/s.
static struct tl_police_class class_of(const char *match, uint64_t cbs)
{
	return (struct tl_police_class){
		.name = "c", .match = match, .meter = {.cir = 8000, .cbs = cbs}, .snaplen = 64, .meters = 4};
}

static struct tl_police *make_police(const struct tl_police_class *classes, uint32_t n)
{
	struct tl_police_cfg cfg = {.classes = classes, .n_classes = n, .seed = 7};
	struct tl_police *p = NULL;
	struct tl_err err = {""};

	if (tl_police_create(&cfg, &p, &err) != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	return p;
}

static struct tl_police *make_one(struct tl_police_class cls)
{
	return make_police(&cls, 1);
}

static struct tl_police_stats stats_of(const struct tl_police *p, uint32_t cls)
{
	struct tl_police_stats stats = {0};

	tl_police_sample(p, cls, &stats);
	return stats;
}

// ---- tests

TL_TEST("the first matching class applies")
{
	const struct tl_police_class classes[] = {class_of("src host 10.0.0.1", 100), class_of("udp", 1000)};
	struct tl_police *p = make_police(classes, 2);

	CU_ASSERT_EQUAL(colour_of(p, 1, 9, 101, S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 2, 9, 101, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(stats_of(p, 0).matched_pkts, 1);
	CU_ASSERT_EQUAL(stats_of(p, 1).matched_pkts, 1);
	CU_ASSERT_EQUAL(stats_of(p, 1).bytes[TL_METER_GREEN], 101);
	tl_police_destroy(p);
}

TL_TEST("frames without a class are kept whole")
{
	struct tl_police *p = make_one(class_of("tcp", 100));

	begin_burst();
	add_frame(1, 1, 9000, S);
	struct tl_police_verdict v = decide(p, 1);
	CU_ASSERT_EQUAL(v.red | v.yellow, 0);
	CU_ASSERT_EQUAL(v.snaplen[0], UINT32_MAX);
	CU_ASSERT_EQUAL(stats_of(p, 0).matched_pkts, 0);
	CU_ASSERT_EQUAL(stats_of(p, 1).matched_pkts, 1);
	tl_police_destroy(p);
}

TL_TEST("a default class meters all other frames")
{
	const struct tl_police_class classes[] = {class_of("tcp", 100), class_of(NULL, 100)};
	struct tl_police *p = make_police(classes, 2);

	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 100, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 100, S), TL_METER_RED);
	CU_ASSERT_EQUAL(stats_of(p, 1).matched_pkts, 2);
	CU_ASSERT_EQUAL(stats_of(p, 2).matched_pkts, 0);
	tl_police_destroy(p);
}

TL_TEST("a yellow frame is cut to the snaplen of its class, a green one is not")
{
	struct tl_police_class cls = class_of("udp", 100);

	cls.meter.ebs = 100;
	cls.snaplen = 77;
	struct tl_police *p = make_one(cls);
	begin_burst();
	for (int i = 0; i < 3; i++)
		add_frame(1, 1, 100, S);
	struct tl_police_verdict v = decide(p, 7);
	CU_ASSERT_EQUAL(v.snaplen[0], UINT32_MAX);
	CU_ASSERT_EQUAL(v.yellow, 2);
	CU_ASSERT_EQUAL(v.snaplen[1], 77);
	CU_ASSERT_EQUAL(v.red, 4);
	tl_police_destroy(p);
}

TL_TEST("a filtered frame takes no tokens")
{
	struct tl_police *p = make_one(class_of("udp", 100));

	begin_burst();
	add_frame(1, 1, 100, S);
	add_frame(1, 1, 100, S);
	struct tl_police_verdict v = decide(p, 2);
	CU_ASSERT_EQUAL(v.red, 0);
	CU_ASSERT_EQUAL(stats_of(p, 0).matched_pkts, 1);
	tl_police_destroy(p);
}

TL_TEST("with packets as the unit each frame takes one token")
{
	struct tl_police_class cls = class_of("udp", 2);

	cls.meter.unit = TL_METER_PKTS;
	cls.meter.cir = 1;
	struct tl_police *p = make_one(cls);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 9000, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 60, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 60, 2 * S - 1), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 9000, 2 * S), TL_METER_GREEN);
	tl_police_destroy(p);
}

TL_TEST("each flow, or each source, has a meter")
{
	struct tl_police_class flow = class_of("udp", 100), source = class_of("udp", 100);

	flow.per = TL_POLICE_PER_FLOW;
	source.per = TL_POLICE_PER_SOURCE;
	struct tl_police *p = make_one(flow), *q = make_one(source);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 100, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 100, S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 1, 2, 100, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 2, 1, 100, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(stats_of(p, 0).meters, 3);
	CU_ASSERT_EQUAL(colour_of(q, 1, 1, 100, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(q, 1, 2, 100, S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(q, 2, 1, 100, S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(stats_of(q, 0).meters, 2);
	tl_police_destroy(p);
	tl_police_destroy(q);
}

static struct rte_mbuf *make_fragment(uint8_t host)
{
	struct rte_mbuf *m = make_frame(host, 1);

	*rte_pktmbuf_mtod_offset(m, uint8_t *, TL_ETHER_LEN + 7) = 1;
	return m;
}

TL_TEST("frames without a flow share the meter of the class")
{
	struct tl_police_class flow = class_of(NULL, 200), source = class_of(NULL, 200);

	flow.per = TL_POLICE_PER_FLOW;
	source.per = TL_POLICE_PER_SOURCE;
	struct tl_police *p = make_one(flow), *q = make_one(source);
	for (int i = 0; i < 2; i++) {
		begin_burst();
		add_mbuf(make_fragment(1), 150, S); // no ports: no flow, but a source
		add_mbuf(make_fragment(2), 150, S);
		struct tl_police_verdict v = decide(i == 0 ? p : q, 3);
		CU_ASSERT_EQUAL(v.red, i == 0 ? 2 : 0);
	}
	CU_ASSERT_EQUAL(stats_of(p, 0).meters, 0);
	CU_ASSERT_EQUAL(stats_of(q, 0).meters, 2);
	for (uint16_t port = 1; port <= 4; port++) // all places
		colour_of(p, 1, port, 150, S);
	begin_burst();
	add_mbuf(make_fragment(1), 60, S);
	CU_ASSERT_EQUAL(decide(p, 1).red, 1);
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 0);
	tl_police_destroy(p);
	tl_police_destroy(q);
}

// Four meters are one group. A bucket of 1000 bytes is full again after 1 s.
TL_TEST("flows beyond the table share a meter, and are counted")
{
	struct tl_police_class cls = class_of("udp", 1000);

	cls.per = TL_POLICE_PER_FLOW;
	struct tl_police *p = make_one(cls);
	for (uint16_t port = 1; port <= 4; port++)
		CU_ASSERT_EQUAL(colour_of(p, 1, port, 1000, 10 * S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 0);
	CU_ASSERT_EQUAL(colour_of(p, 1, 5, 600, 10 * S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 6, 600, 10 * S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 1, 6, 400, 10 * S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 3);
	CU_ASSERT_EQUAL(stats_of(p, 0).meters, 4);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 1000, 10 * S), TL_METER_RED);
	tl_police_destroy(p);
}

TL_TEST("the meter of a flow is reassigned only when its buckets are full")
{
	struct tl_police_class cls = class_of("udp", 1000);

	cls.per = TL_POLICE_PER_FLOW;
	struct tl_police *p = make_one(cls);
	for (uint16_t port = 1; port <= 4; port++)
		colour_of(p, 1, port, 1000, 10 * S);
	colour_of(p, 1, 5, 1000, 11 * S - 1);
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 1);
	CU_ASSERT_EQUAL(colour_of(p, 1, 5, 1000, 11 * S + 1), TL_METER_GREEN);
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 1);
	CU_ASSERT_EQUAL(stats_of(p, 0).meters, 5);
	tl_police_destroy(p);
}

TL_TEST("reassignment requires both buckets to be full")
{
	struct tl_police_class cls = class_of("udp", 1000);

	cls.per = TL_POLICE_PER_FLOW;
	cls.meter.kind = TL_METER_TRTCM;
	cls.meter.pir = 8000;
	cls.meter.pbs = 3000;
	struct tl_police *p = make_one(cls);
	for (uint16_t port = 1; port <= 4; port++)
		colour_of(p, 1, port, 3000, 10 * S);
	colour_of(p, 1, 5, 60, 13 * S - 1);
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 1);
	colour_of(p, 1, 5, 60, 13 * S + 1);
	CU_ASSERT_EQUAL(stats_of(p, 0).meters, 5);
	tl_police_destroy(p);
}

TL_TEST("stamps out of order add no tokens")
{
	struct tl_police *p = make_one(class_of("udp", 1000));

	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 1000, 10 * S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 60, 9 * S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 1000, 11 * S - 1), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 1000, 11 * S), TL_METER_GREEN);
	tl_police_destroy(p);
}

TL_TEST("after a backward clock step tokens are added again")
{
	struct tl_police_class cls = class_of("udp", 1000);

	cls.per = TL_POLICE_PER_FLOW;
	struct tl_police *p = make_one(cls), *q = make_one(class_of("udp", 1000));
	for (uint16_t port = 1; port <= 4; port++)
		colour_of(p, 1, port, 1000, 3600 * S);
	colour_of(q, 1, 1, 1000, 3600 * S);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 1000, 10 * S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(q, 1, 1, 1000, 10 * S), TL_METER_RED);
	CU_ASSERT_EQUAL(colour_of(p, 1, 1, 1000, 11 * S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(q, 1, 1, 1000, 11 * S), TL_METER_GREEN);
	CU_ASSERT_EQUAL(colour_of(p, 1, 5, 1000, 11 * S), TL_METER_GREEN); // in place of a flow from before the step
	CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 0);
	tl_police_destroy(p);
	tl_police_destroy(q);
}

// ---- properties of random traffic

// A frame of the trace, and its colour.
struct seen {
	uint64_t ts_ns;
	uint32_t bytes;
	unsigned flow;
	enum tl_meter_colour colour;
};

static void colour_trace(struct tl_police *p, struct seen *seen, uint64_t *seed)
{
	uint64_t ts_ns = 1700000000 * S;

	for (unsigned at = 0; at < FRAMES;) {
		unsigned first = at, n = 1 + (unsigned)(tl_random_next(seed) % TL_BURST);
		uint64_t wanted = n == TL_BURST ? UINT64_MAX : (UINT64_C(1) << n) - 1;
		begin_burst();
		for (unsigned i = 0; i < n && at < FRAMES; i++, at++) {
			ts_ns += tl_random_next(seed) % 4 == 0 ? tl_random_next(seed) % (40 * TL_NS_PER_MS) : 0;
			seen[at] = (struct seen){.ts_ns = ts_ns,
				.bytes = 60 + (uint32_t)(tl_random_next(seed) % 1400),
				.flow = (unsigned)(tl_random_next(seed) % FLOWS)};
			add_frame(1, (uint16_t)(1 + seen[at].flow), seen[at].bytes, ts_ns);
		}
		if (at == FRAMES)
			wanted &= (UINT64_C(1) << (burst.n - 1) << 1) - 1;
		struct tl_police_verdict v = decide(p, wanted);
		for (unsigned i = first; i < at; i++)
			seen[i].colour = (v.red >> (i - first) & 1) != 0      ? TL_METER_RED
					 : (v.yellow >> (i - first) & 1) != 0 ? TL_METER_YELLOW
									      : TL_METER_GREEN;
	}
}

// True if over each window the frames of a flow (all: FLOWS) of up to this colour are within burst + rate * time.
static bool is_within(
	const struct seen *seen, unsigned flow, enum tl_meter_colour most, uint64_t burst_bytes, uint64_t bps)
{
	for (unsigned from = 0; from < FRAMES; from++) {
		unsigned __int128 bytes = 0;
		for (unsigned to = from; to < FRAMES; to++) {
			if (seen[to].colour > most || (flow != FLOWS && seen[to].flow != flow))
				continue;
			bytes += seen[to].bytes;
			unsigned __int128 earned = (unsigned __int128)bps * (seen[to].ts_ns - seen[from].ts_ns);
			if (bytes * 8 * S > (unsigned __int128)burst_bytes * 8 * S + earned)
				return false;
		}
	}
	return true;
}

TL_TEST("green bytes of any window are at most cbs + cir x its length")
{
	static struct seen seen[FRAMES];

	for (uint64_t seed = 1; seed <= 24; seed++) {
		uint64_t state = seed;
		bool two_rates = seed % 2 == 0, per_flow = seed % 3 == 0;
		struct tl_police_class cls = class_of("udp", 1500 + tl_random_next(&state) % 6000);
		cls.meter.cir = 1 + tl_random_next(&state) % 1000000;
		cls.meter.ebs = two_rates ? 0 : 3000;
		cls.meter.kind = two_rates ? TL_METER_TRTCM : TL_METER_SRTCM;
		cls.meter.pir = 3 * cls.meter.cir;
		cls.meter.pbs = 4000;
		cls.per = per_flow ? TL_POLICE_PER_FLOW : TL_POLICE_PER_CLASS;
		cls.meters = 1024;
		struct tl_police *p = make_one(cls);
		colour_trace(p, seen, &state);
		CU_ASSERT_EQUAL(stats_of(p, 0).overflow_pkts, 0);
		for (unsigned flow = per_flow ? 0 : FLOWS; flow <= FLOWS - (per_flow ? 1 : 0); flow++) {
			CU_ASSERT_TRUE(is_within(seen, flow, TL_METER_GREEN, cls.meter.cbs, cls.meter.cir));
			CU_ASSERT_TRUE(!two_rates || is_within(seen, flow, TL_METER_YELLOW, 4000, cls.meter.pir));
			CU_ASSERT_TRUE(two_rates ||
				       is_within(seen, flow, TL_METER_YELLOW, cls.meter.cbs + 3000, cls.meter.cir));
		}
		tl_police_destroy(p);
	}
}

TL_TEST("every frame has one class and one colour")
{
	static struct seen seen[FRAMES];

	for (uint64_t seed = 1; seed <= 8; seed++) {
		uint64_t state = seed, pkts[TL_METER_COLOURS] = {0}, matched = 0;
		struct tl_police_class classes[] = {class_of("src port 1", 3000),
			class_of("src port 2 or src port 3", 3000), class_of("src port 4 or src port 5", 9000)};
		classes[1].meter.ebs = 2000;
		classes[2].per = TL_POLICE_PER_FLOW;
		struct tl_police *p = make_police(classes, 3);
		colour_trace(p, seen, &state);
		for (uint32_t c = 0; c < 3; c++) {
			struct tl_police_stats s = stats_of(p, c);
			CU_ASSERT_EQUAL(s.matched_pkts, s.pkts[0] + s.pkts[1] + s.pkts[2]);
			matched += s.matched_pkts;
			for (int i = 0; i < TL_METER_COLOURS; i++)
				pkts[i] += s.pkts[i];
		}
		CU_ASSERT_EQUAL(matched + stats_of(p, 3).matched_pkts, FRAMES);
		for (unsigned i = 0; i < FRAMES; i++)
			pkts[seen[i].colour] -= seen[i].colour != TL_METER_GREEN || seen[i].flow < 5;
		CU_ASSERT_EQUAL(pkts[TL_METER_GREEN], 0);
		CU_ASSERT_EQUAL(pkts[TL_METER_YELLOW], 0);
		CU_ASSERT_EQUAL(pkts[TL_METER_RED], 0);
		tl_police_destroy(p);
	}
}

TL_TEST("an invalid class is refused by name")
{
	struct tl_police_class bad[] = {class_of("no such", 100), class_of("udp", 100), class_of("udp", 0)};
	struct tl_police *p;

	bad[1].per = TL_POLICE_PER_SOURCE;
	bad[1].meters = 12;
	for (unsigned i = 0; i < TL_ARRAY_LEN(bad); i++) {
		struct tl_police_cfg cfg = {.classes = &bad[i], .n_classes = 1};
		struct tl_err err = {""};
		CU_ASSERT_EQUAL(tl_police_create(&cfg, &p, &err), -EINVAL);
		CU_ASSERT_EQUAL(strncmp(err.text, "class c: ", 9), 0);
	}
	CU_ASSERT_EQUAL(tl_police_check(&bad[0], NULL), -EINVAL);
	CU_ASSERT_EQUAL(tl_police_check(&bad[2], NULL), -EINVAL);
	CU_ASSERT_EQUAL(tl_police_check(&bad[1], NULL), 0); // sizes of tables are the configuration's
}

int main(void)
{
	tl_test_eal_start();
	pool = rte_pktmbuf_pool_create("police", 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL)
		return 1;
	int status = tl_test_run("police");
	rte_mempool_free(pool);
	return status;
}
