// SPDX-License-Identifier: BSD-3-Clause
// Flows of a cut-off: assignment of frames, kept frames, and eviction in a full table.

#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_flow.h>
#include <tl_random.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_wire.h>

#define FRAME_MAX 256
#define PROTO_SCTP 132
#define PROTO_GRE 47
#define NEVER_IDLE_NS (1000 * TL_NS_PER_S)

// A frame as described by a test. Addresses are numbers; an end is an address and a port.
struct frame {
	int version; // 4 or 6
	uint8_t proto;
	uint8_t tcp_flags;
	uint32_t src, dst;
	uint16_t src_port, dst_port;
	uint16_t tags[2];  // VLAN tags, outermost first; 0: none
	uint16_t fragment; // IPv4: flags and offset; IPv6: of a fragment header, if not 0
	uint8_t extension; // IPv6: type of an additional extension header; 0: none
};

struct bytes {
	uint8_t at[FRAME_MAX];
	uint32_t len;
};

static void put(struct bytes *b, const void *from, uint32_t len)
{
	memcpy(b->at + b->len, from, len);
	b->len += len;
}

static void put_be16(struct bytes *b, uint16_t value)
{
	uint16_t be = tl_be16(value);

	put(b, &be, sizeof(be));
}

static void put_ipv4(struct bytes *b, const struct frame *f, uint16_t l4_len)
{
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.frag_be = tl_be16(f->fragment),
		.ttl = 64,
		.proto = f->proto,
		.src_be = tl_be32(f->src),
		.dst_be = tl_be32(f->dst)};

	tl_wire_ipv4_finish(&ip);
	put(b, &ip, sizeof(ip));
}

static void put_ipv6(struct bytes *b, const struct frame *f, uint16_t l4_len)
{
	uint8_t ip[40] = {0x60, [7] = 64, [8] = 0x20, [24] = 0x20};
	uint16_t payload_be = tl_be16(l4_len + (f->extension != 0 ? 16 : 0) + (f->fragment != 0 ? 8 : 0));
	uint32_t src_be = tl_be32(f->src), dst_be = tl_be32(f->dst);
	uint8_t after = f->fragment != 0 ? 44 : f->proto;
	uint8_t extension[16] = {after, f->extension == 51 ? 2 : 1};
	uint8_t fragment[8] = {f->proto, 0, (uint8_t)(f->fragment >> 8), (uint8_t)f->fragment};

	memcpy(ip + 4, &payload_be, sizeof(payload_be));
	ip[6] = f->extension != 0 ? f->extension : after;
	memcpy(ip + 20, &src_be, sizeof(src_be));
	memcpy(ip + 36, &dst_be, sizeof(dst_be));
	put(b, ip, sizeof(ip));
	if (f->extension != 0)
		put(b, extension, sizeof(extension));
	if (f->fragment != 0)
		put(b, fragment, sizeof(fragment));
}

static void build(struct bytes *b, const struct frame *f)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
	uint8_t l4[20] = {(uint8_t)(f->src_port >> 8), (uint8_t)f->src_port, (uint8_t)(f->dst_port >> 8),
		(uint8_t)f->dst_port, [12] = 5 << 4, [13] = f->tcp_flags};

	b->len = 0;
	put(b, macs, sizeof(macs));
	for (int i = 0; i < 2 && f->tags[i] != 0; i++) {
		put_be16(b, i == 0 && f->tags[1] != 0 ? TL_ETHERTYPE_QINQ : TL_ETHERTYPE_VLAN);
		put_be16(b, f->tags[i]);
	}
	put_be16(b, f->version == 4 ? TL_ETHERTYPE_IPV4 : 0x86dd);
	if (f->version == 4)
		put_ipv4(b, f, sizeof(l4));
	else
		put_ipv6(b, f, sizeof(l4));
	put(b, l4, sizeof(l4));
}

static struct frame reverse(const struct frame *f)
{
	struct frame r = *f;

	r.src = f->dst;
	r.dst = f->src;
	r.src_port = f->dst_port;
	r.dst_port = f->src_port;
	return r;
}

static const struct frame udp = {.version = 4,
	.proto = TL_IPPROTO_UDP,
	.src = 0x0a000001,
	.dst = 0x0a000002,
	.src_port = 1000,
	.dst_port = 2000};

static struct tl_flow_table *make_table(uint32_t entries, uint32_t cutoff_bytes, uint64_t idle_ns, uint64_t seed)
{
	struct tl_flow_cfg cfg = {.entries = entries, .cutoff_bytes = cutoff_bytes, .idle_ns = idle_ns, .seed = seed};
	struct tl_flow_table *table = NULL;
	struct tl_err err = {{0}};

	CU_ASSERT_EQUAL_FATAL(tl_flow_create(&cfg, &table, &err), 0);
	return table;
}

// Return the flow of the frame, parsed from a heap block of its exact length.
static struct tl_flow_id identify_bytes(const struct tl_flow_table *t, const uint8_t *frame, uint32_t len)
{
	uint8_t *exact = malloc(len + (len == 0));
	struct tl_flow_id id;

	CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
	memcpy(exact, frame, len);
	tl_flow_identify(t, exact, len, &id);
	free(exact);
	return id;
}

static struct tl_flow_id identify(const struct tl_flow_table *t, const struct frame *f)
{
	struct bytes b;

	build(&b, f);
	return identify_bytes(t, b.at, b.len);
}

static bool keep(struct tl_flow_table *t, const struct frame *f, uint32_t wire_bytes, uint64_t ts_ns)
{
	struct tl_flow_id id = identify(t, f);

	return tl_flow_keep(t, &id, wire_bytes, ts_ns);
}

TL_TEST("a flow is recorded up to the frame that reaches the cut-off")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame other = udp;

	other.dst_port++;
	CU_ASSERT_TRUE(keep(t, &udp, 1000, 0));
	CU_ASSERT_TRUE(keep(t, &udp, 23, 0));
	CU_ASSERT_TRUE(keep(t, &udp, 1500, 0)); // begins at byte 1023
	CU_ASSERT_FALSE(keep(t, &udp, 60, 0));
	CU_ASSERT_TRUE(keep(t, &other, 1024, 0));
	CU_ASSERT_FALSE(keep(t, &other, 60, 0));
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows, 2);
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows_evicted, 0);
	tl_flow_destroy(t);
}

TL_TEST("an implausible length cuts off the flow only")
{
	struct tl_flow_table *t = make_table(1024, TL_FLOW_CUTOFF_MAX, NEVER_IDLE_NS, 1);

	CU_ASSERT_TRUE(keep(t, &udp, TL_FLOW_CUTOFF_MAX - 1, 0));
	CU_ASSERT_TRUE(keep(t, &udp, UINT32_MAX, 0));
	for (int i = 0; i < 10; i++)
		CU_ASSERT_FALSE(keep(t, &udp, UINT32_MAX, 0));
	tl_flow_destroy(t);
}

TL_TEST("both directions belong to one flow")
{
	static const uint8_t protos[] = {TL_IPPROTO_TCP, TL_IPPROTO_UDP, PROTO_SCTP, TL_IPPROTO_ICMP, PROTO_GRE};
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);

	for (int version = 4; version <= 6; version += 2) {
		for (unsigned i = 0; i < TL_ARRAY_LEN(protos); i++) {
			struct frame there = udp;
			there.version = version;
			there.proto = protos[i];
			struct frame back = reverse(&there);
			CU_ASSERT_NOT_EQUAL(identify(t, &there).print, 0);
			CU_ASSERT_EQUAL(identify(t, &there).print, identify(t, &back).print);
		}
	}
	tl_flow_destroy(t);
}

// Each field that distinguishes flows, changed alone.
TL_TEST("any difference in the key yields another flow")
{
	struct frame frames[] = {[0 ... 12] = udp};
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);

	frames[1].src_port++;
	frames[2].dst_port++;
	frames[3].src++;
	frames[4].dst++;
	frames[5].proto = TL_IPPROTO_TCP;
	frames[6].proto = PROTO_SCTP;
	frames[7].version = 6;
	frames[8].tags[0] = 7;
	frames[9].tags[0] = 8;
	frames[10].tags[0] = 7;
	frames[10].tags[1] = 8;
	frames[11].src_port = udp.dst_port; // exchange the ports, but not the addresses
	frames[11].dst_port = udp.src_port;
	frames[12].proto = PROTO_GRE;
	for (unsigned i = 0; i < TL_ARRAY_LEN(frames); i++)
		for (unsigned j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(identify(t, &frames[i]).print, identify(t, &frames[j]).print);
	tl_flow_destroy(t);
}

TL_TEST("the VLAN priority is not part of the flow key")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame plain = udp, urgent = udp;

	plain.tags[0] = 100;
	urgent.tags[0] = 7 << 13 | 100;
	CU_ASSERT_EQUAL(identify(t, &plain).print, identify(t, &urgent).print);
	tl_flow_destroy(t);
}

TL_TEST("protocols without ports have one flow per pair of addresses")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame a = udp, b = udp;

	a.proto = b.proto = TL_IPPROTO_ICMP;
	b.src_port++; // type and code
	CU_ASSERT_EQUAL(identify(t, &a).print, identify(t, &b).print);
	tl_flow_destroy(t);
}

TL_TEST("extension headers do not hide a flow")
{
	static const uint8_t kinds[] = {0, 43, 51, 60, 135};
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame plain = udp;

	plain.version = 6;
	for (unsigned i = 1; i < TL_ARRAY_LEN(kinds); i++) {
		struct frame with = plain;
		with.extension = kinds[i];
		CU_ASSERT_EQUAL(identify(t, &with).print, identify(t, &plain).print);
	}
	tl_flow_destroy(t);
}

TL_TEST("only the first fragment belongs to a flow")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame first = udp, next = udp;

	first.fragment = 0x2000; // more fragments
	next.fragment = 0x2001;
	CU_ASSERT_EQUAL(identify(t, &first).print, identify(t, &udp).print);
	CU_ASSERT_EQUAL(identify(t, &next).print, 0);
	first.version = next.version = 6;
	first.fragment = 1;
	next.fragment = 8 | 1;
	struct frame whole = first;
	whole.fragment = 0;
	CU_ASSERT_EQUAL(identify(t, &first).print, identify(t, &whole).print);
	CU_ASSERT_EQUAL(identify(t, &next).print, 0);
	tl_flow_destroy(t);
}

TL_TEST("a frame without a flow is always recorded")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct bytes arp = {.at = {[12] = 0x08, [13] = 0x06}, .len = 60};

	for (int i = 0; i < 100; i++) {
		struct tl_flow_id id = identify_bytes(t, arp.at, arp.len);
		CU_ASSERT_EQUAL(id.print, 0);
		CU_ASSERT_TRUE(tl_flow_keep(t, &id, 60, 0));
	}
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows, 0);
	tl_flow_destroy(t);
}

// Truncated anywhere: nothing beyond the end is read (checked by a sanitizer), and a flow needs all of its headers.
TL_TEST("a truncated frame is not read past its end and has no flow")
{
	struct frame frames[] = {udp, udp, udp, udp};
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);

	frames[1].proto = TL_IPPROTO_TCP;
	frames[1].tags[0] = 5;
	frames[1].tags[1] = 6;
	frames[2].version = 6;
	frames[2].extension = 60;
	frames[2].fragment = 1;
	frames[3].proto = TL_IPPROTO_TCP;
	for (unsigned i = 0; i < TL_ARRAY_LEN(frames); i++) {
		struct bytes b;
		build(&b, &frames[i]);
		uint32_t needed = b.len - 20 + (frames[i].proto == TL_IPPROTO_TCP ? TL_TCP_LEN : 4);
		for (uint32_t len = 0; len <= b.len; len++)
			CU_ASSERT_EQUAL(identify_bytes(t, b.at, len).print != 0, len >= needed);
	}
	tl_flow_destroy(t);
}

TL_TEST("headers with wrong lengths yield no flow")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	static const struct {
		int version;
		uint32_t at;
		uint8_t value;
	} lies[] = {{4, 14, 0x44}, {4, 14, 0x4f}, {4, 14, 0x65}, {4, 17, 19}, {4, 17, 23}, {6, 14, 0x40}, {6, 19, 3}};

	for (unsigned i = 0; i < TL_ARRAY_LEN(lies); i++) {
		struct frame f = udp;
		struct bytes b;
		f.version = lies[i].version;
		build(&b, &f);
		CU_ASSERT_NOT_EQUAL(identify_bytes(t, b.at, b.len).print, 0);
		b.at[lies[i].at] = lies[i].value;
		CU_ASSERT_EQUAL(identify_bytes(t, b.at, b.len).print, 0);
	}
	tl_flow_destroy(t);
}

TL_TEST("parsing of an endless chain of extension headers stops")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame f = udp;
	struct bytes b;

	f.version = 6;
	build(&b, &f);
	b.len = 54;
	b.at[20] = 60;
	for (int i = 0; i < 20; i++)
		put(&b, (const uint8_t[8]){60}, 8);
	b.at[18] = 0;
	b.at[19] = 160;
	CU_ASSERT_EQUAL(identify_bytes(t, b.at, b.len).print, 0);
	tl_flow_destroy(t);
}

TL_TEST("random bytes are read within their bounds")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	unsigned flows = 0;

	srandom(7);
	for (int i = 0; i < 200000; i++) {
		struct frame f = udp;
		struct bytes b;
		f.version = random() % 2 ? 4 : 6;
		f.extension = random() % 2 ? 60 : 0;
		build(&b, &f);
		for (int n = 0; n < 3; n++)
			b.at[12 + random() % 50] = (uint8_t)random();
		flows += identify_bytes(t, b.at, (uint32_t)random() % (b.len + 1)).print != 0;
	}
	CU_ASSERT(flows > 1000);
	tl_flow_destroy(t);
}

TL_TEST("a SYN restarts the flow")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame data = udp, syn, answer;

	data.proto = TL_IPPROTO_TCP;
	data.tcp_flags = TL_TCP_ACK;
	syn = data;
	syn.tcp_flags = TL_TCP_SYN;
	answer = reverse(&syn);
	answer.tcp_flags = TL_TCP_SYN | TL_TCP_ACK;
	for (int connection = 0; connection < 2; connection++) {
		CU_ASSERT_TRUE(keep(t, &syn, 100, 0));
		CU_ASSERT_TRUE(keep(t, &syn, 100, 0)); // retransmitted: the same flow
		CU_ASSERT_TRUE(keep(t, &answer, 100, 0));
		CU_ASSERT_TRUE(keep(t, &data, 1000, 0));
		CU_ASSERT_FALSE(keep(t, &data, 1000, 0));
	}
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows, 2);
	CU_ASSERT_TRUE(keep(t, &answer, 100, 0)); // only one direction is captured
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows, 3);
	tl_flow_destroy(t);
}

TL_TEST("an idle flow restarts")
{
	struct tl_flow_table *t = make_table(1024, 1024, 60 * TL_NS_PER_S, 1);
	uint64_t now_ns = UINT64_C(1700000000) * TL_NS_PER_S;

	CU_ASSERT_TRUE(keep(t, &udp, 1024, now_ns));
	for (int i = 0; i < 10; i++) {
		now_ns += 59 * TL_NS_PER_S; // cut frames refresh it
		CU_ASSERT_FALSE(keep(t, &udp, 60, now_ns));
	}
	CU_ASSERT_FALSE(keep(t, &udp, 60, now_ns - 3600 * TL_NS_PER_S));
	CU_ASSERT_FALSE(keep(t, &udp, 60, now_ns - 3600 * TL_NS_PER_S));
	now_ns += 61 * TL_NS_PER_S;
	CU_ASSERT_TRUE(keep(t, &udp, 60, now_ns));
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows, 2);
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows_evicted, 0);
	tl_flow_destroy(t);
}

// Flows that share a bucket, found by their fingerprints.
static void find_bucket_mates(const struct tl_flow_table *t, struct frame *mates, unsigned n)
{
	struct frame f = udp;
	unsigned found = 0;

	for (f.src = 1; found < n; f.src++)
		if ((identify(t, &f).print & (1024 / 4 - 1)) == 0)
			mates[found++] = f;
}

TL_TEST("a full bucket replaces the longest idle flow")
{
	struct tl_flow_table *t = make_table(1024, 1024, NEVER_IDLE_NS, 1);
	struct frame f[5];

	find_bucket_mates(t, f, 5);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_TRUE(keep(t, &f[i], 1024, i * TL_NS_PER_S));
	CU_ASSERT_FALSE(keep(t, &f[0], 1024, 4 * TL_NS_PER_S));
	CU_ASSERT_TRUE(keep(t, &f[4], 1024, 5 * TL_NS_PER_S)); // evicts f[1]
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows_evicted, 1);
	CU_ASSERT_FALSE(keep(t, &f[0], 60, 6 * TL_NS_PER_S));
	CU_ASSERT_FALSE(keep(t, &f[2], 60, 6 * TL_NS_PER_S));
	CU_ASSERT_FALSE(keep(t, &f[3], 60, 6 * TL_NS_PER_S));
	CU_ASSERT_TRUE(keep(t, &f[1], 60, 7 * TL_NS_PER_S));
	tl_flow_destroy(t);
}

TL_TEST("a new flow replaces an idle one without counting an eviction")
{
	struct tl_flow_table *t = make_table(1024, 1024, 60 * TL_NS_PER_S, 1);
	struct frame f[5];

	find_bucket_mates(t, f, 5);
	for (unsigned i = 0; i < 5; i++)
		CU_ASSERT_TRUE(keep(t, &f[i], 1024, i * 16 * TL_NS_PER_S));
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows, 5);
	CU_ASSERT_EQUAL(tl_flow_counters(t)->flows_evicted, 0);
	tl_flow_destroy(t);
}

// Reference implementation without a table: one cell per flow, indexed by its number.
struct model_flow {
	bool seen, syn;
	uint64_t used_bytes, last_ns;
};

#define MODEL_TICK_NS (UINT64_C(1) << 26)

static bool model_keep(
	struct model_flow *f, bool syn, uint32_t wire_bytes, uint64_t ts_ns, uint32_t cutoff_bytes, uint64_t idle_ns)
{
	int64_t silence = (int64_t)(ts_ns / MODEL_TICK_NS) - (int64_t)(f->last_ns / MODEL_TICK_NS);

	if (!f->seen || silence > (int64_t)(idle_ns / MODEL_TICK_NS) || (syn && !f->syn))
		f->used_bytes = 0;
	bool kept = f->used_bytes < cutoff_bytes;
	f->used_bytes += wire_bytes;
	f->seen = true;
	f->syn = syn;
	f->last_ns = ts_ns;
	return kept;
}

// Build flow number n as frames, in a random direction.
static struct frame numbered(unsigned n, bool *out_syn)
{
	static const uint8_t protos[] = {TL_IPPROTO_TCP, TL_IPPROTO_UDP, PROTO_SCTP, TL_IPPROTO_TCP};
	struct frame f = {.version = n & 1 ? 4 : 6,
		.proto = protos[(n >> 1) % 4],
		.src = 0x0a000000 + (n >> 8),
		.dst = 0x0a000000 + (n >> 10),
		.src_port = (uint16_t)(n & 0x3ff),
		.dst_port = 80,
		.tags = {n % 5 == 0 ? 9 : 0}};

	*out_syn = f.proto == TL_IPPROTO_TCP && random() % 20 == 0;
	f.tcp_flags = *out_syn ? TL_TCP_SYN : TL_TCP_ACK;
	return random() % 2 ? f : reverse(&f);
}

struct outcome {
	unsigned kept_less, kept_more, cut;
};

#define MODEL_FRAMES 20000

// The time between two frames is gap_ns at most.
static struct outcome compare_with_model(
	unsigned seed, uint32_t entries, unsigned n_flows, uint64_t gap_ns, struct tl_flow_stats *out_stats)
{
	uint64_t idle_ns = 2 * TL_NS_PER_S, now_ns = UINT64_C(1700000000) * TL_NS_PER_S;
	struct tl_flow_table *t = make_table(entries, 4096, idle_ns, seed);
	struct model_flow *model = calloc(n_flows, sizeof(*model));
	struct outcome o = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(model);
	srandom(seed);
	for (unsigned i = 0; i < MODEL_FRAMES; i++) {
		// Choose a flow; a few flows have most of the frames.
		unsigned n = (unsigned)random() % (random() % 2 ? n_flows : 1 + n_flows / 50);
		uint32_t wire_bytes = 60 + (uint32_t)random() % 1455;
		bool syn;
		struct frame f = numbered(n, &syn);
		now_ns += (uint64_t)random() % gap_ns;
		uint64_t ts_ns = now_ns - (uint64_t)random() % TL_NS_PER_MS;
		bool wanted = model_keep(&model[n], syn, wire_bytes, ts_ns, 4096, idle_ns);
		bool kept = keep(t, &f, wire_bytes, ts_ns);
		o.kept_less += wanted && !kept;
		o.kept_more += kept && !wanted;
		o.cut += !kept;
	}
	*out_stats = *tl_flow_counters(t);
	free(model);
	tl_flow_destroy(t);
	return o;
}

TL_TEST("within its capacity the table decides like an unbounded one")
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		struct tl_flow_stats stats;
		struct outcome o = compare_with_model(seed, 16384, 500, 50 * TL_NS_PER_MS, &stats);
		CU_ASSERT_EQUAL(o.kept_less, 0);
		CU_ASSERT_EQUAL(o.kept_more, 0);
		CU_ASSERT(o.cut > 1000);
		CU_ASSERT(stats.flows > 500);
		CU_ASSERT_EQUAL(stats.flows_evicted, 0);
	}
}

TL_TEST("beyond its capacity the table never records less than an unbounded one")
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		struct tl_flow_stats stats;
		struct outcome o = compare_with_model(seed, 1024, 5000, TL_NS_PER_MS, &stats);
		CU_ASSERT_EQUAL(o.kept_less, 0);
		CU_ASSERT(o.kept_more > 0);
		CU_ASSERT(o.cut > 0);
		CU_ASSERT(stats.flows_evicted > 0);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

// Consecutive addresses and ports, as in real networks: all fingerprints differ, and the flows spread over the table as
// if at random: at one flow per four entries 0.44 % meet four others in their bucket (Poisson's distribution).
TL_TEST("similar flows are distinguished and spread over the buckets")
{
	enum { FLOWS = 1 << 17 };
	struct tl_flow_table *t = make_table(FLOWS * 4, 1024, NEVER_IDLE_NS, 3);
	uint64_t *prints = calloc(FLOWS, sizeof(*prints));
	unsigned alike = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(prints);
	for (unsigned i = 0; i < FLOWS; i++) {
		struct frame f = udp;
		f.src += i & 0xff;
		f.dst += i >> 8 & 1;
		f.src_port = (uint16_t)(f.src_port + (i >> 9 & 0xf));
		f.dst_port = (uint16_t)(f.dst_port + (i >> 13));
		f.dst += 0x100; // not among the sources
		struct tl_flow_id id = identify(t, &f);
		prints[i] = id.print;
		tl_flow_keep(t, &id, 60, 0);
	}
	qsort(prints, FLOWS, sizeof(*prints), by_value);
	for (unsigned i = 1; i < FLOWS; i++)
		alike += prints[i] == prints[i - 1];
	CU_ASSERT_EQUAL(alike, 0);
	CU_ASSERT(tl_flow_counters(t)->flows_evicted > FLOWS * 0.0035);
	CU_ASSERT(tl_flow_counters(t)->flows_evicted < FLOWS * 0.0053);
	free(prints);
	tl_flow_destroy(t);
}

TL_TEST("another seed yields another hash")
{
	struct tl_flow_table *a = make_table(1024, 1024, NEVER_IDLE_NS, 1),
			     *b = make_table(1024, 1024, NEVER_IDLE_NS, 2);

	CU_ASSERT_NOT_EQUAL(identify(a, &udp).print, identify(b, &udp).print);
	tl_flow_destroy(a);
	tl_flow_destroy(b);
}

TL_TEST("a table size out of range is refused")
{
	static const struct tl_flow_cfg wrong[] = {{.entries = 1000, .cutoff_bytes = 1024},
		{.entries = 512, .cutoff_bytes = 1024}, {.entries = 1u << 27, .cutoff_bytes = 1024},
		{.entries = 1024, .cutoff_bytes = 1023}, {.entries = 1024, .cutoff_bytes = (1u << 30) + 1}};

	for (unsigned i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct tl_flow_table *t;
		struct tl_err err = {{0}};
		CU_ASSERT(tl_flow_create(&wrong[i], &t, &err) < 0);
		CU_ASSERT_STRING_NOT_EQUAL(err.text, "");
	}
}

// ---- flows in tunnels

static struct tl_flow_table *make_inner_table(void)
{
	struct tl_flow_cfg cfg = {
		.entries = 1024, .cutoff_bytes = 1024, .idle_ns = NEVER_IDLE_NS, .seed = 3, .inner = true};
	struct tl_flow_table *table = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_flow_create(&cfg, &table, NULL), 0);
	return table;
}

// Encapsulate the frame in VXLAN from this port and with this VNI, over IPv4; with VNI 0, its packet in GRE.
static struct tl_flow_id identify_wrapped(
	const struct tl_flow_table *t, const struct frame *f, uint16_t src_port, uint32_t vni)
{
	struct frame outer = {.version = 4, .proto = vni != 0 ? TL_IPPROTO_UDP : PROTO_GRE, .src = src_port, .dst = 7};
	uint8_t vxlan[16] = {(uint8_t)(src_port >> 8), (uint8_t)src_port, 0x12,
		0xb5, [8] = 8, [12] = (uint8_t)(vni >> 16), (uint8_t)(vni >> 8), (uint8_t)vni};
	uint8_t gre[4] = {0, 0, f->version == 4 ? 8 : 0x86, f->version == 4 ? 0 : 0xdd};
	struct bytes inner, b = {.len = 0};

	build(&inner, f);
	uint32_t skipped = vni != 0 ? 0 : TL_ETHER_LEN, header = vni != 0 ? sizeof(vxlan) : sizeof(gre);
	uint16_t len_be = tl_be16((uint16_t)(header + inner.len - skipped));
	memcpy(vxlan + 4, &len_be, sizeof(len_be));
	put(&b, inner.at, TL_ETHER_ADDR_LEN * 2);
	put_be16(&b, TL_ETHERTYPE_IPV4);
	put_ipv4(&b, &outer, (uint16_t)(header + inner.len - skipped));
	put(&b, vni != 0 ? vxlan : gre, header);
	put(&b, inner.at + skipped, inner.len - skipped);
	return identify_bytes(t, b.at, b.len);
}

static struct frame random_flow(uint64_t *state)
{
	uint64_t word = tl_random_next(state);

	return (struct frame){.version = (word & 1) != 0 ? 4 : 6,
		.proto = (word & 2) != 0 ? TL_IPPROTO_TCP : TL_IPPROTO_UDP,
		.src = (uint32_t)(word >> 32),
		.dst = (uint32_t)tl_random_next(state),
		.src_port = (uint16_t)(word >> 8),
		.dst_port = (word & 4) != 0 ? 4789 + 64 : 443}; // in the bit set of tunnel ports, but not a tunnel port
}

TL_TEST("a tunnelled flow is keyed by its innermost packet and network, in both directions")
{
	struct tl_flow_table *inner = make_inner_table(), *plain = make_table(1024, 1024, NEVER_IDLE_NS, 3);
	uint64_t state = 5;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		struct frame f = random_flow(&state), back = reverse(&f);
		uint64_t print = identify(plain, &f).print;
		wrong += print != identify(inner, &f).print;
		wrong += print != identify_wrapped(inner, &f, (uint16_t)i, 0).print;
		wrong += print != identify_wrapped(inner, &back, (uint16_t)(i + 1), 0).print;
		uint64_t tenant = identify_wrapped(inner, &f, (uint16_t)i, 5).print;
		wrong += tenant == print || tenant == identify_wrapped(inner, &f, (uint16_t)i, 6).print;
		wrong += tenant != identify_wrapped(inner, &back, (uint16_t)(i + 1), 5).print;
		wrong += identify_wrapped(plain, &f, (uint16_t)i, 5).print ==
			 identify_wrapped(plain, &f, (uint16_t)(i + 1), 5).print;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	tl_flow_destroy(inner);
	tl_flow_destroy(plain);
}

TL_TEST("a SYN in a tunnel is detected, and an unknown tunnel is a flow of its own")
{
	struct tl_flow_table *t = make_inner_table();
	struct frame syn = udp, gre = udp;

	syn.proto = TL_IPPROTO_TCP;
	syn.tcp_flags = TL_TCP_SYN;
	gre.proto = PROTO_GRE; // unsupported: version 0 with routing
	gre.src_port = 0x4000;
	CU_ASSERT_TRUE(identify_wrapped(t, &syn, 1, 5).syn);
	CU_ASSERT_FALSE(identify_wrapped(t, &udp, 1, 5).syn);
	CU_ASSERT_TRUE(identify(t, &gre).print != 0);
	tl_flow_destroy(t);
}

// ---- sources

// Hash of the source of a frame, read from heap memory of exactly its first len bytes; 0: all.
static uint64_t source_of(const struct frame *f, uint32_t len)
{
	struct tl_flow_hash hash;
	struct bytes b;

	tl_flow_hash_init(&hash, 9);
	build(&b, f);
	len = len != 0 ? len : b.len;
	uint8_t *exact = malloc(len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
	memcpy(exact, b.at, len);
	uint64_t print = tl_flow_source_print(&hash, false, exact, len);
	CU_ASSERT_EQUAL(tl_flow_source_print(&hash, true, exact, len), print); // the tests' frames have no tunnel
	free(exact);
	return print;
}

TL_TEST("a source is identified by the IP address only")
{
	struct frame other = udp, six = udp;
	uint64_t print = source_of(&udp, 0);

	CU_ASSERT_NOT_EQUAL(print, 0);
	other.proto = TL_IPPROTO_TCP;
	other.dst++;
	other.src_port++;
	other.fragment = 5;
	other.tags[0] = 7;
	CU_ASSERT_EQUAL(source_of(&other, 0), print);
	other.src++;
	CU_ASSERT_NOT_EQUAL(source_of(&other, 0), print);
	six.version = 6;
	uint64_t print6 = source_of(&six, 0);
	CU_ASSERT_NOT_EQUAL(print6, print);
	six.extension = 60;
	CU_ASSERT_EQUAL(source_of(&six, 0), print6);
	six.src++;
	CU_ASSERT_NOT_EQUAL(source_of(&six, 0), print6);
	CU_ASSERT_EQUAL(source_of(&udp, TL_ETHER_LEN + TL_IPV4_LEN), print);
	CU_ASSERT_EQUAL(source_of(&udp, TL_ETHER_LEN + TL_IPV4_LEN - 1), 0);
	CU_ASSERT_EQUAL(source_of(&six, TL_ETHER_LEN + 39), 0);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("flow");
}
